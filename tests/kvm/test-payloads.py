#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Payload ROMs under KVM, in each irqchip mode: the transcript is the same as under tcg, and as written down here.

Usage: test-payloads.py EMULATOR BUILD_DIR(payload ROMs payload-BITS-END.bin)
"""
import subprocess
import sys

import kvmhost

BITS = (16, 32, 64)
EXPECTED = {
    bits: '16 pio ok\n16 unreal mmio ok\n16 timer-pic 5\n' + ''.join(
        f'{bits} {line}\n' for line in (
            'pio ok', 'outs ok', 'mmio ioapic 23', 'mmio lapic 1', 'sse 8', 'timer-pic 5', 'timer-ioapic 5',
            'timer-lapic 5', 'ipi 3', 'atomic 20000', 'end'))
    for bits in BITS}
EXIT, KBD_RESET, TRIPLE_FAULT = 0, 1, 2


def command(emulator, accel, rom):
    return [emulator, '-accel', accel, '-M', 'q35', '-smp', '2', '-m', '128', '-nodefaults', '-display', 'none',
            '-no-reboot', '-bios', rom, '-device', 'isa-debugcon,chardev=d', '-chardev', 'stdio,id=d',
            '-device', 'isa-debug-exit,iobase=0xf4']


def cases():
    """(bits, end, accelerator, expected status)."""
    for bits in BITS:
        for chip in ('on', 'split', 'off'):
            yield bits, EXIT, f'kvm,kernel-irqchip={chip}', 33
        yield bits, KBD_RESET, 'kvm', 0
        yield bits, TRIPLE_FAULT, 'kvm', 0
    yield 64, EXIT, 'kvm -cpu host', 33
    yield 64, EXIT, 'kvm,kernel-irqchip=off -cpu host', 33
    yield 64, EXIT, 'kvm -cpu max', 33


def run_tcg(emulator, build):
    bad = 0
    for bits in BITS:
        for end, status in ((EXIT, 33), (KBD_RESET, 0), (TRIPLE_FAULT, 0)):
            done = subprocess.run(command(emulator, 'tcg', f'{build}/payload-{bits}-{end}.bin'), timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
            bad += check(f'tcg {bits}-bit end {end}', done.stdout.decode(), done.returncode, EXPECTED[bits], status)
    return bad


def check(name, text, status, want_text, want_status):
    ok = text == want_text and status == want_status
    print(f"{'ok' if ok else 'NOT OK'}: {name}")
    if not ok:
        print(f'  status {status}, expected {want_status}\n  transcript: {text!r}\n  expected:   {want_text!r}')
    return not ok


def run_kvm(emulator, build):
    files = {emulator: '/bin/qemu-system-x86_64'}
    script = ''
    for i, (bits, end, accel, _) in enumerate(cases()):
        rom = f'{build}/payload-{bits}-{end}.bin'
        files[rom] = f'/payload-{bits}-{end}.bin'
        words = ' '.join(command('/bin/qemu-system-x86_64', accel, files[rom]))
        script += f"echo '@@case {i}'\ntimeout 60 {words} 2>/tmp/err </dev/null\n" \
                  'echo "@@status $?"\ncat /tmp/err\n'
    out = kvmhost.run(files, script, 900)
    bad = 0
    for i, (bits, end, accel, status) in enumerate(cases()):
        part = out.split(f'@@case {i}\n', 1)[-1].split('@@case', 1)[0]
        text, _, got = part.partition('@@status ')
        got, _, errors = got.partition('\n')
        if check(f'{accel} {bits}-bit end {end}', text, int(got) if got.isdigit() else -1, EXPECTED[bits], status):
            bad += 1
            print(errors)
    return bad


def main():
    emulator, build = sys.argv[1:3]
    return 1 if run_tcg(emulator, build) + run_kvm(emulator, build) else 0


if __name__ == '__main__':
    sys.exit(main())
