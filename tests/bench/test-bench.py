#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-guest.py does what it says, with next to no work and no eye on times.

Usage: test-bench.py                 native only, an emulator that ends at once, and bad options
       test-bench.py EMULATOR        all tables with all sides, in guests
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import benchtables

RUNNER = pathlib.Path(__file__).with_name('bench-guest.py')
KERNELS = pathlib.Path(__file__).with_name('guestbench.c')


def run(args, work, expected, env=None):
    """The text of the tables' file, and what the run printed."""
    rst = pathlib.Path(work, 'tables.rst')
    done = subprocess.run([sys.executable, RUNNER, *args, '--rst', rst], capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, check=False)
    assert done.returncode == expected, (args, done.returncode, done.stdout, done.stderr)
    return rst.read_text(encoding='utf-8') if rst.exists() else '', done.stdout + done.stderr


def test_text(_):
    text = benchtables.simple_table(['a', 'long head'], [['a cell', '1'], ['b', '']])
    assert text == '======  =========\na       long head\n======  =========\na cell  1\nb\n======  =========\n', text


def test_ratios(_):
    """Ratios, means of what is known, and gates, each missed by one row."""
    table = benchtables.ratios('t', {
        'calls': {'native': 1.0, 'ours': 4.41, 'peer': 9.0}, 'smc': {'native': 0.5, 'ours': 1.0, 'peer': 0.5},
        'x87': {'native': 1.0, 'ours': None, 'peer': 12.0}}, benchtables.GATES)
    assert table.rows == [['calls', '1000.0', '4.41', '9.00', '0.49', '4'],
                          ['smc', '500.0', '2.00', '1.00', '2.00', '15'],
                          ['x87', '1000.0', '-', '12.00', '-', '1.2'],
                          ['geometric mean', '', '2.97 of 2', '4.76', '0.99 of 2', '3']], table.rows
    assert [m.split(',')[0] for m in table.missed] == ['calls: Cleat / native is 4.41',
                                                       'smc: Cleat / QEMU is 2.00'], table.missed
    table = benchtables.boots('t', {'ours': 1.0, 'peer': 2.0})
    assert table.rows == [['boot', '1.00 s', '2.00 s', '0.50', '0.33']] and len(table.missed) == 1, table.missed
    one = {'native': 1.0, 'ours': 2.0, 'peer': 2.0}
    table = benchtables.scaling('t', {'calls': (one, {'native': 1.25, 'ours': 4.0, 'peer': None})})
    assert table.rows == [['calls', '0.80', '0.50', '-', '0.62', '-', '0.85']] and len(table.missed) == 1, table.rows


def test_native(work):
    """All kernels of guestbench.c are known to the runner, in its order, and each took some time."""
    text, _ = run(['none', '--sides', 'native', '--tables', 'kernels', '--divide', '1000', '--rounds', '1'], work, 0)
    names = re.findall(r'\{"(\w+)",k_', KERNELS.read_text(encoding='ascii'))
    lines = re.findall(r'^(\w+) +[0-9.]+ +-', text, re.M)
    assert len(names) == 16 and lines == names, (names, text)


def test_failures(work):
    """An emulator that ends at once leaves cells without a figure, and the run says so."""
    for name in ('vmlinuz', 'initramfs.cpio.gz'):
        pathlib.Path(work, name).touch()
    text, said = run(['/bin/false', '--sides', 'native,ours', '--tables', 'kernels,boot', '--kernels', 'smc'], work, 1,
                     {'CLEAT_GUEST_DIR': work})
    assert re.search(r'^smc +[0-9.]+ +- +- +- +15$', text, re.M), text
    assert re.search(r'^boot +- +- +- +0.33$', text, re.M), text
    assert 'ours: ' in said and 'exit status 1' in said and '2 jobs failed' in said, said


def test_bad_options(work):
    for option, value in (('--kernels', 'smc,sms'), ('--tables', 'boots'), ('--sides', 'host'), ('--rounds', '0'),
                          ('--divide', '-1')):
        _, said = run(['/bin/false', option, value], work, 2)
        assert f'{option}' in said and (value.split(',')[-1] in said or 'above 0' in said), said
    _, said = run(['/nowhere/emulator'], work, 2)
    assert '/nowhere/emulator' in said, said


def test_guests(work):
    text, _ = run([sys.argv[1], '--kernels', 'smc,calls', '--divide', '100', '--rounds', '1'], work, 0)
    for name, count in (('smc', 3), ('calls', 3), ('geometric mean', 2), ('compile', 1), ('boot', 1)):
        lines = re.findall(rf'^{name} .*$', text, re.M)
        assert len(lines) == count and not any(' - ' in f'{line} ' for line in lines), (name, text)


def main():
    guests = len(sys.argv) > 1
    quick = (test_text, test_ratios, test_native, test_failures, test_bad_options)
    for test in (test_guests,) if guests else quick:
        with tempfile.TemporaryDirectory() as work:
            test(work)
        print(f'ok: {test.__name__}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
