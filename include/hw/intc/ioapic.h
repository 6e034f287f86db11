/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O APIC (82093AA register layout, version 20h with EOI register): 24 pins.
 *
 * Type "ioapic". A board maps ioapic->mmio at fec00000h, feeds ioapic->pins[n] (the PIT's request 0
 * goes to pin 2: the board's routing) and hands EOIs on with apic_eoi_hook_add(ioapic_eoi, ioapic).
 * Machine lock. Test: tests/unit/test-ioapic.c.
 */
#ifndef CLEAT_HW_INTC_IOAPIC_H
#define CLEAT_HW_INTC_IOAPIC_H

#include "hw/irq.h"
#include "system/memory.h"
#include "system/qdev.h"

#define IOAPIC_PINS 24
#define IOAPIC_SIZE 0x1000

typedef struct IoApic IoApic;
/* An I/O APIC that an accelerator has: bring its registers here, take them there. */
typedef struct IoApicKernel {
    void (*get)(IoApic *s);
    void (*put)(IoApic *s);
} IoApicKernel;

struct IoApic {
    Device parent;
    /* config */
    uint8_t version;                /* 11h or 20h */
    /* wiring */
    MemoryRegion mmio;
    IrqLine pins[IOAPIC_PINS];
    /* Where messages go; NULL: to the local APICs (apic_deliver). For tests and accelerators. */
    void (*deliver)(void *opaque, uint32_t dest, bool logical, uint8_t mode, uint8_t vector,
                    bool level);
    void *deliver_opaque;
    void (*changed)(void *ioapic);  /* the redirection table was written; NULL: nobody cares */
    const IoApicKernel *kernel;     /* NULL: the chip is here; else `registers` are a copy, and nothing is sent */
    /* registers */
    uint8_t select;                 /* IOREGSEL */
    uint8_t id;                     /* bits 3..0 */
    uint32_t level;                 /* input lines as they are now */
    uint32_t irr;                   /* requests not yet delivered */
    uint64_t redir[IOAPIC_PINS];    /* redirection table as the guest reads it */
};

/* An EOI for `vector` from a local APIC. */
void ioapic_eoi(void *ioapic, int vector);

#endif
