/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions and interrupts: raising, double and triple faults, and delivery through the IVT or IDT
 * (SDM vol. 3 ch. 6; 64-bit: 6.14). Task gates: task.c.
 *
 * x86_raise*() note the event in st->ev and jump to the run loop, which calls x86_deliver_exception(); a fault
 * during delivery comes back the same way and is combined by the double-fault table.
 * vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#include <inttypes.h>
#include <string.h>

#include "system/runstate.h"
#include "target/i386/internal.h"
#include "util/log.h"

/* ---- raising ---- */
static bool is_contributory(int v)
{
    return v == EXCP_DE || (v >= EXCP_TS && v <= EXCP_GP);
}

static bool has_error_code(int v)
{
    return v == EXCP_DF || (v >= EXCP_TS && v <= EXCP_PF) || v == EXCP_AC;
}

/* Combines a new fault with the one in delivery (SDM table 6-5). -1: shutdown. */
static int combine(const X86State *st, int v)
{
    int old = st->ev.exception_nr;

    if (!st->ev.exception_injected) {
        return v;
    }
    if (old == EXCP_DF && (is_contributory(v) || v == EXCP_PF)) {
        return -1;
    }
    if ((is_contributory(old) && is_contributory(v)) || (old == EXCP_PF && (is_contributory(v) || v == EXCP_PF))) {
        return EXCP_DF;
    }
    return v;
}

G_NORETURN static void raise_event(X86CPU *cpu, int v, uint32_t error)
{
    X86State *st = cpu->st;
    int now;

    if (cpu->atomic_held) {
        x86_atomic_end(cpu);
    }
    now = combine(st, v);
    if (now < 0) {
        st->ev.triple_fault_pending = true;
    } else {
        st->ev.exception_pending = true;
        st->ev.exception_injected = false;
        st->ev.exception_nr = now;
        st->ev.exception_has_error = has_error_code(now) && (st->cr0 & CR0_PE);
        st->ev.exception_error = now == EXCP_DF ? 0 : error | (cpu->delivering_ext && now != EXCP_PF ? 1 : 0);
    }
    cpu->delivering_ext = false;
    siglongjmp(*cpu->fault_jmp, 1);
}

void x86_raise(X86CPU *cpu, int vector)
{
    raise_event(cpu, vector, 0);
}

void x86_raise_err(X86CPU *cpu, int vector, uint32_t error)
{
    raise_event(cpu, vector, error);
}

void x86_raise_pf(X86CPU *cpu, uint64_t linear, uint32_t error)
{
    cpu->st->cr2 = linear;
    raise_event(cpu, EXCP_PF, error);
}

/* ---- delivery ---- */
enum { DR7_GD = 1 << 13 };

typedef struct Delivery {
    int vector;
    bool soft;                      /* INT n, INT3, INTO: gate DPL is checked */
    bool has_error;
    uint32_t error;
    uint64_t rip;                   /* return address */
    uint64_t flags;                 /* image to push */
} Delivery;

static void deliver_real(X86CPU *cpu, const Delivery *d)
{
    X86State *st = cpu->st;
    X86Stack s;
    uint32_t entry;

    if (st->idt.limit < d->vector * 4 + 3) {
        x86_raise_err(cpu, EXCP_GP, d->vector * 8 + 2);
    }
    entry = x86_sys_ld(cpu, st->idt.base + d->vector * 4, 4);
    x86_stack_current(cpu, &s);
    x86_stack_push(cpu, &s, d->flags & 0xffff, 2);
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, 2);
    x86_stack_push(cpu, &s, d->rip, 2);
    x86_stack_commit(cpu, &s);
    x86_seg_set_real(cpu, SEG_CS, entry >> 16);
    st->rip = entry & 0xffff;
    st->rflags &= ~(FL_IF | FL_TF | FL_RF | FL_AC);
    x86_update_mode(cpu);
}

typedef struct Gate {
    unsigned type;                  /* 5 task, 6/7 16-bit, 14/15 32- or 64-bit int/trap */
    unsigned dpl, ist;
    uint16_t sel;
    uint64_t offset;
} Gate;

