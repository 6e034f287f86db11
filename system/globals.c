/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policies of the whole process towards its host; see include/system/system.h. */
#include "system/system.h"

MlockState mlock_state;
bool enable_cpu_pm;

bool should_mlock(MlockState state)
{
    return state == MLOCK_ON || state == MLOCK_ON_FAULT;
}

bool is_mlock_on_fault(MlockState state)
{
    return state == MLOCK_ON_FAULT;
}

const char *mlock_state_name(MlockState state)
{
    static const char *const names[] = {
        [MLOCK_OFF] = "off", [MLOCK_ON] = "on", [MLOCK_ON_FAULT] = "on-fault",
    };

    return names[state];
}
