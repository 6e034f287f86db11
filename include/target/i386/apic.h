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

#include "system/loop.h"

/*
 * The registers: what is migrated and what KVM_GET/SET_LAPIC carries. irr and tmr are written by any thread
 * (atomic); the rest belongs to the CPU's thread. lvt[]: timer, thermal, performance, LINT0, LINT1, error.
 */
enum { APIC_LVT_TIMER, APIC_LVT_THERMAL, APIC_LVT_PERF, APIC_LVT_LINT0, APIC_LVT_LINT1, APIC_LVT_ERROR, APIC_LVTS };
#define APIC_BASE_BSP (1u << 8)
#define APIC_BASE_X2APIC (1u << 10)
#define APIC_BASE_ENABLE (1u << 11)
typedef struct X86ApicRegs {
    uint64_t base;                  /* IA32_APIC_BASE */
    uint32_t id;                    /* APIC id (xAPIC: shown in bits 31:24) */
    uint32_t tpr, ldr, dfr, svr, esr, esr_pending;
    uint64_t icr;
    uint32_t isr[8];
    _Atomic uint32_t irr[8], tmr[8];
    uint32_t lvt[APIC_LVTS];
    uint32_t timer_initial, timer_divide;   /* TMICT, TDCR */
    int64_t timer_start;            /* CLOCK_VIRTUAL ns when the count was loaded */
    bool pv_eoi_pending;            /* a PV EOI flag was handed to the guest */
    int32_t pv_eoi_vector;
} X86ApicRegs;

struct X86Apic {
    X86CPU *cpu;
    X86ApicRegs regs;
    /* host side */
    pthread_mutex_t timer_lock;     /* leaf lock: timer and the fields it reads */
    Timer timer;
    bool in_kernel;                 /* an accelerator has the real one: regs are a copy and no timer runs here */
    _Atomic bool lint0_level;       /* the 8259's output, as this CPU's LINT0 sees it */
};

/* An interrupt message as I/O APIC and MSI make it (address 0xfeexxxxx, data); any thread, no lock needed. */
void apic_send_msi(uint64_t address, uint32_t data);
/* I/O APIC form. dest_mode: logical; trigger: level. delivery: 0 fixed, 1 lowest, 2 SMI, 4 NMI, 5 INIT, 7 ExtINT. */
void apic_deliver(uint32_t dest, bool logical, uint8_t delivery, uint8_t vector, bool level_trigger);
/* EOI broadcasts reach the I/O APICs through this hook (vector); called with the machine lock held. */
void apic_eoi_hook_add(void (*fn)(void *opaque, int vector), void *opaque);
/* The NMI button: LINT1 as the guest set it up; without a local APIC, the NMI pin. The CPU's thread. */
void apic_deliver_nmi(X86CPU *cpu);
/* Tells the hooks of an EOI. */
void apic_broadcast_eoi(int vector);
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
/* xAPIC registers by byte offset 0..0x3f0. CPU's thread. */
uint32_t apic_reg_read(X86CPU *cpu, unsigned offset);
void apic_reg_write(X86CPU *cpu, unsigned offset, uint32_t v);
/* Any thread: sets IRR (and TMR), and tells the CPU. */
void apic_set_irr(X86Apic *apic, uint8_t vector, bool level);
/* After regs were loaded from elsewhere (vmstate, KVM): arms the timer, looks for interrupts. */
void apic_post_load(X86Apic *apic);
/* The timer has `left` counts to go now (its other registers are set): for copies of an APIC that is elsewhere. */
void apic_timer_note_count(X86CPU *cpu, uint32_t left);
/* PENDING_APIC again where an interrupt is above the priority. CPU's thread. */
void apic_update(X86Apic *apic);
void apic_eoi(X86Apic *apic);
/* Takes in an EOI that the guest gave by its PV EOI flag. CPU's thread. */
void apic_sync_pv_eoi(X86Apic *apic);
/* The xAPIC page at APIC_BASE, mapped by the board over system memory: one region whose ops act on vcpu_current(). */
MemoryRegion *apic_mmio_region(void);

#endif
