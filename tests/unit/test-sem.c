/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction semantics one at a time: values and flags, what a fault leaves behind, page crossings, strings, 16- and
 * 32-bit forms. tests/insn compares ring 3 code with the host's CPU; here is what that cannot reach.
 */
#include "sem-exec.h"

typedef struct Case {
    unsigned bits;
    const char *hex;
    uint64_t ax, cx, dx, fl;            /* before */
    uint64_t ax2, cx2, dx2, fl2;        /* after */
    unsigned mask;                      /* flags that are compared */
    int vector;
} Case;

#define AR FL_ARITH
#define CO (FL_CF | FL_OF)

static const Case cases[] = {
    /* ADC, SBB with carry; 32-bit results clear the upper half, 8- and 16-bit ones keep it. */
    {64, "11c8", ~0ull, 0, 0, FL_CF, 0, 0, 0, FL_CF | FL_ZF | FL_PF | FL_AF, AR, NO_FAULT},
    {64, "6611c8", 0x1ffff, 0, 0, FL_CF, 0x10000, 0, 0, FL_CF | FL_ZF | FL_PF | FL_AF, AR, NO_FAULT},
    {64, "00e0", 0x1280, 0, 0, 0, 0x1292, 0, 0, FL_SF, AR & ~FL_AF, NO_FAULT},
    {64, "19c8", 5, 5, 0, FL_CF, 0xffffffff, 5, 0, FL_CF | FL_SF | FL_PF | FL_AF, AR, NO_FAULT},
    {64, "48ffc0", ~0ull, 0, 0, FL_CF, 0, 0, 0, FL_CF | FL_ZF | FL_PF | FL_AF, AR, NO_FAULT},
    {64, "f7d8", 1, 0, 0, 0, 0xffffffff, 0, 0, FL_CF | FL_SF | FL_PF | FL_AF, AR, NO_FAULT},
    /* Shifts and rotates: a count of 0 (also 32 of 32 bits) changes no flag; RCL of 9 bits wraps. */
    {64, "d3e0", 0xffffffff00000001, 32, 0, AR, 1, 32, 0, AR, AR, NO_FAULT},
    {64, "d2d0", 0x80, 9, 0, FL_CF, 0x80, 9, 0, FL_CF, FL_CF, NO_FAULT},
    {64, "d0d0", 0x80, 0, 0, FL_CF, 0x01, 0, 0, FL_CF | FL_OF, CO, NO_FAULT},
    {64, "c1f81f", 0x80000000, 0, 0, 0, 0xffffffff, 0, 0, FL_SF | FL_PF, FL_SF | FL_ZF | FL_PF | FL_CF, NO_FAULT},
    {64, "0fa4d004", 0x12345678, 0, 0xf0000000, 0, 0x2345678f, 0, 0xf0000000, FL_CF, FL_CF, NO_FAULT},
    /* Multiplication and division. */
    {64, "48f7e1", 1ull << 63, 2, 9, 0, 0, 2, 1, CO, CO, NO_FAULT},
    {64, "f6e9", 0x80, 0xff, 0, CO, 0x80, 0xff, 0, CO, CO, NO_FAULT},
    {64, "48f7f1", 5, 1, 1, 0, 5, 1, 1, 0, 0, EXCP_DE},
    {64, "f7f1", 7, 0, 0, 0, 7, 0, 0, 0, 0, EXCP_DE},
    {64, "48f7f9", 1ull << 63, ~0ull, ~0ull, 0, 1ull << 63, ~0ull, ~0ull, 0, 0, EXCP_DE},
    {64, "48f7f9", -7ull, 2, ~0ull, 0, -3ull, 2, ~0ull, 0, 0, NO_FAULT},
    {64, "f7f9", 0x80000000, 0xffffffff, 0xffffffff, 0, 0x80000000, 0xffffffff, 0xffffffff, 0, 0, EXCP_DE},
    {64, "f6f9", 0xff81, 0x7f, 0, 0, 0xff, 0x7f, 0, 0, 0, NO_FAULT},
    /* CMPXCHG: success writes the destination, failure rAX. */
    {64, "0fb1d1", 5, 0xffffffff00000005, 7, 0, 5, 7, 7, FL_ZF | FL_PF, FL_ZF | FL_PF, NO_FAULT},
    {64, "0fb1d1", ~0ull, 0xffffffff00000005, 7, 0, 5, 0xffffffff00000005, 7, 0, FL_ZF, NO_FAULT},
    {64, "480fc1c8", 5, 7, 0, 0, 12, 5, 0, FL_PF, AR, NO_FAULT},
    /* Bits. */
    {64, "0fbcc1", 99, 0, 0, 0, 99, 0, 0, FL_ZF, FL_ZF, NO_FAULT},
    {64, "f3480fbcc1", 99, 0, 0, 0, 64, 0, 0, FL_CF, FL_CF | FL_ZF, NO_FAULT},
    {64, "f3480fbdc1", 99, 1, 0, 0, 63, 1, 0, 0, FL_CF | FL_ZF, NO_FAULT},
    {64, "f20f38f1c1", 0, 0x12345678, 0, 0, 0xfa745634, 0x12345678, 0, 0, 0, NO_FAULT},
    {64, "c4e2f8f5c1", 0, ~0ull, 0, 0, 0, ~0ull, 0, 0, 0, NO_FAULT},
    {64, "98", 0x8000, 0, 0, 0, 0xffff8000, 0, 0, 0, 0, NO_FAULT},
    {64, "4898", 0x80000000, 0, 0, 0, 0xffffffff80000000, 0, 0, 0, 0, NO_FAULT},
    {64, "0f48c1", ~0ull, 1, 0, 0, 0xffffffff, 1, 0, 0, 0, NO_FAULT},
    /* 32-bit code only. */
    {32, "27", 0x9a, 0, 0, 0, 0x00, 0, 0, FL_CF | FL_AF | FL_ZF | FL_PF, AR & ~FL_OF, NO_FAULT},
    {32, "2f", 0x05, 0, 0, FL_AF, 0xff, 0, 0, FL_CF | FL_AF | FL_SF | FL_PF, FL_CF | FL_AF | FL_SF | FL_ZF, NO_FAULT},
    {32, "37", 0x0f, 0, 0, 0, 0x105, 0, 0, CO & ~FL_OF, FL_CF, NO_FAULT},
    {32, "d40a", 63, 0, 0, 0, 0x603, 0, 0, FL_PF, FL_PF | FL_ZF | FL_SF, NO_FAULT},
    {32, "d400", 63, 0, 0, 0, 63, 0, 0, 0, 0, EXCP_DE},
    {32, "d50a", 0x603, 0, 0, 0, 63, 0, 0, FL_PF, FL_PF | FL_ZF | FL_SF, NO_FAULT},
    {32, "40", 0xffffffff, 0, 0, FL_CF, 0, 0, 0, FL_CF | FL_ZF, FL_CF | FL_ZF, NO_FAULT},
    {32, "d6", 0, 0, 0, FL_CF, 0xff, 0, 0, FL_CF, FL_CF, NO_FAULT},
    {16, "01c8", 0x1ffff, 1, 0, 0, 0x10000, 1, 0, FL_CF | FL_ZF | FL_PF | FL_AF, AR, NO_FAULT},
    {16, "6601c8", 0xffffffff, 1, 0, 0, 0, 1, 0, FL_CF | FL_ZF | FL_PF | FL_AF, AR, NO_FAULT},
    {16, "98", 0xff80, 0, 0, 0, 0xff80, 0, 0, 0, 0, NO_FAULT},
};

