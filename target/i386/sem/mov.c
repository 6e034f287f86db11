/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data movement: MOV, MOVZX, MOVSX, LEA, XCHG, BSWAP, MOVBE, CMOVcc, SETcc, CBW and CWD families, XLAT, LAHF, SAHF,
 * flag bit instructions, MOVNTI, MOVDIR64B, NOPs (SDM vol. 2). Segment moves: seg loads delegate to x86_load_seg().
 * Test: tests/unit/test-sem.c.
 */
#include "sem.h"

#define MOVES(s, bits) \
SEM(mov_EG_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, rd_##s(st, i->reg)); x86_next(st, i); } \
SEM(mov_GE_r##s) { X86State *st = cpu->st; wr_##s(st, i->reg, rd_##s(st, i->rm)); x86_next(st, i); } \
SEM(mov_EI_r##s) { X86State *st = cpu->st; wr_##s(st, i->rm, i->imm); x86_next(st, i); } \
SEM(mov_EG_m##s) { st_##s(cpu, i, rd_##s(cpu->st, i->reg)); x86_next(cpu->st, i); } \
SEM(mov_GE_m##s) { uint##bits##_t v = ld_##s(cpu, i); wr_##s(cpu->st, i->reg, v); x86_next(cpu->st, i); } \
SEM(mov_EI_m##s) { st_##s(cpu, i, i->imm); x86_next(cpu->st, i); } \
SEM(xchg_r##s) \
{ \
    X86State *st = cpu->st; \
    uint##bits##_t a = rd_##s(st, i->rm), b = rd_##s(st, i->reg); \
    wr_##s(st, i->rm, b); \
    wr_##s(st, i->reg, a); \
    x86_next(st, i); \
} \
SEM(xchg_m##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t lin; \
    sem_u##bits *p = rmw_ptr(cpu, i, bits / 8, &lin); \
    uint##bits##_t v = rd_##s(st, i->reg); \
    if (G_LIKELY(p)) { \
        asm volatile("xchg %0,%1" : "+r"(v), "+m"(*p) : : "memory"); \
    } else { \
        x86_atomic_begin(cpu); \
        uint##bits##_t old = sem_ld_at(cpu, lin, bits / 8); \
        sem_st_at(cpu, lin, v, bits / 8); \
        x86_atomic_end(cpu); \
        v = old; \
    } \
    wr_##s(st, i->reg, v); \
    x86_next(st, i); \
}

MOVES(b, 8)
MOVES(w, 16)
MOVES(d, 32)
MOVES(q, 64)

/* name, destination size, source size, source type */
#define EXTEND(name, s, from, type) \
SEM(name##_r##s) { X86State *st = cpu->st; wr_##s(st, i->reg, (type)rd_##from(st, i->rm)); x86_next(st, i); } \
SEM(name##_m##s) { type v = (type)ld_##from(cpu, i); wr_##s(cpu->st, i->reg, v); x86_next(cpu->st, i); }
#define EXTENDS(name, from, type) EXTEND(name, w, from, type) EXTEND(name, d, from, type) EXTEND(name, q, from, type)

EXTENDS(movzx_b, b, uint8_t)
EXTENDS(movzx_w, w, uint16_t)
EXTENDS(movsx_b, b, int8_t)
EXTENDS(movsx_w, w, int16_t)
EXTEND(movsxd, w, w, uint16_t)
EXTEND(movsxd, d, d, uint32_t)
EXTEND(movsxd, q, d, int32_t)

SEM(lea_w) { wr_w(cpu->st, i->reg, ea_offset(cpu->st, i)); x86_next(cpu->st, i); }
SEM(lea_d) { wr_d(cpu->st, i->reg, ea_offset(cpu->st, i)); x86_next(cpu->st, i); }
SEM(lea_q) { wr_q(cpu->st, i->reg, ea_offset(cpu->st, i)); x86_next(cpu->st, i); }

SEM(bswap)
{
    X86State *st = cpu->st;

    if (i->opsize == 8) {
        st->regs[i->rm] = __builtin_bswap64(st->regs[i->rm]);
    } else if (i->opsize == 4) {
        wr_d(st, i->rm, __builtin_bswap32(rd_d(st, i->rm)));
    } else {
        wr_w(st, i->rm, 0);     /* undefined; what CPUs do */
    }
    x86_next(st, i);
}

static uint64_t byteswap(uint64_t v, unsigned size)
{
    return __builtin_bswap64(v) >> (64 - size * 8);
}

SEM(movbe_GM)
{
    uint64_t v = byteswap(ea_load(cpu, i, i->opsize), i->opsize);

    reg_write(cpu->st, i->reg, v, i->opsize);
    x86_next(cpu->st, i);
}

SEM(movbe_MG)
{
    ea_store(cpu, i, byteswap(reg_read(cpu->st, i->reg, i->opsize), i->opsize), i->opsize);
    x86_next(cpu->st, i);
}

SEM(movnti)
{
    ea_store(cpu, i, reg_read(cpu->st, i->reg, i->mem_size), i->mem_size);
    x86_next(cpu->st, i);
}

/* Destination: ES:reg, 64-byte aligned. */
SEM(movdir64b)
{
    X86State *st = cpu->st;
    uint8_t buf[64];
    uint64_t to = ea_truncate(i, st->regs[i->reg]);

    x86_ld_bytes(cpu, ea_linear(cpu, i, 64, false), buf, 64);
    to = x86_linear(cpu, SEG_ES, to, 1, true);
    if (to & 63) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    x86_st_bytes(cpu, to, buf, 64);
    x86_next(st, i);
}

/* The source is read, and a 32-bit destination zero-extended, whether or not the condition holds. */
#define CMOV(s, bits) \
SEM(cmov_r##s) \
{ \
    X86State *st = cpu->st; \
    wr_##s(st, i->reg, cond_true(st->rflags, i->opcode & 15) ? rd_##s(st, i->rm) : rd_##s(st, i->reg)); \
    x86_next(st, i); \
} \
SEM(cmov_m##s) \
{ \
    X86State *st = cpu->st; \
    uint##bits##_t v = ld_##s(cpu, i); \
    wr_##s(st, i->reg, cond_true(st->rflags, i->opcode & 15) ? v : rd_##s(st, i->reg)); \
    x86_next(st, i); \
}
CMOV(w, 16)
CMOV(d, 32)
CMOV(q, 64)

SEM(setcc_r)
{
    wr_b(cpu->st, i->rm, cond_true(cpu->st->rflags, i->opcode & 15));
    x86_next(cpu->st, i);
}

SEM(setcc_m)
{
    st_b(cpu, i, cond_true(cpu->st->rflags, i->opcode & 15));
    x86_next(cpu->st, i);
}

SEM(cbw_w) { wr_w(cpu->st, R_RAX, (int8_t)rd_b(cpu->st, R_RAX)); x86_next(cpu->st, i); }
SEM(cbw_d) { wr_d(cpu->st, R_RAX, (int16_t)rd_w(cpu->st, R_RAX)); x86_next(cpu->st, i); }
SEM(cbw_q) { wr_q(cpu->st, R_RAX, (int32_t)rd_d(cpu->st, R_RAX)); x86_next(cpu->st, i); }
SEM(cwd_w) { wr_w(cpu->st, R_RDX, (int16_t)rd_w(cpu->st, R_RAX) >> 15); x86_next(cpu->st, i); }
SEM(cwd_d) { wr_d(cpu->st, R_RDX, (int32_t)rd_d(cpu->st, R_RAX) >> 31); x86_next(cpu->st, i); }
SEM(cwd_q) { wr_q(cpu->st, R_RDX, (int64_t)rd_q(cpu->st, R_RAX) >> 63); x86_next(cpu->st, i); }

SEM(xlat)
{
    X86State *st = cpu->st;
    uint64_t off = ea_truncate(i, st->regs[R_RBX] + rd_b(st, R_RAX));

    wr_b(st, R_RAX, x86_ld8(cpu, x86_linear(cpu, i->seg, off, 1, false)));
    x86_next(st, i);
}

SEM(lahf)
{
    X86State *st = cpu->st;

    wr_b(st, 0x10, (st->rflags & 0xd5) | 2);
    x86_next(st, i);
}

SEM(sahf)
{
    set_flags(cpu->st, rd_b(cpu->st, 0x10), 0xd5);
    x86_next(cpu->st, i);
}

SEM(salc)
{
    wr_b(cpu->st, R_RAX, cpu->st->rflags & FL_CF ? 0xff : 0);
    x86_next(cpu->st, i);
}

SEM(cmc) { cpu->st->rflags ^= FL_CF; x86_next(cpu->st, i); }
SEM(clc) { cpu->st->rflags &= ~(uint64_t)FL_CF; x86_next(cpu->st, i); }
SEM(stc) { cpu->st->rflags |= FL_CF; x86_next(cpu->st, i); }
SEM(cld) { cpu->st->rflags &= ~(uint64_t)FL_DF; x86_next(cpu->st, i); }
SEM(std) { cpu->st->rflags |= FL_DF; x86_next(cpu->st, i); }

SEM(nop) { x86_next(cpu->st, i); }

SEM(pause)
{
    __builtin_ia32_pause();
    x86_next(cpu->st, i);
}

SEM(fence)
{
    atomic_thread_fence(memory_order_seq_cst);
    x86_next(cpu->st, i);
}

/* A store of a selector is 16 bits to memory, zero-extended to a register. */
SEM(mov_ES)
{
    X86State *st = cpu->st;

    if (x86_is_mem(i)) {
        st_w(cpu, i, st->seg[i->reg].selector);
    } else {
        reg_write(st, i->rm, st->seg[i->reg].selector, i->opsize);
    }
    x86_next(st, i);
}

SEM(mov_SE)
{
    x86_load_seg(cpu, i->reg, rm_read(cpu, i, 2));
    x86_next(cpu->st, i);
}

/* LES LDS LSS LFS LGS. */
SEM(lfp)
{
    X86State *st = cpu->st;
    static const struct { uint8_t opcode, seg; } segs[] = {
        {0xc4, SEG_ES}, {0xc5, SEG_DS}, {0xb2, SEG_SS}, {0xb4, SEG_FS}, {0xb5, SEG_GS},
    };
    unsigned size = i->opsize, seg = SEG_DS;
    uint64_t off = sem_ld_at(cpu, ea_linear(cpu, i, size, false), size);
    uint16_t sel = x86_ld16(cpu, ea_linear_at(cpu, i, size, 2, false));

    for (unsigned n = 0; n < G_N_ELEMENTS(segs); n++) {
        seg = segs[n].opcode == i->opcode ? segs[n].seg : seg;
    }
    x86_load_seg(cpu, seg, sel);
    st->ev.interrupt_shadow = 0;            /* LSS loads both halves: it casts none */
    reg_write(st, i->reg, off, size);
    x86_next(st, i);
}
