/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The local APIC's registers, priorities and interrupt acceptance (SDM vol. 3 ch. 11): xAPIC and x2APIC.
 *
 * The CPU's thread owns the registers; other threads only OR into IRR and TMR and set PENDING_APIC. Messages between
 * CPUs and chips are in apic-msg.c, the timer in apic-timer.c. Left out: thermal and performance LVTs never fire.
 * Test: tests/unit/test-apic.c.
 */
#include <string.h>

#include "target/i386/apic-internal.h"

/* ---- vector bitmaps ---- */
static int highest_bit(const uint32_t *map)
{
    for (int i = 7; i >= 0; i--) {
        if (map[i]) {
            return i * 32 + 31 - __builtin_clz(map[i]);
        }
    }
    return -1;
}

static int highest_irr(X86Apic *a)
{
    for (int i = 7; i >= 0; i--) {
        uint32_t v = atomic_load(&a->regs.irr[i]);

        if (v) {
            return i * 32 + 31 - __builtin_clz(v);
        }
    }
    return -1;
}

bool apic_is_x2(const X86Apic *a)
{
    return (a->regs.base & (APIC_BASE_ENABLE | APIC_BASE_X2APIC)) == (APIC_BASE_ENABLE | APIC_BASE_X2APIC);
}

bool apic_hw_enabled(const X86Apic *a)
{
    return a->regs.base & APIC_BASE_ENABLE;
}

static bool sw_enabled(const X86Apic *a)
{
    return a->regs.svr & 0x100;
}

static uint32_t apic_ppr(const X86Apic *a)
{
    int isr = highest_bit(a->regs.isr);
    uint32_t isrv = isr < 0 ? 0 : isr & 0xf0;

    return (a->regs.tpr & 0xf0) >= isrv ? a->regs.tpr : isrv;
}

/* ---- acceptance ---- */
void apic_set_irr(X86Apic *a, uint8_t vector, bool level)
{
    uint32_t bit = 1u << (vector & 31);

    if (level) {
        atomic_fetch_or(&a->regs.tmr[vector / 32], bit);
    } else {
        atomic_fetch_and(&a->regs.tmr[vector / 32], ~bit);
    }
    atomic_fetch_or(&a->regs.irr[vector / 32], bit);
    x86_cpu_raise(a->cpu, PENDING_APIC);
}

/* A PV EOI flag that the guest has cleared is an EOI; one still set is taken back, so that a real EOI comes. */
void apic_sync_pv_eoi(X86Apic *a)
{
    if (a->regs.pv_eoi_pending) {
        a->regs.pv_eoi_pending = false;
        if (!x86_kvm_pv_eoi_take_back(a->cpu)) {
            apic_eoi(a);
        }
    }
}

static int deliverable(X86Apic *a)
{
    int v;

    if (!apic_hw_enabled(a) || !sw_enabled(a)) {
        return -1;
    }
    v = highest_irr(a);
    return v >= 0 && (v & 0xf0u) > (apic_ppr(a) & 0xf0) ? v : -1;
}

bool apic_has_interrupt(X86CPU *cpu)
{
    X86Apic *a = cpu->apic;

    if (!a) {
        return false;
    }
    apic_sync_pv_eoi(a);
    return deliverable(a) >= 0;
}

/* No kick: the CPU's own thread looks at the word before each block, and may hold its sleep lock here. */
void apic_update(X86Apic *a)
{
    if (deliverable(a) >= 0) {
        atomic_fetch_or(&a->cpu->st->pending, PENDING_APIC);
    }
}

int apic_ack(X86CPU *cpu)
{
    X86Apic *a = cpu->apic;
    int v;

    if (!a) {
        return -1;
    }
    apic_sync_pv_eoi(a);
    v = deliverable(a);
    if (v < 0) {
        return -1;
    }
    atomic_fetch_and(&a->regs.irr[v / 32], ~(1u << (v & 31)));
    a->regs.isr[v / 32] |= 1u << (v & 31);
    if (!(atomic_load(&a->regs.tmr[v / 32]) >> (v & 31) & 1) && highest_irr(a) < 0) {
        a->regs.pv_eoi_pending = x86_kvm_pv_eoi_offer(cpu);
    }
    return v;
}

void apic_eoi(X86Apic *a)
{
    int v = highest_bit(a->regs.isr);

    a->regs.pv_eoi_pending = false;
    if (v < 0) {
        return;
    }
    a->regs.isr[v / 32] &= ~(1u << (v & 31));
    if (atomic_load(&a->regs.tmr[v / 32]) >> (v & 31) & 1) {
        apic_broadcast_eoi(v);
    }
    apic_update(a);
}

