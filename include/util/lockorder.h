/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock order of docs/devel/threads.rst, asserted in debug builds (-Db_ndebug=false with CLEAT_DEBUG_LOCKS).
 *
 * A thread may take a lock only if its rank is above that of all it holds. Any thread. Test: tests/unit/test-loop.c.
 */
#ifndef CLEAT_UTIL_LOCKORDER_H
#define CLEAT_UTIL_LOCKORDER_H

#include <stdint.h>

typedef enum LockRank {             /* in the order in which they may be taken */
    LOCK_EXCLUSIVE = 1,             /* vCPU exclusive sections */
    LOCK_MACHINE = 2,               /* the machine lock */
    LOCK_ROOM = 3,                  /* a room's own lock (char write, block) */
    LOCK_LOOP = 4,                  /* one loop's fd table and timers */
    LOCK_VCPU = 5,                  /* a vCPU's work list */
    LOCK_LEAF = 6,                  /* takes nothing below it */
} LockRank;

#ifdef CLEAT_DEBUG_LOCKS
void lock_rank_enter(LockRank rank);
void lock_rank_leave(LockRank rank);
#else
static inline void lock_rank_enter(LockRank rank)
{
    (void)rank;
}

static inline void lock_rank_leave(LockRank rank)
{
    (void)rank;
}
#endif

#endif
