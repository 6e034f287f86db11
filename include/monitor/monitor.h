/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitors: how programs (QMP, "control") and people (HMP, "readline") talk to the emulator over a chardev.
 * HMP only wraps QMP: what both can do is in the command handlers (monitor/cmds-*.c), declared by the schema.
 * Main loop thread, machine lock. Tests: tests/monitor/.
 */
#ifndef CLEAT_MONITOR_MONITOR_H
#define CLEAT_MONITOR_MONITOR_H

#include "chardev/char.h"

/* Attaches a monitor to chr; it greets when the other end is there. pretty: QMP answers on several lines. */
bool monitor_new(Chardev *chr, bool control, bool pretty, Error **errp);
/* Writes out what is queued and lets go of the chardevs; at the end of the process, before chardev_cleanup(). */
void monitors_fini(void);

#endif
