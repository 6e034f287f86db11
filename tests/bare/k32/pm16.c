/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 16-bit protected mode: operand, address and stack sizes by D and B bits (SDM vol. 1 3.6, vol. 3 3.4.5,
 * ch. 22), and the rules of POPF, IRET, LMSW, LAR, LSL, VERR, VERW, ARPL.
 */
#include "bare.h"

enum { A = SEL_FREE, B = SEL_FREE + 8, C = SEL_FREE + 16, LDTS = SEL_FREE + 24 };

static void start_16(bool user)
{
    if (user) {
        start_user();
        start.cs = UCS16;
        start.ss = start.ds = start.es = UDS16;
    } else {
        start_kernel();
        start.cs = CS16;
        start.ss = start.ds = start.es = DS16;
    }
    start.sp = 0xe000;
}

static void sizes(void)
{
    start_16(false);
    T16("push-16", "pushw %ax", "ok dsp=-2");
    T16("push-32", "pushl %eax", "ok dsp=-4");
    start.sp = 0x4e000;
    T16("sp-high-half-unused", "pushw $0x1234; movw 0xdffe, %ax", "ok ax16=1234 sp16=dffe");
    start.sp = 0;
    T16("sp-wraps", "pushw %ax; movw %sp, %cx; movw $0xe000, %sp", "ok cx16=fffe");
    start.sp = 0xe000;
    T16("call-near", "callw 1f; 1: popw %ax", "ok dsp=0");
    T16("ip-wraps-at-16", "movw $0x1234, %ax; jmp 1f; 1: nop", "ok ax16=1234");
    T16("jmp-32-beyond", "movl $0x10000, %eax; jmpl *%eax", "#GP(0) ip=6");
    T16("address-wraps", "movw $0xfff0, %bx; movw $0x5678, 0x10; movw 0x20(%bx), %ax", "ok ax16=5678");
    T16("address-32-limit", "movl $0x10000, %ebx; movb (%ebx), %al", "#GP(0)");
    T16("enter-16", "enterw $8, $0; movw %sp, %ax", "ok ax16=dff6");
    T16("enter-nested", "movw $0xd000, %bp; enterw $4, $2; movw %sp, %ax", "ok ax16=dff6 bp=dffe");
    T16("pusha-16", "pushaw", "ok dsp=-10");
    T16("popa-skips-sp", "pushaw; movw $0, %bx; popaw", "ok dsp=0");
    T16("lret-16", "movl $1f - 0x30000, %eax; pushw %cs; pushw %ax; lretw; 1:", "ok dsp=0");
    T16("iret-16", "movl $1f - 0x30000, %eax; pushfw; pushw %cs; pushw %ax; iretw; 1:", "ok dsp=0");
    T16("int-frame-is-the-gates", "int $0x20", "ok dsp=0");
    T16("loop-uses-cx", "movl $0x10001, %ecx; loop 1f; movb $1, %al; 1:", "ok cx=10000 al=1");
    T16("jcxz-16", "movl $0x10000, %ecx; jcxz 1f; movb $1, %al; 1:", "ok al=0");
    T16("lea-16", "movl $0x12345678, %ebx; xorl %eax, %eax; leaw 1(%bx), %ax", "ok ax=5679");
    T16("rep-cx-only", "movl $0x10000, %ecx; rep lodsb", "ok cx=10000");
    T16("push-seg-32-writes-word", "movl $0xffffffff, 0xdffc; pushl %ds; movw 0xdffc, %ax", "ok ax16=40 dsp=-4");
    T16("sgdt-writes-6", "movl $-1, 0x106; sgdtl 0x100; movw 0x106, %ax", "ok ax16=ffff");
    T16("lgdt-16-base-24", "sgdtl 0x100; sgdtl 0x110; movb $0x55, 0x105; lgdtw 0x100; sgdtl 0x108; movb 0x10d, %al;"
        "lgdtl 0x110", "ok al=0");
    start_16(true);
    T16("user-16", "pushw %ax; movw %cs, %ax", "ok ax16=4b sp16=dffe");
}

/* A 32-bit code segment on a small stack, and the reverse. */
static void mixed(void)
{
    start_kernel();
    start.ss = DS16;
    start.sp = 0x12e000;
    T("small-stack-uses-sp", "pushl $0x11223344; movl 0x4dffc, %eax", "ok ax=11223344 sp16=dffc");
    T("small-stack-esp-addressing", "movl $0xe000, %esp; movl %eax, (%esp); leal -4(%esp), %ecx", "ok cx=dffc");
    T("small-stack-leave", "movl $0x7000, %ebp; movw $0x4321, 0x47000; movl $0xffffe000, %esp; leave",
      "ok sp16=7004");
    start_16(false);
    start.ss = KDS;
    start.sp = 0x4e000;
    T16("big-stack-uses-esp", "pushw $0x77; movw %ss:0xdffe, %ax", "ok dsp=-2");
    T16("big-stack-call", "callw 1f; 1:", "ok dsp=-2");
}

