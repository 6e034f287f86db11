/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual-8086 mode (SDM vol. 3 ch. 20): what is sensitive to IOPL, what is no instruction there, the frame
 * an interrupt leaves, 64 KiB limits, the I/O bitmap, and the extensions of CR4.VME and CR4.PVI. Snippets
 * of IOPL < 3 end in INT3.
 */
#include "bare.h"

#define V(name, text, want) snippet(name, CODE("16", text "; int3"), want)
enum { A = SEL_FREE };

static void start_v86(u32 iopl)
{
    start_user();
    start.cs = SNIP_BASE >> 4;
    start.flags = 2 | FL_VM | iopl << 12;
    start.ds = start.es = start.fs = start.gs = UBUF >> 4;
    start.ss = 0x5000;
    start.sp = 0x8000;
}

static void sensitive(void)
{
    start_v86(0);
    V("cli-iopl0", "cli", "#GP(0) ip=0 vm=1 cs=3000 ss=5000 ds=4000");
    V("sti-iopl0", "sti", "#GP(0) ip=0");
    V("pushf-iopl0", "pushfw", "#GP(0) sp=8000");
    V("popf-iopl0", "popfw", "#GP(0) sp=8000");
    V("int-iopl0", "int $0x20", "#GP(0) ip=0");
    V("iret-iopl0", "iretw", "#GP(0) sp=8000");
    V("int3-iopl0", "nop", "#BP ip=2 vm=1");
    V("icebp-iopl0", ".byte 0xf1", "#DB ip=1 vm=1");
    V("into-iopl0", "movb $0x7f, %al; incb %al; into", "#OF ip=5");
    V("hlt", "hlt", "#GP(0)");
    V("mov-cr0", "movl %cr0, %eax", "#GP(0)");
    V("mov-to-cr3", "movl %eax, %cr3", "#GP(0)");
    V("mov-dr7", "movl %dr7, %eax", "#GP(0)");
    V("clts", "clts", "#GP(0)");
    V("lmsw", "lmsw %ax", "#GP(0)");
    V("smsw", "smsww %ax", "#BP");
    V("lgdt", "lgdtl 0", "#GP(0)");
    V("invd", "invd", "#GP(0)");
    V("wrmsr", "wrmsr", "#GP(0)");
    V("rdtsc", "rdtsc", "#BP");
    V("arpl", "arpl %ax, %ax", "#UD");
    V("lar", "lar %ax, %ax", "#UD");
    V("lsl", "lsl %ax, %ax", "#UD");
    V("verr", "verr %ax", "#UD");
    V("sldt", "sldt %ax", "#UD");
    V("str", "str %ax", "#UD");
    V("ltr", "ltr %ax", "#UD");
    V("lldt", "lldt %ax", "#UD");
    start_v86(3);
    V("cli-iopl3", "sti; cli", "#BP if=0 iopl=3");
    V("sti-iopl3", "sti", "#BP if=1");
    V("int-iopl3", "int $0x20", "ok ip=2 vm=1 iopl=3");
    V("int-iopl3-dpl0", "int $0x61", "#GP(30a) ip=0");
    V("pushf-iopl3", "pushfw; popw %ax", "#BP ax16=3002");
    V("popf-keeps-iopl", "pushw $0x0802; popfw", "#BP iopl=3 of=1 vm=1");
    V("popf-sets-if-nt", "pushw $0x4202; popfw", "#BP if=1 nt=1");
    V("pushfd-hides-vm-rf", "pushfl; popl %eax", "#BP ax=3002");
    V("popfd-keeps-vm", "pushl $0x0; popfl", "#BP vm=1 iopl=3");
    V("iret-iopl3", "pushw $0x0202; pushw $0x3000; callw 1f; 1: popw %ax; addw $6, %ax; pushw %ax; iretw",
      "#BP vm=1 if=1 iopl=3");
}

