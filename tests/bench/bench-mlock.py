#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""VmRSS and VmLck under -overcommit mem-lock=off|on|on-fault, beside the peer in one run.

Usage: bench-mlock.py EMULATOR GUEST_DIR [--kvm]     the table
       bench-mlock.py EMULATOR --gate [--kvm]        only the rows that have a gate, without the peer; exit 1 when
                                                     one is missed
Rows: -S; a bare start (SeaBIOS to 'No bootable device') of q35 without default devices, and one with no option but
-overcommit ("plain"); a booted kernel; -smp 1 and 8, -m 128. Gates (budget table of docs/devel/memory.rst), for all but
the kernel's rows:
off 12 MB, on-fault 14 MB, on: all RAM blocks + 14 MB + 0.5 MB a vCPU. The peer (7.2) knows no on-fault.
"""
import os
import sys

import benchlib

MB = 1000
RAM_BLOCKS_KB = 131072 + 512        # -m 128, and what else the machine allocates as RAM (ROMs, at most)
STARTS = ('-S', 'bare', 'plain', 'kernel')
SETTLE = {'-S': 2, 'bare': 3, 'plain': 3, 'kernel': 6}      # seconds before the first look


def command(program, accel, mode, smp, guest, start, is_peer=False):
    if start == 'plain':
        return ([program, '-overcommit', f'mem-lock={mode}'] + (['-enable-kvm'] if accel == 'kvm' else []) +
                (['-smp', str(smp)] if smp > 1 else []) + (['-display', 'none'] if is_peer else []))
    cmd = [program, '-M', 'q35', '-accel', accel, '-m', '128', '-smp', str(smp), '-nodefaults', '-display', 'none',
           '-overcommit', f'mem-lock={mode}']
    if start != 'kernel':
        return cmd + (['-S'] if start == '-S' else ['-serial', 'null'])
    return cmd + ['-kernel', f'{guest}/vmlinuz', '-initrd', f'{guest}/initramfs.cpio.gz', '-append',
                  'console=ttyS0 panic=-1 quiet', '-serial', 'null']


def gate_of(mode, smp):
    return {'off': 12 * MB, 'on-fault': 14 * MB, 'on': RAM_BLOCKS_KB + 14 * MB + 500 * smp}[mode]


def measure(emulator, guest, accel, mode, smp, start, with_peer):
    """One row: prints it, and says whether it is as it must be."""
    def run(program):
        words = command(program, accel, mode, smp, guest, start, program == benchlib.PEER)
        return benchlib.memory_after(words, SETTLE[start])

    ours = run(emulator)
    peer = run(benchlib.PEER) if with_peer and mode != 'on-fault' else None
    gate = gate_of(mode, smp) if start != 'kernel' else None
    row = [accel, start, smp, mode]
    row += [ours['VmRSS'], ours['VmLck']] if ours else ['ended', 'ended']
    row += [gate or '-'] + ([peer['VmRSS'], peer['VmLck']] if peer else ['-', '-'])
    print('| ' + ' | '.join(map(str, row)) + ' |', flush=True)
    return ours and (gate is None or ours['VmRSS'] <= gate) and (ours['VmLck'] > 0) == (mode != 'off')


def main():
    emulator, guest = ([a for a in sys.argv[1:] if not a.startswith('--')] + [None])[:2]
    accel = 'kvm' if '--kvm' in sys.argv else 'tcg'
    gates_only = '--gate' in sys.argv
    if os.environ.get('ASAN_OPTIONS'):
        print('SKIP: AddressSanitizer turns mlockall into a no-op and multiplies memory')
        return 77
    benchlib.unlimited_lock()
    print('| accel | start | smp | mem-lock | VmRSS kB | VmLck kB | gate kB | peer VmRSS | peer VmLck |')
    print('|---|---|---|---|---|---|---|---|---|')
    good = [measure(emulator, guest, accel, mode, smp, start, not gates_only)
            for start in (STARTS[:-1] if gates_only else STARTS)
            for smp in (1, 8) for mode in ('off', 'on', 'on-fault')]
    print(f'{len(good) - sum(map(bool, good))} rows missed')
    return 1 if gates_only and not all(good) else 0


if __name__ == '__main__':
    sys.exit(main())
