/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt messages: between CPUs (ICR), from I/O APICs and MSI, and EOI broadcasts (SDM vol. 3 11.6, 11.11).
 *
 * Any thread, no lock: a message only ORs into the target's IRR or pending word. Left out: focus processor;
 * "lowest priority" picks the lowest TPR, in turn among equals. Test: tests/unit/test-apic.c.
 */
#include "target/i386/apic-internal.h"
#include "system/loop.h"

#define EOI_HOOKS 8
/* Wiring that the board makes once, before CPUs run. */
static struct {
    struct { void (*fn)(void *opaque, int vector); void *opaque; } eoi[EOI_HOOKS];
    int eoi_count;
    void (*msi_sink)(uint64_t address, uint32_t data);
    _Atomic uint32_t lowest_turn;
} apic_wiring;

void apic_eoi_hook_add(void (*fn)(void *opaque, int vector), void *opaque)
{
    if (apic_wiring.eoi_count < EOI_HOOKS) {
        apic_wiring.eoi[apic_wiring.eoi_count].fn = fn;
        apic_wiring.eoi[apic_wiring.eoi_count++].opaque = opaque;
    }
}

void apic_msi_sink_set(void (*send)(uint64_t address, uint32_t data))
{
    apic_wiring.msi_sink = send;
}

void apic_broadcast_eoi(int vector)
{
    bool mine = !machine_locked();

    if (mine) {
        machine_lock();
    }
    for (int i = 0; i < apic_wiring.eoi_count; i++) {
        apic_wiring.eoi[i].fn(apic_wiring.eoi[i].opaque, vector);
    }
    if (mine) {
        machine_unlock();
    }
}

/* Is this CPU addressed? wide: dest is a 32-bit x2APIC destination. */
static bool apic_matches(const X86Apic *a, uint32_t dest, bool logical, bool wide)
{
    const X86ApicRegs *r = &a->regs;

    if (!apic_hw_enabled(a)) {
        return false;
    }
    if (dest == (wide ? 0xffffffff : 0xff)) {
        return true;
    }
    if (!logical) {
        return r->id == dest;
    }
    if (apic_is_x2(a)) {
        uint32_t cluster = r->id >> 4;

        if (!wide) {
            return cluster == 0 && (dest >> (r->id & 15) & 1);
        }
        return dest >> 16 == cluster && (dest & 0xffff) >> (r->id & 15) & 1;
    }
    if (r->dfr >> 28 == 0xf) {
        return (r->ldr >> 24) & dest & 0xff;
    }
    return r->ldr >> 28 == ((dest >> 4) & 0xf) && ((r->ldr >> 24) & dest & 0xf);
}

/* INIT ends what came before it: a SIPI that the CPU has not seen yet is lost with the rest. */
static void accept_init(X86CPU *cpu)
{
    x86_cpu_lower(cpu, PENDING_SIPI);
    x86_cpu_raise(cpu, PENDING_INIT);
}

/* A CPU takes a SIPI only while it waits for one, or will by the INIT before it; else it is lost (SDM vol. 3 8.4). */
static void accept_sipi(X86CPU *cpu, uint8_t vector)
{
    if ((atomic_load(&cpu->st->pending) & PENDING_INIT)
        || __atomic_load_n(&cpu->st->mp_state, __ATOMIC_ACQUIRE) == MP_UNINITIALIZED) {
        cpu->st->ev.sipi_vector = vector;
        x86_cpu_raise(cpu, PENDING_SIPI);
    }
}

/* One message to one CPU. */
static void apic_accept(X86Apic *a, uint8_t delivery, uint8_t vector, bool level, bool deassert)
{
    X86CPU *cpu = a->cpu;

    switch (delivery) {
    case APIC_DM_FIXED:
    case APIC_DM_LOWEST:
        if (vector >= 16 && (a->regs.svr & 0x100)) {
            apic_set_irr(a, vector, level);
        }
        break;
    case APIC_DM_SMI: x86_cpu_raise(cpu, PENDING_SMI); break;
    case APIC_DM_NMI: x86_cpu_raise(cpu, PENDING_NMI); break;
    case APIC_DM_INIT:
        if (!deassert) {
            accept_init(cpu);
        }
        break;
    case APIC_DM_SIPI: accept_sipi(cpu, vector); break;
    case APIC_DM_EXTINT: x86_cpu_raise(cpu, PENDING_INTR); break;
    default: break;
    }
}

