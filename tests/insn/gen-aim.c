/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts a case's operands where they can be reached and mean something: memory operands into the window, string
 * pointers, selectors and far pointers, XSAVE images. Says what is kept away because the manual leaves it open.
 * See insn-test.h.
 */
#include <string.h>

#include "gen.h"
#include "target/i386/interp.h"

static void patch(uint8_t *bytes, unsigned off, unsigned len, uint64_t v)
{
    memcpy(bytes + off, &v, len);
}

static bool is_vsib(const Insn *i)
{
    return x86_row(i)->flags & ROW_VSIB;
}

static void vsib_fill(Rng *r, InsnCase *c, const Insn *i)
{
    X86XSave *xs = &c->start.xs;
    int32_t idx[16];
    unsigned width = 4;

    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (x86_row(i)->opnd[n].kind == OPK_VM) {
            width = x86_row(i)->opnd[n].aux;
        }
    }
    for (unsigned n = 0; n < 64 / width; n++) {
        int64_t v = (int)rng_below(r, 256) - 128;

        if (rng_percent(r, 1)) {
            v = rng_next(r);
        }
        memcpy((uint8_t *)idx + n * width, &v, width);
    }
    if (i->index >= 16) {
        memcpy(xs->hi16[i->index - 16], idx, 64);
        return;
    }
    memcpy(xs->xmm[i->index], idx, 16);
    if (native_features() & XFEATURE_AVX) {
        memcpy(xs->ymmh[i->index], idx + 4, 16);
    }
    if (native_features() & XFEATURE_ZMMH) {
        memcpy(xs->zmmh[i->index], idx + 8, 32);
    }
}

/*
 * Sets registers, or the displacement of instruction bytes at `at`, so that the operand lies at
 * target.
 */
void memory_aim(Rng *r, InsnCase *c, Insn *i, unsigned at, uint64_t target)
{
    uint64_t want = target - segment_base(c, i->seg), *regs = c->start.regs;

    if (is_vsib(i)) {
        vsib_fill(r, c, i);
    } else if (i->index == i->base && i->index < 16) {
        c->count = 0;                   /* two unknowns in one */
    } else if (i->index != INSN_NONE && i->index != i->base) {
        regs[i->index] = (int)rng_below(r, 128) - 64;
        want -= regs[i->index] << i->scale;
    }
    if (i->base == INSN_RIP) {
        patch(c->code + at, i->off_disp, 4, want - (c->start.rip + at + i->length));
    } else if (i->base == INSN_NONE) {
        patch(c->code + at, i->off_disp, i->disp_len, want);
    } else {
        regs[i->base] = want - i->disp;
        if (i->adsize == 4 && i->base != R_RSP) {
            regs[i->base] = (uint32_t)regs[i->base] | rng_next(r) << 32;
        } else if (i->adsize == 2) {
            regs[i->base] = (uint16_t)regs[i->base] | rng_next(r) << 16;
        }
    }
}

void window_fill(Rng *r, uint64_t target)
{
    uint64_t at = (target - 64 - DATA_AT) & ~15ull;

    if (at < DATA_RW - 256) {
        data_fill(r, window_start + at, 256);
    }
}

/* With an empty mask a CPU may or may not touch memory: select the first byte. */
static void maskmov_select(InsnCase *c, const Insn *i)
{
    X86XSave *xs = &c->start.xs;

    if (x86_row(i)->opnd[0].kind == OPK_P) {
        xs->st[((i->rm & 7) - (xs->fsw >> 11 & 7)) & 7][0] |= 0x80;
    } else {
        xs->xmm[i->rm][0] |= 0x80;
    }
}

