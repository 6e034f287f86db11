/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware task switches: JMP, CALL, IRET with NT, and events through task gates, 16- and 32-bit TSS (SDM vol. 3
 * ch. 8).
 *
 * All that can fault in the old task is judged and read before the first write; then the old task is saved and the new
 * one's registers are loaded, and what its selectors say is judged in the new task (SDM 8.3, table 8-1). There are none
 * in IA-32e mode: callers have raised #GP. vCPU thread. Test: tests/unit/test-task.c.
 */
#include "target/i386/internal.h"

enum { DR6_BT = 1 << 15, DR7_LOCAL = 0x155, TSS_BUSY = 2 << 8 };

/* What a TSS holds of a task. */
typedef struct TaskImage {
    uint32_t cr3, eip, eflags, regs[8];
    uint16_t seg[SEG_COUNT], ldt;
    bool trap;
} TaskImage;

/* ---- layouts ---- */
static bool tss_is_32(uint32_t attr)
{
    return (attr >> 8) & 8;
}

static unsigned tss_min_limit(bool is32)
{
    return is32 ? 0x67 : 0x2b;
}

static void image_read(X86CPU *cpu, uint64_t base, bool is32, TaskImage *t)
{
    unsigned size = is32 ? 4 : 2, at = is32 ? 0x20 : 0x0e;

    *t = (TaskImage) { .cr3 = is32 ? x86_sys_ld(cpu, base + 0x1c, 4) : 0 };
    t->eip = x86_sys_ld(cpu, base + at, size);
    t->eflags = x86_sys_ld(cpu, base + at + size, size);
    at += 2 * size;
    for (int i = 0; i < 8; i++, at += size) {
        t->regs[i] = x86_sys_ld(cpu, base + at, size);
    }
    for (int i = 0; i < (is32 ? 6 : 4); i++, at += size) {
        t->seg[i] = x86_sys_ld(cpu, base + at, 2);
    }
    t->ldt = x86_sys_ld(cpu, base + at, 2);
    t->trap = is32 && (x86_sys_ld(cpu, base + 0x64, 2) & 1);
}

/* Saves the running task: EIP, EFLAGS, general and segment registers. */
static void image_write(X86CPU *cpu, uint64_t base, bool is32, uint32_t eip, uint32_t eflags)
{
    X86State *st = cpu->st;
    unsigned size = is32 ? 4 : 2, at = is32 ? 0x20 : 0x0e;

    x86_sys_st(cpu, base + at, eip, size);
    x86_sys_st(cpu, base + at + size, eflags, size);
    at += 2 * size;
    for (int i = 0; i < 8; i++, at += size) {
        x86_sys_st(cpu, base + at, st->regs[i], size);
    }
    for (int i = 0; i < (is32 ? 6 : 4); i++, at += size) {
        x86_sys_st(cpu, base + at, st->seg[i].selector, 2);
    }
}

/* ---- judgement in the old task ---- */
/* The TSS descriptor that sel names: for IRET a busy one, else an available one. */
static X86Desc tss_descriptor(X86CPU *cpu, uint16_t sel, X86TaskReason reason)
{
    bool iret = reason == X86_TASK_IRET;
    unsigned vector = iret ? EXCP_TS : EXCP_GP, want = iret ? 3 : 1;
    X86Desc d;
    uint64_t addr;

    if ((sel & 4) || !(sel & 0xfffc) || !x86_desc_read(cpu, sel, &d, &addr) || (x86_desc_type(d) & ~8u) != want) {
        x86_raise_err(cpu, vector, sel & 0xfffc);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, sel & 0xfffc);
    }
    if (x86_desc_limit(d) < tss_min_limit(tss_is_32(d.hi))) {
        x86_raise_err(cpu, EXCP_TS, sel & 0xfffc);
    }
    return d;
}

/* The old task must be writable where it will be saved, and both descriptors where the busy bit changes. */
static void probe_writes(X86CPU *cpu, const X86Desc *d, X86TaskReason reason)
{
    const X86Segment *tr = &cpu->st->tr;
    bool is32 = tss_is_32(tr->attr);

    if (tr->limit < (is32 ? 0x5f : 0x29)) {
        x86_raise_err(cpu, EXCP_TS, tr->selector & 0xfffc);
    }
    x86_sys_probe_write(cpu, tr->base + (is32 ? 0x20 : 0x0e), is32 ? 0x40 : 0x1c);
    x86_sys_probe_write(cpu, d->addr + 4, 4);
    if (reason == X86_TASK_JMP || reason == X86_TASK_IRET) {
        x86_sys_probe_write(cpu, cpu->st->gdt.base + (tr->selector & 0xfff8) + 4, 4);
    } else {
        x86_sys_probe_write(cpu, x86_desc_base(*d), 2);
    }
}

