/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The three clocks. Virtual time is a source (the host's monotonic clock, or the accelerator's)
 * minus an offset while the VM runs, and stands still while it is stopped; under qtest it moves
 * only by clock_qtest_step(). Readers take a sequence lock, so clock_ns() is for any thread. Test:
 * tests/unit/test-loop.c.
 */
#include <time.h>

#include "system/loop-internal.h"
#include "util/units.h"

static struct {
    _Atomic unsigned seq;           /* odd: being changed (machine lock) */
    _Atomic bool running;
    _Atomic bool qtest;
    _Atomic int64_t offset;         /* source minus virtual, while running */
    _Atomic int64_t frozen;         /* virtual time while stopped, or under qtest */
    int64_t (*_Atomic source)(void);
} vclock;

static int64_t host_clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int64_t source_ns(void)
{
    int64_t (*source)(void) = vclock.source;

    return source ? source() : host_clock_ns(CLOCK_MONOTONIC);
}

static int64_t virtual_ns(void)
{
    unsigned seq;
    int64_t now;

    do {
        while ((seq = atomic_load(&vclock.seq)) & 1) {
        }
        now = vclock.running && !vclock.qtest ? source_ns() - vclock.offset : vclock.frozen;
    } while (atomic_load(&vclock.seq) != seq);
    return now;
}

int64_t clock_ns(ClockType clock)
{
    switch (clock) {
    case CLOCK_HOST:
        return host_clock_ns(CLOCK_REALTIME);
    case CLOCK_REAL:
        return host_clock_ns(CLOCK_MONOTONIC);
    default:
        return virtual_ns();
    }
}

bool clock_enabled(ClockType clock)
{
    return clock != CLOCK_VIRTUAL || vclock.running;
}

bool clock_advances(ClockType clock)
{
    return clock != CLOCK_VIRTUAL || (vclock.running && !vclock.qtest);
}

static void wake_one(Loop *loop, void *opaque)
{
    (void)opaque;
    if (loop->polling) {
        loop_wake(loop);
    }
}

void clock_virtual_enable(bool running)
{
    int64_t now;

    if (vclock.running == running) {
        return;
    }
    now = virtual_ns();
    atomic_fetch_add(&vclock.seq, 1);
    vclock.frozen = now;
    vclock.offset = source_ns() - now;
    vclock.running = running;
    atomic_fetch_add(&vclock.seq, 1);
    loop_foreach(wake_one, NULL);   /* deadlines on the virtual clock changed */
}

void clock_virtual_set(int64_t ns)
{
    atomic_fetch_add(&vclock.seq, 1);
    vclock.frozen = ns;
    vclock.offset = source_ns() - ns;
    atomic_fetch_add(&vclock.seq, 1);
    loop_foreach(wake_one, NULL);
}

void clock_virtual_source_set(int64_t (*source)(void))
{
    int64_t now = virtual_ns();

    atomic_fetch_add(&vclock.seq, 1);
    vclock.source = source;
    vclock.offset = source_ns() - now;
    atomic_fetch_add(&vclock.seq, 1);
}

int64_t clock_virtual_offset(void)
{
    return source_ns() - virtual_ns();
}

void clock_qtest_enable(void)
{
    vclock.frozen = 0;
    vclock.qtest = true;
}

static void earliest(Loop *loop, void *opaque)
{
    int64_t *best = opaque;
    int64_t first = timers_first(loop, CLOCK_VIRTUAL);

    if (first >= 0 && (*best < 0 || first < *best)) {
        *best = first;
    }
}

/* The main loop's timers run here and now; other loops are woken and run theirs. */
static void qtest_run_due(void)
{
    loop_foreach(wake_one, NULL);
    while (timers_first(loop_main(), CLOCK_VIRTUAL) >= 0 &&
           timers_first(loop_main(), CLOCK_VIRTUAL) <= vclock.frozen) {
        timers_run_clock(loop_main(), CLOCK_VIRTUAL);
    }
}

int64_t clock_deadline_virtual(void)
{
    int64_t first = -1;

    loop_foreach(earliest, &first);
    return first;
}

int64_t clock_qtest_step(int64_t ns)
{
    int64_t target, next = clock_deadline_virtual();

    target = ns < 0 ? MAX_OF(next, vclock.frozen) : vclock.frozen + ns;
    while ((next = clock_deadline_virtual()) >= 0 && next <= target) {
        vclock.frozen = MAX_OF(next, vclock.frozen);
        qtest_run_due();
    }
    vclock.frozen = MAX_OF(target, vclock.frozen);
    return vclock.frozen;
}
