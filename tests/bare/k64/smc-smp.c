/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that one processor changes and others run: the handshake with a serialising instruction that the manual wants
 * (SDM vol. 3 9.1.3), Linux's text_poke (INT3 first, an IPI to all, the tail, the IPI, the first byte), changes by an
 * aligned store of 8 bytes, remapping with a shoot-down, and data beside code. The runners keep their own counts, so
 * that a lost change, a torn instruction and a lost store all show. Called by smp.c, whose processors wait.
 */
#include "smc.h"
#include "apic.h"
#include "paging.h"

#define CPUS 4
#define PATCHED (ARENA + 0x100)

static volatile u32 go, round_now, seen[CPUS], wrong[CPUS], runs[CPUS], numbers;
static volatile u64 allowed[2];

static u32 my_number(void)
{
    u32 n = 1;

    __asm__ volatile("lock xaddl %0, %1" : "+r"(n), "+m"(numbers) : : "memory");
    return n;
}

static void serialise(void)
{
    cpuid(0, 0);
}

/* Some seconds by the TSC, since a busy host may keep a processor waiting; 0 starts the clock. */
static bool in_time(u64 *end)
{
    u32 lo, hi;

    __asm__ volatile("pause; rdtsc" : "=a"(lo), "=d"(hi));
    if (!*end) {
        *end = ((u64)hi << 32 | lo) + 10000000000;
    }
    return ((u64)hi << 32 | lo) < *end;
}

static bool all_saw(u32 cpus, u32 round)
{
    u64 end = 0;
    u32 n = 1;

    while (n < cpus && in_time(&end)) {
        n += seen[n] == round;
    }
    return n == cpus;
}

static void start_runners(u32 cpus, void (*f)(void))
{
    numbers = 1;
    round_now = 0;
    go = 1;
    for (u32 n = 1; n < cpus; n++) {
        seen[n] = wrong[n] = runs[n] = 0;
        smp_call(n, f);
    }
}

/* Stops the runners; what they found wrong, or a runner that does not come back. */
static u64 stop_runners(u32 cpus)
{
    u64 bad = 0;

    go = 0;
    for (u32 n = 1; n < cpus; n++) {
        u64 end = 0;

        while (!smp_returned(n) && in_time(&end)) {
        }
        bad += wrong[n] + (smp_returned(n) ? 0 : 1000000) + (runs[n] ? 0 : 2000000);
    }
    return bad;
}

/* smc_bp: as if the place were MOV EAX, 77777777h and RET; smc_sync: serialises, and is counted. */
__asm__(".pushsection .text\nsmc_bp: lock incl smc_traps(%rip); movl $0x77777777, %eax;"
        "pushq %rcx; movq 32(%rsp), %rcx; movq (%rcx), %rcx; movq %rcx, 8(%rsp); popq %rcx; addq $8, 24(%rsp); iretq\n"
        "smc_sync: pushq %rax; pushq %rbx; pushq %rcx; pushq %rdx; xorl %eax, %eax; cpuid; lock incl smc_synced(%rip);"
        "movl $0xfee000b0, %eax; movl $0, (%rax); popq %rdx; popq %rcx; popq %rbx; popq %rax; iretq\n.popsection\n"
        ".pushsection .bss\n.globl smc_traps, smc_synced\nsmc_traps: .long 0\nsmc_synced: .long 0\n.popsection");
extern volatile u32 smc_traps, smc_synced;
extern const u8 smc_bp[], smc_sync[];

static void sync_all(void)
{
    u64 end = 0;

    smc_synced = 0;
    apic_write(APIC_ICR, 0xc4059);
    while (smc_synced != CPUS - 1 && in_time(&end)) {
    }
}

static volatile u32 parked;

static void park(void)
{
    while (parked) {
        __asm__ volatile("sti; hlt; cli");
    }
}

/* Those that take no part wait without taking a host's core. */
static void park_rest(u32 cpus)
{
    parked = 1;
    for (u32 n = cpus; n < CPUS; n++) {
        smp_call(n, park);
    }
}

static void unpark(void)
{
    parked = 0;
    sync_all();
    for (u32 n = 1; n < CPUS; n++) {
        u64 end = 0;

        while (!smp_returned(n) && in_time(&end)) {
        }
    }
}

/* ---- the manual's handshake ---- */
static void handshake_runner(void)
{
    u32 n = my_number();

    while (go) {
        u32 r = round_now;

        if (r != seen[n]) {
            serialise();
            for (u32 i = 0; i < 8; i++) {
                wrong[n] += call_code(PATCHED, 0, 0, 0).ax != r;
            }
            runs[n]++;
            seen[n] = r;
        }
        __asm__ volatile("pause");
    }
}

static void handshake(const char *name, u32 cpus, u32 rounds)
{
    u64 bad = 0;

    put_mov(PATCHED, 0);
    start_runners(cpus, handshake_runner);
    for (u32 r = 1; r <= rounds && !bad; r++) {
        *(volatile u32 *)(PATCHED + 1) = r;
        round_now = r;
        bad += !all_saw(cpus, r);
    }
    check_num(name, bad + stop_runners(cpus), 0);
}

/* ---- an aligned store: either the old instruction or the new one runs, never a mixture ---- */
static void aligned_runner(void)
{
    u32 n = my_number();
    u64 last = 0;

    while (go) {
        u64 v = call_code(PATCHED, 0, 0, 0).ax;

        /* Rounds only grow, and the halves of a value agree. */
        wrong[n] += (v & 0xffff) != (v >> 16) || v < last;
        last = v;
        runs[n]++;
        serialise();
        seen[n] = (u16)v;
    }
}

