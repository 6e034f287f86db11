/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder: prefixes, opcode, row of the instruction table, ModRM, immediates (SDM vol. 2 ch. 2).
 *
 * A pure function of bytes and mode; see decode.h. Steps in order: legacy prefixes and REX; VEX or EVEX payload
 * or an opcode of a legacy map; the first row among the opcode's candidates that fits (row_fits); checks that
 * make it #UD; the memory operand; immediates; register numbers. Any step may end with "more bytes", "too long"
 * or #UD. Left out: CPUID gates, privilege, CR bits (who runs the instruction checks them).
 * Test: tests/unit/test-decode.c, tests/fuzz/fuzz-decode.c.
 */
#include <string.h>

#include "target/i386/cpu.h"
#include "target/i386/decode.h"
#include "target/i386/decode-tables.h"

typedef struct Decoder {
    const uint8_t *bytes;
    size_t avail;
    unsigned pos;
    uint32_t mode;
    bool m64;
    X86DecodeResult result;     /* first failure */
    unsigned map;               /* MAP_* */
    unsigned pfx;               /* PFX_*: the mandatory prefix in effect, one bit */
    bool w;                     /* W as encoded */
    unsigned r, x, b, rr, vv;   /* register extension bits: 0 or 1; rr: R', vv: V' */
    unsigned modrm;
    int seg_override;           /* SEG_*, -1: none */
    const InsnRow *row;
    Insn *o;
} Decoder;

static bool fail(Decoder *d, X86DecodeResult r)
{
    d->result = r;
    return false;
}

static bool need(Decoder *d, unsigned n)
{
    if (d->pos + n > X86_INSN_MAX) {
        return fail(d, d->avail >= X86_INSN_MAX ? X86_DECODE_TOO_LONG : X86_DECODE_MORE);
    }
    return d->pos + n <= d->avail || fail(d, X86_DECODE_MORE);
}

static bool fetch(Decoder *d, unsigned *out)
{
    if (!need(d, 1)) {
        return false;
    }
    *out = d->bytes[d->pos++];
    return true;
}

/* n little-endian bytes, sign-extended. */
static bool fetch_signed(Decoder *d, unsigned n, uint64_t *out)
{
    uint64_t v = 0;

    if (!need(d, n)) {
        return false;
    }
    memcpy(&v, d->bytes + d->pos, n);
    d->pos += n;
    *out = n == 0 ? 0 : (uint64_t)((int64_t)(v << (64 - 8 * n)) >> (64 - 8 * n));
    return true;
}

static int seg_of_prefix(unsigned byte)
{
    switch (byte) {
    case 0x26: return SEG_ES;
    case 0x2e: return SEG_CS;
    case 0x36: return SEG_SS;
    case 0x3e: return SEG_DS;
    case 0x64: return SEG_FS;
    case 0x65: return SEG_GS;
    default: return -1;
    }
}

/* True when byte is a legacy prefix (noted). */
static bool note_prefix(Decoder *d, unsigned byte)
{
    int seg = seg_of_prefix(byte);

    if (seg >= 0) {
        if (!d->m64 || seg >= SEG_FS) {
            d->seg_override = seg;
        }
        return true;
    }
    switch (byte) {
    case 0x66: d->o->prefixes |= INSN_66; return true;
    case 0x67: d->o->prefixes |= INSN_67; return true;
    case 0xf0: d->o->prefixes |= INSN_LOCK; return true;
    case 0xf2: d->o->prefixes = (d->o->prefixes & ~INSN_REP) | INSN_REPNE; return true;
    case 0xf3: d->o->prefixes = (d->o->prefixes & ~INSN_REPNE) | INSN_REP; return true;
    default: return false;
    }
}

