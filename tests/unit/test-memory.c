/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory: flattening against a brute-force model, access-size splitting, RAM and ROM, dirty bits, DMA windows,
 * listeners, doorbells, re-entry, reclamation.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "system/loop.h"
#include "system/memory.h"
#include "util/rcu.h"

/* ---- flattening against the model: who answers an offset, by looking down the tree ---- */

static MemoryRegion *model_find(MemoryRegion *mr, uint64_t offset, uint64_t *found, int depth)
{
    if (!mr->enabled || offset >= mr->size || depth > 8) {
        return NULL;
    }
    if (mr->alias) {
        return model_find(mr->alias, offset + mr->alias_offset, found, depth + 1);
    }
    for (MemoryRegion *sub = mr->first_sub; sub; sub = sub->next_sub) {
        if (offset >= sub->addr) {
            MemoryRegion *hit = model_find(sub, offset - sub->addr, found, depth + 1);

            if (hit) {
                return hit;
            }
        }
    }
    *found = offset;
    return mr->kind == MEM_CONTAINER ? NULL : mr;
}

static const MemoryRegionOps no_ops;
/* Regions below POOL make the tree; those from POOL on a second tree without aliases, which aliases show. */
enum { SPAN = 96, REGIONS = 32, POOL = 18 };

static int random_parent(int i, unsigned *seed)
{
    return i < POOL ? rand_r(seed) % i : POOL + rand_r(seed) % (i - POOL);
}

static void random_change(MemoryRegion *regions, unsigned *seed)
{
    int i = 1 + rand_r(seed) % (REGIONS - 1);
    MemoryRegion *mr = &regions[i == POOL ? 1 : i];

    switch (rand_r(seed) % 5) {
    case 0:
        memory_region_set_enabled(mr, rand_r(seed) & 1);
        break;
    case 1:
        memory_region_set_address(mr, rand_r(seed) % SPAN);
        break;
    case 2:
        memory_region_set_size(mr, 1 + rand_r(seed) % SPAN);
        break;
    case 3:
        memory_region_set_alias_offset(mr, rand_r(seed) % SPAN);
        break;
    default:
        memory_region_remove(mr);
        memory_region_add(&regions[random_parent(mr - regions, seed)], rand_r(seed) % SPAN, mr, rand_r(seed) % 4);
        break;
    }
}

static void random_tree(MemoryRegion *regions, unsigned *seed)
{
    memory_region_init(&regions[0], NULL, "root", SPAN);
    memory_region_init(&regions[POOL], NULL, "pool", SPAN);
    for (int i = 1; i < REGIONS; i++) {
        MemoryRegion *mr = &regions[i];
        uint64_t size = 1 + rand_r(seed) % 40;

        if (i == POOL) {
            continue;
        }
        switch (rand_r(seed) % (i < POOL ? 3 : 2)) {
        case 0:
            memory_region_init(mr, NULL, "container", size);
            break;
        case 1:
            memory_region_init_io(mr, NULL, &no_ops, NULL, "io", size);
            break;
        default:
            memory_region_init_alias(mr, NULL, "alias", &regions[POOL + rand_r(seed) % (REGIONS - POOL)],
                                     rand_r(seed) % SPAN, size);
            break;
        }
        memory_region_add(&regions[random_parent(i, seed)], rand_r(seed) % SPAN, mr, rand_r(seed) % 4);
    }
}

static void compare_with_model(AddressSpace *as, MemoryRegion *root, unsigned seed)
{
    for (uint64_t a = 0; a < SPAN; a++) {
        uint64_t offset = 0, want_offset = 0, avail;
        MemoryRegion *want = model_find(root, a, &want_offset, 0);
        MemoryRegion *got = address_space_find(as, a, &offset, &avail);

        /* Check writes a message for each assertion it passes: too dear here. */
        if (got != want || (want && offset != want_offset)) {
            ck_abort_msg("seed %u address %d: %s", seed, (int)a, got ? got->name : "nothing");
        }
    }
}

