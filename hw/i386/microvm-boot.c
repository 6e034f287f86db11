/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a microvm starts: a kernel without firmware, or firmware (-bios, or SeaBIOS made for microvm, or qboot where
 * there is no ACPI); and the numbers in fw_cfg.
 *
 * With -kernel and no -bios this file does firmware's part at each reset: memory types, PCI resources, tables in
 * memory. Without ACPI, taken virtio slots are named on the kernel's command line (auto-kernel-cmdline). Main thread.
 * Tests: tests/unit/test-microvm.c, tests/boot/test-microvm.py.
 */
#include "hw/i386/microvm.h"

#include "system/runstate.h"
#include "util/units.h"

#define BIOS_ACPI "bios-microvm.bin"
#define BIOS_PLAIN "qboot.rom"
#define BIOS_ALIAS_MAX (64 * KiB)
#define LOW_TOP 0x9fc00                 /* the last KiB of base memory is the EBDA's */
#define RSDP_ADDR 0xf0000
#define TABLES_ALIGN (64 * KiB)
#define IO_BASE 0x1000

/* ---- fw_cfg ---- */

static void put_le(GByteArray *out, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        uint8_t byte = v >> 8 * i;

        g_byte_array_append(out, &byte, 1);
    }
}

static void put_e820(GByteArray *out, uint64_t addr, uint64_t size)
{
    put_le(out, addr, 8);
    put_le(out, size, 8);
    put_le(out, E820_RAM, 4);
}

static bool fw_cfg_fill(MicrovmMachine *mv, Error **errp)
{
    g_autoptr(GByteArray) e820 = g_byte_array_new();

    x86_board_fw_cfg_numbers(&mv->parent, mv->fw_cfg, mv->cpus, mv->n_cpus);
    put_e820(e820, 0, mv->below_4g);
    if (mv->above_4g) {
        put_e820(e820, 4 * GiB, mv->above_4g);
    }
    return fw_cfg_add_file(mv->fw_cfg, "etc/e820", e820->data, e820->len, errp);
}

/* ---- direct boot ---- */

char *microvm_command_line(const MicrovmMachine *mv)
{
    const char *append = mv->parent.config.append;
    GString *line = g_string_new(append ? append : "");

    for (unsigned n = mv->n_slots; n-- > 0 && mv->auto_cmdline && !microvm_has_acpi(mv);) {
        if (virtio_mmio_taken(mv->slot[n])) {
            g_string_append_printf(line, " virtio_mmio.device=%d@0x%x:%u", VIRTIO_MMIO_SIZE,
                                   MICROVM_SLOTS_BASE + n * VIRTIO_MMIO_SIZE, mv->slot_gsi + n);
        }
    }
    return g_string_free(line, FALSE);
}

static void boot_e820(const MicrovmMachine *mv, DirectBoot *b)
{
    b->n_e820 = 0;
    e820_add(b, 0, MIN_OF(mv->below_4g, LOW_TOP), E820_RAM);
    e820_add(b, LOW_TOP, 0xa0000 - LOW_TOP, E820_RESERVED);
    e820_add(b, 0xf0000, MiB - 0xf0000, E820_RESERVED);
    e820_add(b, MiB, mv->tables_addr - MiB, E820_RAM);
    e820_add(b, mv->tables_addr, mv->below_4g - mv->tables_addr, E820_ACPI);
    if (mv->pcie) {
        e820_add(b, MICROVM_ECAM, MICROVM_ECAM_SIZE, E820_RESERVED);
    }
    e820_add(b, 4 * GiB, mv->above_4g, E820_RAM);
}

static uint8_t boot_line_of(void *opaque, PCIDevice *d, int pin)
{
    return MICROVM_PCIE_GSI + (PCI_SLOT(d->devfn) + pin) % PCI_PINS;
}

static void boot_pci(MicrovmMachine *mv)
{
    PCIWindows w = {
        .io_base = IO_BASE, .mem_base = MICROVM_PCIE_MEM, .mem_end = MICROVM_PCIE_MEM + (uint64_t)MICROVM_PCIE_MEM_SIZE,
        .high_base = ALIGN_UP(4 * GiB + mv->above_4g, GiB), .line_of = boot_line_of, .opaque = mv,
    };

    if (mv->pcie) {
        pci_assign_resources(mv->pcie->bus, &w);
    }
}

static void boot_reset(void *opaque)
{
    MicrovmMachine *mv = opaque;
    AddressSpace *as = &mv->parent.as_memory;

    boot_pci(mv);
    x86_board_mtrrs(mv->cpus, mv->n_cpus, MICROVM_LOW_MAX);
    if (mv->acpi) {
        acpi_write_tables(mv->acpi, as, mv->tables_addr, RSDP_ADDR);
    }
    boot_e820(mv, mv->boot);
    mv->boot->rsdp = mv->acpi ? RSDP_ADDR : 0;
    directboot_run(mv->boot, as, mv->cpus[0]);
}

static bool boot_direct_prepare(MicrovmMachine *mv, Error **errp)
{
    const MachineConfig *c = &mv->parent.config;
    uint64_t tables = mv->acpi ? ALIGN_UP(acpi_tables_size(mv->acpi), TABLES_ALIGN) : 0;
    g_autofree char *line = microvm_command_line(mv);

    if (mv->below_4g < 2 * MiB + tables) {
        error_set(errp, "kernel '%s' does not fit into %" G_GUINT64_FORMAT " bytes of memory", c->kernel, c->ram_size);
        return false;
    }
    mv->tables_addr = tables ? ALIGN_DOWN(mv->below_4g - tables, TABLES_ALIGN) : mv->below_4g;
    mv->boot = directboot_prepare(c->kernel, c->initrd, line, mv->tables_addr, errp);
    if (!mv->boot) {
        return false;
    }
    reset_hook_add(boot_reset, mv);
    return true;
}

bool microvm_boot_finish(MicrovmMachine *mv, Error **errp)
{
    const MachineConfig *c = &mv->parent.config;

    if (!fw_cfg_fill(mv, errp)) {
        return false;
    }
    if (!c->kernel && (c->initrd || c->append)) {
        error_set(errp, "%s only allowed with -kernel option", c->initrd ? "-initrd" : "-append");
        return false;
    }
    if (c->kernel && c->bios) {
        error_set(errp, "-kernel '%s' together with -bios needs a boot ROM that microvm does not have yet", c->kernel);
        return false;
    }
    if (c->kernel) {
        return boot_direct_prepare(mv, errp);
    }
    return x86_board_bios_init(&mv->parent, &mv->bios, &mv->parent.system_memory,
                               microvm_has_acpi(mv) ? BIOS_ACPI : BIOS_PLAIN, "microvm firmware", BIOS_ALIAS_MAX, errp);
}
