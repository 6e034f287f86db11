#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Storms of wake-ups, interrupts, signals, faults and generated code in a Linux guest (gueststress.c).

Usage: test-stress.py EMULATOR [--accel tcg] [--smp 4] [--seconds 5]
The guest's program checks itself and watches for lost wake-ups; the kernel's log must be clean.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import guestlib

HERE = pathlib.Path(__file__).parent


def program_build(work):
    out = pathlib.Path(work, 'gueststress')
    subprocess.run(['gcc', '-O2', '-static', '-pthread', '-o', out, HERE / 'gueststress.c'], check=True)
    return out


def initramfs_build(work):
    out = pathlib.Path(work, 'stress.cpio.gz')
    subprocess.run(['sh', HERE / 'mkinitramfs.sh', out, program_build(work)], check=True)
    return str(out)


def run(args, initramfs, command, timeout):
    """The console of a guest that runs the command (words separated by commas) and powers off."""
    cmd = guestlib.linux(args.emulator, f'quiet cleat.exec={command}', accel=args.accel, smp=args.smp,
                         more=['-no-reboot'])
    cmd[cmd.index('-initrd') + 1] = initramfs
    try:
        status, text, err = guestlib.run_to_end(cmd, timeout=timeout)
    except subprocess.TimeoutExpired as e:
        sys.exit(f'the guest does not end within {timeout} s; its console ends:\n'
                 f'{(e.stdout or b"").decode("utf-8", "replace")[-3000:]}')
    assert status == 0, f'status {status}\n{text[-3000:]}\n{err}'
    guestlib.check_log(text)
    return text


def check_stress(text):
    found = re.search(r'^STRESS-OK (.*)$', text, re.M)
    assert found and 'STRESS-FAIL' not in text, text[-3000:]
    counts = dict(word.split('=') for word in found.group(1).split())
    assert len(counts) == 9 and all(int(n) for n in counts.values()), found.group(0)
    return found.group(1)


def test_stress(args, work):
    initramfs = initramfs_build(work)
    text = run(args, initramfs, f'gueststress,{args.seconds}', args.seconds + 400)
    print(f'ok: stress {args.seconds} s, -smp {args.smp}: {check_stress(text)}', flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('emulator')
    p.add_argument('--accel', default='tcg')
    p.add_argument('--smp', type=int, default=4)
    p.add_argument('--seconds', type=int, default=5)
    args = p.parse_args()
    guestlib.need_guest()
    with tempfile.TemporaryDirectory() as work:
        test_stress(args, work)
    return 0


if __name__ == '__main__':
    sys.exit(main())
