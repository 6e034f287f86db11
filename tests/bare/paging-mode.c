/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables and switches of the paging modes (see paging.h). */
#include "paging.h"

#ifdef __x86_64__
#define ACC(text) CODE("64", text)
#else
#define ACC(text) CODE("32", text)
#endif
#define PAGE __attribute__((aligned(4096), section(".bss.page")))

u8 page_a[4096] PAGE, page_b[4096] PAGE;
static u8 tables[5][4096] PAGE;         /* the window's, by level - 1 */
static u8 alias_pt[4096] PAGE;
ulong window;
PgMode pg_mode;
u32 pg_levels;
static u32 pkru;

static u32 level_index(u32 level, ulong a)
{
    u32 bits = pg_mode == P32 ? 10 : 9;

    return (u64)a >> (12 + (level - 1) * bits) & ((1u << bits) - 1);
}

static u64 table_get(const void *table, u32 i)
{
    return pg_mode == P32 ? ((const volatile u32 *)table)[i] : ((const volatile u64 *)table)[i];
}

static void table_set(void *table, u32 i, u64 v)
{
    if (pg_mode == P32) {
        ((volatile u32 *)table)[i] = v;
    } else {
        ((volatile u64 *)table)[i] = v;
    }
}

#ifdef __x86_64__
extern u8 boot_pml4[], boot_pd[];
void la57_switch(ulong cr3, ulong on);

static void *top_table(u32 level)
{
    return level == 5 ? tables[4] : level == 4 ? boot_pml4 : tables[level - 1];
}

void pg_enter(PgMode mode)
{
    pg_mode = mode;
    pg_levels = mode == L5 ? 5 : 4;
    window = mode == L5 ? 0x123456789a000 : 0x123456789000;
    memset(tables, 0, sizeof(tables));
    for (u32 i = 0; i < 512; i++) {
        table_set(alias_pt, i, i * 4096 | 3);
    }
    table_set(boot_pd, 1, (ulong)alias_pt | 3);
    if (mode == L5) {
        table_set(tables[4], 0, (ulong)boot_pml4 | 7);
        la57_switch((ulong)tables[4], 1);
    }
    pg_reset();
    pg_flush();
}

void pg_leave(void)
{
    pg_reset();
    if (pg_mode == L5) {
        la57_switch((ulong)boot_pml4, 0);
    }
    cr0_set(cr0_get() & ~CR0_WP);
}
#else
static u8 pae_pd[4][4096] PAGE;
static u8 p32_pd[4096] PAGE;
static u8 low_pt[2][4096] PAGE;
static u64 pae_pdpt[4] __attribute__((aligned(32)));

static void *top_table(u32 level)
{
    if (level == 1) {
        return tables[0];
    }
    return pg_mode == P32 ? (void *)p32_pd : level == 2 ? (void *)pae_pd[2] : (void *)pae_pdpt;
}

static bool low_user(ulong a)
{
    return a >= SNIP_BASE && a < 0x60000;
}

static void low_fill(void)
{
    if (pg_mode == P32) {
        for (u32 i = 0; i < 1024; i++) {
            u32 a = i % 512 * 4096;

            table_set(low_pt[0], i, a | (i < 512 && low_user(a) ? 7 : 3));
        }
        return;
    }
    for (u32 i = 0; i < 512; i++) {
        table_set(low_pt[0], i, i * 4096 | (low_user(i * 4096) ? 7 : 3));
        table_set(alias_pt, i, i * 4096 | 3);
    }
}

static void high_fill(void)
{
    if (pg_mode == P32) {
        for (u32 i = 1; i < 1024; i++) {
            table_set(p32_pd, i, i << 22 | 0x83);
        }
        table_set(p32_pd, 0, (ulong)low_pt[0] | 7);
        return;
    }
    for (u32 i = 0; i < 2048; i++) {
        table_set(pae_pd, i, (u64)i << 21 | 0x83);
    }
    table_set(pae_pd, 0, (ulong)low_pt[0] | 7);
    table_set(pae_pd, 1, (ulong)alias_pt | 3);
    for (u32 i = 0; i < 4; i++) {
        pae_pdpt[i] = (ulong)pae_pd[i] | 1;
    }
}

void pg_enter(PgMode mode)
{
    pg_mode = mode;
    pg_levels = mode == P32 ? 2 : 3;
    window = 0x80800000;
    memset(tables, 0, sizeof(tables));
    low_fill();
    high_fill();
    pg_reset();
    cr4_set(mode == P32 ? CR4_PSE : CR4_PAE);
    if (mode == PAE) {
        msr_set(MSR_EFER, EFER_NXE);
    }
    cr3_set(mode == P32 ? (ulong)p32_pd : (ulong)pae_pdpt);
    cr0_set(cr0_get() | CR0_PG);
    desc_init();
}

