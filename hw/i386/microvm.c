/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The microvm machine type and the order in which one is built; address map in include/hw/i386/microvm.h.
 *
 * Left out: USB (usb=on), device-tree blobs of the user (dtb=). Main thread. Tests: tests/unit/test-microvm.c,
 * tests/boot/test-microvm.py.
 */
#include "hw/i386/microvm.h"

#include <inttypes.h>

#include "util/units.h"

static bool microvm_check_config(MicrovmMachine *mv, Error **errp)
{
    Machine *m = &mv->parent;

    if (!x86_board_check_config(m, errp)) {
        return false;
    }
    if (m->config.dtb) {
        error_set(errp, "Parameter 'dtb' names '%s': microvm makes its own device tree and takes none", m->config.dtb);
        return false;
    }
    if (m->usb) {
        error_set(errp, "Parameter 'usb' asks for a USB controller, which is not available yet");
        return false;
    }
    if (m->smm == ON_OFF_AUTO_ON && !m->accel_chips.smm) {
        error_set(errp, "Parameter 'smm' cannot be on: this accelerator's CPUs have no system management mode");
        return false;
    }
    if (m->config.ram_size < MiB) {
        error_set(errp, "microvm needs at least 1 MiB of memory, not %" PRIu64 " bytes", m->config.ram_size);
        return false;
    }
    return true;
}

/* A second I/O APIC is worth it for the slots, but accelerators' own chips know only the first. */
static bool microvm_choose_ioapics(MicrovmMachine *mv, Error **errp)
{
    const AccelChips *chips = &mv->parent.accel_chips;
    bool can = !chips->gsi_set && !chips->ioapic_changed;

    if (mv->ioapic2_on == ON_OFF_AUTO_ON && !can) {
        error_set(errp, "Parameter 'ioapic2' cannot be on with the accelerator's interrupt controllers: "
                  "use kernel-irqchip=off");
        return false;
    }
    mv->two_ioapics = can && microvm_has_acpi(mv) && mv->ioapic2_on != ON_OFF_AUTO_OFF;
    return true;
}

static bool microvm_memory_init(MicrovmMachine *mv, Error **errp)
{
    Machine *m = &mv->parent;

    mv->below_4g = MIN_OF(m->config.ram_size, MICROVM_LOW_MAX);
    mv->above_4g = m->config.ram_size - mv->below_4g;
    if (!machine_init_ram(m, "microvm.ram", errp)) {
        return false;
    }
    memory_transaction_begin();
    memory_region_init_alias(&mv->ram_below, &m->obj, "ram-below-4g", m->ram, 0, mv->below_4g);
    memory_region_add(&m->system_memory, 0, &mv->ram_below, 0);
    if (mv->above_4g) {
        memory_region_init_alias(&mv->ram_above, &m->obj, "ram-above-4g", m->ram, mv->below_4g, mv->above_4g);
        memory_region_add(&m->system_memory, 4 * GiB, &mv->ram_above, 0);
    }
    memory_transaction_commit();
    return true;
}

static bool microvm_build(Machine *m, Error **errp)
{
    MicrovmMachine *mv = (MicrovmMachine *)m;

    microvm_gsi_init(mv);
    if (!microvm_check_config(mv, errp) || !microvm_choose_ioapics(mv, errp) || !microvm_memory_init(mv, errp) ||
        !x86_board_cpus_create(m, &mv->cpus, &mv->n_cpus, errp)) {
        return false;
    }
    mv->fw_cfg = x86_board_fw_cfg_create(m, errp);
    return mv->fw_cfg && microvm_chips_create(mv, errp);
}

static bool microvm_finish(Machine *m, Error **errp)
{
    MicrovmMachine *mv = (MicrovmMachine *)m;

    if ((microvm_has_acpi(mv) && !microvm_acpi_init(mv, errp)) || !microvm_boot_finish(mv, errp)) {
        return false;
    }
    fw_cfg_seal(mv->fw_cfg);
    return true;
}

static void microvm_fini(Object *obj)
{
    MicrovmMachine *mv = (MicrovmMachine *)obj;

    directboot_free(mv->boot);
    acpi_build_free(mv->acpi);
    g_free(mv->cpus);
}

static const Property microvm_props[] = {
    PROP_FIELD("rtc", PROP_ONOFFAUTO, MicrovmMachine, rtc_on, ON_OFF_AUTO_AUTO, "the MC146818 clock"),
    PROP_FIELD("pcie", PROP_ONOFFAUTO, MicrovmMachine, pcie_on, ON_OFF_AUTO_AUTO, "a PCI Express host bridge"),
    PROP_FIELD("ioapic2", PROP_ONOFFAUTO, MicrovmMachine, ioapic2_on, ON_OFF_AUTO_AUTO, "a second I/O APIC"),
    PROP_FIELD("isa-serial", PROP_BOOL, MicrovmMachine, isa_serial, true, "an ISA serial port"),
    PROP_FIELD("x-option-roms", PROP_BOOL, MicrovmMachine, option_roms, true, "offer option ROMs to firmware"),
    PROP_FIELD("auto-kernel-cmdline", PROP_BOOL, MicrovmMachine, auto_cmdline, true,
               "without ACPI: name taken virtio slots on the kernel command line"),
    PROP_END
};

static const MachineOps microvm_ops = {
    .max_cpus = MICROVM_MAX_CPUS, .default_ram_size = 128 * MiB, .default_cpu = "qemu64", .build = microvm_build,
    .finish = microvm_finish,
};

static const Type microvm_type = {
    .name = "microvm-machine", .parent = "x86-machine", .desc = "microvm (i386)", .size = sizeof(MicrovmMachine),
    .props = microvm_props, .fini = microvm_fini, .ops = &microvm_ops,
};
TYPE_REGISTER(microvm_type)
