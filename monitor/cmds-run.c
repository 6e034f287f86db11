/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP handlers about running, stopping and resetting (qapi/run-state.json).
 * The enums of the schema and of system/runstate.h have the same words, looked up by name.
 * Main loop thread, machine lock. Test: tests/monitor/qmp.py.
 */
#include "monitor/monitor-int.h"
#include "system/runstate.h"

bool qmp_query_status(QapiStatusInfo *ret, Error **errp)
{
    ret->running = runstate_is_running();
    ret->status = qapi_enum_find(&qapi_type_RunState, runstate_name(runstate_get()));
    return true;
}

bool qmp_stop(Error **errp)
{
    if (runstate_is_running()) {
        vm_stop(RUN_STATE_PAUSED);
    }
    return true;
}

bool qmp_cont(Error **errp)
{
    RunState state = runstate_get();

    if (state == RUN_STATE_INTERNAL_ERROR || state == RUN_STATE_SHUTDOWN) {
        error_set(errp, "the machine must be reset before it can go on (its state is '%s')", runstate_name(state));
        return false;
    }
    if (!runstate_is_running()) {
        vm_start();
    }
    return true;
}

bool qmp_system_reset(Error **errp)
{
    system_reset_request(SHUTDOWN_HOST_QMP_SYSTEM_RESET);
    return true;
}

bool qmp_system_powerdown(Error **errp)
{
    system_powerdown_request();
    return true;
}

bool qmp_system_wakeup(Error **errp)
{
    if (runstate_get() != RUN_STATE_SUSPENDED) {
        error_set(errp, "the guest is not suspended");
        return false;
    }
    system_wakeup_request();
    return true;
}

bool qmp_set_action(const QapiSetActionArg *args, Error **errp)
{
    RunActions *actions = run_actions();

    actions->reboot = args->has_reboot ? (RebootAction)args->reboot : actions->reboot;
    actions->shutdown = args->has_shutdown ? (ShutdownAction)args->shutdown : actions->shutdown;
    actions->panic = args->has_panic ? (PanicAction)args->panic : actions->panic;
    actions->watchdog = args->has_watchdog ? (WatchdogAction)args->watchdog : actions->watchdog;
    return true;
}
