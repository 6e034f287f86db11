/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared between the files of target/i386 (not sem/, not accelerators): descriptors, delivery, CPUID questions.
 * vCPU thread only unless said otherwise.
 */
#ifndef CLEAT_TARGET_I386_INTERNAL_H
#define CLEAT_TARGET_I386_INTERNAL_H

#include "target/i386/apic.h"
#include "target/i386/cpuid.h"
#include "target/i386/exec.h"
#include "target/i386/interp.h"
#include "target/i386/mmu.h"

#define X86_DIRTY_ALL (DIRTY_VGA | DIRTY_MIGRATION | DIRTY_CODE)

static inline bool x86_canonical(const X86State *st, uint64_t lin)
{
    unsigned shift = (st->cr4 & CR4_LA57) ? 7 : 16;

    return (uint64_t)((int64_t)(lin << shift) >> shift) == lin;
}

/*
 * Linear-address masking (SDM vol. 3 4.4): in data addresses of 64-bit code the bits between bit 63, which chooses the
 * half, and the width are not looked at. The half's own setting counts, whoever accesses. For MODE_LAM only.
 */
static inline uint64_t x86_lam(const X86State *st, uint64_t lin)
{
    bool high = lin >> 63, wide = high ? st->cr4 & CR4_LA57 : (st->cr3 & CR3_LAM_U57) != 0;
    unsigned shift = wide ? 7 : 16;

    if (!(high ? st->cr4 & CR4_LAM_SUP : st->cr3 & (CR3_LAM_U57 | CR3_LAM_U48))) {
        return lin;
    }
    return ((uint64_t)((int64_t)(lin << shift) >> shift) & INT64_MAX) | (lin & (1ull << 63));
}

/* Bits of CR3 that this CPU has not, in long mode. */
static inline uint64_t x86_cr3_reserved(const X86CPU *cpu)
{
    uint64_t lam = x86_has(cpu, X86_FEAT_LAM) ? CR3_LAM_U57 | CR3_LAM_U48 : 0;

    return ~((1ull << x86_phys_bits(cpu)) - 1) & ~lam;
}

/* Of a base that is only loaded: by the width that the CPU has, whatever CR4.LA57 says. */
static inline bool x86_canonical_base(const X86CPU *cpu, uint64_t base)
{
    unsigned shift = x86_has(cpu, X86_FEAT_LA57) ? 7 : 16;

    return (uint64_t)((int64_t)(base << shift) >> shift) == base;
}

static inline bool x86_long_mode(const X86State *st)
{
    return st->efer & EFER_LMA;
}

static inline bool x86_real_or_vm(const X86State *st)
{
    return !(st->cr0 & CR0_PE) || (st->rflags & FL_VM);
}

/* Bits of CR4 and EFER that this CPU has. */
uint64_t x86_cr4_allowed(const X86CPU *cpu);
uint64_t x86_efer_allowed(const X86CPU *cpu);

/* Sets the non-code dirty bits; false when the page holds decoded code, so that each write must be told. */
bool x86_ram_dirty_for_write(uint64_t ram_page);

