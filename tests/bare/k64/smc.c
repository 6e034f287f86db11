/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Self-modifying code, by every kind of store: the immediate of a MOV is overwritten between its executions. The MOV
 * is in another page than the store, in the same page, or straight ahead of it in the same run of instructions,
 * where a processor must see the new bytes without any serialisation (SDM vol. 3 9.1.3, 11.6).
 *
 * A writer gets the place in rdi (16-aligned: 8 bytes of the immediate, then a RET and NOPs), a new value in rsi and
 * the 8 bytes from the RET on in r8; what the MOV must give then is in r9, which is rsi unless the writer says
 * otherwise.
 */
#include "smc.h"

#define TAIL 0x90909090909090c3ull
#define READ_BACK "; movq (%rdi), %r9"

typedef struct Writer {
    const char *name;
    Blob code;
} Writer;

void arena_clear(void)
{
    memset((void *)ARENA, 0xcc, 0x10000);
}

static char name_buf[48];

static const char *name_of(const char *writer, const char *where)
{
    char *p = name_buf;

    for (const char *s = writer; *s; s++) {
        *p++ = *s;
    }
    for (const char *s = where; *s; s++) {
        *p++ = *s;
    }
    *p = 0;
    return name_buf;
}

/* movabs $0, %rax; ret, with the immediate at `at`, and the bytes behind as the writers keep them. */
static void put_target(ulong at)
{
    *(volatile u16 *)(at - 2) = 0xb848;
    *(volatile u64 *)at = 0;
    *(volatile u64 *)(at + 8) = TAIL;
}

static u64 value_of(u32 round)
{
    return (round + 1) * 0x9e3779b97f4a7c15ull;
}

/* Rounds in which the code does not do what memory says, or in which memory did not change. */
static u64 rounds_apart(ulong writer, ulong target, ulong imm)
{
    u64 last = 0, bad = 0;

    for (u32 i = 0; i < 3 * HOT; i++) {
        Regs r = call_code(writer, imm, value_of(i), TAIL);
        u64 got = target ? call_code(target, 0, 0, 0).ax : r.ax;

        bad += got != r.r9 || got == last;
        last = got;
    }
    return bad;
}

static void put_writer(ulong at, const Writer *w)
{
    put(at, w->code);
    *(u8 *)(at + w->code.size) = 0xc3;
}

static void try_writer(const Writer *w)
{
    ulong at;

    arena_clear();
    put_writer(ARENA, w);
    put_target(ARENA + 0x1080);
    check_num(name_of(w->name, "-other-page"), rounds_apart(ARENA, ARENA + 0x107e, ARENA + 0x1080), 0);
    arena_clear();
    put_writer(ARENA + 0x400, w);
    put_target(ARENA + 0x80);
    check_num(name_of(w->name, "-same-page"), rounds_apart(ARENA + 0x400, ARENA + 0x7e, ARENA + 0x80), 0);
    arena_clear();
    put(ARENA, w->code);
    for (at = ARENA + w->code.size; (at & 15) != 14; at++) {
        *(u8 *)at = 0x90;
    }
    put_target(at + 2);
    check_num(name_of(w->name, "-ahead"), rounds_apart(ARENA, 0, at + 2), 0);
}

#define W(name, text) try_writer(&(Writer){ name, BLOB(text) })

