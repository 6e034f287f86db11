/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware task switches (SDM vol. 3 ch. 7): JMP, CALL, IRET, interrupts; 32- and 16-bit TSSs; links, busy
 * bits and NT; what is checked before the switch (old task) and after it (new task: #TS, #NP, #SS in the
 * context of the new one).
 */
#include "bare.h"

enum { TB = SEL_FREE, TG = SEL_FREE + 8, T16SEL = SEL_FREE + 16, A = SEL_FREE + 24, B = SEL_FREE + 32 };

static u32 tb[32] __attribute__((aligned(128)));
static u16 tb16[64] __attribute__((aligned(128)));

static const void *end_code(void)
{
    return CODE("32", "pushfl; popl %eax");
}

/* Task B: kernel segments, entry, known registers. */
static void task_fill(const void *entry)
{
    desc_init();
    memset(tb, 0, sizeof(tb));
    tb[7] = cr3_get();
    tb[8] = (ulong)entry;
    tb[9] = 2;
    for (u32 i = 0; i < 8; i++) {
        tb[10 + i] = 0x1111 * i;
    }
    tb[14] = 0x4d000;
    for (u32 i = 18; i < 24; i++) {
        tb[i] = KDS;
    }
    tb[19] = KCS;
    tb[25] = 104 << 16;
    gdt_set_tss(TB, tb, 103, 9);
    gdt[TG >> 3] = (u64)TB << 16 | 0xe5ull << 40;
    start_kernel();
}

static u32 type_of(u32 sel)
{
    return gdt[sel >> 3] >> 40 & 0x1f;
}

static void settle(void)
{
    desc_load();
    __asm__ volatile("clts");
}

/* Is CR0.TS set, seen before settle() */
static u32 ts(void)
{
    return (cr0_get() & CR0_TS) != 0;
}

static void jumps(void)
{
    task_fill(end_code());
    start.regs[CX] = 0x77;
    T("jmp", "ljmp $0x80, $0x12345678; nop", "ok cs=8 cx=1111 dx=2222 bx=3333 bp=5555 si=6666 di=7777 sp=4d000 nt=0");
    check_num("jmp-sets-ts", ts(), 1);
    check_num("jmp-old-not-busy", type_of(TSS_SEL), 9);
    check_num("jmp-new-busy", type_of(TB), 0xb);
    check_num("jmp-leaves-link", tb[0], 0);
    check_num("jmp-saves-ecx", ((u32 *)tss)[11], 0x77);
    check_num("jmp-saves-eip-after", ((u32 *)tss)[8] - start.ip, 7);
    check_num("jmp-saves-cs", ((u32 *)tss)[19], KCS);
    check_num("jmp-saves-esp", ((u32 *)tss)[14], start.sp);
    check_num("jmp-leaves-tb-flags-in-tss", tb[9], 2);
    settle();
    task_fill(end_code());
    T("call", "lcall $0x80, $0", "ok nt=1 ax=4002");
    check_num("call-link", tb[0], TSS_SEL);
    check_num("call-old-stays-busy", type_of(TSS_SEL), 0xb);
    check_num("call-new-busy", type_of(TB), 0xb);
    settle();
    task_fill(end_code());
    T("call-by-gate", "lcall $0x88, $0", "ok nt=1");
    settle();
    task_fill(end_code());
    T("jmp-by-gate", "ljmp $0x88, $0", "ok nt=0");
    settle();
}

static void returns(void)
{
    task_fill(CODE("32", "iretl"));
    start.regs[CX] = 0x99;
    T("call-and-iret", "lcall $0x80, $0; movl %ecx, %edx", "ok dx=99 ip=b nt=0");
    check_num("iret-new-available", type_of(TB), 9);
    check_num("iret-old-busy", type_of(TSS_SEL), 0xb);
    check_num("iret-saves-nt-off", tb[9] & FL_NT, 0);
    check_num("iret-leaves-nt-in-old", rec.flags & FL_NT, 0);
    settle();
    task_fill(CODE("32", "iretl; incl %ecx; iretl"));
    T("second-call-goes-on", "lcall $0x80, $0; lcall $0x80, $0", "ok ip=10");
    check_num("second-call-went-on", tb[11], 0x1112);
    settle();
    task_fill(end_code());
    T("iret-nt-not-busy", "pushl $0x4002; popfl; movl $0x80, tss; iretl", "#TS(80)");
    settle();
    task_fill(end_code());
    T("iret-nt-link-null", "pushl $0x4002; popfl; movl $0, tss; iretl", "#TS(0)");
    settle();
    task_fill(end_code());
    T("iret-nt-link-in-ldt", "pushl $0x4002; popfl; movl $0x84, tss; iretl", "#TS(84)");
    settle();
    start_user();
    task_fill(CODE("32", "iretl"));
    start_user();
    gdt_set_tss(TB, tb, 103, 0x69);
    T("user-call-and-iret", "lcall $0x83, $0; movl %cs, %edx", "ok dx=1b cs=1b");
    settle();
}

