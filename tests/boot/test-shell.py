#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An interactive guest shell over -serial stdio and over a unix-socket chardev: 200 commands lose and double nothing;
stdin at EOF or /dev/null changes nothing; the terminal and O_NONBLOCK are as before after quit and after SIGTERM.

Usage: test-shell.py EMULATOR
"""
import fcntl
import hashlib
import os
import pty
import signal
import subprocess
import sys
import tempfile
import termios

import guestlib

COMMANDS = 200


def shell_session(console):
    """Sends the commands one after the other and checks each answer's exact text."""
    at = console.expect('BOOT-OK')
    at = console.expect('guest# ', start=at)
    console.send('stty -echo; PS1=; echo ready-$((40+2))\n')
    at = console.expect('ready-42\n', start=at)
    for n in range(COMMANDS):
        # From the hash of n: lengths from a few bytes to several FIFOs.
        word = hashlib.sha256(str(n).encode()).hexdigest() * (1 + n % 8)
        console.send(f'echo {n}:{word}:$(({n}*3)).\n')
        want = f'{n}:{word}:{n * 3}.\n'
        end = console.expect('.\n', start=at)
        got = console.text[at:end]
        assert got == want, f'command {n}: sent for {want!r}, got {got!r}'
        at = end
    console.send('seq 1 20000 | md5sum\n')
    want = hashlib.md5(''.join(f'{i}\n' for i in range(1, 20001)).encode()).hexdigest()
    at = console.expect(f'{want}  -\n', start=at)
    console.send('seq 1 5000\n')
    want = ''.join(f'{i}\n' for i in range(1, 5001))
    end = console.expect('\n5000\n', start=at)
    assert console.text[at:end] == want, 'bulk output differs'


def test_stdio_pipe(emulator):
    cmd = guestlib.linux(emulator, 'quiet', more=['-no-reboot'])
    with subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as vm:
        console = guestlib.Console(vm.stdout.fileno(), vm.stdin.fileno())
        shell_session(console)
        console.send('poweroff -f\n')
        assert vm.wait(30) == 0


def test_unix_socket(emulator):
    with tempfile.TemporaryDirectory() as work:
        path = f'{work}/serial.sock'
        cmd = guestlib.linux(emulator, 'quiet', serial='chardev:s0',
                             more=['-no-reboot', '-chardev', f'socket,id=s0,path={path},server=on,wait=on'])
        with subprocess.Popen(cmd, stdin=subprocess.DEVNULL) as vm:
            sock = guestlib.connect_unix(path)
            console = guestlib.Console(sock.fileno(), sock.fileno())
            shell_session(console)
            console.send('poweroff -f\n')
            assert vm.wait(30) == 0
            sock.close()


def test_stdin_ends(emulator):
    for stdin in (subprocess.DEVNULL, subprocess.PIPE):
        cmd = guestlib.linux(emulator, 'quiet cleat.poweroff', more=['-no-reboot'])
        with subprocess.Popen(cmd, stdin=stdin, stdout=subprocess.PIPE) as vm:
            if vm.stdin:
                vm.stdin.close()
            text = vm.stdout.read().decode('utf-8', 'replace')
            assert vm.wait(60) == 0 and 'BOOT-OK' in text, text[-500:]


def terminal_state(fd):
    return termios.tcgetattr(fd), fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK


def test_terminal_is_restored(emulator):
    for how in ('quit', 'sigterm'):
        main, slave = pty.openpty()
        before = terminal_state(slave)
        cmd = [emulator, '-M', 'q35', '-accel', 'tcg', '-display', 'none', '-nodefaults', '-S',
               '-serial', 'mon:stdio']
        with subprocess.Popen(cmd, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL) as vm:
            console = guestlib.Console(main, main)
            console.send('\x01c')
            console.expect('(qemu)', 10)
            during = terminal_state(slave)
            assert during[0] != before[0], 'the terminal should be raw while the emulator has it'
            if how == 'quit':
                console.send('quit\n')
            else:
                vm.send_signal(signal.SIGTERM)
            vm.wait(10)
        assert terminal_state(slave) == before, f'terminal state differs after {how}'
        os.close(main)
        os.close(slave)


def main():
    emulator = sys.argv[1]
    guestlib.need_guest()
    for test in (test_terminal_is_restored, test_stdin_ends, test_stdio_pipe, test_unix_socket):
        test(emulator)
        print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
