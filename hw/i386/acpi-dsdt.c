/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the DSDT of a PC board describes: the PCI host with its windows and interrupt routing, the ISA devices,
 * processors,
 * HPET, fw_cfg, pvpanic, sleep states. ACPI 6.4; PCI Firmware 3.2 for _OSC.
 *
 * Interrupt routing has two tables: with the 8259s, through link devices LNKA..LNKH whose methods work on the bridge's
 * PIRQ registers; with the I/O APIC, q35 has fixed GSI 16..23 and i440fx the link devices still. Left out: hot-plug.
 */
#include "hw/i386/acpi-dsdt.h"

#include "hw/acpi/pm.h"
#include "hw/i386/chipset.h"
#include "hw/misc/pvpanic.h"
#include "util/units.h"

#define PCI_HOLE_END 0xfebfffffu
#define HIGH_WINDOW (512 * GiB)         /* for 64-bit BARs, above RAM */
#define ICH9_PIRQ_GSI 16

static const uint32_t link_irqs[] = { 5, 10, 11 };

static int dsdt_links(const PcMachine *pc)
{
    return pc->kind->pcie ? 8 : 4;
}

/* ---- the PCI host bridge ---- */

/* _OSC: grants what the operating system asks for of hot-plug, PME, AER and capability control, if it can use ECAM. */
static void dsdt_osc(Aml *a)
{
    static const char *const words[] = { "CDW1", "CDW2", "CDW3" };

    aml_method(a, "_OSC", 4, false);
    for (int i = 0; i < 3; i++) {
        aml_op(a, AML_CREATE_DWORD_FIELD);
        aml_arg(a, 3);
        aml_int(a, 4 * i);
        aml_path(a, words[i]);
    }
    aml_if(a);
    aml_op(a, AML_LEQUAL);
    aml_arg(a, 0);
    aml_uuid(a, "33db4d5b-1ff7-401c-9657-7441c03dd766");
    aml_op(a, AML_AND);
    aml_path(a, "CDW3");
    aml_int(a, 0x1f);
    aml_local(a, 0);
    aml_if(a);                          /* an unknown revision */
    aml_op(a, AML_LNOT);
    aml_op(a, AML_LEQUAL);
    aml_arg(a, 1);
    aml_int(a, 1);
    aml_op(a, AML_OR);
    aml_path(a, "CDW1");
    aml_int(a, 0x08);
    aml_path(a, "CDW1");
    aml_end(a);
    aml_if(a);                          /* some control was not granted */
    aml_op(a, AML_LNOT);
    aml_op(a, AML_LEQUAL);
    aml_path(a, "CDW3");
    aml_local(a, 0);
    aml_op(a, AML_OR);
    aml_path(a, "CDW1");
    aml_int(a, 0x10);
    aml_path(a, "CDW1");
    aml_end(a);
    aml_op(a, AML_STORE);
    aml_local(a, 0);
    aml_path(a, "CDW3");
    aml_end(a);
    aml_else(a);                        /* a UUID that is not ours */
    aml_op(a, AML_OR);
    aml_path(a, "CDW1");
    aml_int(a, 0x04);
    aml_path(a, "CDW1");
    aml_end(a);
    aml_op(a, AML_RETURN);
    aml_arg(a, 3);
    aml_end(a);
}

static void dsdt_host_resources(const PcMachine *pc, Aml *a)
{
    uint64_t hole = pc->kind->pci_hole_start ? pc->kind->pci_hole_start : ALIGN_UP(pc->below_4g, 256 * MiB);
    uint64_t high = ALIGN_UP(4 * GiB + pc->above_4g, GiB);
    AmlResources r;

    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_bus_window(&r, 0, 255);
    aml_res_io(&r, PCI_CONFIG_ADDRESS_PORT, 1, 8);
    aml_res_io_window(&r, 0x0000, 0x0cf7);
    aml_res_io_window(&r, 0x0d00, 0xffff);
    aml_res_memory_window(&r, 0xa0000, 0xbffff, true);
    if (pc->kind->pcie && pc->below_4g <= 0x80000000) {
        aml_res_memory_window(&r, 0x80000000, PC_ECAM_BASE - 1, false);
    }
    aml_res_memory_window(&r, hole, PCI_HOLE_END, false);
    aml_res_memory_window(&r, high, high + HIGH_WINDOW - 1, true);
    aml_res_end(&r, a);
}

