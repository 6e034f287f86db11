/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -sandbox: the process gives up system calls that it does not need (Linux seccomp, by libseccomp).
 * Main thread, when everything is open and the user has been changed; it covers all threads.
 * Test: tests/cli/cli-process.py.
 */
#ifndef CLEAT_SYSTEM_SANDBOX_H
#define CLEAT_SYSTEM_SANDBOX_H

#include "system/config.h"

/*
 * Loads the library and makes the filter; nothing is filtered yet. Before -run-with chroot= can hide
 * the library's file. NULL with an error when this host cannot.
 */
typedef struct Sandbox Sandbox;
Sandbox *sandbox_prepare(const SandboxConfig *config, Error **errp);
/* From here on the filter holds; takes sandbox. A forbidden call ends the process. */
bool sandbox_enter(Sandbox *sandbox, Error **errp);

#endif