/* Prefixes up to the first opcode byte, which is returned. A REX that is not the last one is void. */
static bool take_prefixes(Decoder *d, unsigned *opcode)
{
    unsigned rex = 0;

    for (;;) {
        if (!fetch(d, opcode)) {
            return false;
        }
        if (d->m64 && (*opcode & 0xf0) == 0x40) {
            rex = *opcode;
        } else if (note_prefix(d, *opcode)) {
            rex = 0;
        } else {
            break;
        }
    }
    d->o->off_opcode = d->pos - 1;
    if (rex) {
        d->o->prefixes |= INSN_REX;
        d->w = rex >> 3 & 1;
        d->r = rex >> 2 & 1;
        d->x = rex >> 1 & 1;
        d->b = rex & 1;
    }
    return true;
}

static unsigned legacy_pfx(const Decoder *d)
{
    return d->o->prefixes & INSN_REP ? PFX_F3 : d->o->prefixes & INSN_REPNE ? PFX_F2 :
           d->o->prefixes & INSN_66 ? PFX_66 : PFX_NONE;
}

static bool take_legacy_opcode(Decoder *d, unsigned opcode)
{
    d->map = MAP_1B;
    if (opcode == 0x0f) {
        d->map = MAP_0F;
        if (!fetch(d, &opcode)) {
            return false;
        }
        if (opcode == 0x38 || opcode == 0x3a) {
            d->map = opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
            if (!fetch(d, &opcode)) {
                return false;
            }
        }
    }
    d->o->opcode = opcode;
    d->pfx = legacy_pfx(d);
    return true;
}

static const uint8_t pp_to_pfx[4] = {PFX_NONE, PFX_66, PFX_F3, PFX_F2};

/* What VEX and EVEX share: their bytes come inverted, and outside 64-bit mode there are 8 registers. */
static void set_vvvv(Decoder *d, unsigned byte)
{
    d->o->vvvv = (byte >> 3 & 15) ^ 15;
    d->pfx = pp_to_pfx[byte & 3];
}

static bool vector_prefix_ok(Decoder *d)
{
    if ((d->mode & MODE_VM) || !(d->mode & (MODE_PE | MODE_CS64)) ||
        (d->o->prefixes & (INSN_LOCK | INSN_REP | INSN_REPNE | INSN_66 | INSN_REX))) {
        return fail(d, X86_DECODE_UD);
    }
    return true;
}

static bool take_vex(Decoder *d, unsigned first)
{
    unsigned p0, p1, opcode;

    if (!fetch(d, &p0)) {
        return false;
    }
    p1 = p0;
    d->map = MAP_VEX1;
    d->r = ~p0 >> 7 & 1;
    if (first == 0xc4) {
        if (!fetch(d, &p1)) {
            return false;
        }
        d->x = ~p0 >> 6 & 1;
        d->b = ~p0 >> 5 & 1;
        d->w = p1 >> 7;
        d->map = MAP_VEX1 + (p0 & 31) - 1;
    }
    d->o->prefixes |= INSN_VEX;
    d->o->ll = p1 >> 2 & 1;
    set_vvvv(d, p1);
    if (!vector_prefix_ok(d) || !fetch(d, &opcode)) {
        return false;
    }
    d->o->opcode = opcode;
    return (d->map >= MAP_VEX1 && d->map <= MAP_VEX3) || fail(d, X86_DECODE_UD);
}

static bool evex_map(Decoder *d, unsigned mmm)
{
    static const uint8_t maps[8] = {0, MAP_EVEX1, MAP_EVEX2, MAP_EVEX3, 0, MAP_EVEX5, MAP_EVEX6, 0};

    d->map = maps[mmm];
    return d->map != 0 || fail(d, X86_DECODE_UD);
}

static bool take_evex(Decoder *d)
{
    unsigned p0, p1, p2, opcode;

    if (!fetch(d, &p0) || !fetch(d, &p1) || !fetch(d, &p2)) {
        return false;
    }
    d->o->prefixes |= INSN_EVEX | (p2 & 0x80 ? INSN_Z : 0) | (p2 & 0x10 ? INSN_B : 0);
    if (!vector_prefix_ok(d)) {
        return false;
    }
    if ((p0 & 8) || !(p1 & 4)) {
        return fail(d, X86_DECODE_UD);
    }
    d->r = ~p0 >> 7 & 1;
    d->x = ~p0 >> 6 & 1;
    d->b = ~p0 >> 5 & 1;
    d->rr = ~p0 >> 4 & 1;
    d->w = p1 >> 7;
    d->vv = ~p2 >> 3 & 1;
    d->o->ll = p2 >> 5 & 3;
    d->o->mask = p2 & 7;
    set_vvvv(d, p1);
    if (!evex_map(d, p0 & 7) || !fetch(d, &opcode)) {
        return false;
    }
    d->o->opcode = opcode;
    return true;
}

