/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Corner cases of the instruction set, a test each, named for what is special: carries, flags, upper halves, NaNs,
 * the x87 state, error codes, canonical addresses. Facts from SDM vol. 1 to 3; tests/insn finds most of them against
 * the host's CPU too, tests/bare those that need a whole machine.
 */
#include "sem-exec.h"
#include "target/i386/cpuid.h"
#include "target/i386/exec.h"

#define AR FL_ARITH

static uint32_t error_code(void)
{
    return cpu->st->ev.exception_error;
}

/* ---- integer ---- */

/* RCL by one, as a wire: the carry is the extra bit. */
static void rotate_once(uint64_t *v, bool *carry, unsigned bits, bool left)
{
    bool out = left ? *v >> (bits - 1) & 1 : *v & 1;

    *v = left ? *v << 1 | *carry : *v >> 1 | (uint64_t)*carry << (bits - 1);
    *v &= bits == 64 ? ~0ull : (1ull << bits) - 1;
    *carry = out;
}

/* Counts are taken modulo 32 (64), then 9 and 17 for bytes and words: many turns come round. */
START_TEST(rotates_through_carry_wrap_their_counts)
{
    static const struct { const char *left, *right; unsigned bits; } forms[] = {
        { "d2d0", "d2d8", 8 }, { "66d3d0", "66d3d8", 16 }, { "d3d0", "d3d8", 32 }, { "48d3d0", "48d3d8", 64 },
    };

    start(64);
    for (unsigned f = 0; f < G_N_ELEMENTS(forms); f++) {
        for (unsigned n = 0; n < 256 * 2; n++) {
            bool left = n & 1, carry = n & 2;
            unsigned count = n / 2, turns = count & (forms[f].bits == 64 ? 63 : 31);
            uint64_t v = 0x8123456789abcde5 & (forms[f].bits == 64 ? ~0ull : (1ull << forms[f].bits) - 1);

            cpu->st->regs[R_RAX] = v;
            cpu->st->regs[R_RCX] = count;
            cpu->st->rflags = FL_1 | (carry ? FL_CF : 0);
            ck_assert_int_eq(exec(left ? forms[f].left : forms[f].right), NO_FAULT);
            while (turns--) {
                rotate_once(&v, &carry, forms[f].bits, left);
            }
            ck_assert_uint_eq(cpu->st->regs[R_RAX], v);
            ck_assert_int_eq(!!(cpu->st->rflags & FL_CF), carry);
        }
    }
}
END_TEST

typedef struct FlagCase {
    const char *hex;
    uint64_t ax, cx, ax2;
    unsigned before, after, mask;
} FlagCase;

