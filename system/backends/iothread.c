/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -object iothread. The loop polls without sleeping for a while before it sleeps (poll-max-ns), a
 * time that grows while events come soon after and shrinks when they do not. Main thread. Test:
 * tests/unit/test-backends.c.
 */
#include "system/iothread.h"

#include <signal.h>
#include <string.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IOTHREAD_STACK = 128 << 10, POLL_FIRST_NS = 4000 };

typedef struct IOThread {
    Object obj;
    /* config */
    int64_t poll_max_ns, poll_grow, poll_shrink, aio_max_batch, pool_min, pool_max;
    /* running */
    Loop *loop;
    pthread_t thread;
    _Atomic int tid;
    _Atomic bool stop;
} IOThread;

Loop *iothread_loop(Object *iothread)
{
    return ((IOThread *)iothread)->loop;
}

int iothread_tid(Object *iothread)
{
    return ((IOThread *)iothread)->tid;
}

/* Spins for up to `ns`; true when something ran. */
static bool poll_awhile(IOThread *t, int64_t ns)
{
    int64_t until = clock_ns(CLOCK_REAL) + ns;

    do {
        if (loop_poll(t->loop, false)) {
            return true;
        }
    } while (!t->stop && clock_ns(CLOCK_REAL) < until);
    return false;
}

static int64_t poll_adapt(const IOThread *t, int64_t now_ns, int64_t slept_ns)
{
    if (slept_ns > t->poll_max_ns) {
        return t->poll_shrink ? now_ns / t->poll_shrink : 0;
    }
    now_ns = now_ns ? now_ns * (t->poll_grow ? t->poll_grow : 2) : POLL_FIRST_NS;
    return MIN(now_ns, t->poll_max_ns);
}

static void *iothread_main(void *opaque)
{
    IOThread *t = opaque;
    int64_t poll_ns = 0;

    t->tid = syscall(SYS_gettid);
    while (!t->stop) {
        int64_t before;

        if (poll_ns && poll_awhile(t, poll_ns)) {
            continue;
        }
        before = clock_ns(CLOCK_REAL);
        loop_poll(t->loop, true);
        if (t->poll_max_ns) {
            poll_ns = poll_adapt(t, poll_ns, clock_ns(CLOCK_REAL) - before);
        }
    }
    return NULL;
}

static bool iothread_realize(Object *obj, Error **errp)
{
    IOThread *t = (IOThread *)obj;
    g_autofree char *name = g_strdup_printf("IO %s", obj->id);
    sigset_t all, old;
    pthread_attr_t attr;
    int r;

    if (t->poll_max_ns < 0 || t->poll_grow < 0 || t->poll_shrink < 0) {
        error_set(errp, "iothread '%s': poll-max-ns, poll-grow and poll-shrink cannot be negative", obj->id);
        return false;
    }
    t->loop = loop_new(obj->id);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, IOTHREAD_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&t->thread, &attr, iothread_main, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (r) {
        error_set_errno(errp, r, "iothread '%s': cannot start its thread", obj->id);
        loop_free(g_steal_pointer(&t->loop));
        return false;
    }
    name[MIN(strlen(name), 15)] = '\0';
    pthread_setname_np(t->thread, name);
    return true;
}

static void iothread_fini(Object *obj)
{
    IOThread *t = (IOThread *)obj;

    if (t->loop) {
        t->stop = true;
        loop_quit(t->loop);
        pthread_join(t->thread, NULL);
        loop_free(t->loop);
    }
}

static const Property iothread_props[] = {
    { .name = "poll-max-ns", .kind = PROP_I64, .offset = offsetof(IOThread, poll_max_ns), .def = 32768,
      .has_default = true, .settable_after_realize = true, .help = "longest polling before sleeping, 0: never" },
    { .name = "poll-grow", .kind = PROP_I64, .offset = offsetof(IOThread, poll_grow), .has_default = true,
      .settable_after_realize = true, .help = "factor, 0: 2" },
    { .name = "poll-shrink", .kind = PROP_I64, .offset = offsetof(IOThread, poll_shrink), .has_default = true,
      .settable_after_realize = true, .help = "divisor, 0: stop polling at once" },
    PROP_FIELD("aio-max-batch", PROP_I64, IOThread, aio_max_batch, 0, "requests a submission takes, 0: default"),
    PROP_FIELD("thread-pool-min", PROP_I64, IOThread, pool_min, 0, "workers kept"),
    PROP_FIELD("thread-pool-max", PROP_I64, IOThread, pool_max, 64, "workers at most"),
    PROP_END
};
static const Type iothread_type = { .name = TYPE_IOTHREAD, .user_creatable = true, .size = sizeof(IOThread),
    .desc = "an event loop on a thread of its own", .props = iothread_props, .realize = iothread_realize,
    .fini = iothread_fini };
TYPE_REGISTER(iothread_type)
