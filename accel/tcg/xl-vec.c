/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MMX, SSE, AVX and AVX-512 rows of translated code: the same instruction on the host's registers, which hold the
 * guest's once xl_vec_level() has seen to it.
 *
 * What the row must not do in the present mode is the interpreter's to refuse; alignment and SIMD exceptions are the
 * host's faults, after which the interpreter runs the instruction. Test: tests/insn.
 */
#include "accel/tcg/xl.h"
#include "target/i386/sem/native.h"

static bool class_ok(const Insn *i, const InsnRow *r, uint32_t mode, unsigned *level)
{
    if ((mode & (MODE_EM | MODE_TS)) || !(mode & MODE_OSFXSR)) {
        return false;
    }
    if ((i->prefixes & INSN_EVEX) || r->excl == EXC_K20 || r->excl == EXC_K21) {
        *level = XL_VEC_AVX512;
        return mode & MODE_AVX512;
    }
    if (i->prefixes & INSN_VEX) {
        *level = XL_VEC_AVX;
        return mode & MODE_AVX;
    }
    *level = XL_VEC_SSE;
    return true;
}

static const InsnOperand *gpr_operand(const InsnRow *r, bool in_reg)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        unsigned k = r->opnd[n].kind;

        if (in_reg ? k == OPK_G : k == OPK_E || k == OPK_R || k == OPK_RM) {
            return &r->opnd[n];
        }
    }
    return NULL;
}

/* A register operand that lives in the state goes through r15 or rax. */
static unsigned place(Xl *x, const InsnOperand *o, unsigned guest, unsigned scratch)
{
    unsigned h = xl_host(guest);

    if (h != H_NONE) {
        return h;
    }
    if (o->access & OPA_READ) {
        xl_get(x, scratch, guest);
    }
    return scratch;
}

static void put_back(Xl *x, const InsnOperand *o, unsigned guest, unsigned host)
{
    if (o && (o->access & OPA_WRITE) && xl_host(guest) == H_NONE) {
        xl_put(x, guest, host);
    }
}

static void emit_vec(Xl *x, const Insn *i, const NativeEncoding *e)
{
    NativeBuf b = { x->p, x->end, false };

    native_emit_insn(&b, i, e);
    x->p = b.p;
    x->full |= b.full;
}

bool xl_vec(Xl *x)
{
    const Insn *i = x->i;
    const InsnRow *r = x86_row(i);
    const InsnOperand *g = gpr_operand(r, true), *rm = gpr_operand(r, false);
    bool mem = x86_is_mem(i), implied = (r->imp_read | r->imp_write) & 1 << R_RAX;
    NativeEncoding e;
    unsigned level;

    if (r->xlat != XLAT_VEC || i->fn != sem_native_vec || !class_ok(i, r, x->b->mode, &level)
        || (mem && (!i->mem_size || i->mem_size > 64 || !xl_ea_ok(x, i))) || (r->imp_write & 1 << R_RAX)) {
        return false;
    }
    xl_vec_level(x, level);
    if (native_uses_mxcsr(r) || r->excl == EXC_MMX || r->excl == EXC_CVT) {
        xl_flags_save(x);                               /* #XM and #MF show the state */
    }
    if (mem) {
        xl_operand(x, i, i->mem_size, xl_writes_memory(r));
    }
    e = native_encoding(i, H_R15, H_R15, H_R15);
    e.index = mem ? H_RAX : NATIVE_NO_INDEX;
    if (mem && (implied || (g && xl_host(i->reg) == H_NONE) || xl_flags_wanted(x))) {
        xl_lea(x, H_R15, xl_mem2(H_R15, H_RAX), true);
        e.index = NATIVE_NO_INDEX;
    }
    xl_flags_before(x);
    if (g) {
        e.reg = place(x, g, i->reg, mem ? H_RAX : H_R15);
    }
    if (rm && !mem) {
        e.rm = place(x, rm, i->rm, H_RAX);
    }
    if (implied) {
        xl_get(x, H_RAX, R_RAX);
    }
    emit_vec(x, i, &e);
    xl_flags_after(x);
    put_back(x, g, i->reg, e.reg);
    if (!mem) {
        put_back(x, rm, i->rm, e.rm);
    }
    return true;
}
