/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random machine states and operand places, with the values that break things: extremes,
 * infinities, NaNs, denormals, borders of pages and segments of the address space. See insn-
 * test.h.
 */
#include <string.h>

#include "gen.h"
#include "target/i386/cpuid.h"

static uint64_t number_generate(Rng *r)
{
    static const uint64_t special[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
        0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x100000000 };
    switch (rng_below(r, 5)) {
    case 0: return special[rng_below(r, G_N_ELEMENTS(special))];
    case 1: return rng_below(r, 256);
    case 2: return -(uint64_t)rng_below(r, 256);
    case 3: return rng_next(r) >> rng_below(r, 64);
    default: return rng_next(r);
    }
}

static uint32_t float_generate(Rng *r)
{
    static const uint32_t special[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
        0x7fa00000, 0xffc12345, 1, 0x80000001, 0x007fffff, 0x00800000,
        0x7f7fffff, 0x4f000000, 0xcf000000, 0x4effffff,
        0x5f000000,         0x3f000000, 0x40490fdb };
    switch (rng_below(r, 4)) {
    case 0: return special[rng_below(r, G_N_ELEMENTS(special))];
    case 1: return (rng_next(r) & 0x80ffffff) | (uint32_t)(100 + rng_below(r, 56)) << 23;
    case 2: return (rng_next(r) & 0x807fffff) | (uint32_t)rng_below(r, 3) << 23;
    default: return rng_next(r);
    }
}

static uint64_t double_generate(Rng *r)
{
    static const uint64_t special[] = { 0, 1ull << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000,
        0xfff0000000000000, 0x7ff8000000000000, 0x7ff4000000000000, 0xfff8123456789abc, 1, 0x000fffffffffffff,
        0x0010000000000000, 0x7fefffffffffffff, 0x41e0000000000000, 0xc1e0000000000000, 0x43e0000000000000,
        0x47efffffe0000000, 0x3810000000000000 };
    switch (rng_below(r, 4)) {
    case 0: return special[rng_below(r, G_N_ELEMENTS(special))];
    case 1: return (rng_next(r) & 0x800fffffffffffff) | (uint64_t)(990 + rng_below(r, 70)) << 52;
    case 2: return (rng_next(r) & 0x800fffffffffffff) | (uint64_t)rng_below(r, 3) << 52;
    default: return rng_next(r);
    }
}

static void extended_generate(Rng *r, uint8_t out[16])
{
    uint64_t mantissa = rng_next(r) | 1ull << 63;
    uint16_t exponent = 0x3fff - 40 + rng_below(r, 80);
    uint16_t sign = rng_next(r) >> 48 & 0x8000;

    memset(out, 0, 16);
    switch (rng_below(r, 8)) {
    case 0: exponent = mantissa = 0; break;
    case 1: exponent = 0x7fff; mantissa = 1ull << 63; break;
    case 2: exponent = 0x7fff; mantissa = (rng_next(r) & 0x3fffffffffffffff) | 2ull << 62 | 1; break;
    case 3: exponent = rng_below(r, 3); mantissa = rng_next(r) >> rng_below(r, 8); break;
    case 4: exponent = rng_next(r) & 0x7fff; break;
    case 5: mantissa = (uint64_t)rng_below(r, 256) << 56 | 1ull << 63; exponent = 0x3fff + rng_below(r, 8); break;
    default: break;
    }
    exponent |= sign;
    memcpy(out, &mantissa, 8);
    memcpy(out + 8, &exponent, 2);
}

void data_fill(Rng *r, void *buf, unsigned len)
{
    unsigned style = rng_below(r, 6);
    uint8_t *p = buf;

    for (unsigned at = 0; at < len; at += 16) {
        uint8_t chunk[16];
        uint64_t q[2] = { rng_next(r), rng_next(r) };
        uint32_t d[4];

        memcpy(chunk, q, 16);
        if (style == 0) {
            for (int n = 0; n < 4; n++) {
                d[n] = float_generate(r);
            }
            memcpy(chunk, d, 16);
        } else if (style == 1) {
            q[0] = double_generate(r);
            q[1] = double_generate(r);
            memcpy(chunk, q, 16);
        } else if (style == 2) {
            extended_generate(r, chunk);
        } else if (style == 3) {
            q[0] = number_generate(r);
            q[1] = number_generate(r);
            memcpy(chunk, q, 16);
        }
        memcpy(p + at, chunk, MIN(16, len - at));
    }
}

