/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segment registers: descriptors, loads with their checks, hidden parts, the stack, and the mode bits derived
 * from them (SDM vol. 3 ch. 3 and 5). Far transfers are in transfer.c.
 *
 * vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>

#include "target/i386/internal.h"

/* ---- mode ---- */
static bool segment_is_flat(const X86Segment *s)
{
    return !s->base && s->limit == 0xffffffff
        && (s->attr & (DESC_P | DESC_CODE | DESC_E | DESC_W)) == (DESC_P | DESC_W);
}

static uint32_t mode_from_cs(const X86State *st)
{
    const X86Segment *cs = &st->seg[SEG_CS];
    uint32_t m = 0;

    if ((st->efer & EFER_LMA) && (cs->attr & DESC_L)) {
        return MODE_CS64 | MODE_CS32 | MODE_SS32;
    }
    m |= cs->attr & DESC_B ? MODE_CS32 : 0;
    m |= st->seg[SEG_SS].attr & DESC_B ? MODE_SS32 : 0;
    if (!segment_is_flat(&st->seg[SEG_DS]) || !segment_is_flat(&st->seg[SEG_ES])
        || !segment_is_flat(&st->seg[SEG_SS])) {
        m |= MODE_ADDSEG;
    }
    return m;
}

static uint32_t mode_from_control(const X86State *st)
{
    uint32_t m = 0;

    m |= st->cr0 & CR0_EM ? MODE_EM : 0;
    m |= st->cr0 & CR0_MP ? MODE_MP : 0;
    m |= st->cr0 & CR0_TS ? MODE_TS : 0;
    m |= st->cr4 & CR4_OSFXSR ? MODE_OSFXSR : 0;
    if (st->cr4 & CR4_OSXSAVE) {
        m |= MODE_OSXSAVE;
        m |= (st->xcr0 & 6) == 6 ? MODE_AVX : 0;
        m |= (st->xcr0 & 0xe6) == 0xe6 ? MODE_AVX512 : 0;
    }
    if (st->dr[7] & 0xff) {
        m |= MODE_IOBP | (x86_has_watchpoint(st) ? MODE_WATCH : 0);
    }
    m |= st->self->n_debug_points || st->self->vcpu.debug_step ? MODE_DEBUG : 0;
    return m;
}

/* A TLB table that nothing hits: index bits of the tags are unlike their places. Never written. */
#define MISS2 { 1 << 12, 0 }, { 0, 0 },
#define MISS16 MISS2 MISS2 MISS2 MISS2 MISS2 MISS2 MISS2 MISS2
#define MISS128 MISS16 MISS16 MISS16 MISS16 MISS16 MISS16 MISS16 MISS16
static const X86TlbEntry always_miss[] = { MISS128 MISS128 MISS128 MISS128 MISS128 MISS128 MISS128 MISS128 };
_Static_assert(G_N_ELEMENTS(always_miss) == X86_TLB_SIZE, "as big as a table");

void x86_update_mode(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t m = mode_from_cs(st) | mode_from_control(st);
    unsigned cpl = 0, code_class;

    if (st->cr0 & CR0_PE) {
        m |= MODE_PE;
        if (st->rflags & FL_VM) {
            m |= MODE_VM;
            cpl = 3;
        } else {
            cpl = (st->seg[SEG_SS].attr >> DESC_DPL_SHIFT) & 3;
        }
    }
    m |= cpl << MODE_CPL_SHIFT;
    m |= st->efer & EFER_LMA ? MODE_LMA : 0;
    m |= st->rflags & FL_TF ? MODE_TF : 0;
    m |= (m & MODE_CS64) && ((st->cr4 & CR4_LAM_SUP) || st->cr3 & (CR3_LAM_U57 | CR3_LAM_U48)) ? MODE_LAM : 0;
    st->tlb_class_now = cpl == 3 ? TLB_USER : TLB_KERNEL;
    if (st->rflags & FL_AC) {
        if (cpl == 3) {
            m |= st->cr0 & CR0_AM ? MODE_AC : 0;
        } else if (st->cr4 & CR4_SMAP) {
            m |= MODE_SMAP_OFF;
            st->tlb_class_now = TLB_KERNEL_AC;
        }
    }
    code_class = cpl == 3 ? TLB_USER : TLB_KERNEL;
    st->mode = m;
    st->tlb_rd = st->tlb[st->tlb_class_now][TLB_READ];
    st->tlb_wr = st->tlb[st->tlb_class_now][TLB_WRITE];
    st->tlb_cd = st->tlb[code_class][TLB_CODE];
    /* Checked on the slow way only; so are addresses whose masked bits a page may have, too. */
    if ((m & (MODE_AC | MODE_WATCH)) || ((m & MODE_LAM) && (st->cr4 & CR4_LA57))) {
        st->tlb_rd = st->tlb_wr = (X86TlbEntry *)always_miss;
    }
}

