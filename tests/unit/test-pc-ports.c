/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Port 92h, reset control, delay ports, isa-debug-exit, pvpanic, the DMA register file. */
#include "chip-bench.h"

#include "chip-requests.h"
#include "hw/misc/pc-ports.h"

START_TEST(port_92h_resets_on_its_edge)
{
    Port92 *p = (Port92 *)device_new("port92");

    p->a20 = &bench.line[20];
    bench_plug((Device *)p);
    ck_assert_int_eq(bench.level[20], 1);
    outb(0x92, 0);
    ck_assert_int_eq(bench.level[20], 0);
    outb(0x92, 3);
    outb(0x92, 3);
    ck_assert_int_eq(asked.resets, 1);
    ck_assert_int_eq(inb(0x92), 3);
}
END_TEST

START_TEST(reset_control_lies_over_the_pci_address)
{
    static const MemoryRegionOps dword_ops = { 0 };
    ResetControl rc;
    MemoryRegion address;

    memory_region_init_io(&address, NULL, &dword_ops, NULL, "address", 4);
    memory_region_add(&bench.io, 0xcf8, &address, 0);
    reset_control_init(&rc, NULL, 0x0a);
    reset_control_reset(&rc);
    memory_region_add(&bench.io, RESET_CONTROL_PORT, &rc.io, 1);
    outb(0xcf9, 0x02);
    ck_assert_int_eq(inb(0xcf9), 0x02);
    ck_assert_int_eq(asked.resets, 0);
    outb(0xcf9, 0x0e);
    ck_assert_int_eq(asked.resets, 1);
    ck_assert_int_eq(inb(0xcf9), 0x0a);
}
END_TEST

START_TEST(delay_ports_take_anything)
{
    PcPorts *p = bench_isa("pc-ports");

    p->ferr_clear = &bench.line[13];
    outb(0x80, 1);
    outb(0xed, 1);
    ck_assert_int_eq(inb(0x80), 0xff);
    outb(0xf0, 0);
    ck_assert_int_eq(bench.rises[13], 1);
}
END_TEST

START_TEST(debug_exit_makes_an_odd_status)
{
    bench_isa("isa-debug-exit");
    outb(0x501, 0x10);
    ck_assert_int_eq(asked.code, 0x21);
    ck_assert_int_eq(inb(0x501), 0);
    outw(0x501, 0x1000);
    ck_assert_int_eq(asked.code, 0x2001);
}
END_TEST

START_TEST(pvpanic_tells_its_events)
{
    bench_isa("pvpanic");
    ck_assert_int_eq(inb(0x505), 7);
    outb(0x505, 2);
    ck_assert_str_eq(asked.event, "GUEST_CRASHLOADED");
    outb(0x505, 1);
    ck_assert_int_eq(asked.panics, 1);
    outb(0x505, 8);
    ck_assert_int_eq(asked.panics, 1);
    outb(0x505, 4);
    ck_assert_int_eq(asked.shutdowns, 1);
}
END_TEST

START_TEST(dma_registers_read_back)
{
    bench_isa("i8257");
    outb(0x0d, 0);
    ck_assert_int_eq(inb(0x0f), 0xff);      /* master clear masks all */
    outb(0x0a, 0x02);
    ck_assert_int_eq(inb(0x0f), 0xfb);
    outb(0x04, 0x34);
    outb(0x04, 0x12);
    outb(0x0c, 0);
    ck_assert_int_eq(inb(0x04), 0x34);
    ck_assert_int_eq(inb(0x04), 0x12);
    outb(0x81, 0x77);
    outb(0x487, 0x66);
    ck_assert_int_eq(inb(0x81), 0x77);
    ck_assert_int_eq(inb(0x487), 0x66);
    ck_assert_int_eq(inb(0x80), 0xff);      /* not a page register */
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, dma_registers_read_back);
    tcase_add_test(tc, port_92h_resets_on_its_edge);
    tcase_add_test(tc, reset_control_lies_over_the_pci_address);
    tcase_add_test(tc, delay_ports_take_anything);
    tcase_add_test(tc, debug_exit_makes_an_odd_status);
    tcase_add_test(tc, pvpanic_tells_its_events);
}

int main(void)
{
    return bench_main("pc-ports", add);
}
