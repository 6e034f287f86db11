/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptor tables, the start state of snippets, and the record of what ended them. */
#include "paging.h"

#define TSS_SIZE (104 + 8192 + 1)

u64 gdt[GDT_ENTRIES] __attribute__((aligned(16)));
u64 ldt[16] __attribute__((aligned(16)));
static u64 idt[256 * sizeof(ulong) / 4] __attribute__((aligned(4096), section(".bss.page")));
u8 tss[TSS_SIZE] __attribute__((aligned(4096), section(".bss.page")));
Start start;
Rec rec;
static bool active;
static ulong snippet_start;
extern const u8 vectors[];
extern ulong frame[], frame_sp;
#ifdef __x86_64__
static u8 df_stack[4096] __attribute__((aligned(16)));
#else
static u32 df_tss[26], catch_tss[26];
static u8 df_stack[4096] __attribute__((aligned(16)));
static u8 catch_stack[4096] __attribute__((aligned(16)));
static u32 catch_vec;
extern ulong frame_ss;
void df_entry(void);
#endif

u64 desc_make(u32 base, u32 limit, u8 access, u8 flags)
{
    return (limit & 0xffff) | (u64)(base & 0xffffff) << 16 | (u64)access << 40 | (u64)(limit >> 16 & 15) << 48 |
           (u64)flags << 52 | (u64)(base >> 24) << 56;
}

void gdt_set(u32 sel, u32 base, u32 limit, u8 access, u8 flags)
{
    gdt[sel >> 3] = desc_make(base, limit, access, flags);
}

void gdt_set_tss(u32 sel, const void *base, u32 limit, u8 type)
{
    gdt_set(sel, (ulong)base, limit, 0x80 | type, 0);
#ifdef __x86_64__
    gdt[(sel >> 3) + 1] = (ulong)base >> 32;
#endif
}

void idt_set(u32 vec, u16 sel, const void *to, u8 access)
{
    ulong a = (ulong)to;
    u64 low = (a & 0xffff) | (u64)sel << 16 | (u64)access << 40 | (u64)(a >> 16 & 0xffff) << 48;

#ifdef __x86_64__
    idt[vec * 2] = low;
    idt[vec * 2 + 1] = a >> 32;
#else
    idt[vec] = low;
#endif
}

void idt_ist(u32 vec, u8 ist)
{
    ((u8 *)idt)[vec * sizeof(ulong) * 2 + 4] = ist;
}

void idt_default(u32 vec)
{
    idt_set(vec, KCS, vectors + vec * 16, vec == BP_ || vec == OF || vec == END_VECTOR ? 0xee : 0x8e);
#ifdef __x86_64__
    idt_ist(vec, vec == 8 ? 1 : 0);
#else
    if (vec == 8) {
        idt_set(vec, DFTSS, 0, 0x85);
    }
#endif
}

static void gdt_fill(void)
{
    memset(gdt, 0, sizeof(gdt));
#ifdef __x86_64__
    gdt_set(KCS, 0, 0xfffff, 0x9b, 0xa);
    gdt_set(UCS & ~3, 0, 0xfffff, 0xfb, 0xa);
    gdt_set(CS32, 0, 0xfffff, 0x9b, 0xc);
    gdt_set(UCS32 & ~3, 0, 0xfffff, 0xfb, 0xc);
#else
    gdt_set(KCS, 0, 0xfffff, 0x9b, 0xc);
    gdt_set(UCS & ~3, 0, 0xfffff, 0xfb, 0xc);
#endif
    gdt_set(KDS, 0, 0xfffff, 0x93, 0xc);
    gdt_set(UDS & ~3, 0, 0xfffff, 0xf3, 0xc);
    gdt_set(CS16, SNIP_BASE, 0xffff, 0x9b, 0);
    gdt_set(DS16, UBUF, 0xffff, 0x93, 0);
    gdt_set(UCS16 & ~3, SNIP_BASE, 0xffff, 0xfb, 0);
    gdt_set(UDS16 & ~3, UBUF, 0xffff, 0xf3, 0);
}

void tss_set_stack(u32 n, ulong sp, u16 ss)
{
#ifdef __x86_64__
    (void)ss;
    *(ulong *)(tss + 4 + 8 * n) = sp;
#else
    *(u32 *)(tss + 4 + 8 * n) = sp;
    *(u32 *)(tss + 8 + 8 * n) = ss;
#endif
}

void tss_set_iobase(u16 base, u32 limit)
{
    *(u16 *)(tss + 102) = base;
    gdt_set_tss(TSS_SEL, tss, limit, 9);
    desc_load();
}

#ifndef __x86_64__
static void catcher_fill(u32 sel, u32 *t, const u8 *stack)
{
    memset(t, 0, 104);
    t[7] = cr3_get();
    t[8] = (ulong)df_entry;
    t[9] = 2;
    t[14] = (ulong)stack;
    t[18] = t[20] = t[21] = KDS;
    t[19] = KCS;
    gdt_set_tss(sel, t, 103, 9);
}

void idt_task(u32 vec)
{
    catch_vec = vec;
    idt_set(vec, CATCHTSS, 0, 0x85);
}
#endif

static void tss_fill(void)
{
    memset(tss, 0, sizeof(tss));
    tss_set_stack(0, (ulong)estack_top, KDS);
    *(u16 *)(tss + 102) = 104;
    memset(tss + 104, 0xff, TSS_SIZE - 104);
#ifdef __x86_64__
    *(ulong *)(tss + 36) = (ulong)df_stack + sizeof(df_stack);
#else
    catcher_fill(DFTSS, df_tss, df_stack + sizeof(df_stack));
    catcher_fill(CATCHTSS, catch_tss, catch_stack + sizeof(catch_stack));
#endif
    gdt_set_tss(TSS_SEL, tss, TSS_SIZE - 1, 9);
}

