/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vCPU's architectural state between X86State and KVM, both ways.
 *
 * Groups: general registers, system registers, XSAVE area with XCRs, MSRs (a table), events, debug registers,
 * mp_state, and the local APIC when it is in the kernel. vCPU thread, machine lock held.
 * KVM's XSAVE image has the host CPU's component offsets (CPUID 0xd); ours has Intel's fixed ones, so components are
 * copied one by one.
 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "target/i386/cpuid.h"
#include "target/i386/tsc.h"

/* ---- general and system registers ---- */

static void regs_from_state(const X86State *st, struct kvm_regs *r)
{
    memset(r, 0, sizeof(*r));
    r->rax = st->regs[R_RAX];
    r->rbx = st->regs[R_RBX];
    r->rcx = st->regs[R_RCX];
    r->rdx = st->regs[R_RDX];
    r->rsi = st->regs[R_RSI];
    r->rdi = st->regs[R_RDI];
    r->rsp = st->regs[R_RSP];
    r->rbp = st->regs[R_RBP];
    memcpy(&r->r8, &st->regs[R_R8], 8 * sizeof(uint64_t));
    r->rip = st->rip;
    r->rflags = st->rflags;
}

static void regs_to_state(X86State *st, const struct kvm_regs *r)
{
    st->regs[R_RAX] = r->rax;
    st->regs[R_RBX] = r->rbx;
    st->regs[R_RCX] = r->rcx;
    st->regs[R_RDX] = r->rdx;
    st->regs[R_RSI] = r->rsi;
    st->regs[R_RDI] = r->rdi;
    st->regs[R_RSP] = r->rsp;
    st->regs[R_RBP] = r->rbp;
    memcpy(&st->regs[R_R8], &r->r8, 8 * sizeof(uint64_t));
    st->rip = r->rip;
    st->rflags = r->rflags;
}

static void segment_from_state(const X86Segment *s, struct kvm_segment *k)
{
    *k = (struct kvm_segment) {
        .base = s->base,
        .limit = s->limit,
        .selector = s->selector,
        .type = s->attr >> 8 & 15,
        .s = !!(s->attr & DESC_S),
        .dpl = s->attr >> DESC_DPL_SHIFT & 3,
        .present = !!(s->attr & DESC_P),
        .avl = !!(s->attr & DESC_AVL),
        .l = !!(s->attr & DESC_L),
        .db = !!(s->attr & DESC_B),
        .g = !!(s->attr & DESC_G),
        .unusable = s->unusable || !(s->attr & DESC_P),
    };
}

static void segment_to_state(X86Segment *s, const struct kvm_segment *k)
{
    s->base = k->base;
    s->limit = k->limit;
    s->selector = k->selector;
    s->unusable = k->unusable;
    s->attr = k->unusable ? (uint32_t)k->dpl << DESC_DPL_SHIFT :
              (uint32_t)k->type << 8 | (k->s ? DESC_S : 0) | (uint32_t)k->dpl << DESC_DPL_SHIFT |
              (k->present ? DESC_P : 0) | (k->avl ? DESC_AVL : 0) | (k->l ? DESC_L : 0) | (k->db ? DESC_B : 0) |
              (k->g ? DESC_G : 0);
}

#define FOR_SEGMENTS(st, sr, fn)              \
    do {                                      \
        fn(&(st)->seg[SEG_ES], &(sr)->es);    \
        fn(&(st)->seg[SEG_CS], &(sr)->cs);    \
        fn(&(st)->seg[SEG_SS], &(sr)->ss);    \
        fn(&(st)->seg[SEG_DS], &(sr)->ds);    \
        fn(&(st)->seg[SEG_FS], &(sr)->fs);    \
        fn(&(st)->seg[SEG_GS], &(sr)->gs);    \
        fn(&(st)->ldt, &(sr)->ldt);           \
        fn(&(st)->tr, &(sr)->tr);             \
    } while (0)