static void flag_rules(void)
{
    start_user();
    T("popf-user-keeps-if-iopl", "pushl $0x3202; popfl", "ok if=0 iopl=0");
    T("popf-user-ac-id-nt", "pushl $0x244002; popfl", "ok ac=1 id=1 nt=1");
    T("popf-user-vip-vif-kept", "pushl $0x180002; popfl", "ok vif=0 vip=0");
    T("popf-16-keeps-upper", "pushl $0x240002; popfl; pushw $2; popfw", "ok ac=1 id=1");
    start.flags = 2 | 0x3000;
    T("popf-user-iopl3-if", "pushl $0x202; popfl", "ok if=1 iopl=3");
    T("popf-rf-ignored", "pushl $0x10002; popfl", "ok rf=0");
    start.flags = 2 | 0x3000 | FL_VIF | FL_VIP;
    T("popf-user-vip-kept", "pushl $2; popfl", "ok vip=1 vif=1");
    start_kernel();
    T("popf-kernel-iopl", "pushl $0x3202; popfl", "ok if=1 iopl=3");
    start.flags = 2 | FL_VIP | FL_VIF;
    T("popf-kernel-keeps-vip", "pushl $2; popfl", "ok vip=1 vif=1");
    start_kernel();
    T("iret-kernel-flags", "pushl $0x3ed7; pushl %cs; pushl $1f; iretl; 1:", "ok fl=3ed7");
    T("iret-to-user-iopl", "pushl $0x23; pushl $0x4e000; pushl $0x3202; pushl $0x1b; pushl $1f; iretl; 1:",
      "ok iopl=3 if=1 cs=1b sp=4e000");
    start_user();
    T("iret-user-keeps-iopl-if", "pushl $0x3202; pushl %cs; pushl $1f; iretl; 1:", "ok iopl=0 if=0");
    T("iret-user-nt", "pushl $0x4002; popfl; iretl", "#TS");
    start.flags = 2 | FL_AC;
    T("pushf-shows-no-rf-vm", "pushfl; popl %eax", "ok ax=40002");
    T("sahf-lahf", "movb $0xff, %ah; sahf; lahf", "ok ah=d7");
    start_kernel();
    start.flags = 2;
    T("cpuid-id-toggles", "pushfl; xorl $0x200000, (%esp); popfl", "ok id=1");
}

static void machine_status(void)
{
    start_kernel();
    T("lmsw-cannot-clear-pe",
      "movl %cr0, %ecx; xorl %eax, %eax; lmsw %ax; movl %cr0, %eax; movl %ecx, %cr0; andl $1, %eax",
      "ok ax=1");
    T("lmsw-sets-ts-em-mp", "movl %cr0, %ecx; movl $0xffff, %eax; lmsw %ax; movl %cr0, %eax; movl %ecx, %cr0;"
      "andl $0xe, %eax", "ok ax=e");
    T("lmsw-touches-4-bits", "movl %cr0, %ecx; movl $0xffff, %eax; lmsw %ax; movl %cr0, %edx; movl %ecx, %cr0;"
      "xorl %ecx, %edx; andl $~0xf, %edx", "ok dx=0");
    start_user();
    T("user-lmsw", "lmsw %ax", "#GP(0)");
    T("user-smsw", "xorl %eax, %eax; smsw %ax; andl $1, %eax", "ok ax=1");
    T("user-clts", "clts", "#GP(0)");
    T("user-hlt", "hlt", "#GP(0) ip=0");
    T("user-mov-cr", "movl %cr0, %eax", "#GP(0)");
    T("user-lgdt", "lgdt 0x40000", "#GP(0)");
    T("user-sgdt", "sgdt 0x40000", "ok");
    T("user-invlpg", "invlpg 0x40000", "#GP(0)");
    T("user-rdmsr", "rdmsr", "#GP(0)");
    T("user-in", "inb $0x80, %al", "#GP(0)");
    tss[104 + 0x80 / 8] = 0xfc;
    T("user-in-allowed", "inb $0x80, %al", "ok");
    T("user-in-word-allowed", "inw $0x80, %ax", "ok");
    T("user-in-dword-denied", "inl $0x80, %eax", "#GP(0)");
    T("user-insb-denied", "movl $0x90, %edx; movl $0x40000, %edi; insb", "#GP(0) di=40000");
    tss[104 + 0x80 / 8] = 0xff;
    start.flags = 2 | 0x3000;
    T("user-in-iopl3", "inb $0x80, %al", "ok");
    start.flags = 2;
    tss_set_iobase(0x2068 + 1, 104 + 8192);
    T("user-in-bitmap-beyond-tss", "inb $0x80, %al", "#GP(0)");
    desc_init();
}

