/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The south bridge of the pc-i440fx board: PIIX3 ISA bridge (82371SB, function 01.0) with interrupt routing and reset
 * control, and PIIX4's power management function (82371AB function 3) at 01.3 in front of the common ACPI block.
 *
 * PIRQA..D go to ISA requests by registers 60h..63h (bit 7: off); a PCI interrupt is the OR of its sources, beside
 * ISA's own. Left out: IDE (01.1), USB, SMBus, DMA. Machine lock. Test: tests/unit/test-pc.c.
 */
#include "hw/i386/chipset.h"

#include <string.h>

enum { PIIX3_PIRQ = 0x60, PIRQ_OFF = 0x80 };
enum { PIIX4_PMBASE = 0x40, PIIX4_DEVACTB = 0x58, PIIX4_PMREGMISC = 0x80, PIIX4_SMBBASE = 0x90,
       PIIX4_SMBHSTCFG = 0xd2 };
#define DEVACTB_APMC_EN (1u << 25)

typedef struct Piix3 {
    PCIDevice parent;
    /* wiring */
    IsaBus *isa;
    /* registers */
    ResetControl reset_control;
    uint8_t pirq_level;                 /* bit n: PIRQ n is up */
} Piix3;

int piix3_pirq_of(int slot, int pin)
{
    return (pin + slot - 1) & (PC_MAIN_PIRQS - 1);
}

static int piix3_map(void *opaque, PCIDevice *d, int pin)
{
    return piix3_pirq_of(PCI_SLOT(d->devfn), pin);
}

/* Levels of all ISA requests that PIRQs are routed to. */
static void piix3_update(Piix3 *s)
{
    uint16_t levels = 0;

    for (int n = 0; n < PC_MAIN_PIRQS; n++) {
        uint8_t route = s->parent.config[PIIX3_PIRQ + n];

        if (!(route & PIRQ_OFF) && (s->pirq_level >> n & 1)) {
            levels |= 1u << (route & 15);
        }
    }
    for (unsigned irq = 0; irq < ISA_IRQS; irq++) {
        irq_set(pc_gsi(pc_machine(), GSI_PCI, irq), levels >> irq & 1);
    }
}

static void piix3_set(void *opaque, int line, int level)
{
    Piix3 *s = opaque;

    s->pirq_level = (s->pirq_level & ~(1u << line)) | !!level << line;
    piix3_update(s);
}

static const PCIBusIrqOps piix3_irqs = { .map = piix3_map, .set = piix3_set };

static void piix3_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    if (addr < PIIX3_PIRQ + PC_MAIN_PIRQS && addr + len > PIIX3_PIRQ) {
        piix3_update((Piix3 *)d);
    }
}

/* As firmware routes them: A and C to 10, B and D to 11; both level-triggered at the 8259s. */
static void piix3_firmware_init(PCIDevice *d)
{
    static const uint8_t irqs[PC_MAIN_PIRQS] = { 10, 10, 11, 11 };
    PcMachine *pc = pc_machine();

    for (int n = 0; n < PC_MAIN_PIRQS; n++) {
        pci_config_write(d, PIIX3_PIRQ + n, irqs[n], 1);
    }
    address_space_st(&pc->parent.as_io, 0x4d0, 0, 1);
    address_space_st(&pc->parent.as_io, 0x4d1, 1 << (10 - 8) | 1 << (11 - 8), 1);
}

uint8_t piix3_line_of(PcMachine *pc, PCIDevice *d, int pin)
{
    static const uint8_t irqs[PC_MAIN_PIRQS] = { 10, 10, 11, 11 };

    return irqs[piix3_pirq_of(PCI_SLOT(d->devfn), pin)];
}

static bool piix3_realize(Object *obj, Error **errp)
{
    Piix3 *s = (Piix3 *)obj;
    PcMachine *pc = pc_machine();

    if (!pc) {
        error_set(errp, "%s is a part of the pc machine", obj->type->name);
        return false;
    }
    s->isa = pc_isa_bus_new(pc, &s->parent.dev);
    reset_control_init(&s->reset_control, obj, 0x02);
    memory_region_add(&pc->parent.system_io, RESET_CONTROL_PORT, &s->reset_control.io, 1);
    pci_bus_set_irqs(pci_device_bus(&s->parent), &piix3_irqs, s);
    return true;
}

