/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware task switches: what is saved, loaded and marked, and which faults come in which task. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "x86-harness.h"

/* Tasks beside the first one (30h): 38h 32-bit, 40h 16-bit, 48h a gate to 38h, 50h the handler of faults. */
enum { TASK32 = 0x38, TASK16 = 0x40, GATE = 0x48, HANDLER = 0x50, BAD = 0x58, A = 0x4000, B = 0x4800, H = 0x5000 };
enum { STACK_A = 0x220000, STACK_H = 0x230000 };

static uint32_t ram32(uint32_t at)
{
    uint32_t v;

    memcpy(&v, harness_ram() + at, 4);
    return v;
}

static void put32(uint32_t at, uint32_t v)
{
    memcpy(harness_ram() + at, &v, 4);
}

static void put16(uint32_t at, uint16_t v)
{
    memcpy(harness_ram() + at, &v, 2);
}

static uint64_t tss_descriptor(uint32_t base, unsigned type, unsigned limit)
{
    return limit | (uint64_t)(base & 0xffffff) << 16 | (uint64_t)(0x80 | type) << 40;
}

static void make_task(uint32_t tss, uint32_t eip, uint32_t esp)
{
    static const uint16_t seg[6] = { 0x10, 8, 0x10, 0x10, 0x10, 0 };

    put32(tss + 0x20, eip);
    put32(tss + 0x24, 2);
    put32(tss + 0x38, esp);
    for (int i = 0; i < 6; i++) {
        put32(tss + 0x48 + 4 * i, seg[i]);
    }
}

static unsigned type_of(unsigned selector)
{
    return harness_ram()[H_GDT + selector + 5] & 0x1f;
}

/* The handler of faults by task gate: 1 to 8000h, the error code to 8010h. */
PAYLOAD(p_handler, ".code32", "incl 0x8000\npopl 0x8010");

static X86CPU *prepare(void)
{
    X86CPU *cpu = harness_cpu("max");

    harness_protected_mode(cpu);
    harness_gdt_set(TASK32, tss_descriptor(A, 9, 0x67));
    harness_gdt_set(TASK16, tss_descriptor(B, 1, 0x2b));
    harness_gdt_set(GATE, (uint64_t)TASK32 << 16 | 0x8500ull << 32);
    harness_gdt_set(HANDLER, tss_descriptor(H, 9, 0x67));
    make_task(A, 0x40000, STACK_A);
    make_task(H, 0x50000, STACK_H);
    memcpy(harness_ram() + 0x50000, p_handler, p_handler_end - p_handler);
    return cpu;
}

static void task_code(const uint8_t *from, const uint8_t *end)
{
    memcpy(harness_ram() + 0x40000, from, end - from);
}
#define TASK_CODE(name) task_code(name, name##_end)

/* Vector v goes to the handler task. */
static void handle_by_task(unsigned v)
{
    uint64_t gate = (uint64_t)HANDLER << 16 | 0x8500ull << 32;

    memcpy(harness_ram() + H_IDT + v * 8, &gate, 8);
}

PAYLOAD(p_jmp, ".code32", "mov $0x1234, %ecx\nljmp $0x38, $0\nmov $5, %edx");
PAYLOAD(p_back, ".code32", "mov $0x77, %esi\nstr %ebx\nmov %cr0, %edi\nclts\nljmp $0x30, $0");
START_TEST(jmp_saves_one_task_and_loads_the_other)
{
    X86CPU *cpu = prepare();

    TASK_CODE(p_back);
    put32(A + 0x2c, 0xabcd);                            /* ECX */
    ck_assert(RUN(cpu, p_jmp));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 0x1234);
    ck_assert_uint_eq(cpu->st->regs[R_RDX], 5);
    ck_assert_uint_eq(cpu->st->tr.selector, 0x30);
    ck_assert_uint_eq(type_of(0x30), 11);
    ck_assert_uint_eq(type_of(TASK32), 9);
    ck_assert_uint_eq(ram32(A + 0x2c), 0xabcd);
    ck_assert_uint_eq(ram32(A + 0x34), TASK32);         /* EBX */
    ck_assert(ram32(A + 0x44) & CR0_TS);                /* EDI: CR0 as the task found it */
    ck_assert_uint_eq(ram32(A + 0x20), 0x40000 + (p_back_end - p_back) - 1);
    ck_assert_uint_eq(ram32(A + 0x24) & FL_NT, 0);
    ck_assert_uint_eq(ram32(H_TSS + 0x20), H_CODE + 5 + 7);
    ck_assert(cpu->st->cr0 & CR0_TS);
}
END_TEST

