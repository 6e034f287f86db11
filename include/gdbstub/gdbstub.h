/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debugger's interface: gdb's remote protocol on a character device (-gdb, -s, HMP gdbserver).
 *
 * There is one at most. A debugger that connects stops the machine; vCPUs are its threads, numbered from 1.
 * Main loop thread, machine lock. Tests: tests/unit/test-gdb.c, tests/gdb/, tests/fuzz/fuzz-gdb.c.
 */
#ifndef CLEAT_GDBSTUB_GDBSTUB_H
#define CLEAT_GDBSTUB_GDBSTUB_H

#include "util/error.h"

/*
 * Listens on a device in the short form of character devices; a TCP one is always a server that does not wait. "none"
 * ends what there is. In place of an earlier one.
 */
bool gdbstub_start(const char *device, Error **errp);
/* The process ends with this exit status: says so to a debugger that waits, and lets go. */
void gdbstub_fini(int exit_status);

#endif
