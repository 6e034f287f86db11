/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI core: types "PCI" (bus) and "pci-device", configuration space, BAR mapping, INTx.
 *
 * Contract in include/hw/pci/pci.h. BARs are (un)mapped in pci_update_mappings(), INTx levels in pci_update_irq(): both are
 * functions of the configuration space, called after every change and after loading.
 */
#include "hw/pci/pci.h"

#include <stdlib.h>
#include <string.h>

uint16_t pci_get_word(const uint8_t *config)
{
    return config[0] | config[1] << 8;
}

uint32_t pci_get_long(const uint8_t *config)
{
    return pci_get_word(config) | (uint32_t)pci_get_word(config + 2) << 16;
}

void pci_set_word(uint8_t *config, uint16_t v)
{
    config[0] = v;
    config[1] = v >> 8;
}

void pci_set_long(uint8_t *config, uint32_t v)
{
    pci_set_word(config, v);
    pci_set_word(config + 2, v >> 16);
}

/* ---- interrupts ---- */

void pci_bus_set_irqs(PCIBus *bus, int (*map_irq)(PCIDevice *, int), void (*set_irq)(void *, int, int), void *opaque)
{
    bus->map_irq = map_irq;
    bus->set_irq = set_irq;
    bus->irq_opaque = opaque;
}

void pci_bus_update_irqs(PCIBus *bus)
{
    for (int i = 0; bus->set_irq && i < (int)G_N_ELEMENTS(bus->irq_count); i++) {
        bus->set_irq(bus->irq_opaque, i, bus->irq_count[i] != 0);
    }
}

static void pci_update_irq(PCIDevice *d)
{
    bool on = d->irq_level && !(pci_get_word(d->config + PCI_COMMAND) & PCI_COMMAND_INTX_DISABLE);
    PCIBus *bus = d->bus;
    int irq;

    d->config[PCI_STATUS] = (d->config[PCI_STATUS] & ~PCI_STATUS_INTERRUPT) | (d->irq_level ? PCI_STATUS_INTERRUPT : 0);
    if (on == d->irq_driven || !bus || !bus->map_irq || !d->config[PCI_INTERRUPT_PIN]) {
        return;
    }
    d->irq_driven = on;
    irq = bus->map_irq(d, d->config[PCI_INTERRUPT_PIN] - 1);
    bus->irq_count[irq] += on ? 1 : -1;
    bus->set_irq(bus->irq_opaque, irq, bus->irq_count[irq] != 0);
}

void pci_set_irq(PCIDevice *dev, int level)
{
    dev->irq_level = !!level;
    pci_update_irq(dev);
}

/* ---- BARs ---- */

static unsigned bar_offset(int n)
{
    return n == PCI_ROM_SLOT ? PCI_ROM_ADDRESS : PCI_BASE_ADDRESS_0 + 4 * n;
}

/* Where the guest wants a BAR; UINT64_MAX: decoding is off, or the address is none. */
static uint64_t bar_address(const PCIDevice *d, int n)
{
    const PCIBar *b = &d->bar[n];
    const uint8_t *c = d->config + bar_offset(n);
    uint16_t cmd = pci_get_word(d->config + PCI_COMMAND);
    uint64_t addr, limit = UINT32_MAX;

    if (b->kind & PCI_BAR_IO) {
        addr = pci_get_long(c) & ~3u;
        limit = 0xffff;
        if (!(cmd & PCI_COMMAND_IO)) {
            return UINT64_MAX;
        }
    } else {
        addr = pci_get_long(c) & ~15u;
        if (b->kind & PCI_BAR_MEM64) {
            addr |= (uint64_t)pci_get_long(c + 4) << 32;
            limit = INT64_MAX;
        }
        if (!(cmd & PCI_COMMAND_MEMORY) || (n == PCI_ROM_SLOT && !(c[0] & 1))) {
            return UINT64_MAX;
        }
    }
    addr &= ~(b->size - 1);
    return addr && addr <= limit - (b->size - 1) ? addr : UINT64_MAX;
}

