/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pvpanic (kernel: include/uapi/misc/pvpanic.h): one byte by which a guest tells its end.
 * "pvpanic" has it at an ISA port, "pvpanic-pci" in a BAR. Machine lock.
 * Test: tests/unit/test-pc-ports.c.
 */
#ifndef CLEAT_HW_MISC_PVPANIC_H
#define CLEAT_HW_MISC_PVPANIC_H

#include "hw/isa/isa.h"

enum { PVPANIC_PANICKED = 1, PVPANIC_CRASHLOADED = 2, PVPANIC_SHUTDOWN = 4, PVPANIC_EVENTS = 7 };

typedef struct PvPanic {
    uint8_t events;                 /* config: PVPANIC_* that the guest may use */
    MemoryRegion io;                /* the byte; whoever embeds it maps it */
} PvPanic;

typedef struct PvPanicIsa {
    IsaDevice parent;
    uint16_t ioport;                /* config; boards publish it as fw_cfg etc/pvpanic-port */
    PvPanic pv;
} PvPanicIsa;

void pvpanic_init(PvPanic *pv, Object *owner, uint64_t size);

#endif
