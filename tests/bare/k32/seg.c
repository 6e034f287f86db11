/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments in 32-bit protected mode (SDM vol. 3 ch. 3, 5): limits, expand-down, types on access, what
 * loading a selector checks, and in which order. Limit faults carry error code 0; #SS through SS, #GP
 * through the others.
 */
#include "bare.h"

enum { A = SEL_FREE, B = SEL_FREE + 8, C = SEL_FREE + 16, D = SEL_FREE + 24 };

/* FS = a byte-granular segment of 1000h bytes at UBUF */
static void limits_up(void)
{
    gdt_set(A, UBUF, 0xfff, 0x93, 4);
    start.fs = A;
    T("byte-at-limit", "movb %fs:0xfff, %al", "ok");
    T("byte-above-limit", "movb %fs:0x1000, %al", "#GP(0) ip=0");
    T("word-across-limit", "movw %fs:0xfff, %ax", "#GP(0) ip=0");
    T("dword-last", "movl %fs:0xffc, %eax", "ok");
    T("dword-across-limit", "movl %fs:0xffd, %eax", "#GP(0)");
    T("qword-across-limit", "fildll %fs:0xff9", "#GP(0)");
    T("write-across-limit", "movl %eax, %fs:0xffe", "#GP(0) ip=0");
    T("rmw-above-limit", "incl %fs:0x2000", "#GP(0) ip=0");
    T("offset-wraps", "movl %fs:0xfffffffe, %eax", "#GP(0)");
    T("lea-has-no-limit", ".byte 0x64; leal 0x100000, %eax", "ok ax=100000");
    T("string-source-limit", "movl $0x1000, %esi; lodsb %fs:(%esi), %al", "#GP(0) ip=5 si=1000");
    T("push-from-above-limit", "pushl %fs:0xffd", "#GP(0) dsp=0");
    gdt_set(A, UBUF, 0, 0x93, 0xc);
    T("page-granular-last", "movb %fs:0xfff, %al", "ok");
    T("page-granular-above", "movb %fs:0x1000, %al", "#GP(0)");
    gdt_set(A, UBUF, 0, 0x93, 4);
    T("one-byte-segment", "movb %fs:0, %al", "ok");
    T("one-byte-segment-word", "movw %fs:0, %ax", "#GP(0)");
}

static void limits_down(void)
{
    gdt_set(A, UBUF, 0xfff, 0x97, 4);
    start.fs = A;
    T("down-at-limit", "movb %fs:0xfff, %al", "#GP(0)");
    T("down-first", "movb %fs:0x1000, %al", "ok");
    T("down-zero", "movb %fs:0, %al", "#GP(0)");
    T("down-big-64k", "movb %fs:0x10000, %al", "ok");
    T("down-big-top", "movl $0xfffffffc, %ebx; subl %ebx, %ebx; movb %fs:0x7fffffff(%ebx), %al", "ok");
    T("down-big-wrap", "movl %fs:0xfffffffe, %eax", "#GP(0)");
    gdt_set(A, UBUF, 0xfff, 0x97, 0);
    T("down-small-first", "movb %fs:0x1000, %al", "ok");
    T("down-small-top", "movb %fs:0xffff, %al", "ok");
    T("down-small-above-64k", "movb %fs:0x10000, %al", "#GP(0)");
    T("down-small-across-64k", "movw %fs:0xffff, %ax", "#GP(0)");
}

