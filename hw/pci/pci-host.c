/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a CPU reaches configuration space: mechanism #1 (PCI 3.0 section 3.2.2.3.2) and ECAM (PCIe 5.0 section 7.2.2);
 * and the resource assignment that firmware would do, for direct boot.
 *
 * Contract in include/hw/pci/pci.h. Machine lock.
 */
#include "hw/pci/pci.h"

#include <string.h>

#define ADDRESS_ENABLE (1u << 31)

static uint64_t address_read(void *opaque, hwaddr offset, unsigned size)
{
    return ((PCIConfigPorts *)opaque)->address;
}

static void address_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    if (size == 4) {
        ((PCIConfigPorts *)opaque)->address = value & 0x80fffffc;
    }
}

/* Only doublewords count at cf8h: smaller accesses belong to whatever else decodes there. */
static const MemoryRegionOps address_ops = {
    .read = address_read,
    .write = address_write,
    .valid = { 4, 4 },
    .impl = { 4, 4 },
};

static uint64_t data_read(void *opaque, hwaddr offset, unsigned size)
{
    PCIConfigPorts *p = opaque;
    uint32_t a = p->address;

    return a & ADDRESS_ENABLE ? pci_config_read(p->root, a >> 16 & 0xff, a >> 8 & 0xff, (a & 0xfc) + offset, size)
                              : UINT32_MAX;
}

static void data_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    PCIConfigPorts *p = opaque;
    uint32_t a = p->address;

    if (a & ADDRESS_ENABLE) {
        pci_config_write(p->root, a >> 16 & 0xff, a >> 8 & 0xff, (a & 0xfc) + offset, value, size);
    }
}

static const MemoryRegionOps data_ops = {
    .read = data_read,
    .write = data_write,
    .valid = { 1, 4 },
    .impl = { 1, 4 },
};

void pci_config_ports_init(PCIConfigPorts *p, Object *owner, PCIBus *root, MemoryRegion *io)
{
    p->root = root;
    memory_region_init_io(&p->addr_io, owner, &address_ops, p, "pci-conf-idx", 4);
    memory_region_init_io(&p->data_io, owner, &data_ops, p, "pci-conf-data", 4);
    memory_region_add(io, 0xcf8, &p->addr_io, 0);
    memory_region_add(io, 0xcfc, &p->data_io, 0);
}

static uint64_t ecam_read(void *opaque, hwaddr offset, unsigned size)
{
    return pci_config_read(opaque, offset >> 20, offset >> 12 & 0xff, offset & 0xfff, size);
}

static void ecam_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    pci_config_write(opaque, offset >> 20, offset >> 12 & 0xff, offset & 0xfff, value, size);
}

static const MemoryRegionOps ecam_ops = {
    .read = ecam_read,
    .write = ecam_write,
    .valid = { 1, 4 },
    .impl = { 1, 4 },
};

void pci_ecam_init(MemoryRegion *mr, Object *owner, PCIBus *root, unsigned buses)
{
    memory_region_init_io(mr, owner, &ecam_ops, root, "pcie-mmcfg", (uint64_t)buses << 20);
}

/* ---- resources ---- */

typedef struct Assigner {
    uint32_t io;
    uint64_t mem, mem_end;
} Assigner;

static void bar_assign(Assigner *a, PCIBus *root, PCIDevice *d, int n, uint16_t *command)
{
    PCIBar *b = &d->bar[n];
    unsigned reg = PCI_BASE_ADDRESS_0 + 4 * n;
    uint64_t at;

    if (b->kind & PCI_BAR_IO) {
        at = (a->io + b->size - 1) & ~(b->size - 1);
        if (at + b->size > 0x10000) {
            return;
        }
        a->io = at + b->size;
        *command |= PCI_COMMAND_IO;
    } else {
        at = (a->mem + b->size - 1) & ~(b->size - 1);
        if (at + b->size > a->mem_end) {
            return;
        }
        a->mem = at + b->size;
        *command |= PCI_COMMAND_MEMORY;
    }
    pci_config_write(root, root->bus_number, d->devfn, reg, at, 4);
}

void pci_assign_resources(PCIBus *root, uint32_t io_base, uint64_t mem_base, uint64_t mem_end,
                          uint8_t (*line_of)(PCIDevice *dev, int pin))
{
    Assigner a = { io_base, mem_base, mem_end };

    for (int devfn = 0; devfn < 256; devfn++) {
        PCIDevice *d = root->devices[devfn];
        uint16_t command = 0;

        if (!d) {
            continue;
        }
        for (int n = 0; n < PCI_BARS; n++) {
            if (d->bar[n].mr) {
                bar_assign(&a, root, d, n, &command);
            }
        }
        if (d->config[PCI_INTERRUPT_PIN]) {
            pci_config_write(root, root->bus_number, devfn, PCI_INTERRUPT_LINE,
                             line_of(d, d->config[PCI_INTERRUPT_PIN] - 1), 1);
        }
        pci_config_write(root, root->bus_number, devfn, PCI_COMMAND,
                         pci_get_word(d->config + PCI_COMMAND) | command, 2);
    }
}
