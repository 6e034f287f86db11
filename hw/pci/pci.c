/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI buses and functions: placing, configuration space, BARs, INTx. Contract in include/hw/pci/pci.h.
 *
 * Each config byte has a write mask and a write-1-clears mask; what a guest may change is nothing but those bits.
 * BARs are mapped at once when the command register or a base address changes. Left out: PCI Express's extended config
 * space, bridges' windows (a bus below a bridge maps into its own mem and io containers). Machine lock.
 * Test: tests/unit/test-pci.c.
 */
#include "hw/pci/pci.h"

#include <stdlib.h>
#include <string.h>

#include "util/units.h"

/* ---- buses ---- */

PCIBus *pci_bus_new_root(Device *owner, const char *type, const char *name, MemoryRegion *mem, MemoryRegion *io)
{
    PCIBus *bus = (PCIBus *)bus_new(type, owner, name);

    bus->mem = mem;
    bus->io = io;
    return bus;
}

void pci_bus_set_irqs(PCIBus *bus, const PCIBusIrqOps *ops, void *opaque)
{
    bus->irq_ops = ops;
    bus->irq_opaque = opaque;
}

uint8_t pci_bus_number(const PCIBus *bus)
{
    return bus->bridge ? bus->bridge->config[PCI_SECONDARY_BUS] : 0;
}

static PCIBus *pci_bus_find(PCIBus *root, uint8_t nr)
{
    if (pci_bus_number(root) == nr) {
        return root;
    }
    for (PCIBus *b = root->first_child; b; b = b->next_sibling) {
        const uint8_t *config = b->bridge->config;

        if (config[PCI_SECONDARY_BUS] && config[PCI_SECONDARY_BUS] <= nr && nr <= config[PCI_SUBORDINATE_BUS]) {
            return pci_bus_find(b, nr);
        }
    }
    return NULL;
}

PCIDevice *pci_bus_device(PCIBus *root, uint8_t bus_nr, uint8_t devfn)
{
    PCIBus *bus = pci_bus_find(root, bus_nr);

    return bus ? bus->dev[devfn] : NULL;
}

void pci_foreach(PCIBus *root, void (*fn)(PCIDevice *d, void *opaque), void *opaque)
{
    for (int devfn = 0; devfn < PCI_SLOTS * PCI_FUNCS; devfn++) {
        if (root->dev[devfn]) {
            fn(root->dev[devfn], opaque);
        }
    }
    for (PCIBus *b = root->first_child; b; b = b->next_sibling) {
        pci_foreach(b, fn, opaque);
    }
}

static bool pci_slot_empty(const PCIBus *bus, int slot)
{
    for (int fn = 0; fn < PCI_FUNCS; fn++) {
        if (bus->dev[PCI_DEVFN(slot, fn)]) {
            return false;
        }
    }
    return true;
}

static bool pci_choose_slot(PCIBus *bus, PCIDevice *d, Error **errp)
{
    for (int slot = bus->first_slot; slot < PCI_SLOTS; slot++) {
        if (!bus->reserved_slots[slot] && pci_slot_empty(bus, slot)) {
            d->devfn = PCI_DEVFN(slot, 0);
            return true;
        }
    }
    error_set(errp, "PCI: no slot is free for %s on bus '%s'", d->dev.obj.type->name, bus->bus.obj.name);
    return false;
}

/* A slot's function 0 says whether it has more functions. */
static bool pci_check_functions(const PCIBus *bus, const PCIDevice *d, Error **errp)
{
    int slot = PCI_SLOT(d->devfn);
    const PCIDevice *first = bus->dev[PCI_DEVFN(slot, 0)];

    if (PCI_FUNC(d->devfn)) {
        if (first && !(first->config[PCI_HEADER_TYPE] & PCI_HEADER_MULTI_FUNCTION)) {
            error_set(errp, "PCI: slot %x has a device with one function (multifunction=off), so %s cannot be at %x.%x",
                      slot, d->dev.obj.type->name, slot, PCI_FUNC(d->devfn));
            return false;
        }
        return true;
    }
    for (int fn = 1; fn < PCI_FUNCS && !d->multifunction; fn++) {
        if (bus->dev[PCI_DEVFN(slot, fn)]) {
            error_set(errp, "PCI: %x.%x is in use, so %s at %x.0 needs multifunction=on", slot, fn,
                      d->dev.obj.type->name, slot);
            return false;
        }
    }
    return true;
}

