/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot for one virtio device in memory (virtio 1.2 section 4.2): 512 bytes of registers and an interrupt.
 *
 * Type "virtio-mmio", with a bus of type "virtio-mmio-bus" that takes one device. A board maps slot->mmio, connects
 * slot->irq, and tells the guest by ACPI, device tree or kernel command line which slots are taken. Today there are no
 * devices: a slot shows its magic, and device number 0. Machine lock. Test: tests/unit/test-microvm.c.
 */
#ifndef CLEAT_HW_VIRTIO_VIRTIO_MMIO_H
#define CLEAT_HW_VIRTIO_VIRTIO_MMIO_H

#include "hw/irq.h"
#include "system/memory.h"

#define VIRTIO_MMIO_SIZE 0x200

typedef struct VirtioMmio {
    Device parent;
    /* config */
    bool force_legacy;                  /* version 1 of the interface, else 2 */
    bool ioeventfd;
    bool format_transport_address;
    /* wiring */
    const char *bus_name;               /* read once, at realize; NULL: the next free name */
    MemoryRegion mmio;
    Irq irq;
    Bus bus;
} VirtioMmio;

/* Is there a device in the slot? */
bool virtio_mmio_taken(const VirtioMmio *s);

#endif
