/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MOVS STOS LODS SCAS CMPS INS OUTS with REP, REPE, REPNE (SDM vol. 2). rCX, rSI and rDI are right after each
 * element, so a fault or an interrupt may come between any two; every now and then a REP asks whether somebody wants
 * the CPU and then leaves with rip unchanged. Runs inside pages of RAM go through host addresses at host speed.
 * Test: tests/unit/test-sem.c.
 */
#include "sem.h"

/* Elements between two looks at x86_must_leave(); also bounds what one fast run copies. */
#define REP_CHUNK 256

typedef struct StringOp {
    X86CPU *cpu;
    const Insn *i;
    unsigned size;
    int64_t step;           /* size, or minus size with DF */
    bool stop;              /* REPE/REPNE: condition says so */
} StringOp;

typedef void Element(StringOp *s);
/* Does up to max elements at once and returns how many; 0: not this way. */
typedef uint64_t Run(StringOp *s, uint64_t max);

static uint64_t offset_of(StringOp *s, unsigned reg)
{
    return ea_truncate(s->i, s->cpu->st->regs[reg]);
}

static void advance(StringOp *s, unsigned reg, uint64_t n)
{
    reg_write(s->cpu->st, reg, s->cpu->st->regs[reg] + n * s->step, s->i->adsize);
}

static uint64_t source(StringOp *s)
{
    return x86_linear(s->cpu, s->i->seg, offset_of(s, R_RSI), s->size, false);
}

static uint64_t destination(StringOp *s, bool write)
{
    return x86_linear(s->cpu, SEG_ES, offset_of(s, R_RDI), s->size, write);
}

/* The REP loop. fast may be NULL. */
static void repeat(X86CPU *cpu, const Insn *i, Element *element, Run *fast)
{
    X86State *st = cpu->st;
    StringOp s = {
        .cpu = cpu, .i = i, .size = i->opsize,
        .step = st->rflags & FL_DF ? -(int64_t)i->opsize : i->opsize,
    };
    uint64_t count = reg_read(st, R_RCX, i->adsize);
    unsigned chunk = st->mode & (MODE_TF | MODE_IOBP) ? 1 : REP_CHUNK, budget = chunk;

    if (!(i->prefixes & (INSN_REP | INSN_REPNE))) {
        element(&s);
        x86_next(st, i);
        return;
    }
    while (count != 0 && !s.stop) {
        uint64_t done = fast && budget > 1 ? fast(&s, count) : 0;
        if (done == 0) {
            element(&s);
            done = 1;
            budget--;
        } else {
            budget /= 2;
        }
        count -= done;
        reg_write(st, R_RCX, count, i->adsize);
        if (budget == 0) {
            if (count != 0 && !s.stop && (x86_must_leave(cpu) || (st->mode & MODE_TF) || cpu->debug_hits)) {
                st->rflags |= FL_RF;                    /* what interrupts it pushes so (SDM 18.3.1.1) */
                return;
            }
            budget = chunk;
        }
    }
    x86_next(st, i);
}

/* ---- fast runs: forward, flat or well inside the segment, inside one page of RAM ---- */
static bool offset_is_plain(StringOp *s, int seg, uint64_t off, uint64_t len)
{
    const X86State *st = s->cpu->st;
    const X86Segment *d = &st->seg[seg];

    if (st->mode & MODE_CS64) {
        return s->i->adsize == 8 || off + len <= 1ull << 32;
    }
    if (!(st->mode & MODE_PE) || (st->mode & MODE_VM)) {
        return off + len - 1 <= d->limit && off + len <= 0x10000;
    }
    return !d->unusable && off + len - 1 <= d->limit && off + len <= (s->i->adsize == 2 ? 0x10000ull : 1ull << 32) &&
           ((d->attr & DESC_CODE) || !(d->attr & DESC_E));
}

/* Elements of one string that lie inside one page and one segment; *lin: its start. */
static uint64_t run_length(StringOp *s, int seg, unsigned reg, uint64_t max, bool write, uint64_t *lin)
{
    uint64_t off = offset_of(s, reg), n;

    *lin = x86_linear(s->cpu, seg, off, s->size, write);
    n = (4096 - (*lin & 4095)) / s->size;
    n = n < max ? n : max;
    return n > 1 && offset_is_plain(s, seg, off, n * s->size) ? n : 0;
}

static bool may_run(StringOp *s)
{
    return s->step > 0 && !(s->cpu->st->mode & (MODE_AC | MODE_WATCH));
}

static uint64_t movs_run(StringOp *s, uint64_t max)
{
    uint64_t from, to, n;
    void *src, *dst;

    if (!may_run(s)) {
        return 0;
    }
    n = run_length(s, s->i->seg, R_RSI, max, false, &from);
    n = n ? run_length(s, SEG_ES, R_RDI, n, true, &to) : 0;
    src = n ? x86_host(s->cpu, from, n * s->size, false) : NULL;
    dst = src ? x86_host(s->cpu, to, n * s->size, true) : NULL;
    if (!dst) {
        return 0;
    }
    /* The host's own REP MOVS: overlapping strings repeat as the guest expects. */
    max = n;
    switch (s->size) {
    case 1: asm volatile("rep movsb" : "+S"(src), "+D"(dst), "+c"(max) : : "memory"); break;
    case 2: asm volatile("rep movsw" : "+S"(src), "+D"(dst), "+c"(max) : : "memory"); break;
    case 4: asm volatile("rep movsl" : "+S"(src), "+D"(dst), "+c"(max) : : "memory"); break;
    default: asm volatile("rep movsq" : "+S"(src), "+D"(dst), "+c"(max) : : "memory"); break;
    }
    advance(s, R_RSI, n);
    advance(s, R_RDI, n);
    return n;
}

