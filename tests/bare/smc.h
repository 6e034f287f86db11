/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Self-modifying code: what the files k64/smc*.c share. Code is assembled as a template (BLOB) and copied to an arena
 * of RAM, where it runs often enough to become hot before and between its changes. All of it is at CPL 0 with
 * interrupts off unless a check says otherwise.
 */
#ifndef SMC_H
#define SMC_H

#include "bare.h"

/* 16 pages that only these checks use, and a window of linear addresses over them with entries of its own. */
#define ARENA 0x800000ul
#define WINDOW 0x2000000ul
#define HOT 40u                 /* calls that make code hot */

typedef struct Blob {
    const u8 *code;
    u32 size;
} Blob;

/* The label 0 is its start; AT(n) fills up to offset n with int3. */
#define AT(n) ".fill " #n " - (. - 0b), 1, 0xcc;"
#define BLOB_(text, id) ({ \
    extern const u8 blob_##id[], blob_end_##id[]; \
    __asm__ volatile(".pushsection .rodata\n.balign 64\nblob_" #id ": 0: " text "\nblob_end_" #id ":\n.popsection"); \
    (Blob){ blob_##id, blob_end_##id - blob_##id }; })
#define BLOB_ID(text, id) BLOB_(text, id)
#define BLOB(text) BLOB_ID(text, __COUNTER__)

/* What code gets and gives: rdi, rsi, rdx, r8 go in, rax and r9 (rsi at the start) come out; rbx, rbp, rsp, r12..r15
 * must stay. */
typedef struct Regs {
    u64 ax, r9;
} Regs;

static inline Regs call_code(ulong at, u64 di, u64 si, u64 dx)
{
    register u64 r8 __asm__("r8") = dx, r9 __asm__("r9") = si;
    u64 ax = at;

    __asm__ volatile("call *%%rax" : "+a"(ax), "+D"(di), "+S"(si), "+d"(dx), "+r"(r8), "+r"(r9)
                     : : "rcx", "r10", "r11", "memory", "cc");
    return (Regs){ ax, r9 };
}

static inline void put(ulong at, Blob b)
{
    memcpy((void *)at, b.code, b.size);
}

/* The result of calling code often. */
static inline u64 heat(ulong at)
{
    u64 v = 0;

    for (u32 i = 0; i < HOT; i++) {
        v = call_code(at, 0, 0, 0).ax;
    }
    return v;
}

/* at: movl $v, %eax; ret */
static inline void put_mov(ulong at, u32 v)
{
    u8 *p = (u8 *)at;

    p[0] = 0xb8;
    *(volatile u32 *)(p + 1) = v;
    p[5] = 0xc3;
}

void arena_clear(void);         /* int3 all over */
/* smc-map.c: the window shows the arena's pages one to one. */
void window_on(void);
void window_off(void);
void window_set(u32 page, u64 entry);   /* entry of a page of the window, and INVLPG */
void smc_smp_checks(u32 cpus);  /* with the other processors in smp.c's loop */
/* smp.c: processor n calls f once; has it come back? */
void smp_call(u32 n, void (*f)(void));
bool smp_returned(u32 n);

#endif
