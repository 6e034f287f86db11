/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x87 rows (SDM vol. 1 ch. 8): arithmetic runs on the host through a native stub; control and
 * environment rows are here.
 *
 * FIP, FDP and FOP in the state are the guest's: set here after every non-control instruction,
 * never taken from the host. FCS and FDS read as zero, as on CPUs with CPUID.7.EBX[13] set. Test:
 * tests/insn.
 */
#include <string.h>

#include "target/i386/sem/native.h"
#include "util/error.h"

#define FSW_ES 0x0080u
#define FSW_B 0x8000u
#define FSW_EXCEPTIONS 0x007fu
#define FSW_TOP_SHIFT 11


static bool mem_is_written(const InsnRow *row)
{
    return row->opnd[0].kind == OPK_M && (row->opnd[0].access & OPA_WRITE);
}

/* ES and B follow from the exception flags and FCW's masks. */
static void fsw_update_summary(X86XSave *xs)
{
    if (xs->fsw & ~xs->fcw & 0x3f) {
        xs->fsw |= FSW_ES | FSW_B;
    } else {
        xs->fsw &= ~(FSW_ES | FSW_B);
    }
}

/* FDP is the offset within its segment. */
static void pointers_set(X86State *st, const Insn *i)
{
    st->xs.fip = st->rip;
    st->xs.fop = (i->opcode & 7) << 8 | i->modrm;
    if (x86_is_mem(i)) {
        st->xs.fdp = ea_offset(st, i);
    }
}

/*
 * A stack fault or an unmasked exception before the operation leaves memory alone; so stores go
 * through a buffer.
 */
static bool store_happens(const X86XSave *xs, uint16_t fsw_before)
{
    uint16_t raised = xs->fsw & ~fsw_before & ~xs->fcw & 0x01;     /* IE, unmasked */

    return !raised && !(xs->fsw & ~fsw_before & ~xs->fcw & 0x18);  /* OE, UE, unmasked */
}

void sem_native_x87(X86CPU *cpu, const Insn *i)
{
    X86State *st = cpu->st;
    const InsnRow *row = x86_row(i);
    NativeContext ctx = { .mxcsr_host = 0x1f80, .flags = st->rflags & FL_ARITH };
    uint8_t buffer[16] = { 0 };
    uint64_t lin = 0, fip, fdp, flags, mask = (row->flags_written | row->flags_undef) & FL_ARITH;
    uint16_t fop, fsw, fcw;
    NativeStub *stub;
    bool write;

    x86_check_fpu(cpu, true);
    stub = native_stub(cpu, i);
    if (!stub) {
        error_report("no memory for the code of %s", x86_mnemonic(i));
        x86_raise(cpu, EXCP_UD);
    }
    write = mem_is_written(row);
    if (x86_is_mem(i)) {
        lin = ea_linear(cpu, i, i->mem_size, write);
        if (write) {
            x86_probe(cpu, lin, i->mem_size, true);
        } else {
            x86_ld_bytes(cpu, lin, buffer, i->mem_size);
        }
    }
    fip = st->xs.fip;
    fdp = st->xs.fdp;
    fop = st->xs.fop;
    fsw = st->xs.fsw;
    fcw = st->xs.fcw;
    if (fsw & FSW_ES) {             /* CR0.NE is off and nobody acted on FERR#: as with IGNNE#, it runs all the same */
        st->xs.fcw |= 0x3f;
        st->xs.fsw &= ~(FSW_ES | FSW_B);
    }
    flags = stub(st, buffer, &ctx);
    if (fsw & FSW_ES) {
        st->xs.fcw = fcw;
        fsw_update_summary(&st->xs);
    }
    st->xs.fip = fip;
    st->xs.fdp = fdp;
    st->xs.fop = fop;
    pointers_set(st, i);
    st->xs.xstate_bv |= XFEATURE_X87;
    if (write && store_happens(&st->xs, fsw)) {
        x86_st_bytes(cpu, lin, buffer, i->mem_size);
    }
    st->rflags = (st->rflags & ~mask) | (flags & mask);
    x86_next(st, i);
}

/* ---- control ---- */

SEM(x87_nop)
{
    x86_check_fpu(cpu, false);
    x86_next(cpu->st, i);
}

SEM(x87_fwait)
{
    X86State *st = cpu->st;

    if ((st->mode & (MODE_MP | MODE_TS)) == (MODE_MP | MODE_TS)) {
        x86_raise(cpu, EXCP_NM);
    }
    if (st->xs.fsw & FSW_ES) {
        x86_check_fpu(cpu, true);
    }
    x86_next(st, i);
}

