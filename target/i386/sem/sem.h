/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the instruction semantics in this folder share: register access by size, the memory operand, flags.
 *
 * A semantic function is named in insn.def (sem_NAME, with r or m for the form of ModRM and b w d q for the size).
 * It loads and checks first and commits last, so that a fault, which leaves by siglongjmp, leaves the state as it
 * was. Flags come from the host: the operation runs as the host's instruction, LAHF and SETO read its result.
 * vCPU thread only. Test: tests/unit/test-sem.c, tests/insn.
 */
#ifndef CLEAT_TARGET_I386_SEM_H
#define CLEAT_TARGET_I386_SEM_H

#include "target/i386/interp.h"
#include "target/i386/sem-list.h"               /* generated: prototypes of all sem_* */

_Static_assert(offsetof(X86State, rip) == 8 * INSN_RIP, "regs[INSN_RIP] is rip");
_Static_assert(offsetof(X86State, zero) == 8 * INSN_NONE, "regs[INSN_NONE] is zero");

#define SEM(name) void sem_##name(X86CPU *cpu, const Insn *i)

/* ---- registers ---- */
static inline uint8_t *reg8(X86State *st, unsigned n)
{
    return (uint8_t *)st + (n & 15) * 8 + (n >> 4);
}

static inline uint8_t rd_b(X86State *st, unsigned n) { return *reg8(st, n); }
static inline uint16_t rd_w(X86State *st, unsigned n) { return (uint16_t)st->regs[n]; }
static inline uint32_t rd_d(X86State *st, unsigned n) { return (uint32_t)st->regs[n]; }
static inline uint64_t rd_q(X86State *st, unsigned n) { return st->regs[n]; }
static inline void wr_b(X86State *st, unsigned n, uint8_t v) { *reg8(st, n) = v; }
static inline void wr_w(X86State *st, unsigned n, uint16_t v) { *(uint16_t *)&st->regs[n] = v; }
static inline void wr_d(X86State *st, unsigned n, uint32_t v) { st->regs[n] = v; }
static inline void wr_q(X86State *st, unsigned n, uint64_t v) { st->regs[n] = v; }

/* Of a size known at run time only: 2, 4 or 8 (a byte register through its number, see rd_b). */
static inline uint64_t reg_read(X86State *st, unsigned n, unsigned size)
{
    return size == 8 ? rd_q(st, n) : size == 4 ? rd_d(st, n) : size == 2 ? rd_w(st, n) : rd_b(st, n);
}

static inline void reg_write(X86State *st, unsigned n, uint64_t v, unsigned size)
{
    switch (size) {
    case 1: wr_b(st, n, v); break;
    case 2: wr_w(st, n, v); break;
    case 4: wr_d(st, n, v); break;
    default: wr_q(st, n, v); break;
    }
}

static inline uint64_t size_mask(unsigned size)
{
    return size == 8 ? ~0ull : (1ull << size * 8) - 1;
}

/* ---- the memory operand ---- */
static inline uint64_t ea_sum(const X86State *st, const Insn *i)
{
    const uint64_t *r = (const uint64_t *)st;

    return r[i->base] + (r[i->index] << i->scale) + i->disp;
}

static inline uint64_t ea_truncate(const Insn *i, uint64_t off)
{
    return i->adsize == 8 ? off : i->adsize == 4 ? (uint32_t)off : (uint16_t)off;
}

/* Offset within its segment. */
static inline uint64_t ea_offset(const X86State *st, const Insn *i)
{
    return ea_truncate(i, ea_sum(st, i));
}

/* Linear address, all checks done. */
static inline uint64_t ea_linear(X86CPU *cpu, const Insn *i, unsigned size, bool write)
{
    return x86_linear(cpu, i->seg, ea_offset(cpu->st, i), size, write);
}

/* The same for a part of the operand, delta bytes on: operands that are several accesses (far pointers, BOUND). */
static inline uint64_t ea_linear_at(X86CPU *cpu, const Insn *i, unsigned delta, unsigned size, bool write)
{
    return x86_linear(cpu, i->seg, ea_truncate(i, ea_sum(cpu->st, i) + delta), size, write);
}

/* Host address on a hit of a flat operand in table; else NULL (use the slow way). */
static inline void *ea_hit(const X86State *st, const Insn *i, const X86TlbEntry *table, unsigned size)
{
    uint64_t off = ea_sum(st, i);

    if (G_LIKELY(i->ea == EA_FLAT64)) {
        return x86_tlb_hit(table, off, size);
    }
    if (i->ea == EA_FLAT32) {
        return x86_tlb_hit(table, (uint32_t)off, size);
    }
    return NULL;
}

uint64_t sem_ld_slow(X86CPU *cpu, const Insn *i, unsigned size);
void sem_st_slow(X86CPU *cpu, const Insn *i, uint64_t v, unsigned size);
/*
 * For read-modify-write: host address that may be written, or NULL with *lin set and the right to write there
 * checked; then use ld/st (between x86_atomic_begin and _end when LOCKed).
 */
void *sem_rmw_slow(X86CPU *cpu, const Insn *i, unsigned size, uint64_t *lin);
/* A memory operand whose offset is given (bit strings, POP). */
uint64_t sem_ld_at(X86CPU *cpu, uint64_t lin, unsigned size);
void sem_st_at(X86CPU *cpu, uint64_t lin, uint64_t v, unsigned size);

static inline void *rmw_ptr(X86CPU *cpu, const Insn *i, unsigned size, uint64_t *lin)
{
    void *p = ea_hit(cpu->st, i, cpu->st->tlb_wr, size);

    return G_LIKELY(p) ? p : sem_rmw_slow(cpu, i, size, lin);
}