static void piix3_unrealize(Object *obj)
{
    reset_control_fini(&((Piix3 *)obj)->reset_control);
}

/* Reset values of the 82371SB data sheet that guests look at. */
static void piix3_reset(Object *obj)
{
    static const struct { uint8_t at, value; } regs[] = {
        { 0x04, 0x07 }, { 0x07, 0x02 }, { 0x4c, 0x4d }, { 0x4e, 0x03 }, { 0x60, 0x80 }, { 0x61, 0x80 }, { 0x62, 0x80 },
        { 0x63, 0x80 }, { 0x69, 0x02 }, { 0x70, 0x80 }, { 0x76, 0x0c }, { 0x77, 0x0c }, { 0x78, 0x02 }, { 0xa0, 0x08 },
        { 0xa8, 0x0f },
    };
    Piix3 *s = (Piix3 *)obj;

    memset(s->parent.config + 0x40, 0, PCI_CONFIG_SIZE - 0x40);
    for (size_t i = 0; i < G_N_ELEMENTS(regs); i++) {
        s->parent.config[regs[i].at] = regs[i].value;
    }
    reset_control_reset(&s->reset_control);
    piix3_update(s);
}

static bool piix3_post_load(void *opaque, Error **errp)
{
    piix3_update(opaque);
    return true;
}

static const VMField piix3_fields[] = {
    VM_FIELD(Piix3, pirq_level, VM_U8),
    VM_SUB(Piix3, reset_control, reset_control_vmstate),
    VM_END
};
static const VMState piix3_vmstate = {
    .name = "PIIX3", .version = 1, .fields = piix3_fields, .post_load = piix3_post_load,
};

static const PCIDeviceOps piix3_ops = {
    .vendor_id = PCI_VENDOR_INTEL, .device_id = 0x7000, .class_id = PCI_CLASS_BRIDGE_ISA,
    .config_written = piix3_config_written, .firmware_init = piix3_firmware_init,
};

static const Type piix3_type = {
    .name = "PIIX3", .parent = "pci-device", .desc = "ISA bridge", .category = "Bridge devices", .no_hotplug = true,
    .size = sizeof(Piix3), .realize = piix3_realize, .unrealize = piix3_unrealize, .reset = piix3_reset,
    .vmstate = &piix3_vmstate, .ops = &piix3_ops,
};
TYPE_REGISTER(piix3_type)

/* ---- power management ---- */

typedef struct Piix4Pm {
    PCIDevice parent;
    AcpiPm pm;
    bool mapped;                        /* derived: pm.io shows at pm_base */
    uint32_t pm_base;
} Piix4Pm;

static void piix4_pm_update(Piix4Pm *s)
{
    MemoryRegion *io = &pc_machine()->parent.system_io;
    uint32_t base = pci_get_long(s->parent.config + PIIX4_PMBASE) & 0xffc0;
    bool on = s->parent.config[PIIX4_PMREGMISC] & 1;

    if (s->mapped && (!on || base != s->pm_base)) {
        memory_region_remove(&s->pm.io);
        s->mapped = false;
    }
    if (on && !s->mapped) {
        memory_region_add(io, base, &s->pm.io, 0);
        s->mapped = true;
        s->pm_base = base;
    }
    s->pm.apm_smi_enabled = pci_get_long(s->parent.config + PIIX4_DEVACTB) & DEVACTB_APMC_EN;
}

static void piix4_pm_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    piix4_pm_update((Piix4Pm *)d);
}

static void piix4_pm_firmware_init(PCIDevice *d)
{
    pci_config_write(d, PIIX4_PMBASE, ACPI_PIIX4_PMBASE | 1, 4);
    pci_config_write(d, PIIX4_PMREGMISC, 1, 1);
    pci_config_write(d, PCI_INTERRUPT_LINE, PC_SCI_GSI, 1);
}

