/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Q35 host bridge (MCH, 82Q35: "Intel 3 Series Express Chipset Family" data sheet ch. 5): function 00.0 with the
 * attribute map, SMRAM and the base of memory-mapped config space (PCIEXBAR), and its host side.
 *
 * Interrupts of functions go through the ICH9 (hw/i386/ich9.c). Left out: extended SMRAM (TSEG), which no CPU can enter
 * yet, and the graphics function. Machine lock. Test: tests/unit/test-pc.c.
 */
#include "hw/i386/chipset.h"

#include <string.h>

enum { MCH_PCIEXBAR = 0x60, MCH_PAM = 0x90, MCH_SMRAM = 0x9d, MCH_ESMRAMC = 0x9e };
enum { PCIEXBAR_ENABLE = 1, PCIEXBAR_LENGTH = 6 };
#define PCIEXBAR_MASK 0xfff0000000ull

typedef struct Mch {
    PCIDevice parent;
    Pam pam;
} Mch;

/* Length bits: 0 256 MiB, 1 128 MiB, 2 64 MiB; 3 is reserved and shows nothing. */
static void mch_update_ecam(Mch *s)
{
    static const uint64_t sizes[] = { 256u << 20, 128u << 20, 64u << 20, 0 };
    uint64_t reg = pci_get_quad(s->parent.config + MCH_PCIEXBAR);
    uint64_t size = reg & PCIEXBAR_ENABLE ? sizes[(reg & PCIEXBAR_LENGTH) >> 1] : 0;
    uint64_t base = reg & PCIEXBAR_MASK & ~(size ? size - 1 : 0);

    pci_host_map_ecam(pc_machine()->host, base, size);
}

static void mch_update(Mch *s)
{
    memory_transaction_begin();
    mch_update_ecam(s);
    pam_update(&s->pam, s->parent.config + MCH_PAM, s->parent.config[MCH_SMRAM]);
    memory_transaction_commit();
}

static void mch_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    uint8_t *smram = d->config + MCH_SMRAM;

    if (*smram & SMRAM_LOCKED) {
        d->wmask[MCH_SMRAM] = 0;
        *smram &= ~SMRAM_OPEN;
    }
    mch_update((Mch *)d);
}

/* Direct boot: RAM from c0000h on, and config space in memory. */
static void mch_firmware_init(PCIDevice *d)
{
    pci_config_write(d, MCH_PCIEXBAR + 4, 0, 4);
    pci_config_write(d, MCH_PCIEXBAR, PC_ECAM_BASE | PCIEXBAR_ENABLE, 4);
    pci_config_write(d, MCH_PAM, 0x30, 1);
    for (int n = 1; n < PAM_REGS; n++) {
        pci_config_write(d, MCH_PAM + n, 0x33, 1);
    }
}

static bool mch_realize(Object *obj, Error **errp)
{
    Mch *s = (Mch *)obj;
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the q35 machine", obj->type->name);
        return false;
    }
    pam_init(&s->pam, obj, &pc->parent.system_memory, pc->parent.ram, &pc->pci_mem);
    return true;
}

static void mch_unrealize(Object *obj)
{
    pam_fini(&((Mch *)obj)->pam);
}

static void mch_reset(Object *obj)
{
    Mch *s = (Mch *)obj;
    uint8_t *c = s->parent.config;

    pci_set_long(c + MCH_PCIEXBAR, PC_ECAM_BASE);
    pci_set_long(c + MCH_PCIEXBAR + 4, 0);
    pci_set_long(s->parent.wmask + MCH_PCIEXBAR, 0xf0000007 | 0x0c000000);
    pci_set_long(s->parent.wmask + MCH_PCIEXBAR + 4, 0xff);
    memset(c + MCH_PAM, 0, PAM_REGS);
    c[MCH_SMRAM] = 0x02;
    s->parent.wmask[MCH_SMRAM] = SMRAM_ENABLE | SMRAM_LOCKED | SMRAM_CLOSED | SMRAM_OPEN;
    c[MCH_ESMRAMC] = 0x38;
    s->parent.wmask[MCH_ESMRAMC] = 0;
    mch_update(s);
}

static bool mch_post_load(void *opaque, Error **errp)
{
    mch_update(opaque);
    return true;
}

static const VMField mch_fields[] = { VM_END };
static const VMState mch_vmstate = { .name = "mch", .version = 1, .fields = mch_fields, .post_load = mch_post_load };

static const PCIDeviceOps mch_ops = {
    .vendor_id = PCI_VENDOR_INTEL, .device_id = 0x29c0, .class_id = PCI_CLASS_BRIDGE_HOST,
    .config_written = mch_config_written, .firmware_init = mch_firmware_init,
};

static const Type mch_type = {
    .name = "mch", .parent = "pci-device", .desc = "Host bridge", .category = "Bridge devices", .no_hotplug = true,
    .size = sizeof(Mch), .realize = mch_realize, .unrealize = mch_unrealize, .reset = mch_reset,
    .vmstate = &mch_vmstate, .ops = &mch_ops,
};
TYPE_REGISTER(mch_type)

static bool q35_host_realize(Object *obj, Error **errp)
{
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the q35 machine", obj->type->name);
        return false;
    }
    pci_host_init((PCIHost *)obj, "PCIE", pc->kind->bus_name, &pc->pci_mem, &pc->parent.system_io);
    return true;
}

static void q35_host_unrealize(Object *obj)
{
    pci_host_fini((PCIHost *)obj);
}

static const Type q35_host_type = {
    .name = "q35-pcihost", .parent = "pci-host-bridge", .no_hotplug = true, .size = sizeof(PCIHost),
    .realize = q35_host_realize, .unrealize = q35_host_unrealize,
};
TYPE_REGISTER(q35_host_type)
