/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 8254 programmable interval timer: Intel data sheet 231164-005.
 *
 * Counters are computed, not counted: each knows when it was loaded, everything else follows from
 * the virtual clock. Edges of counter 0 are due at load + n periods, rounded up once, so nothing
 * drifts. A count takes effect at once after a control word, at the period's end in modes 2 and 3.
 * Left out: the one-tick delay between write and load. Counter 1 (DRAM refresh) has no output.
 * Machine lock. Test: tests/unit/test-i8254.c.
 */
#include "hw/timer/i8254.h"

#include "system/vmstate.h"

enum { RW_LATCH = 0, RW_LSB = 1, RW_MSB = 2, RW_BOTH = 3 };
enum { READBACK = 3, READBACK_NO_COUNT = 0x20, READBACK_NO_STATUS = 0x10 };
#define PIT_CONTROL 3
#define NS_PER_S 1000000000LL
#define HELD_MAX (1LL << 50)                /* 30 years */

static int64_t ticks_to_ns(int64_t ticks)   /* rounded up: at that time the tick has happened */
{
    return (int64_t)(((__int128)ticks * NS_PER_S + PIT_HZ - 1) / PIT_HZ);
}

static int64_t ns_to_ticks(int64_t ns)
{
    return (int64_t)((__int128)ns * PIT_HZ / NS_PER_S);
}

/* ---- one counter, as a function of time ---- */

static bool counter_is_periodic(const PitCounter *c)
{
    return c->mode == 2 || c->mode == 3;
}

static bool counter_is_triggered(const PitCounter *c)
{
    return c->mode == 1 || c->mode == 5;
}

/* Takes over a count that was waiting for the period's end. */
static void counter_settle(PitCounter *c, int64_t now)
{
    if (c->next_count && now >= c->next_load_ns) {
        c->count = c->next_count;
        c->load_ns = c->next_load_ns;
        c->next_count = 0;
    }
}

static int64_t counter_ticks(const PitCounter *c, int64_t now)
{
    if (c->held_ticks >= 0) {
        return c->held_ticks;
    }
    return MAX(ns_to_ticks(now - c->load_ns), 0);
}

static bool counter_out(const PitCounter *c, int64_t now)
{
    int64_t t = counter_ticks(c, now);

    if (!c->armed) {
        return c->mode != 0;
    }
    switch (c->mode) {
    case 0:
    case 1:
        return t >= c->count;
    case 2:
        return !c->gate || t % c->count != c->count - 1;
    case 3:
        return !c->gate || t % c->count < (c->count + 1) / 2;
    default:
        return t != c->count;
    }
}

static uint16_t counter_encode(const PitCounter *c, int64_t value)
{
    unsigned v;

    if (!c->bcd) {
        return value & 0xffff;
    }
    v = ((value % 10000) + 10000) % 10000;
    return v / 1000 << 12 | v / 100 % 10 << 8 | v / 10 % 10 << 4 | v % 10;
}

static uint16_t counter_value(const PitCounter *c, int64_t now)
{
    int64_t t = counter_ticks(c, now);

    if (!c->armed) {
        return counter_encode(c, c->count);
    }
    switch (c->mode) {
    case 2: return counter_encode(c, c->count - t % c->count);
    case 3: return counter_encode(c, c->count - 2 * t % c->count);
    default: return counter_encode(c, c->count - t);
    }
}

/* Virtual time of the next rising edge of OUT after now; -1: none to come. */
static int64_t counter_next_rise(const PitCounter *c, int64_t now)
{
    int64_t t = counter_ticks(c, now);

    if (!c->armed || c->held_ticks >= 0) {
        return -1;
    }
    if (counter_is_periodic(c) && c->next_count) {
        return c->next_load_ns;
    }
    if (counter_is_periodic(c)) {
        return c->load_ns + ticks_to_ns((t / c->count + 1) * c->count);
    }
    if (c->mode >= 4) {
        return t <= c->count ? c->load_ns + ticks_to_ns(c->count + 1) : -1;
    }
    return t < c->count ? c->load_ns + ticks_to_ns(c->count) : -1;
}