static void sregs_from_state(const X86CPU *cpu, struct kvm_sregs *sr)
{
    const X86State *st = cpu->st;

    FOR_SEGMENTS(st, sr, segment_from_state);
    sr->gdt.base = st->gdt.base;
    sr->gdt.limit = st->gdt.limit;
    sr->idt.base = st->idt.base;
    sr->idt.limit = st->idt.limit;
    sr->cr0 = st->cr0;
    sr->cr2 = st->cr2;
    sr->cr3 = st->cr3;
    sr->cr4 = st->cr4;
    sr->efer = st->efer;
    memset(sr->interrupt_bitmap, 0, sizeof(sr->interrupt_bitmap));
    if (st->ev.interrupt_injected) {
        sr->interrupt_bitmap[st->ev.interrupt_nr / 64] |= 1ull << st->ev.interrupt_nr % 64;
    }
}

static void sregs_to_state(X86CPU *cpu, const struct kvm_sregs *sr)
{
    X86State *st = cpu->st;

    FOR_SEGMENTS(st, sr, segment_to_state);
    st->gdt.base = sr->gdt.base;
    st->gdt.limit = sr->gdt.limit;
    st->idt.base = sr->idt.base;
    st->idt.limit = sr->idt.limit;
    st->cr0 = sr->cr0;
    st->cr2 = sr->cr2;
    st->cr3 = sr->cr3;
    st->cr4 = sr->cr4;
    st->efer = sr->efer;
    if ((st->cr0 & CR0_PG) && (st->cr4 & CR4_PAE) && !(st->efer & EFER_LMA)) {
        address_space_read(cpu->vcpu.mem, st->cr3 & 0xffffffe0, st->pdpte, sizeof(st->pdpte));
    }
}

/* ---- MSRs ---- */

typedef struct MsrField {
    uint32_t index;
    size_t offset;              /* of a uint64_t in X86State */
} MsrField;
#define MSR(i, f) { i, offsetof(X86State, f) }
static const MsrField msr_fields[] = {
    MSR(0x3b, tsc_adjust), MSR(0x48, spec_ctrl), MSR(0xc001011f, virt_ssbd),
    MSR(0x174, sysenter_cs), MSR(0x175, sysenter_esp), MSR(0x176, sysenter_eip), MSR(0x277, pat),
    MSR(0x1a0, misc_enable), MSR(0x2ff, mtrr_def), MSR(0x17a, mcg_status), MSR(0x17b, mcg_ctl),
    MSR(0xc0000081, star), MSR(0xc0000082, lstar), MSR(0xc0000083, cstar), MSR(0xc0000084, fmask),
    MSR(0xc0000102, kernel_gs_base), MSR(0xc0000103, tsc_aux), MSR(0xda0, xss),
    MSR(0x4b564d00, kvm_wall_clock), MSR(0x4b564d01, kvm_system_time), MSR(0x4b564d02, kvm_async_pf),
    MSR(0x4b564d03, kvm_steal_time), MSR(0x4b564d04, kvm_pv_eoi), MSR(0x4b564d05, kvm_poll_control),
    MSR(0x6e0, tsc_deadline),
    MSR(0x250, mtrr_fixed[0]), MSR(0x258, mtrr_fixed[1]), MSR(0x259, mtrr_fixed[2]), MSR(0x268, mtrr_fixed[3]),
    MSR(0x269, mtrr_fixed[4]), MSR(0x26a, mtrr_fixed[5]), MSR(0x26b, mtrr_fixed[6]), MSR(0x26c, mtrr_fixed[7]),
    MSR(0x26d, mtrr_fixed[8]), MSR(0x26e, mtrr_fixed[9]), MSR(0x26f, mtrr_fixed[10]),
    MSR(0x200, mtrr_phys[0]), MSR(0x201, mtrr_phys[1]), MSR(0x202, mtrr_phys[2]), MSR(0x203, mtrr_phys[3]),
    MSR(0x204, mtrr_phys[4]), MSR(0x205, mtrr_phys[5]), MSR(0x206, mtrr_phys[6]), MSR(0x207, mtrr_phys[7]),
    MSR(0x208, mtrr_phys[8]), MSR(0x209, mtrr_phys[9]), MSR(0x20a, mtrr_phys[10]), MSR(0x20b, mtrr_phys[11]),
    MSR(0x20c, mtrr_phys[12]), MSR(0x20d, mtrr_phys[13]), MSR(0x20e, mtrr_phys[14]), MSR(0x20f, mtrr_phys[15]),
};
#define MSR_TSC 0x10
#define MSR_FIELDS (sizeof(msr_fields) / sizeof(msr_fields[0]))
_Static_assert(MSR_FIELDS <= KVM_MSRS_MAX, "a note holds them all");

