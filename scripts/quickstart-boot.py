#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a kernel and an initramfs in the emulator, shows the console, and says how long and how much memory it took.

Usage: quickstart-boot.py EMULATOR KERNEL INITRD [more emulator options]
"""
import re
import subprocess
import sys
import time


def memory_of(pid):
    """VmRSS and VmLck of a process in kB, or None once it is gone."""
    try:
        with open(f'/proc/{pid}/status', encoding='ascii') as f:
            text = f.read()
    except OSError:
        return None
    got = dict(re.findall(r'^(VmRSS|VmLck):\s+(\d+) kB', text, re.M))
    return (int(got['VmRSS']), int(got['VmLck'])) if len(got) == 2 else None


def main():
    emulator, kernel, initrd, *more = sys.argv[1:]
    cmd = [emulator, '-machine', 'q35', '-m', '512', '-nodefaults', '-display', 'none', '-serial', 'stdio',
           '-no-reboot', '-kernel', kernel, '-initrd', initrd,
           '-append', 'console=ttyS0 panic=-1 quiet cleat.poweroff'] + more
    print('+', ' '.join(cmd), flush=True)
    start = time.monotonic()
    booted = memory = None
    with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as vm:
        for raw in vm.stdout:
            line = raw.decode('utf-8', 'replace').rstrip()
            print(line, flush=True)
            if 'BOOT-OK' in line and booted is None:
                booted = time.monotonic() - start
                memory = memory_of(vm.pid)
        status = vm.wait()
    if booted is None or memory is None:
        print(f'The guest did not come up (exit status {status})', file=sys.stderr)
        return 1
    print(f'boot time: {booted:.2f} s   VmRSS: {memory[0]} kB   VmLck: {memory[1]} kB   exit status: {status}')
    return status


if __name__ == '__main__':
    sys.exit(main())
