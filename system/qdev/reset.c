/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reset of the whole tree: what sits on a device's buses and inside it before the device itself, so
 * that a parent's reset sees quiet children. Main thread, machine lock. Test:
 * tests/unit/test-qdev.c.
 */
#include "system/qdev/qdev-internal.h"

static void reset_inside(Object *obj);

static void reset_device(Device *dev)
{
    reset_inside(&dev->obj);
    for (Bus *bus = dev->first_bus; bus; bus = bus->next_of_owner) {
        const BusOps *ops = type_ops(bus->obj.type);

        for (Device *d = bus->first_dev; d; d = d->next_on_bus) {
            reset_device(d);
        }
        if (ops && ops->reset) {
            ops->reset(bus);
        }
    }
    if (dev->obj.realized) {
        object_reset(&dev->obj);
    }
}

/* Devices below obj in the composition tree that sit on no bus (those on a bus are reached through it). */
static void reset_inside(Object *obj)
{
    for (Object *c = obj->first_child; c; c = c->next_sibling) {
        if (object_is_a(c, "bus")) {
            continue;
        }
        if (!object_is_a(c, "device")) {
            reset_inside(c);
        } else if (!((Device *)c)->bus) {
            reset_device((Device *)c);
        }
    }
}

void devices_reset_all(void)
{
    Object *machine = object_child(object_root(), "machine");

    if (machine) {
        reset_inside(machine);
        object_reset(machine);
    }
}

void device_reset_tree(Device *dev)
{
    reset_device(dev);
}
