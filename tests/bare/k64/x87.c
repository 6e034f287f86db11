/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x87, MMX and SSE state as the system sees it (SDM vol. 1 ch. 8, vol. 3 ch. 13): tags, FXAM, stack faults,
 * FIP and FDP, precision control, #MF, #NM, #XM, #AC, FERR/IGNNE. Results travel in general registers; UBUF
 * is scratch.
 */
#include "bare.h"

#define ENV "fnstenv 0x40200; movzwl 0x40208, %eax;"

static void tags(void)
{
    T("init-control", "fninit; fnstcw 0x40200; movzwl 0x40200, %eax", "ok ax=37f");
    T("init-status", "fninit; fnstsw %ax; movzwl %ax, %eax", "ok ax=0");
    T("init-tags", "fninit; " ENV, "ok ax=ffff");
    T("tag-valid", "fninit; fld1; " ENV, "ok ax=3fff");
    T("tag-zero", "fninit; fldz; " ENV, "ok ax=7fff");
    T("tag-special", "fninit; fld1; fldz; fdivrp; " ENV, "ok ax=bfff");
    T("tag-two", "fninit; fldz; fld1; " ENV, "ok ax=4fff");
    T("tag-free", "fninit; fld1; ffree %st(0); " ENV, "ok ax=ffff");
    T("tag-pop", "fninit; fld1; fstp %st(0); " ENV, "ok ax=ffff");
    T("tag-incstp", "fninit; fld1; fincstp; fnstsw %ax; movzwl %ax, %eax", "ok ax=0");
    T("mmx-leaves-none-empty", "fninit; movd %eax, %mm3; " ENV "movl %eax, %ecx; shrl %ecx; andl %ecx, %eax;"
      "andl $0x5555, %eax", "ok ax=0");
    T("tag-emms", "fninit; movd %eax, %mm3; emms; " ENV, "ok ax=ffff");
    T("mmx-clears-top", "fninit; fld1; pxor %mm0, %mm0; fnstsw %ax; movzwl %ax, %eax; emms", "ok ax=0");
    T("mmx-exponent-ones", "fninit; movq %mm0, %mm1; fnsave 0x40200; movzwl 0x40200 + 28 + 18, %eax", "ok ax=ffff");
    T("stenv-masks", "fninit; pushq $0x340; fldcw (%rsp); fnstenv 0x40200; fnstcw 0x40300; movzwl 0x40300, %eax",
      "ok ax=37f");
    T("save-inits", "fninit; fld1; fnsave 0x40200; " ENV, "ok ax=ffff");
    T("fldenv-tags", "fninit; fnstenv 0x40200; movw $0x3fff, 0x40208; fldenv 0x40200; fnstenv 0x40240;"
      "movzwl 0x40248, %eax; shrl $14, %eax; cmpb $3, %al; setne %al", "ok al=1");
}

#define XAM(load) "fninit; " load " fxam; fnstsw %ax; andl $0x4700, %eax"

static void examine(void)
{
    T("fxam-empty", XAM("") "; andl $0x4500, %eax", "ok ax=4100");
    T("fxam-one", XAM("fld1;"), "ok ax=400");
    T("fxam-minus-one", XAM("fld1; fchs;"), "ok ax=600");
    T("fxam-zero", XAM("fldz;"), "ok ax=4000");
    T("fxam-infinity", XAM("fld1; fldz; fdivrp;"), "ok ax=500");
    T("fxam-nan", XAM("fldz; fldz; fdivrp;"), "ok ax=300");
    T("fxam-denormal", XAM("movl $1, 0x40200; movl $0, 0x40204; movw $0, 0x40208; fldt 0x40200;"), "ok ax=4400");
    T("fxam-unsupported", XAM("movq $0, 0x40200; movw $0x1000, 0x40208; fldt 0x40200;"), "ok ax=0");
    T("fxam-empty-negative", XAM("fld1; fchs; ffree %st(0);"), "ok ax=4300");
}

#define NINE "fld1; fld1; fld1; fld1; fld1; fld1; fld1; fld1; fld1;"

