/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The qtest protocol: each request's answer, malformed ones, stepped time, intercepted interrupt lines. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel/accel.h"
#include "accel/qtest.h"
#include "hw/irq.h"
#include "system/loop.h"
#include "system/machine.h"
#include "system/runstate.h"

static const MachineOps toy_machine_ops = { .max_cpus = 1, .alias = "toy" };
static const Type toy_machine = { .name = "toy-1.0-machine", .parent = "machine", .ops = &toy_machine_ops };
TYPE_REGISTER(toy_machine)

typedef struct ToyPic {
    Device dev;
    IrqLine in[4];
    Irq out[1];
    Timer timer;
    int last;
} ToyPic;

static void toy_in(void *opaque, int n, int level)
{
    ToyPic *pic = opaque;

    pic->last = n * 10 + level;
    irq_set(pic->out[0], level);
}

static void toy_tick(void *opaque)
{
    irq_raise(&((ToyPic *)opaque)->in[3]);
}

static void toy_init(Object *obj)
{
    ToyPic *pic = (ToyPic *)obj;

    irq_init_array(pic->in, 4, toy_in, pic);
    irq_pins_in(&pic->dev, NULL, pic->in, 4);
    irq_pins_out(&pic->dev, "out", pic->out, 1);
    timer_init(&pic->timer, CLOCK_VIRTUAL, toy_tick, pic);
}

static const Type toy_pic = { .name = "toy-pic", .parent = "device", .size = sizeof(ToyPic), .init = toy_init };
TYPE_REGISTER(toy_pic)

static GString *answers;
static QTest *session;
static ToyPic *pic;

static void collect(void *opaque, const char *line)
{
    g_string_append(answers, line);
}

static void setup(void)
{
    Machine *m;

    answers = g_string_new(NULL);
    session = qtest_new(collect, NULL);
    ck_assert(accel_select("qtest", NULL, 0, NULL));
    machine_lock();
    m = machine_new("toy", NULL);
    ck_assert_ptr_nonnull(m);
    m->config.ram_size = 1 << 20;
    ck_assert(machine_init_ram(m, "pc.ram", NULL));
    memory_region_add(&m->system_memory, 0, m->ram, 0);
    pic = (ToyPic *)device_new("toy-pic");
    object_add_child(&m->obj, "ioapic", &pic->dev.obj);
    ck_assert(device_plug(&pic->dev, NULL, NULL));
    vm_start();
}

static void expect(const char *request, const char *want)
{
    g_string_truncate(answers, 0);
    qtest_feed(session, request, strlen(request));
    ck_assert_msg(!strcmp(answers->str, want), "%s gave %s", request, answers->str);
}

START_TEST(memory_and_ports)
{
    expect("endianness\n", "OK little\n");
    expect("writel 0x1000 0x11223344\n", "OK\n");
    expect("readb 0x1001\n", "OK 0x0000000000000033\n");
    expect("readq 0x1000\n", "OK 0x0000000011223344\n");
    expect("read 0x1000 5\n", "OK 0x4433221100\n");
    expect("write 0x2000 3 0xa1b2c3\n", "OK\n");
    expect("b64read 0x2000 3\n", "OK obLD\n");
    expect("b64write 0x2003 3 obLD\n", "OK\n");
    expect("readw 0x2003\n", "OK 0x000000000000b2a1\n");
    expect("memset 0x3000 0x1000 0x5a\n", "OK\n");
    expect("readl 0x3ffc\n", "OK 0x000000005a5a5a5a\n");
    expect("inb 0x80\n", "OK 0x00ff\n");
    expect("outl 0x80 1\n", "OK\n");
    expect("rea", "");
    expect("db 0x1000\nreadb 0x1003\n", "OK 0x0000000000000044\nOK 0x0000000000000011\n");
}
END_TEST

START_TEST(malformed_requests_fail)
{
    expect("\n", "");
    expect("nosuch 1\n", "FAIL Unknown command 'nosuch'\n");
    expect("readb\n", "FAIL readb needs 2 words\n");
    expect("readb x\n", "FAIL 'x' is no number\n");
    expect("read 0 0\n", "FAIL a length of 0 is not served\n");
    expect("read 0 0xffffffffffffffff\n", "FAIL a length of 18446744073709551615 is not served\n");
    expect("write 0 4 zz\n", "FAIL write needs its data as 0x and hexadecimal digits\n");
    expect("b64write 0 4 obLD\n", "FAIL b64write: 3 bytes of data, 4 announced\n");
    expect("irq_intercept_in nosuch\n", "FAIL Unknown device\n");
}
END_TEST

START_TEST(interrupt_lines)
{
    expect("irq_intercept_in ioapic\n", "OK\n");
    expect("set_irq_in ioapic unnamed-gpio-in 2 1\n", "IRQ raise 2\nOK\n");
    ck_assert_int_eq(pic->last, 21);
    expect("set_irq_in ioapic unnamed-gpio-in 2 1\n", "OK\n");
    expect("set_irq_in ioapic unnamed-gpio-in 2 0\n", "IRQ lower 2\nOK\n");
    expect("set_irq_in ioapic unnamed-gpio-in 4 0\n", "FAIL the device has no such pin\n");
}
END_TEST

START_TEST(outputs)
{
    expect("irq_intercept_out /machine/ioapic out\n", "OK\n");
    expect("set_irq_in ioapic unnamed-gpio-in 1 1\n", "IRQ raise 0\nOK\n");
}
END_TEST

START_TEST(time_moves_when_told)
{
    timer_mod(&pic->timer, 5000);
    expect("irq_intercept_in ioapic\n", "OK\n");
    expect("clock_step 4999\n", "OK 4999\n");
    expect("clock_step\n", "IRQ raise 3\nOK 5000\n");
    expect("clock_step\n", "OK 5000\n");
    expect("clock_set 4000\n", "OK 5000\n");
    expect("clock_set 9000\n", "OK 9000\n");
}
END_TEST

START_TEST(state_goes_through_a_file)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-XXXXXX", NULL);
    g_autofree char *save = g_strdup_printf("x-cleat-save %s/s\n", dir);
    g_autofree char *load = g_strdup_printf("x-cleat-load %s/s\n", dir);
    g_autofree char *file = g_strdup_printf("%s/s", dir);

    expect("writeb 0x1234 0x77\n", "OK\n");
    g_string_truncate(answers, 0);
    qtest_feed(session, save, strlen(save));
    ck_assert(g_str_has_prefix(answers->str, "OK "));
    expect("writeb 0x1234 0x11\n", "OK\n");
    expect(load, "OK\n");
    expect("readb 0x1234\n", "OK 0x0000000000000077\n");
    remove(file);
    expect(load, "FAIL x-cleat-load cannot read its file\n");
    remove(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("qtest");
    TCase *tc = tcase_create("qtest");
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, memory_and_ports);
    tcase_add_test(tc, malformed_requests_fail);
    tcase_add_test(tc, interrupt_lines);
    tcase_add_test(tc, outputs);
    tcase_add_test(tc, time_moves_when_told);
    tcase_add_test(tc, state_goes_through_a_file);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
