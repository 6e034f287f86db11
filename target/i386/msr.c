/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDMSR and WRMSR by table (see msr.h). An MSR that is not in the table is #GP, which kernels expect and survive.
 * vCPU thread. Test: tests/unit/test-x86cpu.c.
 */
#include <inttypes.h>

#include "target/i386/internal.h"
#include "target/i386/kvmpv.h"
#include "target/i386/msr.h"
#include "util/log.h"

#define AT(f) offsetof(X86State, f)
#define ALL (~0ull)

/* ---- registers with rules of their own ---- */
static bool tsc_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = x86_rdtsc(cpu);
    return true;
}

static bool tsc_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    uint64_t delta = v - x86_rdtsc(cpu);

    cpu->st->tsc_offset += delta;
    cpu->st->tsc_adjust += delta;
    return true;
}

static bool tsc_adjust_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    cpu->st->tsc_offset += v - cpu->st->tsc_adjust;
    cpu->st->tsc_adjust = v;
    return true;
}

static bool deadline_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    apic_set_tsc_deadline(cpu, v);
    return true;
}

static bool apic_base_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = apic_read_base(cpu);
    return cpu->apic != NULL;
}

static bool apic_base_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    return apic_write_base(cpu, v);
}

static bool spec_ctrl_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = cpu->st->spec_ctrl;
    return x86_has(cpu, X86_FEAT_SPEC_CTRL) || x86_has(cpu, X86_FEAT_AMD_IBRS) || x86_has(cpu, X86_FEAT_AMD_STIBP)
        || x86_has(cpu, X86_FEAT_AMD_SSBD);
}

static bool spec_ctrl_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    uint64_t old;

    if (!spec_ctrl_read(cpu, msr, &old) || (v & ~7ull)) {
        return false;
    }
    cpu->st->spec_ctrl = v;
    return true;
}

/* IBPB: there is no branch predictor to clear. */
static bool pred_cmd_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    return !(v & ~1ull) && (x86_has(cpu, X86_FEAT_SPEC_CTRL) || x86_has(cpu, X86_FEAT_AMD_IBPB));
}

static bool pat_type_ok(uint64_t t)
{
    return t <= 7 && t != 2 && t != 3;
}

static bool pat_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        if (!pat_type_ok((v >> (i * 8)) & 0xff)) {
            return false;
        }
    }
    cpu->st->pat = v;
    return true;
}

static bool mtrr_type_ok(uint64_t t)
{
    return t <= 6 && t != 2 && t != 3;
}

static bool mtrr_phys_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    uint32_t i = msr - MSR_MTRR_PHYS0;

    if (v >> x86_phys_bits(cpu) || (i & 1 ? v & 0x7ff : (v & 0xf00) || !mtrr_type_ok(v & 0xff))) {
        return false;
    }
    cpu->st->mtrr_phys[i] = v;
    return true;
}

static const uint16_t mtrr_fixed_msr[11] = { 0x250, 0x258, 0x259, 0x268, 0x269, 0x26a, 0x26b, 0x26c, 0x26d,
                                             0x26e, 0x26f };

static int mtrr_fixed_index(uint32_t msr)
{
    for (int i = 0; i < 11; i++) {
        if (mtrr_fixed_msr[i] == msr) {
            return i;
        }
    }
    return -1;
}

static bool mtrr_fixed_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    int i = mtrr_fixed_index(msr);

    if (i >= 0) {
        *v = cpu->st->mtrr_fixed[i];
    }
    return i >= 0;
}

static bool mtrr_fixed_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    int i = mtrr_fixed_index(msr);

    for (int b = 0; b < 8; b++) {
        if (!mtrr_type_ok((v >> (b * 8)) & 0xff)) {
            return false;
        }
    }
    if (i >= 0) {
        cpu->st->mtrr_fixed[i] = v;
    }
    return i >= 0;
}

static bool mtrr_def_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    if ((v & ~0xcffull) || !mtrr_type_ok(v & 0xff)) {
        return false;
    }
    cpu->st->mtrr_def = v;
    return true;
}

