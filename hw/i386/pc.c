/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PC machine types: pc-i440fx-* (alias pc, the default) and pc-q35-* (alias q35), and the order in which one is
 * built.
 *
 * pc_build() makes memory, CPUs and chips; -device comes after it; pc_finish() makes what depends on all devices:
 * firmware
 * or direct boot, tables, fw_cfg's directory. Version names only select defaults (PcVersion). Main thread.
 * Tests: tests/unit/test-pc.c, tests/boot/.
 */
#include "hw/i386/pc.h"

#include <string.h>

#include "hw/i386/acpi-build.h"
#include "hw/i386/chipset.h"
#include "hw/i386/linuxboot.h"
#include "hw/i386/pc-fw_cfg.h"
#include "hw/i386/smbios.h"
#include "target/i386/apic.h"
#include "target/i386/smm.h"
#include "util/units.h"

#define PC_DEFAULT_CPU "qemu64"

PcMachine *pc_machine(void)
{
    Machine *m = machine_current();

    return m && object_is_a(&m->obj, "generic-pc-machine") ? (PcMachine *)m : NULL;
}

/* ---- building ---- */

static bool pc_host_create(PcMachine *pc, Error **errp)
{
    pc->host = (PCIHost *)device_new(pc->kind->host_type);
    object_add_child(&pc->parent.obj, pc->kind->pcie ? "q35" : "i440fx", &pc->host->parent.obj);
    if (!device_plug(&pc->host->parent, NULL, errp)) {
        return false;
    }
    pc->host->bus->dma = &pc->parent.system_memory;
    pc->host->bus->msi_send = apic_send_msi;
    return pc->kind->create_bridges(pc, errp);
}

static bool pc_check_config(const PcMachine *pc, Error **errp)
{
    const char *dtb = pc->parent.config.dtb;

    if (!x86_board_check_config(&pc->parent, errp)) {
        return false;
    }
    if (dtb) {
        error_set(errp, "Parameter 'dtb' names '%s', but a PC has no device tree", dtb);
        return false;
    }
    if (pc->parent.pic == ON_OFF_AUTO_OFF) {
        error_set(errp, "Parameter 'pic' cannot be off on a PC machine: it needs microvm");
        return false;
    }
    if (pc->parent.usb) {
        error_set(errp, "Parameter 'usb' asks for a USB controller, which is not available yet");
        return false;
    }
    return true;
}

static bool pc_check_smm(PcMachine *pc, Error **errp)
{
    const Machine *m = &pc->parent;

    if (m->smm == ON_OFF_AUTO_ON && !m->accel_chips.smm) {
        error_set(errp, "Parameter 'smm' cannot be on: this accelerator's CPUs have no system management mode");
        return false;
    }
    pc->smm = m->smm != ON_OFF_AUTO_OFF && m->accel_chips.smm;
    return true;
}

static bool pc_cpus_create(PcMachine *pc, Error **errp)
{
    if (!x86_board_cpus_create(&pc->parent, &pc->cpus, &pc->n_cpus, errp)) {
        return false;
    }
    for (unsigned i = 0; pc->smm && i < pc->n_cpus; i++) {
        x86_cpu_set_smm_memory(pc->cpus[i], &pc->as_smm);
    }
    return true;
}

bool pc_build(Machine *m, Error **errp)
{
    PcMachine *pc = (PcMachine *)m;
    const PcOps *ops = type_ops(m->obj.type);

    pc->kind = ops->kind;
    pc->version = ops->version;
    pc_gsi_init(pc);
    if (!pc_check_config(pc, errp) || !pc_check_smm(pc, errp) || !pc_memory_init(pc, errp) ||
        !pc_cpus_create(pc, errp) || !pc_host_create(pc, errp) ||
        !pc_chips_create(pc, errp)) {
        return false;
    }
    pc->fw_cfg = x86_board_fw_cfg_create(m, errp);
    return pc->fw_cfg && x86_board_serials_create(m, pc->isa, PC_SERIALS, errp) &&
           x86_board_debugcon_create(m, pc->isa, errp);
}

bool pc_finish(Machine *m, Error **errp)
{
    PcMachine *pc = (PcMachine *)m;

    pc_cmos_init(pc);
    if (!pc_smbios_init(pc, errp)) {
        return false;
    }
    if (m->acpi != ON_OFF_AUTO_OFF && !pc_acpi_init(pc, errp)) {
        return false;
    }
    if (!pc_boot_finish(pc, errp)) {
        return false;
    }
    fw_cfg_seal(pc->fw_cfg);
    return true;
}

/* ---- types ---- */