static void dsdt_route(Aml *a, int slot, int pin, const char *link, unsigned gsi)
{
    aml_package(a, 4);
    aml_int(a, (uint32_t)slot << 16 | 0xffff);
    aml_int(a, pin);
    if (link) {
        aml_path(a, link);
    } else {
        aml_int(a, 0);
    }
    aml_int(a, gsi);
    aml_end(a);
}

/* One routing table: 32 slots of four pins. */
static void dsdt_routes(const PcMachine *pc, Aml *a, const char *name, bool links)
{
    static const char *const link_names[] = { "LNKA", "LNKB", "LNKC", "LNKD", "LNKE", "LNKF", "LNKG", "LNKH" };

    aml_name(a, name);
    aml_package(a, PCI_SLOTS * PCI_PINS);
    for (int slot = 0; slot < PCI_SLOTS; slot++) {
        for (int pin = 0; pin < PCI_PINS; pin++) {
            int pirq = pc->kind->pcie ? ich9_pirq_of(slot, pin) : piix3_pirq_of(slot, pin);

            dsdt_route(a, slot, pin, links ? link_names[pirq] : NULL, links ? 0 : ICH9_PIRQ_GSI + pirq);
        }
    }
    aml_end(a);
}

static void dsdt_prt(const PcMachine *pc, Aml *a)
{
    dsdt_routes(pc, a, "PRTP", true);
    if (pc->kind->pcie) {
        dsdt_routes(pc, a, "PRTA", false);
    }
    aml_method(a, "_PRT", 0, false);
    if (pc->kind->pcie) {
        aml_if(a);
        aml_path(a, "\\PICF");
        aml_op(a, AML_RETURN);
        aml_path(a, "PRTA");
        aml_end(a);
    }
    aml_op(a, AML_RETURN);
    aml_path(a, "PRTP");
    aml_end(a);
}

/* ---- interrupt links ---- */

/* Stores PIRQ register value `reg` ANDed/ORed with v back into it. */
static void dsdt_link_methods(Aml *a, const char *reg)
{
    static const uint32_t none = 0;
    AmlResources r;

    aml_method(a, "_STA", 0, false);
    aml_if(a);
    aml_op(a, AML_AND);
    aml_path(a, reg);
    aml_int(a, 0x80);
    aml_nowhere(a);
    aml_op(a, AML_RETURN);
    aml_int(a, 0x09);
    aml_end(a);
    aml_op(a, AML_RETURN);
    aml_int(a, 0x0b);
    aml_end(a);

    aml_method(a, "_DIS", 0, false);
    aml_op(a, AML_OR);
    aml_path(a, reg);
    aml_int(a, 0x80);
    aml_path(a, reg);
    aml_end(a);

    aml_method(a, "_CRS", 0, true);
    aml_name(a, "CRSB");
    aml_res_begin(&r);
    aml_res_interrupts(&r, &none, 1);
    aml_res_end(&r, a);
    aml_op(a, AML_CREATE_DWORD_FIELD);
    aml_path(a, "CRSB");
    aml_int(a, 5);
    aml_path(a, "INTN");
    aml_if(a);
    aml_op(a, AML_LNOT);
    aml_op(a, AML_AND);
    aml_path(a, reg);
    aml_int(a, 0x80);
    aml_nowhere(a);
    aml_op(a, AML_AND);
    aml_path(a, reg);
    aml_int(a, 0x0f);
    aml_path(a, "INTN");
    aml_end(a);
    aml_op(a, AML_RETURN);
    aml_path(a, "CRSB");
    aml_end(a);

    aml_method(a, "_SRS", 1, false);
    aml_op(a, AML_CREATE_DWORD_FIELD);
    aml_arg(a, 0);
    aml_int(a, 5);
    aml_path(a, "INTN");
    aml_op(a, AML_STORE);
    aml_path(a, "INTN");
    aml_path(a, reg);
    aml_end(a);
}

static void dsdt_link(Aml *a, int n)
{
    const char letter = 'A' + n;
    g_autofree char *name = g_strdup_printf("LNK%c", letter);
    g_autofree char *reg = g_strdup_printf("\\_SB.PCI0.ISA.PRQ%c", letter);
    AmlResources r;

    aml_device(a, name);
    aml_name_eisaid(a, "_HID", "PNP0C0F");
    aml_name_int(a, "_UID", n + 1);
    aml_name(a, "_PRS");
    aml_res_begin(&r);
    aml_res_interrupts(&r, link_irqs, G_N_ELEMENTS(link_irqs));
    aml_res_end(&r, a);
    dsdt_link_methods(a, reg);
    aml_end(a);
}

