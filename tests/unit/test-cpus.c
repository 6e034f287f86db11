/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vCPU threads on a toy accelerator: pause and resume, kicks out of halt, work items, exclusive sections, requests
 * (reset, shutdown, -no-reboot, exit codes), fallback lists.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accel/accel.h"
#include "system/loop.h"
#include "system/runstate.h"

static _Atomic int turns[4], alone_violations, in_critical, wake_flag, exclusive_runs;
static _Atomic bool halting, exclusives, kick_self;

static VCpuRunResult toy_run(VCpu *cpu)
{
    while (!cpu->exit_request) {
        turns[cpu->index]++;
        if (in_critical && in_critical != cpu->index + 1) {
            alone_violations++;
        }
        if (exclusives && cpu->index < 2 && turns[cpu->index] % 50 == 0) {
            vcpu_exclusive_begin(cpu);
            in_critical = cpu->index + 1;
            exclusive_runs++;
            in_critical = 0;
            vcpu_exclusive_end(cpu);
        }
        if (halting) {
            return VCPU_RUN_HALTED;
        }
    }
    return VCPU_RUN_AGAIN;
}

static bool toy_has_work(VCpu *cpu)
{
    if (kick_self) {
        kick_self = false;
        vcpu_kick(cpu);             /* an end of interrupt found on the way to sleep does that */
    }
    return wake_flag;
}

static bool never(Error **errp)
{
    error_set(errp, "this host has no such thing");
    return false;
}

static const char *const toy_props[] = { "speed\0how fast", NULL };
static const AccelOps toy = { .name = "toy", .props = toy_props, .run = toy_run, .has_work = toy_has_work };
static const AccelOps absent = { .name = "absent", .available = never, .run = toy_run };
ACCEL_REGISTER(toy)
ACCEL_REGISTER(absent)

static const Type toy_cpu = { .name = "toy-cpu", .parent = "cpu" };
TYPE_REGISTER(toy_cpu)

static void start_cpus(int n)
{
    ck_assert(accel_select("toy", NULL, 0, NULL));
    machine_lock();
    for (int i = 0; i < n; i++) {
        VCpu *cpu = (VCpu *)object_new("toy-cpu");

        vcpu_init(cpu);
        ck_assert(vcpu_register(cpu, NULL));
        ck_assert(vcpu_start(cpu, NULL));
    }
    loop_poll(loop_main(), false);
}

static void let_run(int ms)
{
    machine_unlock();
    usleep(ms * 1000);
    machine_lock();
}

/* Lets the vCPUs run until the condition holds: however loaded the host is, the case's time limit is the only one. */
#define LET_RUN_UNTIL(cond) do { let_run(2); } while (!(cond))

START_TEST(nothing_runs_before_start_nor_after_stop)
{
    int before;

    start_cpus(3);
    let_run(5);
    ck_assert_int_eq(turns[0] + turns[1] + turns[2], 0);
    vm_start();
    LET_RUN_UNTIL(turns[0] && turns[1] && turns[2]);
    for (int i = 0; i < 50; i++) {
        vm_stop(RUN_STATE_PAUSED);
        before = turns[0] + turns[1] + turns[2];
        if (i % 10 == 0) {
            let_run(2);
        }
        ck_assert_int_eq(turns[0] + turns[1] + turns[2], before);
        vm_start();
    }
    vcpus_join_all();
    machine_unlock();
}
END_TEST

START_TEST(halted_cpus_sleep_until_an_event)
{
    int before;

    start_cpus(1);
    halting = true;
    vm_start();
    LET_RUN_UNTIL(turns[0] && vcpu_get(0)->sleeping);
    before = turns[0];
    let_run(10);
    ck_assert_int_eq(turns[0], before);
    kick_self = true;
    vcpu_kick(vcpu_get(0));
    LET_RUN_UNTIL(!kick_self && vcpu_get(0)->sleeping);
    ck_assert_int_eq(turns[0], before);
    wake_flag = 1;
    vcpu_kick(vcpu_get(0));
    LET_RUN_UNTIL(turns[0] > before);
    wake_flag = 0;
    vcpus_join_all();
    machine_unlock();
}
END_TEST

static int work_done;

static void work(VCpu *cpu, void *opaque)
{
    ck_assert(machine_locked());
    ck_assert_ptr_eq(vcpu_current(), cpu);
    work_done += (int)(intptr_t)opaque;
}

START_TEST(work_runs_on_the_cpus_thread)
{
    start_cpus(2);
    vcpu_run_sync(vcpu_get(0), work, (void *)1);
    ck_assert_int_eq(work_done, 1);
    vm_start();
    for (int i = 0; i < 200; i++) {
        vcpu_run_sync(vcpu_get(i & 1), work, (void *)1);
    }
    ck_assert_int_eq(work_done, 201);
    vcpu_run_async(vcpu_get(1), work, (void *)1000);
    vcpu_run_sync(vcpu_get(1), work, (void *)0);
    ck_assert_int_eq(work_done, 1201);
    vcpus_join_all();
    machine_unlock();
}
END_TEST

START_TEST(exclusive_means_alone)
{
    start_cpus(4);
    exclusives = true;
    vm_start();
    LET_RUN_UNTIL(exclusive_runs > 100);
    vm_stop(RUN_STATE_PAUSED);
    ck_assert_int_eq(alone_violations, 0);
    vcpus_join_all();
    machine_unlock();
}
END_TEST

static GString *events;
static int resets;

static void sink(const char *event, const char *json)
{
    g_string_append_printf(events, "%s%s%s;", event, json ? " " : "", json ? json : "");
}

