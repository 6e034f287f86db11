/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judges a case: everything must be equal, except what the instruction table says is undefined.
 * See insn-test.h.
 *
 * Not compared: the present bit of a page fault's error code (the host populates lazily); TF and
 * RF in flags; the x87 pointers while no exception is pending (some CPUs keep none then).
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

/* FDP is undefined after an x87 instruction without a memory operand. */
static void same_x87(Judge *j, const X86XSave *a, const X86XSave *b, bool fdp)
{
    for (int n = 0; n < 8; n++) {
        same_bytes(j, "st", n, a->st[n], b->st[n], 10);
    }
    same_bytes(j, "fcw", -1, &a->fcw, &b->fcw, 2);
    same_bytes(j, "fsw", -1, &a->fsw, &b->fsw, 2);
    same_bytes(j, "ftw", -1, &a->ftw, &b->ftw, 1);
    if (a->fsw & 0x80) {
        same_bytes(j, "fip", -1, &a->fip, &b->fip, 6);      /* AMD's CPUs extend bit 47 */
        if (fdp) {
            same_bytes(j, "fdp", -1, &a->fdp, &b->fdp, 6);
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

static void same_fault(Judge *j, const InsnOutcome *a, const InsnOutcome *b)
{
    uint64_t page_a = a->cr2 & ~4095ull, page_b = b->cr2 & ~4095ull;
    uint32_t bits_a = a->error & ~1u, bits_b = b->error & ~1u;

    same_bytes(j, "fault", -1, &a->vector, &b->vector, 4);
    if (a->vector == EXCP_PF && b->vector == EXCP_PF) {
        same_bytes(j, "page", -1, &page_a, &page_b, 8);
        same_bytes(j, "error", -1, &bits_a, &bits_b, 4);
    }
}

static void window_zero(uint64_t lin, unsigned len)
{
    if (lin - DATA_AT <= DATA_RW - len) {
        memset(native_window() + (lin - DATA_AT), 0, len);
        memset(guest_window() + (lin - DATA_AT), 0, len);
    }
}

/* Memory that rightly differs: x87 pointers (while nothing is pending) and FXSAVE's MXCSR_MASK. */
static void window_tame(const InsnCase *c, const InsnOutcome *native)
{
    const char *name = x86_mnemonic(&c->insn[0]);

    if (c->undecodable || native->vector >= 0) {
        return;
    }
    if (!strcmp(name, "fnstenv") || !strcmp(name, "fnsave")) {
        window_zero(c->target + (c->insn[0].opsize == 2 ? 6 : 12), c->insn[0].opsize == 2 ? 8 : 16);
    } else if (!strcmp(name, "fxsave")) {
        window_zero(c->target + 6, 18);
        window_zero(c->target + 28, 4);
    }
}

bool outcome_same(const InsnCase *c, const InsnOutcome *native, const InsnOutcome *guest, FILE *report)
{
    Judge j = { report, true };
    uint64_t ignore = guest->vector < 0 || c->count > 1 ? c->flags_undef : 0;
    uint64_t fa = native->end.rflags & ~ignore, fb = guest->end.rflags & ~ignore;

    window_tame(c, native);
    same_fault(&j, native, guest);
    for (int n = 0; n < 16; n++) {
        same_bytes(&j, "r", n, &native->end.regs[n], &guest->end.regs[n], 8);
    }
    same_bytes(&j, "rip", -1, &native->end.rip, &guest->end.rip, 8);
    same_bytes(&j, "rflags", -1, &fa, &fb, 4);
    same_vectors(&j, &native->end.xs, &guest->end.xs);
    same_x87(&j, &native->end.xs, &guest->end.xs, c->count == 1 && x86_is_mem(&c->insn[0]));
    same_memory(&j);
    return j.same;
}