static void pci_update_mappings(PCIDevice *d)
{
    for (int n = 0; n <= PCI_ROM_SLOT; n++) {
        PCIBar *b = &d->bar[n];
        uint64_t at = b->mr ? bar_address(d, n) : UINT64_MAX;

        if (!b->mr || at == b->mapped_at) {
            continue;
        }
        if (b->mapped_at != UINT64_MAX) {
            memory_region_remove(b->mr);
        }
        if (at != UINT64_MAX) {
            memory_region_add(b->kind & PCI_BAR_IO ? d->bus->io : d->bus->mem, at, b->mr, 1);
        }
        b->mapped_at = at;
    }
}

void pci_register_bar(PCIDevice *dev, int n, uint8_t kind, MemoryRegion *mr, uint64_t size)
{
    unsigned at = bar_offset(n);
    uint64_t mask = ~(size - 1);

    dev->bar[n] = (PCIBar) { mr, size, kind, UINT64_MAX };
    dev->config[at] = n == PCI_ROM_SLOT ? 0 : kind;
    pci_set_long(dev->wmask + at, (uint32_t)mask & (kind & PCI_BAR_IO ? ~3u : ~15u));
    if (n == PCI_ROM_SLOT) {
        dev->wmask[at] |= 1;
    }
    if (kind & PCI_BAR_MEM64) {
        pci_set_long(dev->wmask + at + 4, mask >> 32);
    }
}

