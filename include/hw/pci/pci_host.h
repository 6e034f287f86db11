/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI host bridges as the CPU reaches them: configuration mechanism #1 (ports cf8h, cfch; PCI Local Bus 3.0, 3.2.2.3.2)
 * and the memory-mapped one of PCI Express (PCI Express Base 7.2.2).
 *
 * A board's host bridge embeds a PCIHost. Machine lock. Test: tests/unit/test-pci.c.
 */
#ifndef CLEAT_HW_PCI_PCI_HOST_H
#define CLEAT_HW_PCI_PCI_HOST_H

#include "hw/pci/pci.h"

#define PCI_CONFIG_ADDRESS_PORT 0xcf8
#define PCI_CONFIG_DATA_PORT 0xcfc
#define PCI_ECAM_BUS_SIZE (1u << 20)

typedef struct PCIHost {
    Device parent;
    /* wiring */
    PCIBus *bus;
    MemoryRegion address_io, data_io;       /* 4 ports each */
    MemoryRegion ecam;                      /* size 0: none */
    uint64_t ecam_base;                     /* PCI_UNMAPPED: not mapped */
    MemoryRegion *mem;                      /* where ecam is mapped */
    /* registers */
    uint32_t config_address;
} PCIHost;

/* Makes the ports' regions and the root bus over mem and io, and maps the ports into io. */
void pci_host_init(PCIHost *h, const char *bus_type, const char *bus_name, MemoryRegion *mem, MemoryRegion *io);
void pci_host_fini(PCIHost *h);
/* Shows config space of buses 0..size/1M-1 at base; size 0: nowhere. */
void pci_host_map_ecam(PCIHost *h, uint64_t base, uint64_t size);
extern const VMState pci_host_vmstate;

#endif
