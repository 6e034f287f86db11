/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run state and the requests that change it; see include/system/runstate.h.
 *
 * Requests are flags that any thread sets; main_loop_run() carries them out between turns, so that
 * no device is reset from inside its own access. A vCPU that asks for reset or shutdown stops
 * itself at once: the guest must not run on past the instruction that ended it. -no-reboot and
 * -action are judged when the request is made; quit and signals override -no-shutdown. Test:
 * tests/unit/test-runstate.c.
 */
#include "system/runstate.h"

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "system/cpus.h"
#include "system/loop-internal.h"
#include "system/qdev.h"
#include "trace-system.h"
#include "util/lockorder.h"

typedef struct Notifier {
    void (*fn)(void);               /* cast to its own type by its caller */
    void *opaque;
} Notifier;

typedef struct QueuedEvent {
    char *name, *json;
} QueuedEvent;

static struct {
    _Atomic RunState state;
    RunActions actions;
    /* requests */
    _Atomic int reset, shutdown;    /* ShutdownCause */
    _Atomic int stop;               /* RunState + 1 */
    _Atomic bool powerdown, suspend, wakeup, panicked, crashloaded;
    _Atomic bool forced;            /* the shutdown ends the process whatever -no-shutdown says */
    _Atomic int code;               /* exit status + 1 that a device asked for */
    /* who is told */
    GArray *powerdown_notifiers, *reset_hooks, *vm_notifiers;
    RunEventSink *sink;
    pthread_mutex_t events_lock;    /* leaf */
    GQueue events;
} run = { .state = RUN_STATE_PRELAUNCH, .actions = { .panic = PANIC_SHUTDOWN },
          .events_lock = PTHREAD_MUTEX_INITIALIZER, .events = G_QUEUE_INIT };

RunActions *run_actions(void)
{
    return &run.actions;
}

RunState runstate_get(void)
{
    return run.state;
}

const char *runstate_name(RunState s)
{
    static const char *const names[RUN_STATE_COUNT] = {
        [RUN_STATE_DEBUG] = "debug", [RUN_STATE_INMIGRATE] = "inmigrate",
        [RUN_STATE_INTERNAL_ERROR] = "internal-error", [RUN_STATE_IO_ERROR] = "io-error",
        [RUN_STATE_PAUSED] = "paused", [RUN_STATE_POSTMIGRATE] = "postmigrate",
        [RUN_STATE_PRELAUNCH] = "prelaunch", [RUN_STATE_FINISH_MIGRATE] = "finish-migrate",
        [RUN_STATE_RESTORE_VM] = "restore-vm", [RUN_STATE_RUNNING] = "running",
        [RUN_STATE_SAVE_VM] = "save-vm", [RUN_STATE_SHUTDOWN] = "shutdown", [RUN_STATE_SUSPENDED] = "suspended",
        [RUN_STATE_WATCHDOG] = "watchdog", [RUN_STATE_GUEST_PANICKED] = "guest-panicked",
        [RUN_STATE_COLO] = "colo",
    };

    return names[s];
}

const char *shutdown_cause_name(ShutdownCause c)
{
    static const char *const names[SHUTDOWN_CAUSE_COUNT] = {
        [SHUTDOWN_NONE] = "none", [SHUTDOWN_HOST_ERROR] = "host-error",
        [SHUTDOWN_HOST_QMP_QUIT] = "host-qmp-quit", [SHUTDOWN_HOST_QMP_SYSTEM_RESET] = "host-qmp-system-reset",
        [SHUTDOWN_HOST_SIGNAL] = "host-signal", [SHUTDOWN_HOST_UI] = "host-ui",
        [SHUTDOWN_GUEST_SHUTDOWN] = "guest-shutdown", [SHUTDOWN_GUEST_RESET] = "guest-reset",
        [SHUTDOWN_GUEST_PANIC] = "guest-panic", [SHUTDOWN_SUBSYSTEM_RESET] = "subsystem-reset",
        [SHUTDOWN_SNAPSHOT_LOAD] = "snapshot-load",
    };

    return names[c];
}

static bool cause_is_guest(ShutdownCause c)
{
    return c >= SHUTDOWN_GUEST_SHUTDOWN && c <= SHUTDOWN_SUBSYSTEM_RESET;
}

bool runstate_is_running(void)
{
    return run.state == RUN_STATE_RUNNING;
}

void runstate_set(RunState s)
{
    trace_runstate_set(runstate_name(run.state), runstate_name(s));
    run.state = s;
}

/* ---- events ---- */

static void events_lock(void)
{
    lock_rank_enter(LOCK_LEAF);
    pthread_mutex_lock(&run.events_lock);
}

