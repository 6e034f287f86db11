/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vector rows whose memory accesses go element by element: masked moves, gathers, scatters,
 * compress and expand (SDM vol. 2, VPMASKMOV, VPGATHER*, VPSCATTER*, VPCOMPRESS*, VPEXPAND*).
 * Masked-off elements neither fault nor are touched; a gather or scatter that faults has done the
 * elements before it and cleared their mask bits.
 *
 * Registers are read into and written from 64-byte images. Test: tests/insn.
 */
#include <string.h>

#include "target/i386/sem/native.h"

typedef union Vec {
    uint8_t b[64];
    uint32_t d[16];
    uint64_t q[8];
} Vec;

static void vec_get(const X86State *st, unsigned n, Vec *v)
{
    const X86XSave *xs = &st->xs;

    if (n >= 16) {
        memcpy(v, xs->hi16[n - 16], 64);
        return;
    }
    memcpy(v->b, xs->xmm[n], 16);
    memcpy(v->b + 16, xs->ymmh[n], 16);
    memcpy(v->b + 32, xs->zmmh[n], 32);
}

/* A VEX or EVEX write: bytes from `bytes` on become zero. */
static void vec_set(X86State *st, unsigned n, const Vec *v, unsigned bytes)
{
    X86XSave *xs = &st->xs;
    Vec whole = { { 0 } };

    memcpy(&whole, v, bytes);
    xs->xstate_bv |= XFEATURE_SSE | XFEATURE_AVX;
    if (n >= 16) {
        memcpy(xs->hi16[n - 16], &whole, 64);
        xs->xstate_bv |= XFEATURE_HI16;
        return;
    }
    memcpy(xs->xmm[n], whole.b, 16);
    memcpy(xs->ymmh[n], whole.b + 16, 16);
    memcpy(xs->zmmh[n], whole.b + 32, 32);
    if (bytes > 32) {
        xs->xstate_bv |= XFEATURE_ZMMH;
    }
}

/*
 * What a VEX gather has done when a later element faults: nothing above its own bytes changes
 * yet.
 */
static void vec_set_low(X86State *st, unsigned n, const Vec *v, unsigned bytes)
{
    Vec whole;

    vec_get(st, n, &whole);
    memcpy(&whole, v, bytes);
    vec_set(st, n, &whole, 64);
}

static void check_unit(X86CPU *cpu, const Insn *i)
{
    if (i->prefixes & INSN_EVEX) {
        x86_check_avx512(cpu);
    } else if (i->prefixes & INSN_VEX) {
        x86_check_avx(cpu);
    } else {
        x86_check_sse(cpu);
    }
}

/* ---- MASKMOVQ, MASKMOVDQU: bytes to seg:rDI ---- */

static const uint8_t *mmx_reg(const X86XSave *xs, unsigned n)
{
    return xs->st[(n - (xs->fsw >> 11 & 7)) & 7];
}

SEM(maskmov)
{
    X86State *st = cpu->st;
    const InsnRow *row = x86_row(i);
    bool mmx = row->opnd[0].kind == OPK_P;
    unsigned len = mmx ? 8 : 16;
    uint64_t off = ea_truncate(i, st->regs[R_RDI]), lin;
    Vec data, mask;

    if (mmx) {
        x86_check_mmx(cpu);
        memcpy(&data, mmx_reg(&st->xs, i->reg), 8);
        memcpy(&mask, mmx_reg(&st->xs, i->rm), 8);
        native_mmx_enter(&st->xs);      /* before the accesses, which may fault */
    } else {
        check_unit(cpu, i);
        vec_get(st, i->reg, &data);
        vec_get(st, i->rm, &mask);
    }
    lin = x86_linear(cpu, i->seg, off, len, true);
    for (unsigned n = 0; n < len; n++) {
        if (mask.b[n] & 0x80) {
            x86_probe(cpu, lin + n, 1, true);
        }
    }
    for (unsigned n = 0; n < len; n++) {
        if (mask.b[n] & 0x80) {
            x86_st8(cpu, lin + n, data.b[n]);
        }
    }
    x86_next(st, i);
}

