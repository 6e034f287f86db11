/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control registers, paging, protection keys, limits, virtual-8086 mode, x87 error pins, machine checks, MONITOR. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "system/loop.h"
#include "target/i386/exec.h"
#include "target/i386/mce.h"
#include "target/i386/mmu.h"
#include "x86-harness.h"

static void put64(uint64_t at, uint64_t v)
{
    memcpy(harness_ram() + at, &v, 8);
}

static void check_fault(unsigned vector, unsigned error)
{
    ck_assert_uint_eq(harness_fault()->count, 1);
    ck_assert_uint_eq(harness_fault()->vector, vector);
    ck_assert_uint_eq(harness_fault()->error, error);
}

/* ---- paging ---- */
PAYLOAD(p_far, ".code64", "movabs $0x00ff000000050000, %rbx\nmovl (%rbx), %eax\nmov $1, %ecx");
START_TEST(five_level_paging_translates_57_bits)
{
    X86CPU *cpu = harness_cpu("max,la57=on");

    harness_long_mode(cpu);
    put64(0x18000, H_PML4 | 7);                         /* PML5: entry 0, and the one of 00ff000000000000h */
    put64(0x18000 + 0xff * 8, H_PML4 | 7);
    memcpy(harness_ram() + 0x50000, "\x78\x56\x34\x12", 4);
    cpu->st->cr4 |= CR4_LA57;
    cpu->st->cr3 = 0x18000;
    x86_update_mode(cpu);
    ck_assert(RUN(cpu, p_far));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RAX], 0x12345678);
    harness_long_mode(cpu);                             /* with four levels it is not canonical */
    ck_assert(RUN(cpu, p_far));
    check_fault(EXCP_GP, 0);
}
END_TEST

PAYLOAD(p_la57, ".code64", "mov %cr4, %rax\nbts $12, %rax\nmov %rax, %cr4");
START_TEST(la57_cannot_change_in_long_mode)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_la57));
    check_fault(EXCP_GP, 0);
}
END_TEST

PAYLOAD(p_pks, ".code64",
        "mov $0x6e1, %ecx\nmov $0x8, %eax\nxor %edx, %edx\nwrmsr\nmovl 0x50000, %eax\nmovl %eax, 0x50000");
START_TEST(supervisor_keys_guard_supervisor_pages)
{
    X86CPU *cpu = harness_cpu("max,pks=on");

    harness_long_mode(cpu);
    put64(H_PT + 0x50 * 8, 0x50003 | 1ull << 59);       /* key 1: bits 3:2 of PKRS, write disable */
    cpu->st->cr4 |= CR4_PKS;
    x86_update_mode(cpu);
    ck_assert(RUN(cpu, p_pks));
    check_fault(EXCP_PF, 0x23);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 21);
}
END_TEST

PAYLOAD(p_pse, ".code32", "mov %cr4, %eax\nor $0x10, %eax\nmov %eax, %cr4\nmov $0x10000, %eax\nmov %eax, %cr3\n"
        "mov %cr0, %eax\nor $0x80000000, %eax\nmov %eax, %cr0\nmov 0x800000, %ecx");
START_TEST(four_mib_pages_reach_beyond_4_gib_and_reserve_bit_21)
{
    static const uint32_t good = 0x83, reserved = 0x2000e7 | 0x800000;
    X86CPU *cpu = harness_cpu("max");

    harness_protected_mode(cpu);
    memcpy(harness_ram() + 0x10000, &good, 4);
    memcpy(harness_ram() + 0x10008, &reserved, 4);
    ck_assert(RUN(cpu, p_pse));
    check_fault(EXCP_PF, 9);
}
END_TEST

