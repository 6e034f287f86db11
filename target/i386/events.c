/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events from outside: the pending word, halting and waking, INIT, SIPI, NMI and interrupts (SDM vol. 3 6.8, 8.4).
 *
 * raise and lower: any thread. The rest: the CPU's thread. SMM itself: smm.c.
 * Test: tests/unit/test-x86cpu.c.
 */
#include "system/loop.h"
#include "target/i386/internal.h"
#include "target/i386/smm.h"

void x86_cpu_raise(X86CPU *cpu, uint32_t pending)
{
    atomic_fetch_or(&cpu->st->pending, pending);
    vcpu_kick(&cpu->vcpu);
}

void x86_cpu_lower(X86CPU *cpu, uint32_t pending)
{
    atomic_fetch_and(&cpu->st->pending, ~pending);
}

void x86_cpu_set_a20(X86CPU *cpu, bool level)
{
    uint64_t mask = level ? ~0ull : ~(1ull << 20);

    if (!x86_feat_is_kvm() && atomic_exchange(&cpu->st->a20_mask, mask) != mask) {
        x86_cpu_raise(cpu, PENDING_FLUSH);
    }
}

static bool interrupts_open(const X86State *st)
{
    return (st->rflags & FL_IF) && !st->ev.interrupt_shadow;
}

bool x86_cpu_has_work(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t p = atomic_load(&st->pending);

    if (st->mp_state == MP_UNINITIALIZED) {
        return p & (PENDING_INIT | PENDING_SIPI | PENDING_RESET);
    }
    if ((p & (PENDING_RESET | PENDING_MCE)) || (!st->ev.smm && (p & (PENDING_INIT | PENDING_SMI)))) {
        return true;
    }
    if ((p & PENDING_NMI) && !st->ev.nmi_masked) {
        return true;
    }
    if (!(st->rflags & FL_IF)) {
        return false;
    }
    return (p & PENDING_INTR) || ((p & PENDING_APIC) && apic_has_interrupt(cpu));
}

/*
 * INIT# (SDM 10.4.2): an application processor then waits for SIPI, the bootstrap processor starts at the reset
 * vector. A SIPI sent right after it may come at any moment of this: it and its vector stay, and it finds INIT either
 * pending or done.
 */
void x86_take_init(X86CPU *cpu)
{
    x86_cpu_init_signal(cpu);
    x86_cpu_lower(cpu, PENDING_INIT);
}

void x86_take_sipi(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t vector = st->ev.sipi_vector & 0xff;

    x86_cpu_lower(cpu, PENDING_SIPI);
    if (st->mp_state != MP_UNINITIALIZED) {
        return;
    }
    x86_seg_set_real(cpu, SEG_CS, vector << 8);
    st->rip = 0;
    st->mp_state = MP_RUNNABLE;
    atomic_store(&cpu->vcpu.halted, false);
    x86_update_mode(cpu);
}

static int pic_vector(X86CPU *cpu)
{
    int v;

    if (!cpu->pic_ack) {
        x86_cpu_lower(cpu, PENDING_INTR);
        return -1;
    }
    machine_lock();
    v = cpu->pic_ack(cpu->pic_opaque);
    machine_unlock();
    return v;
}

int x86_take_vector(X86CPU *cpu)
{
    uint32_t p = atomic_load(&cpu->st->pending);
    int v = -1;

    if (p & PENDING_INTR) {
        v = pic_vector(cpu);
    } else if (p & PENDING_APIC) {
        x86_cpu_lower(cpu, PENDING_APIC);
        v = apic_ack(cpu);
        if (cpu->apic) {
            apic_update(cpu->apic);
        }
    }
    return v;
}

static bool take_interrupt(X86CPU *cpu, uint32_t p)
{
    int v = x86_take_vector(cpu);

    if (v < 0) {
        return p & PENDING_APIC;
    }
    cpu->st->mp_state = MP_RUNNABLE;
    x86_deliver_interrupt(cpu, v);
    return true;
}

bool x86_handle_pending(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t p = atomic_load(&st->pending);

    if (p & PENDING_FLUSH) {
        x86_cpu_lower(cpu, PENDING_FLUSH);
        x86_tlb_flush_memory(cpu);
        return true;
    }
    if ((p & PENDING_MCE) && st->mp_state != MP_UNINITIALIZED) {
        x86_cpu_lower(cpu, PENDING_MCE);
        st->mp_state = MP_RUNNABLE;
        x86_deliver_machine_check(cpu);
        return true;
    }
    if ((p & PENDING_SMI) && !st->ev.smm && !st->ev.interrupt_shadow && st->mp_state != MP_UNINITIALIZED) {
        x86_smm_enter(cpu, st->mp_state == MP_HALTED);
        return true;
    }
    if ((p & PENDING_INIT) && !st->ev.smm) {            /* in SMM it waits for RSM */
        x86_take_init(cpu);
        return true;
    }
    if (p & PENDING_SIPI) {
        x86_take_sipi(cpu);
        return true;
    }
    if (st->mp_state == MP_UNINITIALIZED) {
        return false;
    }
    if (p & PENDING_RESET) {
        x86_cpu_lower(cpu, PENDING_RESET);
        return true;
    }
    if ((p & PENDING_NMI) && !st->ev.nmi_masked && !st->ev.interrupt_shadow) {
        x86_cpu_lower(cpu, PENDING_NMI);
        st->mp_state = MP_RUNNABLE;
        x86_deliver_nmi(cpu);
        return true;
    }
    if ((p & (PENDING_INTR | PENDING_APIC)) && interrupts_open(st)) {
        return take_interrupt(cpu, p);
    }
    return false;
}