static void implicit_aim(Rng *r, InsnCase *c, const Insn *i)
{
    const InsnRow *row = x86_row(i);
    const char *name = x86_mnemonic(i);
    uint64_t *regs = c->start.regs, second = target_generate(r, 8);

    if (row->xlat == XLAT_STRING) {
        regs[R_RCX] = rng_below(r, 20);
        regs[R_RDI] = second - segment_base(c, SEG_ES);
        regs[R_RSI] = c->target - segment_base(c, i->seg);
        if (i->adsize < 8) {
            unsigned bits = 8 * i->adsize;

            regs[R_RCX] |= rng_next(r) << bits;
            regs[R_RSI] = (regs[R_RSI] & ((1ull << bits) - 1)) | rng_next(r) << bits;
        }
        if (rng_percent(r, 50)) {
            memset(window_start + 0x200, rng_percent(r, 50) ? regs[R_RAX] & 0xff : 0, 0x2000);
        }
    } else if (!strcmp(name, "xlat")) {
        regs[R_RBX] = c->target - (regs[R_RAX] & 0xff) - segment_base(c, i->seg);
    } else if (g_str_has_prefix(name, "maskmov") || !strcmp(name, "vmaskmovdqu")) {
        regs[R_RDI] = c->target - segment_base(c, i->seg);
        maskmov_select(c, i);
    } else if (!strcmp(name, "leave") || !strcmp(name, "enter")) {
        regs[R_RBP] = second - segment_base(c, SEG_SS);
    } else if (!strcmp(name, "movdir64b")) {
        regs[i->reg] = DATA_AT + 0x400 + rng_below(r, 64) * 64 - segment_base(c, SEG_ES);
    } else if (!strcmp(name, "int")) {
        unsigned vector = rng_below(r, 256);        /* below 32 hypervisors may look first; 0x80 enters the kernel */

        c->code[i->off_imm] = vector < 32 || vector == 0x80 ? 3 + vector % 2 : vector;
    } else if (!strcmp(name, "clzero")) {
        regs[R_RAX] = c->target - segment_base(c, i->seg);
    } else if (!strcmp(name, "div") && rng_percent(r, 60)) {
        regs[R_RDX] = 0;
    } else if (!strcmp(name, "idiv") && rng_percent(r, 60)) {
        regs[R_RDX] = (int64_t)regs[R_RAX] >> 63;
    } else if ((row->flags & ROW_BITMEM) && x86_is_mem(i) && i->reg != i->base && i->reg != i->index) {
        regs[i->reg] = (int)rng_below(r, 4096) - 2048;
    } else if (!strcmp(name, "cmpxchg8b") || !strcmp(name, "cmpxchg")) {
        if (rng_percent(r, 50) && c->target - DATA_AT < DATA_RW - 16) {
            memcpy(&regs[R_RAX], window_start + (c->target - DATA_AT), 8);
            memcpy(&regs[R_RDX], window_start + (c->target - DATA_AT) + (i->opsize == 8 ? 8 : 4), 8);
        }
    }
}

bool is_sha(const Insn *i)
{
    return g_str_has_prefix(x86_mnemonic(i), "sha1") || g_str_has_prefix(x86_mnemonic(i), "sha256");
}

/*
 * What the manual leaves to the CPU: whether the unselected bytes of MASKMOV fault; whether a misaligned operand of
 * more than 8 bytes raises #AC (SDM vol. 3 6.15, interrupt 17: MOVUPS, LDDQU "may or may not"; here as on AMD's;
 * FXSAVE, XSAVE: #GP or #AC); which of two pages is reported when a big operand lies in both. Gathers and masked
 * operands raise no #AC on AMD's CPUs, and SHA's operands may be misaligned there (SDM: type 4, #GP, as here).
 */
static void tame_alignment(InsnCase *c, const Insn *i)
{
    const char *name = x86_mnemonic(i);
    bool free_to_choose = i->mem_size > 8 && !gen_host_is_amd();

    if (g_str_has_prefix(name, "maskmov") || !strcmp(name, "vmaskmovdqu") || (is_sha(i) && gen_host_is_amd())) {
        c->target &= ~15ull;
    }
    if (x86_row(i)->xlat == XLAT_MASK || (x86_row(i)->xlat == XLAT_VEC && (free_to_choose || i->mask))) {
        c->start.rflags &= ~(uint64_t)FL_AC;
    }
    if (g_str_has_prefix(name, "fx") || is_xsave(i) || !strcmp(name, "movdir64b")) {
        c->start.rflags &= ~(uint64_t)FL_AC;
        if (c->target + 512 > DATA_AT + DATA_RW && (c->target & 4095) + 512 > 4096) {
            c->target = DATA_AT + 0x600;
        }
    }
}

static void plant(uint64_t lin, uint64_t v, unsigned size)
{
    if (lin - DATA_AT <= DATA_RW - size) {
        memcpy(window_start + (lin - DATA_AT), &v, size);
    }
}

