/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Re-encoding of rows of class `same`: the guest's instruction with its registers renamed and its memory operand
 * replaced by a checked host address.
 *
 * Guest registers that live in the state (r13-r15) pass through a scratch register, or stand in for ModRM.rm as
 * memory. What does not fit (too many of them, AH with memory) is the interpreter's. Test: tests/insn.
 */
#include "accel/tcg/xl.h"

/* An instruction on its way out. */
typedef struct Out {
    const InsnRow *row;
    unsigned opcode, map;
    unsigned reg;                   /* as encoded: host register or the row's digit */
    XlRm rm;
    unsigned vvvv;                  /* host register */
    bool mem, folded;
    int put[2];                     /* guest register to store from r15, rax afterwards; -1: none */
    unsigned n_scratch;
    uint8_t guest[2], host[2];      /* what the scratch registers hold */
} Out;

static bool is_vex(const InsnRow *r)
{
    return r->map >= MAP_VEX1;
}

static const InsnOperand *find_operand(const InsnRow *r, unsigned a, unsigned b, unsigned c, unsigned d)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        unsigned k = r->opnd[n].kind;

        if (k && (k == a || k == b || k == c || k == d)) {
            return &r->opnd[n];
        }
    }
    return NULL;
}

static const InsnOperand *reg_operand(const InsnRow *r)
{
    return find_operand(r, OPK_G, 0, 0, 0);
}

static const InsnOperand *rm_operand(const InsnRow *r)
{
    const InsnOperand *o = find_operand(r, OPK_E, OPK_R, OPK_RM, OPK_M);

    return o ? o : find_operand(r, OPK_Z, 0, 0, 0);
}

static bool has_byte_operand(const InsnRow *r)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (r->opnd[n].kind && r->opnd[n].size == SZ_B && r->opnd[n].kind != OPK_I) {
            return true;
        }
    }
    return false;
}

/* ---- the bytes ---- */
static void emit_imm(Xl *x, const Insn *i)
{
    for (unsigned n = 0; n < i->imm_len; n++) {
        xl_u8(x, i->imm >> (8 * n));
    }
}

static unsigned mandatory_prefix(const InsnRow *r)
{
    return r->pfx == PFX_66 ? 0x66 : r->pfx == PFX_F3 ? 0xf3 : r->pfx == PFX_F2 ? 0xf2 : 0;
}

static void emit_out(Xl *x, const Insn *i, const Out *o)
{
    bool w = (i->prefixes & INSN_W) && (i->prefixes & INSN_CODE64), rex;
    unsigned prefix = mandatory_prefix(o->row);

    if (is_vex(o->row)) {
        unsigned pp = prefix == 0x66 ? 1 : prefix == 0xf3 ? 2 : prefix == 0xf2 ? 3 : 0;

        xl_vex(x, pp, o->row->map - MAP_VEX1 + 1, o->opcode, w, o->vvvv, 0, o->reg, o->rm);
    } else {
        if (i->prefixes & INSN_LOCK) {
            xl_u8(x, 0xf0);
        }
        if (i->opsize == 2 && prefix != 0x66) {
            xl_u8(x, 0x66);
        }
        rex = has_byte_operand(o->row) && (o->reg >= 4 || (o->rm.kind == XL_RM_REG && o->rm.reg >= 4));
        xl_legacy(x, prefix, o->map, o->opcode, w, rex, o->reg, o->rm);
    }
    emit_imm(x, i);
}

/* ---- operands ---- */
/* Makes rax free: the address moves to r15 alone. */
static void fold(Xl *x, Out *o)
{
    if (o->mem && !o->folded) {
        xl_lea(x, H_R15, xl_mem2(H_R15, H_RAX), true);
        o->rm = xl_mem(H_R15, 0);
        o->folded = true;
    }
}

static bool sets_whole(const Insn *i, const InsnRow *r)
{
    bool plain = (r->map == MAP_1B && (i->opcode == 0x8b || i->opcode == 0x89 || i->opcode == 0x8d
                                       || i->opcode == 0x63 || i->opcode == 0xc7))
        || (r->map == MAP_0F && (i->opcode == 0xb6 || i->opcode == 0xb7 || i->opcode == 0xbe || i->opcode == 0xbf));

    return plain && i->opsize >= 4;
}

static unsigned scratches_free(const Out *o)
{
    return (o->mem ? 1 : 2) - o->n_scratch;
}

