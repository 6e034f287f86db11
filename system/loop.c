/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event loops and the machine lock; see include/system/loop.h for the contract.
 *
 * One turn: run bottom halves and due timers; if nothing ran, ppoll with the first timer's
 * deadline; run handlers of the fds that are ready. The main loop holds the machine lock except in
 * ppoll. Bottom halves are pushed on a lock-free stack, so that a signal handler may schedule one.
 * A handler may run a nested turn. Left out: priorities, idle callbacks. Test:
 * tests/unit/test-loop.c.
 */
#include "system/loop-internal.h"

#include <errno.h>
#include <glib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "util/rcu.h"

struct BottomHalf {
    Loop *loop;
    void (*fn)(void *opaque);
    void *opaque;
    _Atomic bool scheduled;
    bool deleted, once;
    BottomHalf *next;
};

static struct {
    Loop *_Atomic main;
    Loop *all;
    pthread_mutex_t list_lock;
    pthread_mutex_t machine;
} loops = { .list_lock = PTHREAD_MUTEX_INITIALIZER, .machine = PTHREAD_MUTEX_INITIALIZER };

static __thread bool machine_lock_held;

void machine_lock(void)
{
    lock_rank_enter(LOCK_MACHINE);
    pthread_mutex_lock(&loops.machine);
    machine_lock_held = true;
}

void machine_unlock(void)
{
    machine_lock_held = false;
    pthread_mutex_unlock(&loops.machine);
    lock_rank_leave(LOCK_MACHINE);
}

bool machine_locked(void)
{
    return machine_lock_held;
}

void machine_cond_wait(pthread_cond_t *cond)
{
    machine_lock_held = false;
    pthread_cond_wait(cond, &loops.machine);
    machine_lock_held = true;
}

bool machine_cond_timedwait(pthread_cond_t *cond, int64_t ns)
{
    int64_t until = clock_ns(CLOCK_REAL) + ns;
    struct timespec ts = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
    int r;

    machine_lock_held = false;
    r = pthread_cond_clockwait(cond, &loops.machine, CLOCK_MONOTONIC, &ts);
    machine_lock_held = true;
    return r == 0;
}

/* The list of loops: taken before any one loop's lock, so it ranks as a room's. */
static void list_lock(void)
{
    lock_rank_enter(LOCK_ROOM);
    pthread_mutex_lock(&loops.list_lock);
}

static void list_unlock(void)
{
    pthread_mutex_unlock(&loops.list_lock);
    lock_rank_leave(LOCK_ROOM);
}

/* ---- life ---- */

static void main_loop_wake(void)
{
    loop_wake(loops.main);
}

static void wake_drain(void *opaque)
{
    Loop *loop = opaque;
    uint64_t n;

    (void)!read(loop->wake_fd, &n, sizeof(n));
}

Loop *loop_new(const char *name)
{
    Loop *loop = g_new0(Loop, 1);

    loop->name = g_strdup(name);
    loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->wake_fd < 0) {
        g_error("no file descriptor left for an event loop");
    }
    pthread_mutex_init(&loop->lock, NULL);
    list_lock();
    loop->next = loops.all;
    loops.all = loop;
    list_unlock();
    loop_set_fd(loop, loop->wake_fd, wake_drain, NULL, loop);
    return loop;
}

Loop *loop_main(void)
{
    Loop *loop = loops.main;

    if (!loop) {
        loop = loop_new("main");
        loop->is_main = true;
        loops.main = loop;
        rcu_wake_hook_set(main_loop_wake);
    }
    return loop;
}

void loop_free(Loop *loop)
{
    if (!loop) {
        return;
    }
    list_lock();
    for (Loop **at = &loops.all; *at; at = &(*at)->next) {
        if (*at == loop) {
            *at = loop->next;
            break;
        }
    }
    list_unlock();
    if (loop == loops.main) {
        rcu_wake_hook_set(NULL);
        loops.main = NULL;
    }
    timers_free(loop);
    close(loop->wake_fd);
    pthread_mutex_destroy(&loop->lock);
    g_free(loop->fds);
    g_free(loop->polled);
    g_free(loop->name);
    g_free(loop);
}

void loop_foreach(void (*fn)(Loop *loop, void *opaque), void *opaque)
{
    list_lock();
    for (Loop *loop = loops.all; loop; loop = loop->next) {
        fn(loop, opaque);
    }
    list_unlock();
}