/* ---- descriptors ---- */
bool x86_desc_read(X86CPU *cpu, uint16_t sel, X86Desc *d, uint64_t *addr)
{
    X86State *st = cpu->st;
    uint64_t base = st->gdt.base, v;
    uint32_t limit = st->gdt.limit;

    if (sel & 4) {
        if (st->ldt.unusable || !(st->ldt.attr & DESC_P)) {
            return false;
        }
        base = st->ldt.base;
        limit = st->ldt.limit;
    }
    if ((sel | 7u) > limit) {
        return false;
    }
    *addr = base + (sel & ~7u);
    v = x86_sys_ld(cpu, *addr, 8);
    *d = (X86Desc) { .lo = v, .hi = v >> 32, .addr = *addr };
    return true;
}

void x86_desc_set_accessed(X86CPU *cpu, uint64_t addr, X86Desc *d)
{
    if (!(d->hi & DESC_A)) {
        d->hi |= DESC_A;
        x86_sys_st(cpu, addr + 5, d->hi >> 8, 1);
    }
}

void x86_seg_set(X86CPU *cpu, int seg, uint16_t sel, X86Desc d)
{
    cpu->st->seg[seg] = (X86Segment) {
        .base = x86_desc_base(d), .limit = x86_desc_limit(d), .attr = d.hi & X86_ATTR_MASK, .selector = sel };
}

/* Real mode keeps limit and attributes ("unreal" mode), only CS gets a writable data type again. */
void x86_seg_set_real(X86CPU *cpu, int seg, uint16_t sel)
{
    X86Segment *s = &cpu->st->seg[seg];

    s->selector = sel;
    s->base = (uint32_t)sel << 4;
    if (s->unusable || !(s->attr & DESC_P)) {
        s->limit = 0xffff;
        s->attr = DESC_P | DESC_S | DESC_W | DESC_A;
        s->unusable = false;
    }
    if (seg == SEG_CS || seg == SEG_SS) {
        s->attr &= ~(3u << DESC_DPL_SHIFT);
    }
}

void x86_seg_set_vm(X86CPU *cpu, int seg, uint16_t sel)
{
    cpu->st->seg[seg] = (X86Segment) {
        .base = (uint32_t)sel << 4, .limit = 0xffff, .selector = sel,
        .attr = DESC_P | DESC_S | DESC_W | DESC_A | 3u << DESC_DPL_SHIFT };
}

void x86_seg_set_null(X86CPU *cpu, int seg, uint16_t sel)
{
    cpu->st->seg[seg] = (X86Segment) { .selector = sel, .unusable = true };
}

void x86_seg_set_flat(X86CPU *cpu, int seg, uint16_t sel, uint32_t attr)
{
    cpu->st->seg[seg] = (X86Segment) { .limit = 0xffffffff, .selector = sel, .attr = attr };
}

void x86_set_cs(X86CPU *cpu, uint16_t sel, X86Desc d, unsigned cpl)
{
    X86State *st = cpu->st;

    d.hi |= DESC_A;
    x86_seg_set(cpu, SEG_CS, sel, d);
    st->seg[SEG_SS].attr = (st->seg[SEG_SS].attr & ~(3u << DESC_DPL_SHIFT)) | cpl << DESC_DPL_SHIFT;
    x86_update_mode(cpu);
}

