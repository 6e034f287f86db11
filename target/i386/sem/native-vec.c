/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sem_native_vec: any MMX, SSE, AVX or AVX-512 row that touches only its operands, run on the
 * host (native.h).
 *
 * This file does what the host's execution cannot: checks of CR0/CR4/XCR0, alignment, finding the
 * memory operand (RAM in one page: its host address; else a bounce buffer with the same address
 * modulo 64), fault suppression of masked AVX-512 memory operands, and SIMD exceptions: the stub
 * runs with all masked as long as the guest has them masked.
 */
#include "target/i386/sem/native.h"

#include <string.h>

#include "target/i386/cpuid.h"
#include "util/error.h"

#define MXCSR_FLAGS 0x3fu
#define MXCSR_MASKS 0x1f80u
#define MXCSR_HOST 0x1f80u

/* A memory operand on its way through a stub. */
typedef struct MemOperand {
    uint64_t lin;
    unsigned size;                  /* bytes in memory */
    bool read, write;
    void *host;                     /* what the stub gets */
    bool bounced;
    bool aligned;                   /* the stub's copy must be aligned, though the operand is not (MXCSR.MM) */
    unsigned elem, count;           /* masked: bytes of one element in memory, how many; 0: not masked */
    uint64_t active;                /* mask bits of the elements that are touched */
    uint8_t buffer[128 + 64];
} MemOperand;

/* CVTPI2PS and CVTPI2PD from memory stay clear of the MMX registers. */
static bool uses_mmx(const InsnRow *row, const Insn *i)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        unsigned kind = row->opnd[n].kind;

        if (kind == OPK_P || kind == OPK_N || (kind == OPK_Q && (row->excl == EXC_MMX || !x86_is_mem(i)))) {
            return true;
        }
    }
    return false;
}

static void check_class(X86CPU *cpu, const Insn *i, const InsnRow *row)
{
    switch (row->excl) {
    case EXC_MMX:
        x86_check_mmx(cpu);
        return;
    case EXC_CVT:
        if (uses_mmx(row, i)) {
            x86_check_mmx(cpu);
        }
        x86_check_sse(cpu);
        return;
    default:
        break;
    }
    if ((i->prefixes & INSN_EVEX) || row->excl == EXC_K20 || row->excl == EXC_K21) {
        x86_check_avx512(cpu);
    } else if (i->prefixes & INSN_VEX) {
        x86_check_avx(cpu);
    } else {
        x86_check_sse(cpu);
    }
}

/* Moves that are made for aligned operands. */
static bool is_aligned_move(const InsnRow *row)
{
    return row->excl == EXC_1 || row->excl == EXC_E1 || row->excl == EXC_E1NF;
}

static bool must_align(const Insn *i, const InsnRow *row, unsigned size)
{
    if (is_aligned_move(row)) {
        return true;
    }
    return !(i->prefixes & (INSN_VEX | INSN_EVEX)) && size == 16 &&
           (row->excl == EXC_2 || row->excl == EXC_4 || row->excl == EXC_CVT);
}

/* Is operand kind the one that ModRM.rm's memory form stands for? */
static bool is_memory_kind(unsigned kind)
{
    return kind == OPK_W || kind == OPK_UM || kind == OPK_Q || kind == OPK_KE || kind == OPK_E || kind == OPK_RM ||
           kind == OPK_M;
}

static void mem_access_of(const InsnRow *row, MemOperand *m)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (is_memory_kind(row->opnd[n].kind)) {
            m->read |= row->opnd[n].access & OPA_READ;
            m->write |= !!(row->opnd[n].access & OPA_WRITE);
        }
    }
}

/*
 * Masked-off elements of these classes' memory operands do not fault (SDM vol. 2 2.8; "NF"
 * classes read all).
 */
static bool suppresses_faults(const InsnRow *row)
{
    switch (row->excl) {
    case EXC_E1:
    case EXC_E2:
    case EXC_E3:
    case EXC_E4:
    case EXC_E5:
    case EXC_E6:
    case EXC_E10:
    case EXC_E11:
        return true;
    default:
        return false;
    }
}

