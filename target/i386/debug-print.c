/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stopped vCPU as text for people: registers, local APIC, page tables. Formats are those that users of QEMU's monitor
 * know. Left out: vector registers beyond XMM. Main loop thread, machine lock, state here.
 * Test: tests/gdb/test-protocol.py.
 */
#include <inttypes.h>
#include <string.h>

#include "target/i386/debug.h"
#include "target/i386/internal.h"

/* ---- registers ---- */

static const char *segment_kind(const X86State *st, const X86Segment *s)
{
    if (!(s->attr & DESC_S)) {
        return "";
    }
    if (!(s->attr & DESC_CODE)) {
        return " DS";
    }
    return x86_long_mode(st) && (s->attr & DESC_L) ? " CS64" : s->attr & DESC_B ? " CS32" : " CS16";
}

static void print_segment(GString *out, const X86State *st, const char *name, const X86Segment *s)
{
    g_string_append_printf(out, "%-3s=%04x %0*" PRIx64 " %08x %08x", name, s->selector, x86_long_mode(st) ? 16 : 8,
                           s->base, s->limit, s->attr);
    if (st->cr0 & CR0_PE) {
        g_string_append_printf(out, " DPL=%u%s", s->attr >> DESC_DPL_SHIFT & 3, segment_kind(st, s));
    }
    g_string_append_c(out, '\n');
}

static void print_general(GString *out, const X86CPU *cpu)
{
    static const char *const names[] = { "AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP" };
    static const uint8_t order[] = { R_RAX, R_RBX, R_RCX, R_RDX, R_RSI, R_RDI, R_RBP, R_RSP };
    const X86State *st = cpu->st;
    bool wide = st->mode & MODE_CS64;

    for (unsigned i = 0; i < (wide ? 16 : 8); i++) {
        const char *end = i % 4 == 3 ? "\n" : " ";

        if (i >= 8) {
            g_string_append_printf(out, "R%-2u=%016" PRIx64 "%s", i, st->regs[i], end);
        } else if (wide) {
            g_string_append_printf(out, "R%s=%016" PRIx64 "%s", names[i], st->regs[order[i]], end);
        } else {
            g_string_append_printf(out, "E%s=%08x%s", names[i], (uint32_t)st->regs[order[i]], end);
        }
    }
    g_string_append_printf(out, wide ? "RIP=%016" PRIx64 : "EIP=%08" PRIx64, st->rip);
    g_string_append_printf(out, " RFL=%08x [", (uint32_t)st->rflags);
    for (unsigned i = 0; i < 7; i++) {
        static const struct { uint32_t bit; char letter; } flags[] = {
            { FL_DF, 'D' }, { FL_OF, 'O' }, { FL_SF, 'S' }, { FL_ZF, 'Z' }, { FL_AF, 'A' }, { FL_PF, 'P' },
            { FL_CF, 'C' },
        };

        g_string_append_c(out, st->rflags & flags[i].bit ? flags[i].letter : '-');
    }
    g_string_append_printf(out, "] CPL=%u II=%u A20=%u SMM=%u HLT=%u\n", x86_cpl(st), st->ev.interrupt_shadow & 1,
                           (unsigned)(st->a20_mask >> 20) & 1, st->ev.smm, (bool)cpu->vcpu.halted);
}

static void print_system(GString *out, const X86State *st)
{
    static const char *const names[] = { "ES", "CS", "SS", "DS", "FS", "GS" };
    int width = x86_long_mode(st) ? 16 : 8;

    for (unsigned i = 0; i < SEG_COUNT; i++) {
        print_segment(out, st, names[i], &st->seg[i]);
    }
    print_segment(out, st, "LDT", &st->ldt);
    print_segment(out, st, "TR", &st->tr);
    g_string_append_printf(out, "GDT=     %0*" PRIx64 " %08x\nIDT=     %0*" PRIx64 " %08x\n", width, st->gdt.base,
                           st->gdt.limit, width, st->idt.base, st->idt.limit);
    g_string_append_printf(out, "CR0=%08x CR2=%0*" PRIx64 " CR3=%0*" PRIx64 " CR4=%08x\n", (uint32_t)st->cr0, width,
                           st->cr2, width, st->cr3, (uint32_t)st->cr4);
    g_string_append_printf(out, "DR0=%016" PRIx64 " DR1=%016" PRIx64 " DR2=%016" PRIx64 " DR3=%016" PRIx64 "\nDR6=%016"
                           PRIx64 " DR7=%016" PRIx64 "\nEFER=%016" PRIx64 "\n", st->dr[0], st->dr[1], st->dr[2],
                           st->dr[3], st->dr[6], st->dr[7], st->efer);
}

