/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Far control transfers: JMP, CALL, RET, IRET, and flag loads (SDM vol. 3 5.8, vol. 2 CALL/RET/IRET/POPF).
 *
 * Call gates of 16, 32 and 64 bits; task gates and TSS targets go to task.c.
 * Everything is read and judged before the first write to the state. SYSCALL and SYSENTER: fastcall.c.
 * vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#include "target/i386/internal.h"

static uint64_t mask_offset(uint64_t off, unsigned opsize)
{
    return opsize == 2 ? off & 0xffff : opsize == 4 ? (uint32_t)off : off;
}

/* Real and virtual-8086 mode: CS:IP as they stand. */
static void jump_real(X86CPU *cpu, uint16_t sel, uint64_t offset)
{
    X86State *st = cpu->st;

    if ((uint32_t)offset > st->seg[SEG_CS].limit) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (st->rflags & FL_VM) {
        x86_seg_set_vm(cpu, SEG_CS, sel);
    } else {
        x86_seg_set_real(cpu, SEG_CS, sel);
    }
    st->rip = offset;
    x86_update_mode(cpu);
}

/* Is offset inside the code segment d? (64-bit code: canonical.) */
static void check_target(X86CPU *cpu, X86Desc d, uint64_t offset)
{
    X86State *st = cpu->st;

    if (x86_long_mode(st) && (d.hi & DESC_L) ? !x86_canonical(st, offset) : offset > x86_desc_limit(d)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

/* The last judgement of a code descriptor; marks it accessed. */
static void check_code(X86CPU *cpu, X86Desc d, unsigned err)
{
    if (x86_long_mode(cpu->st) && (d.hi & DESC_L) && (d.hi & DESC_B)) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, err);
    }
    x86_desc_set_accessed(cpu, d.addr, &d);
}

/* A code descriptor reached directly: privilege rules of JMP and CALL. */
static void check_direct(X86CPU *cpu, uint16_t sel, X86Desc d)
{
    unsigned cpl = x86_cpl(cpu->st), dpl = x86_desc_dpl(d);

    if (!(d.hi & DESC_CODE) || ((d.hi & DESC_C) ? dpl > cpl : dpl != cpl || (sel & 3u) > cpl)) {
        x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
    }
    check_code(cpu, d, sel & 0xfffc);
}

typedef struct CallGate {
    uint16_t sel;
    uint64_t offset;
    unsigned size;                  /* of a pushed word: 2, 4, 8 */
    unsigned params;
    X86Desc code;
} CallGate;

static bool is_task(const X86State *st, X86Desc d)
{
    unsigned type = x86_desc_type(d);

    return !x86_long_mode(st) && (type == 1 || type == 5 || type == 9);
}

/* A system descriptor as target of JMP or CALL: a call gate. */
static CallGate call_gate(X86CPU *cpu, uint16_t sel, X86Desc d, uint64_t addr)
{
    X86State *st = cpu->st;
    unsigned type = x86_desc_type(d), err = sel & 0xfffc;
    bool lm = x86_long_mode(st);
    uint64_t code_addr;
    CallGate g;

    if (!(type == 12 || (type == 4 && !lm)) || x86_desc_dpl(d) < MAX(x86_cpl(st), sel & 3u)) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, err);
    }
    g.size = lm ? 8 : type == 12 ? 4 : 2;
    g.params = lm ? 0 : d.hi & 31;
    g.sel = d.lo >> 16;
    g.offset = (d.lo & 0xffff) | (type == 12 ? d.hi & 0xffff0000 : 0);
    if (lm) {
        uint64_t hi;

        if ((sel & ~7u) + 15 > ((sel & 4) ? st->ldt.limit : st->gdt.limit)) {
            x86_raise_err(cpu, EXCP_GP, err);
        }
        hi = x86_sys_ld(cpu, addr + 8, 8);

        if (hi >> 40 & 0x1f) {
            x86_raise_err(cpu, EXCP_GP, err);
        }
        g.offset |= hi << 32;
    }
    if (!(g.sel & 0xfffc)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (!x86_desc_read(cpu, g.sel, &g.code, &code_addr)
        || (g.code.hi & (DESC_S | DESC_CODE)) != (DESC_S | DESC_CODE)
        || (lm && (g.code.hi & (DESC_L | DESC_B)) != DESC_L)) {
        x86_raise_err(cpu, EXCP_GP, g.sel & 0xfffc);
    }
    if (x86_desc_dpl(g.code) > x86_cpl(st)) {
        x86_raise_err(cpu, EXCP_GP, g.sel & 0xfffc);
    }
    check_code(cpu, g.code, g.sel & 0xfffc);
    return g;
}

