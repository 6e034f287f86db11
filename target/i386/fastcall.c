/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SYSCALL, SYSRET, SYSENTER, SYSEXIT (SDM vol. 2; APM vol. 2 6.1 for the legacy-mode SYSCALL of AMD).
 *
 * They load fixed flat segments without reading descriptors.
 * vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#include "target/i386/internal.h"

enum {
    FLAT_CODE = DESC_G | DESC_P | DESC_S | DESC_CODE | DESC_R | DESC_A,
    FLAT_DATA = DESC_G | DESC_B | DESC_P | DESC_S | DESC_W | DESC_A,
};

static void set_flat(X86CPU *cpu, uint16_t cs, uint32_t cs_kind, uint16_t ss, unsigned cpl)
{
    x86_seg_set_flat(cpu, SEG_CS, cs, FLAT_CODE | cs_kind | cpl << DESC_DPL_SHIFT);
    x86_seg_set_flat(cpu, SEG_SS, ss, FLAT_DATA | cpl << DESC_DPL_SHIFT);
}

/* The trap of TF counts as the flags stand after SYSCALL and SYSRET: a masked TF takes none, a restored one does. */
static void step_after(X86CPU *cpu)
{
    x86_update_mode(cpu);
    cpu->step_trap = cpu->st->mode & MODE_TF;
}

void x86_syscall(X86CPU *cpu, uint64_t rip_next)
{
    X86State *st = cpu->st;
    uint16_t cs = (st->star >> 32) & 0xfffc;
    bool lm = x86_long_mode(st);

    if (!(st->efer & EFER_SCE) || (!(st->mode & MODE_CS64) && !x86_is_amd(cpu))) {
        x86_raise(cpu, EXCP_UD);
    }
    if (!lm) {
        st->regs[R_RCX] = (uint32_t)rip_next;
        set_flat(cpu, cs, DESC_B, cs + 8, 0);
        st->rflags &= ~(uint64_t)(FL_VM | FL_IF | FL_RF);
        st->rip = (uint32_t)st->star;
        step_after(cpu);
        return;
    }
    st->regs[R_RCX] = rip_next;
    st->regs[R_R11] = st->rflags & ~(uint64_t)FL_RF;
    st->rip = st->mode & MODE_CS64 ? st->lstar : st->cstar;
    set_flat(cpu, cs, DESC_L, cs + 8, 0);
    st->rflags = (st->rflags & ~(st->fmask & 0xffffffff) & ~(uint64_t)FL_RF) | FL_1;
    step_after(cpu);
}

void x86_sysret(X86CPU *cpu, unsigned opsize)
{
    X86State *st = cpu->st;
    uint16_t base = (st->star >> 48) | 3;
    uint64_t mask = FL_ARITH | FL_TF | FL_IF | FL_DF | FL_IOPL | FL_NT | FL_AC | FL_VIF | FL_VIP | FL_ID;
    bool intel = !x86_is_amd(cpu);

    if (!(st->efer & EFER_SCE) || (intel && !(st->mode & MODE_CS64))) {
        x86_raise(cpu, EXCP_UD);
    }
    if (!(st->cr0 & CR0_PE) || x86_cpl(st) != 0) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (opsize == 8 && intel && !x86_canonical(st, st->regs[R_RCX])) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (!x86_long_mode(st)) {
        st->rflags |= FL_IF;
        st->rip = (uint32_t)st->regs[R_RCX];
        set_flat(cpu, base, DESC_B, base + 8, 3);
        step_after(cpu);
        return;
    }
    if (opsize == 8) {
        st->rip = st->regs[R_RCX];
        set_flat(cpu, base + 16, DESC_L, base + 8, 3);
    } else {
        st->rip = (uint32_t)st->regs[R_RCX];
        set_flat(cpu, base, DESC_B, base + 8, 3);
    }
    st->rflags = (st->regs[R_R11] & mask) | FL_1;
    step_after(cpu);
}

void x86_sysenter(X86CPU *cpu, uint64_t rip_next)
{
    X86State *st = cpu->st;
    uint16_t cs = st->sysenter_cs & 0xfffc;

    if (x86_long_mode(st) && x86_is_amd(cpu)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (!(st->cr0 & CR0_PE) || !cs) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->rflags &= ~(uint64_t)(FL_VM | FL_IF | FL_RF);
    set_flat(cpu, cs, x86_long_mode(st) ? DESC_L : DESC_B, cs + 8, 0);
    st->regs[R_RSP] = x86_long_mode(st) ? st->sysenter_esp : (uint32_t)st->sysenter_esp;
    st->rip = x86_long_mode(st) ? st->sysenter_eip : (uint32_t)st->sysenter_eip;
    x86_update_mode(cpu);
}

void x86_sysexit(X86CPU *cpu, unsigned opsize)
{
    X86State *st = cpu->st;
    uint16_t cs = st->sysenter_cs & 0xfffc;

    if (x86_long_mode(st) && x86_is_amd(cpu)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (!(st->cr0 & CR0_PE) || !cs || x86_cpl(st) != 0) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (opsize == 8) {
        if (!x86_canonical(st, st->regs[R_RCX]) || !x86_canonical(st, st->regs[R_RDX])) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        set_flat(cpu, (cs + 32) | 3, DESC_L, (cs + 40) | 3, 3);
        st->regs[R_RSP] = st->regs[R_RCX];
        st->rip = st->regs[R_RDX];
    } else {
        set_flat(cpu, (cs + 16) | 3, DESC_B, (cs + 24) | 3, 3);
        st->regs[R_RSP] = (uint32_t)st->regs[R_RCX];
        st->rip = (uint32_t)st->regs[R_RDX];
    }
    x86_update_mode(cpu);
}
