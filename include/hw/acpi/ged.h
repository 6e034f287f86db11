/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generic event device of hardware-reduced ACPI (ACPI 6.4 5.6.9) with sleep control, sleep status and reset
 * registers (4.8.3.7): how a board without fixed ACPI hardware is told to power off, and is switched off.
 *
 * Type "acpi-ged". A board maps ged->events (4 bytes: reads tell what happened, and clear it) and ged->regs (3 bytes),
 * connects ged->irq, and describes all three to the guest. Machine lock. Test: tests/unit/test-microvm.c.
 */
#ifndef CLEAT_HW_ACPI_GED_H
#define CLEAT_HW_ACPI_GED_H

#include "hw/irq.h"
#include "system/memory.h"

#define GED_EVENTS_SIZE 4
#define GED_REGS_SIZE 3
enum { GED_MEMORY_HOTPLUG = 1, GED_POWER_BUTTON = 2, GED_NVDIMM_HOTPLUG = 4 };  /* bits of ged-event, and of events */
enum { GED_SLEEP_CONTROL = 0, GED_SLEEP_STATUS = 1, GED_RESET = 2 };            /* offsets in regs */
#define GED_RESET_VALUE 0x42
#define GED_SLEEP_S5 5                  /* SLP_TYP that _S5 names */

typedef struct AcpiGed {
    Device parent;
    /* config */
    uint32_t event_mask;                /* which events the board described */
    /* wiring */
    MemoryRegion events, regs;
    Irq irq;                            /* pulsed at each event */
    /* registers */
    uint32_t pending;                   /* events since the last look */
} AcpiGed;

void acpi_ged_event(AcpiGed *s, uint32_t event);

#endif
