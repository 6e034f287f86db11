/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MUL, IMUL, DIV, IDIV (SDM vol. 2). CF and OF of products from the host, other flags stay; quotients that do not
 * fit raise #DE before anything is written. Test: tests/unit/test-sem.c.
 */
#include "sem.h"

#define MUL_FLAGS (FL_CF | FL_OF)

#define IMUL_TWO(s, bits) \
static inline uint##bits##_t imul_op_##s(X86State *st, uint##bits##_t a, uint##bits##_t b) \
{ \
    unsigned ax; \
    asm("imul %2,%0" ASM_FLAGS : "+r"(a), "=&a"(ax) : "r"(b) : "cc"); \
    set_flags(st, flags_of_ax(ax), MUL_FLAGS); \
    return a; \
} \
SEM(imul2_r##s) { X86State *st = cpu->st; wr_##s(st, i->reg, imul_op_##s(st, rd_##s(st, i->reg), rd_##s(st, i->rm))); \
    x86_next(st, i); } \
SEM(imul2_m##s) { X86State *st = cpu->st; wr_##s(st, i->reg, imul_op_##s(st, rd_##s(st, i->reg), ld_##s(cpu, i))); \
    x86_next(st, i); } \
SEM(imul3_r##s) { X86State *st = cpu->st; wr_##s(st, i->reg, imul_op_##s(st, rd_##s(st, i->rm), i->imm)); \
    x86_next(st, i); } \
SEM(imul3_m##s) { X86State *st = cpu->st; wr_##s(st, i->reg, imul_op_##s(st, ld_##s(cpu, i), i->imm)); \
    x86_next(st, i); }
IMUL_TWO(w, 16)
IMUL_TWO(d, 32)
IMUL_TWO(q, 64)

/* rDX:rAX = rAX * E */
#define MUL_ONE(mn, s, bits) \
SEM(mn##_##s) \
{ \
    X86State *st = cpu->st; \
    uint##bits##_t lo = rd_##s(st, R_RAX), hi = 0, b = x86_is_mem(i) ? ld_##s(cpu, i) : rd_##s(st, i->rm); \
    uint8_t of; \
    asm(#mn " %3; seto %2" : "+a"(lo), "=&d"(hi), "=&q"(of) : "r"(b) : "cc"); \
    wr_##s(st, R_RAX, lo); \
    wr_##s(st, R_RDX, hi); \
    set_flags(st, of ? MUL_FLAGS : 0, MUL_FLAGS); \
    x86_next(st, i); \
}
MUL_ONE(mul, w, 16)
MUL_ONE(mul, d, 32)
MUL_ONE(mul, q, 64)
MUL_ONE(imul, w, 16)
MUL_ONE(imul, d, 32)
MUL_ONE(imul, q, 64)

SEM(mul_b)
{
    X86State *st = cpu->st;
    unsigned v = rd_b(st, R_RAX) * (unsigned)rm_read(cpu, i, 1);

    wr_w(st, R_RAX, v);
    set_flags(st, v > 0xff ? MUL_FLAGS : 0, MUL_FLAGS);
    x86_next(st, i);
}

SEM(imul_b)
{
    X86State *st = cpu->st;
    int v = (int8_t)rd_b(st, R_RAX) * (int8_t)rm_read(cpu, i, 1);

    wr_w(st, R_RAX, v);
    set_flags(st, v != (int8_t)v ? MUL_FLAGS : 0, MUL_FLAGS);
    x86_next(st, i);
}

/* Results go to halves of 8, 16, 32 or 64 bits; byte forms keep both in AX. */
static void store_quotient(X86State *st, uint64_t q, uint64_t r, unsigned size)
{
    if (size == 1) {
        wr_w(st, R_RAX, (q & 0xff) | (r & 0xff) << 8);
    } else {
        reg_write(st, R_RAX, q, size);
        reg_write(st, R_RDX, r, size);
    }
}

static unsigned __int128 dividend(X86State *st, unsigned size)
{
    if (size == 1) {
        return rd_w(st, R_RAX);
    }
    return (unsigned __int128)reg_read(st, R_RDX, size) << size * 8 | reg_read(st, R_RAX, size);
}

static void divide(X86CPU *cpu, const Insn *i, unsigned size)
{
    X86State *st = cpu->st;
    uint64_t d = rm_read(cpu, i, size), q, r;
    unsigned __int128 n = dividend(st, size);

    if (d == 0 || (n >> size * 8) >= d) {
        x86_raise(cpu, EXCP_DE);
    }
    if (size == 8) {
        asm("divq %4" : "=a"(q), "=d"(r) : "a"((uint64_t)n), "d"((uint64_t)(n >> 64)), "r"(d) : "cc");
    } else {
        q = (uint64_t)n / d;
        r = (uint64_t)n % d;
    }
    store_quotient(st, q, r, size);
    x86_next(st, i);
}

/* Magnitudes are divided; the quotient's sign is the product of signs, the remainder has the dividend's. */
static void divide_signed(X86CPU *cpu, const Insn *i, unsigned size)
{
    X86State *st = cpu->st;
    unsigned bits = size * 8;
    int64_t d = (int64_t)(rm_read(cpu, i, size) << (64 - bits)) >> (64 - bits);
    __int128 n = (__int128)(dividend(st, size) << (128 - 2 * bits)) >> (128 - 2 * bits);
    unsigned __int128 mag = n < 0 ? -(unsigned __int128)n : (unsigned __int128)n;
    uint64_t dmag = d < 0 ? -(uint64_t)d : (uint64_t)d, q, r, top = 1ull << (bits - 1);
    bool negative = (n < 0) != (d < 0);

    if (dmag == 0 || (uint64_t)(mag >> 64) >= dmag) {
        x86_raise(cpu, EXCP_DE);
    }
    asm("divq %4" : "=a"(q), "=d"(r) : "a"((uint64_t)mag), "d"((uint64_t)(mag >> 64)), "r"(dmag) : "cc");
    if (q > top || (q == top && !negative)) {
        x86_raise(cpu, EXCP_DE);
    }
    store_quotient(st, negative ? -q : q, n < 0 ? -r : r, size);
    x86_next(st, i);
}

SEM(div_b) { divide(cpu, i, 1); }
SEM(div_w) { divide(cpu, i, 2); }
SEM(div_d) { divide(cpu, i, 4); }
SEM(div_q) { divide(cpu, i, 8); }
SEM(idiv_b) { divide_signed(cpu, i, 1); }
SEM(idiv_w) { divide_signed(cpu, i, 2); }
SEM(idiv_d) { divide_signed(cpu, i, 4); }
SEM(idiv_q) { divide_signed(cpu, i, 8); }