static void stack_limits(void)
{
    gdt_set(A, UBUF, 0xfff, 0x93, 4);
    gdt_set(B, UBUF, 0x0fff, 0xf3, 4);
    start_user();
    start.ss = B | 3;
    start.sp = 0x1000;
    T("push-at-top", "pushl %eax", "ok dsp=-4");
    start.sp = 0x1004;
    T("push-above-limit", "pushl %eax", "#SS(0) ip=0 dsp=0");
    start.sp = 2;
    T("push-wraps-below-0", "pushl %eax", "#SS(0) dsp=0");
    start.sp = 0xffe;
    T("pop-across-limit", "popl %eax", "#SS(0) dsp=0");
    T("ret-across-limit", "ret", "#SS(0) dsp=0 ip=0");
    start.sp = 0x10;
    T("pusha-below-0", "pushal", "#SS(0) dsp=0");
    T("call-checks-stack-first", "movl $1, %esp; call .+5", "#SS(0) ip=5 sp=1");
    T("enter-below-0", "movl $4, %esp; enter $0x10, $0", "#SS(0) sp=4");
    start.regs[BP] = 0x1000;
    T("ebp-uses-ss", "movb (%ebp), %al", "#SS(0)");
    T("ebp-with-ds", "movb %ds:(%ebp), %al", "ok");
    T("esp-base-uses-ss", "movb 0x2000(%esp), %al", "#SS(0)");
    start_kernel();
}

static void types(void)
{
    gdt_set(A, UBUF, 0xffff, 0x91, 4);      /* read-only data */
    gdt_set(B, UBUF, 0xffff, 0x99, 4); /* execute-only code */
    gdt_set(C, UBUF, 0xffff, 0x9b, 4); /* readable code */
    start.fs = A;
    T("read-only-read", "movl %fs:0, %eax", "ok");
    T("read-only-write", "movl %eax, %fs:0", "#GP(0) ip=0");
    T("read-only-rmw", "orl %eax, %fs:0", "#GP(0)");
    T("cs-write", "movl %eax, %cs:0x40000", "#GP(0) ip=0");
    start.fs = C;
    T("code-read", "movl %fs:0, %eax", "ok");
    T("code-write", "movl %eax, %fs:0", "#GP(0)");
    start.fs = 0;
    T("null-read", "movl %fs:0, %eax", "#GP(0)");
    T("null-read-byte-0", "movb %fs:0, %al", "#GP(0)");
    T("null-write", "movl %eax, %fs:0", "#GP(0)");
    start.fs = 3;
    T("null-rpl3-read", "movl %fs:0, %eax", "#GP(0)");
    start.fs = KDS;
}

/* Loads of DS, ES, FS, GS and SS with every kind of descriptor. */
static void loads(void)
{
    start.regs[AX] = A;
    gdt_set(A, 0, 0xfffff, 0x13, 0xc);
    T("ds-not-present", "movw %ax, %ds", "#NP(80) ip=0 ds=10");
    T("ss-not-present", "movw %ax, %ss", "#SS(80) ip=0 ss=10");
    gdt_set(A, 0, 0xfffff, 0x99, 0xc);
    T("ds-execute-only", "movw %ax, %ds", "#GP(80)");
    gdt_set(A, 0, 0xfffff, 0x9b, 0xc);
    T("ds-readable-code", "movw %ax, %ds", "ok ds=80");
    T("ss-code", "movw %ax, %ss", "#GP(80)");
    gdt_set(A, 0, 0xfffff, 0x91, 0xc);
    T("ss-read-only", "movw %ax, %ss", "#GP(80)");
    gdt_set(A, 0, 0xfffff, 0xb3, 0xc);
    T("ss-dpl-not-cpl", "movw %ax, %ss", "#GP(80)");
    start.regs[AX] = KDS | 1;
    T("ss-rpl-not-cpl", "movw %ax, %ss", "#GP(10)");
    start.regs[AX] = 0;
    T("ss-null", "movw %ax, %ss", "#GP(0)");
    T("ds-null", "movw %ax, %ds", "ok ds=0");
    start.regs[AX] = TSS_SEL;
    T("ds-system", "movw %ax, %ds", "#GP(28)");
    start.regs[AX] = 0x408;
    T("ds-beyond-gdt", "movw %ax, %es", "#GP(408)");
    start.regs[AX] = 0x0c;
    T("ds-in-empty-ldt", "movw %ax, %es", "#GP(c)");
    T("les-not-writable-order", "movw $0x80, %bx; pushw %bx; pushl $0x1234; les (%esp), %edi", "ok es=80 di=1234");
    gdt_set(A, 0, 0xfffff, 0x13, 0xc);
    T("lss-not-present", "pushl $0x80; pushl $0x1234; lss (%esp), %edi", "#SS(80) di=0 ip=a");
    T("lds-not-present", "pushl $0x80; pushl $0x1234; lds (%esp), %edi", "#NP(80) di=0");
    T("pop-ds-not-present", "pushl $0x80; popl %ds", "#NP(80) dsp=-4 ip=5");
}

