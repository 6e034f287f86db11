/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug registers, single step, RF, and the shadows of MOV SS and STI. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "target/i386/exec.h"
#include "x86-harness.h"

enum { BS = 1 << 14, BD = 1 << 13, DR6_CLEAR = (int)0xffff0ff0 };
/* DR7: breakpoint 0 enabled, R/W and LEN as given. */
#define DR7(rw, len) (0x400 | 1 | (rw) << 16 | (len) << 18)

static X86CPU *prepare(void)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    cpu->st->cr4 |= CR4_DE;
    x86_update_mode(cpu);
    return cpu;
}

static void arm(X86CPU *cpu, uint64_t dr0, uint64_t dr7)
{
    cpu->st->dr[0] = dr0;
    cpu->st->dr[7] = dr7;
    x86_update_mode(cpu);
}

/* A #DB with these DR6 bits, pushed at offset `at` of the payload. */
static void check_db(X86CPU *cpu, unsigned at, uint64_t dr6)
{
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, EXCP_DB);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + at);
    ck_assert_uint_eq(cpu->st->dr[6], (uint32_t)DR6_CLEAR | dr6);
}

PAYLOAD(p_touch, ".code64", "movl 0x50000, %eax\nmovl %eax, 0x50004\nmovb %al, 0x50008\nnop");
enum { TOUCH1 = 7, TOUCH2 = 14, TOUCH3 = 21 };
START_TEST(data_breakpoints_trap_after_the_access)
{
    X86CPU *cpu = prepare();

    arm(cpu, 0x50000, DR7(3, 3));                       /* read or write */
    ck_assert(RUN(cpu, p_touch));
    check_db(cpu, TOUCH1, 1);
    cpu = prepare();
    arm(cpu, 0x50000, DR7(1, 2));                       /* writes to 8 bytes */
    ck_assert(RUN(cpu, p_touch));
    check_db(cpu, TOUCH2, 1);
    cpu = prepare();
    arm(cpu, 0x50008, DR7(1, 0));
    ck_assert(RUN(cpu, p_touch));
    check_db(cpu, TOUCH3, 1);
    cpu = prepare();
    arm(cpu, 0x50009, DR7(3, 0));                       /* nobody touches it */
    ck_assert(RUN(cpu, p_touch));
    ck_assert_uint_eq(harness_fault()->count, 0);
    cpu = prepare();
    arm(cpu, 0x50003, DR7(3, 1));                       /* aligned down to 50002h */
    ck_assert(RUN(cpu, p_touch));
    check_db(cpu, TOUCH1, 1);
}
END_TEST

PAYLOAD(p_rep, ".code64", "mov $0x50000, %edi\nmov $8, %ecx\nrep stosb\nnop");
START_TEST(a_repeated_string_traps_after_the_element_with_rf)
{
    X86CPU *cpu = prepare();

    arm(cpu, 0x50003, DR7(1, 0));
    ck_assert(RUN(cpu, p_rep));
    check_db(cpu, 10, 1);                               /* at the REP again */
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 4);
    ck_assert(harness_fault()->flags & FL_RF);
    cpu = prepare();
    arm(cpu, 0x50007, DR7(1, 0));                       /* the last one: behind it */
    ck_assert(RUN(cpu, p_rep));
    check_db(cpu, 12, 1);
    ck_assert(!(harness_fault()->flags & FL_RF));
}
END_TEST

PAYLOAD(p_port, ".code64", "mov $0x81, %edx\nout %al, (%dx)\nnop");
START_TEST(port_breakpoints_need_cr4_de)
{
    X86CPU *cpu = prepare();

    arm(cpu, 0x80, DR7(2, 1));
    ck_assert(RUN(cpu, p_port));
    check_db(cpu, 6, 1);
    cpu = prepare();
    cpu->st->cr4 &= ~(uint64_t)CR4_DE;
    arm(cpu, 0x80, DR7(2, 1));
    ck_assert(RUN(cpu, p_port));
    ck_assert_uint_eq(harness_fault()->count, 0);
}
END_TEST

/* Returns from the breakpoint's handler with RF set: the instruction runs once, and its fault is not another #DB. */
PAYLOAD(p_code, ".code64", "mov $1, %ecx\n1: inc %ecx\nloop 1b\nnop");
START_TEST(instruction_breakpoints_stop_before_it_and_rf_passes_them)
{
    X86CPU *cpu = prepare();

    arm(cpu, H_CODE + 5, DR7(0, 0));
    ck_assert(RUN(cpu, p_code));
    check_db(cpu, 5, 1);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 1);
    ck_assert(!(harness_fault()->flags & FL_RF));
    memset(harness_ram() + H_FAULTS, 0, sizeof(HarnessFault));
    cpu->st->rflags |= FL_RF;
    ck_assert(harness_run_from(cpu, H_CODE + 5));
    check_db(cpu, 5, 1);                                /* the loop came round */
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 1);
}
END_TEST