/* ---- ISA devices ---- */

static void dsdt_isa_simple(Aml *a, const char *name, const char *hid, const uint16_t *ports, int n_ports, int port_len,
                            int irq)
{
    AmlResources r;

    aml_device(a, name);
    aml_name_eisaid(a, "_HID", hid);
    aml_name_int(a, "_STA", 0x0f);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    for (int i = 0; i < n_ports; i++) {
        aml_res_io(&r, ports[i], 1, port_len);
    }
    aml_res_irq(&r, irq);
    aml_res_end(&r, a);
    aml_end(a);
}

static void dsdt_serial(Aml *a, int index)
{
    static const uint16_t ports[] = { 0x3f8, 0x2f8, 0x3e8, 0x2e8 };
    g_autofree char *name = g_strdup_printf("COM%d", index + 1);
    AmlResources r;

    aml_device(a, name);
    aml_name_eisaid(a, "_HID", "PNP0501");
    aml_name_int(a, "_UID", index + 1);
    aml_name_int(a, "_STA", 0x0f);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_io(&r, ports[index], 8, 8);
    aml_res_irq(&r, index & 1 ? 3 : 4);
    aml_res_end(&r, a);
    aml_end(a);
}

static void dsdt_pvpanic(Aml *a, const PvPanicIsa *pv)
{
    AmlResources r;

    aml_device(a, "PEVT");
    aml_name_string(a, "_HID", "QEMU0001");
    aml_name_int(a, "_STA", 0x0f);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_io(&r, pv->ioport, 1, 1);
    aml_res_end(&r, a);
    aml_region(a, "PEOR", 1, pv->ioport, 1);
    aml_field(a, "PEOR", 1);
    aml_field_unit(a, "PEPT", 8);
    aml_end(a);
    aml_method(a, "RDPT", 0, false);
    aml_op(a, AML_RETURN);
    aml_path(a, "PEPT");
    aml_end(a);
    aml_method(a, "WRPT", 1, false);
    aml_op(a, AML_STORE);
    aml_arg(a, 0);
    aml_path(a, "PEPT");
    aml_end(a);
    aml_end(a);
}

/* The user's and the board's devices, as they are on the bus. */
static void dsdt_isa_devices(const PcMachine *pc, Aml *a)
{
    static const uint16_t kbd_ports[] = { 0x60, 0x64 }, rtc_ports[] = { 0x70 };
    bool serial[4] = { false };

    dsdt_isa_simple(a, "RTC", "PNP0B00", rtc_ports, 1, 8, 8);
    if (pc->i8042_enabled) {
        dsdt_isa_simple(a, "KBD", "PNP0303", kbd_ports, 2, 1, 1);
        dsdt_isa_simple(a, "MOU", "PNP0F13", NULL, 0, 0, 12);
    }
    for (Device *d = pc->isa->bus.first_dev; d; d = d->next_on_bus) {
        if (object_is_a(&d->obj, "isa-serial")) {
            g_autofree char *text = object_prop_get(&d->obj, "iobase", NULL);
            uint64_t port = text ? g_ascii_strtoull(text, NULL, 0) : 0;

            serial[0] |= port == 0x3f8;
            serial[1] |= port == 0x2f8;
            serial[2] |= port == 0x3e8;
            serial[3] |= port == 0x2e8;
        } else if (object_is_a(&d->obj, "pvpanic")) {
            dsdt_pvpanic(a, (const PvPanicIsa *)d);
        }
    }
    for (int i = 0; i < 4; i++) {
        if (serial[i]) {
            dsdt_serial(a, i);
        }
    }
}

static void dsdt_isa(const PcMachine *pc, Aml *a)
{
    static const char *const regs[] = { "PRQA", "PRQB", "PRQC", "PRQD", "PRQE", "PRQF", "PRQG", "PRQH" };

    aml_device(a, "ISA");
    aml_name_int(a, "_ADR", pc->kind->pcie ? 0x001f0000 : 0x00010000);
    aml_region(a, "PIRQ", 2, 0x60, 0x0c);
    aml_field(a, "PIRQ", 1);
    for (int n = 0; n < dsdt_links(pc); n++) {
        if (n == 4) {
            aml_field_unit(a, NULL, 32);
        }
        aml_field_unit(a, regs[n], 8);
    }
    aml_end(a);
    dsdt_isa_devices(pc, a);
    aml_end(a);
}

