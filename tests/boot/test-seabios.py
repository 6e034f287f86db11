#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's SeaBIOS through POST to "No bootable device": its log on the debug console and its words on the serial one,
on both boards, with 1 to 4 CPUs; compared line by line with the peer's log where there is a peer.

Usage: test-seabios.py EMULATOR [ACCEL [PEER]]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import guestlib

END = 'No bootable device.'
PEER = '/usr/bin/qemu-system-x86_64'
# Lines that may differ between the peer and us, and why.
EXPLAINED = (
    (r'PCI: (IO|32|64):|PCI: map device|PCI: init bdf=.*(7010|2922|2930)', 'our boards have no IDE, AHCI, SMBus yet'),
    (r'ATA controller|AHCI controller', 'the same'),
    (r'Found \d+ PCI devices', 'the same'),
    (r'Space available for UMB|Returned \d+ bytes of ZoneHigh', 'sizes of our own tables'),
    (r'  \d+: \S+ - \S+ = ', 'the memory map: checked by itself'),
    (r'e820 map has', 'the same'),
)
# Numbers that follow from the size of tables.
SAME_BUT_NUMBERS = r'(Copying (?:PIR|MPTABLE|SMBIOS)|table\(\w+\)=|ACPI: parse DSDT).*'


def start(emulator, args, log):
    cmd = [emulator, '-nodefaults', '-display', 'none', '-cpu', 'qemu64,kvm=off', '-debugcon', f'file:{log}', '-global',
           'isa-debugcon.iobase=0x402', *args]
    return subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def post_log(emulator, args, end=END, timeout=120):
    """SeaBIOS's debug log up to the line that begins with `end`."""
    with tempfile.TemporaryDirectory() as work:
        log = pathlib.Path(work, 'log')
        with start(emulator, args, log) as vm:
            try:
                give_up = time.monotonic() + timeout
                text = ''
                while f'\n{end}' not in text or not text.endswith('\n'):
                    assert vm.poll() is None, f'{args}: it ended: {vm.stderr.read().decode()}'
                    assert time.monotonic() < give_up, f'{args}: no {end!r} in:\n{text}'
                    time.sleep(0.05)
                    text = log.read_text('utf-8', 'replace') if log.exists() else ''
            finally:
                vm.kill()
    return text.replace('\r', '')


def comparable(text):
    lines = []
    for line in text.splitlines():
        if not any(re.match(pattern, line) for pattern, _ in EXPLAINED):
            lines.append(re.sub(SAME_BUT_NUMBERS, r'\1', line))
    # Threads of POST: which finishes first is a matter of time.
    loose = [l for l in lines if re.match(r'PS2 keyboard|Searching bootorder|Found \d lpt|Found \d serial', l)]
    return [l for l in lines if l not in loose] + sorted(set(loose))


def check_log(text, cpus, ram_kib, more=('ACPI: parse DSDT',)):
    for want in (*more, f'Found {cpus} cpu(s) max supported {cpus} cpu(s)', 'QEMU fw_cfg DMA interface supported',
                 'Moving pm_base to 0x600', 'Copying SMBIOS', 'Copying MPTABLE', 'PS2 keyboard initialized',
                 'No VGA found', 'Booting from Hard Disk'):
        assert want in text, f'no {want!r} in:\n{text}'
    usable = [(int(a, 16), int(b, 16)) for a, b in re.findall(r'  \d+: (\S+) - (\S+) = 1 RAM', text)]
    assert usable[0] == (0, 0x9fc00) and usable[1][0] == 0x100000, usable
    total = sum(b - a for a, b in usable) // 1024
    assert ram_kib - 1024 < total < ram_kib, (total, ram_kib)


def test_post(emulator, accel):
    for machine in ('pc', 'q35'):
        for cpus in (1, 2, 3, 4):
            check_log(post_log(emulator, ['-accel', accel, '-M', machine, '-smp', str(cpus)]), cpus, 128 * 1024)
    # The 128 KiB build, which leaves out this and that.
    check_log(post_log(emulator, ['-accel', accel, '-bios', 'bios.bin', '-m', '5G']), 1, 5 << 20, more=())


def test_like_the_peer(emulator, accel, peer):
    for machine in ('pc', 'q35'):
        args = ['-M', f'{machine},smbios-entry-point-type=32', '-smp', '2', '-boot', 'strict=on']
        ours = comparable(post_log(emulator, ['-accel', accel, *args]))
        theirs = comparable(post_log(peer, [*args, '-global', 'apic-common.vapic=off']))
        assert ours == theirs, '\n'.join(['ours:', *ours, '', 'theirs:', *theirs])


def test_smm_off(emulator, accel):
    """SeaBIOS waits for ever for an SMI that does not come, unless the chip set says that all is done."""
    for machine in ('pc', 'q35'):
        check_log(post_log(emulator, ['-accel', accel, '-M', f'{machine},smm=off']), 1, 128 * 1024)


def test_boot_options(emulator, accel):
    post_log(emulator, ['-accel', accel, '-boot', 'reboot-timeout=3000'], end=f'{END}  Retrying in 3 seconds.')
    text = post_log(emulator, ['-accel', accel, '-boot', 'menu=on,splash-time=100'])
    assert 'Press ESC for boot menu.' in text, text


def test_option_rom(emulator, accel):
    """A ROM that writes to the debug console when it is called, from which SeaBIOS boots it too."""
    code = b'\xba\x02\x04' + b''.join(bytes([0xb0, c, 0xee]) for c in b'HELLO\n') + b'\xcb'
    rom = bytearray(512)
    rom[0:3] = b'\x55\xaa\x01'
    rom[3:3 + len(code)] = code
    rom[511] = -sum(rom) & 0xff
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, 'hello.rom')
        path.write_bytes(rom)
        text = post_log(emulator, ['-accel', accel, '-option-rom', f'{path}'])
    assert 'Searching bootorder for: /rom@genroms/hello.rom' in text and 'HELLO\n' in text, text


def test_nographic(emulator, accel):
    """The words of SeaBIOS on the serial port, for a bare start, as the peer shows them there."""
    for args in (['-nographic'], ['-nographic', '-overcommit', 'mem-lock=on-fault', '-M', 'q35']):
        with subprocess.Popen([emulator, '-accel', accel, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as vm:
            console = guestlib.Console(vm.stdout.fileno(), None)
            console.expect('SeaBIOS (version ', timeout=120)
            console.expect('\nBoot failed: could not read the boot disk\n', timeout=60)
            console.expect(END, timeout=60)
            vm.stdin.write(b'\x01x')            # the multiplexer's way out
            vm.stdin.flush()
            assert vm.wait(30) == 0, vm.stderr.read()
            warnings = vm.stderr.read().decode().splitlines()
            assert len(warnings) == 1 and 'left out' in warnings[0], warnings


def main():
    emulator, accel = sys.argv[1], (sys.argv[2:] or ['tcg'])[0]
    peer = (sys.argv[3:] or [PEER])[0]
    tests = [test_post, test_smm_off, test_boot_options, test_option_rom, test_nographic]
    for test in tests:
        test(emulator, accel)
        print(f'ok: {test.__name__}', flush=True)
    if os.access(peer, os.X_OK):
        test_like_the_peer(emulator, accel, peer)
        print('ok: test_like_the_peer', flush=True)
    else:
        print(f'not compared: there is no {peer}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
