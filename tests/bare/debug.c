/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug registers and single step (SDM vol. 3 ch. 17): breakpoints on instructions (faults), data and I/O
 * (traps), GD, RF, TF, INT1; shadows of MOV SS and STI. DR6 is reset before each row; the record's dr6 is
 * what the handler reads.
 */
#include "bare.h"

#ifdef __x86_64__
#define X(t32, t64) CODE("64", t64)
#else
#define X(t32, t64) CODE("32", t32)
#endif
#define DR6_NONE 0xffff0ff0u
#define DR7_NONE 0x400u
#define WATCH (UBUF + 0x100)
enum { ON_EXEC = 0, ON_WRITE = 1, ON_IO = 2, ON_RW = 3 };

/* Breakpoint 0; len is the field: 0 1 byte, 1 2 bytes, 2 8 bytes, 3 4 bytes. */
static u32 dr7_make(u32 kind, u32 len)
{
    return DR7_NONE | 1 | kind << 16 | len << 18;
}

/* With DR7 as given, from before the snippet until after it. */
static void D(const char *name, u32 dr7, const void *code, const char *want)
{
    dr6_set(DR6_NONE);
    dr7_set(dr7);
    snippet_run(code);
    dr7_set(DR7_NONE);
    check(name, want);
}

static void on_code(void)
{
    const char *code = X("nop; nop; nop", "nop; nop; nop");

    dr0_set((ulong)code + 1);
    D("exec", dr7_make(ON_EXEC, 0), code, "#DB ip=1 dr6=ffff0ff1 rf=0");
    dr0_set((ulong)code);
    D("exec-first", dr7_make(ON_EXEC, 0), code, "#DB ip=0 dr6=ffff0ff1");
    start.flags |= FL_RF;
    D("exec-rf", dr7_make(ON_EXEC, 0), code, "ok dr6=ffff0ff0 rf=0");
    dr0_set((ulong)code + 1);
    D("exec-rf-is-for-one", dr7_make(ON_EXEC, 0), code, "#DB ip=1");
    start.flags &= ~(ulong)FL_RF;
    D("exec-disabled", DR7_NONE, code, "ok");
    dr0_set(0);
    dr3_set((ulong)code + 2);
    D("exec-dr3-global", DR7_NONE | 0x80, code, "#DB ip=2 dr6=ffff0ff8");
    dr3_set(0);
    code = X("movl $0x11223344, %eax", "movl $0x11223344, %eax");
    dr0_set((ulong)code + 1);
    D("exec-inside-instruction", dr7_make(ON_EXEC, 0), code, "ok");
    code = X("nop; ud2", "nop; ud2");
    dr0_set((ulong)code + 1);
    D("exec-before-other-faults", dr7_make(ON_EXEC, 0), code, "#DB ip=1");
    start.flags |= FL_TF;
    D("exec-and-step", dr7_make(ON_EXEC, 0), code, "#DB ip=1");
    start.flags &= ~(ulong)FL_TF;
}

