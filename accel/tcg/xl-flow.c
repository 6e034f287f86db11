/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branches of translated code: near JMP, Jcc, CALL, RET, JrCXZ.
 *
 * Inside a page blocks are linked: straight to a block that is there, else through a link slot that first leads to the
 * run loop. Everything else looks in the jump table by linear address; a miss is the interpreter's, before anything is
 * committed. Backward links enter where requests are looked at. Test: tests/insn, tests/bare.
 */
#include "accel/tcg/xl.h"

/* ---- inside the page ---- */
static unsigned link_new(Xl *x, unsigned off, bool back)
{
    struct XlCpu *xc = x->xc;
    unsigned n = xc->links;

    if (n == XL_LINKS || x->n_exits == XL_EXITS_MAX) {
        x->full = true;
        xc->full |= n == XL_LINKS;
        return 0;
    }
    xc->links++;
    xc->link_offset[n] = off | (back ? XL_LINK_BACK : 0);
    x->exits[x->n_exits++] = n;
    return n;
}

static int link_slot(unsigned n)
{
    return XL_TABLES + offsetof(XlTables, link) + 8 * n;
}

/* Where a link to b enters. */
uint64_t xl_entry(const Block *b, bool back)
{
    return b->native + (back ? b->entry_checked : b->entry_near);
}

static void goto_in_page(Xl *x, unsigned off)
{
    bool back = off <= x->i->page_offset;
    const Block *b = off == x->first ? x->b : block_lookup(x->cpu, x->b->host - x->first + off);

    if (b && b->native && xl_jump_to(x, 16, xl_entry(b, back))) {
        return;
    }
    xl_jump_hot(x, link_slot(link_new(x, off, back)));
}

/* The exit stubs of this block's links, which they lead to at first. */
void xl_exits_emit(Xl *x)
{
    for (unsigned n = 0; n < x->n_exits && !x->full; n++) {
        xl_tables(x->cpu->st)->link[x->exits[n]] = (uint64_t)(uintptr_t)x->p + x->exec;
        xl_u8(x, 0xb8);                                 /* mov eax, number */
        xl_u32(x, x->exits[n]);
        xl_jump_hot(x, XL_HOT(exit_link));
    }
}

/* ---- anywhere ---- */
static int jump_table(const Xl *x)
{
    return XL_TABLES + (int)offsetof(XlTables, jump) + (int)(x->b->cls * sizeof(XlJump) * XL_JUMPS);
}

/* Looks up rax: r15 is the entry's place then. Returns the rel32 of the jump on a miss. */
static uint8_t *look_up(Xl *x)
{
    static const uint8_t rorx[] = { 0xc4, 0x63, 0xfb, 0xf0, 0xf8, 60 };     /* rorx r15, rax, 60 */

    for (unsigned n = 0; n < sizeof(rorx); n++) {
        xl_u8(x, rorx[n]);
    }
    xl_legacy(x, 0, MAP_1B, 0x81, false, false, 4, xl_reg(H_R15));          /* and r15d, imm32 */
    xl_u32(x, (XL_JUMPS - 1) * sizeof(XlJump));
    xl_legacy(x, 0, MAP_1B, 0x3b, true, false, H_RAX, (XlRm) { XL_RM_MEM, H_RSP, H_R15, 0, jump_table(x) });
    return xl_jump(x, 5);
}

static void jump_entry(Xl *x)
{
    xl_legacy(x, 0, MAP_1B, 0xff, false, false, 4, (XlRm) { XL_RM_MEM, H_RSP, H_R15, 0, jump_table(x) + 8 });
}

static bool code64(const Xl *x)
{
    return x->b->mode & MODE_CS64;
}

/* rax: linear address at page offset off. */
static void address_of(Xl *x, int64_t off)
{
    xl_load(x, H_RAX, xl_state(XL_HOT(code_base)));
    xl_lea(x, H_RAX, xl_mem(H_RAX, off), code64(x));
}

/* Committed: rax is where the guest goes on. */
static void goto_rax(Xl *x)
{
    uint8_t *miss = look_up(x);

    jump_entry(x);
    xl_here(x, miss);
    xl_jump_hot(x, XL_HOT(exit_rip));
}

void xl_goto(Xl *x, int64_t off)
{
    if (off >= 0 && off < 4096) {
        goto_in_page(x, off);
    } else {
        address_of(x, off);
        goto_rax(x);
    }
}

static int64_t target_offset(const Insn *i)
{
    return (int64_t)i->page_offset + i->length + (int64_t)i->imm;
}

static bool target_ok(const Insn *i)
{
    return target_offset(i) == (int32_t)target_offset(i);
}

/* ---- rows ---- */
static bool flow_jcc(Xl *x, const Insn *i)
{
    uint8_t *taken;

    xl_flags_restore(x);
    xl_flags_save(x);
    taken = xl_jump(x, i->opcode & 15);
    xl_goto(x, i->page_offset + i->length);
    xl_here(x, taken);
    xl_goto(x, target_offset(i));
    return true;
}