typedef struct MsrBatch {
    struct kvm_msrs head;
    struct kvm_msr_entry entries[MSR_FIELDS];
} MsrBatch;

/* MSRs that this host does not save have no meaning for the guest. */
static bool msr_on_host(uint32_t index)
{
    const struct kvm_msr_list *list = kvm_state->msr_list;

    for (uint32_t i = 0; i < list->nmsrs; i++) {
        if (list->indices[i] == index) {
            return true;
        }
    }
    return index >= 0x200 && index <= 0x2ff;    /* MTRRs are never in the list */
}

static void *msr_place(X86State *st, const MsrField *f)
{
    return (char *)st + f->offset;
}

/* The batch of all MSRs that this host has, with our values: what the kernel will not read stays as it is. */
static unsigned msrs_fill(MsrBatch *b, X86State *st)
{
    unsigned n = 0;

    for (size_t i = 0; i < MSR_FIELDS; i++) {
        if (msr_on_host(msr_fields[i].index)) {
            b->entries[n] = (struct kvm_msr_entry) { .index = msr_fields[i].index };
            memcpy(&b->entries[n].data, msr_place(st, &msr_fields[i]), sizeof(uint64_t));
            n++;
        }
    }
    return n;
}

/* KVM_GET_MSRS or KVM_SET_MSRS. The kernel stops at the first MSR it refuses: leave that one out and go on. */
static void msrs_transfer(int fd, unsigned long request, MsrBatch *b, unsigned n)
{
    unsigned done = 0;

    while (done < n) {
        MsrBatch part = { .head.nmsrs = n - done };
        int ret;

        memcpy(part.entries, b->entries + done, (n - done) * sizeof(b->entries[0]));
        ret = kvm_ioctl(fd, request, &part);
        ret = MAX(ret, 0);                              /* a macro: its arguments are evaluated twice */
        memcpy(b->entries + done, part.entries, ret * sizeof(b->entries[0]));
        done += ret + 1;
    }
}

/* The TSC runs on: only an offset that was changed here is written, so that reading it moves nothing. */
static void tsc_put(KvmVcpu *v, X86CPU *cpu)
{
    MsrBatch b = { .entries[0] = { .index = MSR_TSC } };

    if (v->tsc_known && v->tsc_offset == cpu->st->tsc_offset) {
        return;
    }
    b.entries[0].data = x86_tsc_now(cpu->model->tsc_hz) + cpu->st->tsc_offset;
    msrs_transfer(v->fd, KVM_SET_MSRS, &b, 1);
    v->tsc_offset = cpu->st->tsc_offset;
    v->tsc_known = true;
}

static void tsc_get(KvmVcpu *v, X86CPU *cpu)
{
    MsrBatch b = { .entries[0] = { .index = MSR_TSC } };

    msrs_transfer(v->fd, KVM_GET_MSRS, &b, 1);
    cpu->st->tsc_offset = v->tsc_offset = b.entries[0].data - x86_tsc_now(cpu->model->tsc_hz);
    v->tsc_known = true;
}

/* Those that differ from an earlier state: the others, such as a timer's deadline, may have moved in the kernel. */
static void msrs_put_changed(KvmVcpu *v, X86CPU *cpu, const KvmNote *note)
{
    MsrBatch b;
    unsigned n = 0;

    tsc_put(v, cpu);
    for (size_t i = 0; i < MSR_FIELDS; i++) {
        const MsrField *f = &msr_fields[i];

        if (msr_on_host(f->index) && memcmp(&note->msrs[i], msr_place(cpu->st, f), sizeof(uint64_t))) {
            b.entries[n] = (struct kvm_msr_entry) { .index = f->index };
            memcpy(&b.entries[n++].data, msr_place(cpu->st, f), sizeof(uint64_t));
        }
    }
    msrs_transfer(v->fd, KVM_SET_MSRS, &b, n);
}