static void dsdt_host(const PcMachine *pc, Aml *a)
{
    aml_device(a, "PCI0");
    aml_name_eisaid(a, "_HID", pc->kind->pcie ? "PNP0A08" : "PNP0A03");
    if (pc->kind->pcie) {
        aml_name_eisaid(a, "_CID", "PNP0A03");
        dsdt_osc(a);
    }
    aml_name_int(a, "_UID", 0);
    aml_name_int(a, "_BBN", 0);
    dsdt_host_resources(pc, a);
    dsdt_prt(pc, a);
    dsdt_isa(pc, a);
    aml_end(a);
}

/* ---- beside the PCI host ---- */

static void dsdt_hpet(Aml *a)
{
    AmlResources r;

    aml_device(a, "HPET");
    aml_name_eisaid(a, "_HID", "PNP0103");
    aml_name_int(a, "_UID", 0);
    aml_name_int(a, "_STA", 0x0f);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_memory32(&r, PC_HPET_BASE, HPET_SIZE, false);
    aml_res_end(&r, a);
    aml_end(a);
}

void acpi_dsdt_fw_cfg(Aml *a)
{
    AmlResources r;

    aml_device(a, "FWCF");
    aml_name_string(a, "_HID", "QEMU0002");
    aml_name_int(a, "_STA", 0x0b);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_io(&r, FW_CFG_PORT, 1, 0x0c);
    aml_res_end(&r, a);
    aml_end(a);
}

/* What is taken on the board and belongs to no device above. */
static void dsdt_motherboard(const PcMachine *pc, Aml *a)
{
    AmlResources r;

    aml_device(a, "MBRD");
    aml_name_eisaid(a, "_HID", "PNP0C02");
    aml_name_int(a, "_UID", 0);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_io(&r, ACPI_PIIX4_PMBASE, 1, pc->kind->pcie ? ACPI_PM_IO_ICH9 : ACPI_PM_IO_PIIX4);
    if (pc->kind->pcie) {
        aml_res_memory32(&r, PC_ECAM_BASE, PC_ECAM_SIZE, true);
        aml_res_memory32(&r, PC_RCBA_BASE, 0x4000, true);
    } else {
        aml_res_io(&r, ACPI_PIIX4_GPE_BASE, 1, 4);
    }
    aml_res_end(&r, a);
    aml_end(a);
}

static void dsdt_processors(const PcMachine *pc, Aml *a)
{
    aml_scope(a, "\\_SB");
    for (unsigned i = 0; i < pc->n_cpus; i++) {
        g_autofree char *name = g_strdup_printf("C%03X", i);

        aml_device(a, name);
        aml_name_string(a, "_HID", "ACPI0007");
        aml_name_int(a, "_UID", i);
        aml_name_int(a, "_STA", 0x0f);
        aml_end(a);
    }
    aml_end(a);
}

static void dsdt_sleep_state(Aml *a, const char *name, unsigned type)
{
    aml_name(a, name);
    aml_package(a, 4);
    aml_int(a, type);
    aml_int(a, type);
    aml_int(a, 0);
    aml_int(a, 0);
    aml_end(a);
}

/* Suspend states need firmware to come back from: a direct boot offers power-off only. */
static void dsdt_sleep(const PcMachine *pc, Aml *a)
{
    if (!pc->pm) {
        return;
    }
    if (!pc->parent.config.kernel && !pc->pm->disable_s3) {
        dsdt_sleep_state(a, "\\_S3", 1);
    }
    if (!pc->parent.config.kernel && !pc->pm->disable_s4) {
        dsdt_sleep_state(a, "\\_S4", pc->pm->s4_val);
    }
    dsdt_sleep_state(a, "\\_S5", 0);
}

void acpi_dsdt_build(const PcMachine *pc, Aml *a)
{
    aml_name_int(a, "\\PICF", 0);
    aml_method(a, "\\_PIC", 1, false);
    aml_op(a, AML_STORE);
    aml_arg(a, 0);
    aml_path(a, "\\PICF");
    aml_end(a);
    aml_scope(a, "\\_SB");
    dsdt_host(pc, a);
    for (int n = 0; n < dsdt_links(pc); n++) {
        dsdt_link(a, n);
    }
    if (pc->hpet) {
        dsdt_hpet(a);
    }
    acpi_dsdt_fw_cfg(a);
    dsdt_motherboard(pc, a);
    aml_end(a);
    dsdt_processors(pc, a);
    dsdt_sleep(pc, a);
}
