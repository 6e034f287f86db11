/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Epoch reclamation under load: no reader ever sees what was freed; numbers and identifiers (util/units). */
#include <check.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/rcu.h"
#include "util/units.h"

enum { ALIVE = 0x600d, DEAD = 0xdead, READERS = 3, ROUNDS = 20000 };

typedef struct Thing {
    _Atomic int state;
} Thing;

static Thing *_Atomic published;
static _Atomic bool finish;
static _Atomic long reads, bad_reads;

static void *reader(void *opaque)
{
    while (!finish) {
        rcu_read_lock();
        for (int i = 0; i < 10; i++) {
            Thing *t = published;

            rcu_read_lock();        /* sections nest */
            bad_reads += t->state != ALIVE;
            rcu_read_unlock();
        }
        rcu_read_unlock();
        reads++;
    }
    return NULL;
}

static int freed;

static void thing_free(void *opaque)
{
    Thing *t = opaque;

    t->state = DEAD;
    freed++;
    free(t);
}

static Thing *thing_new(void)
{
    Thing *t = malloc(sizeof(*t));

    t->state = ALIVE;
    return t;
}

START_TEST(readers_never_see_the_dead)
{
    pthread_t thread[READERS];

    published = thing_new();
    for (int i = 0; i < READERS; i++) {
        pthread_create(&thread[i], NULL, reader, NULL);
    }
    while (reads < READERS) {
        usleep(100);
    }
    for (int i = 0; i < ROUNDS; i++) {
        rcu_call(thing_free, atomic_exchange(&published, thing_new()));
        if (i % 16 == 0) {
            rcu_reclaim();
        }
    }
    rcu_drain();
    ck_assert_int_eq(freed, ROUNDS);
    finish = true;
    for (int i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
    }
    ck_assert_int_eq(bad_reads, 0);
}
END_TEST

static _Atomic int hurried;

static void hurry(void)
{
    hurried++;
}

static void *slow_reader(void *opaque)
{
    rcu_read_lock();
    *(_Atomic bool *)opaque = true;
    while (!hurried) {
        usleep(100);
    }
    rcu_read_unlock();
    return NULL;
}

START_TEST(long_readers_are_hurried)
{
    static _Atomic bool in;
    pthread_t thread;

    rcu_hurry_hook_set(hurry);
    pthread_create(&thread, NULL, slow_reader, (void *)&in);
    while (!in) {
        usleep(100);
    }
    rcu_synchronize();
    ck_assert_int_gt(hurried, 0);
    pthread_join(thread, NULL);
}
END_TEST

static void expect_size(const char *text, uint64_t unit, ParseResult want, uint64_t value)
{
    uint64_t got = 0;

    ck_assert_msg(parse_size(text, unit, &got) == want, "%s", text);
    ck_assert(want != PARSE_OK || got == value);
}

START_TEST(sizes_and_identifiers)
{
    uint8_t bytes[16];

    expect_size("0", 1, PARSE_OK, 0);
    expect_size("128", MiB, PARSE_OK, 128 * MiB);
    expect_size("1.5G", 1, PARSE_OK, 3 * GiB / 2);
    expect_size("4096b", MiB, PARSE_OK, 4096);
    expect_size("0x1000", 1, PARSE_OK, 4096);
    expect_size("8E", 1, PARSE_OK, UINT64_C(1) << 63);
    expect_size("16E", 1, PARSE_RANGE, 0);
    expect_size("18446744073709551615", 1, PARSE_OK, UINT64_MAX);
    expect_size("18446744073709551616", 1, PARSE_RANGE, 0);
    expect_size("-1", 1, PARSE_RANGE, 0);
    expect_size("1.5", 1, PARSE_BAD, 0);
    expect_size("", 1, PARSE_BAD, 0);
    expect_size(" 1", 1, PARSE_BAD, 0);
    expect_size("1MB", 1, PARSE_BAD, 0);
    expect_size("1Q", 1, PARSE_BAD, 0);
    ck_assert(parse_mac("52:54:00:12:34:56", bytes) && bytes[5] == 0x56);
    ck_assert(!parse_mac("52:54:00:12:34", bytes) && !parse_mac("52-54:00:12:34:56", bytes));
    ck_assert(parse_uuid("12345678-1234-1234-1234-123456789abc", bytes) && bytes[15] == 0xbc);
    ck_assert(!parse_uuid("12345678-1234-1234-1234-123456789ab", bytes));
    ck_assert(id_is_wellformed("a-1._x") && !id_is_wellformed("1a") && !id_is_wellformed("") &&
              !id_is_wellformed("a b"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rcu");
    TCase *tc = tcase_create("rcu");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, readers_never_see_the_dead);
    tcase_add_test(tc, long_readers_are_hurried);
    tcase_add_test(tc, sizes_and_identifiers);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
