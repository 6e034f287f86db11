/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The local APIC (SDM vol. 3 ch. 11), xAPIC and x2APIC, and the interrupt messages between CPUs and chips.
 *
 * Shared by all accelerators: an in-kernel APIC under KVM fills the same registers (X86ApicRegs) for save and load.
 * Messages may be sent from any thread. Test: tests/unit/test-apic.c.
 */
#ifndef CLEAT_TARGET_I386_APIC_H
#define CLEAT_TARGET_I386_APIC_H

#include "target/i386/cpu.h"

/* An interrupt message as I/O APIC and MSI make it (address 0xfeexxxxx, data); any thread, no lock needed. */
void apic_send_msi(uint64_t address, uint32_t data);
/* I/O APIC form. dest_mode: logical; trigger: level. delivery: 0 fixed, 1 lowest, 2 SMI, 4 NMI, 5 INIT, 7 ExtINT. */
void apic_deliver(uint32_t dest, bool logical, uint8_t delivery, uint8_t vector, bool level_trigger);
/* EOI broadcasts reach the I/O APICs through this hook (vector); called with the machine lock held. */
void apic_eoi_hook_add(void (*fn)(void *opaque, int vector), void *opaque);
/* The 8259's INTR output to all CPUs' LINT0 (the bootstrap processor takes it). Machine lock. */
void apic_set_pic_level(int level);
/* Under KVM, messages go to the kernel instead: accel sets these; NULL restores the software APIC. */
void apic_msi_sink_set(void (*send)(uint64_t address, uint32_t data));

/* CPU-side interface (target/i386 only). */
bool apic_attach(X86CPU *cpu, Error **errp);
void apic_detach(X86CPU *cpu);
void apic_reset(X86CPU *cpu, bool init);
int apic_ack(X86CPU *cpu);                      /* vector to deliver now, -1 none; -2: ask the PIC */
bool apic_has_interrupt(X86CPU *cpu);           /* above TPR/ISR priority */
uint64_t apic_read_base(X86CPU *cpu);
bool apic_write_base(X86CPU *cpu, uint64_t v);  /* false: #GP */
bool apic_msr_read(X86CPU *cpu, uint32_t msr, uint64_t *v);      /* 0x800..0x8ff, false: #GP */
bool apic_msr_write(X86CPU *cpu, uint32_t msr, uint64_t v);
uint8_t apic_get_tpr(X86CPU *cpu);              /* CR8: bits 7:4 */
void apic_set_tpr(X86CPU *cpu, uint8_t v);
void apic_set_tsc_deadline(X86CPU *cpu, uint64_t tsc);
/* The xAPIC page at APIC_BASE, mapped by the board over system memory: one region whose ops act on vcpu_current(). */
MemoryRegion *apic_mmio_region(void);

#endif
