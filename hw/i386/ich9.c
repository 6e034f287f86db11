/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ICH9's LPC bridge (Intel I/O Controller Hub 9 data sheet ch. 13, function 1f.0): ISA bus, interrupt routing,
 * power
 * management base, reset control, and the chip set configuration space behind RCBA.
 *
 * Eight PIRQs: A..H are I/O APIC inputs 16..23, and go to ISA requests by registers 60h..63h, 68h..6bh (bit 7: off).
 * Slots 25..31 choose their PIRQs in RCBA space (DxxIR); others are swizzled over E..H. Left out: SMBus, AHCI, USB
 * (functions of their own), SPI, LPC decode ranges. Machine lock. Test: tests/unit/test-pc.c.
 */
#include "hw/i386/chipset.h"

#include <string.h>

enum { LPC_PMBASE = 0x40, LPC_ACPI_CTRL = 0x44, LPC_PIRQA = 0x60, LPC_PIRQE = 0x68, LPC_GEN_PMCON_1 = 0xa0,
       LPC_RCBA = 0xf0 };
enum { GEN_PMCON_SMI_LOCK = 0x10, LPC_ACPI_ENABLE = 0x80, LPC_SCI_MASK = 7, PIRQ_OFF = 0x80 };
enum { ICH9_PIRQS = 8, ICH9_PIRQ_GSI = 16, RCRB_SIZE = 0x4000, RCRB_WORDS = RCRB_SIZE / 4 };
/* RCBA space: interrupt pins and routes of devices 31..25 */
enum { CC_D31IP = 0x3100, CC_D31IR = 0x3140, CC_D30IR = 0x3142, CC_D29IR = 0x3144, CC_D28IR = 0x3146, CC_D27IR = 0x3148,
       CC_D26IR = 0x314c, CC_D25IR = 0x3150, CC_OIC = 0x31fe, CC_GCS = 0x3410 };

typedef struct Ich9Lpc {
    PCIDevice parent;
    /* wiring */
    IsaBus *isa;
    MemoryRegion rcrb_mem;
    bool pm_mapped, rcrb_mapped;        /* derived */
    uint32_t pm_base, rcrb_base;
    /* registers */
    AcpiPm pm;
    ResetControl reset_control;
    uint8_t pirq_level;                 /* bit n: PIRQ n is up */
    uint8_t rcrb[RCRB_SIZE];
} Ich9Lpc;

/* ---- interrupts ---- */

int ich9_pirq_of(int slot, int pin)
{
    return slot >= 25 ? pin : 4 + ((slot + pin) & 3);
}

static uint16_t ich9_route(const Ich9Lpc *s, int slot)
{
    static const uint16_t at[] = { CC_D25IR, CC_D26IR, CC_D27IR, CC_D28IR, CC_D29IR, CC_D30IR, CC_D31IR };

    return pci_get_word(s->rcrb + at[slot - 25]);
}

static int ich9_map(void *opaque, PCIDevice *d, int pin)
{
    int slot = PCI_SLOT(d->devfn);

    return slot >= 25 ? ich9_route(opaque, slot) >> pin * 4 & 7 : ich9_pirq_of(slot, pin);
}

static unsigned pirq_register(int n)
{
    return n < PC_MAIN_PIRQS ? LPC_PIRQA + n : LPC_PIRQE + n - PC_MAIN_PIRQS;
}

static void ich9_update_irqs(Ich9Lpc *s)
{
    PcMachine *pc = pc_machine();
    uint16_t levels = 0;

    for (int n = 0; n < ICH9_PIRQS; n++) {
        bool up = s->pirq_level >> n & 1;
        uint8_t route = s->parent.config[pirq_register(n)];

        irq_set(pc_gsi(pc, GSI_PCI, ICH9_PIRQ_GSI + n), up);
        if (up && !(route & PIRQ_OFF)) {
            levels |= 1u << (route & 15);
        }
    }
    for (unsigned irq = 0; irq < ISA_IRQS; irq++) {
        irq_set(pc_gsi(pc, GSI_PCI_PIC, irq), levels >> irq & 1);
    }
}

static void ich9_set(void *opaque, int line, int level)
{
    Ich9Lpc *s = opaque;

    s->pirq_level = (s->pirq_level & ~(1u << line)) | !!level << line;
    ich9_update_irqs(s);
}

static const PCIBusIrqOps ich9_irqs = { .map = ich9_map, .set = ich9_set };

uint8_t ich9_line_of(PcMachine *pc, PCIDevice *d, int pin)
{
    static const uint8_t irqs[ICH9_PIRQS] = { 10, 10, 11, 11, 10, 10, 11, 11 };

    return irqs[ich9_map(pc->south, d, pin)];
}

/* ---- RCBA space ---- */

static uint64_t rcrb_read(void *opaque, hwaddr addr, unsigned size)
{
    const Ich9Lpc *s = opaque;
    uint64_t v = 0;

    memcpy(&v, s->rcrb + addr, size);
    return v;
}

