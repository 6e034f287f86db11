/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * I/O APIC: Intel 82093AA data sheet 290566, with the EOI register of version 20h (ICH9 13.5).
 *
 * An edge on a masked pin is ignored and a level stays until its source drops it, as the data sheet
 * says. A level-triggered entry waits (remote IRR) for an EOI that names its vector. Polarity is
 * the board's business: pins are active high here. Left out: the arbitration ID (no APIC bus).
 * Machine lock. Test: tests/unit/test-ioapic.c.
 */
#include "hw/intc/ioapic.h"

#include "system/vmstate.h"
#include "target/i386/apic.h"

enum { IOREGSEL = 0x00, IOWIN = 0x10, IOEOI = 0x40 };
enum { REG_ID = 0, REG_VERSION = 1, REG_ARB = 2, REG_REDIR = 0x10 };
#define REDIR_LOGICAL (1u << 11)
#define REDIR_PENDING (1u << 12)            /* delivery status: nothing waits here, reads 0 */
#define REDIR_REMOTE_IRR (1u << 14)
#define REDIR_LEVEL (1u << 15)
#define REDIR_MASKED (1u << 16)
#define REDIR_LOW_WRITABLE (0x1ffffu & ~(REDIR_PENDING | REDIR_REMOTE_IRR))
#define REDIR_HIGH_WRITABLE 0xff000000u

static void ioapic_send(IoApic *s, int pin)
{
    uint64_t e = s->redir[pin];
    void (*deliver)(void *, uint32_t, bool, uint8_t, uint8_t, bool) = s->deliver;

    if (deliver) {
        deliver(s->deliver_opaque, e >> 56, e & REDIR_LOGICAL, e >> 8 & 7, e, e & REDIR_LEVEL);
    } else {
        apic_deliver(e >> 56, e & REDIR_LOGICAL, e >> 8 & 7, e, e & REDIR_LEVEL);
    }
}

static void ioapic_pull(IoApic *s)
{
    if (s->kernel) {
        s->kernel->get(s);
    }
}

static void ioapic_push(IoApic *s)
{
    if (s->kernel) {
        s->kernel->put(s);
    }
}

/* Sends what pin n may send now: the one place where requests turn into messages. */
static void ioapic_update(IoApic *s, int n)
{
    uint32_t bit = 1u << n;
    uint64_t *e = &s->redir[n];

    if (s->kernel || !(s->irr & bit) || (*e & REDIR_MASKED)) {
        return;
    }
    if (*e & REDIR_LEVEL) {
        if (*e & REDIR_REMOTE_IRR) {
            return;
        }
        *e |= REDIR_REMOTE_IRR;
    } else {
        s->irr &= ~bit;
    }
    ioapic_send(s, n);
}

static void ioapic_set_pin(void *opaque, int n, int level)
{
    IoApic *s = opaque;
    uint32_t bit = 1u << n;
    bool rose = level && !(s->level & bit);
    bool level_triggered = s->redir[n] & REDIR_LEVEL;

    s->level = level ? s->level | bit : s->level & ~bit;
    if (s->kernel) {
        return;                             /* the board tells the kernel itself */
    }
    if (!level) {
        s->irr &= ~bit;
    } else if (level_triggered || (rose && !(s->redir[n] & REDIR_MASKED))) {
        s->irr |= bit;
    }
    ioapic_update(s, n);
}

void ioapic_eoi(void *opaque, int vector)
{
    IoApic *s = opaque;

    for (int n = 0; n < IOAPIC_PINS; n++) {
        uint64_t *e = &s->redir[n];

        if ((*e & 0xff) == vector && (*e & REDIR_LEVEL) && (*e & REDIR_REMOTE_IRR)) {
            *e &= ~(uint64_t)REDIR_REMOTE_IRR;
            ioapic_update(s, n);
        }
    }
}

/* ---- registers ---- */

static uint32_t ioapic_read_register(const IoApic *s)
{
    unsigned n = (s->select - REG_REDIR) >> 1;

    switch (s->select) {
    case REG_ID:
    case REG_ARB:
        return (uint32_t)s->id << 24;
    case REG_VERSION:
        return s->version | (IOAPIC_PINS - 1) << 16;
    }
    if (s->select < REG_REDIR || n >= IOAPIC_PINS) {
        return 0;
    }
    return s->redir[n] >> (s->select & 1 ? 32 : 0);
}

