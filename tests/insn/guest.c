/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a case on a whole CPU in long mode at CPL 3, with page tables that map the window as the host's process does:
 * by the decoded instructions' own functions, or by the accelerator's run loop, several times over, so that a
 * translator finds the code hot. A fault is delivered through an IDT, so that the end state comes from the frame on
 * the handler's stack, as the host's does. The window's pages lie apart in physical memory, and one may be a device
 * that behaves like memory. See insn-test.h. One thread.
 */
#include <cpuid.h>
#include <string.h>

#include "insn-test.h"
#include "system/loop.h"
#include "target/i386/decode.h"
#include "target/i386/exec.h"
#include "target/i386/interp.h"
#include "tests/unit/x86-harness.h"

enum { DATA_PHYS = 0x400000, CODE_PHYS = 0x500000, MMIO_PHYS = 0x10000000 };
enum { PT_DATA = 0x14000, PT_CODE = 0x15000, GDT = 0x16000, LDT = 0x16800 };
enum { H_HANDLERS = 0x9000 };                   /* the harness's: 32 bytes for each vector */
enum { PTE_RO = 0x65, PTE_RW = 0x67 };          /* present, user, accessed, dirty */

typedef struct Guest {
    X86CPU *cpu;
    unsigned runs;                  /* by the accelerator; 0: none, the functions themselves */
    bool mmio;                      /* how the window is mapped now */
    MemoryRegion device;
    uint8_t device_bytes[4096];
    uint8_t window[DATA_SIZE];      /* what the case left there */
    unsigned length;                /* of the case in the code page */
} Guest;
static Guest guest;

X86CPU *guest_cpu(void)
{
    return guest.cpu;
}

uint8_t *guest_window(void)
{
    return guest.window;
}

void guest_accel(const char *options, unsigned runs)
{
    harness_accel(options);
    guest.runs = runs;
}

/* ---- the window: pages that are not neighbours, page MMIO_PAGE perhaps a device ---- */
enum { MMIO_PAGE = 1 };

static uint64_t device_read(void *opaque, hwaddr offset, unsigned size)
{
    uint64_t v = 0;

    memcpy(&v, guest.device_bytes + offset, size);
    return v;
}

static void device_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    memcpy(guest.device_bytes + offset, &value, size);
}

static void device_add(void)
{
    static const MemoryRegionOps ops = {
        .read = device_read, .write = device_write, .valid = { 1, 8, true }, .impl = { 1, 8, true },
    };

    machine_lock();
    memory_region_init_io(&guest.device, NULL, &ops, NULL, "memory-like", 4096);
    memory_region_add(guest.cpu->vcpu.mem->root, MMIO_PHYS, &guest.device, 0);
    machine_unlock();
}

static uint64_t page_phys(unsigned n)
{
    return n == MMIO_PAGE && guest.mmio ? MMIO_PHYS : DATA_PHYS + (DATA_SIZE / 4096 - n) * 0x2000;
}

static uint8_t *page_host(unsigned n)
{
    return n == MMIO_PAGE && guest.mmio ? guest.device_bytes : harness_ram() + page_phys(n);
}

static void window_load(const uint8_t *from, unsigned bytes)
{
    for (unsigned n = 0; n < bytes / 4096; n++) {
        memcpy(page_host(n), from + n * 4096, 4096);
    }
}

static void window_store(void)
{
    for (unsigned n = 0; n < DATA_SIZE / 4096; n++) {
        memcpy(guest.window + n * 4096, page_host(n), 4096);
    }
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

static void window_map(bool mmio)
{
    guest.mmio = mmio;
    for (unsigned n = 0; n < DATA_SIZE / 4096; n++) {
        map_pages(DATA_AT + n * 4096, PT_DATA, page_phys(n), 1, n < DATA_RW / 4096 ? PTE_RW : PTE_RO);
    }
    x86_tlb_flush_memory(guest.cpu);
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
    for (int v = 0; v < 64; v++) {                      /* every handler halts at once: its frame tells all */
        memcpy(harness_ram() + H_HANDLERS + v * 32, "\xf4\xeb\xfd", 3);
    }
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
    window_map(false);
    device_add();
    map_pages(CODE_AT, PT_CODE, CODE_PHYS, 1, PTE_RO);
    window_load(window_start, DATA_SIZE);
    memset(harness_ram() + CODE_PHYS, 0xcc, 4096);
    tables_init(st);
    st->cr0 |= CR0_AM;
    st->cr4 |= CR4_OSXSAVE | (native_has_fsgsbase() ? CR4_FSGSBASE : 0);
    st->xcr0 = native_features();
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
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
    out->vector = (st->rip - H_HANDLERS) / 32;
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

static void code_load(const InsnCase *c)
{
    uint8_t bytes[sizeof(c->code) + 1];
    unsigned len = MAX(guest.length, c->length + 1);

    memset(bytes, 0xcc, sizeof(bytes));
    memcpy(bytes, c->code, c->length);
    address_space_write(guest.cpu->vcpu.mem, CODE_PHYS + (CODE_START - CODE_AT), bytes, len);
    guest.length = c->length;
}

static void run_directly(const InsnCase *c)
{
    X86CPU *cpu = guest.cpu;
    sigjmp_buf jmp;

    guest_load(c);
    window_load(window_start, DATA_RW);
    vcpu_exec_begin(&cpu->vcpu);
    cpu->fault_jmp = &jmp;
    if (!sigsetjmp(jmp, 0)) {
        run_code(c);
    } else {
        x86_deliver_exception(cpu);
    }
    cpu->fault_jmp = NULL;
    vcpu_exec_end(&cpu->vcpu);
}

/* As a program, which ends in a handler: the int3 behind the case is its regular end. False: it did not end. */
static bool run_accel(const InsnCase *c)
{
    bool ended = true;

    for (unsigned n = 0; n < (guest.runs ? guest.runs : 5) && ended; n++) {
        guest_load(c);
        window_load(window_start, DATA_RW);
        ended = harness_run_from(guest.cpu, c->start.rip);
    }
    return ended;
}

void guest_run(const InsnCase *c, bool direct, InsnOutcome *out)
{
    X86CPU *cpu = guest.cpu;
    X86State *st = cpu->st;

    if (guest.mmio != c->mmio) {
        window_map(c->mmio);
    }
    code_load(c);
    memset(out, 0, sizeof(*out));
    out->vector = -1;
    if (!c->program && (direct || !guest.runs)) {
        run_directly(c);
    } else if (!run_accel(c)) {
        out->hung = true;
    }
    window_store();
    memcpy(out->end.regs, st->regs, sizeof(st->regs));
    out->end.rip = st->rip;
    out->end.rflags = st->rflags;
    for (int n = 0; n < SEG_COUNT; n++) {
        out->end.sel[n] = st->seg[n].selector;
    }
    if (x86_cpl(st) == 0) {
        take_frame(st, out);
    }
    if (out->vector == EXCP_BP && out->end.rip == c->start.rip + c->length + 1) {
        out->vector = -1;
        out->end.rip--;
    }
    out->end.rflags &= ~(uint64_t)FL_TF;
    out->end.xs = st->xs;
}
