/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A decoded block to host code.
 *
 *   far entry:      rax is the linear address; notes the page, then
 *   checked entry:  looks at requests, then
 *   near entry:     instruction by instruction; what no translator takes is the interpreter's
 *   behind:         the cold parts and exit stubs
 * Test: tests/insn, tests/bare.
 */
#include <string.h>

#include "accel/tcg/xl.h"

/* The most that one instruction and its cold part make. */
enum { XL_INSN_BYTES = 192, XL_FRAME_BYTES = 512 };

static void emit_entries(Xl *x)
{
    XlCold *c;

    xl_legacy(x, 0, MAP_1B, 0x81, true, false, 4, xl_reg(H_RAX));           /* and rax, -4096 */
    xl_u32(x, -4096);
    xl_store(x, xl_state(XL_HOT(code_base)), H_RAX);
    x->b->entry_checked = x->p - x->start;
    xl_legacy(x, 0, MAP_1B, 0x83, false, false, 7, xl_state(XL_HOT(req)));  /* cmp dword, 0 */
    xl_u8(x, 0);
    c = xl_cold_new(x);
    c->jump = xl_jump(x, 5);
    c->leave = true;
    c->offset = x->first;
    x->b->entry_near = x->p - x->start;
}

static void translate_insn(Xl *x)
{
    bool end = !x->i->op || (x86_row(x->i)->flags & ROW_END) || ((x86_row(x->i)->flags & ROW_REP)
                                                    && (x->i->prefixes & (INSN_REP | INSN_REPNE)));

    if (x->i->op && (xl_same(x) || xl_vec(x) || xl_stack(x) || xl_flow(x) || xl_misc(x))) {
        return;
    }
    if (end) {
        xl_end_insn(x);
    } else {
        xl_slow_insn(x);
    }
}

/* Cold parts of this instruction come back behind it. */
static void close_cold(Xl *x, unsigned from)
{
    for (unsigned n = from; n < x->n_cold; n++) {
        XlCold *c = &x->cold[n];

        if (!c->leave && !c->level && !x->ended) {
            c->back = x->p;
            c->flags = x->eflags;
        }
    }
}

static void translate_all(Xl *x)
{
    for (x->k = 0; x->k < x->b->count && !x->full; x->k++) {
        unsigned cold = x->n_cold;

        x->i = &x->b->insns[x->k];
        x->starts[x->k] = x->p - x->start;
        translate_insn(x);
        close_cold(x, cold);
    }
    if (!x->ended && !x->full) {
        x->k = x->b->count - 1;
        xl_fall_out(x);
    }
    xl_cold_emit(x);
    xl_exits_emit(x);
}

bool xl_translate(X86CPU *cpu, Block *b)
{
    Xl x;
    uint8_t *exec;
    size_t max = XL_FRAME_BYTES + b->count * XL_INSN_BYTES;
    struct XlCpu *xc = cpu->blocks->xl;
    unsigned links = xc->links;

    b->tried = true;
    memset(&x, 0, offsetof(Xl, cold));
    x.cpu = cpu;
    x.xc = xc;
    x.b = b;
    x.start = x.p = xl_code_begin(xc, max, &exec);
    if (!x.p) {
        return false;
    }
    x.end = x.p + max;
    x.exec = exec - x.p;
    x.first = b->insns[0].page_offset;
    x.image = true;
    b->native = (uintptr_t)exec;
    xl_flags_analyse(&x);
    emit_entries(&x);
    translate_all(&x);
    if (x.full) {
        b->native = 0;
        xc->links = links;
        return false;
    }
    xl_code_end(xc, x.p - x.start, b, x.starts);
    return true;
}