static void rcrb_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Ich9Lpc *s = opaque;

    memcpy(s->rcrb + addr, &value, size);
    pci_bus_irq_resync(pci_device_bus(&s->parent));
}

static const MemoryRegionOps rcrb_ops = {
    .read = rcrb_read, .write = rcrb_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 4 },
};

static void rcrb_reset(Ich9Lpc *s)
{
    memset(s->rcrb, 0, sizeof(s->rcrb));
    pci_set_long(s->rcrb + CC_D31IP, 0x00042210);
    for (unsigned at = CC_D31IR; at <= CC_D25IR; at += 2) {
        pci_set_word(s->rcrb + at, 0x3210);
    }
    pci_set_long(s->rcrb + CC_GCS, 0x20);
}

/* ---- config space ---- */

/* Shows or hides mr at base in container; the flags remember what is shown. */
static void ich9_map_window(MemoryRegion *container, MemoryRegion *mr, bool on, uint32_t base, bool *mapped,
                            uint32_t *mapped_at)
{
    if (*mapped && (!on || base != *mapped_at)) {
        memory_region_remove(mr);
        *mapped = false;
    }
    if (on && !*mapped) {
        memory_region_add(container, base, mr, 1);
        *mapped = true;
        *mapped_at = base;
    }
}

static Irq ich9_sci(const Ich9Lpc *s)
{
    static const uint8_t gsis[8] = { 9, 10, 11, 0, 20, 21, 22, 23 };
    unsigned n = s->parent.config[LPC_ACPI_CTRL] & LPC_SCI_MASK;

    return n == 3 ? NULL : pc_gsi(pc_machine(), GSI_SCI, gsis[n]);
}

static void ich9_update_config(Ich9Lpc *s)
{
    PcMachine *pc = pc_machine();
    const uint8_t *c = s->parent.config;
    uint32_t rcba = pci_get_long(c + LPC_RCBA);
    Irq sci = ich9_sci(s);

    memory_transaction_begin();
    ich9_map_window(&pc->parent.system_io, &s->pm.io, c[LPC_ACPI_CTRL] & LPC_ACPI_ENABLE,
                    pci_get_long(c + LPC_PMBASE) & 0xff80, &s->pm_mapped, &s->pm_base);
    ich9_map_window(&pc->parent.system_memory, &s->rcrb_mem, rcba & 1, rcba & ~(RCRB_SIZE - 1u), &s->rcrb_mapped,
                    &s->rcrb_base);
    memory_transaction_commit();
    if (s->pm.sci != sci) {
        irq_lower(s->pm.sci);
        s->pm.sci = sci;
    }
}

/* The lock stays until reset. */
static void ich9_update_smi_lock(Ich9Lpc *s)
{
    s->pm.smi_locked = s->parent.config[LPC_GEN_PMCON_1] & GEN_PMCON_SMI_LOCK;
    s->parent.wmask[LPC_GEN_PMCON_1] = s->pm.smi_locked ? (uint8_t)~GEN_PMCON_SMI_LOCK : 0xff;
}

static void ich9_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    ich9_update_smi_lock((Ich9Lpc *)d);
    ich9_update_config((Ich9Lpc *)d);
    if (addr < LPC_PIRQE + PC_MAIN_PIRQS && addr + len > LPC_PIRQA) {
        ich9_update_irqs((Ich9Lpc *)d);
    }
}

static void ich9_firmware_init(PCIDevice *d)
{
    static const uint8_t irqs[ICH9_PIRQS] = { 10, 10, 11, 11, 10, 10, 11, 11 };
    PcMachine *pc = pc_machine();

    for (int n = 0; n < ICH9_PIRQS; n++) {
        pci_config_write(d, pirq_register(n), irqs[n], 1);
    }
    pci_config_write(d, LPC_PMBASE, ACPI_PIIX4_PMBASE | 1, 4);
    pci_config_write(d, LPC_ACPI_CTRL, LPC_ACPI_ENABLE, 1);
    pci_config_write(d, LPC_RCBA, PC_RCBA_BASE | 1, 4);
    address_space_st(&pc->parent.as_io, 0x4d0, 0, 1);
    address_space_st(&pc->parent.as_io, 0x4d1, 1 << (10 - 8) | 1 << (11 - 8), 1);
}

/* ---- the device ---- */

static bool ich9_realize(Object *obj, Error **errp)
{
    Ich9Lpc *s = (Ich9Lpc *)obj;
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the q35 machine", obj->type->name);
        return false;
    }
    s->isa = pc_isa_bus_new(pc, &s->parent.dev);
    reset_control_init(&s->reset_control, obj, 0x0a);
    memory_region_add(&pc->parent.system_io, RESET_CONTROL_PORT, &s->reset_control.io, 1);
    s->pm.sci = pc_gsi(pc, GSI_SCI, PC_SCI_GSI);
    s->pm.smi = pc->smm ? &pc->smi : NULL;
    acpi_pm_realize(&s->pm, obj);
    memory_region_add(&pc->parent.system_io, ACPI_APM_PORT, &s->pm.apm_io, 0);
    memory_region_init_io(&s->rcrb_mem, obj, &rcrb_ops, s, "lpc-rcrb-mmio", RCRB_SIZE);
    pci_bus_set_irqs(pci_device_bus(&s->parent), &ich9_irqs, s);
    pc->pm = &s->pm;
    return true;
}

