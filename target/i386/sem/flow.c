/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jcc JMP CALL RET LOOPcc JrCXZ, near; far transfers, INT, IRET, SYSCALL and SYSENTER families hand over to seg.c and
 * excp.c (SDM vol. 2). A target outside the canonical range or the limit faults in the branch.
 * Test: tests/unit/test-sem.c.
 */
#include "sem.h"

#define TARGET(st, i, bits) ((uint##bits##_t)((st)->rip + (i)->length + (i)->imm))

/* Canonical, or within the limit of CS. */
static inline bool target_is_good(const X86State *st, uint64_t to)
{
    unsigned shift = st->cr4 & CR4_LA57 ? 7 : 16;

    if (st->mode & MODE_CS64) {
        return G_LIKELY((uint64_t)((int64_t)(to << shift) >> shift) == to);
    }
    return G_LIKELY(to <= st->seg[SEG_CS].limit);
}

/* A bad target faults in the branch itself. */
static inline uint64_t near_target(X86CPU *cpu, uint64_t to)
{
    if (!target_is_good(cpu->st, to)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    return to;
}

#define JCC(name, cc, s, bits) \
SEM(j##name##_##s) \
{ \
    X86State *st = cpu->st; \
    if (cond_true(st->rflags, cc)) { \
        st->rip = near_target(cpu, TARGET(st, i, bits)); \
    } else { \
        x86_next(st, i); \
    } \
}
#define JCCS(name, cc) JCC(name, cc, w, 16) JCC(name, cc, d, 32) JCC(name, cc, q, 64)
JCCS(o, 0) JCCS(no, 1) JCCS(b, 2) JCCS(ae, 3) JCCS(e, 4) JCCS(ne, 5) JCCS(be, 6) JCCS(a, 7)
JCCS(s, 8) JCCS(ns, 9) JCCS(p, 10) JCCS(np, 11) JCCS(l, 12) JCCS(ge, 13) JCCS(le, 14) JCCS(g, 15)

/* Of a CALL: the return address could be pushed first. */
static inline uint64_t call_target(X86CPU *cpu, uint64_t to, unsigned size)
{
    X86State *st = cpu->st;

    if (!target_is_good(st, to)) {
        uint64_t sp = (st->regs[R_RSP] - size) & stack_mask(st);

        x86_probe(cpu, x86_linear(cpu, SEG_SS, sp, size, true), size, true);
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    return to;
}

#define NEAR(s, bits) \
SEM(jmp_near_##s) { cpu->st->rip = near_target(cpu, TARGET(cpu->st, i, bits)); } \
SEM(jmp_E_##s) { X86State *st = cpu->st; \
    st->rip = near_target(cpu, x86_is_mem(i) ? ld_##s(cpu, i) : rd_##s(st, i->rm)); } \
SEM(call_near_##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t to = call_target(cpu, TARGET(st, i, bits), bits / 8); \
    push_sized(cpu, next_rip(st, i), bits / 8); \
    st->rip = to; \
} \
SEM(call_E_##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t to = call_target(cpu, x86_is_mem(i) ? ld_##s(cpu, i) : rd_##s(st, i->rm), bits / 8); \
    push_sized(cpu, next_rip(st, i), bits / 8); \
    st->rip = to; \
} \
SEM(ret_near_##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t to = near_target(cpu, (uint##bits##_t)stack_top(cpu, bits / 8)); \
    set_rsp(st, st->regs[R_RSP] + bits / 8); \
    st->rip = to; \
} \
SEM(ret_near_i_##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t to = near_target(cpu, (uint##bits##_t)stack_top(cpu, bits / 8)); \
    set_rsp(st, st->regs[R_RSP] + bits / 8 + (uint16_t)i->imm); \
    st->rip = to; \
}
NEAR(w, 16)
NEAR(d, 32)
NEAR(q, 64)

static void jump_if(X86CPU *cpu, const Insn *i, bool taken)
{
    X86State *st = cpu->st;

    if (taken) {
        st->rip = near_target(cpu, (st->rip + i->length + i->imm) & size_mask(i->opsize));
    } else {
        x86_next(st, i);
    }
}

/* E0 LOOPNE, E1 LOOPE, E2 LOOP; the counter has the address size. */
SEM(loopcc)
{
    X86State *st = cpu->st;
    uint64_t count = reg_read(st, R_RCX, i->adsize) - 1;
    bool zf = st->rflags & FL_ZF;

    jump_if(cpu, i, ea_truncate(i, count) != 0 && (i->opcode == 0xe2 || zf == (i->opcode & 1)));
    reg_write(st, R_RCX, count, i->adsize);
}

SEM(jcxz)
{
    jump_if(cpu, i, reg_read(cpu->st, R_RCX, i->adsize) == 0);
}

/* ---- far ---- */
typedef struct FarPointer {
    uint64_t offset;
    uint16_t selector;
} FarPointer;

static FarPointer load_far(X86CPU *cpu, const Insn *i)
{
    FarPointer p;

    p.offset = sem_ld_at(cpu, ea_linear(cpu, i, i->opsize, false), i->opsize);
    p.selector = x86_ld16(cpu, ea_linear_at(cpu, i, i->opsize, 2, false));
    return p;
}

SEM(jmpf_i) { x86_far_jmp(cpu, i->imm2, i->imm, i->opsize, next_rip(cpu->st, i)); }
SEM(callf_i) { x86_far_call(cpu, i->imm2, i->imm, i->opsize, next_rip(cpu->st, i)); }

SEM(jmpf_m)
{
    FarPointer p = load_far(cpu, i);

    x86_far_jmp(cpu, p.selector, p.offset, i->opsize, next_rip(cpu->st, i));
}

SEM(callf_m)
{
    FarPointer p = load_far(cpu, i);

    x86_far_call(cpu, p.selector, p.offset, i->opsize, next_rip(cpu->st, i));
}

SEM(retf) { x86_far_ret(cpu, i->opsize, (uint16_t)i->imm); }
SEM(iret) { x86_iret(cpu, i->opsize, next_rip(cpu->st, i)); }

SEM(int3) { x86_soft_int(cpu, EXCP_BP, next_rip(cpu->st, i), true, false); }
SEM(int) { x86_soft_int(cpu, (uint8_t)i->imm, next_rip(cpu->st, i), false, false); }
SEM(icebp) { x86_soft_int(cpu, EXCP_DB, next_rip(cpu->st, i), false, true); }

SEM(into)
{
    if (cpu->st->rflags & FL_OF) {
        x86_soft_int(cpu, EXCP_OF, next_rip(cpu->st, i), true, false);
    } else {
        x86_next(cpu->st, i);
    }
}

SEM(syscall) { x86_syscall(cpu, next_rip(cpu->st, i)); }
SEM(sysret) { x86_sysret(cpu, i->opsize); }
SEM(sysenter) { x86_sysenter(cpu, next_rip(cpu->st, i)); }
SEM(sysexit) { x86_sysexit(cpu, i->opsize); }
SEM(rsm) { x86_rsm(cpu); }

/* A transaction that starts aborts at once, with "no reason" in EAX: always allowed. */
SEM(xbegin)
{
    wr_d(cpu->st, R_RAX, 0);
    jump_if(cpu, i, true);
}

SEM(xend) { x86_raise_err(cpu, EXCP_GP, 0); }

SEM(xtest)
{
    set_flags(cpu->st, FL_ZF, FL_ARITH);
    x86_next(cpu->st, i);
}
