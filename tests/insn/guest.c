/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a case in the interpreter: decoded instructions' own functions on a whole CPU in long mode
 * at CPL 3, with page tables that map the window as the host's process does. See insn-test.h. One
 * thread.
 */
#include <string.h>

#include "insn-test.h"
#include "target/i386/interp.h"
#include "tests/unit/x86-harness.h"

enum { DATA_PHYS = 0x400000, CODE_PHYS = 0x500000, PT_DATA = 0x14000, PT_CODE = 0x15000 };
enum { PTE_RO = 0x65, PTE_RW = 0x67 };          /* present, user, accessed, dirty */

typedef struct Guest {
    X86CPU *cpu;
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

void guest_init(void)
{
    X86CPU *cpu = guest.cpu = harness_cpu("max");
    X86State *st = cpu->st;
    const uint32_t user = 3 << DESC_DPL_SHIFT;

    harness_long_mode(cpu);
    for (unsigned n = 0; n < 32; n++) {
        harness_ram()[H_PD + n * 8] &= ~4;              /* CPL 3 sees nothing but the window */
    }
    map_pages(DATA_AT, PT_DATA, DATA_PHYS, DATA_RW >> 12, PTE_RW);
    map_pages(DATA_AT + DATA_RW, PT_DATA, DATA_PHYS + DATA_RW, (DATA_SIZE - DATA_RW) >> 12, PTE_RO);
    map_pages(CODE_AT, PT_CODE, CODE_PHYS, 1, PTE_RO);
    memcpy(guest_window(), window_start, DATA_SIZE);
    st->cr0 |= CR0_AM;
    st->cr4 |= CR4_OSXSAVE;
    st->xcr0 = native_features();
    for (int n = 0; n < SEG_COUNT; n++) {
        st->seg[n].attr |= user;
        st->seg[n].selector = native_selector(n);
    }
    st->seg[SEG_GS].base = GS_BASE;
    memset(harness_ram() + H_TSS + 0x66, 0xff, 2);      /* no I/O permission map: no port may be used */
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
    vcpu_exec_begin(&cpu->vcpu);
}

static void guest_load(const InsnState *s)
{
    X86State *st = guest.cpu->st;

    memcpy(st->regs, s->regs, sizeof(st->regs));
    st->rip = s->rip;
    st->rflags = s->rflags;
    st->xs = s->xs;
    st->xs.xstate_bv = native_features();
    memset(&st->ev, 0, sizeof(st->ev));
    x86_update_mode(guest.cpu);
}

static void run_one(X86CPU *cpu, const Insn *i, InsnOutcome *out)
{
    bool again = (x86_row(i)->flags & ROW_REP) && (i->prefixes & (INSN_REP | INSN_REPNE));
    uint64_t rip = cpu->st->rip;

    for (unsigned n = 0; n < 100000; n++) {
        i->fn(cpu, i);
        if (!again || cpu->st->rip != rip) {
            return;
        }
    }
    out->endless = true;
}

void guest_run(const InsnCase *c, InsnOutcome *out)
{
    X86CPU *cpu = guest.cpu;
    X86State *st = cpu->st;
    sigjmp_buf jmp;

    memcpy(guest_window(), window_start, DATA_RW);
    memcpy(harness_ram() + CODE_PHYS + 0x800, c->code, c->length);
    harness_ram()[CODE_PHYS + 0x800 + c->length] = 0xcc;
    guest_load(&c->start);
    memset(out, 0, sizeof(*out));
    out->vector = -1;
    cpu->fault_jmp = &jmp;
    if (!sigsetjmp(jmp, 0)) {
        if (c->undecodable) {
            x86_raise(cpu, EXCP_UD);
        }
        for (unsigned n = 0; n < c->count && !out->endless; n++) {
            run_one(cpu, &c->insn[n], out);
        }
    } else {
        out->vector = st->ev.exception_nr;
        out->error = st->ev.exception_error;
        out->cr2 = st->cr2;
    }
    memcpy(out->end.regs, st->regs, sizeof(st->regs));
    out->end.rip = st->rip;
    out->end.rflags = st->rflags & ~(uint64_t)FL_TF;
    out->end.xs = st->xs;
}
