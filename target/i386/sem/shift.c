/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shifts and rotates: ROL ROR RCL RCR SHL SHR SAR by immediate, 1 and CL; SHLD, SHRD (SDM vol. 2).
 *
 * The host masks counts as the guest does, wraps RCL/RCR counts and gives OF for counts above 1 its own way. AF stays
 * as it was. A count of zero changes no flag. Test: tests/unit/test-sem.c.
 */
#include "sem.h"

#define CARRY_NO ""
#define CARRY_IN "btl $0,%3; "
#define ROTATE_FLAGS (FL_CF | FL_OF)
#define SHIFT_FLAGS (FL_ARITH & ~FL_AF)

#define SHIFT(mn, s, bits, carry, mask) \
static inline uint##bits##_t mn##_op_##s(X86State *st, uint##bits##_t a, unsigned count) \
{ \
    unsigned ax; \
    count &= bits == 64 ? 63 : 31; \
    if (count == 0) { \
        return a; \
    } \
    asm(carry #mn " %b2,%0" ASM_FLAGS : "+r"(a), "=&a"(ax) : "c"(count), "r"((uint32_t)st->rflags) : "cc"); \
    set_flags(st, flags_of_ax(ax), mask); \
    return a; \
} \
static void mn##_mem_##s(X86CPU *cpu, const Insn *i, unsigned count) \
{ \
    uint64_t lin; \
    sem_u##bits *p = rmw_ptr(cpu, i, bits / 8, &lin); \
    if (G_LIKELY(p)) { \
        *p = mn##_op_##s(cpu->st, *p, count); \
    } else { \
        sem_st_at(cpu, lin, mn##_op_##s(cpu->st, sem_ld_at(cpu, lin, bits / 8), count), bits / 8); \
    } \
} \
SEM(mn##_EI_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, mn##_op_##s(st, rd_##s(st, i->rm), i->imm)); \
    x86_next(st, i); } \
SEM(mn##_E1_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, mn##_op_##s(st, rd_##s(st, i->rm), 1)); \
    x86_next(st, i); } \
SEM(mn##_EC_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, mn##_op_##s(st, rd_##s(st, i->rm), rd_b(st, R_RCX))); \
    x86_next(st, i); } \
SEM(mn##_EI_m##s) { mn##_mem_##s(cpu, i, i->imm); x86_next(cpu->st, i); } \
SEM(mn##_E1_m##s) { mn##_mem_##s(cpu, i, 1); x86_next(cpu->st, i); } \
SEM(mn##_EC_m##s) { mn##_mem_##s(cpu, i, rd_b(cpu->st, R_RCX)); x86_next(cpu->st, i); }

#define SHIFTS(mn, carry, mask) \
    SHIFT(mn, b, 8, carry, mask) SHIFT(mn, w, 16, carry, mask) SHIFT(mn, d, 32, carry, mask) \
    SHIFT(mn, q, 64, carry, mask)

SHIFTS(rol, CARRY_NO, ROTATE_FLAGS)
SHIFTS(ror, CARRY_NO, ROTATE_FLAGS)
SHIFTS(rcl, CARRY_IN, ROTATE_FLAGS)
SHIFTS(rcr, CARRY_IN, ROTATE_FLAGS)
SHIFTS(shl, CARRY_NO, SHIFT_FLAGS)
SHIFTS(shr, CARRY_NO, SHIFT_FLAGS)
SHIFTS(sar, CARRY_NO, SHIFT_FLAGS)

#define DOUBLE(mn, s, bits) \
static uint64_t mn##_##s(X86State *st, uint64_t to, uint64_t from, unsigned count) \
{ \
    uint##bits##_t a = to, b = from; \
    unsigned ax; \
    asm(#mn " %%cl,%2,%0" ASM_FLAGS : "+r"(a), "=&a"(ax) : "r"(b), "c"(count) : "cc"); \
    set_flags(st, flags_of_ax(ax), SHIFT_FLAGS); \
    return a; \
}
DOUBLE(shld, w, 16)
DOUBLE(shld, d, 32)
DOUBLE(shld, q, 64)
DOUBLE(shrd, w, 16)
DOUBLE(shrd, d, 32)
DOUBLE(shrd, q, 64)

static uint64_t double_shift(X86State *st, const Insn *i, uint64_t to, uint64_t from, unsigned count)
{
    bool left = !(i->opcode & 8);

    switch (i->opsize) {
    case 2: return left ? shld_w(st, to, from, count) : shrd_w(st, to, from, count);
    case 4: return left ? shld_d(st, to, from, count) : shrd_d(st, to, from, count);
    default: return left ? shld_q(st, to, from, count) : shrd_q(st, to, from, count);
    }
}

static void shift_double(X86CPU *cpu, const Insn *i)
{
    X86State *st = cpu->st;
    unsigned count = (i->opcode & 1 ? rd_b(st, R_RCX) : i->imm) & (i->opsize == 8 ? 63 : 31);
    uint64_t from = reg_read(st, i->reg, i->opsize), lin, v;
    void *p = NULL;

    if (!x86_is_mem(i)) {
        v = reg_read(st, i->rm, i->opsize);
        reg_write(st, i->rm, count ? double_shift(st, i, v, from, count) : v, i->opsize);
    } else {
        p = rmw_ptr(cpu, i, i->opsize, &lin);
        if (!p) {
            v = sem_ld_at(cpu, lin, i->opsize);
            sem_st_at(cpu, lin, count ? double_shift(st, i, v, from, count) : v, i->opsize);
        } else if (count) {
            v = 0;
            memcpy(&v, p, i->opsize);
            v = double_shift(st, i, v, from, count);
            memcpy(p, &v, i->opsize);
        }
    }
    x86_next(st, i);
}

SEM(shld) { shift_double(cpu, i); }
SEM(shrd) { shift_double(cpu, i); }
