/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isa-debug-exit: a write of v ends the process with status (v << 1) | 1; the first write decides.
 * A paravirtual device for test payloads; reads give 0. Machine lock.
 * Test: tests/unit/test-pc-ports.c.
 */
#include "hw/isa/isa.h"
#include "system/runstate.h"

typedef struct DebugExit {
    IsaDevice parent;
    uint32_t iobase, iosize;        /* config */
    MemoryRegion io;
} DebugExit;

static uint64_t debugexit_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void debugexit_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    system_shutdown_request_with_code(SHUTDOWN_GUEST_SHUTDOWN, (int)(value << 1 | 1));
}

static const MemoryRegionOps debugexit_ops = {
    .read = debugexit_read, .write = debugexit_write,
    .valid = { .min = 1, .max = 4, .unaligned = true },
    .impl = { .min = 1, .max = 4, .unaligned = true },
};

static void debugexit_unrealize(Object *obj)
{
    isa_port_unmap(&((DebugExit *)obj)->io);
}

static bool debugexit_realize(Object *obj, Error **errp)
{
    DebugExit *s = (DebugExit *)obj;

    if (s->iosize == 0) {
        error_set(errp, "isa-debug-exit: iosize must not be 0");
        return false;
    }
    memory_region_init_io(&s->io, obj, &debugexit_ops, s, "isa-debug-exit", s->iosize);
    if (!isa_port_map(&s->parent, &s->io, s->iobase, errp)) {
        debugexit_unrealize(obj);
        return false;
    }
    return true;
}

static const Property debugexit_props[] = {
    PROP_FIELD("iobase", PROP_U32, DebugExit, iobase, 0x501, "first port"),
    PROP_FIELD("iosize", PROP_U32, DebugExit, iosize, 2, "number of ports"),
    PROP_END
};

static const Type debugexit_type = {
    .name = "isa-debug-exit",
    .parent = "isa-device",
    .category = "Misc devices",
    .user_creatable = true,
    .size = sizeof(DebugExit),
    .props = debugexit_props,
    .realize = debugexit_realize,
    .unrealize = debugexit_unrealize,
};
TYPE_REGISTER(debugexit_type)
