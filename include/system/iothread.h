/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object iothread: a thread with an event loop of its own, for block and net back ends. Main thread. */
#ifndef CLEAT_SYSTEM_IOTHREAD_H
#define CLEAT_SYSTEM_IOTHREAD_H

#include "system/loop.h"
#include "system/qdev.h"

#define TYPE_IOTHREAD "iothread"

Loop *iothread_loop(Object *iothread);
int iothread_tid(Object *iothread);     /* host thread id, for query-iothreads */

#endif