START_TEST(values_and_flags)
{
    const Case *c = &cases[_i];
    X86State *st;

    start(c->bits);
    st = cpu->st;
    st->regs[R_RAX] = c->ax;
    st->regs[R_RCX] = c->cx;
    st->regs[R_RDX] = c->dx;
    st->rflags = FL_1 | c->fl;
    ck_assert_msg(exec(c->hex) == c->vector, "%s", c->hex);
    ck_assert_msg(st->regs[R_RAX] == c->ax2, "%s: rax is %lx", c->hex, st->regs[R_RAX]);
    ck_assert_msg(st->regs[R_RCX] == c->cx2, "%s: rcx is %lx", c->hex, st->regs[R_RCX]);
    ck_assert_msg(st->regs[R_RDX] == c->dx2, "%s: rdx is %lx", c->hex, st->regs[R_RDX]);
    ck_assert_msg((st->rflags & c->mask) == (c->fl2 & c->mask), "%s: flags are %lx", c->hex, st->rflags);
}
END_TEST

START_TEST(a_fault_leaves_the_state_as_it_was)
{
    static const char *const writers[] = {
        "4801 0f", "f048010f", "48 0fb1 0f", "f0480fc10f", "48870f", "48ff07", "c1070b", "48 0fab0f", "488f07",
        "480fc70f", "480fa40f05", "0f9407", "48 ab", "c7 07 01000000",
    };
    X86State *st;
    X86State *was = g_malloc(sizeof(*was));

    start(64);
    st = cpu->st;
    page_set(PAGE, 5);
    for (unsigned n = 0; n < G_N_ELEMENTS(writers); n++) {
        g_autofree char *hex = g_strdup(writers[n]);
        char *to = hex;
        for (const char *p = writers[n]; *p; p++) {
            if (*p != ' ') {
                *to++ = *p;
            }
        }
        *to = 0;
        st->regs[R_RDI] = PAGE + 0x10;
        st->regs[R_RCX] = 3;
        memcpy(was, st, offsetof(X86State, seg));
        ck_assert_msg(exec(hex) == EXCP_PF, "%s", hex);
        st->rip = was->rip;
        ck_assert_msg(!memcmp(was, st, offsetof(X86State, tlb_rd)), "%s changed the state", hex);
        ck_assert_uint_eq(st->ev.exception_error, 3);
        ck_assert_uint_eq(mem_get(PAGE + 0x10, 8), 0);
    }
    g_free(was);
}
END_TEST

