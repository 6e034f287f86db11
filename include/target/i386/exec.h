/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an accelerator that runs the CPU in software calls around instructions: events and their delivery.
 *
 * All on the vCPU's thread with fault_jmp set; delivery may itself fault, which comes back by fault_jmp with
 * the next exception pending. The order of events is SDM vol. 3 table 6-2.
 */
#ifndef CLEAT_TARGET_I386_EXEC_H
#define CLEAT_TARGET_I386_EXEC_H

#include "target/i386/cpu.h"

/* st->ev.exception_pending: delivers it (clears it). */
void x86_deliver_exception(X86CPU *cpu);
/* A hardware interrupt that was acknowledged. */
void x86_deliver_interrupt(X86CPU *cpu, int vector);
void x86_deliver_nmi(X86CPU *cpu);
/* #MC, or shutdown where CR4.MCE is clear. */
void x86_deliver_machine_check(X86CPU *cpu);
/* A fault in the delivery of a double fault: asks for a machine reset; true if there was one. */
bool x86_handle_triple_fault(X86CPU *cpu);
/*
 * Looks at st->pending: flush, INIT, SIPI, NMI, interrupts; delivers at most one event that the state allows now.
 * True when an event was taken or the state changed (look again), false when nothing can be taken.
 */
bool x86_handle_pending(X86CPU *cpu);
/* Acknowledges the interrupt that waits, at the 8259s or the local APIC: its vector, -1 none. Machine lock not held. */
int x86_take_vector(X86CPU *cpu);
/* INIT and SIPI that are pending: the state they leave. */
void x86_take_init(X86CPU *cpu);
void x86_take_sipi(X86CPU *cpu);
/* After an instruction that began with TF set, or hit a breakpoint: notes a #DB with these DR6 bits. */
void x86_note_debug(X86CPU *cpu, uint64_t dr6_bits);
/* Is an enabled instruction breakpoint at this linear address? The DR6 bits, 0 if none. */
uint64_t x86_code_breakpoint(X86CPU *cpu, uint64_t lin);

#endif
