/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The local APIC's registers at their usual place. */
#ifndef APIC_H
#define APIC_H

#include "bare.h"

enum {
    APIC_ID = 0x20, APIC_TPR = 0x80, APIC_PPR = 0xa0, APIC_EOI = 0xb0, APIC_SVR = 0xf0, APIC_ESR = 0x280,
    APIC_ICR = 0x300,
    APIC_LVT_TIMER = 0x320, APIC_INITIAL = 0x380, APIC_CURRENT = 0x390, APIC_DIVIDE = 0x3e0,
};

static inline u32 apic_read(u32 reg)
{
    return *(volatile u32 *)(0xfee00000ul + reg);
}

static inline void apic_write(u32 reg, u32 v)
{
    *(volatile u32 *)(0xfee00000ul + reg) = v;
}

#endif