/* Guest data is aligned as the guest likes. */
typedef uint8_t sem_u8;
typedef uint16_t __attribute__((aligned(1), may_alias)) sem_u16;
typedef uint32_t __attribute__((aligned(1), may_alias)) sem_u32;
typedef uint64_t __attribute__((aligned(1), may_alias)) sem_u64;

#define SEM_ACCESS(s, bits) \
static inline uint##bits##_t ld_##s(X86CPU *cpu, const Insn *i) \
{ \
    const void *p = ea_hit(cpu->st, i, cpu->st->tlb_rd, bits / 8); \
    return G_LIKELY(p) ? *(const sem_u##bits *)p : (uint##bits##_t)sem_ld_slow(cpu, i, bits / 8); \
} \
static inline void st_##s(X86CPU *cpu, const Insn *i, uint##bits##_t v) \
{ \
    void *p = ea_hit(cpu->st, i, cpu->st->tlb_wr, bits / 8); \
    if (G_LIKELY(p)) { \
        *(sem_u##bits *)p = v; \
    } else { \
        sem_st_slow(cpu, i, v, bits / 8); \
    } \
}
SEM_ACCESS(b, 8)
SEM_ACCESS(w, 16)
SEM_ACCESS(d, 32)
SEM_ACCESS(q, 64)
#undef SEM_ACCESS

/* Of a size known at run time only. */
static inline uint64_t ea_load(X86CPU *cpu, const Insn *i, unsigned size)
{
    return size == 8 ? ld_q(cpu, i) : size == 4 ? ld_d(cpu, i) : size == 2 ? ld_w(cpu, i) : ld_b(cpu, i);
}

static inline void ea_store(X86CPU *cpu, const Insn *i, uint64_t v, unsigned size)
{
    switch (size) {
    case 1: st_b(cpu, i, v); break;
    case 2: st_w(cpu, i, v); break;
    case 4: st_d(cpu, i, v); break;
    default: st_q(cpu, i, v); break;
    }
}

/* ModRM's register or memory, of a size known at run time. */
static inline uint64_t rm_read(X86CPU *cpu, const Insn *i, unsigned size)
{
    return x86_is_mem(i) ? ea_load(cpu, i, size) : reg_read(cpu->st, i->rm, size);
}

static inline void rm_write(X86CPU *cpu, const Insn *i, uint64_t v, unsigned size)
{
    if (x86_is_mem(i)) {
        ea_store(cpu, i, v, size);
    } else {
        reg_write(cpu->st, i->rm, v, size);
    }
}

static inline bool is_locked(const Insn *i)
{
    return i->prefixes & INSN_LOCK;
}

/* ---- flags ---- */
/* AX as LAHF and SETO %al left it, to bits in EFLAGS' places. */
static inline unsigned flags_of_ax(unsigned ax)
{
    return (ax >> 8 & 0xd5) | (ax & 1) << 11;
}

static inline void set_flags(X86State *st, unsigned bits, unsigned mask)
{
    st->rflags = (st->rflags & ~(uint64_t)mask) | (bits & mask);
}

static inline void set_arith_ax(X86State *st, unsigned ax)
{
    set_flags(st, flags_of_ax(ax), FL_ARITH);
}

/* Appended to an asm statement's text: the flags into %eax (AH: LAHF, AL: OF). */
#define ASM_FLAGS "; lahf; seto %%al"

/* Condition cc (0-15, Jcc's low nibble). */
static inline bool cond_true(uint64_t fl, unsigned cc)
{
    bool r;

    switch (cc >> 1) {
    case 0: r = fl & FL_OF; break;
    case 1: r = fl & FL_CF; break;
    case 2: r = fl & FL_ZF; break;
    case 3: r = fl & (FL_CF | FL_ZF); break;
    case 4: r = fl & FL_SF; break;
    case 5: r = fl & FL_PF; break;
    case 6: r = (fl >> 7 ^ fl >> 11) & 1; break;
    default: r = ((fl >> 7 ^ fl >> 11) & 1) | (fl >> 6 & 1); break;
    }
    return r ^ (cc & 1);
}

/* ---- the stack ---- */
static inline uint64_t stack_mask(const X86State *st)
{
    return st->mode & MODE_CS64 ? ~0ull : st->mode & MODE_SS32 ? 0xffffffff : 0xffff;
}

/* The new rSP with its upper bits as the stack size demands. */
static inline void set_rsp(X86State *st, uint64_t sp)
{
    if (st->mode & MODE_CS64) {
        st->regs[R_RSP] = sp;
    } else if (st->mode & MODE_SS32) {
        st->regs[R_RSP] = (uint32_t)sp;
    } else {
        wr_w(st, R_RSP, sp);
    }
}

static inline void push_sized(X86CPU *cpu, uint64_t v, unsigned size)
{
    X86State *st = cpu->st;
    uint64_t sp = (st->regs[R_RSP] - size) & stack_mask(st);

    sem_st_at(cpu, x86_linear(cpu, SEG_SS, sp, size, true), v, size);
    set_rsp(st, sp);
}

/* The top of the stack; the caller moves rSP (set_rsp(st, st->regs[R_RSP] + size)) when all checks have passed. */
static inline uint64_t stack_top(X86CPU *cpu, unsigned size)
{
    X86State *st = cpu->st;

    return sem_ld_at(cpu, x86_linear(cpu, SEG_SS, st->regs[R_RSP] & stack_mask(st), size, false), size);
}

static inline uint64_t next_rip(const X86State *st, const Insn *i)
{
    uint64_t rip = st->rip + i->length;

    return st->mode & MODE_CS64 ? rip : (uint32_t)rip;
}

/* #GP(0) unless CPL is 0. */
static inline void need_cpl0(X86CPU *cpu)
{
    if (x86_cpl(cpu->st) != 0) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

#endif
