/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host OS as the process sees it, POSIX side; the Windows side is os-win32.c.
 * Main thread only, before any vCPU runs.
 */
#include "system/os.h"

#include <errno.h>
#include <sys/mman.h>

int os_mlock(bool on_fault)
{
    int flags = MCL_CURRENT | MCL_FUTURE;

    if (on_fault) {
#ifdef MCL_ONFAULT
        flags |= MCL_ONFAULT;
#else
        return -EINVAL;
#endif
    }
    return mlockall(flags) == 0 ? 0 : -errno;
}
