/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The RTC: formats, setting, the update cycle, alarms, periodic interrupts, CMOS memory. */
#include "chip-bench.h"

#include <time.h>

#include "hw/rtc/mc146818.h"

enum { A = 10, B = 11, C = 12, D = 13, CENTURY = 0x32 };
enum { B_24H = 2, B_BINARY = 4, B_UIE = 0x10, B_AIE = 0x20, B_PIE = 0x40, B_SET = 0x80 };
#define NS 1000000000LL

static Rtc *rtc;

static uint8_t get(uint8_t reg)
{
    outb(0x70, reg);
    return inb(0x71);
}

static void set(uint8_t reg, uint8_t value)
{
    outb(0x70, reg);
    outb(0x71, value);
}

/* Guest time runs with virtual time and stands at the given moment, on a second's start. */
static void start_at(int64_t unix_time)
{
    Device *dev = device_new("mc146818rtc");

    ck_assert(object_prop_set(&dev->obj, "base_year", "2000", NULL));
    rtc = bench_plug(dev);
    timer_del(&rtc->second_timer);
    rtc->clock = CLOCK_VIRTUAL;
    rtc->second_timer.clock = CLOCK_VIRTUAL;
    rtc->offset_ns = unix_time * NS - clock_ns(CLOCK_VIRTUAL);
    rtc->start_offset_ns = rtc->offset_ns;
    rtc->seen_s = unix_time;
}

static int64_t moment(int y, int mo, int d, int h, int mi, int s)
{
    struct tm tm = { .tm_year = y - 1900, .tm_mon = mo - 1, .tm_mday = d, .tm_hour = h,
                     .tm_min = mi, .tm_sec = s };

    return timegm(&tm);
}

START_TEST(time_reads_in_bcd_and_binary)
{
    start_at(moment(2026, 12, 31, 23, 59, 58));
    ck_assert_int_eq(get(0), 0x58);
    ck_assert_int_eq(get(2), 0x59);
    ck_assert_int_eq(get(4), 0x23);
    ck_assert_int_eq(get(6), 5);            /* a Thursday */
    ck_assert_int_eq(get(7), 0x31);
    ck_assert_int_eq(get(8), 0x12);
    ck_assert_int_eq(get(9), 0x26);
    ck_assert_int_eq(get(CENTURY), 0x20);
    ck_assert_int_eq(get(0x37), 0x20);
    ck_assert_int_eq(get(D), 0x80);
    clock_qtest_step(2 * NS);
    set(B, B_24H | B_BINARY);
    ck_assert_int_eq(get(0), 0);
    ck_assert_int_eq(get(4), 0);
    ck_assert_int_eq(get(9), 27);
    ck_assert_int_eq(get(CENTURY), 20);
}
END_TEST

START_TEST(twelve_hours)
{
    start_at(moment(2026, 1, 1, 0, 5, 0));
    set(B, 0);
    ck_assert_int_eq(get(4), 0x12);
    clock_qtest_step(13 * 3600 * NS);
    ck_assert_int_eq(get(4), 0x81);
    clock_qtest_step(23 * 3600 * NS);
    ck_assert_int_eq(get(4), 0x92);
    set(4, 0x83);
    set(B, B_24H);
    ck_assert_int_eq(get(4), 0x15);
}
END_TEST

/* Linux's mc146818_set_time: SET, divider reset, registers, and back. */
START_TEST(linux_sets_the_time)
{
    start_at(moment(2026, 1, 1, 0, 0, 0));
    set(B, B_24H | B_SET);
    set(A, 0x76);
    set(9, 0x31);
    set(8, 0x02);
    set(7, 0x03);
    set(4, 0x04);
    set(2, 0x05);
    set(0, 0x06);
    clock_qtest_step(5 * NS);
    ck_assert_int_eq(get(0), 6);
    set(B, B_24H);
    set(A, 0x26);
    ck_assert_int_eq(rtc_guest_time(rtc), moment(2031, 2, 3, 4, 5, 6));
    clock_qtest_step(NS / 2);
    ck_assert_int_eq(get(0), 7);            /* the first second is half a one */
    clock_qtest_step(NS);
    ck_assert_int_eq(get(0), 8);
}
END_TEST

START_TEST(nonsense_is_survived)
{
    start_at(moment(2026, 1, 1, 0, 0, 0));
    for (int reg = 0; reg < 10; reg++) {
        set(reg, 0xff);
    }
    set(CENTURY, 0xff);
    for (int reg = 0; reg < 128; reg++) {
        get(reg);
    }
    clock_qtest_step(NS);
    ck_assert_int_ge(rtc_guest_time(rtc), 0);
}
END_TEST

