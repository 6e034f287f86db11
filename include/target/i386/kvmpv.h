/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM's paravirtual interface as the software CPU offers it (Linux: Documentation/virt/kvm/x86/msr.rst):
 * clock and wall clock pages, PV EOI, poll control. vCPU thread, or while the vCPUs are stopped.
 */
#ifndef CLEAT_TARGET_I386_KVMPV_H
#define CLEAT_TARGET_I386_KVMPV_H

#include "target/i386/cpu.h"

enum { MSR_KVM_WALL_CLOCK_OLD = 0x11, MSR_KVM_SYSTEM_TIME_OLD = 0x12, MSR_KVM_WALL_CLOCK = 0x4b564d00,
       MSR_KVM_SYSTEM_TIME = 0x4b564d01, MSR_KVM_PV_EOI = 0x4b564d04, MSR_KVM_POLL_CONTROL = 0x4b564d05 };

/* Writes to the MSRs; false: #GP. */
bool x86_kvm_write_wall_clock(X86CPU *cpu, uint64_t v);
bool x86_kvm_write_system_time(X86CPU *cpu, uint64_t v);
bool x86_kvm_write_pv_eoi(X86CPU *cpu, uint64_t v);
/* Sets the guest's flag for the interrupt just taken; false: not enabled. */
bool x86_kvm_pv_eoi_offer(X86CPU *cpu);
/* Takes the flag back; false: the guest had cleared it, so the EOI has happened. */
bool x86_kvm_pv_eoi_take_back(X86CPU *cpu);
/* After virtual time stood still: new reference, pages of all CPUs written again. Machine lock, vCPUs stopped. */
void x86_kvm_clock_resync(void);

#endif
