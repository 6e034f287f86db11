#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's gdb on a Debian kernel under tcg: break at a function, step, watch a variable, list all vCPUs.

Usage: test-kernel.py EMULATOR
"""
import pathlib
import subprocess
import sys
import tempfile

import gdblib
import kallsyms

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'boot'))
import guestlib     # noqa: E402


def session(emulator, work, commands, machine='q35'):
    """gdb's output, and what the guest wrote until it powered off (gdb must let it run on)."""
    sock = f'{work}/gdb.sock'
    cmd = guestlib.linux(emulator, 'nokaslr quiet cleat.poweroff', smp=2, machine=machine,
                         more=['-no-reboot', '-S', '-gdb', f'unix:{sock},server=on,wait=off'])
    with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as vm:
        gdblib.connect(sock).close()
        text = gdblib.run_gdb([f'target remote {sock}', *commands], 300, [f'{work}/kernel.elf'])
        print(text)
        console = vm.communicate(timeout=300)[0].decode('utf-8', 'replace')
        if vm.returncode or 'BOOT-OK cpus=2' not in console or 'Oops' in console:
            sys.exit(f'status {vm.returncode}; the console:\n{console[-2000:]}')
    return text


def test_break_step_watch(emulator, work, addr):
    text = session(emulator, work, [
        'info threads',                     # at reset: the second waits for SIPI
        'break start_kernel', 'continue', 'backtrace 1', 'printf "at %#lx\\n", $pc', 'stepi', 'stepi',
        'printf "two on %#lx\\n", $pc', 'delete', 'hbreak kernel_init', 'continue', 'print $cr0', 'print $efer',
        'print $cs', 'delete', 'watch *(unsigned long *)&jiffies_64', 'continue', 'continue',
        'printf "ticks %lu\\n", *(unsigned long *)&jiffies_64', 'delete',
        'rwatch *(unsigned long *)&jiffies_64', 'continue', 'delete',
        # Late enough for both to be up: everybody comes through schedule().
        'break run_init_process', 'continue', 'info threads', 'set $hit = $_thread', 'thread 2',
        'printf "second %#lx\\n", $rsp', 'thread $hit',
        'delete', 'set scheduler-locking on', 'stepi', 'info threads', 'thread 1', 'stepi', 'thread 2', 'stepi',
        'thread $hit', 'set scheduler-locking off', 'stepi',
        'monitor info status', 'x/2xw &linux_banner', 'x/s &linux_banner', 'print $xmm0.uint128', 'print $st0',
        'print $ymm0h', 'detach'])
    gdblib.check(text, 'CPU#0', 'CPU#1 [halted ]',
                 'hit Breakpoint 1', 'start_kernel ()', f'at {addr["start_kernel"]:#x}', 'two on 0xffffffff8',
                 'hit Breakpoint 2', 'kernel_init ()', '[ PE MP', 'PG ]', '[ SCE LME LMA NXE ]', '= 16',
                 'watchpoint', 'Old value = ', 'New value = ', 'Old value = ', 'New value = ', 'ticks ',
                 'Hardware read watchpoint', 'Value = ',
                 'run_init_process ()', 'Thread 1.1', 'Thread 1.2', 'second 0xffff',
                 'VM status: paused (debug)', 'Linux version 6.1', 'detached')


def test_interrupt(emulator, work, addr):
    """gdb comes to a running machine, stops it, goes, and comes again."""
    sock = f'{work}/gdb2.sock'
    cmd = guestlib.linux(emulator, 'nokaslr quiet', smp=2, machine='pc',
                         more=['-no-reboot', '-gdb', f'unix:{sock},server=on,wait=off'])
    with subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as vm:
        console = guestlib.Console(vm.stdout.fileno(), vm.stdin.fileno())
        console.expect('guest# ', 300)
        for _ in range(2):
            text = gdblib.run_gdb([f'target remote {sock}', 'info threads', 'break *0xffffffff81000000', 'detach'], 120,
                                  [f'{work}/kernel.elf'])
            gdblib.check(text, 'CPU#0', 'CPU#1', 'detached')
        client = gdblib.Client(sock, 120)
        client.send('vCont;c')
        client.interrupt()
        assert client.receive().startswith('T02thread:'), 'Ctrl-C is answered by SIGINT'
        client.send('c')
        client.close()                      # without a word: the machine goes on
        at = len(console.text)
        console.send('echo alive-$((6*7)); poweroff -f\n')
        console.expect('alive-42', 120, at)
        assert vm.wait(120) == 0


def main():
    gdblib.need_gdb()
    guestlib.need_guest()
    emulator = sys.argv[1]
    addr = kallsyms.symbols(f'{guestlib.guest_dir()}/vmlinuz')
    with tempfile.TemporaryDirectory() as work:
        gdblib.write_symbol_file(f'{work}/kernel.elf', addr)
        for test in (test_break_step_watch, test_interrupt):
            test(emulator, work, addr)
            print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
