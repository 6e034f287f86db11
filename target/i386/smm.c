/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System management mode: entry by SMI, the state save area, RSM (SDM vol. 3 ch. 32, APM vol. 2 ch. 10).
 *
 * CPUs with long mode save in AMD64's format (revision 0x20064, as QEMU and KVM present to all vendors), others in the
 * 32-bit one (revision 0x20000). Both can move SMBASE and restart HLT. Left out: I/O instruction restart (the
 * revision says so), the FPU and XSAVE state (as on real CPUs: the handler saves what it uses), dual-monitor
 * treatment. vCPU thread, except x86_cpu_smi(): any. Test: tests/unit/test-smm.c.
 */
#include <string.h>

#include "target/i386/internal.h"
#include "target/i386/smm.h"
#include "util/log.h"

/* The area's last 512 bytes hold everything; offsets are from SMBASE + 0x8000. */
enum { AREA = 0x7e00, AREA_BYTES = 0x200, REVISION = 0x7efc };
enum { REVISION_64 = 0x20064, REVISION_32 = 0x20000 };
enum { HALT_RESTART_64 = 0x7ec9, HALT_RESTART_32 = 0x7f02, SMBASE_64 = 0x7f00, SMBASE_32 = 0x7ef8 };
/* Reserved in both formats; ours: a debug trap waits for RSM. */
enum { TRAP_64 = 0x7ecf, TRAP_32 = 0x7f13 };

typedef struct SaveField {
    uint16_t at;                    /* in the area */
    uint16_t state;                 /* offset of a uint64_t in X86State */
} SaveField;
#define F(at, f) { at, offsetof(X86State, f) }
static const SaveField fields_64[] = {
    F(0x7ed0, efer), F(0x7f48, cr4), F(0x7f50, cr3), F(0x7f58, cr0), F(0x7f60, dr[7]), F(0x7f68, dr[6]),
    F(0x7f70, rflags), F(0x7f78, rip), F(0x7f80, regs[15]), F(0x7f88, regs[14]), F(0x7f90, regs[13]),
    F(0x7f98, regs[12]), F(0x7fa0, regs[11]), F(0x7fa8, regs[10]), F(0x7fb0, regs[9]), F(0x7fb8, regs[8]),
    F(0x7fc0, regs[R_RDI]), F(0x7fc8, regs[R_RSI]), F(0x7fd0, regs[R_RBP]), F(0x7fd8, regs[R_RSP]),
    F(0x7fe0, regs[R_RBX]), F(0x7fe8, regs[R_RDX]), F(0x7ff0, regs[R_RCX]), F(0x7ff8, regs[R_RAX]),
};
static const SaveField fields_32[] = {
    F(0x7f14, cr4), F(0x7fc8, dr[7]), F(0x7fcc, dr[6]), F(0x7fd0, regs[R_RAX]), F(0x7fd4, regs[R_RCX]),
    F(0x7fd8, regs[R_RDX]), F(0x7fdc, regs[R_RBX]), F(0x7fe0, regs[R_RSP]), F(0x7fe4, regs[R_RBP]),
    F(0x7fe8, regs[R_RSI]), F(0x7fec, regs[R_RDI]), F(0x7ff0, rip), F(0x7ff4, rflags), F(0x7ff8, cr3), F(0x7ffc, cr0),
};
#undef F

/* Segments of the 32-bit format: hidden part {attributes, limit, base} and selector apart. */
typedef struct SaveSegment {
    uint16_t hidden, selector;
} SaveSegment;
static const SaveSegment segments_32[SEG_COUNT] = {
    { 0x7f84, 0x7fa8 }, { 0x7f90, 0x7fac }, { 0x7f9c, 0x7fb0 }, { 0x7f2c, 0x7fb4 },
    { 0x7f38, 0x7fb8 }, { 0x7f44, 0x7fbc },
};
static const SaveSegment ldt_32 = { 0x7f78, 0x7fc0 }, tr_32 = { 0x7f5c, 0x7fc4 };

/* ---- bytes of the area ---- */
static void put(uint8_t *area, unsigned at, uint64_t v, unsigned size)
{
    memcpy(area + at - AREA, &v, size);
}

static uint64_t get(const uint8_t *area, unsigned at, unsigned size)
{
    uint64_t v = 0;

    memcpy(&v, area + at - AREA, size);
    return v;
}

static uint64_t *field_of(X86State *st, const SaveField *f)
{
    return (uint64_t *)((char *)st + f->state);
}

static void put_fields(X86State *st, uint8_t *area, const SaveField *f, unsigned n, unsigned size)
{
    for (; n; n--, f++) {
        put(area, f->at, *field_of(st, f), size);
    }
}

static void get_fields(X86State *st, const uint8_t *area, const SaveField *f, unsigned n, unsigned size)
{
    for (; n; n--, f++) {
        *field_of(st, f) = get(area, f->at, size);
    }
}

/* Selector, attributes (type in bits 7:0, flags in 15:12), limit, base. */
static void put_segment_64(uint8_t *area, unsigned at, const X86Segment *s)
{
    put(area, at, s->selector, 2);
    put(area, at + 2, (s->attr >> 8) & 0xf0ff, 2);
    put(area, at + 4, s->limit, 4);
    put(area, at + 8, s->base, 8);
}

