/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host and south bridges of the PC boards (hw/i386/{i440fx,piix,q35,ich9}.c) give to the board's files.
 * Machine lock. Test: tests/unit/test-pc.c.
 */
#ifndef CLEAT_HW_I386_CHIPSET_H
#define CLEAT_HW_I386_CHIPSET_H

#include "hw/i386/pc.h"

#define PC_MAIN_PIRQS 4                 /* PIRQA..D; ICH9 adds E..H */

/* Creates the chip set's functions on pc->host's bus; fills pc->north, south, isa, pm. */
bool pc_create_i440fx(PcMachine *pc, Error **errp);
bool pc_create_q35(PcMachine *pc, Error **errp);
/* Interrupt line that firmware writes for a function's pin (0..3). */
uint8_t piix3_line_of(PcMachine *pc, PCIDevice *d, int pin);
uint8_t ich9_line_of(PcMachine *pc, PCIDevice *d, int pin);
/* For _PRT: the PIRQ (0..7) of a slot's pin. */
int piix3_pirq_of(int slot, int pin);
int ich9_pirq_of(int slot, int pin);
/* The ISA bus of a south bridge, its requests connected to GSI 0..15. */
IsaBus *pc_isa_bus_new(PcMachine *pc, Device *owner);

#endif