/* The TSC before the deadline that is compared with it. */
static void msrs_put(KvmVcpu *v, X86CPU *cpu)
{
    MsrBatch b;

    tsc_put(v, cpu);
    msrs_transfer(v->fd, KVM_SET_MSRS, &b, msrs_fill(&b, cpu->st));
}

static void msrs_get(KvmVcpu *v, X86CPU *cpu)
{
    X86State *st = cpu->st;
    MsrBatch b;
    unsigned n = 0;

    tsc_get(v, cpu);
    msrs_transfer(v->fd, KVM_GET_MSRS, &b, msrs_fill(&b, st));
    for (size_t i = 0; i < MSR_FIELDS; i++) {
        if (msr_on_host(msr_fields[i].index)) {
            memcpy(msr_place(st, &msr_fields[i]), &b.entries[n++].data, sizeof(uint64_t));
        }
    }
}

/* ---- XSAVE ---- */

typedef struct XComponent {
    int number;
    size_t offset, size;        /* in X86XSave */
} XComponent;
static const XComponent xcomponents[] = {
    { 2, offsetof(X86XSave, ymmh), sizeof(((X86XSave *)0)->ymmh) },
    { 5, offsetof(X86XSave, k), sizeof(((X86XSave *)0)->k) },
    { 6, offsetof(X86XSave, zmmh), sizeof(((X86XSave *)0)->zmmh) },
    { 7, offsetof(X86XSave, hi16), sizeof(((X86XSave *)0)->hi16) },
    { 9, offsetof(X86XSave, pkru), sizeof(((X86XSave *)0)->pkru) },
};
#define XSAVE_HEADER_END 576u

static size_t host_component_offset(int number, size_t size)
{
    unsigned a, b, c, d;

    if (!__get_cpuid_count(0xd, number, &a, &b, &c, &d) || a < size || b + size > sizeof(struct kvm_xsave)) {
        return 0;
    }
    return b;
}

static void xsave_copy(X86XSave *ours, uint8_t *theirs, bool to_kvm)
{
    memcpy(to_kvm ? theirs : (uint8_t *)ours, to_kvm ? (uint8_t *)ours : theirs, XSAVE_HEADER_END);
    for (size_t i = 0; i < sizeof(xcomponents) / sizeof(xcomponents[0]); i++) {
        const XComponent *x = &xcomponents[i];
        size_t off = host_component_offset(x->number, x->size);
        uint8_t *mine = (uint8_t *)ours + x->offset;

        if (!off) {
            continue;
        }
        if (to_kvm) {
            memcpy(theirs + off, mine, x->size);
        } else if (ours->xstate_bv >> x->number & 1) {
            memcpy(mine, theirs + off, x->size);
        } else {
            memset(mine, 0, x->size);
        }
    }
}

static int xsave_put(int fd, X86State *st)
{
    struct kvm_xsave x = { 0 };
    struct kvm_xcrs xcrs = { .nr_xcrs = 1, .xcrs[0] = { .xcr = 0, .value = st->xcr0 } };
    int ret;

    xsave_copy(&st->xs, (uint8_t *)&x, true);
    ret = kvm_ioctl(fd, KVM_SET_XSAVE, &x);
    if (ret >= 0 && kvm_state->cap_xcrs) {
        ret = kvm_ioctl(fd, KVM_SET_XCRS, &xcrs);
    }
    return ret;
}

