/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of an instruction that KVM gives up on, and of the vCPU's state around it. There is no KVM here: the
 * ioctls come to a kernel that keeps what it is given and fails at every instruction. With a real one:
 * tests/kvm/test-rescue.py.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "system/runstate.h"
#include "x86-harness.h"

int __wrap_kvm_ioctl(int fd, unsigned long request, void *arg);
void __wrap_vm_stop_request(RunState state);
void __wrap_system_reset_request(ShutdownCause cause);
void __wrap_warn_report(const char *format, ...);
void __wrap_error_report(const char *format, ...);

#define VCPU_FD 77
enum { MSR_DEADLINE = 0x6e0, MSR_PAT = 0x277, V_GONE = 0x51000 };

static struct {
    struct kvm_regs regs;
    struct kvm_sregs sregs;
    struct kvm_xsave xsave;
    struct kvm_xcrs xcrs;
    struct kvm_vcpu_events events;
    struct kvm_debugregs debugregs;
    struct kvm_mp_state mp_state;
    struct kvm_lapic_state lapic;
    uint64_t pat, deadline;
    unsigned msr_puts, mp_puts, lapic_puts, runs;
    bool nested;
} kernel;
static KvmState state;
static KvmVcpu vcpu;
static int stops, resets, warnings;
static char warning[400];

void __wrap_vm_stop_request(RunState why)
{
    ck_assert_int_eq(why, RUN_STATE_INTERNAL_ERROR);
    stops++;
}

void __wrap_system_reset_request(ShutdownCause cause)
{
    resets++;
}

void __wrap_warn_report(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(warning, sizeof(warning), format, ap);
    va_end(ap);
    warnings++;
}

void __wrap_error_report(const char *format, ...)
{
}

static uint64_t *msr_of(uint32_t index)
{
    return index == MSR_PAT ? &kernel.pat : index == MSR_DEADLINE ? &kernel.deadline : NULL;
}

static int msrs(struct kvm_msrs *m, bool put)
{
    for (uint32_t i = 0; i < m->nmsrs; i++) {
        uint64_t *v = msr_of(m->entries[i].index);

        if (put) {
            kernel.msr_puts++;
        }
        if (v && put) {
            *v = m->entries[i].data;
        } else if (v) {
            m->entries[i].data = *v;
        }
    }
    return m->nmsrs;
}

static void events_put(const struct kvm_vcpu_events *e)
{
    uint8_t pending = kernel.events.nmi.pending;

    kernel.events = *e;
    if (!(e->flags & KVM_VCPUEVENT_VALID_NMI_PENDING)) {
        kernel.events.nmi.pending = pending;
    }
}

static int exits(void)
{
    struct kvm_run *run = vcpu.run;

    kernel.runs++;
    run->exit_reason = KVM_EXIT_INTERNAL_ERROR;
    run->internal.suberror = kernel.runs <= 3 ? KVM_INTERNAL_ERROR_EMULATION : KVM_INTERNAL_ERROR_DELIVERY_EV;
    return 0;
}

#define GET_SET(name, field) \
    case KVM_GET_##name: memcpy(arg, &kernel.field, sizeof(kernel.field)); return 0; \
    case KVM_SET_##name: memcpy(&kernel.field, arg, sizeof(kernel.field)); return 0
int __wrap_kvm_ioctl(int fd, unsigned long request, void *arg)
{
    ck_assert_int_eq(fd, VCPU_FD);
    switch (request) {
    GET_SET(REGS, regs);
    GET_SET(SREGS, sregs);
    GET_SET(XSAVE, xsave);
    GET_SET(XCRS, xcrs);
    GET_SET(DEBUGREGS, debugregs);
    case KVM_GET_MSRS: return msrs(arg, false);
    case KVM_SET_MSRS: return msrs(arg, true);
    case KVM_GET_VCPU_EVENTS: *(struct kvm_vcpu_events *)arg = kernel.events; return 0;
    case KVM_SET_VCPU_EVENTS: events_put(arg); return 0;
    case KVM_GET_MP_STATE: *(struct kvm_mp_state *)arg = kernel.mp_state; return 0;
    case KVM_SET_MP_STATE: kernel.mp_state = *(struct kvm_mp_state *)arg; kernel.mp_puts++; return 0;
    case KVM_GET_LAPIC: *(struct kvm_lapic_state *)arg = kernel.lapic; return 0;
    case KVM_SET_LAPIC: kernel.lapic = *(struct kvm_lapic_state *)arg; kernel.lapic_puts++; return 0;
    case KVM_GET_NESTED_STATE:
        ((struct kvm_nested_state *)arg)->flags = kernel.nested ? KVM_STATE_NESTED_GUEST_MODE : 0;
        return 0;
    case KVM_RUN: return exits();
    default: ck_abort_msg("ioctl %lx", request);
    }
}

