/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices and buses: where they sit, plugging, labels. See include/system/qdev.h.
 * A device without a bus belongs to the system bus, which is no object of its own here.
 * Machine lock, or main thread. Test: tests/unit/test-qdev.c.
 */
#include <string.h>

#include "system/qdev/qdev-internal.h"
#include "util/rcu.h"

static struct {
    bool hotplug;                   /* the machine stands: new devices are hot-plugged */
} plug_phase;

void devices_set_hotplug(bool on)
{
    plug_phase.hotplug = on;
}

/* ---- buses ---- */

/* "ID.N" under a device with an id, else "type.N" in lower case, N counting the buses that would be called so. */
static char *bus_pick_name(const char *type, Device *owner)
{
    g_autofree char *base = owner && owner->obj.id ? g_strdup(owner->obj.id) : g_ascii_strdown(type, -1);

    for (unsigned n = 0;; n++) {
        g_autofree char *name = g_strdup_printf("%s.%u", base, n);

        if (!bus_find(name)) {
            return g_steal_pointer(&name);
        }
    }
}

static void bus_attach(Bus *bus, Device *owner, const char *name)
{
    g_autofree char *picked = name ? g_strdup(name) : bus_pick_name(bus->obj.type->name, owner);
    Object *parent = owner ? &owner->obj : object_container("/machine/unattached");

    bus->owner = owner;
    if (owner) {
        Bus **at = &owner->first_bus;

        while (*at) {
            at = &(*at)->next_of_owner;
        }
        *at = bus;
    }
    object_add_child(parent, picked, &bus->obj);
}

void bus_init(Bus *bus, const char *type, Device *owner, const char *name)
{
    object_init(bus, type);
    bus_attach(bus, owner, name);
}

Bus *bus_new(const char *type, Device *owner, const char *name)
{
    Bus *bus = (Bus *)object_new(type);

    bus_attach(bus, owner, name);
    return bus;
}

static void bus_fini(Object *obj)
{
    Bus *bus = (Bus *)obj;

    if (bus->owner) {
        for (Bus **at = &bus->owner->first_bus; *at; at = &(*at)->next_of_owner) {
            if (*at == bus) {
                *at = bus->next_of_owner;
                break;
            }
        }
    }
}

typedef struct BusWalk {
    bool (*fn)(Bus *bus, void *opaque);
    void *opaque;
} BusWalk;

static bool bus_walk_one(Object *obj, void *opaque)
{
    BusWalk *w = opaque;

    return !object_is_a(obj, "bus") || w->fn((Bus *)obj, w->opaque);
}

void bus_foreach(bool (*fn)(Bus *bus, void *opaque), void *opaque)
{
    BusWalk w = { fn, opaque };

    object_walk(object_root(), bus_walk_one, &w);
}

typedef struct BusSearch {
    const char *key;
    Bus *found;
    Bus *full;
} BusSearch;

static bool bus_match_name(Bus *bus, void *opaque)
{
    BusSearch *s = opaque;

    if (!strcmp(bus->obj.name, s->key)) {
        s->found = bus;
    }
    return !s->found;
}

Bus *bus_find(const char *name)
{
    const char *last = strrchr(name, '/');
    BusSearch s = { .key = name };
    Object *obj;

    if (last) {
        obj = object_resolve(name);
        if (obj && object_is_a(obj, "bus")) {
            return (Bus *)obj;
        }
        s.key = last + 1;           /* a path of the older kind: its last part is the bus's name */
    }
    bus_foreach(bus_match_name, &s);
    return s.found;
}

bool bus_is_full(const Bus *bus)
{
    int n = 0;

    for (Device *d = bus->first_dev; d; d = d->next_on_bus) {
        n++;
    }
    return bus->max_devs && n >= bus->max_devs;
}

static bool bus_match_type(Bus *bus, void *opaque)
{
    BusSearch *s = opaque;

    if (!object_is_a(&bus->obj, s->key)) {
        return true;
    }
    if (bus_is_full(bus)) {
        s->full = s->full ? s->full : bus;
        return true;
    }
    s->found = bus;
    return false;
}

Bus *bus_find_by_type(const char *type)
{
    BusSearch s = { .key = type };

    bus_foreach(bus_match_type, &s);
    return s.found ? s.found : s.full;
}

/* ---- devices ---- */