/* C4, C5 and 62 are LES, LDS and BOUND outside 64-bit mode unless the next byte looks like a register form. */
static bool is_vector_escape(Decoder *d, unsigned opcode, bool *yes)
{
    *yes = false;
    if (opcode != 0xc4 && opcode != 0xc5 && opcode != 0x62) {
        return true;
    }
    if (!need(d, 1)) {
        return false;
    }
    *yes = d->m64 || d->bytes[d->pos] >= 0xc0;
    return true;
}

static bool take_opcode(Decoder *d)
{
    unsigned opcode;
    bool vector;

    if (!take_prefixes(d, &opcode) || !is_vector_escape(d, opcode, &vector)) {
        return false;
    }
    if (!vector) {
        return take_legacy_opcode(d, opcode);
    }
    if (!(opcode == 0x62 ? take_evex(d) : take_vex(d, opcode))) {
        return false;
    }
    if (!d->m64) {
        d->r = d->x = d->b = d->rr = d->vv = 0;
        d->o->vvvv &= 7;
    }
    return true;
}

/* EVEX.b on a register form of a row that rounds or suppresses exceptions: L'L is not a length. */
static bool is_rounding(const Decoder *d, const InsnRow *row)
{
    return (d->o->prefixes & INSN_B) && (row->flags & (ROW_ER | ROW_SAE)) && d->modrm >= 0xc0;
}

static bool length_fits(const Decoder *d, const InsnRow *row)
{
    unsigned ll = d->o->ll;

    if (!(d->o->prefixes & (INSN_VEX | INSN_EVEX))) {
        return true;
    }
    if (is_rounding(d, row)) {
        ll = 2;
    }
    return ll != 3 && ((row->l & 0x80) || (row->l >> ll & 1));
}

static bool row_fits(const Decoder *d, const InsnRow *row)
{
    unsigned w = (row->flags & ROW_W32) && !d->m64 ? 0 : d->w;

    if (!(row->pfx & d->pfx) || (row->flags & (d->m64 ? ROW_I64 : ROW_O64)) ||
        ((row->flags & ROW_NOREXB) && d->b)) {
        return false;
    }
    if (row->flags & ROW_MODRM) {
        bool is_reg = d->modrm >= 0xc0;
        if (!(row->mod >> is_reg & 1) || (row->digit != 0xff && row->digit != (d->modrm >> 3 & 7)) ||
            (row->rm != 0xff && row->rm != (d->modrm & 7))) {
            return false;
        }
    }
    return (row->w >> w & 1) && length_fits(d, row);
}

static bool find_row(Decoder *d)
{
    const X86DecodeSlot *slot = &x86_decode_index[d->map][d->o->opcode];
    const uint16_t *cand = x86_decode_cand + slot->first;

    if (slot->count == 0) {
        return fail(d, X86_DECODE_UD);
    }
    if (x86_insn_rows[cand[0]].flags & ROW_MODRM) {
        d->o->off_modrm = d->pos;
        if (!fetch(d, &d->modrm)) {
            return false;
        }
        d->o->modrm = d->modrm;
    }
    for (unsigned n = 0; n < slot->count; n++) {
        if (row_fits(d, &x86_insn_rows[cand[n]])) {
            d->o->op = cand[n];
            d->row = &x86_insn_rows[cand[n]];
            return true;
        }
    }
    return fail(d, X86_DECODE_UD);
}

static bool is_memory_form(const Decoder *d)
{
    return (d->row->flags & ROW_MODRM) && !(d->row->flags & ROW_MODR) && d->modrm < 0xc0;
}

