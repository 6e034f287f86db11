/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code and the memory management unit: stores through another mapping, pages remapped under hot code with INVLPG and
 * by CR3, rights taken away and given back (NX, U/S, SMEP, present), the same addresses in several address spaces, and
 * devices that write over code (fw_cfg's DMA).
 */
#include "smc.h"
#include "paging.h"

#define WPAGE(n) (WINDOW + (n) * 4096ul)
#define APAGE(n) (ARENA + (n) * 4096ul)
#define KERNEL (PG_P | PG_W)

extern u8 boot_pd[], boot_pdpt[], boot_pml4[];
static u64 wpt[512] __attribute__((aligned(4096), section(".bss.page")));
/* A second address space: all of the first one's, but for the window. */
static u64 other_pml4[512] __attribute__((aligned(4096), section(".bss.page")));
static u64 other_pdpt[512] __attribute__((aligned(4096), section(".bss.page")));
static u64 other_pd[512] __attribute__((aligned(4096), section(".bss.page")));
static u64 other_pt[512] __attribute__((aligned(4096), section(".bss.page")));
static u64 old_pde;

void window_on(void)
{
    volatile u64 *pd = (volatile u64 *)boot_pd;

    old_pde = pd[WINDOW >> 21];
    for (u32 n = 0; n < 512; n++) {
        wpt[n] = n < 16 ? APAGE(n) | KERNEL : 0;
    }
    pd[WINDOW >> 21] = (ulong)wpt | KERNEL | PG_U;
    cr3_set(cr3_get());
}

void window_off(void)
{
    ((volatile u64 *)boot_pd)[WINDOW >> 21] = old_pde;
    cr3_set(cr3_get());
}

void window_set(u32 page, u64 entry)
{
    *(volatile u64 *)&wpt[page] = entry;
    invlpg(WPAGE(page));
}

/* ---- one page, two addresses ---- */
static void aliases(void)
{
    u64 bad = 0;

    put_mov(APAGE(0), 0);
    for (u32 i = 0; i < 4 * HOT; i++) {
        *(volatile u32 *)(WPAGE(0) + 1) = i;            /* written there, run here, and the other way round */
        bad += call_code(APAGE(0), 0, 0, 0).ax != i;
        *(volatile u32 *)(APAGE(0) + 1) = i + 7;
        bad += call_code(WPAGE(0), 0, 0, 0).ax != i + 7;
        bad += call_code(APAGE(0), 0, 0, 0).ax != i + 7;
    }
    check_num("alias-far", bad, 0);
    /* The writing code's own page, by its other address, straight ahead. */
    put(APAGE(1), BLOB("movl %esi, 1f-0b+1(%rdi); 1: movl $0, %eax; ret"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        call_code(APAGE(1), WPAGE(1), i, 0);            /* ahead, by another linear address: only the next call must */
        bad += call_code(APAGE(1), WPAGE(2), 0, 0).ax != i;
    }
    check_num("alias-own-page", bad, 0);
    window_set(3, APAGE(0) | KERNEL);
    window_set(4, APAGE(0) | KERNEL);
    for (u32 i = 0; i < 2 * HOT; i++) {                 /* hot at three addresses */
        *(volatile u32 *)(WPAGE(i % 3 ? 3 : 4) + 1) = i;
        bad += call_code(WPAGE(0), 0, 0, 0).ax != i || call_code(WPAGE(3), 0, 0, 0).ax != i ||
               call_code(WPAGE(4), 0, 0, 0).ax != i;
    }
    check_num("alias-three", bad, 0);
    window_set(3, APAGE(3) | KERNEL);
    window_set(4, APAGE(4) | KERNEL);
}

/* RIP-relative operands and return addresses are those of the address that the page runs at. */
static void positions(void)
{
    u64 bad = 0;

    put(APAGE(0), BLOB("leaq 0b(%rip), %rdx; call 1f; 1: popq %rax; subq %rdx, %rax; shlq $32, %rax; "
          "movl 2f(%rip), %ecx; addq %rcx, %rax; ret; 2: .long 0x55"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        bad += call_code(APAGE(0), 0, 0, 0).ax != 0xc00000055ul || call_code(WPAGE(0), 0, 0, 0).ax != 0xc00000055ul;
    }
    check_num("two-positions", bad, 0);
    put(APAGE(0), BLOB("leaq 0b(%rip), %rax; ret"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        bad += call_code(APAGE(0), 0, 0, 0).ax != APAGE(0) || call_code(WPAGE(0), 0, 0, 0).ax != WPAGE(0);
    }
    check_num("rip-of-each-position", bad, 0);
}

/* ---- remapping ---- */

/* Pages 8 and 9 of the arena return 8 and 9 in the same places. */
static void two_codes(void)
{
    for (u32 n = 8; n < 10; n++) {
        put_mov(APAGE(n), n);
        put_mov(APAGE(n) + 0x100, n + 0x10);
    }
}

static void remaps(void)
{
    u64 bad = 0;

    two_codes();
    for (u32 i = 0; i < 4 * HOT; i++) {
        window_set(0, APAGE(8 + i % 2) | KERNEL);
        bad += call_code(WPAGE(0), 0, 0, 0).ax != 8 + i % 2;
        bad += call_code(WPAGE(0) + 0x100, 0, 0, 0).ax != 0x18 + i % 2;
    }
    check_num("remap-invlpg", bad, 0);
    /* A chain from another page: calls and jumps into the remapped one, hot. */
    put(APAGE(1), BLOB("xorl %edx, %edx; movl $50, %ecx; 1: call .-7-0x1000; addl %eax, %edx; decl %ecx; jnz 1b;"
          "movl %edx, %eax; ret"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        window_set(0, APAGE(8 + i % 2) | KERNEL);
        bad += call_code(WPAGE(1), 0, 0, 0).ax != 50 * (8 + i % 2);
    }
    check_num("remap-call-chain", bad, 0);
    put(APAGE(1), BLOB("jmp .-0x1000+0x100"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        window_set(0, APAGE(8 + i % 2) | KERNEL);
        bad += call_code(WPAGE(1), 0, 0, 0).ax != 0x18 + i % 2;
    }
    check_num("remap-jump-chain", bad, 0);
    put(APAGE(1), BLOB("jmp *%rdi"));
    for (u32 i = 0; i < 2 * HOT; i++) {
        window_set(0, APAGE(8 + i % 2) | KERNEL);
        bad += call_code(WPAGE(1), WPAGE(0) + 0x100, 0, 0).ax != 0x18 + i % 2;
    }
    check_num("remap-indirect-chain", bad, 0);
    window_set(0, APAGE(0) | KERNEL);
}

/* Code in the window calls a function elsewhere that remaps the window, and returns into the other page. */
static void return_into_remapped(void)
{
    Blob b = BLOB("call *%rdi; movl $0, %eax; ret");
    Blob remap = BLOB("movq %rdx, (%rsi); invlpg (%r8); ret");
    u64 bad = 0;

    put(APAGE(8), b);
    put(APAGE(9), b);
    *(volatile u8 *)(APAGE(8) + 3) = 8;
    *(volatile u8 *)(APAGE(9) + 3) = 9;
    put(APAGE(2), remap);
    window_set(0, APAGE(8) | KERNEL);
    for (u32 i = 0; i < 4 * HOT; i++) {
        register u64 r8 __asm__("r8") = WPAGE(0);
        u64 ax = WPAGE(0), di = APAGE(2);

        __asm__ volatile("call *%%rax" : "+a"(ax), "+D"(di) : "S"(&wpt[0]), "d"(APAGE(8 + i % 2) | KERNEL), "r"(r8)
                         : "rcx", "r9", "r10", "r11", "memory", "cc");
        bad += ax != 8 + i % 2;
    }
    check_num("return-into-remapped", bad, 0);
    /* The page itself does it: what follows INVLPG comes from the other page (it serialises). */
    b = BLOB("movq %rdx, (%rsi); invlpg (%rdi); movl $0, %eax; ret");
    for (u32 n = 8; n < 10; n++) {
        put(APAGE(n), b);
        *(volatile u8 *)(APAGE(n) + 7) = n;
    }
    for (u32 i = 0; i < 4 * HOT; i++) {
        u64 ax = WPAGE(0), di = WPAGE(0);

        __asm__ volatile("call *%%rax" : "+a"(ax), "+D"(di) : "S"(&wpt[0]), "d"(APAGE(8 + i % 2) | KERNEL)
                         : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
        bad += ax != 8 + i % 2;
    }
    check_num("remaps-itself", bad, 0);
    window_set(0, APAGE(0) | KERNEL);
}

/* An instruction across two pages, one of which is remapped. */
static void straddle_remapped(void)
{
    u64 bad = 0;

    put(APAGE(9) - 3, BLOB("addl $0x11223344, %eax; ret"));             /* pages 8 and 9 */
    put(APAGE(11) - 3, BLOB("addl $0x55667788, %eax; ret"));            /* pages 10 and 11 */
    put(APAGE(1), BLOB("xorl %eax, %eax; jmp *%rdi"));
    for (u32 i = 0; i < 4 * HOT; i++) {
        u64 want = (i & 1 ? 0x7788 : 0x3344) | (i & 2 ? 0x55660000 : 0x11220000);

        window_set(4, APAGE(i & 1 ? 10 : 8) | KERNEL);
        window_set(5, APAGE(i & 2 ? 11 : 9) | KERNEL);
        bad += call_code(WPAGE(1), WPAGE(5) - 3, 0, 0).ax != want;
    }
    check_num("straddle-remapped", bad, 0);
    window_set(4, APAGE(4) | KERNEL);
    window_set(5, APAGE(5) | KERNEL);
}

/* ---- address spaces ---- */
static void other_make(u64 bits)
{
    memcpy(other_pml4, boot_pml4, 4096);
    memcpy(other_pdpt, boot_pdpt, 4096);
    memcpy(other_pd, boot_pd, 4096);
    for (u32 n = 0; n < 512; n++) {
        other_pt[n] = n < 16 ? APAGE(n ^ 1) | KERNEL | bits : 0;
        wpt[n] = n < 16 ? APAGE(n) | KERNEL | bits : 0;
    }
    other_pml4[0] = (ulong)other_pdpt | KERNEL | PG_U;
    other_pdpt[0] = (ulong)other_pd | KERNEL | PG_U;
    other_pd[WINDOW >> 21] = (ulong)other_pt | KERNEL | PG_U;
}

/* Page 8 there is page 9 here. */
static u64 switches(u64 first, u64 second)
{
    u64 bad = 0;

    for (u32 i = 0; i < 20 * HOT; i++) {
        cr3_set(i & 1 ? second : first);
        bad += call_code(WPAGE(8), 0, 0, 0).ax != 8 + (i & 1);
        bad += call_code(WPAGE(9) + 0x100, 0, 0, 0).ax != 0x19 - (i & 1);
        if (i % 16 == 15) {
            *(volatile u32 *)(APAGE(8) + 0x101) = i;    /* and a change now and then, seen in both */
            bad += call_code(WPAGE(8 + (i & 1)) + 0x100, 0, 0, 0).ax != i;
            *(volatile u32 *)(APAGE(8) + 0x101) = 0x18;
        }
    }
    return bad;
}

static void spaces(void)
{
    u64 first = cr3_get() & ~0xffful, second = (ulong)other_pml4, noflush = 1ull << 63;

    other_make(0);
    two_codes();
    check_num("cr3-switches", switches(first, second), 0);
    cr3_set(first);
    if (!cpu_has(1, 2, 17)) {
        skip("pcid-switches", "no PCID");
        return;
    }
    cr4_set(cr4_get() | CR4_PCIDE);
    cr3_set(second | 5);
    check_num("pcid-switches", switches(first | noflush, second | 5 | noflush), 0);
    cr3_set(first);
    cr4_set(cr4_get() & ~CR4_PCIDE);
}

/* The code that is switched under is the one that switches. */
static void switch_under_code(void)
{
    u64 first = cr3_get() & ~0xffful, second = (ulong)other_pml4, bad = 0;
    Blob b = BLOB("movq %rdi, %cr3; movl $0, %eax; movq %rsi, %cr3; addl $0x100, %eax; ret");

    for (u32 n = 8; n < 10; n++) {
        put(APAGE(n), b);
        *(volatile u8 *)(APAGE(n) + 4) = n;
        *(volatile u8 *)(APAGE(n) + 12) = n;            /* the addend's low byte */
    }
    for (u32 i = 0; i < 4 * HOT; i++) {
        bad += call_code(WPAGE(8), second, first, 0).ax != 0x100 + 9 + 8;
    }
    check_num("cr3-under-code", bad, 0);
}

/* ---- rights ---- */
static void rights_kernel(void)
{
    put(APAGE(0), BLOB("movl $5, %eax; nop; int $0x20"));
    start_kernel();
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)WPAGE(0));
    }
    check("hot-in-window", "ok ax=5");
    window_set(0, APAGE(0) | KERNEL | PG_NX);
    snippet("nx-after-hot", (void *)WPAGE(0), "#PF(11) ip=0 cr2=2000000 ax=0");
    window_set(0, APAGE(0) | KERNEL);
    snippet("nx-gone", (void *)WPAGE(0), "ok ax=5");
    window_set(0, 0);
    snippet("absent-after-hot", (void *)WPAGE(0), "#PF(10) ip=0 cr2=2000000 ax=0");
    window_set(0, APAGE(0) | KERNEL);
    snippet("present-again", (void *)WPAGE(0), "ok ax=5");
    /* Straddling: the second page alone. */
    put(APAGE(2) - 2, BLOB("movl $5, %eax; int $0x20"));
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)(WPAGE(2) - 2));
    }
    window_set(2, APAGE(2) | KERNEL | PG_NX);
    snippet("nx-second-page", (void *)(WPAGE(2) - 2), "#PF(11) ip=0 cr2=2002000 ax=0");
    window_set(2, 0);
    snippet("absent-second-page", (void *)(WPAGE(2) - 2), "#PF(10) ip=0 cr2=2002000 ax=0");
    window_set(2, APAGE(2) | KERNEL);
    snippet("second-page-again", (void *)(WPAGE(2) - 2), "ok ax=5");
    /* A jump from hot code elsewhere, and a return. */
    put(APAGE(3), BLOB("jmp *%rdi"));
    start.regs[DI] = WPAGE(0);
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)WPAGE(3));
    }
    window_set(0, APAGE(0) | KERNEL | PG_NX);
    snippet("nx-jumped-into", (void *)WPAGE(3), "#PF(11) rip=2000000 ax=0");
    window_set(0, APAGE(0) | KERNEL);
    snippet("nx-jumped-into-again", (void *)WPAGE(3), "ok ax=5");
    put(APAGE(3), BLOB("pushq %rdi; ret"));
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)WPAGE(3));
    }
    window_set(0, APAGE(0) | KERNEL | PG_NX);
    snippet("nx-returned-into", (void *)WPAGE(3), "#PF(11) rip=2000000 ax=0 dsp=0");
    window_set(0, APAGE(0) | KERNEL);
}

