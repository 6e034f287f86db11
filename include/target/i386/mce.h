/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine checks from outside, into a CPU's bank (SDM vol. 3 ch. 16). Test: tests/unit/test-x86sys.c. */
#ifndef CLEAT_TARGET_I386_MCE_H
#define CLEAT_TARGET_I386_MCE_H

#include "target/i386/cpu.h"

typedef struct X86MachineCheck {
    unsigned bank;
    uint64_t status, mcg_status, addr, misc;    /* as MCi_STATUS, MCG_STATUS, MCi_ADDR, MCi_MISC will read */
} X86MachineCheck;
/*
 * Puts an error into a bank. An uncorrected one (status bit 61) raises #MC, or shuts the CPU down where CR4.MCE is
 * clear or one is in progress; a corrected one is only recorded. What the guest has switched off is lost. The CPU's
 * thread (vcpu_run_sync), or while it is stopped. False: no such bank, or status without VAL.
 */
bool x86_cpu_machine_check(X86CPU *cpu, const X86MachineCheck *mc, Error **errp);

#endif
