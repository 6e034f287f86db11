/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stackful coroutines: code that waits, written as if it blocked (block, monitor and migration
 * code).
 *
 * A coroutine runs on the thread that enters it, until it yields or returns. Stacks are small
 * (COROUTINE_STACK bytes, with a guard page) and pooled per thread: no large arrays on them. One
 * thread at a time may enter a given coroutine. Test: tests/unit/test-coroutine.c.
 */
#ifndef CLEAT_UTIL_COROUTINE_H
#define CLEAT_UTIL_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

enum { COROUTINE_STACK = 128 << 10 };

typedef struct Coroutine Coroutine;

/* Nothing runs before the first coroutine_enter(); the coroutine frees itself when fn returns. */
Coroutine *coroutine_new(void (*fn)(void *opaque), void *opaque);
/* Runs co until it yields or ends. From anywhere but co itself; coroutines may enter others. */
void coroutine_enter(Coroutine *co);
/* Back to whoever entered. Inside a coroutine only. */
void coroutine_yield(void);
/* The running coroutine; NULL outside. */
Coroutine *coroutine_self(void);
/* Frees the pooled stacks of this thread (thread end, tests). */
void coroutine_pool_trim(void);

/* A lock that yields instead of blocking; fair. For coroutines of one thread. */
typedef struct CoMutex {
    Coroutine *holder;
    struct CoWaiter *first, **last;
} CoMutex;
void co_mutex_init(CoMutex *m);
void co_mutex_lock(CoMutex *m);
/* Hands the lock to the first waiter and enters it. */
void co_mutex_unlock(CoMutex *m);

/* Coroutines that wait for a condition; FIFO. */
typedef struct CoQueue {
    struct CoWaiter *first, **last;
} CoQueue;
void co_queue_init(CoQueue *q);
void co_queue_wait(CoQueue *q);
/* Enters the first waiter; false: nobody waits. */
bool co_queue_next(CoQueue *q);

#endif