static bool piix4_pm_realize(Object *obj, Error **errp)
{
    Piix4Pm *s = (Piix4Pm *)obj;
    PcMachine *pc = pc_machine();
    MemoryRegion *io;

    if (!pc) {
        error_set(errp, "%s is a part of the pc machine", obj->type->name);
        return false;
    }
    io = &pc->parent.system_io;
    s->parent.config[PCI_INTERRUPT_PIN] = 1;
    pci_set_long(s->parent.wmask + PIIX4_PMBASE, 0xffc0);
    s->pm.sci = pc_gsi(pc, GSI_SCI, PC_SCI_GSI);
    s->pm.smi = pc->smm ? &pc->smi : NULL;
    acpi_pm_realize(&s->pm, obj);
    memory_region_add(io, ACPI_PIIX4_GPE_BASE, &s->pm.gpe_io, 0);
    memory_region_add(io, ACPI_APM_PORT, &s->pm.apm_io, 0);
    pc->pm = &s->pm;
    return true;
}

static void piix4_pm_unrealize(Object *obj)
{
    acpi_pm_unrealize(&((Piix4Pm *)obj)->pm);
}

static void piix4_pm_init(Object *obj)
{
    acpi_pm_init(&((Piix4Pm *)obj)->pm, ACPI_PM_PIIX4);
}

static void piix4_pm_reset(Object *obj)
{
    Piix4Pm *s = (Piix4Pm *)obj;
    uint8_t *c = s->parent.config;

    pci_set_long(c + PIIX4_PMBASE, 1);
    pci_set_long(c + PIIX4_DEVACTB, s->pm.smi ? 0 : DEVACTB_APMC_EN);   /* set: no SMM to set up */
    c[PIIX4_PMREGMISC] = 0;
    pci_set_long(c + PIIX4_SMBBASE, 1);
    c[PIIX4_SMBHSTCFG] = 0;
    pci_set_word(c + PCI_STATUS, PCI_STATUS_FAST_BACK | PCI_STATUS_DEVSEL_MEDIUM);
    acpi_pm_reset(&s->pm);
    piix4_pm_update(s);
}

static bool piix4_pm_post_load(void *opaque, Error **errp)
{
    piix4_pm_update(opaque);
    return true;
}

static const VMField piix4_pm_fields[] = { VM_SUB(Piix4Pm, pm, acpi_pm_vmstate), VM_END };
static const VMState piix4_pm_vmstate = {
    .name = "PIIX4_PM", .version = 1, .fields = piix4_pm_fields, .post_load = piix4_pm_post_load,
};

static const Property piix4_pm_props[] = {
    PROP_FIELD("disable_s3", PROP_U8, Piix4Pm, pm.disable_s3, 0, "1: no suspend to RAM"),
    PROP_FIELD("disable_s4", PROP_U8, Piix4Pm, pm.disable_s4, 0, "1: no suspend to disk"),
    PROP_FIELD("s4_val", PROP_U8, Piix4Pm, pm.s4_val, 2, "sleep type of S4"),
    PROP_END
};

static const PCIDeviceOps piix4_pm_ops = {
    .vendor_id = PCI_VENDOR_INTEL, .device_id = 0x7113, .class_id = PCI_CLASS_BRIDGE_OTHER, .revision = 3,
    .config_written = piix4_pm_config_written, .firmware_init = piix4_pm_firmware_init,
};

static const Type piix4_pm_type = {
    .name = "PIIX4_PM", .parent = "pci-device", .desc = "PM", .category = "Bridge devices", .no_hotplug = true,
    .size = sizeof(Piix4Pm), .props = piix4_pm_props, .init = piix4_pm_init, .realize = piix4_pm_realize,
    .unrealize = piix4_pm_unrealize, .reset = piix4_pm_reset, .vmstate = &piix4_pm_vmstate, .ops = &piix4_pm_ops,
};
TYPE_REGISTER(piix4_pm_type)

bool pc_create_i440fx(PcMachine *pc, Error **errp)
{
    PCIBus *bus = pc->host->bus;

    pc->north = pci_create(bus, PCI_DEVFN(0, 0), false, "i440FX", errp);
    pc->south = pc->north ? pci_create(bus, PCI_DEVFN(1, 0), true, "PIIX3", errp) : NULL;
    if (!pc->south) {
        return false;
    }
    pc->isa = ((Piix3 *)pc->south)->isa;
    return pc->parent.acpi == ON_OFF_AUTO_OFF || pci_create(bus, PCI_DEVFN(1, 3), false, "PIIX4_PM", errp);
}
