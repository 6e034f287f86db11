/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isa-debugcon: bytes written to its port go to a character device; a read tells that it is there.
 * A paravirtual device for firmware and test payloads (the Bochs "port e9 hack"). Machine lock.
 * Test: tests/unit/test-pc-ports.c.
 */
#include "chardev/char.h"
#include "hw/isa/isa.h"

typedef struct DebugCon {
    IsaDevice parent;
    uint32_t iobase, readback;      /* config */
    CharFrontend chr;
    MemoryRegion io;
} DebugCon;

static uint64_t debugcon_read(void *opaque, hwaddr addr, unsigned size)
{
    return ((DebugCon *)opaque)->readback;
}

static void debugcon_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    uint8_t byte = value;

    char_write_all(&((DebugCon *)opaque)->chr, &byte, 1);
}

static const MemoryRegionOps debugcon_ops = {
    .read = debugcon_read, .write = debugcon_write,
    .valid = { .min = 1, .max = 1 }, .impl = { .min = 1, .max = 1 },
};

static void debugcon_unrealize(Object *obj)
{
    isa_port_unmap(&((DebugCon *)obj)->io);
}

static bool debugcon_realize(Object *obj, Error **errp)
{
    DebugCon *s = (DebugCon *)obj;

    if (!char_connected(&s->chr)) {
        error_set(errp, "isa-debugcon needs the property 'chardev'");
        return false;
    }
    memory_region_init_io(&s->io, obj, &debugcon_ops, s, "isa-debugcon", 1);
    if (!isa_port_map(&s->parent, &s->io, s->iobase, errp)) {
        debugcon_unrealize(obj);
        return false;
    }
    return true;
}

static const Property debugcon_props[] = {
    PROP_FIELD("iobase", PROP_U32, DebugCon, iobase, 0xe9, "its port"),
    { .name = "chardev", .kind = PROP_CHARDEV, .offset = offsetof(DebugCon, chr),
      .help = "ID of a chardev to use as a backend" },
    PROP_FIELD("readback", PROP_U32, DebugCon, readback, 0xe9, "value that reads give"),
    PROP_END
};

static const Type debugcon_type = {
    .name = "isa-debugcon",
    .parent = "isa-device",
    .category = "Misc devices",
    .user_creatable = true,
    .size = sizeof(DebugCon),
    .props = debugcon_props,
    .realize = debugcon_realize,
    .unrealize = debugcon_unrealize,
};
TYPE_REGISTER(debugcon_type)
