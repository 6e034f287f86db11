/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the debugger's points and steps become in KVM_SET_GUEST_DEBUG (api.rst 4.87), and what its exits mean; that a
 * stop loses no interrupt. There is no KVM here: the ioctl is taken over. tests/kvm/test-accel.py and test-gdb.py are
 * with a real one.
 */
#include <check.h>
#include <stdlib.h>

#include "accel/kvm/kvm-int.h"
#include "target/i386/debug.h"
#include "x86-harness.h"

int __wrap_kvm_ioctl(int fd, unsigned long request, void *arg);
void __wrap_vcpus_get_state(void);
void __wrap_kvm_state_get(VCpu *cpu);

#define VCPU_FD 77
static struct kvm_guest_debug told;
static int tellings, fetches, lapic_puts;
static struct kvm_lapic_state kernel_lapic;
static KvmState state;
static KvmVcpu vcpu;

int __wrap_kvm_ioctl(int fd, unsigned long request, void *arg)
{
    ck_assert_int_eq(fd, VCPU_FD);
    if (request == KVM_GET_LAPIC) {
        *(struct kvm_lapic_state *)arg = kernel_lapic;
        return 0;
    }
    if (request == KVM_SET_LAPIC) {
        kernel_lapic = *(struct kvm_lapic_state *)arg;
        lapic_puts++;
        return 0;
    }
    ck_assert_uint_eq(request, KVM_SET_GUEST_DEBUG);
    told = *(struct kvm_guest_debug *)arg;
    tellings++;
    return 0;
}

void __wrap_vcpus_get_state(void)
{
}

void __wrap_kvm_state_get(VCpu *cpu)
{
    fetches++;
}

static X86CPU *setup(void)
{
    X86CPU *cpu = harness_cpu("max");

    harness_long_mode(cpu);
    state = (KvmState){ 0 };
    vcpu = (KvmVcpu){ .fd = VCPU_FD };
    kvm_state = &state;
    cpu->vcpu.accel = &vcpu;
    return cpu;
}

static void insert(X86CPU *cpu, DebugKind kind, uint64_t addr, uint64_t len)
{
    const DebugPoint p = { kind, addr, len };

    ck_assert(kvm_debug_insert(&cpu->vcpu, &p, NULL));
}

static void removed(X86CPU *cpu, DebugKind kind, uint64_t addr, uint64_t len)
{
    const DebugPoint p = { kind, addr, len };

    ck_assert(kvm_debug_remove(&cpu->vcpu, &p));
}

static void refused(X86CPU *cpu, DebugKind kind, uint64_t addr, uint64_t len)
{
    const DebugPoint p = { kind, addr, len };

    ck_assert(!kvm_debug_insert(&cpu->vcpu, &p, NULL));
}

static void applied(X86CPU *cpu, uint32_t control)
{
    int before = tellings;

    kvm_debug_apply(&cpu->vcpu);
    ck_assert_int_eq(tellings, before + 1);
    ck_assert(!vcpu.debug_stale);
    ck_assert_uint_eq(told.control, control);
}

static VCpuRunResult exits(X86CPU *cpu, uint32_t exception, uint64_t pc, uint64_t dr6)
{
    struct kvm_run run = { .exit_reason = KVM_EXIT_DEBUG };

    run.debug.arch.exception = exception;
    run.debug.arch.pc = pc;
    run.debug.arch.dr6 = dr6;
    cpu->vcpu.debug_stop = (DebugStop){ 0 };
    return kvm_debug_exit(&cpu->vcpu, &run);
}

static void stops_at(X86CPU *cpu, DebugWhy why, DebugKind kind, uint64_t addr)
{
    ck_assert_int_eq(cpu->vcpu.debug_stop.why, why);
    ck_assert_int_eq(cpu->vcpu.debug_stop.kind, kind);
    ck_assert_uint_eq(cpu->vcpu.debug_stop.addr, addr);
}

