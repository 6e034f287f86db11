/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BMI1 and BMI2: ANDN BEXTR BLSI BLSMSK BLSR, BZHI MULX PDEP PEXT RORX SARX SHLX SHRX (SDM vol. 2). In C: they have
 * no implicit state, and the host may lack them. Undefined flags stay. Test: tests/unit/test-sem.c.
 */
#include "sem.h"

/* Result to ModRM.reg (or vvvv), with ZF and SF by value, OF clear and CF as given. */
static void store_result(X86CPU *cpu, const Insn *i, unsigned to, uint64_t v, bool cf, unsigned mask)
{
    X86State *st = cpu->st;
    unsigned bits = i->opsize * 8;

    v &= size_mask(i->opsize);
    reg_write(st, to, v, i->opsize);
    set_flags(st, (cf ? FL_CF : 0) | (v ? 0 : FL_ZF) | (v >> (bits - 1) ? FL_SF : 0), mask);
    x86_next(st, i);
}

enum { ZSOC = FL_ZF | FL_SF | FL_OF | FL_CF, ZOC = FL_ZF | FL_OF | FL_CF };

static uint64_t vvvv_read(X86CPU *cpu, const Insn *i)
{
    return reg_read(cpu->st, i->vvvv, i->opsize);
}

SEM(andn)
{
    uint64_t v = rm_read(cpu, i, i->opsize);

    store_result(cpu, i, i->reg, ~vvvv_read(cpu, i) & v, false, ZSOC);
}

SEM(blsr)
{
    uint64_t v = rm_read(cpu, i, i->opsize);

    store_result(cpu, i, i->vvvv, v & (v - 1), v == 0, ZSOC);
}

SEM(blsmsk)
{
    uint64_t v = rm_read(cpu, i, i->opsize);

    store_result(cpu, i, i->vvvv, v ^ (v - 1), v == 0, ZSOC);
}

SEM(blsi)
{
    uint64_t v = rm_read(cpu, i, i->opsize);

    store_result(cpu, i, i->vvvv, v & -v, v != 0, ZSOC);
}

SEM(bzhi)
{
    uint64_t v = rm_read(cpu, i, i->opsize);
    unsigned n = (uint8_t)vvvv_read(cpu, i), bits = i->opsize * 8;

    store_result(cpu, i, i->reg, n < bits ? v & ((1ull << n) - 1) : v, n >= bits, ZSOC);
}

SEM(bextr)
{
    uint64_t v = rm_read(cpu, i, i->opsize), control = vvvv_read(cpu, i);
    unsigned start = control & 0xff, len = control >> 8 & 0xff;

    v = start < 64 ? v >> start : 0;
    v = len < 64 ? v & ((1ull << len) - 1) : v;
    store_result(cpu, i, i->reg, v, false, ZOC);
}

SEM(pext)
{
    uint64_t mask = rm_read(cpu, i, i->opsize), v = vvvv_read(cpu, i), out = 0;

    for (unsigned n = 0; mask; mask &= mask - 1, n++) {
        out |= (v >> __builtin_ctzll(mask) & 1) << n;
    }
    reg_write(cpu->st, i->reg, out, i->opsize);
    x86_next(cpu->st, i);
}

SEM(pdep)
{
    uint64_t mask = rm_read(cpu, i, i->opsize), v = vvvv_read(cpu, i), out = 0;

    for (unsigned n = 0; mask; mask &= mask - 1, n++) {
        out |= (v >> n & 1) << __builtin_ctzll(mask);
    }
    reg_write(cpu->st, i->reg, out, i->opsize);
    x86_next(cpu->st, i);
}

/* The low half is written first: with equal destinations the high half stays. */
SEM(mulx)
{
    X86State *st = cpu->st;
    unsigned __int128 v = (unsigned __int128)reg_read(st, R_RDX, i->opsize) * rm_read(cpu, i, i->opsize);

    reg_write(st, i->vvvv, v, i->opsize);
    reg_write(st, i->reg, v >> i->opsize * 8, i->opsize);
    x86_next(st, i);
}

SEM(shlx)
{
    uint64_t v = rm_read(cpu, i, i->opsize);

    reg_write(cpu->st, i->reg, v << (vvvv_read(cpu, i) & (i->opsize * 8 - 1)), i->opsize);
    x86_next(cpu->st, i);
}

SEM(shrx)
{
    uint64_t v = rm_read(cpu, i, i->opsize);

    reg_write(cpu->st, i->reg, v >> (vvvv_read(cpu, i) & (i->opsize * 8 - 1)), i->opsize);
    x86_next(cpu->st, i);
}

SEM(sarx)
{
    uint64_t v = rm_read(cpu, i, i->opsize);
    unsigned n = vvvv_read(cpu, i) & (i->opsize * 8 - 1);

    reg_write(cpu->st, i->reg, i->opsize == 8 ? (uint64_t)((int64_t)v >> n) : (uint64_t)((int32_t)v >> n), i->opsize);
    x86_next(cpu->st, i);
}

SEM(rorx)
{
    uint64_t v = rm_read(cpu, i, i->opsize);
    unsigned bits = i->opsize * 8, n = i->imm & (bits - 1);

    reg_write(cpu->st, i->reg, n ? v >> n | v << (bits - n) : v, i->opsize);
    x86_next(cpu->st, i);
}