static bool row_uses(const InsnRow *row, InsnOpKind a, InsnOpKind b)
{
    for (unsigned n = 0; n < INSN_OPERANDS; n++) {
        if (row->opnd[n].kind != OPK_NONE && (row->opnd[n].kind == a || row->opnd[n].kind == b)) {
            return true;
        }
    }
    return false;
}

static bool evex_checks(Decoder *d)
{
    const InsnRow *row = d->row;
    uint16_t p = d->o->prefixes;
    bool mem = is_memory_form(d);

    if ((p & INSN_Z) && (!(row->flags & ROW_KZ) || d->o->mask == 0 ||
                         (mem && (row->opnd[0].access & OPA_WRITE) &&
                          (row->opnd[0].kind == OPK_W || row->opnd[0].kind == OPK_M)))) {
        return false;
    }
    if ((d->o->mask && !(row->flags & ROW_K)) || (!d->o->mask && (row->flags & ROW_KREQ))) {
        return false;
    }
    if ((p & INSN_B) && (mem ? !row->bcast : !(row->flags & (ROW_ER | ROW_SAE | ROW_RCOK)))) {
        return false;
    }
    return !(d->vv && !(row->flags & ROW_VSIB) && !row_uses(row, OPK_H, OPK_H));
}

static bool vector_checks(Decoder *d)
{
    const InsnRow *row = d->row;
    bool used = row_uses(row, OPK_H, OPK_B) || row_uses(row, OPK_KH, OPK_KH);

    if (!(d->o->prefixes & (INSN_VEX | INSN_EVEX))) {
        return true;
    }
    if ((!used && d->o->vvvv) || (row_uses(row, OPK_KH, OPK_KH) && d->o->vvvv > 7) ||
        (row_uses(row, OPK_KG, OPK_KG) && (d->r || d->rr)) || (row_uses(row, OPK_G, OPK_G) && d->rr)) {
        return false;
    }
    return !(d->o->prefixes & INSN_EVEX) || evex_checks(d);
}

/* Register numbers that do not exist: segment, control and debug registers. */
static bool special_register_ok(const Decoder *d)
{
    unsigned reg = d->modrm >> 3 & 7, cr = reg | d->r << 3;

    if (row_uses(d->row, OPK_S, OPK_S)) {
        return reg < 6 && !((d->row->flags & ROW_NOTCS) && reg == SEG_CS);
    }
    if (row_uses(d->row, OPK_C, OPK_C)) {
        return cr == 0 || (cr >= 2 && cr <= 4) || cr == 8;
    }
    return !row_uses(d->row, OPK_D, OPK_D) || cr < 8;
}

static bool check_row(Decoder *d)
{
    if ((d->o->prefixes & INSN_LOCK) && !((d->row->flags & ROW_LOCK) && is_memory_form(d))) {
        return fail(d, X86_DECODE_UD);
    }
    if ((d->row->flags & ROW_PE) && ((d->mode & MODE_VM) || !(d->mode & (MODE_PE | MODE_CS64)))) {
        return fail(d, X86_DECODE_UD);
    }
    return (vector_checks(d) && special_register_ok(d)) || fail(d, X86_DECODE_UD);
}

static void set_sizes(Decoder *d)
{
    const InsnRow *row = d->row;
    bool p66 = (d->o->prefixes & INSN_66) && row->pfx != PFX_66;

    if (d->o->prefixes & (INSN_VEX | INSN_EVEX)) {
        d->o->opsize = d->w && d->m64 ? 8 : 4;
        d->o->vl = row->l & 0x80 ? 16 : is_rounding(d, row) ? 64 : 16 << d->o->ll;
        d->o->rc = is_rounding(d, row) ? d->o->ll : 0;
    } else if (row->flags & ROW_BYTE) {
        d->o->opsize = 1;
    } else if (d->m64) {
        d->o->opsize = d->w || (row->flags & ROW_F64) ? 8 :
                       row->flags & ROW_D64 ? (p66 ? 2 : 8) : p66 ? 2 : 4;
    } else {
        d->o->opsize = !(d->mode & MODE_CS32) == p66 ? 4 : 2;
    }
    if (d->m64) {
        d->o->adsize = d->o->prefixes & INSN_67 ? 4 : 8;
    } else {
        d->o->adsize = !(d->mode & MODE_CS32) == !!(d->o->prefixes & INSN_67) ? 4 : 2;
    }
}

