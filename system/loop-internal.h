/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What loop.c, timer.c and clock.c share; nobody else includes this.
 * `lock` is rank LOCK_LOOP: it guards the fd table and the heaps, never held over a handler.
 */
#ifndef CLEAT_SYSTEM_LOOP_INTERNAL_H
#define CLEAT_SYSTEM_LOOP_INTERNAL_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "system/loop.h"
#include "util/lockorder.h"

typedef struct TimerHeap {
    Timer **at;                     /* binary heap by expire */
    int n, cap;
} TimerHeap;

typedef struct FdEntry {
    int fd;
    short events;                   /* wanted */
    short revents;                  /* of the turn under way, not yet handled */
    uint64_t serial;                /* tells a replaced entry from its predecessor */
    FdHandler *on_read, *on_write;
    void *opaque;
} FdEntry;

struct Loop {
    char *name;
    bool is_main;
    _Atomic bool quit;
    _Atomic bool polling;           /* in ppoll, or about to be */
    int wake_fd;                    /* eventfd */
    _Atomic(BottomHalf *) scheduled;   /* lock-free stack, newest first */
    BottomHalf *ready, *ready_last; /* loop's thread: taken from the stack, oldest first */
    pthread_t thread;               /* who ran it last */
    _Atomic bool has_thread;
    pthread_mutex_t lock;
    FdEntry *fds;
    int n_fds, cap_fds;
    uint64_t next_serial;
    struct pollfd *polled;          /* loop's thread: snapshot of fds for ppoll */
    int cap_polled;
    TimerHeap heaps[CLOCK_TYPES];
    Loop *next;                     /* all loops, for clocks that jump */
};

static inline void loop_lock(Loop *loop)
{
    lock_rank_enter(LOCK_LOOP);
    pthread_mutex_lock(&loop->lock);
}

static inline void loop_unlock(Loop *loop)
{
    pthread_mutex_unlock(&loop->lock);
    lock_rank_leave(LOCK_LOOP);
}

void loop_wake(Loop *loop);
/* ns until the first timer is due; -1: never. */
int64_t timers_timeout(Loop *loop);
/* Runs what is due. Loop's thread. */
bool timers_run(Loop *loop);
bool timers_run_clock(Loop *loop, ClockType clock);
/* Expiry of the first timer on a clock, or -1. */
int64_t timers_first(Loop *loop, ClockType clock);
void timers_free(Loop *loop);
/* Calls fn for each loop alive. */
void loop_foreach(void (*fn)(Loop *loop, void *opaque), void *opaque);
/* Do timers on this clock fire now (virtual: not while the VM is stopped)? */
bool clock_enabled(ClockType clock);
/* Does it move by itself (virtual under qtest: no)? */
bool clock_advances(ClockType clock);

#endif
