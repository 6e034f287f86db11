/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Self-modifying code, by the shape of what changes: opcodes, branches and their targets, instructions that straddle
 * pages, loops that patch themselves, code decoded at two offsets, data and the stack beside code, breakpoints set
 * on hot code. See smc.h; the kinds of stores are in smc.c.
 */
#include "smc.h"

#define PAGE_1 (ARENA + 0x1000)
#define PAGE_2 (ARENA + 0x2000)

static void opcode_ahead(void)
{
    u64 bad = 0;

    arena_clear();
    /* inc or dec ecx, as rsi says; then the next one, which an earlier round left */
    put(ARENA, BLOB("movl $100, %eax; leaq 1f(%rip), %rdx; movb %sil, 1(%rdx); nop; 1: incl %eax; ret"));
    for (u32 i = 0; i < 3 * HOT; i++) {
        bad += call_code(ARENA, 0, i & 1 ? 0xc8 : 0xc0, 0).ax != (i & 1 ? 99 : 101);
    }
    check_num("opcode-ahead", bad, 0);
    /* The very next instruction, so that no other stands between. */
    put(ARENA, BLOB("leaq 1f(%rip), %rdx; movl $100, %eax; movb %sil, 1f+1(%rip); 1: incl %eax; ret"));
    for (u32 i = 0; i < 3 * HOT; i++) {
        bad += call_code(ARENA, 0, i & 1 ? 0xc8 : 0xc0, 0).ax != (i & 1 ? 99 : 101);
    }
    check_num("opcode-next", bad, 0);
}

/* The store overwrites itself: only the next round sees it. */
static void store_over_itself(void)
{
    Blob b = BLOB("movl $5, %eax; leaq 1f(%rip), %rdx; 1: movl %esi, (%rdx); nop; nop; incl %eax; ret");
    u64 bad = 0;

    arena_clear();
    for (u32 i = 0; i < 2 * HOT; i++) {
        put(ARENA, b);
        bad += call_code(ARENA, 0, 0x9090c8ff, 0).ax != 6;      /* dec eax; nop; nop */
        bad += call_code(ARENA, 0, 0, 0).ax != 5;
    }
    check_num("store-over-itself", bad, 0);
}

