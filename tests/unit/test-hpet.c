/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HPET: counter, one-shot and periodic comparators, routing, levels, messages, legacy mode. */
#include "chip-bench.h"

#include "hw/timer/hpet.h"

#define BASE 0xfed00000ull
enum { CAP = 0, CONFIG = 0x10, ISR = 0x20, COUNTER = 0xf0 };
#define T_CONFIG(n) (BASE + 0x100 + 0x20 * (n))
#define T_CMP(n) (T_CONFIG(n) + 8)
#define T_FSB(n) (T_CONFIG(n) + 16)
enum { LEVEL = 2, ENABLE = 4, PERIODIC = 8, SET_VALUE = 0x40, BIT32 = 0x100, FSB = 0x4000 };
enum { PIT_LINE = 30 };

static Hpet *hpet;
static uint64_t msi_address;
static uint32_t msi_data;

static void record_msi(uint64_t address, uint32_t data)
{
    msi_address = address;
    msi_data = data;
}

static void start(void)
{
    Device *dev = device_new("hpet");

    hpet = (Hpet *)dev;
    ck_assert(object_prop_set_uint(&dev->obj, "hpet-intcap", 0xff0104, NULL));
    ck_assert(object_prop_set_bool(&dev->obj, "msi", true, NULL));
    hpet->send_msi = record_msi;
    for (int i = 0; i < 24; i++) {
        hpet->irq[i] = &bench.line[i];
    }
    hpet->pit_enable = &bench.line[PIT_LINE];
    ck_assert(device_plug(dev, NULL, NULL));
    object_reset(&dev->obj);
    memory_region_add(&bench.mem, BASE, &hpet->mmio, 0);
}

START_TEST(capabilities_and_counter)
{
    uint64_t before;

    start();
    ck_assert_uint_eq(readl(BASE + CAP), 0x8086a201);
    ck_assert_uint_eq(readl(BASE + CAP + 4), 10000000);
    ck_assert_uint_eq(readq(T_CONFIG(0)), 0x00ff010400008030ull);
    clock_qtest_step(1000);
    ck_assert_uint_eq(readq(BASE + COUNTER), 0);
    writeq(BASE + COUNTER, 0xfffffff0);
    writel(BASE + CONFIG, 1);
    clock_qtest_step(1000);
    ck_assert_uint_eq(readq(BASE + COUNTER), 0xfffffff0ull + 100);
    ck_assert_uint_eq(readl(BASE + COUNTER + 4), 1);
    writel(BASE + CONFIG, 0);
    before = readq(BASE + COUNTER);
    clock_qtest_step(1000);
    ck_assert_uint_eq(readq(BASE + COUNTER), before);
}
END_TEST

START_TEST(one_shot_meets_its_comparator_once)
{
    start();
    writel(BASE + CONFIG, 1);
    writel(T_CONFIG(0), ENABLE | 16 << 9);
    writeq(T_CMP(0), readq(BASE + COUNTER) + 500);
    clock_qtest_step(4980);
    ck_assert_int_eq(bench.rises[16], 0);
    clock_qtest_step(20);
    ck_assert_int_eq(bench.rises[16], 1);
    clock_qtest_step(60000000000);
    ck_assert_int_eq(bench.rises[16], 1);
    writeq(T_CMP(0), readq(BASE + COUNTER) - 1);        /* missed: Linux tries again */
    clock_qtest_step(60000000000);
    ck_assert_int_eq(bench.rises[16], 1);
}
END_TEST

START_TEST(short_comparator_wraps)
{
    start();
    writel(BASE + CONFIG, 1);
    writel(T_CONFIG(1), ENABLE | BIT32 | 17 << 9);
    writel(T_CMP(1), readl(BASE + COUNTER) + 100);
    clock_qtest_step(1000);
    ck_assert_int_eq(bench.rises[17], 1);
    clock_qtest_step(42949672960 - 100);
    ck_assert_int_eq(bench.rises[17], 1);
    clock_qtest_step(100);
    ck_assert_int_eq(bench.rises[17], 2);
}
END_TEST