/* PAE: 800000h leads to 5 GiB, where the board has put the page of 50000h once more. */
static void make_pae(X86CPU *cpu)
{
    static MemoryRegion high;
    hwaddr offset;
    uint64_t avail;

    harness_protected_mode(cpu);
    if (!high.size) {
        MemoryRegion *ram = address_space_find(cpu->vcpu.mem, 0, &offset, &avail);

        machine_lock();
        memory_region_init_alias(&high, NULL, "high", ram, 0x50000, 0x1000);
        memory_region_add(cpu->vcpu.mem->root, 0x140000000, &high, 0);
        machine_unlock();
    }
    put64(0x18000, 0x19001);
    put64(0x19000, 0x83);
    put64(0x19000 + 4 * 8, 0x1a003);
    put64(0x1a000, 0x140000003);
    memcpy(harness_ram() + 0x50000, "\x21\x43\x65\x87", 4);
    x86_tlb_flush_memory(cpu);
}

PAYLOAD(p_pae, ".code32", "mov %cr4, %eax\nor $0x20, %eax\nmov %eax, %cr4\nmov $0x18000, %eax\nmov %eax, %cr3\n"
        "mov %cr0, %eax\nor $0x80000000, %eax\nmov %eax, %cr0\nmov 0x800000, %ecx\nincl 0x800000");
START_TEST(pae_reaches_beyond_4_gib)
{
    X86CPU *cpu = harness_cpu("max");

    make_pae(cpu);
    ck_assert(RUN(cpu, p_pae));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 0x87654321);
    ck_assert_uint_eq(harness_ram()[0x50000], 0x22);
}
END_TEST

START_TEST(reserved_bits_of_pdptes_fault_when_they_are_loaded)
{
    X86CPU *cpu = harness_cpu("max");

    make_pae(cpu);
    put64(0x18018, 3);                                  /* R/W is reserved there */
    ck_assert(RUN(cpu, p_pae));
    check_fault(EXCP_GP, 0);
    ck_assert_uint_eq(cpu->st->cr0 & CR0_PG, 0);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 3 + 3 + 3 + 5 + 3 + 3 + 5);
}
END_TEST

/* ---- limits ---- */
PAYLOAD(p_jump_out, ".code32", "mov $7, %ecx\n.byte 0xe9\n.long 0x00400000");
PAYLOAD(p_loop_out, ".code32", "mov $7, %ecx\n.byte 0x67, 0xe2, 0x7f");
START_TEST(a_branch_beyond_the_limit_faults_itself)
{
    X86CPU *cpu = harness_cpu("max");

    harness_protected_mode(cpu);
    cpu->st->seg[SEG_CS].limit = 0x1fffff;
    ck_assert(RUN(cpu, p_jump_out));
    check_fault(EXCP_GP, 0);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 5);
    harness_protected_mode(cpu);
    cpu->st->seg[SEG_CS].limit = H_CODE + 0x40;
    ck_assert(RUN(cpu, p_loop_out));
    check_fault(EXCP_GP, 0);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 5);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 7);
}
END_TEST

PAYLOAD(p_tiny, ".code32", "mov $0x48, %eax\nmov %eax, %es\nmovb $1, %es:0x1000\nmovb $1, %es:0xfff");
START_TEST(expand_down_segments_allow_what_lies_above)
{
    X86CPU *cpu = harness_cpu("max");

    harness_protected_mode(cpu);
    harness_gdt_set(0x48, 0x0040970000000fff);          /* expand down, limit 0fffh, big */
    ck_assert(RUN(cpu, p_tiny));
    check_fault(EXCP_GP, 0);
    ck_assert_uint_eq(harness_fault()->rip, H_CODE + 7 + 8);
    ck_assert_uint_eq(harness_ram()[0x1000], 1);
}
END_TEST

/* ---- control registers ---- */
PAYLOAD(p_cr1, ".code64", "mov %cr1, %rax");
PAYLOAD(p_user_cr1, ".code64",
        "pushq $0x23\npushq $0x1f0000\npushq $2\npushq $0x2b\nlea 1f(%rip), %rax\npush %rax\niretq\n1: mov %cr1, %rax");
PAYLOAD(p_user_monitor, ".code64",
        "pushq $0x23\npushq $0x1f0000\npushq $2\npushq $0x2b\nlea 1f(%rip), %rax\npush %rax\niretq\n1: monitor");
START_TEST(what_is_undefined_is_so_at_any_level)
{
    X86CPU *cpu = harness_cpu("max,monitor=on");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_cr1));
    check_fault(EXCP_UD, 0);
    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_user_cr1));
    check_fault(EXCP_UD, 0);
    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_user_monitor));
    check_fault(EXCP_UD, 0);
}
END_TEST

