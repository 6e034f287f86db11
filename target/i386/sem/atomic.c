/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CMPXCHG, CMPXCHG8B/16B, XADD (SDM vol. 2). On RAM the host's own instruction runs on the guest's bytes, with LOCK
 * where the guest has it; elsewhere load, compute, store, alone if LOCKed. The memory destination is written (and must
 * be writable) even when the comparison fails. Test: tests/unit/test-sem.c.
 */
#include "sem.h"

/* A failed 32-bit exchange zero-extends rAX only; a successful one the destination only. */
#define CMPXCHG(s, bits, modifier) \
static void cmpxchg_reg_##s(X86State *st, const Insn *i) \
{ \
    uint##bits##_t acc = rd_##s(st, R_RAX), to = rd_##s(st, i->rm), from = rd_##s(st, i->reg); \
    unsigned ax; \
    asm("cmp %2,%1" ASM_FLAGS : "=&a"(ax) : "r"(acc), "r"(to) : "cc"); \
    set_arith_ax(st, ax); \
    if (acc == to) { \
        wr_##s(st, i->rm, from); \
    } else { \
        wr_##s(st, R_RAX, to); \
    } \
} \
static void cmpxchg_slow_##s(X86CPU *cpu, const Insn *i, uint64_t lin) \
{ \
    X86State *st = cpu->st; \
    uint##bits##_t acc = rd_##s(st, R_RAX), from = rd_##s(st, i->reg), to; \
    unsigned ax; \
    if (is_locked(i)) { \
        x86_atomic_begin(cpu); \
    } \
    to = sem_ld_at(cpu, lin, bits / 8); \
    sem_st_at(cpu, lin, to == acc ? from : to, bits / 8); \
    if (is_locked(i)) { \
        x86_atomic_end(cpu); \
    } \
    asm("cmp %2,%1" ASM_FLAGS : "=&a"(ax) : "r"(acc), "r"(to) : "cc"); \
    set_arith_ax(st, ax); \
    if (to != acc) { \
        wr_##s(st, R_RAX, to); \
    } \
} \
static void cmpxchg_mem_##s(X86CPU *cpu, const Insn *i) \
{ \
    X86State *st = cpu->st; \
    uint64_t lin, ax = st->regs[R_RAX]; \
    sem_u##bits *p = rmw_ptr(cpu, i, bits / 8, &lin); \
    uint##bits##_t from = rd_##s(st, i->reg), old; \
    if (!p) { \
        cmpxchg_slow_##s(cpu, i, lin); \
        return; \
    } \
    if (is_locked(i)) { \
        asm volatile("lock; cmpxchg %3,%1; mov %" modifier "0,%2" ASM_FLAGS \
                     : "+a"(ax), "+m"(*p), "=&r"(old) : "r"(from) : "cc", "memory"); \
    } else { \
        asm volatile("cmpxchg %3,%1; mov %" modifier "0,%2" ASM_FLAGS \
                     : "+a"(ax), "+m"(*p), "=&r"(old) : "r"(from) : "cc", "memory"); \
    } \
    set_arith_ax(st, ax); \
    if (!(st->rflags & FL_ZF)) { \
        wr_##s(st, R_RAX, old); \
    } \
} \
SEM(cmpxchg_##s) \
{ \
    if (x86_is_mem(i)) { \
        cmpxchg_mem_##s(cpu, i); \
    } else { \
        cmpxchg_reg_##s(cpu->st, i); \
    } \
    x86_next(cpu->st, i); \
} \
static uint##bits##_t add_flags_##s(X86State *st, uint##bits##_t a, uint##bits##_t b) \
{ \
    unsigned ax; \
    asm("add %2,%0" ASM_FLAGS : "+r"(a), "=&a"(ax) : "r"(b) : "cc"); \
    set_arith_ax(st, ax); \
    return a; \
} \
static uint##bits##_t xadd_slow_##s(X86CPU *cpu, const Insn *i, uint64_t lin, uint##bits##_t from) \
{ \
    uint##bits##_t old; \
    if (is_locked(i)) { \
        x86_atomic_begin(cpu); \
    } \
    old = sem_ld_at(cpu, lin, bits / 8); \
    sem_st_at(cpu, lin, (uint##bits##_t)(old + from), bits / 8); \
    if (is_locked(i)) { \
        x86_atomic_end(cpu); \
    } \
    return old; \
} \
SEM(xadd_##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t lin; \
    uint##bits##_t from = rd_##s(st, i->reg), old; \
    if (!x86_is_mem(i)) { \
        old = rd_##s(st, i->rm); \
        wr_##s(st, i->reg, old); \
        wr_##s(st, i->rm, add_flags_##s(st, old, from)); \
    } else { \
        sem_u##bits *p = rmw_ptr(cpu, i, bits / 8, &lin); \
        old = from; \
        if (!p) { \
            old = xadd_slow_##s(cpu, i, lin, from); \
        } else if (is_locked(i)) { \
            asm volatile("lock; xadd %0,%1" : "+r"(old), "+m"(*p) : : "cc", "memory"); \
        } else { \
            asm volatile("xadd %0,%1" : "+r"(old), "+m"(*p) : : "cc", "memory"); \
        } \
        add_flags_##s(st, old, from); \
        wr_##s(st, i->reg, old); \
    } \
    x86_next(st, i); \
}
CMPXCHG(b, 8, "b")
CMPXCHG(w, 16, "w")
CMPXCHG(d, 32, "k")
CMPXCHG(q, 64, "q")

typedef struct Pair {
    uint64_t lo, hi;
} Pair;

/* Compare-and-exchange of 8 or 16 bytes at host memory; *old is what was there. */
static bool pair_exchange_host(void *p, Pair expect, Pair to, unsigned size, Pair *old)
{
    bool ok;

    if (size == 8) {
        uint64_t e = expect.lo | expect.hi << 32, t = to.lo | to.hi << 32;
        asm volatile("lock; cmpxchgq %3,%1; sete %2"
                     : "+a"(e), "+m"(*(sem_u64 *)p), "=q"(ok) : "r"(t) : "cc", "memory");
        *old = (Pair){(uint32_t)e, e >> 32};
        return ok;
    }
    asm volatile("lock; cmpxchg16b %1; sete %0"
                 : "=q"(ok), "+m"(*(struct { char c[16]; } *)p), "+a"(expect.lo), "+d"(expect.hi)
                 : "b"(to.lo), "c"(to.hi) : "cc", "memory");
    *old = expect;
    return ok;
}

static bool pair_exchange_slow(X86CPU *cpu, uint64_t lin, Pair expect, Pair to, unsigned size, Pair *old)
{
    unsigned half = size / 2;
    bool ok;

    x86_atomic_begin(cpu);
    old->lo = sem_ld_at(cpu, lin, half);
    old->hi = sem_ld_at(cpu, lin + half, half);
    ok = old->lo == expect.lo && old->hi == expect.hi;
    sem_st_at(cpu, lin, ok ? to.lo : old->lo, half);
    sem_st_at(cpu, lin + half, ok ? to.hi : old->hi, half);
    x86_atomic_end(cpu);
    return ok;
}

SEM(cmpxchg8b)
{
    X86State *st = cpu->st;
    unsigned size = i->opsize == 8 ? 16 : 8, half = size / 2;
    Pair expect = {reg_read(st, R_RAX, half), reg_read(st, R_RDX, half)}, old;
    Pair to = {reg_read(st, R_RBX, half), reg_read(st, R_RCX, half)};
    uint64_t lin;
    void *p;
    bool ok;

    if (size == 16 && !x86_has_gate(cpu, GATE_CX16)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (size == 16 && ((ea_offset(st, i) + (i->seg >= SEG_FS ? st->seg[i->seg].base : 0)) & 15)) {
        x86_raise_err(cpu, EXCP_GP, 0);                 /* before #AC and the page's faults */
    }
    lin = ea_linear(cpu, i, size, true);
    p = x86_host(cpu, lin, size, true);
    if (p) {
        ok = pair_exchange_host(p, expect, to, size, &old);
    } else {
        x86_probe(cpu, lin, size, true);
        ok = pair_exchange_slow(cpu, lin, expect, to, size, &old);
    }
    set_flags(st, ok ? FL_ZF : 0, FL_ZF);
    if (!ok) {
        reg_write(st, R_RAX, old.lo, half);
        reg_write(st, R_RDX, old.hi, half);
    }
    x86_next(st, i);
}