START_TEST(flat_view_equals_the_model)
{
    for (unsigned seed = 1; seed < 300; seed++) {
        MemoryRegion *regions = g_new0(MemoryRegion, REGIONS);
        AddressSpace as;
        unsigned s = seed;

        random_tree(regions, &s);
        address_space_init(&as, &regions[0], "test");
        compare_with_model(&as, &regions[0], seed);
        for (int i = 0; i < 20; i++) {
            random_change(regions, &s);
            compare_with_model(&as, &regions[0], seed);
        }
        address_space_fini(&as);
        rcu_drain();
        g_free(regions);
    }
}
END_TEST

/* ---- access sizes ---- */

static GString *calls;
static uint8_t bytes[64];

static uint64_t log_read(void *opaque, hwaddr offset, unsigned size)
{
    uint64_t v = 0;

    ck_assert(machine_locked());
    g_string_append_printf(calls, "r%u@%d ", size, (int)offset);
    memcpy(&v, bytes + offset, size);
    return v;
}

static void log_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    g_string_append_printf(calls, "w%u@%d=%llx ", size, (int)offset, (unsigned long long)value);
    memcpy(bytes + offset, &value, size);
}

static const MemoryRegionOps ops_any = { .read = log_read, .write = log_write };
static const MemoryRegionOps ops_byte = { .read = log_read, .write = log_write, .impl = { 1, 1 } };
static const MemoryRegionOps ops_dword = { .read = log_read, .write = log_write, .valid = { 1, 4 },
                                           .impl = { 4, 4 } };
static const MemoryRegionOps ops_strict = { .read = log_read, .write = log_write, .valid = { 4, 4 } };
static const MemoryRegionOps ops_big = { .read = log_read, .write = log_write, .valid = { 1, 8 }, .impl = { 1, 8 },
                                         .big_endian = true };

typedef struct Bench {
    MemoryRegion root, io[5], ram, rom;
    AddressSpace as;
} Bench;

static Bench *bench;

static void setup(void)
{
    static const MemoryRegionOps *const all[] = { &ops_any, &ops_byte, &ops_dword, &ops_strict, &ops_big };

    bench = g_new0(Bench, 1);
    calls = g_string_new(NULL);
    for (int i = 0; i < 64; i++) {
        bytes[i] = i;
    }
    memory_region_init(&bench->root, NULL, "root", MEMORY_SIZE_ALL);
    for (int i = 0; i < 5; i++) {
        memory_region_init_io(&bench->io[i], NULL, all[i], NULL, "io", 64);
        memory_region_add(&bench->root, 0x1000 * i, &bench->io[i], 0);
    }
    ck_assert(memory_region_init_ram(&bench->ram, NULL, "ram", 0x10000, NULL));
    ck_assert(memory_region_init_rom(&bench->rom, NULL, "rom", 0x1000, NULL));
    memory_region_add(&bench->root, 0x100000, &bench->ram, 0);
    memory_region_add(&bench->root, 0x110000, &bench->rom, 0);
    address_space_init(&bench->as, &bench->root, "bench");
}

static void expect_ld(hwaddr addr, unsigned size, uint64_t want, const char *want_calls)
{
    uint64_t v;

    g_string_truncate(calls, 0);
    address_space_ld(&bench->as, addr, &v, size);
    ck_assert_msg(v == want, "%lx/%u gave %llx", (long)addr, size, (unsigned long long)v);
    ck_assert_str_eq(calls->str, want_calls);
}

static void expect_st(hwaddr addr, unsigned size, uint64_t v, const char *want_calls)
{
    g_string_truncate(calls, 0);
    address_space_st(&bench->as, addr, v, size);
    ck_assert_str_eq(calls->str, want_calls);
}