/* ---- VMASKMOV, VPMASKMOV ---- */

static bool sign_set(const Vec *mask, unsigned n, unsigned elem)
{
    return mask->b[n * elem + elem - 1] & 0x80;
}

SEM(vmaskmov)
{
    X86State *st = cpu->st;
    const InsnRow *row = x86_row(i);
    bool store = row->opnd[0].kind == OPK_M;
    unsigned elem = row->elem, count = i->vl / elem;
    Vec mask, data, out = { { 0 } };
    uint64_t lin = 0;

    check_unit(cpu, i);
    vec_get(st, i->vvvv, &mask);
    vec_get(st, i->reg, &data);
    for (unsigned n = 0; n < count; n++) {
        if (!sign_set(&mask, n, elem)) {
            continue;
        }
        lin = ea_linear(cpu, i, i->vl, store);      /* not before: an empty mask touches nothing */
        if (store) {
            x86_probe(cpu, lin + n * elem, elem, true);
        } else {
            x86_ld_bytes(cpu, lin + n * elem, out.b + n * elem, elem);
        }
    }
    for (unsigned n = 0; store && n < count; n++) {
        if (sign_set(&mask, n, elem)) {
            x86_st_bytes(cpu, lin + n * elem, data.b + n * elem, elem);
        }
    }
    if (!store) {
        vec_set(st, i->reg, &out, i->vl);
    }
    x86_next(st, i);
}

/* ---- gathers and scatters ---- */

typedef struct Vsib {
    unsigned elem, width;       /* bytes of a data element; of an index */
    unsigned count;
    Vec index;
} Vsib;

static Vsib vsib_of(const X86State *st, const Insn *i)
{
    const InsnRow *row = x86_row(i);
    Vsib v = { .elem = row->elem };

    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (row->opnd[n].kind == OPK_VM) {
            v.width = row->opnd[n].aux;
        }
    }
    v.count = i->vl / MAX(v.elem, v.width);
    vec_get(st, i->index, &v.index);
    return v;
}

static uint64_t vsib_linear(X86CPU *cpu, const Insn *i, const Vsib *v, unsigned n, bool write)
{
    const uint64_t *r = (const uint64_t *)cpu->st;
    int64_t idx = v->width == 4 ? (int64_t)(int32_t)v->index.d[n] : (int64_t)v->index.q[n];

    return x86_linear(cpu, i->seg, ea_truncate(i, r[i->base] + ((uint64_t)idx << i->scale) + i->disp), v->elem, write);
}

/* VEX form: the mask is a vector, each element's top bit; it is all zero at the end. */
static void gather_vex(X86CPU *cpu, const Insn *i)
{
    X86State *st = cpu->st;
    Vsib v = vsib_of(st, i);
    unsigned bytes = v.count * v.elem;
    Vec out, mask;

    if (i->reg == i->vvvv || i->reg == i->index || i->vvvv == i->index) {
        x86_raise(cpu, EXCP_UD);
    }
    vec_get(st, i->reg, &out);
    vec_get(st, i->vvvv, &mask);
    memset(mask.b + bytes, 0, sizeof(mask) - bytes);
    for (unsigned n = 0; n < v.count; n++) {
        if (sign_set(&mask, n, v.elem)) {
            if (n) {                                /* progress shows if this element faults */
                vec_set_low(st, i->reg, &out, bytes);
                vec_set_low(st, i->vvvv, &mask, bytes);
            }
            x86_ld_bytes(cpu, vsib_linear(cpu, i, &v, n, false), out.b + n * v.elem, v.elem);
        }
        memset(mask.b + n * v.elem, 0, v.elem);
    }
    vec_set(st, i->reg, &out, bytes);
    vec_set(st, i->vvvv, &mask, bytes);
    x86_next(st, i);
}