static void ich9_unrealize(Object *obj)
{
    Ich9Lpc *s = (Ich9Lpc *)obj;

    acpi_pm_unrealize(&s->pm);
    reset_control_fini(&s->reset_control);
    memory_region_fini(&s->rcrb_mem);
}

static void ich9_init(Object *obj)
{
    acpi_pm_init(&((Ich9Lpc *)obj)->pm, ACPI_PM_ICH9);
}

static void ich9_reset(Object *obj)
{
    Ich9Lpc *s = (Ich9Lpc *)obj;
    uint8_t *c = s->parent.config;

    pci_set_long(c + LPC_PMBASE, 1);
    pci_set_long(s->parent.wmask + LPC_PMBASE, 0xff80);
    c[LPC_ACPI_CTRL] = 0;
    s->parent.wmask[LPC_ACPI_CTRL] = LPC_ACPI_ENABLE | LPC_SCI_MASK;
    for (int n = 0; n < ICH9_PIRQS; n++) {
        c[pirq_register(n)] = PIRQ_OFF;
    }
    pci_set_long(c + LPC_RCBA, 0);
    pci_set_long(s->parent.wmask + LPC_RCBA, 0xffffc001);
    pci_set_word(c + PCI_COMMAND, PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    pci_set_word(c + LPC_GEN_PMCON_1, 0);
    ich9_update_smi_lock(s);
    rcrb_reset(s);
    reset_control_reset(&s->reset_control);
    acpi_pm_reset(&s->pm);
    ich9_update_config(s);
    ich9_update_irqs(s);
}

static bool ich9_post_load(void *opaque, Error **errp)
{
    ich9_update_smi_lock(opaque);
    ich9_update_config(opaque);
    ich9_update_irqs(opaque);
    return true;
}

static const VMField ich9_fields[] = {
    VM_SUB(Ich9Lpc, pm, acpi_pm_vmstate),
    VM_SUB(Ich9Lpc, reset_control, reset_control_vmstate),
    VM_FIELD(Ich9Lpc, pirq_level, VM_U8),
    VM_BUFFER(Ich9Lpc, rcrb),
    VM_END
};
static const VMState ich9_vmstate = {
    .name = "ICH9LPC", .version = 1, .fields = ich9_fields, .post_load = ich9_post_load,
};

static const Property ich9_props[] = {
    PROP_FIELD("noreboot", PROP_BOOL, Ich9Lpc, pm.tco_no_reboot, true, "strap: the TCO watchdog does not reset"),
    PROP_FIELD("disable_s3", PROP_U8, Ich9Lpc, pm.disable_s3, 0, "1: no suspend to RAM"),
    PROP_FIELD("disable_s4", PROP_U8, Ich9Lpc, pm.disable_s4, 0, "1: no suspend to disk"),
    PROP_FIELD("s4_val", PROP_U8, Ich9Lpc, pm.s4_val, 2, "sleep type of S4"),
    PROP_FIELD("enable_tco", PROP_BOOL, Ich9Lpc, pm.tco_enabled, true, "the TCO watchdog is there"),
    PROP_END
};

static const PCIDeviceOps ich9_ops = {
    .vendor_id = PCI_VENDOR_INTEL, .device_id = 0x2918, .class_id = PCI_CLASS_BRIDGE_ISA, .revision = 2,
    .config_written = ich9_config_written, .firmware_init = ich9_firmware_init,
};

static const Type ich9_type = {
    .name = "ICH9-LPC", .parent = "pci-device", .desc = "ICH9 LPC bridge", .category = "Bridge devices",
    .no_hotplug = true, .size = sizeof(Ich9Lpc), .props = ich9_props, .init = ich9_init, .realize = ich9_realize,
    .unrealize = ich9_unrealize, .reset = ich9_reset, .vmstate = &ich9_vmstate, .ops = &ich9_ops,
};
TYPE_REGISTER(ich9_type)

bool pc_create_q35(PcMachine *pc, Error **errp)
{
    PCIBus *bus = pc->host->bus;

    pc->north = pci_create(bus, PCI_DEVFN(0, 0), false, "mch", errp);
    pc->south = pc->north ? pci_create(bus, PCI_DEVFN(0x1f, 0), true, "ICH9-LPC", errp) : NULL;
    if (!pc->south) {
        return false;
    }
    pc->isa = ((Ich9Lpc *)pc->south)->isa;
    return true;
}