/* Async-signal-safe. */
void loop_wake(Loop *loop)
{
    uint64_t one = 1;
    int saved = errno;

    (void)!write(loop->wake_fd, &one, sizeof(one));
    errno = saved;
}

static bool on_loop_thread(Loop *loop)
{
    return loop->has_thread && pthread_equal(loop->thread, pthread_self());
}

/* ---- bottom halves ---- */

BottomHalf *bh_new(Loop *loop, void (*fn)(void *opaque), void *opaque)
{
    BottomHalf *bh = g_new0(BottomHalf, 1);

    bh->loop = loop;
    bh->fn = fn;
    bh->opaque = opaque;
    return bh;
}

void bh_schedule(BottomHalf *bh)
{
    Loop *loop = bh->loop;
    BottomHalf *top;

    if (atomic_exchange(&bh->scheduled, true)) {
        return;
    }
    top = atomic_load(&loop->scheduled);
    do {
        bh->next = top;
    } while (!atomic_compare_exchange_weak(&loop->scheduled, &top, bh));
    if (atomic_load(&loop->polling)) {
        loop_wake(loop);
    }
}

void bh_free(BottomHalf *bh)
{
    if (!bh) {
        return;
    }
    if (atomic_load(&bh->scheduled)) {
        bh->deleted = true;         /* the loop frees it when its turn comes */
    } else {
        g_free(bh);
    }
}

void loop_run_once(Loop *loop, void (*fn)(void *opaque), void *opaque)
{
    BottomHalf *bh = bh_new(loop, fn, opaque);

    bh->once = true;
    bh_schedule(bh);
}

