/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The i8042 as Linux probes it, keyboard and mouse protocols, translation, A20 and reset. */
#include "chip-bench.h"

#include "chip-requests.h"
#include "hw/input/i8042.h"

static I8042 *kbc;

static void start(void)
{
    kbc = bench_isa("i8042");
}

static int get(void)
{
    return inb(0x64) & 1 ? inb(0x60) : -1;
}

static int command(uint8_t cmd)
{
    outb(0x64, cmd);
    return get();
}

static void set_config(uint8_t value)
{
    outb(0x64, 0x60);
    outb(0x60, value);
}

static void to_mouse(uint8_t byte)
{
    outb(0x64, 0xd4);
    outb(0x60, byte);
}

/* drivers/input/serio/i8042.c: flush, self test, command byte, AUX loop with its interrupt. */
START_TEST(linux_probe_finds_both_ports)
{
    start();
    ck_assert_int_eq(inb(0x64) & 1, 0);
    ck_assert_int_eq(command(0xaa), 0x55);
    ck_assert_int_eq(inb(0x64) & 4, 4);
    set_config(0x74);                       /* both ports off, translation on */
    ck_assert_int_eq(command(0x20), 0x74);
    outb(0x64, 0xd3);
    outb(0x60, 0x5a);
    ck_assert_int_eq(inb(0x64) & 0x21, 0x21);
    ck_assert_int_eq(inb(0x60), 0x5a);
    outb(0x64, 0xa8);
    ck_assert_int_eq(command(0x20) & 0x20, 0);
    outb(0x64, 0xa7);
    ck_assert_int_eq(command(0x20) & 0x20, 0x20);
    ck_assert_int_eq(command(0xa9), 0);
    ck_assert_int_eq(command(0xab), 0);
    set_config(0x46 & ~0x20);
    outb(0x64, 0xd3);
    outb(0x60, 0xa5);
    ck_assert_int_eq(bench.level[12], 1);
    ck_assert_int_eq(bench.level[1], 0);
    ck_assert_int_eq(inb(0x60), 0xa5);
    ck_assert_int_eq(bench.level[12], 0);
}
END_TEST

START_TEST(keyboard_answers_at_once)
{
    start();
    set_config(0x03);
    outb(0x60, 0xf2);
    ck_assert_int_eq(get(), 0xfa);
    ck_assert_int_eq(get(), 0xab);
    ck_assert_int_eq(get(), 0x83);
    ck_assert_int_eq(get(), -1);
    outb(0x60, 0xff);
    ck_assert_int_eq(get(), 0xfa);
    ck_assert_int_eq(get(), 0xaa);
    outb(0x60, 0xed);
    ck_assert_int_eq(get(), 0xfa);
    outb(0x60, 0x02);
    ck_assert_int_eq(get(), 0xfa);
    ck_assert_int_eq(kbc->kbd.leds, 2);
    outb(0x60, 0xf0);
    get();
    outb(0x60, 0);
    ck_assert_int_eq(get(), 0xfa);
    ck_assert_int_eq(get(), 2);
    outb(0x60, 0x12);
    ck_assert_int_eq(get(), 0xfe);
}
END_TEST

START_TEST(each_byte_has_its_own_edge)
{
    start();
    bench.rises[1] = 0;
    outb(0x60, 0xf2);
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(bench.rises[1], i);
        inb(0x60);
    }
    ck_assert_int_eq(bench.level[1], 0);
}
END_TEST

START_TEST(keys_are_translated)
{
    static const uint8_t press[] = { 0x1c }, release[] = { 0xf0, 0x1c }, up[] = { 0xe0, 0xf0, 0x75 };

    start();
    set_config(0x41);
    ck_assert(ps2_keyboard_key(&kbc->kbd, press, 1));
    ck_assert(ps2_keyboard_key(&kbc->kbd, release, 2));
    ck_assert(ps2_keyboard_key(&kbc->kbd, up, 3));
    ck_assert_int_eq(get(), 0x1e);
    ck_assert_int_eq(get(), 0x9e);
    ck_assert_int_eq(get(), 0xe0);
    ck_assert_int_eq(get(), 0xc8);
    set_config(0x11);                       /* port off: keys wait */
    ck_assert(ps2_keyboard_key(&kbc->kbd, press, 1));
    ck_assert_int_eq(get(), -1);
    outb(0x64, 0xae);
    ck_assert_int_eq(get(), 0x1c);
    for (int i = 0; i < PS2_QUEUE + 1; i++) {
        ps2_keyboard_key(&kbc->kbd, press, 1);
    }
    ck_assert(!ps2_keyboard_key(&kbc->kbd, press, 1));
}
END_TEST

START_TEST(mouse_resets_knocks_and_moves)
{
    static const uint8_t knock[] = { 0xf3, 200, 0xf3, 100, 0xf3, 80 };

    start();
    set_config(0x03);
    to_mouse(0xff);
    ck_assert_int_eq(inb(0x64) & 0x20, 0x20);
    ck_assert_int_eq(get(), 0xfa);
    ck_assert_int_eq(get(), 0xaa);
    ck_assert_int_eq(get(), 0);
    for (unsigned i = 0; i < sizeof(knock); i++) {
        to_mouse(knock[i]);
        ck_assert_int_eq(get(), 0xfa);
    }
    to_mouse(0xf2);
    get();
    ck_assert_int_eq(get(), 3);
    ps2_mouse_move(&kbc->mouse, 5, 5, 0, 0);
    ck_assert_int_eq(get(), -1);            /* not enabled */
    to_mouse(0xf4);
    get();
    ps2_mouse_move(&kbc->mouse, 300, -2, 1, 1);
    ck_assert_int_eq(get(), 0x09);
    ck_assert_int_eq(get(), 255);
    ck_assert_int_eq(get(), 2);
    ck_assert_int_eq(get(), 1);
    ck_assert_int_eq(get(), 0x09);          /* the rest */
    ck_assert_int_eq(get(), 45);
    ck_assert_int_eq(get(), 0);
    ck_assert_int_eq(get(), 0);
    ck_assert_int_eq(get(), -1);
}
END_TEST

START_TEST(pulses_and_output_port)
{
    start();
    kbc->a20 = &bench.line[20];
    outb(0x64, 0xdd);
    ck_assert_int_eq(bench.level[20], 0);
    ck_assert_int_eq(command(0xd0) & 3, 1);
    outb(0x64, 0xd1);
    outb(0x60, 0xdf);
    ck_assert_int_eq(bench.level[20], 1);
    ck_assert_int_eq(asked.resets, 0);
    outb(0x64, 0xff);
    ck_assert_int_eq(asked.resets, 0);
    outb(0x64, 0xfe);
    ck_assert_int_eq(asked.resets, 1);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, linux_probe_finds_both_ports);
    tcase_add_test(tc, keyboard_answers_at_once);
    tcase_add_test(tc, each_byte_has_its_own_edge);
    tcase_add_test(tc, keys_are_translated);
    tcase_add_test(tc, mouse_resets_knocks_and_moves);
    tcase_add_test(tc, pulses_and_output_port);
}

int main(void)
{
    return bench_main("i8042", add);
}
