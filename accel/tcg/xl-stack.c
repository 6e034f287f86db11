/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PUSH, POP, LEAVE, PUSHF of translated code: the store first, then rSP (T11). Stacks are flat, of the code's own
 * width; others are the interpreter's. Test: tests/insn, tests/bare.
 */
#include "accel/tcg/xl.h"

static bool wide(const Xl *x)
{
    return x->b->mode & MODE_CS64;
}

static unsigned slot(const Xl *x)
{
    return wide(x) ? 8 : 4;
}

void xl_push_check(Xl *x)
{
    xl_flags_spill(x);
    xl_lea(x, H_RAX, xl_mem(H_R13, -(int)slot(x)), wide(x));
    xl_check(x, slot(x), true);
}

void xl_push_done(Xl *x)
{
    xl_lea(x, H_R13, xl_mem(H_R13, -(int)slot(x)), wide(x));
}

static void push_host(Xl *x, unsigned h)
{
    xl_push_check(x);
    xl_legacy(x, 0, MAP_1B, 0x89, wide(x), false, h, xl_mem2(H_R15, H_RAX));
    xl_push_done(x);
}

/* From a 64-bit word of the state. */
static void push_state(Xl *x, int offset)
{
    xl_push_check(x);
    xl_lea(x, H_R15, xl_mem2(H_R15, H_RAX), true);
    xl_load(x, H_RAX, xl_state(offset));
    xl_legacy(x, 0, MAP_1B, 0x89, wide(x), false, H_RAX, xl_mem(H_R15, 0));
    xl_push_done(x);
}

static bool push_reg(Xl *x, unsigned guest)
{
    unsigned h = xl_host(guest);

    if (h == H_NONE) {
        push_state(x, 8 * guest);
    } else {
        push_host(x, h);
    }
    return true;
}

static bool push_imm(Xl *x, const Insn *i)
{
    xl_push_check(x);
    xl_legacy(x, 0, MAP_1B, 0xc7, wide(x), false, 0, xl_mem2(H_R15, H_RAX));
    xl_u32(x, i->imm);
    xl_push_done(x);
    return true;
}

static bool push_mem(Xl *x, const Insn *i)
{
    if (!xl_ea_ok(x, i)) {
        return false;
    }
    xl_operand(x, i, slot(x), false);
    xl_legacy(x, 0, MAP_1B, 0x8b, wide(x), false, H_RAX, xl_mem2(H_R15, H_RAX));
    xl_store(x, xl_state(XL_HOT(tmp)), H_RAX);
    push_state(x, XL_HOT(tmp));
    return true;
}

static bool pop_reg(Xl *x, unsigned guest)
{
    unsigned h = xl_host(guest), to = h == H_NONE ? H_RAX : h;

    xl_flags_spill(x);
    xl_legacy(x, 0, MAP_1B, 0x8b, wide(x), false, H_RAX, xl_reg(H_R13));
    xl_check(x, slot(x), false);
    xl_legacy(x, 0, MAP_1B, 0x8b, wide(x), false, to, xl_mem2(H_R15, H_RAX));
    if (guest != R_RSP) {
        xl_lea(x, H_R13, xl_mem(H_R13, slot(x)), wide(x));
    }
    if (h == H_NONE) {
        xl_put(x, guest, H_RAX);
    }
    return true;
}

static bool leave(Xl *x)
{
    xl_flags_spill(x);
    xl_legacy(x, 0, MAP_1B, 0x8b, wide(x), false, H_RAX, xl_reg(H_RBP));
    xl_check(x, slot(x), false);
    xl_legacy(x, 0, MAP_1B, 0x8b, wide(x), false, H_RAX, xl_mem2(H_R15, H_RAX));
    xl_lea(x, H_R13, xl_mem(H_RBP, slot(x)), wide(x));
    xl_legacy(x, 0, MAP_1B, 0x8b, wide(x), false, H_RBP, xl_reg(H_RAX));
    return true;
}

/* RFLAGS as PUSHF shows them: from the image and the state, to tmp. Only 64-bit code, where nothing can forbid it. */
static bool pushf(Xl *x)
{
    if (!wide(x)) {
        return false;
    }
    xl_flags_save(x);
    x->eflags = false;
    xl_legacy(x, 0, MAP_0F, 0xb6, false, false, H_RAX, xl_state(XL_HOT(image) + 1));        /* movzx eax, byte */
    xl_legacy(x, 0, MAP_1B, 0x81, false, false, 4, xl_reg(H_RAX));                          /* and */
    xl_u32(x, FL_ARITH & 0xff);
    xl_legacy(x, 0, MAP_0F, 0xb6, false, false, H_R15, xl_state(XL_HOT(image)));
    xl_legacy(x, 0, MAP_1B, 0xc1, false, false, 4, xl_reg(H_R15));                          /* shl 11 */
    xl_u8(x, 11);
    xl_legacy(x, 0, MAP_1B, 0x09, false, false, H_R15, xl_reg(H_RAX));                      /* or eax, r15d */
    xl_load(x, H_R15, xl_state(offsetof(X86State, rflags)));
    xl_legacy(x, 0, MAP_1B, 0x81, true, false, 4, xl_reg(H_R15));
    xl_u32(x, ~(uint32_t)(FL_ARITH | FL_RF | FL_VM));
    xl_legacy(x, 0, MAP_1B, 0x09, true, false, H_R15, xl_reg(H_RAX));
    xl_store(x, xl_state(XL_HOT(tmp)), H_RAX);
    push_state(x, XL_HOT(tmp));
    return true;
}

static bool stack_1b(Xl *x, const Insn *i, const InsnRow *r)
{
    switch (r->opcode) {
    case 0x50:
        return push_reg(x, i->rm);
    case 0x58:
        return pop_reg(x, i->rm);
    case 0x68:
    case 0x6a:
        return push_imm(x, i);
    case 0x8f:
        return !x86_is_mem(i) && pop_reg(x, i->rm);
    case 0xff:
        return x86_is_mem(i) ? push_mem(x, i) : push_reg(x, i->rm);
    case 0xc9:
        return leave(x);
    default:
        return false;
    }
}

bool xl_stack(Xl *x)
{
    const Insn *i = x->i;
    const InsnRow *r = x86_row(i);

    if (r->map != MAP_1B || i->opsize != slot(x) || (!wide(x) && !(x->b->mode & MODE_SS32))) {
        return false;
    }
    if (r->xlat == XLAT_FLAG && r->opcode == 0x9c) {
        return pushf(x);
    }
    return r->xlat == XLAT_STACK && stack_1b(x, i, r);
}
