/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several processors: INIT and SIPI, IPIs to one and to all, locked operations, accessed and dirty bits
 * while another processor changes the same entries, MONITOR and MWAIT, INIT of a running processor. Wants
 * -smp 4; skipped with one.
 */
#include "paging.h"
#include "apic.h"
#include "smc.h"

#define CPUS 4
enum { JOB_NONE, JOB_COUNT, JOB_PAGES, JOB_XCHG, JOB_SPIN, JOB_WAIT, JOB_CALL };

static volatile u32 apic_id[CPUS], job[CPUS], done[CPUS], spin[CPUS], counter, lock_word, guarded, wake;
static volatile u64 wide[2] __attribute__((aligned(16)));
static u64 ap_pt[512] __attribute__((aligned(4096), section(".bss.page")));
extern u8 boot_pd[];
extern volatile u32 ap_number;
static ulong pages_at;
static void (*volatile called[CPUS])(void);

__asm__(".pushsection .text\nsmp_isr: lock incl ipi_seen_at; pushq %rax; movl $0xfee000b0, %eax; movl $0, (%rax);"
        "popq %rax; iretq\n.popsection\n.pushsection .bss\n.globl ipi_seen_at\nipi_seen_at: .long 0\n.popsection");
extern volatile u32 ipi_seen_at;
extern const u8 smp_isr[];

static void pages_work(u32 n)
{
    for (u32 i = 0; i < 20000; i++) {
        ulong a = pages_at + n * 4096;

        invlpg(a);
        *(volatile u8 *)a = i;
    }
}

static void xchg_work(void)
{
    for (u32 i = 0; i < 5000; i++) {
        u32 v = 1;

        do {
            __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(lock_word) : : "memory");
        } while (v);
        guarded++;
        __asm__ volatile("" : : : "memory");
        lock_word = 0;
    }
}

static void count_work(void)
{
    for (u32 i = 0; i < 10000; i++) {
        u64 lo = wide[0], hi = wide[1];

        __asm__ volatile("lock incl %0" : "+m"(counter));
        __asm__ volatile("1: movq %%rax, %%rbx; movq %%rdx, %%rcx; addq $1, %%rbx; adcq $3, %%rcx; "
              "lock cmpxchg16b %0; jnz 1b"
                         : "+m"(wide), "+a"(lo), "+d"(hi) : : "rbx", "rcx", "memory");
    }
}

static void wait_work(void)
{
    while (!wake) {
        __asm__ volatile("monitor" : : "a"(&wake), "c"(0), "d"(0));
        if (!wake) {
            __asm__ volatile("mwait" : : "a"(0), "c"(0));
        }
    }
}

static void work(u32 n, u32 what)
{
    switch (what) {
    case JOB_COUNT: count_work(); break;
    case JOB_PAGES: pages_work(n); break;
    case JOB_XCHG: xchg_work(); break;
    case JOB_WAIT: wait_work(); break;
    case JOB_CALL: called[n](); break;
    case JOB_SPIN:
        for (;;) {
            spin[n]++;
        }
    }
}

void ap_main(u32 n);
void ap_main(u32 n)
{
    desc_load_ap();
    apic_write(APIC_SVR, 0x1ff);
    apic_id[n] = apic_read(APIC_ID) >> 24;
    done[n] = 1;
    for (;;) {
        __asm__ volatile("sti; nop; nop; pause; cli; pause");
        if (job[n]) {
            work(n, job[n]);
            job[n] = 0;
            done[n]++;
        }
    }
}

static bool wait_for(volatile u32 *p, u32 v)
{
    for (u32 i = 0; i < 40000000 && *p != v; i++) {
        __asm__ volatile("pause");
    }
    return *p == v;
}

/* Processors have numbers in the order of their arrival, which need not be that of their APIC ids. */
static void ipi_to_id(u32 id, u32 low)
{
    apic_write(APIC_ICR + 0x10, id << 24);
    apic_write(APIC_ICR, low);
}

static void ipi(u32 n, u32 low)
{
    ipi_to_id(apic_id[n], low);
}

static void all_do(u32 what, u32 cpus)
{
    for (u32 n = 1; n < cpus; n++) {
        job[n] = what;
    }
    work(0, what);
    for (u32 n = 1; n < cpus; n++) {
        wait_for(&job[n], 0);
    }
}

void smp_call(u32 n, void (*f)(void))
{
    called[n] = f;
    job[n] = JOB_CALL;
}

bool smp_returned(u32 n)
{
    return job[n] == JOB_NONE;
}

static void start_all(u32 cpus)
{
    apic_write(APIC_SVR, 0x1ff);
    apic_write(APIC_ICR, 0xc4500);
    apic_write(APIC_ICR, 0xc4608);
    for (u32 n = 1; n < cpus; n++) {
        wait_for(&done[n], 1);
    }
    check_num("sipi-starts-all", ap_number, cpus);
}