static void aligned_store(const char *name, u32 cpus, u32 rounds)
{
    union {
        u8 b[8];
        u64 q;
    } code = { .b = { 0xb8, 0, 0, 0, 0, 0xc3, 0x90, 0x90 } };
    u64 bad = 0;

    *(volatile u64 *)PATCHED = code.q;
    start_runners(cpus, aligned_runner);
    for (u32 r = 1; r <= rounds && !bad; r++) {
        code.b[1] = code.b[3] = r;
        code.b[2] = code.b[4] = r >> 8;
        *(volatile u64 *)PATCHED = code.q;
        bad += !all_saw(cpus, r);                       /* it must be seen, and by all, soon */
    }
    check_num(name, bad + stop_runners(cpus), 0);
}

/* ---- as Linux does it: the breakpoint's handler emulates a jump over the place ---- */
static void poke_runner(void)
{
    u32 n = my_number();

    while (go) {
        u64 v = call_code(PATCHED + 3, 0, 0, 0).ax;     /* not aligned: its immediate is torn but for the INT3 */

        wrong[n] += v != 0x77777777 && v != allowed[0] && v != allowed[1];
        runs[n]++;
        __asm__ volatile("sti; nop; cli");
    }
}

static void text_poke(const char *name, u32 cpus, u32 rounds)
{
    u64 bad = 0;

    idt_set(BP_, KCS, smc_bp, 0x8e);
    allowed[0] = allowed[1] = 0;
    put_mov(PATCHED + 3, 0);
    start_runners(cpus, poke_runner);
    for (u32 r = 1; r <= rounds; r++) {
        u32 v = r * 0x01010101;

        *(volatile u8 *)(PATCHED + 3) = 0xcc;
        sync_all();
        bad += smc_synced != CPUS - 1;
        allowed[0] = allowed[1] = v;                    /* nobody runs the old one now */
        *(volatile u16 *)(PATCHED + 4) = v;
        *(volatile u16 *)(PATCHED + 6) = v >> 16;
        sync_all();
        *(volatile u8 *)(PATCHED + 3) = 0xb8;
        sync_all();
        bad += call_code(PATCHED + 3, 0, 0, 0).ax != v;
    }
    check_num(name, bad + stop_runners(cpus), 0);
    idt_default(BP_);
}

/* ---- the page goes from under the runners ---- */
static void shot_runner(void)
{
    u32 n = my_number();

    while (go) {
        u32 r = round_now;

        if (r != seen[n]) {
            invlpg(WINDOW);
            for (u32 i = 0; i < 8; i++) {
                wrong[n] += call_code(WINDOW, 0, 0, 0).ax != 8 + (r & 1);
            }
            runs[n]++;
            seen[n] = r;
        }
        __asm__ volatile("pause");
    }
}

static void shoot_down(const char *name, u32 cpus, u32 rounds)
{
    u64 bad = 0;

    put_mov(ARENA + 0x8000, 8);
    put_mov(ARENA + 0x9000, 9);
    window_on();
    start_runners(cpus, shot_runner);
    for (u32 r = 1; r <= rounds && !bad; r++) {
        window_set(0, (ARENA + 0x8000 + (r & 1) * 0x1000) | PG_P | PG_W);
        round_now = r;
        bad += !all_saw(cpus, r);
    }
    check_num(name, bad + stop_runners(cpus), 0);
    window_off();
}

/* ---- data beside code: all count in one page that is code, while it is patched ---- */
static void beside_runner(void)
{
    u32 n = my_number();
    volatile u32 *count = (volatile u32 *)(PATCHED + 0x80 + n * 4), *shared = (volatile u32 *)(PATCHED + 0xc0);

    for (u32 i = 0; i < 20000; i++) {
        u64 v = call_code(PATCHED, 0, 0, 0).ax;

        wrong[n] += (v & 0xffff) != (v >> 16);
        ++*count;
        __asm__ volatile("lock incl %0" : "+m"(*shared) : : "memory");
        runs[n]++;
    }
    wrong[n] += *count != 20000;
}

static void data_beside(u32 cpus)
{
    union {
        u8 b[8];
        u64 q;
    } code = { .b = { 0xb8, 0, 0, 0, 0, 0xc3, 0x90, 0x90 } };
    u32 r = 0, back = 1;

    memset((void *)PATCHED, 0, 0x100);
    *(volatile u64 *)PATCHED = code.q;
    start_runners(cpus, beside_runner);
    while (back < cpus && r < 10000000) {               /* until the last is back */
        code.b[1] = code.b[3] = ++r;
        code.b[2] = code.b[4] = r >> 8;
        if (r % 64 == 0) {
            *(volatile u64 *)PATCHED = code.q;
        }
        back = 1;
        while (back < cpus && smp_returned(back)) {
            back++;
        }
        __asm__ volatile("pause");
    }
    check_num("data-beside-code", stop_runners(cpus), 0);
    check_num("data-beside-code-sum", *(volatile u32 *)(PATCHED + 0xc0), 20000 * (cpus - 1));
}

/* Two processors for many rounds; all of them, which may be more than the host has, for a few. */
void smc_smp_checks(u32 cpus)
{
    arena_clear();
    idt_set(0x59, KCS, smc_sync, 0x8e);
    park_rest(2);
    handshake("cross-modify-handshake", 2, 1000);
    aligned_store("cross-modify-aligned", 2, 1000);
    text_poke("text-poke", 2, 150);
    shoot_down("remap-shoot-down", 2, 1000);
    unpark();
    handshake("cross-modify-handshake-4", cpus, 40);
    aligned_store("cross-modify-aligned-4", cpus, 40);
    text_poke("text-poke-4", cpus, 20);
    check_num("text-poke-trapped", smc_traps != 0, 1);
    shoot_down("remap-shoot-down-4", cpus, 40);
    data_beside(cpus);
}
