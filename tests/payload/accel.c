/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest sees of an accelerator's machinery, with the device accel-test (tests/kvm/accel-test.c) at port 2a0h.
 *
 * Dirty log, doorbells, interrupts from a descriptor, stopping while it spins, waking from HLT, and a checkpoint in
 * a state
 * where every interrupt controller has something to say. Each line is the same whatever runs it.
 */
#include "payload.h"

enum { COMMAND = 0x2a0, ARGUMENT = 0x2a4, BELL_ANY = 0x2a8, BELL_MATCH = 0x2ac };
#define BELL_PAGE 0xd0000000ul
enum { LOG_ON = 1, LOG_OFF, LOG_SYNC, BELLS, WRITES, IRQFD, IRQFD_RING, KICK, WAKE, WOKEN, CHECKPOINT, MARK, STOPPED,
       POINTS, STEPS, POINT = 32 };
#define SCRATCH 0x200000ul              /* pages for the dirty log, above everything else */

static volatile struct {
    uint32_t count, end;
} spin;

static uint32_t ask(uint32_t command, uint32_t argument)
{
    outl(ARGUMENT, argument);
    outl(COMMAND, command);
    return inl(COMMAND);
}

/* Bits of the eight scratch pages that were written since the last look. */
static uint32_t dirty_pages(void)
{
    uint32_t bits = 0;

    for (uint32_t n = 0; n < 8; n++) {
        bits |= ask(LOG_SYNC, (SCRATCH >> 12) + n) << n;
    }
    return bits;
}

static void test_dirty_log(void)
{
    for (uint32_t n = 0; n < 8; n++) {
        mmio_write(SCRATCH + n * 4096, n);
    }
    ask(LOG_ON, 0);
    line("dirty at first", dirty_pages());
    mmio_write(SCRATCH + 0x1000, 1);
    mmio_write(SCRATCH + 0x3ffc, 1);
    mmio_write(SCRATCH + 0x7004, 1);
    line("dirty after three writes", dirty_pages());
    line("dirty then", dirty_pages());
    mmio_write(SCRATCH + 0x3000, 2);
    line("dirty once more", dirty_pages());
    for (uint32_t n = 0; n < 1500; n++) {       /* more than a small ring holds */
        mmio_write(SCRATCH + n * 4096, n);
    }
    line("dirty all", dirty_pages());
    ask(LOG_OFF, 0);
}

static void test_doorbells(void)
{
    uint32_t before = ask(WRITES, 0);

    outl(BELL_ANY, 1);
    outl(BELL_ANY, 2);
    outl(BELL_MATCH, 0x5a);
    outl(BELL_MATCH, 0x5b);                     /* no match: to the device */
    mmio_write(BELL_PAGE, 1);
    mmio_write(BELL_PAGE, 2);
    mmio_write(BELL_PAGE, 3);
    mmio_write(BELL_PAGE + 8, 0x5a);
    mmio_write(BELL_PAGE + 8, 0);
    mmio_write(BELL_PAGE + 12, 0x5a);           /* no bell at all */
    line("bells", ask(BELLS, 0));
    line("writes past them", ask(WRITES, 0) - before);
}

static void test_irqfd(void)
{
    uint32_t seen = ticks[4];

    line("irqfd", ask(IRQFD, 0x34));
    ask(IRQFD_RING, 0x34);
    wait_ticks(4, seen + 1);
    seen = ticks[5];
    line("irqfd moved", ask(IRQFD, 0x35));
    ask(IRQFD_RING, 0x35);
    wait_ticks(5, seen + 1);
    line("irqfd away", ask(IRQFD, 0));
}

static void test_kick(void)
{
    spin.end = 0;
    ask(KICK, (uint32_t)(unsigned long)&spin);
    while (!spin.end) {
        spin.count++;
    }
    while (!inl(COMMAND)) {
        __asm__ volatile("pause");
    }
    line("kick", inl(COMMAND));
}

static void test_wake(void)
{
    uint32_t seen = ticks[4];

    ask(WAKE, 0x34);
    wait_ticks(4, seen + 1);
    ask(WOKEN, 0x34);
    line("wake", ticks[4] - seen);
}

/* Not inlined, so that it has an address; the debugger's points are at its first byte or at the word it touches. */
static volatile uint32_t touched;
static __attribute__((noinline, noclone)) void touch(void)
{
    touched += 1;
}

/* Single steps through a loop, then points, where the host does them. */
static void test_debugger(void)
{
    static const char names[5][12] = { "break soft", "break hard", "watch write", "watch read", "watch both" };

    spin.end = 0;
    ask(STEPS, (uint32_t)(unsigned long)&spin);
    while (!spin.end) {
        spin.count++;
    }
    line("steps", inl(COMMAND));
    if (!ask(POINTS, 0)) {
        return;
    }
    for (uint32_t kind = 0; kind < 5; kind++) {
        unsigned long at = kind < 2 ? (unsigned long)touch : (unsigned long)&touched;

        ask(POINT + kind, at);
        while (!inl(COMMAND)) {
            __asm__ volatile("pause");
        }
        touch();
        touch();
        line(names[kind], ask(STOPPED, 0));
    }
    line("touched", touched);
}

