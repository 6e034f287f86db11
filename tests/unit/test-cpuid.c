/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models, -cpu strings and CPUID answers. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "target/i386/cpuid.h"
#include "x86-harness.h"

static void count_sink(void *opaque, const char *text)
{
    g_string_append(opaque, text);
}

static X86CpuModel *parse(const char *s)
{
    Error *err = NULL;
    X86CpuModel *m = x86_model_parse(s, NULL, &err);

    ck_assert_msg(m != NULL, "%s: %s", s, err ? error_text(err) : "?");
    return m;
}

static void parse_fails(const char *s, const char *part)
{
    Error *err = NULL;

    ck_assert_ptr_null(x86_model_parse(s, NULL, &err));
    ck_assert_msg(strstr(error_text(err), part) != NULL, "%s: %s", s, error_text(err));
    error_free(err);
}

static bool has(const X86CpuModel *m, const char *name)
{
    return x86_model_has(m, x86_feat_find(name));
}

static void parse_each(const char *name, const char *alias_of, void *opaque)
{
    if (strcmp(name, "host")) {
        g_autofree char *s = g_strconcat(name, ",check=off", NULL);

        g_free(parse(s));
    }
}

START_TEST(every_model_parses)
{
    x86_model_foreach(parse_each, NULL);
}
END_TEST

START_TEST(feature_names_are_unique_and_found)
{
    for (unsigned f = 0; f < FEAT_WORDS * 32; f++) {
        g_autofree char *name = x86_feat_name(f);

        if (name) {
            ck_assert_msg(x86_feat_find(name) == (int)f, "%s", name);
        }
    }
    ck_assert_int_eq(x86_feat_find("sse4_1"), x86_feat_find("sse4.1"));
    ck_assert_int_eq(x86_feat_find("sse3"), x86_feat_find("pni"));
    ck_assert_int_eq(x86_feat_find("lahf_lm"), x86_feat_find("lahf-lm"));
    ck_assert_int_eq(x86_feat_find("nonsense"), -1);
}
END_TEST

START_TEST(features_and_properties_change_the_model)
{
    g_autofree X86CpuModel *m = parse("Haswell,-smap,+smap,smep=off,family=7,model-id=My CPU,vendor=AuthenticAMD,"
                                      "level=0x16,phys-bits=42,hypervisor=off,kvm=off");

    ck_assert(!has(m, "smap"));                         /* a minus wins over a plus */
    ck_assert(!has(m, "smep"));
    ck_assert(has(m, "bmi2"));
    ck_assert(!has(m, "hypervisor"));
    ck_assert_uint_eq(m->family, 7);
    ck_assert_uint_eq(m->level, 0x16);
    ck_assert_uint_eq(m->phys_bits, 42);
    ck_assert_str_eq(m->model_id, "My CPU");
    ck_assert_str_eq(m->vendor, "AuthenticAMD");
}
END_TEST

START_TEST(mistakes_name_the_word)
{
    parse_fails("Hasswell", "'Hasswell'");
    parse_fails("", "''");
    parse_fails("host", "'host'");
    parse_fails("qemu64,+nosuch", "nosuch");
    parse_fails("qemu64,nosuch=on", "nosuch");
    parse_fails("qemu64,smap=maybe", "maybe");
    parse_fails("qemu64,level=x", "'x'");
    parse_fails("qemu64,phys-bits=99", "99");
    parse_fails("qemu64,vendor=short", "short");
    parse_fails("qemu64,,nosuch", "nosuch");           /* nothing between two commas asks for nothing */
}
END_TEST

START_TEST(what_cannot_be_given_warns_or_fails)
{
    g_autoptr(GString) got = g_string_new(NULL);
    g_autofree X86CpuModel *m = NULL;

    error_sink_set(count_sink, got);
    m = parse("qemu64,+vmx");
    ck_assert(strstr(got->str, "CPUID.01H:ECX.vmx [bit 5]") != NULL);
    ck_assert(!has(m, "vmx"));
    g_string_truncate(got, 0);
    parse_fails("qemu64,+vmx,enforce", "requested features");
    g_string_truncate(got, 0);
    g_free(parse("qemu64"));
    g_free(parse("max"));
    g_free(parse("qemu64,+vmx,check=off"));
    ck_assert_str_eq(got->str, "");
    error_sink_set(NULL, NULL);
}
END_TEST

START_TEST(leaves_answer_as_the_model_says)
{
    X86CPU *cpu = harness_cpu("Nehalem");
    X86CpuidOut o = x86_cpuid_leaf(cpu, 0, 0);

    ck_assert_uint_eq(o.eax, 11);
    ck_assert_int_eq(memcmp(&o.ebx, "Genu", 4), 0);
    o = x86_cpuid_leaf(cpu, 1, 0);
    ck_assert_uint_eq(o.eax, 0x106a3);
    ck_assert(o.ecx >> 31);
    o = x86_cpuid_leaf(cpu, 0x40000000, 0);
    ck_assert_int_eq(memcmp(&o.ebx, "KVMKVMKVM\0\0\0", 12), 0);
    o = x86_cpuid_leaf(cpu, 0x40000001, 0);
    ck_assert_uint_eq(o.eax & 9, 9);                    /* both kvmclock generations */
    o = x86_cpuid_leaf(cpu, 0x40000010, 0);
    ck_assert_uint_gt(o.eax, 100000);
    o = x86_cpuid_leaf(cpu, 0x80000002, 0);
    ck_assert_int_eq(memcmp(&o.eax, "Inte", 4), 0);
    o = x86_cpuid_leaf(cpu, 0x80000008, 0);
    ck_assert_uint_eq(o.eax & 0xff, 40);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cpuid");
    TCase *tc = tcase_create("cpuid");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, every_model_parses);
    tcase_add_test(tc, feature_names_are_unique_and_found);
    tcase_add_test(tc, features_and_properties_change_the_model);
    tcase_add_test(tc, mistakes_name_the_word);
    tcase_add_test(tc, what_cannot_be_given_warns_or_fails);
    tcase_add_test(tc, leaves_answer_as_the_model_says);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