static bool pci_bus_check(Bus *b, Device *dev, Error **errp)
{
    PCIBus *bus = (PCIBus *)b;
    PCIDevice *d = (PCIDevice *)dev;
    const PCIDevice *other;

    if (d->devfn < 0) {
        return pci_choose_slot(bus, d, errp);
    }
    other = bus->dev[d->devfn];
    if (other) {
        g_autofree char *label = device_label(&other->dev);

        error_set(errp, "PCI: slot %d function %d not available for %s, in use by %s,id=%s", PCI_SLOT(d->devfn),
                  PCI_FUNC(d->devfn), dev->obj.type->name, other->dev.obj.type->name, label);
        return false;
    }
    return pci_check_functions(bus, d, errp);
}

static char *pci_dev_path(const Device *dev)
{
    const PCIDevice *d = (const PCIDevice *)dev;

    return g_strdup_printf("0000:%02x:%02x.%x", pci_bus_number(pci_device_bus(d)), PCI_SLOT(d->devfn),
                           PCI_FUNC(d->devfn));
}

static const BusOps pci_bus_ops = { .check = pci_bus_check, .dev_path = pci_dev_path };
static const Type pci_bus_type = { .name = "PCI", .parent = "bus", .size = sizeof(PCIBus), .ops = &pci_bus_ops };
TYPE_REGISTER(pci_bus_type)
static const Type pcie_bus_type = { .name = "PCIE", .parent = "PCI" };
TYPE_REGISTER(pcie_bus_type)

/* ---- interrupts ---- */

/* A pin's way up to the root bus, each bridge turning it by the slot below it. */
static void pci_line_change(PCIDevice *d, int pin, int change)
{
    PCIBus *bus = pci_device_bus(d);
    int line;

    while (bus->bridge) {
        pin = (PCI_SLOT(d->devfn) + pin) % PCI_PINS;
        d = bus->bridge;
        bus = pci_device_bus(d);
    }
    if (!bus->irq_ops) {
        return;
    }
    line = bus->irq_ops->map(bus->irq_opaque, d, pin);
    bus->irq_count[line] += change;
    bus->irq_ops->set(bus->irq_opaque, line, bus->irq_count[line] > 0);
}

static bool pci_intx_disabled(const PCIDevice *d)
{
    return pci_get_word(d->config + PCI_COMMAND) & PCI_COMMAND_INTX_DISABLE;
}

static void pci_pin_set(PCIDevice *d, int pin, int level)
{
    if ((d->irq_state >> pin & 1) == !!level) {
        return;
    }
    d->irq_state ^= 1u << pin;
    d->config[PCI_STATUS] = (d->config[PCI_STATUS] & ~PCI_STATUS_INTERRUPT) | (d->irq_state ? PCI_STATUS_INTERRUPT : 0);
    if (!pci_intx_disabled(d)) {
        pci_line_change(d, pin, level ? 1 : -1);
    }
}

void pci_irq_set(PCIDevice *d, int level)
{
    if (d->config[PCI_INTERRUPT_PIN]) {
        pci_pin_set(d, (d->config[PCI_INTERRUPT_PIN] - 1) % PCI_PINS, level);
    }
}

void pci_irq_disabled_changed(PCIDevice *d, bool was_disabled)
{
    for (int pin = 0; pin < PCI_PINS && was_disabled != pci_intx_disabled(d); pin++) {
        if (d->irq_state >> pin & 1) {
            pci_line_change(d, pin, was_disabled ? 1 : -1);
        }
    }
}

static void pci_resync_one(PCIDevice *d, void *opaque)
{
    for (int pin = 0; pin < PCI_PINS && !pci_intx_disabled(d); pin++) {
        if (d->irq_state >> pin & 1) {
            pci_line_change(d, pin, 1);
        }
    }
}

void pci_bus_irq_resync(PCIBus *root)
{
    memset(root->irq_count, 0, sizeof(root->irq_count));
    for (int line = 0; root->irq_ops && line < PCI_PIRQS; line++) {
        root->irq_ops->set(root->irq_opaque, line, 0);
    }
    pci_foreach(root, pci_resync_one, NULL);
}

/* ---- base addresses ---- */