/* Linux's hpet_set_periodic: comparator first, then the period. */
START_TEST(periodic_ticks_do_not_drift)
{
    start();
    writel(BASE + CONFIG, 1);
    writel(T_CONFIG(0), ENABLE | PERIODIC | SET_VALUE | BIT32 | 16 << 9);
    writel(T_CMP(0), readl(BASE + COUNTER) + 100000);
    writel(T_CMP(0), 100000);
    for (int i = 0; i < 1000; i++) {
        clock_qtest_step(999999);
    }
    ck_assert_int_eq(bench.rises[16], 999);
    clock_qtest_step(1000);
    ck_assert_int_eq(bench.rises[16], 1000);
}
END_TEST

START_TEST(level_stays_until_cleared)
{
    start();
    writel(BASE + CONFIG, 1);
    writel(T_CONFIG(2), ENABLE | LEVEL | 20 << 9);
    writeq(T_CMP(2), readq(BASE + COUNTER) + 10);
    clock_qtest_step(1000);
    ck_assert_int_eq(bench.level[20], 1);
    ck_assert_uint_eq(readl(BASE + ISR), 4);
    writel(BASE + ISR, 3);
    ck_assert_int_eq(bench.level[20], 1);
    writel(BASE + ISR, 4);
    ck_assert_int_eq(bench.level[20], 0);
}
END_TEST

START_TEST(message_instead_of_a_line)
{
    start();
    writel(BASE + CONFIG, 1);
    writel(T_CONFIG(1), ENABLE | FSB);
    writeq(T_FSB(1), 0xfee0100000004051ull);
    writeq(T_CMP(1), readq(BASE + COUNTER) + 10);
    clock_qtest_step(1000);
    ck_assert_uint_eq(msi_address, 0xfee01000);
    ck_assert_uint_eq(msi_data, 0x4051);
}
END_TEST

START_TEST(legacy_mode_takes_over_from_pit_and_rtc)
{
    start();
    ck_assert_int_eq(bench.level[PIT_LINE], 1);
    irq_set(&hpet->rtc_in, 1);
    ck_assert_int_eq(bench.level[8], 1);
    writel(BASE + CONFIG, 3);
    ck_assert_int_eq(bench.level[PIT_LINE], 0);
    ck_assert_int_eq(bench.level[8], 0);
    writel(T_CONFIG(0), ENABLE | 16 << 9);
    writeq(T_CMP(0), readq(BASE + COUNTER) + 10);
    writel(T_CONFIG(1), ENABLE);
    writeq(T_CMP(1), readq(BASE + COUNTER) + 10);
    clock_qtest_step(1000);
    ck_assert_int_eq(bench.rises[0], 1);
    ck_assert_int_eq(bench.rises[8], 2);
    ck_assert_int_eq(bench.rises[16], 0);
    writel(BASE + CONFIG, 1);
    ck_assert_int_eq(bench.level[8], 1);    /* the RTC's line is seen again */
}
END_TEST

START_TEST(impossible_properties_are_refused)
{
    Device *dev = device_new("hpet");
    Error *err = NULL;

    ck_assert(!device_plug(dev, NULL, &err));
    ck_assert(strstr(error_text(err), "hpet-intcap"));
    error_free(err);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, capabilities_and_counter);
    tcase_add_test(tc, one_shot_meets_its_comparator_once);
    tcase_add_test(tc, short_comparator_wraps);
    tcase_add_test(tc, periodic_ticks_do_not_drift);
    tcase_add_test(tc, level_stays_until_cleared);
    tcase_add_test(tc, message_instead_of_a_line);
    tcase_add_test(tc, legacy_mode_takes_over_from_pit_and_rtc);
    tcase_add_test(tc, impossible_properties_are_refused);
}

int main(void)
{
    return bench_main("hpet", add);
}
