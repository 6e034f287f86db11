/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PIT: modes, latches, gates through port 61h, interrupt edges that do not drift. */
#include "chip-bench.h"

#include "hw/timer/i8254.h"

static Pit *pit;

static void start(void)
{
    Device *spk = device_new("isa-pcspk");

    pit = bench_isa("isa-pit");
    ck_assert(object_prop_set_link(&spk->obj, "pit", (Object *)pit, NULL));
    bench_plug(spk);
}

static int64_t ticks_ns(int64_t ticks)
{
    return (ticks * 1000000000 + PIT_HZ - 1) / PIT_HZ;
}

static void program(unsigned counter, uint8_t mode, unsigned count)
{
    outb(0x43, counter << 6 | 0x30 | mode << 1);
    outb(0x40 + counter, count);
    outb(0x40 + counter, count >> 8);
}

static unsigned read_latched(unsigned counter)
{
    unsigned low;

    outb(0x43, counter << 6);
    low = inb(0x40 + counter);
    return inb(0x40 + counter) << 8 | low;
}

START_TEST(rate_generator_does_not_drift)
{
    start();
    program(0, 2, 11932);                   /* 100 Hz */
    bench.rises[0] = 0;
    for (int i = 0; i < 100000; i++) {      /* steps that fit no period */
        clock_qtest_step(999983);
    }
    ck_assert_int_eq(bench.rises[0], 99998300000 / 1e9 * PIT_HZ / 11932);
}
END_TEST

START_TEST(edges_come_on_the_tick)
{
    start();
    program(0, 2, 1000);
    bench.rises[0] = 0;
    clock_qtest_step(ticks_ns(1000) - 1);
    ck_assert_int_eq(bench.rises[0], 0);
    clock_qtest_step(1);
    ck_assert_int_eq(bench.rises[0], 1);
    clock_qtest_step(ticks_ns(2000) - ticks_ns(1000) - 1);
    ck_assert_int_eq(bench.rises[0], 1);
    clock_qtest_step(1);
    ck_assert_int_eq(bench.rises[0], 2);
}
END_TEST

START_TEST(one_shot_fires_once)
{
    start();
    program(0, 0, 5000);
    ck_assert_int_eq(bench.level[0], 0);
    clock_qtest_step(ticks_ns(5000));
    ck_assert_int_eq(bench.level[0], 1);
    clock_qtest_step(1000000000);
    ck_assert_int_eq(bench.rises[0], 1);
    outb(0x43, 0x30);                       /* how Linux stops it: mode 0 without a count */
    ck_assert_int_eq(bench.level[0], 0);
    ck_assert(!timer_pending(&pit->timer));
}
END_TEST

START_TEST(latch_holds_until_read)
{
    start();
    program(0, 2, 0);                       /* 65536 */
    clock_qtest_step(ticks_ns(0x1234));
    outb(0x43, 0x00);
    clock_qtest_step(ticks_ns(777));
    ck_assert_int_eq(inb(0x40), 0xcc);      /* 10000h - 1234h = EDCCh */
    ck_assert_int_eq(inb(0x40), 0xed);
    ck_assert_int_lt(read_latched(0), 0xedcc - 770);
}
END_TEST

START_TEST(readback_latches_status_and_count)
{
    unsigned low;

    start();
    outb(0x43, 0x34);
    outb(0x43, 0xe2);                       /* status of counter 0: no count yet */
    ck_assert_int_eq(inb(0x40), 0xf4);
    outb(0x40, 0x00);
    outb(0x40, 0x10);
    clock_qtest_step(ticks_ns(16));
    outb(0x43, 0xc2);                       /* both: status first, then the count */
    ck_assert_int_eq(inb(0x40), 0xb4);
    low = inb(0x40);
    ck_assert_int_eq(inb(0x40) << 8 | low, 0x1000 - 16);
}
END_TEST

START_TEST(new_count_waits_for_the_period)
{
    start();
    program(0, 2, 10000);
    bench.rises[0] = 0;
    clock_qtest_step(ticks_ns(4000));
    outb(0x40, 0xe8);
    outb(0x40, 0x03);                       /* 1000 */
    clock_qtest_step(ticks_ns(10000) - ticks_ns(4000));
    ck_assert_int_eq(bench.rises[0], 1);
    clock_qtest_step(ticks_ns(1000));
    ck_assert_int_eq(bench.rises[0], 2);
}
END_TEST

