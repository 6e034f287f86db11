/* SPDX-License-Identifier: GPL-2.0-or-later */
/* key=value texts, JSON objects and single values: what is accepted, what it becomes, what is not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "util/keyval.h"
#include "util/values.h"

/* The pairs as "key=value;..." text, or the error's text after "! ". */
static char *show(KeyVals *kv, Error *err)
{
    GString *s = g_string_new(NULL);

    if (!kv) {
        g_string_append_printf(s, "! %s", error_text(err));
        error_free(err);
        return g_string_free(s, FALSE);
    }
    for (int i = 0; i < kv->n; i++) {
        g_string_append_printf(s, "%s=%s;", kv->pairs[i].key, kv->pairs[i].value);
    }
    if (kv->help) {
        g_string_append(s, "help");
    }
    ck_assert_ptr_null(kv->pairs[kv->n].key);
    keyvals_free(kv);
    return g_string_free(s, FALSE);
}

typedef struct Case {
    const char *text, *implied, *want;
} Case;

static void sink_append(void *opaque, const char *text)
{
    g_string_append(opaque, text);
}

START_TEST(flat_texts)
{
    static const Case cases[] = {
        { "", NULL, "" },
        { "a=1,b=2", NULL, "a=1;b=2;" },
        { "x,b=2", "a", "a=x;b=2;" },
        { "a=1,,2,b=,,", NULL, "a=1,2;b=,;" },
        { "a=1,a=2", NULL, "a=1;a=2;" },
        { "server,nowait", NULL, "server=on;wait=off;" },
        { "nodelay", NULL, "nodelay=on;" },
        { "x,help", "a", "a=x;help" },
        { "?", "a", "help" },
        { "help=1", NULL, "help=1;" },
        { "a=b=c", NULL, "a=b=c;" },
        { "=on", NULL, "=on;" },
        { ",", NULL, "! Expected a parameter before ',' in ','" },
        { "a=1,,", NULL, "a=1,;" },
        { "a=1,", NULL, "a=1;" },
    };
    GString *warnings = g_string_new(NULL);

    error_sink_set(sink_append, warnings);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Error *err = NULL;
        KeyVals *kv = keyvals_parse_flat(cases[i].text, cases[i].implied, &err);
        g_autofree char *got = show(kv, err);

        ck_assert_str_eq(got, cases[i].want);
    }
    error_sink_set(NULL, NULL);
    ck_assert_ptr_nonnull(strstr(warnings->str, "please write wait=off"));
    ck_assert_ptr_nonnull(strstr(warnings->str, "please write nodelay=on"));
    g_string_free(warnings, TRUE);
}
END_TEST

START_TEST(tree_texts)
{
    static const Case cases[] = {
        { "", NULL, "" },
        { "q35,smp.cpus=2,a.0=x,a.1=y", "type", "type=q35;smp.cpus=2;a.0=x;a.1=y;" },
        { "a=1,b=2,a=3", NULL, "a=3;b=2;" },
        { "a", NULL, "! Expected '=' after parameter 'a'" },
        { "x,usb", "type", "! Expected '=' after parameter 'usb'" },
        { "=1", NULL, "! Invalid parameter ''" },
        { "a..b=1", NULL, "! Invalid parameter 'a..b'" },
        { "a.=1", NULL, "! Invalid parameter 'a.'" },
        { "-a=1", NULL, "! Invalid parameter '-a'" },
        { "a b=1", NULL, "! Invalid parameter 'a b'" },
        { "a.b=1,a=2", NULL, "! Parameter 'a' is given both a value and parts" },
        { "a=1,a.b=2", NULL, "! Parameter 'a.b' is given both a value and parts" },
        { "ab=1,a.b=2", NULL, "ab=1;a.b=2;" },
        { "help", NULL, "help" },
        { "a=,,,b=1", NULL, "a=,;b=1;" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Error *err = NULL;
        KeyVals *kv = keyvals_parse_tree(cases[i].text, cases[i].implied, &err);
        g_autofree char *got = show(kv, err);

        ck_assert_str_eq(got, cases[i].want);
    }
}
END_TEST

START_TEST(json_texts)
{
    static const Case cases[] = {
        { "{}", NULL, "" },
        { "{\"a\":1,\"b\":true,\"c\":\"x,y\",\"d\":null}", NULL, "a=1;b=on;c=x,y;" },
        { "{\"a\":{\"b\":[1,\"z\"],\"c\":false}}", NULL, "a.b.0=1;a.b.1=z;a.c=off;" },
        { "{\"n\":18446744073709551615}", NULL, "n=18446744073709551615;" },
        { "{\"a\":1} ", NULL, "a=1;" },
        { "{\"a\":1,\"a\":2}", NULL, "a=2;" },
    };
    static const char *const bad[] = {
        "", "{", "{\"a\"", "{\"a\":}", "[1]", "1", "{\"a\":1} x", "{\"a b\":1}", "{\"\":1}",
        "{\"a\":1,}", "{\"a\":{\"\":1}}",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Error *err = NULL;
        KeyVals *kv = keyvals_parse_json(cases[i].text, &err);
        g_autofree char *got = show(kv, err);

        ck_assert_str_eq(got, cases[i].want);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(Error) err = NULL;

        ck_assert_msg(!keyvals_parse_json(bad[i], &err), "accepted: %s", bad[i]);
        ck_assert_ptr_nonnull(err);
    }
}
END_TEST

START_TEST(json_nesting_is_bounded)
{
    g_autoptr(Error) err = NULL;
    GString *deep = g_string_new(NULL);

    for (int i = 0; i < 100000; i++) {
        g_string_append(deep, "{\"a\":");
    }
    ck_assert(!keyvals_parse_json(deep->str, &err));
    ck_assert_ptr_nonnull(err);
    g_string_free(deep, TRUE);
}
END_TEST

START_TEST(sizes)
{
    static const struct {
        const char *text;
        uint64_t unit, want;
    } good[] = {
        { "0", 1, 0 }, { "128", 1 << 20, 128 << 20 }, { "1.5G", 1, UINT64_C(3) << 29 },
        { "1k", 1, 1024 }, { "1K", 1 << 20, 1024 }, { "10B", 1 << 20, 10 }, { "0x10", 1, 16 },
        { "15E", 1, UINT64_C(15) << 60 }, { "219136k", 1 << 20, UINT64_C(219136) << 10 },
        { "18446744073709551615", 1, UINT64_MAX },
    };
    static const char *const bad[] = {
        "", "x", "-1", "1x", "1kk", "16E", "1.5", "1.", "1.k", "0x1k", " 1", "1 ", "+1", "1e3",
        "18446744073709551616", "15.99999999999999999999E9",
    };
    uint64_t got;

    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        ck_assert(value_parse_size("s", good[i].text, good[i].unit, &got, NULL));
        ck_assert_uint_eq(got, good[i].want);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        got = 77;
        ck_assert_msg(!value_parse_size("s", bad[i], 1, &got, NULL), "accepted: %s", bad[i]);
        ck_assert_uint_eq(got, 77);
    }
}
END_TEST

