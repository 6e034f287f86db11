/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of model-specific registers: number, name, where it lives, what may be written (SDM vol. 4).
 *
 * The same table serves RDMSR and WRMSR of the software CPU, vmstate, and the list that KVM copies.
 * vCPU thread, or while it is stopped. Test: tests/unit/test-x86cpu.c.
 */
#ifndef CLEAT_TARGET_I386_MSR_H
#define CLEAT_TARGET_I386_MSR_H

#include "target/i386/cpuid.h"

enum {
    MSR_TSC = 0x10, MSR_APIC_BASE = 0x1b, MSR_TSC_ADJUST = 0x3b, MSR_SPEC_CTRL = 0x48, MSR_MTRR_CAP = 0xfe,
    MSR_ARCH_CAPABILITIES = 0x10a, MSR_SYSENTER_CS = 0x174, MSR_SYSENTER_ESP, MSR_SYSENTER_EIP,
    MSR_MCG_CAP = 0x179, MSR_MCG_STATUS, MSR_MCG_CTL, MSR_MISC_ENABLE = 0x1a0, MSR_MTRR_PHYS0 = 0x200,
    MSR_PAT = 0x277, MSR_MTRR_DEF = 0x2ff, MSR_MC0_CTL = 0x400, MSR_TSC_DEADLINE = 0x6e0, MSR_XSS = 0xda0,
    MSR_EFER = 0xc0000080, MSR_STAR, MSR_LSTAR, MSR_CSTAR, MSR_FMASK, MSR_FS_BASE = 0xc0000100, MSR_GS_BASE,
    MSR_KERNEL_GS_BASE, MSR_TSC_AUX, MSR_VIRT_SSBD = 0xc001011f,
};

typedef struct X86Msr X86Msr;
struct X86Msr {
    uint32_t first, count;          /* numbers first..first+count-1 */
    const char *name;
    uint16_t feat;                  /* X86_FEAT_*: there only with it; X86_FEAT_NONE: always */
    uint16_t flags;                 /* MSR_RO ... */
    int32_t offset;                 /* of a uint64_t (array) in X86State; -1: none, reads `value` */
    uint64_t writable;              /* bits that may be set; any other set bit is #GP */
    uint64_t value;
    bool (*read)(X86CPU *cpu, uint32_t msr, uint64_t *v);       /* false: #GP */
    bool (*write)(X86CPU *cpu, uint32_t msr, uint64_t v);
};
enum { MSR_RO = 1, MSR_IGNORE = 2 /* writes have no effect */, MSR_WO = 4, MSR_CANONICAL = 8, MSR_AMD = 16,
       MSR_STATE = 32 /* architectural state that KVM copies */ };
extern const X86Msr x86_msrs[];
extern const unsigned x86_msr_count;
/* NULL: no such register for this CPU. */
const X86Msr *x86_msr_find(const X86CPU *cpu, uint32_t msr);
bool x86_msr_read(X86CPU *cpu, uint32_t msr, uint64_t *v);      /* false: #GP */
bool x86_msr_write(X86CPU *cpu, uint32_t msr, uint64_t v);

#endif