START_TEST(accesses_are_split_and_joined)
{
    expect_ld(0x0000, 4, 0x03020100, "r4@0 ");
    expect_ld(0x0000, 8, 0x0706050403020100, "r4@0 r4@4 ");
    expect_ld(0x0001, 4, 0x04030201, "r1@1 r2@2 r1@4 ");
    expect_ld(0x1004, 4, 0x07060504, "r1@4 r1@5 r1@6 r1@7 ");
    expect_ld(0x2002, 2, 0x0302, "r4@0 ");
    expect_ld(0x2005, 1, 0x05, "r4@4 ");
    expect_ld(0x3000, 2, 0xffff, "");
    expect_ld(0x4000, 8, 0x0001020304050607, "r8@0 ");
    expect_ld(0x4002, 2, 0x0203, "r2@2 ");
    expect_ld(0x9000, 4, 0xffffffff, "");
    expect_st(0x0000, 8, 0x1122334455667788, "w4@0=55667788 w4@4=11223344 ");
    expect_st(0x1000, 2, 0xaabb, "w1@0=bb w1@1=aa ");
    expect_st(0x4000, 4, 0x11223344, "w4@0=44332211 ");
    expect_st(0x003f, 2, 0xabcd, "w1@63=cd ");
}
END_TEST

START_TEST(an_access_goes_whole_to_where_it_starts)
{
    MemoryRegion byte;

    memory_region_init_io(&byte, NULL, &ops_byte, NULL, "byte", 1);
    memory_region_add(&bench->root, 9, &byte, 1);
    expect_ld(0x0008, 4, 0x0b0a0908, "r4@8 ");
    expect_st(0x0008, 4, 0x80000000, "w4@8=80000000 ");
    expect_ld(0x0009, 1, 0x00, "r1@0 ");
    memory_region_remove(&byte);
}
END_TEST

START_TEST(ram_rom_and_dirty_bits)
{
    AddressSpace *as = &bench->as;
    uint64_t page = bench->ram.ram->first_page, v;
    char text[8] = "";

    ck_assert_int_eq(address_space_write(as, 0x100ffe, "hello", 6), MEM_OK);
    ck_assert_int_eq(address_space_read(as, 0x100ffe, text, 6), MEM_OK);
    ck_assert_str_eq(text, "hello");
    ck_assert_int_eq(ram_dirty_get(page), DIRTY_VGA | DIRTY_MIGRATION | DIRTY_CODE);
    ck_assert_int_eq(ram_dirty_get(page + 1), DIRTY_VGA | DIRTY_MIGRATION | DIRTY_CODE);
    ck_assert_int_eq(ram_dirty_get(page + 2), 0);
    ck_assert(ram_dirty_test_clear(page, 2, DIRTY_VGA));
    ck_assert(!ram_dirty_test_clear(page, 2, DIRTY_VGA));
    address_space_write(as, 0x110000, "xx", 2);
    address_space_ld(as, 0x110000, &v, 2);
    ck_assert_uint_eq(v, 0);
    address_space_write_rom(as, 0x110000, "xx", 2);
    address_space_ld(as, 0x110000, &v, 2);
    ck_assert_uint_eq(v, 0x7878);
}
END_TEST

START_TEST(pages_for_software_tlbs)
{
    MemoryPage p;

    address_space_page(&bench->as, 0x103123, &p);
    ck_assert_ptr_eq(p.host, bench->ram.ram->host + 0x3000);
    ck_assert_uint_eq(p.ram_page, bench->ram.ram->first_page + 3);
    ck_assert(!p.readonly);
    address_space_page(&bench->as, 0x110000, &p);
    ck_assert(p.host && p.readonly);
    address_space_page(&bench->as, 0x1000, &p);
    ck_assert(!p.host && p.mr == &bench->io[1]);
    address_space_page(&bench->as, 0x9000, &p);
    ck_assert_ptr_null(p.mr);
    memory_region_set_address(&bench->io[1], 0x9010);
    address_space_page(&bench->as, 0x9000, &p);
    ck_assert(p.mr == &bench->io[1] && !p.host);
}
END_TEST

static int hook_pages;

static void code_hook(uint64_t page, unsigned offset, unsigned len)
{
    hook_pages++;
    ram_dirty_or(page, DIRTY_CODE);
}