static void interrupts(void)
{
    task_fill(CODE("32", "iretl"));
    idt_set(0x60, TB, 0, 0xe5);
    T("int-task-gate", "int $0x60; movl $5, %ecx", "ok cx=5 ip=9");
    settle();
    task_fill(CODE("32", "popl %eax; movl %esp, %ecx"));
    idt_set(GP, TB, 0, 0x85);
    start_user();
    T("exception-error-code", "cli", "ok ax=0 cx=4d000 cs=8 nt=1");
    check_num("exception-saved-eip", ((u32 *)tss)[8] - start.ip, 0);
    check_num("exception-saved-rf", ((u32 *)tss)[9] & FL_RF, FL_RF);
    settle();
    task_fill(CODE("32", "popl %eax; movl %esp, %ecx"));
    idt_set(GP, TB, 0, 0x85);
    start_user();
    T("exception-error-code-selector", "movw $0x10, %ax; movw %ax, %ds", "ok ax=10 cx=4d000");
    settle();
    task_fill(end_code());
    idt_set(0x60, TB, 0, 0x65);
    T("int-task-gate-not-present", "int $0x60", "#NP(302)");
    settle();
    task_fill(end_code());
    idt_set(0x60, TSS_SEL, 0, 0xe5);
    T("int-task-gate-busy", "int $0x60", "#GP(28)");
    idt_set(UD, TSS_SEL, 0, 0xe5);
    T("exception-task-gate-busy", "ud2", "#GP(29)");
    idt_default(UD);
    settle();
}

/* Before the switch: the old task sees these. */
static void early_faults(void)
{
    task_fill(end_code());
    T("jmp-busy", "ljmp $0x28, $0", "#GP(28) ip=0");
    T("call-busy", "lcall $0x28, $0", "#GP(28) ip=0");
    gdt_set_tss(TB, tb, 103, 0x09);
    gdt[TB >> 3] &= ~(1ull << 47);
    T("jmp-not-present", "ljmp $0x80, $0", "#NP(80) ip=0");
    gdt_set_tss(TB, tb, 102, 9);
    T("jmp-short-limit", "ljmp $0x80, $0", "#TS(80) ip=0");
    check_num("short-limit-not-busy", type_of(TB), 9);
    gdt_set_tss(TB, tb, 103, 9);
    T("jmp-rpl", "ljmp $0x83, $0", "#GP(80)");
    start_user();
    T("user-jmp-dpl0", "ljmp $0x80, $0", "#GP(80)");
    gdt[TG >> 3] = (u64)TB << 16 | 0x85ull << 40;
    T("user-gate-dpl0", "ljmp $0x88, $0", "#GP(88)");
    gdt[TG >> 3] = (u64)TB << 16 | 0x65ull << 40;
    T("gate-not-present", "ljmp $0x88, $0", "#NP(88)");
    gdt[TG >> 3] = 0xe5ull << 40;
    T("gate-null", "ljmp $0x88, $0", "#GP(0)");
    gdt[TG >> 3] = (u64)KDS << 16 | 0xe5ull << 40;
    T("gate-to-data", "ljmp $0x88, $0", "#GP(10)");
    gdt[TG >> 3] = (u64)(TB | 4) << 16 | 0xe5ull << 40;
    T("gate-tss-in-ldt", "ljmp $0x88, $0", "#GP(84)");
    gdt[TG >> 3] = (u64)TB << 16 | 0xe5ull << 40;
    T("user-gate-dpl3", "ljmp $0x8b, $0", "ok cs=8");
    settle();
    task_fill(end_code());
    T("ltr-busy", "movw $0x28, %ax; ltr %ax", "#GP(28)");
    T("ltr-null", "xorl %eax, %eax; ltr %ax", "#GP(0)");
    T("ltr-data", "movw $0x10, %ax; ltr %ax", "#GP(10)");
    T("ltr-ldt", "movw $0x84, %ax; ltr %ax", "#GP(84)");
    gdt_set_tss(TB, tb, 103, 9);
    gdt[TB >> 3] &= ~(1ull << 47);
    T("ltr-not-present", "movw $0x80, %ax; ltr %ax", "#NP(80)");
    gdt_set_tss(TB, tb, 103, 9);
    T("ltr-marks-busy", "movw $0x80, %ax; ltr %ax; str %ecx", "ok cx=80");
    check_num("ltr-busy-bit", type_of(TB), 0xb);
    settle();
}

/*
 * One field of task B changed; the fault is raised in B, whose registers are loaded already. What is left
 * of its segments is not to be relied on (SDM vol. 3 6.15, #TS), so a task of its own catches it.
 */
static void late_fault(const char *name, u32 field, u32 v, const char *want)
{
    task_fill(end_code());
    gdt_set(A, 0, 0xfffff, 0x13, 0xc);          /* absent data */
    gdt_set(B, 0, 0xfffff, 0x1b, 0xc);          /* absent code */
    tb[field] = v;
    if (want[0] == '#') {
        idt_task(want[1] == 'T' ? TS : want[1] == 'N' ? NP : want[1] == 'S' ? SS : DB);
    }
    T(name, "ljmp $0x80, $0", want);
    settle();
}

