/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The microvm machine: RAM, CPUs, I/O APICs, virtio-mmio slots, and as much of an old PC as its properties ask for; no
 * PCI unless pcie=on.
 *
 *   c0000000h  32-bit BARs (pcie=on)       feb00000h  virtio-mmio slots, 512 bytes each
 *   e0000000h  config space (pcie=on)      fec00000h  I/O APIC, GSI 0..23
 *   fea00000h  GED's events                fec10000h  second I/O APIC, GSI 24..47
 *   fea00200h  GED's sleep and reset       fee00000h  local APICs
 *
 * GSIs: 4 serial port, 8 clock, 9 GED, 12..15 PCI pins. Slots: 24..47 with two I/O APICs, 16..23 with one, 5..12
 * without ACPI. Machine lock or main thread. Tests: tests/unit/test-microvm.c, tests/boot/test-microvm.py.
 */
#ifndef CLEAT_HW_I386_MICROVM_H
#define CLEAT_HW_I386_MICROVM_H

#include "hw/acpi/ged.h"
#include "hw/i386/acpi-tables.h"
#include "hw/i386/directboot.h"
#include "hw/i386/x86-board.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "hw/pci/pci_host.h"
#include "hw/timer/i8254.h"
#include "hw/virtio/virtio-mmio.h"
#include "system/machine.h"

#define MICROVM_LOW_MAX 0xc0000000u     /* RAM below 4 GiB ends here at the latest */
#define MICROVM_PCIE_MEM 0xc0000000u
#define MICROVM_PCIE_MEM_SIZE 0x20000000u
#define MICROVM_ECAM 0xe0000000u
#define MICROVM_ECAM_SIZE 0x10000000u
#define MICROVM_PCIE_GSI 12
#define MICROVM_GED_EVENTS 0xfea00000u
#define MICROVM_GED_REGS 0xfea00200u
#define MICROVM_GED_GSI 9
#define MICROVM_SLOTS_BASE 0xfeb00000u
#define MICROVM_SLOTS_MAX 24
#define MICROVM_IOAPIC 0xfec00000u
#define MICROVM_IOAPIC2 0xfec10000u
#define MICROVM_GSIS (2 * IOAPIC_PINS)
#define MICROVM_MAX_CPUS 255

typedef enum MicrovmSource { MICROVM_ISA, MICROVM_BOARD, MICROVM_PCI, MICROVM_SOURCES } MicrovmSource;

typedef struct MicrovmMachine {
    Machine parent;
    /* config: -machine properties */
    OnOffAuto rtc_on, pcie_on, ioapic2_on;
    bool isa_serial, option_roms, auto_cmdline;
    /* wiring */
    uint64_t below_4g, above_4g;        /* bytes of RAM */
    MemoryRegion ram_below, ram_above;
    X86Bios bios;
    IrqLine gsi[MICROVM_SOURCES][MICROVM_GSIS];
    IrqLine pic_intr;
    I8259Pair pic;
    IoApic *ioapic[2];                  /* [1] NULL: there is one */
    Device *isa_bridge;
    IsaBus *isa;
    Pit *pit;
    Rtc *rtc;
    AcpiGed *ged;                       /* NULL: acpi=off */
    VirtioMmio *slot[MICROVM_SLOTS_MAX];
    unsigned n_slots, slot_gsi;         /* GSI of slot 0; the next ones follow */
    PCIHost *pcie;                      /* NULL: pcie=off */
    FwCfg *fw_cfg;
    X86CPU **cpus;
    unsigned n_cpus;
    bool two_ioapics;
    /* direct boot and tables */
    DirectBoot *boot;                   /* NULL: firmware runs */
    AcpiBuild *acpi;                    /* NULL: acpi=off */
    hwaddr tables_addr;                 /* top of low RAM that a kernel may use */
    /* registers */
    uint64_t gsi_level[MICROVM_SOURCES];    /* bit n: the source holds GSI n up */
} MicrovmMachine;

/* Is the serial port there? */
bool microvm_serial(const MicrovmMachine *mv);
Irq microvm_gsi(MicrovmMachine *mv, MicrovmSource source, unsigned gsi);
static inline bool microvm_has_acpi(const MicrovmMachine *mv)
{
    return mv->parent.acpi != ON_OFF_AUTO_OFF;
}

/* microvm-chips.c */
void microvm_gsi_init(MicrovmMachine *mv);
bool microvm_chips_create(MicrovmMachine *mv, Error **errp);
/* microvm-acpi.c: after the last device. */
bool microvm_acpi_init(MicrovmMachine *mv, Error **errp);
/* microvm-fdt.c: etc/fdt in fw_cfg. */
bool microvm_fdt_init(MicrovmMachine *mv, Error **errp);
/* microvm-boot.c: fw_cfg's numbers, and firmware or a kernel. */
/* -append, and what auto-kernel-cmdline adds; g_free(). */
char *microvm_command_line(const MicrovmMachine *mv);
bool microvm_boot_finish(MicrovmMachine *mv, Error **errp);

#endif