static void tables_load(void)
{
    struct {
        u16 limit;
        ulong base;
    } __attribute__((packed)) g = { sizeof(gdt) - 1, (ulong)gdt }, i = { sizeof(idt) - 1, (ulong)idt };

    __asm__ volatile("lgdt %0; lidt %1" : : "m"(g), "m"(i));
}

/* Code and data segments of the GDT that was just loaded. */
static void segments_load(void)
{
#ifdef __x86_64__
    __asm__ volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%ss; mov %0, %%fs; mov %0, %%gs;"
                     "push %1; lea 1f(%%rip), %%rax; push %%rax; lretq; 1:" : : "r"(KDS), "i"(KCS) : "rax", "memory");
#else
    __asm__ volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%ss; mov %0, %%fs; mov %0, %%gs; ljmp %1, $1f; 1:"
                     : : "r"(KDS), "i"(KCS) : "memory");
#endif
}

void desc_load_ap(void)
{
    tables_load();
    segments_load();
}

void desc_load(void)
{
    tables_load();
    gdt[TSS_SEL >> 3] &= ~(2ull << 40);
    __asm__ volatile("lldt %w0; ltr %w1" : : "r"(0), "r"(TSS_SEL));
}

void desc_init(void)
{
    gdt_fill();
    tss_fill();
    for (u32 v = 0; v < 256; v++) {
        idt_default(v);
    }
    desc_load();
    segments_load();
}

void start_kernel(void)
{
    memset(&start, 0, sizeof(start));
    start.cs = KCS;
    start.flags = 2;
    start.sp = (ulong)kstack_top;
    start.ss = start.ds = start.es = start.fs = start.gs = KDS;
}

void start_user(void)
{
    memset(&start, 0, sizeof(start));
    start.cs = UCS;
    start.flags = 2;
    start.sp = USTACK;
    start.ss = start.ds = start.es = start.fs = start.gs = UDS;
}

/* The start of a 16-bit snippet is an offset from its segment's base. */
static ulong code_base(void)
{
    bool low = start.cs == CS16 || start.cs == UCS16 || (start.flags & FL_VM);

    return low ? SNIP_BASE : 0;
}

void snippet_run(const void *code)
{
    snippet_start = start.ip = (ulong)code - code_base();
    active = true;
    run(&start);
    active = false;
}

void snippet(const char *name, const void *code, const char *want)
{
    snippet_run(code);
    check(name, want);
}

static void panic(void)
{
    print("FAIL panic got vector ");
    print_hex(rec.vec);
    print("(");
    print_hex(rec.err);
    print(") at ");
    print_hex(rec.ip);
    print(" cr2 ");
    print_hex(rec.cr2);
    print(" want none\n");
    finish();
}

static void record_common(void)
{
    rec.cr2 = cr2_get();
    rec.w = rec.cr2 - window;
    rec.dr6 = dr6_get();
    rec.rel = rec.ip - snippet_start;
    rec.dsp = rec.sp - start.sp;
    if (!active) {
        panic();
    }
}

void catch_record(void);
#ifdef __x86_64__
void catch_record(void)
{
    rec = (Rec){ .gs = frame[0], .fs = frame[1], .es = frame[2], .ds = frame[3], .vec = frame[20], .err = frame[21],
                 .ip = frame[22], .cs = frame[23], .flags = frame[24], .sp = frame[25], .ss = frame[26] };
    rec.cpl0_sp = frame_sp;
    for (u32 i = 0; i < 16; i++) {
        rec.regs[i] = frame[19 - i];
    }
    record_common();
}
#else
void catch_record(void)
{
    bool vm = frame[16] & FL_VM, outer = vm || (frame[15] & 3);

    rec = (Rec){ .gs = frame[0], .fs = frame[1], .es = frame[2], .ds = frame[3], .vec = frame[12], .err = frame[13],
                 .ip = frame[14], .cs = frame[15], .flags = frame[16] };
    rec.cpl0_sp = frame_sp + 14 * 4;
    rec.sp = outer ? frame[17] : rec.cpl0_sp + 12;
    rec.ss = outer ? frame[18] : frame_ss;
    if (vm) {
        rec.es = frame[19];
        rec.ds = frame[20];
        rec.fs = frame[21];
        rec.gs = frame[22];
    }
    for (u32 i = 0; i < 8; i++) {
        rec.regs[i] = frame[11 - i];
    }
    record_common();
}

/* A fault came as a task switch: the interrupted state is in the TSS that the link names. */
static u16 task_now(void)
{
    u16 v;

    __asm__ volatile("str %0" : "=r"(v));
    return v;
}

void catch_df(void);
void catch_df(void)
{
    bool df = task_now() == DFTSS;
    const u32 *own = df ? df_tss : catch_tss;
    const u8 *stack = df ? df_stack : catch_stack;
    u64 d = gdt[own[0] >> 3];
    const u32 *t = (const u32 *)(u32)((d >> 16 & 0xffffff) | (d >> 56) << 24);

    rec = (Rec){ .vec = df ? 8 : catch_vec, .err = *(u32 *)(stack + 4092), .ip = t[8], .flags = t[9], .es = t[18],
                 .cs = t[19], .ss = t[20], .ds = t[21], .fs = t[22], .gs = t[23] };
    memcpy(rec.regs, t + 10, 32);
    rec.sp = rec.regs[SP];
    record_common();
    tss_fill();
    desc_load();
}
#endif