static void rights_user(void)
{
    u64 bad = 0;

    window_set(0, APAGE(0) | KERNEL | PG_U);
    start_user();
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)WPAGE(0));
    }
    check("user-hot", "ok ax=5");
    window_set(0, APAGE(0) | KERNEL);
    snippet("user-right-gone", (void *)WPAGE(0), "#PF(15) ip=0 cr2=2000000 ax=0");
    start_kernel();
    snippet("kernel-still", (void *)WPAGE(0), "ok ax=5");
    start_user();
    window_set(0, APAGE(0) | KERNEL | PG_U | PG_NX);
    snippet("user-nx", (void *)WPAGE(0), "#PF(15) ip=0 cr2=2000000 ax=0");
    for (u32 i = 0; i < 4 * HOT; i++) {                 /* many flips */
        window_set(0, APAGE(0) | KERNEL | (i & 1 ? PG_U : 0));
        snippet_run((void *)WPAGE(0));
        bad += i & 1 ? rec.vec != END_VECTOR : rec.vec != PF || rec.err != 0x15;
    }
    check_num("user-flips", bad, 0);
    window_set(0, APAGE(0) | KERNEL | PG_U);
    start_kernel();
    if (!cpu_has(7, 1, 7)) {
        skip("smep", "not in this CPU");
        window_set(0, APAGE(0) | KERNEL);
        return;
    }
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)WPAGE(0));
    }
    check("user-page-at-cpl0", "ok ax=5");
    cr4_set(cr4_get() | CR4_SMEP);
    snippet("smep-after-hot", (void *)WPAGE(0), "#PF(11) ip=0 cr2=2000000 ax=0");
    start_user();
    snippet("smep-user-still", (void *)WPAGE(0), "ok ax=5");
    start_kernel();
    cr4_set(cr4_get() & ~CR4_SMEP);
    snippet("smep-off-again", (void *)WPAGE(0), "ok ax=5");
    for (u32 i = 0; i < 2 * HOT; i++) {
        cr4_set(i & 1 ? cr4_get() | CR4_SMEP : cr4_get() & ~CR4_SMEP);
        snippet_run((void *)WPAGE(0));
        bad += i & 1 ? rec.vec != PF || rec.err != 0x11 : rec.vec != END_VECTOR;
    }
    check_num("smep-flips", bad, 0);
    cr4_set(cr4_get() & ~CR4_SMEP);
    window_set(0, APAGE(0) | KERNEL);
}

