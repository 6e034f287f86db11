/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between instruction semantics (target/i386/sem/) and the machine they run on (mmu.c, seg.c, excp.c, ...).
 *
 * Every function that can fault raises with x86_raise*(), which does not return (siglongjmp to the run loop);
 * so a semantic function does all its loads and checks before it commits anything: at a fault the state is
 * that before the instruction. vCPU thread only, machine lock not held. cpu->st->rip is the address of
 * the CURRENT instruction while its function runs; the run loop adds the length afterwards unless the
 * function returned with a new rip (see X86SemFn).
 */
#ifndef CLEAT_TARGET_I386_INTERP_H
#define CLEAT_TARGET_I386_INTERP_H

#include "target/i386/cpu.h"
#include "target/i386/insn.h"
#include "target/i386/mmu.h"

/*
 * A semantic function. On entry st->rip is the instruction's own address. It must leave st->rip at the next
 * instruction: fall-through rows call x86_next(st, i) (inline) last; branches store the target instead.
 * Rows marked "ends block" in insn.def may change mode, memory map or interrupts: the run loop looks again.
 */
static inline void x86_next(X86State *st, const Insn *i)
{
    uint64_t rip = st->rip + i->length;

    st->rip = (st->mode & MODE_CS64) ? rip : (uint32_t)rip;
}

/* Exceptions: never return. error: pushed where the vector has one. */
G_NORETURN void x86_raise(X86CPU *cpu, int vector);
G_NORETURN void x86_raise_err(X86CPU *cpu, int vector, uint32_t error);
G_NORETURN void x86_raise_pf(X86CPU *cpu, uint64_t linear, uint32_t error);
/* Software interrupts after the instruction: INT n, INT3, INTO, ICEBP. rip_next: return address. Returns after
 * delivery. */
void x86_soft_int(X86CPU *cpu, int vector, uint64_t rip_next, bool is_int3_or_into, bool icebp);

/*
 * In target/i386/mmu.h, inline: x86_linear(cpu, seg, offset, size, write): linear address of seg:offset after limit,
 * type, canonical and alignment checks (#GP, or #SS for SS). x86_ld8/16/32/64(cpu, linear) and x86_st8/16/32/64(cpu,
 * linear, v): data access at linear addresses, with the current CPL's rights (explicit access). Little-endian; a
 * crossing of two pages checks both before anything is written. MMIO goes through memory dispatch.
 * x86_host(cpu, linear, len, write): host address for direct access to [linear, linear+len) of plain RAM inside one
 * page, or NULL (MMIO, code page under watch, crossing): use ld/st then. Faults like an access.
 * Read-modify-write asks with write = true.
 */
void x86_ld_bytes(X86CPU *cpu, uint64_t linear, void *buf, unsigned len);          /* len <= 4096 */
void x86_st_bytes(X86CPU *cpu, uint64_t linear, const void *buf, unsigned len);
/* Raises the fault that a write (or read) of the range would raise; changes nothing but A/D bits. */
void x86_probe(X86CPU *cpu, uint64_t linear, unsigned len, bool write);
/* Implicit supervisor accesses (descriptor tables, TSS, IDT): ignore CPL and AC. */
uint64_t x86_sys_ld(X86CPU *cpu, uint64_t linear, unsigned len);
void x86_sys_st(X86CPU *cpu, uint64_t linear, uint64_t v, unsigned len);

/* Segments and transfers (seg.c, excp.c). */
void x86_load_seg(X86CPU *cpu, int seg, uint16_t selector);            /* MOV/POP/Lxx to DS ES SS FS GS, all modes */
void x86_far_jmp(X86CPU *cpu, uint16_t selector, uint64_t offset, unsigned opsize, uint64_t rip_next);
void x86_far_call(X86CPU *cpu, uint16_t selector, uint64_t offset, unsigned opsize, uint64_t rip_next);
void x86_far_ret(X86CPU *cpu, unsigned opsize, unsigned pop_bytes);
void x86_iret(X86CPU *cpu, unsigned opsize, uint64_t rip_next);
void x86_syscall(X86CPU *cpu, uint64_t rip_next);
void x86_sysret(X86CPU *cpu, unsigned opsize);
void x86_sysenter(X86CPU *cpu, uint64_t rip_next);
void x86_sysexit(X86CPU *cpu, unsigned opsize);
void x86_rsm(X86CPU *cpu);
void x86_lldt(X86CPU *cpu, uint16_t selector);
void x86_ltr(X86CPU *cpu, uint16_t selector);
/* LAR, LSL, VERR, VERW: true and *out when accessible (ZF). */
bool x86_lar(X86CPU *cpu, uint16_t selector, uint32_t *out);
bool x86_lsl(X86CPU *cpu, uint16_t selector, uint32_t *out);
bool x86_verr(X86CPU *cpu, uint16_t selector, bool write);

