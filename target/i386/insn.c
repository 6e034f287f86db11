/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions about a decoded instruction that its table row answers: operand sizes, CPUID features (insn.h).
 * Pure functions, any thread. Test: tests/unit/test-decode.c.
 */
#include "target/i386/insn.h"

unsigned x86_operand_size(const Insn *i, const InsnOperand *o)
{
    switch ((InsnOpSize)o->size) {
    case SZ_B: case SZ_BS: return 1;
    case SZ_W: return 2;
    case SZ_D: return 4;
    case SZ_Q: return 8;
    case SZ_V: return i->opsize;
    case SZ_Y: return i->opsize == 8 ? 8 : 4;
    case SZ_Z: return i->opsize < 4 ? i->opsize : 4;
    case SZ_DQ: return 16;
    case SZ_QQ: return 32;
    case SZ_X: return i->vl;
    case SZ_H: return i->vl / 2;
    case SZ_F: return i->vl / 4;
    case SZ_E: return i->vl / 8;
    case SZ_P: return i->opsize + 2;
    case SZ_S: return i->prefixes & INSN_CODE64 ? 10 : 6;
    case SZ_A: return i->opsize * 2;
    case SZ_T: return 10;
    case SZ_ENV: return i->opsize == 2 ? 14 : 28;
    case SZ_SAVE: return i->opsize == 2 ? 94 : 108;
    case SZ_64: return 64;
    case SZ_512: return 512;
    case SZ_CX: return i->opsize == 8 ? 16 : 8;
    case SZ_0: case SZ_XS: break;
    }
    return 0;
}

unsigned x86_insn_gates(const Insn *i, uint8_t gates[4])
{
    const InsnRow *row = x86_row(i);
    unsigned n = 0;

    for (unsigned k = 0; k < 2; k++) {
        if (row->gates[k]) {
            gates[n++] = row->gates[k];
        }
    }
    if (row->gate64 && (i->prefixes & INSN_CODE64)) {
        gates[n++] = row->gate64;
    }
    if ((i->prefixes & INSN_EVEX) && !(row->l & 0x80) && row->l != 1 && i->vl < 64) {
        gates[n++] = GATE_AVX512VL;
    }
    return n;
}
