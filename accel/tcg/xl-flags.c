/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the guest's arithmetic flags are: in host EFLAGS, in the image, or nowhere because nobody looks.
 *
 * Looked at: by instructions that read them, and wherever the interpreter may take over (memory operands, calls,
 * native faults, block ends), since the state must be exact there. Never popfq (T13): OF comes back by an addition,
 * the others by SAHF. Test: tests/insn, tests/bare.
 */
#include "accel/tcg/xl.h"

/* An immediate count of zero leaves flags alone. */
static unsigned shift_count(const Insn *i)
{
    return i->imm & (i->opsize == 8 ? 63 : 31);
}

static bool is_shift(const InsnRow *r, const Insn *i, bool *by_cl, bool *by_imm)
{
    unsigned op = i->opcode;

    *by_cl = *by_imm = false;
    if (r->map == MAP_1B && (op == 0xd2 || op == 0xd3 || op == 0xc0 || op == 0xc1)) {
        *by_cl = op >= 0xd2;
        *by_imm = op < 0xd2;
    } else if (r->map == MAP_0F && (op == 0xa4 || op == 0xac || op == 0xa5 || op == 0xad)) {
        *by_cl = op & 1;
        *by_imm = !(op & 1);
    }
    return *by_cl || *by_imm;
}

/* Flags that the instruction may change (*some), and whether it surely replaces all of them. */
static bool writes_all(const Insn *i, bool *some)
{
    const InsnRow *r = x86_row(i);
    unsigned mask = (r->flags_written | r->flags_undef) & FL_ARITH;
    bool by_cl, by_imm;

    *some = mask != 0;
    if (is_shift(r, i, &by_cl, &by_imm)) {
        if (by_imm && !shift_count(i)) {
            *some = false;
            return false;
        }
        if (by_cl) {
            return false;
        }
    }
    return mask == FL_ARITH;
}

static bool reads(const Insn *i)
{
    return x86_row(i)->flags_read & FL_ARITH;
}

/* Can the state be looked at before this instruction? Not if it is sure to be a plain host instruction. */
static bool observes(const Insn *i)
{
    const InsnRow *r = x86_row(i);

    if (!i->op) {
        return true;                                    /* only faults */
    }
    if ((r->flags & ROW_NOPM) || (r->xlat == XLAT_SAME && r->map == MAP_1B && r->opcode == 0x8d)) {
        return false;
    }
    if (x86_is_mem(i) || (r->flags & ROW_END)) {
        return true;
    }
    if (r->xlat == XLAT_SAME) {
        return i->reg >= 0x10 || i->rm >= 0x10 || (r->map == MAP_0F && (i->opcode == 0xb0 || i->opcode == 0xb1));
    }
    return true;
}

void xl_flags_analyse(Xl *x)
{
    bool need = true, some;

    x->need_in[x->b->count] = true;
    for (unsigned k = x->b->count; k-- > 0;) {
        const Insn *i = &x->b->insns[k];

        need = observes(i) || reads(i) || (need && !writes_all(i, &some));
        x->need_in[k] = need;
    }
}

void xl_flags_save(Xl *x)
{
    if (x->image) {
        return;
    }
    if (!x->eflags) {
        x->full = true;                                 /* lost: cannot be, and then the block is not translated */
        return;
    }
    xl_u8(x, 0x9f);                                     /* lahf */
    xl_legacy(x, 0, MAP_0F, 0x90, false, false, 0, xl_reg(H_RAX));          /* seto al */
    xl_legacy(x, 0x66, MAP_1B, 0x89, false, false, H_RAX, xl_state(XL_HOT(image)));
    x->image = true;
}

void xl_flags_emit_restore(Xl *x)
{
    xl_legacy(x, 0, MAP_0F, 0xb7, false, false, H_RAX, xl_state(XL_HOT(image)));   /* movzx eax, word */
    xl_u8(x, 0x04);                                     /* add al, 7fh: OF if al was 1 */
    xl_u8(x, 0x7f);
    xl_u8(x, 0x9e);                                     /* sahf */
}

void xl_flags_restore(Xl *x)
{
    if (!x->eflags) {
        if (!x->image) {
            x->full = true;
            return;
        }
        xl_flags_emit_restore(x);
        x->eflags = true;
    }
}

void xl_flags_spill(Xl *x)
{
    if (x->eflags && !x->image && x->need_in[x->k]) {
        xl_flags_save(x);
    }
    x->eflags = false;
}

/* Does instruction k need EFLAGS when it starts? */
bool xl_flags_wanted(const Xl *x)
{
    bool some, all = writes_all(x->i, &some);

    return reads(x->i) || (some && !all && x->need_in[x->k + 1]);
}

void xl_flags_before(Xl *x)
{
    if (xl_flags_wanted(x)) {
        xl_flags_restore(x);
    }
}

void xl_flags_after(Xl *x)
{
    bool some;

    writes_all(x->i, &some);
    if (some) {
        x->eflags = true;
        x->image = false;
    }
}
