/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory operands of translated code: address, check, and the way out to the interpreter.
 *
 * The check looks in the TLB of the block's access class, matched by xor, which refuses page crossings too. On a hit
 * r15 + rax is the host's address. On a miss the interpreter runs the whole instruction (all of its rules, faults and
 * I/O), out of line, and the block goes on behind it. Test: tests/insn, tests/bare.
 */
#include "accel/tcg/xl.h"
#include "target/i386/mmu.h"

/* ---- guest registers ---- */
unsigned xl_host(unsigned guest)
{
    return guest == R_RAX ? H_R14 : guest == R_RSP ? H_R13 : guest >= R_R13 ? H_NONE : guest;
}

void xl_get(Xl *x, unsigned host, unsigned guest)
{
    unsigned h = xl_host(guest);

    if (h != host) {
        xl_load(x, host, h == H_NONE ? xl_state(8 * guest) : xl_reg(h));
    }
}

void xl_put(Xl *x, unsigned guest, unsigned host)
{
    unsigned h = xl_host(guest);

    if (h != host) {
        xl_store(x, h == H_NONE ? xl_state(8 * guest) : xl_reg(h), host);
    }
}

/* ---- addresses ---- */
static bool is_fs_gs(const Insn *i)
{
    return i->ea == EA_SEG && (i->prefixes & INSN_CODE64) && i->seg >= SEG_FS && i->adsize == 8;
}

static int64_t rip_disp(const Insn *i)
{
    return i->disp + i->page_offset;
}

bool xl_ea_ok(const Xl *x, const Insn *i)
{
    if (x86_row(i)->flags & ROW_VSIB) {
        return false;
    }
    if (i->base == INSN_RIP) {
        return i->ea == EA_FLAT64 && rip_disp(i) == (int32_t)rip_disp(i);
    }
    return i->ea == EA_FLAT32 || ((i->ea == EA_FLAT64 || is_fs_gs(i)) && i->disp == (int32_t)i->disp);
}

void xl_ea_to(Xl *x, const Insn *i, unsigned to, bool wide)
{
    unsigned base = H_NONE, index = H_NONE;

    if (i->base == INSN_RIP) {
        xl_load(x, H_RAX, xl_state(XL_HOT(code_base)));
        xl_lea(x, to, xl_mem(H_RAX, rip_disp(i)), wide);
        return;
    }
    if (i->base != INSN_NONE) {
        base = xl_host(i->base);
        if (base == H_NONE) {
            xl_get(x, base = H_RAX, i->base);
        }
    }
    if (i->index != INSN_NONE) {
        index = xl_host(i->index);
        if (index == H_NONE) {
            xl_get(x, index = H_R15, i->index);
        }
    }
    if (base != H_NONE && index == H_NONE && !i->disp) {
        if (base != to || !wide) {
            xl_legacy(x, 0, MAP_1B, 0x8b, wide, false, to, xl_reg(base));
        }
    } else {
        xl_lea(x, to, (XlRm) { XL_RM_MEM, base, index, i->scale, i->disp }, wide);
    }
}

void xl_ea(Xl *x, const Insn *i)
{
    xl_ea_to(x, i, H_RAX, i->ea != EA_FLAT32);
    if (is_fs_gs(i)) {
        xl_load(x, H_R15, xl_state(offsetof(X86State, seg[i->seg].base)));
        xl_lea(x, H_RAX, xl_mem2(H_RAX, H_R15), true);
    }
}

bool xl_writes_memory(const InsnRow *r)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        switch (r->opnd[n].kind) {
        case OPK_W: case OPK_UM: case OPK_Q: case OPK_KE: case OPK_E: case OPK_RM: case OPK_M: case OPK_O:
            if (r->opnd[n].access & OPA_WRITE) {
                return true;
            }
            break;
        default:
            break;
        }
    }
    return false;
}

/* ---- the check ---- */
static int tlb_offset(const Xl *x, bool write)
{
    return offsetof(X86State, tlb) + (x->b->cls * TLB_KINDS + (write ? TLB_WRITE : TLB_READ))
        * sizeof(X86TlbEntry) * X86_TLB_SIZE;
}