/* A scratch register for a guest register that is in the state. Room was checked. */
static unsigned take_scratch(Xl *x, const Insn *i, Out *o, unsigned guest, const InsnOperand *op)
{
    unsigned h = H_NONE;

    for (unsigned n = 0; n < o->n_scratch; n++) {
        h = o->guest[n] == guest ? o->host[n] : h;
    }
    if (h == H_NONE) {
        h = !o->mem && o->n_scratch == 0 ? H_R15 : H_RAX;
        o->guest[o->n_scratch] = guest;
        o->host[o->n_scratch++] = h;
    }
    if (!(op->access & OPA_WRITE) || (op->access & OPA_READ) || !sets_whole(i, o->row)) {
        xl_get(x, h, guest);
    }
    if (op->access & OPA_WRITE) {
        o->put[h == H_RAX] = guest;
    }
    return h;
}

static unsigned place_reg(Xl *x, const Insn *i, Out *o, unsigned guest, const InsnOperand *op)
{
    unsigned h = xl_host(guest);

    return h == H_NONE ? take_scratch(x, i, o, guest, op) : h;
}

/* May ModRM.rm be the register's place in the state? 32-bit results must clear what is above them. */
static bool rm_in_state(const Insn *i, const InsnRow *r, const InsnOperand *op)
{
    bool xchg = (r->map == MAP_1B && (r->opcode | 1) == 0x87)        /* LOCKed with memory */
        || (r->map == MAP_0F && (r->opcode | 1) == 0xc1);               /* XADD: both may be one register */

    if (r->mod != 3 || (r->flags & ROW_BITMEM) || op->kind == OPK_Z || op->kind == OPK_RM || xchg) {
        return false;
    }
    return !(op->access & OPA_WRITE) || i->opsize == 8;
}

/* How many scratch registers the operands ask for. */
static unsigned scratches_needed(const Insn *i, const InsnRow *r)
{
    const InsnOperand *g = reg_operand(r), *b = find_operand(r, OPK_B, 0, 0, 0), *m = rm_operand(r);
    unsigned mask = 0;

    if (g && r->digit == 0xff && xl_host(i->reg) == H_NONE) {
        mask |= 1u << i->reg;
    }
    if (b && xl_host(i->vvvv) == H_NONE) {
        mask |= 1u << i->vvvv;
    }
    if (m && !x86_is_mem(i) && xl_host(i->rm) == H_NONE && !rm_in_state(i, r, m)) {
        mask |= 1u << i->rm;
    }
    return __builtin_popcount(mask);
}

/* ---- AH, CH, DH, BH: no REX, so guest rAX is in rax for the moment ---- */
static bool low_host(unsigned guest, unsigned *h)
{
    if (guest >= 0x10) {
        *h = 4 + (guest & 15);
        return true;
    }
    *h = guest;
    return guest < 8 && guest != R_RSP;
}

static bool same_high_byte(Xl *x, const Insn *i, const InsnRow *r)
{
    const InsnOperand *g = reg_operand(r), *m = rm_operand(r);
    unsigned reg = 0, rm = 0;
    bool uses_rax, byte_reg = g && g->size == SZ_B, byte_rm = m && m->size == SZ_B;

    if (x86_is_mem(i) || is_vex(r) || !m || m->kind == OPK_Z || (i->prefixes & INSN_W)
        || (r->map == MAP_0F && (r->opcode == 0xb0 || r->opcode == 0xc0))
        || (r->map == MAP_1B && r->opcode == 0xf6 && r->digit >= 4)) {
        return false;
    }
    if (!low_host(i->rm, &rm) || (g && r->digit == 0xff && !low_host(i->reg, &reg))) {
        return false;
    }
    if ((byte_rm && i->rm < 0x10 && i->rm >= 4) || (byte_reg && i->reg < 0x10 && i->reg >= 4)) {
        return false;
    }
    uses_rax = (i->rm & 15) == R_RAX || (g && (i->reg & 15) == R_RAX);
    xl_flags_before(x);
    if (uses_rax) {
        xl_get(x, H_RAX, R_RAX);
    }
    if (i->opsize == 2) {
        xl_u8(x, 0x66);
    }
    xl_legacy(x, mandatory_prefix(r), r->map, i->opcode, false, false, r->digit != 0xff ? r->digit : reg, xl_reg(rm));
    emit_imm(x, i);
    xl_flags_after(x);
    if (uses_rax) {
        xl_put(x, R_RAX, H_RAX);
    }
    return true;
}

/* ---- rows that need something else ---- */
static bool same_mov_imm(Xl *x, const Insn *i)
{
    unsigned h = xl_host(i->rm), to = h == H_NONE ? H_RAX : h;
    uint64_t v = i->opsize == 4 ? (uint32_t)i->imm : i->imm;

    if (i->opsize < 4) {
        if (h == H_NONE) {
            return false;
        }
        if (i->opsize == 2) {
            xl_u8(x, 0x66);
        }
        xl_legacy(x, 0, MAP_1B, i->opsize == 1 ? 0xc6 : 0xc7, false, i->opsize == 1 && h >= 4, 0, xl_reg(h));
        emit_imm(x, i);
        return true;
    }
    if (v == (uint32_t)v) {
        xl_u8(x, 0x40 | to >> 3);
        xl_u8(x, 0xb8 | (to & 7));
        xl_u32(x, v);
    } else {
        xl_u8(x, 0x48 | to >> 3);
        xl_u8(x, 0xb8 | (to & 7));
        xl_u64(x, v);
    }
    if (h == H_NONE) {
        xl_put(x, i->rm, H_RAX);
    }
    return true;
}