/*
 * VBROADCAST* and VPBROADCAST*: memory's elements, of the mask's size or of the whole operand,
 * repeat over the register.
 */
static bool is_broadcast(const InsnRow *row)
{
    unsigned op = row->opcode;

    return row->map == MAP_EVEX2 && row->pfx == PFX_66 &&
           ((op >= 0x18 && op <= 0x1b) || (op >= 0x58 && op <= 0x5b) || op == 0x78 || op == 0x79);
}

static uint64_t low_bits(unsigned n)
{
    return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* Bytes of the memory operand as if nothing were broadcast from one element. */
static unsigned mem_full_size(const Insn *i, const InsnRow *row)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (row->opnd[n].kind == OPK_W) {
            return x86_operand_size(i, &row->opnd[n]);
        }
    }
    return i->mem_size;
}

/* Which elements of memory an EVEX mask lets through. */
static void mem_mask_of(X86CPU *cpu, const Insn *i, const InsnRow *row, MemOperand *m)
{
    unsigned lanes;
    uint64_t k;

    if (!i->mask || !row->elem || !(m->write || suppresses_faults(row))) {
        return;
    }
    k = cpu->st->xs.k[i->mask];
    if (row->l & 0x80) {
        lanes = 1;                      /* scalar */
    } else if (m->write) {
        lanes = m->size / row->elem;
    } else if (row->bcast) {            /* conversions: source and destination elements differ in size */
        lanes = mem_full_size(i, row) / row->bcast;
    } else {
        lanes = MAX(i->vl / row->elem, 1);
    }
    k &= low_bits(lanes);
    m->elem = m->size / lanes;
    m->count = lanes;
    m->active = k;
    if (i->prefixes & INSN_B) {
        m->elem = m->size;
        m->count = 1;
        m->active = k != 0;
    } else if (is_broadcast(row)) {
        m->elem = row->elem;
        m->count = MAX(m->size / row->elem, 1);
        m->active = 0;
        for (unsigned n = 0; n < lanes; n += m->count) {
            m->active |= k >> n & low_bits(m->count);
        }
    }
}

static void bounce_init(MemOperand *m)
{
    m->bounced = true;
    m->host = (uint8_t *)(((uintptr_t)m->buffer + 63) & ~63ull) + (m->aligned ? 0 : m->lin & 63);
    memset(m->host, 0, MAX(m->size, 16));
}

/* Bytes [first, end) of the operand that are touched; equal: none. */
static void mem_span(const MemOperand *m, unsigned *first, unsigned *end)
{
    if (!m->count) {
        *first = 0;
        *end = m->size;
    } else if (!m->active) {
        *first = *end = 0;
    } else {
        *first = __builtin_ctzll(m->active) * m->elem;
        *end = (64 - __builtin_clzll(m->active)) * m->elem;
    }
}

static void bounce_read(X86CPU *cpu, MemOperand *m)
{
    if (!m->count) {
        x86_ld_bytes(cpu, m->lin, m->host, m->size);
        return;
    }
    for (unsigned n = 0; n < m->count; n++) {
        if (m->active >> n & 1) {
            x86_ld_bytes(cpu, m->lin + n * m->elem, (uint8_t *)m->host + n * m->elem, m->elem);
        }
    }
}

static void bounce_write(X86CPU *cpu, MemOperand *m)
{
    if (!m->count) {
        x86_st_bytes(cpu, m->lin, m->host, m->size);
        return;
    }
    for (unsigned n = 0; n < m->count; n++) {
        if (m->active >> n & 1) {
            x86_st_bytes(cpu, m->lin + n * m->elem, (uint8_t *)m->host + n * m->elem, m->elem);
        }
    }
}

/*
 * The operand's address before any check of it: what alignment is judged by, ahead of
 * canonicality.
 */
