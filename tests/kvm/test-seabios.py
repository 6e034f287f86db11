#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bare starts under KVM: Debian's SeaBIOS to "No bootable device", without SMM, which KVM's CPUs do not have here;
smm=on is refused. The first start has no other option.

Usage: test-seabios.py EMULATOR
"""
import sys

import kvmhost

BIOS = '/usr/share/seabios/bios-256k.bin'
QUIET = ' -display none -serial none -monitor none'
STARTS = ('-overcommit mem-lock=on-fault -enable-kvm', '-accel kvm -M q35 -smp 2' + QUIET,
          '-M pc,accel=kvm,kernel-irqchip=off' + QUIET, '-M q35,accel=kvm,kernel-irqchip=split' + QUIET)
REFUSED = '-M q35,accel=kvm,smm=on' + QUIET
START = '''
echo '@@start {number}'
rm -f /tmp/log
/bin/qemu-system-x86_64 {args} -debugcon file:/tmp/log -global isa-debugcon.iobase=0x402 \\
    </dev/null >/tmp/out 2>/tmp/err & vm=$!
n=0
while [ $n -lt 60 ] && kill -0 $vm && ! grep -q 'No bootable device' /tmp/log; do sleep 1; n=$((n + 1)); done
kill $vm
wait $vm
echo "@@status $?"
cat /tmp/err /tmp/log
'''


def main():
    emulator = sys.argv[1]
    files = {emulator: '/bin/qemu-system-x86_64', BIOS: BIOS}
    script = ''.join(START.format(number=i, args=a) for i, a in enumerate((*STARTS, REFUSED)))
    out = kvmhost.run(files, script, 600)
    bad = 0
    for i, args in enumerate((*STARTS, REFUSED)):
        part = out.split(f'@@start {i}\n', 1)[-1].split('@@start', 1)[0]
        if args == REFUSED:
            ok = '@@status 1\n' in part and "'smm' cannot be on" in part
        else:
            ok = 'Running on KVM' in part and 'ACPI: parse DSDT' in part and '\nNo bootable device.' in part
        print(f"{'ok' if ok else 'NOT OK'}: {args}")
        if not ok:
            print(part)
            bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
