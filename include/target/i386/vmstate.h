/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU's and local APIC's VMState tables; opaque is X86State and X86Apic. Machine lock. */
#ifndef CLEAT_TARGET_I386_VMSTATE_H
#define CLEAT_TARGET_I386_VMSTATE_H

#include "system/vmstate.h"
#include "target/i386/cpu.h"

extern const VMState x86_state_vmstate, x86_apic_vmstate;
void x86_vmstate_register(X86CPU *cpu);
void x86_vmstate_unregister(X86CPU *cpu);

#endif