/* Moves what was scheduled to the end of the ready queue, oldest first. */
static void bhs_take(Loop *loop)
{
    BottomHalf *newest = atomic_exchange(&loop->scheduled, NULL);
    BottomHalf *oldest = NULL, *last = newest;

    while (newest) {
        BottomHalf *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    if (oldest) {
        if (loop->ready) {
            loop->ready_last->next = oldest;
        } else {
            loop->ready = oldest;
        }
        loop->ready_last = last;
    }
}

static bool bhs_run(Loop *loop)
{
    bool progress = false;

    bhs_take(loop);
    while (loop->ready) {
        BottomHalf *bh = loop->ready;
        void (*fn)(void *) = bh->fn;
        void *opaque = bh->opaque;
        bool deleted = bh->deleted, gone = deleted || bh->once;

        loop->ready = bh->next;
        bh->next = NULL;
        atomic_store(&bh->scheduled, false);
        if (gone) {
            g_free(bh);
        }
        if (!deleted) {
            fn(opaque);
            progress = true;
        }
    }
    return progress;
}

/* ---- file descriptors ---- */

static FdEntry *fd_find(Loop *loop, int fd)
{
    for (int i = 0; i < loop->n_fds; i++) {
        if (loop->fds[i].fd == fd) {
            return &loop->fds[i];
        }
    }
    return NULL;
}

static FdEntry *fd_append(Loop *loop, int fd)
{
    if (loop->n_fds == loop->cap_fds) {
        loop->cap_fds = MAX(8, loop->cap_fds * 2);
        loop->fds = g_renew(FdEntry, loop->fds, loop->cap_fds);
    }
    loop->fds[loop->n_fds] = (FdEntry){ .fd = fd };
    return &loop->fds[loop->n_fds++];
}

void loop_set_fd(Loop *loop, int fd, FdHandler *on_read, FdHandler *on_write, void *opaque)
{
    FdEntry *e;

    loop_lock(loop);
    e = fd_find(loop, fd);
    if (!on_read && !on_write) {
        if (e) {
            *e = loop->fds[--loop->n_fds];
        }
    } else {
        e = e ? e : fd_append(loop, fd);
        e->events = (on_read ? POLLIN : 0) | (on_write ? POLLOUT : 0);
        e->on_read = on_read;
        e->on_write = on_write;
        e->opaque = opaque;
        e->serial = loop->next_serial++;
    }
    loop_unlock(loop);
    if (!on_loop_thread(loop) && atomic_load(&loop->polling)) {
        loop_wake(loop);
    }
}

/* Copies the fd table for ppoll, which runs without a lock. */
static int fds_snapshot(Loop *loop)
{
    int n;

    loop_lock(loop);
    n = loop->n_fds;
    if (n > loop->cap_polled) {
        loop->cap_polled = n * 2;
        loop->polled = g_renew(struct pollfd, loop->polled, loop->cap_polled);
    }
    for (int i = 0; i < n; i++) {
        loop->polled[i] = (struct pollfd){ .fd = loop->fds[i].fd, .events = loop->fds[i].events };
        loop->fds[i].revents = 0;
    }
    loop_unlock(loop);
    return n;
}

/* The table may have changed while polling: results go by fd, and a stale one costs a spurious call at most. */
static void fds_take_results(Loop *loop, int n)
{
    loop_lock(loop);
    for (int i = 0; i < n; i++) {
        FdEntry *e = loop->polled[i].revents ? fd_find(loop, loop->polled[i].fd) : NULL;

        if (e) {
            e->revents = loop->polled[i].revents;
        }
    }
    loop_unlock(loop);
}

/* Takes one entry that is ready; its handlers to run are in *out. */
static bool fds_next_ready(Loop *loop, FdEntry *out)
{
    bool found = false;

    loop_lock(loop);
    for (int i = 0; i < loop->n_fds && !found; i++) {
        FdEntry *e = &loop->fds[i];

        if (e->revents) {
            *out = *e;
            e->revents = 0;
            found = true;
            if (out->revents & POLLNVAL) {
                *e = loop->fds[--loop->n_fds];      /* closed behind our back: polling it would spin */
            }
        }
    }
    loop_unlock(loop);
    return found;
}

static bool fd_still_there(Loop *loop, const FdEntry *was)
{
    FdEntry *e;
    bool same;

    loop_lock(loop);
    e = fd_find(loop, was->fd);
    same = e && e->serial == was->serial;
    loop_unlock(loop);
    return same;
}

static bool fds_dispatch(Loop *loop)
{
    bool progress = false;
    FdEntry e;

    while (fds_next_ready(loop, &e)) {
        bool read_first = e.on_read && (e.revents & (POLLIN | POLLHUP | POLLERR));

        if (e.revents & POLLNVAL) {
            continue;
        }
        if (read_first) {
            e.on_read(e.opaque);
        }
        if (e.on_write && (e.revents & (POLLOUT | POLLHUP | POLLERR)) &&
            (!read_first || fd_still_there(loop, &e))) {
            e.on_write(e.opaque);
        }
        progress |= e.fd != loop->wake_fd;
    }
    return progress;
}

/* ---- one turn ---- */

static void loop_wait(Loop *loop, bool blocking, bool reclaiming)
{
    int64_t ns = blocking ? timers_timeout(loop) : 0;
    int n = fds_snapshot(loop);
    bool unlock = loop->is_main && machine_locked();
    struct timespec ts;

    if (reclaiming && (ns < 0 || ns > 1000000)) {
        ns = 1000000;               /* look again soon whether the last reader has left */
    }
    ts.tv_sec = ns / 1000000000;
    ts.tv_nsec = ns % 1000000000;
    if (unlock) {
        machine_unlock();
    }
    if (ppoll(loop->polled, n, ns < 0 ? NULL : &ts, NULL) <= 0) {
        n = 0;
    }
    if (unlock) {
        machine_lock();
    }
    fds_take_results(loop, n);
}

static void loop_adopt_thread(Loop *loop)
{
    if (!on_loop_thread(loop)) {
        loop->thread = pthread_self();
        loop->has_thread = true;
        prctl(PR_SET_TIMERSLACK, 1);
    }
}

bool loop_poll(Loop *loop, bool blocking)
{
    bool lock = loop->is_main && !machine_locked();
    bool progress, reclaiming;

    loop_adopt_thread(loop);
    if (lock) {
        machine_lock();
    }
    progress = bhs_run(loop);
    progress |= timers_run(loop);
    reclaiming = loop->is_main && rcu_reclaim();
    /* From here on whoever schedules or arms something writes wake_fd; look once more for what came before. */
    atomic_store(&loop->polling, true);
    blocking = blocking && !progress && !loop->quit && !atomic_load(&loop->scheduled);
    loop_wait(loop, blocking, reclaiming);
    atomic_store(&loop->polling, false);
    progress |= fds_dispatch(loop);
    progress |= bhs_run(loop);
    progress |= timers_run(loop);
    if (lock) {
        machine_unlock();
    }
    return progress;
}

void loop_run(Loop *loop)
{
    while (!loop->quit) {
        loop_poll(loop, true);
    }
    loop->quit = false;
}

void loop_quit(Loop *loop)
{
    loop->quit = true;
    loop_wake(loop);
}