char *device_label(const Device *dev)
{
    return dev->obj.id ? g_strdup(dev->obj.id) : dev->obj.parent ? object_path(&dev->obj)
                                                                  : g_strdup(dev->obj.type->name);
}

const char *device_bus_type(const Type *type)
{
    for (; type; type = type_parent(type)) {
        if (type->bus) {
            return type->bus;
        }
    }
    return NULL;
}

static bool bus_accepts(Bus *bus, Device *dev, Error **errp)
{
    const char *want = device_bus_type(dev->obj.type);
    const BusOps *ops = bus ? type_ops(bus->obj.type) : NULL;

    if (!bus) {
        if (want) {
            error_set(errp, "Device '%s' needs a '%s' bus", dev->obj.type->name, want);
        }
        return !want;
    }
    if (!want || !object_is_a(&bus->obj, want)) {
        error_set(errp, "Device '%s' can't go on %s bus '%s'", dev->obj.type->name, bus->obj.type->name,
                  bus->obj.name);
        return false;
    }
    if (bus_is_full(bus)) {
        error_set(errp, "Bus '%s' is full", bus->obj.name);
        return false;
    }
    if (plug_phase.hotplug && !(ops && ops->plug_hot)) {
        error_set(errp, "Bus '%s' does not take hot-plugged devices", bus->obj.name);
        return false;
    }
    return !ops || !ops->check || ops->check(bus, dev, errp);
}

static void bus_link(Bus *bus, Device *dev)
{
    Device **at = &bus->first_dev;

    while (*at) {
        at = &(*at)->next_on_bus;
    }
    *at = dev;
    dev->next_on_bus = NULL;
}

static void bus_unlink(Device *dev)
{
    if (!dev->bus) {
        return;
    }
    for (Device **at = &dev->bus->first_dev; *at; at = &(*at)->next_on_bus) {
        if (*at == dev) {
            *at = dev->next_on_bus;
            break;
        }
    }
    dev->bus = NULL;
}

static void device_place(Device *dev)
{
    if (!dev->obj.parent && dev->obj.id) {
        object_add_child(object_container("/machine/peripheral"), dev->obj.id, &dev->obj);
    } else if (!dev->obj.parent) {
        object_add_child(object_container("/machine/unattached"), "device[*]", &dev->obj);
    }
}

/*
 * A device that fails to plug is left unrealized and off the bus; its place in the tree stays the
 * caller's to undo.
 */
bool device_plug(Device *dev, Bus *bus, Error **errp)
{
    const BusOps *ops = bus ? type_ops(bus->obj.type) : NULL;

    dev->bus = bus;
    if (!bus_accepts(bus, dev, errp)) {
        dev->bus = NULL;
        return false;
    }
    device_place(dev);
    if (bus) {
        bus_link(bus, dev);
    }
    dev->hotplugged = plug_phase.hotplug;
    if (!object_realize(&dev->obj, errp)) {
        bus_unlink(dev);
        return false;
    }
    if (dev->hotplugged && bus) {
        object_reset(&dev->obj);
        if (!ops->plug_hot(bus, dev, errp)) {
            object_unrealize(&dev->obj);
            bus_unlink(dev);
            return false;
        }
    }
    return true;
}

static void device_release(void *opaque)
{
    object_unref(opaque);
}

void device_unplug(Device *dev)
{
    for (Bus *bus = dev->first_bus; bus; bus = bus->next_of_owner) {
        while (bus->first_dev) {
            device_unplug(bus->first_dev);
        }
    }
    object_unrealize(&dev->obj);
    bus_unlink(dev);
    object_ref(&dev->obj);
    object_remove(&dev->obj);
    rcu_call(device_release, dev);  /* a vCPU may still be on its way out of the device's regions */
}

static void device_fini(Object *obj)
{
    Device *dev = (Device *)obj;

    while (dev->irq_pins) {
        void *first = dev->irq_pins;

        dev->irq_pins = *(void **)first;
        g_free(first);
    }
}

static const Type device_type = { .name = "device", .abstract = true, .size = sizeof(Device), .fini = device_fini };
TYPE_REGISTER(device_type)
static const Type bus_type = { .name = "bus", .abstract = true, .size = sizeof(Bus), .fini = bus_fini };
TYPE_REGISTER(bus_type)
