#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The terminal under -nographic and friends: escape key, monitor, and the terminal as it was before, however it ends.

usage: cli-terminal.py EMULATOR
"""
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import cli

BASE = ['-M', 'q35', '-m', '16', '-S']


class Pty:
    """The emulator on a pseudo-terminal of its own."""

    def __init__(self, emulator, args):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.flags = fcntl.fcntl(self.slave, fcntl.F_GETFL)
        self.p = subprocess.Popen([emulator] + BASE + args, stdin=self.slave, stdout=self.slave,
                                  stderr=subprocess.DEVNULL)
        self.text = b''

    def type(self, keys):
        os.write(self.master, keys)

    def wait_text(self, what, seconds=5):
        """Reads until the text has come; what came before it is forgotten."""
        end = time.time() + seconds
        while what not in self.text and time.time() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                self.text += os.read(self.master, 4096)
        found = what in self.text
        self.text = self.text.split(what, 1)[1] if found else self.text
        return found

    def wait_up(self):
        cli.wait_for(lambda: cli.catches_term(self.p.pid))

    def ended(self, checks, what):
        try:
            status = self.p.wait(5)
        except subprocess.TimeoutExpired:
            self.p.kill()
            status = self.p.wait()
        checks.check(status == 0, '%s: status %s' % (what, status))
        checks.check(termios.tcgetattr(self.slave) == self.before, '%s: the terminal is as before' % what)
        checks.check(fcntl.fcntl(self.slave, fcntl.F_GETFL) == self.flags, '%s: O_NONBLOCK is as before' % what)
        os.close(self.master)
        os.close(self.slave)


def check_escapes(checks, emulator):
    t = Pty(emulator, ['-nographic'])
    t.wait_up()
    t.type(b'\x01h')
    checks.check(t.wait_text(b'C-a x'), 'Ctrl-A h: help')
    t.type(b'\x01c')
    checks.check(t.wait_text(b"type 'help' for more information") and t.wait_text(b'(qemu) '), 'Ctrl-A c: monitor')
    t.type(b'info status\r')
    checks.check(t.wait_text(b'VM status: paused (prelaunch)'), 'the monitor answers')
    t.type(b'\x01c')
    time.sleep(0.05)
    t.type(b'\x01cinfo name\r')
    checks.check(t.wait_text(b'(qemu) '), 'back to the port and to the monitor again')
    t.type(b'\x01x')
    t.ended(checks, 'Ctrl-A x')


def check_ends(checks, emulator):
    t = Pty(emulator, ['-nographic', '-echr', '2'])
    t.wait_up()
    t.type(b'\x02c')
    checks.check(t.wait_text(b'(qemu) '), '-echr 2: Ctrl-B c')
    t.type(b'quit\r')
    t.ended(checks, 'quit')
    for sig in (signal.SIGTERM, signal.SIGHUP):
        t = Pty(emulator, ['-display', 'none', '-serial', 'stdio'])
        t.wait_up()
        t.p.send_signal(sig)
        t.ended(checks, 'signal %d' % sig)


def check_no_input(checks, emulator):
    """No input is no reason to end or to spin."""
    read, write = os.pipe()
    os.close(write)
    for stdin, what in ((subprocess.DEVNULL, '/dev/null'), (read, 'an empty pipe')):
        for args in (['-nographic'], ['-display', 'none', '-serial', 'stdio'],
                     ['-display', 'none', '-monitor', 'stdio']):
            p = subprocess.Popen([emulator] + BASE + args, stdin=stdin, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(0.4)
            checks.check(p.poll() is None, '%s with stdin %s goes on' % (args, what))
            with open('/proc/%d/stat' % p.pid) as f:
                ticks = sum(map(int, f.read().rsplit(')', 1)[1].split()[11:13]))
            checks.check(ticks < 20, '%s with stdin %s does not spin: %d ticks' % (args, what, ticks))
            p.terminate()
            checks.check(p.wait(5) == 0, '%s with stdin %s ends well' % (args, what))


def main():
    checks = cli.Checks()
    check_escapes(checks, sys.argv[1])
    check_ends(checks, sys.argv[1])
    check_no_input(checks, sys.argv[1])
    checks.end()


main()
