/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Character devices: creation and its errors, short forms, multiplexing, ring buffer, socket traffic both ways. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "chardev/char.h"
#include "system/loop.h"

typedef struct Sink {
    CharFrontend fe;
    GString *got;
    int room;
    int opened, breaks, mux_in;
} Sink;

static int sink_room(void *opaque)
{
    return ((Sink *)opaque)->room;
}

static void sink_receive(void *opaque, const uint8_t *buf, int len)
{
    Sink *s = opaque;

    ck_assert_int_le(len, s->room);
    g_string_append_len(s->got, (const char *)buf, len);
    s->room -= len;
}

static void sink_event(void *opaque, CharEvent ev)
{
    Sink *s = opaque;

    s->opened += ev == CHAR_EVENT_OPENED ? 1 : ev == CHAR_EVENT_CLOSED ? -1 : 0;
    s->breaks += ev == CHAR_EVENT_BREAK;
    s->mux_in += ev == CHAR_EVENT_MUX_IN ? 1 : ev == CHAR_EVENT_MUX_OUT ? -1 : 0;
}

static void sink_attach(Sink *s, Chardev *chr, int room)
{
    *s = (Sink) { .got = g_string_new(NULL), .room = room };
    ck_assert(char_attach(&s->fe, chr, NULL));
    char_set_handlers(&s->fe, sink_room, sink_receive, sink_event, s);
}

static void poll_a_while(void)
{
    for (int i = 0; i < 50; i++) {
        loop_poll(loop_main(), false);
        usleep(200);
    }
}

static Chardev *make(const char *text, Error **errp)
{
    bool none;

    return chardev_new_legacy("c0", text, &none, errp);
}

START_TEST(mistakes_are_named)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "nonsense", "nonsense" }, { "tcp:nohost", "nohost" }, { "file:/nowhere/at/all", "/nowhere/at/all" },
        { "unix:/nowhere/sock", "/nowhere/sock" }, { "unix:/x,server=maybe", "maybe" }, { "chardev:ghost", "ghost" },
        { "tcp:127.0.0.1:1,bogus=1", "bogus" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Error) err = NULL;

        ck_assert_ptr_null(make(cases[i].text, &err));
        ck_assert_ptr_nonnull(err);
        ck_assert_msg(strstr(error_text(err), cases[i].part), "%s: %s", cases[i].text, error_text(err));
    }
}
END_TEST

START_TEST(none_is_no_error)
{
    bool none = false;
    g_autoptr(Error) err = NULL;

    ck_assert_ptr_null(chardev_new_legacy("c0", "none", &none, &err));
    ck_assert(none);
    ck_assert_ptr_null(err);
}
END_TEST

START_TEST(a_plain_chardev_takes_one_front_end)
{
    Chardev *chr = make("null", NULL);
    Sink a;
    CharFrontend second = { 0 };

    sink_attach(&a, chr, 10);
    ck_assert(!char_attach(&second, chr, NULL));
    ck_assert_int_eq(char_write(&a.fe, "xyz", 3), 3);
    char_detach(&a.fe);
    ck_assert(char_attach(&second, chr, NULL));
    chardev_cleanup();
    ck_assert_ptr_null(second.chr);
}
END_TEST

START_TEST(ringbuf_keeps_the_last_bytes)
{
    const PropPair props[] = { { "size", "16" } };
    Chardev *chr = chardev_new_from_props("ringbuf", "r", props, 1, NULL);
    GByteArray *got;
    Sink a;

    sink_attach(&a, chr, 0);
    ck_assert_int_eq(char_write_all(&a.fe, "0123456789abcdefXYZ", 19), 19);
    got = chardev_ringbuf_read("r", 100, NULL);
    ck_assert_int_eq(got->len, 16);
    ck_assert_mem_eq(got->data, "3456789abcdefXYZ", 16);
    g_byte_array_free(got, TRUE);
    ck_assert_ptr_null(chardev_ringbuf_read("nobody", 1, NULL));
    chardev_cleanup();
}
END_TEST

static int client_connect(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    return fd;
}

