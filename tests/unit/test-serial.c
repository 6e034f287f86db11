/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 16550A: Linux's autoconfiguration, interrupts, FIFOs, loopback, and above all that no byte
 * is lost or doubled whatever the back end does. The back end is faked here: the linker's --wrap
 * leads the chip's char_* calls to the __wrap_ functions below.
 */
#include "chip-bench.h"

#include "chardev/char.h"
#include "hw/char/serial.h"

enum { RBR = 0x3f8, IER, IIR, LCR, MCR, LSR, MSR, SCR };
#define FCR IIR
enum { RDI = 1, THRI = 2, RLSI = 4, MSI = 8 };

static struct {
    CharFrontend *fe;
    GString *out;
    int room;                               /* bytes it takes before it is full */
    void (*writable)(void *opaque);
    void *writable_opaque;
    int accepts;
} host;

int __wrap_char_write(CharFrontend *fe, const void *buf, int len);
void __wrap_char_watch_writable(CharFrontend *fe, void (*fn)(void *opaque), void *opaque);
void __wrap_char_accept_input(CharFrontend *fe);
int __wrap_char_ioctl_serial_params(CharFrontend *fe, int baud, int parity, int data, int stop);
void __wrap_char_set_handlers(CharFrontend *fe, int (*can_receive)(void *),
                              void (*receive)(void *, const uint8_t *, int),
                              void (*event)(void *, CharEvent), void *opaque);

int __wrap_char_write(CharFrontend *fe, const void *buf, int len)
{
    int n = MIN(len, host.room);

    g_string_append_len(host.out, buf, n);
    host.room -= n;
    return n;
}

void __wrap_char_watch_writable(CharFrontend *fe, void (*fn)(void *opaque), void *opaque)
{
    ck_assert(!host.writable);              /* one at a time */
    host.writable = fn;
    host.writable_opaque = opaque;
}

void __wrap_char_accept_input(CharFrontend *fe)
{
    host.accepts++;
}

int __wrap_char_ioctl_serial_params(CharFrontend *fe, int baud, int parity, int data, int stop)
{
    return -1;
}

void __wrap_char_set_handlers(CharFrontend *fe, int (*can_receive)(void *),
                              void (*receive)(void *, const uint8_t *, int),
                              void (*event)(void *, CharEvent), void *opaque)
{
    host.fe = fe;
    fe->can_receive = can_receive;
    fe->receive = receive;
    fe->event = event;
    fe->opaque = opaque;
}

static void start(void)
{
    host.out = g_string_new(NULL);
    host.room = INT_MAX;
    bench_isa("isa-serial");
}

/* The back end empties: it takes n more bytes and says so. */
static void host_drain(int n)
{
    void (*fn)(void *) = host.writable;

    host.room = n;
    host.writable = NULL;
    if (fn) {
        fn(host.writable_opaque);
    }
}

static int host_type(const char *text, int len)
{
    int n = MIN(host.fe->can_receive(host.fe->opaque), len);

    if (n > 0) {
        host.fe->receive(host.fe->opaque, (const uint8_t *)text, n);
    }
    return n;
}

START_TEST(linux_autoconfig_finds_a_16550a)
{
    start();
    outb(IER, 0);
    ck_assert_int_eq(inb(IER), 0);
    outb(IER, 0x0f);
    ck_assert_int_eq(inb(IER), 0x0f);
    outb(IER, 0);
    outb(SCR, 0xa5);
    ck_assert_int_eq(inb(SCR), 0xa5);
    outb(MCR, 0x1a);                        /* loop, OUT2, RTS */
    ck_assert_int_eq(inb(MSR) & 0xf0, 0x90);
    outb(MCR, 0);
    outb(FCR, 1);
    ck_assert_int_eq(inb(IIR), 0xc1);
    outb(LCR, 0x83);
    outb(RBR, 1);
    outb(IER, 0);
    ck_assert_int_eq(inb(RBR), 1);
    outb(LCR, 0x03);
    outb(FCR, 0);
    ck_assert_int_eq(inb(IIR), 0x01);
    ck_assert_int_eq(inb(LSR), 0x60);
}
END_TEST

