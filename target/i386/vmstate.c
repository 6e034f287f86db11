/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU's and the local APIC's migrated state, as tables; and the judgement of what a stream brings.
 *
 * The state lies behind a pointer of the CPU device, so it is registered on its own. TSC offsets are the host's
 * business: the stream carries the guest's TSC. Machine lock, vCPUs stopped. Test: tests/unit/test-x86cpu.c.
 */
#include "system/runstate.h"
#include "system/vmstate.h"
#include "target/i386/apic.h"
#include "target/i386/internal.h"
#include "target/i386/kvmpv.h"
#include "target/i386/tsc.h"
#include "target/i386/vmstate.h"

#define S(f, k) VM_FIELD(X86State, f, k)
#define A(f, k) VM_ARRAY(X86State, f, k)

static const VMField segment_fields[] = {
    VM_FIELD(X86Segment, base, VM_U64), VM_FIELD(X86Segment, limit, VM_U32), VM_FIELD(X86Segment, attr, VM_U32),
    VM_FIELD(X86Segment, selector, VM_U16), VM_FIELD(X86Segment, unusable, VM_BOOL), VM_END
};
static const VMState segment_vmstate = { .name = "segment", .version = 1, .fields = segment_fields };

static const VMField table_fields[] = {
    VM_FIELD(X86Table, base, VM_U64), VM_FIELD(X86Table, limit, VM_U32), VM_END
};
static const VMState table_vmstate = { .name = "table", .version = 1, .fields = table_fields };

static const VMField state_fields[] = {
    A(regs, VM_U64), S(rip, VM_U64), S(rflags, VM_U64),
    VM_SUB_ARRAY(X86State, seg, segment_vmstate), VM_SUB(X86State, ldt, segment_vmstate),
    VM_SUB(X86State, tr, segment_vmstate), VM_SUB(X86State, gdt, table_vmstate), VM_SUB(X86State, idt, table_vmstate),
    S(cr0, VM_U64), S(cr2, VM_U64), S(cr3, VM_U64), S(cr4, VM_U64), S(xcr0, VM_U64), S(efer, VM_U64), S(star, VM_U64),
    S(lstar, VM_U64), S(cstar, VM_U64), S(fmask, VM_U64), S(kernel_gs_base, VM_U64), S(tsc_aux, VM_U64),
    S(sysenter_cs, VM_U64), S(sysenter_esp, VM_U64), S(sysenter_eip, VM_U64), S(pat, VM_U64), S(misc_enable, VM_U64),
    S(mtrr_def, VM_U64), A(mtrr_phys, VM_U64), A(mtrr_fixed, VM_U64), S(mcg_cap, VM_U64), S(mcg_status, VM_U64),
    S(mcg_ctl, VM_U64), A(mc_banks, VM_U64), S(tsc_saved, VM_U64), S(tsc_adjust, VM_U64), S(tsc_deadline, VM_U64),
    S(spec_ctrl, VM_U64), S(virt_ssbd, VM_U64), S(xss, VM_U64), S(smbase, VM_U64), S(smi_count, VM_U64),
    S(pkrs, VM_U64), S(ferr, VM_U32), S(a20_mask, VM_U64), S(kvm_system_time, VM_U64),
    S(kvm_wall_clock, VM_U64), S(kvm_pv_eoi, VM_U64), S(kvm_async_pf, VM_U64), S(kvm_steal_time, VM_U64),
    S(kvm_poll_control, VM_U64), A(dr, VM_U64), S(dr6_pending, VM_U64), A(pdpte, VM_U64),
    S(ev.exception_pending, VM_BOOL), S(ev.exception_injected, VM_BOOL), S(ev.exception_has_error, VM_BOOL),
    S(ev.exception_has_payload, VM_BOOL), S(ev.exception_nr, VM_U8), S(ev.exception_error, VM_U32),
    S(ev.exception_payload, VM_U64), S(ev.interrupt_injected, VM_BOOL), S(ev.interrupt_soft, VM_BOOL),
    S(ev.interrupt_nr, VM_U8), S(ev.interrupt_shadow, VM_U8), S(ev.nmi_injected, VM_BOOL), S(ev.nmi_pending, VM_BOOL),
    S(ev.nmi_masked, VM_BOOL), S(ev.smm, VM_BOOL), S(ev.smi_pending, VM_BOOL), S(ev.smm_inside_nmi, VM_BOOL),
    S(ev.sipi_vector, VM_U32), S(ev.triple_fault_pending, VM_BOOL), S(mp_state, VM_U32), S(pending, VM_U32),
    VM_BUFFER(X86State, xs), VM_END
};