static void loads_user(void)
{
    start_user();
    start.regs[AX] = KDS;
    T("user-ds-dpl0", "movw %ax, %ds", "#GP(10)");
    start.regs[AX] = KDS | 3;
    T("user-ds-dpl0-rpl3", "movw %ax, %ds", "#GP(10)");
    T("user-ss-dpl0", "movw %ax, %ss", "#GP(10)");
    start.regs[AX] = UDS & ~3;
    T("user-ds-rpl0", "movw %ax, %ds", "ok ds=20");
    T("user-ss-rpl0", "movw %ax, %ss", "#GP(20)");
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    start.regs[AX] = A | 3;
    T("user-ds-conforming-dpl0", "movw %ax, %ds", "ok ds=83");
    gdt_set(A, 0, 0xfffff, 0x9b, 0xc);
    T("user-ds-nonconforming-dpl0", "movw %ax, %ds", "#GP(80)");
    gdt_set(A, 0, 0xfffff, 0x1b, 0xc);
    T("user-privilege-before-present", "movw %ax, %ds", "#GP(80)");
    gdt_set(A, 0, 0xfffff, 0xf2, 0xc);
    T("load-sets-accessed", "movw %ax, %ds", "ok ds=83");
    check_num("accessed-bit-in-table", gdt[A >> 3] >> 40 & 0xff, 0xf3);
    start_kernel();
    start.regs[AX] = UDS;
    T("kernel-ds-rpl3-dpl3", "movw %ax, %ds", "ok ds=23");
    start.regs[AX] = KDS | 3;
    T("kernel-ds-rpl3-dpl0", "movw %ax, %ds", "#GP(10)");
}