SEM(vgather)
{
    X86State *st = cpu->st;
    Vsib v;
    Vec out;

    check_unit(cpu, i);
    if (!(i->prefixes & INSN_EVEX)) {
        gather_vex(cpu, i);
        return;
    }
    if (i->reg == i->index) {
        x86_raise(cpu, EXCP_UD);
    }
    v = vsib_of(st, i);
    vec_get(st, i->reg, &out);
    for (unsigned n = 0; n < v.count; n++) {
        if (st->xs.k[i->mask] >> n & 1) {
            x86_ld_bytes(cpu, vsib_linear(cpu, i, &v, n, false), out.b + n * v.elem, v.elem);
            vec_set(st, i->reg, &out, i->vl);       /* shows if a later element faults */
            st->xs.k[i->mask] &= ~(1ull << n);
        }
    }
    vec_set(st, i->reg, &out, v.count * v.elem);
    st->xs.k[i->mask] = 0;
    st->xs.xstate_bv |= XFEATURE_OPMASK;
    x86_next(st, i);
}

SEM(vscatter)
{
    X86State *st = cpu->st;
    Vsib v;
    Vec data;

    check_unit(cpu, i);
    v = vsib_of(st, i);
    vec_get(st, i->reg, &data);
    for (unsigned n = 0; n < v.count; n++) {
        if (st->xs.k[i->mask] >> n & 1) {
            x86_st_bytes(cpu, vsib_linear(cpu, i, &v, n, true), data.b + n * v.elem, v.elem);
            st->xs.k[i->mask] &= ~(1ull << n);
        }
    }
    st->xs.k[i->mask] = 0;
    st->xs.xstate_bv |= XFEATURE_OPMASK;
    x86_next(st, i);
}

/* ---- compress and expand ---- */

static uint64_t mask_bits(const X86State *st, const Insn *i, unsigned count)
{
    uint64_t all = count == 64 ? ~0ull : (1ull << count) - 1;

    return i->mask ? st->xs.k[i->mask] & all : all;
}

SEM(vec_compress)
{
    X86State *st = cpu->st;
    unsigned elem = x86_row(i)->elem, count = i->vl / elem, done = 0;
    uint64_t k = mask_bits(st, i, count);
    Vec in, out;

    check_unit(cpu, i);
    vec_get(st, i->reg, &in);
    if (!x86_is_mem(i)) {
        vec_get(st, i->rm, &out);
        if (i->prefixes & INSN_Z) {
            memset(&out, 0, sizeof(out));
        }
    }
    for (unsigned n = 0; n < count; n++) {
        if (k >> n & 1) {
            memcpy(out.b + done++ * elem, in.b + n * elem, elem);
        }
    }
    if (!x86_is_mem(i)) {
        vec_set(st, i->rm, &out, i->vl);
    } else if (done) {
        uint64_t lin = ea_linear(cpu, i, done * elem, true);

        x86_st_bytes(cpu, lin, &out, done * elem);
    }
    x86_next(st, i);
}

SEM(vec_expand)
{
    X86State *st = cpu->st;
    unsigned elem = x86_row(i)->elem, count = i->vl / elem, taken = 0, want;
    uint64_t k = mask_bits(st, i, count);
    Vec in, out;

    check_unit(cpu, i);
    want = __builtin_popcountll(k) * elem;
    if (!x86_is_mem(i)) {
        vec_get(st, i->rm, &in);
    } else if (want) {
        x86_ld_bytes(cpu, ea_linear(cpu, i, want, false), &in, want);
    }
    vec_get(st, i->reg, &out);
    for (unsigned n = 0; n < count; n++) {
        if (k >> n & 1) {
            memcpy(out.b + n * elem, in.b + taken++ * elem, elem);
        } else if (i->prefixes & INSN_Z) {
            memset(out.b + n * elem, 0, elem);
        }
    }
    vec_set(st, i->reg, &out, i->vl);
    x86_next(st, i);
}
