/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a PC starts: firmware, or a kernel without it; and what either finds in CMOS and fw_cfg.
 *
 * With -kernel, no -bios and no option ROM (a device's or -option-rom's), no firmware runs: at each reset, after the
 * devices' resets, this file does firmware's part (PCI resources, interrupt routing, MTRRs, tables in memory) and
 * enters the kernel. Main thread.
 * Tests: tests/unit/test-pc.c, tests/boot/.
 */
#include "hw/i386/acpi-build.h"
#include "hw/i386/chipset.h"
#include "hw/i386/linuxboot.h"
#include "hw/i386/pc-fw_cfg.h"
#include "hw/i386/smbios.h"
#include "system/runstate.h"
#include "util/units.h"

#define IO_BASE 0xc000                  /* first port for BARs, as firmware has it */
#define MMIO_END 0xfec00000u            /* end of the hole for BARs below 4 GiB */
#define LOW_TOP 0x9fc00                 /* the last KiB of base memory is the EBDA's */
#define RSDP_ADDR 0xf0000
#define SMBIOS_ANCHOR 0xf0040
#define SMBIOS_TABLE 0xf0080
#define SEGMENT_END 0x100000
#define RESET_VECTOR 0xffff0            /* directboot's: no table from here on */
#define TABLES_ALIGN (64 * KiB)
#define FIRMWARE_RESERVE (256 * KiB)    /* besides the tables: what firmware keeps at the top of low RAM */

/* ---- CMOS ---- */

/* -boot's letters as the nibbles that firmware reads: a floppy, c disk, d CD-ROM, n network. */
static unsigned cmos_boot_code(char letter)
{
    switch (letter) {
    case 'a': case 'b': return 1;
    case 'c': return 2;
    case 'd': return 3;
    case 'n': return 4;
    default: return 0;
    }
}

static void cmos_boot_order(PcMachine *pc, const char *order)
{
    unsigned code[3] = { 0 };

    for (int i = 0; i < 3 && order[i]; i++) {
        code[i] = cmos_boot_code(order[i]);
    }
    rtc_cmos_set(pc->rtc, 0x3d, code[1] << 4 | code[0]);
    rtc_cmos_set(pc->rtc, 0x38, code[2] << 4 | pc->parent.config.no_fd_bootchk);
}

static const char *boot_order(const PcMachine *pc)
{
    return pc->parent.config.boot_order ? pc->parent.config.boot_order : "cad";
}

/* The machine's first start is a reset too: once= holds until the next. */
static void cmos_reset(void *opaque)
{
    PcMachine *pc = opaque;

    if (pc->started) {
        cmos_boot_order(pc, boot_order(pc));
    }
    pc->started = true;
}

void pc_cmos_init(PcMachine *pc)
{
    const char *once = pc->parent.config.boot_once;

    x86_board_cmos_memory(pc->rtc, pc->below_4g, pc->above_4g);
    rtc_cmos_set(pc->rtc, 0x5f, pc->n_cpus - 1);
    cmos_boot_order(pc, once ? once : boot_order(pc));
    rtc_cmos_set(pc->rtc, 0x14, 0x06);          /* coprocessor, pointing device */
    if (once) {
        reset_hook_add(cmos_reset, pc);
    }
}

/* ---- memory map ---- */

static void e820_build(const PcMachine *pc, DirectBoot *b)
{
    b->n_e820 = 0;
    e820_add(b, 0, MIN_OF(pc->below_4g, LOW_TOP), E820_RAM);
    e820_add(b, LOW_TOP, 0xa0000 - LOW_TOP, E820_RESERVED);
    e820_add(b, 0xf0000, SEGMENT_END - 0xf0000, E820_RESERVED);
    e820_add(b, MiB, pc->tables_addr - MiB, E820_RAM);
    e820_add(b, pc->tables_addr, pc->below_4g - pc->tables_addr, E820_ACPI);
    if (pc->kind->pcie) {
        e820_add(b, PC_ECAM_BASE, PC_ECAM_SIZE, E820_RESERVED);
        e820_add(b, PC_RCBA_BASE, 0x4000, E820_RESERVED);
    }
    e820_add(b, 0xfeffc000, 0x4000, E820_RESERVED);
    e820_add(b, 0xfffc0000, 0x40000, E820_RESERVED);
    e820_add(b, 4 * GiB, pc->above_4g, E820_RAM);
}

