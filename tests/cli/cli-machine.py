#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each property of QEMU's machines is taken here, or refused by one sentence that names the part that is missing. The
list comes from a QEMU on this host ("-M NAME,help"); where there is none, from our own help.

usage: cli-machine.py EMULATOR [PEER]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import cli

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'boot'))
import qtestlib     # noqa: E402

MACHINES = ('pc', 'q35', 'microvm', 'none')
OF_TYPE = {'bool': ('on', 'off'), 'OnOffAuto': ('on', 'off', 'auto')}
# What to give for the others: rest of the command line's -M after the machine's name; KERNEL is a file.
GIVEN = {
    'append': ('kernel=KERNEL,append=x',),
    'boot': ('boot.order=c,boot.menu=on',),
    'bus-lock-ratelimit': ('bus-lock-ratelimit=0', 'bus-lock-ratelimit=7'),
    'firmware': ('firmware=bios-256k.bin',),
    'initrd': ('kernel=KERNEL,initrd=KERNEL',),
    'kernel-irqchip': ('kernel-irqchip=off',),
    'kernel': ('kernel=KERNEL',),
    'max-fw-size': ('max-fw-size=8388608', 'max-fw-size=4M'),
    'max-ram-below-4g': ('max-ram-below-4g=1G',),
    'memory': ('memory.size=64M',),
    'memory-backend': ('memory-backend=ram',),
    'phandle-start': ('phandle-start=0', 'phandle-start=5'),
    'sgx-epc': ('sgx-epc.0.memdev=ram',),
    'smbios-entry-point-type': ('smbios-entry-point-type=32', 'smbios-entry-point-type=64'),
    'smp': ('smp.cpus=1,smp.sockets=1',),
    'x-oem-id': ('x-oem-id=ABC',),
    'x-oem-table-id': ('x-oem-table-id=ABC',),
}
# What this build refuses, and the part that its sentence must name.
MISSING = {
    'confidential-guest-support=x': 'encrypted guest memory',
    'memory-encryption=x': 'encrypted guest memory',
    'dtb=x': 'a device tree',
    'dumpdtb=x': 'a device tree',
    'dt-compatible=x': 'a device tree',
    'phandle-start=5': 'a device tree',
    'suppress-vmdesc=on': 'migration',
    'bus-lock-ratelimit=7': 'a limit on bus locks',
    'sgx-epc.0.memdev=ram': 'memory of SGX',
    'sata=on': 'a SATA controller',
    'smbus=on': 'an SMBus controller',
    'default-bus-bypass-iommu=on': 'an IOMMU',
    'max-fw-size=4M': 'flash memory',
    'usb=on': 'a USB controller',
}
# On one machine only.
OTHER = {
    ('none', 'usb=on'): None,           # a switch without effect there, as in QEMU
    ('pc', 'pic=off'): 'cannot be off on a PC machine',
    ('q35', 'pic=off'): 'cannot be off on a PC machine',
    ('none', 'kernel=KERNEL'): 'no CPU',
    ('none', 'kernel=KERNEL,append=x'): 'no CPU',
    ('none', 'kernel=KERNEL,initrd=KERNEL'): 'no CPU',
}
RAM = ['-object', 'memory-backend-ram,id=ram,size=64M', '-m', '64M']


def properties(program, machine):
    """Name -> type."""
    text = subprocess.run([program, '-M', machine + ',help'], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r'^  ([a-z0-9-]+)=<([^ \n]+)>(?:\s|$)', text, re.M))


def settings(name, kind):
    if name in GIVEN:
        return GIVEN[name]
    return tuple('%s=%s' % (name, word) for word in OF_TYPE.get(kind, ('x',)))


def try_setting(checks, emulator, machine, text, kernel):
    """Starts and leaves by QMP's quit, or gives the sentence."""
    missing = OTHER[machine, text] if (machine, text) in OTHER else MISSING.get(text)
    args = ['-M', '%s,%s' % (machine, text.replace('KERNEL', kernel)), '-S', '-display', 'none', '-nodefaults',
            *(RAM if '=ram' in text else [])]
    if missing:
        name = text.split('=')[0].split('.')[0]
        cli.expect_refusal(checks, emulator, args, "%s.*%s" % (name, missing))
        return
    p = subprocess.run([emulator, *args, '-qmp', 'stdio'], input='{"execute":"qmp_capabilities"}{"execute":"quit"}',
                       capture_output=True, text=True, timeout=60, check=False)
    checks.check(p.returncode == 0 and '"QMP"' in p.stdout and not p.stderr,
                 '%s: status %d, stderr %r' % (args, p.returncode, p.stderr))


def test_taken(checks, emulator, peer, kernel):
    for machine in MACHINES:
        ours = properties(emulator, machine)
        wanted = properties(peer or emulator, machine)
        checks.check(len(wanted) > 15, '%s: only %d properties in the list' % (machine, len(wanted)))
        for name, kind in wanted.items():
            checks.check(name in ours, "%s: '-M %s,help' does not list %s" % (emulator, machine, name))
            for text in settings(name, kind):
                try_setting(checks, emulator, machine, text, kernel)


def test_effect(checks, emulator, kernel):
    """The keys that are options too do what the options do."""
    for text, message in (('kernel=/no/such', "kernel file '/no/such'"),
                          ('firmware=/no/such', '/no/such'), ('append=x', '-append'),
                          ('kernel=%s,initrd=/no/such' % kernel, '/no/such'),
                          ('boot=c', "Parameter 'boot=c' is no value"), ('smp=2', "Parameter 'smp=2' is no value"),
                          ('memory=64M', "Parameter 'memory=64M' is no value"),
                          ('sata=maybe', "Parameter 'sata' expects 'on' or 'off', not 'maybe'"),
                          ('phandle-start=x', "'phandle-start'.*'x'"), ('sgx-epd.0.memdev=x', 'sgx-epd.0.memdev')):
        cli.expect_refusal(checks, emulator, ['-M', 'q35,' + text, '-S', '-display', 'none'], message)


def main():
    emulator, peer = sys.argv[1], (sys.argv[2:] or [None])[0]
    checks = cli.Checks()
    with tempfile.TemporaryDirectory() as work:
        kernel = qtestlib.tiny_kernel(os.path.join(work, 'kernel'))
        test_taken(checks, emulator, peer, kernel)
        test_effect(checks, emulator, kernel)
    checks.end()


if __name__ == '__main__':
    main()
