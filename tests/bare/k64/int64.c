/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts, returns and far transfers in 64-bit and compatibility mode (SDM vol. 3 6.14, vol. 2 IRET,
 * CALL), the SYSCALL and SYSENTER families with their corner cases.
 */
#include "bare.h"

enum { A = SEL_FREE, G = SEL_FREE + 16 };
#define MSR_STAR 0xc0000081u
#define MSR_LSTAR 0xc0000082u
#define MSR_CSTAR 0xc0000083u
#define MSR_SFMASK 0xc0000084u

static u8 ist_stack[1024] __attribute__((aligned(16)));

static const void *vector_code(void)
{
    return CODE("64", "nop");
}

static void gate64(u16 sel, const void *to, u8 access)
{
    ulong a = (ulong)to;

    gdt[G >> 3] = (a & 0xffff) | (u64)sel << 16 | (u64)access << 40 | (u64)(a >> 16 & 0xffff) << 48;
    gdt[(G >> 3) + 1] = a >> 32;
}

static void stacks(void)
{
    ulong top = (ulong)ist_stack + sizeof(ist_stack);

    start_kernel();
    start.sp -= 5;
    T("frame-is-aligned", "int $0x20", "ok dsp=0");
    check_num("frame-is-aligned-address", rec.cpl0_sp & 15, 8);
    T("ss-in-frame-at-cpl0", "nop", "ok ss=10");
    idt_ist(0x20, 3);
    *(ulong *)(tss + 36 + 16) = top;
    T("ist-from-kernel", "nop", "ok ss=10");
    check_num("ist-stack-used", top - rec.cpl0_sp, 40);
    *(ulong *)(tss + 36 + 16) = top - 3;
    T("ist-unaligned", "nop", "ok");
    check_num("ist-aligned-down", rec.cpl0_sp & 15, 8);
    start_user();
    *(ulong *)(tss + 36 + 16) = top;
    T("ist-from-user", "nop", "ok ss=23 cs=1b");
    check_num("ist-from-user-stack", top - rec.cpl0_sp, 40);
    *(ulong *)(tss + 36 + 16) = 0x800000000000;
    T("ist-non-canonical", "nop", "#SS(0) ip=1");
    idt_ist(0x20, 0);
    tss_set_stack(0, 0x800000000000, 0);
    idt_ist(SS, 3);
    *(ulong *)(tss + 36 + 16) = top;
    T("rsp0-non-canonical", "nop", "#SS(0) ip=1 cs=1b");
    tss_set_stack(0, (ulong)estack_top, 0);
    desc_init();
    idt_set(0x60, KCS, CODE("64", "movl %ss, %eax; movl %cs, %ecx"), 0xee);
    T("inner-ss-is-null", "int $0x60", "ok ax=0 cx=8");
    start_user();
    T("inner-ss-is-null-from-user", "int $0x60", "ok ax=0 cx=8 ss=0");
    idt_set(0x60, KCS, (void *)0x8000000000000000, 0xee);
    T("gate-non-canonical", "int $0x60", "#GP(0) ip=0");
    idt_set(0x60, CS32, vector_code(), 0xee);
    T("gate-to-32-bit-code", "int $0x60", "#GP(58)");
    idt_set(0x60, KCS, vector_code(), 0xe6);
    T("gate-type-6-in-long-mode", "int $0x60", "#GP(302)");
    idt_set(0x60, TSS_SEL, 0, 0xe5);
    T("task-gate-in-long-mode", "int $0x60", "#GP(302)");
    desc_init();
    start_user();
    T("int-dpl0", "int $0x61", "#GP(30a) ip=0");
    idt_set(UD, KCS, vector_code(), 0x0e);
    T("exception-gate-absent-ext", "ud2", "#NP(33) ip=0");
    idt_default(UD);
    idt_set(GP, KCS, vector_code(), 0x0e);
    T("gp-np-is-df", "cli", "#DF(0) ip=0");
    desc_init();
}

#define FRAME(ss, sp, fl, cs, ip) "pushq $" ss "; pushq $" sp "; pushq $" fl "; pushq $" cs "; pushq " ip "; iretq;"

