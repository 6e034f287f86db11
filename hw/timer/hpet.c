/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * High precision event timer: IA-PC HPET Specification 1.0a.
 *
 * The counter is virtual time in 10 ns ticks; a comparator arms one host timer for the moment at
 * which the counter will be equal to it (32-bit comparators wrap as on the chip). Accesses of 1..8
 * bytes are joined by dispatch into 4- and 8-byte ones. Periodic interrupts that come too late are
 * merged into one. Machine lock. Test: tests/unit/test-hpet.c.
 */
#include "hw/timer/hpet.h"

#include "system/vmstate.h"
#include "target/i386/apic.h"

enum { REG_CAP = 0x000, REG_CONFIG = 0x010, REG_ISR = 0x020, REG_COUNTER = 0x0f0,
       REG_TIMERS = 0x100, TIMER_STRIDE = 0x20 };
enum { T_CONFIG = 0x00, T_CMP = 0x08, T_FSB = 0x10 };
enum { CONFIG_ENABLE = 1, CONFIG_LEGACY = 2 };
#define CAP_LOW 0x8086a001u                 /* Intel, legacy routing, 64-bit counter, revision 1 */
#define FS_PER_NS 1000000
#define TC_LEVEL (1u << 1)
#define TC_ENABLE (1u << 2)
#define TC_PERIODIC (1u << 3)
#define TC_PERIODIC_CAP (1u << 4)
#define TC_64BIT_CAP (1u << 5)
#define TC_SET_VALUE (1u << 6)
#define TC_32BIT (1u << 8)
#define TC_ROUTE_SHIFT 9
#define TC_ROUTE (0x1fu << TC_ROUTE_SHIFT)
#define TC_FSB (1u << 14)
#define TC_FSB_CAP (1u << 15)
#define TC_WRITABLE \
    (TC_LEVEL | TC_ENABLE | TC_PERIODIC | TC_SET_VALUE | TC_32BIT | TC_ROUTE | TC_FSB)
#define LEGACY_PIT_GSI 0
#define LEGACY_RTC_GSI 8
#define TICKS_MAX (INT64_MAX / HPET_PERIOD_NS / 4)   /* 73 years: what lies beyond is not armed */

static bool hpet_enabled(const Hpet *s)
{
    return s->config & CONFIG_ENABLE;
}

static bool hpet_legacy(const Hpet *s)
{
    return s->config & CONFIG_LEGACY;
}

static uint64_t hpet_now(const Hpet *s)
{
    uint64_t ticks = clock_ns(CLOCK_VIRTUAL) / HPET_PERIOD_NS;

    return hpet_enabled(s) ? s->counter + ticks : s->counter;
}

/* ---- interrupts ---- */

static unsigned hpet_route(const HpetTimer *t)
{
    if (hpet_legacy(t->hpet) && t->index <= 1) {
        return t->index == 0 ? LEGACY_PIT_GSI : LEGACY_RTC_GSI;
    }
    return (t->config & TC_ROUTE) >> TC_ROUTE_SHIFT;
}

static bool hpet_uses_gsi(const HpetTimer *t, unsigned gsi)
{
    return !(t->config & TC_FSB) && (t->config & TC_ENABLE) && hpet_route(t) == gsi;
}

/* A level-triggered GSI is up while a timer that is routed to it has its status bit set. */
static void hpet_update_gsi(Hpet *s, unsigned gsi)
{
    bool level = false;

    for (int i = 0; i < s->n_timers; i++) {
        const HpetTimer *t = &s->timer[i];

        level |= hpet_enabled(s) && (t->config & TC_LEVEL) && hpet_uses_gsi(t, gsi) &&
                 (s->isr >> i & 1);
    }
    if (gsi == LEGACY_RTC_GSI && !hpet_legacy(s)) {
        level |= s->rtc_level;
    }
    irq_set(s->irq[gsi], level);
}

static void hpet_update_all(Hpet *s)
{
    irq_set(s->pit_enable, !hpet_legacy(s));
    for (unsigned gsi = 0; gsi < 32; gsi++) {
        if (s->irq[gsi]) {
            hpet_update_gsi(s, gsi);
        }
    }
}

static void hpet_set_rtc(void *opaque, int n, int level)
{
    Hpet *s = opaque;

    s->rtc_level = level;
    hpet_update_gsi(s, LEGACY_RTC_GSI);
}