void pg_leave(void)
{
    cr0_set(cr0_get() & ~(CR0_PG | CR0_WP));
    cr4_set(0);
    msr_set(MSR_EFER, 0);
    cr3_set(0);
    desc_init();
}
#endif

void pg_reset(void)
{
    u32 own = pg_mode == PAE ? 2 : pg_levels;

    for (u32 l = own; l > 1; l--) {
        pg_set(l, (ulong)tables[l - 2] | PG_P | PG_W | PG_U);
    }
    pg_set(1, (ulong)page_a | PG_P | PG_W | PG_U);
    pg_set2((ulong)page_b | PG_P | PG_W | PG_U);
    memcpy(page_a, "\xcd\x20", 2);
    memcpy(page_b, "\xcd\x20", 2);
    start.regs[BX] = window;
}

/* With five levels the window's level-4 table is its own. */
static void *table_of(u32 level)
{
#ifdef __x86_64__
    if (pg_mode == L5 && level == 4) {
        return tables[3];
    }
#endif
    return top_table(level);
}

u64 pg_get(u32 level)
{
    return table_get(table_of(level), level_index(level, window));
}

void pg_set(u32 level, u64 v)
{
    table_set(table_of(level), level_index(level, window), v);
}

void pg_set2(u64 v)
{
    table_set(tables[0], level_index(1, window + 4096), v);
}

u64 pg_get2(void)
{
    return table_get(tables[0], level_index(1, window + 4096));
}

void pg_flush(void)
{
    cr3_set(cr3_get());
    invlpg(window);
    invlpg(window + 4096);
}

bool pg_env(u32 env)
{
    ulong cr4 = cr4_get();

    if (((env & E_SMEP) && !cpu_has(7, 1, 7)) || ((env & E_SMAP) && !cpu_has(7, 1, 20)) ||
        ((env & (E_AD | E_WD)) && !cpu_has(7, 2, 3))) {
        return false;
    }
    cr4 |= env & E_SMEP ? CR4_SMEP : 0;
    cr4 |= env & E_SMAP ? CR4_SMAP : 0;
    cr4 |= env & E_PKE ? CR4_PKE : 0;
    cr4 &= ~(ulong)(env & E_NO_PSE ? CR4_PSE : 0);
    if (env & E_NX0) {
        msr_set(MSR_EFER, msr_get(MSR_EFER) & ~(u64)EFER_NXE);
    }
    cr0_set(env & E_WP ? cr0_get() | CR0_WP : cr0_get() & ~CR0_WP);
    cr4_set(cr4);
    pkru = env & E_AD ? 4 : env & E_WD ? 8 : 0;
    if (env & E_PKE) {
        __asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(pkru), "c"(0), "d"(0));
    }
    return true;
}

void pg_env_off(void)
{
    ulong cr4 = cr4_get();

    if (cr4 & CR4_PKE) {
        __asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(0), "c"(0), "d"(0));
    }
    cr4 &= ~(ulong)(CR4_SMEP | CR4_SMAP | CR4_PKE);
    cr4_set(pg_mode == P32 ? cr4 | CR4_PSE : cr4);
    if (pg_mode != P32) {
        msr_set(MSR_EFER, msr_get(MSR_EFER) | EFER_NXE);
    }
    cr0_set(cr0_get() & ~CR0_WP);
}

static const void *access_code(char kind)
{
    switch (kind) {
#ifdef __x86_64__
    case 'r': return ACC("movb (%rbx), %al");
    case 'w': return ACC("movb %al, (%rbx)");
    case 'm': return ACC("lock addl $1, (%rbx)");
    case 'f': return ACC("stc; movl $1, %ecx; addl $-1, (%rbx)");
    case 'p': return ACC("pushq %rax");
    default: return ACC("jmp *%rbx");
#else
    case 'r': return ACC("movb (%ebx), %al");
    case 'w': return ACC("movb %al, (%ebx)");
    case 'm': return ACC("lock addl $1, (%ebx)");
    case 'f': return ACC("stc; movl $1, %ecx; addl $-1, (%ebx)");
    case 'p': return ACC("pushl %eax");
    default: return ACC("jmp *%ebx");
#endif
    }
}

void pg_access(char kind, u32 cpl, u32 env)
{
    const char *code = access_code(kind);
    ulong bx = start.regs[BX];

    if (cpl) {
        start_user();
    } else {
        start_kernel();
        code += env & E_SMEP ? SNIP_ALIAS : 0;
        start.flags |= env & E_AC ? FL_AC : 0;
    }
    if (kind == 'p') {
        start.sp = bx + sizeof(ulong);
    }
    start.regs[BX] = bx;
    snippet_run(code);
}
