/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration access from the CPU: ports cf8h/cfch and the ECAM window. Contract in include/hw/pci/pci_host.h.
 *
 * Only 32-bit accesses reach the address register; narrower ones at cf8h..cfbh fall through to nothing (cf9h is the
 * reset control register, mapped above it). Machine lock. Test: tests/unit/test-pci.c.
 */
#include "hw/pci/pci_host.h"

#define ADDRESS_ENABLE 0x80000000u

static uint64_t host_address_read(void *opaque, hwaddr addr, unsigned size)
{
    return size == 4 ? ((PCIHost *)opaque)->config_address : (uint64_t)-1;
}

static void host_address_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    if (size == 4 && addr == 0) {
        ((PCIHost *)opaque)->config_address = value & ~3u;
    }
}

static const MemoryRegionOps host_address_ops = {
    .read = host_address_read, .write = host_address_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 4 },
};

static PCIDevice *host_target(const PCIHost *h)
{
    uint32_t a = h->config_address;

    return a & ADDRESS_ENABLE ? pci_bus_device(h->bus, a >> 16 & 0xff, a >> 8 & 0xff) : NULL;
}

static uint64_t host_data_read(void *opaque, hwaddr addr, unsigned size)
{
    const PCIHost *h = opaque;

    return pci_config_read(host_target(h), (h->config_address & 0xfc) + addr, size);
}

static void host_data_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    const PCIHost *h = opaque;

    pci_config_write(host_target(h), (h->config_address & 0xfc) + addr, value, size);
}

static const MemoryRegionOps host_data_ops = {
    .read = host_data_read, .write = host_data_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 4 },
};

static PCIDevice *ecam_target(const PCIHost *h, hwaddr addr)
{
    return pci_bus_device(h->bus, addr >> 20 & 0xff, addr >> 12 & 0xff);
}

static uint64_t ecam_read(void *opaque, hwaddr addr, unsigned size)
{
    return pci_config_read(ecam_target(opaque, addr), addr & 0xfff, size);
}

static void ecam_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    pci_config_write(ecam_target(opaque, addr), addr & 0xfff, value, size);
}

static const MemoryRegionOps ecam_ops = {
    .read = ecam_read, .write = ecam_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 4 },
};

void pci_host_init(PCIHost *h, const char *bus_type, const char *bus_name, MemoryRegion *mem, MemoryRegion *io)
{
    h->mem = mem;
    h->ecam_base = PCI_UNMAPPED;
    h->bus = pci_bus_new_root(&h->parent, bus_type, bus_name, mem, io);
    memory_region_init_io(&h->address_io, &h->parent.obj, &host_address_ops, h, "pci-conf-idx", 4);
    memory_region_init_io(&h->data_io, &h->parent.obj, &host_data_ops, h, "pci-conf-data", 4);
    memory_region_add(io, PCI_CONFIG_ADDRESS_PORT, &h->address_io, 0);
    memory_region_add(io, PCI_CONFIG_DATA_PORT, &h->data_io, 0);
}

void pci_host_fini(PCIHost *h)
{
    pci_host_map_ecam(h, 0, 0);
    memory_region_fini(&h->address_io);
    memory_region_fini(&h->data_io);
}

void pci_host_map_ecam(PCIHost *h, uint64_t base, uint64_t size)
{
    if (!size) {
        base = PCI_UNMAPPED;
    }
    if (h->ecam_base == base && (!size || h->ecam.size == size)) {
        return;
    }
    if (h->ecam_base != PCI_UNMAPPED) {
        memory_region_remove(&h->ecam);
    }
    h->ecam_base = base;
    if (!size) {
        return;
    }
    if (!h->ecam.size) {
        memory_region_init_io(&h->ecam, &h->parent.obj, &ecam_ops, h, "pcie-mmcfg-mmio", size);
    } else {
        memory_region_set_size(&h->ecam, size);
    }
    memory_region_add(h->mem, base, &h->ecam, 2);
}

static const VMField pci_host_fields[] = { VM_FIELD(PCIHost, config_address, VM_U32), VM_END };
const VMState pci_host_vmstate = { .name = "pci-host", .version = 1, .fields = pci_host_fields };

static const Type pci_host_type = {
    .name = "pci-host-bridge", .parent = "device", .abstract = true, .size = sizeof(PCIHost),
    .vmstate = &pci_host_vmstate,
};
TYPE_REGISTER(pci_host_type)
