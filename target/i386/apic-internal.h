/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between apic.c (registers), apic-msg.c (messages) and apic-timer.c. */
#ifndef CLEAT_TARGET_I386_APIC_INTERNAL_H
#define CLEAT_TARGET_I386_APIC_INTERNAL_H

#include "target/i386/internal.h"
#include "target/i386/kvmpv.h"

#define APIC_LVT_MASKED (1u << 16)
enum { APIC_DM_FIXED, APIC_DM_LOWEST, APIC_DM_SMI, APIC_DM_NMI = 4, APIC_DM_INIT, APIC_DM_SIPI, APIC_DM_EXTINT };
enum { APIC_ESR_SEND_ILLEGAL = 1 << 5, APIC_ESR_RECV_ILLEGAL = 1 << 6, APIC_ESR_ILLEGAL_REG = 1 << 7 };

bool apic_is_x2(const X86Apic *a);
bool apic_hw_enabled(const X86Apic *a);
void apic_error(X86Apic *a, uint32_t esr);
void apic_local_fire(X86Apic *a, unsigned lvt);
void apic_lint0_update(X86Apic *a, bool rise);

/* apic-msg.c */
void apic_send_ipi(X86Apic *a);

/* apic-timer.c */
void apic_timer_init(X86Apic *a);
void apic_timer_stop(X86Apic *a);
void apic_timer_set_lvt(X86Apic *a, uint32_t v);
void apic_timer_set_initial(X86Apic *a, uint32_t v);
void apic_timer_set_divide(X86Apic *a, uint32_t v);
uint32_t apic_timer_count(X86Apic *a);
void apic_timer_restart(X86Apic *a);

#endif