static void hpet_interrupt(HpetTimer *t)
{
    Hpet *s = t->hpet;
    unsigned gsi = hpet_route(t);

    if (t->config & TC_LEVEL) {
        s->isr |= 1u << t->index;
    }
    if (!(t->config & TC_ENABLE)) {
        return;
    }
    if (t->config & TC_FSB) {
        s->send_msi(t->fsb >> 32, (uint32_t)t->fsb);
    } else if (t->config & TC_LEVEL) {
        hpet_update_gsi(s, gsi);
    } else {
        irq_pulse(s->irq[gsi]);
        hpet_update_gsi(s, gsi);
    }
}

/* ---- comparators ---- */

static uint64_t hpet_mask(const HpetTimer *t)
{
    return t->config & TC_32BIT ? UINT32_MAX : UINT64_MAX;
}

static void hpet_arm_at(HpetTimer *t, uint64_t now, uint64_t ticks)
{
    if (ticks > TICKS_MAX) {
        timer_del(&t->timer);
        return;
    }
    timer_mod(&t->timer, (int64_t)(now - t->hpet->counter + ticks) * HPET_PERIOD_NS);
}

/* Arms the host timer for the counter's next meeting with the comparator. */
static void hpet_arm(HpetTimer *t)
{
    uint64_t now = hpet_now(t->hpet);

    if (hpet_enabled(t->hpet)) {
        hpet_arm_at(t, now, (t->cmp - now) & hpet_mask(t));
    } else {
        timer_del(&t->timer);
    }
}

/* Periodic mode: the first multiple of the period that lies after now. */
static void hpet_advance(HpetTimer *t, uint64_t now)
{
    uint64_t mask = hpet_mask(t);
    uint64_t late = (now - t->cmp) & mask;
    uint64_t period = t->period & mask;

    t->cmp = (t->cmp + (late / period + 1) * period) & mask;
}

static void hpet_fire(void *opaque)
{
    HpetTimer *t = opaque;
    uint64_t now = hpet_now(t->hpet);

    if ((t->config & TC_PERIODIC) && (t->period & hpet_mask(t))) {
        hpet_advance(t, now);
        hpet_arm(t);
    } else if (t->config & TC_32BIT) {      /* meets again after the counter's low half wrapped */
        hpet_arm_at(t, now, ((t->cmp - now - 1) & UINT32_MAX) + 1);
    }
    hpet_interrupt(t);
}

/* ---- registers ---- */

static uint64_t hpet_merge(uint64_t old, uint64_t value, unsigned shift, unsigned size)
{
    uint64_t mask = (size == 8 ? UINT64_MAX : UINT32_MAX) << shift;

    return (old & ~mask) | (value << shift & mask);
}

static uint64_t hpet_timer_config(const HpetTimer *t)
{
    uint64_t cap = TC_PERIODIC_CAP | TC_64BIT_CAP | (t->hpet->msi ? TC_FSB_CAP : 0);

    return t->config | cap | (uint64_t)t->hpet->intcap << 32;
}

static uint64_t hpet_read_reg(const Hpet *s, hwaddr reg)
{
    const HpetTimer *t = &s->timer[MIN((reg - REG_TIMERS) / TIMER_STRIDE, HPET_MAX_TIMERS - 1)];

    switch (reg) {
    case REG_CAP:
        return CAP_LOW | (s->n_timers - 1) << 8 | (uint64_t)(HPET_PERIOD_NS * FS_PER_NS) << 32;
    case REG_CONFIG: return s->config;
    case REG_ISR: return s->isr;
    case REG_COUNTER: return hpet_now(s);
    }
    if (reg < REG_TIMERS || (reg - REG_TIMERS) / TIMER_STRIDE >= s->n_timers) {
        return 0;
    }
    switch (reg % TIMER_STRIDE) {
    case T_CONFIG: return hpet_timer_config(t);
    case T_CMP: return t->cmp;
    case T_FSB: return t->fsb;
    default: return 0;
    }
}

static uint64_t hpet_read(void *opaque, hwaddr addr, unsigned size)
{
    uint64_t value = hpet_read_reg(opaque, addr & ~(hwaddr)7);

    return size == 8 ? value : (uint32_t)(value >> (addr & 4) * 8);
}

