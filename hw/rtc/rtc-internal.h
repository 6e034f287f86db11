/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of the RTC share: registers (mc146818.c) and time (rtc-time.c). */
#ifndef CLEAT_HW_RTC_INTERNAL_H
#define CLEAT_HW_RTC_INTERNAL_H

#include "hw/rtc/mc146818.h"
#include "system/machine.h"

#define NS_PER_S 1000000000LL

enum { RTC_SECONDS = 0, RTC_SECONDS_ALARM = 1, RTC_MINUTES = 2, RTC_MINUTES_ALARM = 3, RTC_HOURS = 4,
       RTC_HOURS_ALARM = 5, RTC_WEEKDAY = 6, RTC_DAY = 7, RTC_MONTH = 8, RTC_YEAR = 9,
       RTC_REG_A = 10, RTC_REG_B = 11, RTC_REG_C = 12, RTC_REG_D = 13,
       RTC_CENTURY = 0x32, RTC_CENTURY_PS2 = 0x37 };
enum { RTC_A_UIP = 0x80 };
enum { RTC_B_24H = 0x02, RTC_B_BINARY = 0x04, RTC_B_SQWE = 0x08, RTC_B_UIE = 0x10, RTC_B_AIE = 0x20,
       RTC_B_PIE = 0x40, RTC_B_SET = 0x80 };
enum { RTC_C_UF = 0x10, RTC_C_AF = 0x20, RTC_C_PF = 0x40, RTC_C_IRQF = 0x80 };

/* Register A holds the divider in reset (DV = 11x): time stands still. */
static inline bool rtc_divider_held(const Rtc *rtc)
{
    return (rtc->cmos[RTC_REG_A] & 0x60) == 0x60;
}

/* No update cycles: no UF, no AF, registers keep their values. */
static inline bool rtc_is_stopped(const Rtc *rtc)
{
    return rtc_divider_held(rtc) || (rtc->cmos[RTC_REG_B] & RTC_B_SET);
}

bool rtc_is_time(unsigned addr);            /* does the register show time (not alarm)? */
int64_t rtc_now_ns(Rtc *rtc);               /* guest wall time */
bool rtc_ns_is_sane(int64_t ns);
bool rtc_offset_is_sane(const Rtc *rtc);
bool rtc_update_in_progress(Rtc *rtc);
/* Sets clock and offset from -rtc; config NULL: the host's UTC. */
void rtc_start_clock(Rtc *rtc, const MachineConfig *config);
/* Fills the time registers with the time now (unless stopped), or with a given time. */
void rtc_refresh(Rtc *rtc);
void rtc_refresh_at(Rtc *rtc, int64_t ns);
/* Makes the time registers' content the guest's time; tells monitors (RTC_CHANGE). */
void rtc_commit(Rtc *rtc);
/* The divider leaves reset: time goes on from where it was held. */
void rtc_resume(Rtc *rtc);
/* First second after `from` that the alarm registers match; -1: never. */
int64_t rtc_next_alarm(const Rtc *rtc, int64_t from);
int64_t rtc_ns_to_ticks(int64_t ns);        /* of 32768 Hz */
int64_t rtc_ticks_to_ns(int64_t ticks);     /* rounded up */

#endif
