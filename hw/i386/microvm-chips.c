/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sits on a microvm board, and its wires.
 *
 * GSIs 0..23 are pins of the first I/O APIC (the PIT's request 0 is at pin 2), 24..47 of the second; 0..15 are also
 * requests of the 8259s where there are any. A GSI is up while any of its sources holds it up. With the accelerator's
 * own chips all GSIs go there. Machine lock. Test: tests/unit/test-microvm.c.
 */
#include "hw/i386/microvm.h"

#include "target/i386/apic.h"

#define PIT_IOAPIC_PIN 2

/* ---- interrupt lines ---- */

static void gsi_output(MicrovmMachine *mv, unsigned gsi, int level)
{
    const AccelChips *accel = &mv->parent.accel_chips;

    if (accel->gsi_set) {
        accel->gsi_set(gsi, level);         /* the chips below only note the level then */
    }
    if (gsi < ISA_IRQS && mv->pic.master) {
        irq_set(&mv->pic.pins[gsi], level);
    }
    if (mv->ioapic[gsi / IOAPIC_PINS]) {
        irq_set(&mv->ioapic[gsi / IOAPIC_PINS]->pins[gsi ? gsi % IOAPIC_PINS : PIT_IOAPIC_PIN], level);
    }
}

static uint64_t gsi_levels(const MicrovmMachine *mv)
{
    uint64_t all = 0;

    for (int s = 0; s < MICROVM_SOURCES; s++) {
        all |= mv->gsi_level[s];
    }
    return all;
}

static void gsi_set(void *opaque, int n, int level)
{
    MicrovmMachine *mv = opaque;
    unsigned source = n / MICROVM_GSIS, gsi = n % MICROVM_GSIS;
    uint64_t bit = 1ull << gsi, before = gsi_levels(mv);

    mv->gsi_level[source] = (mv->gsi_level[source] & ~bit) | (level ? bit : 0);
    if ((before ^ gsi_levels(mv)) & bit) {
        gsi_output(mv, gsi, !!level);
    }
}

void microvm_gsi_init(MicrovmMachine *mv)
{
    for (int s = 0; s < MICROVM_SOURCES; s++) {
        for (int n = 0; n < MICROVM_GSIS; n++) {
            mv->gsi[s][n] = (IrqLine) { .handler = gsi_set, .opaque = mv, .n = s * MICROVM_GSIS + n };
        }
    }
}

Irq microvm_gsi(MicrovmMachine *mv, MicrovmSource source, unsigned gsi)
{
    return &mv->gsi[source][gsi];
}

static void pic_intr_set(void *opaque, int n, int level)
{
    apic_set_pic_level(level);
}

/* ---- interrupt controllers ---- */

static IoApic *ioapic_create(MicrovmMachine *mv, const char *name, hwaddr addr, Error **errp)
{
    const AccelChips *accel = &mv->parent.accel_chips;
    IoApic *ioapic = (IoApic *)device_new("ioapic");

    ioapic->kernel = accel->ioapic_kernel;
    object_add_child(&mv->parent.obj, name, &ioapic->parent.obj);
    if (!device_plug(&ioapic->parent, NULL, errp)) {
        return NULL;
    }
    ioapic->deliver = accel->ioapic_deliver;
    ioapic->changed = accel->ioapic_changed;
    memory_region_add(&mv->parent.system_memory, addr, &ioapic->mmio, 1);
    apic_eoi_hook_add(ioapic_eoi, ioapic);
    return ioapic;
}

static bool ioapics_create(MicrovmMachine *mv, Error **errp)
{
    mv->ioapic[0] = ioapic_create(mv, "ioapic", MICROVM_IOAPIC, errp);
    if (!mv->ioapic[0]) {
        return false;
    }
    if (mv->two_ioapics) {
        mv->ioapic[1] = ioapic_create(mv, "ioapic2", MICROVM_IOAPIC2, errp);
    }
    return !mv->two_ioapics || mv->ioapic[1];
}

static bool pic_create(MicrovmMachine *mv, Error **errp)
{
    if (mv->parent.pic == ON_OFF_AUTO_OFF && !mv->parent.accel_chips.pic_kernel) {
        return true;
    }
    mv->pic.kernel = mv->parent.accel_chips.pic_kernel;
    irq_init_array(&mv->pic_intr, 1, pic_intr_set, mv);
    if (!i8259_pair_init(&mv->pic, mv->isa, &mv->pic_intr, errp)) {
        return false;
    }
    for (unsigned i = 0; i < mv->n_cpus && !mv->pic.kernel; i++) {
        mv->cpus[i]->pic_ack = i8259_ack;
        mv->cpus[i]->pic_opaque = &mv->pic;
    }
    return true;
}

/* ---- the ISA bus ---- */

static bool isa_bus_create(MicrovmMachine *mv, Error **errp)
{
    Machine *m = &mv->parent;

    mv->isa_bridge = device_new("isabus-bridge");
    if (!device_plug(mv->isa_bridge, NULL, errp)) {
        return false;
    }
    mv->isa = isa_bus_new(mv->isa_bridge, "isa.0", &m->system_memory, &m->system_io);
    for (unsigned irq = 0; irq < ISA_IRQS; irq++) {
        isa_bus_connect(mv->isa, irq, microvm_gsi(mv, MICROVM_ISA, irq));
    }
    return true;
}

static bool rtc_create(MicrovmMachine *mv, Error **errp)
{
    if (mv->rtc_on == ON_OFF_AUTO_OFF) {
        return true;
    }
    mv->rtc = (Rtc *)device_new("mc146818rtc");
    if (!object_prop_set_uint(&mv->rtc->parent.dev.obj, "base_year", 2000, errp) ||
        !device_plug(&mv->rtc->parent.dev, &mv->isa->bus, errp)) {
        return false;
    }
    x86_board_cmos_memory(mv->rtc, mv->below_4g, mv->above_4g);
    return true;
}

static bool isa_devices_create(MicrovmMachine *mv, Error **errp)
{
    const Machine *m = &mv->parent;

    if (!pic_create(mv, errp)) {
        return false;
    }
    if (m->pit != ON_OFF_AUTO_OFF) {
        mv->pit = (Pit *)isa_create(mv->isa, "isa-pit", errp);
        if (!mv->pit) {
            return false;
        }
    }
    return rtc_create(mv, errp);
}

bool microvm_serial(const MicrovmMachine *mv)
{
    for (const Device *d = mv->isa->bus.first_dev; d; d = d->next_on_bus) {
        if (object_is_a(&d->obj, "isa-serial")) {
            return true;
        }
    }
    return false;
}

/* ---- what is in memory ---- */

static bool ged_create(MicrovmMachine *mv, Error **errp)
{
    if (!microvm_has_acpi(mv)) {
        return true;
    }
    mv->ged = (AcpiGed *)device_new("acpi-ged");
    if (!object_prop_set_uint(&mv->ged->parent.obj, "ged-event", GED_POWER_BUTTON, errp) ||
        !device_plug(&mv->ged->parent, NULL, errp)) {
        return false;
    }
    mv->ged->irq = microvm_gsi(mv, MICROVM_BOARD, MICROVM_GED_GSI);
    memory_region_add(&mv->parent.system_memory, MICROVM_GED_EVENTS, &mv->ged->events, 0);
    memory_region_add(&mv->parent.system_memory, MICROVM_GED_REGS, &mv->ged->regs, 0);
    return true;
}

static bool slot_create(MicrovmMachine *mv, unsigned n, Error **errp)
{
    g_autofree char *bus = g_strdup_printf("virtio-mmio-bus.%u", n);
    VirtioMmio *slot = (VirtioMmio *)device_new("virtio-mmio");

    slot->bus_name = bus;
    if (!object_prop_set(&slot->parent.obj, "ioeventfd", "off", errp) || !device_plug(&slot->parent, NULL, errp)) {
        return false;
    }
    slot->bus_name = NULL;
    slot->irq = microvm_gsi(mv, MICROVM_BOARD, mv->slot_gsi + n);
    memory_region_add(&mv->parent.system_memory, MICROVM_SLOTS_BASE + n * VIRTIO_MMIO_SIZE, &slot->mmio, 0);
    mv->slot[n] = slot;
    return true;
}

/* The last slot comes first, so that it is the first that a device without bus= gets. */
static bool slots_create(MicrovmMachine *mv, Error **errp)
{
    mv->n_slots = mv->two_ioapics ? MICROVM_SLOTS_MAX : 8;
    mv->slot_gsi = mv->two_ioapics ? 24 : microvm_has_acpi(mv) ? 16 : 5;
    for (unsigned n = mv->n_slots; n-- > 0;) {
        if (!slot_create(mv, n, errp)) {
            return false;
        }
    }
    return true;
}

bool microvm_chips_create(MicrovmMachine *mv, Error **errp)
{
    return isa_bus_create(mv, errp) && ioapics_create(mv, errp) && slots_create(mv, errp) && ged_create(mv, errp) &&
           isa_devices_create(mv, errp) &&
           (!mv->isa_serial || x86_board_serials_create(&mv->parent, mv->isa, 1, errp)) &&
           x86_board_debugcon_create(&mv->parent, mv->isa, errp);
}
