/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MC146818 real-time clock with 128 bytes of battery-backed memory ("CMOS"), ports 70h/71h.
 *
 * Type "mc146818rtc". Boards fill the memory with rtc_cmos_set before the guest runs; the content
 * survives resets. Its interrupt goes to ISA request 8, or to rtc->irq_override when a board sets
 * that before realize (the HPET's rtc_in). Machine lock. Test: tests/unit/test-mc146818.c.
 */
#ifndef CLEAT_HW_RTC_MC146818_H
#define CLEAT_HW_RTC_MC146818_H

#include "hw/isa/isa.h"
#include "system/loop.h"

#define RTC_CMOS_SIZE 128

typedef enum RtcLostTicks { RTC_LOST_DISCARD, RTC_LOST_DELAY, RTC_LOST_SLEW } RtcLostTicks;

typedef struct Rtc {
    IsaDevice parent;
    /* config */
    int32_t base_year;
    uint16_t iobase;
    uint8_t isairq;
    int lost_ticks;                 /* RtcLostTicks */
    /* wiring */
    MemoryRegion io;
    Irq irq, irq_override;
    ClockType clock;                /* of -rtc clock= */
    /* registers */
    uint8_t index;                  /* 0..127 */
    uint8_t cmos[RTC_CMOS_SIZE];    /* time registers are current only while SET or after reading */
    int64_t offset_ns;              /* guest wall time (ns since 1970) minus clock_ns(clock) */
    int64_t start_offset_ns;        /* the same at start: RTC_CHANGE tells the difference */
    int64_t held_ns;                /* divider held in reset: the guest time it stopped at */
    int64_t seen_s;                 /* guest second up to which UF and AF have been judged */
    int64_t periodic_next_ns;       /* virtual time of the next periodic tick */
    uint32_t ticks_owed;            /* slew: periodic interrupts not yet given */
    Timer periodic_timer, second_timer;
} Rtc;

uint8_t rtc_cmos_get(Rtc *rtc, unsigned addr);
void rtc_cmos_set(Rtc *rtc, unsigned addr, uint8_t value);
/* Guest wall time now, seconds since 1970. */
int64_t rtc_guest_time(Rtc *rtc);

#endif
