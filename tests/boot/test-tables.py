#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ACPI and SMBIOS tables as a direct boot lays them out in memory: checksums, what iasl and dmidecode say about them.

Usage: test-tables.py EMULATOR
Every table goes through iasl -d, the result through iasl -tc: no error, no warning, and the same bytes again.
"""
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import qtestlib

RSDP, SMBIOS = 0xf0000, 0xf0040
MACHINES = ('pc', 'q35', 'microvm')
FIXED = {'pc': {'FACP', 'APIC', 'HPET', 'WAET'}, 'q35': {'FACP', 'APIC', 'HPET', 'WAET', 'MCFG'},
         'microvm': {'FACP', 'APIC'}}


def checked(data, what):
    assert sum(data) & 0xff == 0, f'{what}: checksum is wrong'
    return data


def read_tables(vm):
    """signature -> bytes, by way of the RSDP's XSDT; the RSDT must list the same."""
    rsdp = vm.read(RSDP, 36)
    assert rsdp[:8] == b'RSD PTR ', rsdp
    checked(rsdp[:20], 'RSDP')
    checked(rsdp, 'RSDP, extended')
    rsdt_at, _, xsdt_at = struct.unpack('<IIQ', rsdp[16:32])

    def table(addr):
        size = struct.unpack('<I', vm.read(addr + 4, 4))[0]
        data = vm.read(addr, size)
        return data if data[:4] == b'FACS' else checked(data, data[:4])

    xsdt, rsdt = table(xsdt_at), table(rsdt_at)
    addrs = struct.unpack(f'<{(len(xsdt) - 36) // 8}Q', xsdt[36:])
    assert addrs == struct.unpack(f'<{(len(rsdt) - 36) // 4}I', rsdt[36:]), 'RSDT and XSDT differ'
    tables = {t[:4].decode(): t for t in map(table, addrs)}
    facs, dsdt = struct.unpack('<II', tables['FACP'][36:44])
    assert struct.unpack('<Q', tables['FACP'][140:148])[0] == dsdt
    assert facs % 64 == 0
    tables['DSDT'] = table(dsdt)
    if facs:                            # reduced hardware has none
        tables['FACS'] = table(facs)
    return tables


def iasl(work, name, data):
    path = pathlib.Path(work, f'{name.lower()}.dat')
    path.write_bytes(data)
    out = subprocess.run(['iasl', '-d', path.name], cwd=work, capture_output=True, text=True, check=True)
    assert 'Error' not in out.stdout + out.stderr and 'Warning' not in out.stdout + out.stderr, out.stdout + out.stderr
    dsl = path.with_suffix('.dsl')
    if name == 'FACS':
        return                          # iasl takes it apart, and has no way back
    out = subprocess.run(['iasl', '-tc', '-p', f'{name.lower()}-again', dsl.name], cwd=work, capture_output=True,
                         text=True, check=False)
    text = out.stdout + out.stderr
    assert out.returncode == 0 and re.search(r'\b0 Errors, 0 Warnings', text), f'{name}: {text}'


def test_acpi(emulator, machine, smp):
    with tempfile.TemporaryDirectory() as work:
        kernel = qtestlib.tiny_kernel(f'{work}/kernel')
        args = ['-M', machine, '-smp', str(smp), '-m', '256', '-kernel', kernel, '-serial', 'null',
                '-device', 'pvpanic'] if machine != 'microvm' else \
               ['-M', machine, '-smp', str(smp), '-m', '256', '-kernel', kernel, '-serial', 'null']
        with qtestlib.Qtest(emulator, args) as vm:
            tables = read_tables(vm)
        assert set(tables) == FIXED[machine] | ({'DSDT'} if machine == 'microvm' else {'DSDT', 'FACS'}), sorted(tables)
        assert tables['DSDT'].count(b'ACPI0007') == smp
        for name, data in tables.items():
            iasl(work, name, data)


def test_acpi_off(emulator):
    with tempfile.TemporaryDirectory() as work:
        kernel = qtestlib.tiny_kernel(f'{work}/kernel')
        with qtestlib.Qtest(emulator, ['-M', 'q35,acpi=off', '-kernel', kernel]) as vm:
            assert vm.read(RSDP, 8) == bytes(8)


def smbios_dump(vm):
    """What dmidecode --from-dump takes: the entry point, pointing to the table that follows it at 32."""
    anchor = bytearray(vm.read(SMBIOS, 32))
    if anchor[:5] == b'_SM3_':
        checked(anchor[:24], 'SMBIOS entry point')
        size, addr = struct.unpack('<I', anchor[12:16])[0], struct.unpack('<Q', anchor[16:24])[0]
        anchor[16:24] = struct.pack('<Q', 32)
        anchor[5] = (anchor[5] - sum(anchor[:24])) & 0xff
    else:
        assert anchor[:4] == b'_SM_', anchor
        checked(anchor[:31], 'SMBIOS entry point')
        checked(anchor[16:31], 'SMBIOS intermediate entry point')
        size, addr = struct.unpack('<HI', anchor[22:28])
        anchor[24:28] = struct.pack('<I', 32)
        anchor[21] = (anchor[21] - sum(anchor[16:31])) & 0xff
        anchor[4] = (anchor[4] - sum(anchor[:31])) & 0xff
    return bytes(anchor) + vm.read(addr, size)


def dmidecode(work, dump):
    path = pathlib.Path(work, 'smbios.bin')
    path.write_bytes(dump)
    tool = shutil.which('dmidecode') or '/usr/sbin/dmidecode'
    out = subprocess.run([tool, '--from-dump', str(path)], capture_output=True, text=True, check=True)
    for bad in ('<BAD', 'Wrong', 'Invalid', '<TRUNCATED>', 'broken', 'checksum'):
        assert bad not in out.stdout + out.stderr, out.stdout + out.stderr
    return out.stdout


def test_smbios(emulator, machine):
    uuid = '12345678-9abc-def0-1234-56789abcdef0'
    with tempfile.TemporaryDirectory() as work:
        kernel = qtestlib.tiny_kernel(f'{work}/kernel')
        args = ['-M', machine, '-smp', '4,sockets=2', '-m', '1024', '-kernel', kernel, '-uuid', uuid, '-smbios',
                'type=1,manufacturer=Some Maker,serial=S1', '-smbios', 'type=2,product=Board', '-smbios',
                'type=11,value=first,value=second', '-smbios', 'type=17,manufacturer=Chips', '-smbios',
                'type=0,vendor=Firm,release=3.7,uefi=on']
        with qtestlib.Qtest(emulator, args) as vm:
            text = dmidecode(work, smbios_dump(vm))
    for want in ('Manufacturer: Some Maker', 'Serial Number: S1', f'UUID: {uuid}', 'Product Name: Board',
                 'String 1: first', 'String 2: second', 'Size: 1 GB', 'Manufacturer: Chips', 'Vendor: Firm',
                 'End Of Table', 'BIOS Revision: 3.7'):
        assert want in text, f'no {want!r} in:\n{text}'
    assert text.count('Processor Information') == 2
    assert 'Core Count: 2' in text, text


def main():
    emulator = sys.argv[1]
    for tool in ('iasl',):
        if not shutil.which(tool):
            print(f'SKIP: {tool} is not installed')
            return 77
    for machine in MACHINES:
        for smp in (1, 4):
            test_acpi(emulator, machine, smp)
        print(f'ok: ACPI of {machine}', flush=True)
    test_acpi_off(emulator)
    for machine in ('pc', 'q35', 'pc-q35-7.2'):
        test_smbios(emulator, machine)
        print(f'ok: SMBIOS of {machine}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