static void returns(void)
{
    start_kernel();
    T("iret-same-level", FRAME("0x10", "0x4e000", "2", "8", "$1f") "1:", "ok sp=4e000");
    T("iret-ss-null-cpl0", FRAME("0", "0x4e000", "2", "8", "$1f") "1: movl %ss, %eax", "ok ax=0 ss=0");
    T("iret-to-user", FRAME("0x23", "0x4e000", "0x202", "0x1b", "$1f") "1:", "ok cs=1b if=1 sp=4e000 ss=23");
    T("iret-to-user-ss-null", FRAME("0", "0x4e000", "2", "0x1b", "$1f") "1:", "#GP(0)");
    T("iret-to-user-ss-rpl", FRAME("0x20", "0x4e000", "2", "0x1b", "$1f") "1:", "#GP(20)");
    T("iret-to-compat", FRAME("0x23", "0x4e000", "2", "0x63", "$1f") ".code32; 1: int $0x20; .code64", "ok cs=63");
    T("iret-cs-null", FRAME("0x10", "0x4e000", "2", "0", "$0"), "#GP(0)");
    T("iret-cs-data", FRAME("0x10", "0x4e000", "2", "0x10", "$0"), "#GP(10)");
    T("iret-nt-in-long-mode", "pushq $0x4002; popfq; pushq $0; iretq", "#GP(0)");
    T("iretd-in-64", "subl $20, %esp; movl $1f, (%rsp); movl $8, 4(%rsp); movl $2, 8(%rsp); movl $0x4e000, 12(%rsp);"
      "movl $0x10, 16(%rsp); iretl; 1:", "ok sp=4e000");
    T("iret-vm-ignored", FRAME("0x23", "0x4e000", "0x20002", "0x1b", "$1f") "1:", "ok vm=0");
    T("iret-rf-taken", FRAME("0x10", "0x4e000", "0x10002", "8", "$1f") "1: nop", "ok rf=0");
    gdt_set(A, 0, 0xfffff, 0x1b, 0xa);
    T("lret-not-present", "pushq $0x80; pushq $0; lretq", "#NP(80)");
}

static void far_64(void)
{
    start_kernel();
    T("ljmp-direct-is-ud", ".byte 0xea, 0, 0, 0, 0, 8, 0", "#UD");
    T("lcall-direct-is-ud", ".byte 0x9a, 0, 0, 0, 0, 8, 0", "#UD");
    T("ljmp-memory", "movl $1f, 0x40000; movw $8, 0x40004; ljmpl *0x40000; 1:", "ok");
    gate64(KCS, CODE("64", "movq (%rsp), %rcx; movq 8(%rsp), %rdx; movq 16(%rsp), %rsi; movq 24(%rsp), %rdi;"
                     "movl %ss, %eax"), 0xec);
    start_user();
    T("call-gate", "movw $0x93, 0x40004; lcall *0x40000; nop", "ok cs=8 dx=1b si=4f000 di=23 ax=0");
    gate64(CS32, 0, 0xec);
    T("call-gate-to-32-bit", "movw $0x93, 0x40004; lcall *0x40000", "#GP(58)");
    gate64(KCS, (void *)0x800000000000, 0xec);
    T("call-gate-non-canonical", "movw $0x93, 0x40004; lcall *0x40000", "#GP(0)");
    gate64(KCS, 0, 0xec);
    gdt[(G >> 3) + 1] |= 0x1full << 40;
    T("call-gate-upper-type", "movw $0x93, 0x40004; lcall *0x40000", "#GP(90)");
    gate64(KCS, 0, 0xe4);
    T("call-gate-16-in-long-mode", "movw $0x93, 0x40004; lcall *0x40000", "#GP(90)");
    T("ljmp-tss-in-long-mode", "movw $0x2b, 0x40004; ljmp *0x40000", "#GP(28)");
    start_kernel();
    T("pop-es-is-ud", ".byte 0x07", "#UD");
    T("push-cs-is-ud", ".byte 0x0e", "#UD");
    T("les-is-vex", ".byte 0xc4, 0xe0, 0, 0", "#UD");
    T("into-is-ud", ".byte 0xce", "#UD");
    T("bound-is-evex", ".byte 0x62, 0, 0, 0, 0, 0", "#UD");
    T("aaa-is-ud", ".byte 0x37", "#UD");
    T("pusha-is-ud", ".byte 0x60", "#UD");
    T("salc-is-ud", ".byte 0xd6", "#UD");
    T("82-is-ud", ".byte 0x82, 0xc0, 0", "#UD");
    T("arpl-is-movsxd", ".byte 0x48, 0x63, 0xc0", "ok");
    T("ds-limit-ignored", "movw $0x40, %ax; movw %ax, %ds; movb 0x20000, %al", "ok");
    T("null-ds-readable", "xorl %eax, %eax; movw %ax, %ds; movb %ds:0x20000, %al", "ok");
    T("cs-override-writable", ".byte 0x2e; movb %al, 0x40000", "ok");
    T("15-bytes", ".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x90", "ok");
    T("16-bytes", ".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x90",
      "#GP(0) ip=0");
    T("rex-before-prefix-ignored", ".byte 0x48, 0x66, 0xb8, 0x34, 0x12", "ok ax16=1234");
}

