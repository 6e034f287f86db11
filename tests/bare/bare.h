/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bare-metal test kernel: what its files share. Built twice, as a 32-bit kernel (K32: no paging unless
 * a group turns it on) and a 64-bit kernel (K64: four-level paging, identity map); each is a ROM for -bios.
 * See docs/devel/bare-metal.rst.
 * A check is one row: a name, a snippet of assembly, the outcome. The snippet starts in the state `start`
 * (CPL, mode, stack, registers) and always ends in an exception or in its own INT 20h; the handler writes
 * down what it sees in `rec` and the outcome is compared with a text such as "#PF(7) cr2=80000000 ip=2
 * rf=1":
 *   first word: ok (INT 20h was reached), #XX (no look at the error code), #XX(hex), iHH (another vector)
 *   then key=hex pairs, keys being those of `fields` in check.c. ip is relative to the snippet, dsp is SP
 *     minus its start.
 * Output: `ok NAME`, `FAIL NAME got X want Y` or `skip NAME (why)` on port e9h.
 */
#ifndef BARE_H
#define BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned long ulong;

#ifdef __x86_64__
#define NREGS 16
#define NATIVE "64"
#else
#define NREGS 8
#define NATIVE "32"
#endif
enum { AX, CX, DX, BX, SP, BP, SI, DI };
enum { DE, DB, NMI, BP_, OF, BR, UD, NM, DF, TS = 10, NP, SS, GP, PF, MF = 16, AC, MC, XM };
#define END_VECTOR 0x20

/* Fixed places. Pages 30000h..5ffffh are the user's in every map; the rest is the kernel's. */
#define LOW_BASE 0x20000u       /* 16-bit handlers, real-mode entry */
#define SNIP_BASE 0x30000u      /* snippets: 16-bit segments with this base reach them */
#define UBUF 0x40000u           /* data that any CPL may touch; 16-bit data segments have this base */
#define USTACK 0x4f000u         /* top of the user's stack */
#define RSTACK 0x58000u         /* top of the real-mode stack: 5000:8000 */

/* Selectors. Those from SEL_FREE on are for the checks. */
enum {
    KCS = 0x08, KDS = 0x10, UCS = 0x1b, UDS = 0x23, TSS_SEL = 0x28, CS16 = 0x38, DS16 = 0x40,
    UCS16 = 0x4b, UDS16 = 0x53,
    CS32 = 0x58,                /* K64: 32-bit code, CPL 0 */
    UCS32 = 0x63,               /* K64: 32-bit code, CPL 3 */
    DFTSS = 0x68,               /* K32: the double-fault task */
    CATCHTSS = 0x70,            /* K32: the task of idt_task() */
    SEL_FREE = 0x80, GDT_ENTRIES = 128
};

/* How a snippet starts. The order is known to run32.S and run64.S. */
typedef struct Start {
    ulong ip, cs, flags, sp, ss, ds, es, fs, gs;
    ulong regs[NREGS];          /* by register number; [SP] is unused */
} Start;

/* What a snippet left behind. */
typedef struct Rec {
    ulong vec, err, cr2, ip, cs, flags, sp, ss, ds, es, fs, gs;
    ulong regs[NREGS];
    ulong rel, dsp, dr6, cpl0_sp, w;
} Rec;

typedef struct Group {
    const char *name;
    void (*run)(void);
} Group;

extern Start start;
extern Rec rec;
extern const Group groups[];
extern u64 gdt[GDT_ENTRIES];
extern u8 tss[];
extern u64 ldt[16];
extern char kstack_top[], estack_top[];     /* stacks of CPL-0 snippets, and of entries from outer rings */

/* check.c */
void print(const char *s);
void print_hex(u64 v);
void group_begin(const char *name);
void report(const char *name, bool ok, const char *got, const char *want);
void check(const char *name, const char *want);
void check_num(const char *name, u64 got, u64 want);
void skip(const char *name, const char *why);
__attribute__((noreturn)) void finish(void);

/* run32.S, run64.S */
void run(const Start *s);

/* desc.c */
void start_kernel(void);        /* the next snippets run at CPL 0, native mode */
void start_user(void);          /* at CPL 3, native mode */
void snippet(const char *name, const void *code, const char *want);
void snippet_run(const void *code);
void gdt_set(u32 sel, u32 base, u32 limit, u8 access, u8 flags);
void gdt_set_tss(u32 sel, const void *base, u32 limit, u8 type);
u64 desc_make(u32 base, u32 limit, u8 access, u8 flags);
void idt_set(u32 vec, u16 sel, const void *to, u8 access);
void idt_default(u32 vec);
void idt_task(u32 vec);         /* K32: this vector is caught by a task of its own */
void idt_ist(u32 vec, u8 ist);
void desc_init(void);
void desc_load(void);           /* GDTR, IDTR, TR (again) */
void desc_load_ap(void);        /* GDTR and IDTR alone */
void tss_set_stack(u32 n, ulong sp, u16 ss);
void tss_set_iobase(u16 base, u32 limit);