static void lar_lsl(void)
{
    start_kernel();
    gdt_set(A, 0, 0x12345, 0xb2, 0xc);
    gdt_set(B, 0, 0x777, 0x9b, 4);
    gdt_set(C, 0, 0, 0x8e, 0);
    gdt_set(LDTS, (ulong)ldt, sizeof(ldt) - 1, 0x82, 0);
    T("lar", "movl $0x80, %eax; lar %eax, %ecx; andl $0xf0ff00, %ecx", "ok cx=c0b200");
    T("lar-16", "movl $-1, %ecx; movl $0x80, %eax; lar %ax, %cx", "ok zf=1 cx=ffffb200");
    T("lsl-pages", "movl $0x80, %eax; lsl %eax, %ecx", "ok zf=1 cx=12345fff");
    T("lsl-bytes", "movl $0x88, %eax; lsl %eax, %ecx", "ok zf=1 cx=777");
    T("lar-null", "xorl %eax, %eax; movl $5, %ecx; lar %eax, %ecx", "ok zf=0 cx=5");
    T("lsl-beyond", "movl $0x408, %eax; movl $5, %ecx; lsl %eax, %ecx", "ok zf=0 cx=5");
    T("lar-gate", "movl $0x90, %eax; lar %eax, %ecx", "ok zf=0");
    T("lsl-gate", "movl $0x90, %eax; lsl %eax, %ecx", "ok zf=0");
    gdt_set(C, 0, 0, 0x8c, 0);
    T("lar-call-gate", "movl $0x90, %eax; lar %eax, %ecx", "ok zf=1 cx=8c00");
    T("lsl-call-gate", "movl $0x90, %eax; lsl %eax, %ecx", "ok zf=0");
    T("lar-tss", "movl $0x28, %eax; lar %eax, %ecx", "ok zf=1 cx=8b00");
    T("lsl-tss", "movl $0x28, %eax; lsl %eax, %ecx", "ok zf=1 cx=2068");
    T("lar-ldt", "movl $0x98, %eax; lar %eax, %ecx", "ok zf=1 cx=8200");
    gdt_set(C, 0, 0x55, 0x12, 4);
    T("lar-not-present", "movl $0x90, %eax; lar %eax, %ecx", "ok zf=1 cx=401200");
    T("verr", "movl $0x80, %eax; verr %ax", "ok zf=1");
    T("verw", "movl $0x80, %eax; verw %ax", "ok zf=1");
    T("verw-code", "movl $0x88, %eax; verw %ax", "ok zf=0");
    T("verr-code", "movl $0x88, %eax; verr %ax", "ok zf=1");
    T("verr-tss", "movl $0x28, %eax; verr %ax", "ok zf=0");
    start_user();
    T("user-lar-dpl1", "movl $0x80, %eax; lar %eax, %ecx", "ok zf=0");
    T("user-verr-kernel", "movl $0x10, %eax; verr %ax", "ok zf=0");
    T("user-verw-own", "movl $0x23, %eax; verw %ax", "ok zf=1");
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    T("user-lar-conforming", "movl $0x80, %eax; lar %eax, %ecx", "ok zf=1");
    T("user-verr-conforming", "movl $0x80, %eax; verr %ax", "ok zf=1");
    T("arpl-raises", "movl $0x10, %eax; movl $3, %ecx; arpl %cx, %ax", "ok zf=1 ax=13");
    T("arpl-leaves", "movl $0x13, %eax; movl $1, %ecx; arpl %cx, %ax", "ok zf=0 ax=13");
    start_kernel();
    T("lldt", "movl $0x98, %eax; lldt %ax; sldt %ecx; xorl %eax, %eax; lldt %ax", "ok cx=98");
    T("lldt-data", "movl $0x10, %eax; lldt %ax", "#GP(10)");
    gdt[LDTS >> 3] &= ~(1ull << 47);
    T("lldt-not-present", "movl $0x98, %eax; lldt %ax", "#NP(98)");
    gdt[LDTS >> 3] |= 1ull << 47;
    ldt[1] = gdt[KDS >> 3];
    T("ldt-segment", "movl $0x98, %eax; lldt %ax; movl $0xc, %eax; movw %ax, %fs; xorl %ecx, %ecx; lldt %cx",
      "ok fs=c");
    T("ldt-beyond", "movl $0x98, %eax; lldt %ax; movl $0x84, %eax; movw %ax, %fs", "#GP(84)");
}

void pm16_group(void);
void pm16_group(void)
{
    sizes();
    mixed();
    flag_rules();
    machine_status();
    lar_lsl();
    desc_init();
}
