/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The local APIC as a program sees it (SDM vol. 3 ch. 11): timer modes, self-IPIs, priorities, error
 * status, x2APIC; and when the CPU takes what is pending: IF, the shadows of STI and MOV SS, NMI blocking,
 * HLT. Waiting loops end by themselves.
 */
#include "bare.h"
#include "apic.h"

#define WAIT "movl $30000000, %ecx; 1: pause; loop 1b"
enum { SELF = 0x40000 };

static void apic_reset(void)
{
    apic_write(APIC_SVR, 0x1ff);
    apic_write(APIC_LVT_TIMER, 0x10000);
    apic_write(APIC_INITIAL, 0);
    apic_write(APIC_TPR, 0);
    for (u32 i = 0; i < 8; i++) {
        apic_write(APIC_EOI, 0);
    }
    apic_write(APIC_DIVIDE, 0xb);
}

/* The snippet ends in vector; tell the APIC. */
static void A(const char *name, const void *code, const char *want)
{
    snippet_run(code);
    if (rec.vec >= 0x30) {
        apic_write(APIC_EOI, 0);
    }
    check(name, want);
}

static bool irr(u32 v)
{
    return apic_read(0x200 + v / 32 * 0x10) >> v % 32 & 1;
}

static bool isr(u32 v)
{
    return apic_read(0x100 + v / 32 * 0x10) >> v % 32 & 1;
}

static void registers(void)
{
    check_num("id", apic_read(APIC_ID) >> 24, 0);
    check_num("version", (apic_read(0x30) & 0xff) >= 0x10, 1);
    apic_write(APIC_SVR, 0xff);
    apic_write(APIC_LVT_TIMER, 0x50);
    check_num("disabled-masks-lvt", apic_read(APIC_LVT_TIMER), 0x10050);
    apic_write(APIC_SVR, 0x1ff);
    check_num("lvt-stays-masked", apic_read(APIC_LVT_TIMER), 0x10050);
    apic_write(APIC_TPR, 0x50);
    check_num("ppr-follows-tpr", apic_read(APIC_PPR), 0x50);
    T("cr8-follows-tpr", "movq %cr8, %rax", "ok ax=5");
    T("tpr-follows-cr8", "movl $3, %eax; movq %rax, %cr8", "ok");
    check_num("tpr-is-cr8", apic_read(APIC_TPR), 0x30);
    apic_write(APIC_TPR, 0);
    apic_write(APIC_LVT_TIMER, 0x10050);
}

static void timers(void)
{
    start.flags |= FL_IF;
    apic_write(APIC_LVT_TIMER, 0x50);
    apic_write(APIC_INITIAL, 1000);
    A("timer-one-shot", CODE("64", WAIT), "i50");
    check_num("timer-one-shot-ends-at-0", apic_read(APIC_CURRENT), 0);
    A("timer-one-shot-is-one", CODE("64", "movl $100000, %ecx; 1: pause; loop 1b"), "ok");
    apic_write(APIC_LVT_TIMER, 0x20050);
    apic_write(APIC_INITIAL, 100000);
    A("timer-periodic", CODE("64", WAIT), "i50");
    A("timer-periodic-again", CODE("64", WAIT), "i50");
    A("timer-periodic-third", CODE("64", WAIT), "i50");
    apic_write(APIC_INITIAL, 0);
    snippet_run(CODE("64", "movl $10000, %ecx; 1: pause; loop 1b"));    /* perhaps one more was under way */
    apic_write(APIC_EOI, 0);
    check_num("timer-initial-0-stops", apic_read(APIC_CURRENT), 0);
    apic_write(APIC_LVT_TIMER, 0x10050);
    apic_write(APIC_INITIAL, 0xffffffff);
    check_num("timer-masked-counts", apic_read(APIC_CURRENT) != 0, 1);
    A("timer-masked-is-silent", CODE("64", "movl $1000, %ecx; 1: pause; loop 1b"), "ok");
    apic_write(APIC_INITIAL, 0);
    for (u32 i = 0; i < 8; i++) {
        u32 v = (i & 3) | (i & 4) << 1;

        apic_write(APIC_DIVIDE, v | 0xf4);
        if (apic_read(APIC_DIVIDE) != v) {
            check_num("divide-register-bits", apic_read(APIC_DIVIDE), v);
        }
    }
    check_num("divide-register", apic_read(APIC_DIVIDE), 0xb);
    if (!cpu_has(1, 2, 24)) {
        skip("deadline", "no TSC-deadline");
        return;
    }
    apic_write(APIC_LVT_TIMER, 0x40050);
    T("deadline-arms", "movl $0x6e0, %ecx; movl $-1, %eax; movl $0x7fffffff, %edx; wrmsr; rdmsr",
      "ok ax=ffffffff dx=7fffffff");
    A("deadline-past-fires", CODE("64", "movl $0x6e0, %ecx; movl $1, %eax; xorl %edx, %edx; wrmsr;" WAIT), "i50");
    T("deadline-reads-0-then", "movl $0x6e0, %ecx; rdmsr", "ok ax=0 dx=0");
    A("deadline-future", CODE("64",
      "rdtsc; addl $200000, %eax; adcl $0, %edx; movl $0x6e0, %ecx; wrmsr;" WAIT), "i50");
    apic_write(APIC_INITIAL, 1000);
    check_num("deadline-ignores-initial", apic_read(APIC_CURRENT), 0);
    apic_write(APIC_LVT_TIMER, 0x10050);
    T("deadline-msr-ignored-in-one-shot", "movl $0x6e0, %ecx; movl $1, %eax; xorl %edx, %edx; wrmsr; rdmsr",
      "ok ax=0");
    start.flags = 2;
}

