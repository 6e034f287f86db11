#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest instructions a second on an integer loop (loop.S), beside the peer in one run.

Usage: bench-interp.py EMULATOR [RUNS]
A run with a loop of one round is taken off, so that start-up does not count. Gate: 100 million a second.
"""
import pathlib
import subprocess
import sys
import tempfile

import benchlib

ROUNDS = 60_000_000
PER_ROUND = 5


def loop_rom(folder, rounds):
    """Assembles the ROM with that many rounds; its path."""
    source = pathlib.Path(__file__).with_name('loop.S')
    elf, rom = folder / f'{rounds}.elf', folder / f'{rounds}.bin'
    subprocess.run(['gcc', '-m32', '-nostdlib', '-static', '-Wl,--build-id=none,-Ttext=0', f'-DROUNDS={rounds}',
                    '-o', elf, source], check=True)
    subprocess.run(['objcopy', '-O', 'binary', '-j', '.text', elf, rom], check=True)
    return rom


def seconds(program, rom):
    took, _, status = benchlib.run_timed([
        program, '-M', 'q35', '-accel', 'tcg', '-nodefaults', '-display', 'none', '-bios', str(rom),
        '-device', 'isa-debug-exit,iobase=0xf4'], 300)
    assert status == 1, f'{program} ended with status {status}'
    return took


def main():
    emulator, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    rates = {emulator: [], benchlib.PEER: []}
    with tempfile.TemporaryDirectory() as name:
        whole, empty = (loop_rom(pathlib.Path(name), rounds) for rounds in (ROUNDS, 1))
        for _ in range(runs):
            for program, rows in rates.items():
                rows.append(ROUNDS * PER_ROUND / (seconds(program, whole) - seconds(program, empty)) / 1e6)
    ours, peer = (benchlib.median(rows) for rows in rates.values())
    print('| 32-bit integer loop, tcg | this | peer | ratio | gate |')
    print('|---|---|---|---|---|')
    print(f'| million instructions a second, median of {runs} | {ours:.0f} | {peer:.0f} | {ours / peer:.2f} | 100 |')


if __name__ == '__main__':
    main()
