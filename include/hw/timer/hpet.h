/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The high precision event timer (IA-PC HPET 1.0a): a 64-bit counter at 100 MHz, 3..32 comparators.
 *
 * Type "hpet". A board maps hpet->mmio at fed00000h, fills hpet->irq[n] with its GSI inputs, leads
 * the RTC's interrupt into hpet->rtc_in, and hpet->pit_enable to the PIT's irq_enable_in.
 * Machine lock. Test: tests/unit/test-hpet.c.
 */
#ifndef CLEAT_HW_TIMER_HPET_H
#define CLEAT_HW_TIMER_HPET_H

#include "hw/irq.h"
#include "system/loop.h"
#include "system/memory.h"
#include "system/qdev.h"

#define HPET_SIZE 0x400
#define HPET_PERIOD_NS 10
#define HPET_MIN_TIMERS 3
#define HPET_MAX_TIMERS 32

typedef struct HpetTimer {
    struct Hpet *hpet;
    uint8_t index;
    Timer timer;
    /* registers */
    uint64_t config, cmp;
    uint64_t fsb;
    uint64_t period;                /* periodic mode: ticks added to cmp at each match */
} HpetTimer;

typedef struct Hpet {
    Device parent;
    /* config */
    uint8_t n_timers;
    bool msi, offset_saved;
    uint32_t intcap;                /* GSIs a timer may be routed to */
    /* wiring */
    MemoryRegion mmio;
    Irq irq[32];
    IrqLine rtc_in;
    Irq pit_enable;
    void (*send_msi)(uint64_t address, uint32_t data);
    /* registers */
    uint64_t config, isr;
    uint64_t counter;               /* halted: its value; running: its value at virtual time 0 */
    HpetTimer timer[HPET_MAX_TIMERS];
    bool rtc_level;
} Hpet;

#endif