static void ipis(void)
{
    start_kernel();
    apic_write(APIC_ICR, SELF | 0x51);
    check_num("self-ipi-in-irr", irr(0x51), 1);
    check_num("self-ipi-not-in-isr", isr(0x51), 0);
    T("if-0-keeps-it", "nop; nop; nop", "ok");
    start.flags |= FL_IF;
    snippet_run(CODE("64", WAIT));
    check_num("in-service", isr(0x51), 1);
    check_num("irr-cleared", irr(0x51), 0);
    check_num("ppr-in-service", apic_read(APIC_PPR), 0x50);
    apic_write(APIC_ICR, SELF | 0x52);
    snippet_run(CODE("64", "nop; nop; nop; nop"));
    check("same-class-waits-for-eoi", "ok");
    apic_write(APIC_ICR, SELF | 0x61);
    A("higher-class-interrupts", CODE("64", WAIT), "i61");
    apic_write(APIC_EOI, 0);
    check_num("eoi-order", isr(0x51), 0);
    A("then-the-lower", CODE("64", WAIT), "i52");
    start.flags = 2;
    apic_write(APIC_TPR, 0x60);
    apic_write(APIC_ICR, SELF | 0x51);
    start.flags |= FL_IF;
    A("tpr-blocks", CODE("64", "nop; nop; nop; nop"), "ok");
    apic_write(APIC_TPR, 0x40);
    A("tpr-lets-go", CODE("64", WAIT), "i51");
    apic_write(APIC_TPR, 0);
    start.flags = 2;
    apic_write(APIC_ICR, SELF | 0x51);
    apic_write(APIC_ICR, SELF | 0x72);
    start.flags |= FL_IF;
    A("highest-first", CODE("64", WAIT), "i72");
    A("lower-after", CODE("64", WAIT), "i51");
    idt_set(0x53, KCS, CODE("64", "nop"), 0x0e);
    apic_write(APIC_ICR, SELF | 0x53);
    snippet_run(CODE("64", WAIT));
    check("gate-absent-ext", "#NP(29b)");
    apic_write(APIC_EOI, 0);
    idt_default(0x53);
    start_kernel();
}

/* One interrupt is pending; when is it taken? */
static void shadow(const char *name, const void *code, const char *want)
{
    start.flags = 2;
    start.regs[CX] = 0;
    start.regs[AX] = KDS;
    apic_write(APIC_ICR, SELF | 0x51);
    A(name, code, want);
    if (rec.vec != 0x51) {
        start.flags |= FL_IF;
        snippet_run(CODE("64", WAIT));
        apic_write(APIC_EOI, 0);
    }
}

static void shadows(void)
{
    shadow("sti-shadow", CODE("64", "sti; incl %ecx; incl %ecx"), "i51 cx=1");
    shadow("popf-has-none", CODE("64", "pushq $0x202; popfq; incl %ecx"), "i51 cx=0");
    shadow("sti-hlt", CODE("64", "sti; hlt; incl %ecx"), "i51 cx=0");
    start.flags = 2;
    start.regs[CX] = 0;
    apic_write(APIC_ICR, SELF | 0x51);
    snippet_run(CODE("64", "sti; cli; nop; nop"));
    check("sti-cli-takes-nothing", "ok if=0");
    start.flags |= FL_IF;
    A("and-it-stays", CODE("64", WAIT), "i51");
    start.flags = 2 | FL_IF;
    start.regs[AX] = KDS;
    A("mov-ss-shadow", CODE("64",
      "movl %eax, %ss; movl $0xfee00300, %edi; movl $0x40051, (%rdi); movl %eax, %ss; incl %ecx; " WAIT), "i51");
    start_kernel();
}