static void x87_generate(Rng *r, X86XSave *xs)
{
    xs->fcw = 0x40 | 0x3f | (rng_next(r) & 0x0f00);
    if (rng_percent(r, 15)) {
        xs->fcw = 0x40 | (rng_next(r) & 0x1f3f);
    }
    xs->fsw = rng_next(r) & 0x7f00;
    if (rng_percent(r, 30)) {
        xs->fsw |= rng_next(r) & 0x7f;
    }
    if (xs->fsw & ~xs->fcw & 0x3f) {
        if (rng_percent(r, 60)) {
            xs->fsw &= ~0x7f;
        } else {
            xs->fsw |= 0x8080;
        }
    }
    xs->ftw = rng_percent(r, 60) ? 0xff : rng_next(r);
    xs->fop = rng_next(r) & 0x7ff;
    xs->fip = CODE_AT + rng_below(r, 4096);
    xs->fdp = DATA_AT + rng_below(r, 4096);
    for (int n = 0; n < 8; n++) {
        extended_generate(r, xs->st[n]);
    }
}

static void vectors_generate(Rng *r, X86XSave *xs)
{
    uint64_t random;

    for (int n = 0; n < 16; n++) {
        data_fill(r, xs->xmm[n], 16);
    }
    if (native_features() & XFEATURE_AVX) {
        data_fill(r, xs->ymmh, sizeof(xs->ymmh));
    }
    if (native_features() & XFEATURE_ZMMH) {
        data_fill(r, xs->zmmh, sizeof(xs->zmmh));
        data_fill(r, xs->hi16, sizeof(xs->hi16));
        for (int n = 0; n < 8; n++) {
            xs->k[n] = number_generate(r);
        }
    }
    random = rng_next(r);
    xs->mxcsr = 0x1f80 | (random & 0xe07f & ~0x40);
    if (rng_percent(r, 10)) {
        xs->mxcsr |= 0x40;
    }
    if ((random >> 20 & 7) == 0 && native_has_misalignsse()) {
        xs->mxcsr |= MXCSR_MM;
    }
    if (rng_percent(r, 12)) {
        xs->mxcsr &= ~(rng_next(r) & 0x1f80);
        if (rng_percent(r, 60)) {
            xs->mxcsr &= ~0x3f;
        }
    }
}

uint64_t target_generate(Rng *r, unsigned size)
{
    unsigned where = rng_below(r, 100), align = size && !(size & (size - 1)) ? size : 16;
    uint64_t t = DATA_AT + 0x200 + (rng_below(r, 0x2800) & ~(align - 1));

    if (where < 60) {
        return t;
    }
    if (where < 80) {
        return t + rng_below(r, 64);
    }
    if (where < 90) {
        return DATA_AT + 0x1000 * (1 + rng_below(r, 2)) - rng_below(r, 1 + size);
    }
    if (where < 93) {
        return DATA_AT + DATA_RW - rng_below(r, 1 + size);              /* into the page that may only be read */
    }
    if (where < 95) {
        return DATA_AT + DATA_RW + rng_below(r, 0x800);
    }
    if (where < 98) {
        return rng_percent(r, 50) ? DATA_AT + DATA_SIZE - rng_below(r, 1 + size) : DATA_AT - rng_below(r, 1 + size);
    }
    return rng_percent(r, 50) ? DATA_AT + DATA_SIZE + rng_below(r, 4096) : rng_next(r) | 1ull << 60;
}

