/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reclamation by epoch: readers of a published structure never wait, writers free the old one
 * later.
 *
 * A reader stands between rcu_read_lock() and rcu_read_unlock() (cheap, nests, any thread, no
 * registration needed). A writer unpublishes and hands the old thing to rcu_call(); it is freed
 * once every reader that could have seen it has left. A vCPU is a reader while it executes guest
 * code, so it is quiescent at each exit or kick; a loop is one only inside its handlers' own
 * sections. Test: tests/unit/test-rcu.c.
 */
#ifndef CLEAT_UTIL_RCU_H
#define CLEAT_UTIL_RCU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RcuReader {
    _Atomic uint64_t epoch;         /* global epoch when the outermost section began; 0: outside */
    unsigned depth;                 /* this thread only */
    bool registered;
    struct RcuReader *next;
} RcuReader;

extern __thread RcuReader rcu_reader;
extern _Atomic uint64_t rcu_epoch;
void rcu_register_thread(void);
/* True where the writer's membarrier(2) makes readers' fences needless. */
extern bool rcu_cheap_readers;

static inline void rcu_read_lock(void)
{
    RcuReader *r = &rcu_reader;

    if (r->depth++ == 0) {
        if (__builtin_expect(!r->registered, 0)) {
            rcu_register_thread();
        }
        atomic_store_explicit(&r->epoch, atomic_load_explicit(&rcu_epoch, memory_order_relaxed),
                              memory_order_relaxed);
        if (rcu_cheap_readers) {
            atomic_signal_fence(memory_order_seq_cst);
        } else {
            atomic_thread_fence(memory_order_seq_cst);
        }
    }
}

static inline void rcu_read_unlock(void)
{
    RcuReader *r = &rcu_reader;

    if (--r->depth == 0) {
        atomic_store_explicit(&r->epoch, 0, memory_order_release);
    }
}

/* Calls fn(opaque) after all present readers have left, from rcu_reclaim(). Any thread. */
void rcu_call(void (*fn)(void *opaque), void *opaque);
/* Runs what is due; true while something still waits. The main loop calls it each turn (machine lock held). */
bool rcu_reclaim(void);
/* Waits until all present readers have left; the caller holds no lock that a reader may wait for. */
void rcu_synchronize(void);
/* Runs everything that rcu_call() was given, waiting as needed (shutdown, tests). */
void rcu_drain(void);
/* hurry asks long readers (vCPUs) to leave soon; wake lets the main loop take a turn. NULL: none. */
void rcu_hurry_hook_set(void (*hurry)(void));
void rcu_wake_hook_set(void (*wake)(void));

#endif
