/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors as values: first one wins, prefixes and hints keep, reports go to the sink. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

START_TEST(first_error_wins)
{
    g_autoptr(Error) err = NULL;

    error_set(&err, "bad value '%d'", 7);
    error_set(&err, "later");
    ck_assert_str_eq(error_text(err), "bad value '7'");
    error_prepend(&err, "-smp: ");
    ck_assert_str_eq(error_text(err), "-smp: bad value '7'");
    error_set(NULL, "nobody listens");
}
END_TEST

START_TEST(errno_text_is_appended)
{
    g_autoptr(Error) err = NULL;

    error_set_errno(&err, ENOENT, "cannot open '%s'", "x");
    ck_assert_str_eq(error_text(err), "cannot open 'x': No such file or directory");
    ck_assert_int_eq(error_class(err), ERROR_CLASS_GENERIC_ERROR);
}
END_TEST

static void sink_append(void *opaque, const char *text)
{
    g_string_append(opaque, text);
}

START_TEST(reports_go_to_the_sink)
{
    GString *got = g_string_new(NULL);
    Error *err = NULL;

    error_sink_set(sink_append, got);
    error_set(&err, "no such thing");
    error_hint(&err, "try another");
    error_report_err(err);
    warn_report("careful");
    error_sink_set(NULL, NULL);
    ck_assert_str_eq(got->str, "no such thing\ntry another\nwarning: careful\n");
    g_string_free(got, TRUE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("error");
    TCase *tc = tcase_create("error");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, first_error_wins);
    tcase_add_test(tc, errno_text_is_appended);
    tcase_add_test(tc, reports_go_to_the_sink);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