/* CBW family (98h), CWD family (99h). */
static void same_widen(Xl *x, const Insn *i)
{
    xl_get(x, H_RAX, R_RAX);
    if (i->opsize != 4) {
        xl_u8(x, i->opsize == 2 ? 0x66 : 0x48);
    }
    xl_u8(x, i->opcode);
    if (i->opcode == 0x98) {
        xl_put(x, R_RAX, H_RAX);
    }
}

/* MUL, IMUL, DIV, IDIV with rAX and rDX; CMPXCHG; CMPXCHG8B and 16B: rAX is in rax while they run. */
static bool same_with_rax(Xl *x, const Insn *i, const InsnRow *r)
{
    const InsnOperand *g = reg_operand(r);
    Out o = { .row = r, .opcode = i->opcode, .map = r->map, .put = { -1, -1 }, .mem = x86_is_mem(i) };
    bool mul = r->map == MAP_1B;

    if (i->rm >= 0x10 || (g && i->reg >= 0x10) || (g && xl_host(i->reg) == H_NONE)
        || (o.mem && (!i->mem_size || !xl_ea_ok(x, i))) || (!o.mem && !mul && (i->rm == R_RAX || i->rm >= R_R13))) {
        return false;
    }
    o.reg = r->digit != 0xff ? r->digit : xl_host(i->reg);
    if (o.mem) {
        xl_operand(x, i, i->mem_size, !mul);
        fold(x, &o);
    } else {
        o.rm = xl_host(i->rm) == H_NONE ? xl_state(8 * i->rm) : xl_reg(xl_host(i->rm));
        if (mul && (i->opcode & 1) == 0 && i->rm >= R_R13) {
            return false;
        }
    }
    if (mul && r->digit >= 6) {
        xl_flags_save(x);                               /* it may fault */
    }
    xl_flags_before(x);
    xl_get(x, H_RAX, R_RAX);
    emit_out(x, i, &o);
    xl_put(x, R_RAX, H_RAX);
    xl_flags_after(x);
    return true;
}

/* The opcode in its ModRM form with a register or digit: accumulator forms, INC and DEC of 32-bit code, XCHG. */
static void long_form(const Insn *i, Out *o, bool *acc)
{
    unsigned op = i->opcode;

    *acc = false;
    if (o->row->map != MAP_1B) {
        return;
    }
    if (op < 0x40 && (op & 7) >= 4 && (op & 7) <= 5) {
        o->opcode = 0x80 | (op & 1);
        o->reg = op >> 3;
        *acc = true;
    } else if (op == 0xa8 || op == 0xa9) {
        o->opcode = 0xf6 | (op & 1);
        o->reg = 0;
        *acc = true;
    } else if (op >= 0x40 && op < 0x50) {
        o->opcode = 0xff;
        o->reg = op >> 3 & 1;
    } else if (op == 0x82) {
        o->opcode = 0x80;
    } else if (op >= 0xa0 && op <= 0xa3) {
        o->opcode = op == 0xa0 ? 0x8a : op == 0xa1 ? 0x8b : op == 0xa2 ? 0x88 : 0x89;
        o->reg = H_R14;
    }
}

static void place_operands(Xl *x, const Insn *i, Out *o)
{
    const InsnOperand *g = reg_operand(o->row), *b = find_operand(o->row, OPK_B, 0, 0, 0), *m = rm_operand(o->row);

    if (g && o->row->digit == 0xff) {
        o->reg = place_reg(x, i, o, i->reg, g);
    }
    if (b) {
        o->vvvv = place_reg(x, i, o, i->vvvv, b);
    }
    if (m && !o->mem) {
        if (xl_host(i->rm) == H_NONE && rm_in_state(i, o->row, m)) {
            o->rm = xl_state(8 * i->rm);
        } else {
            o->rm = xl_reg(place_reg(x, i, o, i->rm, m));
        }
    }
}