uint16_t selector_generate(Rng *r)
{
    uint16_t sel;

    switch (rng_below(r, 4)) {
    case 0:
        return rng_percent(r, 50) ? SEL_DATA : rng_percent(r, 50) ? SEL_CODE32 : SEL_CODE64;
    case 1:
        sel = rng_below(r, 18) << 3;
        break;
    default:
        sel = rng_below(r, 15) << 3 | 4;
        break;
    }
    /* GDT 15 is Linux's CPU number; null selectors are 0, since kernels may make 1 to 3 so at a switch of tasks. */
    return rng_percent(r, 2) ? rng_next(r) | 0x100 : sel >> 3 == 15 && !(sel & 4) ? 0 : sel < 8 ? 0 :
           sel | (rng_percent(r, 80) ? 3 : 0);
}

/* One of a list of selectors; where the host has not got it, flat data. */
static uint16_t selector_pick(Rng *r, const uint16_t *list, unsigned n)
{
    uint16_t sel = list[rng_below(r, n)];

    return segment_there(sel) ? sel : SEL_DATA;
}

/* A data segment that can be in a segment register before a case. */
static uint16_t data_selector(Rng *r, unsigned bits)
{
    static const uint16_t ldt[] = { SEL_DATA16, SEL_DATA32, 0x27, 0x2f, 0x37, 0x4f, SEL_CODE16, 0x57 };
    static const uint16_t small[] = { SEL_DATA16 };

    if (rng_percent(r, 4)) {
        return 0;                       /* kernels may make 1 to 3 so when they switch tasks */
    }
    return bits == 16 && rng_percent(r, 60) ? selector_pick(r, small, 1)
                                            : selector_pick(r, ldt, G_N_ELEMENTS(ldt));
}

static void selectors_generate(Rng *r, InsnCase *c)
{
    static const uint16_t stacks[] = { SEL_DATA16, SEL_DATA16, SEL_DATA32, 0x2f, 0x37, 0x4f };
    uint16_t *sel = c->start.sel;

    memset(sel, 0, sizeof(c->start.sel));
    sel[SEG_CS] = c->bits == 64 ? SEL_CODE64 : c->bits == 32 ? SEL_CODE32 : SEL_CODE16;
    sel[SEG_SS] = SEL_DATA;
    if (c->bits == 64) {
        return;
    }
    for (int n = 0; n < SEG_COUNT; n++) {
        if (n != SEG_CS && n != SEG_SS) {
            bool flat = n < SEG_FS && rng_percent(r, c->bits == 32 ? 75 : 30);

            sel[n] = flat ? SEL_DATA : data_selector(r, c->bits);
        }
    }
    if (rng_percent(r, c->bits == 32 ? 30 : 80)) {
        sel[SEG_SS] = selector_pick(r, stacks, G_N_ELEMENTS(stacks));
    }
}

static void stack_generate(Rng *r, InsnCase *c)
{
    InsnState *s = &c->start;
    uint64_t at = DATA_AT + 0x800 + rng_below(r, 256) * 8;

    if (rng_percent(r, 6)) {
        at = target_generate(r, 8);
    }
    at -= c->bits == 64 ? 0 : segment_base(c, SEG_SS);
    if (c->bits != 64) {
        bool big = segment_of(s->sel[SEG_SS]).attr & DESC_B;

        at = big ? (uint32_t)at : (uint16_t)at | (uint32_t)(rng_next(r) << 16);
    }
    s->regs[R_RSP] = at;
}

void state_generate(Rng *r, InsnCase *c)
{
    InsnState *s = &c->start;

    selectors_generate(r, c);
    for (int n = 0; n < 16; n++) {
        s->regs[n] = c->bits == 64 ? number_generate(r) : (uint32_t)number_generate(r);
    }
    stack_generate(r, c);
    s->rip = c->bits == 16 ? CODE_START - CODE_AT : CODE_START;
    s->rflags = 0x202 | (rng_next(r) & FL_ARITH) | (rng_percent(r, 20) ? FL_DF : 0);
    if (rng_percent(r, 3)) {
        s->rflags |= FL_AC;
    }
    vectors_generate(r, &s->xs);
    x87_generate(r, &s->xs);
    s->xs.xstate_bv = native_features();
}
