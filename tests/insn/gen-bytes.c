/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes a random instruction of a row of the instruction table: prefixes, opcode, ModRM, SIB,
 * displacement, immediates. What the row does not fix is random, now and then beyond what it
 * allows. See insn-test.h.
 */
#include <string.h>

#include "gen.h"

typedef struct Writer {
    Rng *r;
    const InsnRow *row;
    uint8_t *p;
    unsigned bits;              /* 64, 32, 16 */
    bool seq, mem, ad16;        /* in a sequence; memory form; 16-bit addressing */
} Writer;

static void put(Writer *w, uint8_t v)
{
    *w->p++ = v;
}

static bool has_kind(const InsnRow *row, unsigned first, unsigned second, unsigned third)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        unsigned k = row->opnd[n].kind;

        if (k == first || k == second || k == third) {
            return true;
        }
    }
    return false;
}

/* ---- prefixes ---- */

/* FS is this process's own in 64-bit code. */
static void put_segment(Writer *w, unsigned percent)
{
    static const uint8_t seg[] = { 0x65, 0x65, 0x65, 0x2e, 0x36, 0x3e, 0x26, 0x64 };

    if (!w->seq && rng_percent(w->r, percent)) {
        put(w, seg[rng_below(w->r, sizeof(seg) - (w->bits == 64))]);
    }
}

static void put_address_size(Writer *w, unsigned percent)
{
    if (!w->seq && rng_percent(w->r, percent)) {
        put(w, 0x67);
        w->ad16 = w->bits == 32;
    }
}

static void put_common_prefixes(Writer *w)
{
    put_address_size(w, 8);
    put_segment(w, w->bits == 64 ? 8 : 20);
    if (rng_percent(w->r, (w->row->flags & ROW_LOCK) && w->mem ? 25 : 1) && !w->seq) {
        put(w, 0xf0);
    }
}

static bool is_near_branch(const InsnRow *row)
{
    return row->xlat == XLAT_FLOW;
}

static void put_operand_prefixes(Writer *w)
{
    unsigned pfx = w->row->pfx;
    bool plain = pfx & PFX_NONE;

    if (w->bits == 64 && is_near_branch(w->row)) {
        return;                         /* 66 there is reserved (SDM vol. 2 2.1.1): Intel and AMD differ */
    }
    if (!plain || rng_percent(w->r, 5)) {
        if (pfx == PFX_F3 || pfx == PFX_F2) {
            put(w, pfx == PFX_F3 ? 0xf3 : 0xf2);
        }
    }
    if ((pfx & PFX_66) && (!plain || rng_percent(w->r, 20))) {
        put(w, 0x66);
    }
    if (plain && (pfx & (PFX_F2 | PFX_F3)) && rng_percent(w->r, w->row->flags & ROW_REP ? 50 : 3)) {
        put(w, rng_percent(w->r, 50) ? 0xf3 : 0xf2);
    }
}

static void put_legacy(Writer *w)
{
    const InsnRow *row = w->row;

    put_common_prefixes(w);
    put_operand_prefixes(w);
    if (w->bits == 64 && rng_percent(w->r, 55)) {
        put(w, 0x40 | (rng_next(w->r) & 15));
    }
    if (row->map != MAP_1B) {
        put(w, 0x0f);
    }
    if (row->map == MAP_0F38 || row->map == MAP_0F3A) {
        put(w, row->map == MAP_0F38 ? 0x38 : 0x3a);
    }
}

static unsigned prefix_code(const InsnRow *row)
{
    return row->pfx == PFX_66 ? 1 : row->pfx == PFX_F3 ? 2 : row->pfx == PFX_F2 ? 3 : 0;
}

static unsigned pick_length(Writer *w, unsigned most)
{
    unsigned l;

    if (w->row->l & 0x80) {
        return rng_below(w->r, most);
    }
    do {
        l = rng_below(w->r, most);
    } while (!(w->row->l >> l & 1));
    return l;
}

static unsigned pick_w(Writer *w)
{
    return w->row->w == 1 ? 0 : w->row->w == 2 ? 1 : rng_below(w->r, 2);
}

static unsigned pick_vvvv(Writer *w, unsigned registers)
{
    if (has_kind(w->row, OPK_KH, OPK_KH, OPK_KH)) {
        return rng_below(w->r, 8);
    }
    return has_kind(w->row, OPK_H, OPK_B, OPK_NONE + 255) ? rng_below(w->r, registers) : 0;
}

static bool mask_register_in(const InsnRow *row, unsigned a, unsigned b)
{
    return has_kind(row, a, b, b);
}

/* Inverted R, X, B: mask registers allow no extension in ModRM.reg. */
static unsigned pick_rxb(Writer *w)
{
    unsigned v = rng_next(w->r) & 7;

    if (mask_register_in(w->row, OPK_KG, OPK_KG)) {
        v |= 4;
    }
    return w->bits == 64 ? v : v | 6;           /* elsewhere R and X set tell it from LDS, LES, BOUND */
}

