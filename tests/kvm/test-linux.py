#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernel under KVM: to BOOT-OK and off, on both boards, in each irqchip mode, with one and two CPUs.

Usage: test-linux.py EMULATOR
"""
import pathlib
import shlex
import sys

import kvmhost

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'boot'))
import guestlib     # noqa: E402

# (board, accelerator, CPU model, CPUs, the guest's last word)
BOOTS = (
    ('q35', 'kvm', 'max', 1, 'poweroff'),
    ('pc', 'kvm', 'qemu64', 2, 'poweroff'),
    ('q35', 'kvm,kernel-irqchip=split', 'host', 2, 'reboot'),
    ('pc', 'kvm,kernel-irqchip=off', 'max', 1, 'panic'),
)
# CPU models whose kernel warns in a nested host: the peer's SVM does not intercept XSETBV, so that KVM does not notice
# XCR0, and the size in CPUID leaf 0Dh stays that of XCR0 = 1. The peer as emulator in there shows the same.
NESTED = ('max', 'host')
EMULATOR, SECONDS = '/bin/qemu-system-x86_64', 110


def command(machine, accel, cpu, smp, end):
    words = guestlib.linux(EMULATOR, f'cleat.{end}', machine, accel, cpu, smp, 256, more=['-no-reboot'])
    return shlex.join(words).replace(guestlib.guest_dir(), '/guest')


def main():
    guestlib.need_guest()
    files = {sys.argv[1]: EMULATOR}
    files.update({f'{guestlib.guest_dir()}/{name}': f'/guest/{name}' for name in ('vmlinuz', 'initramfs.cpio.gz')})
    script = ''.join(f"echo '@@boot {i}'\ntimeout {SECONDS} {command(*row)} 2>/tmp/err </dev/null\n"
                     'echo "@@status $?"\ncat /tmp/err\n' for i, row in enumerate(BOOTS))
    out = kvmhost.run(files, script, 900, memory=1536)
    bad = 0
    for i, row in enumerate(BOOTS):
        part = out.split(f'@@boot {i}\n', 1)[-1].split('@@boot', 1)[0]
        ok = f'BOOT-OK cpus={row[3]} ' in part and '@@status 0\n' in part and 'Hypervisor detected: KVM' in part
        if kvmhost.kvm_usable() or row[2] not in NESTED:
            guestlib.check_log(part)
        bad += not ok
        print(f"{'ok' if ok else 'NOT OK'}: {' '.join(map(str, row))}")
        if not ok:
            print(part[-3000:])
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