SEM(x87_fnclex)
{
    X86XSave *xs = &cpu->st->xs;

    x86_check_fpu(cpu, false);
    xs->fsw &= ~(FSW_EXCEPTIONS | FSW_ES | FSW_B);
    xs->xstate_bv |= XFEATURE_X87;
    x86_fpu_error_update(cpu);
    x86_next(cpu->st, i);
}

static void x87_init(X86XSave *xs)
{
    unsigned top = xs->fsw >> FSW_TOP_SHIFT & 7;
    uint8_t turned[8][16];

    for (unsigned n = 0; n < 8; n++) {      /* registers keep their values; TOP becomes 0 */
        memcpy(turned[n], xs->st[(n - top) & 7], 16);
    }
    memcpy(xs->st, turned, sizeof(turned));
    xs->fcw = 0x37f;
    xs->fsw = 0;
    xs->ftw = 0;
    xs->fop = 0;
    xs->fip = xs->fdp = 0;
    xs->xstate_bv |= XFEATURE_X87;
}

SEM(x87_fninit)
{
    x86_check_fpu(cpu, false);
    x87_init(&cpu->st->xs);
    x86_fpu_error_update(cpu);
    x86_next(cpu->st, i);
}

SEM(x87_fldcw)
{
    X86XSave *xs = &cpu->st->xs;
    uint16_t v;

    x86_check_fpu(cpu, true);
    v = ld_w(cpu, i);
    xs->fcw = (v & 0x1f7f) | 0x40;
    fsw_update_summary(xs);
    xs->xstate_bv |= XFEATURE_X87;
    x86_next(cpu->st, i);
}

SEM(x87_fnstcw)
{
    x86_check_fpu(cpu, false);
    st_w(cpu, i, cpu->st->xs.fcw);
    x86_next(cpu->st, i);
}

SEM(x87_fnstsw)
{
    x86_check_fpu(cpu, false);
    if (x86_is_mem(i)) {
        st_w(cpu, i, cpu->st->xs.fsw);
    } else {
        wr_w(cpu->st, R_RAX, cpu->st->xs.fsw);
    }
    x86_next(cpu->st, i);
}

SEM(emms)
{
    X86XSave *xs = &cpu->st->xs;

    x86_check_mmx(cpu);
    native_mmx_enter(xs);
    xs->ftw = 0;
    xs->xstate_bv |= XFEATURE_X87;
    x86_next(cpu->st, i);
}

/*
 * ---- environments: 14 or 28 bytes, real-mode and protected-mode layouts (SDM vol. 1 8.1.10)
 * ----
 */

/* The two-bit tag of physical register n: 0 valid, 1 zero, 2 special, 3 empty. */
static unsigned tag_of(const X86XSave *xs, unsigned n)
{
    unsigned top = xs->fsw >> FSW_TOP_SHIFT & 7, exponent;
    const uint8_t *r = xs->st[(n - top) & 7];
    uint64_t mantissa;

    if (!(xs->ftw >> n & 1)) {
        return 3;
    }
    memcpy(&mantissa, r, 8);
    exponent = (r[8] | r[9] << 8) & 0x7fff;
    if (!exponent && !mantissa) {
        return 1;
    }
    return exponent == 0 || exponent == 0x7fff || !(mantissa >> 63) ? 2 : 0;
}

static uint16_t full_tag(const X86XSave *xs)
{
    uint16_t tag = 0;

    for (unsigned n = 0; n < 8; n++) {
        tag |= tag_of(xs, n) << 2 * n;
    }
    return tag;
}

static bool env_is_real(const X86State *st)
{
    return !(st->mode & MODE_PE) || (st->mode & MODE_VM);
}

static unsigned env_build(const X86State *st, unsigned opsize, uint8_t *out)
{
    const X86XSave *xs = &st->xs;
    uint32_t w[7] = { xs->fcw, xs->fsw, full_tag(xs), xs->fip, 0, xs->fdp, 0 };

    if (env_is_real(st)) {
        w[4] = (xs->fip >> 16 & 0xffff) << 12 | (xs->fop & 0x7ff);
        w[6] = (xs->fdp >> 16 & 0xffff) << 12;
        if (opsize == 2) {
            w[4] = (xs->fip >> 16 & 15) << 12 | (xs->fop & 0x7ff);
            w[6] = (xs->fdp >> 16 & 15) << 12;
        }
        w[3] &= 0xffff;
        w[5] &= 0xffff;
    } else if (opsize != 2) {
        w[4] = (uint32_t)(xs->fop & 0x7ff) << 16;
    }
    for (unsigned n = 0; n < 7; n++) {
        if (opsize == 2) {
            out[2 * n] = w[n];
            out[2 * n + 1] = w[n] >> 8;
        } else {
            uint32_t v = n < 3 || (n == 6 && !env_is_real(st)) ? w[n] | 0xffff0000 : w[n];

            memcpy(out + 4 * n, &v, 4);
        }
    }
    return opsize == 2 ? 14 : 28;
}

