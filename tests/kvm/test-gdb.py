#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's gdb on payloads under KVM: break (INT3 and debug register), step, watch, see both vCPUs, let it go on.

Usage: test-gdb.py EMULATOR BUILD_DIR(payload-64-0.bin and .elf)
The nested host of kvmhost.py cannot do this: the peer's SVM lets a guest's INT3 through to the guest and keeps no debug
registers. So, without a /dev/kvm, the host is in Bochs (bochshost.py). gdb and the Python that it is linked with go in
there, too. Under tcg the same session must give the same.
"""
import glob
import os
import shlex
import subprocess
import sys
import tempfile

import bochshost
import kvmhost

GDB = '/usr/bin/gdb'
GDB_PYTHON = '/usr/share/gdb/python'
PYTHON = '/usr/lib/python3.*'
PYTHON_PARTS = ('*.py', 'encodings/*.py', 'collections/*.py', 're/*.py', 'importlib/*.py')
SESSION = (
    'target remote {sock}', 'info threads', 'printf "at reset %#x\\n", $pc',
    'break line', 'continue', 'printf "line prints %s\\n", (char *)$rdi', 'set $before = $pc', 'stepi', 'stepi',
    'printf "stepped %d\\n", $pc > $before && $pc < $before + 30', 'delete',
    'hbreak icr_send', 'continue', 'printf "sends to APIC %d\\n", (int)$rdi', 'delete',
    'watch *(unsigned *)&ap_ipi', 'continue', 'continue', 'printf "%u IPIs came\\n", *(unsigned *)&ap_ipi',
    'info threads', 'delete',
    'rwatch *(unsigned *)&ap_counter', 'continue', 'printf "read\\n"', 'delete',
    'printf "bytes of line %x\\n", *(unsigned char *)line', 'detach')
WANTED = ('CPU#0', 'CPU#1', 'at reset 0xfff0', 'hit Breakpoint 1', 'line prints mmio ioapic', 'stepped 1',
          'Hardware assisted breakpoint 2', 'hit Breakpoint 2', 'sends to APIC 1', 'Hardware watchpoint 3',
          'New value = 1', 'New value = 2', '2 IPIs came', 'CPU#0', 'CPU#1', 'Hardware read watchpoint 4', 'read\n',
          'bytes of line ', 'detached')
ACCELERATORS = ('kvm', 'kvm,kernel-irqchip=split', 'kvm,kernel-irqchip=off')
NAMES = ('payload-64-0.bin', 'payload-64-0.elf')


def command(emulator, accel, rom, sock, transcript):
    return [emulator, '-accel', accel, '-M', 'q35', '-smp', '2', '-m', '128', '-nodefaults', '-display', 'none',
            '-no-reboot', '-bios', rom, '-debugcon', f'file:{transcript}', '-device', 'isa-debug-exit,iobase=0xf4',
            '-S', '-gdb', f'unix:{sock},server=on,wait=off']


def gdb_line(elf, sock):
    words = [GDB, '-nx', '-batch', '-q', '-iex', 'set pagination off', '-iex', 'set confirm off', '-iex',
             'set remotetimeout 60', elf]
    for line in SESSION:
        words += ['-ex', line.format(sock=sock)]
    return shlex.join(words)


def judge(name, text):
    at = 0
    for wanted in WANTED:
        found = text.find(wanted, at)
        if found < 0:
            print(f'NOT OK: {name}: {wanted!r} is missing after {at} in:\n{text}')
            return 1
        at = found + len(wanted)
    # gdb's own INT3 is nowhere to be seen, and the payload came to its end.
    good = 'bytes of line cc' not in text and '@@status 33' in text and '\n64 end\n' in text
    print(f"{'ok' if good else 'NOT OK'}: {name}" + ('' if good else f'\n{text}'))
    return not good


def script_of(accel, emulator, rom, elf, work):
    sock, transcript, errors = (f'{work}/{name}' for name in ('gdb', 'transcript', 'errors'))
    return (f'rm -f {sock} {transcript}\n'
            f'{shlex.join(command(emulator, accel, rom, sock, transcript))} 2>{errors} </dev/null &\n'
            f'vm=$!\nsleep 1\ntimeout 100 {gdb_line(elf, sock)} </dev/null 2>&1\n'
            'n=0; while [ $n -lt 30 ] && kill -0 $vm 2>/dev/null; do sleep 1; n=$((n + 1)); done\n'
            f'kill -9 $vm 2>/dev/null; wait $vm; echo "@@status $?"; cat {transcript} {errors}\n')


def python_files():
    root = sorted(glob.glob(PYTHON))[-1]
    names = [f for part in PYTHON_PARTS for f in glob.glob(f'{root}/{part}')]
    return {f: f for f in names + glob.glob(f'{GDB_PYTHON}/**/*.py', recursive=True)}


def run_tcg(emulator, build):
    with tempfile.TemporaryDirectory() as work:
        script = script_of('tcg', os.path.abspath(emulator), *(f'{build}/{name}' for name in NAMES), work)
        done = subprocess.run(['sh', '-c', script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300, check=False)
    return judge('tcg', done.stdout.decode('utf-8', 'replace'))


def run_kvm(emulator, build):
    files = {emulator: '/bin/qemu-system-x86_64', GDB: GDB, **python_files()}
    files.update({f'{build}/{name}': f'/{name}' for name in NAMES})
    script = ''
    for i, accel in enumerate(ACCELERATORS):
        script += f"echo '@@case {i}'\n"
        script += script_of(accel, '/bin/qemu-system-x86_64', *(f'/{name}' for name in NAMES), '/tmp')
    out = bochshost.run(files, script)
    return sum(judge(accel, out.split(f'@@case {i}\n', 1)[-1].split('@@case', 1)[0])
               for i, accel in enumerate(ACCELERATORS))


def main():
    emulator, build = sys.argv[1:3]
    if not os.path.exists(GDB):
        print('SKIP: no gdb here (package gdb)')
        return bochshost.SKIP
    bad = run_tcg(emulator, build)
    if not bad and not kvmhost.kvm_usable():
        bochshost.need_bochs()
    return 1 if bad + run_kvm(emulator, build) else 0


if __name__ == '__main__':
    sys.exit(main())
