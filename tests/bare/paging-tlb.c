/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accessed and dirty bits, what flushes translations (SDM vol. 3 4.8, 4.10), and accesses that span two
 * pages. Only flushes that the manual requires are asked for, never that something stays cached.
 */
#include "paging.h"

#ifdef __x86_64__
#define X(t32, t64) CODE("64", t64)
#else
#define X(t32, t64) CODE("32", t32)
#endif

static void go(const void *code, u32 cpl)
{
    if (cpl) {
        start_user();
    } else {
        start_kernel();
    }
    start.regs[BX] = window;
    start.regs[SI] = start.regs[DI] = window;
    snippet_run(code);
}

static u32 own_levels(void)
{
    return pg_mode == PAE ? 2 : pg_levels;
}

/* How many of the window's levels have that bit. */
static u32 count_bit(u64 bit)
{
    u32 n = 0;

    for (u32 l = 1; l <= own_levels(); l++) {
        n += (pg_get(l) & bit) != 0;
    }
    return n;
}

static void fresh(void)
{
    pg_reset();
    pg_flush();
}

static void accessed_dirty(void)
{
    fresh();
    pg_access('r', 3, 0);
    check_num("read-sets-accessed", count_bit(PG_A), own_levels());
    check_num("read-leaves-dirty", pg_get(1) & PG_D, 0);
    pg_access('w', 3, 0);
    check_num("write-after-read-sets-dirty", pg_get(1) & PG_D, PG_D);
    check_num("dirty-only-in-leaf", own_levels() > 1 ? pg_get(2) & PG_D : 0, 0);
    fresh();
    pg_access('x', 3, 0);
    check_num("fetch-sets-accessed", count_bit(PG_A), own_levels());
    check_num("fetch-leaves-dirty", pg_get(1) & PG_D, 0);
    fresh();
    pg_access('w', 0, 0);
    check_num("write-sets-both", pg_get(1) & (PG_A | PG_D), PG_A | PG_D);
    fresh();
    pg_access('m', 3, 0);
    check_num("locked-rmw-sets-dirty", pg_get(1) & PG_D, PG_D);
    fresh();
    pg_set(1, pg_get(1) & ~PG_W);
    pg_flush();
    pg_access('w', 3, 0);
    check_num("faulting-write-leaves-dirty", pg_get(1) & PG_D, 0);
    fresh();
    go(X("movl $1, %eax; cmpxchgl %ecx, (%ebx)", "movl $1, %eax; cmpxchgl %ecx, (%rbx)"), 3);
    check_num("failed-cmpxchg-sets-dirty", pg_get(1) & PG_D, PG_D);
    fresh();
    go(X("btl $1, (%ebx)", "btl $1, (%rbx)"), 3);
    check_num("bt-leaves-dirty", pg_get(1) & (PG_A | PG_D), PG_A);
    fresh();
    go(X("xorl %ecx, %ecx; rep stosb", "xorl %ecx, %ecx; rep stosb"), 3);
    check_num("empty-rep-touches-nothing", pg_get(1) & (PG_A | PG_D), 0);
    fresh();
    go(X("pushl (%ebx)", "pushq (%rbx)"), 3);
    check_num("push-from-leaves-dirty", pg_get(1) & (PG_A | PG_D), PG_A);
    fresh();
    pg_access('r', 3, 0);
    pg_set(1, pg_get(1) & ~(PG_A | PG_D));
    pg_flush();
    pg_access('r', 3, 0);
    check_num("accessed-again-after-flush", pg_get(1) & PG_A, PG_A);
    pg_access('w', 3, 0);
    pg_set(1, pg_get(1) & ~(PG_A | PG_D));
    invlpg(window);
    pg_access('w', 3, 0);
    check_num("dirty-again-after-invlpg", pg_get(1) & PG_D, PG_D);
}

static void map_b(void)
{
    page_a[64] = 0xaa;
    page_b[64] = 0xbb;
    pg_set(1, (ulong)page_b | 7);
}

static u8 read_64(void)
{
    return *(volatile u8 *)(window + 64);
}

static void flushes(void)
{
    fresh();
    page_a[64] = 0xaa;
    read_64();
    map_b();
    invlpg(window + 0x123);
    check_num("invlpg-any-offset", read_64(), 0xbb);
    fresh();
    read_64();
    map_b();
    cr3_set(cr3_get());
    check_num("cr3-write-flushes", read_64(), 0xbb);
    if (pg_mode != P32) {
        fresh();
        read_64();
        map_b();
        cr4_set(cr4_get() ^ CR4_PGE);
        cr4_set(cr4_get() ^ CR4_PGE);
        check_num("pge-change-flushes", read_64(), 0xbb);
    }
    cr4_set(cr4_get() | CR4_PGE);
    fresh();
    pg_set(1, pg_get(1) | PG_G);
    pg_flush();
    read_64();
    map_b();
    invlpg(window);
    check_num("invlpg-flushes-global", read_64(), 0xbb);
    fresh();
    pg_set(1, pg_get(1) | PG_G);
    read_64();
    map_b();
    cr4_set(cr4_get() & ~CR4_PGE);
    check_num("pge-off-flushes-global", read_64(), 0xbb);
    fresh();
    pg_set(1, 0);
    pg_flush();
    pg_access('r', 3, 0);
    pg_reset();
    pg_access('r', 3, 0);
    check("absent-to-present-needs-no-flush", "ok");
    pg_set(1, pg_get(1) & ~PG_W);
    pg_flush();
    pg_access('w', 3, 0);
    pg_set(1, pg_get(1) | PG_W);
    pg_access('w', 3, 0);
    pg_access('w', 3, 0);
    check("fault-drops-the-stale-entry", "ok");
    fresh();
    pg_access('r', 3, 0);
    pg_set(2, 0);
    invlpg(window);
    pg_access('r', 3, 0);
    check("invlpg-drops-upper-levels", "#PF(4) w=0");
}