static void put_vex(Writer *w)
{
    unsigned rxb, l = pick_length(w, 2), vvvv = pick_vvvv(w, 16), W = pick_w(w), pp = prefix_code(w->row);

    put_address_size(w, 3);
    put_segment(w, w->bits == 64 ? 3 : 20);
    rxb = pick_rxb(w);
    if (w->row->map == MAP_VEX1 && !W && (rxb & 3) == 3 && (w->bits == 64 || vvvv < 8)) {
        put(w, 0xc5);
        put(w, (rxb & 4) << 5 | (~vvvv & 15) << 3 | l << 2 | pp);
        return;
    }
    put(w, 0xc4);
    put(w, rxb << 5 | (w->row->map - MAP_VEX1 + 1));
    put(w, W << 7 | (~vvvv & 15) << 3 | l << 2 | pp);
}

static void put_evex(Writer *w)
{
    static const uint8_t maps[] = { 1, 2, 3, 5, 6 };
    const uint32_t f = w->row->flags;
    unsigned l = pick_length(w, 3), vvvv = pick_vvvv(w, 32), rxb = pick_rxb(w), aaa = 0, z = 0, b = 0, r2 = 1;

    put_address_size(w, 3);
    put_segment(w, w->bits == 64 ? 3 : 20);
    if (!mask_register_in(w->row, OPK_KG, OPK_KG)) {
        r2 = rng_below(w->r, 2);
    }
    if (f & ROW_KREQ) {
        aaa = 1 + rng_below(w->r, 7);
    } else if ((f & (ROW_K | ROW_KZ)) && rng_percent(w->r, 60)) {
        aaa = rng_below(w->r, 8);
    }
    z = (f & ROW_KZ) && aaa && rng_percent(w->r, 35);
    if (w->mem ? w->row->bcast != 0 : (f & (ROW_ER | ROW_SAE | ROW_RCOK)) != 0) {
        b = rng_percent(w->r, 35);
    }
    put(w, 0x62);
    put(w, rxb << 5 | r2 << 4 | maps[w->row->map - MAP_EVEX1]);
    put(w, pick_w(w) << 7 | (~vvvv & 15) << 3 | 4 | prefix_code(w->row));
    if (f & ROW_VSIB) {
        vvvv = rng_below(w->r, 2) << 4;
    }
    put(w, z << 7 | l << 5 | b << 4 | (vvvv & 16 ? 0 : 8) | aaa);
}

/* ---- ModRM ---- */

static void put_random(Writer *w, unsigned n)
{
    while (n--) {
        put(w, rng_next(w->r) >> 40);
    }
}

static void put_disp32(Writer *w)
{
    int32_t v = (int)rng_below(w->r, 8192) - 4096;

    memcpy(w->p, &v, 4);
    w->p += 4;
}

static void put_memory16(Writer *w, unsigned reg)
{
    unsigned mod = rng_below(w->r, 3), rm = rng_below(w->r, 8);

    if (w->seq || rng_percent(w->r, 10)) {
        mod = 0;
        rm = 6;
    }
    put(w, mod << 6 | reg << 3 | rm);
    put_random(w, mod == 0 && rm == 6 ? 2 : mod);
}

static void put_memory(Writer *w, unsigned reg)
{
    bool sib_only = w->row->flags & ROW_VSIB;
    unsigned mod = rng_below(w->r, 3), rm = rng_below(w->r, 8), sib = rng_next(w->r) >> 50 & 0xff;

    if (w->seq || rng_percent(w->r, 10)) {
        mod = 0;
        rm = 5;
    }
    if (sib_only || (!w->seq && rng_percent(w->r, 25))) {
        rm = 4;
    }
    put(w, mod << 6 | reg << 3 | rm);
    if (rm == 4) {
        put(w, sib);
    }
    if (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))) {
        put_disp32(w);
    } else if (mod == 1) {
        put_random(w, 1);
    } else if (mod == 2) {
        put_disp32(w);
    }
}

static void put_modrm(Writer *w)
{
    const InsnRow *row = w->row;
    unsigned reg = row->digit != 0xff ? row->digit : rng_below(w->r, 8);

    if (w->mem && w->ad16 && !(row->flags & ROW_VSIB)) {
        put_memory16(w, reg);
    } else if (w->mem) {
        put_memory(w, reg);
    } else {
        put(w, 0xc0 | reg << 3 | (row->rm != 0xff ? row->rm : rng_below(w->r, 8)));
    }
}

void bytes_generate(Rng *r, const InsnRow *row, unsigned bits, bool in_sequence, uint8_t out[32])
{
    Writer w = { r, row, out, bits, in_sequence, false, bits == 16 };

    if (bits == 16 && ((row->flags & ROW_VSIB) || (!in_sequence && rng_percent(r, 40)))) {
        put(&w, 0x67);
        w.ad16 = false;
    }

    if (row->flags & ROW_MODRM) {
        w.mem = row->mod == 1 || (row->mod == 3 && !(row->flags & ROW_MODR) && rng_percent(r, 55));
    }
    if (row->map >= MAP_EVEX1) {
        put_evex(&w);
    } else if (row->map >= MAP_VEX1) {
        put_vex(&w);
    } else {
        put_legacy(&w);
    }
    put(&w, row->opcode | (row->plus_r ? rng_below(r, 8) : 0));
    if (row->flags & ROW_MODRM) {
        put_modrm(&w);
    }
    if (rng_percent(r, 30)) {
        put(&w, rng_below(r, 64));
        put_random(&w, out + 31 - w.p);
    } else {
        put_random(&w, out + 32 - w.p);
    }
}
