/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coroutines: order of entering and yielding, nesting, deep stacks, pooled reuse, locks that yield. */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "util/coroutine.h"

static GString *order;

static void three_steps(void *opaque)
{
    for (int i = 0; i < 3; i++) {
        g_string_append_printf(order, "%s%d ", (const char *)opaque, i);
        ck_assert_ptr_nonnull(coroutine_self());
        coroutine_yield();
    }
    g_string_append_printf(order, "%s. ", (const char *)opaque);
}

START_TEST(steps_interleave)
{
    Coroutine *a = coroutine_new(three_steps, "a"), *b = coroutine_new(three_steps, "b");

    order = g_string_new(NULL);
    for (int i = 0; i < 4; i++) {
        coroutine_enter(a);
        coroutine_enter(b);
    }
    ck_assert_ptr_null(coroutine_self());
    ck_assert_str_eq(order->str, "a0 b0 a1 b1 a2 b2 a. b. ");
}
END_TEST

static int depth_reached;

static int recurse(int n, double x)
{
    volatile char pad[200];

    memset((char *)pad, n, sizeof(pad));
    if (n == 0) {
        coroutine_yield();
        return 0;
    }
    depth_reached = MAX(depth_reached, n);
    return recurse(n - 1, x * 1.5) + pad[n % 200] - (char)n + 1;
}

static void deep(void *opaque)
{
    *(int *)opaque = recurse(250, 1.25);
}

START_TEST(locals_survive_on_a_deep_stack)
{
    int result[100];
    Coroutine *co[100];

    for (int i = 0; i < 100; i++) {
        co[i] = coroutine_new(deep, &result[i]);
        coroutine_enter(co[i]);
    }
    for (int i = 0; i < 100; i++) {
        result[i] = -1;
        coroutine_enter(co[i]);
        ck_assert_int_eq(result[i], 250);
    }
    coroutine_pool_trim();
}
END_TEST

static void nested_inner(void *opaque)
{
    g_string_append(order, "in ");
    coroutine_yield();
    g_string_append(order, "in2 ");
}

static void nested_outer(void *opaque)
{
    Coroutine *inner = coroutine_new(nested_inner, NULL);

    coroutine_enter(inner);
    g_string_append(order, "out ");
    coroutine_enter(inner);
}

START_TEST(coroutines_enter_others)
{
    order = g_string_new(NULL);
    coroutine_enter(coroutine_new(nested_outer, NULL));
    ck_assert_str_eq(order->str, "in out in2 ");
}
END_TEST

static CoMutex mutex;
static CoQueue queue;

static void locker(void *opaque)
{
    co_mutex_lock(&mutex);
    g_string_append_printf(order, "%s+ ", (const char *)opaque);
    co_queue_wait(&queue);
    g_string_append_printf(order, "%s- ", (const char *)opaque);
    co_mutex_unlock(&mutex);
}

START_TEST(mutex_is_fair)
{
    order = g_string_new(NULL);
    co_mutex_init(&mutex);
    co_queue_init(&queue);
    coroutine_enter(coroutine_new(locker, "a"));
    coroutine_enter(coroutine_new(locker, "b"));
    coroutine_enter(coroutine_new(locker, "c"));
    while (co_queue_next(&queue)) {
    }
    ck_assert_str_eq(order->str, "a+ a- b+ b- c+ c- ");
    ck_assert_ptr_null(mutex.holder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coroutine");
    TCase *tc = tcase_create("coroutine");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, steps_interleave);
    tcase_add_test(tc, locals_survive_on_a_deep_stack);
    tcase_add_test(tc, coroutines_enter_others);
    tcase_add_test(tc, mutex_is_fair);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