static void compat(void)
{
    start_user();
    start.cs = UCS32;
    gdt_set(A, UBUF, 0xfff, 0xf3, 4);
    T32("compat-runs", "movl $0x12345678, %eax; incl %eax; .byte 0x40", "ok cs=63 ax=1234567a");
    T32("compat-limit", "movl $0x83, %eax; movw %ax, %fs; movb %fs:0x1000, %al", "#GP(0)");
    T32("compat-address-wraps", "movl $0xffffffff, %ebx; movb 0x40001(%ebx), %al", "ok");
    T32("compat-syscall-frame", "pushl %eax", "ok dsp=-4");
    T32("compat-null-ds", "xorl %eax, %eax; movw %ax, %ds; movb %ds:0x40000, %al", "#GP(0)");
    T32("compat-ljmp-64", "ljmp $0x1b, $1f; .code64; 1: incq %rax; int $0x20; .code32", "ok cs=1b");
    T32("compat-sysret-ud", ".byte 0x0f, 0x07", "#GP(0)");
    T32("compat-aaa", "aaa", "ok");
    T32("compat-int", "int $0x61", "#GP(30a)");
    start_kernel();
    start.cs = CS32;
    T32("compat-kernel", "movl %cs, %eax", "ok ax=58");
    T32("compat-mov-cr3-32-bits", "movl %cr3, %eax; movl %eax, %cr3", "ok");
}

static void syscalls(void)
{
    bool amd = cpuid(0, 0).b == 0x68747541;
    const void *to = CODE("64", "pushfq; popq %rax; movl %cs, %edx; movl %ss, %esi");

    msr_set(MSR_STAR, (u64)0x0b << 48 | (u64)8 << 32);
    msr_set(MSR_LSTAR, (ulong)to);
    msr_set(MSR_SFMASK, 0x4700);
    start_user();
    start.flags = 2 | FL_IF | FL_CF;
    T("syscall", "leaq 1f(%rip), %rdi; syscall; 1: subq %rcx, %rdi", "ok cs=8 ss=10 ax=3 r11=203 sp=4f000");
    check_num("syscall-rcx", rec.regs[1] - rec.regs[7], 0);
    start.flags = 2;
    msr_set(MSR_EFER, msr_get(MSR_EFER) & ~(u64)EFER_SCE);
    T("syscall-without-sce", "syscall", "#UD ip=0");
    msr_set(MSR_EFER, msr_get(MSR_EFER) | EFER_SCE);
    start_kernel();
    T("sysret-64", "leaq 1f(%rip), %rcx; movl $0x3202, %r11d; movl $0x4e000, %esp; sysretq; 1:",
      "ok cs=1b ss=13 if=1 iopl=3 sp=4e000");
    T("sysret-32", "movl $1f, %ecx; movl $0x202, %r11d; movl $0x4e000, %esp; sysretl; .code32; 1: int $0x20; .code64",
      "ok cs=b ss=13");
    T("sysret-rf-vm-cleared", "leaq 1f(%rip), %rcx; movl $0x30202, %r11d; movl $0x4e000, %esp; sysretq; 1:",
      "ok vm=0");
    /* Intel checks RCX at CPL 0, AMD lets the fetch fault at CPL 3. */
    T("sysret-non-canonical", "movabsq $0x800000000000, %rcx; movl $2, %r11d; sysretq",
      amd ? "#GP(0) cs=1b" : "#GP(0) cs=8");
    start_user();
    T("user-sysret", "sysretq", "#GP(0)");
    T("user-sysexit", "sysexitl", amd ? "#UD" : "#GP(0)");
    T("user-swapgs", "swapgs", "#GP(0)");
    /* AMD has no SYSENTER in long mode (APM 3). */
    msr_set(0x174, 0);
    T("sysenter-cs-null", "sysenter", amd ? "#UD ip=0" : "#GP(0) ip=0");
    msr_set(0x174, 8);
    msr_set(0x175, (ulong)kstack_top);
    msr_set(0x176, (ulong)CODE("64", "pushfq; popq %rax; movl %cs, %edx; movl %ss, %esi"));
    start.flags = 2 | FL_IF;
    T("sysenter", "sysenter", amd ? "#UD" : "ok cs=8 ss=10 ax=2 dx=8 si=10");
    start_kernel();
    msr_set(0x174, 0);
    T("sysexit-with-null-cs", "sysexitl", amd ? "#UD" : "#GP(0)");
}

void int64_group(void);
void int64_group(void)
{
    stacks();
    returns();
    far_64();
    compat();
    syscalls();
    desc_init();
}

/* A segment with L and D; the unchecked machine is lost. */
void int64_ld_group(void);
void int64_ld_group(void)
{
    start_kernel();
    gdt_set(A, 0, 0xfffff, 0x9b, 0xe);
    T("iret-l-and-d", FRAME("0x10", "0x4e000", "2", "0x80", "$0"), "#GP(80)");
    T("lret-to-l-and-d", "pushq $0x80; pushq $0; lretq", "#GP(80)");
    desc_init();
}
