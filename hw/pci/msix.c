/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MSI-X (PCI Local Bus 3.0, 6.8.2): the capability, the vector table and the pending bits, both in BAR memory.
 *
 * A message of a masked vector (its own mask, the function mask, MSI-X off) stays pending and goes out when the mask is
 * lifted. The pending bits are read-only for the guest. Machine lock. Test: tests/unit/test-pci.c.
 */
#include <string.h>

#include "hw/pci/pci.h"
#include "util/units.h"

enum { MSIX_FLAGS = 2, MSIX_TABLE = 4, MSIX_PBA = 8, MSIX_CAP_SIZE = 12 };
enum { ENTRY_ADDR = 0, ENTRY_DATA = 8, ENTRY_CTRL = 12, ENTRY_SIZE = 16 };
#define MSIX_MAX_ENTRIES 2048

static uint8_t *msix_entry(const PCIDevice *d, unsigned v)
{
    return d->msix_table + v * ENTRY_SIZE;
}

static uint16_t msix_flags(const PCIDevice *d)
{
    return pci_get_word(d->config + d->msix_cap + MSIX_FLAGS);
}

bool msix_enabled(const PCIDevice *d)
{
    return d->msix_cap && (msix_flags(d) & MSIX_ENABLE);
}

static bool msix_masked(const PCIDevice *d, unsigned v)
{
    return !(msix_flags(d) & MSIX_ENABLE) || (msix_flags(d) & MSIX_FUNCTION_MASK) ||
           (msix_entry(d, v)[ENTRY_CTRL] & MSIX_ENTRY_MASKED);
}

static bool msix_pending(const PCIDevice *d, unsigned v)
{
    return d->msix_pba[v / 8] >> v % 8 & 1;
}

void msix_notify(PCIDevice *d, unsigned v)
{
    if (!msix_enabled(d) || v >= d->msix_entries || !pci_message_allowed(d)) {
        return;
    }
    if (msix_masked(d, v)) {
        d->msix_pba[v / 8] |= 1u << v % 8;
        return;
    }
    pci_message_send(d, pci_get_quad(msix_entry(d, v) + ENTRY_ADDR), pci_get_long(msix_entry(d, v) + ENTRY_DATA));
}

static void msix_send_pending(PCIDevice *d, unsigned v)
{
    if (msix_pending(d, v) && !msix_masked(d, v)) {
        d->msix_pba[v / 8] &= ~(1u << v % 8);
        msix_notify(d, v);
    }
}

void msix_config_written(PCIDevice *d, uint32_t addr, unsigned len)
{
    unsigned cap = d->msix_cap;

    if (!cap || addr + len <= cap || addr >= cap + MSIX_CAP_SIZE || !msix_enabled(d)) {
        return;
    }
    pci_irq_set(d, 0);
    for (unsigned v = 0; v < d->msix_entries; v++) {
        msix_send_pending(d, v);
    }
}

static uint64_t msix_table_read(void *opaque, hwaddr addr, unsigned size)
{
    const PCIDevice *d = opaque;

    return size == 8 ? pci_get_quad(d->msix_table + addr) : pci_get_long(d->msix_table + addr);
}

static void msix_table_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    PCIDevice *d = opaque;

    pci_set_long(d->msix_table + addr, value);
    if (size == 8) {
        pci_set_long(d->msix_table + addr + 4, value >> 32);
    }
    msix_send_pending(d, addr / ENTRY_SIZE);
}

static const MemoryRegionOps msix_table_ops = {
    .read = msix_table_read, .write = msix_table_write,
    .valid = { .min = 4, .max = 8 }, .impl = { .min = 4, .max = 8 },
};

static uint64_t msix_pba_read(void *opaque, hwaddr addr, unsigned size)
{
    const PCIDevice *d = opaque;

    return size == 8 ? pci_get_quad(d->msix_pba + addr) : pci_get_long(d->msix_pba + addr);
}

static void msix_pba_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps msix_pba_ops = {
    .read = msix_pba_read, .write = msix_pba_write,
    .valid = { .min = 4, .max = 8 }, .impl = { .min = 4, .max = 8 },
};

bool msix_init(PCIDevice *d, unsigned entries, MemoryRegion *table_bar, int table_bar_nr, uint32_t table_offset,
               MemoryRegion *pba_bar, int pba_bar_nr, uint32_t pba_offset, uint8_t cap_offset, Error **errp)
{
    uint64_t table_size = (uint64_t)entries * ENTRY_SIZE, pba_size = ALIGN_UP(entries, 64) / 8;
    uint8_t at;

    if (!entries || entries > MSIX_MAX_ENTRIES || table_offset + table_size > table_bar->size ||
        pba_offset + pba_size > pba_bar->size) {
        error_set(errp, "%s: %u MSI-X vectors do not fit", d->dev.obj.type->name, entries);
        return false;
    }
    at = pci_capability_add(d, PCI_CAP_ID_MSIX, cap_offset, MSIX_CAP_SIZE, errp);
    if (!at) {
        return false;
    }
    d->msix_cap = at;
    d->msix_entries = entries;
    d->msix_table = g_malloc0(table_size);
    d->msix_pba = g_malloc0(pba_size);
    pci_set_word(d->config + at + MSIX_FLAGS, entries - 1);
    pci_set_word(d->wmask + at + MSIX_FLAGS, MSIX_ENABLE | MSIX_FUNCTION_MASK);
    pci_set_long(d->config + at + MSIX_TABLE, table_offset | table_bar_nr);
    pci_set_long(d->config + at + MSIX_PBA, pba_offset | pba_bar_nr);
    memory_region_init_io(&d->msix_table_mmio, &d->dev.obj, &msix_table_ops, d, "msix-table", table_size);
    memory_region_init_io(&d->msix_pba_mmio, &d->dev.obj, &msix_pba_ops, d, "msix-pba", pba_size);
    memory_region_add(table_bar, table_offset, &d->msix_table_mmio, 0);
    memory_region_add(pba_bar, pba_offset, &d->msix_pba_mmio, 0);
    msix_reset(d);
    return true;
}

void msix_uninit(PCIDevice *d)
{
    if (d->msix_cap) {
        d->msix_cap = 0;
        memory_region_fini(&d->msix_table_mmio);
        memory_region_fini(&d->msix_pba_mmio);
        g_clear_pointer(&d->msix_table, g_free);
        g_clear_pointer(&d->msix_pba, g_free);
    }
}

void msix_reset(PCIDevice *d)
{
    if (!d->msix_cap) {
        return;
    }
    pci_set_word(d->config + d->msix_cap + MSIX_FLAGS, msix_flags(d) & ~(MSIX_ENABLE | MSIX_FUNCTION_MASK));
    memset(d->msix_table, 0, (size_t)d->msix_entries * ENTRY_SIZE);
    memset(d->msix_pba, 0, ALIGN_UP(d->msix_entries, 64) / 8);
    for (unsigned v = 0; v < d->msix_entries; v++) {
        msix_entry(d, v)[ENTRY_CTRL] = MSIX_ENTRY_MASKED;
    }
}