static void ioapic_write_redir(IoApic *s, unsigned n, bool high, uint32_t value)
{
    uint64_t *e = &s->redir[n];
    bool was_level = *e & REDIR_LEVEL;

    if (high) {
        *e = (uint32_t)*e | (uint64_t)(value & REDIR_HIGH_WRITABLE) << 32;
        return;
    }
    *e = (*e & ~(uint64_t)REDIR_LOW_WRITABLE) | (value & REDIR_LOW_WRITABLE);
    if (!(*e & REDIR_LEVEL)) {              /* how remote IRR is cleared without an EOI */
        *e &= ~(uint64_t)REDIR_REMOTE_IRR;
        s->irr &= was_level ? ~(1u << n) : ~0u;
    } else if (s->level & 1u << n) {
        s->irr |= 1u << n;
    }
    ioapic_update(s, n);
}

static void ioapic_write_register(IoApic *s, uint32_t value)
{
    unsigned n = (s->select - REG_REDIR) >> 1;

    if (s->select == REG_ID) {
        s->id = value >> 24 & 0x0f;
    } else if (s->select >= REG_REDIR && n < IOAPIC_PINS) {
        ioapic_write_redir(s, n, s->select & 1, value);
        if (s->changed) {
            s->changed(s);
        }
    }
}

static uint64_t ioapic_read(void *opaque, hwaddr addr, unsigned size)
{
    IoApic *s = opaque;

    ioapic_pull(s);
    switch (addr) {
    case IOREGSEL: return s->select;
    case IOWIN: return size == 4 ? ioapic_read_register(s) : 0;
    default: return 0;
    }
}

static void ioapic_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    IoApic *s = opaque;

    ioapic_pull(s);
    switch (addr) {
    case IOREGSEL:
        s->select = value;
        break;
    case IOWIN:
        if (size == 4) {
            ioapic_write_register(s, value);
        }
        break;
    case IOEOI:
        if (size == 4 && s->version >= 0x20) {
            ioapic_eoi(s, value & 0xff);
        }
        break;
    default:
        break;
    }
    ioapic_push(s);
}

static const MemoryRegionOps ioapic_ops = {
    .read = ioapic_read, .write = ioapic_write,
    .valid = { .min = 1, .max = 8 }, .impl = { .min = 1, .max = 4 },
};

/* ---- life ---- */

static bool ioapic_realize(Object *obj, Error **errp)
{
    IoApic *s = (IoApic *)obj;

    if (s->version != 0x11 && s->version != 0x20) {
        error_set(errp, "ioapic: version 0x%x is not known: use 0x11 or 0x20", s->version);
        return false;
    }
    irq_init_array(s->pins, IOAPIC_PINS, ioapic_set_pin, s);
    irq_pins_in(&s->parent, NULL, s->pins, IOAPIC_PINS);
    memory_region_init_io(&s->mmio, obj, &ioapic_ops, s, "ioapic", IOAPIC_SIZE);
    return true;
}

static void ioapic_reset(Object *obj)
{
    IoApic *s = (IoApic *)obj;

    s->select = s->id = 0;
    s->irr = 0;
    for (int n = 0; n < IOAPIC_PINS; n++) {
        s->redir[n] = REDIR_MASKED;
    }
    ioapic_push(s);
}

static void ioapic_pre_save(void *opaque)
{
    ioapic_pull(opaque);
}

static bool ioapic_post_load(void *opaque, Error **errp)
{
    IoApic *s = opaque;

    s->id &= 0x0f;
    for (int n = 0; n < IOAPIC_PINS; n++) {
        s->redir[n] &= (uint64_t)REDIR_HIGH_WRITABLE << 32 | REDIR_LOW_WRITABLE | REDIR_REMOTE_IRR;
        ioapic_update(s, n);
    }
    ioapic_push(s);
    if (s->changed) {
        s->changed(s);
    }
    return true;
}

static const VMField ioapic_fields[] = {
    VM_FIELD(IoApic, select, VM_U8),
    VM_FIELD(IoApic, id, VM_U8),
    VM_FIELD(IoApic, level, VM_U32),
    VM_FIELD(IoApic, irr, VM_U32),
    VM_ARRAY(IoApic, redir, VM_U64),
    VM_END
};
static const VMState ioapic_vmstate = {
    .name = "ioapic", .version = 1, .fields = ioapic_fields, .pre_save = ioapic_pre_save, .post_load = ioapic_post_load,
};

static const Property ioapic_props[] = {
    PROP_FIELD("version", PROP_U8, IoApic, version, 0x20, "0x11 or 0x20 (has an EOI register)"),
    PROP_END
};

static const Type ioapic_type = {
    .name = "ioapic",
    .parent = "device",
    .desc = "I/O interrupt controller",
    .size = sizeof(IoApic),
    .props = ioapic_props,
    .realize = ioapic_realize,
    .reset = ioapic_reset,
    .vmstate = &ioapic_vmstate,
};
TYPE_REGISTER(ioapic_type)