static X86Desc far_descriptor(X86CPU *cpu, uint16_t sel, uint64_t *addr)
{
    X86Desc d;

    if (!(sel & 0xfffc)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (!x86_desc_read(cpu, sel, &d, addr)) {
        x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
    }
    return d;
}

void x86_far_jmp(X86CPU *cpu, uint16_t selector, uint64_t offset, unsigned opsize, uint64_t rip_next)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st);
    uint64_t addr;
    X86Desc d;

    offset = mask_offset(offset, opsize);
    if (x86_real_or_vm(st)) {
        jump_real(cpu, selector, offset);
        return;
    }
    d = far_descriptor(cpu, selector, &addr);
    if (!(d.hi & DESC_S)) {
        CallGate g;

        if (is_task(st, d)) {
            x86_task_transfer(cpu, selector, d, X86_TASK_JMP, rip_next);
            return;
        }
        g = call_gate(cpu, selector, d, addr);
        if (!(g.code.hi & DESC_C) && x86_desc_dpl(g.code) != cpl) {
            x86_raise_err(cpu, EXCP_GP, g.sel & 0xfffc);
        }
        selector = g.sel;
        offset = g.offset;
        d = g.code;
    } else {
        check_direct(cpu, selector, d);
    }
    check_target(cpu, d, offset);
    x86_set_cs(cpu, (selector & ~3) | cpl, d, cpl);
    st->rip = offset;
}

/* A call gate to an inner level: new stack, parameters copied. */
static void call_inner(X86CPU *cpu, const CallGate *g, uint64_t rip_next)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_desc_dpl(g->code);
    X86Stack s, old;
    X86Desc ssd = { 0, 0 };
    uint16_t ss = cpl;
    uint32_t params[32], esp;

    x86_stack_current(cpu, &old);
    if (g->size == 8) {
        x86_stack_flat64(&s, x86_tss64_stack(cpu, cpl, 0), cpl);
    } else {
        x86_tss_stack(cpu, cpl, &ss, &esp);
        ssd = x86_stack_desc(cpu, ss, cpl, EXCP_TS);
        x86_stack_from_desc(&s, ssd, ss, esp, cpl);
    }
    for (unsigned i = 0; i < g->params; i++) {
        params[i] = x86_stack_pop(cpu, &old, g->size);
    }
    x86_stack_push(cpu, &s, st->seg[SEG_SS].selector, g->size);
    x86_stack_push(cpu, &s, st->regs[R_RSP], g->size);
    for (unsigned i = g->params; i-- > 0;) {
        x86_stack_push(cpu, &s, params[i], g->size);
    }
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, g->size);
    x86_stack_push(cpu, &s, rip_next, g->size);
    check_target(cpu, g->code, g->offset);
    if (g->size == 8) {
        x86_seg_set_null(cpu, SEG_SS, cpl);
    } else {
        x86_seg_set(cpu, SEG_SS, ss, ssd);
    }
    x86_set_cs(cpu, (g->sel & ~3) | cpl, g->code, cpl);
    x86_stack_commit(cpu, &s);
    st->rip = g->offset;
}

