#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""More of Debian's kernels on all boards with up to 16 CPUs, direct and under SeaBIOS: a subset in which each kernel
meets each board and each board meets several CPU counts; with --long (or CLEAT_TEST_LONG=1) all of them, and 40 boots
in a row with -cpu max.

Usage: test-matrix.py EMULATOR [--long] [--accel ACCEL] [--only WORD]
The kernels are in CLEAT_GUEST_DIR (scripts/kernels.sh fetches them).
"""
import argparse
import itertools
import os
import pathlib
import sys
import time

import guestlib

FIRMWARE = ('-bios', 'bios-256k.bin')
# name -> kernel, initramfs
KERNELS = {
    'cloud': ('vmlinuz', 'initramfs.cpio.gz'),
    'generic': ('vmlinuz-generic', 'initramfs.cpio.gz'),
    'next': ('vmlinuz-next', 'initramfs.cpio.gz'),
    '686': ('vmlinuz-686', 'initramfs-686.cpio.gz'),
}
MACHINES = ('q35', 'pc', 'microvm')
CPUS = (1, 2, 4, 16)
SUBSET = (('cloud', 'q35', 16, True), ('generic', 'q35', 2, False), ('generic', 'pc', 1, True),
          ('next', 'pc', 4, False), ('next', 'q35', 1, True), ('686', 'q35', 2, True), ('686', 'pc', 1, True),
          ('cloud', 'microvm', 4, False), ('generic', 'microvm', 16, False), ('next', 'microvm', 2, False),
          ('686', 'microvm', 2, False))
BOOTS_IN_A_ROW = 40


def boot(emulator, accel, kernel, machine, cpus, firmware):
    image, initramfs = KERNELS[kernel]
    # Output is a large part of a boot: what matters comes with "quiet" too.
    cmd = guestlib.linux(emulator, 'quiet cleat.poweroff', accel=accel, machine=machine, smp=cpus, kernel=image,
                         initramfs=initramfs, more=['-no-reboot', *(FIRMWARE if firmware else ())])
    start = time.monotonic()
    status, text, err = guestlib.run_to_end(cmd, timeout=900)
    what = f'{kernel} {machine} -smp {cpus}{" SeaBIOS" if firmware else ""}'
    assert status == 0 and f'BOOT-OK cpus={cpus} ' in text, f'{what}: status {status}\n{text[-3000:]}\n{err}'
    guestlib.check_log(text)
    print(f'  {what}: {time.monotonic() - start:.1f} s', flush=True)


def matrix(long):
    if not long:
        return SUBSET
    # Under firmware each kernel and board once, the CPU counts through the direct boot; microvm has no firmware.
    return [(k, m, c, m != 'microvm' and c == 1) for k, m, c in itertools.product(KERNELS, MACHINES, CPUS)]


def test_in_a_row(emulator, accel):
    for n in range(BOOTS_IN_A_ROW):
        boot(emulator, accel, 'cloud', MACHINES[n % 3], CPUS[n // 3 % 3], False)
        print(f'  boot {n + 1} of {BOOTS_IN_A_ROW}', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('emulator')
    parser.add_argument('--long', action='store_true', default=os.environ.get('CLEAT_TEST_LONG') == '1')
    parser.add_argument('--accel', default='tcg')
    parser.add_argument('--only', help='rows of which the name begins so; "row": only the boots in a row')
    args = parser.parse_args()
    guestlib.need_guest()
    missing = [k for k, _ in KERNELS.values() if not pathlib.Path(guestlib.guest_dir(), k).exists()]
    if missing:
        sys.exit(f'{guestlib.guest_dir()} lacks {", ".join(missing)} (scripts/kernels.sh fetches them)')
    rows = [r for r in matrix(args.long) if not args.only or r[0].startswith(args.only)]
    for row in rows:
        boot(args.emulator, args.accel, *row)
    print(f'ok: {len(rows)} boots', flush=True)
    if args.long and args.only in (None, 'row'):
        test_in_a_row(args.emulator, args.accel)
        print(f'ok: {BOOTS_IN_A_ROW} boots in a row', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
