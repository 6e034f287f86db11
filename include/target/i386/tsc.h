/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's time-stamp counter and the guest's: frequency, scaling, conversion to ns. Any thread.
 */
#ifndef CLEAT_TARGET_I386_TSC_H
#define CLEAT_TARGET_I386_TSC_H

#include "target/i386/cpu.h"

#define X86_APIC_BUS_HZ 1000000000u     /* local APIC timer input: 1 GHz, as KVM's */

/* The host's TSC frequency in Hz: measured once against the monotonic clock (about 2 ms the first time, at most). */
uint64_t x86_host_tsc_hz(void);
/* Host TSC scaled to the model's frequency, without the CPU's offset. */
uint64_t x86_tsc_now(uint64_t guest_hz);

static inline int64_t x86_tsc_to_ns(uint64_t hz, uint64_t ticks)
{
    return (unsigned __int128)ticks * 1000000000u / hz;
}

#endif
