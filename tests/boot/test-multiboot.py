#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Multiboot kernels: what one finds at its start and after a reset, on the PC boards, beside what it finds in the peer.

Usage: test-multiboot.py EMULATOR KERNEL_DIR(multiboot-elf, multiboot-bin, multiboot-video)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PEER = '/usr/bin/qemu-system-x86_64'
START = """magic 2badb002
flags 0000024f
bss 00000000
data 12345678
command line [{kernel} hello  world]
loader's name 00000001
paging and protection 00000001
flags IF and VM 00000000
A20 00000001
mem_lower 0000027f
map and mem_upper agree 00000001
mem_upper fits 00000001
"""
MODULES = """modules 00000002
module [one first]
 bytes 00000001
 off its page 00000000
 behind the kernel 00000001
 first byte 00000041
 last byte 00000041
module [two second,third]
 bytes 00001388
 off its page 00000000
 behind the kernel 00000001
 first byte 0000007a
 last byte 0000007a
"""


def run(emulator, machine, kernel, initrd, append='hello  world'):
    cmd = [emulator, '-M', machine, '-accel', 'tcg', '-m', '64', '-nodefaults', '-display', 'none',
           '-debugcon', 'stdio', '-device', 'isa-debug-exit,iobase=0xf4,iosize=4', '-kernel', kernel, '-append', append]
    done = subprocess.run(cmd + (['-initrd', initrd] if initrd else []), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def expect_transcript(emulator, machine, kernel, initrd):
    once = START.format(kernel=pathlib.Path(kernel).name) + (MODULES if initrd else 'modules 00000000\n')
    got = run(emulator, machine, kernel, initrd)
    assert got[:2] == (33, once + 'reset\n' + once + 'end\n'), f'{emulator} {machine} {kernel}: {got}'
    print(f'ok: {emulator} {machine} {pathlib.Path(kernel).name} {"with modules" if initrd else ""}', flush=True)


def expect_refusal(emulator, kernel, words, initrd=None):
    status, text, errors = run(emulator, 'q35', kernel, initrd)
    lines = errors.strip().splitlines()
    assert status == 1 and not text and len(lines) == 1 and words in lines[0], (status, text, errors)
    print(f'ok: refused: {lines[0]}', flush=True)


def damaged(work, good, name, at, data):
    """A copy of a kernel with other bytes at an offset from its multiboot header, and the sum mended."""
    raw = bytearray(pathlib.Path(good).read_bytes())
    head = raw.index(b'\x02\xb0\xad\x1b')
    raw[head + at:head + at + len(data)] = data
    flags = int.from_bytes(raw[head + 4:head + 8], 'little')
    raw[head + 8:head + 12] = (-(0x1badb002 + flags) & 0xffffffff).to_bytes(4, 'little')
    path = f'{work}/{name}'
    pathlib.Path(path).write_bytes(raw)
    return path


def word(value):
    return value.to_bytes(4, 'little')


def check_refusals(emulator, kernels, work):
    elf, binary = f'{kernels}/multiboot-elf', f'{kernels}/multiboot-bin'
    expect_refusal(emulator, f'{kernels}/multiboot-video', 'asks for a framebuffer')
    expect_refusal(emulator, damaged(work, elf, 'strange', 4, word(0x13)), 'what nobody knows')
    expect_refusal(emulator, damaged(work, binary, 'before', 16, word(0xffff0)), 'outside the file')
    expect_refusal(emulator, damaged(work, binary, 'above', 16, word(0x200000)), 'outside the file')
    expect_refusal(emulator, damaged(work, binary, 'long', 20, word(0x900000)), 'more than the file has')
    expect_refusal(emulator, damaged(work, binary, 'backward', 20, word(0x80000)), 'before its begin')
    expect_refusal(emulator, damaged(work, binary, 'short', 24, word(0x100001)), 'not above what is loaded')
    expect_refusal(emulator, damaged(work, binary, 'huge', 24, word(0x7fffffff)), 'does not fit into the guest')
    cut = f'{work}/cut'
    pathlib.Path(cut).write_bytes(pathlib.Path(elf).read_bytes()[:4200])
    expect_refusal(emulator, cut, "beyond the file's end")
    wide = bytearray(pathlib.Path(elf).read_bytes())
    wide[4] = 2
    pathlib.Path(f'{work}/wide').write_bytes(wide)
    expect_refusal(emulator, f'{work}/wide', '64-bit ELF file')
    expect_refusal(emulator, elf, 'could not open module', f'{work}/nowhere')
    with open(f'{work}/big', 'wb') as f:
        f.truncate(1 << 30)
    expect_refusal(emulator, elf, 'does not fit', f'{work}/big')


def main():
    emulator, kernels = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as work:
        pathlib.Path(f'{work}/one').write_bytes(b'A')
        pathlib.Path(f'{work}/two').write_bytes(b'z' * 5000)
        modules = f'{work}/one first,{work}/two second,,third'
        for kind in ('elf', 'bin'):
            for machine in ('q35', 'pc'):           # microvm has no reset port at cf9h
                expect_transcript(emulator, machine, f'{kernels}/multiboot-{kind}', modules)
            if os.access(PEER, os.X_OK):
                expect_transcript(PEER, 'q35', f'{kernels}/multiboot-{kind}', modules)
        expect_transcript(emulator, 'q35', f'{kernels}/multiboot-elf', None)
        check_refusals(emulator, kernels, work)
    return 0


if __name__ == '__main__':
    sys.exit(main())
