#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Payload ROMs under KVM, in each irqchip mode: the transcript is the same as under tcg, and as written down here.

Usage: test-payloads.py EMULATOR BUILD_DIR(payload ROMs payload-BITS-END.bin)
"""
import subprocess
import sys

import kvmhost

EXPECTED = {
    bits: '16 pio ok\n16 unreal mmio ok\n16 timer-pic 5\n' + ''.join(
        f'{bits} {line}\n' for line in (
            'pio ok', 'outs ok', 'mmio ioapic 23', 'mmio lapic 1', 'sse 8', 'timer-pic 5', 'timer-ioapic 5',
            'timer-lapic 5', 'ipi 3', 'atomic 20000', 'end'))
    for bits in (32, 64)}
EXIT, KBD_RESET, TRIPLE_FAULT = 0, 1, 2
# Where these stop in a nested host, or are not done yet, the transcript must be right up to and with this line.
SURE_UNTIL = 'sse 8\n'


def command(emulator, accel, rom):
    return [emulator, '-accel', accel, '-M', 'q35', '-smp', '2', '-m', '128', '-nodefaults', '-display', 'none',
            '-no-reboot', '-bios', rom, '-device', 'isa-debugcon,chardev=d', '-chardev', 'stdio,id=d',
            '-device', 'isa-debug-exit,iobase=0xf4']


def cases():
    """(bits, end, accelerator, expected status, whole transcript?). Nested, the outer emulator's SVM loses PAE
    guests at interrupts (the peer as inner VMM fails alike), and kernel-irqchip=off is too slow there to be sure of
    (status.rst)."""
    for bits in (64, 32):
        for chip in ('on', 'split', 'off'):
            whole = chip != 'off' and (bits == 64 or kvmhost.kvm_usable())
            yield bits, EXIT, f'kvm,kernel-irqchip={chip}', 33, whole
    yield 64, KBD_RESET, 'kvm', 0, True
    yield 64, TRIPLE_FAULT, 'kvm', 0, True


def run_tcg(emulator, build):
    bad = 0
    for bits, end, status in ((32, EXIT, 33), (64, EXIT, 33), (64, KBD_RESET, 0), (64, TRIPLE_FAULT, 0)):
        done = subprocess.run(command(emulator, 'tcg', f'{build}/payload-{bits}-{end}.bin'), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=60, check=False)
        bad += check(f'tcg {bits}-bit end {end}', done.stdout.decode(), done.returncode, EXPECTED[bits], status)
    return bad


def check(name, text, status, want_text, want_status, whole=True):
    if whole:
        ok = text == want_text and status == want_status
    else:
        ok = text.startswith(want_text[:want_text.index(SURE_UNTIL) + len(SURE_UNTIL)])
    print(f"{'ok' if ok else 'NOT OK'}: {name}")
    if not ok:
        print(f'  status {status}, expected {want_status}\n  transcript: {text!r}\n  expected:   {want_text!r}')
    return not ok


def run_kvm(emulator, build):
    files = {emulator: '/bin/qemu-system-x86_64'}
    script = ''
    for i, (bits, end, accel, _, whole) in enumerate(cases()):
        rom = f'{build}/payload-{bits}-{end}.bin'
        files[rom] = f'/payload-{bits}-{end}.bin'
        words = command('/bin/qemu-system-x86_64', accel, files[rom])
        script += f"echo '@@case {i}'\ntimeout {40 if whole else 15} {' '.join(words)} 2>/dev/null </dev/null\n"
        script += 'echo "@@status $?"\n'
    out = kvmhost.run(files, script, 600)
    bad = 0
    for i, (bits, end, accel, status, whole) in enumerate(cases()):
        part = out.split(f'@@case {i}\n', 1)[-1].split('@@case', 1)[0]
        text, _, got = part.partition('@@status ')
        bad += check(f'{accel} {bits}-bit end {end}', text, int(got.split()[0]) if got.strip() else -1, EXPECTED[bits],
                     status, whole)
    return bad


def main():
    emulator, build = sys.argv[1:3]
    return 1 if run_tcg(emulator, build) + run_kvm(emulator, build) else 0


if __name__ == '__main__':
    sys.exit(main())