/* A CPU in long mode at H_CODE whose state is in the kernel and nowhere else. */
static X86CPU *setup(void)
{
    static struct {
        struct kvm_msr_list head;
        uint32_t indices[1];
    } list = { .head.nmsrs = 1, .indices = { MSR_DEADLINE } };
    X86CPU *cpu = harness_cpu_alone("max");
    uint64_t gone = 0;

    harness_long_mode(cpu);
    memcpy(harness_ram() + H_PT + (V_GONE >> 12) * 8, &gone, 8);
    state = (KvmState){ .msr_list = &list.head, .cap_xcrs = true, .cap_failure_exit = true };
    vcpu = (KvmVcpu){ .fd = VCPU_FD, .run = g_malloc0(4096) };
    kvm_state = &state;
    cpu->vcpu.accel = &vcpu;
    cpu->st->rip = H_CODE;
    machine_lock();
    ck_assert(kvm_state_put(&cpu->vcpu, NULL));
    machine_unlock();
    kernel.msr_puts = kernel.mp_puts = kernel.lapic_puts = 0;
    memset(cpu->st->regs, 0xee, sizeof(cpu->st->regs));
    cpu->st->rip = 0xdead;
    return cpu;
}

static VCpuRunResult rescue(X86CPU *cpu, const void *code, size_t len)
{
    VCpuRunResult r;

    memcpy(harness_ram() + H_CODE, code, len);
    vcpu_exec_begin(&cpu->vcpu);
    r = kvm_rescue(&cpu->vcpu);
    vcpu_exec_end(&cpu->vcpu);
    return r;
}
#define RESCUE(cpu, payload) rescue(cpu, payload, payload##_end - payload)

PAYLOAD(p_cx16, ".code64", "lock cmpxchg16b 0x50010");
PAYLOAD(p_paddd, ".code64", "paddd 0x50020, %xmm3");
START_TEST(it_is_executed_and_the_state_goes_back)
{
    static const uint32_t add[4] = { 1, 2, 3, 4 }, sum[4] = { 0x01010102, 0x01010103, 0x01010104, 0x01010105 };
    X86CPU *cpu = setup();
    uint64_t *words = (uint64_t *)(harness_ram() + 0x50010);

    words[0] = 5;
    words[1] = 6;
    kernel.regs.rax = 5;
    kernel.regs.rdx = 6;
    kernel.regs.rbx = 7;
    kernel.regs.rcx = 8;
    kernel.regs.r15 = 0x1515;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
    ck_assert(!vcpu.state_here);
    ck_assert_uint_eq(words[0], 7);
    ck_assert_uint_eq(words[1], 8);
    ck_assert_uint_eq(kernel.regs.rip, H_CODE + (p_cx16_end - p_cx16) - 1);
    ck_assert(kernel.regs.rflags & FL_ZF);
    ck_assert_uint_eq(kernel.regs.r15, 0x1515);
    ck_assert_uint_eq(kernel.events.exception.injected, 0);
    kernel.regs.rip = H_CODE;
    memset((uint8_t *)&kernel.xsave + 160 + 48, 1, 16);
    memcpy(harness_ram() + 0x50020, add, 16);
    ck_assert_int_eq(RESCUE(cpu, p_paddd), VCPU_RUN_AGAIN);
    ck_assert_mem_eq((uint8_t *)&kernel.xsave + 160 + 48, sum, 16);
    ck_assert_uint_eq(state.rescues, 2);
    ck_assert_int_eq(warnings, 1);
    ck_assert_ptr_nonnull(strstr(warning, "cmpxchg16b"));
}
END_TEST

