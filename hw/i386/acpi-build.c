/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fixed ACPI tables of the PC boards; contract in include/hw/i386/acpi-build.h.
 *
 * Tables: ACPI 6.4 ch. 5; HPET: IA-PC HPET 3.2.4; MCFG: PCI Firmware 3.2 4.1.2. How they are put together:
 * hw/i386/acpi-tables.c. Main thread. Test: tests/boot/test-tables.py.
 */
#include "hw/i386/acpi-build.h"

#include "hw/i386/acpi-dsdt.h"
#include "util/units.h"

static guint build_facs(AcpiBuild *a)
{
    guint at = a->tables->len;          /* first in the blob: it wants 64-byte alignment */

    acpi_put_text(a, "FACS", 4);
    acpi_put(a, 64, 4);
    acpi_put_zeros(a, 24);
    acpi_put(a, 2, 1);                  /* version, offset 32 */
    acpi_put_zeros(a, 31);
    return at;
}

static guint build_dsdt(AcpiBuild *a, const PcMachine *pc)
{
    guint at = acpi_table_begin(a, "DSDT", 2);
    Aml aml = { .out = a->tables };

    acpi_dsdt_build(pc, &aml);
    acpi_table_end(a, at, false);
    return at;
}

enum { FADT_WBINVD = 1 << 0, FADT_PROC_C1 = 1 << 2, FADT_SLP_BUTTON = 1 << 5, FADT_RESET_REG = 1 << 10,
       FADT_USE_PLATFORM_CLOCK = 1 << 15, FADT_CLUSTER = 1 << 18 };
enum { BOOT_LEGACY = 1 << 0, BOOT_8042 = 1 << 1 };

static uint32_t fadt_flags(const PcMachine *pc)
{
    return FADT_WBINVD | FADT_PROC_C1 | FADT_SLP_BUTTON | FADT_RESET_REG | FADT_USE_PLATFORM_CLOCK |
           (pc->n_cpus > 8 ? FADT_CLUSTER : 0);
}

/* Ports of the fixed hardware; gpe_len in bytes, status and enable together. */
typedef struct FadtPorts {
    uint32_t event, control, timer, gpe;
    uint8_t gpe_len;
} FadtPorts;

static void fadt_legacy(AcpiBuild *a, const PcMachine *pc, const FadtPorts *p)
{
    bool q35 = pc->kind->pcie;

    acpi_put(a, 1, 1);                  /* INT_MODEL of ACPI 1.0: dual PIC and APIC */
    acpi_put(a, 0, 1);                  /* profile: unspecified */
    acpi_put(a, PC_SCI_GSI, 2);
    acpi_put(a, ACPI_APM_PORT, 4);
    acpi_put(a, q35 ? ACPI_ICH9_ENABLE : ACPI_PIIX4_ENABLE, 1);
    acpi_put(a, q35 ? ACPI_ICH9_DISABLE : ACPI_PIIX4_DISABLE, 1);
    acpi_put(a, 0, 2);                  /* S4BIOS, PSTATE */
    acpi_put(a, p->event, 4);
    acpi_put(a, 0, 4);
    acpi_put(a, p->control, 4);
    acpi_put(a, 0, 8);                  /* PM1b control, PM2 */
    acpi_put(a, p->timer, 4);
    acpi_put(a, p->gpe, 4);
    acpi_put(a, 0, 4);
    acpi_put(a, 4, 1);                  /* lengths: PM1 event, control, PM2, timer, GPE 0 and 1 */
    acpi_put(a, 2, 1);
    acpi_put(a, 0, 1);
    acpi_put(a, 4, 1);
    acpi_put(a, p->gpe_len, 1);
    acpi_put(a, 0, 3);                  /* GPE 1's length and base, CST */
    acpi_put(a, 0xfff, 2);              /* no C2, no C3 */
    acpi_put(a, 0xfff, 2);
    acpi_put(a, 0, 6);                  /* flush size and stride, duty */
    acpi_put(a, 0, 2);                  /* no day and month alarms */
    acpi_put(a, 0x32, 1);               /* century register */
    acpi_put(a, BOOT_LEGACY | (pc->i8042_enabled ? BOOT_8042 : 0), 2);
    acpi_put(a, 0, 1);
    acpi_put(a, fadt_flags(pc), 4);
    acpi_put_gas(a, 1, 8, 1, RESET_CONTROL_PORT);
    acpi_put(a, 0x0f, 1);
    acpi_put(a, 0, 2);                  /* ARM */
    acpi_put(a, 5, 1);                  /* FADT minor version: 6.5's fields up to here */
}