START_TEST(numbers_and_switches)
{
    uint64_t u;
    int64_t i;
    bool b;

    ck_assert(value_parse_uint("n", "0x1f", &u, NULL) && u == 31);
    ck_assert(value_parse_uint("n", "18446744073709551615", &u, NULL) && u == UINT64_MAX);
    ck_assert(!value_parse_uint("n", "18446744073709551616", &u, NULL));
    ck_assert(!value_parse_uint("n", "-1", &u, NULL));
    ck_assert(!value_parse_uint("n", "", &u, NULL));
    ck_assert(!value_parse_uint("n", "1 ", &u, NULL));
    ck_assert(value_parse_int("n", "-9223372036854775808", &i, NULL) && i == INT64_MIN);
    ck_assert(!value_parse_int("n", "9223372036854775808", &i, NULL));
    ck_assert(!value_parse_int("n", "-", &i, NULL));
    ck_assert(value_parse_bool("b", "yes", &b, NULL) && b);
    ck_assert(value_parse_bool("b", "off", &b, NULL) && !b);
    ck_assert(!value_parse_bool("b", "ON", &b, NULL));
}
END_TEST

START_TEST(tables_of_keys)
{
    static const KeyRow rows[] = {
        { "n", KEY_UINT, NULL }, { "w", KEY_WORD, "a|b" }, { "sub.*", KEY_STRING, NULL }, { NULL }
    };
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "n=1,w=b,sub.x=1", NULL },
        { "m=1", "Invalid parameter 'p.m'" },
        { "sub=1", "Invalid parameter 'p.sub'" },
        { "n=x", "Parameter 'p.n' expects a whole number from 0 up, not 'x'" },
        { "w=ab", "Parameter 'p.w' expects one of 'a', 'b', not 'ab'" },
        { "w=", "Parameter 'p.w' expects one of 'a', 'b', not ''" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(KeyVals) kv = keyvals_parse_tree(cases[i].text, NULL, NULL);
        g_autoptr(Error) err = NULL;

        ck_assert_int_eq(keyvals_check(kv, rows, "p.", &err), cases[i].error == NULL);
        ck_assert_pstr_eq(err ? error_text(err) : NULL, cases[i].error);
    }
}
END_TEST

START_TEST(lists_change)
{
    KeyVals *kv = keyvals_parse_flat("a=1,b=2,a=3,c=4k", NULL, NULL);
    g_autoptr(KeyVals) more = keyvals_parse_flat("x=9,b=7", NULL, NULL);
    g_autofree char *got = NULL;

    ck_assert_str_eq(keyvals_get(kv, "a", "?"), "3");
    ck_assert_str_eq(keyvals_get(kv, "z", "?"), "?");
    ck_assert_uint_eq(keyvals_size(kv, "c", 1, 0), 4096);
    ck_assert_uint_eq(keyvals_uint(kv, "z", 5), 5);
    keyvals_remove(kv, "a");
    keyvals_merge(kv, "", more);
    keyvals_merge(kv, "p.", more);
    got = show(kv, NULL);
    ck_assert_str_eq(got, "b=7;c=4k;x=9;p.x=9;p.b=7;");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("keyval");
    TCase *tc = tcase_create("keyval");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, flat_texts);
    tcase_add_test(tc, tree_texts);
    tcase_add_test(tc, json_texts);
    tcase_add_test(tc, json_nesting_is_bounded);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, numbers_and_switches);
    tcase_add_test(tc, tables_of_keys);
    tcase_add_test(tc, lists_change);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
