#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-kernel under firmware: our linuxboot ROM, with and without fw_cfg's DMA, for each layout of the boot protocol; the
option ROM of a PCI card; what is refused.

Usage: test-firmware.py EMULATOR [ACCEL]
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

EXIT = ['-device', 'isa-debug-exit,iobase=0xf4,iosize=0x04']
NO_DMA = ['-global', 'fw_cfg_io.dma_enabled=off']
GOOD, BAD = 5, 6
# Set-up code as the ROM enters it: DS its own segment. CMDLINE leaves the command line's address in ES:DI.
CODE = '''
    .code16
    .org 0x200
    jmp start
    .org 0x23c
start:
    movw %cs, %ax
    movw %ds, %bx
    subw %bx, %ax
    cmpw $0x20, %ax
    jne bad
    movw %ss, %ax
    cmpw %ax, %bx
    jne bad
    pushl $0x12345678           # the stack is memory of its own
    popl %eax
    cmpl $0x12345678, %eax
    jne bad
    {cmdline}
    cmpl $0x7a797877, %es:(%di) # "wxyz"
    jne bad
    movw ${kernel_seg}, %ax
    movw %ax, %es
    cmpl $0x4c4e524b, %es:{kernel_off}  # "KRNL"
    jne bad
    cmpb $0, 0x21c              # the initrd's size
    je 1f
    cmpl ${initrd_len}, 0x21c
    jne bad
    pushw %ds                   # its last bytes, read by big real mode through a descriptor on the stack
    pushl $0x00cf9300
    pushl $0x0000ffff
    pushl $0
    pushl $0
    movw %sp, %si
    xorl %eax, %eax
    movw %ss, %ax
    shll $4, %eax
    movzwl %si, %ecx
    addl %ecx, %eax
    pushl %eax
    pushw $15
    movw %sp, %bx
    lgdtl %ss:(%bx)
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    movw $8, %bx
    movw %bx, %fs
    andb $0xfe, %al
    movl %eax, %cr0
    xorw %bx, %bx
    movw %bx, %fs
    movl 0x218, %esi
    addl 0x21c, %esi
    cmpl $0x44524e45, %fs:-4(%esi)      # "ENRD"
    jne bad
1:  movb ${good}, %al
    jmp out
bad:
    movb ${bad}, %al
out:
    outb %al, $0xf4
    hlt
    .org {setup_len}
    .ascii "KRNL"
    .fill 4096
'''
NEW_CMDLINE = 'movl 0x228, %edi; movl %edi, %eax; shrl $4, %eax; movw %ax, %es; andw $15, %di'
OLD_CMDLINE = 'cmpw $0xa33f, 0x20; jne bad; movw %ds, %ax; movw %ax, %es; movw 0x22, %di'


def assemble(work, text):
    pathlib.Path(work, 'k.s').write_text(text)
    subprocess.run(['as', '--32', '-o', f'{work}/k.o', f'{work}/k.s'], check=True)
    subprocess.run(['ld', '-m', 'elf_i386', '-Ttext=0', '--oformat', 'binary', '-e', '0', f'{work}/k.o', '-o',
                    f'{work}/k.bin'], check=True)
    return bytearray(pathlib.Path(work, 'k.bin').read_bytes())


def tiny_bzimage(work, version, high, initrd_len=0, sects=2):
    """A kernel of the given protocol whose set-up code checks what it got and says so by its exit status."""
    image = assemble(work, CODE.format(
        cmdline=NEW_CMDLINE if version >= 0x202 else OLD_CMDLINE, kernel_seg='0xffff' if high else '0x1000',
        kernel_off='0x10' if high else '0', setup_len=(sects + 1) * 512, initrd_len=initrd_len, good=GOOD, bad=BAD))
    image[0x1f1] = sects
    image[0x1fe:0x200] = b'\x55\xaa'
    image[0x202:0x206] = b'HdrS'
    struct.pack_into('<H', image, 0x206, version)
    image[0x211] = 1 if high else 0
    struct.pack_into('<I', image, 0x22c, 0x37ffffff)
    struct.pack_into('<I', image, 0x238, 255)
    path = pathlib.Path(work, 'kernel')
    path.write_bytes(image)
    return str(path)


def run(emulator, args, timeout=120):
    cmd = [emulator, '-nodefaults', '-display', 'none', '-m', '64', *args]
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, check=False)
    return done.returncode, done.stderr.decode('utf-8', 'replace')


