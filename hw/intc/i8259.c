/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 8259A interrupt controller: Intel data sheet 231468-003, with the ELCR of the PIIX/ICH chip sets.
 *
 * Modelled: ICW1-4, OCW1-3, fixed and rotating priority, specific and automatic EOI, polling,
 * special mask and special fully nested mode, level or edge by ELCR (or LTIM), spurious IRQ 7.
 * Left out: MCS-80 mode (treated as 8086 mode), buffered mode, cascades other than slave on 2.
 * Machine lock. Test: tests/unit/test-i8259.c.
 */
#include "hw/intc/i8259.h"

#include "system/vmstate.h"

enum { ICW1 = 0x10, ICW1_IC4 = 0x01, ICW1_SNGL = 0x02, ICW1_LTIM = 0x08 };
enum { ICW4_AEOI = 0x02, ICW4_SFNM = 0x10 };
enum { OCW3 = 0x08, OCW3_RR = 0x02, OCW3_RIS = 0x01, OCW3_POLL = 0x04, OCW3_ESMM = 0x40,
       OCW3_SMM = 0x20 };
#define CASCADE 2

/* The slave's INT is followed as a level, so that a second request behind the first is not lost. */
static bool i8259_is_level(const I8259 *s, int n)
{
    return s->ltim || (s->elcr >> n & 1) || (s->master && n == CASCADE);
}

/* Requests that are levels are up exactly while their lines are. */
static void i8259_follow_levels(I8259 *s)
{
    for (int n = 0; n < 8; n++) {
        if (i8259_is_level(s, n)) {
            s->irr = (s->irr & ~(1 << n)) | (s->level & 1 << n);
        }
    }
}

/* Distance of the most urgent request in mask from the top priority, 0..7; 8 when mask is empty. */
static int i8259_priority(const I8259 *s, uint8_t mask)
{
    for (int p = 0; p < 8; p++) {
        if (mask >> ((s->lowest + 1 + p) & 7) & 1) {
            return p;
        }
    }
    return 8;
}

static int i8259_request(const I8259 *s, int priority)
{
    return (s->lowest + 1 + priority) & 7;
}

/* The request to serve next, -1 for none: it must beat everything in service. */
static int i8259_next(const I8259 *s)
{
    uint8_t wanted = s->irr & ~s->imr;
    uint8_t serving = s->isr;
    int p = i8259_priority(s, wanted);

    if (s->special_mask) {
        serving &= ~s->imr;                 /* masked ones in service do not block others */
    }
    if (s->master && s->special_nested) {
        serving &= ~(1 << CASCADE);         /* the slave may interrupt itself */
    }
    return p < i8259_priority(s, serving) ? i8259_request(s, p) : -1;
}

bool i8259_output(const I8259 *s)
{
    return s->icw_step == 0 && i8259_next(s) >= 0;
}

static void i8259_pull(I8259 *s)
{
    if (s->kernel) {
        s->kernel->get(s);
    }
}

static void i8259_push(I8259 *s)
{
    if (s->kernel) {
        s->kernel->put(s);
    }
}

static void i8259_update(I8259 *s)
{
    bool out = i8259_output(s);

    if (out != s->int_out && !s->kernel) {
        s->int_out = out;
        irq_set(s->intr, out);
    }
}

static void i8259_set_pin(void *opaque, int n, int level)
{
    I8259 *s = opaque;
    uint8_t bit = 1 << n;
    bool rose = level && !(s->level & bit);

    s->level = level ? s->level | bit : s->level & ~bit;
    if (s->kernel) {
        return;                             /* the board tells the kernel itself */
    }
    if (!level && i8259_is_level(s, n)) {
        s->irr &= ~bit;                     /* an edge is latched, as in the chip sets' cores */
    } else if (level && (rose || i8259_is_level(s, n))) {
        s->irr |= bit;
    }
    i8259_update(s);
}

static void i8259_acknowledge(I8259 *s, int n)
{
    if (!i8259_is_level(s, n)) {
        s->irr &= ~(1 << n);
    }
    if (!s->auto_eoi) {
        s->isr |= 1 << n;
    } else if (s->rotate_on_aeoi) {
        s->lowest = n;
    }
    i8259_update(s);
}

/* INTA to one chip: its vector; with nothing to offer, the one of request 7 and no ISR bit. */
static int i8259_inta(I8259 *s)
{
    int n = i8259_next(s);

    if (n < 0) {
        return s->vector_base + 7;
    }
    i8259_acknowledge(s, n);
    return s->vector_base + n;
}

int i8259_ack(void *opaque)
{
    I8259Pair *pair = opaque;
    int n = i8259_next(pair->master);
    int vector = pair->master->vector_base + 7;

    if (n < 0) {
        return vector;
    }
    /* Slave first: its INT output drops, and the master must not take that for a lost request. */
    vector = n == CASCADE ? i8259_inta(pair->slave) : pair->master->vector_base + n;
    i8259_acknowledge(pair->master, n);
    return vector;
}

bool i8259_pending(const I8259Pair *pair)
{
    return pair->master->int_out;
}

/* ---- programming ---- */

