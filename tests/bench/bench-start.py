#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Start cost beside the peer in one run: exec to the guest's first instruction and exit, and the peak RSS of that run.

Usage: bench-start.py EMULATOR [RUNS] [--gate]     (--gate: exit 1 when a gate of the budget table is missed)
Gates: wall time at most 0.25 of the peer's, peak RSS at most 10 MiB.
"""
import sys
import tempfile

import benchlib


def main():
    args = [a for a in sys.argv[1:] if a != '--gate']
    emulator, runs = args[0], int(args[1]) if len(args) > 1 else 15
    with tempfile.NamedTemporaryFile(suffix='.bin') as rom:
        benchlib.exit_rom(rom.name)
        results = {emulator: [], benchlib.PEER: []}
        for _ in range(runs):
            for program, rows in results.items():
                rows.append(benchlib.run_timed([
                    program, '-M', 'q35', '-accel', 'tcg', '-nodefaults', '-display', 'none', '-bios', rom.name,
                    '-device', 'isa-debug-exit,iobase=0xf4']))
    ours, peer = results[emulator], results[benchlib.PEER]
    if any(r[2] != 1 for r in ours):
        print(f'exit status {[r[2] for r in ours]}, expected 1 each')
        return 1
    seconds, peer_seconds = (benchlib.median([r[0] for r in rows]) for rows in (ours, peer))
    rss, peer_rss = (benchlib.median([r[1] for r in rows]) for rows in (ours, peer))
    print('| q35 -nodefaults, tcg, to the first instruction and out | this | peer | ratio | gate |')
    print('|---|---|---|---|---|')
    print(f'| wall, median of {runs} | {seconds * 1000:.1f} ms | {peer_seconds * 1000:.1f} ms | '
          f'{seconds / peer_seconds:.2f} | 0.25 |')
    print(f'| peak RSS | {rss / 1024:.1f} MiB | {peer_rss / 1024:.1f} MiB | {rss / peer_rss:.2f} | 10 MiB |')
    return 1 if '--gate' in sys.argv and (seconds > 0.25 * peer_seconds or rss > 10 * 1024) else 0


if __name__ == '__main__':
    sys.exit(main())
