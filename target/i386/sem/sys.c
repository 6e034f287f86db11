/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System instructions (SDM vol. 2): most check what their encoding alone decides and hand over to sys.c, seg.c, msr.c.
 * Test: tests/unit/test-sem.c, the bare-metal payloads.
 */
#include <sys/random.h>

#include "sem.h"
#include "target/i386/cpuid.h"

/* A function without operands that does all itself. */
#define DELEGATE(name, call) SEM(name) { call; x86_next(cpu->st, i); }
DELEGATE(hlt, x86_hlt(cpu))
DELEGATE(cli, x86_cli(cpu))
DELEGATE(sti, x86_sti(cpu))
DELEGATE(clts, x86_clts(cpu))
DELEGATE(cpuid, x86_cpuid(cpu))
DELEGATE(rdmsr, x86_rdmsr(cpu))
DELEGATE(wrmsr, x86_wrmsr(cpu))
DELEGATE(rdpmc, x86_rdpmc(cpu))
DELEGATE(xgetbv, x86_xgetbv(cpu))
DELEGATE(xsetbv, x86_xsetbv(cpu))
DELEGATE(mwait, x86_mwait(cpu))
DELEGATE(vmcall, x86_hypercall(cpu, false))
DELEGATE(vmmcall, x86_hypercall(cpu, true))
DELEGATE(invd, need_cpl0(cpu))          /* the guest's caches are the host's: coherent */
DELEGATE(wbinvd, need_cpl0(cpu))
DELEGATE(serialize, atomic_thread_fence(memory_order_seq_cst))
DELEGATE(mov_CR, x86_write_cr(cpu, i->reg, reg_read(cpu->st, i->rm, i->opsize == 8 ? 8 : 4)))
DELEGATE(mov_DR, x86_write_dr(cpu, i->reg, reg_read(cpu->st, i->rm, i->opsize == 8 ? 8 : 4)))
DELEGATE(mov_RC, reg_write(cpu->st, i->rm, x86_read_cr(cpu, i->reg), i->opsize == 8 ? 8 : 4))
DELEGATE(mov_RD, reg_write(cpu->st, i->rm, x86_read_dr(cpu, i->reg), i->opsize == 8 ? 8 : 4))

SEM(lmsw)
{
    need_cpl0(cpu);
    x86_lmsw(cpu, rm_read(cpu, i, 2));
    x86_next(cpu->st, i);
}

SEM(lldt)
{
    need_cpl0(cpu);
    x86_lldt(cpu, rm_read(cpu, i, 2));
    x86_next(cpu->st, i);
}

SEM(ltr)
{
    need_cpl0(cpu);
    x86_ltr(cpu, rm_read(cpu, i, 2));
    x86_next(cpu->st, i);
}

SEM(ud) { x86_raise(cpu, EXCP_UD); }

SEM(monitor)
{
    X86State *st = cpu->st;

    x86_monitor(cpu, x86_linear(cpu, i->seg, ea_truncate(i, st->regs[R_RAX]), 1, false));
    x86_next(st, i);
}

static void set_ac(X86CPU *cpu, const Insn *i, bool on)
{
    X86State *st = cpu->st;

    if (x86_cpl(st) != 0 || (st->mode & MODE_VM)) {
        x86_raise(cpu, EXCP_UD);
    }
    set_flags(st, on ? FL_AC : 0, FL_AC);
    x86_update_mode(cpu);
    x86_next(st, i);
}

SEM(clac) { set_ac(cpu, i, false); }
SEM(stac) { set_ac(cpu, i, true); }

SEM(swapgs)
{
    X86State *st = cpu->st;
    uint64_t base = st->seg[SEG_GS].base;

    need_cpl0(cpu);
    st->seg[SEG_GS].base = st->kernel_gs_base;
    st->kernel_gs_base = base;
    x86_next(st, i);
}

