/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One instruction by itself (step.h): fetch, decoding with the CPUID gates of this CPU, execution with breakpoints and
 * traps, and the whole of it for accelerators that cannot execute an instruction themselves.
 * vCPU thread only. Test: tests/unit/test-step.c.
 */
#include <string.h>

#include "target/i386/decode.h"
#include "target/i386/internal.h"
#include "target/i386/step.h"

enum { DR6_BS = 1 << 14, SHADOW_SS = 1 };

/* ---- instructions that only fault ---- */
static void fault_ud(X86CPU *cpu, const Insn *i)
{
    x86_raise(cpu, EXCP_UD);
}

static void fault_gp(X86CPU *cpu, const Insn *i)
{
    x86_raise_err(cpu, EXCP_GP, 0);
}

static void make_fault(Insn *i, X86SemFn *fn)
{
    memset(i, 0, sizeof(*i));
    i->fn = fn;
    i->length = 1;
}

/* A closed CPUID gate: #UD, but LZCNT and TZCNT without their feature are BSR and BSF with an ignored prefix. */
static void apply_gates(X86CPU *cpu, Insn *i, const uint8_t *bytes, uint32_t mode)
{
    uint8_t gates[4];
    unsigned n = x86_insn_gates(i, gates);

    for (unsigned g = 0; g < n; g++) {
        if (!x86_has_gate(cpu, gates[g])) {
            uint8_t opcode = i->opcode, copy[X86_INSN_MAX];
            unsigned length = i->length;

            if ((opcode == 0xbc || opcode == 0xbd) && (i->prefixes & INSN_REP) && x86_row(i)->map == MAP_0F) {
                memcpy(copy, bytes, length);
                for (unsigned k = 0; k < i->off_opcode; k++) {
                    copy[k] = copy[k] == 0xf3 ? 0x3e : copy[k];     /* a DS override says as little */
                }
                if (x86_decode(copy, length, mode, i) == X86_DECODE_OK) {
                    return;
                }
            }
            make_fault(i, fault_ud);
            i->length = length;
            return;
        }
    }
}

bool x86_decode_for(X86CPU *cpu, const uint8_t *bytes, size_t avail, Insn *i, bool *more)
{
    uint32_t mode = cpu->st->mode;
    const InsnRow *row;

    *more = false;
    switch (x86_decode(bytes, avail, mode, i)) {
    case X86_DECODE_OK:
        break;
    case X86_DECODE_MORE:
        *more = true;
        return true;
    case X86_DECODE_UD:
        make_fault(i, fault_ud);
        return true;
    default:
        make_fault(i, fault_gp);
        return true;
    }
    row = x86_row(i);
    apply_gates(cpu, i, bytes, mode);
    if (i->fn == fault_ud) {
        return true;
    }
    return (row->flags & ROW_END) || ((row->flags & ROW_REP) && (i->prefixes & (INSN_REP | INSN_REPNE)));
}

/* ---- fetch ---- */
void x86_fetch_check(X86CPU *cpu)
{
    const X86State *st = cpu->st;

    if (G_UNLIKELY(!(st->mode & MODE_CS64) && st->rip > st->seg[SEG_CS].limit)) {
        x86_raise_err(cpu, EXCP_GP, 0);                 /* before a page fault there (SDM table 6-2) */
    }
}

/* From a device: in aligned words, as a bus would; a word that there is not reads as ones. */
static void fetch_device(X86CPU *cpu, uint64_t gpa, uint8_t *buf, unsigned len)
{
    while (len) {
        unsigned skip = gpa & 7, n = MIN(len, 8 - skip);
        uint64_t v;

        if (address_space_ld(x86_memory(cpu), gpa - skip, &v, 8) != MEM_OK) {
            v = ~0ull;
        }
        memcpy(buf, (uint8_t *)&v + skip, n);
        gpa += n;
        buf += n;
        len -= n;
    }
}

/* Copies instruction bytes from [lin, lin+len), which lies in one page. */
static void fetch_bytes(X86CPU *cpu, uint64_t lin, uint8_t *buf, unsigned len)
{
    X86Xlat x;

    x86_xlat(cpu, x86_code_class(cpu->st), TLB_CODE, lin, &x);
    if (x.host) {
        memcpy(buf, x.host, len);
    } else {
        fetch_device(cpu, x.gpa, buf, len);
    }
}

void x86_fetch_insn(X86CPU *cpu, uint64_t lin, Insn *i)
{
    uint8_t buf[X86_INSN_MAX + 1];
    unsigned first = MIN(X86_INSN_MAX, 4096 - (lin & 0xfff));
    bool more;

    fetch_bytes(cpu, lin, buf, first);
    x86_decode_for(cpu, buf, first, i, &more);
    if (more && first < X86_INSN_MAX) {
        uint64_t next = lin + first;

        if (!(cpu->st->mode & MODE_CS64) && cpu->st->rip + first > cpu->st->seg[SEG_CS].limit) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        fetch_bytes(cpu, cpu->st->mode & MODE_CS64 ? next : (uint32_t)next, buf + first, X86_INSN_MAX - first);
        x86_decode_for(cpu, buf, X86_INSN_MAX, i, &more);
    }
    if (more) {
        make_fault(i, fault_gp);
    }
}

