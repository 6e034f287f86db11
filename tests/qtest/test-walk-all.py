#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The walk-all test: every device type, on every board it fits, goes through a save and a load in a fresh process.

For each: realize; write a pattern into every register that the device shows; save; load that into a fresh process; save
again: the bytes must be equal; then read every register in both processes: values, and the state after reading, must
match. A device needs no entry here; registers whose write ends or resets the machine are listed in HARMFUL.
"""
import argparse
import random
import re
import subprocess
import sys

from qtest import QTest, QTestError, state_entries, state_fields

# Regions (by name) that a pattern must not be written to, and why.
HARMFUL = {
    'isa-debug-exit': 'ends the process', 'debug-exit': 'ends the process', 'reset-control': 'resets the machine',
    'port92': 'resets the machine', 'apic-msi': 'sends messages to CPUs that never take them',
}
# Fields that follow the host's time even while no guest runs.
TIME_FIELDS = {'tsc_saved'}
# RAM-like windows are sampled, not filled.
REGION_BYTES = 512
COMMON = ['-m', '16M', '-rtc', 'base=2020-01-01,clock=vm', '-no-reboot', '-no-shutdown', '-vga', 'none', '-net', 'none']
LETTERS = {1: 'b', 2: 'w', 4: 'l', 8: 'q'}


def names(binary, option):
    text = subprocess.run([binary, option, 'help'], capture_output=True, text=True, check=True).stdout
    if option == '-M':
        return [line.split()[0] for line in text.splitlines()[1:] if 'alias of' in line]
    return re.findall(r'^name "([^"]+)"', text, re.M)


def access_size(valid_min, valid_max, space):
    size = max(1, valid_min)
    if space == 'mem' and valid_max >= 4 and valid_min <= 4:
        size = 4
    return size


def registers(q, owner_filter):
    for space, addr, size, vmin, vmax, owner, name in q.regions():
        if not owner_filter(owner):
            continue
        step = access_size(vmin, vmax, space)
        for offset in range(0, min(size, REGION_BYTES), step):
            yield space, addr + offset, step, name


def fill(q, regs, rng):
    for space, addr, step, name in regs:
        if name in HARMFUL:
            continue
        value = rng.getrandbits(step * 8)
        if space == 'io':
            q.outp(LETTERS[step], addr, value)
        else:
            q.store(LETTERS[step], addr, value)


def read_all(q, regs):
    return [(space, hex(addr), name, q.inp(LETTERS[step], addr) if space == 'io' else q.load(LETTERS[step], addr))
            for space, addr, step, name in regs]


def differing(a, b):
    """The entries, and in them the fields, in which two saved machines differ."""
    ea, eb = state_entries(a), state_entries(b)
    found = []
    for key in sorted(ea.keys() | eb.keys()):
        if ea.get(key) == eb.get(key):
            continue
        if key not in ea or key not in eb or '.' in key.split('/')[-1]:
            found.append(key)
            continue
        fa, fb = state_fields(ea[key]), state_fields(eb[key])
        found += [f'{key}.{f}' for f in sorted(fa.keys() | fb.keys())
                  if fa.get(f) != fb.get(f) and f not in TIME_FIELDS]
    return found


def walk_one(binary, args, owner_filter, seed):
    """Returns a complaint, or None."""
    with QTest(binary, *COMMON, *args) as first:
        regs = list(registers(first, owner_filter))
        fill(first, regs, random.Random(seed))
        saved = first.save_state()
        with QTest(binary, *COMMON, *args) as second:
            second.load_state(saved)
            again = second.save_state()
            if differing(saved, again):
                return f'saved state differs after a load: {differing(saved, again)}'
            regs = list(registers(first, owner_filter))
            if regs != list(registers(second, owner_filter)):
                return 'register windows lie elsewhere after a load'
            for a, b in zip(read_all(first, regs), read_all(second, regs)):
                if a != b:
                    return f'register reads {a[3]:#x} and, after a load, {b[3]:#x}: {a[:3]}'
            after = first.save_state(), second.save_state()
            if differing(*after):
                return f'state differs after reading all registers: {differing(*after)}'
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('binary')
    p.add_argument('--only', help='a device or machine name')
    p.add_argument('--seeds', type=int, default=2)
    options = p.parse_args()
    machines = names(options.binary, '-M')
    failed = walked = 0
    skipped = []
    for machine in machines:
        cases = [(machine, ['-M', machine], lambda owner: True)]
        for device in names(options.binary, '-device'):
            here = '/machine/peripheral/walked'
            cases.append((device, ['-M', machine, '-device', f'{device},id=walked'],
                          lambda owner, here=here: owner.startswith(here)))
        for name, args, owner_filter in cases:
            if options.only and name != options.only:
                continue
            for seed in range(options.seeds):
                try:
                    complaint = walk_one(options.binary, args, owner_filter, seed)
                except QTestError as e:
                    if re.search(r'bus found|needs|missing|can.t find', str(e)) and 'walked' in ' '.join(args):
                        skipped.append(f'{machine}: {name}: {str(e).splitlines()[-1]}')
                        break
                    complaint = str(e)
                walked += 1
                if complaint:
                    failed += 1
                    print(f'not ok {machine} {name} seed {seed}: {complaint}')
                    break
            else:
                print(f'ok {machine} {name}')
    for line in skipped:
        print(f'skip {line}')
    print(f'{walked} walks, {failed} failed, {len(skipped)} could not be plugged alone')
    if not machines:
        print('no board is built yet')
        sys.exit(77)
    sys.exit(1 if failed or not walked else 0)


main()