static void counter_start(PitCounter *c, int64_t now)
{
    c->armed = true;
    c->next_count = 0;
    c->load_ns = now;
    c->held_ticks = c->gate || counter_is_triggered(c) ? -1 : 0;
}

static uint32_t counter_decode(const PitCounter *c, uint16_t raw)
{
    if (!c->bcd) {
        return raw ? raw : 0x10000;
    }
    raw = (raw >> 12) * 1000 + (raw >> 8 & 15) * 100 + (raw >> 4 & 15) * 10 + (raw & 15);
    return raw ? raw : 10000;
}

static void counter_load(PitCounter *c, uint16_t raw, int64_t now)
{
    uint32_t count = counter_decode(c, raw);

    c->has_count = true;
    if (counter_is_periodic(c) && c->armed && c->held_ticks < 0) {
        c->next_load_ns = counter_next_rise(c, now);
        c->next_count = count;
        return;
    }
    if (counter_is_triggered(c)) {          /* waits for the gate's edge; a running shot goes on */
        if (c->armed && counter_ticks(c, now) < c->count) {
            c->next_count = count;
            c->next_load_ns = INT64_MAX;
        } else {
            c->count = count;
            c->armed = false;
        }
        return;
    }
    c->count = count;
    counter_start(c, now);
}

/* ---- interrupt ---- */

static void pit_set_irq(Pit *pit, bool level)
{
    pit->irq_level = level;
    irq_set(pit->irq, level && pit->irq_enabled);
}

/*
 * Modes 0 and 1 show OUT as it is. In the others OUT is high but for short moments that only the
 * rising edge after them matters of: the timer makes a pulse there.
 */
static void pit_update(Pit *pit)
{
    PitCounter *c = &pit->counter[0];
    int64_t now = clock_ns(CLOCK_VIRTUAL);
    int64_t next = pit->irq_enabled ? counter_next_rise(c, now) : -1;

    pit_set_irq(pit, c->mode > 1 || counter_out(c, now));
    if (next >= 0) {
        timer_mod(&pit->timer, next);
    } else {
        timer_del(&pit->timer);
    }
}

static void pit_edge(void *opaque)
{
    Pit *pit = opaque;

    counter_settle(&pit->counter[0], clock_ns(CLOCK_VIRTUAL));
    if (pit->counter[0].mode > 1) {
        pit_set_irq(pit, false);
    }
    pit_update(pit);
}

static void pit_set_irq_enable(void *opaque, int n, int level)
{
    Pit *pit = opaque;

    pit->irq_enabled = level;
    pit_update(pit);
}

/* ---- gate and output for port 61h ---- */

void pit_set_gate(Pit *pit, int n, bool level)
{
    PitCounter *c = &pit->counter[n];
    int64_t now = clock_ns(CLOCK_VIRTUAL);

    counter_settle(c, now);
    if (c->gate == level) {
        return;
    }
    if (!level && !counter_is_triggered(c) && c->armed) {
        c->held_ticks = counter_ticks(c, now);
    }
    c->gate = level;
    if (!level) {
        return;
    }
    if (counter_is_triggered(c) ? c->has_count : counter_is_periodic(c) && c->armed) {
        c->count = c->next_count ? c->next_count : c->count;
        counter_start(c, now);
    } else if (c->held_ticks >= 0) {        /* modes 0 and 4 go on where they stopped */
        c->load_ns = now - ticks_to_ns(c->held_ticks);
        c->held_ticks = -1;
    }
}

bool pit_get_gate(const Pit *pit, int n)
{
    return pit->counter[n].gate;
}

bool pit_get_out(Pit *pit, int n)
{
    int64_t now = clock_ns(CLOCK_VIRTUAL);

    counter_settle(&pit->counter[n], now);
    return counter_out(&pit->counter[n], now);
}

/* ---- registers ---- */

static void counter_latch_count(PitCounter *c, int64_t now)
{
    if (!c->count_latched) {
        c->latch = counter_value(c, now);
        c->count_latched = true;
        c->latch_high_next = c->rw == RW_MSB;
    }
}

static void counter_latch_status(PitCounter *c, int64_t now)
{
    bool null_count = !c->has_count || c->next_count;

    if (!c->status_latched) {
        c->status_latch = counter_out(c, now) << 7 | null_count << 6 | c->rw << 4 | c->mode << 1 |
                          c->bcd;
        c->status_latched = true;
    }
}

