/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isa-serial: COM1..COM4 at their customary ports and interrupts, or wherever iobase/irq say.
 * The chip is hw/char/serial.c. Machine lock. Test: tests/unit/test-serial.c.
 */
#include "hw/char/serial.h"
#include "hw/isa/isa.h"

#define ISA_SERIAL_PORTS 4

typedef struct IsaSerial {
    IsaDevice parent;
    /* config; UINT32_MAX: by index */
    uint32_t index, iobase, irq;
    bool wakeup;
    SerialPort port;
} IsaSerial;

static bool isa_serial_place(IsaSerial *isa, Error **errp)
{
    static const uint16_t port[ISA_SERIAL_PORTS] = { 0x3f8, 0x2f8, 0x3e8, 0x2e8 };
    static const uint8_t irq[ISA_SERIAL_PORTS] = { 4, 3, 4, 3 };
    uint32_t index = isa->index;

    if (index == UINT32_MAX) {
        index = isa_device_bus(&isa->parent)->serial_count;
    }
    if (index >= ISA_SERIAL_PORTS) {
        error_set(errp, "isa-serial: index %u is not available: there are %d serial ports", index,
                  ISA_SERIAL_PORTS);
        return false;
    }
    isa->index = index;
    isa->iobase = isa->iobase == UINT32_MAX ? port[index] : isa->iobase;
    isa->irq = isa->irq == UINT32_MAX ? irq[index] : isa->irq;
    isa_device_bus(&isa->parent)->serial_count = index + 1;
    return true;
}

static void isa_serial_init(Object *obj)
{
    serial_init(&((IsaSerial *)obj)->port);
}

static void isa_serial_unrealize(Object *obj)
{
    IsaSerial *isa = (IsaSerial *)obj;

    serial_unrealize(&isa->port);
    isa_port_unmap(&isa->port.io);
    isa_irq_put(&isa->parent, isa->port.irq);
}

static bool isa_serial_realize(Object *obj, Error **errp)
{
    IsaSerial *isa = (IsaSerial *)obj;

    if (!isa_serial_place(isa, errp) || !serial_realize(&isa->port, obj, errp)) {
        return false;
    }
    if (!isa_irq_get(&isa->parent, isa->irq, &isa->port.irq, errp) ||
        !isa_port_map(&isa->parent, &isa->port.io, isa->iobase, errp)) {
        isa_serial_unrealize(obj);
        return false;
    }
    return true;
}

static void isa_serial_reset(Object *obj)
{
    serial_reset(&((IsaSerial *)obj)->port);
}

static const Property isa_serial_props[] = {
    PROP_FIELD("index", PROP_U32, IsaSerial, index, UINT32_MAX, "0..3: COM1..COM4"),
    PROP_FIELD("iobase", PROP_U32, IsaSerial, iobase, UINT32_MAX, "first of its 8 ports"),
    PROP_FIELD("irq", PROP_U32, IsaSerial, irq, UINT32_MAX, "ISA interrupt"),
    { .name = "chardev", .kind = PROP_CHARDEV, .offset = offsetof(IsaSerial, port.chr),
      .help = "ID of a chardev to use as a backend" },
    PROP_FIELD("baudbase", PROP_U32, IsaSerial, port.baudbase, 115200, "bit rate at divisor 1"),
    PROP_FIELD("wakeup", PROP_BOOL, IsaSerial, wakeup, false, "input wakes a suspended machine"),
    PROP_END
};

static const VMField isa_serial_fields[] = {
    VM_SUB(IsaSerial, port, serial_vmstate),
    VM_END
};
static const VMState isa_serial_vmstate = {
    .name = "isa-serial", .version = 1, .fields = isa_serial_fields,
};

static const Type isa_serial_type = {
    .name = "isa-serial",
    .parent = "isa-device",
    .category = "Input devices",
    .user_creatable = true,
    .size = sizeof(IsaSerial),
    .props = isa_serial_props,
    .init = isa_serial_init,
    .realize = isa_serial_realize,
    .unrealize = isa_serial_unrealize,
    .reset = isa_serial_reset,
    .vmstate = &isa_serial_vmstate,
};
TYPE_REGISTER(isa_serial_type)