/*
 * Most values for MXCSR are allowed (with AMD's MM, bit 17), some have reserved bits. x87 pointers are canonical, as
 * any that came from a CPU (of others CPUs keep what they have room for).
 */
static void tame_control_data(Rng *r, InsnCase *c, const Insn *i)
{
    const char *name = x86_mnemonic(i);
    unsigned off = !strcmp(name, "fxrstor") || is_xsave(i) ? 24 : 0;

    if (off) {
        plant(c->target + 8, rng_next(r) >> 17, 8);
        plant(c->target + 16, rng_next(r) >> 17, 8);
    }

    if ((off || strstr(name, "ldmxcsr")) && c->target - DATA_AT < DATA_RW - 32) {
        uint32_t v;

        memcpy(&v, window_start + (c->target - DATA_AT) + off, 4);
        v &= v % 5 ? 0x2ffff : ~0u;
        memcpy(window_start + (c->target - DATA_AT) + off, &v, 4);
    }
}

/* ---- selectors and far pointers ---- */

static uint64_t stack_at(const InsnCase *c)
{
    uint64_t sp = c->start.regs[R_RSP];

    if (c->bits == 64) {
        return sp;
    }
    return segment_base(c, SEG_SS) + (segment_of(c->start.sel[SEG_SS]).attr & DESC_B ? sp : (uint16_t)sp);
}

static uint16_t code_selector(Rng *r)
{
    static const uint16_t good[] = { SEL_CODE64, SEL_CODE32, SEL_CODE16, 0x57, 0x67, 0x3f };

    uint16_t sel = good[rng_below(r, G_N_ELEMENTS(good))];

    return rng_percent(r, 60) && segment_there(sel) ? sel : selector_generate(r);
}

static uint64_t code_offset(Rng *r, uint16_t sel)
{
    return rng_percent(r, 8) ? rng_next(r) : CODE_AT + 0x100 + rng_below(r, 0x200) - segment_of(sel).base;
}

/* A far pointer at lin: an offset of size bytes, a selector in width bytes. */
static void far_plant(Rng *r, uint64_t lin, unsigned size, unsigned width)
{
    uint16_t sel = code_selector(r);

    plant(lin, code_offset(r, sel), size);
    plant(lin + size, sel, width);
}

static void iret_plant(Rng *r, InsnCase *c, unsigned size)
{
    uint64_t at = stack_at(c), flags = 2 | (rng_next(r) & (FL_ARITH | FL_DF | FL_IF | FL_IOPL | FL_NT | FL_ID));

    if (rng_percent(r, 20)) {
        flags |= rng_next(r) & (FL_AC | FL_RF | FL_VIF);
    }
    far_plant(r, at, size, size);
    plant(at + 2 * size, flags, size);
    plant(at + 3 * size, rng_percent(r, 50) ? DATA_AT + 0x900 : rng_next(r), size);
    plant(at + 4 * size, SEL_DATA, size);
    if (rng_percent(r, 30)) {           /* not two mistakes at once: their order is the CPU's */
        plant(at, CODE_AT + 0x100, size);
        plant(at + size, SEL_CODE64, size);
        plant(at + 4 * size, selector_generate(r), size);
    }
}

static bool segments_aim(Rng *r, InsnCase *c, Insn *i)
{
    const InsnRow *row = x86_row(i);
    const char *name = x86_mnemonic(i);
    uint16_t sel = selector_generate(r);

    if (!strcmp(name, "iret")) {
        iret_plant(r, c, i->opsize);
    } else if (!strcmp(name, "retf")) {
        far_plant(r, stack_at(c), i->opsize, i->opsize);
        if (i->imm_len) {       /* small: AMD's CPUs read the outer stack before they judge the selector */
            patch(c->code, i->off_imm, 2, 8 * rng_below(r, 16));
        }
    } else if (!strcmp(name, "callf") || !strcmp(name, "jmpf")) {
        uint16_t cs = code_selector(r);

        if (x86_is_mem(i)) {
            far_plant(r, c->target, i->opsize, 2);
        } else {
            patch(c->code, i->off_imm, i->opsize, code_offset(r, cs));
            patch(c->code, i->off_imm + i->opsize, 2, cs);
        }
    } else if (row->xlat == XLAT_SEG && row->opnd[1].kind == OPK_M) {
        plant(c->target + i->opsize, sel, 2);
    } else if (row->xlat == XLAT_SEG && row->opnd[0].kind == OPK_SEG) {
        plant(stack_at(c), sel, 2);
    } else if (row->xlat == XLAT_SEG || strstr(" lar lsl verr verw arpl ", name)) {
        plant(c->target, sel, 2);
        if (!x86_is_mem(i)) {
            memcpy(&c->start.regs[i->rm], &sel, 2);
        }
    } else {
        return false;
    }
    return true;
}