uint8_t pci_add_capability(PCIDevice *dev, uint8_t id, uint8_t at, uint8_t size)
{
    at = at ? at : dev->cap_end;
    if (at + size > PCI_CONFIG_SIZE) {
        return 0;
    }
    dev->config[at] = id;
    dev->config[at + 1] = dev->config[PCI_CAPABILITY_LIST];
    dev->config[PCI_CAPABILITY_LIST] = at;
    dev->config[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
    dev->cap_end = MAX(dev->cap_end, (at + size + 3) & ~3);
    return at;
}

/* ---- configuration space ---- */

static PCIDevice *config_target(PCIBus *root, unsigned bus, unsigned devfn)
{
    return bus == (unsigned)root->bus_number ? root->devices[devfn] : NULL;
}

uint32_t pci_config_read(PCIBus *root, unsigned bus, unsigned devfn, unsigned addr, unsigned len)
{
    PCIDevice *d = config_target(root, bus, devfn);
    uint32_t v = 0;

    if (!d || addr + len > PCI_CONFIG_SIZE) {
        return d && addr < 0x1000 ? 0 : UINT32_MAX;
    }
    memcpy(&v, d->config + addr, len);
    return v;
}

void pci_config_write(PCIBus *root, unsigned bus, unsigned devfn, unsigned addr, uint32_t v, unsigned len)
{
    PCIDevice *d = config_target(root, bus, devfn);
    const PCIDeviceOps *ops;

    if (!d || addr + len > PCI_CONFIG_SIZE) {
        return;
    }
    for (unsigned i = addr; i < addr + len; i++, v >>= 8) {
        d->config[i] = (d->config[i] & ~d->wmask[i]) | (v & d->wmask[i]);
        d->config[i] &= ~(v & d->w1cmask[i]);
    }
    memory_transaction_begin();
    pci_update_mappings(d);
    ops = type_ops(d->dev.obj.type);
    if (ops->config_written) {
        ops->config_written(d, addr, len);
    }
    memory_transaction_commit();
    pci_update_irq(d);
}

/* ---- the device type ---- */

static void pci_set_identity(PCIDevice *d, const PCIDeviceOps *ops)
{
    uint8_t *c = d->config;

    pci_set_word(c + PCI_VENDOR_ID, ops->vendor_id);
    pci_set_word(c + PCI_DEVICE_ID, ops->device_id);
    c[PCI_REVISION] = ops->revision;
    c[PCI_CLASS_PROG] = ops->prog_if;
    pci_set_word(c + PCI_CLASS_DEVICE, ops->class_id);
    c[PCI_HEADER_TYPE] = d->multifunction ? 0x80 : 0;
    pci_set_word(c + PCI_SUBSYSTEM_VENDOR_ID, ops->subsystem_vendor_id ? ops->subsystem_vendor_id : 0x1af4);
    pci_set_word(c + PCI_SUBSYSTEM_ID, ops->subsystem_id ? ops->subsystem_id : 0x1100);
    c[PCI_INTERRUPT_PIN] = ops->interrupt_pin;
    pci_set_word(d->wmask + PCI_COMMAND, 0x547);
    pci_set_word(d->w1cmask + PCI_STATUS, 0xf900);
    d->wmask[0x0c] = d->wmask[0x0d] = d->wmask[PCI_INTERRUPT_LINE] = 0xff;
    d->cap_end = 0x40;
}

static bool pci_slot_take(PCIDevice *d, PCIBus *bus, Error **errp)
{
    for (int devfn = bus->min_devfn; d->devfn < 0 && devfn < 256; devfn += 8) {
        if (!bus->devices[devfn]) {
            d->devfn = devfn;
        }
    }
    if (d->devfn < 0) {
        error_set(errp, "PCI: no slot/function available for %s, all in use", d->dev.obj.type->name);
        return false;
    }
    if (bus->devices[d->devfn]) {
        error_set(errp, "PCI: slot %d function %d not available for %s, in use by %s", PCI_SLOT(d->devfn),
                  PCI_FUNC(d->devfn), d->dev.obj.type->name, bus->devices[d->devfn]->dev.obj.type->name);
        return false;
    }
    if (PCI_FUNC(d->devfn) && bus->devices[d->devfn & ~7] && !bus->devices[d->devfn & ~7]->multifunction) {
        error_set(errp, "PCI: single function device can't be populated in function %x.%x", PCI_SLOT(d->devfn),
                  PCI_FUNC(d->devfn));
        return false;
    }
    return true;
}

static bool pci_device_realize(Object *obj, Error **errp)
{
    PCIDevice *d = (PCIDevice *)obj;
    PCIBus *bus = (PCIBus *)d->dev.bus;

    if (!bus) {
        error_set(errp, "a PCI device needs a PCI bus");
        return false;
    }
    if (!pci_slot_take(d, bus, errp)) {
        return false;
    }
    if (d->romfile && *d->romfile) {
        error_set(errp, "Property 'romfile' is not available in this build yet (option ROM '%s')", d->romfile);
        return false;
    }
    d->bus = bus;
    bus->devices[d->devfn] = d;
    for (int i = 0; i <= PCI_ROM_SLOT; i++) {
        d->bar[i].mapped_at = UINT64_MAX;
    }
    pci_set_identity(d, type_ops(obj->type));
    return true;
}

static void pci_device_unrealize(Object *obj)
{
    PCIDevice *d = (PCIDevice *)obj;

    pci_set_irq(d, 0);
    pci_set_word(d->config + PCI_COMMAND, 0);
    pci_update_mappings(d);
    d->bus->devices[d->devfn] = NULL;
    d->bus = NULL;
}

static void pci_device_reset(Object *obj)
{
    PCIDevice *d = (PCIDevice *)obj;

    d->irq_level = 0;
    pci_set_word(d->config + PCI_COMMAND, 0);
    d->config[PCI_INTERRUPT_LINE] = 0;
    for (int n = 0; n <= PCI_ROM_SLOT; n++) {
        if (d->bar[n].mr) {
            pci_set_long(d->config + bar_offset(n), n == PCI_ROM_SLOT ? 0 : d->bar[n].kind);
            if (d->bar[n].kind & PCI_BAR_MEM64) {
                pci_set_long(d->config + bar_offset(n) + 4, 0);
            }
        }
    }
    pci_update_mappings(d);
    pci_update_irq(d);
}

/* "SLOT[.FUNCTION]" in hexadecimal, as addr= takes it; -1: automatic. */
static bool addr_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    PCIDevice *d = (PCIDevice *)obj;
    char *end;
    unsigned long slot, fn = 0;

    if (!strcmp(value, "-1")) {
        d->devfn = -1;
        return true;
    }
    slot = strtoul(value, &end, 16);
    if (end != value && *end == '.') {
        fn = strtoul(end + 1, &end, 16);
    }
    if (end == value || *end || slot > 31 || fn > 7) {
        error_set(errp, "Property '%s.addr' doesn't take value '%s'", obj->type->name, value);
        return false;
    }
    d->devfn = PCI_DEVFN(slot, fn);
    return true;
}