static unsigned pci_bar_offset(const PCIDevice *d, int n)
{
    bool bridge = (d->config[PCI_HEADER_TYPE] & 0x7f) == PCI_HEADER_TYPE_BRIDGE;

    if (n == PCI_ROM_BAR) {
        return bridge ? PCI_ROM_ADDRESS1 : PCI_ROM_ADDRESS;
    }
    return PCI_BASE_ADDRESS_0 + n * 4;
}

static bool pci_bar_is_io(const PCIBar *bar)
{
    return bar->type & PCI_BASE_ADDRESS_SPACE_IO;
}

static bool pci_bar_is_64(const PCIBar *bar)
{
    return !pci_bar_is_io(bar) && (bar->type & PCI_BASE_ADDRESS_MEM_TYPE_64);
}

/* Where BAR n should be mapped now. An address of zero or one that wraps maps nothing. */
static uint64_t pci_bar_wanted(const PCIDevice *d, int n)
{
    const PCIBar *bar = &d->bar[n];
    const uint8_t *reg = d->config + pci_bar_offset(d, n);
    unsigned command = pci_get_word(d->config + PCI_COMMAND);
    uint64_t addr = pci_bar_is_64(bar) ? pci_get_quad(reg) : pci_get_long(reg);
    uint64_t last;

    if (!(command & (pci_bar_is_io(bar) ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY)) ||
        (n == PCI_ROM_BAR && !(addr & PCI_ROM_ADDRESS_ENABLE))) {
        return PCI_UNMAPPED;
    }
    addr &= ~(bar->size - 1);
    last = addr + bar->size - 1;
    if (!addr || last < addr || last == UINT64_MAX || (pci_bar_is_io(bar) && last > 0xffff) ||
        (!pci_bar_is_64(bar) && last >= UINT32_MAX)) {
        return PCI_UNMAPPED;
    }
    return addr;
}

static void pci_bar_move(PCIDevice *d, int n, uint64_t addr)
{
    PCIBar *bar = &d->bar[n];
    PCIBus *bus = pci_device_bus(d);

    if (bar->addr == addr) {
        return;
    }
    if (bar->addr != PCI_UNMAPPED) {
        memory_region_remove(bar->mr);
    }
    bar->addr = addr;
    if (addr != PCI_UNMAPPED) {
        memory_region_add(pci_bar_is_io(bar) ? bus->io : bus->mem, addr, bar->mr, 1);
    }
}

void pci_bars_update(PCIDevice *d)
{
    memory_transaction_begin();
    for (int n = 0; n < PCI_BARS; n++) {
        if (d->bar[n].mr) {
            pci_bar_move(d, n, pci_bar_wanted(d, n));
        }
    }
    if (d->dma_ready) {
        memory_region_set_enabled(&d->dma_alias, pci_message_allowed(d));
    }
    memory_transaction_commit();
}

void pci_bar_register(PCIDevice *d, int n, uint8_t type, MemoryRegion *mr)
{
    PCIBar *bar = &d->bar[n];
    unsigned at = pci_bar_offset(d, n);
    uint64_t mask = ~(mr->size - 1);

    g_assert(is_power_of_2(mr->size) && mr->size >= 4);
    *bar = (PCIBar) { .mr = mr, .size = mr->size, .type = type, .addr = PCI_UNMAPPED };
    pci_set_long(d->config + at, type);
    if (n == PCI_ROM_BAR) {
        mask |= PCI_ROM_ADDRESS_ENABLE;
    }
    pci_set_long(d->wmask + at, mask);
    if (pci_bar_is_64(bar)) {
        pci_set_long(d->config + at + 4, 0);
        pci_set_long(d->wmask + at + 4, mask >> 32);
    }
}

/* ---- DMA and messages ---- */

