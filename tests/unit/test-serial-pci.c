/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ISA chips' PCI relatives: pci-serial behind an I/O BAR, pvpanic-pci behind a memory BAR. */
#include "chip-bench.h"

#include "chip-requests.h"
#include "hw/pci/pci.h"

enum { INTX_LINE = 24 };
static PCIBus *bus;

static int map_pin(void *opaque, PCIDevice *d, int pin)
{
    return pin;
}

static void set_line(void *opaque, int line, int level)
{
    irq_set(&bench.line[INTX_LINE + line], level);
}

static PCIDevice *plug(const char *type, uint32_t bar, uint16_t decode)
{
    static const PCIBusIrqOps irq_ops = { map_pin, set_line };
    Error *err = NULL;
    PCIDevice *d;

    bus = pci_bus_new_root(NULL, "PCI", "pci.0", &bench.mem, &bench.io);
    pci_bus_set_irqs(bus, &irq_ops, NULL);
    d = pci_create(bus, PCI_DEVFN(3, 0), false, type, &err);
    ck_assert_msg(d, "%s", err ? error_text(err) : "");
    object_reset(&d->dev.obj);
    pci_config_write(d, PCI_BASE_ADDRESS_0, bar, 4);
    pci_config_write(d, PCI_COMMAND, decode, 2);
    return d;
}

START_TEST(serial_port_in_its_bar_interrupts_by_pin)
{
    PCIDevice *d = plug("pci-serial", 0xc000, 1);

    ck_assert_uint_eq(pci_config_read(d, 0, 4), 0x00021b36);
    ck_assert_uint_eq(pci_config_read(d, 8, 4), 0x07000201);
    outb(0xc007, 0x3c);
    ck_assert_int_eq(inb(0xc007), 0x3c);
    ck_assert_int_eq(bench.level[INTX_LINE], 0);
    outb(0xc001, 2);
    ck_assert_int_eq(bench.level[INTX_LINE], 1);
    ck_assert_int_eq(inb(0xc002), 2);
    ck_assert_int_eq(bench.level[INTX_LINE], 0);
}
END_TEST

START_TEST(pvpanic_byte_in_its_bar)
{
    PCIDevice *d = plug("pvpanic-pci", 0xfebf0000, 2);

    ck_assert_uint_eq(pci_config_read(d, 0, 4), 0x00111b36);
    ck_assert_uint_eq(readl(0xfebf0000) & 0xff, 7);
    address_space_st(&bench.as_mem, 0xfebf0000, 1, 1);
    ck_assert_int_eq(asked.panics, 1);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, serial_port_in_its_bar_interrupts_by_pin);
    tcase_add_test(tc, pvpanic_byte_in_its_bar);
}

int main(void)
{
    return bench_main("serial-pci", add);
}
