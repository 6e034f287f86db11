#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The qtest protocol over a socket, on the empty machine: what a libqtest client relies on before any device."""
import sys

from qtest import QTest, QTestError


def main():
    with QTest(sys.argv[1], '-M', 'none', '-m', '4M') as q:
        assert q.ask('endianness') == 'little'
        assert q.inb(0x80) == 0xff
        q.outl(0x80, 1)
        assert q.clock_step(1000) == 1000
        assert q.clock_step() == 1000
        for bad in ('nosuch', 'readb', 'read 0 0', 'irq_intercept_in nosuch', 'x-cleat-load /nonexistent'):
            try:
                q.ask(bad)
            except QTestError as e:
                assert 'FAIL' in str(e), e
            else:
                sys.exit(f'{bad} was accepted')
        state = q.save_state()
        q.clock_step(500)
        q.load_state(state)
        assert q.clock_step(0) == 1000
        assert q.save_state() == state
    try:
        QTest(sys.argv[1], '-M', 'nosuch')
    except QTestError as e:
        assert "'nosuch'" in str(e), e
    else:
        sys.exit('an unknown machine was accepted')


main()