PAYLOAD(p_call, ".code32", "lcall $0x48, $0\nmov $5, %edx");
PAYLOAD(p_iret, ".code32", "pushfl\npop %esi\niret");
START_TEST(call_links_and_iret_returns)
{
    X86CPU *cpu = prepare();

    TASK_CODE(p_iret);
    ck_assert(RUN(cpu, p_call));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RDX], 5);
    ck_assert_uint_eq(ram32(A) & 0xffff, 0x30);
    ck_assert(ram32(A + 0x40) & FL_NT);                 /* ESI: flags in the task */
    ck_assert_uint_eq(ram32(A + 0x24) & FL_NT, 0);      /* saved at IRET */
    ck_assert_uint_eq(ram32(A + 0x20), 0x40000 + (p_iret_end - p_iret) - 1);
    ck_assert_uint_eq(type_of(0x30), 11);
    ck_assert_uint_eq(type_of(TASK32), 9);
    ck_assert_uint_eq(cpu->st->rflags & FL_NT, 0);
}
END_TEST

PAYLOAD(p_fault, ".code32", "mov $0x1230, %eax\nmov %eax, %ds");
START_TEST(a_fault_through_a_task_gate_pushes_its_error_code)
{
    X86CPU *cpu = prepare();

    handle_by_task(EXCP_GP);
    ck_assert(RUN(cpu, p_fault));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->error, 0x1230);
    ck_assert_uint_eq(cpu->st->tr.selector, HANDLER);
    ck_assert_uint_eq(cpu->st->regs[R_RSP], STACK_H);
    ck_assert_uint_eq(ram32(H) & 0xffff, 0x30);
    ck_assert_uint_eq(ram32(H_TSS + 0x20), H_CODE + 5);
    ck_assert(ram32(H_TSS + 0x24) & FL_RF);
    ck_assert(cpu->st->rflags & FL_NT);
}
END_TEST

PAYLOAD(p_jmp16, ".code32", "mov $0x11223344, %eax\nlcall $0x40, $0\nmov $5, %edx");
PAYLOAD(p_iret16, ".code16", "mov $0x9988, %bx\niret");
START_TEST(a_16_bit_tss_keeps_16_bits)
{
    X86CPU *cpu = prepare();

    memcpy(harness_ram() + 0x6000, p_iret16, p_iret16_end - p_iret16);
    put16(B + 0x0e, 0x6000);
    put16(B + 0x10, 2);
    put16(B + 0x1a, 0x7000);                            /* SP */
    put16(B + 0x22, 0x10);
    put16(B + 0x24, 0x18);
    put16(B + 0x26, 0x10);
    put16(B + 0x28, 0x10);
    ck_assert(RUN(cpu, p_jmp16));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RDX], 5);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x11223344);
    ck_assert_uint_eq(ram32(B) & 0xffff, 0x30);
    ck_assert_uint_eq(ram32(B + 0x18) & 0xffff, 0x9988);
    ck_assert_uint_eq(type_of(TASK16), 1);
}
END_TEST

static void check_in_old_task(X86CPU *cpu, unsigned vector, unsigned error)
{
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, vector);
    ck_assert_uint_eq(harness_fault()->error, error);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 5);
    ck_assert_uint_eq(cpu->st->tr.selector, 0x30);
    ck_assert_uint_eq(cpu->st->cr0 & CR0_TS, 0);
}

START_TEST(what_is_wrong_with_the_tss_is_the_old_tasks_fault)
{
    X86CPU *cpu = prepare();

    harness_gdt_set(TASK32, tss_descriptor(A, 11, 0x67));               /* busy */
    ck_assert(RUN(cpu, p_jmp));
    check_in_old_task(cpu, EXCP_GP, TASK32);
    cpu = prepare();
    harness_gdt_set(TASK32, tss_descriptor(A, 9, 0x66));                /* too short */
    ck_assert(RUN(cpu, p_jmp));
    check_in_old_task(cpu, EXCP_TS, TASK32);
    cpu = prepare();
    harness_gdt_set(TASK32, tss_descriptor(A, 9, 0x67) & ~(0x80ull << 40));
    ck_assert(RUN(cpu, p_jmp));
    check_in_old_task(cpu, EXCP_NP, TASK32);
}
END_TEST

