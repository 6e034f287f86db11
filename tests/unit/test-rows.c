/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the instruction table that the differential test reaches on few hosts or none: those of 32-bit code (many
 * hosts run no such code in a process), privileged ones, and those that only fault. A test each of what they do.
 */
#include "sem-exec.h"
#include "target/i386/cpuid.h"

static uint64_t *regs(void)
{
    return cpu->st->regs;
}

/* 82 is 80 once more, in 32-bit code. */
START_TEST(opcode_82_is_opcode_80)
{
    for (unsigned digit = 0; digit < 8; digit++) {
        uint64_t value[2], flags[2];

        for (unsigned n = 0; n < 2; n++) {
            g_autofree char *hex = g_strdup_printf("%02x%02x85", n ? 0x82 : 0x80, 0xc0 | digit << 3);

            start(32);
            regs()[R_RAX] = 0x1277;
            cpu->st->rflags = FL_1 | FL_CF;
            ck_assert_int_eq(exec(hex), NO_FAULT);
            value[n] = regs()[R_RAX];
            flags[n] = cpu->st->rflags;
        }
        ck_assert_uint_eq(value[0], value[1]);
        ck_assert_uint_eq(flags[0], flags[1]);
    }
}
END_TEST

START_TEST(segment_registers_go_over_the_stack_in_32_bit_code)
{
    static const struct { const char *push, *pop; int seg; } rows[] = {
        { "06", "07", SEG_ES }, { "16", "17", SEG_SS }, { "1e", "1f", SEG_DS },
    };

    for (unsigned n = 0; n < G_N_ELEMENTS(rows); n++) {
        start(32);
        mem_put(H_STACK - 4, 0x55555555, 4);
        ck_assert_int_eq(exec(rows[n].push), NO_FAULT);
        ck_assert_uint_eq(regs()[R_RSP], H_STACK - 4);
        ck_assert_uint_eq(mem_get(H_STACK - 4, 2), H_DS);
        mem_put(H_STACK - 4, H_UDS, 2);
        ck_assert_int_eq(exec(rows[n].pop), rows[n].seg == SEG_SS ? EXCP_GP : NO_FAULT);
        mem_put(H_STACK - 4, H_DS, 2);
        regs()[R_RSP] = H_STACK - 4;
        ck_assert_int_eq(exec(rows[n].pop), NO_FAULT);
        ck_assert_uint_eq(cpu->st->seg[rows[n].seg].selector, H_DS);
        ck_assert_uint_eq(regs()[R_RSP], H_STACK);
    }
    start(32);
    ck_assert_int_eq(exec("0e"), NO_FAULT);
    ck_assert_uint_eq(mem_get(H_STACK - 4, 2), cpu->st->seg[SEG_CS].selector);
}
END_TEST

START_TEST(far_pointers_load_segments_in_32_bit_code)
{
    start(32);
    regs()[R_RDI] = PAGE;
    mem_put(PAGE, 0x12345678, 4);
    mem_put(PAGE + 4, H_UDS, 2);
    ck_assert_int_eq(exec("c407"), NO_FAULT);
    ck_assert_uint_eq(regs()[R_RAX], 0x12345678);
    ck_assert_uint_eq(cpu->st->seg[SEG_ES].selector, H_UDS);
    ck_assert_int_eq(exec("c50f"), NO_FAULT);
    ck_assert_uint_eq(regs()[R_RCX], 0x12345678);
    ck_assert_uint_eq(cpu->st->seg[SEG_DS].selector, H_UDS);
    mem_put(PAGE + 4, 0x7f8, 2);
    ck_assert_int_eq(exec("c407"), EXCP_GP);
    ck_assert_uint_eq(cpu->st->ev.exception_error, 0x7f8);
}
END_TEST