static void env_apply(X86State *st, unsigned opsize, const uint8_t *in)
{
    X86XSave *xs = &st->xs;
    uint8_t regs[8][16];
    unsigned old_top = xs->fsw >> FSW_TOP_SHIFT & 7, new_top;
    uint32_t w[7] = { 0 };

    for (unsigned n = 0; n < 7; n++) {
        memcpy(&w[n], in + (opsize == 2 ? 2 : 4) * n, opsize == 2 ? 2 : 4);
    }
    xs->fcw = (w[0] & 0x1f7f) | 0x40;
    xs->fsw = w[1];
    new_top = xs->fsw >> FSW_TOP_SHIFT & 7;
    for (unsigned n = 0; n < 8; n++) {      /* physical registers stay; the image is in stack order */
        memcpy(regs[(n - new_top) & 7], xs->st[(n - old_top) & 7], 16);
    }
    memcpy(xs->st, regs, sizeof(regs));
    xs->ftw = 0;
    for (unsigned n = 0; n < 8; n++) {
        xs->ftw |= ((w[2] >> 2 * n & 3) != 3) << n;
    }
    xs->fip = w[3];
    xs->fdp = w[5];
    if (env_is_real(st)) {
        xs->fip = (w[3] & 0xffff) | (w[4] >> 12 & 0xffff) << 16;
        xs->fdp = (w[5] & 0xffff) | (w[6] >> 12 & 0xffff) << 16;
        xs->fop = w[4] & 0x7ff;
    } else {
        xs->fop = opsize == 2 ? 0 : w[4] >> 16 & 0x7ff;     /* the short form has none */
    }
    fsw_update_summary(xs);
    xs->xstate_bv |= XFEATURE_X87;
}

SEM(x87_fnstenv)
{
    X86State *st = cpu->st;
    uint8_t env[28];
    unsigned len;
    uint64_t lin;

    x86_check_fpu(cpu, false);
    len = env_build(st, i->opsize, env);
    lin = ea_linear(cpu, i, len, true);
    x86_st_bytes(cpu, lin, env, len);
    st->xs.fcw |= 0x3f;                     /* all exceptions masked afterwards */
    fsw_update_summary(&st->xs);
    x86_next(st, i);
}

SEM(x87_fldenv)
{
    uint8_t env[28];
    unsigned len = i->opsize == 2 ? 14 : 28;
    uint64_t lin;

    x86_check_fpu(cpu, true);
    lin = ea_linear(cpu, i, len, false);
    x86_ld_bytes(cpu, lin, env, len);
    env_apply(cpu->st, i->opsize, env);
    x86_next(cpu->st, i);
}

SEM(x87_fnsave)
{
    X86State *st = cpu->st;
    uint8_t area[28 + 80];
    unsigned len;
    uint64_t lin;

    x86_check_fpu(cpu, false);
    len = env_build(st, i->opsize, area);
    for (unsigned n = 0; n < 8; n++) {
        memcpy(area + len + 10 * n, st->xs.st[n], 10);
    }
    len += 80;
    lin = ea_linear(cpu, i, len, true);
    x86_st_bytes(cpu, lin, area, len);
    x87_init(&st->xs);
    x86_fpu_error_update(cpu);
    x86_next(st, i);
}

SEM(x87_frstor)
{
    X86State *st = cpu->st;
    uint8_t area[28 + 80];
    unsigned env = i->opsize == 2 ? 14 : 28;
    uint64_t lin;

    x86_check_fpu(cpu, true);
    lin = ea_linear(cpu, i, env + 80, false);
    x86_ld_bytes(cpu, lin, area, env + 80);
    env_apply(st, i->opsize, area);
    for (unsigned n = 0; n < 8; n++) {
        memset(st->xs.st[n], 0, 16);
        memcpy(st->xs.st[n], area + env + 10 * n, 10);
    }
    x86_next(st, i);
}
