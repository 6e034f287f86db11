/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O APIC: registers, edges and levels, remote IRR, EOI by register and by broadcast. */
#include "chip-bench.h"

#include "hw/intc/ioapic.h"

#define BASE 0xfec00000ull
#define REDIR_LEVEL (1u << 15)
#define REDIR_MASKED (1u << 16)
#define REMOTE_IRR (1u << 14)

static IoApic *ioapic;
static struct {
    int count;
    uint32_t dest;
    bool logical, level;
    uint8_t mode, vector;
} sent;

static void record(void *opaque, uint32_t dest, bool logical, uint8_t mode, uint8_t vector,
                   bool level)
{
    sent.count++;
    sent.dest = dest;
    sent.logical = logical;
    sent.mode = mode;
    sent.vector = vector;
    sent.level = level;
}

static void start(void)
{
    Device *dev = device_new("ioapic");

    ioapic = (IoApic *)dev;
    ioapic->deliver = record;
    ck_assert(device_plug(dev, NULL, NULL));
    object_reset(&dev->obj);
    memory_region_add(&bench.mem, BASE, &ioapic->mmio, 0);
}

static uint32_t get(uint8_t reg)
{
    writel(BASE, reg);
    return readl(BASE + 0x10);
}

static void set(uint8_t reg, uint32_t value)
{
    writel(BASE, reg);
    writel(BASE + 0x10, value);
}

static void route(int pin, uint32_t low, uint8_t dest)
{
    set(0x10 + pin * 2 + 1, (uint32_t)dest << 24);
    set(0x10 + pin * 2, low);
}

START_TEST(registers_are_those_of_the_data_sheet)
{
    start();
    ck_assert_int_eq(get(1), 0x00170020);
    set(0, 0xff000000);
    ck_assert_uint_eq(get(0), 0x0f000000);
    ck_assert_uint_eq(get(2), 0x0f000000);
    ck_assert_uint_eq(get(0x10), REDIR_MASKED);
    route(23, 0xffffffff, 0xff);
    ck_assert_uint_eq(get(0x10 + 46), 0x0001afff);
    ck_assert_uint_eq(get(0x11 + 46), 0xff000000);
    ck_assert_uint_eq(get(0x40), 0);
    set(0x40, 5);
}
END_TEST

START_TEST(edge_is_delivered_once)
{
    start();
    route(4, 0x31 | 1 << 11, 0x3);
    irq_set(&ioapic->pins[4], 1);
    irq_set(&ioapic->pins[4], 1);
    ck_assert_int_eq(sent.count, 1);
    ck_assert(sent.dest == 3 && sent.logical && sent.mode == 0 && sent.vector == 0x31 && !sent.level);
    irq_set(&ioapic->pins[4], 0);
    irq_set(&ioapic->pins[4], 1);
    ck_assert_int_eq(sent.count, 2);
}
END_TEST

/* Linux's check_timer: pin 2 carries the timer, ExtINT on pin 0 is the fallback. */
START_TEST(masked_edge_is_ignored)
{
    start();
    irq_set(&ioapic->pins[2], 1);
    route(2, 0x30, 0);
    ck_assert_int_eq(sent.count, 0);
    irq_pulse(&ioapic->pins[2]);
    irq_pulse(&ioapic->pins[2]);
    ck_assert_int_eq(sent.count, 1);        /* the first was no edge: the line was up */
    route(0, 0x700, 0);
    irq_pulse(&ioapic->pins[0]);
    ck_assert_int_eq(sent.mode, 7);
}
END_TEST

START_TEST(level_waits_for_its_eoi)
{
    start();
    route(16, 0x41 | REDIR_LEVEL, 1);
    irq_set(&ioapic->pins[16], 1);
    ck_assert_int_eq(sent.count, 1);
    ck_assert(get(0x30) & REMOTE_IRR);
    ioapic_eoi(ioapic, 0x42);
    ck_assert_int_eq(sent.count, 1);
    ioapic_eoi(ioapic, 0x41);               /* still up: again */
    ck_assert_int_eq(sent.count, 2);
    irq_set(&ioapic->pins[16], 0);
    writel(BASE + 0x40, 0x41);
    ck_assert_int_eq(sent.count, 2);
    ck_assert(!(get(0x30) & REMOTE_IRR));
    irq_set(&ioapic->pins[16], 1);
    ck_assert_int_eq(sent.count, 3);
}
END_TEST

START_TEST(masked_level_comes_when_unmasked)
{
    start();
    route(9, 0x50 | REDIR_LEVEL | REDIR_MASKED, 0);
    irq_set(&ioapic->pins[9], 1);
    ck_assert_int_eq(sent.count, 0);
    route(9, 0x50 | REDIR_LEVEL, 0);
    ck_assert_int_eq(sent.count, 1);
    ck_assert(sent.level);
}
END_TEST

START_TEST(level_to_edge_and_back_clears_remote_irr)
{
    start();
    route(10, 0x60 | REDIR_LEVEL, 0);
    irq_set(&ioapic->pins[10], 1);
    irq_set(&ioapic->pins[10], 0);
    route(10, 0x60 | REDIR_MASKED, 0);      /* Linux's __eoi_ioapic_pin for old versions */
    route(10, 0x60 | REDIR_LEVEL, 0);
    ck_assert(!(get(0x24) & REMOTE_IRR));
    ck_assert_int_eq(sent.count, 1);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, registers_are_those_of_the_data_sheet);
    tcase_add_test(tc, edge_is_delivered_once);
    tcase_add_test(tc, masked_edge_is_ignored);
    tcase_add_test(tc, level_waits_for_its_eoi);
    tcase_add_test(tc, masked_level_comes_when_unmasked);
    tcase_add_test(tc, level_to_edge_and_back_clears_remote_irr);
}

int main(void)
{
    return bench_main("ioapic", add);
}
