/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pvpanic-pci: the panic notifier's byte at the start of BAR 0 (QEMU's 1b36:0011).
 * Machine lock. Test: tests/unit/test-serial-pci.c.
 */
#include "hw/misc/pvpanic.h"
#include "hw/pci/pci.h"

#define BAR_SIZE 16                 /* the least a memory BAR can have */

typedef struct PvPanicPci {
    PCIDevice parent;
    PvPanic pv;
} PvPanicPci;

static bool pvpanic_pci_realize(Object *obj, Error **errp)
{
    PvPanicPci *s = (PvPanicPci *)obj;

    pvpanic_init(&s->pv, obj, BAR_SIZE);
    pci_bar_register(&s->parent, 0, 0 /* 32-bit memory */, &s->pv.io);
    return true;
}

static const Property pvpanic_pci_props[] = {
    PROP_FIELD("events", PROP_U8, PvPanicPci, pv.events, PVPANIC_EVENTS,
               "events offered: 1 panicked, 2 crash kernel loaded, 4 shutdown"),
    PROP_END
};

static const PCIDeviceOps pvpanic_pci_ops = {
    .vendor_id = 0x1b36,
    .device_id = 0x0011,
    .class_id = 0x0880,             /* other system peripheral */
    .revision = 1,
};

static const Type pvpanic_pci_type = {
    .name = "pvpanic-pci",
    .parent = "pci-device",
    .category = "Misc devices",
    .user_creatable = true,
    .size = sizeof(PvPanicPci),
    .props = pvpanic_pci_props,
    .realize = pvpanic_pci_realize,
    .ops = &pvpanic_pci_ops,
};
TYPE_REGISTER(pvpanic_pci_type)
