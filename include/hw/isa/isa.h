/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ISA bus: 16-bit ports, 16 edge-triggered interrupt requests.
 *
 * A bridge (PIIX3, ICH9 LPC) makes one with isa_bus_new(owner, "isa.0", ...) and connects its
 * interrupt requests to the platform's GSI inputs 0..15. ISA devices are Types with parent
 * "isa-device" and bus "ISA"; in realize they map ports and ask for interrupt lines.
 * Machine lock. Test: tests/unit/test-isa.c.
 */
#ifndef CLEAT_HW_ISA_ISA_H
#define CLEAT_HW_ISA_ISA_H

#include "hw/irq.h"
#include "system/memory.h"
#include "system/qdev.h"

#define ISA_IRQS 16
#define ISA_IRQ_SOURCES 48          /* devices' lines that may share the 16 requests */

typedef struct IsaBus {
    Bus bus;
    MemoryRegion *mem, *io;         /* the address spaces' roots the bridge forwards to */
    Irq irq[ISA_IRQS];              /* outputs: where request n goes; NULL: nowhere */
    struct {
        IrqLine line;
        uint8_t irq;
        bool level;
    } source[ISA_IRQ_SOURCES];      /* each device's own line; request n is the OR of its sources */
    int n_sources;
    uint32_t serial_count;          /* isa-serial devices that asked for "the next index" */
} IsaBus;

typedef struct IsaDevice {
    Device dev;
} IsaDevice;

/* owner may be NULL (tests). irq: 16 outputs, or NULL to connect later with isa_bus_connect. */
IsaBus *isa_bus_new(Device *owner, const char *name, MemoryRegion *mem, MemoryRegion *io);
void isa_bus_connect(IsaBus *bus, unsigned irq, Irq target);

/* The bus a realized (or realizing) device sits on; NULL for a device without one. */
IsaBus *isa_device_bus(IsaDevice *dev);
/* A line of dev's own into request irq. False: no such request, or too many sources. */
bool isa_irq_get(IsaDevice *dev, unsigned irq, Irq *out, Error **errp);
void isa_irq_put(IsaDevice *dev, Irq irq);
/* Maps mr over the ports from `port`; false when the range leaves the 64 Ki ports. */
bool isa_port_map(IsaDevice *dev, MemoryRegion *mr, uint32_t port, Error **errp);
/* Undoes isa_port_map and ends the region; harmless when it was never mapped. */
void isa_port_unmap(MemoryRegion *mr);

/* For boards: creates, plugs, returns; NULL with an error. */
IsaDevice *isa_create(IsaBus *bus, const char *type, Error **errp);

#endif