/* ---- segments (seg.c) ---- */
typedef struct X86Desc {
    uint32_t lo, hi;
    uint64_t addr;                  /* linear, of the descriptor: for its accessed bit */
} X86Desc;
static inline uint32_t x86_desc_base(X86Desc d)
{
    return (d.lo >> 16) | ((d.hi & 0xff) << 16) | (d.hi & 0xff000000);
}
static inline uint32_t x86_desc_limit(X86Desc d)
{
    uint32_t limit = (d.lo & 0xffff) | (d.hi & 0xf0000);

    return (d.hi & DESC_G) ? (limit << 12) | 0xfff : limit;
}
static inline unsigned x86_desc_dpl(X86Desc d)
{
    return (d.hi >> DESC_DPL_SHIFT) & 3;
}
static inline unsigned x86_desc_type(X86Desc d)      /* S and type */
{
    return (d.hi >> 8) & 0x1f;
}
#define X86_ATTR_MASK 0x00f0ff00u
/* False: beyond the table's limit (or LDT selector without LDT). *addr: linear address of the descriptor. */
bool x86_desc_read(X86CPU *cpu, uint16_t sel, X86Desc *d, uint64_t *addr);
void x86_desc_set_accessed(X86CPU *cpu, uint64_t addr, X86Desc *d);
void x86_seg_set(X86CPU *cpu, int seg, uint16_t sel, X86Desc d);
void x86_seg_set_real(X86CPU *cpu, int seg, uint16_t sel);
void x86_seg_set_vm(X86CPU *cpu, int seg, uint16_t sel);
void x86_seg_set_null(X86CPU *cpu, int seg, uint16_t sel);
void x86_seg_set_flat(X86CPU *cpu, int seg, uint16_t sel, uint32_t attr);
/* After a return to an outer level: data segments that the new CPL may not use become null. */
void x86_seg_drop_inner(X86CPU *cpu, unsigned cpl);
/* CPL is SS.DPL in hidden state; sets it with the mode. */
void x86_set_cs(X86CPU *cpu, uint16_t sel, X86Desc d, unsigned cpl);
/* Stack of privilege level dpl from the TSS (32- or 16-bit); raises #TS. */
void x86_tss_stack(X86CPU *cpu, unsigned dpl, uint16_t *ss, uint32_t *esp);
uint64_t x86_tss64_stack(X86CPU *cpu, unsigned dpl, unsigned ist);
/* Judges a stack selector for privilege level dpl; raises vector (#TS, #GP, #SS) with the selector. */
X86Desc x86_stack_desc(X86CPU *cpu, uint16_t ss, unsigned dpl, int vector);

/* A stack under construction: pushes and pops through ss:sp without touching RSP until committed. */
typedef struct X86Stack {
    uint64_t sp, base;
    uint64_t mask;                  /* of the stack pointer's size */
    uint64_t lo, hi;                /* offsets that the segment allows */
    unsigned cls;                   /* TLB class of the accesses */
    uint32_t error;                 /* of #SS: a new stack's selector, 0 for the current one */
} X86Stack;
void x86_stack_current(X86CPU *cpu, X86Stack *s);
void x86_stack_from_desc(X86Stack *s, X86Desc d, uint16_t sel, uint64_t sp, unsigned cpl);
void x86_stack_flat64(X86Stack *s, uint64_t sp, unsigned cpl);
void x86_stack_push(X86CPU *cpu, X86Stack *s, uint64_t v, unsigned size);
uint64_t x86_stack_pop(X86CPU *cpu, X86Stack *s, unsigned size);
void x86_stack_commit(X86CPU *cpu, const X86Stack *s);      /* RSP within its mask */

/* ---- task switches (task.c) ---- */
typedef enum X86TaskReason { X86_TASK_JMP, X86_TASK_CALL, X86_TASK_IRET, X86_TASK_EVENT } X86TaskReason;
typedef struct X86TaskSwitch {
    uint16_t tss;                   /* selector */
    X86TaskReason reason;
    uint32_t rip, flags;            /* of the old task, as it will be resumed */
    bool has_error;                 /* an exception's error code goes onto the new stack */
    uint32_t error;
} X86TaskSwitch;
void x86_task_switch(X86CPU *cpu, const X86TaskSwitch *s);
/* JMP or CALL to a TSS or a task gate: privilege, then the switch. */
void x86_task_transfer(X86CPU *cpu, uint16_t sel, X86Desc d, X86TaskReason reason, uint64_t rip_next);
/* IRET with NT set. */
void x86_task_return(X86CPU *cpu, uint64_t rip_next);
/* ---- debug registers (sys.c): what an access hits is noted in cpu->debug_hits ---- */
bool x86_has_watchpoint(const X86State *st);            /* is a data breakpoint enabled? */
void x86_watch_data(X86CPU *cpu, uint64_t lin, unsigned size, bool write);
void x86_watch_port(X86CPU *cpu, uint16_t port, unsigned size);
/* Raises what an implicit supervisor write of the range would raise. */
void x86_sys_probe_write(X86CPU *cpu, uint64_t linear, unsigned len);

uint64_t x86_ld_class(X86CPU *cpu, unsigned cls, uint64_t lin, unsigned size);
void x86_st_class(X86CPU *cpu, unsigned cls, uint64_t lin, uint64_t v, unsigned size);

#endif