START_TEST(a_socket_server_serves_one_after_the_other)
{
    g_autofree char *path = g_strdup_printf("/tmp/cleat-char-%d", getpid());
    g_autofree char *text = g_strdup_printf("unix:%s,server=on,wait=off", path);
    Chardev *chr = make(text, NULL);
    char buf[16] = "";
    Sink a;

    ck_assert_ptr_nonnull(chr);
    sink_attach(&a, chr, 4);
    ck_assert_int_eq(char_write(&a.fe, "lost", 4), -1);
    for (int round = 0; round < 2; round++) {
        int fd = client_connect(path);

        poll_a_while();
        ck_assert_int_eq(a.opened, 1);
        ck_assert_int_eq(write(fd, "abcdef", 6), 6);
        poll_a_while();
        ck_assert_str_eq(a.got->str, "abcd");       /* no more than there is room for */
        a.room = 4;
        char_accept_input(&a.fe);
        poll_a_while();
        ck_assert_str_eq(a.got->str, "abcdef");
        ck_assert_int_eq(char_write(&a.fe, "out", 3), 3);
        ck_assert_int_eq(read(fd, buf, sizeof(buf)), 3);
        close(fd);
        poll_a_while();
        ck_assert_int_eq(a.opened, 0);
        g_string_truncate(a.got, 0);
        a.room = 4;
        char_accept_input(&a.fe);
    }
    chardev_cleanup();
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(mux_switches_focus_and_keeps_bytes)
{
    g_autofree char *path = g_strdup_printf("/tmp/cleat-mux-%d", getpid());
    const PropPair props[] = { { "path", path }, { "server", "on" }, { "wait", "off" }, { "mux", "on" } };
    Chardev *chr = chardev_new_from_props("socket", "m", props, 4, NULL);
    Sink a, b;
    int fd;

    sink_attach(&a, chr, 2);
    sink_attach(&b, chr, 100);
    fd = client_connect(path);
    poll_a_while();
    ck_assert_int_eq(write(fd, "mon\001cserial\001b\001\001", 15), 15);
    poll_a_while();
    ck_assert_str_eq(b.got->str, "mon");            /* the last attached has the focus first */
    ck_assert_str_eq(a.got->str, "se");             /* the rest waits */
    ck_assert_int_eq(a.breaks, 1);
    a.room = 100;
    char_accept_input(&a.fe);
    ck_assert_str_eq(a.got->str, "serial\001");
    close(fd);
    chardev_cleanup();
}
END_TEST

static void slow_writable(void *opaque)
{
    ++*(int *)opaque;
}

START_TEST(a_full_socket_says_later_and_calls_back)
{
    g_autofree char *path = g_strdup_printf("/tmp/cleat-full-%d", getpid());
    g_autofree char *text = g_strdup_printf("unix:%s,server=on,wait=off", path);
    Chardev *chr = make(text, NULL);
    static char block[65536];
    int fd, n, called = 0;
    size_t sent = 0;
    Sink a;

    sink_attach(&a, chr, 4);
    fd = client_connect(path);
    poll_a_while();
    while ((n = char_write(&a.fe, block, sizeof(block))) > 0) {
        sent += n;
    }
    ck_assert_int_eq(n, 0);
    char_watch_writable(&a.fe, slow_writable, &called);
    poll_a_while();
    ck_assert_int_eq(called, 0);
    while (sent) {
        ssize_t got = read(fd, block, sizeof(block));

        ck_assert_int_gt(got, 0);
        sent -= got;
    }
    poll_a_while();
    ck_assert_int_eq(called, 1);
    close(fd);
    chardev_cleanup();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("char");
    TCase *tc = tcase_create("char");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, mistakes_are_named);
    tcase_add_test(tc, none_is_no_error);
    tcase_add_test(tc, a_plain_chardev_takes_one_front_end);
    tcase_add_test(tc, ringbuf_keeps_the_last_bytes);
    tcase_add_test(tc, a_socket_server_serves_one_after_the_other);
    tcase_add_test(tc, mux_switches_focus_and_keeps_bytes);
    tcase_add_test(tc, a_full_socket_says_later_and_calls_back);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