static void get_segment_64(const uint8_t *area, unsigned at, X86Segment *s)
{
    *s = (X86Segment) { .selector = get(area, at, 2), .attr = (get(area, at + 2, 2) & 0xf0ff) << 8,
                        .limit = get(area, at + 4, 4), .base = get(area, at + 8, 8) };
    s->unusable = !(s->attr & DESC_P);
}

static void put_segment_32(uint8_t *area, const SaveSegment *where, const X86Segment *s)
{
    put(area, where->selector, s->selector, 4);
    put(area, where->hidden, (s->attr >> 8) & 0xf0ff, 4);
    put(area, where->hidden + 4, s->limit, 4);
    put(area, where->hidden + 8, s->base, 4);
}

static void get_segment_32(const uint8_t *area, const SaveSegment *where, X86Segment *s)
{
    *s = (X86Segment) { .selector = get(area, where->selector, 2), .attr = (get(area, where->hidden, 4) & 0xf0ff) << 8,
                        .limit = get(area, where->hidden + 4, 4), .base = get(area, where->hidden + 8, 4) };
    s->unusable = !(s->attr & DESC_P);
}

/* ---- the two formats ---- */
static void save_64(X86State *st, uint8_t *area, bool halted)
{
    put_fields(st, area, fields_64, G_N_ELEMENTS(fields_64), 8);
    for (int i = 0; i < SEG_COUNT; i++) {
        put_segment_64(area, 0x7e00 + i * 16, &st->seg[i]);
    }
    put_segment_64(area, 0x7e70, &st->ldt);
    put_segment_64(area, 0x7e90, &st->tr);
    put(area, 0x7e64, st->gdt.limit, 4);
    put(area, 0x7e68, st->gdt.base, 8);
    put(area, 0x7e84, st->idt.limit, 4);
    put(area, 0x7e88, st->idt.base, 8);
    put(area, HALT_RESTART_64, halted, 1);
    put(area, TRAP_64, st->ev.exception_pending, 1);
    put(area, SMBASE_64, st->smbase, 4);
    put(area, REVISION, REVISION_64, 4);
}

static void load_64(X86State *st, const uint8_t *area, bool *halted)
{
    get_fields(st, area, fields_64, G_N_ELEMENTS(fields_64), 8);
    for (int i = 0; i < SEG_COUNT; i++) {
        get_segment_64(area, 0x7e00 + i * 16, &st->seg[i]);
    }
    get_segment_64(area, 0x7e70, &st->ldt);
    get_segment_64(area, 0x7e90, &st->tr);
    st->gdt = (X86Table) { .base = get(area, 0x7e68, 8), .limit = get(area, 0x7e64, 2) };
    st->idt = (X86Table) { .base = get(area, 0x7e88, 8), .limit = get(area, 0x7e84, 2) };
    *halted = get(area, HALT_RESTART_64, 1) & 1;
    st->ev.exception_pending = get(area, TRAP_64, 1) & 1;
    st->smbase = get(area, SMBASE_64, 4);
}

static void save_32(X86State *st, uint8_t *area, bool halted)
{
    put_fields(st, area, fields_32, G_N_ELEMENTS(fields_32), 4);
    for (int i = 0; i < SEG_COUNT; i++) {
        put_segment_32(area, &segments_32[i], &st->seg[i]);
    }
    put_segment_32(area, &ldt_32, &st->ldt);
    put_segment_32(area, &tr_32, &st->tr);
    put(area, 0x7f70, st->gdt.limit, 4);
    put(area, 0x7f74, st->gdt.base, 4);
    put(area, 0x7f54, st->idt.limit, 4);
    put(area, 0x7f58, st->idt.base, 4);
    put(area, HALT_RESTART_32, halted, 2);
    put(area, TRAP_32, st->ev.exception_pending, 1);
    put(area, SMBASE_32, st->smbase, 4);
    put(area, REVISION, REVISION_32, 4);
}

static void load_32(X86State *st, const uint8_t *area, bool *halted)
{
    get_fields(st, area, fields_32, G_N_ELEMENTS(fields_32), 4);
    for (int i = 0; i < SEG_COUNT; i++) {
        get_segment_32(area, &segments_32[i], &st->seg[i]);
    }
    get_segment_32(area, &ldt_32, &st->ldt);
    get_segment_32(area, &tr_32, &st->tr);
    st->gdt = (X86Table) { .base = get(area, 0x7f74, 4), .limit = get(area, 0x7f70, 2) };
    st->idt = (X86Table) { .base = get(area, 0x7f58, 4), .limit = get(area, 0x7f54, 2) };
    *halted = get(area, HALT_RESTART_32, 2) & 1;
    st->ev.exception_pending = get(area, TRAP_32, 1) & 1;
    st->smbase = get(area, SMBASE_32, 4);
}