static uint64_t mem_address(const X86State *st, const Insn *i)
{
    uint64_t off = ea_offset(st, i);

    return i->seg >= SEG_FS || !(st->mode & MODE_CS64) ? off + st->seg[i->seg].base : off;
}

/*
 * PUNPCKL*, UNPCKLP* and shifts by an operand need only its low half; AMD's CPUs, which alone have the misaligned mode,
 * read no more (SDM vol. 2 PUNPCKL: may fetch 64 bits).
 */
static bool reads_low_half(const InsnRow *row)
{
    static const uint8_t opcodes[] = { 0x14, 0x60, 0x61, 0x62, 0x6c, 0xd1, 0xd2, 0xd3, 0xe1, 0xe2, 0xf1, 0xf2, 0xf3 };

    return row->map == MAP_0F && memchr(opcodes, row->opcode, sizeof(opcodes));
}

/* A misaligned operand: #GP, but for AMD's misaligned mode (APM vol. 1 4.2.2), which has alignment checks instead. */
static void mem_misaligned(X86CPU *cpu, const Insn *i, const InsnRow *row, MemOperand *m)
{
    if (is_aligned_move(row) || !(cpu->st->xs.mxcsr & MXCSR_MM)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    m->aligned = true;
    m->size = reads_low_half(row) ? 8 : m->size;
    if (cpu->st->mode & MODE_AC) {
        x86_probe(cpu, ea_linear(cpu, i, m->size, m->write), m->size, m->write);
        x86_raise_err(cpu, EXCP_AC, 0);
    }
}

/*
 * Finds the operand and raises its faults; afterwards nothing about memory can fail but an MMIO
 * write.
 */
static void mem_prepare(X86CPU *cpu, const Insn *i, const InsnRow *row, MemOperand *m)
{
    unsigned first, end;

    m->size = i->mem_size;
    mem_access_of(row, m);
    mem_mask_of(cpu, i, row, m);
    mem_span(m, &first, &end);
    if (first != end && must_align(i, row, m->size) && (mem_address(cpu->st, i) & (m->size - 1))) {
        mem_misaligned(cpu, i, row, m);
        end = m->size;
    }
    if (m->write && !suppresses_faults(row)) {
        first = 0;                      /* the whole operand must be writable */
        end = m->size;
    }
    if (first == end) {                 /* nothing is touched: not even a wild address faults */
        m->lin = 0;
        bounce_init(m);
        return;
    }
    m->lin = ea_linear(cpu, i, m->size, m->write);
    if ((m->lin & 4095) + m->size <= 4096 && !m->aligned) {
        uint8_t *p = x86_host(cpu, m->lin + first, end - first, m->write);

        if (p) {
            m->host = p - first;
            return;
        }
    }
    bounce_init(m);
    if (m->write) {
        x86_probe(cpu, m->lin + first, end - first, true);
    }
    if (m->read || !m->write) {
        bounce_read(cpu, m);
    }
}

/* ---- MMX and the x87 stack ---- */

/*
 * MMX registers are physical x87 registers; the image keeps them in stack order, so bring TOP to
 * 0.
 */
void native_mmx_enter(X86XSave *xs)
{
    unsigned top = xs->fsw >> 11 & 7;
    uint8_t turned[8][16];

    if (top) {
        for (unsigned n = 0; n < 8; n++) {
            memcpy(turned[n], xs->st[(n - top) & 7], 16);
        }
        memcpy(xs->st, turned, sizeof(turned));
        xs->fsw &= ~0x3800;
    }
    xs->ftw = 0xff;
    xs->xstate_bv |= XFEATURE_X87;
}

/* Writing an MMX register sets the exponent and sign above it to ones. */
static void mmx_mark_written(X86XSave *xs, const Insn *i, const InsnRow *row)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        const InsnOperand *o = &row->opnd[n];
        unsigned r = o->kind == OPK_P ? i->reg & 7 : i->rm & 7;

        if ((o->access & OPA_WRITE) &&
            (o->kind == OPK_P || ((o->kind == OPK_Q || o->kind == OPK_N) && !x86_is_mem(i)))) {
            xs->st[r][8] = xs->st[r][9] = 0xff;
        }
    }
}