static unsigned mc_banks(const X86CPU *cpu)
{
    return cpu->st->mcg_cap & 0xff;
}

static bool mc_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    uint32_t i = msr - MSR_MC0_CTL;

    if (i >= mc_banks(cpu) * 4) {
        return false;
    }
    *v = cpu->st->mc_banks[i];
    return true;
}

static bool mc_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    uint32_t i = msr - MSR_MC0_CTL;

    if (i >= mc_banks(cpu) * 4 || ((i & 3) == 0 && v != 0 && v != ALL && (v | 0x400) != ALL)
        || ((i & 3) == 1 && v != 0)) {
        return false;
    }
    cpu->st->mc_banks[i] = v;
    return true;
}

static bool mcg_ctl_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    if (!(cpu->st->mcg_cap & 0x100) || (v != 0 && v != ALL)) {
        return false;
    }
    cpu->st->mcg_ctl = v;
    return true;
}

uint64_t x86_efer_allowed(const X86CPU *cpu)
{
    uint64_t allowed = 0;

    allowed |= x86_has(cpu, X86_FEAT_SYSCALL) ? EFER_SCE : 0;
    allowed |= x86_has(cpu, X86_FEAT_LM) ? EFER_LME | EFER_LMA : 0;
    allowed |= x86_has(cpu, X86_FEAT_NX) ? EFER_NXE : 0;
    allowed |= x86_has(cpu, X86_FEAT_FFXSR) ? EFER_FFXSR : 0;
    return allowed;
}

static bool efer_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    X86State *st = cpu->st;
    uint64_t changed;

    if (v & ~x86_efer_allowed(cpu)) {
        return false;
    }
    v = (v & ~(uint64_t)EFER_LMA) | (st->efer & EFER_LMA);
    changed = v ^ st->efer;
    if ((changed & EFER_LME) && (st->cr0 & CR0_PG)) {
        return false;
    }
    st->efer = v;
    if (changed & EFER_NXE) {
        x86_tlb_flush(cpu, true);
    }
    x86_update_mode(cpu);
    return true;
}

static bool seg_base_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = cpu->st->seg[msr == MSR_FS_BASE ? SEG_FS : SEG_GS].base;
    return true;
}

static bool seg_base_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    if (!x86_canonical_base(cpu, v)) {
        return false;
    }
    cpu->st->seg[msr == MSR_FS_BASE ? SEG_FS : SEG_GS].base = v;
    return true;
}

static bool pkrs_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    if (v >> 32) {
        return false;
    }
    cpu->st->pkrs = v;
    x86_tlb_flush(cpu, true);
    return true;
}

static bool tsc_aux_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = cpu->st->tsc_aux;
    return x86_has(cpu, X86_FEAT_RDTSCP) || x86_has(cpu, X86_FEAT_RDPID);
}

static bool tsc_aux_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    uint64_t old;

    if (!tsc_aux_read(cpu, msr, &old) || v >> 32) {
        return false;
    }
    cpu->st->tsc_aux = v;
    return true;
}

static bool wall_clock_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    return x86_kvm_write_wall_clock(cpu, v);
}

static bool system_time_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    return x86_kvm_write_system_time(cpu, v);
}

static bool pv_eoi_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    return x86_kvm_write_pv_eoi(cpu, v);
}

static bool arch_cap_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = cpu->model->feat[FEAT_ARCH_CAPABILITIES];
    return true;
}

static bool core_cap_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = cpu->model->feat[FEAT_CORE_CAPABILITY];
    return true;
}

static bool ucode_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    *v = x86_is_amd(cpu) ? 0x01000065 : 0x100000000ull;
    return true;
}

static bool x2apic_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    return apic_msr_read(cpu, msr, v);
}

static bool x2apic_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    return apic_msr_write(cpu, msr, v);
}

