/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bench for chips: port and memory space, an ISA bus with recorded interrupt lines, virtual time
 * under control. bench_begin/bench_end in a checked fixture; each test runs in its own process.
 */
#ifndef CLEAT_TESTS_CHIP_BENCH_H
#define CLEAT_TESTS_CHIP_BENCH_H

#include <check.h>
#include <stdlib.h>

#include "hw/isa/isa.h"
#include "system/loop.h"
#include "system/vmstate.h"

typedef struct Bench {
    MemoryRegion io, mem;
    AddressSpace as_io, as_mem;
    IsaBus *isa;
    IrqLine line[32];
    int level[32], rises[32];
} Bench;

static Bench bench;

static void bench_irq(void *opaque, int n, int level)
{
    bench.rises[n] += level && !bench.level[n];
    bench.level[n] = level;
}

static void bench_begin(void)
{
    clock_qtest_enable();
    machine_lock();
    memory_region_init(&bench.io, NULL, "io", 0x10000);
    memory_region_init(&bench.mem, NULL, "mem", MEMORY_SIZE_ALL);
    address_space_init(&bench.as_io, &bench.io, "io");
    address_space_init(&bench.as_mem, &bench.mem, "mem");
    irq_init_array(bench.line, 32, bench_irq, NULL);
    bench.isa = isa_bus_new(NULL, "isa.0", &bench.mem, &bench.io);
    for (int i = 0; i < ISA_IRQS; i++) {
        isa_bus_connect(bench.isa, i, &bench.line[i]);
    }
    clock_qtest_step(1000000007);           /* no chip may lean on a clock that starts at 0 */
}

static inline void bench_end(void)
{
    machine_unlock();
}

static inline void *bench_plug(Device *dev)
{
    Error *err = NULL;

    ck_assert_msg(device_plug(dev, &bench.isa->bus, &err), "%s", err ? error_text(err) : "");
    object_reset(&dev->obj);
    return dev;
}

static inline void *bench_isa(const char *type)
{
    return bench_plug(device_new(type));
}

static inline void outb(unsigned port, uint8_t value)
{
    address_space_st(&bench.as_io, port, value, 1);
}

static inline uint8_t inb(unsigned port)
{
    uint64_t v;

    address_space_ld(&bench.as_io, port, &v, 1);
    return v;
}

static inline void outw(unsigned port, uint16_t value)
{
    address_space_st(&bench.as_io, port, value, 2);
}

static inline uint16_t inw(unsigned port)
{
    uint64_t v;

    address_space_ld(&bench.as_io, port, &v, 2);
    return v;
}

static inline uint32_t inl(unsigned port)
{
    uint64_t v;

    address_space_ld(&bench.as_io, port, &v, 4);
    return v;
}

static inline void writel(uint64_t addr, uint32_t value)
{
    address_space_st(&bench.as_mem, addr, value, 4);
}

static inline uint32_t readl(uint64_t addr)
{
    uint64_t v;

    address_space_ld(&bench.as_mem, addr, &v, 4);
    return v;
}

static inline void writeq(uint64_t addr, uint64_t value)
{
    address_space_st(&bench.as_mem, addr, value, 8);
}

static inline uint64_t readq(uint64_t addr)
{
    uint64_t v;

    address_space_ld(&bench.as_mem, addr, &v, 8);
    return v;
}

/* Runs the tests of one suite; the process's exit status. */
static int bench_main(const char *name, void (*add)(TCase *tc))
{
    Suite *s = suite_create(name);
    TCase *tc = tcase_create(name);
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, bench_begin, bench_end);
    add(tc);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