/* Hot stores whose page becomes read-only, absent, and writable again; hot loads likewise. */
static void rights_of_data(void)
{
    put(APAGE(0), BLOB("movl $20, %ecx; 1: addl $3, 0x10(%rdi); movl 0x10(%rdi), %eax; decl %ecx; jnz 1b; int $0x20"));
    start_kernel();
    cr0_set(cr0_get() | CR0_WP);
    start.regs[DI] = WPAGE(6);
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)WPAGE(0));
    }
    window_set(6, APAGE(6) | PG_P);
    *(volatile u32 *)(APAGE(6) + 0x10) = 7;
    snippet("store-read-only-after-hot", (void *)WPAGE(0), "#PF(3) ip=5 cr2=2006010 cx=14");
    window_set(6, APAGE(6) | KERNEL);
    snippet("store-writable-again", (void *)WPAGE(0), "ok ax=43");
    window_set(6, 0);
    snippet("store-absent-after-hot", (void *)WPAGE(0), "#PF(2) ip=5 cr2=2006010 cx=14");
    window_set(6, APAGE(7) | KERNEL);
    *(volatile u32 *)(APAGE(7) + 0x10) = 1;
    snippet("store-elsewhere", (void *)WPAGE(0), "ok ax=3d");
    check_num("store-elsewhere-memory", *(volatile u32 *)(APAGE(7) + 0x10) << 16 | *(volatile u32 *)(APAGE(6) + 0x10),
              0x3d0043);
    cr0_set(cr0_get() & ~CR0_WP);
    window_set(6, APAGE(6) | KERNEL);
}