/* Reads and judges the IDT entry. */
static Gate gate_read(X86CPU *cpu, const Delivery *d)
{
    X86State *st = cpu->st;
    bool lm = x86_long_mode(st);
    unsigned size = lm ? 16 : 8, err = d->vector * 8 + 2;
    uint64_t addr = st->idt.base + d->vector * size;
    uint32_t lo, hi;
    Gate g;

    if (st->idt.limit < d->vector * size + size - 1) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    lo = x86_sys_ld(cpu, addr, 4);
    hi = x86_sys_ld(cpu, addr + 4, 4);
    g.type = (hi >> 8) & 0x1f;
    g.dpl = (hi >> 13) & 3;
    g.ist = lm ? hi & 7 : 0;
    g.sel = lo >> 16;
    g.offset = (lo & 0xffff) | (hi & 0xffff0000);
    if (g.type == 6 || g.type == 7) {
        g.offset &= 0xffff;
    }
    if (lm) {
        g.offset |= x86_sys_ld(cpu, addr + 8, 4) << 32;
    }
    if (!(g.type == 14 || g.type == 15 || (!lm && (g.type == 5 || g.type == 6 || g.type == 7)))) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    if (d->soft && g.dpl < x86_cpl(st)) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    if (!(hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, err);
    }
    return g;
}

/* The handler's code segment; *cpl: privilege level it runs at. */
static X86Desc gate_code(X86CPU *cpu, const Gate *g, unsigned *cpl)
{
    X86State *st = cpu->st;
    unsigned err = g->sel & 0xfffc;
    X86Desc d;
    uint64_t addr;

    if (!err) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (!x86_desc_read(cpu, g->sel, &d, &addr) || (d.hi & (DESC_S | DESC_CODE)) != (DESC_S | DESC_CODE)
        || x86_desc_dpl(d) > x86_cpl(st)) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, err);
    }
    if (x86_long_mode(st) && ((d.hi & (DESC_L | DESC_B)) != DESC_L)) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    *cpl = (d.hi & DESC_C) ? x86_cpl(st) : x86_desc_dpl(d);
    if ((st->rflags & FL_VM) && *cpl != 0) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    x86_desc_set_accessed(cpu, addr, &d);
    return d;
}

static void enter_flags(X86CPU *cpu, const Gate *g)
{
    X86State *st = cpu->st;

    st->rflags &= ~(uint64_t)(FL_TF | FL_NT | FL_VM | FL_RF);
    if (!(g->type & 1)) {
        st->rflags &= ~(uint64_t)FL_IF;
    }
}

static void deliver_long(X86CPU *cpu, const Delivery *d)
{
    X86State *st = cpu->st;
    Gate g = gate_read(cpu, d);
    unsigned cpl;
    X86Desc code = gate_code(cpu, &g, &cpl);
    bool inner = cpl < x86_cpl(st);
    uint64_t sp = inner || g.ist ? x86_tss64_stack(cpu, cpl, g.ist) : st->regs[R_RSP];
    X86Stack s;

    x86_stack_flat64(&s, sp & ~15ull, cpl);
    x86_stack_push(cpu, &s, st->seg[SEG_SS].selector, 8);
    x86_stack_push(cpu, &s, st->regs[R_RSP], 8);
    x86_stack_push(cpu, &s, d->flags, 8);
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, 8);
    x86_stack_push(cpu, &s, d->rip, 8);
    if (d->has_error) {
        x86_stack_push(cpu, &s, d->error, 8);
    }
    if (!x86_canonical(st, g.offset)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (inner) {
        x86_seg_set_null(cpu, SEG_SS, cpl);
        st->seg[SEG_SS].attr = cpl << DESC_DPL_SHIFT;
    }
    st->regs[R_RSP] = s.sp;
    enter_flags(cpu, &g);
    x86_set_cs(cpu, (g.sel & ~3) | cpl, code, cpl);
    st->rip = g.offset;
}