static void on_data(void)
{
    const void *write = CODE(NATIVE, "movl %eax, 0x40100; nop"), *read = CODE(NATIVE, "movl 0x40100, %ecx; nop");

    dr0_set(WATCH);
    D("write", dr7_make(ON_WRITE, 3), write,
      sizeof(ulong) == 8 ? "#DB ip=7 dr6=ffff0ff1 rf=0" : "#DB ip=5 dr6=ffff0ff1");
    D("write-not-on-read", dr7_make(ON_WRITE, 3), read, "ok dr6=ffff0ff0");
    D("rw-on-read", dr7_make(ON_RW, 3), read, "#DB dr6=ffff0ff1");
    D("rw-on-write", dr7_make(ON_RW, 3), write, "#DB dr6=ffff0ff1");
    D("data-not-on-exec", dr7_make(ON_EXEC, 0), write, "ok");
    D("last-byte", dr7_make(ON_WRITE, 3), CODE(NATIVE, "movb %al, 0x40103"), "#DB");
    D("byte-above", dr7_make(ON_WRITE, 3), CODE(NATIVE, "movb %al, 0x40104"), "ok");
    D("byte-below", dr7_make(ON_WRITE, 3), CODE(NATIVE, "movb %al, 0x400ff"), "ok");
    D("overlap-from-below", dr7_make(ON_WRITE, 3), CODE(NATIVE, "movw %ax, 0x400ff"), "#DB");
    D("length-1", dr7_make(ON_WRITE, 0), CODE(NATIVE, "movb %al, 0x40101"), "ok");
    D("length-2", dr7_make(ON_WRITE, 1), CODE(NATIVE, "movb %al, 0x40101"), "#DB");
    dr0_set(WATCH + 3);
    D("address-is-aligned-down", dr7_make(ON_WRITE, 3), CODE(NATIVE, "movb %al, 0x40100"), "#DB");
    dr0_set(WATCH);
    D("rmw", dr7_make(ON_WRITE, 3), CODE(NATIVE, "incl 0x40100"), "#DB");
    D("push-source", dr7_make(ON_RW, 3), X("pushl 0x40100", "pushq 0x40100"), "#DB");
    D("lea-is-no-access", dr7_make(ON_RW, 3), CODE(NATIVE, "lea 0x40100, %eax"), "ok");
    start.regs[DI] = WATCH - 2;
    start.regs[CX] = 5;
    D("rep-stos-stops", dr7_make(ON_WRITE, 0), CODE(NATIVE, "rep stosb"), "#DB ip=0 cx=2 di=40101");
    start.regs[DI] = start.regs[CX] = 0;
    D("faulting-write-no-trap", dr7_make(ON_WRITE, 3), CODE(NATIVE, "ud2; movl %eax, 0x40100"), "#UD dr6=ffff0ff0");
    dr1_set(WATCH + 4);
    D("two-at-once", dr7_make(ON_WRITE, 3) | 4 | 0xd << 20, CODE(NATIVE, "movl %eax, 0x40102"), "#DB dr6=ffff0ff3");
    dr1_set(0);
    if (sizeof(ulong) == 8) {
        D("length-8", dr7_make(ON_WRITE, 2), CODE(NATIVE, "movb %al, 0x40107"), "#DB");
        D("length-8-above", dr7_make(ON_WRITE, 2), CODE(NATIVE, "movb %al, 0x40108"), "ok");
    }
    start_user();
    D("user-write", dr7_make(ON_WRITE, 3), write, "#DB dr6=ffff0ff1 cs=1b");
    start_kernel();
}

static void on_io(void)
{
    dr0_set(0x80);
    cr4_set(cr4_get() | CR4_DE);
    D("io", dr7_make(ON_IO, 0), CODE(NATIVE, "outb %al, $0x80; nop"), "#DB ip=2 dr6=ffff0ff1");
    D("io-in", dr7_make(ON_IO, 0), CODE(NATIVE, "inb $0x80, %al; nop"), "#DB ip=2");
    D("io-other-port", dr7_make(ON_IO, 0), CODE(NATIVE, "outb %al, $0x81"), "ok");
    D("io-not-on-memory", dr7_make(ON_IO, 0), CODE(NATIVE, "movb 0x80, %al"), "ok");
    D("dr4-with-de", DR7_NONE, X("movl %dr4, %eax", "movq %dr4, %rax"), "#UD");
    D("dr5-with-de", DR7_NONE, X("movl %eax, %dr5", "movq %rax, %dr5"), "#UD");
    cr4_set(cr4_get() & ~CR4_DE);
    D("dr4-is-dr6", DR7_NONE, X("movl %dr4, %eax", "movq %dr4, %rax"), "ok ax=ffff0ff0");
    D("dr5-is-dr7", DR7_NONE, X("movl %dr5, %eax", "movq %dr5, %rax"), "ok ax=400");
    dr0_set(0);
}

static void registers(void)
{
    D("gd", DR7_NONE | 0x2000, X("movl %dr0, %eax", "movq %dr0, %rax"), "#DB ip=0 dr6=ffff2ff0");
    D("gd-write", DR7_NONE | 0x2000, X("movl %eax, %dr3", "movq %rax, %dr3"), "#DB ip=0 dr6=ffff2ff0");
    dr7_set(DR7_NONE | 0x2000);
    snippet_run(X("movl %dr0, %eax", "movq %dr0, %rax"));
    check_num("gd-cleared-on-entry", dr7_get(), DR7_NONE);
    dr7_set(DR7_NONE);
    dr6_set(0);
    check_num("dr6-fixed-ones", dr6_get(), DR6_NONE);
    dr6_set(0xffffffff);
    check_num("dr6-bit-12-is-0", dr6_get() & 0x1000, 0);
    dr6_set(DR6_NONE);
    dr7_set(0xd000);
    check_num("dr7-fixed-bits", dr7_get() & 0xd400, 0x400);
    dr7_set(DR7_NONE);
    start_user();
    D("user-mov-dr", DR7_NONE, X("movl %dr0, %eax", "movq %dr0, %rax"), "#GP(0)");
    start_kernel();
#ifdef __x86_64__
    T("dr6-upper-half", "movq %rsp, %rax; btsq $32, %rax; movq %rax, %dr6", "#GP(0)");
    T("dr7-upper-half", "movl $0x400, %eax; btsq $32, %rax; movq %rax, %dr7", "#GP(0)");
    T("dr0-non-canonical-is-fine", "movabsq $0x800000000000, %rax; movq %rax, %dr0; movq %dr0, %rcx; xorl %eax, %eax;"
      "movq %rax, %dr0", "ok cx=800000000000");
#endif
}