static void hpet_write_config(Hpet *s, uint64_t value)
{
    uint64_t now = hpet_now(s);
    uint64_t ticks = clock_ns(CLOCK_VIRTUAL) / HPET_PERIOD_NS;

    s->config = value & (CONFIG_ENABLE | CONFIG_LEGACY);
    s->counter = hpet_enabled(s) ? now - ticks : now;
    for (int i = 0; i < s->n_timers; i++) {
        hpet_arm(&s->timer[i]);
    }
    hpet_update_all(s);
}

static void hpet_write_counter(Hpet *s, uint64_t value)
{
    uint64_t ticks = clock_ns(CLOCK_VIRTUAL) / HPET_PERIOD_NS;

    s->counter = hpet_enabled(s) ? value - ticks : value;
    for (int i = 0; i < s->n_timers; i++) {
        hpet_arm(&s->timer[i]);
    }
}

static void hpet_write_timer_config(HpetTimer *t, uint64_t value)
{
    Hpet *s = t->hpet;
    uint32_t writable = TC_WRITABLE & ~(s->msi ? 0 : TC_FSB);
    unsigned old_gsi = hpet_route(t);

    t->config = value & writable;
    if (t->config & TC_32BIT) {
        t->cmp = (uint32_t)t->cmp;
        t->period = (uint32_t)t->period;
    }
    if (!(t->config & TC_LEVEL)) {
        s->isr &= ~(1u << t->index);
    }
    hpet_arm(t);
    hpet_update_gsi(s, old_gsi);
    hpet_update_gsi(s, hpet_route(t));
}

/*
 * In periodic mode a write sets the period; with SET_VALUE before it, it sets the comparator
 * too (both from one write when software writes once, the period alone by a second write).
 */
static void hpet_write_cmp(HpetTimer *t, uint64_t value, unsigned shift, unsigned size)
{
    bool last = size == 8 || shift == 32 || (t->config & TC_32BIT);

    if ((t->config & TC_32BIT) && shift == 32) {
        return;
    }
    if (!(t->config & TC_PERIODIC) || (t->config & TC_SET_VALUE)) {
        t->cmp = hpet_merge(t->cmp, value, shift, size) & hpet_mask(t);
    }
    if (t->config & TC_PERIODIC) {
        t->period = hpet_merge(t->period, value, shift, size) & hpet_mask(t);
    }
    if (last) {
        t->config &= ~TC_SET_VALUE;
    }
    hpet_arm(t);
}

static void hpet_write_timer(HpetTimer *t, unsigned reg, uint64_t value, unsigned shift,
                             unsigned size)
{
    switch (reg) {
    case T_CONFIG:
        hpet_write_timer_config(t, hpet_merge(t->config, value, shift, size));
        break;
    case T_CMP:
        hpet_write_cmp(t, value, shift, size);
        break;
    case T_FSB:
        t->fsb = hpet_merge(t->fsb, value, shift, size);
        break;
    default:
        break;
    }
}

static void hpet_clear_isr(Hpet *s, uint64_t bits)
{
    s->isr &= ~bits;
    for (int i = 0; i < s->n_timers; i++) {
        if (bits >> i & 1) {
            hpet_update_gsi(s, hpet_route(&s->timer[i]));
        }
    }
}

static void hpet_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Hpet *s = opaque;
    unsigned shift = (addr & 4) * 8;
    hwaddr reg = addr & ~(hwaddr)7;
    unsigned n = (reg - REG_TIMERS) / TIMER_STRIDE;

    switch (reg) {
    case REG_CONFIG:
        hpet_write_config(s, hpet_merge(s->config, value, shift, size));
        break;
    case REG_ISR:
        hpet_clear_isr(s, value << shift);
        break;
    case REG_COUNTER:
        if (!hpet_enabled(s)) {             /* the specification allows it only while halted */
            hpet_write_counter(s, hpet_merge(hpet_now(s), value, shift, size));
        }
        break;
    default:
        if (reg >= REG_TIMERS && n < s->n_timers) {
            hpet_write_timer(&s->timer[n], reg % TIMER_STRIDE, value, shift, size);
        }
    }
}

static const MemoryRegionOps hpet_ops = {
    .read = hpet_read, .write = hpet_write,
    .valid = { .min = 4, .max = 8 }, .impl = { .min = 4, .max = 8 },
};

/* ---- life ---- */

