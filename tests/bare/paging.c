/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults in every mode: which accesses fault, with which error code (SDM vol. 3 4.6, 4.7). Each row
 * changes one entry of the window's walk, makes one access, and names the outcome; w is CR2 relative to the
 * window.
 */
#include "paging.h"

typedef struct Row {
    const char *name;
    u8 modes, level;
    u64 clear, set;
    char kind;
    u8 cpl;
    u16 env;
    const char *want;
} Row;

#define NXM (PAE | L4 | L5)
#define ALLM (P32 | PAE | L4 | L5)
#define LM (L4 | L5)
#define PHYS51 (1ull << 51)
#define KEY1 (1ull << 59)

static const Row rows[] = {
    { "u-read", ALLM, 1, 0, 0, 'r', 3, 0, "ok" },
    { "u-write", ALLM, 1, 0, 0, 'w', 3, 0, "ok" },
    { "u-exec", ALLM, 1, 0, 0, 'x', 3, 0, "ok" },
    { "k-read", ALLM, 1, 0, 0, 'r', 0, E_WP, "ok" },
    { "u-read-absent", ALLM, 1, PG_P, 0, 'r', 3, 0, "#PF(4) w=0 ip=0" },
    { "u-write-absent", ALLM, 1, PG_P, 0, 'w', 3, 0, "#PF(6) w=0 ip=0" },
    { "k-read-absent", ALLM, 1, PG_P, 0, 'r', 0, 0, "#PF(0) w=0 ip=0" },
    { "k-write-absent", ALLM, 1, PG_P, 0, 'w', 0, 0, "#PF(2) w=0 ip=0" },
    { "u-read-absent-l2", ALLM, 2, PG_P, 0, 'r', 3, 0, "#PF(4) w=0" },
    { "k-write-absent-l2", ALLM, 2, PG_P, 0, 'w', 0, 0, "#PF(2) w=0" },
    { "u-read-absent-l3", LM, 3, PG_P, 0, 'r', 3, 0, "#PF(4) w=0" },
    { "u-write-absent-l4", LM, 4, PG_P, 0, 'w', 3, 0, "#PF(6) w=0" },
    { "u-read-absent-l5", L5, 5, PG_P, 0, 'r', 3, 0, "#PF(4) w=0" },
    { "u-read-supervisor", ALLM, 1, PG_U, 0, 'r', 3, 0, "#PF(5) w=0 ip=0" },
    { "u-write-supervisor", ALLM, 1, PG_U, 0, 'w', 3, 0, "#PF(7) w=0 ip=0" },
    { "u-read-supervisor-l2", ALLM, 2, PG_U, 0, 'r', 3, 0, "#PF(5) w=0" },
    { "u-read-supervisor-l3", LM, 3, PG_U, 0, 'r', 3, 0, "#PF(5) w=0" },
    { "u-read-supervisor-l4", LM, 4, PG_U, 0, 'r', 3, 0, "#PF(5) w=0" },
    { "u-read-supervisor-l5", L5, 5, PG_U, 0, 'r', 3, 0, "#PF(5) w=0" },
    { "k-read-supervisor", ALLM, 1, PG_U, 0, 'r', 0, E_WP, "ok" },
    { "u-write-read-only", ALLM, 1, PG_W, 0, 'w', 3, 0, "#PF(7) w=0 ip=0" },
    { "u-write-read-only-l2", ALLM, 2, PG_W, 0, 'w', 3, 0, "#PF(7) w=0" },
    { "u-write-read-only-l3", LM, 3, PG_W, 0, 'w', 3, 0, "#PF(7) w=0" },
    { "u-write-read-only-l4", LM, 4, PG_W, 0, 'w', 3, 0, "#PF(7) w=0" },
    { "u-write-read-only-l5", L5, 5, PG_W, 0, 'w', 3, 0, "#PF(7) w=0" },
    { "u-read-read-only", ALLM, 1, PG_W, 0, 'r', 3, 0, "ok" },
    { "k-write-read-only-wp0", ALLM, 1, PG_W, 0, 'w', 0, 0, "ok" },
    { "k-write-read-only-wp1", ALLM, 1, PG_W, 0, 'w', 0, E_WP, "#PF(3) w=0 ip=0" },
    { "k-write-read-only-l2-wp1", ALLM, 2, PG_W, 0, 'w', 0, E_WP, "#PF(3) w=0" },
    { "k-write-read-only-l2-wp0", ALLM, 2, PG_W, 0, 'w', 0, 0, "ok" },
    { "k-read-read-only-wp1", ALLM, 1, PG_W, 0, 'r', 0, E_WP, "ok" },
    { "k-write-ro-supervisor-wp1", ALLM, 1, PG_W | PG_U, 0, 'w', 0, E_WP, "#PF(3)" },
    { "u-locked-rmw-read-only", ALLM, 1, PG_W, 0, 'm', 3, 0, "#PF(7) w=0 ip=0" },
    { "u-rmw-read-only-flags", ALLM, 1, PG_W, 0, 'f', 3, 0, "#PF(7) w=0 cf=1 zf=0 of=0 rf=1" },
    { "u-push-read-only", ALLM, 1, PG_W, 0, 'p', 3, 0, "#PF(7) w=0 dsp=0" },
    { "u-push-absent", ALLM, 1, PG_P, 0, 'p', 3, 0, "#PF(6) w=0 dsp=0" },
    /* fetches; I/D is in the error code only with NXE or SMEP */
    { "u-exec-absent", NXM, 1, PG_P, 0, 'x', 3, 0, "#PF(14) w=0" },
    { "u-exec-absent", P32, 1, PG_P, 0, 'x', 3, 0, "#PF(4) w=0" },
    { "u-exec-absent-nxe0", NXM, 1, PG_P, 0, 'x', 3, E_NX0, "#PF(4) w=0" },
    { "u-exec-absent-smep", ALLM, 1, PG_P, 0, 'x', 3, E_NX0 | E_SMEP, "#PF(14) w=0" },
    { "u-exec-supervisor", NXM, 1, PG_U, 0, 'x', 3, 0, "#PF(15) w=0" },
    { "u-exec-supervisor", P32, 1, PG_U, 0, 'x', 3, 0, "#PF(5) w=0" },
    { "k-exec-absent", NXM, 1, PG_P, 0, 'x', 0, 0, "#PF(10) w=0" },
    { "u-exec-nx", NXM, 1, 0, PG_NX, 'x', 3, 0, "#PF(15) w=0" },
    { "k-exec-nx", NXM, 1, 0, PG_NX, 'x', 0, 0, "#PF(11) w=0" },
    { "u-exec-nx-l2", NXM, 2, 0, PG_NX, 'x', 3, 0, "#PF(15) w=0" },
    { "u-exec-nx-l3", LM, 3, 0, PG_NX, 'x', 3, 0, "#PF(15) w=0" },
    { "u-exec-nx-l4", LM, 4, 0, PG_NX, 'x', 3, 0, "#PF(15) w=0" },
    { "u-exec-nx-l5", L5, 5, 0, PG_NX, 'x', 3, 0, "#PF(15) w=0" },
    { "u-read-nx", NXM, 1, 0, PG_NX, 'r', 3, 0, "ok" },
    { "u-write-nx", NXM, 1, 0, PG_NX, 'w', 3, 0, "ok" },
    /* reserved bits; they count only in present entries */
    { "nx-reserved-when-nxe0", NXM, 1, 0, PG_NX, 'r', 3, E_NX0, "#PF(d) w=0" },
    { "nx-reserved-when-nxe0-l2", NXM, 2, 0, PG_NX, 'w', 0, E_NX0, "#PF(b) w=0" },
    { "reserved-u-read", NXM, 1, 0, PHYS51, 'r', 3, 0, "#PF(d) w=0 ip=0" },
    { "reserved-k-write", NXM, 1, 0, PHYS51, 'w', 0, 0, "#PF(b) w=0" },
    { "reserved-u-exec", NXM, 1, 0, PHYS51, 'x', 3, 0, "#PF(1d) w=0" },
    { "reserved-l2", NXM, 2, 0, PHYS51, 'r', 0, 0, "#PF(9) w=0" },
    { "reserved-l3", LM, 3, 0, PHYS51, 'r', 0, 0, "#PF(9) w=0" },
    { "reserved-l4", LM, 4, 0, PHYS51, 'r', 3, 0, "#PF(d) w=0" },
    { "reserved-l5", L5, 5, 0, PHYS51, 'r', 3, 0, "#PF(d) w=0" },
    { "reserved-but-absent", NXM, 1, PG_P, PHYS51, 'r', 3, 0, "#PF(4) w=0" },
    { "reserved-before-rights", NXM, 1, PG_U, PHYS51, 'r', 3, 0, "#PF(d) w=0" },
    { "bit-62-in-pae", PAE, 1, 0, 1ull << 62, 'r', 3, 0, "#PF(d) w=0" },
    { "bit-52-in-pae", PAE, 1, 0, 1ull << 52, 'r', 3, 0, "#PF(d) w=0" },
    { "bit-52-ignored", LM, 1, 0, 1ull << 52, 'r', 3, 0, "ok" },
    { "bit-62-ignored", LM, 2, 0, 1ull << 62, 'r', 3, 0, "ok" },
    { "ps-reserved-l4", LM, 4, 0, PG_PS, 'r', 3, 0, "#PF(d) w=0" },
    { "ps-reserved-l5", L5, 5, 0, PG_PS, 'r', 3, 0, "#PF(d) w=0" },
    { "ps-ignored-without-cr4", P32, 2, 0, PG_PS, 'x', 3, E_NO_PSE, "ok" },
    { "bits-11-9-ignored", ALLM, 1, 0, 0xe00, 'w', 3, 0, "ok" },
    { "bits-11-9-ignored-l2", ALLM, 2, 0, 0xe00, 'w', 3, 0, "ok" },
    { "global-ignored-l2", ALLM, 2, 0, PG_G, 'w', 3, 0, "ok" },
    /* SMEP, SMAP */
    { "k-exec-user-smep", ALLM, 1, 0, 0, 'x', 0, E_SMEP, "#PF(11) w=0" },
    { "k-exec-user", ALLM, 1, 0, 0, 'x', 0, 0, "ok" },
    { "k-exec-supervisor-smep", ALLM, 1, PG_U, 0, 'x', 0, E_SMEP, "ok" },
    { "k-exec-supervisor-l2-smep", ALLM, 2, PG_U, 0, 'x', 0, E_SMEP, "ok" },
    { "u-exec-user-smep", ALLM, 1, 0, 0, 'x', 3, E_SMEP, "ok" },
    { "k-read-user-smep", ALLM, 1, 0, 0, 'r', 0, E_SMEP, "ok" },
    { "k-read-user-smap", ALLM, 1, 0, 0, 'r', 0, E_SMAP, "#PF(1) w=0 ip=0" },
    { "k-write-user-smap", ALLM, 1, 0, 0, 'w', 0, E_SMAP, "#PF(3) w=0 ip=0" },
    { "k-read-user-smap-ac", ALLM, 1, 0, 0, 'r', 0, E_SMAP | E_AC, "ok" },
    { "k-write-user-smap-ac", ALLM, 1, 0, 0, 'w', 0, E_SMAP | E_AC, "ok" },
    { "k-write-ro-smap-ac-wp", ALLM, 1, PG_W, 0, 'w', 0, E_SMAP | E_AC | E_WP, "#PF(3) w=0" },
    { "k-read-supervisor-l2-smap", ALLM, 2, PG_U, 0, 'r', 0, E_SMAP, "ok" },
    { "u-read-user-smap", ALLM, 1, 0, 0, 'r', 3, E_SMAP, "ok" },
    { "k-exec-user-smap", ALLM, 1, 0, 0, 'x', 0, E_SMAP, "ok" },
    { "k-read-absent-smap", ALLM, 1, PG_P, 0, 'r', 0, E_SMAP, "#PF(0) w=0" },
    /* protection keys: key 1; they guard data accesses to user pages alone */
    { "pku-ad-u-read", LM, 1, 0, KEY1, 'r', 3, E_PKE | E_AD, "#PF(25) w=0 ip=0" },
    { "pku-ad-u-write", LM, 1, 0, KEY1, 'w', 3, E_PKE | E_AD, "#PF(27) w=0" },
    { "pku-wd-u-read", LM, 1, 0, KEY1, 'r', 3, E_PKE | E_WD, "ok" },
    { "pku-wd-u-write", LM, 1, 0, KEY1, 'w', 3, E_PKE | E_WD, "#PF(27) w=0" },
    { "pku-wd-k-write-wp0", LM, 1, 0, KEY1, 'w', 0, E_PKE | E_WD, "ok" },
    { "pku-wd-k-write-wp1", LM, 1, 0, KEY1, 'w', 0, E_PKE | E_WD | E_WP, "#PF(23) w=0" },
    { "pku-ad-k-read", LM, 1, 0, KEY1, 'r', 0, E_PKE | E_AD, "#PF(21) w=0" },
    { "pku-ad-k-read-supervisor", LM, 1, PG_U, KEY1, 'r', 0, E_PKE | E_AD, "ok" },
    { "pku-ad-u-exec", LM, 1, 0, KEY1, 'x', 3, E_PKE | E_AD, "ok" },
    { "pku-other-key", LM, 1, 0, KEY1 << 1, 'r', 3, E_PKE | E_AD, "ok" },
    { "pku-key-in-l2", LM, 2, 0, KEY1, 'r', 3, E_PKE | E_AD, "ok" },
    { "pku-off", LM, 1, 0, KEY1, 'r', 3, E_AD, "ok" },
    { "pku-and-read-only", LM, 1, PG_W, KEY1, 'w', 3, E_PKE | E_WD, "#PF(27) w=0" },
};