static uint32_t ioapic_read(uint32_t reg)
{
    mmio_write(IOAPIC, reg);
    return mmio_read(IOAPIC + 0x10);
}

static void ioapic_write(uint32_t reg, uint32_t v)
{
    mmio_write(IOAPIC, reg);
    mmio_write(IOAPIC + 0x10, v);
}

/* Something that is no reset value in each chip; an interrupt in service and one that waits in the local APIC. */
static void chips_fill(void)
{
    outb(0x20, 0xc3);                           /* request 3 has lowest priority */
    outb(0x20, 0x0b);                           /* read ISR */
    outb(0x20, 0x68);                           /* special mask mode */
    outb(0x21, 0xf5);
    outb(0xa1, 0xee);
    outb(0x4d0, 0x20);
    outb(0x4d1, 0x0c);
    ioapic_write(0, 0x03000000);
    ioapic_write(0x10 + 2 * 5 + 1, 0x02000000);
    ioapic_write(0x10 + 2 * 5, 0x1a955);
    ioapic_write(0x10 + 2 * 9, 0x10035);
    mmio_write(LAPIC + 0x370, 0x10039);
    mmio_write(LAPIC + 0xe0, 0x0fffffff);
    mmio_write(LAPIC + 0xd0, 0x31000000);
    mmio_write(LAPIC + 0x3e0, 0x3);
    eoi_held = 1;
    icr_send(0, 0x4035);
    wait_ticks(5, 1);
    eoi_held = 0;
    icr_send(0, 0x4034);                        /* same class: waits for the EOI */
    mmio_write(LAPIC + 0x80, 0x10);
}

static void chips_show(void)
{
    line("pic isr", inb(0x20));
    line("pic imr", inb(0x21) | inb(0xa1) << 8);
    line("elcr", inb(0x4d0) | inb(0x4d1) << 8);
    line("ioapic id", ioapic_read(0) >> 24);
    line("ioapic 5", ioapic_read(0x10 + 2 * 5));
    line("ioapic 5 high", ioapic_read(0x10 + 2 * 5 + 1) >> 24);
    line("ioapic 9", ioapic_read(0x10 + 2 * 9));
    line("lapic lvt error", mmio_read(LAPIC + 0x370));
    line("lapic ldr", mmio_read(LAPIC + 0xd0) >> 24);
    line("lapic dfr", mmio_read(LAPIC + 0xe0) >> 28);
    line("lapic divide", mmio_read(LAPIC + 0x3e0));
    line("lapic tpr", mmio_read(LAPIC + 0x80));
    line("lapic isr", mmio_read(LAPIC + 0x110));
    line("lapic irr", mmio_read(LAPIC + 0x210));
}

/* After a checkpoint each source still works: what waited, timers, the other CPU in its HLT. */
static void chips_go_on(void)
{
    uint32_t seen[VECTORS], ipis = ap_ipi;

    for (int n = 0; n < VECTORS; n++) {
        seen[n] = ticks[n];
    }
    mmio_write(LAPIC + 0x80, 0);
    mmio_write(LAPIC + 0xb0, 0);
    wait_ticks(4, seen[4] + 1);
    line("waiting one", ticks[4] - seen[4]);
    icr_send(1, 0x4032);
    while (ap_ipi == ipis) {
        __asm__ volatile("pause");
    }
    line("ipi", ap_ipi - ipis);
    mmio_write(LAPIC + 0x3e0, 0xb);
    mmio_write(LAPIC + 0x320, 0x20033);
    mmio_write(LAPIC + 0x380, 100000);
    wait_ticks(3, seen[3] + 3);
    mmio_write(LAPIC + 0x320, 0x10033);
    line("timer-lapic", 3);
    outb(0x20, 0x48);
    mmio_write(LAPIC + 0x350, 0x700);   /* first: KVM's local APIC does not notice a PIC that is up already */
    outb(0xa1, 0xff);
    outb(0x21, 0xfe);
    pit_start();
    wait_ticks(0, seen[0] + 3);
    outb(0x21, 0xff);
    line("timer-pic", 3);
}

static void test_checkpoint(void)
{
    uint32_t mark = ask(MARK, 0);

    mmio_write(LAPIC + 0x320, 0x10033);
    mmio_write(LAPIC + 0x380, 0);
    ticks[5] = 0;
    chips_fill();
    ask(CHECKPOINT, 0);
    while (!inl(COMMAND)) {
        __asm__ volatile("pause");
    }
    line("mark", mark);
    chips_show();
    chips_go_on();
}

void test_accel(void)
{
    test_dirty_log();
    test_doorbells();
    test_irqfd();
    test_kick();
    test_wake();
    test_debugger();
    test_checkpoint();
}