bool pci_message_allowed(const PCIDevice *d)
{
    return pci_get_word(d->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

static const PCIBus *pci_root_of(const PCIDevice *d)
{
    const PCIBus *bus = pci_device_bus(d);

    while (bus->bridge) {
        bus = pci_device_bus(bus->bridge);
    }
    return bus;
}

void pci_message_send(const PCIDevice *d, uint64_t address, uint32_t data)
{
    const PCIBus *root = pci_root_of(d);

    if (root->msi_send) {
        root->msi_send(address, data);
    }
}

AddressSpace *pci_dma_as(PCIDevice *d)
{
    MemoryRegion *all = pci_root_of(d)->dma;

    if (!d->dma_ready) {
        d->dma_ready = true;
        memory_region_init(&d->dma_root, &d->dev.obj, "bus master container", MEMORY_SIZE_ALL);
        if (all) {
            memory_region_init_alias(&d->dma_alias, &d->dev.obj, "bus master", all, 0, MEMORY_SIZE_ALL);
            memory_region_add(&d->dma_root, 0, &d->dma_alias, 0);
        }
        memory_region_set_enabled(&d->dma_alias, pci_message_allowed(d));
        address_space_init(&d->dma_as, &d->dma_root, d->dev.obj.type->name);
    }
    return &d->dma_as;
}

static void pci_dma_fini(PCIDevice *d)
{
    if (d->dma_ready) {
        d->dma_ready = false;
        address_space_fini(&d->dma_as);
        memory_region_fini(&d->dma_alias);
        memory_region_fini(&d->dma_root);
    }
}

/* ---- configuration space ---- */

uint32_t pci_config_read(PCIDevice *d, uint32_t addr, unsigned len)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < len; i++) {
        v |= (uint32_t)(d && addr + i < PCI_CONFIG_SIZE ? d->config[addr + i] : 0xff) << i * 8;
    }
    return v;
}

static bool ranges_touch(uint32_t a, unsigned a_len, uint32_t b, unsigned b_len)
{
    return a < b + b_len && b < a + a_len;
}

static bool pci_write_moves_bars(const PCIDevice *d, uint32_t addr, unsigned len)
{
    return ranges_touch(addr, len, PCI_COMMAND, 2) || ranges_touch(addr, len, PCI_BASE_ADDRESS_0, 24) ||
           ranges_touch(addr, len, pci_bar_offset(d, PCI_ROM_BAR), 4);
}

void pci_config_write(PCIDevice *d, uint32_t addr, uint32_t value, unsigned len)
{
    const PCIDeviceOps *ops;
    bool was_disabled;

    if (!d || addr >= PCI_CONFIG_SIZE || len > PCI_CONFIG_SIZE - addr) {
        return;
    }
    ops = type_ops(d->dev.obj.type);
    was_disabled = pci_intx_disabled(d);
    for (unsigned i = 0; i < len; i++) {
        uint8_t byte = value >> i * 8, wmask = d->wmask[addr + i];

        d->config[addr + i] = (d->config[addr + i] & ~wmask) | (byte & wmask);
        d->config[addr + i] &= ~(byte & d->w1cmask[addr + i]);
    }
    if (pci_write_moves_bars(d, addr, len)) {
        pci_bars_update(d);
        pci_irq_disabled_changed(d, was_disabled);
    }
    msi_config_written(d, addr, len);
    msix_config_written(d, addr, len);
    if (ops->config_written) {
        ops->config_written(d, addr, len);
    }
}

uint8_t pci_capability_find(const PCIDevice *d, uint8_t id)
{
    uint8_t at = d->config[PCI_CAPABILITY_LIST];

    for (int i = 0; at && i < PCI_CONFIG_SIZE / 4; i++) {
        if (d->config[at] == id) {
            return at;
        }
        at = d->config[at + 1];
    }
    return 0;
}

static bool pci_space_free(const PCIDevice *d, unsigned at, unsigned size)
{
    for (unsigned i = at; i < at + size; i++) {
        if (i >= PCI_CONFIG_SIZE || d->used[i]) {
            return false;
        }
    }
    return true;
}

