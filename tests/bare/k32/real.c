/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real mode (SDM vol. 3 ch. 20) and "unreal" mode: no error codes, 64 KiB limits, the IVT, which
 * instructions exist. The segments' limits survive the switch from protected mode.
 */
#include "bare.h"

#define R(name, text, want) real_snippet(name, CODE("16", text), want)
enum { LOWCS = 0x78, LIMITED = SEL_FREE, BIG = SEL_FREE + 8 };

extern u32 real_ip[16];
extern u16 real_frame[24];
extern u32 real_frame_ss, real_frame_sp, real_frame_fs, real_frame_gs;
extern const u8 real_vectors[];
void real_switch(u32 sel);
static u32 data_sel;

static void real_record(ulong from)
{
    const u32 *regs = (const u32 *)(real_frame + 2);

    rec = (Rec){ .es = real_frame[0], .ds = real_frame[1], .vec = real_frame[18], .ip = real_frame[19],
                 .cs = real_frame[20], .flags = real_frame[21], .ss = (u16)real_frame_ss,
                 .sp = (u16)(real_frame_sp + 36 + 8), .fs = (u16)real_frame_fs, .gs = (u16)real_frame_gs };
    for (u32 i = 0; i < 8; i++) {
        rec.regs[i] = regs[7 - i];
    }
    rec.rel = rec.ip - from;
    rec.dsp = rec.sp - start.sp;
    rec.dr6 = dr6_get();
}

/* The layout behind real_ip is real.S's. */
static void real_snippet(const char *name, const void *code, const char *want)
{
    ulong from = (ulong)code - SNIP_BASE;
    u32 *p = real_ip;

    p[0] = from;
    p[1] = start.cs;
    p[2] = start.flags;
    p[3] = start.sp | start.ss << 16;
    p[4] = start.ds;
    p[5] = start.es;
    p[6] = start.fs;
    p[7] = start.gs;
    memcpy(p + 8, start.regs, 32);
    real_switch(data_sel);
    real_record(from);
    desc_load();
    check(name, want);
}

static void real_setup(void)
{
    u16 *ivt = (u16 *)0;

    __asm__ volatile("" : "+r"(ivt));
    desc_init();
    gdt_set(LOWCS, LOW_BASE, 0xffff, 0x9b, 0);
    gdt_set(LIMITED, 0, 0xffff, 0x93, 0);
    gdt_set(BIG, 0, 0xfffff, 0x93, 0xc);
    for (u32 i = 0; i < 256; i++) {
        ivt[i * 2] = (ulong)real_vectors + i * 8 - LOW_BASE;
        ivt[i * 2 + 1] = LOW_BASE >> 4;
    }
    memset(&start, 0, sizeof(start));
    start.cs = SNIP_BASE >> 4;
    start.ds = start.es = start.fs = start.gs = UBUF >> 4;
    start.ss = 0x5000;
    start.sp = 0x8000;
    start.flags = 2;
    data_sel = LIMITED;
}

static void limits(void)
{
    R("word-at-ffff", "movw $0xffff, %bx; movw (%bx), %ax", "#GP ip=3");
    R("dword-at-fffd", "movw $0xfffd, %bx; movl (%bx), %eax", "#GP ip=3");
    R("word-at-fffe", "movw $0xfffe, %bx; movw (%bx), %ax", "ok");
    R("offset-32-bit", "movl $0x10000, %ebx; movb (%ebx), %al", "#GP ip=6");
    R("stack-at-ffff", "movw $0xffff, %bp; movw (%bp), %ax", "#SS ip=3");
    R("push-wraps", "movw $0, %sp; pushw $0x1234; movw %sp, %ax; movw $0x8000, %sp", "ok ax16=fffe");
    R("offset-wraps", "movw $0x1234, 0x10; movw $0xfff0, %bx; movw 0x20(%bx), %ax", "ok ax16=1234");
    R("string-at-ffff", "movw $0xffff, %si; lodsw", "#GP si=ffff");
    R("rep-string-wraps", "movw $0xffff, %si; movw $2, %cx; rep lodsb", "ok si=1 cx=0");
    R("cs-write", "movb %al, %cs:0xfff0", "ok");
}

static void instructions(void)
{
    R("arpl", "arpl %ax, %ax", "#UD ip=0");
    R("lar", "lar %ax, %ax", "#UD");
    R("lsl", "lsl %ax, %ax", "#UD");
    R("verr", "verr %ax", "#UD");
    R("verw", "verw %ax", "#UD");
    R("sldt", "sldt %ax", "#UD");
    R("str", "str %ax", "#UD");
    R("lldt", "lldt %ax", "#UD");
    R("ltr", "ltr %ax", "#UD");
    R("lock-nop", ".byte 0xf0, 0x90", "#UD");
    R("divide", "xorw %cx, %cx; divw %cx", "#DE ip=2");
    R("divide-overflow", "movw $1, %dx; xorw %ax, %ax; movw $1, %cx; divw %cx", "#DE ip=8");
    R("idiv-min", "movw $0x8000, %ax; movb $-1, %cl; idivb %cl", "#DE ip=5");
    R("aam-zero", "movb $9, %al; .byte 0xd4, 0", "#DE ip=2");
    R("into", "movb $0x7f, %al; incb %al; into", "#OF ip=5");
    R("int3", "int3", "#BP ip=1");
    R("bound", "movl $0x00020001, 0x20; movw $3, %ax; bound %ax, 0x20", "#BR ip=c");
    R("icebp", ".byte 0xf1", "#DB ip=1");
    R("int-pushes-3-words", "int $0x44; nop", "i44 ip=2 sp=8000");
    R("push-sp", "pushw %sp; popw %ax", "ok ax16=8000");
    R("pushl-sp", "pushl %esp; popl %eax", "ok ax16=8000");
    R("smsw", "smsww %ax; andw $1, %ax", "ok ax16=0");
    R("clts", "clts", "ok");
    R("cpl0", "movl %cr0, %eax; andl $1, %eax", "ok ax=0");
    R("mov-ds", "movw $0x1234, %ax; movw %ax, %ds", "ok ds=1234");
    R("mov-ds-data", "movl $0xabcd0123, 0x20; movw $0x4002, %ax; movw %ax, %ds; movl 0, %ecx", "ok cx=abcd0123");
    R("far-call", "movl $1f - 0x2fff0, %eax; movw %ax, 0x40; movw $0x2fff, 0x42; lcall *0x40; 1: movw %cs, %ax",
      "ok ax16=2fff dsp=-4");
    R("lret-imm", "movl $1f - 0x30000, %eax; pushw $0x99; pushw $0x3000; pushw %ax; lretw $2; 1:",
      "ok sp=8000 cs=3000");
    R("fault-has-no-rf-in-16-bits", "ud2", "#UD ip=0");
}