/* System registers (sys.c); each checks CPL and values and raises. */
uint64_t x86_read_cr(X86CPU *cpu, int n);
void x86_write_cr(X86CPU *cpu, int n, uint64_t v);
uint64_t x86_read_dr(X86CPU *cpu, int n);
void x86_write_dr(X86CPU *cpu, int n, uint64_t v);
void x86_clts(X86CPU *cpu);
void x86_lmsw(X86CPU *cpu, uint16_t v);
void x86_rdmsr(X86CPU *cpu);
void x86_wrmsr(X86CPU *cpu);
void x86_cpuid(X86CPU *cpu);
uint64_t x86_rdtsc(X86CPU *cpu);                     /* no privilege check */
void x86_rdpmc(X86CPU *cpu);
void x86_xgetbv(X86CPU *cpu);
void x86_xsetbv(X86CPU *cpu);
void x86_invlpg(X86CPU *cpu, uint64_t linear);
void x86_invpcid(X86CPU *cpu, uint64_t type, uint64_t desc_lo, uint64_t desc_hi);
void x86_hypercall(X86CPU *cpu, bool vmmcall);
void x86_hlt(X86CPU *cpu);                           /* privilege checked; halts unless an event is pending */
void x86_mwait(X86CPU *cpu);
void x86_monitor(X86CPU *cpu, uint64_t linear);
void x86_cli(X86CPU *cpu);
void x86_sti(X86CPU *cpu);
/* POPF/IRET-style flag load with the mask that CPL, IOPL and VM allow; opsize 2, 4, 8. */
void x86_load_flags(X86CPU *cpu, uint64_t v, unsigned opsize);
/* Ports: permission (CPL, IOPL, TSS bitmap) and access; size 1, 2, 4. */
void x86_io_check(X86CPU *cpu, uint16_t port, unsigned size);
uint32_t x86_io_in(X86CPU *cpu, uint16_t port, unsigned size);
void x86_io_out(X86CPU *cpu, uint16_t port, unsigned size, uint32_t v);

/* LOCKed access that x86_host() could not give a pointer for: run fn alone (other vCPUs held), then store. */
void x86_atomic_begin(X86CPU *cpu);
void x86_atomic_end(X86CPU *cpu);

/* Does the guest have this CPUID feature (row gate of insn.def)? Gate numbers come from the feature table. */
bool x86_has_gate(const X86CPU *cpu, unsigned gate);

/* Is an interrupt or stop request waiting? rep instructions ask between chunks and leave with rip unchanged. */
static inline bool x86_must_leave(const X86CPU *cpu)
{
    return atomic_load_explicit(&cpu->vcpu.exit_request, memory_order_relaxed) != 0;
}

/* FPU/SSE/AVX access checks by mode bits: raise #UD/#NM/#MF as SDM's exception classes say. */
void x86_check_fpu(X86CPU *cpu, bool waiting);       /* x87: #NM, then #MF if pending and waiting */
/* After ES may have gone: FERR# and IGNNE# go with it. */
void x86_fpu_error_update(X86CPU *cpu);
void x86_check_mmx(X86CPU *cpu);
void x86_check_sse(X86CPU *cpu);
void x86_check_avx(X86CPU *cpu);
void x86_check_avx512(X86CPU *cpu);
/* An unmasked SIMD exception: #XM, or #UD with CR4.OSXMMEXCPT clear. */
G_NORETURN void x86_raise_simd(X86CPU *cpu);

#endif
