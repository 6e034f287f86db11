/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's 8259s and I/O APIC as the board's devices see them (kernel-irqchip=on).
 *
 * The board makes the same devices as without KVM; their registers are copied from the kernel before a save or a
 * look, and to it after a load, a reset or a change, so that a stream holds the same bytes whoever has the chip.
 * What the kernel does not
 * keep: ICW1's SNGL and LTIM (it takes neither), the input levels of the I/O APIC (the device notes them), edges on
 * masked I/O APIC pins (they are ignored when the mask goes). The 8254 is never the kernel's here.
 * Machine lock. Reference: KVM_GET_IRQCHIP (api.rst 4.26). Test: tests/kvm/test-accel.py.
 */
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "system/machine.h"

#define CASCADE_BIT (1 << 2)
#define REDIR_GUEST_BITS 0xff0000000001efffull      /* all but delivery status and what is reserved */
#define REDIR_LEVEL (1u << 15)
#define REDIR_MASKED (1u << 16)

/* ---- 8259 ---- */

static void pic_from_kernel(I8259 *s, const struct kvm_pic_state *k)
{
    s->level = k->last_irr;
    s->irr = k->irr;
    s->imr = k->imr;
    s->isr = k->isr;
    s->elcr = k->elcr;
    s->icw_step = k->init_state ? k->init_state + 1 : 0;
    s->icw4_expected = k->init4;
    s->single = s->ltim = false;
    s->vector_base = k->irq_base;
    s->lowest = (k->priority_add + 7) & 7;
    s->read_isr = k->read_reg_select;
    s->poll = k->poll;
    s->special_mask = k->special_mask;
    s->auto_eoi = k->auto_eoi;
    s->rotate_on_aeoi = k->rotate_on_auto_eoi;
    s->special_nested = k->special_fully_nested_mode;
}

static void pic_to_kernel(const I8259 *s, struct kvm_pic_state *k)
{
    k->last_irr = s->level;
    k->irr = s->irr;
    k->imr = s->imr;
    k->isr = s->isr;
    k->elcr = s->elcr;
    k->elcr_mask = s->elcr_mask;
    k->init_state = s->icw_step ? s->icw_step - 1 : 0;
    k->init4 = s->icw4_expected;
    k->irq_base = s->vector_base;
    k->priority_add = (s->lowest + 1) & 7;
    k->read_reg_select = s->read_isr;
    k->poll = s->poll;
    k->special_mask = s->special_mask;
    k->auto_eoi = s->auto_eoi;
    k->rotate_on_auto_eoi = s->rotate_on_aeoi;
    k->special_fully_nested_mode = s->special_nested;
}

static bool pic_read(bool master, struct kvm_irqchip *chip)
{
    *chip = (struct kvm_irqchip) { .chip_id = master ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE };
    return kvm_vm_ioctl(KVM_GET_IRQCHIP, chip) >= 0;
}

/* The kernel pulses the cascade, the device follows the slave's output as a level. */
static void kvm_pic_get(I8259 *s)
{
    struct kvm_irqchip chip;

    if (!pic_read(s->master, &chip)) {
        return;
    }
    pic_from_kernel(s, &chip.chip.pic);
    if (s->master && s->slave && pic_read(false, &chip)) {
        I8259 slave = *s->slave;
        bool up;

        pic_from_kernel(&slave, &chip.chip.pic);
        up = i8259_output(&slave);
        s->level = up ? s->level | CASCADE_BIT : s->level & ~CASCADE_BIT;
        s->irr = up ? s->irr | CASCADE_BIT : s->irr & ~CASCADE_BIT;
    }
}

static void kvm_pic_put(I8259 *s)
{
    struct kvm_irqchip chip;

    if (!pic_read(s->master, &chip)) {
        return;
    }
    pic_to_kernel(s, &chip.chip.pic);
    if (s->master) {
        chip.chip.pic.last_irr &= ~CASCADE_BIT;
    }
    kvm_vm_ioctl(KVM_SET_IRQCHIP, &chip);
}

/* ---- I/O APIC ---- */

static bool ioapic_read_kernel(struct kvm_irqchip *chip)
{
    *chip = (struct kvm_irqchip) { .chip_id = KVM_IRQCHIP_IOAPIC };
    return kvm_vm_ioctl(KVM_GET_IRQCHIP, chip) >= 0;
}

static bool waits_for_unmask(uint64_t redir)
{
    return (redir & REDIR_MASKED) && !(redir & REDIR_LEVEL);
}

static void kvm_ioapic_get(IoApic *s)
{
    struct kvm_irqchip chip;
    const struct kvm_ioapic_state *k = &chip.chip.ioapic;

    if (!ioapic_read_kernel(&chip)) {
        return;
    }
    s->select = k->ioregsel;
    s->id = k->id & 0x0f;
    s->irr = k->irr;
    for (int n = 0; n < IOAPIC_PINS; n++) {
        s->redir[n] = k->redirtbl[n].bits & REDIR_GUEST_BITS;
        if (waits_for_unmask(s->redir[n])) {
            s->irr &= ~(1u << n);
        }
    }
}

static void kvm_ioapic_put(IoApic *s)
{
    struct kvm_irqchip chip;
    struct kvm_ioapic_state *k = &chip.chip.ioapic;

    if (!ioapic_read_kernel(&chip)) {
        return;
    }
    k->ioregsel = s->select;
    k->id = s->id;
    k->irr = s->irr;
    for (int n = 0; n < IOAPIC_PINS; n++) {
        k->redirtbl[n].bits = s->redir[n];
    }
    kvm_vm_ioctl(KVM_SET_IRQCHIP, &chip);
}

static const I8259Kernel pic_kernel = { .get = kvm_pic_get, .put = kvm_pic_put };
static const IoApicKernel ioapic_kernel = { .get = kvm_ioapic_get, .put = kvm_ioapic_put };

void kvm_chips_setup(Machine *m)
{
    m->accel_chips.pic_kernel = &pic_kernel;
    m->accel_chips.ioapic_kernel = &ioapic_kernel;
}
