/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TCO watchdog of ICH9: Intel 316972, section 13.9.
 *
 * A 10-bit down counter of 0.6 s ticks. The first time it runs out it sets TIMEOUT, the second time
 * in a row SECOND_TO_STS, and resets the machine unless NO_REBOOT (a strap: tco_no_reboot) is set.
 * Left out: the SMI on the first timeout, intruder detection, the message registers' effects.
 * Machine lock. Test: tests/unit/test-acpi-pm.c.
 */
#include "pm-internal.h"

#include "system/runstate.h"

enum { TCO_RLD = 0x00, TCO_DAT_IN = 0x02, TCO_DAT_OUT = 0x03, TCO1_STS = 0x04, TCO2_STS = 0x06,
       TCO1_CNT = 0x08, TCO2_CNT = 0x0a, TCO_MESSAGE1 = 0x0c, TCO_MESSAGE2 = 0x0d, TCO_WDCNT = 0x0e,
       TCO_IRQ_GEN = 0x10, TCO_TMR = 0x12 };
enum { STS1_TIMEOUT = 1 << 3, STS1_CLEARABLE = 0x236c };
enum { STS2_SECOND = 1 << 1, STS2_BOOT = 1 << 2, STS2_CLEARABLE = 0x0017 };
enum { CNT1_HALT = 1 << 11, CNT1_LOCK = 1 << 12, CNT1_WRITABLE = 0x1b00 };
#define CNT2_WRITABLE 0x003f
#define TCO_TICK_NS 600000000LL
#define TCO_TMR_MASK 0x3ff
#define TCO_TMR_MIN 2

static void tco_start(AcpiTco *t)
{
    unsigned ticks = MAX(t->tmr & TCO_TMR_MASK, TCO_TMR_MIN);

    if (t->cnt1 & CNT1_HALT) {
        timer_del(&t->timer);
    } else {
        timer_mod(&t->timer, clock_ns(CLOCK_VIRTUAL) + ticks * TCO_TICK_NS);
    }
}

static void tco_expired(void *opaque)
{
    AcpiPm *pm = opaque;
    AcpiTco *t = &pm->tco;

    t->sts1 |= STS1_TIMEOUT;
    if (++t->expired < 2) {
        tco_start(t);
        return;
    }
    t->expired = 0;
    t->sts2 |= STS2_SECOND | STS2_BOOT;
    if (pm->tco_no_reboot) {
        tco_start(t);
    } else {
        system_reset_request(SHUTDOWN_GUEST_RESET);
    }
}

static uint16_t tco_ticks_left(const AcpiTco *t)
{
    int64_t left = t->timer.expire - clock_ns(CLOCK_VIRTUAL);

    return timer_pending(&t->timer) ? MAX(left, 0) / TCO_TICK_NS : t->rld;
}

static uint16_t tco_read_word(const AcpiTco *t, hwaddr reg)
{
    switch (reg) {
    case TCO_RLD: return tco_ticks_left(t);
    case TCO_DAT_IN: return t->dat_in | t->dat_out << 8;
    case TCO1_STS: return t->sts1;
    case TCO2_STS: return t->sts2;
    case TCO1_CNT: return t->cnt1;
    case TCO2_CNT: return t->cnt2;
    case TCO_MESSAGE1: return t->message1 | t->message2 << 8;
    case TCO_WDCNT: return t->wdcnt;
    case TCO_IRQ_GEN: return t->irq_gen;
    case TCO_TMR: return t->tmr;
    default: return 0;
    }
}

static uint64_t tco_read(void *opaque, hwaddr addr, unsigned size)
{
    return tco_read_word(&((AcpiPm *)opaque)->tco, addr & ~(hwaddr)1) >> (addr & 1) * 8;
}

static void tco_write_cnt1(AcpiTco *t, uint16_t value)
{
    uint16_t lock = t->cnt1 & CNT1_LOCK;    /* set until reset */
    bool was_halted = t->cnt1 & CNT1_HALT;

    t->cnt1 = (value & CNT1_WRITABLE) | lock;
    if (was_halted != !!(t->cnt1 & CNT1_HALT)) {
        t->rld = tco_ticks_left(t);
        tco_start(t);
    }
}

