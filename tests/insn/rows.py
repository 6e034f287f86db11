#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists the rows of the instruction table that no test executes.

Usage: rows.py BUILD [ROM...]
Merges what tests/insn compared with the real CPU to the end, what the unit tests of single instructions ran
(test-sem, test-corners), and what entered the software CPU's block cache (trace event tcg_row) while it ran the
bare-metal ROMs, Debian's SeaBIOS and, where CLEAT_GUEST_DIR has it, a Linux kernel. An instruction behind a fault
in its block counts there too. Prints the rest, each with the reason that tests/insn has for it. The only good reason
is that the row runs natively and the host lacks its feature; any other is a failure.
"""
import os
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r'tcg_row \S+ insn\.def:(\d+)')
LEFT = re.compile(r'^(never ran|only faulted): (\S+) \(insn\.def:(\d+)\): (.*)$', re.M)


def output(command, timeout, env=None):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout, check=False, env={**os.environ, **(env or {})})
        return done.stdout.decode('latin-1')
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b'').decode('latin-1')


def rows_of(text):
    return {int(n) for n in ROW.findall(text)}


def guests(build, roms):
    """Command lines of what runs whole machines."""
    base = [str(build / 'qemu-system-x86_64'), '-accel', 'tcg', '-cpu', 'max', '-M', 'q35', '-nodefaults', '-display',
            'none', '-no-reboot', '-trace', 'tcg_row']
    for rom in roms:
        yield rom, base + ['-smp', '4', '-m', '64', '-bios', rom, '-device', 'isa-debugcon,chardev=d', '-chardev',
                           'stdio,id=d', '-device', 'isa-debug-exit,iobase=0xf4'], 120
    yield 'SeaBIOS', base + ['-m', '64'], 15
    guest = pathlib.Path(os.environ.get('CLEAT_GUEST_DIR', ''))
    if (guest / 'vmlinuz').is_file():
        yield 'Linux', base + ['-m', '512', '-kernel', str(guest / 'vmlinuz'), '-initrd',
                               str(guest / 'initramfs.cpio.gz'), '-append', 'quiet cleat.poweroff'], 120


def main():
    build = pathlib.Path(sys.argv[1])
    left = {int(line): (name, kind, why) for kind, name, line, why in
            LEFT.findall(output([str(build / 'tests/insn/test-insn'), '--count', '100000', '--rows'], 900))}
    print(f'tests/insn leaves {len(left)} rows')
    if not left:
        return 1
    for name in ('test-sem', 'test-corners', 'test-rows'):
        seen = rows_of(output([str(build / 'tests/unit' / name)], 120, {'CLEAT_ROWS': '1'}))
        print(f'{name}: {len(seen)} rows, {len(seen & left.keys())} of those')
        left = {k: v for k, v in left.items() if k not in seen}
    for name, command, seconds in guests(build, sys.argv[2:]):
        seen = rows_of(output(command, seconds))
        print(f'{name}: {len(seen)} rows, {len(seen & left.keys())} of those')
        left = {k: v for k, v in left.items() if k not in seen}
    for line, (name, kind, why) in sorted(left.items()):
        print(f'no test executes {name} (insn.def:{line}): {why}')
    bad = [why for _, _, why in left.values() if not why.startswith('runs natively')]
    print(f'rows that no test executes: {len(left)}, without a good reason: {len(bad)}')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