static void late_faults(void)
{
    late_fault("new-cs-null", 19, 0, "#TS(0) cx=1111");
    late_fault("new-cs-data", 19, KDS, "#TS(10) cx=1111");
    late_fault("new-cs-absent", 19, B, "#NP(a0)");
    late_fault("new-cs-beyond", 19, 0x408, "#TS(408)");
    late_fault("new-ds-absent", 21, A, "#NP(98)");
    late_fault("new-ds-beyond", 21, 0x408, "#TS(408)");
    late_fault("new-es-system", 18, TSS_SEL, "#TS(28)");
    late_fault("new-fs-dpl-is-fine", 22, UDS, "ok fs=23");
    late_fault("new-gs-null-is-fine", 23, 0, "ok gs=0");
    late_fault("new-ldt-beyond", 24, 0x408, "#TS(408)");
    late_fault("new-ldt-is-data", 24, KDS, "#TS(10)");
    late_fault("new-ldt-in-ldt", 24, 4, "#TS(4)");
    late_fault("new-ldt-null-is-fine", 24, 0, "ok");
    late_fault("debug-trap-bit", 25, 104 << 16 | 1, "#DB cx=1111");
}

static void late_stack_faults(void)
{
    static const struct {
        const char *name;
        u32 ss;
        const char *want;
    } rows[] = {
        { "new-ss-null", 0, "#TS(0)" }, { "new-ss-rpl", KDS, "#TS(10)" }, { "new-ss-code", UCS, "#TS(18)" },
        { "new-ss-absent", A | 3, "#SS(98)" }, { "new-ss-beyond", 0x40b, "#TS(408)" },
    };

    for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        task_fill(end_code());
        gdt_set(A, 0, 0xfffff, 0x73, 0xc);
        tb[1] = (ulong)estack_top;
        tb[2] = KDS;
        tb[19] = UCS;
        tb[18] = tb[21] = tb[22] = tb[23] = UDS;
        tb[20] = rows[i].ss;
        idt_task(rows[i].want[1] == 'T' ? TS : SS);
        T(rows[i].name, "ljmp $0x80, $0", rows[i].want);
        settle();
    }
    task_fill(CODE("32", "nop"));
    tb[1] = (ulong)estack_top;
    tb[2] = KDS;
    tb[19] = UCS;
    tb[18] = tb[20] = tb[21] = tb[22] = tb[23] = UDS;
    T("new-task-at-level-3", "ljmp $0x80, $0", "ok cs=1b ss=23 sp=4d000");
    settle();
    task_fill(CODE("32", "nop"));
    tb[19] = KCS;
    tb[21] = UDS;
    T("new-task-level-0-user-ds", "ljmp $0x80, $0", "ok ds=23");
    settle();
}

/*
 * 16-bit TSSs: 44 bytes, words; FS and GS are not in it and become null, the upper halves of the registers
 * are ffffh.
 */
static void task16_fill(const void *entry)
{
    task_fill(entry);
    memset(tb16, 0, sizeof(tb16));
    gdt_set(A, SNIP_BASE, 0xffff, 0x9b, 4);
    tb16[7] = (ulong)entry - SNIP_BASE;
    tb16[8] = 2;
    for (u32 i = 0; i < 8; i++) {
        tb16[9 + i] = 0x1000 + i;
    }
    tb16[13] = 0xf000;
    tb16[17] = KDS;
    tb16[18] = A;
    tb16[19] = DS16;
    tb16[20] = KDS;
    gdt_set_tss(T16SEL, tb16, 43, 1);
}

static void tasks_16(void)
{
    task16_fill(end_code());
    start.regs[CX] = 0x12345678;
    T("jmp-16", "ljmp $0x90, $0", "ok cs=98 cx16=1001 dx16=1002 ds=10 sp16=f000");
    check_num("jmp-16-fs-null", rec.fs | rec.gs, 0);
    check_num("jmp-16-old-saved-whole", ((u32 *)tss)[11], 0x12345678);
    check_num("jmp-16-busy", type_of(T16SEL), 3);
    settle();
    task16_fill(CODE("32", "iretl"));
    T("call-16-and-iret", "movl $0x12345678, %ecx; lcall $0x90, $0", "ok cx=12345678 ip=e");
    check_num("call-16-link", tb16[0], TSS_SEL);
    check_num("call-16-saved-ip", (u16)(tb16[7] - ((u16)start.ip)) != 0, 1);
    check_num("call-16-saved-cs", tb16[18], A);
    settle();
    task16_fill(end_code());
    gdt_set_tss(T16SEL, tb16, 42, 1);
    T("jmp-16-short-limit", "ljmp $0x90, $0", "#TS(90) ip=0");
    settle();
}

void tasks_group(void);
void tasks_group(void)
{
    jumps();
    returns();
    interrupts();
    early_faults();
    late_faults();
    late_stack_faults();
    tasks_16();
    desc_init();
}
