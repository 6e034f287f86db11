/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ADD OR ADC SBB AND SUB XOR CMP TEST, INC DEC NOT NEG in every form (SDM vol. 2).
 *
 * One template each: the host's instruction on values, or on guest memory through its host address (with LOCK
 * where the guest says LOCK: vCPUs are threads). Names: EG = E,G; GE = G,E; EI = E,immediate; then r or m, then
 * the size. Test: tests/unit/test-sem.c.
 */
#include "sem.h"

#define CARRY_NO ""
#define CARRY_IN "btl $0,%3; "

/* mn_op_s: value and flags; WR: is the result written? */
#define ALU_VALUE(mn, s, bits, carry) \
static inline uint##bits##_t mn##_op_##s(X86State *st, uint##bits##_t a, uint##bits##_t b) \
{ \
    unsigned ax; \
    asm(carry #mn " %2,%0" ASM_FLAGS \
        : "+r"(a), "=&a"(ax) : "r"(b), "r"((uint32_t)st->rflags) : "cc"); \
    set_arith_ax(st, ax); \
    return a; \
}

#define ALU_MEM(mn, s, bits, carry) \
static void mn##_mem_slow_##s(X86CPU *cpu, const Insn *i, uint64_t lin, uint##bits##_t b) \
{ \
    if (is_locked(i)) { \
        x86_atomic_begin(cpu); \
    } \
    sem_st_at(cpu, lin, mn##_op_##s(cpu->st, sem_ld_at(cpu, lin, bits / 8), b), bits / 8); \
    if (is_locked(i)) { \
        x86_atomic_end(cpu); \
    } \
} \
static inline void mn##_mem_##s(X86CPU *cpu, const Insn *i, uint##bits##_t b) \
{ \
    X86State *st = cpu->st; \
    uint64_t lin; \
    sem_u##bits *p = rmw_ptr(cpu, i, bits / 8, &lin); \
    unsigned ax; \
    if (G_UNLIKELY(!p)) { \
        mn##_mem_slow_##s(cpu, i, lin, b); \
        return; \
    } \
    if (is_locked(i)) { \
        asm volatile(carry "lock; " #mn " %2,%0" ASM_FLAGS \
                     : "+m"(*p), "=&a"(ax) : "r"(b), "r"((uint32_t)st->rflags) : "cc", "memory"); \
    } else { \
        asm volatile(carry #mn " %2,%0" ASM_FLAGS \
                     : "+m"(*p), "=&a"(ax) : "r"(b), "r"((uint32_t)st->rflags) : "cc", "memory"); \
    } \
    set_arith_ax(st, ax); \
}

#define ALU_WRITING(mn, s, bits) \
SEM(mn##_EG_r##s) { X86State *st = cpu->st; \
    wr_##s(st, i->rm, mn##_op_##s(st, rd_##s(st, i->rm), rd_##s(st, i->reg))); x86_next(st, i); } \
SEM(mn##_GE_r##s) { X86State *st = cpu->st; \
    wr_##s(st, i->reg, mn##_op_##s(st, rd_##s(st, i->reg), rd_##s(st, i->rm))); x86_next(st, i); } \
SEM(mn##_GE_m##s) { X86State *st = cpu->st; uint##bits##_t v = ld_##s(cpu, i); \
    wr_##s(st, i->reg, mn##_op_##s(st, rd_##s(st, i->reg), v)); x86_next(st, i); } \
SEM(mn##_EI_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, mn##_op_##s(st, rd_##s(st, i->rm), i->imm)); \
    x86_next(st, i); } \
SEM(mn##_EG_m##s) { mn##_mem_##s(cpu, i, rd_##s(cpu->st, i->reg)); x86_next(cpu->st, i); } \
SEM(mn##_EI_m##s) { mn##_mem_##s(cpu, i, i->imm); x86_next(cpu->st, i); }

#define ALU_COMPARING(mn, s, bits) \
SEM(mn##_EG_r##s) { X86State *st = cpu->st; mn##_op_##s(st, rd_##s(st, i->rm), rd_##s(st, i->reg)); x86_next(st, i); } \
SEM(mn##_EI_r##s) { X86State *st = cpu->st; mn##_op_##s(st, rd_##s(st, i->rm), i->imm); x86_next(st, i); } \
SEM(mn##_EG_m##s) { X86State *st = cpu->st; mn##_op_##s(st, ld_##s(cpu, i), rd_##s(st, i->reg)); x86_next(st, i); } \
SEM(mn##_EI_m##s) { X86State *st = cpu->st; mn##_op_##s(st, ld_##s(cpu, i), i->imm); x86_next(st, i); }

#define ALU_COMPARING_GE(mn, s, bits) \
SEM(mn##_GE_r##s) { X86State *st = cpu->st; mn##_op_##s(st, rd_##s(st, i->reg), rd_##s(st, i->rm)); x86_next(st, i); } \
SEM(mn##_GE_m##s) { X86State *st = cpu->st; mn##_op_##s(st, rd_##s(st, i->reg), ld_##s(cpu, i)); x86_next(st, i); }

#define EACH_SIZE(M, mn, ...) \
    M(mn, b, 8 __VA_OPT__(,) __VA_ARGS__) M(mn, w, 16 __VA_OPT__(,) __VA_ARGS__) \
    M(mn, d, 32 __VA_OPT__(,) __VA_ARGS__) M(mn, q, 64 __VA_OPT__(,) __VA_ARGS__)

#define ALU(mn, carry) \
    EACH_SIZE(ALU_VALUE, mn, carry) EACH_SIZE(ALU_MEM, mn, carry) EACH_SIZE(ALU_WRITING, mn)

ALU(add, CARRY_NO)
ALU(or, CARRY_NO)
ALU(adc, CARRY_IN)
ALU(sbb, CARRY_IN)
ALU(and, CARRY_NO)
ALU(sub, CARRY_NO)
ALU(xor, CARRY_NO)
EACH_SIZE(ALU_VALUE, cmp, CARRY_NO)
EACH_SIZE(ALU_COMPARING, cmp)
EACH_SIZE(ALU_COMPARING_GE, cmp)
EACH_SIZE(ALU_VALUE, test, CARRY_NO)
EACH_SIZE(ALU_COMPARING, test)

/* INC, DEC keep CF; NEG writes all; NOT writes none. */
#define UNARY(mn, s, bits, sfx, mask) \
static inline uint##bits##_t mn##_op_##s(X86State *st, uint##bits##_t a) \
{ \
    unsigned ax; \
    asm(#mn " %0" ASM_FLAGS : "+r"(a), "=&a"(ax) : : "cc"); \
    set_flags(st, flags_of_ax(ax), mask); \
    return a; \
} \
SEM(mn##_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, mn##_op_##s(st, rd_##s(st, i->rm))); x86_next(st, i); } \
SEM(mn##_m##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t lin; \
    sem_u##bits *p = rmw_ptr(cpu, i, bits / 8, &lin); \
    unsigned ax; \
    if (G_LIKELY(p)) { \
        if (is_locked(i)) { \
            asm volatile("lock; " #mn sfx " %0" ASM_FLAGS : "+m"(*p), "=&a"(ax) : : "cc", "memory"); \
        } else { \
            asm volatile(#mn sfx " %0" ASM_FLAGS : "+m"(*p), "=&a"(ax) : : "cc", "memory"); \
        } \
        set_flags(st, flags_of_ax(ax), mask); \
    } else { \
        if (is_locked(i)) { \
            x86_atomic_begin(cpu); \
        } \
        sem_st_at(cpu, lin, mn##_op_##s(st, sem_ld_at(cpu, lin, bits / 8)), bits / 8); \
        if (is_locked(i)) { \
            x86_atomic_end(cpu); \
        } \
    } \
    x86_next(st, i); \
}

#define UNARIES(mn, mask) \
    UNARY(mn, b, 8, "b", mask) UNARY(mn, w, 16, "w", mask) UNARY(mn, d, 32, "l", mask) UNARY(mn, q, 64, "q", mask)

UNARIES(inc, FL_ARITH & ~FL_CF)
UNARIES(dec, FL_ARITH & ~FL_CF)
UNARIES(neg, FL_ARITH)
UNARIES(not, 0)
