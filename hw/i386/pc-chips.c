/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sits on a PC board besides CPUs, memory and PCI: interrupt controllers, timers, clock, keyboard controller,
 * ports;
 * and the wires between them.
 *
 * Global system interrupts (GSI) 0..15 are ISA requests, at the 8259s and at I/O APIC pins of the same number but
 * for the PIT's, which is at pin 2; 16..23 are PCI's at the I/O APIC. A GSI is up while any of its sources holds it up.
 * Where the accelerator has these chips all GSIs go there too, and the devices here show its registers. Machine lock.
 * Test: tests/unit/test-pc.c.
 */
#include "hw/i386/pc.h"

#include <string.h>

#include "hw/char/serial.h"
#include "hw/i386/chipset.h"
#include "hw/input/i8042.h"
#include "target/i386/apic.h"
#include "target/i386/smm.h"

#define PIT_IOAPIC_PIN 2
#define FERR_IRQ 13
#define RTC_BASE_YEAR 2000              /* its two digits count from here; CMOS 32h has the century */

/* ---- interrupt lines ---- */

static void pc_gsi_output(PcMachine *pc, unsigned gsi, int level)
{
    const AccelChips *accel = &pc->parent.accel_chips;

    if (accel->gsi_set) {
        accel->gsi_set(gsi, level);         /* the chips below only note the level then */
    }
    if (gsi < ISA_IRQS && pc->pic.master) {
        irq_set(&pc->pic.pins[gsi], level);
    }
    if (pc->ioapic) {
        irq_set(&pc->ioapic->pins[gsi ? gsi : PIT_IOAPIC_PIN], level);
    }
}

static uint32_t pc_gsi_levels(const PcMachine *pc)
{
    uint32_t all = 0;

    for (int s = 0; s < GSI_SOURCES; s++) {
        all |= pc->gsi_level[s];
    }
    return all;
}

static void pc_gsi_set(void *opaque, int n, int level)
{
    PcMachine *pc = opaque;
    unsigned source = n / PC_GSIS, gsi = n % PC_GSIS;
    uint32_t bit = 1u << gsi, before = pc_gsi_levels(pc);

    pc->gsi_level[source] = (pc->gsi_level[source] & ~bit) | (level ? bit : 0);
    if ((before ^ pc_gsi_levels(pc)) & bit) {
        pc_gsi_output(pc, gsi, !!level);
    }
}

/*
 * PIIX4's SMI# goes to the boot processor, whose handler firmware has placed; ICH9's goes to the CPU that wrote to b2h.
 */
static void smi_set(void *opaque, int n, int level)
{
    PcMachine *pc = opaque;
    VCpu *writer = pc->kind->pcie ? vcpu_current() : NULL;

    if (level) {
        x86_cpu_smi(writer ? X86_CPU(writer) : pc->cpus[0]);
    }
}

void pc_gsi_init(PcMachine *pc)
{
    for (int s = 0; s < GSI_SOURCES; s++) {
        for (int n = 0; n < PC_GSIS; n++) {
            pc->gsi[s][n] = (IrqLine) { .handler = pc_gsi_set, .opaque = pc, .n = s * PC_GSIS + n };
        }
    }
    irq_init_array(&pc->smi, 1, smi_set, pc);
}

Irq pc_gsi(PcMachine *pc, GsiSource source, unsigned gsi)
{
    return gsi < PC_GSIS ? &pc->gsi[source][gsi] : NULL;
}

IsaBus *pc_isa_bus_new(PcMachine *pc, Device *owner)
{
    IsaBus *isa = isa_bus_new(owner, "isa.0", &pc->parent.system_memory, &pc->parent.system_io);

    for (unsigned irq = 0; irq < ISA_IRQS; irq++) {
        isa_bus_connect(isa, irq, pc_gsi(pc, GSI_ISA, irq));
    }
    return isa;
}

static void pic_intr_set(void *opaque, int n, int level)
{
    apic_set_pic_level(level);
}

static void ferr_set(void *opaque, bool level)
{
    irq_set(pc_gsi(opaque, GSI_FERR, FERR_IRQ), level);
}

static void ferr_clear(void *opaque, int n, int level)
{
    if (level) {
        PcMachine *pc = opaque;

        irq_lower(pc_gsi(opaque, GSI_FERR, FERR_IRQ));
        for (unsigned i = 0; i < pc->n_cpus; i++) {
            x86_cpu_ignore_fpu_error(pc->cpus[i]);
        }
    }
}

/* Whoever set the line last has it, as QEMU wires it: software uses one of the two and forgets the other. */
static void a20_set(void *opaque, int n, int level)
{
    PcMachine *pc = opaque;

    for (unsigned i = 0; i < pc->n_cpus; i++) {
        x86_cpu_set_a20(pc->cpus[i], level);
    }
}

