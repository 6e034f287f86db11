/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ISA bus and the base type of what sits on it.
 *
 * Models the bus a PIIX3 or ICH9 LPC bridge offers: ports in the machine's port space and the 16
 * interrupt requests. Real requests are edge-triggered and cannot be shared; ours are the OR of
 * their sources, so that two serial ports may use one. No DMA. Machine lock.
 * Test: tests/unit/test-isa.c.
 */
#include "hw/isa/isa.h"

#include <inttypes.h>

static void isa_irq_update(IsaBus *bus, unsigned irq)
{
    bool level = false;

    for (int i = 0; i < bus->n_sources; i++) {
        level |= bus->source[i].irq == irq && bus->source[i].level;
    }
    irq_set(bus->irq[irq], level);
}

static void isa_source_set(void *opaque, int n, int level)
{
    IsaBus *bus = opaque;

    if (bus->source[n].irq >= ISA_IRQS) {
        return;                             /* given back */
    }
    bus->source[n].level = level;
    isa_irq_update(bus, bus->source[n].irq);
}

static int isa_source_free(const IsaBus *bus)
{
    for (int i = 0; i < bus->n_sources; i++) {
        if (bus->source[i].irq >= ISA_IRQS) {
            return i;
        }
    }
    return bus->n_sources;
}

bool isa_irq_get(IsaDevice *dev, unsigned irq, Irq *out, Error **errp)
{
    IsaBus *bus = isa_device_bus(dev);
    int i;

    *out = NULL;
    if (irq >= ISA_IRQS) {
        error_set(errp, "ISA interrupt %u does not exist: the bus has 0 to %d", irq, ISA_IRQS - 1);
        return false;
    }
    i = isa_source_free(bus);
    if (i == ISA_IRQ_SOURCES) {
        error_set(errp, "too many interrupt lines on the ISA bus (%d)", ISA_IRQ_SOURCES);
        return false;
    }
    bus->n_sources = MAX(bus->n_sources, i + 1);
    bus->source[i].irq = irq;
    bus->source[i].level = false;
    bus->source[i].line.n = i;
    *out = &bus->source[i].line;
    return true;
}

void isa_irq_put(IsaDevice *dev, Irq irq)
{
    IsaBus *bus = isa_device_bus(dev);
    unsigned old;

    if (!irq) {
        return;
    }
    old = bus->source[irq->n].irq;
    bus->source[irq->n].irq = ISA_IRQS;
    bus->source[irq->n].level = false;
    isa_irq_update(bus, old);
}

IsaBus *isa_device_bus(IsaDevice *dev)
{
    return (IsaBus *)dev->dev.bus;
}

bool isa_port_map(IsaDevice *dev, MemoryRegion *mr, uint32_t port, Error **errp)
{
    if (port > 0xffff || mr->size > 0x10000 - port) {
        error_set(errp, "ports 0x%x..0x%" PRIx64 " leave the 64 KiB port space", port,
                  port + mr->size - 1);
        return false;
    }
    memory_region_add(isa_device_bus(dev)->io, port, mr, 0);
    return true;
}

void isa_port_unmap(MemoryRegion *mr)
{
    if (mr->container) {
        memory_region_remove(mr);
    }
    memory_region_fini(mr);
}

IsaDevice *isa_create(IsaBus *bus, const char *type, Error **errp)
{
    Device *dev = device_new(type);

    return device_plug(dev, &bus->bus, errp) ? (IsaDevice *)dev : NULL;
}

IsaBus *isa_bus_new(Device *owner, const char *name, MemoryRegion *mem, MemoryRegion *io)
{
    IsaBus *bus = (IsaBus *)bus_new("ISA", owner, name);

    bus->mem = mem;
    bus->io = io;
    for (int i = 0; i < ISA_IRQ_SOURCES; i++) {
        bus->source[i].line = (IrqLine) { .handler = isa_source_set, .opaque = bus, .n = i };
    }
    return bus;
}

void isa_bus_connect(IsaBus *bus, unsigned irq, Irq target)
{
    bus->irq[irq] = target;
}

static bool isa_bus_check(Bus *bus, Device *dev, Error **errp)
{
    if (!((IsaBus *)bus)->io) {
        error_set(errp, "ISA bus '%s' has no port space", bus->obj.name);
        return false;
    }
    return true;
}

static const BusOps isa_bus_ops = {
    .check = isa_bus_check,
};

static const Type isa_bus_type = {
    .name = "ISA",
    .parent = "bus",
    .size = sizeof(IsaBus),
    .ops = &isa_bus_ops,
};
TYPE_REGISTER(isa_bus_type)

/* A bridge without a chip: boards that are no PC hang their ISA bus on it. */
static const Type isa_bridge_type = { .name = "isabus-bridge", .parent = "device", .no_hotplug = true };
TYPE_REGISTER(isa_bridge_type)

static const Type isa_device_type = {
    .name = "isa-device",
    .parent = "device",
    .abstract = true,
    .no_hotplug = true,
    .bus = "ISA",
    .size = sizeof(IsaDevice),
};
TYPE_REGISTER(isa_device_type)
