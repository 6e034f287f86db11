#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults from outside: inject-nmi, nmi and mce reach a guest, a ROM that writes what it meets to the debug console.

usage: fault.py EMULATOR
"""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import cli  # noqa: E402

NMI, MC = 0x100, 0x140
# Vectors 2 and 18, the local APIC off (its LINT1 would mask NMI), CR4.MCE, 'R', then HLT for ever.
START = bytes.fromhex('31c08ed88ed0bc007c c706080000 01 c7060a0000f0 c706480040 01 c7064a0000f0'
                      '66b91b000000 0f32 80e4f7 0f30 0f20e0 83c840 0f22e0 b052 e6e9 f4 ebfd'.replace(' ', ''))
ON_NMI = bytes.fromhex('b04e e6e9 cf'.replace(' ', ''))
# MC1_STATUS's low byte goes out, MCG_STATUS is cleared.
ON_MC = bytes.fromhex('66b905040000 0f32 e6e9 66b97a010000 6631c0 6631d2 0f30 cf'.replace(' ', ''))


def rom():
    image = bytearray(65536)
    for at, code in ((0, START), (NMI, ON_NMI), (MC, ON_MC), (0xfff0, bytes.fromhex('ea000000f0'))):
        image[at:at + len(code)] = code
    return image


class Guest:
    def __init__(self, folder):
        bios, path, self.log = (os.path.join(folder, name) for name in ('rom', 'qmp', 'log'))
        with open(bios, 'wb') as f:
            f.write(rom())
        self.process = cli.start(sys.argv[1], ['-M', 'q35', '-cpu', 'max', '-accel', 'tcg', '-smp', '2', '-m', '16',
                                               '-nodefaults', '-display', 'none', '-bios', bios, '-debugcon',
                                               'file:' + self.log, '-qmp', 'unix:%s,server=on,wait=off' % path])
        self.sock = cli.connect(path)
        self.file = self.sock.makefile('rb')
        self.file.readline()
        self.run('qmp_capabilities')

    def run(self, command, **arguments):
        self.sock.sendall(json.dumps({'execute': command, 'arguments': arguments}).encode())
        while True:
            answer = json.loads(self.file.readline())
            if 'event' not in answer:
                return answer

    def hmp(self, line):
        return self.run('human-monitor-command', **{'command-line': line})['return']

    def wrote(self, want):
        """Has the guest written just this, soon?"""
        end = time.time() + 10
        while True:
            with open(self.log, 'rb') as f:
                got = f.read()
            if got == want or time.time() > end:
                return got == want
            time.sleep(0.01)


def check_refusals(c, g):
    for line, want in (('mce 0', 'BANK is missing'), ('mce 0 1 x 0 0 0', "STATUS expects a number, not 'x'"),
                       ('mce 7 1 0 0 0 0', 'there is no CPU 7'), ('mce 0 99 0x8000000000000000 0 0 0', 'bank 99'),
                       ('mce 0 1 1 0 0 0', 'not valid'), ('mce 0 1 1 0 0 0 0', 'one word too many')):
        c.check(want in g.hmp(line), '%s: %r' % (line, g.hmp(line)))


def main():
    c = cli.Checks()
    with tempfile.TemporaryDirectory() as folder:
        g = Guest(folder)
        c.check(g.wrote(b'R'), 'the ROM runs')
        c.check(g.run('inject-nmi') == {'return': {}} and g.wrote(b'RN'), 'inject-nmi')
        c.check(g.hmp('nmi') == '' and g.wrote(b'RNN'), 'nmi')
        check_refusals(c, g)
        c.check(g.hmp('mce 0 1 0xb20000000000005a 5 0 0') == '' and g.wrote(b'RNNZ'), 'mce')
        c.check(g.hmp('mce -b 0 1 0xb200000000000059 5 0 0') == '' and g.wrote(b'RNNZY'), 'mce to all')
        c.check(g.hmp('mce 0 1 0x9200000000000058 0 0 0') == '', 'mce: a corrected error')
        c.check(g.hmp('nmi') == '' and g.wrote(b'RNNZYN'), 'a corrected error raises nothing')
        g.run('quit')
        c.check(g.process.wait(10) == 0, 'quit')
    c.end()


main()