static void counter_set_mode(PitCounter *c, uint8_t value)
{
    c->rw = value >> 4 & 3;
    c->mode = value >> 1 & 7;
    c->mode = c->mode > 5 ? c->mode - 4 : c->mode;      /* x10, x11 */
    c->bcd = value & 1;
    c->armed = c->has_count = false;
    c->next_count = 0;
    c->held_ticks = -1;
    c->write_high_next = c->read_high_next = c->rw == RW_MSB;
    c->count_latched = c->status_latched = false;
}

static void pit_readback(Pit *pit, uint8_t value, int64_t now)
{
    for (int n = 0; n < 3; n++) {
        if (!(value & 2 << n)) {
            continue;
        }
        if (!(value & READBACK_NO_COUNT)) {
            counter_latch_count(&pit->counter[n], now);
        }
        if (!(value & READBACK_NO_STATUS)) {
            counter_latch_status(&pit->counter[n], now);
        }
    }
}

static void pit_write_control(Pit *pit, uint8_t value, int64_t now)
{
    unsigned n = value >> 6;

    if (n == READBACK) {
        pit_readback(pit, value, now);
    } else if ((value >> 4 & 3) == RW_LATCH) {
        counter_latch_count(&pit->counter[n], now);
    } else {
        counter_set_mode(&pit->counter[n], value);
    }
}

static void counter_write(PitCounter *c, uint8_t value, int64_t now)
{
    if (c->rw != RW_BOTH) {
        counter_load(c, c->rw == RW_MSB ? value << 8 : value, now);
    } else if (!c->write_high_next) {
        c->write_low = value;
        c->write_high_next = true;
        if (c->mode == 0) {                 /* the first byte stops counting, OUT is low */
            c->armed = false;
        }
    } else {
        c->write_high_next = false;
        counter_load(c, value << 8 | c->write_low, now);
    }
}

static uint8_t counter_read(PitCounter *c, int64_t now)
{
    uint16_t value = c->count_latched ? c->latch : counter_value(c, now);
    bool *high = c->count_latched ? &c->latch_high_next : &c->read_high_next;
    uint8_t byte = *high ? value >> 8 : value;

    if (c->status_latched) {
        c->status_latched = false;
        return c->status_latch;
    }
    if (c->count_latched && (c->rw != RW_BOTH || *high)) {
        c->count_latched = false;
    }
    if (c->rw == RW_BOTH) {
        *high = !*high;
    }
    return byte;
}

static uint64_t pit_read(void *opaque, hwaddr addr, unsigned size)
{
    Pit *pit = opaque;
    int64_t now = clock_ns(CLOCK_VIRTUAL);

    if (addr == PIT_CONTROL) {
        return 0xff;                        /* no read cycle exists there */
    }
    counter_settle(&pit->counter[addr], now);
    return counter_read(&pit->counter[addr], now);
}

static void pit_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Pit *pit = opaque;
    int64_t now = clock_ns(CLOCK_VIRTUAL);

    for (int n = 0; n < 3; n++) {
        counter_settle(&pit->counter[n], now);
    }
    if (addr == PIT_CONTROL) {
        pit_write_control(pit, value, now);
    } else {
        counter_write(&pit->counter[addr], value, now);
    }
    if (addr == 0 || (addr == PIT_CONTROL && value < 0x40)) {
        pit_update(pit);
    }
}

static const MemoryRegionOps pit_ops = {
    .read = pit_read, .write = pit_write, .impl = { .min = 1, .max = 1 },
};

/* ---- life ---- */

static void pit_init(Object *obj)
{
    Pit *pit = (Pit *)obj;

    timer_init(&pit->timer, CLOCK_VIRTUAL, pit_edge, pit);
    pit->irq_enabled = true;
}

static void pit_unrealize(Object *obj)
{
    Pit *pit = (Pit *)obj;

    timer_del(&pit->timer);
    isa_port_unmap(&pit->io);
    isa_irq_put(&pit->parent, pit->irq);
}

