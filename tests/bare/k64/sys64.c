/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control registers and MSRs: reserved bits and forbidden changes (SDM vol. 3 2.5, vol. 4), CPUID's
 * consistency with them, PCID, INVPCID, MONITOR, UMIP, FSGSBASE, TSC.
 */
#include "bare.h"

static void control_registers(void)
{
    start_kernel();
    T("cr0-et-is-fixed", "movq %cr0, %rax; btrq $4, %rax; movq %rax, %cr0; movq %cr0, %rax; andl $0x10, %eax",
      "ok ax=10");
    T("cr1-is-ud", ".byte 0x0f, 0x20, 0xc8", "#UD");
    T("cr5-is-ud", ".byte 0x0f, 0x20, 0xe8", "#UD");
    T("cr7-is-ud", ".byte 0x0f, 0x20, 0xf8", "#UD");
    T("cr9-is-ud", ".byte 0x44, 0x0f, 0x20, 0xc8", "#UD");
    T("cr8", "movl $5, %eax; movq %rax, %cr8; movq %cr8, %rcx; xorl %eax, %eax; movq %rax, %cr8", "ok cx=5");
    T("cr8-reserved", "movl $16, %eax; movq %rax, %cr8", "#GP(0)");
    T("cr2-holds-64-bits", "movabsq $0x123456789abcdef0, %rax; movq %rax, %cr2; movq %cr2, %rcx",
      "ok cx=123456789abcdef0");
    T("mov-cr-ignores-mod", ".byte 0x0f, 0x20, 0x00", "ok");
    T("pcide-with-pcid-in-cr3", "movq %cr3, %rcx; movq %rcx, %rax; orl $1, %eax; movq %rax, %cr3; movq %cr4, %rax;"
      "btsq $17, %rax; movq %rax, %cr4", "#GP(0)");
    cr3_set(cr3_get() & ~0xffful);
}