static void events_unlock(void)
{
    pthread_mutex_unlock(&run.events_lock);
    lock_rank_leave(LOCK_LEAF);
}

void run_events_flush(void)
{
    QueuedEvent *e;

    for (;;) {
        events_lock();
        e = g_queue_pop_head(&run.events);
        events_unlock();
        if (!e) {
            return;
        }
        if (run.sink) {
            run.sink(e->name, e->json);
        }
        g_free(e->name);
        g_free(e->json);
        g_free(e);
    }
}

void run_event_sink_set(RunEventSink *sink)
{
    run.sink = sink;
}

void run_event_emit(const char *event, const char *json_data)
{
    QueuedEvent *e;

    if (!run.sink) {
        return;
    }
    e = g_new0(QueuedEvent, 1);
    e->name = g_strdup(event);
    e->json = g_strdup(json_data);
    events_lock();
    g_queue_push_tail(&run.events, e);
    events_unlock();
    loop_wake(loop_main());
}

static void emit_cause(const char *event, ShutdownCause cause)
{
    g_autofree char *json = g_strdup_printf("{\"guest\": %s, \"reason\": \"%s\"}",
                                            cause_is_guest(cause) ? "true" : "false",
                                            shutdown_cause_name(cause));

    run_event_emit(event, json);
}

/* ---- notifiers ---- */

static void notifier_add(GArray **list, void (*fn)(void), void *opaque)
{
    Notifier n = { fn, opaque };

    if (!*list) {
        *list = g_array_new(FALSE, FALSE, sizeof(Notifier));
    }
    g_array_append_val(*list, n);
}

void powerdown_notifier_add(PowerNotify *fn, void *opaque)
{
    notifier_add(&run.powerdown_notifiers, (void (*)(void))fn, opaque);
}

void reset_hook_add(void (*fn)(void *opaque), void *opaque)
{
    notifier_add(&run.reset_hooks, (void (*)(void))fn, opaque);
}

void vm_change_notifier_add(void (*fn)(void *opaque, bool running, RunState s), void *opaque)
{
    notifier_add(&run.vm_notifiers, (void (*)(void))fn, opaque);
}

static void notify_opaque(GArray *list)
{
    for (guint i = 0; list && i < list->len; i++) {
        Notifier *n = &g_array_index(list, Notifier, i);

        ((void (*)(void *))n->fn)(n->opaque);
    }
}

static void notify_vm_change(bool running, RunState s)
{
    for (guint i = 0; run.vm_notifiers && i < run.vm_notifiers->len; i++) {
        Notifier *n = &g_array_index(run.vm_notifiers, Notifier, i);

        ((void (*)(void *, bool, RunState))n->fn)(n->opaque, running, s);
    }
}

/* ---- start and stop ---- */

void vm_start(void)
{
    if (runstate_is_running()) {
        return;
    }
    runstate_set(RUN_STATE_RUNNING);
    clock_virtual_enable(true);
    notify_vm_change(true, RUN_STATE_RUNNING);
    vcpus_resume_all();
    run_event_emit("RESUME", NULL);
}

void vm_stop(RunState s)
{
    if (!runstate_is_running()) {
        runstate_set(s);
        return;
    }
    vcpus_pause_all();
    clock_virtual_enable(false);
    runstate_set(s);
    notify_vm_change(false, s);
    run_event_emit("STOP", NULL);
}

/* ---- requests ---- */

static void request_made(void)
{
    vcpu_stop_current();
    loop_wake(loop_main());
}

void vm_stop_request(RunState s)
{
    run.stop = s + 1;
    request_made();
}

void system_reset_request(ShutdownCause cause)
{
    if (run.actions.reboot == REBOOT_SHUTDOWN && cause != SHUTDOWN_SUBSYSTEM_RESET) {
        system_shutdown_request(cause);
        return;
    }
    run.reset = cause;
    request_made();
}

void system_shutdown_request(ShutdownCause cause)
{
    int none = SHUTDOWN_NONE;

    if (cause == SHUTDOWN_HOST_QMP_QUIT || cause == SHUTDOWN_HOST_SIGNAL) {
        run.forced = true;
    }
    atomic_compare_exchange_strong(&run.shutdown, &none, cause);
    request_made();
}

void system_shutdown_request_with_code(ShutdownCause cause, int code)
{
    int none = 0;

    atomic_compare_exchange_strong(&run.code, &none, code + 1);
    run.forced = true;
    system_shutdown_request(cause);
}

void system_powerdown_request(void)
{
    run.powerdown = true;
    request_made();
}

void system_suspend_request(void)
{
    run.suspend = true;
    request_made();
}

void system_wakeup_request(void)
{
    run.wakeup = true;
    loop_wake(loop_main());
}

