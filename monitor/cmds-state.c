/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x-state-save and x-state-load (qapi/state.json): the whole machine's state in a file, for tests.
 *
 * A file is loaded into a copy of what may be lost: the state is saved in memory first and comes back when a part of
 * the file is refused half-way. The stream is one byte array, so machines with more RAM than it can hold are refused.
 * Main loop thread, machine lock. Test: tests/boot/test-state.py, tests/qtest/test-walk-all.py.
 */
#include <inttypes.h>

#include "monitor/monitor-int.h"
#include "system/memory.h"
#include "system/runstate.h"
#include "system/vmstate.h"

#define STATE_RAM_MAX (3ull << 30)

static bool state_may_be_touched(Error **errp)
{
    if (runstate_is_running()) {
        error_set(errp, "stop the machine first: its state is changing");
        return false;
    }
    if (ram_total() > STATE_RAM_MAX) {
        error_set(errp, "a machine with %" PRIu64 " MiB of memory is too big for this: the limit is %" PRIu64 " MiB",
                  ram_total() >> 20, (uint64_t)STATE_RAM_MAX >> 20);
        return false;
    }
    return true;
}

bool qmp_x_state_save(const QapiXStateSaveArg *args, Error **errp)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    GError *err = NULL;

    if (!state_may_be_touched(errp) || !machine_state_save(state, true, errp)) {
        return false;
    }
    if (!g_file_set_contents(args->filename, (const char *)state->data, state->len, &err)) {
        error_set(errp, "cannot save the machine: %s", err->message);
        g_error_free(err);
        return false;
    }
    return true;
}

bool qmp_x_state_load(const QapiXStateLoadArg *args, Error **errp)
{
    g_autoptr(GByteArray) before = g_byte_array_new();
    g_autoptr(GMappedFile) file = NULL;
    GError *err = NULL;

    if (!state_may_be_touched(errp)) {
        return false;
    }
    file = g_mapped_file_new(args->filename, FALSE, &err);
    if (!file) {
        error_set(errp, "cannot load '%s': %s", args->filename, err->message);
        g_error_free(err);
        return false;
    }
    if (!machine_state_save(before, true, errp)) {
        return false;
    }
    if (machine_state_load((const uint8_t *)g_mapped_file_get_contents(file), g_mapped_file_get_length(file), errp)) {
        return true;
    }
    error_prepend(errp, "cannot load '%s': ", args->filename);
    if (!machine_state_load(before->data, before->len, NULL)) {
        system_reset_request(SHUTDOWN_HOST_ERROR);      /* not even its own state: it can only begin again */
    }
    return false;
}
