/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encoding of host instructions for the translator (SDM vol. 2 ch. 2).
 *
 * Bytes go to the writable view of the chunk being filled; a block that does not fit sets `full` and is thrown away.
 * Test: tests/insn.
 */
#include <string.h>

#include "accel/tcg/xl.h"

void xl_u8(Xl *x, uint8_t v)
{
    if (x->p + 1 > x->end) {
        x->full = true;
        return;
    }
    *x->p++ = v;
}

static void put_bytes(Xl *x, const void *v, unsigned n)
{
    if (x->p + n > x->end) {
        x->full = true;
        return;
    }
    memcpy(x->p, v, n);
    x->p += n;
}

void xl_u32(Xl *x, uint32_t v)
{
    put_bytes(x, &v, sizeof(v));
}

void xl_u64(Xl *x, uint64_t v)
{
    put_bytes(x, &v, sizeof(v));
}

/* ---- operands ---- */
static bool fits8(int32_t disp)
{
    return disp == (int8_t)disp;
}

void xl_modrm(Xl *x, unsigned reg, XlRm rm)
{
    unsigned base = rm.reg & 7, mod;

    if (rm.kind == XL_RM_REG) {
        xl_u8(x, 0xc0 | (reg & 7) << 3 | base);
        return;
    }
    if (rm.reg == H_NONE) {                             /* no base: SIB with base 5, mod 0 */
        xl_u8(x, (reg & 7) << 3 | 4);
        xl_u8(x, rm.scale << 6 | (rm.index == H_NONE ? 4 : rm.index & 7) << 3 | 5);
        xl_u32(x, rm.disp);
        return;
    }
    mod = rm.disp == 0 && base != 5 ? 0 : fits8(rm.disp) ? 1 : 2;
    if (rm.index != H_NONE || base == 4) {
        xl_u8(x, mod << 6 | (reg & 7) << 3 | 4);
        xl_u8(x, rm.scale << 6 | (rm.index == H_NONE ? 4 : rm.index & 7) << 3 | base);
    } else {
        xl_u8(x, mod << 6 | (reg & 7) << 3 | base);
    }
    if (mod == 1) {
        xl_u8(x, rm.disp);
    } else if (mod == 2) {
        xl_u32(x, rm.disp);
    }
}

static unsigned rex_of(bool w, unsigned reg, XlRm rm)
{
    unsigned index = rm.kind == XL_RM_MEM && rm.index != H_NONE ? rm.index : 0, base = rm.reg == H_NONE ? 0 : rm.reg;

    return w << 3 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 | (base >> 3 & 1);
}

void xl_legacy(Xl *x, unsigned prefix, unsigned map, unsigned opcode, bool w, bool rex, unsigned reg, XlRm rm)
{
    unsigned bits = rex_of(w, reg, rm);

    if (prefix) {
        xl_u8(x, prefix);
    }
    if (bits || rex) {
        xl_u8(x, 0x40 | bits);
    }
    if (map != MAP_1B) {
        xl_u8(x, 0x0f);
    }
    if (map == MAP_0F38 || map == MAP_0F3A) {
        xl_u8(x, map == MAP_0F38 ? 0x38 : 0x3a);
    }
    xl_u8(x, opcode);
    xl_modrm(x, reg, rm);
}

void xl_load(Xl *x, unsigned reg, XlRm rm)
{
    xl_legacy(x, 0, MAP_1B, 0x8b, true, false, reg, rm);
}

void xl_store(Xl *x, XlRm rm, unsigned reg)
{
    xl_legacy(x, 0, MAP_1B, 0x89, true, false, reg, rm);
}

void xl_lea(Xl *x, unsigned reg, XlRm rm, bool wide)
{
    xl_legacy(x, 0, MAP_1B, 0x8d, wide, false, reg, rm);
}

/* ---- jumps ---- */
static void jump_opcode(Xl *x, unsigned cc)
{
    if (cc == 16) {
        xl_u8(x, 0xe9);
    } else {
        xl_u8(x, 0x0f);
        xl_u8(x, 0x80 | cc);
    }
}

uint8_t *xl_jump(Xl *x, unsigned cc)
{
    jump_opcode(x, cc);
    xl_u32(x, 0);
    return x->p - 4;
}

void xl_here(Xl *x, uint8_t *rel32)
{
    int32_t d = x->p - (rel32 + 4);

    if (!x->full) {
        memcpy(rel32, &d, sizeof(d));
    }
}

bool xl_jump_to(Xl *x, unsigned cc, uint64_t target)
{
    int64_t d = target - ((uint64_t)(uintptr_t)x->p + x->exec + (cc == 16 ? 5 : 6));

    if (d != (int32_t)d) {
        return false;
    }
    jump_opcode(x, cc);
    xl_u32(x, d);
    return true;
}

void xl_call_hot(Xl *x, int hot)
{
    xl_u8(x, 0xff);
    xl_modrm(x, 2, xl_state(hot));
}

void xl_jump_hot(Xl *x, int hot)
{
    xl_u8(x, 0xff);
    xl_modrm(x, 4, xl_state(hot));
}

void xl_vex(Xl *x, unsigned pp, unsigned map, unsigned opcode, bool w, unsigned vvvv, unsigned l, unsigned reg, XlRm rm)
{
    unsigned bits = rex_of(false, reg, rm);

    xl_u8(x, 0xc4);
    xl_u8(x, (~bits & 7) << 5 | map);
    xl_u8(x, w << 7 | (~vvvv & 15) << 3 | l << 2 | pp);
    xl_u8(x, opcode);
    xl_modrm(x, reg, rm);
}