/* ---- execution ---- */
static bool insn_beyond_limit(const X86State *st, const Insn *i)
{
    return !(st->mode & MODE_CS64) && st->rip + i->length - 1 > st->seg[SEG_CS].limit;
}

/* Debug traps at the end of an instruction; MOV SS passes those of data on to the next one and has no trap of TF. */
static void note_traps(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint64_t hits = st->dr6_pending | cpu->debug_hits;

    cpu->debug_hits = 0;
    if (st->ev.interrupt_shadow & SHADOW_SS) {
        st->dr6_pending = hits;
        return;
    }
    st->dr6_pending = 0;
    hits |= cpu->step_trap ? DR6_BS : 0;
    if (hits) {
        x86_note_debug(cpu, hits);
    }
}

void x86_exec_insn(X86CPU *cpu, const Insn *i)
{
    X86State *st = cpu->st;
    bool after_ss = st->ev.interrupt_shadow & SHADOW_SS;

    if ((st->mode & MODE_IOBP) && !(st->rflags & FL_RF) && !after_ss) {
        uint64_t hit = x86_code_breakpoint(cpu, x86_code_linear(st));

        if (hit) {
            x86_note_debug(cpu, hit);
            return;
        }
    }
    if (insn_beyond_limit(st, i)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->ev.interrupt_shadow = 0;
    st->rflags &= ~(uint64_t)FL_RF;
    cpu->debug_hits = 0;
    cpu->step_trap = st->mode & MODE_TF;
    i->fn(cpu, i);
    if (after_ss) {
        st->ev.interrupt_shadow &= ~SHADOW_SS;          /* the first of several MOV SS casts it (SDM 6.8.3) */
    }
    note_traps(cpu);
}

/* ---- for an accelerator that does not decode ---- */

/* What was injected but not delivered: the instruction at rip has not begun. An INT n is simply executed again. */
static bool deliver_injected(X86CPU *cpu)
{
    X86State *st = cpu->st;

    if (st->ev.exception_injected) {
        x86_deliver_exception(cpu);
    } else if (st->ev.nmi_injected) {
        st->ev.nmi_injected = false;
        x86_deliver_nmi(cpu);
    } else if (st->ev.interrupt_injected && !st->ev.interrupt_soft) {
        st->ev.interrupt_injected = false;
        x86_deliver_interrupt(cpu, st->ev.interrupt_nr);
    } else {
        st->ev.interrupt_injected = false;
        return false;
    }
    return true;
}

/* One row has both sizes of the double exchange. */
static const char *name_of(const Insn *i)
{
    const char *name = i->op ? x86_mnemonic(i) : NULL;

    return name && i->opsize == 8 && !strcmp(name, "cmpxchg8b") ? "cmpxchg16b" : name;
}

static void fetch_and_execute(X86CPU *cpu, const char **mnemonic)
{
    Insn i;

    x86_fetch_check(cpu);
    x86_fetch_insn(cpu, x86_code_linear(cpu->st), &i);
    *mnemonic = name_of(&i);
    x86_exec_insn(cpu, &i);
}

/*
 * Somebody may have cleared a page's dirty bits between its translation and the store through it, and nobody empties
 * this CPU's TLB then: each page that was open to stores counts as written.
 */
static void mark_written(X86CPU *cpu)
{
    const X86State *st = cpu->st;

    for (unsigned c = 0; c < TLB_CLASSES; c++) {
        for (unsigned w = 0; w < X86_TLB_SIZE / 64; w++) {
            for (uint64_t bits = st->tlb_used[c][TLB_WRITE][w]; bits; bits &= bits - 1) {
                unsigned n = w * 64 + __builtin_ctzll(bits);
                const X86PhysPage *p = x86_phys_page(cpu, st->tlb_side[c][TLB_WRITE][n].gpa);

                if (p->ram) {
                    ram_dirty_set(p->ram_page, 1);
                }
            }
        }
    }
}

X86StepResult x86_step_one(X86CPU *cpu, const char **mnemonic)
{
    X86State *st = cpu->st;
    volatile X86StepResult result = X86_STEP_FAULT;     /* over siglongjmp */
    sigjmp_buf jmp, *outer = cpu->fault_jmp;

    *mnemonic = NULL;
    st->ev.exception_pending = false;
    x86_tlb_flush_memory(cpu);
    cpu->fault_jmp = &jmp;
    if (!sigsetjmp(jmp, 0)) {
        if (deliver_injected(cpu)) {
            result = X86_STEP_DELIVERED;
        } else {
            fetch_and_execute(cpu, mnemonic);
            result = X86_STEP_DONE;
        }
    }
    cpu->fault_jmp = outer;
    mark_written(cpu);
    x86_tlb_flush_memory(cpu);
    return st->ev.triple_fault_pending ? X86_STEP_FAULT : result;
}