void system_guest_panicked(const char *action_hint)
{
    if (action_hint && !g_strcmp0(action_hint, "crashloaded")) {
        run.crashloaded = true;
        loop_wake(loop_main());
    } else if (run.actions.panic == PANIC_NONE) {
        run_event_emit("GUEST_PANICKED", "{\"action\": \"run\"}");
    } else {
        run.panicked = true;
        request_made();
    }
}

/* ---- carrying them out: main loop thread, machine lock ---- */

void system_reset_now(ShutdownCause cause)
{
    VCpu *cpu;

    trace_system_reset(shutdown_cause_name(cause));
    VCPU_FOREACH(cpu) {
        cpu->halted = false;
    }
    devices_reset_all();
    notify_opaque(run.reset_hooks);
    vcpus_put_state();
    if (cause != SHUTDOWN_NONE) {
        emit_cause("RESET", cause);
    }
}

static void do_reset(ShutdownCause cause)
{
    vcpus_pause_all();
    system_reset_now(cause);
    if (runstate_is_running()) {
        vcpus_resume_all();
    } else if (run.state != RUN_STATE_INMIGRATE && run.state != RUN_STATE_FINISH_MIGRATE) {
        runstate_set(RUN_STATE_PRELAUNCH);
    }
}

/* True when the process ends now. */
static bool do_shutdown(ShutdownCause cause)
{
    bool stay = run.actions.shutdown == SHUTDOWN_PAUSE && !run.forced;

    trace_system_shutdown(shutdown_cause_name(cause), run.code ? run.code - 1 : 0);
    emit_cause("SHUTDOWN", cause);
    if (stay) {
        vm_stop(RUN_STATE_SHUTDOWN);
    }
    return !stay;
}

static void do_panic(void)
{
    bool end = run.actions.panic == PANIC_EXIT_FAILURE ||
               (run.actions.panic == PANIC_SHUTDOWN && run.actions.shutdown != SHUTDOWN_PAUSE);

    run_event_emit("GUEST_PANICKED", end ? "{\"action\": \"poweroff\"}" : "{\"action\": \"pause\"}");
    vm_stop(RUN_STATE_GUEST_PANICKED);
    if (end) {
        system_shutdown_request(SHUTDOWN_GUEST_PANIC);
    }
}

static void do_suspend(void)
{
    vcpus_pause_all();
    runstate_set(RUN_STATE_SUSPENDED);
    run_event_emit("SUSPEND", NULL);
}

static void do_wakeup(void)
{
    if (run.state != RUN_STATE_SUSPENDED) {
        return;
    }
    runstate_set(RUN_STATE_RUNNING);
    system_reset_now(SHUTDOWN_NONE);
    vcpus_resume_all();
    run_event_emit("WAKEUP", NULL);
}

static void do_powerdown(void)
{
    run_event_emit("POWERDOWN", NULL);
    notify_opaque(run.powerdown_notifiers);
    if (runstate_is_running()) {
        vcpus_resume_all();         /* whoever pressed the button from a vCPU stopped itself */
    }
}

/* Carries out what was asked; true when the process ends. */
static bool requests_handle(void)
{
    int cause, stop;

    if (atomic_exchange(&run.crashloaded, false)) {
        run_event_emit("GUEST_CRASHLOADED", "{\"action\": \"run\"}");
    }
    if (atomic_exchange(&run.panicked, false)) {
        do_panic();
    }
    if (atomic_exchange(&run.suspend, false)) {
        do_suspend();
    }
    cause = atomic_exchange(&run.shutdown, SHUTDOWN_NONE);
    if (cause && do_shutdown(cause)) {
        if (run.actions.panic == PANIC_EXIT_FAILURE && cause == SHUTDOWN_GUEST_PANIC && !run.code) {
            run.code = EXIT_FAILURE + 1;
        }
        return true;
    }
    cause = atomic_exchange(&run.reset, SHUTDOWN_NONE);
    if (cause) {
        do_reset(cause);
    }
    if (atomic_exchange(&run.wakeup, false)) {
        do_wakeup();
    }
    if (atomic_exchange(&run.powerdown, false)) {
        do_powerdown();
    }
    stop = atomic_exchange(&run.stop, 0);
    if (stop) {
        vm_stop(stop - 1);
    }
    return false;
}

int main_loop_run(void)
{
    bool lock = !machine_locked();
    bool end;

    if (lock) {
        machine_lock();
    }
    while (!(end = requests_handle())) {
        run_events_flush();
        loop_poll(loop_main(), true);
    }
    run_events_flush();
    if (lock) {
        machine_unlock();
    }
    return run.code ? run.code - 1 : EXIT_SUCCESS;
}