static void segments(void)
{
    start_v86(0);
    *(volatile u32 *)(UBUF + 0x1230) = 0xfeedf00d;
    V("segment-is-shifted", "movw $0x4123, %ax; movw %ax, %ds; movl 0, %ecx", "#BP cx=feedf00d ds=4123");
    V("word-at-ffff", "movw $0xffff, %bx; movw (%bx), %ax", "#GP(0) ip=3");
    V("dword-at-fffd", "movw $0xfffd, %bx; movl (%bx), %eax", "#GP(0)");
    V("byte-at-ffff", "movw $0xffff, %bx; movb (%bx), %al", "#BP");
    V("offset-32-bit", "movl $0x10000, %ebx; movb (%ebx), %al", "#GP(0) ip=6");
    V("stack-word-at-ffff", "movw $0xffff, %bp; movw (%bp), %ax", "#SS(0)");
    V("push-wraps", "movw $0, %sp; pushw %ax", "#BP sp16=fffe");
    V("push-odd", "movw $1, %sp; pushw %ax", "#SS(0) sp16=1");
    V("offset-wraps-at-64k", "movw $0xfff0, %bx; movb 0x20(%bx), %al", "#BP");
    V("far-jump", "movl $1f - 0x2fff0, %eax; movw %ax, 0x40; movw $0x2fff, 0x42; ljmp *0x40; 1:", "#BP cs=2fff");
    V("far-jump-beyond", "ljmpl $0x3000, $0x10000", "#GP(0) ip=0");
    V("cs-write", "movb %al, %cs:0xfff0", "#BP");
}

static void frame_of(void)
{
    static const char *const names[] = { "frame-es", "frame-ds", "frame-fs", "frame-gs" };
    const void *to = CODE("32", "movl %ds, %eax; movl %es, %ecx; movl %fs, %edx; movl %gs, %esi; movl 8(%esp), %edi;"
                          "movl (%esp), %ebp; movl 12(%esp), %ebx");
    const void *code = CODE("16",
      "movw $0x4111, %ax; movw %ax, %es; movw $0x4222, %ax; movw %ax, %fs; int $0x60; nop");
    static const u32 want[] = { 0x4111, 0x4000, 0x4222, 0x4000 };

    start_v86(3);
    idt_set(0x60, KCS, to, 0xee);
    snippet("handler-segments-null", code, "ok ax=0 cx=0 dx=0 si=0 di=23002 bx=8000");
    check_num("frame-depth", (ulong)estack_top - rec.sp, 36);
    for (u32 i = 0; i < 4; i++) {
        check_num(names[i], ((u32 *)estack_top)[(int)i - 4], want[i]);
    }
    gdt_set(A, 0, 0xfffff, 0x9f, 0xc);
    idt_set(0x60, A, to, 0xee);
    V("handler-conforming", "int $0x60", "#GP(80) vm=1");
    gdt_set(A, 0, 0xfffff, 0xbb, 0xc);
    V("handler-level-1", "int $0x60", "#GP(80) vm=1");
    idt_default(0x60);
    start_v86(0);
    *(volatile u16 *)(UBUF + 0x100) = 0;
    V("fault-frame-rf", "ud2", "#UD vm=1 rf=1 ip=0");
}

static void io_bitmap(void)
{
    start_v86(3);
    V("out-denied-at-iopl3", "outb %al, $0x80", "#GP(0) ip=0");
    tss[104 + 0x80 / 8] = 0xfe;
    V("out-allowed", "outb %al, $0x80", "#BP");
    V("out-word-denied", "outw %ax, $0x80", "#GP(0)");
    V("out-next-denied", "outb %al, $0x81", "#GP(0)");
    tss[104 + 0x80 / 8] = 0xff;
}