static void state_pre_save(void *opaque)
{
    X86State *st = opaque;

    st->xs.mxcsr_mask = x86_mxcsr_mask(st->self);       /* the model's, whoever ran it */
    if (!st->self->code_written || runstate_is_running()) {
        st->tsc_saved = x86_rdtsc(st->self);            /* else it stands still, and is there (cpu.c) */
    }
}

/* Nothing that a stream says may lead to an impossible mode. */
static bool state_is_sane(const X86CPU *cpu, const X86State *st, Error **errp)
{
    bool lma = st->efer & EFER_LMA;

    if (st->mp_state > MP_SIPI_RECEIVED || (st->xcr0 & ~cpu->model->xcr0_allowed) || !(st->xcr0 & XFEATURE_X87)
        || (lma && (~st->cr0 & (CR0_PE | CR0_PG))) || (lma && !(st->cr4 & CR4_PAE))
        || ((st->cr0 & CR0_PG) && !(st->cr0 & CR0_PE)) || (st->cr3 & x86_cr3_reserved(cpu))
        || st->ev.exception_nr > 31 || (st->mcg_cap & 0xff) > 10 || !(st->rflags & FL_1)) {
        error_set(errp, "the state of CPU %d in the stream is not one that a CPU can be in", cpu->vcpu.index);
        return false;
    }
    return true;
}

static bool state_post_load(void *opaque, Error **errp)
{
    X86State *st = opaque;
    X86CPU *cpu = st->self;

    if (!state_is_sane(cpu, st, errp)) {
        return false;
    }
    st->tsc_offset = st->tsc_saved - x86_tsc_now(cpu->model->tsc_hz);
    st->xs.mxcsr &= st->xs.mxcsr_mask = x86_mxcsr_mask(cpu);
    st->zero = 0;
    st->dr6_pending &= 15;
    atomic_store(&st->a20_mask, st->a20_mask | ~(1ull << 20));
    atomic_store(&st->ferr, atomic_load(&st->ferr) & (FERR_ASSERTED | FERR_IGNNE));
    atomic_store(&cpu->vcpu.halted, st->mp_state == MP_HALTED || st->mp_state == MP_UNINITIALIZED);
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
    return true;
}

const VMState x86_state_vmstate = {
    .name = "cpu", .version = 1, .fields = state_fields, .pre_save = state_pre_save, .post_load = state_post_load,
};

/* ---- local APIC ---- */
#define R(f, k) { .name = #f, .kind = k, .offset = offsetof(X86Apic, regs.f), .size = sizeof(((X86Apic *)0)->regs.f), \
                  .count = 1 }
#define RA(f, k) { .name = #f, .kind = k, .offset = offsetof(X86Apic, regs.f), \
                   .size = sizeof(((X86Apic *)0)->regs.f[0]), .count = G_N_ELEMENTS(((X86Apic *)0)->regs.f) }
static const VMField apic_fields[] = {
    R(base, VM_U64), R(id, VM_U32), R(tpr, VM_U32), R(ldr, VM_U32), R(dfr, VM_U32), R(svr, VM_U32), R(esr, VM_U32),
    R(esr_pending, VM_U32), R(icr, VM_U64), RA(isr, VM_U32), RA(irr, VM_U32), RA(tmr, VM_U32), RA(lvt, VM_U32),
    R(timer_initial, VM_U32), R(timer_divide, VM_U32), R(timer_start, VM_I64), R(pv_eoi_pending, VM_BOOL),
    VM_FIELD(X86Apic, lint0_level, VM_BOOL), VM_END
};

/* A timer that has nothing to count has no start: so the same bytes whoever had the APIC. */
static void apic_pre_save(void *opaque)
{
    X86Apic *a = opaque;

    if (!apic_reg_read(a->cpu, 0x390)) {
        a->regs.timer_start = 0;
    }
}

static bool apic_judge(void *opaque, Error **errp)
{
    X86Apic *a = opaque;

    a->regs.timer_divide &= 0xb;
    a->regs.tpr &= 0xff;
    apic_post_load(a);
    return true;
}

const VMState x86_apic_vmstate = { .name = "apic", .version = 1, .fields = apic_fields, .pre_save = apic_pre_save,
                                   .post_load = apic_judge };

/* ---- one pair for each CPU ---- */
void x86_vmstate_register(X86CPU *cpu)
{
    g_autofree char *name = g_strdup_printf("cpu/%d", cpu->vcpu.index);
    g_autofree char *apic = g_strdup_printf("apic/%d", cpu->vcpu.index);

    vmstate_register(name, &x86_state_vmstate, cpu->st);
    if (cpu->apic) {
        vmstate_register(apic, &x86_apic_vmstate, cpu->apic);
    }
}

void x86_vmstate_unregister(X86CPU *cpu)
{
    vmstate_unregister(&x86_state_vmstate, cpu->st);
    if (cpu->apic) {
        vmstate_unregister(&x86_apic_vmstate, cpu->apic);
    }
}