static int xsave_get(int fd, X86State *st)
{
    struct kvm_xsave x;
    struct kvm_xcrs xcrs = { 0 };
    int ret = kvm_ioctl(fd, KVM_GET_XSAVE, &x);

    if (ret < 0) {
        return ret;
    }
    xsave_copy(&st->xs, (uint8_t *)&x, false);
    if (kvm_state->cap_xcrs && kvm_ioctl(fd, KVM_GET_XCRS, &xcrs) >= 0 && xcrs.nr_xcrs) {
        st->xcr0 = xcrs.xcrs[0].value;
    }
    return 0;
}

/* ---- events, debug registers, mp_state ---- */

/* flags: KVM_VCPUEVENT_VALID_*: what is not said to be valid stays as it is in the kernel. */
static int events_put(int fd, const X86State *st, uint32_t flags)
{
    struct kvm_vcpu_events e = {
        .exception.injected = st->ev.exception_injected,
        .exception.nr = st->ev.exception_nr,
        .exception.has_error_code = st->ev.exception_has_error,
        .exception.error_code = st->ev.exception_error,
        .interrupt.injected = st->ev.interrupt_injected,
        .interrupt.nr = st->ev.interrupt_nr,
        .interrupt.soft = st->ev.interrupt_soft,
        .interrupt.shadow = st->ev.interrupt_shadow,
        .nmi.injected = st->ev.nmi_injected,
        .nmi.pending = st->ev.nmi_pending,
        .nmi.masked = st->ev.nmi_masked,
        .sipi_vector = st->ev.sipi_vector,
        .flags = flags,
    };

    return kvm_ioctl(fd, KVM_SET_VCPU_EVENTS, &e);
}

static int events_get(int fd, X86State *st)
{
    struct kvm_vcpu_events e;
    int ret = kvm_ioctl(fd, KVM_GET_VCPU_EVENTS, &e);

    if (ret < 0) {
        return ret;
    }
    st->ev.exception_injected = e.exception.injected;
    st->ev.exception_nr = e.exception.nr;
    st->ev.exception_has_error = e.exception.has_error_code;
    st->ev.exception_error = e.exception.error_code;
    st->ev.interrupt_injected = e.interrupt.injected;
    st->ev.interrupt_nr = e.interrupt.nr;
    st->ev.interrupt_soft = e.interrupt.soft;
    st->ev.interrupt_shadow = e.interrupt.shadow;
    st->ev.nmi_injected = e.nmi.injected;
    st->ev.nmi_pending = e.nmi.pending;
    st->ev.nmi_masked = e.nmi.masked;
    if (kvm_state->irqchip != KVM_CHIP_OFF) {       /* else SIPIs are ours, and one may have come meanwhile */
        st->ev.sipi_vector = e.sipi_vector;
    }
    return 0;
}

static int debugregs_put(int fd, const X86State *st)
{
    struct kvm_debugregs d = { .dr6 = st->dr[6], .dr7 = st->dr[7] };

    memcpy(d.db, st->dr, sizeof(d.db));
    return kvm_ioctl(fd, KVM_SET_DEBUGREGS, &d);
}

static int debugregs_get(int fd, X86State *st)
{
    struct kvm_debugregs d;
    int ret = kvm_ioctl(fd, KVM_GET_DEBUGREGS, &d);

    if (ret >= 0) {
        memcpy(st->dr, d.db, sizeof(d.db));
        st->dr[6] = d.dr6;
        st->dr[7] = d.dr7;
    }
    return ret;
}

/* Our MP_* and KVM_MP_STATE_* have the same order for the five states of x86. */
static int mp_state_put(int fd, const X86State *st)
{
    struct kvm_mp_state m = { .mp_state = st->mp_state };

    return kvm_state->irqchip == KVM_CHIP_OFF ? 0 : kvm_ioctl(fd, KVM_SET_MP_STATE, &m);
}

static int mp_state_get(int fd, X86State *st)
{
    struct kvm_mp_state m;
    int ret;

    if (kvm_state->irqchip == KVM_CHIP_OFF) {
        return 0;
    }
    ret = kvm_ioctl(fd, KVM_GET_MP_STATE, &m);
    if (ret >= 0) {
        st->mp_state = m.mp_state;
    }
    return ret;
}

