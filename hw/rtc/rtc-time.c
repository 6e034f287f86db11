/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RTC's time: from a clock of the host to the registers' formats (BCD or binary, 12 or 24
 * hours, year and century) and back, alarms and the update cycle.
 * Machine lock. Test: tests/unit/test-mc146818.c.
 */
#include "rtc-internal.h"

#include <inttypes.h>
#include <time.h>

#include "system/runstate.h"

#define UIP_LEAD_NS 244000                  /* UIP is set that long before the registers change */
#define TIME_MAX_S 9000000000LL             /* year 2255: in ns it still fits 63 bits */
#define DAY_S 86400

bool rtc_is_time(unsigned addr)
{
    return addr == RTC_SECONDS || addr == RTC_MINUTES || addr == RTC_HOURS ||
           (addr >= RTC_WEEKDAY && addr <= RTC_YEAR) || addr == RTC_CENTURY;
}

int64_t rtc_now_ns(Rtc *rtc)
{
    return rtc_divider_held(rtc) ? rtc->held_ns : clock_ns(rtc->clock) + rtc->offset_ns;
}

bool rtc_ns_is_sane(int64_t ns)
{
    return ns >= 0 && ns <= TIME_MAX_S * NS_PER_S;
}

bool rtc_offset_is_sane(const Rtc *rtc)
{
    int64_t now;

    return !__builtin_add_overflow(clock_ns(rtc->clock), rtc->offset_ns, &now) &&
           rtc_ns_is_sane(now);
}

int64_t rtc_guest_time(Rtc *rtc)
{
    return MAX(rtc_now_ns(rtc), 0) / NS_PER_S;
}

bool rtc_update_in_progress(Rtc *rtc)
{
    return !rtc_is_stopped(rtc) && rtc_now_ns(rtc) % NS_PER_S >= NS_PER_S - UIP_LEAD_NS;
}

int64_t rtc_ns_to_ticks(int64_t ns)
{
    return (int64_t)((__int128)ns * 32768 / NS_PER_S);
}

int64_t rtc_ticks_to_ns(int64_t ticks)
{
    return (int64_t)(((__int128)ticks * NS_PER_S + 32767) / 32768);
}

/* ---- formats ---- */

static uint8_t rtc_encode(const Rtc *rtc, int value)
{
    return rtc->cmos[RTC_REG_B] & RTC_B_BINARY ? value : value / 10 << 4 | value % 10;
}

static int rtc_decode(const Rtc *rtc, uint8_t raw)
{
    return rtc->cmos[RTC_REG_B] & RTC_B_BINARY ? raw : (raw >> 4) * 10 + (raw & 15);
}

static uint8_t rtc_encode_hour(const Rtc *rtc, int hour)
{
    if (rtc->cmos[RTC_REG_B] & RTC_B_24H) {
        return rtc_encode(rtc, hour);
    }
    return rtc_encode(rtc, hour % 12 ? hour % 12 : 12) | (hour >= 12 ? 0x80 : 0);
}

static int rtc_decode_hour(const Rtc *rtc, uint8_t raw)
{
    if (rtc->cmos[RTC_REG_B] & RTC_B_24H) {
        return rtc_decode(rtc, raw);
    }
    return rtc_decode(rtc, raw & 0x7f) % 12 + (raw & 0x80 ? 12 : 0);
}

/* The century register tells hundreds of years where the year register counts from one. */
static int rtc_decode_year(const Rtc *rtc)
{
    int year = rtc_decode(rtc, rtc->cmos[RTC_YEAR]);

    if (rtc->base_year % 100) {
        return rtc->base_year + year;
    }
    return rtc_decode(rtc, rtc->cmos[RTC_CENTURY]) * 100 + year;
}

void rtc_refresh_at(Rtc *rtc, int64_t ns)
{
    time_t t = ns / NS_PER_S;
    struct tm tm;
    int64_t year;

    if (!gmtime_r(&t, &tm)) {
        return;
    }
    year = tm.tm_year + 1900;
    rtc->cmos[RTC_SECONDS] = rtc_encode(rtc, tm.tm_sec);
    rtc->cmos[RTC_MINUTES] = rtc_encode(rtc, tm.tm_min);
    rtc->cmos[RTC_HOURS] = rtc_encode_hour(rtc, tm.tm_hour);
    rtc->cmos[RTC_WEEKDAY] = rtc_encode(rtc, tm.tm_wday + 1);
    rtc->cmos[RTC_DAY] = rtc_encode(rtc, tm.tm_mday);
    rtc->cmos[RTC_MONTH] = rtc_encode(rtc, tm.tm_mon + 1);
    rtc->cmos[RTC_YEAR] = rtc_encode(rtc, ((year - rtc->base_year) % 100 + 100) % 100);
    rtc->cmos[RTC_CENTURY] = rtc_encode(rtc, year / 100);
}