/* ---- LVT ---- */
static const uint32_t lvt_mask[APIC_LVTS] = { 0x700ff, 0x107ff, 0x107ff, 0x1a7ff, 0x1a7ff, 0x100ff };

void apic_local_fire(X86Apic *a, unsigned lvt)
{
    uint32_t v = a->regs.lvt[lvt];

    if (v & APIC_LVT_MASKED) {
        return;
    }
    switch ((v >> 8) & 7) {
    case APIC_DM_FIXED:
        if ((v & 0xff) < 16) {
            apic_error(a, APIC_ESR_RECV_ILLEGAL);
        } else {
            apic_set_irr(a, v, false);
        }
        break;
    case APIC_DM_NMI: x86_cpu_raise(a->cpu, PENDING_NMI); break;
    case APIC_DM_SMI: x86_cpu_raise(a->cpu, PENDING_SMI); break;
    case APIC_DM_INIT: x86_cpu_raise(a->cpu, PENDING_INIT); break;
    case APIC_DM_EXTINT: x86_cpu_raise(a->cpu, PENDING_INTR); break;
    default: break;
    }
}

void apic_deliver_nmi(X86CPU *cpu)
{
    if (cpu->apic && (cpu->apic->regs.base & APIC_BASE_ENABLE)) {
        apic_local_fire(cpu->apic, APIC_LVT_LINT1);
    } else {
        x86_cpu_raise(cpu, PENDING_NMI);                /* the pin is NMI itself then (SDM vol. 3 11.4.3) */
    }
}

void apic_error(X86Apic *a, uint32_t esr)
{
    uint32_t v = a->regs.lvt[APIC_LVT_ERROR];
    bool fresh = !(a->regs.esr_pending & esr);

    a->regs.esr_pending |= esr;
    if (fresh && !(v & APIC_LVT_MASKED) && (v & 0xff) >= 16) {
        apic_set_irr(a, v, false);
    }
}

/* LINT0 as the 8259 drives it: INTR for ExtINT (or a switched-off APIC), else the LVT's own vector on a rise. */
void apic_lint0_update(X86Apic *a, bool rise)
{
    uint32_t v = a->regs.lvt[APIC_LVT_LINT0];
    bool level = atomic_load(&a->lint0_level);
    bool extint = !(v & APIC_LVT_MASKED) && ((v >> 8) & 7) == APIC_DM_EXTINT;

    if (a->in_kernel) {                                 /* who has the real LINT0 decides; it must look */
        if (level) {
            vcpu_kick(&a->cpu->vcpu);
        }
        return;
    }
    if (level && (!apic_hw_enabled(a) || extint)) {
        x86_cpu_raise(a->cpu, PENDING_INTR);
        return;
    }
    x86_cpu_lower(a->cpu, PENDING_INTR);
    if (level && rise) {
        apic_local_fire(a, APIC_LVT_LINT0);
    }
}

static void write_lvt(X86Apic *a, unsigned lvt, uint32_t v)
{
    v &= lvt_mask[lvt];
    if (!sw_enabled(a)) {
        v |= APIC_LVT_MASKED;
    }
    if (lvt == APIC_LVT_TIMER) {
        apic_timer_set_lvt(a, v);
        return;
    }
    a->regs.lvt[lvt] = v;
    if (lvt == APIC_LVT_LINT0) {
        apic_lint0_update(a, false);
    }
}

static void write_svr(X86Apic *a, uint32_t v)
{
    a->regs.svr = v & 0x1ff;
    if (!sw_enabled(a)) {
        for (unsigned i = 0; i < APIC_LVTS; i++) {
            write_lvt(a, i, a->regs.lvt[i] | APIC_LVT_MASKED);
        }
    }
    apic_update(a);
}

/* ---- registers ---- */
static uint32_t x2_ldr(uint32_t id)
{
    return (id >> 4) << 16 | 1u << (id & 15);
}

