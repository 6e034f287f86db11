/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call, interrupt and trap gates of 32-bit protected mode, the stacks they switch to, and the error codes
 * of what goes wrong on the way (SDM vol. 3 ch. 5, 6; vol. 2 CALL, INT). An error code from an IDT entry is
 * vector * 8 + 2, plus EXT (1) unless INT n asked.
 */
#include "bare.h"

enum { G = SEL_FREE, A = SEL_FREE + 8, B = SEL_FREE + 16 };

static void gate_set(u16 sel, const void *to, u32 count, u8 access)
{
    ulong a = (ulong)to;

    gdt[G >> 3] = (a & 0xffff) | (u64)sel << 16 | (u64)count << 32 | (u64)access << 40 | (u64)(a >> 16) << 48;
}

static u32 depth(void)
{
    return (ulong)estack_top - rec.sp;
}

static const void *landing(void)
{
    return CODE("32", "movl %esp, %ebp; movl (%esp), %ecx; movl 4(%esp), %edx; movl 8(%esp), %esi; "
          "movl 12(%esp), %edi");
}

static void call_gates(void)
{
    const void *to = landing();

    start_kernel();
    gate_set(KCS, to, 0, 0x8c);
    T("gate-same-level", "lcall $0x80, $0xffffffff", "ok cs=8 dsp=-8 dx=8");
    T("gate-rpl-above-dpl-at-0", "lcall $0x83, $0", "#GP(80) ip=0");
    start_user();
    T("gate-dpl0-from-user", "lcall $0x80, $0", "#GP(80) ip=0");
    T("gate-rpl-above-dpl", "lcall $0x83, $0", "#GP(80)");
    gate_set(KCS, to, 0, 0xec);
    start.regs[AX] = 7;
    T("gate-inner", "lcall $0x83, $0; 1: nop", "ok cs=8 dx=1b si=4f000 di=23 ax=7");
    check_num("gate-inner-depth", depth(), 16);
    check_num("gate-inner-ss", rec.ss, KDS);
    T("gate-jmp-inner", "ljmp $0x83, $0", "#GP(8)");
    gate_set(KCS, to, 2, 0xec);
    T("gate-copies-parameters", "pushl $0x2222; pushl $0x1111; lcall $0x83, $0", "ok dx=1b si=1111 di=2222");
    check_num("gate-copies-parameters-depth", depth(), 24);
}

/* A 16-bit gate holds 16 bits of offset; its target needs a base. */
static void call_gates_16(void)
{
    const void *to = CODE("32",
      "movzwl (%esp), %ecx; movzwl 2(%esp), %edx; movzwl 4(%esp), %esi; movzwl 6(%esp), %edi");

    start_user();
    gdt_set(A, SNIP_BASE, 0xffff, 0x9b, 4);
    gate_set(A, (const void *)((ulong)to - SNIP_BASE), 0, 0xe4);
    T("gate-16-inner", "lcall $0x83, $0", "ok cs=88 dx=1b si=f000 di=23");
    check_num("gate-16-depth", depth(), 8);
}

static void call_gate_faults(void)
{
    const void *to = landing();

    start_user();
    gate_set(KCS, to, 0, 0x6c);
    T("gate-not-present", "lcall $0x83, $0", "#NP(80)");
    gate_set(0, to, 0, 0xec);
    T("gate-null-target", "lcall $0x83, $0", "#GP(0)");
    gate_set(KDS, to, 0, 0xec);
    T("gate-to-data", "lcall $0x83, $0", "#GP(10)");
    gate_set(0x408, to, 0, 0xec);
    T("gate-beyond-gdt", "lcall $0x83, $0", "#GP(408)");
    gdt_set(A, 0, 0xfffff, 0x1b, 0xc);
    gate_set(A, to, 0, 0xec);
    T("gate-target-not-present", "lcall $0x83, $0", "#NP(88)");
    gdt_set(A, 0, 0xfffff, 0xfb, 0xc);
    start_kernel();
    T("gate-to-outer", "lcall $0x80, $0", "#GP(88)");
    start_user();
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    T("gate-conforming", "lcall $0x83, $0", "ok cs=8b dsp=-8");
    gdt_set(A, 0, 0xf, 0x9b, 4);
    T("gate-beyond-limit", "lcall $0x83, $0", "#GP(0)");
}

