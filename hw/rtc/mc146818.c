/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MC146818 real-time clock and CMOS memory: Motorola data sheet ADI-856R2, as PCs have it.
 *
 * Time is not counted but computed from one of the host's clocks plus an offset; the registers are
 * filled in when read. Update-ended and alarm flags are judged for all seconds since the last look,
 * so that timers run only while their interrupts are enabled. Left out: daylight saving (DSE), the
 * square wave, the alarm date. Time lives in rtc-time.c. Machine lock.
 * Test: tests/unit/test-mc146818.c.
 */
#include "rtc-internal.h"

#include "system/machine.h"
#include "system/vmstate.h"

#define TICKS_OWED_MAX 20                   /* more lost ticks than that are given up */

/* ---- interrupts ---- */

static void rtc_update(Rtc *rtc)
{
    bool level = rtc->cmos[RTC_REG_C] & rtc->cmos[RTC_REG_B] & (RTC_C_UF | RTC_C_AF | RTC_C_PF);

    rtc->cmos[RTC_REG_C] = (rtc->cmos[RTC_REG_C] & 0x70) | (level ? RTC_C_IRQF : 0);
    irq_set(rtc->irq, level);
}

static bool rtc_alarm_between(const Rtc *rtc, int64_t from, int64_t to)
{
    int64_t alarm = rtc_next_alarm(rtc, from);

    return alarm >= 0 && alarm <= to;
}

/* Sets UF and AF for what happened since they were last judged. */
static void rtc_catch_up(Rtc *rtc)
{
    int64_t now_s = rtc_guest_time(rtc);

    if (rtc_is_stopped(rtc) || now_s == rtc->seen_s) {
        return;
    }
    if (now_s > rtc->seen_s) {
        rtc->cmos[RTC_REG_C] |= RTC_C_UF;
        if (rtc_alarm_between(rtc, rtc->seen_s, now_s)) {
            rtc->cmos[RTC_REG_C] |= RTC_C_AF;
        }
    }
    rtc->seen_s = now_s;                    /* the host's clock may also have been set back */
}

/* The second after which UF or AF is to interrupt; -1: none. */
static int64_t rtc_next_second(const Rtc *rtc)
{
    uint8_t b = rtc->cmos[RTC_REG_B];

    if (rtc_is_stopped(rtc) || !(b & (RTC_B_UIE | RTC_B_AIE))) {
        return -1;
    }
    return b & RTC_B_UIE ? rtc->seen_s + 1 : rtc_next_alarm(rtc, rtc->seen_s);
}

static void rtc_arm_second(Rtc *rtc)
{
    int64_t target = rtc_next_second(rtc);

    if (target < 0) {
        timer_del(&rtc->second_timer);
    } else {
        timer_mod(&rtc->second_timer, target * NS_PER_S - rtc->offset_ns);
    }
}

static void rtc_second(void *opaque)
{
    Rtc *rtc = opaque;

    rtc_catch_up(rtc);
    rtc_arm_second(rtc);
    rtc_update(rtc);
}

/* ---- periodic interrupt ---- */

/* Periods are whole ticks of 32768 Hz; 0: off. */
static int64_t rtc_period_ticks(const Rtc *rtc)
{
    unsigned rate = rtc->cmos[RTC_REG_A] & 0x0f;

    if (rate == 0 || rtc_divider_held(rtc)) {
        return 0;
    }
    return 1 << (rate <= 2 ? rate + 6 : rate - 1);
}

/* Counts the periods that have ended by now; the next end stays on the 32768 Hz grid. */
static int64_t rtc_periods_ended(Rtc *rtc)
{
    int64_t period = rtc_period_ticks(rtc);
    int64_t now = clock_ns(CLOCK_VIRTUAL), tick, ended;

    if (!period || now < rtc->periodic_next_ns) {
        return 0;
    }
    tick = rtc_ns_to_ticks(now);
    ended = (tick - rtc_ns_to_ticks(rtc->periodic_next_ns)) / period + 1;
    rtc->periodic_next_ns = rtc_ticks_to_ns((tick / period + 1) * period);
    return MAX(ended, 1);
}