/* A control bit that changes rights counts at once. */
static void control_changes(void)
{
    fresh();
    pg_set(1, pg_get(1) & ~PG_W);
    pg_flush();
    go(X("movb %al, (%ebx); movl %cr0, %ecx; btsl $16, %ecx; movl %ecx, %cr0; movb %al, 1(%ebx)",
         "movb %al, (%rbx); movq %cr0, %rcx; btsq $16, %rcx; movq %rcx, %cr0; movb %al, 1(%rbx)"), 0);
    check("wp-on-counts-at-once", "#PF(3) w=1");
    cr0_set(cr0_get() & ~CR0_WP);
    if (cpu_has(7, 1, 20)) {
        fresh();
        go(X("movb (%ebx), %al; movl %cr4, %ecx; btsl $21, %ecx; movl %ecx, %cr4; movb 2(%ebx), %al",
             "movb (%rbx), %al; movq %cr4, %rcx; btsq $21, %rcx; movq %rcx, %cr4; movb 2(%rbx), %al"), 0);
        check("smap-on-counts-at-once", "#PF(1) w=2");
        go(X("stac; movb (%ebx), %al; clac; movb 3(%ebx), %al",
          "stac; movb (%rbx), %al; clac; movb 3(%rbx), %al"), 0);
        check("clac-counts-at-once", "#PF(1) w=3");
        go(X("stac; movb (%ebx), %al; pushfl; andl $~0x40000, (%esp); popfl; movb 3(%ebx), %al",
             "stac; movb (%rbx), %al; pushfq; andq $~0x40000, (%rsp); popfq; movb 3(%rbx), %al"), 0);
        check("popf-ac-off-counts-at-once", "#PF(1) w=3");
    }
    pg_env_off();
    if (pg_mode != P32) {
        fresh();
        pg_set(1, pg_get(1) | PG_NX);
        pg_flush();
        pg_access('r', 3, 0);
        msr_set(MSR_EFER, msr_get(MSR_EFER) & ~(u64)EFER_NXE);
        pg_flush();
        pg_access('r', 3, 0);
        check("nxe-off-makes-nx-reserved", "#PF(d) w=0");
        pg_env_off();
    }
}

void pg_tlb_checks(void)
{
    accessed_dirty();
    flushes();
    control_changes();
}

/* The second page of the window is absent, read-only or not executable. */
void pg_span_checks(void)
{
    fresh();
    pg_set2(0);
    pg_flush();
    go(X("movl 0xffe(%ebx), %eax", "movl 0xffe(%rbx), %eax"), 3);
    check("read-into-absent", "#PF(4) w=1000 ip=0");
    go(X("movl %eax, 0xffd(%ebx)", "movl %eax, 0xffd(%rbx)"), 3);
    check("write-into-absent", "#PF(6) w=1000 ip=0");
    go(X("movl 0xffc(%ebx), %eax", "movl 0xffc(%rbx), %eax"), 3);
    check("read-up-to-the-edge", "ok");
    memset(page_a + 0xff0, 0x5a, 16);
    pg_set2((ulong)page_b | PG_P | PG_U);
    pg_flush();
    go(X("movl %ebx, 0xffe(%ebx)", "movl %ebx, 0xffe(%rbx)"), 3);
    check("write-into-read-only", "#PF(7) w=1000");
    check_num("nothing-written-before", *(u16 *)(page_a + 0xffe), 0x5a5a);
    pg_set2(0);
    pg_flush();
    memcpy(page_a + 0xffd, "\x90\xb8\x11", 3);
    go(X("addl $0xffd, %ebx; jmp *%ebx", "addq $0xffd, %rbx; jmp *%rbx"), 3);
    check("code-into-absent", pg_mode == P32 ? "#PF(4) w=1000" : "#PF(14) w=1000");
    check_num("code-into-absent-ip", rec.ip - window, 0xffe);
    pg_set2((ulong)page_b | 7);
    memcpy(page_b, "\x22\x33\x44\xcd\x20", 5);
    go(X("addl $0xffd, %ebx; jmp *%ebx", "addq $0xffd, %rbx; jmp *%rbx"), 3);
    check("code-across-pages", "ok ax=44332211");
    memset(page_a + 0xff0, 0x5a, 16);
    pg_set2(0);
    pg_flush();
    go(X("addl $0xff8, %edi; movl $0x5a5a5a5a, %eax; movl $4, %ecx; rep stosl",
         "addq $0xff8, %rdi; movl $0x5a5a5a5a, %eax; movl $4, %ecx; rep stosl"), 3);
    check("rep-stos-stops-at-the-edge", "#PF(6) w=1000 cx=2");
    check_num("rep-stos-edi", rec.regs[DI] - window, 0x1000);
    go(X("movl $0x40000, %edi; addl $0xffe, %esi; movl $4, %ecx; rep movsb",
         "movl $0x40000, %edi; addq $0xffe, %rsi; movl $4, %ecx; rep movsb"), 3);
    check("rep-movs-stops-at-the-edge", "#PF(4) w=1000 cx=2 di=40002");
    fresh();
}
