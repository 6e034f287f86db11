/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judges a case: everything must be equal, except what the manual or the instruction table says is undefined, and
 * what is the machine's own and cannot be equal (the time stamp, where descriptor tables lie). See insn-test.h.
 *
 * Not compared: TF in flags, by which cases are stepped; the low bits of CR2 of an operand of more than 8 bytes
 * or one that spans pages (the manual names no byte); FDP after an x87 instruction without a memory operand
 * (undefined, SDM vol. 1 8.1.8); the present bit of a fault where one of the worlds' kernels has pages of its own;
 * bits 16-19 of LAR's result (undefined, SDM LAR).
 */
#include <inttypes.h>
#include <string.h>

#include "insn-test.h"

typedef struct Judge {
    FILE *report;
    bool same;
} Judge;

static void differ(Judge *j, const char *what, int n, const void *native, const void *guest, unsigned len)
{
    const uint8_t *a = native, *b = guest;

    j->same = false;
    if (!j->report) {
        return;
    }
    fprintf(j->report, n < 0 ? "  %s: host " : "  %s%d: host ", what, n);
    for (unsigned k = len; k-- > 0;) {
        fprintf(j->report, "%02x", a[k]);
    }
    fprintf(j->report, " here ");
    for (unsigned k = len; k-- > 0;) {
        fprintf(j->report, "%02x", b[k]);
    }
    fprintf(j->report, "\n");
}

static void same_bytes(Judge *j, const char *what, int n, const void *native, const void *guest, unsigned len)
{
    if (memcmp(native, guest, len)) {
        differ(j, what, n, native, guest, len);
    }
}

static void same_vectors(Judge *j, const X86XSave *a, const X86XSave *b)
{
    for (int n = 0; n < 16; n++) {
        same_bytes(j, "xmm", n, a->xmm[n], b->xmm[n], 16);
        same_bytes(j, "ymmh", n, a->ymmh[n], b->ymmh[n], 16);
        same_bytes(j, "zmmh", n, a->zmmh[n], b->zmmh[n], 32);
        same_bytes(j, "zmm16+", n, a->hi16[n], b->hi16[n], 64);
    }
    for (int n = 0; n < 8; n++) {
        same_bytes(j, "k", n, &a->k[n], &b->k[n], 8);
    }
    same_bytes(j, "mxcsr", -1, &a->mxcsr, &b->mxcsr, 4);
}

/* AMD's CPUs hand out zeros for the pointers while no unmasked exception is pending (APM vol. 5 FXSAVE). */
static void same_x87(Judge *j, const X86XSave *a, const X86XSave *b, bool fdp)
{
    for (int n = 0; n < 8; n++) {
        same_bytes(j, "st", n, a->st[n], b->st[n], 10);
    }
    same_bytes(j, "fcw", -1, &a->fcw, &b->fcw, 2);
    same_bytes(j, "fsw", -1, &a->fsw, &b->fsw, 2);
    same_bytes(j, "ftw", -1, &a->ftw, &b->ftw, 1);
    if ((a->fsw & 0x80) || a->fip || a->fdp || a->fop) {
        same_bytes(j, "fip", -1, &a->fip, &b->fip, 8);
        if (fdp) {
            same_bytes(j, "fdp", -1, &a->fdp, &b->fdp, 8);
        }
        same_bytes(j, "fop", -1, &a->fop, &b->fop, 2);
    }
}

static void same_memory(Judge *j)
{
    const uint8_t *a = native_window(), *b = guest_window();

    if (!memcmp(a, b, DATA_RW)) {
        return;
    }
    for (unsigned at = 0; at < DATA_RW; at += 16) {
        if (memcmp(a + at, b + at, 16)) {
            same_bytes(j, "memory+", at, a + at, b + at, 16);
        }
    }
}

static bool has_error_code(int vector)
{
    return vector == EXCP_DF || (vector >= EXCP_TS && vector <= EXCP_PF) || vector == EXCP_AC;
}

static void same_fault(Judge *j, const InsnCase *c, const InsnOutcome *a, const InsnOutcome *b)
{
    uint64_t mask = c->count == 1 && c->insn[0].mem_size && c->insn[0].mem_size <= 8 &&
                    x86_row(&c->insn[0])->xlat != XLAT_MASK && (c->target & 4095) + c->insn[0].mem_size <= 4096
                    ? ~0ull : ~4095ull;
    uint64_t at_a = a->cr2 & mask, at_b = b->cr2 & mask;

    same_bytes(j, "fault", -1, &a->vector, &b->vector, 4);
    if (a->vector >= 0 && has_error_code(a->vector)) {
        uint32_t own = a->vector == EXCP_PF && (a->cr2 >> 63 || a->cr2 < GUEST_KERNEL);
        uint32_t error_a = a->error & ~own, error_b = b->error & ~own;

        same_bytes(j, "error", -1, &error_a, &error_b, 4);
    }
    if (a->vector == EXCP_PF && b->vector == EXCP_PF) {
        same_bytes(j, "address", -1, &at_a, &at_b, 8);
    }
}

static void window_zero(uint64_t lin, unsigned len)
{
    if (lin - DATA_AT <= DATA_RW - len) {
        memset(native_window() + (lin - DATA_AT), 0, len);
        memset(guest_window() + (lin - DATA_AT), 0, len);
    }
}

