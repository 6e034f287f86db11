/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System management mode of the software CPU (SDM vol. 3 ch. 32; save areas: APM vol. 2 table 10-1 and QEMU's).
 *
 * A board that has SMM makes one more address space, system memory with SMRAM laid over it, and hands it to each
 * CPU. A CPU in SMM reads, writes and fetches through that space and no other does. Opening, closing and locking
 * of SMRAM for normal code is the chipset's business, in both spaces. Test: tests/unit/test-smm.c.
 */
#ifndef CLEAT_TARGET_I386_SMM_H
#define CLEAT_TARGET_I386_SMM_H

#include "target/i386/cpu.h"

/*
 * The memory that this CPU sees in SMM; NULL (as created): the normal one. Before the CPUs run, so that the accelerator
 * listens to changes of it; the address space outlives the CPU. Main thread, machine lock.
 */
void x86_cpu_set_smm_memory(X86CPU *cpu, AddressSpace *as);
/*
 * The SMI# pin: latches one SMI, taken at the next instruction boundary outside SMM, before INIT, NMI and interrupts.
 * More while one is latched are lost. An APIC message of delivery mode 2 does the same. Any thread.
 */
void x86_cpu_smi(X86CPU *cpu);

/* For the accelerator and target/i386 only. vCPU thread: takes the SMI that is pending. */
void x86_smm_enter(X86CPU *cpu, bool was_halted);

#endif