static void busy_set(X86CPU *cpu, uint64_t descriptor, bool on)
{
    uint32_t hi = x86_sys_ld(cpu, descriptor + 4, 4);

    x86_sys_st(cpu, descriptor + 4, on ? hi | TSS_BUSY : hi & ~(uint32_t)TSS_BUSY, 4);
}

/* ---- the new task ---- */
G_NORETURN static void bad_selector(X86CPU *cpu, int vector, uint16_t sel)
{
    x86_raise_err(cpu, vector, sel & 0xfffc);
}

static void load_ldt(X86CPU *cpu, uint16_t sel)
{
    X86Desc d;
    uint64_t addr;

    if (!(sel & 0xfffc)) {
        return;
    }
    if ((sel & 4) || !x86_desc_read(cpu, sel, &d, &addr) || x86_desc_type(d) != 2 || !(d.hi & DESC_P)) {
        bad_selector(cpu, EXCP_TS, sel);
    }
    cpu->st->ldt = (X86Segment) { .base = x86_desc_base(d), .limit = x86_desc_limit(d), .attr = d.hi & X86_ATTR_MASK,
                                  .selector = sel };
}

static void load_code(X86CPU *cpu, uint16_t sel)
{
    unsigned rpl = sel & 3;
    X86Desc d;
    uint64_t addr;

    if (!(sel & 0xfffc) || !x86_desc_read(cpu, sel, &d, &addr) || (d.hi & (DESC_S | DESC_CODE)) != (DESC_S | DESC_CODE)
        || ((d.hi & DESC_C) ? x86_desc_dpl(d) > rpl : x86_desc_dpl(d) != rpl)) {
        bad_selector(cpu, EXCP_TS, sel);
    }
    if (!(d.hi & DESC_P)) {
        bad_selector(cpu, EXCP_NP, sel);
    }
    x86_desc_set_accessed(cpu, addr, &d);
    x86_set_cs(cpu, sel, d, rpl);
}

static void load_stack(X86CPU *cpu, uint16_t sel)
{
    unsigned cpl = x86_cpl(cpu->st);

    x86_seg_set(cpu, SEG_SS, sel, x86_stack_desc(cpu, sel, cpl, EXCP_TS));
    x86_update_mode(cpu);
}

static void load_data(X86CPU *cpu, int seg, uint16_t sel)
{
    X86Desc d;
    uint64_t addr;

    if (!(sel & 0xfffc)) {
        return;
    }
    if (!x86_desc_read(cpu, sel, &d, &addr) || !(d.hi & DESC_S) || (d.hi & (DESC_CODE | DESC_R)) == DESC_CODE
        || ((d.hi & (DESC_CODE | DESC_C)) != (DESC_CODE | DESC_C)
            && x86_desc_dpl(d) < MAX(x86_cpl(cpu->st), sel & 3u))) {
        bad_selector(cpu, EXCP_TS, sel);
    }
    if (!(d.hi & DESC_P)) {
        bad_selector(cpu, EXCP_NP, sel);
    }
    x86_desc_set_accessed(cpu, addr, &d);
    x86_seg_set(cpu, seg, sel, d);
}

/* Registers as the TSS has them; segments by selector only, so that a fault finds the new task without them. */
static void load_registers(X86CPU *cpu, const TaskImage *t)
{
    X86State *st = cpu->st;
    uint64_t defined = FL_ARITH | FL_TF | FL_IF | FL_DF | FL_IOPL | FL_NT | FL_RF | FL_VM | FL_AC | FL_VIF
        | FL_VIP | FL_ID;

    st->rip = t->eip;
    st->rflags = (t->eflags & defined) | FL_1;
    for (int i = 0; i < 8; i++) {
        st->regs[i] = t->regs[i];
    }
    for (int i = 0; i < SEG_COUNT; i++) {
        if (t->eflags & FL_VM) {
            x86_seg_set_vm(cpu, i, t->seg[i]);
        } else {
            x86_seg_set_null(cpu, i, t->seg[i]);
        }
    }
    if (!(t->eflags & FL_VM)) {
        st->seg[SEG_SS].attr = (t->seg[SEG_CS] & 3u) << DESC_DPL_SHIFT;
    }
    st->ldt = (X86Segment) { .selector = t->ldt, .unusable = true };
    x86_update_mode(cpu);
}

