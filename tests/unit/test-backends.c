/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object memory-backend-*, rng-*, iothread: what they make, and the sentences with which they refuse. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/hostmem.h"
#include "system/iothread.h"
#include "system/rng.h"

static char *dir;

static void setup(void)
{
    dir = g_dir_make_tmp("test-backends-XXXXXX", NULL);
    machine_lock();
}

static void teardown(void)
{
    g_autofree char *cmd = g_strdup_printf("rm -rf %s", dir);

    machine_unlock();
    ck_assert_int_eq(system(cmd), 0);
}

/* text: "key=value,key=value" */
static bool add(const char *type, const char *id, const char *text, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    PropPair props[8];
    int n = 0;

    for (; parts[n]; n++) {
        char *eq = strchr(parts[n], '=');

        *eq = '\0';
        props[n] = (PropPair){ parts[n], eq + 1 };
    }
    return object_add_from_props(type, id, props, n, errp);
}

static void refused(const char *type, const char *text, const char *word)
{
    g_autoptr(Error) err = NULL;

    ck_assert(!add(type, "x", text, &err));
    ck_assert_msg(strstr(error_text(err), word), "%s", error_text(err));
    ck_assert_ptr_null(object_resolve("x"));
}

START_TEST(memory_backends_map_what_was_asked)
{
    g_autofree char *file = g_strdup_printf("size=1M,share=on,mem-path=%s/ram", dir);
    g_autofree char *in_dir = g_strdup_printf("size=1M,mem-path=%s", dir);
    g_autofree char *path = g_strdup_printf("%s/ram", dir);
    struct stat st;
    MemoryRegion *mr;

    ck_assert(add("memory-backend-ram", "m0", "size=2M,prealloc=on,prealloc-threads=2,merge=off", NULL));
    ck_assert_uint_eq(hostmem_size(object_resolve("m0")), 2 << 20);
    mr = hostmem_claim(object_resolve("m0"), NULL);
    memory_region_ram_ptr(mr)[0x1fffff] = 1;
    ck_assert_ptr_null(hostmem_claim(object_resolve("m0"), NULL));
    ck_assert(add("memory-backend-memfd", "m1", "size=1M,seal=on", NULL));
    ck_assert_int_ge(hostmem_claim(object_resolve("m1"), NULL)->ram->fd, 0);
    ck_assert(add("memory-backend-file", "m2", file, NULL));
    memory_region_ram_ptr(hostmem_claim(object_resolve("m2"), NULL))[5] = 'x';
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 1 << 20);
    ck_assert(add("memory-backend-file", "m3", in_dir, NULL));
}
END_TEST

START_TEST(memory_backends_refuse_by_name)
{
    g_autofree char *small = g_strdup_printf("size=1M,mem-path=%s/small", dir);
    g_autofree char *path = g_strdup_printf("%s/small", dir);
    g_autofree char *pmem = g_strdup_printf("size=1M,pmem=on,mem-path=%s/p", dir);

    refused("memory-backend-ram", "merge=on", "size");
    refused("memory-backend-ram", "size=1Q", "'1Q'");
    refused("memory-backend-ram", "size=1M,prealloc-context=tc", "tc");
    refused("memory-backend-ram", "size=1M,host-nodes=5-2", "5-2");
    refused("memory-backend-ram", "size=1M,host-nodes=0", "policy");
    refused("memory-backend-ram", "size=1M,policy=bind", "host-nodes");
    refused("memory-backend-ram", "size=16E", "16E");
    refused("memory-backend-ram", "size=4E", "bytes");
    refused("memory-backend-file", "size=1M", "mem-path");
    refused("memory-backend-file", "size=1M,mem-path=/nonexistent/x", "/nonexistent/x");
    refused("memory-backend-file", pmem, "pmem");
    refused("memory-backend-memfd", "size=1M,hugetlbsize=2M", "hugetlb=on");
    g_file_set_contents(path, "abc", 3, NULL);
    refused("memory-backend-file", small, "3 bytes");
    refused("memory-backend", "size=1M", "memory-backend");
}
END_TEST

static uint8_t got[64];
static size_t got_len;

static void on_random(void *opaque, const uint8_t *data, size_t len)
{
    memcpy(got, data, MIN(len, sizeof(got)));
    got_len += len;
}

static void ask_random(const char *id, size_t len)
{
    got_len = 0;
    rng_request(object_resolve(id), len, on_random, NULL);
    ck_assert_uint_eq(got_len, 0);
    for (int i = 0; i < 100 && !got_len; i++) {
        loop_poll(loop_main(), true);
    }
}

START_TEST(random_bytes_come_from_the_loop)
{
    g_autofree char *path = g_strdup_printf("%s/entropy", dir);
    g_autofree char *props = g_strdup_printf("filename=%s", path);

    g_file_set_contents(path, "abcdef", 6, NULL);
    ck_assert(object_add_from_props("rng-builtin", "r0", NULL, 0, NULL));
    ck_assert(add("rng-random", "r1", "filename=/dev/urandom", NULL));
    ck_assert(add("rng-random", "r2", props, NULL));
    ask_random("r0", 16);
    ck_assert_uint_eq(got_len, 16);
    ask_random("r1", 16);
    ck_assert_uint_ge(got_len, 1);
    ask_random("r2", 4);
    ck_assert(!memcmp(got, "abcd", 4));
    ask_random("r2", 4);
    ck_assert(!memcmp(got, "ef", 2) && got_len == 2);
    ask_random("r2", 4);
    ck_assert(!memcmp(got, "abcd", 4));
    rng_request(object_resolve("r0"), 8, on_random, got);
    rng_cancel(object_resolve("r0"), got);
    got_len = 0;
    loop_poll(loop_main(), false);
    ck_assert_uint_eq(got_len, 0);
    refused("rng-random", "filename=/nonexistent/r", "/nonexistent/r");
    refused("rng-egd", "chardev=c", "rng-egd");
}
END_TEST

static _Atomic bool ran_on_iothread;
static pthread_t where;

static void on_iothread(void *opaque)
{
    where = pthread_self();
    ran_on_iothread = true;
}

START_TEST(iothread_runs_its_own_loop)
{
    Timer t;

    ck_assert(add("iothread", "io0", "poll-max-ns=1000", NULL));
    loop_run_once(iothread_loop(object_resolve("io0")), on_iothread, NULL);
    while (!ran_on_iothread) {
        usleep(100);
    }
    ck_assert(!pthread_equal(where, pthread_self()));
    ran_on_iothread = false;
    timer_init_loop(&t, iothread_loop(object_resolve("io0")), CLOCK_REAL, on_iothread, NULL);
    timer_mod(&t, clock_ns(CLOCK_REAL) + 2000000);
    while (!ran_on_iothread) {
        usleep(100);
    }
    ck_assert_int_gt(iothread_tid(object_resolve("io0")), 0);
    object_remove(object_resolve("io0"));
    refused("iothread", "poll-max-ns=-5", "negative");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backends");
    TCase *tc = tcase_create("backends");
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, memory_backends_map_what_was_asked);
    tcase_add_test(tc, memory_backends_refuse_by_name);
    tcase_add_test(tc, random_bytes_come_from_the_loop);
    tcase_add_test(tc, iothread_runs_its_own_loop);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
