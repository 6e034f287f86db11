/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a case in the interpreter: decoded instructions' own functions on a whole CPU in long mode at CPL 3, with page
 * tables that map the window as the host's process does. A fault is delivered through an IDT, so that the end state
 * comes from the frame on the handler's stack, as the host's does. See insn-test.h. One thread.
 */
#include <cpuid.h>
#include <string.h>

#include "insn-test.h"
#include "target/i386/decode.h"
#include "target/i386/exec.h"
#include "target/i386/interp.h"
#include "tests/unit/x86-harness.h"

enum { DATA_PHYS = 0x400000, CODE_PHYS = 0x500000, PT_DATA = 0x14000, PT_CODE = 0x15000, GDT = 0x16000, LDT = 0x16800 };
enum { PTE_RO = 0x65, PTE_RW = 0x67 };          /* present, user, accessed, dirty */

typedef struct Guest {
    X86CPU *cpu;
    unsigned length;                /* of the case in the code page */
} Guest;
static Guest guest;

X86CPU *guest_cpu(void)
{
    return guest.cpu;
}

uint8_t *guest_window(void)
{
    return harness_ram() + DATA_PHYS;
}

static void put64(uint64_t gpa, uint64_t v)
{
    memcpy(harness_ram() + gpa, &v, 8);
}

static void map_pages(uint64_t lin, uint64_t table, uint64_t phys, unsigned pages, unsigned bits)
{
    put64(H_PD + (lin >> 21 & 511) * 8, table | 7);
    for (unsigned n = 0; n < pages; n++) {
        put64(table + (((lin >> 12) + n) & 511) * 8, (phys + n * 4096) | bits);
    }
}

/* As Linux has them: breakpoint and overflow may be called from ring 3, nothing else. */
static void gates_close(void)
{
    for (int v = 0; v < 64; v++) {
        if (v != EXCP_BP && v != EXCP_OF) {
            harness_ram()[H_IDT + 16 * v + 5] &= ~(3 << 5);
        }
    }
}

static void tables_init(X86State *st)
{
    segments_write(harness_ram() + GDT, harness_ram() + LDT);
    gates_close();
    st->gdt = (X86Table) { GDT, SEGMENTS_GDT - 1 };
    st->idt.limit = 0xfff;
    st->ldt = (X86Segment) { .base = LDT, .limit = SEGMENTS_LDT - 1, .attr = DESC_P | 2 << 8, .selector = 0 };
    __asm__ volatile("sldt %0" : "=r"(st->ldt.selector));
    __asm__ volatile("str %0" : "=r"(st->tr.selector));
    memset(harness_ram() + H_TSS + 0x66, 0xff, 2);      /* no I/O permission map: no port may be used */
}

/*
 * "max" has five levels of pages and misaligned SSE whatever the host has. What is canonical depends on how wide linear
 * addresses may get.
 */
static char *guest_cpu_string(void)
{
    unsigned a, b, c = 0, d;
    bool la57 = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 16 & 1);

    return g_strconcat("max", la57 ? "" : ",-la57", native_has_misalignsse() ? "" : ",-misalignsse", NULL);
}

void guest_init(void)
{
    g_autofree char *name = guest_cpu_string();
    X86CPU *cpu = guest.cpu = harness_cpu(name);
    X86State *st = cpu->st;

    harness_long_mode(cpu);
    for (unsigned n = 0; n < 32; n++) {
        harness_ram()[H_PD + n * 8] &= ~4;              /* CPL 3 sees nothing but the window */
    }
    map_pages(DATA_AT, PT_DATA, DATA_PHYS, DATA_RW >> 12, PTE_RW);
    map_pages(DATA_AT + DATA_RW, PT_DATA, DATA_PHYS + DATA_RW, (DATA_SIZE - DATA_RW) >> 12, PTE_RO);
    map_pages(CODE_AT, PT_CODE, CODE_PHYS, 1, PTE_RO);
    memcpy(guest_window(), window_start, DATA_SIZE);
    memset(harness_ram() + CODE_PHYS, 0xcc, 4096);
    tables_init(st);
    st->cr0 |= CR0_AM;
    st->cr4 |= CR4_OSXSAVE | (native_has_fsgsbase() ? CR4_FSGSBASE : 0);
    st->xcr0 = native_features();
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
    vcpu_exec_begin(&cpu->vcpu);
}