/* One field of the new task is wrong: the fault comes in the new task, with the selector. */
static void check_in_new_task(unsigned field, uint32_t value, unsigned vector, unsigned error)
{
    X86CPU *cpu = prepare();

    harness_gdt_set(BAD, 0x00cf13000000ffff);                           /* data, not present */
    harness_gdt_set(BAD + 8, 0x00cf1b000000ffff);                       /* code, not present */
    handle_by_task(vector);
    put32(A + field, value);
    ck_assert(RUN(cpu, p_jmp));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->error, error);
    ck_assert_uint_eq(ram32(H) & 0xffff, TASK32);
    ck_assert_uint_eq(ram32(A + 0x20), 0x40000);                        /* nothing of it has run */
    ck_assert_uint_eq(ram32(H_TSS + 0x2c), 0x1234);                     /* the old one was saved */
}

START_TEST(what_is_wrong_with_its_selectors_is_the_new_tasks_fault)
{
    check_in_new_task(0x50, 0x1238, EXCP_TS, 0x1238);                   /* SS beyond the table */
    check_in_new_task(0x50, 0, EXCP_TS, 0);
    check_in_new_task(0x50, BAD, EXCP_SS, BAD);
    check_in_new_task(0x50, 0x13, EXCP_TS, 0x10);                       /* SS with RPL 3 */
    check_in_new_task(0x4c, 0x10, EXCP_TS, 0x10);                       /* CS is data */
    check_in_new_task(0x4c, BAD + 8, EXCP_NP, BAD + 8);
    check_in_new_task(0x54, BAD, EXCP_NP, BAD);                         /* DS */
    check_in_new_task(0x5c, 0x30, EXCP_TS, 0x30);                       /* GS is a TSS */
    check_in_new_task(0x60, 0x10, EXCP_TS, 0x10);                       /* LDT is data */
}
END_TEST

START_TEST(the_t_bit_traps_in_the_new_task)
{
    X86CPU *cpu = prepare();

    put32(A + 0x64, 1);
    TASK_CODE(p_back);
    cpu->st->dr[7] = 0x401 | 0x100;
    ck_assert(RUN(cpu, p_jmp));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, EXCP_DB);
    ck_assert_uint_eq(harness_fault()->rip, 0x40000);
    ck_assert_uint_eq(cpu->st->dr[6], 0xffff8ff0);
    ck_assert_uint_eq(cpu->st->dr[7], 0x400);           /* local enables go at a switch */
    ck_assert_uint_eq(cpu->st->tr.selector, TASK32);
}
END_TEST

/* A virtual-8086 task: HLT there is #GP, through an interrupt gate onto the stack of level 0. */
PAYLOAD(p_vm, ".code16", "mov $0x55, %bx\nmov %cs, %cx");
START_TEST(a_task_may_be_virtual_8086)
{
    X86CPU *cpu = prepare();

    memcpy(harness_ram() + 0x6010, p_vm, p_vm_end - p_vm);
    put32(A + 0x24, FL_VM | 2);
    put32(A + 0x20, 0x10);
    put32(A + 0x4c, 0x600);
    put32(A + 0x50, 0x700);
    put32(A + 4, H_STACK0);
    put32(A + 8, 0x10);
    ck_assert(RUN(cpu, p_jmp));
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, EXCP_GP);
    ck_assert_uint_eq(harness_fault()->cs, 0x600);
    ck_assert_uint_eq(harness_fault()->rip, 0x10 + (p_vm_end - p_vm) - 1);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 0x600);
    ck_assert(harness_fault()->flags & FL_VM);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("task");
    TCase *t = tcase_create("task");
    SRunner *r;

    tcase_add_test(t, jmp_saves_one_task_and_loads_the_other);
    tcase_add_test(t, call_links_and_iret_returns);
    tcase_add_test(t, a_fault_through_a_task_gate_pushes_its_error_code);
    tcase_add_test(t, a_16_bit_tss_keeps_16_bits);
    tcase_add_test(t, what_is_wrong_with_the_tss_is_the_old_tasks_fault);
    tcase_add_test(t, what_is_wrong_with_its_selectors_is_the_new_tasks_fault);
    tcase_add_test(t, the_t_bit_traps_in_the_new_task);
    tcase_add_test(t, a_task_may_be_virtual_8086);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    return srunner_ntests_failed(r) ? EXIT_FAILURE : EXIT_SUCCESS;
}