START_TEST(update_in_progress_announces_the_second)
{
    start_at(moment(2026, 1, 1, 0, 0, 0));
    ck_assert_int_eq(get(A), 0x26);
    clock_qtest_step(NS - 244001);
    ck_assert_int_eq(get(A), 0x26);
    clock_qtest_step(1);
    ck_assert_int_eq(get(A), 0xa6);
    ck_assert_int_eq(get(0), 0);
    clock_qtest_step(244000);
    ck_assert_int_eq(get(A), 0x26);
    ck_assert_int_eq(get(0), 1);
}
END_TEST

START_TEST(update_ended_is_seen_without_an_interrupt)
{
    start_at(moment(2026, 1, 1, 0, 0, 0));
    ck_assert_int_eq(get(C), 0);
    ck_assert(!timer_pending(&rtc->second_timer));
    clock_qtest_step(NS);
    ck_assert_int_eq(get(C) & 0x10, 0x10);
    ck_assert_int_eq(get(C) & 0x10, 0);
    set(B, B_24H | B_UIE);
    clock_qtest_step(NS);
    ck_assert_int_eq(bench.level[8], 1);
    ck_assert_int_eq(get(C) & 0x90, 0x90);
    ck_assert_int_eq(bench.level[8], 0);
    clock_qtest_step(10 * NS);
    ck_assert_int_eq(bench.rises[8], 2);    /* unread: no further edge */
}
END_TEST

START_TEST(alarm_comes_on_its_second)
{
    start_at(moment(2026, 1, 1, 23, 59, 0));
    set(1, 0x10);
    set(3, 0x30);
    set(5, 0x06);
    set(B, B_24H | B_AIE);
    clock_qtest_step((6 * 3600 + 31 * 60 + 9) * NS);
    ck_assert_int_eq(bench.rises[8], 0);
    clock_qtest_step(NS);
    ck_assert_int_eq(bench.rises[8], 1);
    ck_assert_int_eq(get(C) & 0xb0, 0xb0);
    set(1, 0xff);                           /* every second of 06:30 */
    clock_qtest_step(NS);
    ck_assert_int_eq(get(C) & 0xa0, 0xa0);
    set(1, 0x99);                           /* never */
    clock_qtest_step(2 * 86400 * NS);
    ck_assert_int_eq(get(C) & 0x20, 0);
}
END_TEST

START_TEST(periodic_rate_is_exact)
{
    int got = 0;

    start_at(moment(2026, 1, 1, 0, 0, 0));
    set(A, 0x26);                           /* 1024 Hz */
    set(B, B_24H | B_PIE);
    for (int i = 0; i < 20000; i++) {
        clock_qtest_step(500000);
        if (bench.level[8]) {
            got++;
            ck_assert_int_eq(get(C) & 0xc0, 0xc0);
        }
    }
    ck_assert_int_eq(got, 10240);
    set(A, 0x20);
    clock_qtest_step(NS);
    ck_assert_int_eq(bench.level[8], 0);
}
END_TEST

START_TEST(slew_gives_lost_ticks_back)
{
    Device *dev = device_new("mc146818rtc");

    ck_assert(object_prop_set(&dev->obj, "lost_tick_policy", "slew", NULL));
    rtc = bench_plug(dev);
    set(B, B_24H | B_PIE);
    clock_qtest_step(NS * 5 / 1024);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(get(C) & 0x40, 0x40);
    }
    ck_assert_int_eq(get(C) & 0x40, 0);
}
END_TEST

START_TEST(memory_survives_reset)
{
    start_at(moment(2026, 1, 1, 0, 0, 0));
    rtc_cmos_set(rtc, 0x34, 0xab);
    set(0x40, 0x55);
    set(B, B_24H | B_UIE);
    object_reset((Object *)rtc);
    ck_assert_int_eq(get(0x34), 0xab);
    ck_assert_int_eq(get(0x40), 0x55);
    ck_assert_int_eq(get(B), B_24H);
}
END_TEST

START_TEST(start_is_the_hosts_time)
{
    rtc = bench_isa("mc146818rtc");
    ck_assert_int_le(llabs(rtc_guest_time(rtc) - time(NULL)), 1);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, time_reads_in_bcd_and_binary);
    tcase_add_test(tc, twelve_hours);
    tcase_add_test(tc, linux_sets_the_time);
    tcase_add_test(tc, nonsense_is_survived);
    tcase_add_test(tc, update_in_progress_announces_the_second);
    tcase_add_test(tc, update_ended_is_seen_without_an_interrupt);
    tcase_add_test(tc, alarm_comes_on_its_second);
    tcase_add_test(tc, periodic_rate_is_exact);
    tcase_add_test(tc, slew_gives_lost_ticks_back);
    tcase_add_test(tc, memory_survives_reset);
    tcase_add_test(tc, start_is_the_hosts_time);
}

int main(void)
{
    return bench_main("mc146818", add);
}
