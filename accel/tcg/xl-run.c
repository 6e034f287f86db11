/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running translated code: in from the run loop, out again, and what it asks of C in between.
 *
 * A request (XlHot.req) is cleared before the run loop looks at what was asked, so that none is lost. The jump tables
 * are emptied when translations of addresses, the mode or the code may have changed. The vCPU's thread.
 * Test: tests/insn, tests/bare.
 */
#include "accel/tcg/xl.h"

#define MXCSR_MM (1u << 17)
/* Modes that are looked at between instructions, or change addresses: the interpreter's. */
#define XL_MODE_NOT (MODE_VM | MODE_ADDSEG | MODE_AC | MODE_TF | MODE_IOBP | MODE_DEBUG | MODE_WATCH | MODE_LAM)

bool xl_host_ok(void)
{
    return __builtin_cpu_supports("bmi2");
}

bool xl_mode_ok(const X86CPU *cpu)
{
    const X86State *st = cpu->st;
    const X86Segment *cs = &st->seg[SEG_CS];

    if ((st->mode & XL_MODE_NOT) || !(st->mode & MODE_PE) || (st->xs.mxcsr & MXCSR_MM)) {
        return false;
    }
    return (st->mode & MODE_CS64)
        || ((st->mode & MODE_CS32) && (st->mode & MODE_SS32) && !cs->base && cs->limit == 0xffffffff);
}

/* ---- flags ---- */
static void image_to_state(X86State *st)
{
    uint64_t image = xl_hot(st)->image;

    st->rflags = (st->rflags & ~(uint64_t)FL_ARITH) | (image >> 8 & 0xd5) | (image & 1) << 11;
}

static void image_from_state(X86State *st)
{
    xl_hot(st)->image = (st->rflags & 0xd5) << 8 | (st->rflags >> 11 & 1);
}

/* ---- the interpreter inside a block ---- */
uint32_t xl_c_slow(X86State *st, const Insn *i)
{
    X86CPU *cpu = st->self;
    XlHot *hot = xl_hot(st);
    struct X86BlockCache *bc = cpu->blocks;
    uint32_t mode = st->mode;

    bc->xl->stats.slow++;
    image_to_state(st);
    st->rip = hot->code_base + i->page_offset;
    bc->end = i + 1;
    i->fn(cpu, i);
    image_from_state(st);                               /* first: xl_run() takes the flags from there, too */
    if (bc->end != i + 1 || st->rip != hot->code_base + i->page_offset + i->length || st->mode != mode
        || st->tlb_generation != bc->xl->tlb_generation || (st->xs.mxcsr & MXCSR_MM)
        || x86_must_leave(cpu)) {
        return 1;
    }
    return 0;
}

void xl_c_end(X86State *st, const Insn *i)
{
    X86CPU *cpu = st->self;
    struct X86BlockCache *bc = cpu->blocks;

    bc->xl->stats.ends++;
    image_to_state(st);
    st->rip = xl_hot(st)->code_base + i->page_offset;
    bc->end = i + 1;
    i->fn(cpu, i);
    image_from_state(st);                               /* xl_run() takes them from there */
}

/* ---- jump tables and links ---- */
static void tables_check(X86CPU *cpu)
{
    X86State *st = cpu->st;
    XlHot *hot = xl_hot(st);
    struct XlCpu *xc = cpu->blocks->xl;
    unsigned cls = st->tlb_class_now;

    if (st->tlb_generation != xc->tlb_generation || hot->stale) {
        hot->stale = 0;
        xc->tlb_generation = st->tlb_generation;
        xc->bind = -1;
        for (unsigned c = 0; c < TLB_CLASSES; c++) {
            xl_jumps_flush(cpu, c);
        }
    }
    if (xc->jump_mode[cls] != (st->mode & BLOCK_MODE)) {
        xc->jump_mode[cls] = st->mode & BLOCK_MODE;
        xl_jumps_flush(cpu, cls);
    }
}

static void jump_note(X86CPU *cpu, const Block *b)
{
    X86State *st = cpu->st;
    unsigned cls = st->tlb_class_now, n = st->rip % XL_JUMPS;

    xl_tables(st)->jump[cls][n] = (XlJump) { st->rip, b->native };
    cpu->blocks->xl->jump_used[cls][n / 64] |= 1ull << (n % 64);
}

static void link_bind(X86CPU *cpu, const Block *b)
{
    struct XlCpu *xc = cpu->blocks->xl;
    unsigned off = cpu->st->rip & 4095;

    if (xc->bind >= 0 && xc->bind_base == (cpu->st->rip & ~4095ull)
        && (xc->link_offset[xc->bind] & 4095) == off) {
        xl_tables(cpu->st)->link[xc->bind] = xl_entry(b, xc->link_offset[xc->bind] & XL_LINK_BACK);
    }
    xc->bind = -1;
}

void xl_notify_stale(X86CPU *cpu)
{
    atomic_store((_Atomic uint32_t *)&xl_hot(cpu->st)->stale, 1);
    vcpu_kick(&cpu->vcpu);
}

/* A host fault: the interpreter runs the instruction that it happened in. */
static void run_faulted(X86CPU *cpu)
{
    X86State *st = cpu->st;
    struct X86BlockCache *bc = cpu->blocks;
    const Insn *i = xl_code_find(bc->xl, xl_hot(st)->fault_pc);

    bc->xl->stats.faults++;
    st->rip = xl_hot(st)->code_base + i->page_offset;
    bc->end = i + 1;
    i->fn(cpu, i);
}

void xl_run(X86CPU *cpu, Block *b)
{
    X86State *st = cpu->st;
    XlHot *hot = xl_hot(st);
    struct XlCpu *xc = cpu->blocks->xl;
    XlExit why;

    tables_check(cpu);
    if (b->page && b->page->gen != b->gen) {
        return;                                         /* overwritten since it was looked up: not into the tables */
    }
    jump_note(cpu, b);
    link_bind(cpu, b);
    hot->code_base = st->rip & ~4095ull;
    cpu->blocks->running = NULL;
    xc->stats.exits++;
    image_from_state(st);
    why = xl_enter(st, xl_entry(b, false));
    image_to_state(st);
    switch (why) {
    case XL_EXIT_LINK:
        xc->stats.links++;
        xc->bind = hot->arg;
        xc->bind_base = hot->code_base;
        st->rip = hot->code_base + (xc->link_offset[hot->arg] & 4095);
        break;
    case XL_EXIT_FAULT:
        run_faulted(cpu);
        break;
    default:
        break;
    }
}
