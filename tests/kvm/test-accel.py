#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest sees of an accelerator's machinery: dirty log (bitmap, ring), doorbells, irqfd, kick, wake, checkpoints.

Usage: test-accel.py ACCEL_TEST BUILD_DIR(payload ROMs payload-BITS-4.bin)
ACCEL_TEST is the emulator with the device accel-test (accel-test.c). Each accelerator and irqchip mode must give the
transcript below; the state that one saves at the checkpoint must be the same bytes for the interrupt controllers, and
another mode, and the software CPU, must go on from it. Latencies are printed, not judged.
"""
import fcntl
import re
import subprocess
import sys

import kvmhost

FIRST = '16 pio ok\n16 unreal mmio ok\n16 timer-pic 5\n'
LINES = ('pio ok', 'outs ok', 'mmio ioapic 23', 'mmio lapic 1', 'sse 8', 'timer-pic 5', 'timer-ioapic 5',
         'timer-lapic 5', 'ipi 3', 'atomic 20000', 'dirty at first 0', 'dirty after three writes 138', 'dirty then 0',
         'dirty once more 8', 'dirty all 255', 'bells 16974082', 'writes past them 513', 'irqfd 0', 'irqfd moved 0',
         'irqfd away 0', 'kick 1', 'wake 1', 'steps 3')
POINTS = ('break soft 3842', 'break hard 3858', 'watch write 291', 'watch read 307', 'watch both 323', 'touched 10')
AFTER = ('pic isr 0', 'pic imr 61173', 'elcr 3104', 'ioapic id 3', 'ioapic 5 108885', 'ioapic 5 high 2',
         'ioapic 9 65589', 'lapic lvt error 65593', 'lapic ldr 49', 'lapic dfr 0', 'lapic divide 3', 'lapic tpr 16',
         'lapic isr 2097152', 'lapic irr 1048576', 'waiting one 1', 'ipi 1', 'timer-lapic 3', 'timer-pic 3', 'end')
BITS = (16, 32, 64)
KVM_CHECK_EXTENSION, KVM_CAP_SET_GUEST_DEBUG = 0xae03, 23
KVM = ('kvm,kernel-irqchip=on', 'kvm,kernel-irqchip=split', 'kvm,kernel-irqchip=off', 'kvm,dirty-ring-size=1024')
# Who saves, who goes on.
MOVES = ((KVM[0], KVM[1]), (KVM[1], KVM[2]), (KVM[2], 'tcg'), ('tcg', KVM[0]))
SAVED, LOADED = 7, 9


def transcript(bits, mark=None, points=False):
    """The whole, or up to the checkpoint (mark None); with a debugger's points."""
    after = () if mark is None else (f'mark {mark}',) + AFTER
    return FIRST + ''.join(f'{bits} {line}\n' for line in LINES + (POINTS if points else ()) + after)


def host_has_points():
    """The emulated SVM of the nested host intercepts no INT3 and keeps no debug registers: a guest there dies of the
    first breakpoint. On a host of its own KVM says (KVM_CAP_SET_GUEST_DEBUG)."""
    if not kvmhost.kvm_usable():
        print('the nested host does no breakpoints: there only single steps are judged under kvm')
        return False
    with open('/dev/kvm', 'rb') as kvm:
        return fcntl.ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_SET_GUEST_DEBUG) > 0


def command(program, accel, rom, props):
    return [program, '-accel', accel, '-M', 'q35', '-smp', '2', '-m', '128', '-nodefaults', '-display', 'none',
            '-no-reboot', '-bios', rom, '-device', 'isa-debugcon,chardev=d', '-chardev', 'stdio,id=d',
            '-device', 'isa-debug-exit,iobase=0xf4', '-device', f'accel-test{props}']


def cases(points):
    """(accel, bits, device properties, expected transcript, expected status) in the order they run in."""
    for accel in KVM:
        for bits in BITS:
            props = f',mark={SAVED}' + (',points=on' if points else '')
            yield accel, bits, props, transcript(bits, SAVED, points), 33
    for number, (saver, loader) in enumerate(MOVES):
        for bits in BITS if saver.startswith('kvm') and loader.startswith('kvm') else (32, 64):
            file = f'/tmp/state-{number}-{bits}'
            yield saver, bits, f',mark={SAVED},save={file}', transcript(bits), 0
            # The loader prints its own beginning, then goes on as the saver.
            yield loader, bits, f',mark={LOADED},load={file}', transcript(bits, SAVED), 33


def run_tcg(program, build):
    bad = 0
    for bits in BITS:
        words = command(program, 'tcg', f'{build}/payload-{bits}-4.bin', f',mark={SAVED},points=on')
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=120, check=False)
        bad += check(f'tcg {bits}-bit', done.stdout.decode(), done.returncode, transcript(bits, SAVED, True), 33,
                     done.stderr.decode())
    return bad


def script_of(files, build, points):
    script = ''
    for number, (accel, bits, props, _, _) in enumerate(cases(points)):
        rom = f'{build}/payload-{bits}-4.bin'
        files[rom] = f'/payload-{bits}-4.bin'
        words = command('/bin/accel-test', accel, files[rom], props)
        script += (f"echo '@@case {number}'\ntimeout 60 {' '.join(words)} 2>/tmp/err </dev/null\n"
                   'echo "@@status $?"\ncat /tmp/err\necho "@@over"\n')
    return script


def check(name, text, status, want_text, want_status, errors):
    ok = text == want_text and status == want_status
    times = re.findall(r'(stopped|woke) after (\d+) us', errors)
    print(f"{'ok' if ok else 'NOT OK'}: {name}" + ''.join(f', {what} after {us} us' for what, us in times))
    if not ok:
        print(f'  status {status}, expected {want_status}\n  transcript: {text!r}\n  expected:   {want_text!r}')
        print(errors)
    return not ok


def check_states(states):
    """One saver's digests against another's, controller by controller."""
    bad = 0
    for bits in BITS:
        by_saver = {saver: state for (saver, b), state in states.items() if b == bits}
        names = set().union(*by_saver.values()) if by_saver else set()
        for name in sorted(names):
            digests = {state.get(name) for state in by_saver.values()}
            if len(digests) != 1:
                bad += 1
                print(f'NOT OK: {bits}-bit: the state of {name} differs: ' +
                      ', '.join(f'{saver} {state.get(name)}' for saver, state in by_saver.items()))
        if len(names) < 5:
            bad += 1
            print(f'NOT OK: {bits}-bit: only {sorted(names)} in the saved state')
    print(f"{'NOT OK' if bad else 'ok'}: the same bytes of interrupt controllers, whoever has them")
    return bad


def main():
    program, build = sys.argv[1:3]
    files = {program: '/bin/accel-test'}
    bad = run_tcg(program, build)
    points = host_has_points()
    out = kvmhost.run(files, script_of(files, build, points), 900)
    states = {}
    for number, (accel, bits, props, want, want_status) in enumerate(cases(points)):
        part = out.split(f'@@case {number}\n', 1)[-1].split('@@over', 1)[0]
        text, _, rest = part.partition('@@status ')
        status, _, errors = rest.partition('\n')
        bad += check(f'{accel} {bits}-bit {props[1:]}', text, int(status) if status.isdigit() else -1, want,
                     want_status, errors)
        if 'save=' in props:
            states[accel, bits] = dict(re.findall(r'accel-test: state (\S+) (\S+)', errors))
    return 1 if bad + check_states(states) else 0


if __name__ == '__main__':
    sys.exit(main())
