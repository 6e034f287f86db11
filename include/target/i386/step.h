/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One instruction by itself: fetched, decoded for this CPU, executed with what must be looked at around it.
 *
 * The software accelerator builds its blocks and its careful steps from these; x86_step_one() is the whole, for an
 * accelerator that meets an instruction it cannot execute (accel/kvm/kvm-rescue.c). vCPU thread, in an exec section,
 * machine lock not held. Test: tests/unit/test-step.c.
 */
#ifndef CLEAT_TARGET_I386_STEP_H
#define CLEAT_TARGET_I386_STEP_H

#include "target/i386/cpu.h"
#include "target/i386/insn.h"

/* Linear address of the instruction at rip. */
static inline uint64_t x86_code_linear(const X86State *st)
{
    return st->mode & MODE_CS64 ? st->rip : (uint32_t)(st->seg[SEG_CS].base + st->rip);
}

/* TLB class of instruction fetches. */
static inline unsigned x86_code_class(const X86State *st)
{
    return x86_cpl(st) == 3 ? TLB_USER : TLB_KERNEL;
}

/*
 * Decodes for this CPU: an instruction whose CPUID feature the guest lacks, or that there is not, becomes one that
 * raises its fault (op is 0 then). *more: the bytes are a proper prefix of an instruction. True: it ends a block.
 */
bool x86_decode_for(X86CPU *cpu, const uint8_t *bytes, size_t avail, Insn *i, bool *more);
/* Raises what an rip beyond the code segment's limit raises; before a fetch. */
void x86_fetch_check(X86CPU *cpu);
/* Fetches and decodes the instruction at lin, which may straddle pages and lie anywhere; raises fetch faults. */
void x86_fetch_insn(X86CPU *cpu, uint64_t lin, Insn *i);
/* Executes the instruction at rip: breakpoints at it, RF, TF, the interrupt shadow and debug traps are honoured. */
void x86_exec_insn(X86CPU *cpu, const Insn *i);

typedef enum X86StepResult {
    X86_STEP_DONE,          /* executed; a trap (#DB) may be pending */
    X86_STEP_DELIVERED,     /* no instruction: an event whose delivery had begun has been delivered */
    X86_STEP_FAULT,         /* the state is that before the instruction; a fault is pending, or shutdown */
} X86StepResult;
/*
 * Takes one step from X86State as it stands, whichever accelerator runs the CPU; its translations are made anew and
 * dropped again. Exceptions are left in st->ev (exception_pending, CR2 set; triple_fault_pending), not delivered, but
 * an exception, NMI or interrupt that is injected comes first and is the step. *mnemonic: of the instruction, NULL
 * when there is none.
 */
X86StepResult x86_step_one(X86CPU *cpu, const char **mnemonic);

#endif