/* The redirection bitmap lies in the 32 bytes below the I/O bitmap. */
static void vme(void)
{
    volatile u16 *ivt = (volatile u16 *)0;
    const void *to = CODE("16", "movw $0x77, %cx; popw %ax; popw %dx; popw %si; int3");

    if (!cpu_has(1, 3, 1)) {
        skip("vme", "no VME");
        return;
    }
    memset(tss + 104, 0, 32);
    memset(tss + 136, 0xff, 64);
    tss_set_iobase(136, 136 + 64);
    cr4_set(cr4_get() | CR4_VME);
    ivt[0x62 * 2] = (ulong)to - SNIP_BASE;
    ivt[0x62 * 2 + 1] = SNIP_BASE >> 4;
    start_v86(0);
    start.flags |= FL_VIF;
    V("vme-cli", "cli", "#BP vif=0 if=0");
    V("vme-pushf", "pushfw; popw %ax", "#BP ax16=3202");
    V("vme-int-redirected", "int $0x62; nop", "#BP cx=77 dx=3000 si=3202 vif=0 vm=1");
    start.flags &= ~FL_VIF;
    V("vme-sti", "sti", "#BP vif=1 if=0");
    V("vme-pushf-vif0", "pushfw; popw %ax", "#BP ax16=3002");
    V("vme-popf-sets-vif", "pushw $0x0202; popfw", "#BP vif=1 if=0 iopl=0");
    V("vme-popf-tf", "pushw $0x0102; popfw", "#GP(0)");
    V("vme-pushfd", "pushfl", "#GP(0) sp=8000");
    V("vme-popfd", "popfl", "#GP(0)");
    V("vme-iretd", "iretl", "#GP(0)");
    start.flags |= FL_VIP;
    V("vme-sti-vip", "sti", "#GP(0) vif=0");
    V("vme-popf-if-vip", "pushw $0x0202; popfw", "#GP(0)");
    V("vme-cli-vip", "cli", "#BP vip=1");
    start_v86(0);
    tss[104 + 0x62 / 8] |= 1 << (0x62 & 7);
    V("vme-int-bit-set", "int $0x62", "#GP(0) ip=0");
    start_v86(3);
    tss[104 + 0x20 / 8] = 1;
    V("vme-int-bit-set-iopl3", "int $0x20", "ok vm=1");
    tss[104 + 0x62 / 8] = 0;
    tss[104 + 0x20 / 8] = 0;
    start.flags |= FL_IF;
    V("vme-int-redirected-iopl3", "int $0x62", "#BP cx=77 si=3202 if=0");
    start_v86(0);
    V("vme-iret", "pushw $0x0202; pushw $0x3000; callw 1f; 1: popw %ax; addw $6, %ax; pushw %ax; iretw",
      "#BP vif=1 iopl=0 vm=1");
    cr4_set(cr4_get() & ~CR4_VME);
}

static void pvi(void)
{
    start_user();
    T("cli-iopl0-user", "cli", "#GP(0)");
    if (!cpu_has(1, 3, 1)) {
        skip("pvi", "no VME");
        return;
    }
    cr4_set(cr4_get() | CR4_PVI);
    T("pvi-sti", "sti", "ok vif=1 if=0");
    T("pvi-cli", "cli", "ok vif=0");
    start.flags |= FL_VIP;
    T("pvi-sti-vip", "sti", "#GP(0) vif=0");
    start.flags = 2 | 0x3000;
    T("pvi-sti-iopl3", "sti", "ok if=1 vif=0");
    start.flags = 2;
    T("pvi-popf-ignores-if", "pushl $0x202; popfl", "ok if=0 vif=0");
    cr4_set(cr4_get() & ~CR4_PVI);
}

/* IRETD at CPL 0 with VM set starts virtual-8086 mode; at CPL 3 the bit is ignored. */
static void entering(void)
{
    start_user();
    T("user-iretd-vm-ignored", "pushl $0x20002; pushl %cs; pushl $1f; iretl; 1:", "ok vm=0 cs=1b");
    T("user-popfd-vm-ignored", "pushl $0x20002; popfl", "ok vm=0");
    start_kernel();
    T("kernel-popfd-vm-ignored", "pushl $0x20002; popfl", "ok vm=0");
}

void v86_group(void);
void v86_group(void)
{
    sensitive();
    segments();
    frame_of();
    io_bitmap();
    vme();
    pvi();
    entering();
    desc_init();
}