static void msrs(void)
{
    start_kernel();
    T("rdmsr-unknown", "movl $0x12345678, %ecx; rdmsr", "#GP(0) ip=5");
    T("wrmsr-unknown", "movl $0x12345678, %ecx; wrmsr", "#GP(0)");
    T("efer-reserved", "movl $0xc0000080, %ecx; rdmsr; btsl $2, %eax; wrmsr", "#GP(0)");
    T("efer-lme-off-with-paging", "movl $0xc0000080, %ecx; rdmsr; btrl $8, %eax; wrmsr", "#GP(0)");
    T("efer-lma-is-read-only", "movl $0xc0000080, %ecx; rdmsr; btrl $10, %eax; wrmsr; rdmsr; andl $0x400, %eax",
      "ok ax=400");
    T("pat-reserved-type", "movl $0x277, %ecx; rdmsr; movb $2, %al; wrmsr", "#GP(0)");
    T("pat-reset-value", "movl $0x277, %ecx; rdmsr", "ok ax=70406 dx=70406");
    T("mtrr-def-type-bad", "movl $0x2ff, %ecx; movl $2, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("mtrr-fixed-bad-type", "movl $0x250, %ecx; movl $2, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("apic-base-reserved", "movl $0x1b, %ecx; rdmsr; btsl $0, %eax; wrmsr", "#GP(0)");
    T("apic-base-bsp", "movl $0x1b, %ecx; rdmsr; andl $0xd00, %eax", "ok ax=900");
    T("x2apic-msr-in-xapic-mode", "movl $0x802, %ecx; rdmsr", "#GP(0)");
    T("mcg-cap", "movl $0x179, %ecx; rdmsr; andl $0xff, %eax; cmpl $1, %eax; setae %al", "ok al=1");
    T("mci-ctl-beyond", "movl $0x4f0, %ecx; rdmsr", "#GP(0)");
    T("mci-status-write", "movl $0x401, %ecx; movl $1, %eax; xorl %edx, %edx; wrmsr", "#GP(0)");
    T("sysenter-cs-keeps-32", "movl $0x174, %ecx; movl $0x8, %eax; xorl %edx, %edx; wrmsr; rdmsr", "ok ax=8");
    T("star", "movl $0xc0000081, %ecx; movl $0x11, %eax; movl $0x22, %edx; wrmsr; rdmsr", "ok ax=11 dx=22");
    T("tsc-aux-upper-half", "movl $0xc0000103, %ecx; xorl %eax, %eax; movl $1, %edx; wrmsr", "#GP(0)");
    T("tsc-aux", "movl $0xc0000103, %ecx; movl $77, %eax; xorl %edx, %edx; wrmsr; rdtscp", "ok cx=4d");
    T("tsc-write", "movl $0x10, %ecx; xorl %eax, %eax; xorl %edx, %edx; wrmsr; rdtsc; shlq $32, %rdx; orq %rdx, %rax;"
      "shrq $36, %rax", "ok ax=0");
    T("tsc-grows", "rdtsc; movl %eax, %esi; movl $1000, %ecx; 1: loop 1b; rdtsc; cmpl %esi, %eax; setne %al",
      "ok al=1");
    T("misc-enable", "movl $0x1a0, %ecx; rdmsr; andl $1, %eax", "ok ax=1");
    T("swapgs", "movl $0xc0000102, %ecx; movl $0x1234, %eax; xorl %edx, %edx; wrmsr; swapgs; "
          "movl $0xc0000101, %ecx; rdmsr;"
      "swapgs; movl %eax, %ecx", "ok cx=1234");
    T("fs-load-clears-upper-base", "movl $0xc0000100, %ecx; xorl %eax, %eax; movl $1, %edx; wrmsr; movw $0x10, %ax;"
      "movw %ax, %fs; rdmsr", "ok ax=0 dx=0");
    T("fs-base-used", "movl $0xc0000100, %ecx; movl $0x40000, %eax; xorl %edx, %edx; wrmsr; movl $0x77, 0x40010;"
      "movl %fs:0x10, %ecx", "ok cx=77");
}

static void features(void)
{
    start_kernel();
    T("cpuid-leaf-1-apic-bit", "movl $1, %eax; xorl %ecx, %ecx; cpuid; shrl $9, %edx; andl $1, %edx", "ok dx=1");
    T("cpuid-osxsave-follows-cr4", "movl $1, %eax; cpuid; shrl $27, %ecx; andl $1, %ecx", "ok cx=0");
    cr4_set(cr4_get() | CR4_OSXSAVE);
    T("cpuid-osxsave-set", "movl $1, %eax; cpuid; shrl $27, %ecx; andl $1, %ecx", "ok cx=1");
    T("xsetbv-no-x87", "xorl %ecx, %ecx; xorl %edx, %edx; movl $2, %eax; xsetbv", "#GP(0)");
    T("xsetbv-avx-without-sse", "xorl %ecx, %ecx; xorl %edx, %edx; movl $5, %eax; xsetbv", "#GP(0)");
    T("xsetbv-unknown-bit", "xorl %ecx, %ecx; movl $0x1000000, %edx; movl $1, %eax; xsetbv", "#GP(0)");
    T("xsetbv-index-1", "movl $1, %ecx; xorl %edx, %edx; movl $1, %eax; xsetbv", "#GP(0)");
    T("xgetbv", "xorl %ecx, %ecx; xgetbv; andl $1, %eax", "ok ax=1");
    start_user();
    T("user-xsetbv", "xorl %ecx, %ecx; xorl %edx, %edx; movl $1, %eax; xsetbv", "#GP(0)");
    start_kernel();
    T("xsave-unaligned", "xorl %edx, %edx; movl $1, %eax; xsave 0x40420", "#GP(0)");
    T("xrstor-bad-header", "xorl %edx, %edx; movl $1, %eax; xsave 0x40400; movl $0x100, 0x40600 + 4; "
          "xrstor 0x40400", "#GP(0)");
    cr4_set(cr4_get() & ~CR4_OSXSAVE);
    start_user();
    T("rdtsc-tsd-off", "rdtsc", "ok");
    cr4_set(cr4_get() | CR4_TSD);
    T("rdtsc-tsd", "rdtsc", "#GP(0)");
    T("rdtscp-tsd", "rdtscp", "#GP(0)");
    cr4_set(cr4_get() & ~CR4_TSD);
    T("rdpmc-user", "xorl %ecx, %ecx; rdpmc", "#GP(0)");
    T("monitor-user", "xorl %ecx, %ecx; xorl %edx, %edx; movl $0x40000, %eax; monitor", "#UD");
    cr4_set(cr4_get() & ~CR4_FSGSBASE);
    T("fsgsbase-off", "rdfsbase %rax", "#UD");
    cr4_set(cr4_get() | CR4_FSGSBASE);
    T("fsgsbase", "movl $0x40000, %eax; wrfsbase %rax; rdfsbase %rcx", "ok cx=40000");
    T("fsgsbase-non-canonical", "movabsq $0x4000000000000000, %rax; wrgsbase %rax", "#GP(0)");
    cr4_set(cr4_get() & ~CR4_FSGSBASE);
    if (cpu_has(7, 2, 2)) {
        cr4_set(cr4_get() | CR4_UMIP);
        T("umip-sgdt", "sgdt 0x40000", "#GP(0)");
        T("umip-sldt", "sldt %eax", "#GP(0)");
        T("umip-smsw", "smsw %eax", "#GP(0)");
        T("umip-str", "str %eax", "#GP(0)");
        start_kernel();
        T("umip-kernel", "sgdt 0x40000", "ok");
        cr4_set(cr4_get() & ~CR4_UMIP);
    } else {
        skip("umip", "not in this CPU");
    }
    start_kernel();
    T("monitor", "xorl %ecx, %ecx; xorl %edx, %edx; movl $0x40000, %eax; monitor", "ok");
    T("monitor-hint", "movl $1, %ecx; xorl %edx, %edx; movl $0x40000, %eax; monitor", "#GP(0)");
    T("lock-on-register", ".byte 0xf0; addl %eax, %eax", "#UD");
    T("lock-on-mov", ".byte 0xf0; movl %eax, 0x40000", "#UD");
    T("lock-on-cmp", ".byte 0xf0; cmpl %eax, 0x40000", "#UD");
    T("cmpxchg16b-unaligned", "cmpxchg16b 0x40008", "#GP(0)");
    T("tsc-aux-again", "movl $0xc0000103, %ecx; movl $7, %eax; xorl %edx, %edx; wrmsr; rdtscp", "ok cx=7");
    T("vmrun-masked", ".byte 0x0f, 0x01, 0xd8", "#UD");
    T("ud0", ".byte 0x0f, 0xff, 0xc0", "#UD");
    T("ud1", ".byte 0x0f, 0xb9, 0xc0", "#UD");
}

static void address_spaces(void)
{
    if (!cpu_has(1, 2, 17) || !cpu_has(7, 1, 10)) {
        skip("pcid", "no PCID or INVPCID");
        return;
    }
    start_kernel();
    T("invpcid-type-4", "movl $4, %eax; pushq $0; pushq $0; invpcid (%rsp), %rax", "#GP(0)");
    T("invpcid-pcid-reserved", "movl $1, %eax; pushq $0; pushq $0x1000; invpcid (%rsp), %rax", "#GP(0)");
    T("invpcid-pcid-without-pcide", "movl $1, %eax; pushq $0; pushq $1; invpcid (%rsp), %rax", "#GP(0)");
    T("invpcid-all", "movl $2, %eax; pushq $0; pushq $0; invpcid (%rsp), %rax", "ok");
    T("invpcid-non-canonical",
      "xorl %eax, %eax; movabsq $0x800000000000, %rcx; pushq %rcx; pushq $0; invpcid (%rsp), %rax",
      "#GP(0)");
    start_user();
    T("invpcid-user", "movl $2, %eax; pushq $0; pushq $0; invpcid (%rsp), %rax", "#GP(0)");
    start_kernel();
    cr4_set(cr4_get() | CR4_PCIDE);
    T("pcide-cr3-with-pcid", "movq %cr3, %rcx; movq %rcx, %rax; orl $5, %eax; movq %rax, %cr3; movq %cr3, %rdx;"
      "movq %rcx, %cr3; andl $0xfff, %edx", "ok dx=5");
    T("pcide-no-flush-bit-reads-0",
      "movq %cr3, %rax; btsq $63, %rax; movq %rax, %cr3; movq %cr3, %rax; shrq $63, %rax", "ok ax=0");
    cr4_set(cr4_get() & ~CR4_PCIDE);
    T("no-flush-bit-without-pcide", "movq %cr3, %rax; btsq $63, %rax; movq %rax, %cr3", "#GP(0)");
}

void sys64_group(void);
void sys64_group(void)
{
    control_registers();
    msrs();
    features();
    address_spaces();
    desc_init();
}

/* Without the check the machine is lost. */
void sys64_cr0_group(void);
void sys64_cr0_group(void)
{
    start_kernel();
    T("cr0-pg-without-pe", "movq %cr0, %rax; andl $~1, %eax; movq %rax, %cr0", "#GP(0)");
    T("cr0-pg-off-in-64-bit", "movq %cr0, %rax; btrq $31, %rax; movq %rax, %cr0", "#GP(0)");
    T("cr0-nw-without-cd", "movq %cr0, %rax; orl $0x20000000, %eax; andl $~0x40000000, %eax; movq %rax, %cr0",
      "#GP(0)");
    T("cr0-upper-half", "movq %cr0, %rax; btsq $32, %rax; movq %rax, %cr0", "#GP(0)");
    T("cr4-pae-off-in-long-mode", "movq %cr4, %rax; btrq $5, %rax; movq %rax, %cr4", "#GP(0)");
    T("cr4-la57-in-long-mode", "movq %cr4, %rax; btcq $12, %rax; movq %rax, %cr4", "#GP(0)");
    T("cr4-reserved", "movq %cr4, %rax; btsq $31, %rax; movq %rax, %cr4", "#GP(0)");
    T("cr4-bit-15", "movq %cr4, %rax; btsq $15, %rax; movq %rax, %cr4", "#GP(0)");
    T("cr4-upper-half", "movq %cr4, %rax; btsq $40, %rax; movq %rax, %cr4", "#GP(0)");
    T("cr4-vmxe-masked", "movq %cr4, %rax; btsq $13, %rax; movq %rax, %cr4", "#GP(0)");
    T("cr3-beyond-maxphyaddr", "movq %cr3, %rax; btsq $51, %rax; movq %rax, %cr3", "#GP(0)");
    desc_init();
}
