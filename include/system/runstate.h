/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run state of the virtual machine and the requests that change it.
 *
 * Requests (reset, shutdown, powerdown, panic, stop) may come from any thread; the main loop
 * carries them out between its turns, with the vCPUs paused where needed. -action and
 * -no-reboot/-no-shutdown decide what a request leads to. Test: tests/unit/test-runstate.c.
 */
#ifndef CLEAT_SYSTEM_RUNSTATE_H
#define CLEAT_SYSTEM_RUNSTATE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum RunState {         /* names are QMP's: "debug", "inmigrate", "internal-error", ... */
    RUN_STATE_DEBUG, RUN_STATE_INMIGRATE, RUN_STATE_INTERNAL_ERROR, RUN_STATE_IO_ERROR, RUN_STATE_PAUSED,
    RUN_STATE_POSTMIGRATE, RUN_STATE_PRELAUNCH, RUN_STATE_FINISH_MIGRATE, RUN_STATE_RESTORE_VM, RUN_STATE_RUNNING,
    RUN_STATE_SAVE_VM, RUN_STATE_SHUTDOWN, RUN_STATE_SUSPENDED, RUN_STATE_WATCHDOG, RUN_STATE_GUEST_PANICKED,
    RUN_STATE_COLO, RUN_STATE_COUNT
} RunState;
typedef enum ShutdownCause {    /* QMP ShutdownCause */
    SHUTDOWN_NONE, SHUTDOWN_HOST_ERROR, SHUTDOWN_HOST_QMP_QUIT, SHUTDOWN_HOST_QMP_SYSTEM_RESET, SHUTDOWN_HOST_SIGNAL,
    SHUTDOWN_HOST_UI, SHUTDOWN_GUEST_SHUTDOWN, SHUTDOWN_GUEST_RESET, SHUTDOWN_GUEST_PANIC, SHUTDOWN_SUBSYSTEM_RESET,
    SHUTDOWN_SNAPSHOT_LOAD, SHUTDOWN_CAUSE_COUNT
} ShutdownCause;

RunState runstate_get(void);
const char *runstate_name(RunState s);
const char *shutdown_cause_name(ShutdownCause c);
bool runstate_is_running(void);
void runstate_set(RunState s);                      /* machine lock */

/* Start or stop the vCPUs and the virtual clock; events RESUME / STOP. Main loop thread. */
void vm_start(void);
void vm_stop(RunState s);
void vm_stop_request(RunState s);                   /* any thread */

void system_reset_request(ShutdownCause cause);     /* any thread from here on */
void system_shutdown_request(ShutdownCause cause);
/* isa-debug-exit and friends: the process's exit status; the first call decides. */
void system_shutdown_request_with_code(ShutdownCause cause, int code);
void system_powerdown_request(void);                /* the ACPI power button */
void system_guest_panicked(const char *action_hint);
void system_suspend_request(void);                  /* ACPI S3 */
void system_wakeup_request(void);
/* Devices that act on the power button, or on wake-up. */
typedef void PowerNotify(void *opaque);
void powerdown_notifier_add(PowerNotify *fn, void *opaque);

/* Reset hooks for what is no device (loaders, tables); run after the devices' resets, in order of registration. */
void reset_hook_add(void (*fn)(void *opaque), void *opaque);
void system_reset_now(ShutdownCause cause);         /* start-up's first reset: main thread */
/* Told about each change of running/stopped, with the vCPUs paused. */
void vm_change_notifier_add(void (*fn)(void *opaque, bool running, RunState s), void *opaque);

typedef enum { REBOOT_RESET, REBOOT_SHUTDOWN } RebootAction;
typedef enum { SHUTDOWN_POWEROFF, SHUTDOWN_PAUSE } ShutdownAction;
typedef enum { PANIC_PAUSE, PANIC_SHUTDOWN, PANIC_EXIT_FAILURE, PANIC_NONE } PanicAction;
typedef enum { WATCHDOG_RESET, WATCHDOG_SHUTDOWN, WATCHDOG_POWEROFF, WATCHDOG_PAUSE, WATCHDOG_DEBUG, WATCHDOG_NONE,
               WATCHDOG_INJECT_NMI } WatchdogAction;
typedef struct RunActions {
    RebootAction reboot;
    ShutdownAction shutdown;
    PanicAction panic;                              /* default: shutdown */
    WatchdogAction watchdog;
} RunActions;
RunActions *run_actions(void);

/* Events for monitors: the monitor room sets one sink; payload is the QMP data object as JSON text or NULL. */
typedef void RunEventSink(const char *event, const char *json_data);
void run_event_sink_set(RunEventSink *sink);
void run_event_emit(const char *event, const char *json_data);   /* any thread: delivered from the main loop */

/* Delivers what is queued now; main loop thread. */
void run_events_flush(void);

/* Runs until shutdown; returns the exit status. Main thread. */
int main_loop_run(void);

#endif
