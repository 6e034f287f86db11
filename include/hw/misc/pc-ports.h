/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small glue of a PC's chip set: port 92h, reset control at cf9h, delay ports, FERR# clear.
 *
 * Types "port92" (ISA device, outputs A20 and a reset) and "pc-ports" (80h, edh, f0h); ResetControl
 * is embedded by the south bridges. Machine lock. Test: tests/unit/test-pc-ports.c.
 */
#ifndef CLEAT_HW_MISC_PC_PORTS_H
#define CLEAT_HW_MISC_PC_PORTS_H

#include "hw/isa/isa.h"
#include "system/vmstate.h"

typedef struct Port92 {
    IsaDevice parent;
    MemoryRegion io;
    Irq a20;                        /* wiring: level 1 = A20 is not masked; NULL: nobody cares */
    uint8_t outport;                /* registers */
} Port92;

typedef struct PcPorts {
    IsaDevice parent;
    MemoryRegion io80, ioed, iof0;
    Irq ferr_clear;                 /* wiring: pulsed by a write to f0h (IGNNE#); may be NULL */
} PcPorts;

/*
 * The reset control register (PIIX3 "RCR", ICH9 "RST_CNT"): one byte at cf9h. Map rc->io there
 * with priority 1, over the PCI address register at cf8h..cfbh.
 */
#define RESET_CONTROL_PORT 0xcf9
typedef struct ResetControl {
    MemoryRegion io;
    uint8_t keep;                   /* config: bits that read back: 02h (PIIX3), 0ah (ICH9) */
    uint8_t value;                  /* registers */
} ResetControl;

void reset_control_init(ResetControl *rc, Object *owner, uint8_t keep);
void reset_control_fini(ResetControl *rc);
void reset_control_reset(ResetControl *rc);
extern const VMState reset_control_vmstate;

#endif
