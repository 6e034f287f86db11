/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI: buses, functions and their configuration space (PCI Local Bus 3.0 ch. 6, PCI-PCI Bridge 1.2).
 *
 * A function is a Type with parent "pci-device" whose ops is a PCIDeviceOps. "pci-device" realizes first: it picks the
 * address (addr=), fills the header and puts the function on its bus; the child's realize then adds BARs and
 * capabilities. Reset clears command, status, BARs and MSI state before the child's reset runs.
 * Config space is 256 bytes: what lies beyond reads as ones. All: machine lock. Tests: tests/unit/test-pci.c.
 */
#ifndef CLEAT_HW_PCI_PCI_H
#define CLEAT_HW_PCI_PCI_H

#include "hw/irq.h"
#include "hw/pci/pci_regs.h"
#include "system/memory.h"
#include "system/qdev.h"
#include "system/vmstate.h"

#define PCI_CONFIG_SIZE 256
#define PCI_SLOTS 32
#define PCI_FUNCS 8
#define PCI_BARS 7                      /* 0..5, and the expansion ROM as number 6 */
#define PCI_ROM_BAR 6
#define PCI_PINS 4
#define PCI_DEVFN(slot, fn) (((slot) & 31) << 3 | ((fn) & 7))
#define PCI_SLOT(devfn) ((devfn) >> 3 & 31)
#define PCI_FUNC(devfn) ((devfn) & 7)
#define PCI_PIRQS 8                     /* most interrupt lines of a host bridge */
#define PCI_UNMAPPED UINT64_MAX

typedef struct PCIBus PCIBus;
typedef struct PCIDevice PCIDevice;

/* What a root bus's chip set does with interrupts: which line INTx of a function on it is, and that line's level. */
typedef struct PCIBusIrqOps {
    int (*map)(void *opaque, PCIDevice *d, int pin);    /* pin 0..3 = INTA..D; returns 0..PCI_PIRQS-1 */
    void (*set)(void *opaque, int line, int level);
} PCIBusIrqOps;

struct PCIBus {
    Bus bus;
    /* wiring */
    MemoryRegion *mem, *io;             /* where BARs of functions on this bus are mapped */
    PCIDevice *bridge;                  /* NULL: root bus */
    PCIBus *first_child, *next_sibling;
    uint8_t reserved_slots[PCI_SLOTS];  /* non-zero: addr= must name it, the automatic choice skips it */
    uint8_t first_slot;                 /* where the automatic choice begins */
    PCIDevice *dev[PCI_SLOTS * PCI_FUNCS];
    const PCIBusIrqOps *irq_ops;        /* root bus only */
    void *irq_opaque;
    MemoryRegion *dma;                  /* root bus only: what bus masters reach; NULL: nothing */
    void (*msi_send)(uint64_t address, uint32_t data);  /* root bus only; NULL: messages vanish */
    int irq_count[PCI_PIRQS];           /* derived: functions that hold the line up */
};

/* Constants of a kind of function, and its hooks. */
typedef struct PCIDeviceOps {
    uint16_t vendor_id, device_id, class_id;            /* class_id: base class and subclass */
    uint16_t subsystem_vendor_id, subsystem_id;         /* 0: QEMU's 1af4:1100 (none for bridges) */
    uint8_t revision, prog_if;
    bool is_bridge;                                     /* header type 1 */
    /* After the core has stored a guest's write of len bytes at addr and moved BARs. May be NULL. */
    void (*config_written)(PCIDevice *d, uint32_t addr, unsigned len);
    /* The automatic BARs of the direct boot have been set; what firmware would program besides. May be NULL. */
    void (*firmware_init)(PCIDevice *d);
} PCIDeviceOps;

typedef struct PCIBar {
    MemoryRegion *mr;                   /* NULL: no such BAR */
    uint64_t size;                      /* a power of two */
    uint8_t type;                       /* PCI_BASE_ADDRESS_* bits */
    uint64_t addr;                      /* derived: where it is mapped now, PCI_UNMAPPED: nowhere */
} PCIBar;

struct PCIDevice {
    Device dev;
    /* config */
    int32_t devfn;                      /* addr=; -1: choose */
    bool multifunction;
    char *romfile;
    uint32_t rombar;
    /* wiring */
    PCIBar bar[PCI_BARS];
    MemoryRegion rom;
    MemoryRegion dma_root, dma_alias;   /* bus mastering: system memory while the command register allows it */
    AddressSpace dma_as;
    bool dma_ready;
    uint8_t wmask[PCI_CONFIG_SIZE];     /* bits that a guest may write */
    uint8_t w1cmask[PCI_CONFIG_SIZE];   /* bits that a guest clears by writing 1 */
    uint8_t used[PCI_CONFIG_SIZE];      /* bytes that the header or a capability takes */
    uint8_t msi_cap, msix_cap;          /* offsets in config space, 0: none */
    uint16_t msix_entries;
    MemoryRegion msix_table_mmio, msix_pba_mmio;
    /* registers */
    uint8_t config[PCI_CONFIG_SIZE];
    uint8_t irq_state;                  /* bit n: INTx n is asserted by the function */
    uint8_t *msix_table, *msix_pba;     /* 16 bytes an entry; one bit an entry */
};

static inline PCIBus *pci_device_bus(const PCIDevice *d)
{
    return (PCIBus *)d->dev.bus;
}

