/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ISA bus: shared requests, ports, refusals. */
#include "chip-bench.h"

static IsaDevice *plain_device(void)
{
    return bench_isa("pc-ports-test");
}

static const Type plain_type = {
    .name = "pc-ports-test", .parent = "isa-device", .size = sizeof(IsaDevice),
};
TYPE_REGISTER(plain_type)

START_TEST(request_is_the_or_of_its_sources)
{
    IsaDevice *a = plain_device(), *b = plain_device();
    Irq ia, ib;

    ck_assert(isa_irq_get(a, 4, &ia, NULL) && isa_irq_get(b, 4, &ib, NULL));
    irq_set(ia, 1);
    irq_set(ib, 1);
    irq_set(ia, 0);
    ck_assert_int_eq(bench.level[4], 1);
    isa_irq_put(b, ib);
    ck_assert_int_eq(bench.level[4], 0);
    irq_set(ib, 1);                         /* a stale line does nothing */
    ck_assert_int_eq(bench.level[4], 0);
    ck_assert(isa_irq_get(b, 5, &ib, NULL));
    irq_set(ib, 1);
    ck_assert_int_eq(bench.level[5], 1);
}
END_TEST

START_TEST(impossible_requests_and_ports_are_refused)
{
    IsaDevice *dev = plain_device();
    static const MemoryRegionOps ops = { 0 };
    MemoryRegion mr;
    Error *err = NULL;
    Irq irq;

    ck_assert(!isa_irq_get(dev, 16, &irq, &err));
    ck_assert_str_eq(error_text(err), "ISA interrupt 16 does not exist: the bus has 0 to 15");
    error_free(err);
    err = NULL;
    memory_region_init_io(&mr, NULL, &ops, NULL, "x", 4);
    ck_assert(!isa_port_map(dev, &mr, 0xfffe, &err));
    ck_assert_str_eq(error_text(err), "ports 0xfffe..0x10001 leave the 64 KiB port space");
    error_free(err);
    ck_assert(isa_port_map(dev, &mr, 0xfffc, NULL));
}
END_TEST

START_TEST(sources_run_out_politely)
{
    IsaDevice *dev = plain_device();
    Irq irq;
    int n = 0;

    while (n <= ISA_IRQ_SOURCES && isa_irq_get(dev, 3, &irq, NULL)) {
        n++;
    }
    ck_assert_int_eq(n, ISA_IRQ_SOURCES);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, request_is_the_or_of_its_sources);
    tcase_add_test(tc, impossible_requests_and_ports_are_refused);
    tcase_add_test(tc, sources_run_out_politely);
}

int main(void)
{
    return bench_main("isa", add);
}
