/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PC boards: pc-i440fx (alias pc) and pc-q35 (alias q35), and what their chips share.
 *
 * A board is built by pc_build() from a PcKind (what tells the two apart) and a PcVersion (defaults by version). The
 * chip sets' host bridges and south bridges are PCI functions that find their board through pc_machine().
 * Machine lock or main thread. Tests: tests/unit/test-pc.c, tests/boot/.
 */
#ifndef CLEAT_HW_I386_PC_H
#define CLEAT_HW_I386_PC_H

#include "hw/acpi/pm.h"
#include "hw/i386/directboot.h"
#include "hw/i386/fw_cfg.h"
#include "hw/i386/pam.h"
#include "hw/i386/x86-board.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "hw/misc/pc-ports.h"
#include "hw/pci/pci_host.h"
#include "hw/rtc/mc146818.h"
#include "hw/timer/hpet.h"
#include "hw/timer/i8254.h"
#include "system/machine.h"
#include "target/i386/cpu.h"

#define PC_GSIS IOAPIC_PINS
#define PC_IOAPIC_BASE 0xfec00000u
#define PC_HPET_BASE 0xfed00000u
#define PC_APIC_BASE X86_APIC_BASE
#define PC_ECAM_BASE 0xb0000000u        /* q35: where we, as firmware does, put PCIEXBAR */
#define PC_ECAM_SIZE 0x10000000u
#define PC_RCBA_BASE 0xfed1c000u
#define PC_SCI_GSI 9
#define PC_BIOS_ALIAS_MAX (128 * 1024u) /* of the BIOS, visible below 1 MiB */
#define PC_MAX_CPUS 255
#define PC_SERIALS 4

typedef struct PcMachine PcMachine;

/* Who drives a global system interrupt: its level is the OR of these. */
typedef enum GsiSource { GSI_ISA, GSI_HPET, GSI_PCI, GSI_PCI_PIC, GSI_SCI, GSI_FERR, GSI_SOURCES } GsiSource;

typedef struct PcKind {
    bool pcie;
    const char *bus_name;               /* "pcie.0" or "pci.0" */
    const char *host_type;              /* type of the host bridge's CPU side */
    /* RAM below 4 GiB: all of it up to small_max, else only split (a round number, for large pages). */
    uint64_t small_max, split;
    uint64_t pci_hole_start;            /* first address that BARs may have below 4 GiB */
    uint32_t hpet_intcap;               /* GSIs that its timers may use */
    bool (*create_bridges)(PcMachine *pc, Error **errp);
    /* What firmware does: interrupt line of a function's pin. */
    uint8_t (*irq_line_of)(PcMachine *pc, PCIDevice *d, int pin);
} PcKind;

/* Defaults that differ between versions of a machine type. */
typedef struct PcVersion {
    const char *name;                   /* "10.0" */
    bool smbios30;                      /* 64-bit SMBIOS entry point by default */
} PcVersion;

typedef struct PcOps {
    MachineOps machine;                 /* first: vl.c reads it */
    const PcKind *kind;
    const PcVersion *version;
} PcOps;

struct PcMachine {
    Machine parent;
    /* config: -machine properties */
    uint64_t max_ram_below_4g;          /* 0: by kind */
    bool i8042_enabled;
    int smbios_entry;                   /* 0 auto, 1 "32", 2 "64" */
    /* wiring */
    const PcKind *kind;
    const PcVersion *version;
    uint64_t below_4g, above_4g;        /* bytes of RAM */
    MemoryRegion ram_below, ram_above, pci_mem;
    X86Bios bios;
    IrqLine gsi[GSI_SOURCES][PC_GSIS];
    IrqLine pic_intr, ferr_clear, a20[2];   /* a20: the keyboard controller's, port 92h's */
    bool smm;                           /* CPUs have system management mode and may use it */
    IrqLine smi;                        /* the south bridge's SMI# */
    /* System management mode's memory: smram (what the host bridge shows) over system memory. */
    MemoryRegion smm_root, smm_system, smram;
    AddressSpace as_smm;
    I8259Pair pic;
    IoApic *ioapic;
    Pit *pit;
    Rtc *rtc;
    Hpet *hpet;
    PCIHost *host;
    PCIDevice *north, *south;           /* function 0 of the host bridge, the ISA bridge */
    AcpiPm *pm;
    IsaBus *isa;
    FwCfg *fw_cfg;
    X86CPU **cpus;
    unsigned n_cpus;
    /* direct boot and tables */
    DirectBoot *boot;                   /* NULL: firmware runs */
    struct LinuxBoot *linuxboot;        /* a kernel that firmware boots, or NULL */
    struct AcpiBuild *acpi;             /* NULL: acpi=off */
    struct SmbiosBuild *smbios;
    GArray *boot_entries;               /* what firmware boots from (pc-fw_cfg.c) */
    bool started;                       /* there was a reset: -boot once= is over with the next */
    hwaddr tables_addr;                 /* where the direct boot puts ACPI tables: top of low RAM */
    /* registers */
    uint32_t gsi_level[GSI_SOURCES];    /* bit n: the source holds GSI n up */
};

PcMachine *pc_machine(void);            /* NULL: the current machine is no PC */
/* The line by which a source drives GSI n; NULL when there is no such GSI. */
Irq pc_gsi(PcMachine *pc, GsiSource source, unsigned gsi);

/* pc-memory.c */
bool pc_memory_init(PcMachine *pc, Error **errp);
bool pc_bios_init(PcMachine *pc, Error **errp);
/* pc-chips.c: everything behind the ISA bridge, and the I/O APIC, HPET, CPUs' wiring. */
void pc_gsi_init(PcMachine *pc);
bool pc_chips_create(PcMachine *pc, Error **errp);
/* pc-boot.c: CMOS, and direct boot at each reset. */
bool pc_boot_finish(PcMachine *pc, Error **errp);
void pc_cmos_init(PcMachine *pc);
/* pc.c */
bool pc_build(Machine *m, Error **errp);
bool pc_finish(Machine *m, Error **errp);


#endif