uint8_t pci_capability_add(PCIDevice *d, uint8_t id, uint8_t offset, uint8_t size, Error **errp)
{
    unsigned at = offset ? offset : 0x40;

    size = ALIGN_UP(size, 4);
    while (!offset && at < PCI_CONFIG_SIZE && !pci_space_free(d, at, size)) {
        at += 4;
    }
    if (!pci_space_free(d, at, size)) {
        error_set(errp, "%s: no room in config space for capability 0x%02x of %u bytes at 0x%02x",
                  d->dev.obj.type->name, id, size, offset);
        return 0;
    }
    memset(d->used + at, 1, size);
    memset(d->wmask + at, 0, size);
    memset(d->config + at, 0, size);
    d->config[at] = id;
    d->config[at + 1] = d->config[PCI_CAPABILITY_LIST];
    d->config[PCI_CAPABILITY_LIST] = at;
    d->config[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
    return at;
}

static void pci_note_rom(PCIDevice *d, void *opaque)
{
    *(bool *)opaque |= d->bar[PCI_ROM_BAR].mr != NULL;
}

bool pci_has_option_rom(PCIBus *root)
{
    bool found = false;

    pci_foreach(root, pci_note_rom, &found);
    return found;
}

/* ---- the base type ---- */

static void pci_header_init(PCIDevice *d, const PCIDeviceOps *ops)
{
    pci_set_word(d->config + PCI_VENDOR_ID, ops->vendor_id);
    pci_set_word(d->config + PCI_DEVICE_ID, ops->device_id);
    d->config[PCI_REVISION_ID] = ops->revision;
    d->config[PCI_CLASS_PROG] = ops->prog_if;
    pci_set_word(d->config + PCI_CLASS_DEVICE, ops->class_id);
    d->config[PCI_HEADER_TYPE] = (ops->is_bridge ? PCI_HEADER_TYPE_BRIDGE : PCI_HEADER_TYPE_NORMAL) |
                                 (d->multifunction ? PCI_HEADER_MULTI_FUNCTION : 0);
    if (!ops->is_bridge) {
        bool given = ops->subsystem_vendor_id || ops->subsystem_id;

        pci_set_word(d->config + PCI_SUBSYSTEM_VENDOR_ID, given ? ops->subsystem_vendor_id : PCI_VENDOR_QUMRANET);
        pci_set_word(d->config + PCI_SUBSYSTEM_ID, given ? ops->subsystem_id : PCI_SUBSYSTEM_QEMU);
    }
    memset(d->used, 1, 0x40);
    pci_set_word(d->wmask + PCI_COMMAND, PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
                 PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
    pci_set_word(d->w1cmask + PCI_STATUS, PCI_STATUS_ERRORS);
    d->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
    d->wmask[PCI_INTERRUPT_LINE] = 0xff;
    memset(d->wmask + 0x40, 0xff, PCI_CONFIG_SIZE - 0x40);
}

/* romfile=: the option ROM that firmware finds; its BAR is the next power of two. */
static bool pci_rom_load(PCIDevice *d, Error **errp)
{
    g_autofree char *data = NULL;
    g_autoptr(GError) gerr = NULL;
    gsize len, size = 2048;

    if (!d->romfile || !*d->romfile || !d->rombar) {
        return true;
    }
    if (!g_file_get_contents(d->romfile, &data, &len, &gerr)) {
        error_set(errp, "failed to find romfile \"%s\"", d->romfile);
        return false;
    }
    if (!len || len > 16 * MiB) {
        error_set(errp, "romfile \"%s\" %s", d->romfile, len ? "is larger than 16 MiB" : "is empty");
        return false;
    }
    while (size < len) {
        size *= 2;
    }
    if (!memory_region_init_rom(&d->rom, &d->dev.obj, "pci option rom", MAX(size, 4096), errp)) {
        return false;
    }
    memcpy(memory_region_ram_ptr(&d->rom), data, len);
    pci_bar_register(d, PCI_ROM_BAR, 0, &d->rom);
    return true;
}

static bool pci_device_realize(Object *obj, Error **errp)
{
    PCIDevice *d = (PCIDevice *)obj;

    pci_header_init(d, type_ops(obj->type));
    if (!pci_rom_load(d, errp)) {
        return false;
    }
    pci_device_bus(d)->dev[d->devfn] = d;
    return true;
}

static void pci_device_unrealize(Object *obj)
{
    PCIDevice *d = (PCIDevice *)obj;

    for (int pin = 0; pin < PCI_PINS; pin++) {
        pci_pin_set(d, pin, 0);
    }
    for (int n = 0; n < PCI_BARS; n++) {
        if (d->bar[n].mr) {
            pci_bar_move(d, n, PCI_UNMAPPED);
        }
    }
    msix_uninit(d);
    pci_dma_fini(d);
    if (d->rom.size) {
        memory_region_fini(&d->rom);
    }
    pci_device_bus(d)->dev[d->devfn] = NULL;
}

static void pci_device_reset(Object *obj)
{
    PCIDevice *d = (PCIDevice *)obj;

    for (int pin = 0; pin < PCI_PINS; pin++) {
        pci_pin_set(d, pin, 0);
    }
    pci_set_word(d->config + PCI_COMMAND, 0);
    pci_set_word(d->config + PCI_STATUS, pci_get_word(d->config + PCI_STATUS) & ~PCI_STATUS_ERRORS);
    d->config[PCI_CACHE_LINE_SIZE] = 0;
    d->config[PCI_INTERRUPT_LINE] = 0;
    for (int n = 0; n < PCI_BARS; n++) {
        if (d->bar[n].mr) {
            pci_set_long(d->config + pci_bar_offset(d, n), d->bar[n].type);
        }
        if (d->bar[n].mr && pci_bar_is_64(&d->bar[n])) {
            pci_set_long(d->config + pci_bar_offset(d, n) + 4, 0);
        }
    }
    pci_bars_update(d);
    msi_reset(d);
    msix_reset(d);
}

static void pci_device_init(Object *obj)
{
    for (int n = 0; n < PCI_BARS; n++) {
        ((PCIDevice *)obj)->bar[n].addr = PCI_UNMAPPED;
    }
}

/* "5" or "1f.3": slot and function, hexadecimal. */
static bool pci_addr_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    char *end;
    unsigned long slot = strtoul(value, &end, 16), fn = 0;
    bool ok = end != value && g_ascii_isxdigit(*value);

    if (ok && *end == '.') {
        const char *text = end + 1;

        fn = strtoul(text, &end, 16);
        ok = end != text && g_ascii_isxdigit(*text);
    }
    if (!strcmp(value, "-1")) {
        ((PCIDevice *)obj)->devfn = -1;
        return true;
    }
    if (!ok || *end || slot >= PCI_SLOTS || fn >= PCI_FUNCS) {
        error_set(errp, "Property '%s.%s' doesn't take value '%s': a PCI slot 0 to 1f, and maybe a function .0 to .7",
                  obj->type->name, p->name, value);
        return false;
    }
    ((PCIDevice *)obj)->devfn = PCI_DEVFN(slot, fn);
    return true;
}

static char *pci_addr_get(Object *obj, const Property *p, Error **errp)
{
    const PCIDevice *d = (const PCIDevice *)obj;

    return d->devfn < 0 ? g_strdup("-1") : g_strdup_printf("%02x.%x", PCI_SLOT(d->devfn), PCI_FUNC(d->devfn));
}

PCIDevice *pci_create(PCIBus *bus, int devfn, bool multifunction, const char *type, Error **errp)
{
    PCIDevice *d = (PCIDevice *)device_new(type);

    d->devfn = devfn;
    d->multifunction = multifunction;
    return device_plug(&d->dev, &bus->bus, errp) ? d : NULL;
}

static bool pci_device_post_load(void *opaque, Error **errp)
{
    PCIDevice *d = opaque;

    pci_bars_update(d);
    return true;
}

static const VMField pci_device_fields[] = {
    VM_BUFFER(PCIDevice, config),
    VM_FIELD(PCIDevice, irq_state, VM_U8),
    VM_END
};
static const VMState pci_device_vmstate = {
    .name = "pci-device", .version = 1, .fields = pci_device_fields, .post_load = pci_device_post_load,
};

static const Property pci_device_props[] = {
    { .name = "addr", .kind = PROP_CUSTOM, .offset = offsetof(PCIDevice, devfn), .has_default = true, .def_str = "-1",
      .type_name = "str", .set = pci_addr_set, .get = pci_addr_get,
      .help = "Slot and optional function number, example: 06.0 or 06" },
    PROP_FIELD("multifunction", PROP_BOOL, PCIDevice, multifunction, false, "the slot has more functions"),
    { .name = "romfile", .kind = PROP_STR, .offset = offsetof(PCIDevice, romfile), .help = "option ROM file" },
    PROP_FIELD("rombar", PROP_U32, PCIDevice, rombar, 1, "0: the guest sees no option ROM"),
    PROP_END
};

static const Type pci_device_type = {
    .name = "pci-device",
    .parent = "device",
    .abstract = true,
    .bus = "PCI",
    .size = sizeof(PCIDevice),
    .props = pci_device_props,
    .init = pci_device_init,
    .realize = pci_device_realize,
    .unrealize = pci_device_unrealize,
    .reset = pci_device_reset,
    .vmstate = &pci_device_vmstate,
};
TYPE_REGISTER(pci_device_type)
