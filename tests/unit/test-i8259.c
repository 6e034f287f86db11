/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The 8259 pair: initialisation, priorities, cascade, EOI kinds, polling, levels, spurious requests. */
#include "chip-bench.h"

#include "hw/intc/i8259.h"

static I8259Pair pair;
enum { INTR = 31 };

static void pin(int n, int level)
{
    irq_set(&pair.pins[n], level);
}

/* As Linux and firmware do it: vectors 20h.. and 28h.., everything unmasked. */
static void start(void)
{
    ck_assert(i8259_pair_init(&pair, bench.isa, &bench.line[INTR], NULL));
    object_reset((Object *)pair.master);
    object_reset((Object *)pair.slave);
    outb(0x20, 0x11);
    outb(0x21, 0x20);
    outb(0x21, 0x04);
    outb(0x21, 0x01);
    outb(0xa0, 0x11);
    outb(0xa1, 0x28);
    outb(0xa1, 0x02);
    outb(0xa1, 0x01);
    outb(0x21, 0);
    outb(0xa1, 0);
}

START_TEST(mask_register_reads_back)
{
    start();
    outb(0x21, 0xfb);                       /* Linux probes for the chip this way */
    ck_assert_int_eq(inb(0x21), 0xfb);
    outb(0xa1, 0x5a);
    ck_assert_int_eq(inb(0xa1), 0x5a);
}
END_TEST

START_TEST(request_is_acknowledged_once)
{
    start();
    pin(4, 1);
    ck_assert_int_eq(bench.level[INTR], 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x24);
    ck_assert_int_eq(bench.level[INTR], 0);
    outb(0x20, 0x0b);
    ck_assert_int_eq(inb(0x20), 0x10);      /* in service */
    outb(0x20, 0x20);
    ck_assert_int_eq(inb(0x20), 0);
    ck_assert_int_eq(bench.level[INTR], 0); /* an edge: the line is still up, nothing new */
    pin(4, 0);
    pin(4, 1);
    ck_assert_int_eq(bench.level[INTR], 1);
}
END_TEST

START_TEST(higher_priority_interrupts_lower)
{
    start();
    pin(5, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x25);
    pin(6, 1);
    ck_assert_int_eq(bench.level[INTR], 0);
    pin(1, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x21);
    outb(0x20, 0x20);                       /* ends 1, the highest in service */
    outb(0x20, 0x0b);
    ck_assert_int_eq(inb(0x20), 0x20);
    outb(0x20, 0x65);                       /* specific: 5 */
    ck_assert_int_eq(i8259_ack(&pair), 0x26);
}
END_TEST

START_TEST(slave_requests_come_through_the_cascade)
{
    start();
    pin(12, 1);
    pin(8, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x28);
    ck_assert_int_eq(bench.level[INTR], 0);
    outb(0xa0, 0x20);
    outb(0x20, 0x20);
    ck_assert_int_eq(bench.level[INTR], 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x2c);
    outb(0xa0, 0x20);
    outb(0x20, 0x20);
    ck_assert_int_eq(bench.level[INTR], 0);
}
END_TEST

START_TEST(second_slave_request_survives_automatic_eoi)
{
    start();
    outb(0xa0, 0x11);
    outb(0xa1, 0x28);
    outb(0xa1, 0x02);
    outb(0xa1, 0x03);                       /* slave: AEOI */
    pin(9, 1);
    pin(10, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x29);
    outb(0x20, 0x20);
    ck_assert_int_eq(bench.level[INTR], 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x2a);
}
END_TEST

START_TEST(level_request_repeats_until_dropped)
{
    start();
    outb(0x4d1, 0x0c);
    ck_assert_int_eq(inb(0x4d1), 0x0c);
    outb(0x4d0, 0xff);
    ck_assert_int_eq(inb(0x4d0), 0xf8);     /* the chip set's own requests stay edges */
    pin(11, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(i8259_ack(&pair), 0x2b);
        outb(0xa0, 0x20);
        outb(0x20, 0x20);
    }
    pin(11, 0);
    ck_assert_int_eq(bench.level[INTR], 0);
}
END_TEST

START_TEST(vanished_request_is_spurious)
{
    start();
    pin(3, 1);
    outb(0x21, 0x08);                       /* masked between INTR and INTA */
    ck_assert_int_eq(i8259_ack(&pair), 0x27);
    outb(0x20, 0x0b);
    ck_assert_int_eq(inb(0x20), 0);
    outb(0x21, 0);
    ck_assert_int_eq(i8259_ack(&pair), 0x23);
}
END_TEST

START_TEST(rotation_moves_the_lowest_priority)
{
    start();
    pin(3, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x23);
    outb(0x20, 0xa0);                       /* rotate on EOI: 3 is lowest now, 4 highest */
    pin(4, 1);
    pin(0, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x24);
    outb(0x20, 0x20);
    outb(0x20, 0xc7);                       /* set priority: 7 lowest again */
    pin(1, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x20);
}
END_TEST

START_TEST(special_mask_lets_lower_ones_through)
{
    start();
    pin(4, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x24);
    outb(0x21, 0x10);
    outb(0x20, 0x68);                       /* special mask mode */
    pin(6, 1);
    ck_assert_int_eq(i8259_ack(&pair), 0x26);
    outb(0x20, 0x20);                       /* ends 6: 4 is masked */
    outb(0x20, 0x0b);
    ck_assert_int_eq(inb(0x20), 0x10);
}
END_TEST

START_TEST(poll_acknowledges)
{
    start();
    outb(0x20, 0x0c);
    ck_assert_int_eq(inb(0x20), 0);
    pin(6, 1);
    outb(0x20, 0x0c);
    ck_assert_int_eq(inb(0x20), 0x86);
    ck_assert_int_eq(bench.level[INTR], 0);
    outb(0x20, 0x0a);
    ck_assert_int_eq(inb(0x20), 0);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, mask_register_reads_back);
    tcase_add_test(tc, request_is_acknowledged_once);
    tcase_add_test(tc, higher_priority_interrupts_lower);
    tcase_add_test(tc, slave_requests_come_through_the_cascade);
    tcase_add_test(tc, second_slave_request_survives_automatic_eoi);
    tcase_add_test(tc, level_request_repeats_until_dropped);
    tcase_add_test(tc, vanished_request_is_spurious);
    tcase_add_test(tc, rotation_moves_the_lowest_priority);
    tcase_add_test(tc, special_mask_lets_lower_ones_through);
    tcase_add_test(tc, poll_acknowledges);
}

int main(void)
{
    return bench_main("i8259", add);
}