void x86_seg_drop_inner(X86CPU *cpu, unsigned cpl)
{
    static const int data[] = { SEG_ES, SEG_DS, SEG_FS, SEG_GS };
    X86State *st = cpu->st;

    for (int i = 0; i < 4; i++) {
        X86Segment *s = &st->seg[data[i]];
        bool conforming = (s->attr & (DESC_CODE | DESC_C)) == (DESC_CODE | DESC_C);

        if (!s->unusable && !conforming && ((s->attr >> DESC_DPL_SHIFT) & 3) < cpl) {
            uint64_t base = s->base;

            x86_seg_set_null(cpu, data[i], 0);
            if (x86_long_mode(st)) {
                s->base = base;
            }
        }
    }
}

/* ---- loads ---- */
static void load_ss(X86CPU *cpu, uint16_t sel)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st);
    X86Desc d;
    uint64_t addr;

    if (!(sel & 0xfffc)) {
        if (!(st->mode & MODE_CS64) || cpl == 3 || (sel & 3) != cpl) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        x86_seg_set_null(cpu, SEG_SS, sel);
        st->seg[SEG_SS].attr = cpl << DESC_DPL_SHIFT;
        return;
    }
    if (!x86_desc_read(cpu, sel, &d, &addr) || (sel & 3) != cpl || x86_desc_dpl(d) != cpl
        || (d.hi & (DESC_S | DESC_CODE | DESC_W)) != (DESC_S | DESC_W)) {
        x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_SS, sel & 0xfffc);
    }
    x86_desc_set_accessed(cpu, addr, &d);
    x86_seg_set(cpu, SEG_SS, sel, d);
}

static void load_data(X86CPU *cpu, int seg, uint16_t sel)
{
    X86State *st = cpu->st;
    X86Desc d;
    uint64_t addr;
    bool conforming;

    if (!(sel & 0xfffc)) {
        x86_seg_set_null(cpu, seg, sel);
        return;
    }
    if (!x86_desc_read(cpu, sel, &d, &addr) || !(d.hi & DESC_S)
        || (d.hi & (DESC_CODE | DESC_R)) == DESC_CODE) {
        x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
    }
    conforming = (d.hi & (DESC_CODE | DESC_C)) == (DESC_CODE | DESC_C);
    if (!conforming && x86_desc_dpl(d) < MAX(x86_cpl(st), sel & 3u)) {
        x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, sel & 0xfffc);
    }
    x86_desc_set_accessed(cpu, addr, &d);
    x86_seg_set(cpu, seg, sel, d);
}

void x86_load_seg(X86CPU *cpu, int seg, uint16_t selector)
{
    X86State *st = cpu->st;

    if (st->rflags & FL_VM) {
        x86_seg_set_vm(cpu, seg, selector);
    } else if (!(st->cr0 & CR0_PE)) {
        x86_seg_set_real(cpu, seg, selector);
    } else if (seg == SEG_SS) {
        load_ss(cpu, selector);
    } else {
        load_data(cpu, seg, selector);
    }
    if (seg == SEG_SS) {
        st->ev.interrupt_shadow |= 1;
    }
    x86_update_mode(cpu);
}

/* The second half of a 16-byte system descriptor: base bits 63:32. */
static uint64_t system_base(X86CPU *cpu, uint16_t sel, X86Desc d, uint64_t addr)
{
    X86State *st = cpu->st;
    uint64_t base = x86_desc_base(d);

    if (x86_long_mode(st)) {
        if ((sel & ~7u) + 15 > st->gdt.limit) {
            x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
        }
        base |= x86_sys_ld(cpu, addr + 8, 4) << 32;
        if (!x86_canonical_base(cpu, base)) {
            x86_raise_err(cpu, EXCP_GP, sel & 0xfffc);
        }
    }
    return base;
}

void x86_lldt(X86CPU *cpu, uint16_t selector)
{
    X86State *st = cpu->st;
    X86Desc d;
    uint64_t addr, base;

    if (!(selector & 0xfffc)) {
        st->ldt = (X86Segment) { .selector = selector, .unusable = true };
        return;
    }
    if ((selector & 4) || !x86_desc_read(cpu, selector, &d, &addr) || x86_desc_type(d) != 2) {
        x86_raise_err(cpu, EXCP_GP, selector & 0xfffc);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, selector & 0xfffc);
    }
    base = system_base(cpu, selector, d, addr);
    st->ldt = (X86Segment) { .base = base, .limit = x86_desc_limit(d), .attr = d.hi & X86_ATTR_MASK,
                             .selector = selector };
}