/* The new stack comes from the TSS. The handlers need a good one, so these go to level 1 code and stack. */
static void stack_switch_faults(void)
{
    const void *to = landing();

    desc_init();
    start_user();
    gdt_set(A, 0, 0xfffff, 0xbb, 0xc);          /* code, DPL 1 */
    gdt_set(B, 0, 0xfffff, 0xb3, 0xc);          /* data, DPL 1 */
    gate_set(A, to, 0, 0xec);
    tss_set_stack(1, 0x4d000, B | 1);
    T("gate-to-level-1", "lcall $0x83, $0", "ok cs=89 ss=91 sp=4cff0");
    tss_set_stack(1, 0x4d000, 0);
    T("ss1-null", "lcall $0x83, $0", "#TS(0) ip=0 cs=1b");
    tss_set_stack(1, 0x4d000, B);
    T("ss1-rpl", "lcall $0x83, $0", "#TS(90)");
    tss_set_stack(1, 0x4d000, KDS | 1);
    T("ss1-dpl", "lcall $0x83, $0", "#TS(10)");
    tss_set_stack(1, 0x4d000, A | 1);
    T("ss1-code", "lcall $0x83, $0", "#TS(88)");
    tss_set_stack(1, 0x4d000, 0x409);
    T("ss1-beyond-gdt", "lcall $0x83, $0", "#TS(408)");
    tss_set_stack(1, 0x4d000, B | 1);
    gdt_set(B, 0, 0xfffff, 0xb1, 0xc);
    T("ss1-read-only", "lcall $0x83, $0", "#TS(90)");
    gdt_set(B, 0, 0xfffff, 0x33, 0xc);
    T("ss1-not-present", "lcall $0x83, $0", "#SS(90)");
    gdt_set(B, UBUF, 0xfff, 0xb3, 4);
    tss_set_stack(1, 8, B | 1);
    T("ss1-too-small", "lcall $0x83, $0", "#SS(90) ip=0 ss=23");
    idt_set(0x60, A, to, 0xee);
    tss_set_stack(1, 0x4d000, KDS | 1);
    T("int-ss1-dpl", "int $0x60", "#TS(10) ip=0");
    idt_set(UD, A, to, 0x8e);
    T("exception-ss1-dpl-has-ext", "ud2", "#TS(11) ip=0");
    tss_set_stack(1, 8, B | 1);
    T("int-ss1-too-small", "int $0x60", "#SS(90)");
    T("exception-ss1-too-small", "ud2", "#SS(91)");
    idt_default(UD);
}

static void idt_faults(void)
{
    const void *to = landing();

    desc_init();
    start_user();
    T("int-dpl0", "int $0x61", "#GP(30a) ip=0");
    T("int-of-exception-dpl0", "int $0xd", "#GP(6a) ip=0");
    idt_set(0x60, KCS, to, 0x6e);
    T("int-not-present", "int $0x60", "#NP(302) ip=0");
    idt_set(0x60, KCS, to, 0xec);
    T("int-bad-type", "int $0x60", "#GP(302)");
    idt_set(0x60, 0, to, 0xee);
    T("int-null-target", "int $0x60", "#GP(0)");
    idt_set(0x60, KDS, to, 0xee);
    T("int-to-data", "int $0x60", "#GP(10)");
    gdt_set(A, 0, 0xfffff, 0x1b, 0xc);
    idt_set(0x60, A, to, 0xee);
    T("int-target-not-present", "int $0x60", "#NP(88)");
    gdt_set(A, 0, 0xf, 0x9b, 4);
    T("int-beyond-limit", "int $0x60", "#GP(0)");
    gdt_set(A, 0, 0xfffff, 0xfb, 0xc);
    start_kernel();
    T("int-to-outer", "int $0x60", "#GP(88)");
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    start_user();
    T("int-conforming-keeps-level", "int $0x60", "ok cs=8b");
    idt_set(UD, KCS, to, 0x0e);
    T("exception-gate-not-present", "ud2", "#NP(33) ip=0");
    idt_set(UD, 0, to, 0x8e);
    T("exception-null-target", "ud2", "#GP(1)");
    idt_set(UD, KDS, to, 0x8e);
    T("exception-to-data", "ud2", "#GP(11)");
    idt_default(UD);
    idt_set(BP_, KCS, to, 0x8e);
    T("int3-dpl0", "int3", "#GP(1a) ip=0");
    T("int-3-dpl0", ".byte 0xcd, 3", "#GP(1a) ip=0");
    idt_default(BP_);
    idt_set(OF, KCS, to, 0x8e);
    T("into-dpl0", "movb $0x7f, %al; incb %al; into", "#GP(22)");
    idt_default(OF);
    T("into-not-taken", "xorl %eax, %eax; into", "ok");
    T("into-taken", "movb $0x7f, %al; incb %al; into", "#OF ip=5");
    T("icebp-ignores-dpl", ".byte 0xf1", "#DB ip=1");
    T("bound", "pushl $2; pushl $1; movl $3, %eax; bound %eax, (%esp)", "#BR ip=9 rf=1");
    T("int3-is-a-trap", "int3", "#BP ip=1 rf=0");
}

