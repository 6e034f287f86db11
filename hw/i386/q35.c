/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Q35 host bridge (MCH, 82Q35: "Intel 3 Series Express Chipset Family" data sheet ch. 5): function 00.0 with the
 * attribute map, SMRAM and the base of memory-mapped config space (PCIEXBAR), and its host side.
 *
 * SMRAM is at a0000h, or moved to feda0000h, and at the top of low RAM (TSEG): 1, 2 or 8 MiB, or the size that the
 * property extended-tseg-mbytes gives, which EXT_TSEG (50h) tells where ffffh was written to it (a paravirtual
 * register of QEMU's). Interrupts of functions go through the ICH9 (hw/i386/ich9.c). Left out: SMRAM at the default
 * SMBASE (9ch) and the graphics function. Machine lock. Test: tests/unit/test-pc.c.
 */
#include "hw/i386/chipset.h"

#include <string.h>

#include "util/units.h"

enum { MCH_EXT_TSEG = 0x50, MCH_PCIEXBAR = 0x60, MCH_PAM = 0x90, MCH_SMRAM = 0x9d, MCH_ESMRAMC = 0x9e };
enum { ESMRAMC_TSEG = 1, ESMRAMC_SIZE_SHIFT = 1, ESMRAMC_CACHE = 0x38, ESMRAMC_HIGH = 0x80 };
#define ESMRAMC_WMASK (ESMRAMC_TSEG | 3 << ESMRAMC_SIZE_SHIFT | ESMRAMC_HIGH)
#define EXT_TSEG_QUERY 0xffff
#define EXT_TSEG_MAX 0xfff              /* MiB */
#define SMRAM_LOW 0xa0000
#define SMRAM_HIGH 0xfeda0000u
#define SMRAM_SIZE 0x20000
enum { PCIEXBAR_ENABLE = 1, PCIEXBAR_LENGTH = 6 };
#define PCIEXBAR_MASK 0xfff0000000ull

typedef struct Mch {
    PCIDevice parent;
    uint16_t ext_tseg_mib;              /* config; 0: no such size */
    /* wiring */
    Pam pam;
    MemoryRegion high, high_open;       /* SMRAM at feda0000h: in SMM, and for all while open */
    MemoryRegion tseg;                  /* in SMM */
    MemoryRegion tseg_hidden;           /* what others see there */
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

static uint64_t hidden_read(void *opaque, hwaddr addr, unsigned size)
{
    return UINT64_MAX;
}

static void hidden_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps hidden_ops = {
    .read = hidden_read, .write = hidden_write, .impl = { .min = 1, .max = 8 },
};

/* Bytes; 0: off. */
static uint64_t mch_tseg_size(const Mch *s)
{
    static const uint64_t sizes[] = { MiB, 2 * MiB, 8 * MiB };
    uint8_t esmramc = s->parent.config[MCH_ESMRAMC];
    unsigned n = esmramc >> ESMRAMC_SIZE_SHIFT & 3;

    if (!(esmramc & ESMRAMC_TSEG) || !(s->parent.config[MCH_SMRAM] & SMRAM_ENABLE)) {
        return 0;
    }
    return n < G_N_ELEMENTS(sizes) ? sizes[n] : s->ext_tseg_mib * MiB;
}

static void mch_update_tseg(Mch *s)
{
    PcMachine *pc = pc_machine();
    uint64_t size = MIN_OF(mch_tseg_size(s), pc->below_4g - MiB), at = pc->below_4g - size;

    memory_region_set_enabled(&s->tseg, size);
    memory_region_set_enabled(&s->tseg_hidden, size);
    if (size) {
        memory_region_set_size(&s->tseg, size);
        memory_region_set_size(&s->tseg_hidden, size);
        memory_region_set_address(&s->tseg, at);
        memory_region_set_alias_offset(&s->tseg, at);
        memory_region_set_address(&s->tseg_hidden, at);
    }
}

/* SMRAM shows at a0000h or, with H_SMRAME, at feda0000h instead. */
static void mch_update_smram(Mch *s)
{
    uint8_t smram = s->parent.config[MCH_SMRAM];
    bool high = (smram & SMRAM_ENABLE) && (s->parent.config[MCH_ESMRAMC] & ESMRAMC_HIGH);

    pam_update(&s->pam, s->parent.config + MCH_PAM, high ? smram & ~SMRAM_ENABLE : smram);
    memory_region_set_enabled(&s->high, high);
    memory_region_set_enabled(&s->high_open, high && (smram & SMRAM_OPEN));
    mch_update_tseg(s);
}

static void mch_update(Mch *s)
{
    memory_transaction_begin();
    mch_update_ecam(s);
    mch_update_smram(s);
    memory_transaction_commit();
}

static void mch_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    if (smram_control_written(d->config + MCH_SMRAM, d->wmask + MCH_SMRAM)) {
        d->wmask[MCH_ESMRAMC] = 0;
    }
    if (pci_get_word(d->config + MCH_EXT_TSEG) == EXT_TSEG_QUERY) {
        pci_set_word(d->config + MCH_EXT_TSEG, ((Mch *)d)->ext_tseg_mib);
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

/* Over system memory at priority 2: above RAM and the attribute map's PCI side there. */
static void mch_smram_init(Mch *s, PcMachine *pc)
{
    Object *owner = &s->parent.dev.obj;
    MemoryRegion *ram = pc->parent.ram;

    memory_transaction_begin();
    memory_region_init_alias(&s->high_open, owner, "smram-open-high", ram, SMRAM_LOW, SMRAM_SIZE);
    memory_region_set_enabled(&s->high_open, false);
    memory_region_add(&pc->parent.system_memory, SMRAM_HIGH, &s->high_open, 2);
    memory_region_init_alias(&s->high, owner, "smram-high", ram, SMRAM_LOW, SMRAM_SIZE);
    memory_region_set_enabled(&s->high, false);
    memory_region_add(&pc->smram, SMRAM_HIGH, &s->high, 0);
    memory_region_init_io(&s->tseg_hidden, owner, &hidden_ops, s, "tseg-hidden", MiB);
    memory_region_set_enabled(&s->tseg_hidden, false);
    memory_region_add(&pc->parent.system_memory, pc->below_4g - MiB, &s->tseg_hidden, 2);
    memory_region_init_alias(&s->tseg, owner, "tseg", ram, pc->below_4g - MiB, MiB);
    memory_region_set_enabled(&s->tseg, false);
    memory_region_add(&pc->smram, pc->below_4g - MiB, &s->tseg, 0);
    memory_transaction_commit();
}

static bool mch_realize(Object *obj, Error **errp)
{
    Mch *s = (Mch *)obj;
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the q35 machine", obj->type->name);
        return false;
    }
    if (s->ext_tseg_mib > EXT_TSEG_MAX) {
        error_set(errp, "Parameter 'extended-tseg-mbytes' is %u: %u is the most", s->ext_tseg_mib, EXT_TSEG_MAX);
        return false;
    }
    pam_init(&s->pam, obj, &pc->parent.system_memory, pc->parent.ram, &pc->pci_mem, &pc->smram);
    mch_smram_init(s, pc);
    return true;
}

static void mch_unrealize(Object *obj)
{
    Mch *s = (Mch *)obj;

    memory_transaction_begin();
    pam_fini(&s->pam);
    memory_region_fini(&s->high);
    memory_region_fini(&s->high_open);
    memory_region_fini(&s->tseg);
    memory_region_fini(&s->tseg_hidden);
    memory_transaction_commit();
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
    c[MCH_ESMRAMC] = ESMRAMC_CACHE;
    s->parent.wmask[MCH_ESMRAMC] = ESMRAMC_WMASK;
    pci_set_word(c + MCH_EXT_TSEG, 0);
    mch_update(s);
}

static bool mch_post_load(void *opaque, Error **errp)
{
    mch_config_written(opaque, 0, PCI_CONFIG_SIZE);
    return true;
}

static const VMField mch_fields[] = { VM_END };
static const VMState mch_vmstate = { .name = "mch", .version = 1, .fields = mch_fields, .post_load = mch_post_load };

static const Property mch_props[] = {
    PROP_FIELD("extended-tseg-mbytes", PROP_U16, Mch, ext_tseg_mib, 16, "MiB of SMRAM with TSEG size 3; 0: none"),
    PROP_END
};

static const PCIDeviceOps mch_ops = {
    .vendor_id = PCI_VENDOR_INTEL, .device_id = 0x29c0, .class_id = PCI_CLASS_BRIDGE_HOST,
    .config_written = mch_config_written, .firmware_init = mch_firmware_init,
};

static const Type mch_type = {
    .name = "mch", .parent = "pci-device", .desc = "Host bridge", .category = "Bridge devices", .no_hotplug = true,
    .size = sizeof(Mch), .props = mch_props, .realize = mch_realize, .unrealize = mch_unrealize, .reset = mch_reset,
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