void x86_far_call(X86CPU *cpu, uint16_t selector, uint64_t offset, unsigned opsize, uint64_t rip_next)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st), size = opsize;
    X86Stack s;
    X86Desc d;
    uint64_t addr;

    offset = mask_offset(offset, opsize);
    x86_stack_current(cpu, &s);
    if (x86_real_or_vm(st)) {
        x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, opsize);
        x86_stack_push(cpu, &s, rip_next, opsize);
        jump_real(cpu, selector, offset);
        x86_stack_commit(cpu, &s);
        return;
    }
    d = far_descriptor(cpu, selector, &addr);
    if (!(d.hi & DESC_S)) {
        CallGate g;

        if (is_task(st, d)) {
            x86_task_transfer(cpu, selector, d, X86_TASK_CALL, rip_next);
            return;
        }
        g = call_gate(cpu, selector, d, addr);
        if (!(g.code.hi & DESC_C) && x86_desc_dpl(g.code) < cpl) {
            call_inner(cpu, &g, rip_next);
            return;
        }
        selector = g.sel;
        offset = g.offset;
        size = g.size;
        d = g.code;
    } else {
        check_direct(cpu, selector, d);
    }
    x86_stack_push(cpu, &s, st->seg[SEG_CS].selector, size);
    x86_stack_push(cpu, &s, rip_next, size);
    check_target(cpu, d, offset);
    x86_stack_commit(cpu, &s);
    x86_set_cs(cpu, (selector & ~3) | cpl, d, cpl);
    st->rip = offset;
}

/* The code segment that a far return goes to. */
static X86Desc return_code(X86CPU *cpu, uint16_t sel)
{
    unsigned err = sel & 0xfffc, rpl = sel & 3;
    uint64_t addr;
    X86Desc d = far_descriptor(cpu, sel, &addr);

    if ((d.hi & (DESC_S | DESC_CODE)) != (DESC_S | DESC_CODE) || rpl < x86_cpl(cpu->st)
        || ((d.hi & DESC_C) ? x86_desc_dpl(d) > rpl : x86_desc_dpl(d) != rpl)) {
        x86_raise_err(cpu, EXCP_GP, err);
    }
    check_code(cpu, d, err);
    return d;
}

/* Judges the stack segment of a return; a null one is good for 64-bit code below level 3. */
static bool return_stack(X86CPU *cpu, uint16_t ss, unsigned rpl, X86Desc code, X86Desc *ssd)
{
    if (!(ss & 0xfffc) && x86_long_mode(cpu->st) && (code.hi & DESC_L) && rpl != 3) {
        return false;
    }
    *ssd = x86_stack_desc(cpu, ss, rpl, EXCP_GP);
    return true;
}

/* Commits CS, SS and RSP of a return to level rpl. */
static void return_commit(X86CPU *cpu, uint16_t cs, X86Desc code, uint16_t ss, const X86Desc *ssd, uint64_t rsp)
{
    X86State *st = cpu->st;
    unsigned rpl = cs & 3;

    if (ssd) {
        x86_seg_set(cpu, SEG_SS, ss, *ssd);
    } else {
        x86_seg_set_null(cpu, SEG_SS, ss);
    }
    x86_set_cs(cpu, cs, code, rpl);
    if (st->mode & MODE_CS64) {
        st->regs[R_RSP] = rsp;
    } else if (st->mode & MODE_SS32) {
        st->regs[R_RSP] = (uint32_t)rsp;
    } else {
        st->regs[R_RSP] = (st->regs[R_RSP] & ~0xffffull) | (rsp & 0xffff);
    }
}

void x86_far_ret(X86CPU *cpu, unsigned opsize, unsigned pop_bytes)
{
    X86State *st = cpu->st;
    X86Stack s;
    uint64_t rip, rsp;
    uint16_t cs, ss;
    X86Desc code, ssd;
    bool has_ss;

    x86_stack_current(cpu, &s);
    rip = x86_stack_pop(cpu, &s, opsize);
    cs = x86_stack_pop(cpu, &s, opsize);
    if (x86_real_or_vm(st)) {
        jump_real(cpu, cs, rip);
        s.sp += pop_bytes;
        x86_stack_commit(cpu, &s);
        return;
    }
    code = return_code(cpu, cs);
    s.sp += pop_bytes;
    if ((cs & 3u) == x86_cpl(st)) {
        check_target(cpu, code, rip);
        x86_stack_commit(cpu, &s);
        x86_set_cs(cpu, cs, code, cs & 3);
        st->rip = rip;
        return;
    }
    s.sp &= s.mask;
    rsp = x86_stack_pop(cpu, &s, opsize);
    ss = x86_stack_pop(cpu, &s, opsize);
    has_ss = return_stack(cpu, ss, cs & 3, code, &ssd);
    check_target(cpu, code, rip);
    return_commit(cpu, cs, code, ss, has_ss ? &ssd : NULL, rsp + pop_bytes);
    x86_seg_drop_inner(cpu, cs & 3);
    x86_update_mode(cpu);
    st->rip = rip;
}