/* ---- time stamp, processor id ---- */
static void check_tsd(X86CPU *cpu)
{
    if ((cpu->st->cr4 & CR4_TSD) && x86_cpl(cpu->st) != 0) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

static void store_edx_eax(X86State *st, uint64_t v)
{
    wr_d(st, R_RAX, v);
    wr_d(st, R_RDX, v >> 32);
}

SEM(rdtsc)
{
    check_tsd(cpu);
    store_edx_eax(cpu->st, x86_rdtsc(cpu));
    x86_next(cpu->st, i);
}

SEM(rdtscp)
{
    check_tsd(cpu);
    store_edx_eax(cpu->st, x86_rdtsc(cpu));
    wr_d(cpu->st, R_RCX, cpu->st->tsc_aux);
    x86_next(cpu->st, i);
}

SEM(rdpid)
{
    reg_write(cpu->st, i->rm, (uint32_t)cpu->st->tsc_aux, i->opsize == 8 ? 8 : 4);
    x86_next(cpu->st, i);
}

static void random_to(X86CPU *cpu, const Insn *i)
{
    uint64_t v = 0;
    bool ok = getrandom(&v, sizeof(v), GRND_NONBLOCK) == sizeof(v);

    reg_write(cpu->st, i->rm, ok ? v : 0, i->opsize);
    set_flags(cpu->st, ok ? FL_CF : 0, FL_ARITH);
    x86_next(cpu->st, i);
}

SEM(rdrand) { random_to(cpu, i); }
SEM(rdseed) { random_to(cpu, i); }

/* ---- FS and GS bases ---- */
static void read_base(X86CPU *cpu, const Insn *i, int seg)
{
    if (!(cpu->st->cr4 & CR4_FSGSBASE)) {
        x86_raise(cpu, EXCP_UD);
    }
    reg_write(cpu->st, i->rm, cpu->st->seg[seg].base, i->opsize == 8 ? 8 : 4);
    x86_next(cpu->st, i);
}

/* A base is judged by the width that the CPU has, not by the one in use. */
static bool is_canonical(X86CPU *cpu, uint64_t v)
{
    unsigned unused = x86_has(cpu, X86_FEAT_LA57) ? 7 : 16;

    return (uint64_t)((int64_t)(v << unused) >> unused) == v;
}

static void write_base(X86CPU *cpu, const Insn *i, int seg)
{
    uint64_t v = reg_read(cpu->st, i->rm, i->opsize == 8 ? 8 : 4);

    if (!(cpu->st->cr4 & CR4_FSGSBASE)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (!is_canonical(cpu, v)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    cpu->st->seg[seg].base = v;
    x86_next(cpu->st, i);
}

SEM(rdfsbase) { read_base(cpu, i, SEG_FS); }
SEM(rdgsbase) { read_base(cpu, i, SEG_GS); }
SEM(wrfsbase) { write_base(cpu, i, SEG_FS); }
SEM(wrgsbase) { write_base(cpu, i, SEG_GS); }

/* ---- protection keys ---- */
static void check_pku(X86CPU *cpu, bool write)
{
    X86State *st = cpu->st;

    if (!(st->cr4 & CR4_PKE)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (rd_d(st, R_RCX) || (write && rd_d(st, R_RDX))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

SEM(rdpkru)
{
    check_pku(cpu, false);
    store_edx_eax(cpu->st, (uint32_t)cpu->st->xs.pkru);
    x86_next(cpu->st, i);
}

SEM(wrpkru)
{
    X86State *st = cpu->st;

    check_pku(cpu, true);
    st->xs.pkru = rd_d(st, R_RAX);
    st->xs.xstate_bv |= XFEATURE_PKRU;
    x86_tlb_flush(cpu, true);
    x86_next(st, i);
}

/* ---- descriptor tables ---- */
static void check_umip(X86CPU *cpu)
{
    if ((cpu->st->cr4 & CR4_UMIP) && x86_cpl(cpu->st) != 0) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

static void store_table(X86CPU *cpu, const Insn *i, const X86Table *t)
{
    unsigned size = i->prefixes & INSN_CODE64 ? 8 : 4;
    uint64_t lin, base;

    check_umip(cpu);
    lin = ea_linear(cpu, i, 2, true);
    x86_probe(cpu, lin, 2, true);
    base = ea_linear_at(cpu, i, 2, size, true);
    x86_probe(cpu, base, size, true);
    x86_st16(cpu, lin, t->limit);
    sem_st_at(cpu, base, t->base, size);
    x86_next(cpu->st, i);
}

static void load_table(X86CPU *cpu, const Insn *i, X86Table *t)
{
    unsigned size = i->prefixes & INSN_CODE64 ? 8 : 4;
    uint64_t lin, base;
    uint16_t limit;

    need_cpl0(cpu);
    lin = ea_linear(cpu, i, size + 2, false);
    limit = x86_ld16(cpu, lin);
    base = sem_ld_at(cpu, lin + 2, size);
    if (size == 8 && !is_canonical(cpu, base)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    t->limit = limit;
    t->base = size == 4 && i->opsize == 2 ? base & 0xffffff : base;
    x86_next(cpu->st, i);
}

SEM(sgdt) { store_table(cpu, i, &cpu->st->gdt); }
SEM(sidt) { store_table(cpu, i, &cpu->st->idt); }
SEM(lgdt) { load_table(cpu, i, &cpu->st->gdt); }
SEM(lidt) { load_table(cpu, i, &cpu->st->idt); }

/* 16 bits to memory; registers take the operand size. */
static void store_word(X86CPU *cpu, const Insn *i, uint64_t v)
{
    check_umip(cpu);
    rm_write(cpu, i, v, x86_is_mem(i) ? 2 : i->opsize);
    x86_next(cpu->st, i);
}

SEM(sldt) { store_word(cpu, i, cpu->st->ldt.selector); }
SEM(str) { store_word(cpu, i, cpu->st->tr.selector); }
SEM(smsw) { store_word(cpu, i, (uint32_t)cpu->st->cr0); }

static void load_rights(X86CPU *cpu, const Insn *i, bool ok, uint32_t v)
{
    if (ok) {
        reg_write(cpu->st, i->reg, v, i->opsize);
    }
    set_flags(cpu->st, ok ? FL_ZF : 0, FL_ZF);
    x86_next(cpu->st, i);
}

SEM(lar)
{
    uint32_t v = 0;
    bool ok = x86_lar(cpu, rm_read(cpu, i, 2), &v);

    load_rights(cpu, i, ok, v);
}

SEM(lsl)
{
    uint32_t v = 0;
    bool ok = x86_lsl(cpu, rm_read(cpu, i, 2), &v);

    load_rights(cpu, i, ok, v);
}

SEM(verr)
{
    set_flags(cpu->st, x86_verr(cpu, rm_read(cpu, i, 2), false) ? FL_ZF : 0, FL_ZF);
    x86_next(cpu->st, i);
}

SEM(verw)
{
    set_flags(cpu->st, x86_verr(cpu, rm_read(cpu, i, 2), true) ? FL_ZF : 0, FL_ZF);
    x86_next(cpu->st, i);
}

/* ---- caches and TLB ---- */
SEM(invlpg)
{
    X86State *st = cpu->st;
    bool based = !(st->mode & MODE_CS64) || i->seg >= SEG_FS;

    x86_invlpg(cpu, ea_offset(st, i) + (based ? st->seg[i->seg].base : 0));
    x86_next(st, i);
}

SEM(invpcid)
{
    uint64_t lin, lo, hi;

    need_cpl0(cpu);
    lin = ea_linear(cpu, i, 16, false);
    lo = x86_ld64(cpu, lin);
    hi = x86_ld64(cpu, lin + 8);
    x86_invpcid(cpu, reg_read(cpu->st, i->reg, i->opsize == 8 ? 8 : 4), lo, hi);
    x86_next(cpu->st, i);
}

SEM(clflush)
{
    x86_probe(cpu, ea_linear(cpu, i, 1, false), 1, false);
    x86_next(cpu->st, i);
}

SEM(clzero)
{
    static const uint8_t zeros[64];
    uint64_t lin = x86_linear(cpu, i->seg, ea_truncate(i, cpu->st->regs[R_RAX]) & ~63ull, 64, true);

    x86_st_bytes(cpu, lin, zeros, 64);
    x86_next(cpu->st, i);
}

/* ---- ports ---- */
static unsigned port_size(const Insn *i)
{
    return i->opsize < 4 ? i->opsize : 4;
}

/* E4-E7: port in the instruction; EC-EF: in DX. */
static uint16_t port_number(X86CPU *cpu, const Insn *i)
{
    return i->opcode & 8 ? rd_w(cpu->st, R_RDX) : (uint8_t)i->imm;
}

SEM(in)
{
    uint16_t port = port_number(cpu, i);
    unsigned size = port_size(i);

    x86_io_check(cpu, port, size);
    reg_write(cpu->st, R_RAX, x86_io_in(cpu, port, size), size);
    x86_next(cpu->st, i);
}

SEM(out)
{
    uint16_t port = port_number(cpu, i);
    unsigned size = port_size(i);

    x86_io_check(cpu, port, size);
    x86_io_out(cpu, port, size, reg_read(cpu->st, R_RAX, size));
    x86_next(cpu->st, i);
}