/* ---- exceptions and components ---- */

static void mark_components(X86XSave *xs, const Insn *i, const InsnRow *row)
{
    uint64_t bv = XFEATURE_SSE;

    if (i->prefixes & INSN_VEX) {
        bv |= XFEATURE_AVX;
    }
    if (i->prefixes & INSN_EVEX) {
        bv |= XFEATURE_AVX | XFEATURE_OPMASK | XFEATURE_ZMMH | XFEATURE_HI16;
    }
    if (row->excl == EXC_K20 || row->excl == EXC_K21) {
        bv = XFEATURE_OPMASK;
    }
    xs->xstate_bv |= row->excl == EXC_MMX ? XFEATURE_X87 : bv;
}

/* The row's own flags from the host's RFLAGS; those it clears come out clear there. */
static void flags_take(X86State *st, const InsnRow *row, uint64_t host)
{
    uint64_t mask = (row->flags_written | row->flags_undef) & FL_ARITH;

    st->rflags = (st->rflags & ~mask) | (host & mask);
}

static NativeStub *stub_or_stop(X86CPU *cpu, const Insn *i)
{
    NativeStub *stub = native_stub(cpu, i);

    if (!stub) {
        error_report("no memory for the code of %s", x86_mnemonic(i));
        x86_raise(cpu, EXCP_UD);
    }
    return stub;
}

/*
 * The rare way: some SIMD exception is unmasked. The instruction runs with the guest's MXCSR; the
 * host's exception ends the stub before it has stored anything.
 */
static uint64_t run_guarded(X86CPU *cpu, NativeStub *stub, MemOperand *m, NativeContext *ctx)
{
    X86State *st = cpu->st;
    uint64_t flags;
    bool faulted;

    ctx->mxcsr = st->xs.mxcsr & ~MXCSR_MM;
    faulted = !native_run_unmasked(stub, st, m->host, ctx, &flags);
    st->xs.mxcsr = ctx->mxcsr | (st->xs.mxcsr & MXCSR_MM);
    if (faulted) {
        x86_raise_simd(cpu);
    }
    return flags;
}

void sem_native_vec(X86CPU *cpu, const Insn *i)
{
    X86State *st = cpu->st;
    const InsnRow *row = x86_row(i);
    bool mxcsr = native_uses_mxcsr(row), guarded = mxcsr && (st->xs.mxcsr & MXCSR_MASKS) != MXCSR_MASKS;
    NativeContext ctx = { .mxcsr = (st->xs.mxcsr | MXCSR_MASKS) & ~(MXCSR_FLAGS | MXCSR_MM),
                          .mxcsr_host = MXCSR_HOST };
    NativeStub *stub;
    MemOperand m;
    uint64_t flags;

    check_class(cpu, i, row);
    stub = stub_or_stop(cpu, i);
    m.host = NULL;
    m.bounced = m.aligned = m.read = m.write = false;
    m.elem = m.count = 0;
    m.active = 0;
    if (x86_is_mem(i)) {
        mem_prepare(cpu, i, row, &m);
    }
    if (uses_mmx(row, i)) {
        native_mmx_enter(&st->xs);
    }
    if (G_UNLIKELY(guarded)) {
        flags = run_guarded(cpu, stub, &m, &ctx);
    } else {
        flags = stub(st, m.host, &ctx);
        if (mxcsr) {
            st->xs.mxcsr |= ctx.mxcsr & MXCSR_FLAGS;
        }
    }
    if (m.bounced && m.write) {
        bounce_write(cpu, &m);
    }
    if (row->excl == EXC_MMX || row->excl == EXC_CVT) {
        mmx_mark_written(&st->xs, i, row);
    }
    mark_components(&st->xs, i, row);
    if (row->flags_written | row->flags_undef) {
        flags_take(st, row, flags);
    }
    x86_next(st, i);
}