/* ---- IRET ---- */
/* Flags that IRET at this CPL may change. */
static uint64_t iret_mask(const X86State *st, unsigned opsize)
{
    unsigned cpl = x86_cpl(st);
    uint64_t m = FL_ARITH | FL_TF | FL_DF | FL_NT | FL_RF | FL_AC | FL_ID;

    if (cpl <= (st->rflags & FL_IOPL) >> 12) {
        m |= FL_IF;
    }
    if (cpl == 0) {
        m |= FL_IOPL | FL_VIF | FL_VIP;
    }
    return opsize == 2 ? m & 0xffff : m;
}

static void set_flags(X86CPU *cpu, uint64_t v, uint64_t mask)
{
    X86State *st = cpu->st;

    st->rflags = (st->rflags & ~mask) | (v & mask) | FL_1;
}

static void iret_real(X86CPU *cpu, unsigned opsize)
{
    X86State *st = cpu->st;
    uint64_t rip, flags, mask = FL_ARITH | FL_TF | FL_DF | FL_NT | FL_IF;
    uint16_t cs;
    X86Stack s;

    if (!(st->rflags & FL_VM)) {
        mask |= FL_IOPL;
    }
    if (opsize == 4) {
        mask |= FL_RF | FL_AC | FL_ID;
    }
    x86_stack_current(cpu, &s);
    rip = x86_stack_pop(cpu, &s, opsize);
    cs = x86_stack_pop(cpu, &s, opsize);
    flags = x86_stack_pop(cpu, &s, opsize);
    jump_real(cpu, cs, rip);
    x86_stack_commit(cpu, &s);
    set_flags(cpu, flags, mask);
    x86_update_mode(cpu);
}

