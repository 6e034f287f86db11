/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * microvm's ACPI tables: hardware-reduced (ACPI 6.4 ch. 4.1): FADT with GED's sleep and reset registers, MADT, DSDT,
 * and MCFG with pcie=on.
 *
 * The DSDT names what a guest cannot find: fw_cfg, clock, serial port, GED and its power button, taken virtio slots,
 * the PCI Express host bridge. Main thread. Test: tests/boot/test-tables.py, tests/boot/test-microvm.py.
 */
#include "hw/i386/microvm.h"

#include "hw/i386/acpi-dsdt.h"
#include "hw/i386/aml.h"
#include "util/units.h"

enum { FADT_RESET_REG = 1 << 10, FADT_HW_REDUCED = 1 << 20 };
#define FADT_SIZE 268
#define SERIAL_PORT 0x3f8
#define SERIAL_IRQ 4
#define RTC_PORT 0x70
#define RTC_IRQ 8
#define PIT_GSI 2

/* ---- DSDT ---- */

static void dsdt_isa_device(Aml *a, const char *name, const char *hid, uint16_t port, int irq)
{
    AmlResources r;

    aml_device(a, name);
    aml_name_eisaid(a, "_HID", hid);
    aml_name_int(a, "_UID", 1);
    aml_name_int(a, "_STA", 0x0f);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_io(&r, port, 8, 8);
    aml_res_irq(&r, irq);
    aml_res_end(&r, a);
    aml_end(a);
}

/* _EVT: what the event word says, the devices are told. */
static void dsdt_ged(Aml *a)
{
    AmlResources r;

    aml_device(a, "GED");
    aml_name_string(a, "_HID", "ACPI0013");
    aml_name_string(a, "_UID", "GED");
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_interrupt(&r, MICROVM_GED_GSI, true);
    aml_res_end(&r, a);
    aml_region(a, "EREG", ACPI_SPACE_MEMORY, MICROVM_GED_EVENTS, GED_EVENTS_SIZE);
    aml_field(a, "EREG", 0x43);         /* dwords, bits not written are zeros */
    aml_field_unit(a, "ESEL", 32);
    aml_end(a);
    aml_method(a, "_EVT", 1, true);
    aml_op(a, AML_STORE);
    aml_path(a, "ESEL");
    aml_local(a, 0);
    aml_if(a);
    aml_op(a, AML_AND);
    aml_local(a, 0);
    aml_int(a, GED_POWER_BUTTON);
    aml_nowhere(a);
    aml_op(a, AML_NOTIFY);
    aml_path(a, "PWRB");
    aml_int(a, 0x80);
    aml_end(a);
    aml_end(a);
    aml_end(a);

    aml_device(a, "PWRB");
    aml_name_eisaid(a, "_HID", "PNP0C0C");
    aml_name_int(a, "_UID", 0);
    aml_end(a);
}

static void dsdt_slot(const MicrovmMachine *mv, Aml *a, unsigned n)
{
    g_autofree char *name = g_strdup_printf("VR%02u", n);
    AmlResources r;

    aml_device(a, name);
    aml_name_string(a, "_HID", "LNRO0005");
    aml_name_int(a, "_UID", n);
    aml_name_int(a, "_CCA", 1);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_memory32(&r, MICROVM_SLOTS_BASE + n * VIRTIO_MMIO_SIZE, VIRTIO_MMIO_SIZE, true);
    aml_res_interrupt(&r, mv->slot_gsi + n, false);
    aml_res_end(&r, a);
    aml_end(a);
}

/* Interrupts of a slot's four pins turn with the slot's number. */
static void dsdt_pcie_routes(Aml *a)
{
    aml_name(a, "_PRT");
    aml_package(a, PCI_SLOTS * PCI_PINS);
    for (int slot = 0; slot < PCI_SLOTS; slot++) {
        for (int pin = 0; pin < PCI_PINS; pin++) {
            aml_package(a, 4);
            aml_int(a, (uint32_t)slot << 16 | 0xffff);
            aml_int(a, pin);
            aml_int(a, 0);
            aml_int(a, MICROVM_PCIE_GSI + (slot + pin) % PCI_PINS);
            aml_end(a);
        }
    }
    aml_end(a);
}

static void dsdt_pcie(Aml *a)
{
    AmlResources r;

    aml_device(a, "PCI0");
    aml_name_eisaid(a, "_HID", "PNP0A08");
    aml_name_eisaid(a, "_CID", "PNP0A03");
    aml_name_int(a, "_SEG", 0);
    aml_name_int(a, "_BBN", 0);
    aml_name_int(a, "_UID", 0);
    aml_name_int(a, "_CCA", 1);
    dsdt_pcie_routes(a);
    aml_method(a, "_CBA", 0, false);
    aml_op(a, AML_RETURN);
    aml_int(a, MICROVM_ECAM);
    aml_end(a);
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_bus_window(&r, 0, MICROVM_ECAM_SIZE / PCI_ECAM_BUS_SIZE - 1);
    aml_res_memory_window(&r, MICROVM_PCIE_MEM, MICROVM_PCIE_MEM + MICROVM_PCIE_MEM_SIZE - 1, false);
    aml_res_end(&r, a);
    aml_end(a);

    aml_device(a, "RES0");              /* config space is taken */
    aml_name_eisaid(a, "_HID", "PNP0C02");
    aml_name(a, "_CRS");
    aml_res_begin(&r);
    aml_res_memory32(&r, MICROVM_ECAM, MICROVM_ECAM_SIZE, true);
    aml_res_end(&r, a);
    aml_end(a);
}

