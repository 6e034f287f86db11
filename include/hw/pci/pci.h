/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conventional PCI and PCI Express configuration space, BARs and INTx (PCI Local Bus 3.0; PCI Express 5.0 ch. 7).
 *
 * A PCI device is a Type with parent "pci-device" (bus "PCI") whose ops is a PCIDeviceOps: its constant identity and hooks.
 * Its realize registers BARs with pci_register_bar(); the core maps them as the guest programs command and BAR registers.
 * INTx is a level: pci_set_irq(). Host bridges make the bus with pci_bus_init() and say where its interrupts go.
 * Machine lock. Test: tests/unit/test-pci.c.
 */
#ifndef CLEAT_HW_PCI_PCI_H
#define CLEAT_HW_PCI_PCI_H

#include "hw/irq.h"
#include "system/memory.h"
#include "system/qdev.h"
#include "system/vmstate.h"

#define PCI_CONFIG_SIZE 256
#define PCI_BARS 6
#define PCI_ROM_SLOT 6
#define PCI_DEVFN(slot, fn) ((slot) << 3 | (fn))
#define PCI_SLOT(devfn) ((devfn) >> 3)
#define PCI_FUNC(devfn) ((devfn) & 7)

/* Configuration registers */
enum { PCI_VENDOR_ID = 0x00, PCI_DEVICE_ID = 0x02, PCI_COMMAND = 0x04, PCI_STATUS = 0x06, PCI_REVISION = 0x08,
       PCI_CLASS_PROG = 0x09, PCI_CLASS_DEVICE = 0x0a, PCI_HEADER_TYPE = 0x0e, PCI_BASE_ADDRESS_0 = 0x10,
       PCI_SUBSYSTEM_VENDOR_ID = 0x2c, PCI_SUBSYSTEM_ID = 0x2e, PCI_ROM_ADDRESS = 0x30, PCI_CAPABILITY_LIST = 0x34,
       PCI_INTERRUPT_LINE = 0x3c, PCI_INTERRUPT_PIN = 0x3d };
enum { PCI_COMMAND_IO = 1, PCI_COMMAND_MEMORY = 2, PCI_COMMAND_MASTER = 4, PCI_COMMAND_INTX_DISABLE = 0x400,
       PCI_STATUS_INTERRUPT = 0x08, PCI_STATUS_CAP_LIST = 0x10 };
/* BAR kinds for pci_register_bar */
enum { PCI_BAR_IO = 1, PCI_BAR_MEM32 = 0, PCI_BAR_MEM64 = 4, PCI_BAR_PREFETCH = 8 };

typedef struct PCIDevice PCIDevice;
typedef struct PCIBus PCIBus;

typedef struct PCIDeviceOps {
    uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_id;
    uint16_t class_id;                      /* base and sub class */
    uint8_t prog_if, revision, interrupt_pin;   /* pin: 0 none, 1 INTA.. */
    bool is_bridge;                         /* host or ISA bridge: not user-creatable, no hot-plug */
    /* After the common part has taken a write of len bytes at addr; NULL: nothing more. */
    void (*config_written)(PCIDevice *dev, unsigned addr, unsigned len);
} PCIDeviceOps;

typedef struct PCIBar {
    MemoryRegion *mr;                       /* NULL: no such BAR */
    uint64_t size;                          /* power of two */
    uint8_t kind;
    uint64_t mapped_at;                     /* UINT64_MAX: not mapped */
} PCIBar;

struct PCIDevice {
    Device dev;
    /* config */
    int32_t devfn;                          /* property addr; -1: the first free slot */
    bool multifunction;
    char *romfile;
    /* wiring */
    PCIBus *bus;
    PCIBar bar[PCI_BARS + 1];
    /* registers */
    uint8_t config[PCI_CONFIG_SIZE];
    uint8_t irq_level;                      /* INTx asserted by the device */
    /* constant after realize */
    uint8_t wmask[PCI_CONFIG_SIZE];         /* bits the guest may write */
    uint8_t w1cmask[PCI_CONFIG_SIZE];       /* bits a written 1 clears */
    uint8_t cap_end;                        /* next free byte for capabilities */
    bool irq_driven;                        /* derived: counted in the bus's level */
};

struct PCIBus {
    Bus bus;
    PCIDevice *devices[256];
    MemoryRegion *mem, *io;                 /* where BARs are mapped */
    int bus_number;
    int min_devfn;                          /* first slot that automatic placement may take */
    /* interrupt routing: pin 0..3 of a device -> host interrupt; level is the OR of its sources */
    int (*map_irq)(PCIDevice *dev, int pin);
    void (*set_irq)(void *opaque, int irq, int level);
    void *irq_opaque;
    int irq_count[16];
};

void pci_bus_init(PCIBus *bus, Device *owner, const char *name, MemoryRegion *mem, MemoryRegion *io, int min_devfn);
void pci_bus_set_irqs(PCIBus *bus, int (*map_irq)(PCIDevice *, int), void (*set_irq)(void *, int, int), void *opaque);
/* Recomputes every host interrupt after the routing registers changed. */
void pci_bus_update_irqs(PCIBus *bus);
PCIDevice *pci_create(PCIBus *bus, int devfn, bool multifunction, const char *type, Error **errp);

/* size: a power of two, at least 4 (I/O) or 16. From realize. */
void pci_register_bar(PCIDevice *dev, int n, uint8_t kind, MemoryRegion *mr, uint64_t size);
void pci_set_irq(PCIDevice *dev, int level);
/* Adds a capability of size bytes at the next free place (or at `at` if not 0); its offset, 0 when there is no room. */
uint8_t pci_add_capability(PCIDevice *dev, uint8_t id, uint8_t at, uint8_t size);

uint16_t pci_get_word(const uint8_t *config);
uint32_t pci_get_long(const uint8_t *config);
void pci_set_word(uint8_t *config, uint16_t v);
void pci_set_long(uint8_t *config, uint32_t v);

/* One access of 1, 2 or 4 bytes to the configuration space of bus/devfn; all ones where nothing is. */
uint32_t pci_config_read(PCIBus *root, unsigned bus, unsigned devfn, unsigned addr, unsigned len);
void pci_config_write(PCIBus *root, unsigned bus, unsigned devfn, unsigned addr, uint32_t v, unsigned len);

/*
 * What firmware does before an operating system runs, for direct boot: gives each BAR an address (I/O from io_base, memory
 * from mem_base up to mem_end), sets interrupt lines by line_of(dev, pin), and switches decoding on.
 */
void pci_assign_resources(PCIBus *root, uint32_t io_base, uint64_t mem_base, uint64_t mem_end,
                          uint8_t (*line_of)(PCIDevice *dev, int pin));

/* Configuration mechanism #1: ports cf8h (address) and cfch (data) of a host bridge. */
typedef struct PCIConfigPorts {
    MemoryRegion addr_io, data_io;
    PCIBus *root;
    uint32_t address;                       /* register */
} PCIConfigPorts;
void pci_config_ports_init(PCIConfigPorts *p, Object *owner, PCIBus *root, MemoryRegion *io);
/* Enhanced configuration access (ECAM): bus, device, function and register in the address. mr is size 1 MiB x buses. */
void pci_ecam_init(MemoryRegion *mr, Object *owner, PCIBus *root, unsigned buses);

extern const VMState pci_device_vmstate;

#endif