START_TEST(thr_empty_interrupts_each_time_it_is_enabled)
{
    start();
    outb(IER, THRI);
    ck_assert_int_eq(bench.level[4], 1);
    ck_assert_int_eq(inb(IIR), 0x02);
    ck_assert_int_eq(bench.level[4], 0);
    ck_assert_int_eq(inb(IIR), 0x01);
    outb(IER, 0);
    outb(IER, THRI);                        /* Linux tells broken chips by this */
    ck_assert_int_eq(inb(IIR), 0x02);
    bench.rises[4] = 0;
    outb(RBR, 'x');
    ck_assert_int_eq(bench.rises[4], 1);
    outb(RBR, 'y');                         /* unread IIR: the line drops and rises all the same */
    ck_assert_int_eq(bench.rises[4], 2);
    ck_assert_str_eq(host.out->str, "xy");
}
END_TEST

START_TEST(full_back_end_holds_the_transmitter)
{
    start();
    outb(FCR, 1);
    host.room = 3;
    for (int i = 0; i < 12; i++) {
        outb(RBR, 'a' + i);
    }
    ck_assert_str_eq(host.out->str, "abc");
    ck_assert_int_eq(inb(LSR) & 0x60, 0);
    host_drain(4);
    ck_assert_int_eq(inb(LSR) & 0x60, 0);
    outb(IER, THRI);
    ck_assert_int_eq(bench.level[4], 0);
    host_drain(100);
    ck_assert_str_eq(host.out->str, "abcdefghijkl");
    ck_assert_int_eq(inb(LSR) & 0x60, 0x60);
    ck_assert_int_eq(bench.level[4], 1);
}
END_TEST

/* A guest that writes when it may, a host that takes in odd portions. */
START_TEST(nothing_is_lost_or_doubled_outwards)
{
    GString *sent = g_string_new(NULL);
    unsigned seed = 1;

    start();
    outb(FCR, 1);
    while (sent->len < 20000) {
        seed = seed * 1103515245 + 12345;
        host_drain(seed >> 16 & 31);
        for (int i = 0; i < 16 && (i || (inb(LSR) & 0x20)); i++) {
            g_string_append_c(sent, 'A' + sent->len % 57);
            outb(RBR, sent->str[sent->len - 1]);
        }
        if (seed >> 24 == 7) {
            outb(FCR, 7);                   /* clearing may not take back what was sent */
        }
    }
    host_drain(1 << 20);
    ck_assert_str_eq(host.out->str, sent->str);
}
END_TEST

START_TEST(nothing_is_lost_or_doubled_inwards)
{
    GString *typed = g_string_new(NULL), *got = g_string_new(NULL);
    unsigned seed = 1;

    start();
    outb(FCR, 0x81);
    for (int i = 0; i < 20000; i++) {
        g_string_append_c(typed, 'A' + i % 57);
    }
    for (int at = 0; got->len < typed->len;) {
        seed = seed * 1103515245 + 12345;
        at += host_type(typed->str + at, MIN((int)typed->len - at, (int)(seed >> 16 & 31)));
        for (unsigned n = seed >> 24 & 15; n && (inb(LSR) & 1); n--) {
            g_string_append_c(got, inb(RBR));
        }
    }
    ck_assert_str_eq(got->str, typed->str);
    ck_assert_int_gt(host.accepts, 0);
}
END_TEST

START_TEST(receive_interrupts_at_the_trigger_or_after_a_while)
{
    start();
    outb(LCR, 0x83);
    outb(RBR, 1);
    outb(LCR, 0x03);
    outb(FCR, 0x81);                        /* trigger at 8 */
    outb(IER, RDI);
    ck_assert_int_eq(host_type("1234567", 7), 7);
    ck_assert_int_eq(bench.level[4], 0);
    clock_qtest_step(347222);               /* four characters at 115200 8N1 */
    ck_assert_int_eq(bench.level[4], 1);
    ck_assert_int_eq(inb(IIR), 0xcc);
    ck_assert_int_eq(inb(RBR), '1');
    ck_assert_int_eq(bench.level[4], 0);
    host_type("89", 2);
    ck_assert_int_eq(inb(IIR), 0xc4);
    for (int i = 0; i < 8; i++) {
        inb(RBR);
    }
    ck_assert_int_eq(inb(LSR) & 1, 0);
    ck_assert_int_eq(bench.level[4], 0);
    clock_qtest_step(1000000);
    ck_assert_int_eq(bench.level[4], 0);
}
END_TEST

