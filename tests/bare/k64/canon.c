/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Canonical addresses (SDM vol. 1 3.3.7.1, vol. 3 5): #SS(0) through the stack, #GP(0) elsewhere; near
 * branches fault at the branch; IRET and far returns fault before they commit. Bases in MSRs and tables are
 * judged by the width that the CPU has (57 bits with LA57), whatever CR4.LA57 says: those checks take an
 * address that neither width has. With LAM (SDM vol. 3 4.4) data addresses may have tags.
 */
#include "bare.h"

#define BADA "movabsq $0x800000000000, %rbx;"   /* 10 bytes */

void canon_group(void);
void canon_group(void)
{
    start_kernel();
    T("load", BADA "movb (%rbx), %al", "#GP(0) ip=a");
    T("store", BADA "movb %al, (%rbx)", "#GP(0) ip=a");
    T("high", "movabsq $0xffff7fffffffffff, %rbx; movb (%rbx), %al", "#GP(0)");
    T("rsp-load", "movabsq $0x800000000000, %rsp; movq (%rsp), %rax", "#DF");
    T("rbp-base", "movabsq $0x800000000000, %rbp; movq (%rbp), %rax", "#SS(0) ip=a");
    T("rbp-base-ds-prefix", "movabsq $0x800000000000, %rbp; .byte 0x3e; movq (%rbp), %rax", "#SS(0)");
    T("rbp-base-fs", "movabsq $0x800000000000, %rbp; movq %fs:(%rbp), %rax", "#GP(0)");
    T("rbx-base-ss-prefix", BADA ".byte 0x36; movq (%rbx), %rax", "#GP(0)");
    T("r13-base-is-ds", "movabsq $0x800000000000, %r13; movq (%r13), %rax", "#GP(0)");
    T("jmp", BADA "jmp *%rbx", "#GP(0) ip=a");
    T("call", BADA "call *%rbx", "#GP(0) ip=a dsp=0");
    T("ret", BADA "pushq %rbx; ret", "#GP(0) ip=b dsp=-8");
    T("ret-imm", BADA "pushq %rbx; ret $8", "#GP(0) ip=b dsp=-8");
    T("lret", BADA "pushq $8; pushq %rbx; lretq", "#GP(0) ip=d dsp=-10");
    T("iret", BADA "pushq $0x10; pushq $0; pushfq; pushq $8; pushq %rbx; iretq", "#GP(0) dsp=-28");
    T("lea-is-free", BADA "lea (%rbx), %rax", "ok ax=800000000000");
    T("nop-is-free", BADA "nopl (%rbx)", "ok");
    T("prefetch-is-free", BADA "prefetcht0 (%rbx)", "ok");
    T("invlpg-is-nop", BADA "invlpg (%rbx)", "ok");
    T("clflush", BADA "clflush (%rbx)", "#GP(0)");
    T("wrmsr-fsbase", "movl $0xc0000100, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("wrmsr-gsbase", "movl $0xc0000101, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("wrmsr-kernelgs", "movl $0xc0000102, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("wrmsr-lstar", "movl $0xc0000082, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("wrmsr-cstar", "movl $0xc0000083, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("wrmsr-sysenter-eip", "movl $0x176, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("wrmsr-sysenter-esp", "movl $0x175, %ecx; xorl %eax, %eax; movl $0x40000000, %edx; wrmsr", "#GP(0)");
    T("string-source", "movabsq $0x800000000000, %rsi; lodsb", "#GP(0)");
    T("string-target", "movabsq $0x800000000000, %rdi; stosb", "#GP(0)");
    start_user();
    T("push", "movabsq $0x800000000000, %rsp; pushq %rax", "#PF(6) ip=a sp=800000000000 cr2=7ffffffffff8");
    T("push-edge", "movabsq $0x800000000008, %rsp; pushq %rax", "#SS(0) sp=800000000008");
    T("pop", "movabsq $0x800000000000, %rsp; popq %rax", "#SS(0)");
    T("user-ret-from", "movabsq $0x800000000000, %rsp; ret", "#SS(0)");
    T("user-call-to-stack", "movabsq $0x800000000008, %rsp; call .+5", "#SS(0) ip=a");
    T("user-iret-from", "movabsq $0x800000000000, %rsp; iretq", "#SS(0)");
    T("user-enter", "movabsq $0x800000000010, %rsp; enter $8, $0", "#SS(0)");
    T("user-leave", "movabsq $0x800000000000, %rbp; leave", "#SS(0) sp=4f000");
    T("user-pushf", "movabsq $0x800000000008, %rsp; pushfq", "#SS(0)");
    T("addr32-wraps", "movl $0xffffffff, %ebx; movl $0x40001, %ecx; .byte 0x67; movb (%rbx,%rcx), %al", "ok");
}

/* Where the check is missing the machine is lost: a group of their own. */
void canon_tables_group(void);
void canon_tables_group(void)
{
    start_kernel();
    T("lgdt", "movabsq $0x4000000000000000, %rbx; pushq %rbx; pushw $0xff; lgdt (%rsp)", "#GP(0)");
    T("lidt", "movabsq $0x4000000000000000, %rbx; pushq %rbx; pushw $0xff; lidt (%rsp)", "#GP(0)");
}

#define TAGGED "movabsq $0x5400000000040000, %rbx;"

void lam_group(void);
void lam_group(void)
{
    ulong cr3 = cr3_get();

    if (!(cpuid(7, 1).a >> 26 & 1)) {
        skip("all", "lam");
        return;
    }
    start_user();
    T("off", TAGGED "movb (%rbx), %al", "#GP(0) ip=a");
    cr3_set(cr3 | 1ul << 61);
    T("load", "movb $0x42, 0x40000;" TAGGED "movb (%rbx), %al; movzbl %al, %eax", "ok ax=42");
    T("store", TAGGED "movb $0x43, (%rbx); movzbl 0x40000, %eax", "ok ax=43");
    T("bit-56", "movabsq $0x100000000040000, %rbx; movb (%rbx), %al", "#GP(0)");
    T("page-fault", "movabsq $0x5400000000070000, %rbx; movb (%rbx), %al", "#PF(5) cr2=70000");
    T("push", "movabsq $0x540000000004f000, %rsp; pushq %rax", "ok sp=540000000004eff8");
    T("stack-fault", "movabsq $0x500000000040000, %rsp; popq %rax", "#SS(0)");
    T("jmp", "lea 1f(%rip), %rax; btsq $62, %rax; jmp *%rax; 1:", "#GP(0)");
    cr3_set(cr3 | 1ul << 62);
    T("48-bits", "movb $0x44, 0x40000; movabsq $0x7fff000000040000, %rbx; movzbl (%rbx), %eax", "ok ax=44");
    T("48-bits-bit-47", "movabsq $0x7fff800000040000, %rbx; movb (%rbx), %al", "#GP(0)");
    start_kernel();
    T("kernel-to-user", "movb $0x45, 0x40000; movabsq $0x7fff000000040000, %rbx; movzbl (%rbx), %eax", "ok ax=45");
    cr3_set(cr3);
    cr4_set(cr4_get() | CR4_LAM_SUP);
    T("user-half-off", TAGGED "movb (%rbx), %al", "#GP(0)");
    T("kernel-half", "movabsq $0x80ffffffffffffff, %rbx; movb (%rbx), %al", "#PF(0) cr2=ffffffffffffffff");
    cr4_set(cr4_get() & ~(ulong)CR4_LAM_SUP);
    T("kernel-half-off", "movabsq $0x80ffffffffffffff, %rbx; movb (%rbx), %al", "#GP(0)");
}