/* ---- chips ---- */

static bool pc_interrupt_chips(PcMachine *pc, Error **errp)
{
    Machine *m = &pc->parent;

    irq_init_array(&pc->pic_intr, 1, pic_intr_set, pc);
    pc->pic.kernel = m->accel_chips.pic_kernel;
    if (!i8259_pair_init(&pc->pic, pc->isa, &pc->pic_intr, errp)) {
        return false;
    }
    for (unsigned i = 0; i < pc->n_cpus && !pc->pic.kernel; i++) {
        pc->cpus[i]->pic_ack = i8259_ack;
        pc->cpus[i]->pic_opaque = &pc->pic;
    }
    pc->ioapic = (IoApic *)device_new("ioapic");
    pc->ioapic->kernel = m->accel_chips.ioapic_kernel;
    object_add_child(&m->obj, "ioapic", &pc->ioapic->parent.obj);       /* where qtest programs look for it */
    if (!device_plug(&pc->ioapic->parent, NULL, errp)) {
        return false;
    }
    pc->ioapic->deliver = m->accel_chips.ioapic_deliver;
    pc->ioapic->changed = m->accel_chips.ioapic_changed;
    memory_region_add(&m->system_memory, PC_IOAPIC_BASE, &pc->ioapic->mmio, 1);
    apic_eoi_hook_add(ioapic_eoi, pc->ioapic);
    return true;
}

static bool pc_hpet_create(PcMachine *pc, Error **errp)
{
    Hpet *hpet;

    if (!pc->parent.hpet_on) {
        return true;
    }
    hpet = (Hpet *)device_new("hpet");
    hpet->intcap = pc->kind->hpet_intcap;
    for (unsigned n = 0; n < PC_GSIS; n++) {
        hpet->irq[n] = pc_gsi(pc, GSI_HPET, n);
    }
    hpet->pit_enable = pc->pit ? &pc->pit->irq_enable_in : NULL;
    pc->hpet = hpet;
    if (!device_plug(&hpet->parent, NULL, errp)) {
        return false;
    }
    memory_region_add(&pc->parent.system_memory, PC_HPET_BASE, &hpet->mmio, 1);
    return true;
}

static bool pc_timers_create(PcMachine *pc, Error **errp)
{
    Device *speaker;

    if (pc->parent.pit != ON_OFF_AUTO_OFF) {
        pc->pit = (Pit *)isa_create(pc->isa, "isa-pit", errp);
        if (!pc->pit) {
            return false;
        }
        speaker = device_new("isa-pcspk");
        if (!object_prop_set_link(&speaker->obj, "pit", &pc->pit->parent.dev.obj, errp) ||
            !device_plug(speaker, &pc->isa->bus, errp)) {
            return false;
        }
    }
    if (!pc_hpet_create(pc, errp)) {
        return false;
    }
    pc->rtc = (Rtc *)device_new("mc146818rtc");
    pc->rtc->base_year = RTC_BASE_YEAR;
    pc->rtc->irq_override = pc->hpet ? &pc->hpet->rtc_in : NULL;
    /* PCs count the year register from the century that CMOS byte 32h holds. */
    return object_prop_set_uint(&pc->rtc->parent.dev.obj, "base_year", 2000, errp)
           && device_plug(&pc->rtc->parent.dev, &pc->isa->bus, errp);
}

static bool pc_port_chips(PcMachine *pc, Error **errp)
{
    I8042 *kbd = pc->i8042_enabled ? (I8042 *)isa_create(pc->isa, "i8042", errp) : NULL;
    PcPorts *ports;
    Port92 *port92;

    if (pc->i8042_enabled && !kbd) {
        return false;
    }
    ports = (PcPorts *)isa_create(pc->isa, "pc-ports", errp);
    port92 = ports ? (Port92 *)isa_create(pc->isa, "port92", errp) : NULL;
    if (!port92) {
        return false;
    }
    irq_init_array(pc->a20, 2, a20_set, pc);
    port92->a20 = &pc->a20[1];
    if (kbd) {
        kbd->a20 = &pc->a20[0];
    }
    irq_init_array(&pc->ferr_clear, 1, ferr_clear, pc);
    ports->ferr_clear = &pc->ferr_clear;
    for (unsigned i = 0; i < pc->n_cpus; i++) {
        pc->cpus[i]->ferr = ferr_set;
        pc->cpus[i]->ferr_opaque = pc;
    }
    return true;
}

bool pc_chips_create(PcMachine *pc, Error **errp)
{
    return pc_interrupt_chips(pc, errp) && pc_timers_create(pc, errp) && pc_port_chips(pc, errp);
}
