#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Storms of wake-ups, interrupts, signals, faults and generated code in a Linux guest (gueststress.c), and Node.js.

Usage: test-stress.py EMULATOR [--accel tcg] [--smp 4] [--seconds 5] [--node] [--mixed SECONDS]
The guest's program checks itself and watches for lost wake-ups; the kernel's log must be clean. --node runs a
JavaScript benchmark that checks itself, with Debian's nodejs (fetched once to CLEAT_GUEST_DIR). --mixed: all of it
side by side, again and again.
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


def initramfs_build(work, *extra):
    out = pathlib.Path(work, 'stress.cpio.gz')
    subprocess.run(['sh', HERE / 'mkinitramfs.sh', out, program_build(work), *extra], check=True)
    return str(out)


def run(args, initramfs, command, timeout, mem=512):
    """The console of a guest that runs the command (words separated by commas) and powers off."""
    cmd = guestlib.linux(args.emulator, f'quiet cleat.exec={command}', accel=args.accel, smp=args.smp, mem=mem,
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


def check_node(text):
    found = re.search(r'^NODE-OK (.*)$', text, re.M)
    assert found, text[-3000:]
    return found.group(1)


def test_stress(args, work):
    initramfs = initramfs_build(work)
    text = run(args, initramfs, f'gueststress,{args.seconds}', args.seconds + 400)
    print(f'ok: stress {args.seconds} s, -smp {args.smp}: {check_stress(text)}', flush=True)


def test_node(args, work):
    node = node_fetch()
    initramfs = initramfs_build(work, node, HERE / 'nodebench.js')
    print('ok: node', check_node(run(args, initramfs, '/usr/bin/node,/bin/nodebench.js', 1800, mem=1024)), flush=True)


def node_fetch():
    """A tree of Debian's nodejs and its libraries."""
    subprocess.run(['sh', '-c', '. "$1"; node_fetch "$2"', 'sh', HERE.parents[1] / 'scripts/packages.sh',
                    guestlib.guest_dir()], check=True)
    return pathlib.Path(guestlib.guest_dir(), 'node')


def test_mixed(args, work):
    """Node.js again and again beside the storm."""
    script = pathlib.Path(work, 'mixed')
    script.write_text('#!/bin/sh\n'
                      f'gueststress {args.mixed} & storm=$!\n'
                      'while kill -0 $storm 2>/dev/null; do /usr/bin/node /bin/nodebench.js || exit 1; done\n'
                      'wait $storm || exit 1\necho MIXED-OK\n', encoding='utf-8')
    script.chmod(0o755)
    initramfs = initramfs_build(work, node_fetch(), HERE / 'nodebench.js', script)
    text = run(args, initramfs, 'mixed', args.mixed + 1800, mem=1024)
    assert 'MIXED-OK' in text, text[-3000:]
    print(f'ok: mixed {args.mixed} s: {check_stress(text)}, node {text.count("NODE-OK")} times', flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('emulator')
    p.add_argument('--accel', default='tcg')
    p.add_argument('--smp', type=int, default=4)
    p.add_argument('--seconds', type=int, default=5)
    p.add_argument('--node', action='store_true')
    p.add_argument('--mixed', type=int)
    args = p.parse_args()
    guestlib.need_guest()
    with tempfile.TemporaryDirectory() as work:
        if args.mixed:
            test_mixed(args, work)
        elif args.node:
            test_node(args, work)
        else:
            test_stress(args, work)
    return 0


if __name__ == '__main__':
    sys.exit(main())