PAYLOAD(p_store_gone, ".code64", "mov %rax, 0x51008");
PAYLOAD(p_ud2, ".code64", "ud2");
START_TEST(exceptions_are_the_kernels_to_deliver)
{
    X86CPU *cpu = setup();

    ck_assert_int_eq(RESCUE(cpu, p_store_gone), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.events.exception.injected, 1);
    ck_assert_uint_eq(kernel.events.exception.nr, EXCP_PF);
    ck_assert_uint_eq(kernel.events.exception.has_error_code, 1);
    ck_assert_uint_eq(kernel.events.exception.error_code, 2);
    ck_assert_uint_eq(kernel.sregs.cr2, 0x51008);
    ck_assert_uint_eq(kernel.regs.rip, H_CODE);
    ck_assert(kernel.regs.rflags & FL_RF);
    kernel.events.exception.injected = 0;
    ck_assert_int_eq(RESCUE(cpu, p_ud2), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.events.exception.injected, 1);
    ck_assert_uint_eq(kernel.events.exception.nr, EXCP_UD);
    ck_assert_uint_eq(kernel.events.exception.has_error_code, 0);
    ck_assert_int_eq(stops, 0);
}
END_TEST

START_TEST(the_kernels_excuse_is_no_exception)
{
    X86CPU *cpu = setup();

    state.cap_failure_exit = false;
    kernel.events.exception.injected = 1;
    kernel.events.exception.nr = EXCP_UD;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.events.exception.injected, 0);
    ck_assert_uint_eq(kernel.regs.rip, H_CODE + (p_cx16_end - p_cx16) - 1);
}
END_TEST

/* The kernel failed in the middle of a delivery (a stack in device memory): else it would fail for ever. */
START_TEST(a_delivery_that_failed_is_finished_here)
{
    X86CPU *cpu = setup();

    kernel.events.exception.injected = 1;
    kernel.events.exception.nr = EXCP_UD;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.events.exception.injected, 0);
    ck_assert_uint_eq(kernel.regs.rip, 0x9000 + EXCP_UD * 32);
    kernel.events.exception.injected = 1;
    kernel.events.exception.nr = EXCP_DF;
    kernel.regs.rsp = V_GONE + 0x100;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_STOPPED);
    ck_assert_int_eq(resets, 1);
}
END_TEST

START_TEST(what_only_comes_back_stops_the_machine)
{
    X86CPU *cpu = setup();
    int n = 0;

    while (n < 5000 && RESCUE(cpu, p_store_gone) == VCPU_RUN_AGAIN) {
        kernel.events.exception.injected = 0;
        n++;
        if (n == 500) {                                 /* something else meanwhile: all begins anew */
            ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
            kernel.regs.rip = H_CODE;
        }
    }
    ck_assert_int_eq(n, 1500);
    ck_assert_int_eq(stops, 1);
    ck_assert(vcpu.state_here);
    vcpu.state_here = false;                            /* somebody lets it go on, and it goes well now */
    kernel.events.exception.injected = 0;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.events.exception.injected, 0);
    ck_assert_int_eq(warnings, 1);
}
END_TEST

/* In a loop that waits, each attempt is a success. */
START_TEST(a_loop_at_one_place_goes_on)
{
    X86CPU *cpu = setup();

    for (int n = 0; n < 3000; n++) {
        kernel.regs.rip = H_CODE;
        kernel.regs.rax = kernel.regs.rdx = 0;
        ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
    }
    ck_assert_int_eq(stops, 0);
    ck_assert_uint_eq(state.rescues, 3000);
}
END_TEST