static void plain_writers(void)
{
    W("mov64", "movq %rsi, (%rdi)");
    W("mov32", "movl %esi, 4(%rdi)" READ_BACK);
    W("mov16", "movw %si, 3(%rdi)" READ_BACK);
    W("mov8", "shrq $56, %rsi; movb %sil, 7(%rdi)" READ_BACK);
    W("mov8h", "movq %rsi, %rax; movb %ah, 5(%rdi)" READ_BACK);
    W("mov8-loop", "movl $8, %ecx; 1: movb %sil, (%rdi); shrq $8, %rsi; incq %rdi; loop 1b");
    W("mov-imm", "movb $0x55, (%rdi); addb %sil, (%rdi)" READ_BACK);
    W("index", "xorl %eax, %eax; movl $1, %ecx; subq $8, %rdi; movq %rsi, (%rdi,%rcx,8)");
    W("add", "addq %rsi, (%rdi)" READ_BACK);
    W("inc", "incl (%rdi)" READ_BACK);
    W("not", "notq (%rdi); decb 3(%rdi)" READ_BACK);
    W("neg", "incq (%rdi); negq (%rdi)" READ_BACK);
    W("adc", "stc; adcq %rsi, (%rdi)" READ_BACK);
    W("xor", "xorq %rsi, (%rdi)" READ_BACK);
    W("rol", "addl $3, (%rdi); rolq $9, (%rdi)" READ_BACK);
    W("shld", "movq %rsi, %rax; shldq $13, %rax, (%rdi)" READ_BACK);
    W("bts", "movl $77, %eax; subq $8, %rdi; btcq %rax, (%rdi); addq $8, %rdi" READ_BACK);
    W("setcc", "testb $1, %sil; setnz 3(%rdi)" READ_BACK);
    W("movnti", "movnti %rsi, (%rdi)");
    W("movbe", "movbeq %rsi, (%rdi)" READ_BACK);
}

static void locked_writers(void)
{
    W("xchg", "movq %rsi, %rax; xchgq %rax, (%rdi)");
    W("lock-xadd", "movq %rsi, %rax; lock xaddq %rax, (%rdi)" READ_BACK);
    W("lock-inc", "lock incq (%rdi)" READ_BACK);
    W("lock-xor", "lock xorq %rsi, (%rdi)" READ_BACK);
    W("lock-btc", "movl $40, %eax; lock btcq %rax, (%rdi)" READ_BACK);
    W("lock-cmpxchg", "movq (%rdi), %rax; lock cmpxchgq %rsi, (%rdi)");
    W("cmpxchg8b", "movl (%rdi), %eax; movl 4(%rdi), %edx; pushq %rbx; movl %esi, %ebx; movq %rsi, %rcx;"
      "shrq $32, %rcx; lock cmpxchg8b (%rdi); popq %rbx");
    W("cmpxchg16b", "movq (%rdi), %rax; movq 8(%rdi), %rdx; pushq %rbx; movq %rsi, %rbx; movq %r8, %rcx;"
      "lock cmpxchg16b (%rdi); popq %rbx");
}

static void stack_writers(void)
{
    W("push", "movq %rsp, %rcx; leaq 8(%rdi), %rsp; pushq %rsi; movq %rcx, %rsp");
    W("push-mem", "movq %rsi, -0x40(%rsp); movq %rsp, %rcx; leaq 8(%rdi), %rsp; pushq -0x40(%rcx); movq %rcx, %rsp");
    W("pop-mem", "pushq %rsi; popq (%rdi)");
    W("pushf", "testb $1, %sil; movq %rsp, %rcx; leaq 8(%rdi), %rsp; pushfq; movq %rcx, %rsp" READ_BACK);
    W("call", "movq %rsp, %rcx; leaq 8(%rdi), %rsp; testb $1, %sil; jz 2f; call 3f; 2: call 3f; 3: movq %rcx, %rsp"
      READ_BACK);
    W("enter", "movq %rbp, %r10; movq %rsp, %rcx; movq %rsi, %rbp; leaq 8(%rdi), %rsp; enter $0, $0; movq %rcx, %rsp;"
      "movq %r10, %rbp");
}

