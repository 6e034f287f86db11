#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How a machine starts, with guests of a few bytes: firmware ROMs, kernels entered through PVH, and bad files.

Usage: test-start.py EMULATOR
"""
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

import qtestlib

EXIT = ['-device', 'isa-debug-exit,iobase=0xf4,iosize=4']


def run(emulator, args, timeout=60):
    done = subprocess.run([emulator, '-accel', 'tcg', '-nodefaults', '-display', 'none', *args],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
    return done.returncode, done.stdout, done.stderr


def exit_code(value):
    """mov al, value; out 0xf4, al; hlt"""
    return bytes([0xb0, value, 0xe6, 0xf4, 0xf4])


def test_rom(emulator, work):
    for size in (64 << 10, 256 << 10):
        rom = pathlib.Path(work, 'rom')
        rom.write_bytes(bytes(size - 16) + exit_code(3).ljust(16, b'\0'))
        for machine in ('pc', 'q35'):
            got = run(emulator, ['-M', machine, '-bios', str(rom), *EXIT])
            assert got[0] == 7, got


def test_first_exit_decides(emulator, work):
    kernel = qtestlib.tiny_kernel(f'{work}/k', exit_code(1)[:4] + exit_code(2)[:4] + b'\xf4')
    assert run(emulator, ['-kernel', kernel, *EXIT])[0] == 3


def test_pvh(emulator, work):
    """The start info in ebx must have its magic, and the command line must be where it says."""
    text = (b'\x81\x3b\x78\xc5\x6e\x33'         # cmp dword [ebx], 0x336ec578
            b'\x75\x0e'                         # jne bad
            b'\x8b\x43\x18'                     # mov eax, [ebx + 24]: command line
            b'\x81\x38wxyz'                     # cmp dword [eax], "wxyz"
            b'\x75\x03'                         # jne bad
            + b'\xb0\x05\xeb\x02'               # mov al, 5; jmp out
            + b'\xb0\x06'                       # bad: mov al, 6
            + b'\xe6\xf4\xf4')                  # out: out 0xf4, al; hlt
    kernel = qtestlib.tiny_kernel(f'{work}/k', text)
    for machine in ('pc', 'q35'):
        got = run(emulator, ['-M', machine, '-kernel', kernel, '-append', 'wxyz', *EXIT])
        assert got[0] == 11, got


def test_smi_from_port_b2(emulator, work):
    """The handler, at the reset SMBASE, leaves a byte; without SMM there is none."""
    handler = b'\xc6\x06\x00\x06\x5a\x0f\xaa\x90'         # mov byte [600h], 5ah; rsm
    place = (b'\xc7\x05\x00\x80\x03\x00' + handler[:4]  # mov dword [38000h], ...
             + b'\xc7\x05\x04\x80\x03\x00' + handler[4:])
    enable = {'q35': b'\x66\xba\x30\x06\xb8\x21\x00\x00\x00\xef',     # SMI_EN: GBL_SMI_EN, APMC_EN
              'pc': b'\x66\xba\xf8\x0c\xb8\x58\x0b\x00\x80\xef'       # DEVACTB: APMC_EN
                    b'\x66\xba\xfc\x0c\xb8\x00\x00\x00\x02\xef'}
    trigger = (b'\xb0\x55\xe6\xb2\x90'                # out b2h
               b'\xa0\x00\x06\x00\x00\xe6\xf4\xf4')     # mov al, [600h]; out f4h; hlt
    for machine, smm, want in (('pc', 'on', 0x5a), ('q35', 'on', 0x5a), ('q35', 'auto', 0x5a), ('pc', 'off', 0),
                               ('q35', 'off', 0)):
        kernel = qtestlib.tiny_kernel(f'{work}/k', place + enable[machine] + trigger)
        got = run(emulator, ['-M', f'{machine},smm={smm}', '-kernel', kernel, *EXIT])
        assert got[0] == want << 1 | 1, (machine, smm, got)


def test_reset_loads_again(emulator, work):
    """The guest spoils its own code, then resets through port cf9h; the second run must find the code whole again."""
    text = (b'\xba\x70\x00\x00\x00\xb0\x40\xee'         # CMOS 40h counts the runs: out 70h
            b'\xba\x71\x00\x00\x00\xec'                 # in al, 71h
            b'\xfe\xc0\xee'                             # inc al; out 71h
            b'\x3c\x03\x74\x12'                         # third run: to the end
            b'\xc6\x05\x00\x00\x10\x00\xf4'             # mov byte [100000h], hlt
            b'\xba\xf9\x0c\x00\x00\xb0\x06\xee\xf4'     # out cf9h, 6
            b'\x90\x90' + exit_code(9))
    kernel = qtestlib.tiny_kernel(f'{work}/k', text)
    for machine in ('pc', 'q35'):
        got = run(emulator, ['-M', machine, '-kernel', kernel, *EXIT])
        assert got[0] == 19, got
    assert run(emulator, ['-kernel', kernel, '-no-reboot', *EXIT])[0] == 0


def expect_error(emulator, args, *words):
    status, _, err = run(emulator, args)
    assert status == 1 and all(w in err for w in words) and err.count('\n') <= 2, (args, status, err)


def test_errors(emulator, work):
    kernel = qtestlib.tiny_kernel(f'{work}/k', exit_code(1))
    junk, empty, big = f'{work}/junk', f'{work}/empty', f'{work}/big'
    pathlib.Path(junk).write_bytes(b'no kernel at all' * 100)
    pathlib.Path(empty).write_bytes(b'')
    with open(big, 'wb') as f:
        f.truncate(200 << 20)
    expect_error(emulator, ['-kernel', f'{work}/none'], 'could not open kernel file', f'{work}/none')
    expect_error(emulator, ['-kernel', work], work)
    expect_error(emulator, ['-kernel', empty], empty)
    expect_error(emulator, ['-kernel', junk], 'kernel', junk)
    expect_error(emulator, ['-kernel', kernel, '-initrd', f'{work}/none'], 'initrd', f'{work}/none')
    expect_error(emulator, ['-kernel', kernel, '-initrd', big, '-m', '128'], 'initrd')
    expect_error(emulator, ['-kernel', kernel, '-append', 'x' * 5000], 'command line')
    expect_error(emulator, ['-initrd', kernel, '-bios', junk], '-initrd', '-kernel')
    expect_error(emulator, ['-bios', f'{work}/none'], 'BIOS', f'{work}/none')
    expect_error(emulator, ['-bios', junk], 'BIOS', junk)
    expect_error(emulator, ['-M', 'isapc'], 'isapc')
    expect_error(emulator, ['-kernel', kernel, '-fw_cfg', 'name=opt/a,file=/nowhere'], '/nowhere')
    expect_error(emulator, ['-kernel', kernel, '-fw_cfg', f'name=opt/{"a" * 60},string=x'], '55')
    expect_error(emulator, ['-kernel', kernel, '-smbios', 'type=1,uuid=zz'], 'zz')
    expect_error(emulator, ['-kernel', kernel, '-device', 'isa-debug-exit', '-device', 'pvpanic-pci,addr=0'], 'slot 0')
    cut = f'{work}/cut'
    pathlib.Path(cut).write_bytes(pathlib.Path(kernel).read_bytes()[:100])
    expect_error(emulator, ['-kernel', cut], cut)
    image = bytearray(0x2000)           # a bzImage whose header is too old
    image[0x1fe:0x206] = b'\x55\xaa\xeb\x66HdrS'
    image[0x206:0x208] = struct.pack('<H', 0x0200)
    pathlib.Path(cut).write_bytes(gzip.compress(bytes(image)))
    expect_error(emulator, ['-kernel', cut], cut)
    pathlib.Path(cut).write_bytes(image)
    expect_error(emulator, ['-kernel', cut], 'protocol')


def main():
    emulator = sys.argv[1]
    for test in (test_rom, test_first_exit_decides, test_pvh, test_smi_from_port_b2, test_reset_loads_again,
                 test_errors):
        with tempfile.TemporaryDirectory() as work:
            test(emulator, work)
        print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
