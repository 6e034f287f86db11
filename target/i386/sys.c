/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control and debug registers, TLB instructions, HLT, MWAIT, interrupt flag (SDM vol. 3 ch. 2, 17; vol. 2).
 *
 * Left out: performance counters (CPUID says that there are none, RDPMC is #GP).
 * vCPU thread only. Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>
#include <time.h>

#include "target/i386/internal.h"

static void require_cpl0(X86CPU *cpu)
{
    if (x86_cpl(cpu->st)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

/* ---- CR0, CR3, CR4 ---- */
enum { TSS_32 = 8 << 8 };                               /* of TR's type: not a 16-bit TSS */

static bool paging_is_pae(const X86State *st, uint64_t cr0, uint64_t cr4)
{
    return (cr0 & CR0_PG) && (cr4 & CR4_PAE) && !(st->efer & EFER_LME);
}

static void write_cr0(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;
    uint64_t changed;
    uint64_t defined = CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_NE | CR0_WP | CR0_AM | CR0_NW | CR0_CD | CR0_PG;

    if (v >> 32 || ((v & CR0_PG) && !(v & CR0_PE)) || ((v & CR0_NW) && !(v & CR0_CD))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    v = (v & defined) | CR0_ET;
    changed = v ^ st->cr0;
    if (changed & CR0_PG) {
        if (v & CR0_PG) {
            if ((st->efer & EFER_LME) && (!(st->cr4 & CR4_PAE) || (st->seg[SEG_CS].attr & DESC_L)
                                          || !(st->tr.attr & TSS_32))) {
                x86_raise_err(cpu, EXCP_GP, 0);
            }
        } else if ((st->mode & MODE_CS64) || (st->cr4 & CR4_PCIDE)) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
    }
    if (paging_is_pae(st, v, st->cr4) && (changed & (CR0_PG | CR0_CD | CR0_NW)) && !x86_load_pdptes(cpu, st->cr3)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->cr0 = v;
    if ((changed & CR0_PG) && (st->efer & EFER_LME)) {
        st->efer = v & CR0_PG ? st->efer | EFER_LMA : st->efer & ~(uint64_t)EFER_LMA;
    }
    if (changed & (CR0_PG | CR0_WP | CR0_PE)) {
        x86_tlb_flush(cpu, true);
    }
    x86_update_mode(cpu);
}

static void write_cr3(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;
    bool keep = false;

    if (x86_long_mode(st)) {
        if (st->cr4 & CR4_PCIDE) {
            keep = v >> 63;
            v &= ~(1ull << 63);
        }
        if (v & x86_cr3_reserved(cpu)) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
    } else {
        v = (uint32_t)v;
        if (paging_is_pae(st, st->cr0, st->cr4) && !x86_load_pdptes(cpu, v)) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
    }
    /* With the no-flush bit and the same address space nothing changes; another PCID's entries were not kept. */
    if (!(keep && v == st->cr3)) {
        st->cr3 = v;
        x86_tlb_flush(cpu, false);
        x86_update_mode(cpu);
    }
}

uint64_t x86_cr4_allowed(const X86CPU *cpu)
{
    static const struct { uint32_t bit; uint16_t feat; } rule[] = {
        { CR4_VME | CR4_PVI, X86_FEAT_VME }, { CR4_TSD, X86_FEAT_TSC }, { CR4_DE, X86_FEAT_DE },
        { CR4_PSE, X86_FEAT_PSE }, { CR4_PAE, X86_FEAT_PAE }, { CR4_MCE, X86_FEAT_MCE }, { CR4_PGE, X86_FEAT_PGE },
        { CR4_OSFXSR, X86_FEAT_FXSR }, { CR4_OSXMMEXCPT, X86_FEAT_SSE }, { CR4_UMIP, X86_FEAT_UMIP },
        { CR4_LA57, X86_FEAT_LA57 }, { CR4_FSGSBASE, X86_FEAT_FSGSBASE }, { CR4_PCIDE, X86_FEAT_PCID },
        { CR4_OSXSAVE, X86_FEAT_XSAVE }, { CR4_SMEP, X86_FEAT_SMEP }, { CR4_SMAP, X86_FEAT_SMAP },
        { CR4_PKE, X86_FEAT_PKU }, { CR4_PKS, X86_FEAT_PKS }, { CR4_LAM_SUP, X86_FEAT_LAM },
    };
    uint64_t ok = CR4_PCE;

    for (unsigned i = 0; i < G_N_ELEMENTS(rule); i++) {
        if (x86_has(cpu, rule[i].feat)) {
            ok |= rule[i].bit;
        }
    }
    return ok;
}

static void write_cr4(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;
    uint64_t changed = v ^ st->cr4;

    if (v & ~x86_cr4_allowed(cpu)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (x86_long_mode(st) && (!(v & CR4_PAE) || (changed & CR4_LA57))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if ((changed & v & CR4_PCIDE) && (!x86_long_mode(st) || (st->cr3 & 0xfff))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (paging_is_pae(st, st->cr0, v) && (changed & (CR4_PAE | CR4_PGE | CR4_PSE | CR4_SMEP))
        && !x86_load_pdptes(cpu, st->cr3)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->cr4 = v;
    if (changed & (CR4_PSE | CR4_PAE | CR4_PGE | CR4_PCIDE | CR4_SMEP | CR4_SMAP | CR4_PKE | CR4_PKS
                   | CR4_LA57)) {
        x86_tlb_flush(cpu, true);
    }
    x86_update_mode(cpu);
}

/* CR0, 2, 3, 4, 8 there are; the others are undefined at any CPL. */
static void check_cr_number(X86CPU *cpu, int n)
{
    if (n > 8 || !(0x11d >> n & 1)) {
        x86_raise(cpu, EXCP_UD);
    }
}

uint64_t x86_read_cr(X86CPU *cpu, int n)
{
    X86State *st = cpu->st;

    check_cr_number(cpu, n);
    require_cpl0(cpu);
    switch (n) {
    case 0: return st->cr0;
    case 2: return st->cr2;
    case 3: return st->cr3;
    case 4: return st->cr4;
    default: return apic_get_tpr(cpu) >> 4;
    }
}

void x86_write_cr(X86CPU *cpu, int n, uint64_t v)
{
    check_cr_number(cpu, n);
    require_cpl0(cpu);
    switch (n) {
    case 0: write_cr0(cpu, v); break;
    case 2: cpu->st->cr2 = v; break;
    case 3: write_cr3(cpu, v); break;
    case 4: write_cr4(cpu, v); break;
    default:
        if (v & ~15ull) {
            x86_raise_err(cpu, EXCP_GP, 0);
        }
        apic_set_tpr(cpu, v << 4);
        break;
    }
}

void x86_clts(X86CPU *cpu)
{
    require_cpl0(cpu);
    cpu->st->cr0 &= ~(uint64_t)CR0_TS;
    x86_update_mode(cpu);
}

void x86_lmsw(X86CPU *cpu, uint16_t v)
{
    X86State *st = cpu->st;

    require_cpl0(cpu);
    /* PE can be set but not cleared. */
    write_cr0(cpu, (st->cr0 & ~0xeull) | (v & 0xf));
}

/* ---- debug registers ---- */
enum { DR7_GD = 1 << 13, DR6_BD = 1 << 13 };
enum { BP_CODE, BP_WRITE, BP_IO, BP_ACCESS };           /* DR7's R/W fields */

static int dr_number(X86CPU *cpu, int n)
{
    X86State *st = cpu->st;

    require_cpl0(cpu);
    if (n == 4 || n == 5) {
        if (st->cr4 & CR4_DE) {
            x86_raise(cpu, EXCP_UD);
        }
        n += 2;
    }
    if (st->dr[7] & DR7_GD) {
        st->dr[6] |= DR6_BD;
        st->rflags |= FL_RF;                            /* of a fault, unlike other #DB */
        x86_raise(cpu, EXCP_DB);
    }
    return n;
}

uint64_t x86_read_dr(X86CPU *cpu, int n)
{
    return cpu->st->dr[dr_number(cpu, n)];
}

void x86_write_dr(X86CPU *cpu, int n, uint64_t v)
{
    X86State *st = cpu->st;

    n = dr_number(cpu, n);
    if (n >= 6 && v >> 32) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (n == 6) {
        v = (v & 0xe00f) | 0xffff0ff0;
    } else if (n == 7) {
        v = (v & 0xffff2bff) | 0x400;
    }
    st->dr[n] = v;
    x86_update_mode(cpu);
}

static bool breakpoint_enabled(const X86State *st, int i)
{
    return (st->dr[7] >> (i * 2)) & 3;
}

static unsigned breakpoint_kind(const X86State *st, int i)
{
    return (st->dr[7] >> (16 + i * 4)) & 3;
}

bool x86_has_watchpoint(const X86State *st)
{
    for (int i = 0; i < 4; i++) {
        if (breakpoint_enabled(st, i) && (breakpoint_kind(st, i) & 1)) {
            return true;
        }
    }
    return false;
}

/* Breakpoint i covers a naturally aligned range; does [at, at + size) touch it? */
static bool breakpoint_touches(const X86State *st, int i, uint64_t at, unsigned size)
{
    static const uint8_t bytes[4] = { 1, 2, 8, 4 };
    unsigned len = bytes[(st->dr[7] >> (18 + i * 4)) & 3];
    uint64_t first = st->dr[i] & ~(uint64_t)(len - 1);

    return at - first < len || first - at < size;
}

void x86_watch_data(X86CPU *cpu, uint64_t lin, unsigned size, bool write)
{
    const X86State *st = cpu->st;

    for (int i = 0; i < 4; i++) {
        unsigned kind = breakpoint_kind(st, i);

        if (breakpoint_enabled(st, i) && (kind == BP_ACCESS || (kind == BP_WRITE && write))
            && breakpoint_touches(st, i, lin, size)) {
            cpu->debug_hits |= 1 << i;
        }
    }
}

void x86_watch_port(X86CPU *cpu, uint16_t port, unsigned size)
{
    const X86State *st = cpu->st;

    for (int i = 0; i < 4 && (st->cr4 & CR4_DE); i++) {
        if (breakpoint_enabled(st, i) && breakpoint_kind(st, i) == BP_IO && breakpoint_touches(st, i, port, size)) {
            cpu->debug_hits |= 1 << i;
        }
    }
}

uint64_t x86_code_breakpoint(X86CPU *cpu, uint64_t lin)
{
    X86State *st = cpu->st;
    uint64_t hit = 0;

    for (int i = 0; i < 4; i++) {
        if (breakpoint_enabled(st, i) && breakpoint_kind(st, i) == BP_CODE && st->dr[i] == lin) {
            hit |= 1 << i;
        }
    }
    return hit;
}

void x86_note_debug(X86CPU *cpu, uint64_t dr6_bits)
{
    X86State *st = cpu->st;

    st->dr[6] = (st->dr[6] & ~0xfull) | dr6_bits;
    st->ev.exception_pending = true;
    st->ev.exception_injected = false;
    st->ev.exception_nr = EXCP_DB;
    st->ev.exception_has_error = false;
}

/* ---- TLB ---- */
void x86_invlpg(X86CPU *cpu, uint64_t linear)
{
    require_cpl0(cpu);
    x86_tlb_flush_page(cpu, x86_long_mode(cpu->st) ? linear : (uint32_t)linear);
}

void x86_invpcid(X86CPU *cpu, uint64_t type, uint64_t desc_lo, uint64_t desc_hi)
{
    X86State *st = cpu->st;

    require_cpl0(cpu);
    if (type > 3 || (type <= 1 && (desc_lo >> 12)) || (type == 0 && !x86_canonical(st, desc_hi))
        || (type <= 1 && !(st->cr4 & CR4_PCIDE) && (desc_lo & 0xfff))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    if (type == 0) {
        x86_tlb_flush_page(cpu, desc_hi);
    } else {
        x86_tlb_flush(cpu, type == 2);
    }
}

/* ---- interrupts and halting ---- */
void x86_cli(X86CPU *cpu)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st), iopl = (st->rflags & FL_IOPL) >> 12;

    if (!(st->mode & MODE_PE) || cpl <= iopl) {
        st->rflags &= ~(uint64_t)FL_IF;
    } else if (cpl == 3 && (st->cr4 & (st->mode & MODE_VM ? CR4_VME : CR4_PVI))) {
        st->rflags &= ~(uint64_t)FL_VIF;
    } else {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

void x86_sti(X86CPU *cpu)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st), iopl = (st->rflags & FL_IOPL) >> 12;

    if (!(st->mode & MODE_PE) || cpl <= iopl) {
        if (!(st->rflags & FL_IF)) {
            st->ev.interrupt_shadow |= 2;
        }
        st->rflags |= FL_IF;
    } else if (cpl == 3 && (st->cr4 & (st->mode & MODE_VM ? CR4_VME : CR4_PVI)) && !(st->rflags & FL_VIP)) {
        st->rflags |= FL_VIF;
    } else {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

void x86_hlt(X86CPU *cpu)
{
    require_cpl0(cpu);
    cpu->st->mp_state = MP_HALTED;                      /* the run loop takes what is pending, or sleeps */
}

/* MONITOR and MWAIT are undefined outside CPL 0. */
static void check_monitor(X86CPU *cpu, uint32_t allowed_hints)
{
    if (x86_cpl(cpu->st)) {
        x86_raise(cpu, EXCP_UD);
    }
    if ((uint32_t)cpu->st->regs[R_RCX] & ~allowed_hints) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

void x86_monitor(X86CPU *cpu, uint64_t linear)
{
    X86Xlat x;

    check_monitor(cpu, 0);
    x86_xlat(cpu, cpu->st->tlb_class_now, TLB_READ, linear, &x);
    cpu->monitor_armed = 0;
    if (x.host) {
        cpu->monitor_armed = (x.gpa & ~(uint64_t)(MONITOR_LINE - 1)) | 1;
        address_space_read(x86_memory(cpu), cpu->monitor_armed & ~1ull, cpu->monitor_line, MONITOR_LINE);
    }
}

static bool monitor_fired(X86CPU *cpu)
{
    uint8_t now[MONITOR_LINE];

    if (!(cpu->monitor_armed & 1)) {
        return true;
    }
    address_space_read(x86_memory(cpu), cpu->monitor_armed & ~1ull, now, MONITOR_LINE);
    return memcmp(now, cpu->monitor_line, MONITOR_LINE) != 0;
}

/*
 * MWAIT may end at any time. It sleeps while the line stays as it was, in naps, up to a millisecond; then the guest's
 * own loop comes back. A store of the same value is found by that end.
 */
void x86_mwait(X86CPU *cpu)
{
    static const struct timespec nap = { .tv_nsec = 50000 };

    check_monitor(cpu, 1);
    for (int naps = 0; naps < 20 && !monitor_fired(cpu) && !x86_must_leave(cpu)
         && !atomic_load(&cpu->st->pending); naps++) {
        nanosleep(&nap, NULL);
    }
    cpu->monitor_armed = 0;
}

void x86_rdpmc(X86CPU *cpu)
{
    X86State *st = cpu->st;

    if ((st->mode & MODE_PE) && x86_cpl(st) && !(st->cr4 & CR4_PCE)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    x86_raise_err(cpu, EXCP_GP, 0);                     /* no counter exists: CPUID leaf 10 says so */
}

/* ---- XCR0 ---- */
void x86_xgetbv(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint64_t v = st->xcr0;

    if (!(st->cr4 & CR4_OSXSAVE)) {
        x86_raise(cpu, EXCP_UD);
    }
    if ((uint32_t)st->regs[R_RCX] == 1 && (cpu->model->feat[FEAT_XSAVE] & 4)) {
        v = st->xcr0 & (st->xs.xstate_bv | 1);
    } else if ((uint32_t)st->regs[R_RCX]) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->regs[R_RAX] = (uint32_t)v;
    st->regs[R_RDX] = v >> 32;
}

void x86_xsetbv(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint64_t v = (uint32_t)st->regs[R_RAX] | st->regs[R_RDX] << 32;
    uint64_t avx512 = XFEATURE_OPMASK | XFEATURE_ZMMH | XFEATURE_HI16;

    if (!(st->cr4 & CR4_OSXSAVE)) {
        x86_raise(cpu, EXCP_UD);
    }
    require_cpl0(cpu);
    if ((uint32_t)st->regs[R_RCX] || !(v & XFEATURE_X87) || (v & ~cpu->model->xcr0_allowed)
        || ((v & XFEATURE_AVX) && !(v & XFEATURE_SSE))
        || ((v & avx512) && ((v & avx512) != avx512 || !(v & XFEATURE_AVX)))) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->xcr0 = v;
    x86_update_mode(cpu);
}

/* ---- use of x87, MMX, SSE, AVX by mode (SDM vol. 3 ch. 13; vol. 2 2.4) ---- */
enum { FSW_ES = 0x80 };

void x86_fpu_error_update(X86CPU *cpu)
{
    if (G_LIKELY(!atomic_load_explicit(&cpu->st->ferr, memory_order_relaxed)) || (cpu->st->xs.fsw & FSW_ES)) {
        return;
    }
    if ((atomic_exchange(&cpu->st->ferr, 0) & FERR_ASSERTED) && cpu->ferr) {
        machine_lock();
        cpu->ferr(cpu->ferr_opaque, false);
        machine_unlock();
    }
}

/*
 * CR0.NE clear: FERR# to the board, and the CPU waits before this instruction for the interrupt that it makes. Where no
 * board listens, nothing could ever end that: it goes on.
 */
static void ferr_freeze(X86CPU *cpu)
{
    X86State *st = cpu->st;

    if (!cpu->ferr || (atomic_load(&st->ferr) & FERR_IGNNE)) {
        return;
    }
    if (!(atomic_fetch_or(&st->ferr, FERR_ASSERTED) & FERR_ASSERTED)) {
        machine_lock();
        cpu->ferr(cpu->ferr_opaque, true);
        machine_unlock();
    }
    st->mp_state = MP_HALTED;
    siglongjmp(*cpu->fault_jmp, 1);
}

void x86_cpu_ignore_fpu_error(X86CPU *cpu)
{
    uint32_t asserted = FERR_ASSERTED;

    atomic_compare_exchange_strong(&cpu->st->ferr, &asserted, FERR_ASSERTED | FERR_IGNNE);
}

void x86_check_fpu(X86CPU *cpu, bool waiting)
{
    X86State *st = cpu->st;

    if (st->mode & (MODE_EM | MODE_TS)) {
        x86_raise(cpu, EXCP_NM);
    }
    if (!(st->xs.fsw & FSW_ES)) {
        x86_fpu_error_update(cpu);
    } else if (waiting) {
        if (st->cr0 & CR0_NE) {
            x86_raise(cpu, EXCP_MF);
        }
        ferr_freeze(cpu);
    }
}

void x86_check_mmx(X86CPU *cpu)
{
    if (cpu->st->mode & MODE_EM) {
        x86_raise(cpu, EXCP_UD);
    }
    x86_check_fpu(cpu, true);
}

void x86_check_sse(X86CPU *cpu)
{
    uint32_t mode = cpu->st->mode;

    if ((mode & (MODE_EM | MODE_OSFXSR)) != MODE_OSFXSR) {
        x86_raise(cpu, EXCP_UD);
    }
    if (mode & MODE_TS) {
        x86_raise(cpu, EXCP_NM);
    }
}

void x86_check_avx(X86CPU *cpu)
{
    uint32_t mode = cpu->st->mode;

    if (!(mode & MODE_AVX) || !(mode & MODE_PE) || (mode & MODE_VM)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (mode & MODE_TS) {
        x86_raise(cpu, EXCP_NM);
    }
}

void x86_check_avx512(X86CPU *cpu)
{
    if (!(cpu->st->mode & MODE_AVX512)) {
        x86_raise(cpu, EXCP_UD);
    }
    x86_check_avx(cpu);
}

void x86_raise_simd(X86CPU *cpu)
{
    x86_raise(cpu, cpu->st->cr4 & CR4_OSXMMEXCPT ? EXCP_XM : EXCP_UD);
}

bool x86_has_gate(const X86CPU *cpu, unsigned gate)
{
    return cpu->model->gates[gate / 8] >> (gate % 8) & 1;
}
