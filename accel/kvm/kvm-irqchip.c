/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt controllers under KVM: all in the kernel (on), local APICs in the kernel (split), or all here (off).
 *
 * on: the board's GSIs go to KVM_IRQ_LINE, its 8259s and I/O APIC only show the kernel's (kvm-chips.c). split: its
 * I/O APIC's messages and the devices' MSIs go to KVM_SIGNAL_MSI, and the routing table (kvm-route.c) tells the kernel
 * which vectors' EOIs we want to see.
 * off: before each KVM_RUN a vector that the local APIC model here has ready is injected. Reference: api.rst 4.24,
 * 4.25, 4.52, 4.71.
 */
#include <errno.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "hw/intc/ioapic.h"
#include "system/loop.h"
#include "system/machine.h"
#include "target/i386/apic.h"
#include "target/i386/exec.h"

void kvm_irq_line_set(int gsi, int level)
{
    struct kvm_irq_level l = { .irq = gsi, .level = level };

    kvm_vm_ioctl(KVM_IRQ_LINE, &l);
}

static void kvm_msi_send(uint64_t address, uint32_t data)
{
    struct kvm_msi msi = { .address_lo = address, .address_hi = address >> 32, .data = data };

    kvm_vm_ioctl(KVM_SIGNAL_MSI, &msi);
}

/* An I/O APIC message as the MSI that means the same. */
static void kvm_ioapic_deliver(void *opaque, uint32_t dest, bool logical, uint8_t mode, uint8_t vector, bool level)
{
    kvm_msi_send(0xfee00000 | (dest & 0xff) << 12 | (logical ? 4 : 0),
                 vector | mode << 8 | (level ? 1u << 15 | 1u << 14 : 0));
}

/* The full table: GSI n at 8259 pin n and I/O APIC pin n, but GSI 0 at pin 2. */
static int routing_set_full(void)
{
    struct kvm_irq_routing_entry entries[2 * IOAPIC_PINS];
    unsigned n = 0;

    for (unsigned gsi = 0; gsi < IOAPIC_PINS; gsi++) {
        if (gsi < 16 && gsi != 2) {
            entries[n++] = (struct kvm_irq_routing_entry) {
                .gsi = gsi, .type = KVM_IRQ_ROUTING_IRQCHIP,
                .u.irqchip = { .irqchip = gsi < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE, .pin = gsi & 7 },
            };
        }
        if (gsi != 2) {
            entries[n++] = (struct kvm_irq_routing_entry) {
                .gsi = gsi, .type = KVM_IRQ_ROUTING_IRQCHIP,
                .u.irqchip = { .irqchip = KVM_IRQCHIP_IOAPIC, .pin = gsi ? gsi : 2 },
            };
        }
    }
    return kvm_routes_set_chips(entries, n);
}

/* Split: each I/O APIC pin's entry as an MSI route, from which the kernel learns the level-triggered vectors. */
static void kvm_ioapic_changed(void *opaque)
{
    const IoApic *ioapic = opaque;
    struct kvm_irq_routing_entry entries[IOAPIC_PINS];

    for (unsigned pin = 0; pin < IOAPIC_PINS; pin++) {
        uint64_t e = ioapic->redir[pin];

        entries[pin] = (struct kvm_irq_routing_entry) { .gsi = pin, .type = KVM_IRQ_ROUTING_MSI };
        entries[pin].u.msi.address_lo = 0xfee00000 | (e >> 56) << 12 | (e & 1u << 11 ? 4 : 0);
        entries[pin].u.msi.data = (e & 0x7ff) | (e & 1u << 15 ? 1u << 15 | 1u << 14 : 0);
    }
    kvm_routes_set_chips(entries, IOAPIC_PINS);
}

/* APIC ids above 255, and x2APIC ids as they are in KVM_GET_LAPIC. */
static void x2apic_api_enable(KvmState *s)
{
    struct kvm_enable_cap cap = {
        .cap = KVM_CAP_X2APIC_API,
        .args = { KVM_X2APIC_API_USE_32BIT_IDS | KVM_X2APIC_API_DISABLE_BROADCAST_QUIRK },
    };

    s->cap_x2apic_api = s->cap_x2apic_api && kvm_vm_ioctl(KVM_ENABLE_CAP, &cap) >= 0;
}