START_TEST(without_fifos_one_byte_at_a_time)
{
    start();
    outb(IER, RDI);
    ck_assert_int_eq(host_type("ab", 2), 1);
    ck_assert_int_eq(host_type("b", 1), 0);
    ck_assert_int_eq(inb(IIR), 4);
    ck_assert_int_eq(inb(RBR), 'a');
    ck_assert_int_eq(host_type("b", 1), 1);
    ck_assert_int_eq(inb(RBR), 'b');
}
END_TEST

START_TEST(break_and_line_status)
{
    start();
    outb(IER, RLSI);
    host.fe->event(host.fe->opaque, CHAR_EVENT_BREAK);
    ck_assert_int_eq(inb(IIR), 6);
    ck_assert_int_eq(inb(LSR), 0x71);
    ck_assert_int_eq(inb(LSR), 0x61);
    ck_assert_int_eq(inb(RBR), 0);
    ck_assert_int_eq(bench.level[4], 0);
}
END_TEST

START_TEST(loopback_turns_everything_round)
{
    start();
    outb(FCR, 1);
    inb(MSR);
    outb(IER, MSI);
    outb(MCR, 0x10);
    ck_assert_int_eq(bench.level[4], 1);
    ck_assert_int_eq(inb(IIR) & 0xf, 0);
    ck_assert_int_eq(inb(MSR), 0x0b);       /* CTS, DSR, DCD dropped */
    outb(MCR, 0x14);
    ck_assert_int_eq(inb(MSR), 0x40);
    outb(MCR, 0x10);
    ck_assert_int_eq(inb(MSR), 0x04);       /* RI's trailing edge */
    for (int i = 0; i < 17; i++) {
        outb(RBR, 0x40 + i);
    }
    ck_assert_int_eq(inb(LSR), 0x63);       /* the 17th overran */
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(inb(RBR), 0x40 + i);
    }
    ck_assert_str_eq(host.out->str, "");
    ck_assert_int_eq(host_type("x", 1), 0); /* the line is cut off */
    outb(MCR, 0x0b);
    ck_assert_int_eq(inb(MSR) & 0xf0, 0xb0);
    ck_assert_int_eq(host_type("x", 1), 1);
}
END_TEST

START_TEST(ports_follow_index_and_refuse_a_fifth)
{
    Device *dev;
    Error *err = NULL;

    start();
    for (int i = 1; i < 4; i++) {
        bench_isa("isa-serial");
    }
    outb(0x2ef, 0x77);
    ck_assert_int_eq(inb(0x2ef), 0x77);
    outb(0x2f9, THRI);
    ck_assert_int_eq(bench.level[3], 1);
    dev = device_new("isa-serial");
    ck_assert(!device_plug(dev, &bench.isa->bus, &err));
    ck_assert(strstr(error_text(err), "index 4"));
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, linux_autoconfig_finds_a_16550a);
    tcase_add_test(tc, thr_empty_interrupts_each_time_it_is_enabled);
    tcase_add_test(tc, full_back_end_holds_the_transmitter);
    tcase_add_test(tc, nothing_is_lost_or_doubled_outwards);
    tcase_add_test(tc, nothing_is_lost_or_doubled_inwards);
    tcase_add_test(tc, receive_interrupts_at_the_trigger_or_after_a_while);
    tcase_add_test(tc, without_fifos_one_byte_at_a_time);
    tcase_add_test(tc, break_and_line_status);
    tcase_add_test(tc, loopback_turns_everything_round);
    tcase_add_test(tc, ports_follow_index_and_refuse_a_fifth);
}

int main(void)
{
    return bench_main("serial", add);
}
