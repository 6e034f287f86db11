/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of translated code that are neither re-encoded nor branches: single flags, CLI, CLD, fences, RDTSC.
 * Test: tests/insn, tests/bare.
 */
#include "accel/tcg/xl.h"

/* CLC, STC, CMC and LAHF, SAHF work on EFLAGS. */
static bool carry(Xl *x, const Insn *i)
{
    xl_flags_restore(x);
    xl_u8(x, i->opcode);
    x->image = false;
    return true;
}

static bool flag_rows(Xl *x, const Insn *i)
{
    switch (i->opcode) {
    case 0xf5:
    case 0xf8:
    case 0xf9:
        return carry(x, i);
    case 0xfc:                                          /* CLD */
        xl_flags_spill(x);
        xl_legacy(x, 0, MAP_1B, 0x81, false, false, 4, xl_state(offsetof(X86State, rflags)));
        xl_u32(x, ~(uint32_t)FL_DF);
        return true;
    default:
        return false;
    }
}

/* CLI where nothing stands against it. */
static bool cli(Xl *x)
{
    if (!(x->b->mode & MODE_CS64) || (x->b->mode & MODE_CPL)) {
        return false;
    }
    xl_flags_save(x);
    x->eflags = false;
    xl_legacy(x, 0, MAP_1B, 0x81, false, false, 4, xl_state(offsetof(X86State, rflags)));
    xl_u32(x, ~(uint32_t)FL_IF);
    return true;
}

bool xl_misc(Xl *x)
{
    const Insn *i = x->i;
    const InsnRow *r = x86_row(i);

    if (r->map == MAP_1B && r->xlat == XLAT_FLAG) {
        return flag_rows(x, i);
    }
    if (r->map == MAP_1B && r->opcode == 0xfa) {
        return cli(x);
    }
    if (r->map == MAP_0F && r->opcode == 0xae && !x86_is_mem(i) && r->digit >= 5 && r->pfx == PFX_NONE) {
        xl_u8(x, 0x0f);                                 /* LFENCE, MFENCE, SFENCE */
        xl_u8(x, 0xae);
        xl_u8(x, 0xc0 | r->digit << 3);
        return true;
    }
    return false;
}