/* Protected mode, handler at an inner level (or from virtual-8086): a stack from the TSS. */
static void deliver_inner(X86CPU *cpu, const Delivery *d, const Gate *g, X86Desc code, unsigned cpl)
{
    X86State *st = cpu->st;
    unsigned size = g->type & 8 ? 4 : 2;
    bool vm = st->rflags & FL_VM;
    uint16_t ss;
    uint32_t esp;
    X86Desc ssd;
    X86Stack s;

    x86_tss_stack(cpu, cpl, &ss, &esp);
    ssd = x86_stack_desc(cpu, ss, cpl, EXCP_TS);
    x86_stack_from_desc(&s, ssd, ss, esp, cpl);
    if (vm) {
        static const int order[] = { SEG_GS, SEG_FS, SEG_DS, SEG_ES };

        for (int i = 0; i < 4; i++) {
            x86_stack_push(cpu, &s, st->seg[order[i]].selector, size);
        }
    }
    x86_stack_push(cpu, &s, st->seg[SEG_SS].selector, size);
    x86_stack_push(cpu, &s, st->regs[R_RSP], size);
    x86_stack_push(cpu, &s, d->flags, size);
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, size);
    x86_stack_push(cpu, &s, d->rip, size);
    if (d->has_error) {
        x86_stack_push(cpu, &s, d->error, size);
    }
    enter_flags(cpu, g);
    if (vm) {
        for (int seg = 0; seg < SEG_COUNT; seg++) {
            if (seg != SEG_CS && seg != SEG_SS) {
                x86_seg_set_null(cpu, seg, 0);
            }
        }
    }
    x86_seg_set(cpu, SEG_SS, (ss & ~3) | cpl, ssd);
    x86_set_cs(cpu, (g->sel & ~3) | cpl, code, cpl);
    x86_stack_commit(cpu, &s);
    st->rip = g->offset;
}

static void deliver_protected(X86CPU *cpu, const Delivery *d)
{
    X86State *st = cpu->st;
    Gate g = gate_read(cpu, d);
    unsigned cpl, size = g.type & 8 ? 4 : 2;
    X86Desc code;
    X86Stack s;

    if (g.type == 5) {
        X86TaskSwitch task = { .tss = g.sel, .reason = X86_TASK_EVENT, .rip = d->rip, .flags = d->flags,
                               .has_error = d->has_error, .error = d->error };

        x86_task_switch(cpu, &task);
        return;
    }
    code = gate_code(cpu, &g, &cpl);
    if (g.offset > x86_desc_limit(code)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (cpl < x86_cpl(st)) {
        deliver_inner(cpu, d, &g, code, cpl);
        return;
    }
    x86_stack_current(cpu, &s);
    s.cls = cpl == 3 ? TLB_USER : TLB_KERNEL;           /* implicit: SMAP holds whatever AC says */
    x86_stack_push(cpu, &s, d->flags, size);
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, size);
    x86_stack_push(cpu, &s, d->rip, size);
    if (d->has_error) {
        x86_stack_push(cpu, &s, d->error, size);
    }
    x86_stack_commit(cpu, &s);
    enter_flags(cpu, &g);
    x86_set_cs(cpu, (g.sel & ~3) | cpl, code, cpl);
    st->rip = g.offset;
}

static void log_delivery(X86CPU *cpu, const Delivery *d, const char *what)
{
    X86State *st = cpu->st;

    log_printf("%d: %s v=%02x e=%04x i=%d cpl=%u IP=%04x:%016" PRIx64 " SP=%04x:%016" PRIx64 " CR2=%016" PRIx64
               " CR3=%016" PRIx64 " RAX=%016" PRIx64 "\n", cpu->vcpu.index, what, d->vector, d->error, d->soft,
               x86_cpl(st), st->seg[SEG_CS].selector, st->rip, st->seg[SEG_SS].selector, st->regs[R_RSP], st->cr2,
               st->cr3, st->regs[R_RAX]);
}

static void deliver(X86CPU *cpu, const Delivery *d, const char *what)
{
    X86State *st = cpu->st;

    if (log_enabled(LOG_INT)) {
        log_delivery(cpu, d, what);
    }
    if (!(st->cr0 & CR0_PE)) {
        deliver_real(cpu, d);
    } else if (x86_long_mode(st)) {
        deliver_long(cpu, d);
    } else {
        deliver_protected(cpu, d);
    }
    st->ev.interrupt_shadow = 0;
    if (d->vector == EXCP_DB && !d->soft) {
        st->dr[7] &= ~(uint64_t)DR7_GD;                 /* the handler may use the debug registers */
    }
}

/* Faults push RF, so that an instruction breakpoint is not met twice; traps and aborts do not (SDM 18.3.1.1). */
static bool is_fault(int v)
{
    return v != EXCP_DB && v != EXCP_DF && v != EXCP_MC;
}

void x86_deliver_exception(X86CPU *cpu)
{
    X86State *st = cpu->st;
    Delivery d = {
        .vector = st->ev.exception_nr, .has_error = st->ev.exception_has_error, .error = st->ev.exception_error,
        .rip = st->rip, .flags = st->rflags,
    };

    st->ev.exception_pending = false;
    st->ev.exception_injected = true;
    if (is_fault(d.vector)) {
        d.flags |= FL_RF;
    }
    st->dr6_pending = 0;
    cpu->delivering_ext = true;                         /* an earlier exception is external to the next one's cause */
    deliver(cpu, &d, "exception");
    cpu->delivering_ext = false;
    st->ev.exception_injected = false;
}