static void pc_machine_fini(Object *obj)
{
    PcMachine *pc = (PcMachine *)obj;

    directboot_free(pc->boot);
    linuxboot_free(pc->linuxboot);
    acpi_build_free(pc->acpi);
    smbios_build_free(pc->smbios);
    pc_fw_cfg_free(pc);
    g_free(pc->cpus);
}

static const char *const smbios_entries[] = { "auto", "32", "64", NULL };
static const Property pc_machine_props[] = {
    PROP_FIELD("max-ram-below-4g", PROP_SIZE, PcMachine, max_ram_below_4g, 0, "RAM that shows below 4 GiB"),
    PROP_FIELD("hpet", PROP_BOOL, PcMachine, parent.hpet_on, true, "the HPET"),
    PROP_FIELD("vmport", PROP_ONOFFAUTO, PcMachine, parent.vmport, ON_OFF_AUTO_AUTO, "the VMware back door port"),
    PROP_FIELD("i8042", PROP_BOOL, PcMachine, i8042_enabled, true, "the keyboard controller"),
    MACHINE_PART("sata", "bool", "off", "a SATA controller"),
    MACHINE_PART("smbus", "bool", "off", "an SMBus controller"),
    MACHINE_PART("default-bus-bypass-iommu", "bool", "off", "an IOMMU"),
    MACHINE_PART("max-fw-size", "size", "8M", "flash memory for firmware"),
    { .name = "smbios-entry-point-type", .kind = PROP_ENUM, .offset = offsetof(PcMachine, smbios_entry),
      .has_default = true, .enum_names = smbios_entries, .help = "SMBIOS 2.8 (32) or 3.0 (64) entry point" },
    PROP_END
};

static const Type pc_machine_type = {
    .name = "generic-pc-machine", .parent = "x86-machine", .abstract = true, .size = sizeof(PcMachine),
    .props = pc_machine_props, .fini = pc_machine_fini,
};
TYPE_REGISTER(pc_machine_type)

static const PcKind kind_i440fx = {
    .bus_name = "pci.0", .host_type = "i440FX-pcihost", .small_max = 0xe0000000, .split = 0xc0000000,
    .hpet_intcap = 0x4, .create_bridges = pc_create_i440fx, .irq_line_of = piix3_line_of,
};
static const PcKind kind_q35 = {
    .pcie = true, .bus_name = "pcie.0", .host_type = "q35-pcihost", .small_max = 0xb0000000, .split = 0x80000000,
    .pci_hole_start = PC_ECAM_BASE + PC_ECAM_SIZE, .hpet_intcap = 0xff0104, .create_bridges = pc_create_q35,
    .irq_line_of = ich9_line_of,
};

/*
 * Versions whose boards look the same to a guest but for PcVersion: from 8.1 on the SMBIOS entry point is the 64-bit
 * one.
 * Versions older than 6.0 differ in more than that and are not offered.
 */
#define PC_VERSIONS(X) \
    X(10, 0, true) X(9, 2, true) X(9, 1, true) X(9, 0, true) X(8, 2, true) X(8, 1, true) X(8, 0, false) \
    X(7, 2, false) X(7, 1, false) X(7, 0, false) X(6, 2, false) X(6, 1, false) X(6, 0, false)
#define LATEST(major, minor) ((major) == 10 && (minor) == 0)

#define PC_MACHINE(family, words, nick, def, major, minor, smbios64) \
    static const PcVersion family##_##major##_##minor##_version = { #major "." #minor, smbios64 }; \
    static const PcOps family##_##major##_##minor##_ops = { \
        .machine = { .max_cpus = PC_MAX_CPUS, .default_ram_size = 128 * MiB, .default_cpu = PC_DEFAULT_CPU, \
                     .alias = LATEST(major, minor) ? nick : NULL, .is_default = LATEST(major, minor) && def, \
                     .build = pc_build, .finish = pc_finish }, \
        .kind = &kind_##family, .version = &family##_##major##_##minor##_version, \
    }; \
    static const Type family##_##major##_##minor##_type = { \
        .name = "pc-" #family "-" #major "." #minor "-machine", .parent = "generic-pc-machine", .desc = words, \
        .ops = &family##_##major##_##minor##_ops, \
    }; \
    TYPE_REGISTER(family##_##major##_##minor##_type)

#define PC_I440FX(...) PC_MACHINE(i440fx, "Standard PC (i440FX + PIIX, 1996)", "pc", true, __VA_ARGS__)
PC_VERSIONS(PC_I440FX)
#define PC_Q35(...) PC_MACHINE(q35, "Standard PC (Q35 + ICH9, 2009)", "q35", false, __VA_ARGS__)
PC_VERSIONS(PC_Q35)
