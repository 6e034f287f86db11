/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event loops: bottom halves, fds, timers in order and on time, stepped virtual time, the machine lock. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "system/loop.h"
#include "util/lockorder.h"

typedef struct Trace {
    int n;
    int at[64];
} Trace;

static Trace trace;

static void note(void *opaque)
{
    ck_assert(machine_locked());
    trace.at[trace.n++] = (int)(intptr_t)opaque;
}

static void *as_ptr(int n)
{
    return (void *)(intptr_t)n;
}

START_TEST(bottom_halves_run_once_in_order)
{
    BottomHalf *a = bh_new(loop_main(), note, as_ptr(1));
    BottomHalf *b = bh_new(loop_main(), note, as_ptr(2));

    trace.n = 0;
    bh_schedule(a);
    bh_schedule(b);
    bh_schedule(a);
    ck_assert(loop_poll(loop_main(), true));
    ck_assert_int_eq(trace.n, 2);
    ck_assert_int_eq(trace.at[0], 1);
    ck_assert_int_eq(trace.at[1], 2);
    bh_schedule(a);
    bh_free(a);
    bh_free(b);
    loop_run_once(loop_main(), note, as_ptr(3));
    loop_poll(loop_main(), false);
    ck_assert_int_eq(trace.n, 3);
    ck_assert_int_eq(trace.at[2], 3);
}
END_TEST

static BottomHalf *signal_bh;

static void on_signal(int sig)
{
    (void)sig;
    bh_schedule(signal_bh);
}

START_TEST(signal_handler_wakes_the_loop)
{
    signal_bh = bh_new(loop_main(), note, as_ptr(9));
    signal(SIGALRM, on_signal);
    trace.n = 0;
    ualarm(5000, 0);
    while (!trace.n) {
        loop_poll(loop_main(), true);
    }
    ck_assert_int_eq(trace.at[0], 9);
    bh_free(signal_bh);
}
END_TEST

static int pipe_fds[2];
static int got_bytes;

static void on_readable(void *opaque)
{
    char buf[16];

    (void)opaque;
    got_bytes += read(pipe_fds[0], buf, sizeof(buf));
    loop_set_fd(loop_main(), pipe_fds[0], NULL, NULL, NULL);
}

START_TEST(fd_handler_may_remove_itself)
{
    ck_assert_int_eq(pipe(pipe_fds), 0);
    got_bytes = 0;
    loop_set_fd(loop_main(), pipe_fds[0], on_readable, NULL, NULL);
    ck_assert_int_eq(write(pipe_fds[1], "abc", 3), 3);
    while (!got_bytes) {
        loop_poll(loop_main(), true);
    }
    ck_assert_int_eq(write(pipe_fds[1], "def", 3), 3);
    loop_poll(loop_main(), false);
    ck_assert_int_eq(got_bytes, 3);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}
END_TEST

START_TEST(timers_fire_in_order_and_not_early)
{
    Timer t[20];
    int64_t start = clock_ns(CLOCK_REAL);

    trace.n = 0;
    for (int i = 0; i < 20; i++) {
        timer_init(&t[i], CLOCK_REAL, note, as_ptr((i * 7) % 20));
        timer_mod(&t[i], start + 1000000 + ((i * 7) % 20) * 50000);
    }
    for (int i = 0; i < 20; i++) {
        if ((i * 7) % 20 == 13) {
            timer_del(&t[i]);
        }
    }
    while (trace.n < 19) {
        loop_poll(loop_main(), true);
    }
    ck_assert_int_ge(clock_ns(CLOCK_REAL), start + 1000000 + 19 * 50000);
    for (int i = 0; i < 19; i++) {
        ck_assert_int_eq(trace.at[i], i < 13 ? i : i + 1);
    }
}
END_TEST

START_TEST(virtual_time_stands_still_while_stopped)
{
    Timer t;
    int64_t then;

    clock_virtual_enable(true);
    usleep(2000);
    clock_virtual_enable(false);
    then = clock_ns(CLOCK_VIRTUAL);
    ck_assert_int_ge(then, 2000000);
    trace.n = 0;
    timer_init(&t, CLOCK_VIRTUAL, note, as_ptr(1));
    timer_mod(&t, then + 1000);
    usleep(2000);
    loop_poll(loop_main(), false);
    ck_assert_int_eq(trace.n, 0);
    ck_assert_int_eq(clock_ns(CLOCK_VIRTUAL), then);
    clock_virtual_enable(true);
    while (!trace.n) {
        loop_poll(loop_main(), true);
    }
    ck_assert_int_ge(clock_ns(CLOCK_VIRTUAL), then + 1000);
}
END_TEST

static Timer periodic;

static void rearm(void *opaque)
{
    note(opaque);
    timer_mod(&periodic, clock_ns(CLOCK_VIRTUAL) + 100);
}

START_TEST(qtest_steps_run_each_deadline)
{
    clock_qtest_enable();
    clock_virtual_enable(true);
    trace.n = 0;
    timer_init(&periodic, CLOCK_VIRTUAL, rearm, as_ptr(5));
    timer_mod(&periodic, 100);
    machine_lock();
    ck_assert_int_eq(clock_qtest_step(-1), 100);
    ck_assert_int_eq(trace.n, 1);
    ck_assert_int_eq(clock_qtest_step(1050), 1150);
    ck_assert_int_eq(trace.n, 11);
    machine_unlock();
    loop_poll(loop_main(), false);
    ck_assert_int_eq(trace.n, 11);
    timer_del(&periodic);
}
END_TEST

static void *lock_holder(void *opaque)
{
    machine_lock();
    loop_set_fd(loop_main(), pipe_fds[0], on_readable, NULL, NULL);
    machine_unlock();
    return NULL;
}

START_TEST(another_thread_may_add_an_fd_while_polling)
{
    pthread_t thread;

    ck_assert_int_eq(pipe(pipe_fds), 0);
    ck_assert_int_eq(write(pipe_fds[1], "x", 1), 1);
    got_bytes = 0;
    machine_lock();
    pthread_create(&thread, NULL, lock_holder, NULL);
    while (!got_bytes) {
        loop_poll(loop_main(), true);
    }
    ck_assert(machine_locked());
    machine_unlock();
    pthread_join(thread, NULL);
}
END_TEST

#ifdef CLEAT_DEBUG_LOCKS
START_TEST(locks_against_the_order_abort)
{
    lock_rank_enter(LOCK_LOOP);
    machine_lock();
}
END_TEST
#endif

int main(void)
{
    Suite *s = suite_create("loop");
    TCase *tc = tcase_create("loop");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, bottom_halves_run_once_in_order);
    tcase_add_test(tc, signal_handler_wakes_the_loop);
    tcase_add_test(tc, fd_handler_may_remove_itself);
    tcase_add_test(tc, timers_fire_in_order_and_not_early);
    tcase_add_test(tc, virtual_time_stands_still_while_stopped);
    tcase_add_test(tc, qtest_steps_run_each_deadline);
    tcase_add_test(tc, another_thread_may_add_an_fd_while_polling);
#ifdef CLEAT_DEBUG_LOCKS
    tcase_add_test_raise_signal(tc, locks_against_the_order_abort, SIGABRT);
#endif
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