static bool same_generic(Xl *x, const Insn *i, const InsnRow *r)
{
    Out o = { .row = r, .opcode = i->opcode, .map = r->map, .put = { -1, -1 }, .mem = x86_is_mem(i),
              .reg = r->digit != 0xff ? r->digit : 0 };
    unsigned need = scratches_needed(i, r);
    bool acc;

    if (need > scratches_free(&o)
        || (o.mem && (!i->mem_size || i->mem_size > 64 || !xl_ea_ok(x, i) || ((r->flags & ROW_BITMEM))))) {
        return false;
    }
    if (o.mem) {
        xl_operand(x, i, i->mem_size, xl_writes_memory(r));
        o.rm = xl_mem2(H_R15, H_RAX);
        if (need || xl_flags_wanted(x)) {
            fold(x, &o);
        }
    }
    xl_flags_before(x);
    place_operands(x, i, &o);
    long_form(i, &o, &acc);
    if (acc) {
        o.rm = xl_reg(H_R14);
    }
    emit_out(x, i, &o);
    xl_flags_after(x);
    for (int n = 0; n < 2; n++) {
        if (o.put[n] >= 0) {
            xl_put(x, o.put[n], n ? H_RAX : H_R15);
        }
    }
    return true;
}

static bool same_lea(Xl *x, const Insn *i)
{
    unsigned h = xl_host(i->reg);

    if (i->base == INSN_RIP ? (int32_t)(i->disp + i->page_offset) != i->disp + i->page_offset
                            : i->disp != (int32_t)i->disp || i->adsize == 2) {
        return false;
    }
    if (i->opsize == 2 && h == H_NONE) {
        return false;
    }
    if (i->opsize == 2) {
        xl_ea_to(x, i, H_RAX, false);
        xl_legacy(x, 0x66, MAP_1B, 0x8b, false, false, h, xl_reg(H_RAX));
        return true;
    }
    xl_ea_to(x, i, h == H_NONE ? H_RAX : h, i->opsize == 8 && i->adsize == 8);
    if (h == H_NONE) {
        xl_put(x, i->reg, H_RAX);
    }
    return true;
}

/* XCHG r, rAX and the like between two registers of which one is in the state are rare: the interpreter's. */
static bool same_xchg_acc(Xl *x, const Insn *i)
{
    unsigned h = xl_host(i->rm);

    if (h == H_NONE) {
        return false;
    }
    if (i->opsize == 2) {
        xl_u8(x, 0x66);
    }
    xl_legacy(x, 0, MAP_1B, 0x87, i->opsize == 8, false, H_R14, xl_reg(h));
    return true;
}

static bool same_bswap(Xl *x, const Insn *i)
{
    unsigned h = xl_host(i->rm), r = h == H_NONE ? H_RAX : h;

    if (i->opsize == 2) {
        return false;
    }
    if (h == H_NONE) {
        xl_get(x, r, i->rm);
    }
    xl_u8(x, 0x40 | (i->opsize == 8) << 3 | r >> 3);
    xl_u8(x, 0x0f);
    xl_u8(x, 0xc8 | (r & 7));
    if (h == H_NONE) {
        xl_put(x, i->rm, r);
    }
    return true;
}

static bool same_1b(Xl *x, const Insn *i, const InsnRow *r, bool *done)
{
    unsigned op = r->opcode;

    *done = true;
    switch (op) {
    case 0x8d:
        return same_lea(x, i);
    case 0xb0:
    case 0xb8:
        return same_mov_imm(x, i);
    case 0x98:
    case 0x99:
        same_widen(x, i);
        return true;
    case 0x90:
        if (r->plus_r) {
            return same_xchg_acc(x, i);
        }
        if (r->pfx == PFX_F3) {
            xl_u8(x, 0xf3);
            xl_u8(x, 0x90);
        }
        return true;
    case 0xf6:
    case 0xf7:
        if (r->digit >= 4) {
            return same_with_rax(x, i, r);
        }
        break;
    default:
        break;
    }
    *done = false;
    return true;
}

bool xl_same(Xl *x)
{
    const Insn *i = x->i;
    const InsnRow *r = x86_row(i);
    bool done, ok, mul = r->map == MAP_1B && (r->opcode | 1) == 0xf7 && r->digit >= 4 && r->digit != 0xff;

    if (r->xlat != XLAT_SAME && !mul) {
        return false;
    }
    if (r->flags & ROW_NOPM) {
        return true;
    }
    if (i->reg >= 0x10 || i->rm >= 0x10) {
        return same_high_byte(x, i, r);
    }
    if (r->map == MAP_1B) {
        ok = same_1b(x, i, r, &done);
        if (done) {
            return ok;
        }
    }
    if (r->map == MAP_0F && (r->opcode | 1) == 0xb1) {
        return same_with_rax(x, i, r);
    }
    if (r->map == MAP_0F && r->opcode == 0xc8) {
        return same_bswap(x, i);
    }
    if (r->map == MAP_0F && r->opcode == 0xc7 && r->digit == 1) {
        return false;
    }
    return same_generic(x, i, r);
}
