/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records what a chip asks of the run state; the linker's --wrap leads the calls here. */
#ifndef CLEAT_TESTS_CHIP_REQUESTS_H
#define CLEAT_TESTS_CHIP_REQUESTS_H

#include "system/runstate.h"

static struct {
    int resets, shutdowns, panics, code;
    const char *event;
    PowerNotify *power_button;
    void *power_opaque;
} asked;

void __wrap_system_reset_request(ShutdownCause cause);
void __wrap_system_shutdown_request(ShutdownCause cause);
void __wrap_system_shutdown_request_with_code(ShutdownCause cause, int code);
void __wrap_system_guest_panicked(const char *action_hint);
void __wrap_run_event_emit(const char *event, const char *json_data);
void __wrap_powerdown_notifier_add(PowerNotify *fn, void *opaque);

void __wrap_system_reset_request(ShutdownCause cause)
{
    ck_assert_int_eq(cause, SHUTDOWN_GUEST_RESET);
    asked.resets++;
}

void __wrap_system_shutdown_request(ShutdownCause cause)
{
    ck_assert_int_eq(cause, SHUTDOWN_GUEST_SHUTDOWN);
    asked.shutdowns++;
}

void __wrap_system_shutdown_request_with_code(ShutdownCause cause, int code)
{
    asked.shutdowns++;
    asked.code = code;
}

void __wrap_system_guest_panicked(const char *action_hint)
{
    asked.panics++;
}

void __wrap_run_event_emit(const char *event, const char *json_data)
{
    asked.event = event;
}

void __wrap_powerdown_notifier_add(PowerNotify *fn, void *opaque)
{
    asked.power_button = fn;
    asked.power_opaque = opaque;
}

#endif