static void i8259_start_init(I8259 *s, uint8_t icw1)
{
    s->irr = s->imr = s->isr = 0;
    s->lowest = 7;
    s->read_isr = s->poll = s->special_mask = false;
    s->auto_eoi = s->rotate_on_aeoi = s->special_nested = false;
    s->icw4_expected = icw1 & ICW1_IC4;
    s->single = icw1 & ICW1_SNGL;
    s->ltim = icw1 & ICW1_LTIM;
    i8259_follow_levels(s);                 /* edge sense is reset, levels show at once */
    s->icw_step = 2;
    i8259_update(s);
}

static void i8259_write_icw(I8259 *s, uint8_t value)
{
    switch (s->icw_step) {
    case 2:
        s->vector_base = value & 0xf8;
        s->icw_step = !s->single ? 3 : s->icw4_expected ? 4 : 0;
        break;
    case 3:                                 /* the wiring is fixed: the value changes nothing */
        s->icw_step = s->icw4_expected ? 4 : 0;
        break;
    default:
        s->auto_eoi = value & ICW4_AEOI;
        s->special_nested = value & ICW4_SFNM;
        s->icw_step = 0;
        break;
    }
    i8259_update(s);
}

static void i8259_end(I8259 *s, int n, bool rotate)
{
    s->isr &= ~(1 << n);
    if (rotate) {
        s->lowest = n;
    }
}

static void i8259_eoi_nonspecific(I8259 *s, bool rotate)
{
    uint8_t serving = s->special_mask ? s->isr & ~s->imr : s->isr;
    int p = i8259_priority(s, serving);

    if (p < 8) {
        i8259_end(s, i8259_request(s, p), rotate);
    }
}

/* OCW2: R, SL, EOI in bits 7..5, a request in bits 2..0. */
static void i8259_write_ocw2(I8259 *s, uint8_t value)
{
    int n = value & 7;

    switch (value >> 5) {
    case 0: s->rotate_on_aeoi = false; break;
    case 1: i8259_eoi_nonspecific(s, false); break;
    case 2: break;
    case 3: i8259_end(s, n, false); break;
    case 4: s->rotate_on_aeoi = true; break;
    case 5: i8259_eoi_nonspecific(s, true); break;
    case 6: s->lowest = n; break;
    case 7: i8259_end(s, n, true); break;
    }
    i8259_update(s);
}

static void i8259_write_ocw3(I8259 *s, uint8_t value)
{
    if (value & OCW3_RR) {
        s->read_isr = value & OCW3_RIS;
    }
    if (value & OCW3_ESMM) {
        s->special_mask = value & OCW3_SMM;
    }
    s->poll = value & OCW3_POLL;
    i8259_update(s);
}

static void i8259_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    I8259 *s = opaque;

    i8259_pull(s);
    if (addr == 1) {
        if (s->icw_step) {
            i8259_write_icw(s, value);
        } else {
            s->imr = value;
            i8259_update(s);
        }
    } else if (value & ICW1) {
        i8259_start_init(s, value);
    } else if (value & OCW3) {
        i8259_write_ocw3(s, value);
    } else {
        i8259_write_ocw2(s, value);
    }
    i8259_push(s);
}

/* The read after a poll command is an INTA: bit 7 and the request when there was one. */
static uint8_t i8259_read_poll(I8259 *s)
{
    int n = i8259_next(s);

    s->poll = false;
    if (n >= 0) {
        i8259_acknowledge(s, n);
    }
    i8259_push(s);
    return n < 0 ? 0 : 0x80 | n;
}

static uint64_t i8259_read(void *opaque, hwaddr addr, unsigned size)
{
    I8259 *s = opaque;

    i8259_pull(s);
    if (s->poll) {
        return i8259_read_poll(s);
    }
    if (addr == 1) {
        return s->imr;
    }
    return s->read_isr ? s->isr : s->irr;
}

static uint64_t i8259_elcr_read(void *opaque, hwaddr addr, unsigned size)
{
    i8259_pull(opaque);
    return ((I8259 *)opaque)->elcr;
}

static void i8259_elcr_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    I8259 *s = opaque;

    i8259_pull(s);
    s->elcr = value & s->elcr_mask;
    i8259_follow_levels(s);
    i8259_update(s);
    i8259_push(s);
}

static const MemoryRegionOps i8259_ops = {
    .read = i8259_read, .write = i8259_write, .impl = { .min = 1, .max = 1 },
};
static const MemoryRegionOps i8259_elcr_ops = {
    .read = i8259_elcr_read, .write = i8259_elcr_write, .impl = { .min = 1, .max = 1 },
};

/* ---- life ---- */

static void i8259_unrealize(Object *obj)
{
    I8259 *s = (I8259 *)obj;

    isa_port_unmap(&s->io);
    isa_port_unmap(&s->elcr_io);
}