START_TEST(a_push_that_faults_keeps_the_stack_pointer)
{
    static const char *const pushes[] = {"50", "6a01", "ff30", "9c", "e800000000", "ffd0", "c8100000"};

    start(64);
    page_set(PAGE, 5);
    for (unsigned n = 0; n < G_N_ELEMENTS(pushes); n++) {
        cpu->st->regs[R_RSP] = PAGE + 8;
        cpu->st->regs[R_RAX] = PAGE;
        ck_assert_msg(exec(pushes[n]) == EXCP_PF, "%s", pushes[n]);
        ck_assert_uint_eq(cpu->st->regs[R_RSP], PAGE + 8);
    }
}
END_TEST

START_TEST(read_modify_write_crosses_pages)
{
    X86State *st;

    start(64);
    st = cpu->st;
    for (unsigned lock = 0; lock < 2; lock++) {
        mem_put(PAGE + 0xffd, 0x11223344556677ff, 8);
        st->regs[R_RDI] = PAGE + 0xffd;
        st->regs[R_RCX] = 1;
        ck_assert_int_eq(exec(lock ? "f048010f" : "48010f"), NO_FAULT);
        ck_assert_uint_eq(mem_get(PAGE + 0xffd, 8), 0x1122334455667800);
    }
    page_set(PAGE + 0x1000, 5);
    ck_assert_int_eq(exec("f048010f"), EXCP_PF);
    ck_assert_uint_eq(st->cr2, PAGE + 0x1000);
    ck_assert_uint_eq(mem_get(PAGE + 0xffd, 8), 0x1122334455667800);
}
END_TEST

START_TEST(bit_strings_reach_far_both_ways)
{
    X86State *st;

    start(64);
    st = cpu->st;
    st->regs[R_RDI] = PAGE + 0x1000;
    st->regs[R_RCX] = -9ull;
    ck_assert_int_eq(exec("480fab0f"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 0xff8, 8), 1ull << 55);
    st->regs[R_RCX] = 0xffffffff00000000 | 64;          /* 32-bit form: the lower half counts */
    ck_assert_int_eq(exec("f00fab0f"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE + 0x1008, 4), 1);
    ck_assert_int_eq(exec("0fa30f"), NO_FAULT);
    ck_assert(st->rflags & FL_CF);
}
END_TEST