/* ---- the table, by number ---- */
#define N X86_FEAT_NONE
const X86Msr x86_msrs[] = {
    { 0x0, 2, "P5_MC", N, MSR_IGNORE, -1 },
    { MSR_TSC, 1, "TSC", X86_FEAT_TSC, MSR_STATE, -1, .read = tsc_read, .write = tsc_write },
    { MSR_KVM_WALL_CLOCK_OLD, 1, "KVM_WALL_CLOCK", X86_FEAT_KVMCLOCK, 0, AT(kvm_wall_clock),
      .write = wall_clock_write },
    { MSR_KVM_SYSTEM_TIME_OLD, 1, "KVM_SYSTEM_TIME", X86_FEAT_KVMCLOCK, 0, AT(kvm_system_time),
      .write = system_time_write },
    { 0x17, 1, "PLATFORM_ID", N, MSR_RO, -1 },
    { MSR_APIC_BASE, 1, "APIC_BASE", X86_FEAT_APIC, 0, -1, .read = apic_base_read, .write = apic_base_write },
    { 0x2a, 1, "EBL_CR_POWERON", N, MSR_IGNORE, -1 },
    { 0x34, 1, "SMI_COUNT", N, MSR_RO, AT(smi_count) },
    { MSR_TSC_ADJUST, 1, "TSC_ADJUST", X86_FEAT_TSC_ADJUST, MSR_STATE, AT(tsc_adjust), .write = tsc_adjust_write },
    { MSR_SPEC_CTRL, 1, "SPEC_CTRL", N, MSR_STATE, -1, .read = spec_ctrl_read, .write = spec_ctrl_write },
    { 0x49, 1, "PRED_CMD", N, MSR_WO, -1, .write = pred_cmd_write },
    { 0x79, 1, "BIOS_UPDT_TRIG", N, MSR_WO | MSR_IGNORE, -1 },
    { 0x8b, 1, "BIOS_SIGN_ID", N, MSR_IGNORE, -1, .read = ucode_read },
    { 0xcf, 1, "CORE_CAPABILITIES", X86_FEAT_CORE_CAP, MSR_RO, -1, .read = core_cap_read },
    { MSR_MTRR_CAP, 1, "MTRRcap", X86_FEAT_MTRR, MSR_RO, -1, .value = 0x508 },
    { MSR_ARCH_CAPABILITIES, 1, "ARCH_CAPABILITIES", X86_FEAT_ARCH_CAP, MSR_RO, -1, .read = arch_cap_read },
    { 0x10b, 1, "FLUSH_CMD", X86_FEAT_FLUSH_L1D, MSR_WO | MSR_IGNORE, -1, .writable = 1 },
    { 0x119, 1, "BBL_CR_CTL", N, MSR_IGNORE, -1 },
    { 0x11e, 1, "BBL_CR_CTL3", N, MSR_IGNORE, -1 },
    { MSR_SYSENTER_CS, 1, "SYSENTER_CS", X86_FEAT_SEP, MSR_STATE, AT(sysenter_cs), .writable = 0xffffffff },
    { MSR_SYSENTER_ESP, 1, "SYSENTER_ESP", X86_FEAT_SEP, MSR_STATE | MSR_CANONICAL, AT(sysenter_esp), .writable = ALL },
    { MSR_SYSENTER_EIP, 1, "SYSENTER_EIP", X86_FEAT_SEP, MSR_STATE | MSR_CANONICAL, AT(sysenter_eip), .writable = ALL },
    { MSR_MCG_CAP, 1, "MCG_CAP", X86_FEAT_MCA, MSR_RO, AT(mcg_cap) },
    { MSR_MCG_STATUS, 1, "MCG_STATUS", X86_FEAT_MCA, MSR_STATE, AT(mcg_status), .writable = 7 },
    { MSR_MCG_CTL, 1, "MCG_CTL", X86_FEAT_MCA, MSR_STATE, AT(mcg_ctl), .write = mcg_ctl_write },
    { 0x198, 1, "PERF_STATUS", N, MSR_IGNORE, -1, .value = 0x1000400 },
    { 0x199, 1, "PERF_CTL", N, MSR_IGNORE, -1 },
    { MSR_MISC_ENABLE, 1, "MISC_ENABLE", N, MSR_STATE, AT(misc_enable), .writable = 0x0000000400f51889ull },
    { 0x1d9, 1, "DEBUGCTL", N, MSR_IGNORE, -1, .writable = 3 },
    { 0x1db, 4, "LAST_BRANCH", N, MSR_RO, -1 },
    { MSR_MTRR_PHYS0, 16, "MTRR_PHYS", X86_FEAT_MTRR, MSR_STATE, AT(mtrr_phys), .write = mtrr_phys_write },
    { 0x250, 0x20, "MTRR_FIX", X86_FEAT_MTRR, MSR_STATE, -1, .read = mtrr_fixed_read, .write = mtrr_fixed_write },
    { MSR_PAT, 1, "PAT", X86_FEAT_PAT, MSR_STATE, AT(pat), .write = pat_write },
    { MSR_MTRR_DEF, 1, "MTRR_DEF_TYPE", X86_FEAT_MTRR, MSR_STATE, AT(mtrr_def), .write = mtrr_def_write },
    { MSR_MC0_CTL, 40, "MC_BANK", X86_FEAT_MCA, MSR_STATE, -1, .read = mc_read, .write = mc_write },
    { MSR_TSC_DEADLINE, 1, "TSC_DEADLINE", X86_FEAT_TSC_DEADLINE, MSR_STATE, AT(tsc_deadline),
      .write = deadline_write },
    { 0x6e1, 1, "PKRS", X86_FEAT_PKS, MSR_STATE, AT(pkrs), .write = pkrs_write },
    { 0x800, 0x100, "X2APIC", X86_FEAT_APIC, 0, -1, .read = x2apic_read, .write = x2apic_write },
    { MSR_XSS, 1, "XSS", X86_FEAT_XSAVES, MSR_STATE, AT(xss), .writable = 0 },
    { MSR_KVM_WALL_CLOCK, 1, "KVM_WALL_CLOCK_NEW", X86_FEAT_KVMCLOCK2, MSR_STATE, AT(kvm_wall_clock),
      .write = wall_clock_write },
    { MSR_KVM_SYSTEM_TIME, 1, "KVM_SYSTEM_TIME_NEW", X86_FEAT_KVMCLOCK2, MSR_STATE, AT(kvm_system_time),
      .write = system_time_write },
    { MSR_KVM_PV_EOI, 1, "KVM_PV_EOI_EN", X86_FEAT_KVM_PV_EOI, MSR_STATE, AT(kvm_pv_eoi), .write = pv_eoi_write },
    { MSR_KVM_POLL_CONTROL, 1, "KVM_POLL_CONTROL", X86_FEAT_KVM_POLL, MSR_STATE, AT(kvm_poll_control), .writable = 1 },
    { MSR_EFER, 1, "EFER", N, MSR_STATE, AT(efer), .write = efer_write },
    { MSR_STAR, 1, "STAR", X86_FEAT_SYSCALL, MSR_STATE, AT(star), .writable = ALL },
    { MSR_LSTAR, 1, "LSTAR", X86_FEAT_LM, MSR_STATE | MSR_CANONICAL, AT(lstar), .writable = ALL },
    { MSR_CSTAR, 1, "CSTAR", X86_FEAT_LM, MSR_STATE | MSR_CANONICAL, AT(cstar), .writable = ALL },
    { MSR_FMASK, 1, "FMASK", X86_FEAT_SYSCALL, MSR_STATE, AT(fmask), .writable = ALL },
    { MSR_FS_BASE, 2, "FS_GS_BASE", X86_FEAT_LM, 0, -1, .read = seg_base_read, .write = seg_base_write },
    { MSR_KERNEL_GS_BASE, 1, "KERNEL_GS_BASE", X86_FEAT_LM, MSR_STATE | MSR_CANONICAL, AT(kernel_gs_base),
      .writable = ALL },
    { MSR_TSC_AUX, 1, "TSC_AUX", N, MSR_STATE, -1, .read = tsc_aux_read, .write = tsc_aux_write },
    { 0xc0010000, 8, "K7_PERF", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0010010, 1, "SYSCFG", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0010015, 1, "HWCR", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc001001f, 1, "NB_CFG", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0010055, 1, "INT_PENDING_MSG", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0010058, 1, "FAM10H_MMIO_CONF_BASE", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0010061, 3, "PSTATE", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0010112, 3, "TSEG_VM_CR", N, MSR_IGNORE | MSR_AMD, -1 },
    { MSR_VIRT_SSBD, 1, "VIRT_SPEC_CTRL", X86_FEAT_VIRT_SSBD, MSR_STATE, AT(virt_ssbd), .writable = 4 },
    { 0xc0010140, 2, "OSVW", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0011020, 1, "LS_CFG", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0011022, 2, "DC_CFG_BU_CFG", N, MSR_IGNORE | MSR_AMD, -1 },
    { 0xc0011029, 2, "DE_CFG", N, MSR_IGNORE | MSR_AMD, -1, .value = 2 },
};
#undef N
const unsigned x86_msr_count = G_N_ELEMENTS(x86_msrs);