static const InsnOperand *memory_operand(const InsnRow *row)
{
    static const InsnOperand none = {OPK_NONE, SZ_0, 0, 0};

    for (unsigned n = 0; n < INSN_OPERANDS; n++) {
        switch (row->opnd[n].kind) {
        case OPK_E: case OPK_M: case OPK_RM: case OPK_W: case OPK_UM: case OPK_Q: case OPK_KE: case OPK_VM: case OPK_O:
            return &row->opnd[n];
        default:
            break;
        }
    }
    return &none;
}

static unsigned memory_size(const Decoder *d)
{
    const InsnOperand *o = memory_operand(d->row);

    if ((d->o->prefixes & INSN_B) && d->row->bcast) {
        return d->row->bcast;
    }
    if (o->kind == OPK_VM) {
        return d->row->elem;
    }
    if (d->row->flags & (ROW_SGST | ROW_SEG8C)) {
        return 2;
    }
    return x86_operand_size(d->o, o);
}

/* The N of disp8*N: the memory operand's size, or an element's where elements stand packed or scattered. */
static unsigned disp8_scale(const Decoder *d)
{
    if (!(d->o->prefixes & INSN_EVEX)) {
        return 1;
    }
    return d->row->xlat == XLAT_MASK ? d->row->elem : d->o->mem_size;
}

static bool take_disp(Decoder *d, unsigned n)
{
    uint64_t v;

    d->o->off_disp = n ? d->pos : 0;
    d->o->disp_len = n;
    if (!fetch_signed(d, n, &v)) {
        return false;
    }
    d->o->disp = (int64_t)v;
    if (n == 1) {
        d->o->disp *= disp8_scale(d);
    }
    return true;
}

static bool take_modrm16(Decoder *d)
{
    static const uint8_t bases[8] = {R_RBX, R_RBX, R_RBP, R_RBP, R_RSI, R_RDI, R_RBP, R_RBX};
    static const uint8_t indexes[8] = {R_RSI, R_RDI, R_RSI, R_RDI, INSN_NONE, INSN_NONE, INSN_NONE, INSN_NONE};
    unsigned mod = d->modrm >> 6, rm = d->modrm & 7;

    if (d->row->flags & ROW_VSIB) {
        return fail(d, X86_DECODE_UD);
    }
    d->o->base = bases[rm];
    d->o->index = indexes[rm];
    if (mod == 0 && rm == 6) {
        d->o->base = INSN_NONE;
        return take_disp(d, 2);
    }
    d->o->seg = d->o->base == R_RBP ? SEG_SS : SEG_DS;
    return take_disp(d, mod);
}

static bool take_sib(Decoder *d)
{
    unsigned sib, mod = d->modrm >> 6;

    if (!fetch(d, &sib)) {
        return false;
    }
    d->o->scale = sib >> 6;
    d->o->index = (sib >> 3 & 7) | d->x << 3;
    if (d->row->flags & ROW_VSIB) {
        d->o->index |= d->vv << 4;
    } else if (d->o->index == 4) {
        d->o->index = INSN_NONE;
    }
    d->o->base = (sib & 7) | d->b << 3;
    if ((sib & 7) == 5 && mod == 0) {
        d->o->base = INSN_NONE;
        return take_disp(d, 4);
    }
    if ((d->o->base & 7) == 4 && !d->b) {
        d->o->seg = SEG_SS;
    } else if (d->o->base == R_RBP) {
        d->o->seg = SEG_SS;
    }
    return take_disp(d, mod == 2 ? 4 : mod);
}