PAYLOAD(p_mwait, ".code64",
        "mov $0x300000, %eax\nxor %ecx, %ecx\nxor %edx, %edx\nmonitor\nmovl $1, (%rax)\nxor %eax, %eax\n"
        "mwait\nmov $5, %ebx");
START_TEST(mwait_ends_after_a_store_to_the_line)
{
    X86CPU *cpu = harness_cpu("max,monitor=on");

    harness_long_mode(cpu);
    ck_assert(RUN(cpu, p_mwait));
    ck_assert_uint_eq(harness_fault()->count, 0);
    ck_assert_uint_eq(cpu->st->regs[R_RBX], 5);
}
END_TEST

/* ---- virtual-8086 mode with VME ---- */
static void enter_vm(X86CPU *cpu, const uint8_t *code, size_t len, uint64_t flags)
{
    X86State *st = cpu->st;

    harness_protected_mode(cpu);
    memcpy(harness_ram() + 0x6010, code, len);
    st->rflags = FL_1 | FL_VM | flags;
    st->cr4 |= CR4_VME;
    for (int i = 0; i < SEG_COUNT; i++) {
        st->seg[i] = (X86Segment) { .base = 0x6000, .limit = 0xffff, .selector = 0x600,
                                    .attr = DESC_P | DESC_S | DESC_W | DESC_A | 3 << DESC_DPL_SHIFT };
    }
    st->regs[R_RSP] = 0x800;
    put64(H_TSS + 0x66, 0x88);                          /* I/O map base; the redirection bitmap lies before */
    st->tr.limit = 0x88;
    x86_update_mode(cpu);
}
#define ENTER_VM(cpu, name, flags) enter_vm(cpu, name, name##_end - name, flags)

/* IVT entry 21h leads to 0600:0100; its IRET comes back with the virtual flag. */
PAYLOAD(p_vm_int, ".code16", "sti\nint $0x21\nmov $9, %dx");
PAYLOAD(p_vm_handler, ".code16", "pushf\npop %bx\niret");
START_TEST(vme_redirects_int_n_and_keeps_a_virtual_if)
{
    X86CPU *cpu = harness_cpu("max");
    uint64_t image = 0;

    ENTER_VM(cpu, p_vm_int, 0);
    put64(0x21 * 4, 0x06000100);
    memcpy(harness_ram() + 0x6100, p_vm_handler, p_vm_handler_end - p_vm_handler);
    ck_assert(harness_run_from(cpu, 0x10));
    check_fault(EXCP_GP, 0);                            /* the HLT at the end */
    ck_assert_uint_eq(cpu->st->regs[R_RDX] & 0xffff, 9);
    ck_assert_uint_eq(cpu->st->regs[R_RBX] & (FL_IF | FL_IOPL), FL_IOPL);   /* VIF was clear in the handler */
    memcpy(&image, harness_ram() + 0x67fe, 2);
    ck_assert_uint_eq(image & (FL_IF | FL_IOPL), FL_IF | FL_IOPL);          /* and set in what INT pushed */
    ck_assert(harness_fault()->flags & FL_VIF);
    ck_assert(!(harness_fault()->flags & FL_IF));
    ENTER_VM(cpu, p_vm_int, FL_VIP);                    /* an interrupt waits: STI tells the monitor */
    ck_assert(harness_run_from(cpu, 0x10));
    check_fault(EXCP_GP, 0);
    ck_assert_uint_eq(harness_fault()->rip, 0x10);
}
END_TEST

/* ---- FERR# ---- */
static int ferr_level;

static void on_ferr(void *opaque, bool level)
{
    ferr_level = level;
}

PAYLOAD(p_ferr, ".code64",
        "fninit\nfldz\nfld1\npush $0x37b\nfldcw (%rsp)\nfdiv %st(1), %st\nmov $1, %ecx\nfwait\nmov $2, %ecx");
