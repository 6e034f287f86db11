/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What shows between 640 KiB and 1 MiB: the programmable attribute map and the SMRAM window of Intel's host bridges
 * (82441FX data sheet 3.2.15, 3.2.18; 3 Series Express Chipset Family data sheet 5.1.17 ff).
 *
 * a0000h..fffffh shows the PCI side (VGA, BIOS); each of thirteen areas from c0000h on can show RAM instead,
 * read-only or writable. An area that is "write RAM, read ROM" shows the PCI side: writes to it are lost.
 * SMRAM: RAM at a0000h..bffffh, which CPUs in system management mode see, and others while it is open.
 * Embedded in a host bridge. Machine lock. Test: tests/unit/test-pc.c.
 */
#ifndef CLEAT_HW_I386_PAM_H
#define CLEAT_HW_I386_PAM_H

#include "system/memory.h"

#define PAM_REGS 7
#define PAM_AREAS 13
enum { PAM_READ = 1, PAM_WRITE = 2 };
enum { SMRAM_ENABLE = 8, SMRAM_LOCKED = 0x10, SMRAM_CLOSED = 0x20, SMRAM_OPEN = 0x40 };

typedef struct Pam {
    MemoryRegion empty;             /* a0000h..fffffh: hides RAM where the PCI side has nothing */
    MemoryRegion pci;               /* the PCI side of the same, above it */
    MemoryRegion ram[PAM_AREAS];    /* shown above it while readable */
    MemoryRegion smram_open;        /* a0000h..bffffh of RAM, shown to all while open */
    MemoryRegion smram;             /* the same in system management mode's memory, while enabled */
} Pam;

/* smm: what system management mode sees over system memory. */
void pam_init(Pam *pam, Object *owner, MemoryRegion *system, MemoryRegion *ram, MemoryRegion *pci, MemoryRegion *smm);
void pam_fini(Pam *pam);
/* Shows what the seven PAM registers and the SMRAM control register say. */
void pam_update(Pam *pam, const uint8_t regs[PAM_REGS], uint8_t smram);
/*
 * The control register after a write: once locked, only SMRAM_CLOSED can change until reset, and the window is shut.
 * True: it is locked.
 */
bool smram_control_written(uint8_t *smram, uint8_t *wmask);

#endif