void rtc_refresh(Rtc *rtc)
{
    if (!rtc_is_stopped(rtc)) {
        rtc_refresh_at(rtc, rtc_now_ns(rtc));
    }
}

static int64_t rtc_decode_time(const Rtc *rtc)
{
    struct tm tm = {
        .tm_sec = rtc_decode(rtc, rtc->cmos[RTC_SECONDS]),
        .tm_min = rtc_decode(rtc, rtc->cmos[RTC_MINUTES]),
        .tm_hour = rtc_decode_hour(rtc, rtc->cmos[RTC_HOURS]),
        .tm_mday = rtc_decode(rtc, rtc->cmos[RTC_DAY]),
        .tm_mon = rtc_decode(rtc, rtc->cmos[RTC_MONTH]) - 1,
        .tm_year = CLAMP(rtc_decode_year(rtc), 1970, 2300) - 1900,
    };

    return CLAMP((int64_t)timegm(&tm), 0, TIME_MAX_S);
}

/* ---- setting ---- */

static void rtc_tell_change(Rtc *rtc)
{
    int64_t change_s = ((__int128)rtc->offset_ns - rtc->start_offset_ns) / NS_PER_S;
    g_autofree char *path = object_path((Object *)rtc);
    g_autofree char *json =
        g_strdup_printf("{\"offset\": %" PRId64 ", \"qom-path\": \"%s\"}",
                        change_s, path ? path : "");

    run_event_emit("RTC_CHANGE", json);
}

void rtc_commit(Rtc *rtc)
{
    int64_t now = clock_ns(rtc->clock);
    int64_t fraction = rtc_now_ns(rtc) % NS_PER_S;

    if (rtc_divider_held(rtc)) {
        fraction = NS_PER_S / 2;            /* the first update comes half a second after release */
        rtc->held_ns = rtc_decode_time(rtc) * NS_PER_S + fraction;
    }
    rtc->offset_ns = rtc_decode_time(rtc) * NS_PER_S + fraction - now;
    rtc->seen_s = rtc_guest_time(rtc);
    rtc_tell_change(rtc);
}

void rtc_resume(Rtc *rtc)
{
    rtc->offset_ns = rtc->held_ns - clock_ns(rtc->clock);
    rtc->seen_s = rtc->held_ns / NS_PER_S;
}

static int64_t rtc_start_time(const MachineConfig *config)
{
    int64_t host = clock_ns(CLOCK_HOST);
    time_t t = host / NS_PER_S;
    struct tm tm;

    if (config && config->rtc_base_date) {
        return CLAMP(config->rtc_base_epoch_s, 0, TIME_MAX_S) * NS_PER_S;
    }
    if (config && !config->rtc_utc && localtime_r(&t, &tm)) {
        host += tm.tm_gmtoff * NS_PER_S;
    }
    return host;
}

void rtc_start_clock(Rtc *rtc, const MachineConfig *config)
{
    rtc->clock = config ? config->rtc_clock : CLOCK_HOST;
    if (config && config->rtc_driftfix_slew) {
        rtc->lost_ticks = RTC_LOST_SLEW;
    }
    rtc->offset_ns = rtc_start_time(config) - clock_ns(rtc->clock);
    rtc->start_offset_ns = rtc->offset_ns;
    rtc->seen_s = rtc_guest_time(rtc);
}

/* ---- alarm ---- */

static bool rtc_alarm_matches(const Rtc *rtc, unsigned reg, int value)
{
    uint8_t raw = rtc->cmos[reg];

    if ((raw & 0xc0) == 0xc0) {             /* "don't care" */
        return true;
    }
    return value == (reg == RTC_HOURS_ALARM ? rtc_decode_hour(rtc, raw) : rtc_decode(rtc, raw));
}

/* Jumps over whole hours and minutes that do not match; what no day's second matches never does. */
int64_t rtc_next_alarm(const Rtc *rtc, int64_t from)
{
    int64_t t = from + 1;

    while (t <= from + DAY_S) {
        if (!rtc_alarm_matches(rtc, RTC_HOURS_ALARM, t / 3600 % 24)) {
            t = (t / 3600 + 1) * 3600;
        } else if (!rtc_alarm_matches(rtc, RTC_MINUTES_ALARM, t / 60 % 60)) {
            t = (t / 60 + 1) * 60;
        } else if (!rtc_alarm_matches(rtc, RTC_SECONDS_ALARM, t % 60)) {
            t++;
        } else {
            return t;
        }
    }
    return -1;
}
