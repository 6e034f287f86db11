/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debugger's side of the monitor for people: `gdbserver`.
 * Main loop thread, machine lock. Test: tests/monitor/hmp.py.
 */
#include <string.h>

#include "gdbstub/gdbstub.h"
#include "monitor/monitor-int.h"

void hmp_gdbserver(char **words, GString *out)
{
    const char *device = words[0] ? words[0] : "tcp::1234";
    Error *err = NULL;

    if (!gdbstub_start(device, &err)) {
        g_string_append_printf(out, "Could not open gdbserver on device '%s': %s\n", device, error_text(err));
        error_free(err);
    } else if (!strcmp(device, "none")) {
        g_string_append(out, "Disabled gdbserver\n");
    } else {
        g_string_append_printf(out, "Waiting for gdb connection on device '%s'\n", device);
    }
}