static void idt_limit(void)
{
    struct {
        u16 limit;
        u32 base;
    } __attribute__((packed)) d;

    __asm__ volatile("sidt %0" : "=m"(d));
    d.limit = 0x61 * 8 + 6;
    __asm__ volatile("lidt %0" : : "m"(d));
    start_user();
    T("int-beyond-idt", "int $0x70", "#GP(382) ip=0");
    T("int-half-in-idt", "int $0x61", "#GP(30a) ip=0");
    desc_load();
}

/* What the gates do to the flags, and their frames. */
static void gate_flags(void)
{
    const void *to = CODE("32", "pushfl; popl %eax; movl (%esp), %ecx; movl 8(%esp), %edx");

    start_kernel();
    start.flags = 2 | FL_IF | FL_NT | FL_AC | 0x8d5;
    idt_set(0x60, KCS, to, 0x8e);
    T("interrupt-gate-flags", "int $0x60", "ok ax=408d7");
    idt_set(0x60, KCS, to, 0x8f);
    T("trap-gate-keeps-if", "int $0x60", "ok ax=40ad7");
    start_user();
    start.flags = 2 | FL_IF;
    idt_set(0x60, KCS, to, 0xee);
    T("frame-flags", "int $0x60", "ok dx=202");
    start.flags = 2;
    T("fault-frame-has-rf", "ud2", "#UD rf=1 ip=0");
    T("int-frame-has-no-rf", "nop", "ok rf=0");
    to = CODE("32", "movzwl (%esp), %ecx; movzwl 2(%esp), %edx; movzwl 4(%esp), %esi; movzwl 6(%esp), %edi; "
          "movzwl 8(%esp), %ebp");
    gdt_set(A, SNIP_BASE, 0xffff, 0x9b, 4);
    idt_set(0x60, A, (const void *)((ulong)to - SNIP_BASE), 0xe6);
    start.flags = 0x202;
    T("int-16-gate", "int $0x60; nop", "ok cs=88 dx=1b si=202 di=f000 bp=23");
    check_num("int-16-gate-depth", depth(), 10);
    to = CODE("32", "movzwl (%esp), %ecx; movzwl 2(%esp), %edx");
    idt_set(GP, A, (const void *)((ulong)to - SNIP_BASE), 0x86);
    T("int-16-gate-error-code", "int $0x61", "ok cx=30a");
    idt_default(GP);
}

/* Each of these ends in the double-fault task. */
static void double_faults(void)
{
    const void *to = landing();

    desc_init();
    start_user();
    idt_set(DE, 0, to, 0x8e);
    T("de-gp-is-df", "xorl %ecx, %ecx; divl %ecx", "#DF(0) ip=2 cs=1b");
    idt_default(DE);
    idt_set(GP, KCS, to, 0x0e);
    T("gp-np-is-df", "cli", "#DF(0) ip=0");
    idt_default(GP);
    idt_set(NP, 0, to, 0x8e);
    idt_set(UD, KCS, to, 0x0e);
    T("ud-np-gp-is-df", "ud2", "#DF(0) ip=0");
    desc_init();
    start_user();
    gate_set(KCS, to, 0, 0xec);
    tss_set_stack(0, (ulong)estack_top, 0);
    T("gate-ss0-null", "lcall $0x83, $0", "#DF(0) ip=0");
    desc_init();
    start_user();
    tss_set_stack(0, (ulong)estack_top, UDS);
    T("ud-with-bad-ss0", "ud2", "#DF(0) ip=0");
    desc_init();
    start_kernel();
    gdt_set(A, UBUF, 0xfff, 0x93, 4);
    start.ss = A;
    start.sp = 0x100;
    T("fault-on-a-full-stack", "movl $4, %esp; ud2", "#DF(0) ip=5 sp=4");
    desc_init();
    start_kernel();
}

/* Benign first faults: no double fault. */
static void no_double_faults(void)
{
    const void *to = landing();

    desc_init();
    start_user();
    idt_set(BR, KCS, to, 0x0e);
    T("br-np-is-no-df", "pushl $2; pushl $1; movl $3, %eax; bound %eax, (%esp)", "#NP(2b)");
    idt_set(NM, KCS, to, 0x0e);
    cr0_set(cr0_get() | CR0_TS);
    T("nm-np-is-no-df", "fnop", "#NP(3b)");
    cr0_set(cr0_get() & ~CR0_TS);
    desc_init();
}

void gates_group(void);
void gates_group(void)
{
    call_gates();
    call_gates_16();
    call_gate_faults();
    stack_switch_faults();
    idt_faults();
    idt_limit();
    gate_flags();
    no_double_faults();
}

void df32_group(void);
void df32_group(void)
{
    double_faults();
}