static void rtc_arm_periodic(Rtc *rtc)
{
    if (rtc_period_ticks(rtc) && (rtc->cmos[RTC_REG_B] & RTC_B_PIE)) {
        timer_mod(&rtc->periodic_timer, rtc->periodic_next_ns);
    } else {
        timer_del(&rtc->periodic_timer);
        rtc->ticks_owed = 0;
    }
}

static void rtc_restart_periodic(Rtc *rtc)
{
    int64_t period = rtc_period_ticks(rtc);

    if (period) {
        rtc->periodic_next_ns =
            rtc_ticks_to_ns((rtc_ns_to_ticks(clock_ns(CLOCK_VIRTUAL)) / period + 1) * period);
    }
    rtc_arm_periodic(rtc);
}

static void rtc_periodic(void *opaque)
{
    Rtc *rtc = opaque;
    int64_t ended = rtc_periods_ended(rtc);

    if (rtc->lost_ticks == RTC_LOST_SLEW && ended) {
        ended -= !(rtc->cmos[RTC_REG_C] & RTC_C_PF);
        rtc->ticks_owed = MIN(rtc->ticks_owed + ended, TICKS_OWED_MAX);
    }
    rtc->cmos[RTC_REG_C] |= RTC_C_PF;
    rtc_arm_periodic(rtc);
    rtc_update(rtc);
}

/* ---- registers ---- */

static uint8_t rtc_read_c(Rtc *rtc)
{
    uint8_t c;

    rtc_catch_up(rtc);
    if (rtc_periods_ended(rtc)) {
        rtc->cmos[RTC_REG_C] |= RTC_C_PF;
        rtc_arm_periodic(rtc);
    }
    rtc_update(rtc);
    c = rtc->cmos[RTC_REG_C];
    rtc->cmos[RTC_REG_C] = 0;
    rtc_update(rtc);
    if (rtc->ticks_owed && (c & RTC_C_PF)) {
        rtc->ticks_owed--;
        rtc->cmos[RTC_REG_C] |= RTC_C_PF;
        rtc_update(rtc);
    }
    rtc_arm_second(rtc);
    return c;
}

static void rtc_write_a(Rtc *rtc, uint8_t value)
{
    bool was_held = rtc_divider_held(rtc);
    int64_t now = rtc_now_ns(rtc);

    rtc_catch_up(rtc);
    rtc->cmos[RTC_REG_A] = value & ~RTC_A_UIP;
    if (!was_held && rtc_divider_held(rtc)) {
        rtc_refresh_at(rtc, now);
        rtc->held_ns = now;
    } else if (was_held && !rtc_divider_held(rtc)) {
        rtc_resume(rtc);
    }
    rtc_restart_periodic(rtc);
    rtc_arm_second(rtc);
}

static void rtc_write_b(Rtc *rtc, uint8_t value)
{
    uint8_t old = rtc->cmos[RTC_REG_B];

    rtc_catch_up(rtc);
    if (!(old & RTC_B_SET) && (value & RTC_B_SET)) {
        rtc_refresh(rtc);
    }
    if (value & RTC_B_SET) {
        value &= ~RTC_B_UIE;
    }
    rtc->cmos[RTC_REG_B] = value;
    if ((old & RTC_B_SET) && !(value & RTC_B_SET)) {
        rtc_commit(rtc);
    }
    if ((old ^ value) & RTC_B_PIE) {
        rtc_restart_periodic(rtc);
    }
    rtc_arm_second(rtc);
    rtc_update(rtc);
}

static void rtc_write_time(Rtc *rtc, unsigned index, uint8_t value)
{
    rtc_catch_up(rtc);
    rtc_refresh(rtc);
    rtc->cmos[index] = value;
    if (!(rtc->cmos[RTC_REG_B] & RTC_B_SET)) {
        rtc_commit(rtc);
        rtc_arm_second(rtc);
    }
}