START_TEST(a_software_breakpoint_is_an_int3_that_nobody_sees)
{
    X86CPU *cpu = setup();
    uint8_t bytes[3] = { 1, 2, 3 };

    harness_ram()[H_CODE] = 0x90;
    insert(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);
    insert(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);           /* once is enough */
    ck_assert_uint_eq(harness_ram()[H_CODE], 0xcc);
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_SW_BP);
    ck_assert_uint_eq(told.arch.debugreg[7], 0);
    bytes[1] = 0xcc;
    kvm_debug_hide(&cpu->vcpu, H_CODE - 1, bytes, 3, false);
    ck_assert_uint_eq(bytes[1], 0x90);
    bytes[1] = 0xf4;
    kvm_debug_hide(&cpu->vcpu, H_CODE - 1, bytes, 3, true);
    ck_assert_uint_eq(bytes[1], 0xcc);
    removed(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);
    ck_assert_uint_eq(harness_ram()[H_CODE], 0xf4);     /* what was written meanwhile */
    applied(cpu, 0);
    refused(cpu, DEBUG_BREAK_SOFT, HARNESS_RAM, 1);
    kvm_debug_fini();
}
END_TEST

START_TEST(hardware_points_are_debug_registers)
{
    X86CPU *cpu = setup();

    insert(cpu, DEBUG_BREAK_HARD, 0xffffffff81000123, 1);
    insert(cpu, DEBUG_WATCH_WRITE, 0x2001, 1);
    insert(cpu, DEBUG_WATCH_READ, 0x3004, 4);
    insert(cpu, DEBUG_WATCH_ACCESS, 0x4008, 8);
    refused(cpu, DEBUG_BREAK_HARD, 0x5000, 1);          /* four are all */
    insert(cpu, DEBUG_WATCH_ACCESS, 0x4008, 8);         /* but one that is there is */
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP);
    ck_assert_uint_eq(told.arch.debugreg[0], 0xffffffff81000123);
    ck_assert_uint_eq(told.arch.debugreg[1], 0x2001);
    ck_assert_uint_eq(told.arch.debugreg[2], 0x3004);
    ck_assert_uint_eq(told.arch.debugreg[3], 0x4008);
    /* G0..G3, LE and GE as fixed; from bit 16: R/W 0 LEN 0; 1, 0; 3, 3; 3, 2. */
    ck_assert_uint_eq(told.arch.debugreg[7], 0xbf1006aa);
    removed(cpu, DEBUG_WATCH_WRITE, 0x2001, 1);
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP);
    ck_assert_uint_eq(told.arch.debugreg[7], 0xbf0006a2);
    insert(cpu, DEBUG_WATCH_WRITE, 0x6002, 2);
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP);
    ck_assert_uint_eq(told.arch.debugreg[1], 0x6002);
    ck_assert_uint_eq(told.arch.debugreg[7], 0xbf5006aa);
    kvm_debug_fini();
}
END_TEST

START_TEST(watchpoints_are_what_registers_can_watch)
{
    X86CPU *cpu = setup();

    refused(cpu, DEBUG_WATCH_WRITE, 0x2001, 2);
    refused(cpu, DEBUG_WATCH_READ, 0x2000, 3);
    refused(cpu, DEBUG_WATCH_ACCESS, 0x2000, 16);
    applied(cpu, 0);
    kvm_debug_fini();
}
END_TEST

START_TEST(a_step_is_told_with_the_interrupts)
{
    X86CPU *cpu = setup();

    cpu->vcpu.debug_step = DEBUG_STEP_ON | DEBUG_STEP_NOIRQ;
    kvm_debug_step(&cpu->vcpu);
    ck_assert(vcpu.debug_stale);
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP);        /* an old kernel */
    state.debug_flags = KVM_GUESTDBG_BLOCKIRQ;
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP | KVM_GUESTDBG_BLOCKIRQ);
    cpu->vcpu.debug_step = DEBUG_STEP_ON;
    applied(cpu, KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP);
    ck_assert_int_eq(exits(cpu, EXCP_DB, 0x1000, 0x4000), VCPU_RUN_DEBUG);
    stops_at(cpu, DEBUG_WHY_STEP, 0, 0);
    cpu->vcpu.debug_step = 0;
    applied(cpu, 0);
}
END_TEST