/* Linux's pit_calibrate_tsc and quick_pit_calibrate. */
START_TEST(calibration_through_port_61h)
{
    start();
    outb(0x61, (inb(0x61) & ~2) | 1);
    outb(0x43, 0xb0);
    outb(0x42, 0x9c);
    outb(0x42, 0x2e);                       /* 11932: 10 ms */
    ck_assert_int_eq(inb(0x61) & 0x20, 0);
    clock_qtest_step(ticks_ns(11931));
    ck_assert_int_eq(inb(0x61) & 0x20, 0);
    clock_qtest_step(ticks_ns(1));
    ck_assert_int_eq(inb(0x61) & 0x20, 0x20);
    outb(0x43, 0xb0);
    outb(0x42, 0xff);
    outb(0x42, 0xff);
    clock_qtest_step(ticks_ns(256));
    inb(0x42);
    ck_assert_int_eq(inb(0x42), 0xfe);
}
END_TEST

START_TEST(gate_stops_and_restarts)
{
    start();
    outb(0x61, 1);
    program(2, 0, 1000);
    clock_qtest_step(ticks_ns(400));
    outb(0x61, 0);
    clock_qtest_step(ticks_ns(5000));
    ck_assert_int_eq(read_latched(2), 600);
    outb(0x61, 1);
    clock_qtest_step(ticks_ns(500));
    ck_assert_int_eq(inb(0x61) & 0x20, 0);
    clock_qtest_step(ticks_ns(101));
    ck_assert_int_eq(inb(0x61) & 0x21, 0x21);
}
END_TEST

START_TEST(retriggerable_shot_needs_a_gate_edge)
{
    start();
    program(2, 1, 100);
    clock_qtest_step(ticks_ns(1000));
    ck_assert_int_eq(inb(0x61) & 0x20, 0x20);
    outb(0x61, 1);
    ck_assert_int_eq(inb(0x61) & 0x20, 0);
    clock_qtest_step(ticks_ns(101));
    ck_assert_int_eq(inb(0x61) & 0x20, 0x20);
}
END_TEST

START_TEST(square_wave_and_bcd)
{
    start();
    outb(0x61, 1);
    program(2, 3, 1000);
    clock_qtest_step(ticks_ns(250));
    ck_assert_int_eq(inb(0x61) & 0x20, 0x20);
    ck_assert_int_eq(read_latched(2), 500);
    clock_qtest_step(ticks_ns(500));
    ck_assert_int_eq(inb(0x61) & 0x20, 0);
    outb(0x43, 0xb5);                       /* mode 2, BCD */
    outb(0x42, 0x00);
    outb(0x42, 0x10);
    clock_qtest_step(ticks_ns(1));
    ck_assert_int_eq(read_latched(2), 0x999);
}
END_TEST

START_TEST(legacy_replacement_silences_it)
{
    start();
    program(0, 2, 1000);
    irq_set(&pit->irq_enable_in, 0);
    bench.rises[0] = 0;
    clock_qtest_step(10000000);
    ck_assert_int_eq(bench.rises[0], 0);
    irq_set(&pit->irq_enable_in, 1);
    clock_qtest_step(ticks_ns(1000));
    ck_assert_int_ge(bench.rises[0], 1);
}
END_TEST

START_TEST(refresh_bit_toggles)
{
    uint8_t first;

    start();
    first = inb(0x61) & 0x10;
    clock_qtest_step(15085);
    ck_assert_int_ne(inb(0x61) & 0x10, first);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, rate_generator_does_not_drift);
    tcase_add_test(tc, edges_come_on_the_tick);
    tcase_add_test(tc, one_shot_fires_once);
    tcase_add_test(tc, latch_holds_until_read);
    tcase_add_test(tc, readback_latches_status_and_count);
    tcase_add_test(tc, new_count_waits_for_the_period);
    tcase_add_test(tc, calibration_through_port_61h);
    tcase_add_test(tc, gate_stops_and_restarts);
    tcase_add_test(tc, retriggerable_shot_needs_a_gate_edge);
    tcase_add_test(tc, square_wave_and_bcd);
    tcase_add_test(tc, legacy_replacement_silences_it);
    tcase_add_test(tc, refresh_bit_toggles);
}

int main(void)
{
    return bench_main("i8254", add);
}