START_TEST(far_calls_and_jumps_with_immediates)
{
    start(32);
    ck_assert_int_eq(exec("9a 44332201 1800"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, 0x01223344);
    ck_assert_uint_eq(cpu->st->seg[SEG_CS].selector, H_CS32);
    ck_assert_uint_eq(mem_get(H_STACK - 8, 4), H_CODE + 7);
    ck_assert_uint_eq(regs()[R_RSP], H_STACK - 8);
    start(32);
    ck_assert_int_eq(exec("ea 44332211 0800"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, 0x11223344);
    ck_assert(cpu->st->mode & MODE_CS64);
}
END_TEST

START_TEST(decimal_arithmetic_and_arpl)
{
    start(32);
    regs()[R_RAX] = 0x0305;
    cpu->st->rflags = FL_1 | FL_AF;
    ck_assert_int_eq(exec("3f"), NO_FAULT);                 /* aas */
    ck_assert_uint_eq(regs()[R_RAX], 0x010f);
    ck_assert_uint_eq(cpu->st->rflags & (FL_AF | FL_CF), FL_AF | FL_CF);
    regs()[R_RAX] = 0x20;
    regs()[R_RCX] = 0x1b;
    ck_assert_int_eq(exec("63c8"), NO_FAULT);
    ck_assert_uint_eq(regs()[R_RAX], 0x23);
    ck_assert_uint_eq(cpu->st->rflags & FL_ZF, FL_ZF);
    ck_assert_int_eq(exec("63c8"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rflags & FL_ZF, 0);
}
END_TEST

START_TEST(into_traps_on_overflow_alone)
{
    start(32);
    cpu->st->rflags = FL_1;
    ck_assert_int_eq(exec("ce"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, H_CODE + 1);
    cpu->st->rflags = FL_1 | FL_OF;
    ck_assert_int_eq(exec("ce"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, 0x9000 + 32 * EXCP_OF);
    ck_assert_uint_eq(mem_get(regs()[R_RSP], 8), H_CODE + 1);
}
END_TEST

/* Nothing answers on the harness's ports: ones come in, nothing happens on the way out. */
START_TEST(ports_in_every_size)
{
    static const struct { const char *hex; uint64_t ax; } rows[] = {
        { "e410", 0x1122334455667aff }, { "66e510", 0x112233445566ffff }, { "e510", 0xffffffff },
        { "ec", 0x1122334455667aff }, { "66ed", 0x112233445566ffff }, { "ed", 0xffffffff },
        { "e610", 0x1122334455667a88 }, { "66e710", 0x1122334455667a88 }, { "e710", 0x1122334455667a88 },
        { "ee", 0x1122334455667a88 }, { "66ef", 0x1122334455667a88 }, { "ef", 0x1122334455667a88 },
    };

    start(64);
    for (unsigned n = 0; n < G_N_ELEMENTS(rows); n++) {
        regs()[R_RAX] = 0x1122334455667a88;
        regs()[R_RDX] = 0x300;
        ck_assert_int_eq(exec(rows[n].hex), NO_FAULT);
        ck_assert_uint_eq(regs()[R_RAX], rows[n].ax);
    }
    regs()[R_RDI] = regs()[R_RSI] = PAGE;
    ck_assert_int_eq(exec("6d"), NO_FAULT);
    ck_assert_int_eq(exec("6c"), NO_FAULT);
    ck_assert_uint_eq(mem_get(PAGE, 8), 0xffffffffff);
    ck_assert_uint_eq(regs()[R_RDI], PAGE + 5);
    ck_assert_int_eq(exec("666f"), NO_FAULT);
    ck_assert_int_eq(exec("6e"), NO_FAULT);
    ck_assert_uint_eq(regs()[R_RSI], PAGE + 3);
}
END_TEST

START_TEST(kernel_rows_do_their_work)
{
    start(64);
    cpu->st->cr0 |= CR0_TS;
    ck_assert_int_eq(exec("0f06"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->cr0 & CR0_TS, 0);
    ck_assert_int_eq(exec("0f08"), NO_FAULT);               /* invd, wbnoinvd, wbinvd */
    ck_assert_int_eq(exec("f30f09"), NO_FAULT);
    ck_assert_int_eq(exec("0f09"), NO_FAULT);
    ck_assert_int_eq(exec("0f21f8"), NO_FAULT);             /* mov rax, dr7 */
    ck_assert_uint_eq(regs()[R_RAX], 0x400);
    regs()[R_RAX] = 0x55;
    ck_assert_int_eq(exec("0f23c0"), NO_FAULT);
    ck_assert_int_eq(exec("0f21c1"), NO_FAULT);
    ck_assert_uint_eq(regs()[R_RCX], 0x55);
    cpu->st->tsc_aux = 7;
    ck_assert_int_eq(exec("f30fc7f8"), NO_FAULT);           /* rdpid */
    ck_assert_uint_eq(regs()[R_RAX], 7);
    regs()[R_RAX] = PAGE;
    regs()[R_RCX] = 0;
    ck_assert_int_eq(exec("0f01c8"), NO_FAULT);             /* monitor, mwait */
    ck_assert_int_eq(exec("0f01c9"), NO_FAULT);
    ck_assert_int_eq(exec("0f33"), EXCP_GP);                /* rdpmc: there is no counter */
    ck_assert_int_eq(exec("0f01fa"), NO_FAULT);
    ck_assert_int_eq(exec("0f01fb"), NO_FAULT);
}
END_TEST

START_TEST(fast_calls_of_intel_go_both_ways)
{
    start(64);
    strcpy(cpu->model->vendor, "AuthenticAMD");
    ck_assert_int_eq(exec("0f34"), EXCP_UD);                /* AMD's have none in long mode */
    ck_assert_int_eq(exec("0f35"), EXCP_UD);
    strcpy(cpu->model->vendor, "GenuineIntel");
    ck_assert_int_eq(exec("0f34"), EXCP_GP);
    cpu->st->sysenter_cs = H_CS64;
    cpu->st->sysenter_esp = H_STACK0;
    cpu->st->sysenter_eip = H_CODE + 0x100;
    cpu->st->rflags |= FL_IF;
    ck_assert_int_eq(exec("0f34"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, H_CODE + 0x100);
    ck_assert_uint_eq(regs()[R_RSP], H_STACK0);
    ck_assert_uint_eq(cpu->st->rflags & FL_IF, 0);
    regs()[R_RCX] = H_STACK;
    regs()[R_RDX] = H_CODE + 0x200;
    ck_assert_int_eq(exec("480f35"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, H_CODE + 0x200);
    ck_assert_uint_eq(regs()[R_RSP], H_STACK);
    ck_assert_uint_eq(x86_cpl(cpu->st), 3);
    ck_assert_int_eq(exec("0f35"), EXCP_GP);
}
END_TEST

/* Every transaction aborts at its start. */
START_TEST(transactions_never_begin)
{
    start(64);
    regs()[R_RAX] = ~0ull;
    ck_assert_int_eq(exec("c7f8 10000000"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rip, H_CODE + 6 + 0x10);
    ck_assert_uint_eq(regs()[R_RAX], 0);
    ck_assert_int_eq(exec("c6f801"), NO_FAULT);
    ck_assert_int_eq(exec("0f01d5"), EXCP_GP);
    ck_assert_int_eq(exec("0f01d6"), NO_FAULT);
    ck_assert_uint_eq(cpu->st->rflags & FL_ZF, FL_ZF);
}
END_TEST

START_TEST(undefined_rows_are_undefined)
{
    static const char *const rows[] = { "0f0b", "0fb9c0", "0fffc0", "0f01c5", "660f388001", "660f388101" };

    start(64);
    for (unsigned n = 0; n < G_N_ELEMENTS(rows); n++) {
        ck_assert_int_eq(exec(rows[n]), EXCP_UD);
    }
}
END_TEST

START_TEST(hypercalls_answer_that_they_know_nothing)
{
    start(64);
    ck_assert_int_eq(exec("0f01c1"), NO_FAULT);
    ck_assert_int_eq((int64_t)regs()[R_RAX], -1000);
    regs()[R_RAX] = 3;
    ck_assert_int_eq(exec("0f01d9"), NO_FAULT);
    ck_assert_int_eq((int64_t)regs()[R_RAX], -1000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rows");
    TCase *tc = tcase_create("rows");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, opcode_82_is_opcode_80);
    tcase_add_test(tc, segment_registers_go_over_the_stack_in_32_bit_code);
    tcase_add_test(tc, far_pointers_load_segments_in_32_bit_code);
    tcase_add_test(tc, far_calls_and_jumps_with_immediates);
    tcase_add_test(tc, decimal_arithmetic_and_arpl);
    tcase_add_test(tc, into_traps_on_overflow_alone);
    tcase_add_test(tc, ports_in_every_size);
    tcase_add_test(tc, kernel_rows_do_their_work);
    tcase_add_test(tc, fast_calls_of_intel_go_both_ways);
    tcase_add_test(tc, transactions_never_begin);
    tcase_add_test(tc, undefined_rows_are_undefined);
    tcase_add_test(tc, hypercalls_answer_that_they_know_nothing);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