/* ---- devices ---- */
static u32 swap32(u32 v)
{
    return __builtin_bswap32(v);
}

/* fw_cfg: reads len bytes of the item to memory. */
static bool dma_read(u16 key, u64 to, u32 len)
{
    static volatile struct {
        u32 control, length, hi, lo;
    } d;

    d.control = swap32((u32)key << 16 | 0xa);           /* select, read */
    d.length = swap32(len);
    d.hi = swap32(to >> 32);
    d.lo = swap32(to);
    outl(0x514, 0);
    outl(0x518, swap32((u32)(ulong)&d));
    for (u32 i = 0; i < 10000000 && d.control & ~swap32(1); i++) {
        __asm__ volatile("pause");
    }
    return !d.control;
}

static void dma(void)
{
    u64 bad = 0;

    put_mov(APAGE(0), 0);
    put_mov(APAGE(2) - 3, 0);                           /* immediate across two pages */
    for (u32 i = 0; i < 4 * HOT; i++) {                 /* items 0 and 1: the signature and the revision */
        u32 key = i & 1;

        bad += !dma_read(key, APAGE(0) + 1, 4);
        bad += (call_code(APAGE(0), 0, 0, 0).ax == 0x554d4551) == key;
        bad += !dma_read(key, APAGE(2) - 2, 4);
        bad += (call_code(APAGE(2) - 3, 0, 0, 0).ax == 0x554d4551) == key;
        bad += call_code(WPAGE(0), 0, 0, 0).ax != *(volatile u32 *)(APAGE(0) + 1);
    }
    check_num("dma-over-code", bad, 0);
    put(APAGE(0), BLOB("movl $7, %eax; int $0x20"));
    start_kernel();
    for (u32 i = 0; i < HOT; i++) {
        snippet_run((void *)APAGE(0));
    }
    dma_read(0x19, APAGE(0), 4096);                     /* the directory of files begins with 00 00: add %al, (%rax) */
    start.regs[AX] = 0x100000000000;
    snippet("dma-whole-page", (void *)APAGE(0), "#PF(2) ip=0 cr2=100000000000");
    start_kernel();
}

void smc_map_group(void);
void smc_map_group(void)
{
    arena_clear();
    window_on();
    aliases();
    positions();
    remaps();
    return_into_remapped();
    straddle_remapped();
    spaces();
    switch_under_code();
    rights_kernel();
    rights_user();
    rights_of_data();
    dma();
    window_off();
}
