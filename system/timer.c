/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers: one binary heap per loop and clock, in ns; see include/system/loop.h for the contract.
 *
 * Any thread may arm a timer; the callback runs on the loop's thread, with the machine lock for the
 * main loop. A timer is disarmed before its callback runs, so the callback may arm or free it.
 * Test: tests/unit/test-loop.c.
 */
#include <glib.h>

#include "system/loop-internal.h"
#include "trace-system.h"

static void heap_place(TimerHeap *h, int i, Timer *t)
{
    h->at[i] = t;
    t->heap_index = i;
}

static void heap_up(TimerHeap *h, int i)
{
    Timer *t = h->at[i];

    while (i > 0 && h->at[(i - 1) / 2]->expire > t->expire) {
        heap_place(h, i, h->at[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_place(h, i, t);
}

static void heap_down(TimerHeap *h, int i)
{
    Timer *t = h->at[i];

    for (int child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->at[child + 1]->expire < h->at[child]->expire) {
            child++;
        }
        if (h->at[child]->expire >= t->expire) {
            break;
        }
        heap_place(h, i, h->at[child]);
    }
    heap_place(h, i, t);
}

static void heap_insert(TimerHeap *h, Timer *t)
{
    if (h->n == h->cap) {
        h->cap = MAX(16, h->cap * 2);
        h->at = g_renew(Timer *, h->at, h->cap);
    }
    h->at[h->n] = t;
    heap_up(h, h->n++);
}

static void heap_remove(TimerHeap *h, Timer *t)
{
    int i = t->heap_index;
    Timer *last = h->at[--h->n];

    if (last != t) {
        h->at[i] = last;
        heap_down(h, i);
        heap_up(h, last->heap_index);
    }
    t->expire = -1;
}

void timer_init_loop(Timer *t, Loop *loop, ClockType clock, void (*fn)(void *opaque), void *opaque)
{
    *t = (Timer){ .clock = clock, .loop = loop, .fn = fn, .opaque = opaque, .expire = -1 };
}

void timer_init(Timer *t, ClockType clock, void (*fn)(void *opaque), void *opaque)
{
    timer_init_loop(t, loop_main(), clock, fn, opaque);
}

void timer_mod(Timer *t, int64_t expire_ns)
{
    Loop *loop = t->loop;
    TimerHeap *h = &loop->heaps[t->clock];
    bool first;

    loop_lock(loop);
    if (t->expire >= 0) {
        heap_remove(h, t);
    }
    t->expire = MAX(expire_ns, 0);
    heap_insert(h, t);
    first = t->heap_index == 0;
    loop_unlock(loop);
    if (first && atomic_load(&loop->polling)) {
        loop_wake(loop);
    }
}

void timer_del(Timer *t)
{
    Loop *loop = t->loop;

    if (!loop) {
        return;                     /* never initialised: nothing is armed */
    }
    loop_lock(loop);
    if (t->expire >= 0) {
        heap_remove(&loop->heaps[t->clock], t);
    }
    loop_unlock(loop);
}

bool timer_pending(const Timer *t)
{
    return t->loop && t->expire >= 0;
}

int64_t timers_first(Loop *loop, ClockType clock)
{
    TimerHeap *h = &loop->heaps[clock];
    int64_t first;

    loop_lock(loop);
    first = h->n ? h->at[0]->expire : -1;
    loop_unlock(loop);
    return first;
}

int64_t timers_timeout(Loop *loop)
{
    /* The host's wall clock may be set while we sleep: look at it once a second. */
    const int64_t host_max = 1000000000;
    int64_t timeout = -1;

    for (ClockType c = 0; c < CLOCK_TYPES; c++) {
        int64_t first = clock_enabled(c) ? timers_first(loop, c) : -1;
        int64_t wait;

        if (first < 0) {
            continue;
        }
        wait = first - clock_ns(c);
        wait = MAX(wait, 0);        /* apart: the macro would read the clock twice, and sleep for ever */
        if (wait > 0 && !clock_advances(c)) {
            continue;
        }
        if (c == CLOCK_HOST) {
            wait = MIN(wait, host_max);
        }
        timeout = timeout < 0 ? wait : MIN(timeout, wait);
    }
    return timeout;
}

static const char *clock_name(ClockType clock)
{
    return clock == CLOCK_VIRTUAL ? "virtual" : clock == CLOCK_HOST ? "host" : "real";
}

/* Takes the first timer if it is due; when it was to fire, or -1. */
static int64_t timer_pop_due(Loop *loop, ClockType clock, int64_t now, void (**fn)(void *), void **opaque)
{
    TimerHeap *h = &loop->heaps[clock];
    int64_t expired = -1;

    loop_lock(loop);
    if (h->n && h->at[0]->expire <= now) {
        Timer *t = h->at[0];

        expired = t->expire;
        heap_remove(h, t);
        *fn = t->fn;
        *opaque = t->opaque;
    }
    loop_unlock(loop);
    return expired;
}

bool timers_run_clock(Loop *loop, ClockType clock)
{
    /* Bounded: a timer that arms itself in the past must not keep the loop here. */
    int budget = loop->heaps[clock].n + 1;
    int64_t now = budget > 1 ? clock_ns(clock) : 0;
    bool progress = false;
    void (*fn)(void *);
    int64_t expired;
    void *opaque;

    while (budget-- > 0 && (expired = timer_pop_due(loop, clock, now, &fn, &opaque)) >= 0) {
        trace_loop_timer_fired(clock_name(clock), now - expired);
        fn(opaque);
        progress = true;
    }
    return progress;
}

bool timers_run(Loop *loop)
{
    bool progress = false;

    for (ClockType c = 0; c < CLOCK_TYPES; c++) {
        if (clock_enabled(c)) {
            progress |= timers_run_clock(loop, c);
        }
    }
    return progress;
}

void timers_free(Loop *loop)
{
    for (ClockType c = 0; c < CLOCK_TYPES; c++) {
        TimerHeap *h = &loop->heaps[c];

        for (int i = 0; i < h->n; i++) {
            h->at[i]->expire = -1;
        }
        g_free(h->at);
    }
}