static void flags(void)
{
    R("popf-iopl-nt", "pushw $0x7002; popfw; pushfw; popw %ax", "ok ax16=7002");
    R("popf-if", "pushw $0x0202; popfw", "ok if=1");
    R("int-clears-if-tf", "sti; int $0x45", "i45 if=1");
    R("pushfd-popfd-ac-id", "pushl $0x240002; popfl; pushfl; popl %eax; pushl $2; popfl", "ok ax=240002");
    R("popfd-vm-ignored", "pushl $0x20002; popfl; pushfl; popl %eax", "ok ax=2");
    R("tf-steps", "pushw $0x0102; popfw; nop; nop", "#DB tf=1 ip=5");
    R("iretd", "pushl $2; pushl $0x3000; pushl $1f - 0x30000; iretl; 1:", "ok sp=8000");
}

/* A short IDT: a vector beyond it is #GP, and in its delivery #DF comes through vector 8 if that is within. */
static void short_idt(void)
{
    R("int-beyond-idt", "movw $0x7f, 0x30; movl $0, 0x32; lidtl 0x30; int $0x40; nop", "#GP ip=15");
}

static void unreal(void)
{
    data_sel = BIG;
    *(volatile u32 *)0x200100 = 0x600df00d;
    R("big-limit-stays", "movl $0x1c0100, %ebx; movl (%ebx), %eax", "ok ax=600df00d");
    R("big-limit-after-load", "movw $0x4000, %ax; movw %ax, %ds; movl $0x1c0100, %ebx; movl (%ebx), %eax",
      "ok ax=600df00d");
    R("base-changes-with-load", "movw $0x3ff0, %ax; movw %ax, %ds; movl $0x1c0200, %ebx; movl (%ebx), %eax",
      "ok ax=600df00d");
    data_sel = LIMITED;
    R("limit-back", "movl $0x1c0100, %ebx; movl (%ebx), %eax", "#GP");
}

/*
 * The A20 line: FFFF:0510 is 500h or 100500h. Port 92h and the keyboard controller each set it; the last one has it.
 * While it is low nothing of the kernel, which lies above 1 MiB, may run. boot.S leaves room at 100500h.
 */
#define TO_FFFF "movw $0xffff, %ax; movw %ax, %fs; xorw %ax, %ax; movw %ax, %es; movb $0x5a, %es:0x500;"
#define FAST(v) "movb $" v ", %al; outb %al, $0x92;"
#define KBD(v) "movb $0xd1, %al; outb %al, $0x64; movb $" v ", %al; outb %al, $0x60;"
#define LOOK(reg) "movb %fs:0x510, %" reg ";"

static void a20(void)
{
    volatile u8 *above = (volatile u8 *)0x100500;

    *above = 0x33;
    R("a20-port-92", TO_FFFF LOOK("bl") FAST("0") LOOK("bh") FAST("2") LOOK("cl") "movzbl %cl, %ecx; movzwl %bx, %ebx",
      "ok bx=5a33 cx=33");
    R("a20-keyboard", TO_FFFF KBD("0xdd") LOOK("bl") KBD("0xdf") LOOK("bh") "movzwl %bx, %ebx", "ok bx=335a");
    R("a20-last-one-has-it", TO_FFFF FAST("0") KBD("0xdf") LOOK("bl") KBD("0xdd") FAST("2") LOOK("bh")
      "movzwl %bx, %ebx", "ok bx=3333");
    R("a20-store", TO_FFFF FAST("0") "movb $0x77, %fs:0x510;" FAST("2") "movzbl %es:0x500, %ecx", "ok cx=77");
    check_num("a20-store-goes-below", *above, 0x33);
    R("a20-fetch", TO_FFFF "movl $0xcb66b1, %es:0x600;" FAST("0") "lcall $0xffff, $0x610;" FAST("2") "movzbl %cl, %ecx",
      "ok cx=66");
}

void real_group(void);
void real_group(void)
{
    real_setup();
    limits();
    instructions();
    flags();
    short_idt();
    unreal();
    a20();
    desc_init();
}

/* Without limit checks these run into the blue. */
void real_jump_group(void);
void real_jump_group(void)
{
    real_setup();
    R("jump-beyond", "movl $0x10000, %eax; jmpl *%eax", "#GP ip=6");
    R("far-jump-beyond", "ljmpl $0x3000, $0x10000", "#GP ip=0");
    R("iretd-high-ip", "pushl $2; pushl $0x3000; pushl $0x10000; iretl", "#GP");
    desc_init();
}