/* A snippet: assembled into the user's page, ended by INT 20h. */
#define CODE_(bits, text, id) ({ \
    extern const char snip_##id[]; \
    __asm__ volatile(".pushsection .snip,\"ax\",@progbits\n.code" bits "\nsnip_" #id ": " text \
                     "\nint $0x20\n.code" NATIVE "\n.popsection"); \
    (const void *)snip_##id; })
#define CODE_ID(bits, text, id) CODE_(bits, text, id)
#define CODE(bits, text) CODE_ID(bits, text, __COUNTER__)
/* T: native code; T16, T32: such code in whatever mode `start` says. */
#define T(name, text, want) snippet(name, CODE(NATIVE, text), want)
#define T16(name, text, want) snippet(name, CODE("16", text), want)
#define T32(name, text, want) snippet(name, CODE("32", text), want)

/* lib.c: the CPU and the platform */
static inline void outb(u16 port, u8 v)
{
    __asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outl(u16 port, u32 v)
{
    __asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline u8 inb(u16 port)
{
    u8 v;

    __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

static inline u32 inl(u16 port)
{
    u32 v;

    __asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

#define CR_ACCESS(n) \
    static inline ulong cr##n##_get(void) \
    { ulong v; __asm__ volatile("mov %%cr" #n ", %0" : "=r"(v) : : "memory"); return v; } \
    static inline void cr##n##_set(ulong v) { __asm__ volatile("mov %0, %%cr" #n : : "r"(v) : "memory"); }
CR_ACCESS(0)
CR_ACCESS(2)
CR_ACCESS(3)
CR_ACCESS(4)
#define DR_ACCESS(n) \
    static inline ulong dr##n##_get(void) { ulong v; __asm__ volatile("mov %%dr" #n ", %0" : "=r"(v)); return v; } \
    static inline void dr##n##_set(ulong v) { __asm__ volatile("mov %0, %%dr" #n : : "r"(v)); }
DR_ACCESS(0)
DR_ACCESS(1)
DR_ACCESS(2)
DR_ACCESS(3)
DR_ACCESS(6)
DR_ACCESS(7)

static inline u64 msr_get(u32 n)
{
    u32 lo, hi;

    __asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(n));
    return (u64)hi << 32 | lo;
}

static inline void msr_set(u32 n, u64 v)
{
    __asm__ volatile("wrmsr" : : "c"(n), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

static inline void invlpg(ulong a)
{
    __asm__ volatile("invlpg (%0)" : : "r"(a) : "memory");
}

typedef struct Cpuid {
    u32 a, b, c, d;
} Cpuid;

static inline Cpuid cpuid(u32 leaf, u32 sub)
{
    Cpuid r;

    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
    return r;
}

#define CR0_PE 1u
#define CR0_MP 2u
#define CR0_EM 4u
#define CR0_TS 8u
#define CR0_NE 0x20u
#define CR0_WP 0x10000u
#define CR0_AM 0x40000u
#define CR0_PG 0x80000000u
#define CR4_VME 1u
#define CR4_PVI 2u
#define CR4_TSD 4u
#define CR4_DE 8u
#define CR4_PSE 0x10u
#define CR4_PAE 0x20u
#define CR4_PGE 0x80u
#define CR4_UMIP 0x800u
#define CR4_LA57 0x1000u
#define CR4_FSGSBASE 0x10000u
#define CR4_PCIDE 0x20000u
#define CR4_OSXSAVE 0x40000u
#define CR4_SMEP 0x100000u
#define CR4_SMAP 0x200000u
#define CR4_PKE 0x400000u
#define CR4_LAM_SUP 0x10000000u
#define FL_CF 1u
#define FL_TF 0x100u
#define FL_IF 0x200u
#define FL_IOPL 0x3000u
#define FL_NT 0x4000u
#define FL_RF 0x10000u
#define FL_VM 0x20000u
#define FL_AC 0x40000u
#define FL_VIF 0x80000u
#define FL_VIP 0x100000u
#define FL_ID 0x200000u
#define MSR_EFER 0xc0000080u
#define EFER_SCE 1u
#define EFER_LME 0x100u
#define EFER_NXE 0x800u

bool cpu_has(u32 leaf, u32 reg, u32 bit);
void *memset(void *p, int c, size_t n);
void *memcpy(void *d, const void *s, size_t n);

#endif