/* ---- direct boot ---- */

static uint8_t boot_line_of(void *opaque, PCIDevice *d, int pin)
{
    PcMachine *pc = opaque;

    return pc->kind->irq_line_of(pc, d, pin);
}

static void boot_pci(PcMachine *pc)
{
    PCIWindows w = {
        .io_base = IO_BASE, .mem_end = MMIO_END, .high_base = ALIGN_UP(4 * GiB + pc->above_4g, GiB),
        .mem_base = pc->kind->pci_hole_start ? pc->kind->pci_hole_start : ALIGN_UP(pc->below_4g, 256 * MiB),
        .line_of = boot_line_of, .opaque = pc,
    };

    pci_assign_resources(pc->host->bus, &w);
}

/* First address of what is uncached below 4 GiB: a range of which the size is a power of two, above all RAM there. */
static uint64_t boot_uncached_start(const PcMachine *pc)
{
    static const uint64_t starts[] = { 0x80000000, 0xc0000000 };

    for (size_t i = pc->kind->pcie ? 0 : 1; i < G_N_ELEMENTS(starts); i++) {
        if (pc->below_4g <= starts[i]) {
            return starts[i];
        }
    }
    return 0xe0000000;
}

static void boot_tables(PcMachine *pc)
{
    AddressSpace *as = &pc->parent.as_memory;

    if (pc->acpi) {
        acpi_write_tables(pc->acpi, as, pc->tables_addr, RSDP_ADDR);
    }
    smbios_write_tables(pc->smbios, as, SMBIOS_ANCHOR, SMBIOS_TABLE, RESET_VECTOR - SMBIOS_TABLE);
}

static void boot_reset(void *opaque)
{
    PcMachine *pc = opaque;

    boot_pci(pc);
    x86_board_mtrrs(pc->cpus, pc->n_cpus, boot_uncached_start(pc));
    boot_tables(pc);
    e820_build(pc, pc->boot);
    pc->boot->rsdp = pc->acpi ? RSDP_ADDR : 0;
    directboot_run(pc->boot, &pc->parent.as_memory, pc->cpus[0]);
}

static bool boot_direct_prepare(PcMachine *pc, Error **errp)
{
    const MachineConfig *c = &pc->parent.config;
    uint64_t tables = pc->acpi ? ALIGN_UP(acpi_tables_size(pc->acpi), TABLES_ALIGN) : 0;

    if (pc->below_4g < 2 * MiB + tables) {
        error_set(errp, "kernel '%s' does not fit into %" G_GUINT64_FORMAT " bytes of memory", c->kernel, c->ram_size);
        return false;
    }
    pc->tables_addr = ALIGN_DOWN(pc->below_4g - tables, TABLES_ALIGN);
    if (!tables) {
        pc->tables_addr = pc->below_4g;
    }
    pc->boot = directboot_prepare(c->kernel, c->initrd, c->append, pc->tables_addr, errp);
    if (!pc->boot) {
        return false;
    }
    reset_hook_add(boot_reset, pc);
    return true;
}

/* ---- firmware ---- */

static bool boot_needs_firmware(const PcMachine *pc)
{
    const MachineConfig *c = &pc->parent.config;

    return !c->kernel || c->bios || c->n_option_roms || pci_has_option_rom(pc->host->bus);
}

static bool boot_firmware_prepare(PcMachine *pc, Error **errp)
{
    uint64_t reserve = FIRMWARE_RESERVE + (pc->acpi ? ALIGN_UP(acpi_tables_size(pc->acpi), TABLES_ALIGN) : 0);

    if (!pc_bios_init(pc, errp)) {
        return false;
    }
    if (pc->parent.config.kernel) {
        pc->linuxboot = linuxboot_new(pc, pc->below_4g > reserve ? pc->below_4g - reserve : 0, errp);
    }
    return !pc->parent.config.kernel || pc->linuxboot;
}

bool pc_boot_finish(PcMachine *pc, Error **errp)
{
    const MachineConfig *c = &pc->parent.config;
    bool ok;

    if (!c->kernel && (c->initrd || c->append)) {
        error_set(errp, "%s only allowed with -kernel option", c->initrd ? "-initrd" : "-append");
        return false;
    }
    ok = boot_needs_firmware(pc) ? boot_firmware_prepare(pc, errp) : boot_direct_prepare(pc, errp);
    return ok && pc_fw_cfg_fill(pc, errp);
}