const X86Msr *x86_msr_find(const X86CPU *cpu, uint32_t msr)
{
    unsigned lo = 0, hi = x86_msr_count;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        const X86Msr *m = &x86_msrs[mid];

        if (msr < m->first) {
            hi = mid;
        } else if (msr - m->first >= m->count) {
            lo = mid + 1;
        } else if ((m->feat != X86_FEAT_NONE && !x86_has(cpu, m->feat)) || ((m->flags & MSR_AMD) && !x86_is_amd(cpu))) {
            return NULL;
        } else {
            return m;
        }
    }
    return NULL;
}

bool x86_msr_read(X86CPU *cpu, uint32_t msr, uint64_t *v)
{
    const X86Msr *m = x86_msr_find(cpu, msr);

    if (!m || (m->flags & MSR_WO)) {
        return false;
    }
    if (m->read) {
        return m->read(cpu, msr, v);
    }
    *v = m->offset < 0 ? m->value : *(const uint64_t *)((const char *)cpu->st + m->offset + (msr - m->first) * 8);
    return true;
}

bool x86_msr_write(X86CPU *cpu, uint32_t msr, uint64_t v)
{
    const X86Msr *m = x86_msr_find(cpu, msr);

    if (!m || (m->flags & MSR_RO) || ((m->flags & MSR_CANONICAL) && !x86_canonical_base(cpu, v))) {
        return false;
    }
    if (m->write) {
        return m->write(cpu, msr, v);
    }
    if (m->flags & MSR_IGNORE) {
        return true;
    }
    if (v & ~m->writable) {
        return false;
    }
    *(uint64_t *)((char *)cpu->st + m->offset + (msr - m->first) * 8) = v;
    return true;
}

static void require_cpl0(X86CPU *cpu)
{
    if (x86_cpl(cpu->st)) {
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}

void x86_rdmsr(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint64_t v = 0;

    require_cpl0(cpu);
    if (!x86_msr_read(cpu, st->regs[R_RCX], &v)) {
        log_mask(LOG_UNIMP, "x86: read of MSR %x refused\n", (uint32_t)st->regs[R_RCX]);
        x86_raise_err(cpu, EXCP_GP, 0);
    }
    st->regs[R_RAX] = (uint32_t)v;
    st->regs[R_RDX] = v >> 32;
}

void x86_wrmsr(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint64_t v = (uint32_t)st->regs[R_RAX] | st->regs[R_RDX] << 32;

    require_cpl0(cpu);
    if (!x86_msr_write(cpu, st->regs[R_RCX], v)) {
        log_mask(LOG_UNIMP, "x86: write of %" PRIx64 " to MSR %x refused\n", v, (uint32_t)st->regs[R_RCX]);
        x86_raise_err(cpu, EXCP_GP, 0);
    }
}
