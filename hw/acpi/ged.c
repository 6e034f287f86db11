/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generic event device; contract in include/hw/acpi/ged.h.
 *
 * Its request is edge-triggered: a pulse says that the event word has something new. Left out: events for hot-plugged
 * memory and CPUs (nothing here raises them). Machine lock. Test: tests/unit/test-microvm.c.
 */
#include "hw/acpi/ged.h"

#include "system/runstate.h"
#include "system/vmstate.h"

enum { SLP_TYP_SHIFT = 2, SLP_TYP = 7 << 2, SLP_EN = 1 << 5 };

void acpi_ged_event(AcpiGed *s, uint32_t event)
{
    if (event & s->event_mask) {
        s->pending |= event & s->event_mask;
        irq_pulse(s->irq);
    }
}

static void ged_powerdown(void *opaque)
{
    acpi_ged_event(opaque, GED_POWER_BUTTON);
}

static uint64_t ged_events_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiGed *s = opaque;
    uint32_t events = s->pending;

    s->pending = 0;
    return events;
}

static void ged_events_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps ged_events_ops = {
    .read = ged_events_read, .write = ged_events_write,
    .valid = { .min = 4, .max = 4 }, .impl = { .min = 4, .max = 4 },
};

static uint64_t ged_regs_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void ged_regs_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    if (addr == GED_SLEEP_CONTROL && (value & SLP_EN) && (value & SLP_TYP) >> SLP_TYP_SHIFT == GED_SLEEP_S5) {
        system_shutdown_request(SHUTDOWN_GUEST_SHUTDOWN);
    } else if (addr == GED_RESET && value == GED_RESET_VALUE) {
        system_reset_request(SHUTDOWN_GUEST_RESET);
    }
}

static const MemoryRegionOps ged_regs_ops = {
    .read = ged_regs_read, .write = ged_regs_write,
    .valid = { .min = 1, .max = 1 }, .impl = { .min = 1, .max = 1 },
};

static bool ged_realize(Object *obj, Error **errp)
{
    AcpiGed *s = (AcpiGed *)obj;

    memory_region_init_io(&s->events, obj, &ged_events_ops, s, "acpi-ged", GED_EVENTS_SIZE);
    memory_region_init_io(&s->regs, obj, &ged_regs_ops, s, "acpi-ged-regs", GED_REGS_SIZE);
    irq_pins_out(&s->parent, NULL, &s->irq, 1);
    powerdown_notifier_add(ged_powerdown, s);
    return true;
}

static void ged_unrealize(Object *obj)
{
    AcpiGed *s = (AcpiGed *)obj;

    memory_region_fini(&s->events);
    memory_region_fini(&s->regs);
}

static void ged_reset(Object *obj)
{
    ((AcpiGed *)obj)->pending = 0;
}

static const VMField ged_fields[] = { VM_FIELD(AcpiGed, pending, VM_U32), VM_END };
static const VMState ged_vmstate = { .name = "acpi-ged", .version = 1, .fields = ged_fields };

static const Property ged_props[] = {
    PROP_FIELD("ged-event", PROP_U32, AcpiGed, event_mask, 0, "events that the board describes: 2 is the power button"),
    PROP_END
};

static const Type ged_type = {
    .name = "acpi-ged", .parent = "device", .desc = "ACPI generic event device", .no_hotplug = true,
    .size = sizeof(AcpiGed), .props = ged_props, .realize = ged_realize, .unrealize = ged_unrealize,
    .reset = ged_reset, .vmstate = &ged_vmstate,
};
TYPE_REGISTER(ged_type)