static void stack_faults(void)
{
    T("overflow", "fninit; " NINE "fnstsw %ax; movzwl %ax, %eax", "ok ax=3a41");
    T("overflow-value", "fninit; " NINE "fstpt 0x40200; movzwl 0x40208, %eax; movq 0x40200, %rcx",
      "ok ax=ffff cx=c000000000000000");
    T("underflow", "fninit; fstps 0x40200; fnstsw %ax; movzwl %ax, %eax", "ok ax=841");
    T("underflow-store", "fninit; movl $0x41, 0x40200; fistpl 0x40200; movl 0x40200, %eax", "ok ax=80000000");
    T("underflow-unmasked-keeps", "fninit; movl $0x41, 0x40200; pushq $0x37e; fldcw (%rsp); fistpl 0x40200;"
      "movl 0x40200, %eax; fninit", "ok ax=41");
    T("underflow-unmasked-mf", "fninit; pushq $0x37e; fldcw (%rsp); fistpl 0x40200; fwait", "#MF ip=11");
}

static void pointers(void)
{
    T("fip", "fninit; leaq 1f(%rip), %rcx; 1: fld1; fnstenv 0x40200; movl 0x4020c, %eax; subl %ecx, %eax", "ok ax=0");
    T("fip-kept-by-control", "fninit; leaq 1f(%rip), %rcx; 1: fld1; fnstcw 0x40300; fldcw 0x40300; fnstenv 0x40200;"
      "movl 0x4020c, %eax; subl %ecx, %eax", "ok ax=0");
    T("fip-with-prefix", "fninit; leaq 1f(%rip), %rcx; 1: flds %fs:0x40100; fnstenv 0x40200; movl 0x4020c, %eax;"
      "subl %ecx, %eax", "ok ax=0");
    T("fdp", "fninit; flds 0x40104; fnstenv 0x40200; movl 0x40214, %eax", "ok ax=40104");
    T("fdp-of-store", "fninit; fld1; fstpl 0x40108; fnstenv 0x40200; movl 0x40214, %eax", "ok ax=40108");
    T("fip-init-zero", "fninit; fnstenv 0x40200; movl 0x4020c, %eax; orl 0x40214, %eax", "ok ax=0");
    T("fip-in-fxsave64", "fninit; leaq 1f(%rip), %rcx; 1: fld1; fxsaveq 0x40400; movq 0x40408, %rax; subq %rcx, %rax",
      "ok ax=0");
    T("fxsave-tag-abridged", "fninit; fld1; fxsave 0x40400; movzbl 0x40404, %eax", "ok ax=80");
    T("fxsave-unaligned", "fxsave 0x40408", "#GP(0)");
    T("fxrstor-bad-mxcsr", "fxsave 0x40400; orl $0x80000000, 0x40418; fxrstor 0x40400", "#GP(0)");
    T("ldmxcsr-reserved", "pushq $0x10000; ldmxcsr (%rsp)", "#GP(0)");
}

static void precision(void)
{
    T("pc-extended", "fninit; fld1; pushq $3; fidivl (%rsp); fstpt 0x40200; movq 0x40200, %rax",
      "ok ax=aaaaaaaaaaaaaaab");
    T("pc-double", "fninit; pushq $0x27f; fldcw (%rsp); fld1; pushq $3; fidivl (%rsp); fstpt 0x40200; "
          "movq 0x40200, %rax",
      "ok ax=aaaaaaaaaaaaa800");
    T("pc-single", "fninit; pushq $0x07f; fldcw (%rsp); fld1; pushq $3; fidivl (%rsp); fstpt 0x40200; "
          "movq 0x40200, %rax",
      "ok ax=aaaaab0000000000");
    T("pc-single-fld-keeps", "fninit; pushq $0x07f; fldcw (%rsp); movabsq $0x3ff0000000000001, %rax; pushq %rax;"
      "fldl (%rsp); fstpt 0x40200; movq 0x40200, %rax", "ok ax=8000000000000800");
    T("pc-single-fldpi-keeps", "fninit; pushq $0x07f; fldcw (%rsp); fldpi; fstpt 0x40200; movq 0x40200, %rax",
      "ok ax=c90fdaa22168c235");
    T("rc-down", "fninit; pushq $0x77f; fldcw (%rsp); fldpi; fstpt 0x40200; movq 0x40200, %rax",
      "ok ax=c90fdaa22168c234");
}