uint32_t guest_mode(unsigned bits)
{
    uint32_t mode = MODE_PE | MODE_LMA | 3 << MODE_CPL_SHIFT;

    return bits == 64 ? mode | MODE_CS64 : bits == 32 ? mode | MODE_CS32 | MODE_ADDSEG : mode | MODE_ADDSEG;
}

static void guest_load(const InsnCase *c)
{
    X86State *st = guest.cpu->st;
    const InsnState *s = &c->start;

    memcpy(st->regs, s->regs, sizeof(st->regs));
    st->rip = s->rip;
    st->rflags = s->rflags;
    st->xs = s->xs;
    memset(&st->ev, 0, sizeof(st->ev));
    for (int n = 0; n < SEG_COUNT; n++) {
        st->seg[n] = segment_of(s->sel[n]);
    }
    if (c->bits == 64) {
        st->seg[SEG_GS].base = GS_BASE;
    }
    x86_update_mode(guest.cpu);
}

static void run_one(X86CPU *cpu, const Insn *i)
{
    uint64_t rip = cpu->st->rip;
    bool again = (x86_row(i)->flags & ROW_REP) && (i->prefixes & (INSN_REP | INSN_REPNE));

    do {
        i->fn(cpu, i);
    } while (again && cpu->st->rip == rip);
}

static void run_code(const InsnCase *c)
{
    X86CPU *cpu = guest.cpu;
    const uint8_t *at = c->code;

    if (c->undecodable) {
        x86_raise(cpu, EXCP_UD);
    }
    for (unsigned n = 0; n < c->count; n++) {
        Insn i;

        x86_decode(at, X86_INSN_MAX, cpu->st->mode, &i);
        run_one(cpu, &i);
        at += i.length;
    }
}

/* The registers as the handler's frame has them: [error], RIP, CS, RFLAGS, RSP, SS. */
static void take_frame(X86State *st, InsnOutcome *out)
{
    const unsigned words = (H_STACK0 - st->regs[R_RSP]) / 8;
    uint64_t f[6];
    unsigned n = 0;

    memcpy(f, harness_ram() + st->regs[R_RSP], sizeof(f));
    out->vector = (st->rip - 0x9000) / 32;
    if (words == 6) {
        out->error = f[n++];
    }
    out->end.rip = f[n];
    out->end.sel[SEG_CS] = f[n + 1];
    out->end.rflags = f[n + 2];
    out->end.regs[R_RSP] = f[n + 3];
    out->end.sel[SEG_SS] = f[n + 4];
    out->cr2 = st->cr2;
}

void guest_run(const InsnCase *c, InsnOutcome *out)
{
    X86CPU *cpu = guest.cpu;
    X86State *st = cpu->st;
    sigjmp_buf jmp;

    memcpy(guest_window(), window_start, DATA_RW);
    memcpy(harness_ram() + CODE_PHYS + 0x800, c->code, c->length);
    memset(harness_ram() + CODE_PHYS + 0x800 + c->length, 0xcc,
           guest.length > c->length ? guest.length - c->length : 1);
    guest.length = c->length;
    guest_load(c);
    memset(out, 0, sizeof(*out));
    out->vector = -1;
    cpu->fault_jmp = &jmp;
    if (!sigsetjmp(jmp, 0)) {
        run_code(c);
    } else {
        x86_deliver_exception(cpu);
    }
    memcpy(out->end.regs, st->regs, sizeof(st->regs));
    out->end.rip = st->rip;
    out->end.rflags = st->rflags;
    for (int n = 0; n < SEG_COUNT; n++) {
        out->end.sel[n] = st->seg[n].selector;
    }
    if (x86_cpl(st) == 0) {
        take_frame(st, out);
    }
    out->end.rflags &= ~(uint64_t)FL_TF;
    out->end.xs = st->xs;
}