typedef struct Message {
    uint32_t dest;
    bool logical, wide, level, deassert;
    uint8_t delivery, vector;
} Message;

static void send_lowest(const Message *m)
{
    uint32_t turn = atomic_fetch_add(&apic_wiring.lowest_turn, 1);
    int n = vcpu_count();
    X86Apic *best = NULL;

    for (int i = 0; i < n; i++) {
        X86Apic *a = X86_CPU(vcpu_get((i + turn) % n))->apic;

        if (a && apic_matches(a, m->dest, m->logical, m->wide) && (a->regs.svr & 0x100)
            && (!best || a->regs.tpr < best->regs.tpr)) {
            best = a;
        }
    }
    if (best) {
        apic_accept(best, APIC_DM_FIXED, m->vector, m->level, false);
    }
}

static void send(const Message *m)
{
    int n = vcpu_count();

    if (m->delivery == APIC_DM_LOWEST) {
        send_lowest(m);
        return;
    }
    for (int i = 0; i < n; i++) {
        X86Apic *a = X86_CPU(vcpu_get(i))->apic;

        if (a && apic_matches(a, m->dest, m->logical, m->wide)) {
            apic_accept(a, m->delivery, m->vector, m->level, m->deassert);
        }
    }
}

void apic_deliver(uint32_t dest, bool logical, uint8_t delivery, uint8_t vector, bool level_trigger)
{
    Message m = { .dest = dest, .logical = logical, .wide = dest > 0xff, .level = level_trigger,
                  .delivery = delivery, .vector = vector };

    send(&m);
}

void apic_send_msi(uint64_t address, uint32_t data)
{
    uint32_t dest = ((address >> 12) & 0xff) | ((address >> 5) & 0x7f) << 8;

    if (apic_wiring.msi_sink) {
        apic_wiring.msi_sink(address, data);
        return;
    }
    apic_deliver(dest, address & 4, (data >> 8) & 7, data, data & 0x8000);
}

void apic_send_ipi(X86Apic *a)
{
    uint64_t icr = a->regs.icr;
    unsigned shorthand = (icr >> 18) & 3;
    bool x2 = apic_is_x2(a);
    Message m = {
        .dest = x2 ? icr >> 32 : icr >> 56, .wide = x2, .logical = icr & 0x800, .level = icr & 0x8000,
        .delivery = (icr >> 8) & 7, .vector = icr, .deassert = (icr & 0xc000) == 0x8000,
    };
    int n = vcpu_count();

    if (m.delivery <= APIC_DM_LOWEST && m.vector < 16) {
        apic_error(a, APIC_ESR_SEND_ILLEGAL);
        return;
    }
    m.level = false;                                    /* fixed IPIs are edges */
    if (shorthand == 0) {
        send(&m);
        return;
    }
    if (shorthand == 1) {
        apic_accept(a, m.delivery, m.vector, false, m.deassert);
        return;
    }
    for (int i = 0; i < n; i++) {
        X86Apic *other = X86_CPU(vcpu_get(i))->apic;

        if (other && !(shorthand == 3 && other == a)) {
            apic_accept(other, m.delivery, m.vector, false, m.deassert);
        }
    }
}

void apic_set_pic_level(int level)
{
    int n = vcpu_count();

    for (int i = 0; i < n; i++) {
        X86CPU *cpu = X86_CPU(vcpu_get(i));

        if (!cpu->apic) {
            if (i == 0) {
                (level ? x86_cpu_raise : x86_cpu_lower)(cpu, PENDING_INTR);
            }
            continue;
        }
        if (atomic_exchange(&cpu->apic->lint0_level, level != 0) != (level != 0)) {
            apic_lint0_update(cpu->apic, level);
        }
    }
}