/* A second NMI, sent inside the handler of the first, comes after its IRET. */
static void nmi_blocking(void)
{
    volatile u32 *word = (volatile u32 *)0x46000;

    word[0] = word[1] = word[2] = 0;
    idt_set(NMI, KCS, CODE("64", "incl 0x46000; cmpl $1, 0x46000; jne 2f; pushq %rcx; movl $0xfee00300, %edi; "
          "movl $0x400, (%rdi);"
                           "movl $1000, %ecx; 1: pause; loop 1b; movl $1, 0x46004; popq %rcx; iretq;"
                           "2: movl 0x46004, %eax; movl %eax, 0x46008; iretq"), 0x8e);
    apic_write(APIC_ICR + 0x10, 0);
    snippet_run(CODE("64", "movl $0xfee00300, %edi; movl $0x400, (%rdi); movl $2000000, %ecx; 1: pause; "
          "cmpl $2, 0x46000; loopne 1b"));
    check("nmi", "ok");
    check_num("nmi-count", word[0], 2);
    check_num("nmi-blocked-until-iret", word[2], 1);
    idt_default(NMI);
    snippet_run(CODE("64", "movl $0xfee00300, %edi; movl $0x400, (%rdi);" WAIT));
    check("nmi-with-if-0", "NMI if=0");
    idt_ist(NMI, 1);
    snippet_run(CODE("64", "movl $0xfee00300, %edi; movl $0x400, (%rdi);" WAIT));
    check("nmi-after-iret-of-start", "NMI");
    idt_default(NMI);
}

static void x2apic(void)
{
    if (!cpu_has(1, 2, 21)) {
        skip("x2apic", "no x2APIC");
        return;
    }
    start_kernel();
    T("x2apic-enable", "movl $0x1b, %ecx; rdmsr; orl $0x400, %eax; wrmsr; rdmsr; andl $0xc00, %eax", "ok ax=c00");
    T("x2apic-id", "movl $0x802, %ecx; rdmsr", "ok ax=0 dx=0");
    T("x2apic-id-read-only", "movl $0x802, %ecx; xorl %eax, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("x2apic-no-dfr", "movl $0x80e, %ecx; rdmsr", "#GP(0)");
    T("x2apic-no-icr-high", "movl $0x831, %ecx; rdmsr", "#GP(0)");
    T("x2apic-eoi-not-0", "movl $0x80b, %ecx; movl $1, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("x2apic-tpr-reserved", "movl $0x808, %ecx; movl $0x100, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("x2apic-svr-reserved", "movl $0x80f, %ecx; movl $0x10000, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("x2apic-self-ipi-is-write-only", "movl $0x83f, %ecx; rdmsr", "#GP(0)");
    T("x2apic-to-xapic", "movl $0x1b, %ecx; rdmsr; andl $~0x400, %eax; wrmsr", "#GP(0)");
    T("x2apic-ldr", "movl $0x80d, %ecx; rdmsr", "ok ax=1");
    start.flags |= FL_IF;
    snippet_run(CODE("64", "movl $0x83f, %ecx; movl $0x55, %eax; xorl %edx, %edx; wrmsr;" WAIT));
    check("x2apic-self-ipi", "i55");
    start_kernel();
    T("x2apic-eoi", "movl $0x80b, %ecx; xorl %eax, %eax; xorl %edx, %edx; wrmsr", "ok");
    T("x2apic-off", "movl $0x1b, %ecx; rdmsr; andl $~0xc00, %eax; wrmsr; rdmsr; andl $0xc00, %eax", "ok ax=0");
    T("off-to-x2apic", "movl $0x1b, %ecx; rdmsr; orl $0x400, %eax; wrmsr", "#GP(0)");
    T("cpuid-apic-bit-off", "movl $1, %eax; cpuid; shrl $9, %edx; andl $1, %edx", "ok dx=0");
    T("xapic-again", "movl $0x1b, %ecx; rdmsr; orl $0x800, %eax; wrmsr; rdmsr; andl $0xc00, %eax", "ok ax=800");
    check_num("reset-by-disable", apic_read(APIC_SVR), 0xff);
}

void apic_group(void);
void apic_group(void)
{
    apic_reset();
    start_kernel();
    registers();
    timers();
    ipis();
    shadows();
    nmi_blocking();
    x2apic();
    apic_reset();
    desc_init();
}

/* Where an illegal vector is sent all the same, more than one check is lost: a group of its own. */
void apic_esr_group(void);
void apic_esr_group(void)
{
    apic_reset();
    apic_write(APIC_ESR, 0);
    apic_write(APIC_ICR, SELF | 5);
    apic_write(APIC_ESR, 0);
    check_num("esr-send-illegal-vector", apic_read(APIC_ESR) & 0x20, 0x20);
    apic_write(APIC_ESR, 0);
    apic_write(APIC_ESR, 0);
    check_num("esr-is-read-once", apic_read(APIC_ESR), 0);
    apic_write(0x320, 0x50);
    apic_reset();
}
