/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PUSH POP PUSHA POPA ENTER LEAVE PUSHF POPF (SDM vol. 2). Stores come first, rSP moves last. Stack size: 64-bit mode
 * 8 bytes of address, else SS.B. Test: tests/unit/test-sem.c.
 */
#include "sem.h"

#define PUSHES(s, bits) \
SEM(push_r_##s) { push_sized(cpu, rd_##s(cpu->st, i->rm), bits / 8); x86_next(cpu->st, i); } \
SEM(push_i_##s) { push_sized(cpu, i->imm, bits / 8); x86_next(cpu->st, i); } \
SEM(pop_r_##s) \
{ \
    X86State *st = cpu->st; \
    uint##bits##_t v = stack_top(cpu, bits / 8); \
    set_rsp(st, st->regs[R_RSP] + bits / 8); \
    wr_##s(st, i->rm, v); \
    x86_next(st, i); \
} \
SEM(leave_##s) \
{ \
    X86State *st = cpu->st; \
    uint64_t bp = st->regs[R_RBP] & stack_mask(st); \
    uint##bits##_t v = sem_ld_at(cpu, x86_linear(cpu, SEG_SS, bp, bits / 8, false), bits / 8); \
    set_rsp(st, bp + bits / 8); \
    wr_##s(st, R_RBP, v); \
    x86_next(st, i); \
}
PUSHES(w, 16)
PUSHES(d, 32)
PUSHES(q, 64)

SEM(push_E)
{
    push_sized(cpu, rm_read(cpu, i, i->opsize), i->opsize);
    x86_next(cpu->st, i);
}

/* An address through rSP counts from its value after the pop. */
SEM(pop_E)
{
    X86State *st = cpu->st;
    uint64_t v = stack_top(cpu, i->opsize), old = st->regs[R_RSP], off;

    set_rsp(st, old + i->opsize);
    if (x86_is_mem(i)) {
        uint64_t moved = st->regs[R_RSP];
        off = ea_offset(st, i);
        st->regs[R_RSP] = old;
        sem_st_at(cpu, x86_linear(cpu, i->seg, off, i->opsize, true), v, i->opsize);
        st->regs[R_RSP] = moved;
    } else {
        reg_write(st, i->rm, v, i->opsize);
    }
    x86_next(st, i);
}

static unsigned seg_of_opcode(const Insn *i)
{
    switch (i->opcode) {
    case 0x06: case 0x07: return SEG_ES;
    case 0x0e: return SEG_CS;
    case 0x16: case 0x17: return SEG_SS;
    case 0x1e: case 0x1f: return SEG_DS;
    case 0xa0: case 0xa1: return SEG_FS;
    default: return SEG_GS;
    }
}

SEM(push_seg)
{
    push_sized(cpu, cpu->st->seg[seg_of_opcode(i)].selector, i->opsize);
    x86_next(cpu->st, i);
}

/* rSP moves by the stack size before SS is loaded. */
SEM(pop_seg)
{
    X86State *st = cpu->st;
    uint16_t sel = stack_top(cpu, i->opsize);
    uint64_t mask = stack_mask(st), sp = (st->regs[R_RSP] + i->opsize) & mask;

    x86_load_seg(cpu, seg_of_opcode(i), sel);
    st->regs[R_RSP] = mask == 0xffff ? (st->regs[R_RSP] & ~mask) | sp : sp;
    x86_next(st, i);
}

SEM(pusha)
{
    X86State *st = cpu->st;
    unsigned size = i->opsize;
    uint64_t mask = stack_mask(st);

    for (unsigned n = 0; n < 8; n++) {
        uint64_t sp = (st->regs[R_RSP] - (n + 1) * size) & mask;
        sem_st_at(cpu, x86_linear(cpu, SEG_SS, sp, size, true), reg_read(st, n, size), size);
    }
    set_rsp(st, st->regs[R_RSP] - 8 * size);
    x86_next(st, i);
}

SEM(popa)
{
    X86State *st = cpu->st;
    unsigned size = i->opsize;
    uint64_t mask = stack_mask(st), v[8];

    for (unsigned n = 0; n < 8; n++) {
        uint64_t sp = (st->regs[R_RSP] + n * size) & mask;
        v[7 - n] = sem_ld_at(cpu, x86_linear(cpu, SEG_SS, sp, size, false), size);
    }
    for (unsigned n = 0; n < 8; n++) {
        if (n != R_RSP) {
            reg_write(st, n, v[n], size);
        }
    }
    set_rsp(st, st->regs[R_RSP] + 8 * size);
    x86_next(st, i);
}

/* Nested frames: copies level - 1 frame pointers, then the new one. */
SEM(enter)
{
    X86State *st = cpu->st;
    unsigned size = i->opsize, level = i->imm2 & 31;
    uint64_t mask = stack_mask(st), sp = st->regs[R_RSP], bp = st->regs[R_RBP], frame, v;

    sp -= size;
    sem_st_at(cpu, x86_linear(cpu, SEG_SS, sp & mask, size, true), bp, size);
    frame = sp;
    for (unsigned n = 1; n < level; n++) {
        bp -= size;
        v = sem_ld_at(cpu, x86_linear(cpu, SEG_SS, bp & mask, size, false), size);
        sp -= size;
        sem_st_at(cpu, x86_linear(cpu, SEG_SS, sp & mask, size, true), v, size);
    }
    if (level > 0) {
        sp -= size;
        sem_st_at(cpu, x86_linear(cpu, SEG_SS, sp & mask, size, true), frame, size);
    }
    sp -= (uint16_t)i->imm;
    x86_probe(cpu, x86_linear(cpu, SEG_SS, sp & mask, size, true), size, true);
    reg_write(st, R_RBP, frame, size);
    set_rsp(st, sp);
    x86_next(st, i);
}

/* Virtual-8086 mode below IOPL 3: the virtual interrupt flag with VME and 16 bits, else #GP. */
SEM(pushf)
{
    X86State *st = cpu->st;
    uint64_t v = st->rflags & ~(uint64_t)(FL_RF | FL_VM);

    if ((st->mode & MODE_VM) && (st->rflags & FL_IOPL) != FL_IOPL) {
        if (!(st->cr4 & CR4_VME) || i->opsize != 2) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        v = (v & ~(uint64_t)FL_IF) | FL_IOPL | (st->rflags & FL_VIF ? FL_IF : 0);
    }
    push_sized(cpu, v, i->opsize);
    x86_next(st, i);
}

SEM(popf)
{
    X86State *st = cpu->st;
    uint64_t v = stack_top(cpu, i->opsize);

    x86_load_flags(cpu, v, i->opsize);
    set_rsp(st, st->regs[R_RSP] + i->opsize);
    x86_next(st, i);
}
