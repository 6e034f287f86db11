/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FXSAVE, FXRSTOR, LDMXCSR, STMXCSR and the XSAVE family (SDM vol. 1 ch. 13), on X86XSave: own
 * code, since the host's would show host state (modified-tracking, FIP) and other component
 * offsets.
 *
 * The values of every component in X86XSave are right at all times; XSTATE_BV says which are not
 * in their initial state. Standard offsets as CPUID leaf 0xd reports them; the compacted format
 * packs components in order (13.4.3). Test: tests/insn.
 */
#include <string.h>

#include "target/i386/cpuid.h"
#include "target/i386/sem/sem.h"

#define XCOMP_COMPACT (1ull << 63)
#define LEGACY_END 512u
#define HEADER_END 576u

typedef struct Component {
    unsigned bit;
    unsigned offset, size;          /* standard format */
    bool align64;                   /* compacted: starts on a 64-byte boundary */
} Component;
static const Component components[] = {
    { 2, 576, 256, false }, { 5, 1088, 64, false }, { 6, 1152, 512, false },
    { 7, 1664, 1024, false }, { 9, 2688, 8, false },
};

static void check_mxcsr(X86CPU *cpu, uint32_t v)
{
    if (v & ~x86_mxcsr_mask(cpu)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

SEM(ldmxcsr)
{
    X86State *st = cpu->st;
    uint32_t v;

    if (i->prefixes & INSN_VEX) {
        x86_check_avx(cpu);
    } else {
        x86_check_sse(cpu);
    }
    v = ld_d(cpu, i);
    check_mxcsr(cpu, v);
    st->xs.mxcsr = v;
    st->xs.xstate_bv |= XFEATURE_SSE;
    x86_next(st, i);
}

SEM(stmxcsr)
{
    if (i->prefixes & INSN_VEX) {
        x86_check_avx(cpu);
    } else {
        x86_check_sse(cpu);
    }
    st_d(cpu, i, cpu->st->xs.mxcsr);
    x86_next(cpu->st, i);
}

/* ---- FXSAVE ---- */

static bool is_64bit_form(const Insn *i)
{
    return (i->prefixes & (INSN_W | INSN_CODE64)) == (INSN_W | INSN_CODE64);
}

/*
 * The legacy area as this mode's FXSAVE writes it. Without REX.W: 32-bit pointers and zero
 * selectors.
 */
static void legacy_build(const X86CPU *cpu, const Insn *i, uint8_t *out)
{
    const X86State *st = cpu->st;
    X86XSave x = st->xs;

    x.mxcsr_mask = x86_mxcsr_mask(cpu);
    memset(x.rsvd2, 0, sizeof(x.rsvd2));
    if (!is_64bit_form(i)) {
        x.fip = (uint32_t)x.fip;
        x.fdp = (uint32_t)x.fdp;
    }
    memcpy(out, &x, LEGACY_END);
    if (!(st->mode & MODE_CS64)) {
        memset(out + offsetof(X86XSave, xmm) + 128, 0, 128);
    }
}

static void x87_take(X86State *st, const Insn *i, const uint8_t *in)
{
    X86XSave *xs = &st->xs;

    memcpy(xs, in, 24);             /* fcw .. fdp */
    xs->fcw = (xs->fcw & 0x1f7f) | 0x40;
    xs->rsvd1 = 0;
    xs->fop &= 0x7ff;
    if (!is_64bit_form(i)) {
        xs->fip = (uint32_t)xs->fip;
        xs->fdp = (uint32_t)xs->fdp;
    }
    for (unsigned n = 0; n < 8; n++) {
        memset(xs->st[n], 0, 16);
        memcpy(xs->st[n], in + offsetof(X86XSave, st) + 16 * n, 10);
    }
    if (xs->fsw & ~xs->fcw & 0x3f) {
        xs->fsw |= 0x8080;
    } else {
        xs->fsw &= ~0x8080;
    }
}

static void x87_to_init(X86XSave *xs)
{
    memset(xs, 0, 24);
    xs->fcw = 0x37f;
    memset(xs->st, 0, sizeof(xs->st));
}

static unsigned xmm_bytes(const X86State *st)
{
    return st->mode & MODE_CS64 ? 256 : 128;
}

static void fx_check(X86CPU *cpu)
{
    if (cpu->st->mode & (MODE_EM | MODE_TS)) {
        x86_raise(cpu, EXCP_NM);
    }
}

static uint64_t area_address(X86CPU *cpu, const Insn *i, unsigned len, unsigned align, bool write)
{
    uint64_t lin = ea_linear(cpu, i, len, write);

    if (lin & (align - 1)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    return lin;
}

SEM(fxsave)
{
    X86State *st = cpu->st;
    uint8_t area[LEGACY_END];
    uint64_t lin;
    unsigned len = offsetof(X86XSave, rsvd2);       /* the last 96 bytes are not written */

    fx_check(cpu);
    lin = area_address(cpu, i, LEGACY_END, 16, true);
    legacy_build(cpu, i, area);
    x86_st_bytes(cpu, lin, area, len);
    x86_next(st, i);
}

SEM(fxrstor)
{
    X86State *st = cpu->st;
    uint8_t area[LEGACY_END];
    uint32_t mxcsr;
    uint64_t lin;

    fx_check(cpu);
    lin = area_address(cpu, i, LEGACY_END, 16, false);
    x86_ld_bytes(cpu, lin, area, LEGACY_END);
    memcpy(&mxcsr, area + offsetof(X86XSave, mxcsr), 4);
    check_mxcsr(cpu, mxcsr);
    x87_take(st, i, area);
    st->xs.mxcsr = mxcsr;
    memcpy(st->xs.xmm, area + offsetof(X86XSave, xmm), xmm_bytes(st));
    st->xs.xstate_bv |= XFEATURE_X87 | XFEATURE_SSE;
    x86_next(st, i);
}

/* ---- XSAVE ---- */

static uint64_t requested(const X86CPU *cpu, uint64_t enabled)
{
    const X86State *st = cpu->st;

    return ((uint32_t)st->regs[R_RAX] | (uint64_t)(uint32_t)st->regs[R_RDX] << 32) & enabled;
}

static void xsave_check(X86CPU *cpu, const Insn *i)
{
    if (!(cpu->st->mode & MODE_OSXSAVE)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (cpu->st->mode & MODE_TS) {
        x86_raise(cpu, EXCP_NM);
    }
}

/* Offset of component c in an image of the compacted format that holds the components of bv. */
static unsigned compact_offset(uint64_t bv, const Component *c)
{
    unsigned at = HEADER_END;

    for (const Component *p = components; p < c; p++) {
        if (bv >> p->bit & 1) {
            at += p->size;
        }
    }
    return at;
}

static unsigned image_end(uint64_t bv, bool compact)
{
    unsigned end = HEADER_END;

    for (size_t n = 0; n < G_N_ELEMENTS(components); n++) {
        const Component *c = &components[n];

        if (bv >> c->bit & 1) {
            end = (compact ? compact_offset(bv, c) : c->offset) + c->size;
        }
    }
    return end;
}

/*
 * 64-bit registers 8..15 of a component do not exist outside 64-bit mode: those bytes are left
 * alone.
 */
static unsigned component_len(const X86State *st, const Component *c)
{
    if (!(st->mode & MODE_CS64)) {
        return c->bit == 2 || c->bit == 6 ? c->size / 2 : c->bit == 7 ? 0 : c->size;
    }
    return c->size;
}

/*
 * Saves the components of bv, part of rfbm. MXCSR goes with SSE in the compacted format; in the standard format it is
 * written whenever SSE or AVX is asked for.
 */
static void components_store(X86CPU *cpu, const Insn *i, uint64_t lin, uint64_t rfbm, uint64_t bv, bool compact)
{
    X86State *st = cpu->st;
    uint8_t legacy[LEGACY_END];

    legacy_build(cpu, i, legacy);
    if (bv & XFEATURE_X87) {
        x86_st_bytes(cpu, lin, legacy, 24);
        x86_st_bytes(cpu, lin + 32, legacy + 32, 128);
    }
    if (compact ? (bv & XFEATURE_SSE) != 0 : (rfbm & (XFEATURE_SSE | XFEATURE_AVX)) != 0) {
        x86_st_bytes(cpu, lin + 24, legacy + 24, 8);
    }
    if (bv & XFEATURE_SSE) {
        x86_st_bytes(cpu, lin + 160, legacy + 160, xmm_bytes(st));
    }
    for (size_t n = 0; n < G_N_ELEMENTS(components); n++) {
        const Component *c = &components[n];

        if (bv >> c->bit & 1) {
            x86_st_bytes(cpu, lin + (compact ? compact_offset(rfbm, c) : c->offset), (uint8_t *)&st->xs + c->offset,
                         component_len(st, c));
        }
    }
}

static uint64_t xsave_begin(X86CPU *cpu, const Insn *i, uint64_t rfbm, bool compact, bool write)
{
    unsigned len = image_end(rfbm, compact);
    uint64_t lin = area_address(cpu, i, len, 64, write);

    x86_probe(cpu, lin, len, write);
    return lin;
}

/*
 * XSAVE and XSAVEOPT. Both may skip components in their initial state; XSAVE here always writes
 * them.
 */
SEM(xsave)
{
    X86State *st = cpu->st;
    uint64_t rfbm, lin, bv;
    bool opt = (i->modrm >> 3 & 7) == 6;

    xsave_check(cpu, i);
    rfbm = requested(cpu, st->xcr0);
    lin = xsave_begin(cpu, i, rfbm, false, true);
    bv = x86_ld64(cpu, lin + LEGACY_END);
    components_store(cpu, i, lin, rfbm, opt ? rfbm & st->xs.xstate_bv : rfbm, false);
    x86_st64(cpu, lin + LEGACY_END, (bv & ~rfbm) | (st->xs.xstate_bv & rfbm));
    x86_next(st, i);
}

static void xsave_compacted(X86CPU *cpu, const Insn *i, uint64_t enabled)
{
    X86State *st = cpu->st;
    uint64_t rfbm, lin, inuse;

    xsave_check(cpu, i);
    rfbm = requested(cpu, enabled);
    lin = xsave_begin(cpu, i, rfbm, true, true);
    inuse = st->xs.xstate_bv & rfbm;
    if ((rfbm & XFEATURE_SSE) && st->xs.mxcsr != 0x1f80) {
        inuse |= XFEATURE_SSE;
    }
    components_store(cpu, i, lin, rfbm, inuse, true);
    x86_st64(cpu, lin + LEGACY_END, inuse);
    x86_st64(cpu, lin + LEGACY_END + 8, rfbm | XCOMP_COMPACT);
    x86_next(st, i);
}

SEM(xsavec)
{
    xsave_compacted(cpu, i, cpu->st->xcr0);
}

SEM(xsaves)
{
    if (x86_cpl(cpu->st)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    xsave_compacted(cpu, i, cpu->st->xcr0 | cpu->st->xss);
}

/* ---- XRSTOR: everything is read and judged into a copy, then taken ---- */

static void header_check(X86CPU *cpu, const uint64_t *h, uint64_t enabled, bool must_compact)
{
    bool compact = h[1] & XCOMP_COMPACT;
    bool bad = compact ? (h[1] & ~XCOMP_COMPACT & ~enabled) || (h[0] & ~h[1]) : h[1] || (h[0] & ~enabled);

    for (int n = 2; n < 8; n++) {
        bad |= h[n] != 0 && (compact || n == 2);
    }
    if (bad || (must_compact && !compact)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

static void sse_take(X86CPU *cpu, const uint8_t *legacy, uint64_t rfbm, uint64_t bv, bool compact)
{
    X86XSave *xs = &cpu->st->xs;
    uint32_t mxcsr;

    memcpy(&mxcsr, legacy + offsetof(X86XSave, mxcsr), 4);
    if (compact ? (rfbm & bv & XFEATURE_SSE) != 0 : (rfbm & (XFEATURE_SSE | XFEATURE_AVX)) != 0) {
        xs->mxcsr = mxcsr;
    } else if (compact && (rfbm & XFEATURE_SSE)) {
        xs->mxcsr = 0x1f80;
    }
    if (rfbm & bv & XFEATURE_SSE) {
        memcpy(xs->xmm, legacy + offsetof(X86XSave, xmm), xmm_bytes(cpu->st));
    } else if (rfbm & XFEATURE_SSE) {
        memset(xs->xmm, 0, xmm_bytes(cpu->st));
    }
}

static void xrstor_common(X86CPU *cpu, const Insn *i, uint64_t enabled, bool must_compact)
{
    X86State *st = cpu->st;
    uint64_t rfbm, lin, header[8], bv, format;
    uint8_t legacy[LEGACY_END];
    X86XSave in;
    uint32_t mxcsr;
    bool compact;

    xsave_check(cpu, i);
    rfbm = requested(cpu, enabled);
    lin = area_address(cpu, i, HEADER_END, 64, false);
    x86_ld_bytes(cpu, lin + LEGACY_END, header, sizeof(header));
    header_check(cpu, header, enabled, must_compact);
    compact = header[1] & XCOMP_COMPACT;
    format = compact ? header[1] : enabled;
    bv = header[0] & rfbm;
    x86_ld_bytes(cpu, lin, legacy, LEGACY_END);
    memcpy(&mxcsr, legacy + offsetof(X86XSave, mxcsr), 4);
    if (compact ? (bv & XFEATURE_SSE) != 0 : (rfbm & (XFEATURE_SSE | XFEATURE_AVX)) != 0) {
        check_mxcsr(cpu, mxcsr);
    }
    for (size_t n = 0; n < G_N_ELEMENTS(components); n++) {
        const Component *c = &components[n];

        if (bv >> c->bit & 1) {
            x86_ld_bytes(cpu, lin + (compact ? compact_offset(format, c) : c->offset), (uint8_t *)&in + c->offset,
                         component_len(st, c));
        }
    }
    if (bv & XFEATURE_X87) {
        x87_take(st, i, legacy);
    } else if (rfbm & XFEATURE_X87) {
        x87_to_init(&st->xs);
    }
    sse_take(cpu, legacy, rfbm, bv, compact);
    for (size_t n = 0; n < G_N_ELEMENTS(components); n++) {
        const Component *c = &components[n];
        uint8_t *mine = (uint8_t *)&st->xs + c->offset;

        if (bv >> c->bit & 1) {
            memcpy(mine, (uint8_t *)&in + c->offset, component_len(st, c));
        } else if (rfbm >> c->bit & 1) {
            memset(mine, 0, component_len(st, c));
        }
    }
    st->xs.xstate_bv = (st->xs.xstate_bv & ~rfbm) | bv;
    x86_next(st, i);
}

SEM(xrstor)
{
    xrstor_common(cpu, i, cpu->st->xcr0, false);
}

SEM(xrstors)
{
    if (x86_cpl(cpu->st)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    xrstor_common(cpu, i, cpu->st->xcr0 | cpu->st->xss, true);
}

SEM(vzeroupper)
{
    X86XSave *xs = &cpu->st->xs;
    unsigned n = cpu->st->mode & MODE_CS64 ? 16 : 8;

    x86_check_avx(cpu);
    memset(xs->ymmh, 0, n * 16);
    memset(xs->zmmh, 0, n * 32);
    x86_next(cpu->st, i);
}

SEM(vzeroall)
{
    X86XSave *xs = &cpu->st->xs;
    unsigned n = cpu->st->mode & MODE_CS64 ? 16 : 8;

    x86_check_avx(cpu);
    memset(xs->xmm, 0, n * 16);
    memset(xs->ymmh, 0, n * 16);
    memset(xs->zmmh, 0, n * 32);
    x86_next(cpu->st, i);
}