void x86_deliver_interrupt(X86CPU *cpu, int vector)
{
    X86State *st = cpu->st;
    Delivery d = { .vector = vector, .rip = st->rip, .flags = st->rflags };

    st->ev.exception_injected = false;
    cpu->delivering_ext = true;
    deliver(cpu, &d, "interrupt");
    cpu->delivering_ext = false;
}

void x86_deliver_nmi(X86CPU *cpu)
{
    cpu->st->ev.nmi_masked = true;
    x86_deliver_interrupt(cpu, EXCP_NMI);
}

void x86_deliver_machine_check(X86CPU *cpu)
{
    if (!(cpu->st->cr4 & CR4_MCE)) {
        cpu->st->ev.triple_fault_pending = true;
        return;
    }
    x86_deliver_interrupt(cpu, EXCP_MC);
}

/* Virtual-8086 mode: with CR4.VME and the bitmap bit clear, INT n goes through the program's own IVT. */
static bool vme_redirects(X86CPU *cpu, int vector)
{
    X86State *st = cpu->st;
    uint32_t map;

    if (!(st->cr4 & CR4_VME) || st->tr.limit < 103) {
        return false;
    }
    map = x86_sys_ld(cpu, st->tr.base + 0x66, 2);
    if (map < 32 || map - 32 + vector / 8 > st->tr.limit) {
        return false;
    }
    return !(x86_sys_ld(cpu, st->tr.base + map - 32 + vector / 8, 1) & (1u << (vector & 7)));
}

static void deliver_vm_redirected(X86CPU *cpu, int vector, uint64_t rip_next)
{
    X86State *st = cpu->st;
    uint64_t flags = st->rflags & ~(uint64_t)FL_RF;
    bool real_if = (flags & FL_IOPL) == FL_IOPL;
    uint32_t entry = x86_sys_ld(cpu, vector * 4, 4);
    X86Stack s;

    if (!real_if) {
        flags = (flags & ~(uint64_t)FL_IF) | FL_IOPL | (flags & FL_VIF ? FL_IF : 0);
    }
    x86_stack_current(cpu, &s);
    x86_stack_push(cpu, &s, flags & 0xffff, 2);
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, 2);
    x86_stack_push(cpu, &s, rip_next, 2);
    x86_stack_commit(cpu, &s);
    x86_seg_set_vm(cpu, SEG_CS, entry >> 16);
    st->rip = entry & 0xffff;
    st->rflags &= ~(uint64_t)(FL_TF | FL_RF | (real_if ? FL_IF : FL_VIF));
    x86_update_mode(cpu);
}

void x86_soft_int(X86CPU *cpu, int vector, uint64_t rip_next, bool is_int3_or_into, bool icebp)
{
    X86State *st = cpu->st;
    Delivery d = { .vector = vector, .soft = !icebp, .rip = rip_next, .flags = st->rflags };

    cpu->step_trap = false;                             /* TF goes on entry, and its trap with it */
    if ((st->rflags & FL_VM) && !is_int3_or_into && !icebp) {
        if (vme_redirects(cpu, vector)) {
            deliver_vm_redirected(cpu, vector, rip_next);
            return;
        }
        if ((st->rflags & FL_IOPL) != FL_IOPL) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
    }
    d.flags &= ~(uint64_t)FL_RF;
    st->ev.exception_injected = false;
    cpu->delivering_ext = icebp;
    deliver(cpu, &d, "software interrupt");
    cpu->delivering_ext = false;
}

bool x86_handle_triple_fault(X86CPU *cpu)
{
    X86State *st = cpu->st;

    if (!st->ev.triple_fault_pending) {
        return false;
    }
    st->ev.triple_fault_pending = false;
    st->ev.exception_pending = st->ev.exception_injected = false;
    if (log_enabled(LOG_INT | LOG_RESET)) {
        Delivery d = { .vector = EXCP_DF };

        log_delivery(cpu, &d, "triple fault");
    }
    st->mp_state = MP_UNINITIALIZED;                    /* shut down: only INIT or a reset wakes it */
    system_reset_request(SHUTDOWN_GUEST_RESET);
    return true;
}
