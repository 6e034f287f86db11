/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PC boards' memory map: RAM below and above 4 GiB, the PCI side below it, firmware at its top.
 *
 *   0 .. below_4g            RAM; a0000h..fffffh shows what the host bridge's attribute map says
 *   below_4g .. 4 GiB        PCI holes, I/O APIC, HPET, local APIC, BIOS (ends at 4 GiB; its last 128 KiB also below
 * 1 MiB)
 *   4 GiB ..                 the rest of RAM, then 64-bit BARs
 *
 * System management mode sees the same with SMRAM laid over it (pc->as_smm).
 *
 * Main thread. Test: tests/unit/test-pc.c.
 */
#include <inttypes.h>

#include "hw/i386/pc.h"
#include "util/units.h"

#define DEFAULT_BIOS "bios-256k.bin"

/* How much RAM shows below 4 GiB. A size that does not leave large pages whole is only worth it for small guests. */
static bool pc_split_ram(PcMachine *pc, Error **errp)
{
    uint64_t ram = pc->parent.config.ram_size, low = pc->kind->small_max;

    if (ram >= low) {
        low = pc->kind->split;
    }
    if (pc->max_ram_below_4g) {
        if (pc->max_ram_below_4g > low) {
            low = MIN_OF(pc->max_ram_below_4g, pc->kind->small_max);
        } else {
            low = pc->max_ram_below_4g;
        }
    }
    if (low < MiB) {
        error_set(errp, "Parameter 'max-ram-below-4g' leaves %" PRIu64 " bytes, less than the 1 MiB that a PC needs",
                  low);
        return false;
    }
    pc->below_4g = MIN_OF(ram, low);
    pc->above_4g = ram - pc->below_4g;
    return true;
}

static void pc_smm_memory_init(PcMachine *pc)
{
    Machine *m = &pc->parent;

    memory_region_init(&pc->smm_root, &m->obj, "smm", MEMORY_SIZE_ALL);
    memory_region_init_alias(&pc->smm_system, &m->obj, "smm-system", &m->system_memory, 0, MEMORY_SIZE_ALL);
    memory_region_add(&pc->smm_root, 0, &pc->smm_system, 0);
    memory_region_init(&pc->smram, &m->obj, "smram", 4 * GiB);
    memory_region_add(&pc->smm_root, 0, &pc->smram, 1);
    if (pc->smm) {
        address_space_init(&pc->as_smm, &pc->smm_root, "smm");
    }
}

bool pc_memory_init(PcMachine *pc, Error **errp)
{
    Machine *m = &pc->parent;

    if (m->config.ram_size < MiB) {
        error_set(errp, "a PC needs at least 1 MiB of memory, not %" PRIu64 " bytes", m->config.ram_size);
        return false;
    }
    if (!pc_split_ram(pc, errp) || !machine_init_ram(m, "pc.ram", errp)) {
        return false;
    }
    memory_transaction_begin();
    memory_region_init(&pc->pci_mem, &m->obj, "pci", MEMORY_SIZE_ALL);
    memory_region_add(&m->system_memory, 0, &pc->pci_mem, -1);
    memory_region_init_alias(&pc->ram_below, &m->obj, "ram-below-4g", m->ram, 0, pc->below_4g);
    memory_region_add(&m->system_memory, 0, &pc->ram_below, 0);
    if (pc->above_4g) {
        memory_region_init_alias(&pc->ram_above, &m->obj, "ram-above-4g", m->ram, pc->below_4g, pc->above_4g);
        memory_region_add(&m->system_memory, 4 * GiB, &pc->ram_above, 0);
    }
    pc_smm_memory_init(pc);
    memory_transaction_commit();
    return true;
}

bool pc_bios_init(PcMachine *pc, Error **errp)
{
    return x86_board_bios_init(&pc->parent, &pc->bios, &pc->pci_mem, DEFAULT_BIOS, "PC BIOS", PC_BIOS_ALIAS_MAX, errp);
}