/* Far jumps and calls to code segments. */
static void far_transfers(void)
{
    start_kernel();
    T("jmp-null", "ljmp $0, $0", "#GP(0) ip=0");
    T("jmp-null-rpl", "ljmp $3, $0", "#GP(0)");
    T("jmp-data", "ljmp $0x10, $0", "#GP(10)");
    T("jmp-beyond", "ljmp $0x408, $0", "#GP(408)");
    T("jmp-tss-reserved-type", "ljmp $0x40, $0x10000", "#GP(40)");
    T("jmp-outer", "ljmp $0x1b, $0", "#GP(18)");
    T("jmp-rpl-above", "ljmp $0xb, $0", "#GP(8)");
    gdt_set(A, 0, 0xfffff, 0x1b, 0xc);
    T("jmp-not-present", "ljmp $0x80, $0", "#NP(80)");
    T("call-not-present-no-push", "lcall $0x80, $0", "#NP(80) dsp=0");
    gdt_set(A, SNIP_BASE, 0xf, 0x9b, 4);
    T("jmp-beyond-limit", "ljmp $0x80, $0x10", "#GP(0) ip=0 cs=8");
    T("call-beyond-limit", "lcall $0x80, $0x10", "#GP(0) ip=0 dsp=0");
    gdt_set(A, 0, 0xfffff, 0x9a, 0xc);
    T("jmp-ok", "ljmp $0x80, $1f; 1: movl %cs, %eax", "ok ax=80 cs=80");
    check_num("jmp-sets-accessed", gdt[A >> 3] >> 40 & 0xff, 0x9b);
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    T("jmp-conforming-rpl-ignored", "ljmp $0x83, $1f; 1: movl %cs, %eax", "ok ax=80");
    gdt_set(A, 0, 0xfffff, 0xff, 0xc);
    T("jmp-conforming-outer", "ljmp $0x83, $0", "#GP(80)");
    start_user();
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    T("user-jmp-conforming-inner", "ljmp $0x80, $1f; 1: movl %cs, %eax", "ok ax=83");
    T("user-call-conforming-inner", "lcall $0x80, $1f; 1: movl %cs, %eax", "ok ax=83 dsp=-8");
    T("user-jmp-kernel", "ljmp $8, $0", "#GP(8)");
    T("user-ret-inner", "pushl $8; pushl $0; lret", "#GP(8) dsp=-8");
    T("user-ret-rpl0-in-user-cs", "pushl $0x18; pushl $0; lret", "#GP(18)");
    start_kernel();
    gdt_set(A, 0, 0x5f, 0x9b, 0xc);
    memcpy((void *)0x60000, "\xcd\x20", 2);
    T("near-jmp-beyond", "ljmp $0x80, $1f; 1: movl $0x60000, %eax; jmp *%eax", "#GP(0) ip=c");
    T("near-call-beyond", "ljmp $0x80, $1f; 1: movl $0x60000, %eax; call *%eax", "#GP(0) ip=c dsp=0");
    T("near-ret-beyond", "ljmp $0x80, $1f; 1: pushl $0x60000; ret", "#GP(0) ip=c dsp=-4");
    T("jcc-beyond", "ljmp $0x80, $1f; 1: xorl %eax, %eax; jz 0x60000", "#GP(0) ip=9");
    T("jcc-beyond-not-taken", "ljmp $0x80, $1f; 1: xorl %eax, %eax; jnz 0x60000", "ok");
    gdt_set(A, SNIP_BASE, 0xffff, 0x9b, 4);
    gdt_set(B, 0, 0x4f, 0x9b, 0xc);
    memcpy((void *)0x4fffe, "\x90\xb8\0\0\0\0\xcd\x20", 8);   /* NOP; MOV EAX, imm32; INT 20h */
    T("fetch-across-limit", "ljmp $0x88, $0x4fffe", "#GP(0) cs=88 rip=4ffff");
}

static void lret_outer(void)
{
    start_kernel();
    T("lret-outer", "pushl $0x23; pushl $0x4e000; pushl $0x1b; pushl $1f; lret; 1: movl %cs, %eax",
      "ok ax=1b ss=23 sp=4e000");
    T("lret-outer-nulls-ds", "pushl $0x23; pushl $0x4e000; pushl $0x1b; pushl $1f; lret; 1:",
      "ok ds=0 es=0 fs=0 gs=0");
    start.ds = start.es = UDS;
    T("lret-outer-keeps-user-ds", "pushl $0x23; pushl $0x4e000; pushl $0x1b; pushl $1f; lret; 1:", "ok ds=23 es=23");
    start_kernel();
    T("lret-outer-ss-null", "pushl $0; pushl $0x4e000; pushl $0x1b; pushl $0; lret", "#GP(0)");
    T("lret-outer-ss-rpl", "pushl $0x10; pushl $0x4e000; pushl $0x1b; pushl $0; lret", "#GP(10)");
    gdt_set(A, 0, 0xfffff, 0x73, 0xc);
    T("lret-outer-ss-not-present", "pushl $0x83; pushl $0x4e000; pushl $0x1b; pushl $0; lret", "#SS(80)");
    T("lret-null-cs", "pushl $0; pushl $0; lret", "#GP(0)");
    T("lret-imm-outer", "pushl $0x23; pushl $0x4e000; pushl $9; pushl $0x1b; pushl $1f; lret $4; 1:", "ok sp=4e004");
    T("lret-rpl-in-cs-of-code0", "pushl $0x23; pushl $0x4e000; pushl $0xb; pushl $0; lret", "#GP(8)");
}

void seg32_group(void);
void seg32_group(void)
{
    limits_up();
    limits_down();
    start_kernel();
    stack_limits();
    types();
    loads();
    loads_user();
    far_transfers();
    lret_outer();
}
