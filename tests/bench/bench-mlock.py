#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""VmRSS and VmLck under -overcommit mem-lock=off|on|on-fault, beside the peer in one run.

Usage: bench-mlock.py EMULATOR GUEST_DIR [--gate] [--kvm]
Rows: -S and a booted kernel, -smp 1 and 8, -m 128. Gates (budget table of docs/devel/memory.rst), for the -S rows:
off 12 MB, on-fault 14 MB, on: all RAM blocks + 14 MB + 0.5 MB a vCPU. The peer (7.2) knows no on-fault.
"""
import sys

import benchlib

MB = 1000
RAM_BLOCKS_KB = 131072 + 512        # -m 128, and what else the machine allocates as RAM (ROMs, at most)


def command(program, accel, mode, smp, guest, boot):
    cmd = [program, '-M', 'q35', '-accel', accel, '-m', '128', '-smp', str(smp), '-nodefaults', '-display', 'none',
           '-overcommit', f'mem-lock={mode}']
    if not boot:
        return cmd + ['-S']
    return cmd + ['-kernel', f'{guest}/vmlinuz', '-initrd', f'{guest}/initramfs.cpio.gz', '-append',
                  'console=ttyS0 panic=-1 quiet', '-serial', 'null']


def gate_of(mode, smp):
    return {'off': 12 * MB, 'on-fault': 14 * MB, 'on': RAM_BLOCKS_KB + 14 * MB + 500 * smp}[mode]


def main():
    args = [a for a in sys.argv[1:] if not a.startswith('--')]
    emulator, guest = args[:2]
    accels = ['kvm'] if '--kvm' in sys.argv else ['tcg']
    benchlib.unlimited_lock()
    missed = 0
    print('| accel | start | smp | mem-lock | VmRSS kB | VmLck kB | gate kB | peer VmRSS | peer VmLck |')
    print('|---|---|---|---|---|---|---|---|---|')
    for accel in accels:
        for boot in (False, True):
            for smp in (1, 8):
                for mode in ('off', 'on', 'on-fault'):
                    wait = 6 if boot else 2
                    ours = benchlib.memory_after(command(emulator, accel, mode, smp, guest, boot), wait)
                    peer = None if mode == 'on-fault' else benchlib.memory_after(
                        command(benchlib.PEER, accel, mode, smp, guest, boot), wait)
                    gate = gate_of(mode, smp) if not boot else None
                    row = [accel, 'kernel' if boot else '-S', smp, mode]
                    row += [ours['VmRSS'], ours['VmLck']] if ours else ['ended', 'ended']
                    row += [gate or '-'] + ([peer['VmRSS'], peer['VmLck']] if peer else ['-', '-'])
                    print('| ' + ' | '.join(map(str, row)) + ' |', flush=True)
                    missed += not ours or (gate is not None and ours['VmRSS'] > gate)
    print(f'{missed} gates missed')
    return 1 if '--gate' in sys.argv and missed else 0


if __name__ == '__main__':
    sys.exit(main())