PAYLOAD(p_clear, ".code64", "fnclex\nfwait\nmov $3, %ecx");
START_TEST(an_x87_error_without_ne_freezes_until_ignne)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    cpu->st->cr0 &= ~(uint64_t)CR0_NE;
    cpu->ferr = on_ferr;
    ferr_level = 0;
    ck_assert(RUN(cpu, p_ferr));                        /* stopped at FWAIT */
    ck_assert_int_eq(ferr_level, 1);
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 1);
    ck_assert_uint_eq(harness_fault()->count, 0);
    x86_cpu_ignore_fpu_error(cpu);
    ck_assert(harness_run_from(cpu, cpu->st->rip));
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 2);
    ck_assert(RUN(cpu, p_clear));
    ck_assert_uint_eq(cpu->st->regs[R_RCX], 3);
    ck_assert_int_eq(ferr_level, 0);
    ck_assert_uint_eq(atomic_load(&cpu->st->ferr), 0);
}
END_TEST

/* ---- machine checks ---- */
PAYLOAD(p_halt, ".code64", "nop");
START_TEST(machine_checks_reach_the_guest)
{
    X86MachineCheck mc = { .bank = 2, .status = 7ull << 61, .mcg_status = 1, .addr = 0x1000 };
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    cpu->st->cr4 |= CR4_MCE;
    ck_assert(x86_cpu_machine_check(cpu, &mc, NULL));
    ck_assert(RUN(cpu, p_halt));
    check_fault(EXCP_MC, 0);
    ck_assert_uint_eq(cpu->st->mc_banks[2 * 4 + 1], 7ull << 61);
    ck_assert_uint_eq(cpu->st->mc_banks[2 * 4 + 2], 0x1000);
    ck_assert_uint_eq(cpu->st->mcg_status, 5);
    ck_assert(x86_cpu_machine_check(cpu, &mc, NULL));   /* a second one in progress */
    ck_assert(cpu->st->ev.triple_fault_pending);
    harness_long_mode(cpu);
    mc.status = 1ull << 63;                             /* corrected: recorded only */
    ck_assert(x86_cpu_machine_check(cpu, &mc, NULL));
    ck_assert(!x86_cpu_has_work(cpu));
    ck_assert_uint_eq(cpu->st->mc_banks[2 * 4 + 1], 1ull << 63);
}
END_TEST

START_TEST(bad_machine_checks_are_refused)
{
    X86MachineCheck mc = { .bank = 77, .status = 1ull << 63 };
    X86CPU *cpu = harness_cpu("max");
    Error *err = NULL;

    harness_long_mode(cpu);
    ck_assert(!x86_cpu_machine_check(cpu, &mc, &err));
    ck_assert_str_eq(error_text(err), "CPU 0 has no machine-check bank 77");
    error_free(err);
    mc = (X86MachineCheck) { .bank = 0 };
    ck_assert(!x86_cpu_machine_check(cpu, &mc, NULL));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("x86sys");
    TCase *t = tcase_create("x86sys");
    SRunner *r;

    tcase_add_test(t, five_level_paging_translates_57_bits);
    tcase_add_test(t, la57_cannot_change_in_long_mode);
    tcase_add_test(t, supervisor_keys_guard_supervisor_pages);
    tcase_add_test(t, four_mib_pages_reach_beyond_4_gib_and_reserve_bit_21);
    tcase_add_test(t, pae_reaches_beyond_4_gib);
    tcase_add_test(t, reserved_bits_of_pdptes_fault_when_they_are_loaded);
    tcase_add_test(t, a_branch_beyond_the_limit_faults_itself);
    tcase_add_test(t, expand_down_segments_allow_what_lies_above);
    tcase_add_test(t, what_is_undefined_is_so_at_any_level);
    tcase_add_test(t, mwait_ends_after_a_store_to_the_line);
    tcase_add_test(t, vme_redirects_int_n_and_keeps_a_virtual_if);
    tcase_add_test(t, an_x87_error_without_ne_freezes_until_ignne);
    tcase_add_test(t, machine_checks_reach_the_guest);
    tcase_add_test(t, bad_machine_checks_are_refused);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    return srunner_ntests_failed(r) ? EXIT_FAILURE : EXIT_SUCCESS;
}
