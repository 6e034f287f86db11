/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pvpanic: the guest's panic notifier; events are bits of one byte, readable to see which exist.
 * Machine lock. Test: tests/unit/test-pc-ports.c.
 */
#include "hw/misc/pvpanic.h"

#include "system/runstate.h"
#include "util/log.h"

static uint64_t pvpanic_read(void *opaque, hwaddr addr, unsigned size)
{
    return ((PvPanic *)opaque)->events;
}

static void pvpanic_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    PvPanic *pv = opaque;

    if (value & ~(uint64_t)pv->events) {
        log_mask(LOG_GUEST_ERROR, "pvpanic: event 0x%02x is not offered\n", (unsigned)value);
    }
    value &= pv->events;
    if (value & PVPANIC_PANICKED) {
        system_guest_panicked(NULL);
    } else if (value & PVPANIC_CRASHLOADED) {
        run_event_emit("GUEST_CRASHLOADED", "{\"action\": \"run\"}");
    } else if (value & PVPANIC_SHUTDOWN) {
        run_event_emit("GUEST_PVSHUTDOWN", NULL);
        system_shutdown_request(SHUTDOWN_GUEST_SHUTDOWN);
    }
}

static const MemoryRegionOps pvpanic_ops = {
    .read = pvpanic_read, .write = pvpanic_write, .impl = { .min = 1, .max = 1 },
};

void pvpanic_init(PvPanic *pv, Object *owner, uint64_t size)
{
    memory_region_init_io(&pv->io, owner, &pvpanic_ops, pv, "pvpanic", size);
}

static void pvpanic_isa_unrealize(Object *obj)
{
    isa_port_unmap(&((PvPanicIsa *)obj)->pv.io);
}

static bool pvpanic_isa_realize(Object *obj, Error **errp)
{
    PvPanicIsa *s = (PvPanicIsa *)obj;

    pvpanic_init(&s->pv, obj, 1);
    if (!isa_port_map(&s->parent, &s->pv.io, s->ioport, errp)) {
        pvpanic_isa_unrealize(obj);
        return false;
    }
    return true;
}

static const Property pvpanic_isa_props[] = {
    PROP_FIELD("ioport", PROP_U16, PvPanicIsa, ioport, 0x505, "its port"),
    PROP_FIELD("events", PROP_U8, PvPanicIsa, pv.events, PVPANIC_EVENTS,
               "events offered: 1 panicked, 2 crash kernel loaded, 4 shutdown"),
    PROP_END
};

static const Type pvpanic_isa_type = {
    .name = "pvpanic",
    .parent = "isa-device",
    .category = "Misc devices",
    .user_creatable = true,
    .size = sizeof(PvPanicIsa),
    .props = pvpanic_isa_props,
    .realize = pvpanic_isa_realize,
    .unrealize = pvpanic_isa_unrealize,
};
TYPE_REGISTER(pvpanic_isa_type)