static void row_run(const Row *r)
{
    pg_reset();
    pg_set(r->level, (pg_get(r->level) & ~r->clear) | r->set);
    pg_flush();
    start.regs[BX] = window;
    if (!pg_env(r->env)) {
        skip(r->name, "not in this CPU");
        return;
    }
    pg_access(r->kind, r->cpl, r->env);
    pg_env_off();
    check(r->name, r->want);
}

/* Large pages: the entry of level 2 (4 or 2 MiB) or 3 (1 GiB) maps physical 4 MiB, or 0. */
static void large_row(const char *name, u32 level, u64 v, char kind, u32 cpl, const char *want)
{
    u8 *page = (u8 *)0x800000 + (window & (pg_mode == P32 ? 0x3fffff : 0x1fffff));

    pg_reset();
    pg_set(level, v);
    pg_flush();
    memset(page, 0x5a, 1);
    memset(page + 0x1000, 0xa5, 1);
    pg_access(kind, cpl, 0);
    check(name, want);
}

static void large_pages(void)
{
    u64 base = 0x800000 | PG_P | PG_W | PG_U | PG_PS;

    large_row("large-u-read", 2, base, 'r', 3, "ok al=5a");
    large_row("large-u-write", 2, base, 'w', 3, "ok");
    check_num("large-dirty", pg_get(2) & (PG_A | PG_D), PG_A | PG_D);
    large_row("large-u-read-clean", 2, base, 'r', 3, "ok");
    check_num("large-accessed", pg_get(2) & (PG_A | PG_D), PG_A);
    large_row("large-u-read-supervisor", 2, base & ~PG_U, 'r', 3, "#PF(5) w=0");
    large_row("large-u-write-read-only", 2, base & ~PG_W, 'w', 3, "#PF(7) w=0");
    large_row("large-pat-bit-is-fine", 2, base | 0x1000, 'r', 3, "ok al=5a");
    if (pg_mode == P32) {
        large_row("large-bit-21-reserved", 2, base | 0x200000, 'r', 3, "#PF(d) w=0");
        return;
    }
    large_row("large-bit-13-reserved", 2, base | 0x2000, 'r', 3, "#PF(d) w=0");
    large_row("large-bit-20-reserved", 2, base | 0x100000, 'w', 0, "#PF(b) w=0");
    large_row("large-nx", 2, base | PG_NX, 'x', 3, "#PF(15) w=0");
    if (pg_mode == PAE) {
        return;
    }
    if (!cpu_has(0x80000001, 3, 26)) {
        large_row("giant-reserved-without-cpuid", 3, 7 | PG_PS, 'r', 3, "#PF(d) w=0");
        return;
    }
    large_row("giant-u-read", 3, 7 | PG_PS, 'r', 3, "ok");
    large_row("giant-bit-13-reserved", 3, 7 | PG_PS | 0x2000, 'r', 3, "#PF(d) w=0");
    large_row("giant-bit-29-reserved", 3, 7 | PG_PS | 0x20000000, 'r', 3, "#PF(d) w=0");
    large_row("giant-read-only", 3, 5 | PG_PS, 'w', 3, "#PF(7) w=0");
}