static char *addr_get(Object *obj, const Property *p, Error **errp)
{
    PCIDevice *d = (PCIDevice *)obj;

    return d->devfn < 0 ? g_strdup("-1") : g_strdup_printf("%02x.%x", PCI_SLOT(d->devfn), PCI_FUNC(d->devfn));
}

static const Property pci_device_props[] = {
    { .name = "addr", .kind = PROP_CUSTOM, .type_name = "int32", .set = addr_set, .get = addr_get,
      .help = "slot and function, hexadecimal: 6 or 06.2; default: the first free slot" },
    PROP_FIELD("multifunction", PROP_BOOL, PCIDevice, multifunction, false, "the slot has more functions"),
    PROP_FIELD("romfile", PROP_STR, PCIDevice, romfile, 0, "option ROM image"),
    PROP_END
};

static void pci_device_init(Object *obj)
{
    ((PCIDevice *)obj)->devfn = -1;
}

static bool pci_post_load(void *opaque, Error **errp)
{
    PCIDevice *d = opaque;

    pci_update_mappings(d);
    pci_update_irq(d);
    return true;
}

static const VMField pci_fields[] = {
    VM_BUFFER(PCIDevice, config),
    VM_FIELD(PCIDevice, irq_level, VM_U8),
    VM_END
};
const VMState pci_device_vmstate = { .name = "pci-device", .version = 1, .fields = pci_fields,
                                     .post_load = pci_post_load };

static const Type pci_device_type = {
    .name = "pci-device",
    .parent = "device",
    .abstract = true,
    .size = sizeof(PCIDevice),
    .bus = "PCI",
    .props = pci_device_props,
    .init = pci_device_init,
    .realize = pci_device_realize,
    .unrealize = pci_device_unrealize,
    .reset = pci_device_reset,
    .vmstate = &pci_device_vmstate,
};
TYPE_REGISTER(pci_device_type)

/* ---- the bus ---- */

static char *pci_dev_path(const Device *dev)
{
    const PCIDevice *d = (const PCIDevice *)dev;

    return g_strdup_printf("0000:%02x:%02x.%x", d->bus ? d->bus->bus_number : 0, PCI_SLOT(d->devfn), PCI_FUNC(d->devfn));
}

static const BusOps pci_bus_ops = { .dev_path = pci_dev_path };
static const Type pci_bus_type = {
    .name = "PCI",
    .parent = "bus",
    .desc = "PCI bus",
    .size = sizeof(PCIBus),
    .ops = &pci_bus_ops,
};
TYPE_REGISTER(pci_bus_type)

static const Type pcie_bus_type = {
    .name = "PCIE",
    .parent = "PCI",
    .desc = "PCI Express bus",
    .size = sizeof(PCIBus),
    .ops = &pci_bus_ops,
};
TYPE_REGISTER(pcie_bus_type)

void pci_bus_init(PCIBus *bus, Device *owner, const char *name, MemoryRegion *mem, MemoryRegion *io, int min_devfn)
{
    bus_init(&bus->bus, g_str_has_prefix(name, "pcie") ? "PCIE" : "PCI", owner, name);
    bus->mem = mem;
    bus->io = io;
    bus->min_devfn = min_devfn;
}

PCIDevice *pci_create(PCIBus *bus, int devfn, bool multifunction, const char *type, Error **errp)
{
    PCIDevice *d = (PCIDevice *)device_new(type);

    d->devfn = devfn;
    d->multifunction = multifunction;
    return device_plug(&d->dev, &bus->bus, errp) ? d : NULL;
}