#define INVALID "fninit; pushq $0x37e; fldcw (%rsp); fldz; fldz; fdivrp;"

static void pending(void)
{
    T("mf-at-fwait", INVALID "fwait", "#MF ip=10 rf=1");
    T("mf-at-next-x87", INVALID "fld1", "#MF ip=10");
    T("mf-at-mmx", INVALID "pxor %mm0, %mm0", "#MF ip=10");
    T("mf-not-at-fnstsw", INVALID "fnstsw %ax; movzwl %ax, %eax; fninit", "ok ax=b081");
    T("mf-not-at-fninit", INVALID "fninit", "ok");
    T("mf-not-at-fnclex", INVALID "fnclex; fwait", "ok");
    T("mf-not-at-sse", INVALID "xorps %xmm0, %xmm0; fninit", "ok");
    T("mf-by-fldcw", "fninit; fldz; fldz; fdivrp; pushq $0x37e; fldcw (%rsp); fwait", "#MF");
    T("mf-fldenv-unmasks", INVALID "fnstenv 0x40200; movw $0x37e, 0x40200; fldenv 0x40200; fwait", "#MF");
    T("clean-up", "fninit", "ok");
}

static void with_cr0(u32 set, u32 clear)
{
    cr0_set((cr0_get() & ~(ulong)(CR0_TS | CR0_EM | CR0_MP | clear)) | set);
}

static void not_available(void)
{
    with_cr0(CR0_TS, 0);
    T("ts-x87", "fld1", "#NM ip=0");
    T("ts-fnstsw", "fnstsw %ax", "#NM");
    T("ts-mmx", "emms", "#NM");
    T("ts-sse", "xorps %xmm0, %xmm0", "#NM");
    T("ts-fxsave", "fxsave 0x40400", "#NM");
    T("ts-fwait-mp0", "fwait", "ok");
    T("ts-crc32", "crc32l %eax, %ecx", "ok");
    T("ts-prefetch", "prefetcht0 (%rsp)", "ok");
    T("ts-ldmxcsr", "ldmxcsr 0x40200", "#NM");
    T("ts-movnti", "movnti %eax, 0x40200", "ok");
    with_cr0(CR0_TS | CR0_MP, 0);
    T("ts-mp-fwait", "fwait", "#NM");
    with_cr0(CR0_EM, 0);
    T("em-x87", "fld1", "#NM");
    T("em-mmx", "emms", "#UD");
    T("em-sse", "xorps %xmm0, %xmm0", "#UD");
    T("em-fwait", "fwait", "ok");
    T("em-fxsave", "fxsave 0x40400", "#NM");
    with_cr0(CR0_MP, 0);
    T("mp-fwait", "fwait", "ok");
    with_cr0(0, 0);
    cr4_set(cr4_get() & ~0x200ul);
    T("osfxsr0-sse", "xorps %xmm0, %xmm0", "#UD");
    T("osfxsr0-mmx", "pxor %mm0, %mm0; emms", "ok");
    cr4_set(cr4_get() | 0x200);
    T("avx-without-osxsave", "vxorps %xmm0, %xmm0, %xmm0", "#UD");
    T("xgetbv-without-osxsave", "xorl %ecx, %ecx; xgetbv", "#UD");
}

#define DIVZERO "pushq $0x1d80; ldmxcsr (%rsp); xorps %xmm1, %xmm1; movl $0x3f800000, %eax;" \
    "movd %eax, %xmm0; divss %xmm1, %xmm0"

