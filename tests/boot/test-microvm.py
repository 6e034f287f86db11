#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of Debian's kernel on microvm: CPU counts, with and without ACPI and the old chips; power button and reboot.

Usage: test-microvm.py EMULATOR [ACCEL]
"""
import json
import subprocess
import sys
import tempfile

import guestlib

FAULTS = ('WARNING:', 'BUG:', 'Oops', 'Call Trace', 'ACPI Error', 'ACPI BIOS Error', 'irmware bug', 'irmware Bug',
          'lost interrupt', 'nobody cared')
NO_ACPI = 'A valid RSDP was not found'


def check_log(text):
    faults = [l for l in text.splitlines() if any(f in l for f in FAULTS) and 'hw-vuln' not in l and NO_ACPI not in l]
    assert not faults, '\n'.join(faults[:20])


def boot(emulator, accel, machine, cpus, want_cpus, word='cleat.poweroff'):
    cmd = guestlib.linux(emulator, word, accel=accel, machine=machine, smp=cpus, more=['-no-reboot'])
    status, text, err = guestlib.run_to_end(cmd, timeout=240)
    assert status == 0 and f'BOOT-OK cpus={want_cpus} ' in text, f'{machine}: status {status}\n{text[-2000:]}\n{err}'
    check_log(text)
    return text


def test_acpi(emulator, accel):
    for cpus in (1, 2, 4):
        text = boot(emulator, accel, 'microvm', cpus, cpus)
        assert 'IOAPIC[1]' in text and 'Power down' in text
    boot(emulator, accel, 'microvm,pit=off,pic=off,rtc=off,ioapic2=off', 2, 2)


def test_no_acpi(emulator, accel):
    """This kernel reads no MP table, so it sees one CPU; it cannot power off, but a triple fault reboots it."""
    for cpus in (1, 2, 4):
        boot(emulator, accel, 'microvm,acpi=off', cpus, 1, 'cleat.reboot reboot=t')


def test_reboot(emulator, accel):
    """By the reset register; and as this kernel does when left to itself: a hardware-reduced machine has EFI, it
    thinks (efi_reboot_required), and where there is none it jumps to f000:fff0, as in QEMU, where firmware stands."""
    for how in ('reboot=acpi', ''):
        reboot(emulator, accel, how)


def reboot(emulator, accel, how):
    cmd = guestlib.linux(emulator, f'quiet cleat.reboot {how}', accel=accel, machine='microvm')
    with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as vm:
        console = guestlib.Console(vm.stdout.fileno(), None)
        at = console.expect('BOOT-OK', timeout=240)
        console.expect('BOOT-OK', timeout=240, start=at)
        vm.terminate()
        vm.wait(20)


def test_power_button(emulator, accel):
    """GED's interrupt arrives when QMP presses the button."""
    with tempfile.TemporaryDirectory() as work:
        cmd = guestlib.linux(emulator, 'quiet', accel=accel, machine='microvm',
                             more=['-qmp', f'unix:{work}/qmp,server=on,wait=off'])
        with subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as vm:
            console = guestlib.Console(vm.stdout.fileno(), vm.stdin.fileno())
            console.expect('guest# ', timeout=240)
            console.send('grep -c ACPI:Ged /proc/interrupts\n')
            at = console.expect('\n1\n', timeout=60)
            qmp = guestlib.connect_unix(f'{work}/qmp').makefile('rw')
            qmp.readline()
            for name in ('qmp_capabilities', 'system_powerdown'):
                qmp.write(json.dumps({'execute': name}) + '\n')
                qmp.flush()
                qmp.readline()
            console.send("while ! grep -q '9: *1 .*ACPI:Ged' /proc/interrupts; do sleep 1; done; "
                         "echo pressed-$((40+2))\n")
            console.expect('pressed-42', timeout=60, start=at)
            vm.terminate()
            vm.wait(20)


def main():
    emulator, accel = sys.argv[1], (sys.argv[2:] or ['tcg'])[0]
    guestlib.need_guest()
    for test in (test_acpi, test_no_acpi, test_reboot, test_power_button):
        test(emulator, accel)
        print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