static void load_cr3(X86CPU *cpu, uint32_t cr3)
{
    X86State *st = cpu->st;

    if ((st->cr4 & CR4_PAE) && !x86_load_pdptes(cpu, cr3)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->cr3 = cr3;
    x86_tlb_flush(cpu, false);
}

/* From here on a fault is the new task's. */
static void load_task(X86CPU *cpu, const TaskImage *t, bool is32)
{
    static const int data[] = { SEG_ES, SEG_DS, SEG_FS, SEG_GS };
    X86State *st = cpu->st;

    st->cr0 |= CR0_TS;
    st->dr[7] &= ~(uint64_t)DR7_LOCAL;
    load_registers(cpu, t);
    if (is32 && (st->cr0 & CR0_PG)) {
        load_cr3(cpu, t->cr3);
    }
    load_ldt(cpu, t->ldt);
    if (!(st->rflags & FL_VM)) {
        load_code(cpu, t->seg[SEG_CS]);
        load_stack(cpu, t->seg[SEG_SS]);
        for (int i = 0; i < 4; i++) {
            load_data(cpu, data[i], t->seg[data[i]]);
        }
        x86_update_mode(cpu);
    }
}

static void push_error(X86CPU *cpu, uint32_t error, bool is32)
{
    X86Stack s;

    x86_stack_current(cpu, &s);
    x86_stack_push(cpu, &s, error, is32 ? 4 : 2);
    x86_stack_commit(cpu, &s);
}

void x86_task_switch(X86CPU *cpu, const X86TaskSwitch *s)
{
    X86State *st = cpu->st;
    X86Desc d = tss_descriptor(cpu, s->tss, s->reason);
    bool is32 = tss_is_32(d.hi), nested = s->reason == X86_TASK_CALL || s->reason == X86_TASK_EVENT;
    uint32_t old_flags = s->reason == X86_TASK_IRET ? s->flags & ~(uint32_t)FL_NT : s->flags;
    uint64_t base = x86_desc_base(d);
    TaskImage t;

    probe_writes(cpu, &d, s->reason);
    image_read(cpu, base, is32, &t);
    image_write(cpu, st->tr.base, tss_is_32(st->tr.attr), s->rip, old_flags);
    if (nested) {
        x86_sys_st(cpu, base, st->tr.selector, 2);
        t.eflags |= FL_NT;
    } else {
        busy_set(cpu, st->gdt.base + (st->tr.selector & 0xfff8), false);
    }
    if (s->reason != X86_TASK_IRET) {
        busy_set(cpu, d.addr, true);
    }
    st->tr = (X86Segment) { .base = base, .limit = x86_desc_limit(d), .attr = (d.hi | TSS_BUSY) & X86_ATTR_MASK,
                            .selector = s->tss };
    st->ev.interrupt_shadow = 0;
    cpu->step_trap = false;
    load_task(cpu, &t, is32);
    if (s->has_error) {
        push_error(cpu, s->error, is32);
    }
    if (st->rip > st->seg[SEG_CS].limit) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (t.trap) {
        x86_note_debug(cpu, DR6_BT);
    }
}

void x86_task_transfer(X86CPU *cpu, uint16_t sel, X86Desc d, X86TaskReason reason, uint64_t rip_next)
{
    X86State *st = cpu->st;
    X86TaskSwitch s = { .tss = sel, .reason = reason, .rip = rip_next, .flags = st->rflags };

    if (x86_desc_dpl(d) < MAX(x86_cpl(st), sel & 3u)) {
        x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
    }
    if (x86_desc_type(d) == 5) {
        if (!(d.hi & DESC_P)) {
            x86_raise_err(cpu, EXCP_NP, sel & 0xfffc);
        }
        s.tss = d.lo >> 16;
    }
    x86_task_switch(cpu, &s);
}

void x86_task_return(X86CPU *cpu, uint64_t rip_next)
{
    X86State *st = cpu->st;
    X86TaskSwitch s = { .reason = X86_TASK_IRET, .rip = rip_next, .flags = st->rflags };

    s.tss = x86_sys_ld(cpu, st->tr.base, 2);
    x86_task_switch(cpu, &s);
}
