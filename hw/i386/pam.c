/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programmable attribute map; contract in include/hw/i386/pam.h.
 *
 * Register 0 rules f0000h..fffffh with its high nibble; registers 1..6 rule two 16 KiB areas each, from c0000h on, the
 * lower area with the low nibble. Left out: SMRAM_CLOSED, which sends data accesses of system management mode to VGA.
 */
#include "hw/i386/pam.h"

static void pam_area(int n, hwaddr *addr, uint64_t *size)
{
    if (n == PAM_AREAS - 1) {
        *addr = 0xf0000;
        *size = 0x10000;
    } else {
        *addr = 0xc0000 + n * 0x4000;
        *size = 0x4000;
    }
}

static unsigned pam_attribute(const uint8_t regs[PAM_REGS], int n)
{
    if (n == PAM_AREAS - 1) {
        return regs[0] >> 4 & 3;
    }
    return regs[1 + n / 2] >> (n & 1 ? 4 : 0) & 3;
}

static uint64_t empty_read(void *opaque, hwaddr addr, unsigned size)
{
    return UINT64_MAX;
}

static void empty_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps empty_ops = { .read = empty_read, .write = empty_write, .impl = { .min = 1, .max = 8 } };

void pam_init(Pam *pam, Object *owner, MemoryRegion *system, MemoryRegion *ram, MemoryRegion *pci, MemoryRegion *smm)
{
    memory_transaction_begin();
    memory_region_init_io(&pam->empty, owner, &empty_ops, pam, "pam-empty", 0x60000);
    memory_region_add(system, 0xa0000, &pam->empty, 1);
    memory_region_init_alias(&pam->pci, owner, "pam-pci", pci, 0xa0000, 0x60000);
    memory_region_add(system, 0xa0000, &pam->pci, 2);
    for (int n = 0; n < PAM_AREAS; n++) {
        hwaddr addr;
        uint64_t size;

        pam_area(n, &addr, &size);
        memory_region_init_alias(&pam->ram[n], owner, "pam-ram", ram, addr, size);
        memory_region_set_enabled(&pam->ram[n], false);
        memory_region_add(system, addr, &pam->ram[n], 3);
    }
    memory_region_init_alias(&pam->smram_open, owner, "smram-open", ram, 0xa0000, 0x20000);
    memory_region_set_enabled(&pam->smram_open, false);
    memory_region_add(system, 0xa0000, &pam->smram_open, 3);
    memory_region_init_alias(&pam->smram, owner, "smram-low", ram, 0xa0000, 0x20000);
    memory_region_set_enabled(&pam->smram, false);
    memory_region_add(smm, 0xa0000, &pam->smram, 0);
    memory_transaction_commit();
}

void pam_fini(Pam *pam)
{
    memory_transaction_begin();
    memory_region_fini(&pam->pci);
    memory_region_fini(&pam->empty);
    for (int n = 0; n < PAM_AREAS; n++) {
        memory_region_fini(&pam->ram[n]);
    }
    memory_region_fini(&pam->smram_open);
    memory_region_fini(&pam->smram);
    memory_transaction_commit();
}

void pam_update(Pam *pam, const uint8_t regs[PAM_REGS], uint8_t smram)
{
    memory_transaction_begin();
    for (int n = 0; n < PAM_AREAS; n++) {
        unsigned attribute = pam_attribute(regs, n);

        memory_region_set_enabled(&pam->ram[n], attribute & PAM_READ);
        memory_region_set_readonly(&pam->ram[n], !(attribute & PAM_WRITE));
    }
    memory_region_set_enabled(&pam->smram_open, (smram & SMRAM_ENABLE) && (smram & SMRAM_OPEN));
    memory_region_set_enabled(&pam->smram, smram & SMRAM_ENABLE);
    memory_transaction_commit();
}

bool smram_control_written(uint8_t *smram, uint8_t *wmask)
{
    if (!(*smram & SMRAM_LOCKED)) {
        return false;
    }
    *wmask = SMRAM_CLOSED;
    *smram &= ~SMRAM_OPEN;
    return true;
}