bool kvm_irqchip_create(Error **errp)
{
    KvmState *s = kvm_state;
    struct kvm_enable_cap split = { .cap = KVM_CAP_SPLIT_IRQCHIP, .args = { IOAPIC_PINS } };
    int ret = 0;

    switch (s->irqchip) {
    case KVM_CHIP_FULL:
        ret = kvm_vm_ioctl(KVM_CREATE_IRQCHIP, NULL);
        ret = ret < 0 ? ret : routing_set_full();
        break;
    case KVM_CHIP_SPLIT:
        ret = kvm_vm_ioctl(KVM_ENABLE_CAP, &split);
        break;
    case KVM_CHIP_OFF:
        return true;
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM cannot create the interrupt controllers of kernel-irqchip=%s",
                        s->irqchip == KVM_CHIP_FULL ? "on" : "split");
        return false;
    }
    x2apic_api_enable(s);
    apic_msi_sink_set(kvm_msi_send);
    return true;
}

void kvm_machine_setup(Machine *m)
{
    AccelChips *chips = &m->accel_chips;

    if (kvm_state->irqchip == KVM_CHIP_FULL) {
        chips->gsi_set = kvm_irq_line_set;
        kvm_chips_setup(m);
    } else if (kvm_state->irqchip == KVM_CHIP_SPLIT) {
        chips->ioapic_deliver = kvm_ioapic_deliver;
        chips->ioapic_changed = kvm_ioapic_changed;
    }
    if (kvm_state->irqchip != KVM_CHIP_OFF) {
        chips->msi_route_new = kvm_msi_route_new;
        chips->msi_route_set = kvm_msi_route_set;
        chips->msi_route_free = kvm_msi_route_free;
        chips->irqfd_set = kvm_irqfd_set;
    }
}

/* ---- injection from controllers that are here ---- */

/* A vector to inject now, -1: none. Split: only the 8259s are here. */
static int vector_take(X86CPU *cpu)
{
    int v = -1;

    if (kvm_state->irqchip == KVM_CHIP_OFF) {
        return x86_take_vector(cpu);
    }
    machine_lock();
    if (cpu->apic->lint0_level && cpu->pic_ack) {
        v = cpu->pic_ack(cpu->pic_opaque);
    }
    machine_unlock();
    return v;
}

static bool vector_waits(X86CPU *cpu)
{
    if (kvm_state->irqchip == KVM_CHIP_SPLIT) {
        return cpu->apic && cpu->apic->lint0_level;
    }
    return (cpu->st->pending & PENDING_INTR) || apic_has_interrupt(cpu);
}

static void inject_nmi(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);

    if (cpu->st->pending & PENDING_NMI) {
        x86_cpu_lower(cpu, PENDING_NMI);
        kvm_ioctl(kvm_vcpu(vcpu)->fd, KVM_NMI, NULL);
    }
}

bool kvm_irqchip_inject(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);
    struct kvm_run *run = kvm_vcpu(vcpu)->run;
    struct kvm_interrupt irq;
    int v;

    inject_nmi(vcpu);
    if (kvm_state->irqchip == KVM_CHIP_FULL) {
        return false;
    }
    run->request_interrupt_window = 0;
    if (kvm_state->irqchip == KVM_CHIP_OFF) {
        run->cr8 = apic_get_tpr(cpu) >> 4;
    }
    if (!vector_waits(cpu) || (vcpu->debug_step & DEBUG_STEP_NOIRQ)) {
        return false;
    }
    if (!run->ready_for_interrupt_injection) {
        run->request_interrupt_window = 1;
        return false;
    }
    v = vector_take(cpu);
    if (v < 0) {
        return false;
    }
    irq.irq = v;
    kvm_ioctl(kvm_vcpu(vcpu)->fd, KVM_INTERRUPT, &irq);
    run->request_interrupt_window = vector_waits(cpu);
    return true;
}

/* After KVM_RUN: what the guest did to registers that live in the run page. */
void kvm_irqchip_after_run(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);

    if (kvm_state->irqchip == KVM_CHIP_OFF && cpu->apic) {
        struct kvm_run *run = kvm_vcpu(vcpu)->run;

        if (apic_get_tpr(cpu) >> 4 != run->cr8) {
            apic_set_tpr(cpu, run->cr8 << 4);
        }
        if (run->apic_base != apic_read_base(cpu)) {
            apic_write_base(cpu, run->apic_base);
        }
    }
}

/* ---- the local APIC's registers ---- */

void kvm_apic_from_sregs(X86CPU *cpu, const struct kvm_sregs *sregs)
{
    if (cpu->apic) {
        cpu->apic->regs.base = sregs->apic_base;
        if (kvm_state->irqchip == KVM_CHIP_OFF) {
            apic_set_tpr(cpu, sregs->cr8 << 4);
        }
    }
}

void kvm_apic_to_sregs(X86CPU *cpu, struct kvm_sregs *sregs)
{
    if (cpu->apic) {
        sregs->apic_base = cpu->apic->regs.base;
        sregs->cr8 = apic_get_tpr(cpu) >> 4;
    }
}