void x86_ltr(X86CPU *cpu, uint16_t selector)
{
    X86State *st = cpu->st;
    X86Desc d;
    uint64_t addr, base;

    if (!(selector & 0xfffc)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if ((selector & 4) || !x86_desc_read(cpu, selector, &d, &addr)
        || !(x86_desc_type(d) == 9 || (x86_desc_type(d) == 1 && !x86_long_mode(st)))) {
        x86_raise_err(cpu, EXCP_GP, selector & 0xfffc);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_NP, selector & 0xfffc);
    }
    base = system_base(cpu, selector, d, addr);
    d.hi |= 2 << 8;                                     /* busy */
    x86_sys_st(cpu, addr + 4, d.hi, 4);
    st->tr = (X86Segment) { .base = base, .limit = x86_desc_limit(d), .attr = d.hi & X86_ATTR_MASK,
                            .selector = selector };
}

/* ---- LAR, LSL, VERR, VERW ---- */
/* Types of system descriptors that LAR (bit set in lar) and LSL (in lsl) may show; bit = type. */
static bool system_type_ok(const X86State *st, unsigned type, bool limit)
{
    unsigned lar = 0x1a3e, lsl = 0x0a0e;

    if (x86_long_mode(st)) {
        lar = 0x1a04;
        lsl = 0x0a04;
    }
    return ((limit ? lsl : lar) >> type) & 1;
}

static bool desc_visible(X86CPU *cpu, uint16_t sel, bool limit, X86Desc *d)
{
    X86State *st = cpu->st;
    uint64_t addr;

    if (!(sel & 0xfffc) || !x86_desc_read(cpu, sel, d, &addr)) {
        return false;
    }
    if (!(d->hi & DESC_S) && !system_type_ok(st, x86_desc_type(*d), limit)) {
        return false;
    }
    if ((d->hi & (DESC_S | DESC_CODE | DESC_C)) == (DESC_S | DESC_CODE | DESC_C)) {
        return true;
    }
    return x86_desc_dpl(*d) >= MAX(x86_cpl(st), sel & 3u);
}

bool x86_lar(X86CPU *cpu, uint16_t selector, uint32_t *out)
{
    X86Desc d;

    if (!desc_visible(cpu, selector, false, &d)) {
        return false;
    }
    *out = d.hi & 0x00f0ff00;
    return true;
}

bool x86_lsl(X86CPU *cpu, uint16_t selector, uint32_t *out)
{
    X86Desc d;

    if (!desc_visible(cpu, selector, true, &d)) {
        return false;
    }
    *out = x86_desc_limit(d);
    return true;
}

bool x86_verr(X86CPU *cpu, uint16_t selector, bool write)
{
    X86Desc d;

    if (!desc_visible(cpu, selector, false, &d) || !(d.hi & DESC_S)) {
        return false;
    }
    if (d.hi & DESC_CODE) {
        return !write && (d.hi & DESC_R);
    }
    return !write || (d.hi & DESC_W);
}

/* ---- stacks ---- */
void x86_stack_flat64(X86Stack *s, uint64_t sp, unsigned cpl)
{
    *s = (X86Stack) { .sp = sp, .mask = ~0ull, .hi = ~0ull, .cls = cpl == 3 ? TLB_USER : TLB_KERNEL };
}

static void stack_set(X86Stack *s, uint64_t sp, uint64_t base, uint32_t limit, uint32_t attr)
{
    s->base = base;
    s->error = 0;
    s->mask = attr & DESC_B ? 0xffffffff : 0xffff;
    s->sp = sp & s->mask;
    if (attr & DESC_E) {
        s->lo = (uint64_t)limit + 1;
        s->hi = s->mask;
    } else {
        s->lo = 0;
        s->hi = limit;
    }
}

void x86_stack_from_desc(X86Stack *s, X86Desc d, uint16_t sel, uint64_t sp, unsigned cpl)
{
    stack_set(s, sp, x86_desc_base(d), x86_desc_limit(d), d.hi);
    s->error = sel & 0xfffc;
    s->cls = cpl == 3 ? TLB_USER : TLB_KERNEL;
}