static uint64_t stos_run(StringOp *s, uint64_t max)
{
    uint64_t to, n, v = s->cpu->st->regs[R_RAX];
    void *dst;

    if (!may_run(s)) {
        return 0;
    }
    n = run_length(s, SEG_ES, R_RDI, max, true, &to);
    dst = n ? x86_host(s->cpu, to, n * s->size, true) : NULL;
    if (!dst) {
        return 0;
    }
    max = n;
    switch (s->size) {
    case 1: asm volatile("rep stosb" : "+D"(dst), "+c"(max) : "a"(v) : "memory"); break;
    case 2: asm volatile("rep stosw" : "+D"(dst), "+c"(max) : "a"(v) : "memory"); break;
    case 4: asm volatile("rep stosl" : "+D"(dst), "+c"(max) : "a"(v) : "memory"); break;
    default: asm volatile("rep stosq" : "+D"(dst), "+c"(max) : "a"(v) : "memory"); break;
    }
    advance(s, R_RDI, n);
    return n;
}

/* ---- one element ---- */
static void movs_one(StringOp *s)
{
    uint64_t v = sem_ld_at(s->cpu, source(s), s->size);

    sem_st_at(s->cpu, destination(s, true), v, s->size);
    advance(s, R_RSI, 1);
    advance(s, R_RDI, 1);
}

static void stos_one(StringOp *s)
{
    sem_st_at(s->cpu, destination(s, true), s->cpu->st->regs[R_RAX], s->size);
    advance(s, R_RDI, 1);
}

static void lods_one(StringOp *s)
{
    reg_write(s->cpu->st, R_RAX, sem_ld_at(s->cpu, source(s), s->size), s->size);
    advance(s, R_RSI, 1);
}

/* Flags of a - b, and what REPE or REPNE makes of them. */
static void compare(StringOp *s, uint64_t a, uint64_t b)
{
    unsigned ax, up = 64 - s->size * 8;
    uint64_t wide_a = a << up, wide_b = b << up;
    uint8_t low_a = a, low_b = b, low = low_a - low_b;

    asm("cmp %2,%1" ASM_FLAGS : "=&a"(ax) : "r"(wide_a), "r"(wide_b) : "cc");
    ax = flags_of_ax(ax) & ~(FL_PF | FL_AF);
    ax |= (__builtin_parity(low) ? 0 : FL_PF) | ((low_a & 15) < (low_b & 15) ? FL_AF : 0);
    set_flags(s->cpu->st, ax, FL_ARITH);
    s->stop = !!(ax & FL_ZF) != !!(s->i->prefixes & INSN_REP);
}

static void scas_one(StringOp *s)
{
    uint64_t v = sem_ld_at(s->cpu, destination(s, false), s->size);

    advance(s, R_RDI, 1);
    compare(s, s->cpu->st->regs[R_RAX], v);
}

static void cmps_one(StringOp *s)
{
    uint64_t a = sem_ld_at(s->cpu, source(s), s->size);
    uint64_t b = sem_ld_at(s->cpu, destination(s, false), s->size);

    advance(s, R_RSI, 1);
    advance(s, R_RDI, 1);
    compare(s, a, b);
}

static void ins_one(StringOp *s)
{
    uint16_t port = rd_w(s->cpu->st, R_RDX);
    uint64_t lin;

    x86_io_check(s->cpu, port, s->size);
    lin = destination(s, true);
    x86_probe(s->cpu, lin, s->size, true);
    sem_st_at(s->cpu, lin, x86_io_in(s->cpu, port, s->size), s->size);
    advance(s, R_RDI, 1);
}

static void outs_one(StringOp *s)
{
    uint16_t port = rd_w(s->cpu->st, R_RDX);
    uint64_t v;

    x86_io_check(s->cpu, port, s->size);
    v = sem_ld_at(s->cpu, source(s), s->size);
    x86_io_out(s->cpu, port, s->size, v);
    advance(s, R_RSI, 1);
}

SEM(movs) { repeat(cpu, i, movs_one, movs_run); }
SEM(stos) { repeat(cpu, i, stos_one, stos_run); }
SEM(lods) { repeat(cpu, i, lods_one, NULL); }
SEM(scas) { repeat(cpu, i, scas_one, NULL); }
SEM(cmps) { repeat(cpu, i, cmps_one, NULL); }

/* A port takes at most 32 bits. */
static void port_string(X86CPU *cpu, const Insn *i, Element *element)
{
    Insn narrow = *i;

    if (i->opsize == 8) {
        narrow.opsize = 4;
    }
    x86_io_check(cpu, rd_w(cpu->st, R_RDX), narrow.opsize);     /* even if the count is zero */
    repeat(cpu, &narrow, element, NULL);
}

SEM(ins) { port_string(cpu, i, ins_one); }
SEM(outs) { port_string(cpu, i, outs_one); }
