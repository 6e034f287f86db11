#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of Debian's kernel on both boards: CPU counts and models, memory above 4 GiB, each way a guest ends.

Usage: test-linux.py EMULATOR [ACCEL]
"""
import subprocess
import sys

import guestlib

def boot(emulator, accel, want_cpus=1, **kw):
    cmd = guestlib.linux(emulator, 'cleat.poweroff', accel=accel, smp=want_cpus, more=['-no-reboot'], **kw)
    status, text, err = guestlib.run_to_end(cmd, timeout=240)
    assert status == 0 and f'BOOT-OK cpus={want_cpus} ' in text, f'{kw}: status {status}\n{text[-2000:]}\n{err}'
    guestlib.check_log(text)


def test_matrix(emulator, accel):
    for machine in ('q35', 'pc'):
        for cpus in (1, 2, 4):
            boot(emulator, accel, cpus, machine=machine)
            print(f'  {machine} -smp {cpus}', flush=True)
    for model in ('qemu64', 'Haswell-noTSX', 'EPYC'):
        boot(emulator, accel, machine='q35', cpu=model)
        print(f'  -cpu {model}', flush=True)


def test_memory_above_4g(emulator, accel):
    cmd = guestlib.linux(emulator, 'cleat.poweroff', accel=accel, mem=3072, more=['-no-reboot'])
    status, text, _ = guestlib.run_to_end(cmd, timeout=240)
    assert status == 0 and 'mem 0x0000000100000000-0x000000013fffffff] usable' in text, text[-2000:]


def test_ends(emulator, accel):
    for word in ('cleat.reboot', 'cleat.panic'):
        cmd = guestlib.linux(emulator, word, accel=accel, more=['-no-reboot'])
        status, text, err = guestlib.run_to_end(cmd, timeout=240)
        assert status == 0 and 'BOOT-OK' in text, f'{word}: status {status}\n{text[-2000:]}\n{err}'


def test_three_reboots(emulator, accel):
    """The fourth start is as good as the first; image files may be gone by then."""
    cmd = guestlib.linux(emulator, 'quiet cleat.reboot', accel=accel)
    with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as vm:
        console = guestlib.Console(vm.stdout.fileno(), None)
        at = 0
        for _ in range(4):
            at = console.expect('BOOT-OK', timeout=240, start=at)
        vm.terminate()
        vm.wait(20)


def main():
    emulator, accel = sys.argv[1], (sys.argv[2:] or ['tcg'])[0]
    guestlib.need_guest()
    for test in (test_matrix, test_memory_above_4g, test_ends, test_three_reboots):
        test(emulator, accel)
        print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