PAYLOAD(p_gd, ".code64", "nop\nmov %dr0, %rax");
START_TEST(gd_guards_the_debug_registers)
{
    X86CPU *cpu = prepare();

    arm(cpu, 0, 0x400 | 1 << 13);
    ck_assert(RUN(cpu, p_gd));
    check_db(cpu, 1, BD);
    ck_assert(harness_fault()->flags & FL_RF);
    ck_assert_uint_eq(cpu->st->dr[7], 0x400);
}
END_TEST

PAYLOAD(p_icebp, ".code64", "nop\n.byte 0xf1");
START_TEST(icebp_traps_without_dr6_bits)
{
    X86CPU *cpu = prepare();

    ck_assert(RUN(cpu, p_icebp));
    check_db(cpu, 2, 0);
}
END_TEST

PAYLOAD(p_tf, ".code64", "pushfq\norl $0x100, (%rsp)\npopfq\nnop\nnop");
PAYLOAD(p_tf_int, ".code64", "pushfq\norl $0x100, (%rsp)\npopfq\nint $0x30");
PAYLOAD(p_tf_ss, ".code64", "mov %ss, %eax\npushfq\norl $0x100, (%rsp)\npopfq\nmov %eax, %ss\nnop\nnop");
START_TEST(single_step_traps_after_the_next_instruction)
{
    X86CPU *cpu = prepare();

    ck_assert(RUN(cpu, p_tf));
    check_db(cpu, 10, BS);
    ck_assert(harness_fault()->flags & FL_TF);
    cpu = prepare();
    ck_assert(RUN(cpu, p_tf_int));                      /* INT clears TF: no trap */
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, 0x30);
    cpu = prepare();
    ck_assert(RUN(cpu, p_tf_ss));                       /* not between MOV SS and the next */
    check_db(cpu, 2 + 9 + 2 + 1, BS);
}
END_TEST

PAYLOAD(p_ss_data, ".code64", "movw 0x50000, %ss\nnop\nnop");
PAYLOAD(p_ss_code, ".code64", "mov %ss, %eax\nmov %eax, %ss\nnop\nmov $3, %ecx");
START_TEST(mov_ss_holds_debug_exceptions_back)
{
    X86CPU *cpu = prepare();

    arm(cpu, 0x50000, DR7(3, 1));
    harness_ram()[0x50000] = H_DS;
    ck_assert(RUN(cpu, p_ss_data));
    check_db(cpu, 8, 1);                                /* behind the NOP */
    cpu = prepare();
    arm(cpu, H_CODE + 4, DR7(0, 0));                    /* the NOP in the shadow */
    ck_assert(RUN(cpu, p_ss_code));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 3);
}
END_TEST

PAYLOAD(p_sti, ".code64", "sti\nnop\nnop");
PAYLOAD(p_ss_ss, ".code64", "mov %ss, %eax\nsti\nmov %eax, %ss\nmov %eax, %ss\nmov %eax, %ss\nnop\nnop");
START_TEST(shadows_hold_interrupts_for_one_instruction)
{
    X86CPU *cpu = prepare();

    x86_cpu_raise(cpu, PENDING_NMI);
    cpu->st->ev.interrupt_shadow = 1;
    ck_assert(RUN(cpu, p_sti));
    ck_assert_uint_eq(harness_fault()->vector, EXCP_NMI);
    cpu = prepare();
    ck_assert_uint_eq(cpu->st->ev.interrupt_shadow, 0);
    x86_cpu_raise(cpu, PENDING_NMI);
    cpu->st->ev.interrupt_shadow = 1;                   /* a MOV SS before: those that follow cast none */
    ck_assert(harness_run(cpu, p_ss_ss + 3, p_ss_ss_end - p_ss_ss - 3));
    ck_assert_uint_eq(harness_fault()->vector, EXCP_NMI);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("debugreg");
    TCase *t = tcase_create("debugreg");
    SRunner *r;

    tcase_add_test(t, data_breakpoints_trap_after_the_access);
    tcase_add_test(t, a_repeated_string_traps_after_the_element_with_rf);
    tcase_add_test(t, port_breakpoints_need_cr4_de);
    tcase_add_test(t, instruction_breakpoints_stop_before_it_and_rf_passes_them);
    tcase_add_test(t, gd_guards_the_debug_registers);
    tcase_add_test(t, icebp_traps_without_dr6_bits);
    tcase_add_test(t, single_step_traps_after_the_next_instruction);
    tcase_add_test(t, mov_ss_holds_debug_exceptions_back);
    tcase_add_test(t, shadows_hold_interrupts_for_one_instruction);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    return srunner_ntests_failed(r) ? EXIT_FAILURE : EXIT_SUCCESS;
}