static void count_reset(void *opaque)
{
    resets++;
}

static Timer later;

static void ask_shutdown(void *opaque)
{
    system_shutdown_request(SHUTDOWN_GUEST_SHUTDOWN);
}

static void ask_reset(void *opaque)
{
    system_reset_request(SHUTDOWN_GUEST_RESET);
    timer_init(&later, CLOCK_REAL, ask_shutdown, NULL);
    timer_mod(&later, clock_ns(CLOCK_REAL) + 2000000);
}

static void run_with(void (*fn)(void *), int want_status, const char *want_events)
{
    events = g_string_new(NULL);
    run_event_sink_set(sink);
    reset_hook_add(count_reset, NULL);
    start_cpus(1);
    vm_start();
    timer_init(&later, CLOCK_REAL, fn, NULL);
    timer_mod(&later, clock_ns(CLOCK_REAL) + 1000000);
    ck_assert_int_eq(main_loop_run(), want_status);
    ck_assert_str_eq(events->str, want_events);
    vcpus_join_all();
    machine_unlock();
}

START_TEST(reset_then_shutdown)
{
    run_with(ask_reset, 0, "RESUME;RESET {\"guest\": true, \"reason\": \"guest-reset\"};"
             "SHUTDOWN {\"guest\": true, \"reason\": \"guest-shutdown\"};");
    ck_assert_int_eq(resets, 1);
}
END_TEST

START_TEST(no_reboot_turns_reset_into_shutdown)
{
    run_actions()->reboot = REBOOT_SHUTDOWN;
    run_with(ask_reset, 0, "RESUME;SHUTDOWN {\"guest\": true, \"reason\": \"guest-reset\"};");
    ck_assert_int_eq(resets, 0);
}
END_TEST

static void ask_exit(void *opaque)
{
    system_shutdown_request_with_code(SHUTDOWN_GUEST_SHUTDOWN, 33);
    system_shutdown_request_with_code(SHUTDOWN_GUEST_SHUTDOWN, 35);
}

START_TEST(first_exit_code_decides)
{
    run_actions()->shutdown = SHUTDOWN_PAUSE;
    run_with(ask_exit, 33, "RESUME;SHUTDOWN {\"guest\": true, \"reason\": \"guest-shutdown\"};");
}
END_TEST

static void ask_panic(void *opaque)
{
    system_guest_panicked(NULL);
}

START_TEST(panic_may_be_failure)
{
    run_actions()->panic = PANIC_EXIT_FAILURE;
    run_with(ask_panic, 1, "RESUME;GUEST_PANICKED {\"action\": \"poweroff\"};STOP;"
             "SHUTDOWN {\"guest\": true, \"reason\": \"guest-panic\"};");
}
END_TEST

static void ask_quit(void *opaque)
{
    ck_assert_int_eq(runstate_get(), RUN_STATE_SHUTDOWN);
    system_shutdown_request(SHUTDOWN_HOST_QMP_QUIT);
}

static void ask_stay(void *opaque)
{
    ask_shutdown(NULL);
    timer_init(&later, CLOCK_REAL, ask_quit, NULL);
    timer_mod(&later, clock_ns(CLOCK_REAL) + 3000000);
}

START_TEST(no_shutdown_stays_until_quit)
{
    run_actions()->shutdown = SHUTDOWN_PAUSE;
    run_with(ask_stay, 0, "RESUME;SHUTDOWN {\"guest\": true, \"reason\": \"guest-shutdown\"};STOP;"
             "SHUTDOWN {\"guest\": false, \"reason\": \"host-qmp-quit\"};");
}
END_TEST

static void hear(void *opaque, const char *text)
{
    g_string_append(opaque, text);
}

START_TEST(fallback_lists)
{
    g_autoptr(Error) err = NULL;
    AccelProp speed = { "speed", "1" }, bad = { "colour", "1" };
    GString *said = g_string_new(NULL);

    ck_assert(!accel_select("nosuch", NULL, 0, &err));
    ck_assert(strstr(error_text(err), "'nosuch'"));
    g_clear_pointer(&err, error_free);
    ck_assert(!accel_select("absent", NULL, 0, &err));
    ck_assert(strstr(error_text(err), "no such thing"));
    g_clear_pointer(&err, error_free);
    ck_assert(!accel_select("toy", &bad, 1, &err));
    ck_assert(strstr(error_text(err), "toy-accel.colour"));
    ck_assert(accel_select("toy", &speed, 1, NULL));
    error_sink_set(hear, said);
    ck_assert(accel_select("absent:toy", NULL, 0, NULL));
    error_sink_set(NULL, NULL);
    ck_assert(strstr(said->str, "'toy'") && strstr(said->str, "no such thing"));
    ck_assert_str_eq(accel_current()->name, "toy");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cpus");
    TCase *tc = tcase_create("cpus");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, nothing_runs_before_start_nor_after_stop);
    tcase_add_test(tc, halted_cpus_sleep_until_an_event);
    tcase_add_test(tc, work_runs_on_the_cpus_thread);
    tcase_add_test(tc, exclusive_means_alone);
    tcase_add_test(tc, reset_then_shutdown);
    tcase_add_test(tc, no_reboot_turns_reset_into_shutdown);
    tcase_add_test(tc, first_exit_code_decides);
    tcase_add_test(tc, panic_may_be_failure);
    tcase_add_test(tc, no_shutdown_stays_until_quit);
    tcase_add_test(tc, fallback_lists);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