/* Virtual-8086 mode below IOPL 3: with VME, 16 bits, and the virtual interrupt flag (SDM 21.3, vol. 2 IRET). */
static void iret_vme(X86CPU *cpu, unsigned opsize)
{
    X86State *st = cpu->st;
    uint64_t rip, flags;
    uint16_t cs;
    X86Stack s;

    if (!(st->cr4 & CR4_VME) || opsize != 2) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    x86_stack_current(cpu, &s);
    rip = x86_stack_pop(cpu, &s, 2);
    cs = x86_stack_pop(cpu, &s, 2);
    flags = x86_stack_pop(cpu, &s, 2);
    if ((flags & FL_TF) || ((flags & FL_IF) && (st->rflags & FL_VIP))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    jump_real(cpu, cs, rip);
    x86_stack_commit(cpu, &s);
    set_flags(cpu, flags, FL_ARITH | FL_TF | FL_DF | FL_NT);
    st->rflags = (st->rflags & ~(uint64_t)(FL_VIF | FL_RF)) | (flags & FL_IF ? FL_VIF : 0);
    x86_update_mode(cpu);
}

static void iret_to_vm(X86CPU *cpu, X86Stack *s, uint64_t rip, uint16_t cs, uint64_t flags)
{
    static const int order[] = { SEG_ES, SEG_DS, SEG_FS, SEG_GS };
    X86State *st = cpu->st;
    uint64_t rsp = x86_stack_pop(cpu, s, 4);
    uint16_t ss = x86_stack_pop(cpu, s, 4), sel[4];

    for (int i = 0; i < 4; i++) {
        sel[i] = x86_stack_pop(cpu, s, 4);
    }
    if (rip > 0xffff) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    set_flags(cpu, flags, iret_mask(st, 4) | FL_VM | FL_IOPL | FL_IF);
    x86_seg_set_vm(cpu, SEG_CS, cs);
    x86_seg_set_vm(cpu, SEG_SS, ss);
    for (int i = 0; i < 4; i++) {
        x86_seg_set_vm(cpu, order[i], sel[i]);
    }
    st->regs[R_RSP] = (uint32_t)rsp;
    st->rip = rip;
    x86_update_mode(cpu);
}

static void iret_protected(X86CPU *cpu, unsigned opsize, uint64_t rip_next)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st);
    bool lm64 = st->mode & MODE_CS64, has_ss = false, outer;
    uint64_t rip, flags, rsp = 0, mask = iret_mask(st, opsize);
    uint16_t cs, ss = 0;
    X86Desc code, ssd;
    X86Stack s;

    if (st->rflags & FL_NT) {
        if (x86_long_mode(st)) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        x86_task_return(cpu, rip_next);
        return;
    }
    x86_stack_current(cpu, &s);
    rip = x86_stack_pop(cpu, &s, opsize);
    cs = x86_stack_pop(cpu, &s, opsize);
    flags = x86_stack_pop(cpu, &s, opsize);
    if ((flags & FL_VM) && opsize == 4 && cpl == 0 && !x86_long_mode(st)) {
        iret_to_vm(cpu, &s, rip, cs, flags);
        return;
    }
    code = return_code(cpu, cs);
    outer = (cs & 3u) > cpl;
    if (outer || lm64) {
        rsp = x86_stack_pop(cpu, &s, opsize);
        ss = x86_stack_pop(cpu, &s, opsize);
        has_ss = return_stack(cpu, ss, cs & 3, code, &ssd);
    }
    check_target(cpu, code, rip);
    if (outer || lm64) {
        return_commit(cpu, cs, code, ss, has_ss ? &ssd : NULL, rsp);
        if (outer) {
            x86_seg_drop_inner(cpu, cs & 3);
        }
    } else {
        x86_stack_commit(cpu, &s);
        x86_set_cs(cpu, cs, code, cpl);
    }
    set_flags(cpu, flags, mask);
    st->rip = rip;
    x86_update_mode(cpu);
}

/* NMIs are open again even when IRET faults, but not when a monitor has to emulate it (SDM 6.7.1, 25.3). */
void x86_iret(X86CPU *cpu, unsigned opsize, uint64_t rip_next)
{
    X86State *st = cpu->st;

    if ((st->rflags & FL_VM) && (st->rflags & FL_IOPL) != FL_IOPL) {
        iret_vme(cpu, opsize);
        st->ev.nmi_masked = false;
        return;
    }
    st->ev.nmi_masked = false;
    if (x86_real_or_vm(st)) {
        iret_real(cpu, opsize);
    } else {
        iret_protected(cpu, opsize, rip_next);
    }
}

/* ---- POPF ---- */
void x86_load_flags(X86CPU *cpu, uint64_t v, unsigned opsize)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st), iopl = (st->rflags & FL_IOPL) >> 12;
    uint64_t mask = FL_ARITH | FL_TF | FL_DF | FL_NT | FL_AC | FL_ID;

    if ((st->rflags & FL_VM) && iopl < 3) {
        if (!(st->cr4 & CR4_VME) || opsize != 2 || (v & FL_TF) || ((v & FL_IF) && (st->rflags & FL_VIP))) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        st->rflags = (st->rflags & ~(uint64_t)FL_VIF) | (v & FL_IF ? FL_VIF : 0);
        set_flags(cpu, v, mask & 0xffff & ~FL_IF);
        x86_update_mode(cpu);
        return;
    }
    if (!(st->mode & MODE_PE) || cpl == 0) {
        mask |= FL_IF | FL_IOPL;
    } else if (cpl <= iopl) {
        mask |= FL_IF;
    }
    set_flags(cpu, v, opsize == 2 ? mask & 0xffff : mask);
    st->rflags &= ~(uint64_t)FL_RF;
    x86_update_mode(cpu);
}
