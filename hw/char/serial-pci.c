/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pci-serial: one 16550A behind an I/O BAR (QEMU's 1b36:0002, for which guests have drivers).
 * The chip is hw/char/serial.c. Machine lock. Test: tests/unit/test-serial-pci.c.
 */
#include "hw/char/serial.h"
#include "hw/pci/pci.h"

typedef struct PciSerial {
    PCIDevice parent;
    uint8_t prog_if;                /* config: 2 = 16550 compatible */
    IrqLine intx;                   /* wiring */
    SerialPort port;
} PciSerial;

static void pci_serial_set_irq(void *opaque, int n, int level)
{
    pci_irq_set(opaque, level);
}

static void pci_serial_init(Object *obj)
{
    serial_init(&((PciSerial *)obj)->port);
}

static bool pci_serial_realize(Object *obj, Error **errp)
{
    PciSerial *s = (PciSerial *)obj;

    irq_init_array(&s->intx, 1, pci_serial_set_irq, s);
    s->port.irq = &s->intx;
    s->parent.config[PCI_CLASS_PROG] = s->prog_if;
    s->parent.config[PCI_INTERRUPT_PIN] = 1;
    if (!serial_realize(&s->port, obj, errp)) {
        return false;
    }
    pci_bar_register(&s->parent, 0, PCI_BASE_ADDRESS_SPACE_IO, &s->port.io);
    return true;
}

static void pci_serial_unrealize(Object *obj)
{
    serial_unrealize(&((PciSerial *)obj)->port);
}

static void pci_serial_reset(Object *obj)
{
    serial_reset(&((PciSerial *)obj)->port);
}

static const Property pci_serial_props[] = {
    { .name = "chardev", .kind = PROP_CHARDEV, .offset = offsetof(PciSerial, port.chr),
      .help = "ID of a chardev to use as a backend" },
    PROP_FIELD("prog_if", PROP_U8, PciSerial, prog_if, 2, "programming interface (class code)"),
    PROP_FIELD("baudbase", PROP_U32, PciSerial, port.baudbase, 115200, "bit rate at divisor 1"),
    PROP_END
};

static const VMField pci_serial_fields[] = {
    VM_SUB(PciSerial, port, serial_vmstate),
    VM_END
};
static const VMState pci_serial_vmstate = {
    .name = "pci-serial", .version = 1, .fields = pci_serial_fields,
};

static const PCIDeviceOps pci_serial_ops = {
    .vendor_id = 0x1b36,
    .device_id = 0x0002,
    .class_id = 0x0700,             /* serial controller */
    .revision = 1,
};

static const Type pci_serial_type = {
    .name = "pci-serial",
    .parent = "pci-device",
    .category = "Input devices",
    .user_creatable = true,
    .size = sizeof(PciSerial),
    .props = pci_serial_props,
    .init = pci_serial_init,
    .realize = pci_serial_realize,
    .unrealize = pci_serial_unrealize,
    .reset = pci_serial_reset,
    .vmstate = &pci_serial_vmstate,
    .ops = &pci_serial_ops,
};
TYPE_REGISTER(pci_serial_type)
