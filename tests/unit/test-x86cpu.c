/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU's system side: paging, exceptions, transfers, mode switches, code that changes itself. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86-harness.h"
#include "target/i386/mmu.h"

static uint64_t pte_get(int page)
{
    uint64_t v;

    memcpy(&v, harness_ram() + H_PT + page * 8, 8);
    return v;
}

static void pte_put(int page, uint64_t v)
{
    memcpy(harness_ram() + H_PT + page * 8, &v, 8);
}

PAYLOAD(p_add, ".code64", "mov $40, %eax\nadd $2, %eax");
START_TEST(a_payload_runs_to_its_halt)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_add));
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 42);
    ck_assert_uint_eq(cpu->st->rip, H_CODE + (p_add_end - p_add));
}
END_TEST

PAYLOAD(p_write50, ".code64", "movl $1, 0x50000");
PAYLOAD(p_read50, ".code64", "movl 0x50000, %eax");
PAYLOAD(p_exec50, ".code64", "mov $0x50000, %eax\njmp *%rax");

static void check_fault(unsigned vector, unsigned error, uint64_t cr2)
{
    const HarnessFault *f = harness_fault();

    ck_assert_uint_eq(f->count, 1);
    ck_assert_uint_eq(f->vector, vector);
    ck_assert_uint_eq(f->error, error);
    ck_assert_uint_eq(f->cr2, cr2);
}

START_TEST(page_faults_carry_the_right_error_code)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    pte_put(0x50, 0);
    ck_assert(RUN(cpu, p_read50));
    check_fault(EXCP_PF, 0, 0x50000);
    harness_long_mode(cpu);
    pte_put(0x50, 0x50000 | 5);
    ck_assert(RUN(cpu, p_write50));
    check_fault(EXCP_PF, 3, 0x50000);
    harness_long_mode(cpu);
    pte_put(0x50, 0x50000 | 7 | 1ull << 63);
    ck_assert(RUN(cpu, p_exec50));
    check_fault(EXCP_PF, 0x11, 0x50000);
    harness_long_mode(cpu);
    pte_put(0x50, 0x50000 | 7 | 1ull << 51);
    ck_assert(RUN(cpu, p_read50));
    check_fault(EXCP_PF, 9, 0x50000);
}
END_TEST

START_TEST(accessed_and_dirty_are_set_as_used)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_read50));
    ck_assert_uint_eq(pte_get(0x50), 0x50000 | 7 | 0x20);
    ck_assert(RUN(cpu, p_write50));
    ck_assert_uint_eq(pte_get(0x50), 0x50000 | 7 | 0x60);
    ck_assert_uint_eq(harness_fault()->count, 0);
}
END_TEST

PAYLOAD(p_smap, ".code64", "mov %cr4, %rax\nor $0x300000, %eax\nmov %rax, %cr4\nmovl 0x50000, %ebx");
PAYLOAD(p_stac, ".code64",
        "mov %cr4, %rax\nor $0x200000, %eax\nmov %rax, %cr4\nstac\nmovl 0x50000, %ebx\nclac\nmovl 0x50004, %ebx");
START_TEST(smap_stops_the_kernel_unless_ac)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    for (int i = 0; i < 512; i++) {                     /* all supervisor but one */
        pte_put(i, i * 4096ull | (i == 0x50 ? 7 : 3));
    }
    memset(harness_ram() + H_PD + 8, 0, 8);
    *(uint64_t *)(harness_ram() + H_PD) = H_PT | 7;
    *(uint64_t *)(harness_ram() + H_PD + 8) = 0x200083;
    cpu->st->regs[R_RSP] = 0x1f0000;
    *(uint64_t *)(harness_ram() + H_PD) = H_PT | 7;
    ck_assert(RUN(cpu, p_smap));
    check_fault(EXCP_PF, 1, 0x50000);
    memset(harness_ram() + H_FAULTS, 0, sizeof(HarnessFault));
    cpu->st->regs[R_RSP] = 0x1f0000;
    cpu->st->cr4 &= ~(uint64_t)CR4_SMEP;
    ck_assert(RUN(cpu, p_stac));
    check_fault(EXCP_PF, 1, 0x50004);
}
END_TEST

PAYLOAD(p_user, ".code64",
        "pushq $0x23\npushq $0x1f0000\npushq $2\npushq $0x2b\nlea 1f(%rip), %rax\npush %rax\niretq\n"
        "1: mov %cs, %ebx\nmov %cr0, %rax");
START_TEST(iret_reaches_user_mode_and_back_by_fault)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_user));
    check_fault(EXCP_GP, 0, 0);
    ck_assert_uint_eq(harness_fault()->cs, 0x2b);
    ck_assert_uint_eq(cpu->st->regs[R_RBX], 0x2b);
    ck_assert_uint_eq(x86_cpl(cpu->st), 0);
    ck_assert_uint_eq(cpu->st->seg[SEG_SS].selector, 0);
}
END_TEST

PAYLOAD(p_smc, ".code64",
        "mov $3, %ecx\nxor %ebx, %ebx\n1: movl $0x1111, %eax\nadd %eax, %ebx\nincb 1b+1(%rip)\nnop\ndec %ecx\njnz 1b");
START_TEST(code_that_changes_itself_runs_as_changed)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_smc));
    ck_assert_uint_eq(cpu->st->regs[R_RBX], 0x1111 + 0x1112 + 0x1113);
}
END_TEST