/* Rights are the AND over the levels; where two levels differ the stricter one wins. */
static void combined_rights(void)
{
    for (u32 a = 1; a <= pg_levels; a++) {
        static const char *const names[] = { "", "strict-l1", "strict-l2", "strict-l3", "strict-l4", "strict-l5" };

        if (pg_mode == PAE && a == 3) {
            continue;
        }
        pg_reset();
        for (u32 l = 1; l <= pg_levels; l++) {
            if (l != a && !(pg_mode == PAE && l == 3)) {
                pg_set(l, pg_get(l) | PG_W | PG_U);
            }
        }
        pg_set(a, pg_get(a) & ~(PG_W | PG_U));
        pg_flush();
        pg_access('w', 3, 0);
        check(names[a], "#PF(7) w=0");
    }
}

static void mode_run(PgMode mode)
{
    pg_enter(mode);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].modes & mode) {
            row_run(&rows[i]);
        }
    }
    large_pages();
    combined_rights();
    pg_tlb_checks();
    pg_span_checks();
    pg_leave();
}

#ifdef __x86_64__
void l4_group(void);
void l4_group(void)
{
    mode_run(L4);
}

void l5_group(void);
void l5_group(void)
{
    if (cpu_has(7, 2, 16)) {
        mode_run(L5);
    } else {
        skip("all", "no LA57");
    }
}
#else
void p32_group(void);
void p32_group(void)
{
    mode_run(P32);
}

void pae_group(void);
void pae_group(void)
{
    mode_run(PAE);
}
#endif
