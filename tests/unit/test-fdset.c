/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passed-in file descriptors: only foreign open ones are taken, the access mode chooses among them. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fdset.h"

START_TEST(the_access_mode_chooses)
{
    int rd = open("/dev/null", O_RDONLY), wr = open("/dev/null", O_WRONLY), got;
    g_autoptr(Error) err = NULL, err2 = NULL;

    ck_assert(fdset_add(3, rd, "read", NULL));
    ck_assert(fdset_add(3, wr, NULL, NULL));
    ck_assert(!fdset_add(3, rd, NULL, &err));       /* ours now */
    ck_assert_ptr_nonnull(strstr(error_text(err), "in use"));
    got = fdset_open("/dev/fdset/3", O_WRONLY, 0, NULL);
    ck_assert_int_ge(got, 0);
    ck_assert_int_ne(got, wr);
    ck_assert_int_eq(fcntl(got, F_GETFL) & O_ACCMODE, O_WRONLY);
    ck_assert_int_eq(fcntl(got, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(fdset_open("/dev/fdset/3", O_RDWR, 0, &err2), -1);
    ck_assert_ptr_nonnull(strstr(error_text(err2), "/dev/fdset/3"));
}
END_TEST

START_TEST(what_is_not_there_is_refused)
{
    static const char *const bad[] = { "/dev/fdset/9", "/dev/fdset/", "/dev/fdset/x",
                                       "/dev/fdset/99999999999", "/nonexistent/file" };
    g_autoptr(Error) err = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(Error) why = NULL;

        ck_assert_int_eq(fdset_open(bad[i], O_RDONLY, 0, &why), -1);
        ck_assert_ptr_nonnull(strstr(error_text(why), bad[i]));
    }
    ck_assert(!fdset_add(1, 200, NULL, &err));
    ck_assert_ptr_nonnull(strstr(error_text(err), "200"));
}
END_TEST

static void note_set(int set, int fd, const char *opaque, void *user)
{
    g_string_append_printf(user, "%d%s ", set, opaque ? opaque : "");
}

START_TEST(sets_are_listed_in_order)
{
    GString *got = g_string_new(NULL);

    ck_assert(fdset_add(5, open("/dev/null", O_RDONLY), "a", NULL));
    ck_assert(fdset_add(4, open("/dev/null", O_RDONLY), NULL, NULL));
    ck_assert(fdset_add(5, open("/dev/null", O_RDONLY), "b", NULL));
    fdset_foreach(note_set, got);
    ck_assert_str_eq(got->str, "4 5a 5b ");
    g_string_free(got, TRUE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fdset");
    TCase *tc = tcase_create("fdset");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, the_access_mode_chooses);
    tcase_add_test(tc, what_is_not_there_is_refused);
    tcase_add_test(tc, sets_are_listed_in_order);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
