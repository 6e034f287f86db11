/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory operand's slow ways: non-flat segments, TLB misses, MMIO, pages under watch, crossings.
 * Called by the inline functions of sem.h only; vCPU thread.
 */
#include "sem.h"

uint64_t sem_ld_at(X86CPU *cpu, uint64_t lin, unsigned size)
{
    switch (size) {
    case 1: return x86_ld8(cpu, lin);
    case 2: return x86_ld16(cpu, lin);
    case 4: return x86_ld32(cpu, lin);
    default: return x86_ld64(cpu, lin);
    }
}

void sem_st_at(X86CPU *cpu, uint64_t lin, uint64_t v, unsigned size)
{
    switch (size) {
    case 1: x86_st8(cpu, lin, v); break;
    case 2: x86_st16(cpu, lin, v); break;
    case 4: x86_st32(cpu, lin, v); break;
    default: x86_st64(cpu, lin, v); break;
    }
}

uint64_t sem_ld_slow(X86CPU *cpu, const Insn *i, unsigned size)
{
    return sem_ld_at(cpu, ea_linear(cpu, i, size, false), size);
}

void sem_st_slow(X86CPU *cpu, const Insn *i, uint64_t v, unsigned size)
{
    sem_st_at(cpu, ea_linear(cpu, i, size, true), v, size);
}

void *sem_rmw_slow(X86CPU *cpu, const Insn *i, unsigned size, uint64_t *lin)
{
    void *p;

    *lin = ea_linear(cpu, i, size, true);
    p = x86_host(cpu, *lin, size, true);
    if (!p) {
        x86_probe(cpu, *lin, size, true);
    }
    return p;
}