PAYLOAD(p_wrmsr, ".code64", "wrmsr");
START_TEST(what_came_meanwhile_is_kept)
{
    X86CPU *cpu = setup();

    kernel.deadline = 1234;
    kernel.regs.rcx = MSR_PAT;
    kernel.regs.rax = 0x00070406;
    kernel.regs.rdx = 0x00070406;
    kernel.events.nmi.pending = 1;
    ck_assert_int_eq(RESCUE(cpu, p_wrmsr), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.pat, 0x0007040600070406);
    ck_assert_uint_eq(kernel.deadline, 1234);
    ck_assert_uint_eq(kernel.events.nmi.pending, 1);
    ck_assert(!(kernel.events.flags & KVM_VCPUEVENT_VALID_NMI_PENDING));
    ck_assert_uint_eq(kernel.mp_puts, 0);
    ck_assert_uint_eq(kernel.lapic_puts, 0);
    kernel.regs.rip = H_CODE;
    kernel.regs.rax = 0x00070405;
    kernel.msr_puts = 0;
    ck_assert_int_eq(RESCUE(cpu, p_wrmsr), VCPU_RUN_AGAIN);
    ck_assert_uint_eq(kernel.pat, 0x0007040600070405);
    ck_assert_uint_eq(kernel.msr_puts, 1);              /* that one alone */
}
END_TEST

PAYLOAD(p_halt, ".code64", "hlt");
START_TEST(a_halt_halts)
{
    X86CPU *cpu = setup();

    ck_assert_int_eq(RESCUE(cpu, p_halt), VCPU_RUN_AGAIN);      /* the kernel's local APIC waits */
    ck_assert_uint_eq(kernel.mp_state.mp_state, KVM_MP_STATE_HALTED);
    state.irqchip = KVM_CHIP_OFF;
    kernel.regs.rip = H_CODE;
    cpu->st->mp_state = MP_RUNNABLE;
    ck_assert_int_eq(RESCUE(cpu, p_halt), VCPU_RUN_HALTED);
    ck_assert(cpu->vcpu.halted);
}
END_TEST

START_TEST(a_debuggers_step_ends_behind_it)
{
    X86CPU *cpu = setup();

    cpu->vcpu.debug_step = DEBUG_STEP_ON;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_DEBUG);
    ck_assert_int_eq(cpu->vcpu.debug_stop.why, DEBUG_WHY_STEP);
    ck_assert(vcpu.debug_stale);
}
END_TEST

START_TEST(a_nested_guest_is_not_ours_to_run)
{
    X86CPU *cpu = setup();

    kernel.sregs.efer |= EFER_SVME;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_AGAIN);
    kernel.regs.rip = H_CODE;
    kernel.nested = true;
    ck_assert_int_eq(RESCUE(cpu, p_cx16), VCPU_RUN_STOPPED);
    ck_assert_int_eq(stops, 1);
    ck_assert_uint_eq(cpu->st->rip, H_CODE);
    ck_assert_uint_eq(state.rescues, 1);
}
END_TEST

START_TEST(only_that_error_is_rescued)
{
    X86CPU *cpu = setup();
    VCpuRunResult r;

    memset(harness_ram() + H_CODE, 0x90, 16);
    vcpu_exec_begin(&cpu->vcpu);
    r = kvm_vcpu_run(&cpu->vcpu);
    vcpu_exec_end(&cpu->vcpu);
    ck_assert_int_eq(r, VCPU_RUN_STOPPED);
    ck_assert_uint_eq(kernel.runs, 4);
    ck_assert_uint_eq(kernel.regs.rip, H_CODE + 3);
    ck_assert_uint_eq(state.rescues, 3);
    ck_assert_int_eq(stops, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kvm-rescue");
    TCase *t = tcase_create("kvm-rescue");
    SRunner *r;
    int failed;

    tcase_add_test(t, it_is_executed_and_the_state_goes_back);
    tcase_add_test(t, exceptions_are_the_kernels_to_deliver);
    tcase_add_test(t, the_kernels_excuse_is_no_exception);
    tcase_add_test(t, a_delivery_that_failed_is_finished_here);
    tcase_add_test(t, what_only_comes_back_stops_the_machine);
    tcase_add_test(t, a_loop_at_one_place_goes_on);
    tcase_add_test(t, what_came_meanwhile_is_kept);
    tcase_add_test(t, a_halt_halts);
    tcase_add_test(t, a_debuggers_step_ends_behind_it);
    tcase_add_test(t, a_nested_guest_is_not_ours_to_run);
    tcase_add_test(t, only_that_error_is_rescued);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