static void string_writers(void)
{
    W("stosq", "movq %rsi, %rax; stosq");
    W("rep-stosb", "movl %esi, %eax; movl $8, %ecx; rep stosb; subq $8, %rdi" READ_BACK);
    W("movsq", "pushq %rsi; movq %rsp, %rsi; movsq; addq $8, %rsp");
    W("rep-movsb", "pushq %r8; pushq %rsi; movq %rsp, %rsi; movl $16, %ecx; rep movsb; addq $16, %rsp");
    W("rep-movsq", "pushq %r8; pushq %rsi; movq %rsp, %rsi; movl $2, %ecx; rep movsq; addq $16, %rsp");
    W("rep-movsb-back", "pushq %rsi; leaq 7(%rsp), %rsi; addq $7, %rdi; movl $8, %ecx; std; rep movsb; cld;"
      "addq $8, %rsp");
    W("insb", "movl %esi, %eax; andl $1, %eax; movl $0x510, %edx; outw %ax, %dx; incl %edx; movl $4, %ecx; rep insb;"
      "subq $4, %rdi" READ_BACK);
}

static void vector_writers(void)
{
    W("movups", "movq %rsi, %xmm0; movq %r8, %xmm1; punpcklqdq %xmm1, %xmm0; movups %xmm0, (%rdi)");
    W("movaps", "movq %rsi, %xmm0; movq %r8, %xmm1; punpcklqdq %xmm1, %xmm0; movaps %xmm0, (%rdi)");
    W("movntdq", "movq %rsi, %xmm0; movq %r8, %xmm1; punpcklqdq %xmm1, %xmm0; movntdq %xmm0, (%rdi)");
    W("movlps", "movq %rsi, %xmm2; movlps %xmm2, (%rdi)");
    W("movhps", "movq %rsi, %xmm2; movlhps %xmm2, %xmm3; movhps %xmm3, (%rdi)");
    W("movss", "movq %rsi, %xmm2; movss %xmm2, 2(%rdi)" READ_BACK);
    W("pextrb", "movq %rsi, %xmm2; pextrb $6, %xmm2, 6(%rdi)" READ_BACK);
    W("maskmovdqu", "movq %rsi, %xmm2; movq 7f(%rip), %xmm3; maskmovdqu %xmm3, %xmm2; jmp 8f; 7: .quad 0x8000800080; 8:"
      READ_BACK);
    W("movq-mmx", "movq %rsi, %mm1; movq %mm1, (%rdi); emms");
    W("fistp", "fninit; pushq %rsi; fildq (%rsp); fistpq (%rdi); addq $8, %rsp");
    W("fst", "fninit; pushq %rsi; fildl (%rsp); fstpl (%rdi); addq $8, %rsp" READ_BACK);
    W("stmxcsr", "movl %esi, %eax; andl $1, %eax; shll $14, %eax; orl $0x1f80, %eax; pushq %rax; ldmxcsr (%rsp);"
      "stmxcsr (%rdi); movl $0x1f80, (%rsp); ldmxcsr (%rsp); addq $8, %rsp" READ_BACK);
}

/* 32 bytes at once, over the tail as well. */
static void avx_writers(void)
{
    u64 xcr0 = 7;

    if (!cpu_has(1, 2, 28)) {
        skip("avx", "not in this CPU");
        return;
    }
    cr4_set(cr4_get() | CR4_OSXSAVE);
    __asm__ volatile("xsetbv" : : "a"((u32)xcr0), "c"(0), "d"(0));
    W("vmovups-ymm", "vmovq %rsi, %xmm0; vmovq %r8, %xmm1; vpunpcklqdq %xmm1, %xmm0, %xmm0;"
      "vinsertf128 $1, 16(%rdi), %ymm0, %ymm0; vmovups %ymm0, (%rdi)");
    W("vmaskmovps", "vmovq %rsi, %xmm0; vmovups 7f(%rip), %xmm1; vmaskmovps %xmm0, %xmm1, (%rdi); jmp 8f;"
      "7: .long -1, -1, 0, 0; 8:");
    __asm__ volatile("xsetbv" : : "a"(1), "c"(0), "d"(0));
    cr4_set(cr4_get() & ~CR4_OSXSAVE);
}

void smc_group(void);
void smc_group(void)
{
    plain_writers();
    locked_writers();
    stack_writers();
    string_writers();
    vector_writers();
    avx_writers();
}
