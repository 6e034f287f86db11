#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Assembles an option ROM and writes it as a C array: romgen.py NAME SOURCE OUTPUT CC [ARG...].

The image is padded to whole 512-byte blocks; byte 2, the PnP header's checksum and the last byte (so that all
bytes add up to 0) are filled in.
"""
import pathlib
import subprocess
import sys
import tempfile

BLOCK = 512
PNP_POINTER, PNP_LENGTH, PNP_CHECKSUM = 0x1a, 5, 9


def assemble(source, cc):
    with tempfile.TemporaryDirectory() as work:
        obj, out = f'{work}/rom.o', f'{work}/rom.bin'
        subprocess.run([*cc, '-m32', '-c', source, '-o', obj], check=True)
        subprocess.run(['ld', '-m', 'elf_i386', '-Ttext=0', '--oformat', 'binary', '-e', '0', obj, '-o', out],
                       check=True)
        return pathlib.Path(out).read_bytes()


def finish(image):
    rom = bytearray(image + b'\0')                      # room for the checksum
    rom += bytes(-len(rom) % BLOCK)
    rom[2] = len(rom) // BLOCK
    pnp = int.from_bytes(rom[PNP_POINTER:PNP_POINTER + 2], 'little')
    if pnp:
        length = rom[pnp + PNP_LENGTH] * 16
        rom[pnp + PNP_CHECKSUM] = 0
        rom[pnp + PNP_CHECKSUM] = -sum(rom[pnp:pnp + length]) & 0xff
    rom[-1] = -sum(rom) & 0xff
    return bytes(rom)


def main():
    name, source, output, *cc = sys.argv[1:]
    rom = finish(assemble(source, cc))
    rows = [', '.join(f'0x{b:02x}' for b in rom[i:i + 16]) for i in range(0, len(rom), 16)]
    pathlib.Path(output).write_text(f'/* Made by scripts/romgen.py from {pathlib.Path(source).name}. */\n'
                                    f'static const unsigned char {name}[{len(rom)}] = {{\n    '
                                    + ',\n    '.join(rows) + ',\n};\n', encoding='ascii')


if __name__ == '__main__':
    main()