/* Where AMD's CPU left out the pointers (see same_x87): FOP, FIP, FDP of an image, FIP to FDP of an environment. */
static void pointers_tame(const InsnCase *c, unsigned off, unsigned len)
{
    static const uint8_t zeros[18];
    uint64_t at = c->target + off - DATA_AT;

    if (at <= DATA_RW - len && !memcmp(native_window() + at, zeros, len)) {
        memset(guest_window() + at, 0, len);
    }
}

/* Bytes of memory that are the machine's own: bases of its tables, MXCSR_MASK. */
static void window_tame(const InsnCase *c, const InsnOutcome *native)
{
    const char *name = x86_mnemonic(&c->insn[0]);

    bool table = !strcmp(name, "sgdt") || !strcmp(name, "sidt");

    if (c->undecodable || (native->vector >= 0 && !table)) {
        return;
    }
    if (table) {
        /* Whether the limit is stored when the base's place faults is not said. */
        window_zero(c->target + (native->vector < 0 ? 2 : 0), native->vector >= 0 ? 2 : c->bits == 64 ? 8 : 4);
    } else if (!strcmp(name, "fnstenv") || !strcmp(name, "fnsave")) {
        bool wide = c->insn[0].opsize != 2;

        pointers_tame(c, wide ? 12 : 6, 6);
        if (wide) {
            window_zero(c->target + 18, 1);
        }
        pointers_tame(c, wide ? 20 : 10, wide ? 4 : 2);
    } else if (!strcmp(name, "fxsave") || (c->xsave && g_str_has_prefix(name, "xsave"))) {
        pointers_tame(c, 6, 18);
        window_zero(c->target + 28, 4);
    }
    xsave_tame(c, native_window(), guest_window());
}

/* Registers that an instruction fills with the machine's own, as a mask: what is there must only be as wide. */
static unsigned own_registers(const InsnCase *c)
{
    static const char *const fixed = " cpuid rdtsc rdtscp ", *const named = " rdrand rdseed rdpid rdfsbase ";
    const Insn *i = &c->insn[0];
    g_autofree char *word = g_strconcat(" ", x86_mnemonic(i), " ", NULL);

    if (c->undecodable || c->count > 1) {
        return 0;
    }
    return strstr(fixed, word) ? x86_row(i)->imp_write : strstr(named, word) ? 1u << i->rm : 0;
}

/* LAR's bits 16-19 are undefined; this host gives the limit's. */
static void lar_tame(const InsnCase *c, const InsnOutcome *native, InsnOutcome *guest)
{
    if (!c->undecodable && c->count == 1 && native->vector < 0 && !strcmp(x86_mnemonic(&c->insn[0]), "lar") &&
        (native->end.rflags & FL_ZF)) {
        unsigned n = c->insn[0].reg;

        guest->end.regs[n] |= native->end.regs[n] & 0xf0000;
    }
}

static void own_registers_tame(const InsnCase *c, const InsnOutcome *native, InsnOutcome *guest)
{
    unsigned own = native->vector < 0 ? own_registers(c) : 0;

    for (unsigned n = 0; n < 16; n++) {
        if (own >> n & 1) {
            memcpy(&guest->end.regs[n], &native->end.regs[n], x86_row(&c->insn[0])->imp_write ? 4 : c->insn[0].opsize);
        }
    }
}

/* FDP is undefined once an x87 instruction without a memory operand has run. */
static bool fdp_defined(const InsnCase *c)
{
    for (unsigned n = 0; n < c->count; n++) {
        if (x86_row(&c->insn[n])->excl == EXC_X87 && !x86_is_mem(&c->insn[n])) {
            return false;
        }
    }
    return true;
}

bool outcome_same(const InsnCase *c, const InsnOutcome *native, const InsnOutcome *guest, FILE *report)
{
    Judge j = { report, true };
    uint64_t ignore = (guest->vector < 0 || c->count > 1 || c->program ? c->flags_undef : 0) | FL_TF;
    uint64_t fa = native->end.rflags & ~ignore, fb = guest->end.rflags & ~ignore;
    InsnOutcome mine = *guest;

    if ((native->vector == EXCP_AC && guest->vector == EXCP_PF) ||
        (native->vector == EXCP_PF && guest->vector == EXCP_AC)) {
        return true;                    /* which of the two comes first is the CPU's choice (SDM vol. 3 6.9) */
    }
    if (guest->hung) {
        if (report) {
            fprintf(report, "  the guest's program does not end\n");
        }
        return false;
    }
    xsave_from_native(c, native_window());
    window_tame(c, native);
    own_registers_tame(c, native, &mine);
    lar_tame(c, native, &mine);
    same_fault(&j, c, native, &mine);
    for (int n = 0; n < 16; n++) {
        same_bytes(&j, "r", n, &native->end.regs[n], &mine.end.regs[n], 8);
    }
    for (int n = 0; n < SEG_COUNT; n++) {
        if (native->end.sel[n] == 0 && mine.end.sel[n] < 4) {
            continue;                   /* kernels make a null selector 0 when they switch tasks */
        }
        same_bytes(&j, "seg", n, &native->end.sel[n], &mine.end.sel[n], 2);
    }
    same_bytes(&j, "rip", -1, &native->end.rip, &mine.end.rip, 8);
    same_bytes(&j, "rflags", -1, &fa, &fb, 4);
    same_vectors(&j, &native->end.xs, &mine.end.xs);
    same_x87(&j, &native->end.xs, &mine.end.xs, fdp_defined(c));
    same_memory(&j);
    return j.same;
}