START_TEST(double_width_exchange)
{
    X86State *st;

    start(64);
    st = cpu->st;
    st->regs[R_RDI] = PAGE;
    mem_put(PAGE, 1, 8);
    mem_put(PAGE + 8, 2, 8);
    st->regs[R_RAX] = 1;
    st->regs[R_RDX] = 2;
    st->regs[R_RBX] = 3;
    st->regs[R_RCX] = 4;
    ck_assert_int_eq(exec("f0480fc70f"), NO_FAULT);
    ck_assert(st->rflags & FL_ZF);
    ck_assert_uint_eq(mem_get(PAGE, 8), 3);
    ck_assert_uint_eq(mem_get(PAGE + 8, 8), 4);
    ck_assert_int_eq(exec("f0480fc70f"), NO_FAULT);
    ck_assert(!(st->rflags & FL_ZF));
    ck_assert_uint_eq(st->regs[R_RAX], 3);
    ck_assert_uint_eq(st->regs[R_RDX], 4);
    st->regs[R_RDI] = PAGE + 8;
    ck_assert_int_eq(exec("f0480fc70f"), EXCP_GP);
}
END_TEST

START_TEST(pop_counts_its_address_after_the_pop)
{
    start(64);
    mem_put(H_STACK, 0x1234, 8);
    ck_assert_int_eq(exec("8f0424"), NO_FAULT);         /* pop [rsp] */
    ck_assert_uint_eq(mem_get(H_STACK + 8, 8), 0x1234);
    ck_assert_uint_eq(cpu->st->regs[R_RSP], H_STACK + 8);
    cpu->st->regs[R_RSP] = H_STACK;
    ck_assert_int_eq(exec("5c"), NO_FAULT);             /* pop rsp */
    ck_assert_uint_eq(cpu->st->regs[R_RSP], 0x1234);
}
END_TEST

START_TEST(enter_copies_outer_frames)
{
    X86State *st;

    start(64);
    st = cpu->st;
    st->regs[R_RBP] = PAGE + 0x100;
    mem_put(PAGE + 0xf8, 0xaaaa, 8);
    ck_assert_int_eq(exec("c8200002"), NO_FAULT);
    ck_assert_uint_eq(mem_get(H_STACK - 8, 8), PAGE + 0x100);
    ck_assert_uint_eq(mem_get(H_STACK - 16, 8), 0xaaaa);
    ck_assert_uint_eq(mem_get(H_STACK - 24, 8), H_STACK - 8);
    ck_assert_uint_eq(st->regs[R_RBP], H_STACK - 8);
    ck_assert_uint_eq(st->regs[R_RSP], H_STACK - 24 - 32);
    ck_assert_int_eq(exec("c9"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RSP], H_STACK);
    ck_assert_uint_eq(st->regs[R_RBP], PAGE + 0x100);
}
END_TEST

START_TEST(overlapping_rep_movs_repeats_its_pattern)
{
    X86State *st;

    start(64);
    st = cpu->st;
    mem_put(PAGE + 0xff0, 0x0000000000434241, 8);
    st->regs[R_RSI] = PAGE + 0xff0;
    st->regs[R_RDI] = PAGE + 0xff3;
    st->regs[R_RCX] = 600;
    ck_assert_int_eq(exec("f3a4"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RCX], 0);
    ck_assert_uint_eq(st->regs[R_RDI], PAGE + 0xff3 + 600);
    ck_assert_uint_eq(st->regs[R_RSI], PAGE + 0xff0 + 600);
    for (unsigned n = 0; n < 603; n++) {
        ck_assert_uint_eq(mem_get(PAGE + 0xff0 + n, 1), 'A' + n % 3);
    }
    ck_assert_uint_eq(mem_get(PAGE + 0xff0 + 603, 1), 0);
}
END_TEST