static bool take_modrm32(Decoder *d)
{
    unsigned mod = d->modrm >> 6, rm = d->modrm & 7;

    d->o->index = INSN_NONE;
    if (rm == 4) {
        return take_sib(d);
    }
    if (d->row->flags & ROW_VSIB) {
        return fail(d, X86_DECODE_UD);
    }
    if (mod == 0 && rm == 5) {
        d->o->base = d->m64 ? INSN_RIP : INSN_NONE;
        return take_disp(d, 4);
    }
    d->o->base = rm | d->b << 3;
    d->o->seg = d->o->base == R_RBP ? SEG_SS : SEG_DS;
    return take_disp(d, mod == 2 ? 4 : mod);
}

static bool take_memory(Decoder *d)
{
    d->o->seg = SEG_DS;
    d->o->base = d->o->index = INSN_NONE;
    if (is_memory_form(d)) {
        d->o->ea = EA_SEG;
        d->o->mem_size = memory_size(d);
        return d->o->adsize == 2 ? take_modrm16(d) : take_modrm32(d);
    }
    return true;
}

/* Absolute address of MOV with accumulator. */
static bool take_moffs(Decoder *d)
{
    uint64_t v;

    d->o->ea = EA_SEG;
    d->o->mem_size = memory_size(d);
    d->o->off_disp = d->pos;
    d->o->disp_len = d->o->adsize;
    if (!fetch_signed(d, d->o->adsize, &v)) {
        return false;
    }
    d->o->disp = d->o->adsize == 2 ? (uint16_t)v : d->o->adsize == 4 ? (uint32_t)v : v;
    d->o->imm = d->o->disp;
    return true;
}

static bool take_imm(Decoder *d, const InsnOperand *o, bool second)
{
    unsigned n = o->size == SZ_BS ? 1 : x86_operand_size(d->o, o);
    uint64_t v;

    if (d->o->off_imm == 0) {
        d->o->off_imm = d->pos;
    }
    d->o->imm_len += n;
    if (!fetch_signed(d, n, &v)) {
        return false;
    }
    if (second) {
        d->o->imm2 = n == 1 ? (uint8_t)v : (uint16_t)v;
    } else {
        d->o->imm = v;
    }
    return true;
}

static bool take_far_pointer(Decoder *d)
{
    static const InsnOperand offset = {OPK_I, SZ_Z, 0, 0}, selector = {OPK_I, SZ_W, 0, 0};

    if (!take_imm(d, &offset, false) || !take_imm(d, &selector, true)) {
        return false;
    }
    d->o->imm = d->o->opsize == 2 ? (uint16_t)d->o->imm : (uint32_t)d->o->imm;
    return true;
}

static bool take_immediates(Decoder *d)
{
    static const InsnOperand is4 = {OPK_I, SZ_B, 0, 0};
    bool second = false, ok = true;

    for (unsigned n = 0; ok && n < INSN_OPERANDS; n++) {
        const InsnOperand *o = &d->row->opnd[n];
        switch (o->kind) {
        case OPK_I: case OPK_I2: case OPK_J:
            ok = take_imm(d, o, second);
            second = true;
            break;
        case OPK_L:
            ok = take_imm(d, &is4, false);
            d->o->reg4 = (d->o->imm >> 4 & 15) & (d->m64 ? 15 : 7);
            break;
        case OPK_A:
            ok = take_far_pointer(d);
            break;
        case OPK_O:
            ok = take_moffs(d);
            break;
        default:
            break;
        }
    }
    return ok;
}

/* Without REX, byte registers 4-7 are AH CH DH BH. */
static unsigned byte_register(const Decoder *d, unsigned n)
{
    return !(d->o->prefixes & INSN_REX) && n >= 4 && n < 8 ? (n - 4) | 0x10 : n;
}

static void set_reg(Decoder *d, const InsnOperand *o)
{
    unsigned reg = d->modrm >> 3 & 7;

    switch (o->kind) {
    case OPK_G:
        d->o->reg = o->size == SZ_B ? byte_register(d, reg | d->r << 3) : reg | d->r << 3;
        break;
    case OPK_V:
        d->o->reg = reg | d->r << 3 | d->rr << 4;
        break;
    case OPK_C: case OPK_D:
        d->o->reg = reg | d->r << 3;
        break;
    case OPK_P: case OPK_KG: case OPK_S:
        d->o->reg = reg;
        break;
    default:
        break;
    }
}