static uint32_t lapic_reg(const struct kvm_lapic_state *l, unsigned offset)
{
    uint32_t v;

    memcpy(&v, l->regs + offset, 4);
    return v;
}

static void lapic_set(struct kvm_lapic_state *l, unsigned offset, uint32_t v)
{
    memcpy(l->regs + offset, &v, 4);
}

/* Offsets of lvt[] in the register page (SDM vol. 3 table 11-1). */
static const uint16_t lvt_offset[APIC_LVTS] = { 0x320, 0x330, 0x340, 0x350, 0x360, 0x370 };

/* x2APIC ids fill the register, where the kernel agreed to it; xAPIC ids have its top byte. */
static bool ids_are_plain(const X86ApicRegs *r)
{
    return (r->base & APIC_BASE_X2APIC) && kvm_state->cap_x2apic_api;
}

void kvm_apic_get(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);
    struct kvm_lapic_state l;
    X86ApicRegs *r;

    if (kvm_state->irqchip == KVM_CHIP_OFF || !cpu->apic || kvm_ioctl(kvm_vcpu(vcpu)->fd, KVM_GET_LAPIC, &l) < 0) {
        return;
    }
    r = &cpu->apic->regs;
    r->id = ids_are_plain(r) ? lapic_reg(&l, 0x20) : lapic_reg(&l, 0x20) >> 24;
    r->tpr = lapic_reg(&l, 0x80);
    r->ldr = lapic_reg(&l, 0xd0);
    r->dfr = lapic_reg(&l, 0xe0);
    r->svr = lapic_reg(&l, 0xf0);
    r->esr = lapic_reg(&l, 0x280);
    r->icr = lapic_reg(&l, 0x300) | (uint64_t)lapic_reg(&l, 0x310) << 32;
    for (int n = 0; n < 8; n++) {
        r->isr[n] = lapic_reg(&l, 0x100 + 0x10 * n);
        r->tmr[n] = lapic_reg(&l, 0x180 + 0x10 * n);
        r->irr[n] = lapic_reg(&l, 0x200 + 0x10 * n);
    }
    for (int n = 0; n < APIC_LVTS; n++) {
        r->lvt[n] = lapic_reg(&l, lvt_offset[n]);
    }
    r->timer_initial = lapic_reg(&l, 0x380);
    r->timer_divide = lapic_reg(&l, 0x3e0);
    r->esr_pending = 0;
    r->pv_eoi_pending = false;
    apic_timer_note_count(cpu, lapic_reg(&l, 0x390));
    kvm_vcpu(vcpu)->lapic = *r;
    kvm_vcpu(vcpu)->lapic_known = true;
}

/*
 * What the registers were when they were read is not put back: other vCPUs and devices may have sent interrupts
 * meanwhile, which the kernel's have and ours lack. Reset, INIT and a loaded state change ours, and are put.
 */
static bool lapic_unchanged(VCpu *vcpu)
{
    const KvmVcpu *v = kvm_vcpu(vcpu);

    return v->lapic_known && !memcmp(&v->lapic, &X86_CPU(vcpu)->apic->regs, sizeof(v->lapic));
}

int kvm_apic_put(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);
    struct kvm_lapic_state l = { { 0 } };
    const X86ApicRegs *r;

    if (kvm_state->irqchip == KVM_CHIP_OFF || !cpu->apic || lapic_unchanged(vcpu)) {
        return 0;
    }
    r = &cpu->apic->regs;
    lapic_set(&l, 0x20, ids_are_plain(r) ? r->id : r->id << 24);
    lapic_set(&l, 0x30, 0x50014);
    lapic_set(&l, 0x80, r->tpr);
    lapic_set(&l, 0xd0, r->ldr);
    lapic_set(&l, 0xe0, r->dfr);
    lapic_set(&l, 0xf0, r->svr);
    lapic_set(&l, 0x280, r->esr);
    lapic_set(&l, 0x300, r->icr);
    lapic_set(&l, 0x310, r->icr >> 32);
    for (int n = 0; n < 8; n++) {
        lapic_set(&l, 0x100 + 0x10 * n, r->isr[n]);
        lapic_set(&l, 0x180 + 0x10 * n, r->tmr[n]);
        lapic_set(&l, 0x200 + 0x10 * n, r->irr[n]);
    }
    for (int n = 0; n < APIC_LVTS; n++) {
        lapic_set(&l, lvt_offset[n], r->lvt[n]);
    }
    lapic_set(&l, 0x380, r->timer_initial);
    lapic_set(&l, 0x390, apic_reg_read(cpu, 0x390));
    lapic_set(&l, 0x3e0, r->timer_divide);
    return kvm_ioctl(kvm_vcpu(vcpu)->fd, KVM_SET_LAPIC, &l);
}