static void stepping(void)
{
    const void *nops = CODE(NATIVE, "nop; nop; nop");

    start.flags |= FL_TF;
    D("step", DR7_NONE, nops, "#DB ip=1 tf=1 dr6=ffff4ff0 rf=0");
    D("step-before-fault", DR7_NONE, CODE(NATIVE, "ud2"), "#UD ip=0 tf=1 dr6=ffff0ff0");
    start.regs[CX] = 3;
    start.regs[DI] = UBUF;
    D("step-rep-each", DR7_NONE, CODE(NATIVE, "rep stosb"), "#DB ip=0 cx=2 di=40001");
    D("step-over-int", DR7_NONE, CODE(NATIVE, "int $0x20"), "ok tf=1 dr6=ffff0ff0");
    D("step-icebp", DR7_NONE, CODE(NATIVE, ".byte 0xf1"), "#DB ip=1 dr6=ffff0ff0");
    D("step-taken-jump", DR7_NONE, CODE(NATIVE, "jmp 1f; nop; 1: nop"), "#DB ip=3");
    start.flags &= ~(ulong)FL_TF;
    D("popf-sets-tf", DR7_NONE, X("pushl $0x102; popfl; nop; nop", "pushq $0x102; popfq; nop; nop"),
      "#DB ip=7 dr6=ffff4ff0");
    D("icebp", DR7_NONE, CODE(NATIVE, ".byte 0xf1; nop"), "#DB ip=1 dr6=ffff0ff0");
    D("int-1", DR7_NONE, CODE(NATIVE, "int $1; nop"), "#DB ip=2 dr6=ffff0ff0");
    start.flags |= FL_TF;
    D("mov-ss-shadows-step", DR7_NONE, CODE(NATIVE, "movl %ss, %eax; movl %eax, %ss; nop; nop"), "#DB ip=2");
    start.regs[AX] = KDS;
    D("mov-ss-first", DR7_NONE, CODE(NATIVE, "movl %eax, %ss; nop; nop"), "#DB ip=3 dr6=ffff4ff0");
    start.flags |= FL_IF;
    D("sti-shadows-no-step", DR7_NONE, CODE(NATIVE, "sti; nop; nop"), "#DB ip=1");
    start_user();
    start.flags |= FL_TF;
    D("user-step", DR7_NONE, nops, "#DB ip=1 cs=1b tf=1");
    D("user-step-popf-off", DR7_NONE, X("pushl $2; popfl; nop", "pushq $2; popfq; nop"), "#DB ip=2");
    start.flags &= ~(ulong)FL_TF;
    D("user-int-1", DR7_NONE, CODE(NATIVE, "int $1"), "#GP(a)");
    start_kernel();
    D("step-popf-off-still-traps", DR7_NONE,
      X("pushl $0x102; popfl; pushl $2; popfl; nop", "pushq $0x102; popfq; pushq $2; popfq; nop"), "#DB");
    dr6_set(DR6_NONE | 8);
    snippet_run(CODE(NATIVE, ".byte 0xf1"));
    check("dr6-bits-stay", "#DB dr6=ffff0ff8");
    dr6_set(DR6_NONE);
    start.flags |= FL_TF;
    dr0_set(WATCH);
    D("step-and-data", dr7_make(ON_WRITE, 3), CODE(NATIVE, "movl %eax, 0x40100; nop"), "#DB dr6=ffff4ff1");
    dr0_set(0);
    start.flags &= ~(ulong)FL_TF;
}

void debug_group(void);
void debug_group(void)
{
    start_kernel();
    on_code();
    on_data();
    on_io();
    registers();
    stepping();
    desc_init();
}
