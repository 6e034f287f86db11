/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine-check banks filled from outside (SDM vol. 3 ch. 16). The registers themselves: msr.c. Left out: CMCI, LMCE,
 * broadcast to other CPUs (the caller's). Test: tests/unit/test-x86sys.c.
 */
#include <inttypes.h>

#include "target/i386/internal.h"
#include "target/i386/mce.h"

#define MCI_VAL (1ull << 63)
#define MCI_OVER (1ull << 62)
#define MCI_UC (1ull << 61)
#define MCG_CTL_P (1ull << 8)
enum { MCG_MCIP = 4, MCI_CTL = 0, MCI_STATUS, MCI_ADDR, MCI_MISC };

/* A new error over an older one: OVER; an uncorrected one is not overwritten by a corrected one. */
static void record(uint64_t *bank, const X86MachineCheck *mc)
{
    uint64_t old = bank[MCI_STATUS];

    if ((old & MCI_VAL) && (old & MCI_UC) && !(mc->status & MCI_UC)) {
        bank[MCI_STATUS] = old | MCI_OVER;
        return;
    }
    bank[MCI_STATUS] = mc->status | (old & MCI_VAL ? MCI_OVER : 0);
    bank[MCI_ADDR] = mc->addr;
    bank[MCI_MISC] = mc->misc;
}

bool x86_cpu_machine_check(X86CPU *cpu, const X86MachineCheck *mc, Error **errp)
{
    X86State *st = cpu->st;
    uint64_t *bank;

    if (mc->bank >= (st->mcg_cap & 0xff)) {
        error_set(errp, "CPU %d has no machine-check bank %u", cpu->vcpu.index, mc->bank);
        return false;
    }
    if (!(mc->status & MCI_VAL)) {
        error_set(errp, "machine-check status %" PRIx64 " is not valid (bit 63)", mc->status);
        return false;
    }
    bank = &st->mc_banks[mc->bank * 4];
    if ((mc->status & MCI_UC) && (((st->mcg_cap & MCG_CTL_P) && st->mcg_ctl != ~0ull) || bank[MCI_CTL] != ~0ull)) {
        return true;                                    /* reporting is off */
    }
    if ((mc->status & MCI_UC) && (st->mcg_status & MCG_MCIP)) {
        st->ev.triple_fault_pending = true;             /* a second one shuts down */
        vcpu_kick(&cpu->vcpu);
        return true;
    }
    record(bank, mc);
    if (mc->status & MCI_UC) {
        st->mcg_status = mc->mcg_status | MCG_MCIP;
        x86_cpu_raise(cpu, PENDING_MCE);
    }
    return true;
}
