#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What KVM's emulator does not know is executed by the software CPU, and the guest sees no difference.

Usage: test-rescue.py EMULATOR BUILD_DIR(payload ROM payload-64-5.bin)
The transcript is the same under tcg and under kvm in each irqchip mode, with one warning, and the monitor counts. The
peer stops at the first such instruction, which shows that the kernel does fail there. Without /dev/kvm in a nested
host (kvmhost.py).
"""
import os
import re
import subprocess
import sys

import kvmhost

TEXT = '16 pio ok\n16 unreal mmio ok\n16 timer-pic 5\n' + ''.join(f'64 {line}\n' for line in (
    'pio ok', 'outs ok', 'mmio ioapic 23', 'mmio lapic 1', 'sse 8', 'timer-pic 5', 'timer-ioapic 5', 'timer-lapic 5',
    'ipi 3', 'atomic 20000', 'cmpxchg16b 1', 'exchanged 1911', 'not equal 0', 'what is there 1911',
    'pinsrd 2820130816', 'paddd 2820130820', 'fild 2147483648', 'xrstor 895', 'xsave 1', 'vector 14', 'error 0',
    'page 4096', 'code 1', 'undefined 6', 'at 240',
    'user mode 3', 'its exchange 99', 'its end 1', 'end'))
WARNING = re.compile(r'warning: KVM cannot execute (\S+) ')
PEER_DATA = ('/usr/share/seabios/kvmvapic.bin', '/usr/share/qemu/kvmvapic.bin')
OURS, PEER, ROM, LOG = '/usr/bin/qemu-ours', '/usr/bin/qemu-peer', '/payload-64-5.bin', '/tmp/trace'
CHIPS = ('on', 'split', 'off')
RESCUES = 11                    # the instructions of tests/payload/rescue.c


def command(program, accel, rom):
    return [program, '-accel', accel, '-cpu', 'max', '-M', 'q35', '-smp', '2', '-m', '128', '-nodefaults', '-display',
            'none', '-no-reboot', '-bios', rom, '-device', 'isa-debugcon,chardev=d', '-chardev', 'stdio,id=d',
            '-device', 'isa-debug-exit,iobase=0xf4']


def monitor_script():
    """Without the exit device the payload halts at its end, and the monitor can be asked."""
    words = command(OURS, 'kvm', ROM)[:-2]
    words[words.index('stdio,id=d')] = 'file,id=d,path=/tmp/text'
    asked = ('{"execute": "qmp_capabilities"}', '{"execute": "query-kvm"}', '{"execute": "human-monitor-command", '
             '"arguments": {"command-line": "info kvm"}}', '{"execute": "quit"}')
    lines = ' '.join(f"echo '{line}';" for line in asked)
    return f"echo '@@case monitor'\n(sleep 10; {lines} sleep 1) | timeout 60 {' '.join(words)} -qmp stdio 2>&1\n"


def script_of():
    script = monitor_script()
    for chip in CHIPS:
        words = ' '.join(command(OURS, f'kvm,kernel-irqchip={chip}', ROM)) + f' -trace enable=kvm_rescue,file={LOG}'
        script += (f"echo '@@case {chip}'\ntimeout 60 {words} 2>/tmp/err </dev/null\n"
                   f'echo "@@status $?"\ncat /tmp/err\necho @@trace\ncat {LOG}\nrm {LOG}\n')
    if os.path.exists(kvmhost.PEER):
        words = ' '.join(command(PEER, 'kvm', ROM))
        script += f"echo '@@case peer'\ntimeout 30 {words} 2>/tmp/err </dev/null\necho \"@@status $?\"\ncat /tmp/err\n"
    return script


def verdict(name, problems, shown):
    print(f"{'NOT OK' if problems else 'ok'}: {name}" + ''.join(f'\n  {p}' for p in problems))
    if problems:
        print(shown)
    return bool(problems)


def judge_ours(chip, part):
    text, _, rest = part.partition('@@status ')
    errors, _, trace = rest.partition('@@trace\n')
    warnings, steps = WARNING.findall(errors), trace.count('kvm_rescue')
    problems = []
    if text != TEXT or not errors.startswith('33\n'):
        problems.append(f'status {errors.split()[:1]}, expected 33, or another transcript')
    if warnings != ['cmpxchg16b']:
        problems.append(f'it warned of {warnings}, expected one warning, of cmpxchg16b')
    if steps != RESCUES or not all(f' {name} ' in trace for name in ('cmpxchg16b', 'xrstor', 'lddqu', 'ret')):
        problems.append(f'{steps} steps are in the trace, expected {RESCUES}')
    print(f'kernel-irqchip={chip}: {steps} instructions were executed by the software CPU')
    return verdict(f'kvm,kernel-irqchip={chip}', problems, part)


def judge_monitor(part):
    want = (f'"rescues":{RESCUES}}}', f'the software CPU executed for it: {RESCUES}\\n')
    return verdict('the monitor counts', [f'no {w!r}' for w in want if w not in part], part)


def judge_peer(part):
    """It stops where ours warns; that it says so shows that the payload is a test."""
    last = TEXT[:TEXT.index('64 cmpxchg16b')]
    stops = 'KVM internal error. Suberror: 1' in part and part.startswith(last) and '64 cmpxchg16b' not in part
    return verdict('the peer stops with an internal error', [] if stops else ['it does not'], part)


def main():
    emulator, build = sys.argv[1:3]
    rom = f'{build}/payload-64-5.bin'
    done = subprocess.run(command(emulator, 'tcg', rom), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60,
                          check=False)
    text = done.stdout.decode()
    bad = verdict('tcg', [] if text == TEXT and done.returncode == 33 else [f'status {done.returncode}'], text)
    files = {emulator: OURS, rom: ROM}
    if os.path.exists(kvmhost.PEER):
        files[kvmhost.PEER] = PEER
        files.update({f: '/usr/share/qemu/' + os.path.basename(f) for f in PEER_DATA if os.path.exists(f)})
    out = kvmhost.run(files, script_of(), 900)
    for chip in CHIPS:
        bad += judge_ours(chip, out.split(f'@@case {chip}\n', 1)[-1].split('@@case', 1)[0])
    bad += judge_monitor(out.split('@@case monitor\n', 1)[-1].split('@@case', 1)[0])
    if os.path.exists(kvmhost.PEER):
        bad += judge_peer(out.split('@@case peer\n', 1)[-1])
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