static void print_vectors(GString *out, const X86State *st)
{
    const X86XSave *xs = &st->xs;
    unsigned n = st->mode & MODE_CS64 ? 16 : 8;

    g_string_append_printf(out, "FCW=%04x FSW=%04x [ST=%u] FTW=%02x MXCSR=%08x\n", xs->fcw, xs->fsw,
                           xs->fsw >> 11 & 7, (uint8_t)~xs->ftw, xs->mxcsr);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t mantissa;
        uint16_t exponent;

        memcpy(&mantissa, xs->st[i], 8);
        memcpy(&exponent, xs->st[i] + 8, 2);
        g_string_append_printf(out, "FPR%u=%016" PRIx64 " %04x%s", i, mantissa, exponent, i % 2 ? "\n" : " ");
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t half[2] = { 0, 0 };

        if (xs->xstate_bv & XFEATURE_SSE) {
            memcpy(half, xs->xmm[i], 16);
        }
        g_string_append_printf(out, "XMM%02u=%016" PRIx64 " %016" PRIx64 "%s", i, half[1], half[0], i % 2 ? "\n" : " ");
    }
}

void x86_print_registers(X86CPU *cpu, GString *out)
{
    print_general(out, cpu);
    print_system(out, cpu->st);
    print_vectors(out, cpu->st);
}

/* ---- local APIC ---- */

static void print_vector_set(GString *out, const char *name, X86CPU *cpu, unsigned offset)
{
    bool any = false;

    g_string_append_printf(out, "%s\t", name);
    for (unsigned v = 0; v < 256; v++) {
        if (apic_reg_read(cpu, offset + v / 32 * 16) >> v % 32 & 1) {
            g_string_append_printf(out, " %u", v);
            any = true;
        }
    }
    g_string_append(out, any ? "\n" : " (none)\n");
}

void x86_print_apic(X86CPU *cpu, GString *out)
{
    static const struct { const char *name; unsigned offset; } lvts[] = {
        { "LVT0", 0x350 }, { "LVT1", 0x360 }, { "LVTPC", 0x340 }, { "LVTERR", 0x370 }, { "LVTTHMR", 0x330 },
        { "LVTT", 0x320 },
    };
    uint32_t divide;

    g_string_append_printf(out, "dumping local APIC state for CPU %d\n\n", cpu->vcpu.index);
    if (!cpu->apic) {
        g_string_append(out, "it has none\n");
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(lvts); i++) {
        uint32_t v = apic_reg_read(cpu, lvts[i].offset);

        g_string_append_printf(out, "%s\t 0x%08x %s %-6s%-7s (vec %u)\n", lvts[i].name, v,
                               v >> 13 & 1 ? "active-lo" : "active-hi", v >> 15 & 1 ? "level" : "edge",
                               v >> 16 & 1 ? "masked" : "", v & 0xff);
    }
    divide = apic_reg_read(cpu, 0x3e0);
    g_string_append_printf(out, "Timer\t DCR=0x%x (divide by %u) initial_count = %u current_count = %u\n", divide,
                           1u << (((divide & 3) | (divide >> 1 & 4)) + 1) % 8, apic_reg_read(cpu, 0x380),
                           apic_reg_read(cpu, 0x390));
    g_string_append_printf(out, "SPIV\t 0x%08x APIC %s, spurious vec %u\n", cpu->apic->regs.svr,
                           cpu->apic->regs.svr >> 8 & 1 ? "enabled" : "disabled", cpu->apic->regs.svr & 0xff);
    g_string_append_printf(out, "ICR\t 0x%08x\nICR2\t 0x%08x\nESR\t 0x%08x\n", (uint32_t)cpu->apic->regs.icr,
                           (uint32_t)(cpu->apic->regs.icr >> 32), cpu->apic->regs.esr);
    print_vector_set(out, "ISR", cpu, 0x100);
    print_vector_set(out, "IRR", cpu, 0x200);
    g_string_append_printf(out, "\nTPR 0x%02x DFR 0x%08x LDR 0x%08x PPR 0x%02x\n", cpu->apic->regs.tpr,
                           cpu->apic->regs.dfr, cpu->apic->regs.ldr, apic_reg_read(cpu, 0x0a0));
}

/* ---- page tables ---- */

enum { PRINT_P = 1, PRINT_W = 2, PRINT_U = 4, PRINT_PS = 0x80 };

typedef struct Tables {
    X86CPU *cpu;
    unsigned entry_bytes, index_bits, top;      /* top: shift of the first level */
    void (*fn)(void *opaque, uint64_t lin, uint64_t size, uint64_t pte, unsigned rights);
    void *opaque;
    unsigned left;                              /* tables to read still: a guest's may lead to each other for ever */
} Tables;