def test_layouts(emulator, accel):
    with tempfile.TemporaryDirectory() as work:
        initrd = pathlib.Path(work, 'initrd')
        initrd.write_bytes(bytes(100001) + b'ENRD')
        for version, high in ((0x200, False), (0x201, True), (0x202, True), (0x20f, True)):
            for dma in ([], NO_DMA):
                for length in (0, initrd.stat().st_size):
                    args = ['-accel', accel, '-bios', 'bios-256k.bin', '-append', 'wxyz', *EXIT, *dma,
                            '-kernel', tiny_bzimage(work, version, high, length)]
                    got = run(emulator, args + (['-initrd', str(initrd)] if length else []))
                    assert got[0] == GOOD << 1 | 1, (hex(version), high, dma, length, got)


def test_machines(emulator, accel):
    with tempfile.TemporaryDirectory() as work:
        kernel = tiny_bzimage(work, 0x20f, True)
        for more in (['-M', 'q35'], ['-M', 'pc', '-smp', '4'], ['-M', 'q35,acpi=off'], ['-bios', 'bios.bin'],
                     ['-M', 'pc', '-m', '5G'], ['-boot', 'menu=off,strict=on']):
            args = ['-accel', accel, '-bios', 'bios-256k.bin', '-append', 'wxyz', '-kernel', kernel, *EXIT, *more]
            got = run(emulator, args)
            assert got[0] == GOOD << 1 | 1, (more, got)


def card_rom(vendor, device):
    """A PCI option ROM that says on the debug console that it was called."""
    code = b'\xba\x02\x04' + b''.join(bytes([0xb0, c, 0xee]) for c in b'CARD\n') + b'\x31\xc0\xcb'
    rom = bytearray(1024)
    rom[0:6] = b'\x55\xaa\x02\xeb\x40\x90'
    rom[0x18:0x1c] = struct.pack('<HH', 0x1c, 0)
    rom[0x1c:0x34] = struct.pack('<4sHHHHBHBHHBBH', b'PCIR', vendor, device, 0, 24, 0, 0x0700, 0, 2, 0, 0, 0x80, 0)
    rom[0x45:0x45 + len(code)] = code
    rom[-1] = -sum(rom) & 0xff
    return bytes(rom)


def test_card_rom(emulator, accel):
    """A card with an option ROM: firmware runs, calls the ROM, and then boots -kernel through ours."""
    with tempfile.TemporaryDirectory() as work:
        rom, log = pathlib.Path(work, 'card.rom'), pathlib.Path(work, 'log')
        rom.write_bytes(card_rom(0x1b36, 0x0002))
        for machine in ('pc', 'q35'):
            got = run(emulator, ['-accel', accel, '-M', machine, '-append', 'wxyz', '-kernel',
                                 tiny_bzimage(work, 0x20f, True), '-device', f'pci-serial,romfile={rom}', *EXIT,
                                 '-debugcon', f'file:{log}', '-global', 'isa-debugcon.iobase=0x402'])
            assert got[0] == GOOD << 1 | 1, got
            assert 'CARD\n' in log.read_text(), log.read_text()


def expect_error(emulator, args, *words):
    status, err = run(emulator, args)
    assert status == 1 and all(w in err for w in words) and err.count('\n') == 1, (args, status, err)


def test_errors(emulator, accel):
    with tempfile.TemporaryDirectory() as work:
        kernel, junk, big = tiny_bzimage(work, 0x20f, True), f'{work}/junk', f'{work}/big'
        pathlib.Path(junk).write_bytes(b'\x7fELF' + bytes(2000))
        with open(big, 'wb') as f:
            f.truncate(200 << 20)
        bios = ['-bios', 'bios-256k.bin']
        expect_error(emulator, [*bios, '-kernel', f'{work}/none'], 'kernel', f'{work}/none')
        expect_error(emulator, [*bios, '-kernel', junk], junk, 'bzImage')
        expect_error(emulator, [*bios, '-kernel', kernel, '-initrd', f'{work}/none'], 'initrd', f'{work}/none')
        expect_error(emulator, [*bios, '-kernel', kernel, '-initrd', big], 'initrd', 'do not fit')
        expect_error(emulator, [*bios, '-kernel', kernel, '-append', 'x' * 256], 'command line', '256', '255')
        image = bytearray(pathlib.Path(kernel).read_bytes())
        image[0x1f1] = 200
        pathlib.Path(junk).write_bytes(image)
        expect_error(emulator, [*bios, '-kernel', junk], junk, 'damaged')
        expect_error(emulator, ['-option-rom', f'{work}/none'], '-option-rom', f'{work}/none')
        expect_error(emulator, ['-option-rom', big], '-option-rom', big)
        expect_error(emulator, ['-option-rom', f'{kernel},bootindex=0', '-kernel', kernel], 'bootindex 0')
        expect_error(emulator, ['-boot', f'splash={junk}'], 'splash', junk)


def main():
    emulator, accel = sys.argv[1], (sys.argv[2:] or ['tcg'])[0]
    for test in (test_layouts, test_machines, test_card_rom, test_errors):
        test(emulator, accel)
        print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
