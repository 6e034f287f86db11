/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies of the whole process towards its host, set once while the command line is read.
 * With the type list, the option table and the trace switches these are the only mutable globals;
 * all else hangs off the machine object.
 */
#ifndef CLEAT_SYSTEM_SYSTEM_H
#define CLEAT_SYSTEM_SYSTEM_H

#include <stdbool.h>

#include "util/keyval.h"

/* -overcommit mem-lock=: all memory of the process is locked, at once or once it is touched. */
typedef enum MlockState { MLOCK_OFF, MLOCK_ON, MLOCK_ON_FAULT } MlockState;

extern MlockState mlock_state;
/* -overcommit cpu-pm=on: the guest's idle CPUs keep the host's CPUs. */
extern bool enable_cpu_pm;

bool should_mlock(MlockState state);            /* on and on-fault */
bool is_mlock_on_fault(MlockState state);       /* on-fault only */
const char *mlock_state_name(MlockState state); /* "off", "on", "on-fault" */

/* -overcommit's keys, checked by its row: sets the globals above; an absent key changes nothing. */
void overcommit_parse(const KeyVals *kv);
/*
 * Locks memory as mlock_state asks. After -daemonize's fork (locks do not survive it), before any
 * vCPU runs. The reason for a failure is reported, the consequence is the error.
 */
bool realtime_init(Error **errp);

/* main() without the C runtime's part: the exit status. */
int vl_main(int argc, char **argv);

#endif