static uint64_t sign_extended(const Tables *t, uint64_t lin)
{
    unsigned shift = t->cpu->st->cr4 & CR4_LA57 ? 7 : 16;

    return x86_long_mode(t->cpu->st) ? (uint64_t)((int64_t)(lin << shift) >> shift) : lin;
}

static void walk_table(Tables *t, uint64_t table, unsigned shift, uint64_t base, unsigned rights)
{
    unsigned count = shift == 30 && t->top == 30 ? 4 : 1u << t->index_bits;
    g_autofree uint8_t *entries = g_malloc0(count * t->entry_bytes);

    if (!t->left || !t->left--) {
        return;
    }
    address_space_read(t->cpu->vcpu.mem, table, entries, count * t->entry_bytes);
    for (unsigned i = 0; i < count; i++) {
        uint64_t pte = 0, lin = base | (uint64_t)i << shift;
        bool top_pae = shift == 30 && t->top == 30, leaf;
        unsigned now;

        memcpy(&pte, entries + i * t->entry_bytes, t->entry_bytes);
        if (!(pte & PRINT_P)) {
            continue;
        }
        leaf = shift == 12 || ((pte & PRINT_PS) && shift <= 30 && !top_pae);
        now = top_pae ? rights : rights & pte;
        if (leaf) {
            t->fn(t->opaque, sign_extended(t, lin), 1ull << shift, pte, now);
        } else {
            walk_table(t, pte & 0x000ffffffffff000ull, shift - t->index_bits, lin, now);
        }
    }
}

/* False: paging is off. */
static bool walk_tables_all(Tables *t)
{
    const X86State *st = t->cpu->st;
    uint64_t table = st->cr3 & 0x000ffffffffff000ull;

    if (!(st->cr0 & CR0_PG)) {
        return false;
    }
    t->entry_bytes = st->cr4 & CR4_PAE ? 8 : 4;
    t->left = 65536;
    t->index_bits = st->cr4 & CR4_PAE ? 9 : 10;
    t->top = !(st->cr4 & CR4_PAE) ? 22 : !x86_long_mode(st) ? 30 : st->cr4 & CR4_LA57 ? 48 : 39;
    walk_table(t, t->top == 30 ? st->cr3 & 0xffffffe0 : table, t->top, 0, PRINT_W | PRINT_U);
    return true;
}

static void print_mapping(void *opaque, uint64_t lin, uint64_t size, uint64_t pte, unsigned rights)
{
    static const struct { uint64_t bit; char letter; } flags[] = {
        { 1ull << 63, 'X' }, { 0x100, 'G' }, { 0x80, 'P' }, { 0x40, 'D' }, { 0x20, 'A' }, { 0x10, 'C' }, { 8, 'T' },
        { 4, 'U' }, { 2, 'W' },
    };
    GString *out = opaque;

    uint64_t page = pte & 0x000ffffffffff000ull & ~(size - 1);

    g_string_append_printf(out, "%016" PRIx64 ": %016" PRIx64 " ", lin, page);
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        bool on = (pte & flags[i].bit) && !(flags[i].letter == 'P' && size == 4096);

        g_string_append_c(out, on ? flags[i].letter : '-');
    }
    g_string_append_c(out, '\n');
}

void x86_print_tlb(X86CPU *cpu, GString *out)
{
    Tables t = { .cpu = cpu, .fn = print_mapping, .opaque = out };

    if (!walk_tables_all(&t)) {
        g_string_append(out, "PG disabled\n");
    }
}

typedef struct Stretch {
    GString *out;
    uint64_t start, end;            /* end is the first byte after it; equal: none yet */
    unsigned rights;
} Stretch;

static void stretch_end(Stretch *s)
{
    if (s->start != s->end) {
        g_string_append_printf(s->out, "%016" PRIx64 "-%016" PRIx64 " %016" PRIx64 " %cr%c\n", s->start, s->end,
                               s->end - s->start, s->rights & PRINT_U ? 'u' : '-', s->rights & PRINT_W ? 'w' : '-');
    }
    s->start = s->end = 0;
}

static void stretch_add(void *opaque, uint64_t lin, uint64_t size, uint64_t pte, unsigned rights)
{
    Stretch *s = opaque;

    if (s->start == s->end || s->end != lin || s->rights != rights) {
        stretch_end(s);
        s->start = lin;
        s->rights = rights;
    }
    s->end = lin + size;
}

void x86_print_mem(X86CPU *cpu, GString *out)
{
    Stretch s = { .out = out };
    Tables t = { .cpu = cpu, .fn = stretch_add, .opaque = &s };

    if (walk_tables_all(&t)) {
        stretch_end(&s);
    } else {
        g_string_append(out, "PG disabled\n");
    }
}