START_TEST(a_string_fault_keeps_what_was_done)
{
    X86State *st;

    start(64);
    st = cpu->st;
    page_set(PAGE + 0x1000, 0);
    st->regs[R_RAX] = 0x11;
    st->regs[R_RDI] = PAGE + 0xf00;
    st->regs[R_RCX] = 0x200;
    ck_assert_int_eq(exec("f3aa"), EXCP_PF);
    ck_assert_uint_eq(st->cr2, PAGE + 0x1000);
    ck_assert_uint_eq(st->regs[R_RCX], 0x100);
    ck_assert_uint_eq(st->regs[R_RDI], PAGE + 0x1000);
    ck_assert_uint_eq(mem_get(PAGE + 0xfff, 1), 0x11);
    st->rflags |= FL_DF;                                /* and downwards, by words */
    st->regs[R_RDI] = PAGE + 0x10;
    st->regs[R_RCX] = 4;
    ck_assert_int_eq(exec("f366ab"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RDI], PAGE + 8);
    ck_assert_uint_eq(mem_get(PAGE + 0xa, 8), 0x0011001100110011);
}
END_TEST

START_TEST(scas_and_cmps_stop_where_they_should)
{
    X86State *st;

    start(64);
    st = cpu->st;
    memcpy(harness_ram() + PAGE, "hello, world", 13);
    memcpy(harness_ram() + PAGE + 0x100, "hello, World", 13);
    st->regs[R_RDI] = PAGE;
    st->regs[R_RCX] = ~0ull;
    ck_assert_int_eq(exec("f2ae"), NO_FAULT);           /* strlen */
    ck_assert_uint_eq(st->regs[R_RDI], PAGE + 13);
    ck_assert_uint_eq(st->regs[R_RCX], ~0ull - 13);
    ck_assert(st->rflags & FL_ZF);
    st->regs[R_RSI] = PAGE;
    st->regs[R_RDI] = PAGE + 0x100;
    st->regs[R_RCX] = 13;
    ck_assert_int_eq(exec("f3a6"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RCX], 5);
    ck_assert((st->rflags & (FL_ZF | FL_CF)) == 0);     /* 'w' is above 'W' */
    st->regs[R_RCX] = 0;                                /* nothing to do: flags stay */
    st->rflags |= FL_ZF;
    ck_assert_int_eq(exec("f2a6"), NO_FAULT);
    ck_assert(st->rflags & FL_ZF);
}
END_TEST

START_TEST(a_repeat_lets_others_in)
{
    X86State *st;

    start(64);
    st = cpu->st;
    st->regs[R_RSI] = st->regs[R_RDI] = PAGE;
    st->regs[R_RCX] = 1000000;
    st->regs[R_RDI] = PAGE;
    atomic_store(&cpu->vcpu.exit_request, 1);
    ck_assert_int_eq(exec("f3ac"), NO_FAULT);
    atomic_store(&cpu->vcpu.exit_request, 0);
    ck_assert_uint_eq(st->rip, H_CODE);
    ck_assert(st->regs[R_RCX] > 900000 && st->regs[R_RCX] < 1000000);
    ck_assert_uint_eq(st->regs[R_RSI] - PAGE + st->regs[R_RCX], 1000000);
}
END_TEST

START_TEST(segments_and_16_bit_addresses_wrap)
{
    X86State *st;

    start(16);
    st = cpu->st;
    st->seg[SEG_DS] = (X86Segment) { .base = PAGE, .limit = 0xffff, .attr = DESC_P | DESC_S | DESC_W, .selector = 1 };
    st->seg[SEG_SS] = (X86Segment) { .base = PAGE, .limit = 0xfff, .attr = DESC_P | DESC_S | DESC_W, .selector = 1 };
    x86_update_mode(cpu);
    mem_put(PAGE + 1, 0x5678, 2);
    st->regs[R_RBX] = 0xffff;
    st->regs[R_RSI] = 2;
    ck_assert_int_eq(exec("8b00"), NO_FAULT);           /* mov ax, [bx+si] */
    ck_assert_uint_eq(st->regs[R_RAX], 0x5678);
    st->regs[R_RBP] = 0x0fff;
    ck_assert_int_eq(exec("8b4600"), EXCP_SS);          /* mov ax, [bp]: beyond SS's limit */
    st->regs[R_RSP] = 0xffff0002;
    st->seg[SEG_SS].limit = 0xffff;
    ck_assert_int_eq(exec("50"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RSP], 0xffff0000);
    ck_assert_uint_eq(mem_get(PAGE, 2), 0x5678);
    ck_assert_int_eq(exec("50"), NO_FAULT);             /* sp wraps, esp's upper half stays */
    ck_assert_uint_eq(st->regs[R_RSP], 0xfffffffe);
}
END_TEST

