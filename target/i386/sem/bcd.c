/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of 16- and 32-bit code only: DAA DAS AAA AAS AAM AAD, BOUND, ARPL (SDM vol. 2). Undefined flags stay.
 * Test: tests/unit/test-sem.c.
 */
#include "sem.h"

static unsigned szp_flags(uint8_t v)
{
    return (v ? 0 : FL_ZF) | (v & 0x80 ? FL_SF : 0) | (__builtin_parity(v) ? 0 : FL_PF);
}

enum { SZP = FL_SF | FL_ZF | FL_PF };

/* sign: +1 DAA, -1 DAS. */
static void decimal_adjust(X86CPU *cpu, const Insn *i, int sign)
{
    X86State *st = cpu->st;
    uint8_t al = rd_b(st, R_RAX), v = al;
    bool cf = st->rflags & FL_CF, af = (al & 15) > 9 || (st->rflags & FL_AF), carry = false;

    if (af) {
        carry = cf || (sign > 0 ? al > 0xf9 : al < 6);
        v += sign * 6;
    }
    if (al > 0x99 || cf) {
        v += sign * 0x60;
        carry = true;
    }
    wr_b(st, R_RAX, v);
    set_flags(st, szp_flags(v) | (af ? FL_AF : 0) | (carry ? FL_CF : 0), SZP | FL_AF | FL_CF);
    x86_next(st, i);
}

SEM(daa) { decimal_adjust(cpu, i, 1); }
SEM(das) { decimal_adjust(cpu, i, -1); }

static void ascii_adjust(X86CPU *cpu, const Insn *i, int sign)
{
    X86State *st = cpu->st;
    uint16_t ax = rd_w(st, R_RAX);
    bool adjust = (ax & 15) > 9 || (st->rflags & FL_AF);

    if (adjust) {
        ax += sign * 0x106;
    }
    wr_w(st, R_RAX, ax & 0xff0f);
    set_flags(st, adjust ? FL_AF | FL_CF : 0, FL_AF | FL_CF);
    x86_next(st, i);
}

SEM(aaa) { ascii_adjust(cpu, i, 1); }
SEM(aas) { ascii_adjust(cpu, i, -1); }

SEM(aam)
{
    X86State *st = cpu->st;
    uint8_t base = i->imm, al = rd_b(st, R_RAX);

    if (base == 0) {
        x86_raise(cpu, EXCP_DE);
    }
    wr_w(st, R_RAX, (al / base) << 8 | al % base);
    set_flags(st, szp_flags(al % base), SZP);
    x86_next(st, i);
}

SEM(aad)
{
    X86State *st = cpu->st;
    uint16_t ax = rd_w(st, R_RAX);
    uint8_t v = (ax & 0xff) + (ax >> 8) * (uint8_t)i->imm;

    wr_w(st, R_RAX, v);
    set_flags(st, szp_flags(v), SZP);
    x86_next(st, i);
}

static int64_t sign_extend(uint64_t v, unsigned size)
{
    return (int64_t)(v << (64 - size * 8)) >> (64 - size * 8);
}

SEM(bound)
{
    unsigned size = i->opsize;
    int64_t low = sign_extend(sem_ld_at(cpu, ea_linear(cpu, i, size, false), size), size);
    int64_t high = sign_extend(sem_ld_at(cpu, ea_linear_at(cpu, i, size, size, false), size), size);
    int64_t v = sign_extend(reg_read(cpu->st, i->reg, size), size);

    if (v < low || v > high) {
        x86_raise(cpu, EXCP_BR);
    }
    x86_next(cpu->st, i);
}

SEM(arpl)
{
    X86State *st = cpu->st;
    uint64_t lin = 0;
    uint16_t to, from = rd_w(st, i->reg);
    sem_u16 *p = NULL;
    bool raise;

    if (x86_is_mem(i)) {
        p = rmw_ptr(cpu, i, 2, &lin);
        to = p ? *p : x86_ld16(cpu, lin);
    } else {
        to = rd_w(st, i->rm);
    }
    raise = (to & 3) < (from & 3);
    to = raise ? (to & ~3) | (from & 3) : to;
    if (p) {
        *p = to;
    } else if (x86_is_mem(i)) {
        x86_st16(cpu, lin, to);
    } else {
        wr_w(st, i->rm, to);
    }
    set_flags(st, raise ? FL_ZF : 0, FL_ZF);
    x86_next(st, i);
}