static void rtc_write_alarm(Rtc *rtc, unsigned index, uint8_t value)
{
    rtc_catch_up(rtc);
    rtc->cmos[index] = value;
    rtc_arm_second(rtc);
}

static void rtc_write_data(Rtc *rtc, uint8_t value)
{
    switch (rtc->index) {
    case RTC_SECONDS_ALARM:
    case RTC_MINUTES_ALARM:
    case RTC_HOURS_ALARM:
        rtc_write_alarm(rtc, rtc->index, value);
        break;
    case RTC_REG_A:
        rtc_write_a(rtc, value);
        break;
    case RTC_REG_B:
        rtc_write_b(rtc, value);
        break;
    case RTC_REG_C:
    case RTC_REG_D:
        break;                              /* read-only */
    default:
        if (rtc_is_time(rtc->index)) {
            rtc_write_time(rtc, rtc->index, value);
        } else {
            rtc->cmos[rtc->index] = value;
        }
    }
}

static uint8_t rtc_read_data(Rtc *rtc)
{
    if (rtc->index == RTC_REG_C) {
        return rtc_read_c(rtc);
    }
    return rtc_cmos_get(rtc, rtc->index);
}

uint8_t rtc_cmos_get(Rtc *rtc, unsigned addr)
{
    addr &= RTC_CMOS_SIZE - 1;
    if (rtc_is_time(addr)) {
        rtc_refresh(rtc);
    } else if (addr == RTC_REG_A) {
        return rtc->cmos[RTC_REG_A] | (rtc_update_in_progress(rtc) ? RTC_A_UIP : 0);
    }
    return rtc->cmos[addr];
}

void rtc_cmos_set(Rtc *rtc, unsigned addr, uint8_t value)
{
    rtc->cmos[addr & (RTC_CMOS_SIZE - 1)] = value;
}

static uint64_t rtc_read(void *opaque, hwaddr addr, unsigned size)
{
    return addr & 1 ? rtc_read_data(opaque) : 0xff;
}

static void rtc_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Rtc *rtc = opaque;

    if (addr & 1) {
        rtc_write_data(rtc, value);
        return;
    }
    rtc->index = value & 0x7f;              /* bit 7 would mask NMI */
    if (rtc->index == RTC_CENTURY_PS2) {
        rtc->index = RTC_CENTURY;
    }
}

static const MemoryRegionOps rtc_ops = {
    .read = rtc_read, .write = rtc_write, .impl = { .min = 1, .max = 1 },
};

/* ---- life ---- */

static void rtc_init(Object *obj)
{
    Rtc *rtc = (Rtc *)obj;

    timer_init(&rtc->periodic_timer, CLOCK_VIRTUAL, rtc_periodic, rtc);
    rtc->cmos[RTC_REG_A] = 0x26;            /* 32768 Hz time base, 1024 Hz periodic rate */
    rtc->cmos[RTC_REG_B] = RTC_B_24H;
    rtc->cmos[RTC_REG_D] = 0x80;            /* the battery is well */
}

static void rtc_unrealize(Object *obj)
{
    Rtc *rtc = (Rtc *)obj;

    timer_del(&rtc->periodic_timer);
    timer_del(&rtc->second_timer);
    isa_port_unmap(&rtc->io);
    isa_irq_put(&rtc->parent, rtc->irq == rtc->irq_override ? NULL : rtc->irq);
}

static bool rtc_connect(Rtc *rtc, Error **errp)
{
    rtc->irq = rtc->irq_override;
    return rtc->irq || isa_irq_get(&rtc->parent, rtc->isairq, &rtc->irq, errp);
}