static const FlagCase bmi_cases[] = {
    /* ANDN eax, ecx, eax: OF and CF clear */
    { "c4e270f2c0", 0x80000000, 0, 0x80000000, AR, FL_SF, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e270f2c0", 0xff, 0xff, 0, AR, FL_ZF, FL_SF | FL_ZF | FL_CF | FL_OF },
    /* BLSR eax, ecx: CF when the source is zero; BLSMSK too; BLSI: when it is not */
    { "c4e278f3c9", 9, 0, 0, AR & ~FL_CF, FL_CF | FL_ZF, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e278f3c9", 9, 12, 8, AR, 0, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e278f3d1", 9, 0, 0xffffffff, AR, FL_CF | FL_SF, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e278f3d1", 9, 12, 7, AR, 0, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e278f3d9", 9, 0, 0, AR, FL_ZF, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e278f3d9", 9, 12, 4, 0, FL_CF, FL_SF | FL_ZF | FL_CF | FL_OF },
    /* BEXTR eax, ecx, eax: lengths beyond the end; start beyond the end gives zero */
    { "c4e278f7c1", 0xff1c, 0xf2345678, 0xf, AR, 0, FL_ZF | FL_CF | FL_OF },
    { "c4e278f7c1", 0x0820, 0xf2345678, 0, AR, FL_ZF, FL_ZF | FL_CF | FL_OF },
    /* BZHI eax, ecx, eax: CF when the index (its low byte) is too big, and then nothing is cleared */
    { "c4e278f5c1", 0x20, 0xf2345678, 0xf2345678, 0, FL_CF | FL_SF, FL_SF | FL_ZF | FL_CF | FL_OF },
    { "c4e278f5c1", 0xffffff04, 0xf2345678, 8, AR, 0, FL_SF | FL_ZF | FL_CF | FL_OF },
    /* ADCX takes and gives CF alone, ADOX OF alone */
    { "660f38f6c1", 0xffffffff, 0, 0, FL_CF | FL_SF, FL_CF | FL_SF, AR },
    { "660f38f6c1", 1, 1, 2, AR & ~FL_CF, AR & ~FL_CF, AR },
    { "f30f38f6c1", 0xffffffff, 0, 0, FL_OF | FL_PF, FL_OF | FL_PF, AR },
    { "f30f38f6c1", 1, 1, 2, AR & ~FL_OF, AR & ~FL_OF, AR },
    /* RORX, SHLX, PDEP, MULX leave flags alone */
    { "c4e37bf0c104", 0, 0x123, 0x30000012, AR, AR, AR },
    { "c4e279f7c1", 4, 0x123, 0x1230, AR, AR, AR },
    { "c4e273f5c0", 0xf0, 0x35, 0x50, AR, AR, AR },
};

START_TEST(bmi_and_adx_flags)
{
    const FlagCase *c = &bmi_cases[_i];

    start(64);
    cpu->st->regs[R_RAX] = c->ax;
    cpu->st->regs[R_RCX] = c->cx;
    cpu->st->rflags = FL_1 | c->before;
    ck_assert_int_eq(exec(c->hex), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], c->ax2);
    ck_assert_uint_eq(cpu->st->rflags & c->mask, c->after & c->mask);
}
END_TEST

/* What is written is extended, what is not stays: the accumulator on success, the destination on failure. */
START_TEST(cmpxchg_of_32_bits_extends_what_it_writes)
{
    uint64_t *r;

    start(64);
    r = cpu->st->regs;
    r[R_RAX] = 0xaaaaaaaa00000005;
    r[R_RCX] = 0xbbbbbbbb00000005;
    r[R_RDX] = 0xcccccccc00000007;
    ck_assert_int_eq(exec("0fb1d1"), NO_FAULT);
    ck_assert_uint_eq(r[R_RCX], 7);
    ck_assert_uint_eq(r[R_RAX], 0xaaaaaaaa00000005);
    r[R_RAX] = 0xaaaaaaaa00000009;
    r[R_RCX] = 0xbbbbbbbb00000005;
    ck_assert_int_eq(exec("0fb1d1"), NO_FAULT);
    ck_assert_uint_eq(r[R_RAX], 5);
    mem_put(PAGE, 0x1122334455667788, 8);
    r[R_RDI] = PAGE;
    r[R_RAX] = ~0ull;
    ck_assert_int_eq(exec("f00fb117"), NO_FAULT);
    ck_assert_uint_eq(r[R_RAX], 0x55667788);
    ck_assert_uint_eq(mem_get(PAGE, 8), 0x1122334455667788);
}
END_TEST

START_TEST(mulx_with_equal_destinations_keeps_the_high_half)
{
    start(64);
    cpu->st->regs[R_RDX] = 1ull << 63;
    cpu->st->regs[R_RCX] = 6;
    ck_assert_int_eq(exec("c4e2fbf6c1"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 3);
}
END_TEST

START_TEST(rex_before_lahf_and_mmx_changes_nothing)
{
    start(64);
    cpu->st->rflags = FL_1 | FL_CF | FL_ZF;
    ck_assert_int_eq(exec("4f9f"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x4300);
    cpu->st->regs[R_RAX] = 0xd500;
    ck_assert_int_eq(exec("459e"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rflags & 0xd5, 0xd5);
    ck_assert_int_eq(exec("dbe3"), NO_FAULT);
    memset(cpu->st->xs.st[1], 0x5a, 8);
    ck_assert_int_eq(exec("4d0f6fc1"), NO_FAULT);           /* movq mm0, mm1 with REX.RB: not mm8, mm9 */
    ck_assert_mem_eq(cpu->st->xs.st[0], cpu->st->xs.st[1], 8);
    ck_assert_uint_eq(cpu->st->xs.st[0][9], 0xff);
}
END_TEST

/* ---- vectors ---- */

static void xmm_set(unsigned n, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t v[4] = { a, b, c, d };

    memcpy(cpu->st->xs.xmm[n], v, 16);
}

static void xmm_is(unsigned n, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t v[4] = { a, b, c, d };

    ck_assert_mem_eq(cpu->st->xs.xmm[n], v, 16);
}

enum { QNAN_ = 0x7fc00001, SNAN_ = 0x7f800001, ONE = 0x3f800000, MINUS_0 = 0x80000000 };

START_TEST(min_and_max_take_the_second_operand_at_a_nan_or_two_zeros)
{
    start(64);
    xmm_set(0, QNAN_, ONE, MINUS_0, SNAN_);
    xmm_set(1, ONE, QNAN_, 0, ONE);
    ck_assert_int_eq(exec("0f5dc1"), NO_FAULT);
    xmm_is(0, ONE, QNAN_, 0, ONE);
    ck_assert_uint_eq(cpu->st->xs.mxcsr & 1, 1);            /* any NaN is invalid here, quiet ones too */
    xmm_set(0, QNAN_, ONE, 0, ONE);
    xmm_set(1, ONE, SNAN_, MINUS_0, QNAN_);
    ck_assert_int_eq(exec("0f5fc1"), NO_FAULT);
    xmm_is(0, ONE, SNAN_, MINUS_0, QNAN_);
}
END_TEST

START_TEST(addsub_keeps_the_sign_of_a_nan)
{
    start(64);
    xmm_set(0, ONE, ONE, 0xffc00002, QNAN_);
    xmm_set(1, QNAN_, 0xffc00003, QNAN_, SNAN_);
    ck_assert_int_eq(exec("f20fd0c1"), NO_FAULT);
    xmm_is(0, QNAN_, 0xffc00003, 0xffc00002, QNAN_);
}
END_TEST

/* CMPPS looks at three bits of its predicate, VCMPPS at five. */
START_TEST(reserved_compare_predicates_are_cut_short)
{
    for (unsigned imm = 0; imm < 256; imm++) {
        g_autofree char *legacy = g_strdup_printf("0fc2c1%02x", imm), *short_ = g_strdup_printf("0fc2c1%02x", imm & 7);
        g_autofree char *vex = g_strdup_printf("c5f8c2c1%02x", imm), *cut = g_strdup_printf("c5f8c2c1%02x", imm & 31);
        uint8_t first[16];

        for (unsigned v = 0; v < 2; v++) {
            start(64);
            cpu->st->cr4 |= CR4_OSXSAVE;
            cpu->st->xcr0 = 7;
            x86_update_mode(cpu);
            xmm_set(0, QNAN_, ONE, 0, ONE);
            xmm_set(1, ONE, ONE, ONE, MINUS_0);
            ck_assert_int_eq(exec(v ? vex : legacy), NO_FAULT);
            memcpy(first, cpu->st->xs.xmm[0], 16);
            xmm_set(0, QNAN_, ONE, 0, ONE);
            ck_assert_int_eq(exec(v ? cut : short_), NO_FAULT);
            ck_assert_mem_eq(cpu->st->xs.xmm[0], first, 16);
        }
    }
}
END_TEST

START_TEST(vsib_has_an_index_number_4)
{
    start(64);
    cpu->st->cr4 |= CR4_OSXSAVE;
    cpu->st->xcr0 = 7;
    x86_update_mode(cpu);
    cpu->st->regs[R_RAX] = PAGE;
    for (unsigned n = 0; n < 16; n++) {
        mem_put(PAGE + 4 * n, 100 + n, 4);
    }
    xmm_set(4, 1, 3, 5, 15);
    xmm_set(1, ~0u, ~0u, 0, ~0u);
    xmm_set(0, 7, 7, 7, 7);
    ck_assert_int_eq(exec("c4e2719004a0"), NO_FAULT);       /* vpgatherdd xmm0, [rax+xmm4*4], xmm1 */
    xmm_is(0, 101, 103, 7, 115);
    xmm_is(1, 0, 0, 0, 0);
}
END_TEST

START_TEST(crc32_runs_with_the_task_switched)
{
    start(64);
    cpu->st->cr0 |= CR0_TS;
    x86_update_mode(cpu);
    cpu->st->regs[R_RCX] = 0x12345678;
    ck_assert_int_eq(exec("f20f38f1c1"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0xfa745634);
    ck_assert_int_eq(exec("660f3837c1"), EXCP_NM);
    ck_assert_int_eq(exec("0fae16"), EXCP_NM);
}
END_TEST

START_TEST(unmasked_simd_exceptions_store_nothing)
{
    start(64);
    xmm_set(0, ONE, ONE, ONE, ONE);
    xmm_set(1, 0, ONE, ONE, ONE);
    cpu->st->xs.mxcsr = 0x1d80;                             /* divide by zero unmasked */
    ck_assert_int_eq(exec("0f5ec1"), EXCP_XM);
    xmm_is(0, ONE, ONE, ONE, ONE);
    ck_assert_uint_eq(cpu->st->xs.mxcsr, 0x1d84);
    cpu->st->cr4 &= ~(uint64_t)CR4_OSXMMEXCPT;
    ck_assert_int_eq(exec("0f5ec1"), EXCP_UD);
}
END_TEST

/* AMD's MXCSR.MM: operands of arithmetic may be misaligned, those of aligned moves may not; #AC where that is on. */
START_TEST(misaligned_sse_mode)
{
    start(64);
    cpu->st->regs[R_RDI] = PAGE + 0xff4;                    /* crosses a page, too */
    for (unsigned n = 0; n < 4; n++) {
        mem_put(PAGE + 0xff4 + 4 * n, 10 + n, 4);
    }
    xmm_set(0, 1, 2, 3, 4);
    ck_assert_int_eq(exec("660ffe07"), EXCP_GP);            /* paddd xmm0, [rdi] */
    mem_put(PAGE, 0x1f80 | MXCSR_MM, 4);
    cpu->st->regs[R_RSI] = PAGE;
    ck_assert_int_eq(exec("0fae16"), NO_FAULT);             /* ldmxcsr [rsi] */
    ck_assert_int_eq(exec("660ffe07"), NO_FAULT);
    xmm_is(0, 11, 13, 15, 17);
    page_set(PAGE + 0x1000, 0);
    ck_assert_int_eq(exec("660ffe07"), EXCP_PF);
    xmm_set(0, 1, 2, 3, 4);
    ck_assert_int_eq(exec("660f6207"), NO_FAULT);           /* punpckldq reads its low half alone */
    xmm_is(0, 1, 10, 2, 11);
    cpu->st->regs[R_RDI] -= 8;
    xmm_set(0, ONE, ONE, ONE, ONE);
    ck_assert_int_eq(exec("0f5807"), NO_FAULT);             /* addps: and the mode stays */
    ck_assert_uint_eq(cpu->st->xs.mxcsr & MXCSR_MM, MXCSR_MM);
    ck_assert_int_eq(exec("0f2807"), EXCP_GP);              /* movaps, movdqa, movntps */
    ck_assert_int_eq(exec("660f6f07"), EXCP_GP);
    ck_assert_int_eq(exec("0f2b07"), EXCP_GP);
    ck_assert_int_eq(exec("0fae07"), EXCP_GP);              /* fxsave */
    ck_assert_int_eq(exec("c5f8580f"), EXCP_UD);            /* AVX is off here; it never wants alignment */
    cpu->st->regs[R_RDI] = PAGE + 0x100;
    ck_assert_int_eq(exec("0fae07"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 0x100 + 28, 4), 0x2ffff);
    cpu->st->regs[R_RDI] = PAGE + 4;
    cpu->st->cr0 |= CR0_AM;
    cpu->st->rflags |= FL_AC;
    cpu->st->seg[SEG_CS] = (X86Segment) { .limit = ~0u, .selector = H_UCS64,
        .attr = DESC_P | DESC_S | DESC_CODE | DESC_R | DESC_A | DESC_G | DESC_L | 3 << DESC_DPL_SHIFT };
    cpu->st->seg[SEG_SS].attr |= 3 << DESC_DPL_SHIFT;
    x86_update_mode(cpu);
    ck_assert_int_eq(exec("660ffe07"), EXCP_AC);
    ck_assert_int_eq(exec("660f6f07"), EXCP_GP);
    page_set(PAGE, 0);
    ck_assert_int_eq(exec("660ffe07"), EXCP_PF);
}
END_TEST

START_TEST(intel_has_no_misaligned_sse_mode)
{
    X86CPU *max = cpu;

    cpu = harness_cpu("max,-misalignsse");
    start(64);
    mem_put(PAGE, 0x1f80 | MXCSR_MM, 4);
    cpu->st->regs[R_RSI] = PAGE;
    ck_assert_int_eq(exec("0fae16"), EXCP_GP);
    ck_assert_int_eq(exec("0fae06"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 28, 4), 0xffff);
    cpu = max;
}
END_TEST

/* ---- x87 ---- */

static void st_is(unsigned n, uint16_t exponent, uint64_t mantissa)
{
    ck_assert_mem_eq(cpu->st->xs.st[n], &mantissa, 8);
    ck_assert_mem_eq(cpu->st->xs.st[n] + 8, &exponent, 2);
}

/* Precision control rounds what arithmetic makes, not what is loaded. */
START_TEST(fld_is_exact_under_single_precision)
{
    start(64);
    ck_assert_int_eq(exec("dbe3"), NO_FAULT);
    cpu->st->xs.fcw = 0x7f;
    cpu->st->regs[R_RDI] = PAGE;
    mem_put(PAGE, 0x3ff0000000000001, 8);                   /* 1 + 2^-52 */
    ck_assert_int_eq(exec("dd07"), NO_FAULT);
    st_is(0, 0x3fff, 0x8000000000000800);
    ck_assert_int_eq(exec("d9c0"), NO_FAULT);
    ck_assert_int_eq(exec("dec1"), NO_FAULT);               /* sum: 24 bits */
    st_is(0, 0x4000, 0x8000000000000000);
    ck_assert_uint_eq(cpu->st->xs.fsw & 0x20, 0x20);
}
END_TEST

START_TEST(fxam_sees_an_empty_register)
{
    start(64);
    ck_assert_int_eq(exec("dbe3"), NO_FAULT);
    ck_assert_int_eq(exec("d9e8"), NO_FAULT);               /* fld1: normal */
    ck_assert_int_eq(exec("d9e0"), NO_FAULT);               /* fchs */
    ck_assert_int_eq(exec("d9e5"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->xs.fsw & 0x4700, 0x0600);
    ck_assert_int_eq(exec("ddc0"), NO_FAULT);               /* ffree st0: empty, its sign stays */
    ck_assert_int_eq(exec("d9e5"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->xs.fsw & 0x4700, 0x4300);
    ck_assert_uint_eq(cpu->st->xs.fsw & 0x41, 0);           /* not a stack fault */
}
END_TEST

START_TEST(fnstenv_tells_the_guest_s_addresses)
{
    start(64);
    ck_assert_int_eq(exec("dbe3"), NO_FAULT);
    ck_assert_int_eq(exec("d9e8"), NO_FAULT);
    cpu->st->regs[R_RDI] = PAGE + 0x40;
    ck_assert_int_eq(exec("d807"), NO_FAULT);               /* fadd dword [rdi] */
    cpu->st->regs[R_RDI] = PAGE;
    ck_assert_int_eq(exec("d937"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 12, 4), H_CODE);
    ck_assert_uint_eq(mem_get(PAGE + 16, 4), 0x0007 << 16);
    ck_assert_uint_eq(mem_get(PAGE + 20, 4), PAGE + 0x40);
    ck_assert_uint_eq(mem_get(PAGE, 4), 0xffff037f);
    ck_assert_uint_eq(mem_get(PAGE + 8, 4), 0xffff3fff);    /* R7 valid, the rest empty */
}
END_TEST

/* With CR0.NE clear the error goes out as FERR#; whoever carries on meets no fault of the host's. */
START_TEST(a_pending_x87_error_without_ne_harms_nobody)
{
    start(64);
    cpu->st->cr0 &= ~(uint64_t)CR0_NE;
    x86_update_mode(cpu);
    ck_assert_int_eq(exec("dbe3"), NO_FAULT);
    cpu->st->xs.fcw = 0x340;
    ck_assert_int_eq(exec("d9e8"), NO_FAULT);
    ck_assert_int_eq(exec("d9ee"), NO_FAULT);
    ck_assert_int_eq(exec("def9"), NO_FAULT);               /* 1 / 0, unmasked: pending, not done */
    ck_assert_uint_eq(cpu->st->xs.fsw & 0x8084, 0x8084);
    ck_assert_int_eq(exec("d9e8"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->xs.fsw & 0x8084, 0x8084);
    cpu->st->cr0 |= CR0_NE;
    ck_assert_int_eq(exec("d9e8"), EXCP_MF);
    ck_assert_int_eq(exec("9b"), EXCP_MF);
    ck_assert_int_eq(exec("dbe2"), NO_FAULT);
    ck_assert_int_eq(exec("9b"), NO_FAULT);
}
END_TEST

START_TEST(who_may_use_the_fpu_is_asked_in_order)
{
    static const struct { unsigned cr0; int x87, wait, mmx, sse; } rows[] = {
        { CR0_MP, NO_FAULT, NO_FAULT, NO_FAULT, NO_FAULT },
        { CR0_TS, EXCP_NM, NO_FAULT, EXCP_NM, EXCP_NM },
        { CR0_TS | CR0_MP, EXCP_NM, EXCP_NM, EXCP_NM, EXCP_NM },
        { CR0_EM, EXCP_NM, NO_FAULT, EXCP_UD, EXCP_UD },
        { CR0_EM | CR0_TS, EXCP_NM, NO_FAULT, EXCP_UD, EXCP_UD },
    };

    start(64);
    ck_assert_int_eq(exec("dbe3"), NO_FAULT);
    for (unsigned n = 0; n < G_N_ELEMENTS(rows); n++) {
        cpu->st->cr0 = (cpu->st->cr0 & ~(uint64_t)(CR0_MP | CR0_TS | CR0_EM)) | rows[n].cr0;
        x86_update_mode(cpu);
        ck_assert_int_eq(exec("d9e8"), rows[n].x87);
        ck_assert_int_eq(exec("9b"), rows[n].wait);
        ck_assert_int_eq(exec("0fefc0"), rows[n].mmx);
        ck_assert_int_eq(exec("0f57c0"), rows[n].sse);
    }
    cpu->st->cr0 &= ~(uint64_t)(CR0_TS | CR0_EM);
    cpu->st->cr4 &= ~(uint64_t)CR4_OSFXSR;
    x86_update_mode(cpu);
    ck_assert_int_eq(exec("0f57c0"), EXCP_UD);
    ck_assert_int_eq(exec("0fefc0"), NO_FAULT);
}
END_TEST

/* ---- alignment ---- */

START_TEST(alignment_is_checked_by_what_is_accessed)
{
    static const struct { const char *hex; unsigned good, bad; } rows[] = {
        { "668b07", 2, 1 }, { "8b07", 4, 2 }, { "488b07", 8, 4 }, { "8a07", 1, 0 }, { "dd07", 8, 4 }, { "db2f", 8, 4 },
        { "df27", 8, 4 }, { "d937", 4, 2 }, { "66d937", 2, 1 }, { "dd37", 4, 2 }, { "0f0107", 6, 4 },
        { "f00fc107", 4, 1 }, { "0f1007", 16, 8 }, { "0f1107", 0, 12 },
    };

    start(64);
    for (int n = 0; n < SEG_COUNT; n++) {
        cpu->st->seg[n].attr |= 3 << DESC_DPL_SHIFT;
        cpu->st->seg[n].selector |= 3;
    }
    cpu->st->cr0 |= CR0_AM;
    for (unsigned n = 0; n < G_N_ELEMENTS(rows); n++) {
        cpu->st->rflags |= FL_AC;
        x86_update_mode(cpu);
        exec("dbe3");
        cpu->st->regs[R_RDI] = PAGE + 64 + rows[n].good;
        ck_assert_int_eq(exec(rows[n].hex), NO_FAULT);
        cpu->st->regs[R_RDI] = PAGE + 64 + rows[n].bad;
        ck_assert_int_eq(exec(rows[n].hex), rows[n].bad ? EXCP_AC : NO_FAULT);
        cpu->st->rflags &= ~(uint64_t)FL_AC;
        x86_update_mode(cpu);
        ck_assert_int_eq(exec(rows[n].hex), NO_FAULT);
    }
}
END_TEST

/* Above 8 bytes Intel's CPUs check nothing. */
START_TEST(alignment_of_vectors_is_amd_s_business)
{
    X86CPU *max = cpu;

    cpu = harness_cpu("Nehalem");
    start(64);
    for (int n = 0; n < SEG_COUNT; n++) {
        cpu->st->seg[n].attr |= 3 << DESC_DPL_SHIFT;
    }
    cpu->st->cr0 |= CR0_AM;
    cpu->st->rflags |= FL_AC;
    x86_update_mode(cpu);
    cpu->st->regs[R_RDI] = PAGE + 4;
    ck_assert_int_eq(exec("0f1007"), NO_FAULT);             /* movups */
    ck_assert_int_eq(exec("0f2807"), EXCP_GP);              /* movaps */
    ck_assert_int_eq(exec("f30f7e07"), EXCP_AC);            /* movq */
    cpu = max;
}
END_TEST

/* ---- faults and what they tell ---- */

/* Delivers the fault that exec() left, and looks at the frame: error code first where there is one. */
static uint64_t frame_word(unsigned n)
{
    uint64_t v;

    memcpy(&v, harness_ram() + cpu->st->regs[R_RSP] + 8 * n, 8);
    return v;
}

static int deliver_fault(void)
{
    sigjmp_buf jmp;

    cpu->fault_jmp = &jmp;
    if (sigsetjmp(jmp, 0) == 0) {
        cpu->st->ev.exception_pending = true;
        x86_deliver_exception(cpu);
        return NO_FAULT;
    }
    cpu->st->ev.exception_pending = false;
    return cpu->st->ev.exception_nr;
}

START_TEST(a_read_modify_write_fault_pushes_the_old_flags)
{
    const uint64_t flags = FL_1 | FL_CF | FL_SF | FL_IF;

    start(64);
    page_set(PAGE, 5);
    cpu->st->regs[R_RDI] = PAGE + 8;
    cpu->st->regs[R_RAX] = 1;
    cpu->st->rflags = flags;
    ck_assert_int_eq(exec("4811 07"), EXCP_PF);
    ck_assert_uint_eq(error_code(), 3);
    ck_assert_int_eq(deliver_fault(), NO_FAULT);
    ck_assert_uint_eq(frame_word(0), 3);
    ck_assert_uint_eq(frame_word(1), H_CODE);
    ck_assert_uint_eq(frame_word(3), flags | FL_RF);
}
END_TEST

START_TEST(addresses_that_are_not_canonical_fault_by_their_segment)
{
    const uint64_t wild = 0x0000800000000000;

    start(64);
    cpu->st->regs[R_RDI] = cpu->st->regs[R_RBP] = wild;
    ck_assert_int_eq(exec("488b07"), EXCP_GP);
    ck_assert_uint_eq(error_code(), 0);
    ck_assert_int_eq(exec("488b4500"), EXCP_SS);
    ck_assert_uint_eq(error_code(), 0);
    ck_assert_int_eq(exec("3e488b4500"), EXCP_SS);          /* DS: means nothing in 64-bit code */
    cpu->st->regs[R_RSP] = wild;
    ck_assert_int_eq(exec("50"), EXCP_PF);                  /* the push lies just below, where nothing is mapped */
    cpu->st->regs[R_RSP] = wild + 8;
    ck_assert_int_eq(exec("50"), EXCP_SS);
    ck_assert_int_eq(exec("58"), EXCP_SS);
    ck_assert_int_eq(exec("c3"), EXCP_SS);
    ck_assert_int_eq(exec("48cf"), EXCP_SS);
    ck_assert_uint_eq(cpu->st->regs[R_RSP], wild + 8);
}
END_TEST

START_TEST(returns_to_addresses_that_are_not_canonical_are_gp)
{
    const uint64_t wild = 0x0000800000000000;

    start(64);
    cpu->st->regs[R_RSP] = PAGE;
    mem_put(PAGE, wild, 8);
    mem_put(PAGE + 8, H_CS64, 8);
    mem_put(PAGE + 16, FL_1, 8);
    mem_put(PAGE + 24, H_STACK, 8);
    mem_put(PAGE + 32, H_DS, 8);
    ck_assert_int_eq(exec("c3"), EXCP_GP);
    ck_assert_int_eq(exec("48cb"), EXCP_GP);
    ck_assert_int_eq(exec("48cf"), EXCP_GP);
    ck_assert_uint_eq(error_code(), 0);
    cpu->st->regs[R_RAX] = wild;
    ck_assert_int_eq(exec("ffe0"), EXCP_GP);
    ck_assert_int_eq(exec("ffd0"), EXCP_GP);
    ck_assert_uint_eq(cpu->st->regs[R_RSP], PAGE);
}
END_TEST

enum { TAG57 = 0x2a, TAG48 = 0x2a55 };

static void cr3_set(uint64_t v)
{
    cpu->st->regs[R_RAX] = v;
    ck_assert_int_eq(exec("0f22d8"), NO_FAULT);
}

static int load_from(uint64_t address)
{
    cpu->st->regs[R_RDI] = address;
    return exec("488b07");
}

/* User addresses under CR3.LAM_U57 and LAM_U48: what is masked, what must still be canonical, who does not mask. */
START_TEST(lam_masks_the_tags_of_user_addresses)
{
    const uint64_t tag57 = (uint64_t)TAG57 << 57, tag48 = (uint64_t)TAG48 << 48;
    const uint64_t absent = PAGE + 0x3000;

    start(64);
    mem_put(PAGE + 8, 0x1122334455667788, 8);
    page_set(absent, 0);
    ck_assert_int_eq(load_from(tag57 | (PAGE + 8)), EXCP_GP);
    cr3_set(H_PML4 | CR3_LAM_U57);
    ck_assert_int_eq(load_from(tag57 | (PAGE + 8)), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x1122334455667788);
    ck_assert_int_eq(load_from(1ull << 56 | PAGE), EXCP_GP);
    ck_assert_int_eq(load_from(1ull << 47 | PAGE), EXCP_GP);
    ck_assert_int_eq(load_from(1ull << 63 | PAGE), EXCP_GP);
    ck_assert_int_eq(load_from(tag57 | absent), EXCP_PF);
    ck_assert_uint_eq(cpu->st->cr2, absent);
    cr3_set(H_PML4 | CR3_LAM_U48);
    ck_assert_int_eq(load_from(tag48 | (PAGE + 8)), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x1122334455667788);
    ck_assert_int_eq(load_from(tag48 | 1ull << 47 | PAGE), EXCP_GP);
    cr3_set(H_PML4 | CR3_LAM_U48 | CR3_LAM_U57);                /* U57 wins */
    ck_assert_int_eq(load_from(tag48 | PAGE), EXCP_GP);
    ck_assert_int_eq(load_from(tag57 | PAGE), NO_FAULT);
    cpu->st->regs[R_RAX] = tag57 | H_CODE;
    ck_assert_int_eq(exec("ffe0"), EXCP_GP);                    /* a target is no data */
}
END_TEST

START_TEST(lam_holds_for_every_kind_of_data_access)
{
    const uint64_t tag = (uint64_t)TAG57 << 57;

    start(64);
    cr3_set(H_PML4 | CR3_LAM_U57);
    cpu->st->regs[R_RSP] = tag | (PAGE + 0x100);
    cpu->st->regs[R_RAX] = 0x5a;
    ck_assert_int_eq(exec("50"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 0xf8, 8), 0x5a);
    ck_assert_uint_eq(cpu->st->regs[R_RSP], tag | (PAGE + 0xf8));
    ck_assert_int_eq(exec("5a"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RDX], 0x5a);
    cpu->st->regs[R_RDI] = tag | (PAGE + 0x200);
    ck_assert_int_eq(exec("f0480107"), NO_FAULT);               /* lock add */
    ck_assert_int_eq(exec("aa"), NO_FAULT);                     /* stosb */
    ck_assert_uint_eq(mem_get(PAGE + 0x200, 8), 0x5a);
    cpu->st->regs[R_RDI] = tag | (PAGE + 0xffc);                /* across pages */
    xmm_set(0, 1, 2, 3, 4);
    ck_assert_int_eq(exec("0f1107"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 0x1000, 4), 2);
    cpu->st->regs[R_RDI] = tag | (PAGE + 0x400);
    ck_assert_int_eq(exec("dd37"), NO_FAULT);                   /* fnsave */
    ck_assert_int_eq(exec("0fae3f"), NO_FAULT);                 /* clflush */
    mem_put(PAGE + 0x500, H_CODE, 8);
    mem_put(PAGE + 0x508, H_CS64, 8);
    cpu->st->regs[R_RSP] = tag | (PAGE + 0x500);
    ck_assert_int_eq(exec("48cb"), NO_FAULT);                   /* far return */
    ck_assert_uint_eq(cpu->st->regs[R_RSP], tag | (PAGE + 0x510));
}
END_TEST

START_TEST(lam_of_supervisor_addresses_follows_the_paging_mode)
{
    const uint64_t high = 0xffffff8000000000 | (PAGE + 8);      /* PML4's last entry is a second view of all */

    start(64);
    mem_put(H_PML4 + 511 * 8, H_PDPT | 7, 8);
    mem_put(PAGE + 8, 77, 8);
    ck_assert_int_eq(load_from(high), NO_FAULT);
    ck_assert_int_eq(load_from(high & ~(0x7fffull << 48)), EXCP_GP);
    cpu->st->regs[R_RAX] = cpu->st->cr4 | CR4_LAM_SUP;
    ck_assert_int_eq(exec("0f22e0"), NO_FAULT);
    ck_assert_int_eq(load_from(high & ~(0x7fffull << 48)), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 77);
    ck_assert_int_eq(load_from(high & ~(1ull << 47)), EXCP_GP);
    ck_assert_int_eq(load_from((uint64_t)TAG57 << 57 | PAGE), EXCP_GP);     /* the user's half has its own bits */
}
END_TEST

START_TEST(without_lam_its_bits_are_reserved)
{
    X86CPU *max = cpu;

    cpu = harness_cpu("max,-lam");
    start(64);
    cpu->st->regs[R_RAX] = H_PML4 | CR3_LAM_U57;
    ck_assert_int_eq(exec("0f22d8"), EXCP_GP);
    cpu->st->regs[R_RAX] = H_PML4 | CR3_LAM_U48;
    ck_assert_int_eq(exec("0f22d8"), EXCP_GP);
    cpu->st->regs[R_RAX] = cpu->st->cr4 | CR4_LAM_SUP;
    ck_assert_int_eq(exec("0f22e0"), EXCP_GP);
    cpu = max;
}
END_TEST

/* No counters: CPUID says so, their MSRs are not there, and RDPMC finds none, even where CR4.PCE opens it. */
START_TEST(performance_counters_are_absent)
{
    static const unsigned msrs[] = { 0xc1, 0xc8, 0x186, 0x18d, 0x309, 0x345, 0x38d, 0x38e, 0x38f, 0x390, 0x4c1 };
    X86CpuidOut none = { 0 }, leaf;

    start(64);
    leaf = x86_cpuid_leaf(cpu, 0xa, 0);
    ck_assert_mem_eq(&leaf, &none, sizeof(leaf));
    ck_assert(!x86_has(cpu, X86_FEAT_PDCM));
    cpu->st->cr4 |= CR4_PCE;
    for (unsigned n = 0; n < G_N_ELEMENTS(msrs); n++) {
        cpu->st->regs[R_RCX] = msrs[n];
        ck_assert_int_eq(exec("0f32"), EXCP_GP);
        ck_assert_int_eq(exec("0f30"), EXCP_GP);
        cpu->st->regs[R_RCX] = n;
        ck_assert_int_eq(exec("0f33"), EXCP_GP);
        cpu->st->regs[R_RCX] = n | 1u << 30;
        ck_assert_int_eq(exec("0f33"), EXCP_GP);
    }
}
END_TEST

/* The A20 line masks what goes out: data and page-table entries alike. */
START_TEST(a20_masks_physical_addresses)
{
    start(64);
    mem_put(PAGE, 0x1111, 8);
    mem_put(PAGE + 0x100000, 0x2222, 8);
    ck_assert_int_eq(load_from(PAGE + 0x100000), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x2222);
    x86_cpu_set_a20(cpu, false);
    ck_assert(x86_handle_pending(cpu));
    ck_assert_int_eq(load_from(PAGE + 0x100000), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x1111);
    mem_put(H_PD, (H_PT + 0x100000) | 7, 8);                    /* nothing stands there */
    x86_tlb_flush(cpu, true);
    ck_assert_int_eq(load_from(PAGE), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x1111);
    x86_cpu_set_a20(cpu, true);
    ck_assert(x86_handle_pending(cpu));
    ck_assert_int_eq(load_from(PAGE), EXCP_PF);
    mem_put(H_PD, H_PT | 7, 8);
    ck_assert_int_eq(load_from(PAGE + 0x100000), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x2222);
}
END_TEST

/* INT n itself is no external event; a hardware interrupt and an earlier exception are. */
START_TEST(idt_error_codes_carry_ext)
{
    sigjmp_buf jmp;

    start(64);
    ck_assert_int_eq(exec("cd70"), EXCP_GP);                /* beyond the harness's 64 gates */
    ck_assert_uint_eq(error_code(), 0x70 * 8 + 2);
    cpu->fault_jmp = &jmp;
    if (sigsetjmp(jmp, 0) == 0) {
        x86_deliver_interrupt(cpu, 0x70);
        ck_abort();
    }
    cpu->st->ev.exception_pending = false;
    ck_assert_int_eq(cpu->st->ev.exception_nr, EXCP_GP);
    ck_assert_uint_eq(error_code(), 0x70 * 8 + 3);
    harness_ram()[H_IDT + 16 * EXCP_UD + 5] &= 0x7f;        /* #UD's gate: not present */
    ck_assert_int_eq(exec("0f0b"), EXCP_UD);
    ck_assert_int_eq(deliver_fault(), EXCP_NP);
    ck_assert_uint_eq(error_code(), EXCP_UD * 8 + 3);
}
END_TEST

START_TEST(lar_and_lsl_beyond_the_table_clear_zf_alone)
{
    static const uint16_t selectors[] = { 0, 3, 0x40, 0xfff8, 0x0c };
    static const char *const names[] = { "0f02c1", "0f03c1" };

    for (unsigned n = 0; n < G_N_ELEMENTS(selectors) * 2; n++) {
        start(64);
        cpu->st->regs[R_RAX] = 0x1234567812345678;
        cpu->st->regs[R_RCX] = selectors[n / 2];
        cpu->st->rflags = FL_1 | AR;
        ck_assert_int_eq(exec(names[n % 2]), NO_FAULT);
        ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x1234567812345678);
        ck_assert_uint_eq(cpu->st->rflags, FL_1 | (AR & ~FL_ZF));
        ck_assert_int_eq(exec("0f00e1"), NO_FAULT);         /* verr */
        ck_assert_uint_eq(cpu->st->rflags & FL_ZF, 0);
    }
    start(64);
    cpu->st->regs[R_RCX] = H_DS;
    ck_assert_int_eq(exec("0f03c1"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0xffffffff);
    ck_assert_uint_eq(cpu->st->rflags & FL_ZF, FL_ZF);
}
END_TEST

START_TEST(lmsw_sets_pe_but_cannot_clear_it)
{
    start(64);
    cpu->st->cr0 = (cpu->st->cr0 | CR0_PE) & ~(uint64_t)(CR0_TS | CR0_MP);
    cpu->st->regs[R_RAX] = 0xfff0 | CR0_TS | CR0_MP;
    ck_assert_int_eq(exec("0f01f0"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->cr0 & 0xf, CR0_PE | CR0_TS | CR0_MP);
    ck_assert_uint_eq(cpu->st->cr0 & CR0_PG, CR0_PG);
    cpu->st->regs[R_RAX] = 0;
    ck_assert_int_eq(exec("0f01f0"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->cr0 & 0xf, CR0_PE);
}
END_TEST

PAYLOAD(popf_trap, ".code64", "pushfq; orq $0x100, (%rsp); popfq; 1: nop; nop; nop");

/* The instruction after POPF runs, then comes the trap. */
START_TEST(popf_traps_after_the_next_instruction)
{
    static const uint8_t nops[] = { 0x90, 0x90, 0x90 };
    const uint8_t *nop = memmem(popf_trap, popf_trap_end - popf_trap, nops, sizeof(nops));

    start(64);
    ck_assert(RUN(cpu, popf_trap));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, EXCP_DB);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + (nop - popf_trap) + 1);
}
END_TEST

/* The fault is the second page's, the address that of its first byte, the instruction not begun. */
START_TEST(code_that_spans_into_an_absent_page_faults_there)
{
    static const uint8_t mov[] = { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 };

    start(64);
    memcpy(harness_ram() + PAGE + 0xffc, mov, sizeof(mov));
    page_set(PAGE + 0x1000, 0);
    cpu->st->regs[R_RAX] = 0x55;
    ck_assert(harness_run_from(cpu, PAGE + 0xffc));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, EXCP_PF);
    ck_assert_uint_eq(harness_fault()->error, 0x10);
    ck_assert_uint_eq(harness_fault()->cr2, PAGE + 0x1000);
    ck_assert_uint_eq(harness_fault()->rip, PAGE + 0xffc);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("corners");
    TCase *tc = tcase_create("corners");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, rotates_through_carry_wrap_their_counts);
    tcase_add_loop_test(tc, bmi_and_adx_flags, 0, G_N_ELEMENTS(bmi_cases));
    tcase_add_test(tc, cmpxchg_of_32_bits_extends_what_it_writes);
    tcase_add_test(tc, mulx_with_equal_destinations_keeps_the_high_half);
    tcase_add_test(tc, rex_before_lahf_and_mmx_changes_nothing);
    tcase_add_test(tc, min_and_max_take_the_second_operand_at_a_nan_or_two_zeros);
    tcase_add_test(tc, addsub_keeps_the_sign_of_a_nan);
    tcase_add_test(tc, reserved_compare_predicates_are_cut_short);
    tcase_add_test(tc, vsib_has_an_index_number_4);
    tcase_add_test(tc, crc32_runs_with_the_task_switched);
    tcase_add_test(tc, unmasked_simd_exceptions_store_nothing);
    tcase_add_test(tc, misaligned_sse_mode);
    tcase_add_test(tc, intel_has_no_misaligned_sse_mode);
    tcase_add_test(tc, fld_is_exact_under_single_precision);
    tcase_add_test(tc, fxam_sees_an_empty_register);
    tcase_add_test(tc, fnstenv_tells_the_guest_s_addresses);
    tcase_add_test(tc, a_pending_x87_error_without_ne_harms_nobody);
    tcase_add_test(tc, who_may_use_the_fpu_is_asked_in_order);
    tcase_add_test(tc, alignment_is_checked_by_what_is_accessed);
    tcase_add_test(tc, alignment_of_vectors_is_amd_s_business);
    tcase_add_test(tc, a_read_modify_write_fault_pushes_the_old_flags);
    tcase_add_test(tc, addresses_that_are_not_canonical_fault_by_their_segment);
    tcase_add_test(tc, returns_to_addresses_that_are_not_canonical_are_gp);
    tcase_add_test(tc, lam_masks_the_tags_of_user_addresses);
    tcase_add_test(tc, lam_holds_for_every_kind_of_data_access);
    tcase_add_test(tc, lam_of_supervisor_addresses_follows_the_paging_mode);
    tcase_add_test(tc, without_lam_its_bits_are_reserved);
    tcase_add_test(tc, performance_counters_are_absent);
    tcase_add_test(tc, a20_masks_physical_addresses);
    tcase_add_test(tc, idt_error_codes_carry_ext);
    tcase_add_test(tc, lar_and_lsl_beyond_the_table_clear_zf_alone);
    tcase_add_test(tc, lmsw_sets_pe_but_cannot_clear_it);
    tcase_add_test(tc, popf_traps_after_the_next_instruction);
    tcase_add_test(tc, code_that_spans_into_an_absent_page_faults_there);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
