#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The monitor for people, over a socket as over a terminal: editing, history, completion, commands.

usage: hmp.py EMULATOR
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import cli  # noqa: E402

PROMPT = b'(qemu) '


class Terminal:
    def __init__(self, path):
        self.sock = cli.connect(path)
        self.banner = self.until_prompt()

    def until_prompt(self):
        got = b''
        while not got.endswith(PROMPT):
            data = self.sock.recv(4096)
            if not data:
                return got
            got += data
        return got

    def line(self, keys):
        """Types the keys and Enter; what the command printed (after the echo)."""
        self.sock.sendall(keys + b'\r')
        got = self.until_prompt()
        while got.count(b'\r\n') == 0 and got:              # prompts that editing draws again
            got += self.until_prompt()
        return got.split(b'\r\n', 1)[1].removesuffix(PROMPT).decode()


def check_commands(c, t):
    c.check(re.fullmatch(rb"QEMU 10\.0\.0 monitor - type 'help' for more information\r\n\(qemu\) ", t.banner),
            'banner: %r' % t.banner)
    c.check(t.line(b'info status') == 'VM status: paused (prelaunch)\r\n', 'info status')
    c.check(t.line(b'c') == '' and t.line(b'info status') == 'VM status: running\r\n', 'cont')
    c.check(t.line(b'stop') == '' and t.line(b'info status') == 'VM status: paused\r\n', 'stop')
    c.check(re.match(r'10\.0\.0 \(cleat-', t.line(b'info version')), 'info version')
    c.check('mode: off\r\n' in t.line(b'info mlock'), 'info mlock')
    c.check(t.line(b'info cpus') == '', 'info cpus')
    c.check(t.line(b'nmi').startswith('Error: the machine has no CPU'), 'nmi')
    c.check('system_powerdown' in t.line(b'help') and 'info mlock' in t.line(b'info help'), 'help')
    c.check(re.fullmatch(r'compat_monitor0: filename=unix:.*,server=on\r\n', t.line(b'info chardev')), 'info chardev')
    c.check(t.line(b'info qom-tree').startswith('/machine (none-machine)\r\n  /peripheral'), 'info qom-tree')
    c.check(t.line(b'info qom-tree /x') == "Error: Device '/x' not found\r\n", 'info qom-tree of nothing')
    c.check(t.line(b'info qtree').startswith('bus: main-system-bus\r\n  type System\r\n'), 'info qtree')
    c.check('extraneous' in t.line(b'info qtree x'), 'info: too many words')
    c.check(t.line(b'') == '', 'an empty line')
    c.check(t.line(b'nope') == "unknown command: 'nope'\r\n", 'unknown command')
    c.check(t.line(b'info nope') == "unknown command: 'info nope'\r\n", 'unknown subject')
    c.check('extraneous' in t.line(b'stop now'), 'too many words')


def check_editing(c, t):
    want = 'VM status: paused\r\n'
    for keys, what in ((b'infx\x7fo status', 'backspace'), (b'status\x01info \x05', 'Ctrl-A, Ctrl-E'),
                       (b'junk\x15info status', 'Ctrl-U'), (b'info junk\x17status', 'Ctrl-W'),
                       (b'info statusjunk' + b'\x1b[D' * 4 + b'\x0b', 'left, Ctrl-K'),
                       (b'nfo status\x1b[Hi', 'Home'), (b'xinfo status\x1b[1~\x1b[3~', 'Home, Delete')):
        got = t.line(keys)
        c.check(got.endswith(want) and 'unknown' not in got, '%s: %r' % (what, got))
    c.check(t.line(b'\x1b[A').endswith(want), 'up: the last line again')
    c.check(t.line(b'\x1b[A\x1b[A\x1b[B').endswith(want), 'up and down')
    c.check(t.line(b'x' * 10000).startswith("unknown command: 'xxx"), 'a line that is too long')


def check_completion(c, t):
    c.check(t.line(b'info stat\t').endswith('VM status: paused\r\n'), 'Tab completes a subject')
    t.sock.sendall(b'system_\t')
    got = b''
    while not got.endswith(b'system_\x1b[K'):                # the line once more
        got += t.sock.recv(4096)
    c.check(b'system_powerdown system_reset system_wakeup' in got, 'Tab lists: %r' % got)
    t.line(b'\x15')


def main():
    c = cli.Checks()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'hmp')
        p = cli.start(sys.argv[1], cli.BASE + ['-monitor', 'unix:%s,server=on,wait=off' % path])
        t = Terminal(path)
        check_commands(c, t)
        check_editing(c, t)
        check_completion(c, t)
        t.sock.sendall(b'quit\r')
        c.check(p.wait(10) == 0, 'quit')
    c.end()


main()