static bool rtc_realize(Object *obj, Error **errp)
{
    Rtc *rtc = (Rtc *)obj;

    if (rtc->lost_ticks == RTC_LOST_DELAY) {
        error_set(errp, "mc146818rtc: lost_tick_policy 'delay' is not possible: "
                  "use 'discard' or 'slew'");
        return false;
    }
    rtc_start_clock(rtc, machine_current() ? &machine_current()->config : NULL);
    timer_init(&rtc->second_timer, rtc->clock, rtc_second, rtc);
    memory_region_init_io(&rtc->io, obj, &rtc_ops, rtc, "rtc", 2);
    if (!rtc_connect(rtc, errp) || !isa_port_map(&rtc->parent, &rtc->io, rtc->iobase, errp)) {
        rtc_unrealize(obj);
        return false;
    }
    return true;
}

static void rtc_reset(Object *obj)
{
    Rtc *rtc = (Rtc *)obj;

    rtc->cmos[RTC_REG_B] &= ~(RTC_B_PIE | RTC_B_AIE | RTC_B_UIE | RTC_B_SQWE);
    rtc->cmos[RTC_REG_C] = 0;
    rtc->index = 0;
    rtc_restart_periodic(rtc);
    rtc_arm_second(rtc);
    rtc_update(rtc);
}

static bool rtc_post_load(void *opaque, Error **errp)
{
    Rtc *rtc = opaque;

    if (rtc->index >= RTC_CMOS_SIZE || !rtc_ns_is_sane(rtc->held_ns) ||
        !rtc_offset_is_sane(rtc) || !rtc_ns_is_sane(rtc->periodic_next_ns) ||
        !rtc_ns_is_sane(rtc->seen_s)) {
        error_set(errp, "mc146818rtc: index or time are out of range");
        return false;
    }
    rtc->ticks_owed = MIN(rtc->ticks_owed, TICKS_OWED_MAX);
    rtc_arm_second(rtc);
    rtc_arm_periodic(rtc);
    rtc_update(rtc);
    return true;
}

static const VMField rtc_fields[] = {
    VM_FIELD(Rtc, index, VM_U8),
    VM_BUFFER(Rtc, cmos),
    VM_FIELD(Rtc, offset_ns, VM_I64),
    VM_FIELD(Rtc, start_offset_ns, VM_I64),
    VM_FIELD(Rtc, held_ns, VM_I64),
    VM_FIELD(Rtc, seen_s, VM_I64),
    VM_FIELD(Rtc, periodic_next_ns, VM_I64),
    VM_FIELD(Rtc, ticks_owed, VM_U32),
    VM_TIMER_FIELD(Rtc, periodic_timer),
    VM_TIMER_FIELD(Rtc, second_timer),
    VM_END
};
static const VMState rtc_vmstate = {
    .name = "mc146818rtc", .version = 1, .fields = rtc_fields, .post_load = rtc_post_load,
};

static const char *const rtc_lost_tick_names[] = { "discard", "delay", "slew", NULL };

static const Property rtc_props[] = {
    PROP_FIELD("base_year", PROP_I32, Rtc, base_year, 1980, "year register counts from it"),
    PROP_FIELD("iobase", PROP_U16, Rtc, iobase, 0x70, "index port; data is the next"),
    PROP_FIELD("irq", PROP_U8, Rtc, isairq, 8, "ISA interrupt"),
    { .name = "lost_tick_policy", .kind = PROP_ENUM, .offset = offsetof(Rtc, lost_ticks),
      .has_default = true, .enum_names = rtc_lost_tick_names, .type_name = "LostTickPolicy",
      .help = "what becomes of periodic interrupts that came too late" },
    PROP_END
};

static const Type rtc_type = {
    .name = "mc146818rtc",
    .parent = "isa-device",
    .desc = "real-time clock and CMOS memory",
    .category = "Misc devices",
    .user_creatable = true,
    .size = sizeof(Rtc),
    .props = rtc_props,
    .init = rtc_init,
    .realize = rtc_realize,
    .unrealize = rtc_unrealize,
    .reset = rtc_reset,
    .vmstate = &rtc_vmstate,
};
TYPE_REGISTER(rtc_type)
