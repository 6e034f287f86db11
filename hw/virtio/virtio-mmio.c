/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtio-mmio slot; contract in include/hw/virtio/virtio-mmio.h.
 *
 * Register layout: virtio 1.2 section 4.2.2. An empty slot answers MagicValue, Version and VendorID, and 0 for the
 * rest, DeviceID included, so that a driver looks no further. Left out: all that needs a device.
 * Machine lock. Test: tests/unit/test-microvm.c.
 */
#include "hw/virtio/virtio-mmio.h"

enum { MMIO_MAGIC = 0x00, MMIO_VERSION = 0x04, MMIO_DEVICE_ID = 0x08, MMIO_VENDOR_ID = 0x0c };
#define MAGIC 0x74726976u               /* "virt" */
#define VENDOR 0x554d4551u              /* "QEMU" */

bool virtio_mmio_taken(const VirtioMmio *s)
{
    return s->bus.first_dev != NULL;
}

static uint64_t slot_read(void *opaque, hwaddr addr, unsigned size)
{
    const VirtioMmio *s = opaque;

    if (size != 4) {
        return 0;
    }
    switch (addr) {
    case MMIO_MAGIC: return MAGIC;
    case MMIO_VERSION: return s->force_legacy ? 1 : 2;
    case MMIO_VENDOR_ID: return VENDOR;
    default: return 0;
    }
}

static void slot_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps slot_ops = {
    .read = slot_read, .write = slot_write, .valid = { .min = 1, .max = 8 }, .impl = { .min = 1, .max = 8 },
};

static bool slot_realize(Object *obj, Error **errp)
{
    VirtioMmio *s = (VirtioMmio *)obj;

    memory_region_init_io(&s->mmio, obj, &slot_ops, s, "virtio-mmio", VIRTIO_MMIO_SIZE);
    irq_pins_out(&s->parent, NULL, &s->irq, 1);
    bus_init(&s->bus, "virtio-mmio-bus", &s->parent, s->bus_name);
    s->bus.max_devs = 1;
    return true;
}

static void slot_unrealize(Object *obj)
{
    memory_region_fini(&((VirtioMmio *)obj)->mmio);
}

static const Property slot_props[] = {
    PROP_FIELD("format_transport_address", PROP_BOOL, VirtioMmio, format_transport_address, true,
               "the slot's address is part of the device's path"),
    PROP_FIELD("force-legacy", PROP_BOOL, VirtioMmio, force_legacy, true, "the interface of before virtio 1.0"),
    PROP_FIELD("ioeventfd", PROP_BOOL, VirtioMmio, ioeventfd, true, "notify by eventfd where the accelerator can"),
    PROP_END
};

static const Type slot_type = {
    .name = "virtio-mmio", .parent = "device", .desc = "virtio slot in memory", .no_hotplug = true,
    .size = sizeof(VirtioMmio), .props = slot_props, .realize = slot_realize, .unrealize = slot_unrealize,
};
TYPE_REGISTER(slot_type)

static const Type virtio_bus_type = { .name = "virtio-bus", .parent = "bus", .abstract = true, .size = sizeof(Bus) };
TYPE_REGISTER(virtio_bus_type)
static const Type virtio_mmio_bus_type = { .name = "virtio-mmio-bus", .parent = "virtio-bus" };
TYPE_REGISTER(virtio_mmio_bus_type)
