/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug builds: aborts with both ranks' numbers when a thread takes locks against the order of
 * docs/devel/threads.rst.
 */
#include "util/lockorder.h"

#ifdef CLEAT_DEBUG_LOCKS
#include <stdio.h>
#include <stdlib.h>

static __thread uint8_t held[LOCK_LEAF + 1];

void lock_rank_enter(LockRank rank)
{
    for (int above = rank; above <= LOCK_LEAF; above++) {
        if (held[above]) {
            fprintf(stderr, "lock order: rank %d taken while %d is held\n", rank, above);
            abort();
        }
    }
    held[rank]++;
}

void lock_rank_leave(LockRank rank)
{
    held[rank]--;
}
#endif