static bool flow_jrcxz(Xl *x, const Insn *i)
{
    uint8_t *taken, *around;

    xl_flags_save(x);
    if (i->adsize == 4) {
        xl_u8(x, 0x67);
    } else if (i->adsize != 8) {
        return false;
    }
    xl_u8(x, 0xe3);
    xl_u8(x, 5);
    around = xl_jump(x, 16);
    taken = xl_jump(x, 16);
    xl_here(x, around);
    xl_goto(x, i->page_offset + i->length);
    xl_here(x, taken);
    xl_goto(x, target_offset(i));
    return true;
}

static void push_return_address(Xl *x, const Insn *i)
{
    xl_push_check(x);
    xl_lea(x, H_R15, xl_mem2(H_R15, H_RAX), true);
    address_of(x, i->page_offset + i->length);
    xl_legacy(x, 0, MAP_1B, 0x89, code64(x), false, H_RAX, xl_mem(H_R15, 0));
    xl_push_done(x);
}

static bool flow_call(Xl *x, const Insn *i)
{
    xl_flags_save(x);
    x->eflags = false;
    push_return_address(x, i);
    xl_goto(x, target_offset(i));
    return true;
}

/* The target of an indirect branch to rax. */
static bool load_target(Xl *x, const Insn *i)
{
    if (x86_is_mem(i)) {
        if (!xl_ea_ok(x, i)) {
            return false;
        }
        xl_operand(x, i, i->opsize, false);
        xl_legacy(x, 0, MAP_1B, 0x8b, code64(x), false, H_RAX, xl_mem2(H_R15, H_RAX));
    } else {
        xl_get(x, H_RAX, i->rm);
    }
    return true;
}

/* A miss is the interpreter's, and leaves the block. */
static void cold_here(Xl *x, uint8_t *jump)
{
    XlCold *c = xl_cold_new(x);

    c->jump = jump;
    c->insn = x->i;
}

static bool flow_jump_indirect(Xl *x, const Insn *i)
{
    xl_flags_save(x);
    if (!load_target(x, i)) {
        return false;
    }
    x->eflags = false;
    cold_here(x, look_up(x));
    jump_entry(x);
    return true;
}

static bool flow_call_indirect(Xl *x, const Insn *i)
{
    xl_flags_save(x);
    if (!load_target(x, i)) {
        return false;
    }
    x->eflags = false;
    cold_here(x, look_up(x));
    xl_load(x, H_R15, (XlRm) { XL_RM_MEM, H_RSP, H_R15, 0, jump_table(x) + 8 });
    xl_store(x, xl_state(XL_HOT(tmp)), H_RAX);
    xl_store(x, xl_state(XL_HOT(tmp2)), H_R15);
    push_return_address(x, i);
    xl_load(x, H_RAX, xl_state(XL_HOT(tmp)));
    xl_jump_hot(x, XL_HOT(tmp2));
    return true;
}

static bool flow_ret(Xl *x, const Insn *i)
{
    unsigned size = code64(x) ? 8 : 4, pop = size + (i->opcode == 0xc2 ? (uint16_t)i->imm : 0);

    xl_flags_save(x);
    x->eflags = false;
    xl_legacy(x, 0, MAP_1B, 0x8b, code64(x), false, H_RAX, xl_reg(H_R13));
    xl_check(x, size, false);
    xl_legacy(x, 0, MAP_1B, 0x8b, code64(x), false, H_RAX, xl_mem2(H_R15, H_RAX));
    cold_here(x, look_up(x));
    xl_lea(x, H_R13, xl_mem(H_R13, pop), code64(x));
    jump_entry(x);
    return true;
}

static bool flow_1b(Xl *x, const Insn *i)
{
    unsigned op = i->opcode;

    if (op >= 0x70 && op < 0x80) {
        return flow_jcc(x, i);
    }
    switch (op) {
    case 0xe3:
        return flow_jrcxz(x, i);
    case 0xe8:
        return flow_call(x, i);
    case 0xe9:
    case 0xeb:
        xl_flags_save(x);
        xl_goto(x, target_offset(i));
        return true;
    case 0xc2:
    case 0xc3:
        return flow_ret(x, i);
    case 0xff:
        return x86_row(i)->digit == 4 ? flow_jump_indirect(x, i) : x86_row(i)->digit == 2 && flow_call_indirect(x, i);
    default:
        return false;
    }
}

bool xl_flow(Xl *x)
{
    const Insn *i = x->i;
    const InsnRow *r = x86_row(i);
    bool ok;

    if (r->xlat != XLAT_FLOW || i->opsize != (code64(x) ? 8 : 4) || !target_ok(i)
        || (!code64(x) && !(x->b->mode & MODE_SS32))) {
        return false;
    }
    ok = r->map == MAP_1B ? flow_1b(x, i) : r->map == MAP_0F && i->opcode >= 0x80 && i->opcode < 0x90 && flow_jcc(x, i);
    x->ended |= ok;
    return ok;
}

void xl_fall_out(Xl *x)
{
    xl_flags_save(x);
    xl_goto(x, x->i->page_offset + x->i->length);
    x->ended = true;
}
