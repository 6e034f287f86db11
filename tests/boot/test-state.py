#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole machine's state: saved in mid-boot, loaded in a fresh process, saved again: the same bytes; both machines
then boot to their end. A damaged file gives one sentence, and the machine that refused it goes on.

Usage: test-state.py EMULATOR [--long]
With --long (or CLEAT_TEST_LONG=1): each board with 1, 2 and 4 CPUs, stopped at each place.
"""
import itertools
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import guestlib

# Where the console stands when the machine is stopped: early; with devices and all CPUs at work; in user space.
EARLY, DEVICES, LATE = 'Memory: ', 'NET: Registered PF_NETLINK', 'Run /init as init process'
SUBSET = (('q35', 1, EARLY), ('pc', 2, DEVICES), ('q35', 4, LATE), ('microvm', 4, DEVICES), ('pc', 1, EARLY))


class Vm:
    def __init__(self, emulator, work, name, machine, smp, more=()):
        self.path = f'{work}/{name}.qmp'
        cmd = guestlib.linux(emulator, 'cleat.poweroff', machine=machine, smp=smp, mem=256,
                             more=['-no-reboot', '-qmp', f'unix:{self.path},server=on,wait=off', *more])
        self.process = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.sock = guestlib.connect_unix(self.path, 60)
        self.sock.settimeout(300)
        self.lines = self.sock.makefile('r')
        self.lines.readline()
        self.qmp('qmp_capabilities')
        self.console = guestlib.Console(self.process.stdout.fileno(), -1)

    def qmp(self, command, **arguments):
        """The answer: a dictionary with return or error."""
        self.sock.sendall(json.dumps({'execute': command, 'arguments': arguments}).encode())
        while True:
            answer = json.loads(self.lines.readline())
            if 'event' not in answer:
                return answer

    def good(self, command, **arguments):
        answer = self.qmp(command, **arguments)
        assert 'return' in answer, answer

    def finish(self):
        """Runs on to the guest's power-off."""
        self.good('cont')
        self.console.expect('BOOT-OK', 300)
        assert self.process.wait(120) == 0
        rest = self.process.stdout.read().decode('utf-8', 'replace')
        bad = re.search(r'^.*(Oops|BUG:|WARNING:|Call Trace).*$', self.console.text + rest, re.M)
        assert not bad, f'{bad.group(0)}\n{self.console.text[-3000:]}'

    def kill(self):
        self.process.kill()
        self.process.wait()


def entries(data):
    """(key, payload) of each entry of a saved machine, RAM pages by their offset."""
    at, found = 8, {}
    while data[at]:
        kind, n = data[at], struct.unpack_from('<H', data, at + 1)[0]
        key = data[at + 3:at + 3 + n].decode()
        size = struct.unpack_from('<I', data, at + 3 + n)[0]
        payload = data[at + 7 + n:at + 7 + n + size]
        found[(key, payload[:8] if kind == 3 and size > 8 else b'')] = payload
        at += 7 + n + size
    return found


def check_equal(first, second):
    one, two = pathlib.Path(first).read_bytes(), pathlib.Path(second).read_bytes()
    if one != two:
        a, b = entries(one), entries(two)
        differ = [k for k in {**a, **b} if a.get(k) != b.get(k)]
        for k in differ[:10]:
            x, y = a.get(k, b''), b.get(k, b'')
            at = next((i for i, (c, d) in enumerate(zip(x, y)) if c != d), min(len(x), len(y)))
            print(f'{k[0]} {k[1].hex()}, sizes {len(x)} and {len(y)}, at {at}:')
            print(f'  {x[max(at - 100, 0):at + 60]!r}\n  {y[max(at - 100, 0):at + 60]!r}')
        sys.exit(f'{len(differ)} entries differ after save, load, save')


def test_mid_boot(emulator, work, machine, smp, stop):
    vm = Vm(emulator, work, 'a', machine, smp)
    vm.console.expect(stop, 300)
    vm.good('stop')
    vm.good('x-state-save', filename=f'{work}/one')
    fresh = Vm(emulator, work, 'b', machine, smp, ['-S'])
    fresh.good('x-state-load', filename=f'{work}/one')
    fresh.good('x-state-save', filename=f'{work}/two')
    check_equal(f'{work}/one', f'{work}/two')
    fresh.finish()
    vm.finish()


def test_damage(emulator, work):
    """Cut short or changed at some place, in another machine, or no file: refused, and nothing is lost."""
    vm = Vm(emulator, work, 'c', 'q35', 1)
    vm.console.expect(EARLY, 300)
    assert 'stop the machine first' in vm.qmp('x-state-save', filename=f'{work}/no')['error']['desc']
    vm.good('stop')
    vm.good('x-state-save', filename=f'{work}/one')
    whole = pathlib.Path(work, 'one').read_bytes()
    rng = random.Random(7)
    other = Vm(emulator, work, 'd', 'pc', 1, ['-S'])
    assert 'which this machine has not' in other.qmp('x-state-load', filename=f'{work}/one')['error']['desc']
    other.finish()
    bad = [b'', whole[:7], b'x' + whole[1:], whole[:-1], whole[:len(whole) // 2], whole[:rng.randrange(len(whole))]]
    cpu = whole.index(b'cpu/0')
    bad.append(whole[:cpu] + b'cpu/7' + whole[cpu + 5:])
    bad.append(whole[:cpu + 5] + b'\xff\xff\xff\xff' + whole[cpu + 9:])
    field = whole.index(b'\x04xcr0', cpu)
    bad.append(whole[:field + 14] + b'\xff' * 8 + whole[field + 22:])     # a value that no CPU can have
    for i, data in enumerate(bad):
        pathlib.Path(work, 'bad').write_bytes(data)
        answer = vm.qmp('x-state-load', filename=f'{work}/bad')
        assert 'error' in answer and '\n' not in answer['error']['desc'], f'damage {i}: {answer}'
        vm.good('x-state-save', filename=f'{work}/two')
        check_equal(f'{work}/one', f'{work}/two')
    assert 'No such file' in vm.qmp('x-state-load', filename=f'{work}/none')['error']['desc']
    assert 'cannot save' in vm.qmp('x-state-save', filename=f'{work}/none/file')['error']['desc']
    vm.finish()


def main():
    long = '--long' in sys.argv[2:] or os.environ.get('CLEAT_TEST_LONG') == '1'
    rows = tuple(itertools.product(('q35', 'pc', 'microvm'), (1, 2, 4), (EARLY, DEVICES, LATE))) if long else SUBSET
    guestlib.need_guest()
    with tempfile.TemporaryDirectory() as work:
        for machine, smp, stop in rows:
            test_mid_boot(sys.argv[1], work, machine, smp, stop)
            print(f'ok: {machine} -smp {smp}, at {stop!r}', flush=True)
        test_damage(sys.argv[1], work)
        print('ok: damaged files', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