static void build_fadt(AcpiBuild *a, const PcMachine *pc, guint facs, guint dsdt)
{
    bool q35 = pc->kind->pcie;
    const FadtPorts p = {
        ACPI_PIIX4_PMBASE, ACPI_PIIX4_PMBASE + 4, ACPI_PIIX4_PMBASE + 8,
        q35 ? ACPI_PIIX4_PMBASE + 0x20 : ACPI_PIIX4_GPE_BASE, q35 ? 16 : 4,
    };
    guint at = acpi_table_begin(a, "FACP", 6);

    acpi_put(a, facs, 4);
    acpi_put(a, dsdt, 4);
    fadt_legacy(a, pc, &p);
    acpi_put(a, 0, 8);                  /* X_FACS: the 32-bit one counts */
    acpi_put(a, dsdt, 8);
    acpi_put_gas(a, 1, 32, 0, p.event);
    acpi_put_gas(a, 1, 0, 0, 0);
    acpi_put_gas(a, 1, 16, 0, p.control);
    acpi_put_gas(a, 1, 0, 0, 0);
    acpi_put_gas(a, 1, 0, 0, 0);
    acpi_put_gas(a, 1, 32, 0, p.timer);
    acpi_put_gas(a, 1, p.gpe_len * 8, 0, p.gpe);
    acpi_put_gas(a, 1, 0, 0, 0);
    acpi_put_gas(a, 1, 0, 0, 0);        /* sleep control and status: only reduced hardware has them */
    acpi_put_gas(a, 1, 0, 0, 0);
    acpi_put_zeros(a, 8);               /* hypervisor vendor */
    acpi_link_pointer(a, at + 36, 4);
    acpi_link_pointer(a, at + 40, 4);
    acpi_link_pointer(a, at + 140, 8);
    acpi_table_end(a, at, true);
}

static void build_madt(AcpiBuild *a, const PcMachine *pc)
{
    static const uint8_t level_irqs[] = { 5, 9, 10, 11 };   /* where PCI interrupts and SCI may be */
    guint at = acpi_table_begin(a, "APIC", 5);

    acpi_put(a, PC_APIC_BASE, 4);
    acpi_put(a, 1, 4);                  /* 8259s are there too */
    for (unsigned i = 0; i < pc->n_cpus; i++) {
        acpi_madt_cpu(a, i, pc->cpus[i]->apic_id);
    }
    acpi_madt_ioapic(a, 0, PC_IOAPIC_BASE, 0);
    acpi_madt_override(a, 0, 2, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(level_irqs); i++) {
        acpi_madt_override(a, level_irqs[i], level_irqs[i], 0x0d);   /* active high, level */
    }
    acpi_madt_nmi(a);
    acpi_table_end(a, at, true);
}

static void build_hpet(AcpiBuild *a)
{
    guint at = acpi_table_begin(a, "HPET", 1);

    acpi_put(a, 0x8086a201, 4);
    acpi_put_gas(a, 0, 0, 0, PC_HPET_BASE);
    acpi_put(a, 0, 4);                  /* number, shortest period, protection */
    acpi_table_end(a, at, true);
}

/* Windows' emulated devices: the PM timer is good to read once. */
static void build_waet(AcpiBuild *a)
{
    guint at = acpi_table_begin(a, "WAET", 1);

    acpi_put(a, 2, 4);
    acpi_table_end(a, at, true);
}

bool pc_acpi_init(PcMachine *pc, Error **errp)
{
    AcpiBuild *a = acpi_build_new(pc->parent.oem_id, pc->parent.oem_table_id);
    guint facs, dsdt;

    pc->acpi = a;
    facs = build_facs(a);
    dsdt = build_dsdt(a, pc);
    build_fadt(a, pc, facs, dsdt);
    build_madt(a, pc);
    if (pc->hpet) {
        build_hpet(a);
    }
    if (pc->kind->pcie) {
        acpi_build_mcfg(a, PC_ECAM_BASE, PC_ECAM_SIZE / PCI_ECAM_BUS_SIZE - 1);
    }
    build_waet(a);
    return acpi_build_finish(a, pc->fw_cfg, errp);
}