static bool i8259_realize(Object *obj, Error **errp)
{
    I8259 *s = (I8259 *)obj;

    irq_init_array(s->pins, 8, i8259_set_pin, s);
    irq_pins_in((Device *)obj, NULL, s->pins, 8);
    memory_region_init_io(&s->io, obj, &i8259_ops, s, "pic", 2);
    memory_region_init_io(&s->elcr_io, obj, &i8259_elcr_ops, s, "elcr", 1);
    if (!isa_port_map(&s->parent, &s->io, s->iobase, errp) ||
        !isa_port_map(&s->parent, &s->elcr_io, s->elcr_addr, errp)) {
        i8259_unrealize(obj);
        return false;
    }
    return true;
}

static void i8259_reset(Object *obj)
{
    I8259 *s = (I8259 *)obj;

    s->elcr = 0;
    i8259_start_init(s, 0);
    s->vector_base = 0;
    s->icw_step = 0;
    i8259_update(s);
    i8259_push(s);
}

static void i8259_pre_save(void *opaque)
{
    i8259_pull(opaque);
}

/* The INTR output goes to the CPUs, which load their own state: only the derived copy is set. */
static bool i8259_post_load(void *opaque, Error **errp)
{
    I8259 *s = opaque;

    if (s->lowest > 7 || s->icw_step > 4) {
        error_set(errp, "isa-i8259: lowest priority %u or ICW step %u is out of range", s->lowest,
                  s->icw_step);
        return false;
    }
    s->vector_base &= 0xf8;
    s->int_out = i8259_output(s);
    i8259_push(s);
    if (!s->kernel) {
        irq_set(s->intr, s->int_out);
    }
    return true;
}

static const VMField i8259_fields[] = {
    VM_FIELD(I8259, level, VM_U8),
    VM_FIELD(I8259, irr, VM_U8),
    VM_FIELD(I8259, imr, VM_U8),
    VM_FIELD(I8259, isr, VM_U8),
    VM_FIELD(I8259, elcr, VM_U8),
    VM_FIELD(I8259, icw_step, VM_U8),
    VM_FIELD(I8259, icw4_expected, VM_BOOL),
    VM_FIELD(I8259, single, VM_BOOL),
    VM_FIELD(I8259, ltim, VM_BOOL),
    VM_FIELD(I8259, vector_base, VM_U8),
    VM_FIELD(I8259, lowest, VM_U8),
    VM_FIELD(I8259, read_isr, VM_BOOL),
    VM_FIELD(I8259, poll, VM_BOOL),
    VM_FIELD(I8259, special_mask, VM_BOOL),
    VM_FIELD(I8259, auto_eoi, VM_BOOL),
    VM_FIELD(I8259, rotate_on_aeoi, VM_BOOL),
    VM_FIELD(I8259, special_nested, VM_BOOL),
    VM_END
};
static const VMState i8259_vmstate = {
    .name = "i8259", .version = 1, .fields = i8259_fields, .pre_save = i8259_pre_save, .post_load = i8259_post_load,
};

static const Property i8259_props[] = {
    PROP_FIELD("iobase", PROP_U32, I8259, iobase, UINT32_MAX, "command port"),
    PROP_FIELD("elcr_addr", PROP_U32, I8259, elcr_addr, UINT32_MAX, "edge/level control port"),
    PROP_FIELD("elcr_mask", PROP_U8, I8259, elcr_mask, 0xff, "requests that may be level"),
    PROP_FIELD("master", PROP_BOOL, I8259, master, false, "the chip whose INT goes to the CPU"),
    PROP_END
};

static const Type i8259_type = {
    .name = "isa-i8259",
    .parent = "isa-device",
    .desc = "8259A interrupt controller",
    .size = sizeof(I8259),
    .props = i8259_props,
    .realize = i8259_realize,
    .unrealize = i8259_unrealize,
    .reset = i8259_reset,
    .vmstate = &i8259_vmstate,
};
TYPE_REGISTER(i8259_type)

/* ---- the pair ---- */

static I8259 *i8259_new(IsaBus *bus, bool master, Irq intr, const I8259Kernel *kernel, Error **errp)
{
    Device *dev = device_new("isa-i8259");
    I8259 *s = (I8259 *)dev;

    s->iobase = master ? 0x20 : 0xa0;
    s->elcr_addr = master ? 0x4d0 : 0x4d1;
    s->elcr_mask = master ? 0xf8 : 0xde;    /* 0, 1, 2, 8 and 13 are the chip set's own: edge */
    s->master = master;
    s->intr = intr;
    s->kernel = kernel;
    return device_plug(dev, &bus->bus, errp) ? s : NULL;
}

static void i8259_pair_set(void *opaque, int n, int level)
{
    I8259Pair *pair = opaque;

    if (n >= 8) {
        irq_set(&pair->slave->pins[n - 8], level);
    } else if (n != CASCADE) {
        irq_set(&pair->master->pins[n], level);
    }
}

bool i8259_pair_init(I8259Pair *pair, IsaBus *bus, Irq intr, Error **errp)
{
    irq_init_array(pair->pins, 16, i8259_pair_set, pair);
    pair->master = i8259_new(bus, true, intr, pair->kernel, errp);
    if (!pair->master) {
        return false;
    }
    pair->slave = i8259_new(bus, false, &pair->master->pins[CASCADE], pair->kernel, errp);
    pair->master->slave = pair->slave;
    return pair->slave != NULL;
}