static void tco_write_word(AcpiTco *t, hwaddr reg, uint16_t value)
{
    switch (reg) {
    case TCO_RLD:                           /* any value: start again from TMR */
        t->expired = 0;
        t->rld = t->tmr;
        tco_start(t);
        break;
    case TCO_DAT_IN:
        t->dat_in = value;
        t->dat_out = value >> 8;
        break;
    case TCO1_STS: t->sts1 &= ~(value & STS1_CLEARABLE); break;
    case TCO2_STS: t->sts2 &= ~(value & STS2_CLEARABLE); break;
    case TCO1_CNT: tco_write_cnt1(t, value); break;
    case TCO2_CNT: t->cnt2 = value & CNT2_WRITABLE; break;
    case TCO_MESSAGE1:
        t->message1 = value;
        t->message2 = value >> 8;
        break;
    case TCO_WDCNT: t->wdcnt = value; break;
    case TCO_IRQ_GEN: t->irq_gen = value & 3; break;
    case TCO_TMR: t->tmr = value & TCO_TMR_MASK; break;
    default: break;
    }
}

/* A byte leaves the other half of its register alone: as it is, or unset where 1 clears. */
static void tco_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    AcpiTco *t = &((AcpiPm *)opaque)->tco;
    hwaddr reg = addr & ~(hwaddr)1;
    unsigned shift = (addr & 1) * 8;

    if (size == 1) {
        uint16_t other = reg == TCO1_STS || reg == TCO2_STS ? 0 : tco_read_word(t, reg);

        value = (value & 0xff) << shift | (other & ~(0xff << shift));
    }
    tco_write_word(t, reg, value);
}

static const MemoryRegionOps tco_ops = {
    .read = tco_read, .write = tco_write,
    .valid = { .min = 1, .max = 4 }, .impl = { .min = 1, .max = 2 },
};

void acpi_tco_init(AcpiPm *pm)
{
    timer_init(&pm->tco.timer, CLOCK_VIRTUAL, tco_expired, pm);
}

void acpi_tco_realize(AcpiPm *pm, Object *owner)
{
    memory_region_init_io(&pm->tco_io, owner, &tco_ops, pm, "acpi-tco", 0x20);
}

void acpi_tco_reset(AcpiPm *pm)
{
    AcpiTco *t = &pm->tco;

    timer_del(&t->timer);
    t->rld = t->sts1 = t->sts2 = 0;
    t->cnt1 = CNT1_HALT;                    /* as firmware leaves it: who wants it starts it */
    t->cnt2 = 0x08;
    t->tmr = 4;
    t->dat_in = t->dat_out = t->message1 = t->message2 = t->wdcnt = 0;
    t->irq_gen = 3;
    t->expired = 0;
}

static const VMField tco_fields[] = {
    VM_FIELD(AcpiTco, rld, VM_U16),
    VM_FIELD(AcpiTco, sts1, VM_U16),
    VM_FIELD(AcpiTco, sts2, VM_U16),
    VM_FIELD(AcpiTco, cnt1, VM_U16),
    VM_FIELD(AcpiTco, cnt2, VM_U16),
    VM_FIELD(AcpiTco, tmr, VM_U16),
    VM_FIELD(AcpiTco, dat_in, VM_U8),
    VM_FIELD(AcpiTco, dat_out, VM_U8),
    VM_FIELD(AcpiTco, message1, VM_U8),
    VM_FIELD(AcpiTco, message2, VM_U8),
    VM_FIELD(AcpiTco, wdcnt, VM_U8),
    VM_FIELD(AcpiTco, irq_gen, VM_U8),
    VM_FIELD(AcpiTco, expired, VM_U8),
    VM_TIMER_FIELD(AcpiTco, timer),
    VM_END
};
const VMState acpi_tco_vmstate = { .name = "acpi-tco", .version = 1, .fields = tco_fields };