/* ---- entry ---- */
static void enter_segments(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t attr = DESC_P | DESC_S | DESC_W | DESC_A | DESC_G;

    for (int i = 0; i < SEG_COUNT; i++) {
        x86_seg_set_flat(cpu, i, 0, attr);
    }
    st->seg[SEG_CS].selector = st->smbase >> 4;
    st->seg[SEG_CS].base = st->smbase;
}

void x86_smm_enter(X86CPU *cpu, bool was_halted)
{
    X86State *st = cpu->st;
    uint8_t area[AREA_BYTES] = { 0 };

    x86_cpu_lower(cpu, PENDING_SMI);
    if (log_enabled(LOG_INT)) {
        log_printf("%d: SMI, SMBASE %08x\n", cpu->vcpu.index, (uint32_t)st->smbase);
    }
    (x86_has(cpu, X86_FEAT_LM) ? save_64 : save_32)(st, area, was_halted);
    st->ev.exception_pending = false;                   /* a debug trap: it waits in the area */
    st->ev.smm = true;
    st->ev.smm_inside_nmi = st->ev.nmi_masked;
    st->ev.nmi_masked = true;
    st->smi_count++;
    address_space_write(x86_memory(cpu), st->smbase + 0x8000 + AREA, area, AREA_BYTES);
    st->mp_state = MP_RUNNABLE;
    st->rip = 0x8000;
    st->rflags = FL_1;
    st->cr0 &= ~(uint64_t)(CR0_PE | CR0_EM | CR0_TS | CR0_PG);
    st->cr4 = 0;
    st->efer = 0;
    st->dr[7] = 0x400;
    st->ev.interrupt_shadow = 0;
    cpu->monitor_armed = 0;
    enter_segments(cpu);
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
}

/* ---- RSM ---- */
/* What RSM refuses to make: the CPU shuts down instead (SDM 32.4.1, APM 10.3.3). */
static bool state_is_legal(const X86CPU *cpu)
{
    const X86State *st = cpu->st;
    uint64_t lm = EFER_LME | EFER_LMA;
    bool pg = st->cr0 & CR0_PG;

    if ((pg && !(st->cr0 & CR0_PE)) || ((st->cr0 & CR0_NW) && !(st->cr0 & CR0_CD)) || st->cr0 >> 32) {
        return false;
    }
    if ((st->cr4 & ~x86_cr4_allowed(cpu)) || (st->efer & ~x86_efer_allowed(cpu))) {
        return false;
    }
    if (((st->efer & lm) == lm) != ((st->efer & EFER_LME) && pg) || ((st->efer & EFER_LMA) && !(st->efer & EFER_LME))) {
        return false;
    }
    if ((st->efer & EFER_LMA) && (!(st->cr4 & CR4_PAE) || (st->rflags & FL_VM))) {
        return false;
    }
    return (st->efer & EFER_LMA) ? !(st->cr3 & ~(1ull << 63) & x86_cr3_reserved(cpu)) : !(st->cr4 & CR4_PCIDE);
}

static void trim_state(X86State *st)
{
    uint64_t defined = FL_ARITH | FL_TF | FL_IF | FL_DF | FL_IOPL | FL_NT | FL_RF | FL_VM | FL_AC | FL_VIF
        | FL_VIP | FL_ID;

    st->rflags = (st->rflags & (st->cr0 & CR0_PE ? defined : defined & ~FL_VM)) | FL_1;
    st->cr0 |= CR0_ET;
    st->dr[6] = (st->dr[6] & 0xe00f) | 0xffff0ff0;
    st->dr[7] = (st->dr[7] & 0xffff2bff) | 0x400;
}

void x86_rsm(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint8_t area[AREA_BYTES] = { 0 };
    bool halted = false;

    if (!st->ev.smm) {
        x86_raise(cpu, EXCP_UD);
    }
    address_space_read(x86_memory(cpu), st->smbase + 0x8000 + AREA, area, AREA_BYTES);
    (x86_has(cpu, X86_FEAT_LM) ? load_64 : load_32)(st, area, &halted);
    st->ev.smm = false;
    st->ev.nmi_masked = st->ev.smm_inside_nmi;
    st->ev.smm_inside_nmi = false;
    st->ev.exception_injected = st->ev.exception_has_error = false;
    st->ev.exception_nr = EXCP_DB;                      /* the only one that waits */
    trim_state(st);
    x86_tlb_flush_memory(cpu);
    if (!state_is_legal(cpu) || ((st->cr0 & CR0_PG) && (st->cr4 & CR4_PAE) && !(st->efer & EFER_LMA)
                                 && !x86_load_pdptes(cpu, st->cr3))) {
        st->cr0 &= ~(uint64_t)CR0_PG;                   /* some state that a CPU can be in: it goes no further */
        st->cr4 = 0;
        st->efer = 0;
        x86_update_mode(cpu);
        st->ev.triple_fault_pending = true;
        return;
    }
    st->mp_state = halted ? MP_HALTED : MP_RUNNABLE;
    x86_update_mode(cpu);
}

/* ---- for boards ---- */
void x86_cpu_set_smm_memory(X86CPU *cpu, AddressSpace *as)
{
    cpu->smm_mem = as;
}

void x86_cpu_smi(X86CPU *cpu)
{
    x86_cpu_raise(cpu, PENDING_SMI);
}