static void branches(void)
{
    u64 bad = 0;
    u8 *p = (u8 *)ARENA;

    arena_clear();
    put(ARENA, BLOB(".byte 0x0f, 0x1f, 0x44, 0, 0; movl $1, %eax; ret; " AT(0x40) "movl $2, %eax; ret; " AT(0x80)
          "movl $3, %eax; ret"));
    for (u32 i = 0; i < 3 * HOT; i++) {                 /* nop, jump to one place, to the other: as static keys do */
        u32 what = i % 3;

        p[0] = what ? 0xe9 : 0x0f;
        *(volatile u32 *)(p + 1) = what == 0 ? 0x0000441f : what == 1 ? 0x3b : 0x7b;
        bad += call_code(ARENA, 0, 0, 0).ax != what + 1;
    }
    check_num("nop-to-jump", bad, 0);
    put(ARENA, BLOB("xorl %eax, %eax; movl $50, %ecx; 1: call 2f; loop 1b; ret; " AT(0x40) "2: addl $2, %eax; ret;"
          AT(0x80) "addl $3, %eax; ret"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        *(volatile u32 *)(p + 8) = (i & 1 ? 0x80 : 0x40) - 12;
        bad += call_code(ARENA, 0, 0, 0).ax != (i & 1 ? 150 : 100);
    }
    check_num("call-target", bad, 0);
    put(ARENA, BLOB("xorl %eax, %eax; testl %esi, %esi; jz 1f; incl %eax; 1: ret"));
    for (u32 i = 0; i < 4 * HOT; i++) {                 /* jz, jnz */
        p[4] = i & 1 ? 0x75 : 0x74;
        bad += call_code(ARENA, 0, i >> 1 & 1, 0).ax != ((i >> 1 ^ i) & 1);
    }
    check_num("condition", bad, 0);
}

static void straddle_half(const char *name, ulong at, u32 flip, u64 even, u64 odd)
{
    u64 bad = 0;

    for (u32 i = 0; i < 4 * HOT; i++) {
        bad += call_code(ARENA + 0x100, 0, 5, 0).ax != (i & 2 ? odd : even);
        if (i & 1) {
            *(volatile u8 *)at ^= flip;
        }
    }
    check_num(name, bad, 0);
    arena_clear();
}

/* Instructions across the border of two pages, one of which changes; reached by a jump from elsewhere. */
static void straddle(void)
{
    Blob enter = BLOB("movl %esi, %eax; jmp .+0xefb");  /* to ARENA + 0xffd */

    arena_clear();
    put(ARENA + 0x100, enter);
    put(PAGE_1 - 3, BLOB("addl $0x11223344, %eax; ret"));               /* 05 44 33 | 22 11 */
    straddle_half("straddle-first-half", PAGE_1 - 2, 0x10, 0x11223349, 0x11223359);
    put(ARENA + 0x100, enter);
    put(PAGE_1 - 3, BLOB("addl $0x11223344, %eax; ret"));
    straddle_half("straddle-second-half", PAGE_1, 0x80, 0x11223349, 0x11a23349);
    put(ARENA + 0x100, enter);
    put(PAGE_1 - 3, BLOB("nop; nop; addl $1, %eax; ret"));              /* 83 | c0 01; imul is 6b c0 01 */
    straddle_half("straddle-opcode", PAGE_1 - 1, 0x83 ^ 0x6b, 6, 5);
    put(ARENA + 0x100, enter);
    put(PAGE_1 - 3, BLOB("nop; nop; addl $1, %eax; ret"));              /* ModRM: add, sub */
    straddle_half("straddle-modrm", PAGE_1, 0xc0 ^ 0xe8, 6, 4);
    put(ARENA + 0x100, enter);
    put(PAGE_1 - 3, BLOB("nop; nop; jmp .+0x10;" AT(0x12) "movl $7, %eax; ret;" AT(0x22) "movl $9, %eax; ret"));
    straddle_half("straddle-jump", PAGE_1, 0x1e ^ 0x0e, 7, 9);          /* eb | 0e */
}

/* The second page's store hits an instruction that is about to run and began in the first. */
static void straddle_ahead(void)
{
    u64 bad = 0;

    arena_clear();
    put(PAGE_1 - 0x12, BLOB("movl %esi, 0x0b(%rip); nop; nop; nop; nop; nop; nop; nop; nop; nop; nop;"
          "movl $0, %eax; ret"));
    for (u32 i = 1; i < 3 * HOT; i++) {                 /* at -12h: 6 bytes, 10 nops, then b8 at -2 | imm */
        bad += (u32)call_code(PAGE_1 - 0x12, 0, i * 0x01010101, 0).ax != i * 0x01010101;
    }
    check_num("straddle-ahead", bad, 0);
}

static void hot_loops(void)
{
    u64 sum = 0;

    arena_clear();
    put(ARENA, BLOB("xorl %eax, %eax; movl $100000, %ecx; 1: movl %ecx, 2f+1(%rip); 2: .byte 5; .long 0; decl %ecx;"
          "jnz 1b; ret"));
    check_num("loop-patches-itself", (u32)call_code(ARENA, 0, 0, 0).ax, 100000u * 50000u + 50000u);
    put(PAGE_1, BLOB("movl $0, %eax; ret"));
    for (u32 i = 0; i < 100000; i++) {                  /* a JIT that keeps a constant in its code */
        *(volatile u32 *)(PAGE_1 + 1) = i;
        sum += call_code(PAGE_1, 0, 0, 0).ax;
    }
    check_num("immediate-from-afar", sum, 99999ul * 50000);
    /* The inner loop is hot when the outer one changes it. */
    put(ARENA, BLOB("xorl %eax, %eax; movl $200, %ecx; 1: movl $100, %edx; 2: addl $1, %eax; decl %edx; jnz 2b;"
          "xorb $2, 2b+2(%rip); decl %ecx; jnz 1b; ret"));
    check_num("outer-patches-inner", call_code(ARENA, 0, 0, 0).ax, 100u * 100 * 1 + 100u * 100 * 3);
}

/* The same bytes as two instructions: 05 b8 imm32.. is add; from its second byte on it is mov. */
static void overlapping(void)
{
    u64 bad = 0;

    arena_clear();
    put(ARENA, BLOB("movl $1, %eax; .byte 0x05, 0xb8, 0x10, 0, 0; nop; nop; ret"));
    put(ARENA + 5 + 1 + 5, BLOB("ret"));
    /* entry 0: add eax, 10b8h; nop; ret.  entry 6: mov eax, 90000010h; ret */
    for (u32 i = 0; i < 3 * HOT; i++) {
        *(volatile u8 *)(ARENA + 7) = i;
        bad += call_code(ARENA, 0, 0, 0).ax != 1 + (0xb8 | (i & 0xff) << 8);
        bad += call_code(ARENA + 6, 0, 0, 0).ax != (0x90000000 | (i & 0xff));
    }
    check_num("two-decodings", bad, 0);
}

static void beside(void)
{
    volatile u32 *count = (volatile u32 *)(ARENA + 0xf00);
    Blob counter = BLOB("movl $100000, %ecx; 1: incl 1b-5+0xf00(%rip); decl %ecx; jnz 1b; movl $5, %eax; ret");
    u64 bad = 0;

    arena_clear();
    put(ARENA, counter);
    *count = 0;
    check_num("data-beside-code", call_code(ARENA, 0, 0, 0).ax, 5);
    check_num("data-beside-code-count", *count, 100000);
    for (u32 i = 0; i < 3 * HOT; i++) {                 /* both often: none may spoil the other */
        *count = 0;
        *(volatile u32 *)(ARENA + 1) = i + 1;
        call_code(ARENA, 0, 0, 0);
        bad += *count != i + 1;
    }
    check_num("data-and-code-change", bad, 0);
    /* Data in the same 16 bytes as the code, between two of its instructions. */
    put(ARENA, BLOB("movl $1000, %ecx; xorl %eax, %eax; 1: jmp 3f; 2: .long 0; 3: incl 2b(%rip); addl 2b(%rip), %eax;"
          "decl %ecx; jnz 1b; ret"));
    *(volatile u32 *)(ARENA + 9) = 0;
    check_num("data-between-code", call_code(ARENA, 0, 0, 0).ax, 500500);
}

/* A stack in the code's own page. */
static void stack_beside(void)
{
    u64 bad = 0;

    arena_clear();
    put(ARENA + 0x100, BLOB("movq %rsp, %rdx; leaq .+0x700(%rip), %rsp; xorl %eax, %eax; movl $200, %ecx;"
          "1: pushq %rcx; call 2f; addq (%rsp), %rax; popq %rcx; decl %ecx; jnz 1b; movq %rdx, %rsp; ret;"
          "2: pushq %rbp; movq %rsp, %rbp; incl %eax; leave; ret"));
    for (u32 i = 0; i < HOT; i++) {
        bad += call_code(ARENA + 0x100, 0, 0, 0).ax != 200 * 201 / 2 + 200;
    }
    check_num("stack-in-code-page", bad, 0);
    for (u32 i = 0; i < HOT; i++) {
        *(volatile u32 *)(ARENA + 0x10d) = 100 + i;     /* the count, while the page is written often */
        bad += call_code(ARENA + 0x100, 0, 0, 0).ax != (100 + i) * (101 + i) / 2 + 100 + i;
    }
    check_num("stack-in-code-page-changes", bad, 0);
}

/* Code that is no more: what stands there now must run. */
static void replaced(void)
{
    u64 bad = 0;

    arena_clear();
    put_mov(ARENA, 1);
    heat(ARENA);
    memset((void *)ARENA, 0xcc, 64);
    start_kernel();
    snippet("hot-becomes-int3", (void *)ARENA, "#BP ip=1");
    put(ARENA, BLOB("ud2"));
    snippet("int3-becomes-ud2", (void *)ARENA, "#UD ip=0");
    for (u32 i = 0; i < HOT; i++) {
        for (u32 n = 0; n < 30; n++) {                  /* ever longer runs of NOPs before the MOV */
            memset((void *)ARENA, 0x90, n);
            put_mov(ARENA + n, i + n);
            bad += call_code(ARENA, 0, 0, 0).ax != i + n;
        }
    }
    check_num("instructions-move", bad, 0);
    for (u32 i = 0; i < 20 * HOT; i++) {                /* a whole page filled with calls again and again */
        put_mov(ARENA + 64 * (i % 60), i);
        bad += call_code(ARENA + 64 * (i % 60), 0, 0, 0).ax != i;
    }
    check_num("page-filled-bit-by-bit", bad, 0);
}

/* In one run of instructions: a store over code ahead, then a fault, then the new code. */
static void faults_behind(void)
{
    Blob b = BLOB("movb %sil, 2f+1(%rip); 1: movabsl 0x100000000000, %eax; 2: movb $1, %al; int $0x20");

    arena_clear();
    put(ARENA, b);
    start_kernel();
    for (u32 i = 0; i < HOT; i++) {
        start.regs[SI] = i;
        snippet_run((void *)ARENA);
    }
    check("store-then-fault", "#PF(0) ip=7 cr2=100000000000");
    for (u32 i = 0; i < HOT; i++) {
        start.regs[SI] = i;
        snippet_run((void *)ARENA);
        snippet_run((void *)(ARENA + b.size - 4));
    }
    check("store-then-fault-new-code", "ok al=27");
    put(ARENA, BLOB("xorl %eax, %eax; movl $30, %ecx; 1: incl %eax; decl %ecx; jnz 1b; nop; int $0x20"));
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)ARENA);
    }
    dr0_set(ARENA + 13);
    dr7_set(0x401 | 1);
    snippet("breakpoint-on-hot-code", (void *)ARENA, "#DB ip=d ax=1e cx=0");
    dr0_set(ARENA + 7);
    snippet("breakpoint-in-hot-loop", (void *)ARENA, "#DB ip=7 ax=0 cx=1e");
    dr7_set(0x400);
    snippet("breakpoint-gone", (void *)ARENA, "ok ax=1e");
    start.flags |= FL_TF;
    snippet("step-of-hot-code", (void *)ARENA, "#DB ip=2");
    start_kernel();
}