void x86_stack_current(X86CPU *cpu, X86Stack *s)
{
    X86State *st = cpu->st;
    const X86Segment *ss = &st->seg[SEG_SS];

    if (st->mode & MODE_CS64) {
        x86_stack_flat64(s, st->regs[R_RSP], x86_cpl(st));
    } else {
        stack_set(s, st->regs[R_RSP], ss->base, ss->limit, ss->attr);
    }
    s->cls = st->tlb_class_now;
}

static uint64_t stack_linear(X86CPU *cpu, const X86Stack *s, uint64_t sp, unsigned size)
{
    uint64_t lin = s->mask == ~0ull ? sp : (uint32_t)(s->base + sp);

    if (s->mask == ~0ull) {
        lin = cpu->st->mode & MODE_LAM ? x86_lam(cpu->st, sp) : sp;
        if (!x86_canonical(cpu->st, lin)) {
            x86_raise_err(cpu, EXCP_SS, 0);
        }
    } else if (sp < s->lo || sp + size - 1 > s->hi) {
        x86_raise_err(cpu, EXCP_SS, s->error);
    }
    if ((cpu->st->mode & MODE_AC) && s->cls == TLB_USER && (lin & (size - 1))) {
        x86_raise_err(cpu, EXCP_AC, 0);
    }
    return lin;
}

void x86_stack_push(X86CPU *cpu, X86Stack *s, uint64_t v, unsigned size)
{
    uint64_t sp = (s->sp - size) & s->mask;

    x86_st_class(cpu, s->cls, stack_linear(cpu, s, sp, size), v, size);
    s->sp = sp;
}

uint64_t x86_stack_pop(X86CPU *cpu, X86Stack *s, unsigned size)
{
    uint64_t v = x86_ld_class(cpu, s->cls, stack_linear(cpu, s, s->sp, size), size);

    s->sp = (s->sp + size) & s->mask;
    return v;
}

void x86_stack_commit(X86CPU *cpu, const X86Stack *s)
{
    uint64_t *rsp = &cpu->st->regs[R_RSP];

    if (s->mask == 0xffffffff) {
        *rsp = (uint32_t)s->sp;
    } else {
        *rsp = (*rsp & ~s->mask) | (s->sp & s->mask);
    }
}

void x86_tss_stack(X86CPU *cpu, unsigned dpl, uint16_t *ss, uint32_t *esp)
{
    const X86Segment *tr = &cpu->st->tr;
    bool is32 = (tr->attr >> 8) & 8;
    unsigned off = is32 ? dpl * 8 + 4 : dpl * 4 + 2;

    if (tr->unusable || off + (is32 ? 5 : 3) > tr->limit) {
        x86_raise_err(cpu, EXCP_TS, tr->selector & 0xfffc);
    }
    *esp = x86_sys_ld(cpu, tr->base + off, is32 ? 4 : 2);
    *ss = x86_sys_ld(cpu, tr->base + off + (is32 ? 4 : 2), 2);
}

uint64_t x86_tss64_stack(X86CPU *cpu, unsigned dpl, unsigned ist)
{
    const X86Segment *tr = &cpu->st->tr;
    unsigned off = ist ? 0x1c + ist * 8 : dpl * 8 + 4;
    uint64_t rsp;

    if (tr->unusable || off + 7 > tr->limit) {
        x86_raise_err(cpu, EXCP_TS, tr->selector & 0xfffc);
    }
    rsp = x86_sys_ld(cpu, tr->base + off, 8);
    if (!x86_canonical(cpu->st, rsp)) {
        x86_raise_err(cpu, EXCP_SS, 0);
    }
    return rsp;
}

X86Desc x86_stack_desc(X86CPU *cpu, uint16_t ss, unsigned dpl, int vector)
{
    X86Desc d;
    uint64_t addr;

    if (!(ss & 0xfffc)) {
        x86_raise_err(cpu, vector, 0);
    }
    if (!x86_desc_read(cpu, ss, &d, &addr) || (ss & 3) != dpl || x86_desc_dpl(d) != dpl
        || (d.hi & (DESC_S | DESC_CODE | DESC_W)) != (DESC_S | DESC_W)) {
        x86_raise_err(cpu, vector, ss & 0xfffc);
    }
    if (!(d.hi & DESC_P)) {
        x86_raise_err(cpu, EXCP_SS, ss & 0xfffc);
    }
    x86_desc_set_accessed(cpu, addr, &d);
    return d;
}