uint32_t apic_reg_read(X86CPU *cpu, unsigned offset)
{
    X86Apic *a = cpu->apic;
    X86ApicRegs *r = &a->regs;
    unsigned n = (offset >> 4) & 7;

    switch (offset & 0xff0) {
    case 0x020: return apic_is_x2(a) ? r->id : r->id << 24;
    case 0x030: return 0x14 | (APIC_LVTS - 1) << 16;
    case 0x080: return r->tpr;
    case 0x0a0: apic_sync_pv_eoi(a); return apic_ppr(a);
    case 0x0d0: return apic_is_x2(a) ? x2_ldr(r->id) : r->ldr;
    case 0x0e0: return r->dfr;
    case 0x0f0: return r->svr;
    case 0x100 ... 0x170: apic_sync_pv_eoi(a); return r->isr[n];
    case 0x180 ... 0x1f0: return atomic_load(&r->tmr[n]);
    case 0x200 ... 0x270: return atomic_load(&r->irr[n]);
    case 0x280: return r->esr;
    case 0x300: return r->icr;
    case 0x310: return r->icr >> 32;
    case 0x320 ... 0x370: return r->lvt[(offset - 0x320) >> 4];
    case 0x380: return r->timer_initial;
    case 0x390: return apic_timer_count(a);
    case 0x3e0: return r->timer_divide;
    default: return 0;
    }
}

void apic_reg_write(X86CPU *cpu, unsigned offset, uint32_t v)
{
    X86Apic *a = cpu->apic;
    X86ApicRegs *r = &a->regs;

    switch (offset & 0xff0) {
    case 0x020: if (!apic_is_x2(a)) { r->id = v >> 24; } break;
    case 0x080: apic_set_tpr(cpu, v); break;
    case 0x0b0: apic_sync_pv_eoi(a); apic_eoi(a); break;
    case 0x0d0: r->ldr = v & 0xff000000; break;
    case 0x0e0: r->dfr = v | 0x0fffffff; break;
    case 0x0f0: write_svr(a, v); break;
    case 0x280: r->esr = r->esr_pending; r->esr_pending = 0; break;
    case 0x300: r->icr = (r->icr & ~0xffffffffull) | (v & ~(1u << 12)); apic_send_ipi(a); break;
    case 0x310: r->icr = (uint32_t)r->icr | (uint64_t)v << 32; break;
    case 0x320 ... 0x370: write_lvt(a, (offset - 0x320) >> 4, v); break;
    case 0x380: apic_timer_set_initial(a, v); break;
    case 0x3e0: apic_timer_set_divide(a, v & 0xb); break;
    default: apic_error(a, APIC_ESR_ILLEGAL_REG); break;
    }
}

uint8_t apic_get_tpr(X86CPU *cpu)
{
    return cpu->apic ? cpu->apic->regs.tpr : 0;
}

void apic_set_tpr(X86CPU *cpu, uint8_t v)
{
    if (cpu->apic) {
        cpu->apic->regs.tpr = v;
        apic_update(cpu->apic);
    }
}

/* ---- x2APIC by MSR ---- */
static bool x2_register_exists(uint32_t offset, bool write)
{
    switch (offset) {
    case 0x020: case 0x030: case 0x0a0: case 0x0d0: case 0x100 ... 0x270: case 0x390: return !write;
    case 0x0b0: case 0x3f0: return write;
    case 0x080: case 0x0f0: case 0x280: case 0x300: case 0x320 ... 0x370: case 0x380: case 0x3e0: return true;
    default: return false;
    }
}

bool apic_msr_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    uint32_t offset = (msr - 0x800) << 4;

    if (!cpu->apic || !apic_is_x2(cpu->apic) || !x2_register_exists(offset, false)) {
        return false;
    }
    *v = offset == 0x300 ? cpu->apic->regs.icr : apic_reg_read(cpu, offset);
    return true;
}

/* Bits that a register has in x2APIC mode; to write another is #GP (SDM 3A 11.12.1.3). */
static uint64_t x2_writable(uint32_t offset)
{
    switch (offset) {
    case 0x080: return 0xff;
    case 0x0f0: return 0x13ff;
    case 0x320: return 0x710ff;
    case 0x330: case 0x340: case 0x350: case 0x360: case 0x370: return 0x1f7ff;
    case 0x3e0: return 0xb;
    default: return 0xffffffff;
    }
}

bool apic_msr_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    uint32_t offset = (msr - 0x800) << 4;
    X86Apic *a = cpu->apic;

    if (!a || !apic_is_x2(a) || !x2_register_exists(offset, true)) {
        return false;
    }
    switch (offset) {
    case 0x300:
        a->regs.icr = v & ~(1ull << 12);
        apic_send_ipi(a);
        return true;
    case 0x3f0:
        if (v >> 8) {
            return false;
        }
        apic_set_irr(a, v, false);
        return true;
    case 0x0b0: case 0x280:
        if (v) {
            return false;
        }
        break;
    default:
        break;
    }
    if (v & ~x2_writable(offset)) {
        return false;
    }
    apic_reg_write(cpu, offset, v);
    return true;
}