static void set_rm(Decoder *d, const InsnOperand *o)
{
    unsigned rm = d->modrm & 7;

    switch (o->kind) {
    case OPK_E:
        d->o->rm = o->size == SZ_B ? byte_register(d, rm | d->b << 3) : rm | d->b << 3;
        break;
    case OPK_R: case OPK_RM:
        d->o->rm = rm | d->b << 3;
        break;
    case OPK_W: case OPK_U: case OPK_UM:
        d->o->rm = rm | d->b << 3 | (d->o->prefixes & INSN_EVEX ? d->x << 4 : 0);
        break;
    case OPK_Q: case OPK_N: case OPK_KU: case OPK_KE: case OPK_STI:
        d->o->rm = rm;
        break;
    default:
        break;
    }
}

static void set_registers(Decoder *d)
{
    for (unsigned n = 0; n < INSN_OPERANDS; n++) {
        const InsnOperand *o = &d->row->opnd[n];
        set_reg(d, o);
        if (o->kind == OPK_Z) {
            unsigned r = (d->o->opcode & 7) | d->b << 3;
            d->o->rm = o->size == SZ_B ? byte_register(d, r) : r;
        } else if (o->kind == OPK_H) {
            d->o->vvvv = (d->o->vvvv & 15) | d->vv << 4;
        } else if (!is_memory_form(d)) {
            set_rm(d, o);
        }
    }
    if (d->row->digit != 0xff) {
        d->o->reg = d->modrm >> 3 & 7;
    }
}

static bool is_flat_by_mode(const Decoder *d)
{
    return !(d->mode & (MODE_ADDSEG | MODE_AC | MODE_VM)) && (d->mode & MODE_PE) && d->o->seg != SEG_CS &&
           d->o->seg < SEG_FS;
}

static void set_ea(Decoder *d)
{
    Insn *o = d->o;

    if (d->seg_override >= 0) {
        o->seg = d->seg_override;
        o->prefixes |= INSN_SEG;
    }
    if (o->ea == EA_NONE) {
        return;
    }
    if (o->base == INSN_RIP) {
        o->disp += o->length;
    }
    if (d->m64 && o->seg < SEG_FS && !(d->mode & MODE_AC)) {
        o->ea = o->adsize == 8 ? EA_FLAT64 : EA_FLAT32;
    } else if (!d->m64 && o->adsize == 4 && is_flat_by_mode(d)) {
        o->ea = EA_FLAT32;
    }
}

static void finish(Decoder *d)
{
    Insn *o = d->o;

    o->length = d->pos;
    o->rex = 0x40 | d->w << 3 | d->r << 2 | d->x << 1 | d->b;
    o->prefixes |= (d->w ? INSN_W : 0) | (d->m64 ? INSN_CODE64 : 0);
    set_registers(d);
    set_ea(d);
    o->fn = x86_sem_sets[d->row->fnset][(o->ea != EA_NONE ? 4 : 0) + __builtin_ctz(o->opsize)];
}

X86DecodeResult x86_decode(const uint8_t *bytes, size_t avail, uint32_t mode, Insn *out)
{
    Decoder d = {
        .bytes = bytes, .avail = avail < X86_INSN_MAX ? avail : X86_INSN_MAX, .mode = mode,
        .m64 = (mode & MODE_CS64) != 0, .seg_override = -1, .o = out, .result = X86_DECODE_OK,
    };

    memset(out, 0, sizeof(*out));
    if (!take_opcode(&d) || !find_row(&d)) {
        out->length = d.pos;
        return d.result;
    }
    d.row = &x86_insn_rows[out->op];
    set_sizes(&d);
    if (!check_row(&d) || !take_memory(&d) || !take_immediates(&d)) {
        out->length = d.pos;
        return d.result;
    }
    finish(&d);
    return X86_DECODE_OK;
}
