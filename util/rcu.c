/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Epoch reclamation; see include/util/rcu.h for the contract.
 *
 * Each rcu_call() is stamped with a fresh epoch. It is due when no registered reader stands in a
 * section that began before that epoch. membarrier(PRIVATE_EXPEDITED) on the writer's side stands
 * for the fence that readers then do not need; where the host has none, readers fence. The list of
 * readers and of calls is under one leaf lock. Test: tests/unit/test-rcu.c.
 */
#include "util/rcu.h"

#include <glib.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/lockorder.h"

enum { MEMBARRIER_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER = 1 << 4 };

typedef struct RcuCall {
    uint64_t epoch;
    void (*fn)(void *opaque);
    void *opaque;
    struct RcuCall *next;
} RcuCall;

__thread RcuReader rcu_reader;
_Atomic uint64_t rcu_epoch = 1;
bool rcu_cheap_readers;

static struct {
    pthread_mutex_t lock;           /* leaf: guards all below */
    RcuReader *readers;
    RcuCall *first, **last;         /* in rising epoch */
    void (*hurry)(void);
    void (*wake)(void);
    pthread_key_t exit_key;
} rcu = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void rcu_list_lock(void)
{
    lock_rank_enter(LOCK_LEAF);
    pthread_mutex_lock(&rcu.lock);
}

static void rcu_list_unlock(void)
{
    pthread_mutex_unlock(&rcu.lock);
    lock_rank_leave(LOCK_LEAF);
}

static void reader_unregister(void *reader)
{
    rcu_list_lock();
    for (RcuReader **at = &rcu.readers; *at; at = &(*at)->next) {
        if (*at == reader) {
            *at = (*at)->next;
            break;
        }
    }
    rcu_list_unlock();
}

static void __attribute__((constructor)) rcu_init(void)
{
#ifdef __NR_membarrier
    rcu_cheap_readers = syscall(__NR_membarrier, MEMBARRIER_REGISTER, 0, 0) == 0;
#endif
    rcu.last = &rcu.first;
    pthread_key_create(&rcu.exit_key, reader_unregister);
}

void rcu_register_thread(void)
{
    rcu_list_lock();
    rcu_reader.registered = true;
    rcu_reader.next = rcu.readers;
    rcu.readers = &rcu_reader;
    rcu_list_unlock();
    pthread_setspecific(rcu.exit_key, &rcu_reader);
}

static void writer_barrier(void)
{
    atomic_thread_fence(memory_order_seq_cst);
#ifdef __NR_membarrier
    if (rcu_cheap_readers) {
        syscall(__NR_membarrier, MEMBARRIER_EXPEDITED, 0, 0);
    }
#endif
}

/* The oldest epoch that a reader stands in; UINT64_MAX: none. rcu.lock held. */
static uint64_t oldest_reader(void)
{
    uint64_t oldest = UINT64_MAX;

    writer_barrier();
    for (RcuReader *r = rcu.readers; r; r = r->next) {
        uint64_t e = atomic_load_explicit(&r->epoch, memory_order_acquire);

        if (e && e < oldest) {
            oldest = e;
        }
    }
    return oldest;
}

void rcu_call(void (*fn)(void *opaque), void *opaque)
{
    RcuCall *c = g_new0(RcuCall, 1);
    void (*wake)(void);

    c->fn = fn;
    c->opaque = opaque;
    rcu_list_lock();
    /* Readers that begin from now on carry at least this epoch and cannot see the old structure. */
    c->epoch = atomic_fetch_add(&rcu_epoch, 1) + 1;
    *rcu.last = c;
    rcu.last = &c->next;
    wake = rcu.wake;
    rcu_list_unlock();
    if (wake) {
        wake();
    }
}

bool rcu_reclaim(void)
{
    RcuCall *due = NULL, **due_last = &due;
    void (*hurry)(void) = NULL;
    bool waiting;

    rcu_list_lock();
    if (rcu.first) {
        uint64_t oldest = oldest_reader();

        while (rcu.first && rcu.first->epoch <= oldest) {
            *due_last = rcu.first;
            due_last = &rcu.first->next;
            rcu.first = rcu.first->next;
        }
        *due_last = NULL;
        if (!rcu.first) {
            rcu.last = &rcu.first;
        }
    }
    waiting = rcu.first != NULL;
    hurry = waiting ? rcu.hurry : NULL;
    rcu_list_unlock();
    while (due) {
        RcuCall *c = due;

        due = c->next;
        c->fn(c->opaque);
        g_free(c);
    }
    if (hurry) {
        hurry();
    }
    return waiting;
}

void rcu_synchronize(void)
{
    uint64_t epoch = atomic_fetch_add(&rcu_epoch, 1) + 1;

    for (int spins = 0;; spins++) {
        uint64_t oldest;

        rcu_list_lock();
        oldest = oldest_reader();
        rcu_list_unlock();
        if (epoch <= oldest) {
            return;
        }
        if (rcu.hurry) {
            rcu.hurry();
        }
        usleep(spins < 10 ? 10 : 200);
    }
}

void rcu_drain(void)
{
    while (rcu_reclaim()) {
        rcu_synchronize();
    }
}

void rcu_hurry_hook_set(void (*hurry)(void))
{
    rcu_list_lock();
    rcu.hurry = hurry;
    rcu_list_unlock();
}

void rcu_wake_hook_set(void (*wake)(void))
{
    rcu_list_lock();
    rcu.wake = wake;
    rcu_list_unlock();
}