/* ---- IA32_APIC_BASE ---- */
uint64_t apic_read_base(X86CPU *cpu)
{
    return cpu->apic ? cpu->apic->regs.base : 0;
}

bool apic_write_base(X86CPU *cpu, uint64_t v)
{
    X86Apic *a = cpu->apic;
    uint32_t mode = APIC_BASE_ENABLE | APIC_BASE_X2APIC, from, to = v & mode;

    if (!a || (v & 0x2ff) || v >> x86_phys_bits(cpu) || to == APIC_BASE_X2APIC
        || (to == mode && !x86_has(cpu, X86_FEAT_X2APIC))) {
        return false;
    }
    from = a->regs.base & mode;
    if ((from == 0 && to == mode) || (from == mode && to == APIC_BASE_ENABLE)) {
        return false;                                   /* transitions that SDM 11.12.5 forbids */
    }
    a->regs.base = (v & ~(uint64_t)APIC_BASE_BSP) | (a->regs.base & APIC_BASE_BSP);
    if (to == mode && from != mode) {
        a->regs.id = cpu->apic_id;
    }
    if (!to && from) {
        apic_reset(cpu, true);
    }
    apic_lint0_update(a, false);
    return true;
}

/* ---- life ---- */
void apic_reset(X86CPU *cpu, bool init)
{
    X86Apic *a = cpu->apic;
    X86ApicRegs r = { .id = cpu->apic_id, .dfr = 0xffffffff, .svr = 0xff };

    if (!a) {
        return;
    }
    apic_timer_stop(a);
    r.base = init ? a->regs.base : 0xfee00000 | APIC_BASE_ENABLE | (cpu->vcpu.index == 0 ? APIC_BASE_BSP : 0);
    for (unsigned i = 0; i < APIC_LVTS; i++) {
        r.lvt[i] = APIC_LVT_MASKED;
    }
    /* The bootstrap processor's LINT0 starts as ExtINT: firmware-less boots expect the 8259 to get through. */
    if (cpu->vcpu.index == 0 && !init) {
        r.lvt[APIC_LVT_LINT0] = APIC_DM_EXTINT << 8;
    }
    a->regs = r;        /* at once: a SIPI after this INIT looks for its destination's ID meanwhile */
    x86_cpu_lower(cpu, PENDING_APIC);
    apic_lint0_update(a, false);
}

bool apic_attach(X86CPU *cpu, Error **errp)
{
    X86Apic *a = g_new0(X86Apic, 1);

    a->cpu = cpu;
    cpu->apic = a;
    pthread_mutex_init(&a->timer_lock, NULL);
    apic_timer_init(a);
    apic_reset(cpu, false);
    return true;
}

void apic_detach(X86CPU *cpu)
{
    if (cpu->apic) {
        apic_timer_stop(cpu->apic);
        pthread_mutex_destroy(&cpu->apic->timer_lock);
        g_free(cpu->apic);
        cpu->apic = NULL;
    }
}

void apic_post_load(X86Apic *a)
{
    if (a->in_kernel) {
        return;
    }
    apic_timer_restart(a);
    apic_lint0_update(a, false);
    apic_update(a);
    vcpu_kick(&a->cpu->vcpu);
}

/* ---- the xAPIC page ---- */
static uint64_t page_read(void *opaque, hwaddr offset, unsigned size)
{
    X86CPU *cpu = X86_CPU(vcpu_current());

    if (!cpu || !cpu->apic || !apic_hw_enabled(cpu->apic) || apic_is_x2(cpu->apic)) {
        return ~0ull;
    }
    return offset & 15 || offset >= 0x400 ? 0 : apic_reg_read(cpu, offset);
}

static void page_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    X86CPU *cpu = X86_CPU(vcpu_current());

    if (!cpu) {
        /* A device's write to this range is a message. */
        apic_send_msi(0xfee00000 + offset, value);
        return;
    }
    if (cpu->apic && apic_hw_enabled(cpu->apic) && !apic_is_x2(cpu->apic) && !(offset & 15) && offset < 0x400) {
        apic_reg_write(cpu, offset, value);
    }
}

static const MemoryRegionOps page_ops = {
    .read = page_read, .write = page_write,
    .valid = { .min = 1, .max = 8, .unaligned = true }, .impl = { .min = 4, .max = 4 },
};

MemoryRegion *apic_mmio_region(void)
{
    MemoryRegion *mr = g_new0(MemoryRegion, 1);

    memory_region_init_io(mr, NULL, &page_ops, NULL, "apic-msi", 0x100000);
    mr->lockless = true;
    return mr;
}
