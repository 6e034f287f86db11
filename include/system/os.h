/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host OS as the process sees it: os-posix.c and os-win32.c implement this one header.
 * Main thread only.
 */
#ifndef CLEAT_SYSTEM_OS_H
#define CLEAT_SYSTEM_OS_H

#include <stdbool.h>

/*
 * Locks all present and future pages of the process: at once, or (on_fault) once each is touched.
 * 0, or a negative errno; -ENOSYS where the system cannot.
 */
int os_mlock(bool on_fault);

#endif