START_TEST(writes_reach_the_code_hook_once)
{
    ram_code_hook_set(code_hook);
    hook_pages = 0;
    address_space_st(&bench->as, 0x100000, 1, 4);
    address_space_st(&bench->as, 0x100000, 1, 4);
    ck_assert_int_eq(hook_pages, 1);
    ram_dirty_and(bench->ram.ram->first_page, ~DIRTY_CODE);
    address_space_st(&bench->as, 0x100008, 1, 4);
    ck_assert_int_eq(hook_pages, 2);
    ram_code_hook_set(NULL);
}
END_TEST

START_TEST(dma_maps_ram_in_place_and_bounces_the_rest)
{
    DmaMap m;

    ck_assert(dma_map(&bench->as, 0x100800, 0x1000, true, &m));
    ck_assert_int_eq(m.n, 1);
    ck_assert_ptr_eq(m.iov[0].iov_base, bench->ram.ram->host + 0x800);
    ck_assert_uint_eq(bench->ram.ram->pins, 1);
    dma_unmap(&m, 0x800);
    ck_assert_uint_eq(bench->ram.ram->pins, 0);
    ck_assert_int_ne(ram_dirty_get(bench->ram.ram->first_page), 0);
    ck_assert_int_eq(ram_dirty_get(bench->ram.ram->first_page + 1), 0);
    ck_assert(dma_map(&bench->as, 0x0, 8, false, &m));
    ck_assert_ptr_nonnull(m.bounce);
    ck_assert_int_eq(((uint8_t *)m.bounce)[5], 5);
    dma_unmap(&m, 0);
    g_string_truncate(calls, 0);
    ck_assert(dma_map(&bench->as, 0x0, 4, true, &m));
    memset(m.iov[0].iov_base, 0x11, 4);
    dma_unmap(&m, 4);
    ck_assert_str_eq(calls->str, "w4@0=11111111 ");
    ck_assert(!dma_map(&bench->as, 0x9000, 4, false, &m));
    ck_assert(!dma_map(&bench->as, UINT64_MAX - 1, 4, false, &m));
}
END_TEST

/* ---- listeners ---- */

static void heard_begin(MemoryListener *l)
{
    g_string_append(calls, "[");
}

static void heard_add(MemoryListener *l, const MemorySection *s)
{
    g_string_append_printf(calls, "+%s@%llx ", s->mr->name, (unsigned long long)s->addr);
}

static void heard_del(MemoryListener *l, const MemorySection *s)
{
    g_string_append_printf(calls, "-%s@%llx ", s->mr->name, (unsigned long long)s->addr);
}

static void heard_commit(MemoryListener *l)
{
    g_string_append(calls, "]");
}

static void heard_fd_add(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd)
{
    g_string_append_printf(calls, "bell+%llx ", (unsigned long long)s->addr);
}

static void heard_fd_del(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd)
{
    g_string_append_printf(calls, "bell-%llx ", (unsigned long long)s->addr);
}

START_TEST(listeners_hear_differences_only)
{
    MemoryListener l = { .name = "test", .begin = heard_begin, .add = heard_add, .del = heard_del,
                         .commit = heard_commit, .eventfd_add = heard_fd_add, .eventfd_del = heard_fd_del };
    int fd = eventfd(0, EFD_NONBLOCK);
    uint64_t n;

    memory_listener_register(&l, &bench->as);
    ck_assert_str_eq(calls->str, "[+io@0 +io@1000 +io@2000 +io@3000 +io@4000 +ram@100000 +rom@110000 ]");
    g_string_truncate(calls, 0);
    memory_transaction_begin();
    memory_region_set_address(&bench->rom, 0x200000);
    memory_region_set_enabled(&bench->io[3], false);
    ck_assert_str_eq(calls->str, "");
    memory_transaction_commit();
    ck_assert_str_eq(calls->str, "[-io@3000 -rom@110000 +rom@200000 ]");
    g_string_truncate(calls, 0);
    memory_region_add_eventfd(&bench->io[0], 8, 4, true, 77, fd);
    ck_assert_str_eq(calls->str, "[]bell+8 ");
    g_string_truncate(calls, 0);
    address_space_st(&bench->as, 8, 76, 4);
    ck_assert_str_eq(calls->str, "w4@8=4c ");
    ck_assert_int_lt(read(fd, &n, 8), 0);
    address_space_st(&bench->as, 8, 77, 4);
    ck_assert_str_eq(calls->str, "w4@8=4c ");
    ck_assert_int_eq(read(fd, &n, 8), 8);
    g_string_truncate(calls, 0);
    memory_region_del_eventfd(&bench->io[0], 8, 4, true, 77, fd);
    ck_assert_str_eq(calls->str, "[]bell-8 ");
    memory_listener_unregister(&l);
    close(fd);
}
END_TEST