static bool pit_realize(Object *obj, Error **errp)
{
    Pit *pit = (Pit *)obj;

    irq_init_array(&pit->irq_enable_in, 1, pit_set_irq_enable, pit);
    memory_region_init_io(&pit->io, obj, &pit_ops, pit, "pit", 4);
    if (!isa_irq_get(&pit->parent, 0, &pit->irq, errp) ||
        !isa_port_map(&pit->parent, &pit->io, pit->iobase, errp)) {
        pit_unrealize(obj);
        return false;
    }
    return true;
}

static void pit_reset(Object *obj)
{
    Pit *pit = (Pit *)obj;

    for (int n = 0; n < 3; n++) {
        pit->counter[n] = (PitCounter) {
            .count = 0x10000, .rw = RW_BOTH, .gate = n != 2, .held_ticks = -1,
        };
    }
    pit_update(pit);
}

static bool counter_is_sane(const PitCounter *c)
{
    return c->count >= 1 && c->count <= 0x10000 && c->next_count <= 0x10000 && c->mode <= 5 &&
           c->rw >= 1 && c->rw <= 3 && c->gate <= 1 && c->load_ns >= 0 && c->next_load_ns >= 0 &&
           c->held_ticks >= -1 && c->held_ticks <= HELD_MAX;
}

static bool pit_post_load(void *opaque, Error **errp)
{
    Pit *pit = opaque;

    for (int n = 0; n < 3; n++) {
        if (!counter_is_sane(&pit->counter[n])) {
            error_set(errp, "isa-pit: the state of counter %d is out of range", n);
            return false;
        }
    }
    pit_set_irq(pit, pit->counter[0].mode > 1 ||
                counter_out(&pit->counter[0], clock_ns(CLOCK_VIRTUAL)));
    return true;
}

static const VMField pit_counter_fields[] = {
    VM_FIELD(PitCounter, count, VM_U32),
    VM_FIELD(PitCounter, next_count, VM_U32),
    VM_FIELD(PitCounter, load_ns, VM_I64),
    VM_FIELD(PitCounter, next_load_ns, VM_I64),
    VM_FIELD(PitCounter, held_ticks, VM_I64),
    VM_FIELD(PitCounter, armed, VM_BOOL),
    VM_FIELD(PitCounter, has_count, VM_BOOL),
    VM_FIELD(PitCounter, mode, VM_U8),
    VM_FIELD(PitCounter, rw, VM_U8),
    VM_FIELD(PitCounter, gate, VM_U8),
    VM_FIELD(PitCounter, bcd, VM_BOOL),
    VM_FIELD(PitCounter, write_low, VM_U8),
    VM_FIELD(PitCounter, write_high_next, VM_BOOL),
    VM_FIELD(PitCounter, read_high_next, VM_BOOL),
    VM_FIELD(PitCounter, latch_high_next, VM_BOOL),
    VM_FIELD(PitCounter, count_latched, VM_BOOL),
    VM_FIELD(PitCounter, status_latched, VM_BOOL),
    VM_FIELD(PitCounter, latch, VM_U16),
    VM_FIELD(PitCounter, status_latch, VM_U8),
    VM_END
};
static const VMState pit_counter_vmstate = {
    .name = "pit-counter", .version = 1, .fields = pit_counter_fields,
};
static const VMField pit_fields[] = {
    VM_SUB_ARRAY(Pit, counter, pit_counter_vmstate),
    VM_FIELD(Pit, irq_enabled, VM_BOOL),
    VM_TIMER_FIELD(Pit, timer),
    VM_END
};
static const VMState pit_vmstate = {
    .name = "i8254", .version = 1, .fields = pit_fields, .post_load = pit_post_load,
};

static const Property pit_props[] = {
    PROP_FIELD("iobase", PROP_U32, Pit, iobase, 0x40, "first of its 4 ports"),
    PROP_END
};

static const Type pit_type = {
    .name = "isa-pit",
    .parent = "isa-device",
    .desc = "8254 interval timer",
    .size = sizeof(Pit),
    .props = pit_props,
    .init = pit_init,
    .realize = pit_realize,
    .unrealize = pit_unrealize,
    .reset = pit_reset,
    .vmstate = &pit_vmstate,
};
TYPE_REGISTER(pit_type)