static void ipis(u32 cpus)
{
    idt_set(0x58, KCS, smp_isr, 0x8e);
    for (u32 n = 1; n < cpus; n++) {
        ipi(n, 0x4058);
        wait_for(&ipi_seen_at, n);
    }
    check_num("ipi-to-each", ipi_seen_at, cpus - 1);
    ipi_seen_at = 0;
    apic_write(APIC_ICR, 0xc4058);
    wait_for(&ipi_seen_at, cpus - 1);
    check_num("ipi-to-all-but-self", ipi_seen_at, cpus - 1);
    ipi_seen_at = 0;
    ipi_to_id(0xff, 0x4058);
    start_kernel();
    start.flags |= FL_IF;
    snippet_run(CODE("64", "movl $100000, %ecx; 1: pause; loop 1b"));
    wait_for(&ipi_seen_at, cpus);
    check_num("ipi-broadcast-id", ipi_seen_at, cpus);
}

static void locked(u32 cpus)
{
    all_do(JOB_COUNT, cpus);
    check_num("lock-inc", counter, cpus * 10000);
    check_num("cmpxchg16b-low", wide[0], cpus * 10000);
    check_num("cmpxchg16b-high", wide[1], cpus * 30000);
    all_do(JOB_XCHG, cpus);
    check_num("xchg-is-locked", guarded, cpus * 5000);
}

/* This processor counts in the entries' free bits while the others' walks set A and D: no update may be lost. */
static void entry_races(u32 cpus)
{
    volatile u64 *pd = (volatile u64 *)boot_pd;
    u64 old = pd[8];
    u32 rounds = 0, all_set = 1;

    pages_at = 8ul << 21;
    for (u32 n = 0; n < 512; n++) {
        ap_pt[n] = (0x700000 + n % 64 * 4096) | 3;
    }
    pd[8] = (ulong)ap_pt | 3;
    cr3_set(cr3_get());
    for (u32 n = 1; n < cpus; n++) {
        job[n] = JOB_PAGES;
    }
    while (job[1] || job[2 % cpus] || job[3 % cpus] || rounds < 8000) {
        for (u32 n = 1; n < cpus; n++) {
            __asm__ volatile("lock addq %1, %0" : "+m"(ap_pt[n]) : "r"(1ul << 52));
            __asm__ volatile("lock andq %1, %0" : "+m"(ap_pt[n]) : "r"(~0x60ul));
        }
        rounds++;
        if (rounds == 100000000) {
            break;
        }
    }
    for (u32 n = 1; n < cpus; n++) {
        static const char *const names[] = { "", "entry-race-1", "entry-race-2", "entry-race-3" };

        check_num(names[n], ap_pt[n] >> 52 & 0x7f, rounds & 0x7f);
    }
    for (u32 n = 1; n < cpus; n++) {
        ap_pt[n] &= ~0x60ul;
    }
    all_do(JOB_PAGES, cpus);
    for (u32 n = 0; n < cpus; n++) {
        all_set &= (ap_pt[n] & 0x60) == 0x60;
    }
    check_num("each-sets-its-a-and-d", all_set, 1);
    pd[8] = old;
    cr3_set(cr3_get());
}

/* Some 30 ms by the TSC, so that the others' host threads run. */
static void delay(void)
{
    u32 lo, hi;
    u64 end = 0, now;

    do {
        __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
        now = (u64)hi << 32 | lo;
        end = end ? end : now + 60000000;
    } while (now < end);
}

static void stopping(u32 cpus)
{
    u32 last = cpus - 1, seen, still = 0;

    job[last] = JOB_WAIT;
    for (u32 i = 0; i < 1000; i++) {
        __asm__ volatile("pause");
    }
    wake = 1;
    check_num("mwait-wakes-by-store", wait_for(&job[last], 0), 1);
    job[last] = JOB_SPIN;
    while (!spin[last]) {
        __asm__ volatile("pause");
    }
    ipi(last, 0x4500);
    for (u32 i = 0; i < 100 && still < 4; i++) {        /* on a busy host its thread may see INIT late */
        seen = spin[last];
        delay();
        still = spin[last] == seen ? still + 1 : 0;
    }
    check_num("init-stops", still, 4);
    job[last] = 0;
    done[last] = 0;
    ap_number = last;
    ipi(last, 0x4608);
    check_num("sipi-after-init", wait_for(&done[last], 1), 1);
    ipi(last, 0x4608);
    job[last] = JOB_XCHG;
    check_num("sipi-to-running-is-ignored", wait_for(&done[last], 2), 1);
}

void smp_group(void);
void smp_group(void)
{
    u32 cpus = cpuid(1, 0).b >> 16 & 0xff;

    if (cpus != CPUS) {
        skip("all", "-smp");
        return;
    }
    start_all(cpus);
    ipis(cpus);
    locked(cpus);
    entry_races(cpus);
    smc_smp_checks(cpus);
    stopping(cpus);
    apic_write(APIC_ICR, 0xc4500);
}