/* ---- re-entry and reclamation ---- */

static MemResult inner_result;

static void write_to_self(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    inner_result = address_space_st(&bench->as, 0x5000, 1, 4);
}

static const MemoryRegionOps ops_self = { .write = write_to_self };

static void swallow(void *opaque, const char *text)
{
}

START_TEST(a_device_that_reaches_itself_gets_a_bus_error)
{
    MemoryRegion mr;

    memory_region_init_io(&mr, NULL, &ops_self, NULL, "self", 16);
    memory_region_add(&bench->root, 0x5000, &mr, 0);
    error_sink_set(swallow, NULL);
    ck_assert_int_eq(address_space_st(&bench->as, 0x5000, 1, 4), MEM_OK);
    error_sink_set(NULL, NULL);
    ck_assert_int_eq(inner_result, MEM_DEVICE_ERROR);
    memory_region_fini(&mr);
}
END_TEST

START_TEST(memory_goes_only_after_its_readers)
{
    uint8_t *host = bench->ram.ram->host;
    DmaMap m;

    rcu_read_lock();
    memory_region_fini(&bench->ram);
    ck_assert(rcu_reclaim());
    host[0] = 1;
    rcu_read_unlock();
    ck_assert(!rcu_reclaim());
    host = bench->rom.ram->host;
    ck_assert(dma_map(&bench->as, 0x110000, 16, false, &m));
    memory_region_fini(&bench->rom);
    rcu_reclaim();
    ck_assert_int_eq(host[0], 0);
    dma_unmap(&m, 0);
    rcu_drain();
    ck_assert_uint_eq(ram_total(), 0);
}
END_TEST

START_TEST(wrapping_containers_share_one_view)
{
    MemoryRegion window, alias;
    AddressSpace as;

    memory_region_init(&window, NULL, "master", MEMORY_SIZE_ALL);
    memory_region_init_alias(&alias, NULL, "all", &bench->root, 0, MEMORY_SIZE_ALL);
    memory_region_add(&window, 0, &alias, 0);
    address_space_init(&as, &window, "dev");
    memory_region_set_enabled(&bench->io[0], false);
    ck_assert_ptr_eq(as.view, bench->as.view);
    memory_region_set_enabled(&alias, false);
    ck_assert_int_eq(address_space_st(&as, 0x100000, 1, 1), MEM_DECODE_ERROR);
    address_space_fini(&as);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    TCase *tc = tcase_create("memory");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, flat_view_equals_the_model);
    suite_add_tcase(s, tc);
    tc = tcase_create("access");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, accesses_are_split_and_joined);
    tcase_add_test(tc, an_access_goes_whole_to_where_it_starts);
    tcase_add_test(tc, ram_rom_and_dirty_bits);
    tcase_add_test(tc, pages_for_software_tlbs);
    tcase_add_test(tc, writes_reach_the_code_hook_once);
    tcase_add_test(tc, dma_maps_ram_in_place_and_bounces_the_rest);
    tcase_add_test(tc, listeners_hear_differences_only);
    tcase_add_test(tc, a_device_that_reaches_itself_gets_a_bus_error);
    tcase_add_test(tc, memory_goes_only_after_its_readers);
    tcase_add_test(tc, wrapping_containers_share_one_view);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