/* An I/O exit is only finished by the next KVM_RUN: finish it without running guest code. */
static void finish_io(KvmVcpu *v)
{
    uint32_t reason = v->run->exit_reason;

    if (reason == KVM_EXIT_IO || reason == KVM_EXIT_MMIO) {
        v->run->immediate_exit = 1;
        kvm_ioctl(v->fd, KVM_RUN, NULL);
        v->run->immediate_exit = 0;
    }
}

void kvm_state_get(VCpu *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    X86CPU *x86 = X86_CPU(cpu);
    struct kvm_regs regs;
    struct kvm_sregs sregs;

    if (!v || v->state_here) {
        return;
    }
    finish_io(v);
    if (kvm_ioctl(v->fd, KVM_GET_REGS, &regs) < 0 || kvm_ioctl(v->fd, KVM_GET_SREGS, &sregs) < 0) {
        return;
    }
    regs_to_state(x86->st, &regs);
    sregs_to_state(x86, &sregs);
    kvm_apic_from_sregs(x86, &sregs);
    xsave_get(v->fd, x86->st);
    msrs_get(v, x86);
    events_get(v->fd, x86->st);
    debugregs_get(v->fd, x86->st);
    mp_state_get(v->fd, x86->st);
    kvm_apic_get(cpu);
    x86_update_mode(x86);
    v->state_here = true;
}

/* One step of a put: the first that fails names the group. */
static bool step_ok(int ret, const char *group, Error **errp)
{
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refuses the vCPU's %s", group);
        return false;
    }
    return true;
}

static bool registers_put(VCpu *cpu, Error **errp)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    X86CPU *x86 = X86_CPU(cpu);
    struct kvm_regs regs;
    struct kvm_sregs sregs;
    int ret = kvm_ioctl(v->fd, KVM_GET_SREGS, &sregs);

    regs_from_state(x86->st, &regs);
    sregs_from_state(x86, &sregs);
    kvm_apic_to_sregs(x86, &sregs);
    return step_ok(ret, "system registers (reading)", errp) &&
           step_ok(kvm_ioctl(v->fd, KVM_SET_SREGS, &sregs), "system registers", errp) &&
           step_ok(kvm_ioctl(v->fd, KVM_SET_REGS, &regs), "registers", errp) &&
           step_ok(xsave_put(v->fd, x86->st), "vector and x87 state", errp);
}

bool kvm_state_put(VCpu *cpu, Error **errp)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    X86CPU *x86 = X86_CPU(cpu);

    return registers_put(cpu, errp) &&
           (msrs_put(v, x86), true) &&
           step_ok(kvm_apic_put(cpu), "local APIC", errp) &&
           step_ok(events_put(v->fd, x86->st, KVM_VCPUEVENT_VALID_NMI_PENDING | KVM_VCPUEVENT_VALID_SHADOW),
                   "pending events", errp) &&
           step_ok(debugregs_put(v->fd, x86->st), "debug registers", errp) &&
           step_ok(mp_state_put(v->fd, x86->st), "run state", errp);
}

void kvm_state_note(VCpu *cpu, KvmNote *note)
{
    X86State *st = X86_CPU(cpu)->st;

    for (size_t i = 0; i < MSR_FIELDS; i++) {
        memcpy(&note->msrs[i], msr_place(st, &msr_fields[i]), sizeof(uint64_t));
    }
    note->mp_state = st->mp_state;
}

bool kvm_state_put_running(VCpu *cpu, const KvmNote *note, Error **errp)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    X86CPU *x86 = X86_CPU(cpu);

    return registers_put(cpu, errp) &&
           (msrs_put_changed(v, x86, note), true) &&
           step_ok(kvm_apic_put(cpu), "local APIC", errp) &&
           step_ok(events_put(v->fd, x86->st, KVM_VCPUEVENT_VALID_SHADOW), "pending events", errp) &&
           step_ok(debugregs_put(v->fd, x86->st), "debug registers", errp) &&
           step_ok(x86->st->mp_state == note->mp_state ? 0 : mp_state_put(v->fd, x86->st), "run state", errp);
}
