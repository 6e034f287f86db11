#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Start cost beside the peer in one run: exec to the guest's first instruction and exit, and the peak RSS of that run.

Usage: bench-start.py EMULATOR [RUNS]     prints both beside their gates: 0.25 of the peer's wall time, 10 MiB
       bench-start.py EMULATOR --rss      exit 1 when the peak RSS misses its gate (time is never a test)
"""
import os
import sys
import tempfile

import benchlib


def main():
    emulator, rss_only = sys.argv[1], '--rss' in sys.argv
    runs = 1 if rss_only else int(sys.argv[2]) if len(sys.argv) > 2 else 15
    if rss_only and os.environ.get('ASAN_OPTIONS'):
        print('SKIP: AddressSanitizer multiplies memory')
        return 77
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
    return 1 if rss_only and rss > 10 * 1024 else 0


if __name__ == '__main__':
    sys.exit(main())
