/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rescue: an instruction that KVM's emulator does not know (KVM_EXIT_INTERNAL_ERROR, emulation failure: mostly vector,
 * x87 and 16-byte operands in device memory, or code there) is executed by the software CPU, and the guest goes on.
 *
 * The vCPU's state comes here, x86_step_one() takes one step, and what changed goes back; exceptions are given to the
 * kernel to deliver, but an event whose delivery failed in the kernel is delivered here. Not inside a nested guest,
 * whose memory lies behind tables that X86State has not. An instruction that only ever comes back stops the machine.
 * vCPU thread. Test: tests/unit/test-kvm-rescue.c, tests/kvm/test-rescue.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "system/runstate.h"
#include "target/i386/exec.h"
#include "target/i386/step.h"
#include "trace-accel_kvm.h"

/* As often the same instruction may fault with the same registers, if nothing else was executed here in between. */
#define ATTEMPTS 1000u
#define CR4_VMXE (1u << 13)

/* Is a guest of the guest running? The kernel's record of that is longer than its head then. */
static bool in_nested_guest(VCpu *cpu)
{
    const X86State *st = X86_CPU(cpu)->st;
    union {
        struct kvm_nested_state state;
        uint8_t room[16384];
    } *u;
    bool nested = false;

    if (!(st->efer & EFER_SVME) && !(st->cr4 & CR4_VMXE)) {
        return false;
    }
    u = g_malloc0(sizeof(*u));
    u->state.size = sizeof(*u);
    if (kvm_ioctl(kvm_vcpu(cpu)->fd, KVM_GET_NESTED_STATE, u) >= 0) {
        nested = u->state.flags & KVM_STATE_NESTED_GUEST_MODE;
    }
    g_free(u);
    return nested;
}

static void tell_once(VCpu *cpu, uint64_t rip, const char *mnemonic)
{
    if (atomic_fetch_add(&kvm_state->rescues, 1) == 0) {
        warn_report("KVM cannot execute %s (vCPU %d, rip 0x%" PRIx64 "): the software CPU does it, and whatever else "
                    "KVM cannot ('info kvm' counts)", mnemonic, cpu->index, rip);
    }
}

/* The step faulted, with the state as before. True: it has done so too often. */
static bool comes_to_nothing(KvmAttempt *a, const X86State *st)
{
    uint64_t rflags = st->rflags | FL_RF;

    if (a->count && a->rip == st->rip && a->rflags == rflags && !memcmp(a->regs, st->regs, sizeof(a->regs))) {
        return ++a->count > ATTEMPTS;
    }
    a->count = 1;
    a->rip = st->rip;
    a->rflags = rflags;
    memcpy(a->regs, st->regs, sizeof(a->regs));
    return false;
}

/* What the step left pending, the kernel delivers. */
static void exception_to_kernel(X86State *st)
{
    if (!st->ev.exception_pending) {
        return;
    }
    st->ev.exception_pending = false;
    st->ev.exception_injected = true;
    if (st->ev.exception_nr != EXCP_DB && st->ev.exception_nr != EXCP_DF) {
        st->rflags |= FL_RF;                            /* as hardware does for faults */
    }
}

/* The state goes back, and the vCPU goes on as it says. */
static VCpuRunResult go_on(VCpu *cpu, const KvmNote *note)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    X86State *st = X86_CPU(cpu)->st;
    Error *err = NULL;

    machine_lock();
    v->state_here = !kvm_state_put_running(cpu, note, &err);
    machine_unlock();
    if (v->state_here) {
        error_report_err(err);
        vm_stop_request(RUN_STATE_INTERNAL_ERROR);
        return VCPU_RUN_STOPPED;
    }
    v->run->ready_for_interrupt_injection = 0;          /* told by the exit, of the state before */
    if (cpu->debug_step) {
        v->debug_stale = true;
        cpu->debug_stop = (DebugStop) { .why = DEBUG_WHY_STEP };
        return VCPU_RUN_DEBUG;
    }
    if (kvm_state->irqchip == KVM_CHIP_OFF && st->mp_state == MP_HALTED) {
        cpu->halted = true;
        return VCPU_RUN_HALTED;
    }
    return VCPU_RUN_AGAIN;
}

VCpuRunResult kvm_rescue(VCpu *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    X86CPU *x86 = X86_CPU(cpu);
    X86StepResult result;
    const char *mnemonic;
    KvmNote note;
    uint64_t rip;

    machine_lock();
    kvm_state_get(cpu);
    machine_unlock();
    if (!v->state_here || in_nested_guest(cpu)) {
        return kvm_gave_up(cpu, KVM_INTERNAL_ERROR_EMULATION);
    }
    if (!kvm_state->cap_failure_exit && x86->st->ev.exception_nr == EXCP_UD) {
        x86->st->ev.exception_injected = false;         /* the kernel's way to say that it does not know */
    }
    kvm_state_note(cpu, &note);
    rip = x86->st->rip;
    result = x86_step_one(x86, &mnemonic);
    trace_kvm_rescue(cpu->index, rip, mnemonic ? mnemonic : "nothing", result);
    if (x86_handle_triple_fault(x86)) {
        return VCPU_RUN_STOPPED;
    }
    if (result == X86_STEP_FAULT && comes_to_nothing(&v->attempt, x86->st)) {
        return kvm_gave_up(cpu, KVM_INTERNAL_ERROR_EMULATION);
    }
    if (result != X86_STEP_FAULT) {
        v->attempt.count = 0;
    }
    tell_once(cpu, rip, mnemonic ? mnemonic : "an undefined instruction");
    exception_to_kernel(x86->st);
    return go_on(cpu, &note);
}