static void simd_errors(void)
{
    T("xm", DIVZERO, "#XM ip=15");
    T("xm-flag", "stmxcsr 0x40200; movl 0x40200, %eax; andl $0x3f, %eax", "ok ax=4");
    cr4_set(cr4_get() & ~0x400ul);
    T("xm-without-osxmmexcpt", DIVZERO, "#UD ip=15");
    cr4_set(cr4_get() | 0x400);
    T("xm-masked", "pushq $0x1f80; ldmxcsr (%rsp); xorps %xmm1, %xmm1; divss %xmm1, %xmm1", "ok");
    T("mxcsr-default", "pushq $0x1f80; ldmxcsr (%rsp)", "ok");
    T("movaps-unaligned", "movaps 0x40204, %xmm0", "#GP(0) ip=0");
    T("movups-unaligned", "movups 0x40204, %xmm0", "ok");
    T("addps-unaligned", "addps 0x40204, %xmm0", "#GP(0)");
}

static void alignment(void)
{
    cr0_set(cr0_get() | CR0_AM);
    start_user();
    start.flags |= FL_AC;
    T("ac-dword", "movl 0x40201, %eax", "#AC(0) ip=0");
    T("ac-word", "movw %ax, 0x40201", "#AC(0)");
    T("ac-byte", "movb 0x40201, %al", "ok");
    T("ac-aligned", "movq 0x40208, %rax", "ok");
    T("ac-qword-on-4", "movq 0x40204, %rax", "#AC(0)");
    T("ac-x87", "fldl 0x40204; fninit", "#AC(0)");
    T("ac-push", "decq %rsp; pushq %rax", "#AC(0) dsp=-1");
    T("ac-lods", "movl $0x40201, %esi; lodsl", "#AC(0) si=40201");
    T("ac-rmw", "incl 0x40202", "#AC(0)");
    T("ac-movaps-is-gp", "movaps 0x40204, %xmm0", "#GP(0)");
    start.flags &= ~(ulong)FL_AC;
    T("ac-flag-off", "movl 0x40201, %eax", "ok");
    start.flags |= FL_AC;
    cr0_set(cr0_get() & ~(ulong)CR0_AM);
    T("ac-am-off", "movl 0x40201, %eax", "ok");
    cr0_set(cr0_get() | CR0_AM);
    start_kernel();
    start.flags |= FL_AC;
    T("ac-kernel", "movl 0x40201, %eax", "ok");
    start_kernel();
    cr0_set(cr0_get() & ~(ulong)CR0_AM);
}

/* CR0.NE = 0: the error comes as IRQ 13 through the 8259; port F0h lets go of it. */
static void legacy_error(void)
{
    static const u8 init[][2] = {
        { 0x20, 0x11 }, { 0x21, 0x40 }, { 0x21, 4 }, { 0x21, 1 }, { 0xa0, 0x11 },
        { 0xa1, 0x48 }, { 0xa1, 2 }, { 0xa1, 1 },
        { 0x21, 0xfb }, { 0xa1, 0xdf },
    };
    volatile u32 *apic = (volatile u32 *)0xfee00000ul;

    for (u32 i = 0; i < sizeof(init) / 2; i++) {
        outb(init[i][0], init[i][1]);
    }
    apic[0xf0 / 4] = 0x1ff;
    apic[0x350 / 4] = 0x700;
    with_cr0(0, CR0_NE);
    start.flags |= FL_IF;
    T("ferr-is-irq-13", INVALID "fwait; movl $20000000, %ecx; 1: pause; loop 1b", "i4d");
    T("ignne", "outb %al, $0xf0; fninit", "ok");
    start_kernel();
    outb(0xa0, 0x20);
    outb(0x20, 0x20);
    outb(0x21, 0xff);
    outb(0xa1, 0xff);
    apic[0x350 / 4] = 0x10700;
    with_cr0(CR0_NE, 0);
}

void x87_group(void);
void x87_group(void)
{
    start_kernel();
    tags();
    examine();
    stack_faults();
    pointers();
    precision();
    pending();
    not_available();
    simd_errors();
    alignment();
}

void ferr_group(void);
void ferr_group(void)
{
    start_kernel();
    legacy_error();
}