static void watched(void)
{
    arena_clear();
    put(ARENA, BLOB("movl $30, %ecx; 1: incl 0x800(%rdi); decl %ecx; jnz 1b; movl $3, %eax; int $0x20"));
    *(volatile u32 *)(ARENA + 0x800) = 0;
    start.regs[DI] = ARENA;
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)ARENA);
    }
    dr0_set(ARENA + 0x800);
    dr7_set(0xd0401);
    snippet("watchpoint-after-hot-store", (void *)ARENA, "#DB ip=b cx=1e");
    dr7_set(0x400);
    check_num("watched-count", *(volatile u32 *)(ARENA + 0x800), 30 * HOT + 1);
}

/* CPL 3 changes its own code. */
static void user_code(void)
{
    u64 bad = 0;

    put(UBUF, BLOB("movl %esi, 1f+1(%rip); 1: movl $0, %eax; int $0x20"));
    start_user();
    for (u32 i = 0; i < 2 * HOT; i++) {
        start.regs[SI] = i * 3;
        snippet_run((void *)(ulong)UBUF);
        bad += rec.vec != END_VECTOR || rec.regs[AX] != i * 3;
    }
    check_num("user", bad, 0);
    start_kernel();
    for (u32 i = 0; i < 2 * HOT; i++) {                 /* the same bytes at CPL 3 and 0 by turns, changed by both */
        start_user();
        if (i & 1) {
            start_kernel();
        }
        start.regs[SI] = i * 5;
        snippet_run((void *)(ulong)UBUF);
        bad += rec.vec != END_VECTOR || rec.regs[AX] != i * 5 || (rec.cs & 3) != (i & 1 ? 0 : 3);
    }
    check_num("user-and-kernel", bad, 0);
    start_kernel();
}

void smc_code_group(void);
void smc_code_group(void)
{
    opcode_ahead();
    store_over_itself();
    branches();
    straddle();
    straddle_ahead();
    hot_loops();
    overlapping();
    beside();
    stack_beside();
    replaced();
    faults_behind();
    watched();
    user_code();
}