/* ---- the XSAVE family ---- */

static void component_init(X86XSave *xs, uint64_t bv)
{
    if (!(bv & XFEATURE_X87)) {
        memset(xs, 0, 24);
        memset(xs->st, 0, sizeof(xs->st));
        xs->fcw = 0x37f;
    }
    if (!(bv & XFEATURE_SSE)) {
        memset(xs->xmm, 0, sizeof(xs->xmm));
    }
    if (!(bv & XFEATURE_AVX)) {
        memset(xs->ymmh, 0, sizeof(xs->ymmh));
    }
    if (!(bv & XFEATURE_OPMASK)) {
        memset(xs->k, 0, sizeof(xs->k));
    }
    if (!(bv & XFEATURE_ZMMH)) {
        memset(xs->zmmh, 0, sizeof(xs->zmmh));
    }
    if (!(bv & XFEATURE_HI16)) {
        memset(xs->hi16, 0, sizeof(xs->hi16));
    }
}

static void header_generate(Rng *r, InsnCase *c)
{
    uint64_t features = native_features(), h[8] = { rng_next(r) & features };

    if (rng_percent(r, 50)) {
        h[1] = 1ull << 63 | (rng_next(r) & features);
        if (rng_percent(r, 90)) {
            h[0] &= h[1];
        }
    }
    if (rng_percent(r, 8)) {
        h[rng_below(r, 8)] |= 1ull << rng_below(r, 63);
    }
    for (int n = 0; n < 2; n++) {
        h[n] &= features | ~native_xcr0();      /* what the host has and this test has not */
    }
    for (int n = 0; n < 8; n++) {
        plant(c->target + 512 + 8 * n, h[n], 8);
    }
}

static void xsave_aim(Rng *r, InsnCase *c, const Insn *i)
{
    uint64_t *regs = c->start.regs, features = native_features();

    c->xsave = true;
    c->target = DATA_AT + 64 * rng_below(r, (DATA_RW - 2752) / 64);
    if (rng_percent(r, 10)) {
        c->target = rng_percent(r, 50) ? c->target + (1 << rng_below(r, 6))
                                       : DATA_AT + DATA_RW + 64 * rng_below(r, 16) + 4096 * rng_below(r, 2);
        if (g_str_has_prefix(x86_mnemonic(i), "xrstor") && c->target < DATA_AT + DATA_SIZE) {
            c->target = DATA_AT + DATA_SIZE;    /* the host's layout cannot be put into a page that is read only */
        }
    }
    if (rng_percent(r, 60)) {
        c->start.xs.xstate_bv = features & rng_next(r);
        component_init(&c->start.xs, c->start.xs.xstate_bv);
    }
    if (rng_percent(r, 30)) {
        c->start.xs.mxcsr = 0x1f80;
    }
    regs[R_RAX] = (rng_next(r) >> 32) & (rng_percent(r, 70) ? rng_next(r) : ~0ull);
    regs[R_RAX] &= features | ~native_xcr0();
    if (g_str_has_prefix(x86_mnemonic(i), "xrstor")) {
        header_generate(r, c);
    }
}

void operands_aim(Rng *r, InsnCase *c, Insn *i)
{
    if (is_xsave(i)) {
        xsave_aim(r, c, i);
    }
    c->reloads = x86_row(i)->xlat == XLAT_SEG || g_str_has_suffix(x86_mnemonic(i), "sbase");
    tame_alignment(c, i);
    if (!segments_aim(r, c, i)) {
        implicit_aim(r, c, i);
    }
    tame_control_data(r, c, i);
    if (x86_is_mem(i)) {
        memory_aim(r, c, i, 0, c->target);
    }
}