PAYLOAD(p_switch, ".code16",
        "cli\nxor %ax, %ax\nmov %ax, %ds\nmov %ax, %ss\nmov $0x7000, %sp\nlgdtl 0x7e00\n"
        "mov %cr0, %eax\nor $1, %al\nmov %eax, %cr0\nljmpl $0x18, $(0x7c00 + 1f - p_switch)\n"
        ".code32\n1: mov $0x10, %eax\nmov %eax, %ds\nmov %eax, %ss\nmov %cr4, %eax\nor $0x20, %eax\nmov %eax, %cr4\n"
        "mov $0x10000, %eax\nmov %eax, %cr3\nmov $0xc0000080, %ecx\nrdmsr\nor $0x100, %eax\nwrmsr\n"
        "mov %cr0, %eax\nor $0x80000000, %eax\nmov %eax, %cr0\nljmpl $8, $(0x7c00 + 2f - p_switch)\n"
        ".code64\n2: movabs $0x1122334455667788, %r9\nmov %cr0, %rbx");
START_TEST(real_to_protected_to_long_mode)
{
    X86CPU *cpu = harness_cpu("qemu64");
    static const uint8_t gdtr[] = { 0x3f, 0, H_GDT & 0xff, H_GDT >> 8, 0, 0 };

    harness_long_mode(cpu);                             /* for the tables in memory */
    x86_cpu_reset(cpu);
    memcpy(harness_ram() + 0x7c00, p_switch, p_switch_end - p_switch);
    memcpy(harness_ram() + 0x7e00, gdtr, sizeof(gdtr));
    cpu->st->seg[SEG_CS].selector = 0;
    cpu->st->seg[SEG_CS].base = 0;
    x86_update_mode(cpu);
    ck_assert(harness_run_from(cpu, 0x7c00));
    ck_assert_uint_eq(cpu->st->regs[R_R9], 0x1122334455667788);
    ck_assert(cpu->st->efer & EFER_LMA);
    ck_assert(cpu->st->mode & MODE_CS64);
}
END_TEST

PAYLOAD(p_syscall, ".code64",
        "mov $0xc0000081, %ecx\nxor %eax, %eax\nmov $0x00180008, %edx\nwrmsr\n"
        "mov $0xc0000082, %ecx\nlea 2f(%rip), %rax\nxor %edx, %edx\nwrmsr\n"
        "mov $0xc0000084, %ecx\nmov $0x700, %eax\nwrmsr\n"
        "mov $0x246, %r11d\nlea 1f(%rip), %rcx\nsysretq\n"
        "1: mov $7, %edi\nsyscall\n"
        "2: mov %r11, %rsi\nmov %cs, %r8d");
START_TEST(syscall_and_sysret)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_syscall));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RDI], 7);
    ck_assert_uint_eq(cpu->st->regs[R_RSI], 0x246);
    ck_assert_uint_eq(cpu->st->regs[R_R8], 8);
    ck_assert_uint_eq(cpu->st->rflags & FL_IF, 0);
}
END_TEST

PAYLOAD(p_selfipi, ".code64",
        "mov $0x1b, %ecx\nrdmsr\nor $0xc00, %eax\nwrmsr\nmov $0x80f, %ecx\nmov $0x1ff, %eax\nxor %edx, %edx\nwrmsr\n"
        "mov $0x83f, %ecx\nmov $0x30, %eax\nsti\nwrmsr\nnop\nnop");
START_TEST(a_self_ipi_arrives_after_sti)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_selfipi));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, 0x30);
}
END_TEST

PAYLOAD(p_step, ".code64", "pushfq\norl $0x100, (%rsp)\npopfq\nnop\nnop");
START_TEST(the_trap_flag_traps_after_one_instruction)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_step));
    ck_assert_uint_eq(harness_fault()->vector, EXCP_DB);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + (p_step_end - p_step) - 2);
    ck_assert(cpu->st->dr[6] & 0x4000);
}
END_TEST

PAYLOAD(p_loop, ".code64",
        "mov $20000000, %ecx\n1: add %ecx, %eax\nxor %eax, %edx\nlea 3(%rdx), %ebx\ndec %ecx\njnz 1b");
START_TEST(an_integer_loop_is_fast_enough)
{
    X86CPU *cpu = harness_cpu("max");
    gint64 t = g_get_monotonic_time();
    double mips;

    harness_long_mode(cpu);
    cpu->st->regs[R_RAX] = 0;
    ck_assert(harness_run(cpu, p_loop, p_loop_end - p_loop) || true);
    t = g_get_monotonic_time() - t;
    mips = (20000000.0 - (uint32_t)cpu->st->regs[R_RCX]) * 5 / t;
    printf("interpreter: %.0f million instructions a second\n", mips);
    ck_assert(mips > 5);                                /* a bound that holds under sanitizers too */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("x86cpu");
    TCase *tc = tcase_create("x86cpu");
    SRunner *sr;
    int failed;

    tcase_add_test(tc, a_payload_runs_to_its_halt);
    tcase_add_test(tc, page_faults_carry_the_right_error_code);
    tcase_add_test(tc, accessed_and_dirty_are_set_as_used);
    tcase_add_test(tc, smap_stops_the_kernel_unless_ac);
    tcase_add_test(tc, iret_reaches_user_mode_and_back_by_fault);
    tcase_add_test(tc, code_that_changes_itself_runs_as_changed);
    tcase_add_test(tc, real_to_protected_to_long_mode);
    tcase_add_test(tc, syscall_and_sysret);
    tcase_add_test(tc, a_self_ipi_arrives_after_sti);
    tcase_add_test(tc, the_trap_flag_traps_after_one_instruction);
    tcase_add_test(tc, an_integer_loop_is_fast_enough);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
