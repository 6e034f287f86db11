/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace events: off costs no line, patterns switch, files of patterns, output files. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace-system.h"
#include "util/log.h"

static char *output;

static void setup(void)
{
    output = g_strdup("/tmp/test-trace-XXXXXX");
    close(g_mkstemp(output));
    ck_assert(trace_set_file(output, NULL));
}

static void expect_output(const char *want, int lines)
{
    g_autofree char *text = NULL;
    int n = 0;

    g_file_get_contents(output, &text, NULL, NULL);
    for (char *c = text; *c; c++) {
        n += *c == '\n';
    }
    ck_assert_int_eq(n, lines);
    ck_assert(strstr(text, want));
    unlink(output);
}

START_TEST(only_what_is_switched_on_prints)
{
    trace_vcpu_started(1, 2);
    ck_assert_int_eq(trace_switch("vcpu_*"), 2);
    ck_assert_int_eq(trace_switch("nosuch"), 0);
    ck_assert(TRACE_VCPU_STARTED_ON);
    trace_vcpu_started(3, 4);
    trace_switch("-vcpu_started");
    trace_vcpu_started(5, 6);
    trace_vcpu_stopped(7);
    expect_output(":vcpu_started cpu 3 tid 4\n", 2);
}
END_TEST

START_TEST(a_file_of_patterns)
{
    g_autofree char *path = g_strconcat(output, ".events", NULL);
    g_autoptr(Error) err = NULL;

    g_file_set_contents(path, "# all\nsystem_*\n\n-system_reset\n", -1, NULL);
    ck_assert(trace_load_patterns(path, NULL));
    trace_system_reset("x");
    trace_system_shutdown("guest-shutdown", 33);
    unlink(path);
    ck_assert(!trace_load_patterns(path, &err));
    ck_assert(strstr(error_text(err), path));
    expect_output("cause guest-shutdown code 33", 1);
}
END_TEST

START_TEST(log_items_switch_events)
{
    ck_assert(log_configure("int,trace:runstate_*", NULL));
    ck_assert(trace_find("runstate_set")->on);
    ck_assert(!trace_find("system_reset")->on);
    trace_runstate_set("a", "b");
    expect_output("a -> b", 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trace");
    TCase *tc = tcase_create("trace");
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, only_what_is_switched_on_prints);
    tcase_add_test(tc, a_file_of_patterns);
    tcase_add_test(tc, log_items_switch_events);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
