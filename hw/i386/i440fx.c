/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 82441FX host bridge (PMC) of the pc-i440fx board: function 00.0 with the attribute map, and its host side.
 *
 * What guests use of it is config space, PAM (59h..5fh) and SMRAM (72h); DRAM timing registers are plain memory.
 * Interrupts of functions go through the PIIX3 (hw/i386/piix.c). Machine lock. Test: tests/unit/test-pc.c.
 */
#include "hw/i386/chipset.h"

#include <string.h>

enum { I440FX_PAM = 0x59, I440FX_SMRAM = 0x72 };

typedef struct I440fx {
    PCIDevice parent;
    Pam pam;
} I440fx;

static void i440fx_update(I440fx *s)
{
    pam_update(&s->pam, s->parent.config + I440FX_PAM, s->parent.config[I440FX_SMRAM]);
}

static void i440fx_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    smram_control_written(d->config + I440FX_SMRAM, d->wmask + I440FX_SMRAM);
    if (addr <= I440FX_SMRAM && addr + len > I440FX_PAM) {
        i440fx_update((I440fx *)d);
    }
}

/* Direct boot: RAM from c0000h on, as firmware leaves it. */
static void i440fx_firmware_init(PCIDevice *d)
{
    pci_config_write(d, I440FX_PAM, 0x30, 1);
    for (int n = 1; n < PAM_REGS; n++) {
        pci_config_write(d, I440FX_PAM + n, 0x33, 1);
    }
}

static bool i440fx_realize(Object *obj, Error **errp)
{
    I440fx *s = (I440fx *)obj;
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the pc machine", obj->type->name);
        return false;
    }
    pam_init(&s->pam, obj, &pc->parent.system_memory, pc->parent.ram, &pc->pci_mem, &pc->smram);
    return true;
}

static void i440fx_unrealize(Object *obj)
{
    pam_fini(&((I440fx *)obj)->pam);
}

static void i440fx_reset(Object *obj)
{
    I440fx *s = (I440fx *)obj;

    memset(s->parent.config + I440FX_PAM, 0, PAM_REGS);
    s->parent.config[I440FX_SMRAM] = 0x02;
    s->parent.wmask[I440FX_SMRAM] = SMRAM_ENABLE | SMRAM_LOCKED | SMRAM_CLOSED | SMRAM_OPEN;
    i440fx_update(s);
}

static bool i440fx_post_load(void *opaque, Error **errp)
{
    i440fx_config_written(opaque, 0, PCI_CONFIG_SIZE);
    return true;
}

static const VMField i440fx_fields[] = { VM_END };
static const VMState i440fx_vmstate = {
    .name = "i440FX", .version = 1, .fields = i440fx_fields, .post_load = i440fx_post_load,
};

static const PCIDeviceOps i440fx_ops = {
    .vendor_id = PCI_VENDOR_INTEL, .device_id = 0x1237, .class_id = PCI_CLASS_BRIDGE_HOST, .revision = 2,
    .config_written = i440fx_config_written, .firmware_init = i440fx_firmware_init,
};

static const Type i440fx_type = {
    .name = "i440FX", .parent = "pci-device", .desc = "Host bridge", .category = "Bridge devices", .no_hotplug = true,
    .size = sizeof(I440fx), .realize = i440fx_realize, .unrealize = i440fx_unrealize, .reset = i440fx_reset,
    .vmstate = &i440fx_vmstate, .ops = &i440fx_ops,
};
TYPE_REGISTER(i440fx_type)

/* The host side: config ports and the root bus. */
static bool i440fx_host_realize(Object *obj, Error **errp)
{
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the pc machine", obj->type->name);
        return false;
    }
    pci_host_init((PCIHost *)obj, "PCI", pc->kind->bus_name, &pc->pci_mem, &pc->parent.system_io);
    return true;
}

static void i440fx_host_unrealize(Object *obj)
{
    pci_host_fini((PCIHost *)obj);
}

static const Type i440fx_host_type = {
    .name = "i440FX-pcihost", .parent = "pci-host-bridge", .no_hotplug = true, .size = sizeof(PCIHost),
    .realize = i440fx_host_realize, .unrealize = i440fx_host_unrealize,
};
TYPE_REGISTER(i440fx_host_type)