START_TEST(pusha_and_popa_mirror)
{
    X86State *st;

    start(32);
    st = cpu->st;
    for (unsigned n = 0; n < 8; n++) {
        st->regs[n] = n == R_RSP ? H_STACK : n + 0x100;
    }
    ck_assert_int_eq(exec("60"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RSP], H_STACK - 32);
    ck_assert_uint_eq(mem_get(H_STACK - 4, 4), 0x100 + R_RAX);
    ck_assert_uint_eq(mem_get(H_STACK - 20, 4), H_STACK);
    ck_assert_uint_eq(mem_get(H_STACK - 32, 4), 0x100 + R_RDI);
    memset(st->regs, 0, 4 * 8);
    ck_assert_int_eq(exec("61"), NO_FAULT);
    ck_assert_uint_eq(st->regs[R_RSP], H_STACK);
    ck_assert_uint_eq(st->regs[R_RBX], 0x100 + R_RBX);
}
END_TEST

START_TEST(bound_raises_outside)
{
    start(32);
    mem_put(PAGE, -5, 4);
    mem_put(PAGE + 4, 5, 4);
    cpu->st->regs[R_RDI] = PAGE;
    cpu->st->regs[R_RAX] = (uint32_t)-5;
    ck_assert_int_eq(exec("6207"), NO_FAULT);
    cpu->st->regs[R_RAX] = 6;
    ck_assert_int_eq(exec("6207"), EXCP_BR);
}
END_TEST

/* With CR0.NE off the pending exception goes to FERR#; where nobody answers, the guest's code must not stop the
 * process. */
START_TEST(a_pending_x87_exception_is_not_the_hosts)
{
    start(64);
    cpu->st->cr0 &= ~(uint64_t)CR0_NE;
    x86_update_mode(cpu);
    cpu->st->xs.fcw = 0x37f & ~4;           /* zero divide not masked */
    cpu->st->xs.fsw = cpu->st->xs.ftw = 0;
    cpu->st->xs.xstate_bv |= XFEATURE_X87;
    ck_assert_int_eq(exec("d9 e8"), NO_FAULT);      /* fld1 */
    ck_assert_int_eq(exec("d9 ee"), NO_FAULT);      /* fldz */
    ck_assert_int_eq(exec("d8 f9"), NO_FAULT);      /* fdivr: 1 / 0 */
    ck_assert_int_eq(cpu->st->xs.fsw & 0xff, 0x84);
    ck_assert_int_eq(exec("d9 e8"), NO_FAULT);
    ck_assert_int_eq(cpu->st->xs.fcw, 0x37f & ~4);
    ck_assert_int_eq(cpu->st->xs.fsw & 0x84, 0x84);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sem");
    TCase *tc = tcase_create("sem");
    SRunner *sr;
    int failed;

    tcase_add_loop_test(tc, values_and_flags, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tc, a_fault_leaves_the_state_as_it_was);
    tcase_add_test(tc, a_push_that_faults_keeps_the_stack_pointer);
    tcase_add_test(tc, read_modify_write_crosses_pages);
    tcase_add_test(tc, bit_strings_reach_far_both_ways);
    tcase_add_test(tc, double_width_exchange);
    tcase_add_test(tc, pop_counts_its_address_after_the_pop);
    tcase_add_test(tc, enter_copies_outer_frames);
    tcase_add_test(tc, overlapping_rep_movs_repeats_its_pattern);
    tcase_add_test(tc, a_string_fault_keeps_what_was_done);
    tcase_add_test(tc, scas_and_cmps_stop_where_they_should);
    tcase_add_test(tc, a_repeat_lets_others_in);
    tcase_add_test(tc, segments_and_16_bit_addresses_wrap);
    tcase_add_test(tc, pusha_and_popa_mirror);
    tcase_add_test(tc, bound_raises_outside);
    tcase_add_test(tc, a_pending_x87_exception_is_not_the_hosts);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