static void hpet_init(Object *obj)
{
    Hpet *s = (Hpet *)obj;

    s->send_msi = apic_send_msi;
    for (int i = 0; i < HPET_MAX_TIMERS; i++) {
        s->timer[i].hpet = s;
        s->timer[i].index = i;
        timer_init(&s->timer[i].timer, CLOCK_VIRTUAL, hpet_fire, &s->timer[i]);
    }
    irq_init_array(&s->rtc_in, 1, hpet_set_rtc, s);
}

static bool hpet_realize(Object *obj, Error **errp)
{
    Hpet *s = (Hpet *)obj;

    if (s->n_timers < HPET_MIN_TIMERS || s->n_timers > HPET_MAX_TIMERS) {
        error_set(errp, "hpet: timers=%u is not possible: between %d and %d", s->n_timers,
                  HPET_MIN_TIMERS, HPET_MAX_TIMERS);
        return false;
    }
    if (s->intcap == 0) {
        error_set(errp, "hpet: hpet-intcap must name at least one interrupt");
        return false;
    }
    memory_region_init_io(&s->mmio, obj, &hpet_ops, s, "hpet", HPET_SIZE);
    return true;
}

static void hpet_unrealize(Object *obj)
{
    Hpet *s = (Hpet *)obj;

    for (int i = 0; i < HPET_MAX_TIMERS; i++) {
        timer_del(&s->timer[i].timer);
    }
    memory_region_fini(&s->mmio);
}

static void hpet_reset(Object *obj)
{
    Hpet *s = (Hpet *)obj;

    s->config = s->isr = s->counter = 0;
    for (int i = 0; i < s->n_timers; i++) {
        HpetTimer *t = &s->timer[i];

        timer_del(&t->timer);
        t->cmp = UINT64_MAX;
        t->config = t->fsb = t->period = 0;
    }
    hpet_update_all(s);
}

static bool hpet_post_load(void *opaque, Error **errp)
{
    Hpet *s = opaque;

    s->config &= CONFIG_ENABLE | CONFIG_LEGACY;
    for (int i = 0; i < HPET_MAX_TIMERS; i++) {
        s->timer[i].config &= TC_WRITABLE;
    }
    hpet_update_all(s);
    return true;
}

static const VMField hpet_timer_fields[] = {
    VM_FIELD(HpetTimer, config, VM_U64),
    VM_FIELD(HpetTimer, cmp, VM_U64),
    VM_FIELD(HpetTimer, fsb, VM_U64),
    VM_FIELD(HpetTimer, period, VM_U64),
    VM_TIMER_FIELD(HpetTimer, timer),
    VM_END
};
static const VMState hpet_timer_vmstate = {
    .name = "hpet-timer", .version = 1, .fields = hpet_timer_fields,
};
static const VMField hpet_fields[] = {
    VM_FIELD(Hpet, config, VM_U64),
    VM_FIELD(Hpet, isr, VM_U64),
    VM_FIELD(Hpet, counter, VM_U64),
    VM_SUB_ARRAY(Hpet, timer, hpet_timer_vmstate),
    VM_FIELD(Hpet, rtc_level, VM_BOOL),
    VM_END
};
static const VMState hpet_vmstate = {
    .name = "hpet", .version = 1, .fields = hpet_fields, .post_load = hpet_post_load,
};

static const Property hpet_props[] = {
    PROP_FIELD("timers", PROP_U8, Hpet, n_timers, HPET_MIN_TIMERS, "3..32 comparators"),
    { .name = "msi", .kind = PROP_BOOL, .offset = offsetof(Hpet, msi), .has_default = true,
      .help = "interrupts as messages (FSB) are possible" },
    PROP_FIELD("hpet-intcap", PROP_U32, Hpet, intcap, 0, "mask of GSIs that a timer may use"),
    PROP_FIELD("hpet-offset-saved", PROP_BOOL, Hpet, offset_saved, true,
               "the counter's offset is in the migrated state"),
    PROP_END
};

static const Type hpet_type = {
    .name = "hpet",
    .parent = "device",
    .desc = "high precision event timer",
    .size = sizeof(Hpet),
    .props = hpet_props,
    .init = hpet_init,
    .realize = hpet_realize,
    .unrealize = hpet_unrealize,
    .reset = hpet_reset,
    .vmstate = &hpet_vmstate,
};
TYPE_REGISTER(hpet_type)