XlCold *xl_cold_new(Xl *x)
{
    if (x->n_cold == XL_COLD_MAX) {
        x->full = true;
        return &x->cold[0];
    }
    x->cold[x->n_cold] = (XlCold) { 0 };
    return &x->cold[x->n_cold++];
}

/* rorx r15, rax, 8 */
static void emit_rorx(Xl *x)
{
    static const uint8_t bytes[] = { 0xc4, 0x63, 0xfb, 0xf0, 0xf8, 8 };

    for (unsigned n = 0; n < sizeof(bytes); n++) {
        xl_u8(x, bytes[n]);
    }
}

void xl_check(Xl *x, unsigned size, bool write)
{
    int table = tlb_offset(x, write);
    XlRm entry = { XL_RM_MEM, H_RSP, H_R15, 0, table };
    XlCold *c;

    emit_rorx(x);
    xl_legacy(x, 0, MAP_1B, 0x81, false, false, 4, xl_reg(H_R15));          /* and r15d, imm32 */
    xl_u32(x, (X86_TLB_SIZE - 1) * sizeof(X86TlbEntry));
    xl_legacy(x, 0, MAP_1B, 0x33, true, false, H_RAX, entry);               /* xor rax, tag */
    xl_u8(x, 0x48);                                                         /* cmp rax, 4096 - size */
    xl_u8(x, 0x3d);
    xl_u32(x, 4096 - size);
    c = xl_cold_new(x);
    c->jump = xl_jump(x, 7);                                                /* ja */
    c->insn = x->i;
    entry.disp += offsetof(X86TlbEntry, host);
    xl_load(x, H_R15, entry);
}

void xl_operand(Xl *x, const Insn *i, unsigned size, bool write)
{
    xl_flags_spill(x);                                  /* uses rax */
    xl_ea(x, i);
    xl_check(x, size, write);
}

/* ---- the interpreter ---- */
void xl_slow_insn(Xl *x)
{
    xl_flags_save(x);
    xl_call_hot(x, XL_HOT(slow));
    xl_u64(x, (uintptr_t)x->i);
    x->eflags = false;
    x->image = true;
}

void xl_end_insn(Xl *x)
{
    xl_flags_save(x);
    xl_call_hot(x, XL_HOT(end_insn));
    xl_u64(x, (uintptr_t)x->i);
    x->ended = true;
}

void xl_vec_level(Xl *x, unsigned level)
{
    XlCold *c;

    if (x->level >= level) {
        return;
    }
    xl_flags_spill(x);
    xl_legacy(x, 0, MAP_1B, 0x83, false, false, 7, xl_state(XL_HOT(level)));        /* cmp dword, level */
    xl_u8(x, level);
    c = xl_cold_new(x);
    c->jump = xl_jump(x, 2);                                                /* jb */
    c->level = level;
    c->back = x->p;
    x->level = level;
}

/* The out-of-line parts, behind the block. */
void xl_cold_emit(Xl *x)
{
    for (unsigned n = 0; n < x->n_cold && !x->full; n++) {
        XlCold *c = &x->cold[n];

        xl_here(x, c->jump);
        if (c->leave) {
            xl_load(x, H_RAX, xl_state(XL_HOT(code_base)));
            xl_lea(x, H_RAX, xl_mem(H_RAX, c->offset), true);
            xl_jump_hot(x, XL_HOT(exit_rip));
            continue;
        }
        if (c->level) {
            xl_call_hot(x, XL_HOT(vec_up));
            xl_u32(x, c->level);
        } else {
            xl_call_hot(x, c->back ? XL_HOT(slow) : XL_HOT(end_insn));
            xl_u64(x, (uintptr_t)c->insn);
            if (c->back && c->flags) {
                xl_flags_emit_restore(x);
            }
        }
        if (c->back) {
            xl_jump_to(x, 16, (uint64_t)(uintptr_t)c->back + x->exec);
        }
    }
}