START_TEST(exits_stop_at_points)
{
    X86CPU *cpu = setup();

    insert(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);
    insert(cpu, DEBUG_BREAK_HARD, 0x5000, 1);
    insert(cpu, DEBUG_WATCH_ACCESS, 0x6000, 4);
    ck_assert_int_eq(exits(cpu, EXCP_BP, H_CODE, 0), VCPU_RUN_DEBUG);
    stops_at(cpu, DEBUG_WHY_BREAK, DEBUG_BREAK_SOFT, H_CODE);
    ck_assert_int_eq(exits(cpu, EXCP_DB, 0x5000, 0xffff0ff1), VCPU_RUN_DEBUG);
    stops_at(cpu, DEBUG_WHY_BREAK, DEBUG_BREAK_HARD, 0x5000);
    ck_assert_int_eq(exits(cpu, EXCP_DB, 0x5010, 0xffff0ff2), VCPU_RUN_DEBUG);
    stops_at(cpu, DEBUG_WHY_WATCH, DEBUG_WATCH_ACCESS, 0x6000);
    removed(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);
    kvm_debug_fini();
}
END_TEST

START_TEST(exceptions_of_the_guest_go_back_to_it)
{
    X86CPU *cpu = setup();
    X86State *st = cpu->st;

    insert(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);
    fetches = 0;
    ck_assert_int_eq(exits(cpu, EXCP_BP, H_CODE + 8, 0), VCPU_RUN_AGAIN);
    ck_assert_int_eq(cpu->vcpu.debug_stop.why, DEBUG_WHY_NONE);
    ck_assert_int_eq(fetches, 1);
    ck_assert(st->ev.exception_injected);
    ck_assert_uint_eq(st->ev.exception_nr, EXCP_BP);
    ck_assert(!st->ev.exception_has_error);
    st->dr[6] = 0xffff0ff0;
    st->ev.exception_injected = false;
    ck_assert_int_eq(exits(cpu, EXCP_DB, 0x1000, 0xffff4ff0), VCPU_RUN_AGAIN);  /* TF of its own */
    ck_assert(st->ev.exception_injected);
    ck_assert_uint_eq(st->ev.exception_nr, EXCP_DB);
    ck_assert_uint_eq(st->dr[6], 0xffff4ff0);
    removed(cpu, DEBUG_BREAK_SOFT, H_CODE, 1);
    kvm_debug_fini();
}
END_TEST

/* Others run on, or run again earlier: what they send must not be overwritten by what was read before. */
START_TEST(a_stop_loses_no_interrupt)
{
    X86CPU *cpu = setup();

    kernel_lapic = (struct kvm_lapic_state){ { 0 } };
    lapic_puts = 0;
    ck_assert_int_eq(kvm_apic_put(&cpu->vcpu), 0);      /* at first the kernel knows nothing */
    ck_assert_int_eq(lapic_puts, 1);
    kvm_apic_get(&cpu->vcpu);
    kernel_lapic.regs[0x210] = 4;                       /* IRR: vector 22h comes */
    ck_assert_int_eq(kvm_apic_put(&cpu->vcpu), 0);
    ck_assert_int_eq(lapic_puts, 1);
    ck_assert_int_eq(kernel_lapic.regs[0x210], 4);
    kvm_apic_get(&cpu->vcpu);
    ck_assert_uint_eq(cpu->apic->regs.irr[1], 4);
    cpu->apic->regs.tpr = 0x40;                         /* as a loaded state does */
    ck_assert_int_eq(kvm_apic_put(&cpu->vcpu), 0);
    ck_assert_int_eq(lapic_puts, 2);
    ck_assert_int_eq(kernel_lapic.regs[0x80], 0x40);
    ck_assert_int_eq(kernel_lapic.regs[0x210], 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kvm-debug");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, a_software_breakpoint_is_an_int3_that_nobody_sees);
    tcase_add_test(tc, hardware_points_are_debug_registers);
    tcase_add_test(tc, watchpoints_are_what_registers_can_watch);
    tcase_add_test(tc, a_step_is_told_with_the_interrupts);
    tcase_add_test(tc, exits_stop_at_points);
    tcase_add_test(tc, exceptions_of_the_guest_go_back_to_it);
    tcase_add_test(tc, a_stop_loses_no_interrupt);
    suite_add_tcase(s, tc);
    runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
