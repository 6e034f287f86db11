/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event loops: file descriptors, bottom halves and timers; and the machine lock.
 *
 * The main loop belongs to the main thread; an -object iothread owns another. One ppoll with ns
 * precision per turn. Handlers and timers run on the loop's thread; the main loop's hold the
 * machine lock. Test: tests/unit/test-loop.c.
 */
#ifndef CLEAT_SYSTEM_LOOP_H
#define CLEAT_SYSTEM_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Loop Loop;

Loop *loop_main(void);
Loop *loop_new(const char *name);
void loop_free(Loop *loop);
/* Runs handlers until loop_quit(); the main loop takes the machine lock around handlers. */
void loop_run(Loop *loop);
void loop_quit(Loop *loop);                            /* any thread */
/* One turn; may block when blocking. True if something ran. */
bool loop_poll(Loop *loop, bool blocking);

/*
 * Readiness: events as poll(2). A second call for the same fd replaces; fn NULL removes. Loop's
 * thread or machine lock.
 */
typedef void FdHandler(void *opaque);
void loop_set_fd(Loop *loop, int fd, FdHandler *on_read, FdHandler *on_write, void *opaque);

/* Bottom halves: schedule from any thread (and signal handlers: bh_schedule is async-signal-safe). */
typedef struct BottomHalf BottomHalf;
BottomHalf *bh_new(Loop *loop, void (*fn)(void *opaque), void *opaque);
void bh_schedule(BottomHalf *bh);
void bh_free(BottomHalf *bh);                          /* loop's thread or machine lock; cancels */
void loop_run_once(Loop *loop, void (*fn)(void *opaque), void *opaque);

/* ---- clocks and timers ---- */
typedef enum ClockType {
    CLOCK_VIRTUAL,          /* guest time: stands still while the VM is stopped; under qtest moved by clock_step */
    CLOCK_HOST,             /* wall clock (CLOCK_REALTIME): may jump */
    CLOCK_REAL,             /* monotonic, runs on while stopped */
    CLOCK_TYPES
} ClockType;
int64_t clock_ns(ClockType clock);                     /* any thread */
void clock_virtual_enable(bool running);               /* runstate */
/* qtest: virtual time is under control; step to the next deadline or by ns. */
void clock_qtest_enable(void);
int64_t clock_qtest_step(int64_t ns);                  /* <0: to next deadline; returns the new time */
int64_t clock_virtual_offset(void);                    /* monotonic minus virtual, for vmstate */
void clock_virtual_set(int64_t ns);                    /* loading a machine's state; while stopped */
void clock_virtual_source_set(int64_t (*source)(void));/* accelerator's clock; NULL: monotonic. Main thread */
int64_t clock_deadline_virtual(void);                  /* first virtual timer of all loops, -1: none */

typedef struct Timer Timer;
struct Timer {
    ClockType clock;
    Loop *loop;
    void (*fn)(void *opaque);
    void *opaque;
    int64_t expire;         /* ns; -1: idle */
    int heap_index;
};
void timer_init(Timer *t, ClockType clock, void (*fn)(void *opaque), void *opaque);     /* main loop */
void timer_init_loop(Timer *t, Loop *loop, ClockType clock, void (*fn)(void *opaque), void *opaque);
void timer_mod(Timer *t, int64_t expire_ns);           /* any thread: wakes the loop if it is now first */
void timer_del(Timer *t);
bool timer_pending(const Timer *t);

/* ---- the machine lock: around device models, see docs/devel/threads.rst ---- */
void machine_lock(void);
void machine_unlock(void);
bool machine_locked(void);                             /* by this thread */
/* For pthread_cond_wait on a condition that the machine lock guards: use machine_cond_wait(). */
void machine_cond_wait(pthread_cond_t *cond);
bool machine_cond_timedwait(pthread_cond_t *cond, int64_t ns);   /* false: timed out; cond on CLOCK_MONOTONIC */

#endif