static inline uint16_t pci_get_word(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

static inline uint32_t pci_get_long(const uint8_t *p)
{
    return pci_get_word(p) | (uint32_t)pci_get_word(p + 2) << 16;
}

static inline uint64_t pci_get_quad(const uint8_t *p)
{
    return pci_get_long(p) | (uint64_t)pci_get_long(p + 4) << 32;
}

static inline void pci_set_word(uint8_t *p, uint16_t v)
{
    p[0] = v;
    p[1] = v >> 8;
}

static inline void pci_set_long(uint8_t *p, uint32_t v)
{
    pci_set_word(p, v);
    pci_set_word(p + 2, v >> 16);
}

static inline void pci_set_quad(uint8_t *p, uint64_t v)
{
    pci_set_long(p, v);
    pci_set_long(p + 4, v >> 32);
}

/* ---- for functions ---- */

/* BAR n (0..5) shows mr, whose size is a power of two (16 bytes at least for memory, 4 for ports). In realize. */
void pci_bar_register(PCIDevice *d, int n, uint8_t type, MemoryRegion *mr);
/* Room for a capability of size bytes at offset (0: anywhere free), linked first; 0 with an error. In realize. */
uint8_t pci_capability_add(PCIDevice *d, uint8_t id, uint8_t offset, uint8_t size, Error **errp);
uint8_t pci_capability_find(const PCIDevice *d, uint8_t id);
/* Level of the function's INTx pin, as its config space's interrupt pin register says. */
void pci_irq_set(PCIDevice *d, int level);
/* What the function may reach by bus mastering: an address space of its own, made at the first call. */
AddressSpace *pci_dma_as(PCIDevice *d);

/* MSI: 1..32 vectors, 64-bit address, no per-vector masking unless maskable. False with an error. In realize. */
bool msi_init(PCIDevice *d, uint8_t offset, unsigned vectors, bool maskable, Error **errp);
bool msi_enabled(const PCIDevice *d);
void msi_notify(PCIDevice *d, unsigned vector);
/* MSI-X: table and pending bits at offsets in two (or one) BARs' regions. False with an error. In realize. */
bool msix_init(PCIDevice *d, unsigned entries, MemoryRegion *table_bar, int table_bar_nr, uint32_t table_offset,
               MemoryRegion *pba_bar, int pba_bar_nr, uint32_t pba_offset, uint8_t cap_offset, Error **errp);
void msix_uninit(PCIDevice *d);
bool msix_enabled(const PCIDevice *d);
void msix_notify(PCIDevice *d, unsigned vector);

/* ---- for host bridges and boards ---- */

/* type: "PCI" or "PCIE". */
PCIBus *pci_bus_new_root(Device *owner, const char *type, const char *name, MemoryRegion *mem, MemoryRegion *io);
void pci_bus_set_irqs(PCIBus *bus, const PCIBusIrqOps *ops, void *opaque);
PCIDevice *pci_bus_device(PCIBus *root, uint8_t bus_nr, uint8_t devfn);     /* NULL: nothing answers */
/* Bus number as config space has it (0 for the root bus). */
uint8_t pci_bus_number(const PCIBus *bus);
/* A read of 1, 2 or 4 bytes; ones where no function is, or beyond its config space. */
uint32_t pci_config_read(PCIDevice *d, uint32_t addr, unsigned len);
void pci_config_write(PCIDevice *d, uint32_t addr, uint32_t value, unsigned len);
/* Creates, places at devfn, plugs; NULL with an error. */
PCIDevice *pci_create(PCIBus *bus, int devfn, bool multifunction, const char *type, Error **errp);
/* Line of a root function's pin changed its routing: lowers and raises what is asserted. */
void pci_bus_irq_resync(PCIBus *root);
/* Calls fn for each function below root, in bus and devfn order. */
void pci_foreach(PCIBus *root, void (*fn)(PCIDevice *d, void *opaque), void *opaque);

/* Does a function have an option ROM that firmware would run? */
bool pci_has_option_rom(PCIBus *root);

/*
 * What firmware does before an operating system runs, for direct boot: gives each BAR an address (ports from io_base,
 * memory in [mem_base, mem_end) below 4 GiB, 64-bit BARs that do not fit there from high_base), switches decoding
 * on, sets interrupt lines by line_of, and calls firmware_init hooks. A BAR that fits nowhere stays off.
 */
typedef struct PCIWindows {
    uint32_t io_base;
    uint64_t mem_base, mem_end, high_base;
    uint8_t (*line_of)(void *opaque, PCIDevice *d, int pin);
    void *opaque;
    uint64_t high_end;                  /* result: end of what was used above 4 GiB */
} PCIWindows;
void pci_assign_resources(PCIBus *root, PCIWindows *w);

/* Shared by the files of hw/pci. */
void pci_message_send(const PCIDevice *d, uint64_t address, uint32_t data);
void pci_bars_update(PCIDevice *d);
void pci_irq_disabled_changed(PCIDevice *d, bool was_disabled);
void msi_reset(PCIDevice *d);
void msix_reset(PCIDevice *d);
void msi_config_written(PCIDevice *d, uint32_t addr, unsigned len);
void msix_config_written(PCIDevice *d, uint32_t addr, unsigned len);
bool pci_message_allowed(const PCIDevice *d);

#endif
