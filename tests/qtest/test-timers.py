#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Board wiring seen through the bus: PIT and RTC interrupts arrive at the I/O APIC on time."""
import sys

from qtest import QTest

PIT_HZ = 1193182


def pit_interrupts(q):
    q.intercept_in('ioapic')
    q.outb(0x43, 0x34)                          # counter 0, both bytes, mode 2
    q.outb(0x40, 11932 & 0xff)
    q.outb(0x40, 11932 >> 8)
    q.clock_step(9_000_000)
    assert ('raise', 0) in q.irq_log or ('raise', 2) in q.irq_log or not q.irq_log, q.irq_log
    q.irq_log.clear()
    q.clock_step(50_000_000)
    raised = [n for what, n in q.irq_log if what == 'raise' and n in (0, 2)]
    assert 4 <= len(raised) <= 6, q.irq_log     # a period of 10.0001 ms
    latched = []
    for _ in range(2):
        q.outb(0x43, 0x00)
        latched.append(q.inb(0x40) | q.inb(0x40) << 8)
        q.clock_step(1_000_000)
    ticks = (latched[0] - latched[1]) % 11932
    assert abs(ticks - PIT_HZ / 1000) < 3, latched


def rtc(q):
    def cmos(index, value=None):
        q.outb(0x70, index)
        if value is not None:
            q.outb(0x71, value)
        return q.inb(0x71)
    assert cmos(9) == 0x20 and cmos(8) == 0x01 and cmos(7) in (1, 2), [hex(cmos(i)) for i in range(10)]
    second = cmos(0)
    q.clock_step(2_000_000_000)
    assert (cmos(0) - second) % 0x60 in (2, 3), (second, cmos(0))
    q.irq_log.clear()
    cmos(0x0b, 0x42)                            # periodic interrupts, 24 hours
    cmos(0x0a, 0x26)                            # 1024 Hz
    q.clock_step(1_000_000_000 // 1024 * 2)
    assert ('raise', 8) in q.irq_log, q.irq_log
    assert cmos(0x0c) & 0xc0 == 0xc0
    assert q.irq_log[-1] == ('lower', 8), q.irq_log


def main():
    for machine in ('q35', 'pc'):
        args = ('-M', machine, '-m', '16M', '-rtc', 'base=2020-01-01,clock=vm')
        with QTest(sys.argv[1], *args) as q:
            pit_interrupts(q)
        with QTest(sys.argv[1], *args) as q:
            q.intercept_in('ioapic')
            rtc(q)


main()