static void dsdt_processors(const MicrovmMachine *mv, Aml *a)
{
    for (unsigned i = 0; i < mv->n_cpus; i++) {
        g_autofree char *name = g_strdup_printf("C%03X", i);

        aml_device(a, name);
        aml_name_string(a, "_HID", "ACPI0007");
        aml_name_int(a, "_UID", i);
        aml_end(a);
    }
}

static void build_dsdt_body(const MicrovmMachine *mv, Aml *a)
{
    aml_scope(a, "\\_SB");
    acpi_dsdt_fw_cfg(a);
    if (microvm_serial(mv)) {
        dsdt_isa_device(a, "COM1", "PNP0501", SERIAL_PORT, SERIAL_IRQ);
    }
    if (mv->rtc) {
        dsdt_isa_device(a, "RTC", "PNP0B00", RTC_PORT, RTC_IRQ);
    }
    dsdt_ged(a);
    for (unsigned n = mv->n_slots; n-- > 0;) {
        if (virtio_mmio_taken(mv->slot[n])) {
            dsdt_slot(mv, a, n);
        }
    }
    if (mv->pcie) {
        dsdt_pcie(a);
    }
    dsdt_processors(mv, a);
    aml_end(a);
    aml_name(a, "\\_S5");
    aml_package(a, 4);
    aml_int(a, GED_SLEEP_S5);
    aml_int(a, 0);
    aml_int(a, 0);
    aml_int(a, 0);
    aml_end(a);
}

/* ---- tables ---- */

static guint build_dsdt(AcpiBuild *b, const MicrovmMachine *mv)
{
    guint at = acpi_table_begin(b, "DSDT", 2);
    Aml aml = { .out = b->tables };

    build_dsdt_body(mv, &aml);
    acpi_table_end(b, at, false);
    return at;
}

/* Fields of fixed hardware stay 0. */
static void build_fadt(AcpiBuild *b, guint dsdt)
{
    guint at = acpi_table_begin(b, "FACP", 5);

    acpi_put(b, 0, 4);                  /* FACS: none, for want of fixed hardware */
    acpi_put(b, dsdt, 4);
    acpi_put_zeros(b, 112 - 44);
    acpi_put(b, FADT_RESET_REG | FADT_HW_REDUCED, 4);
    acpi_put_gas(b, ACPI_SPACE_MEMORY, 8, 1, MICROVM_GED_REGS + GED_RESET);
    acpi_put(b, GED_RESET_VALUE, 1);
    acpi_put_zeros(b, 140 - 129);       /* ARM flags, minor version, X_FACS */
    acpi_put(b, dsdt, 8);
    acpi_put_zeros(b, 244 - 148);
    acpi_put_gas(b, ACPI_SPACE_MEMORY, 8, 1, MICROVM_GED_REGS + GED_SLEEP_CONTROL);
    acpi_put_gas(b, ACPI_SPACE_MEMORY, 8, 1, MICROVM_GED_REGS + GED_SLEEP_STATUS);
    g_assert(b->tables->len - at == FADT_SIZE);
    acpi_link_pointer(b, at + 40, 4);
    acpi_link_pointer(b, at + 140, 8);
    acpi_table_end(b, at, true);
}

static void build_madt(AcpiBuild *b, const MicrovmMachine *mv)
{
    guint at = acpi_table_begin(b, "APIC", 1);

    acpi_put(b, X86_APIC_BASE, 4);
    acpi_put(b, mv->pic.master != NULL, 4);
    for (unsigned i = 0; i < mv->n_cpus; i++) {
        acpi_madt_cpu(b, i, mv->cpus[i]->apic_id);
    }
    acpi_madt_ioapic(b, 0, MICROVM_IOAPIC, 0);
    if (mv->two_ioapics) {
        acpi_madt_ioapic(b, 1, MICROVM_IOAPIC2, IOAPIC_PINS);
    }
    acpi_madt_override(b, 0, PIT_GSI, 0);
    acpi_madt_nmi(b);
    acpi_table_end(b, at, true);
}

bool microvm_acpi_init(MicrovmMachine *mv, Error **errp)
{
    AcpiBuild *b = acpi_build_new(mv->parent.oem_id, mv->parent.oem_table_id);

    mv->acpi = b;
    build_fadt(b, build_dsdt(b, mv));
    build_madt(b, mv);
    if (mv->pcie) {
        acpi_build_mcfg(b, MICROVM_ECAM, MICROVM_ECAM_SIZE / PCI_ECAM_BUS_SIZE - 1);
    }
    return acpi_build_finish(b, mv->fw_cfg, errp);
}
