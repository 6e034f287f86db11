/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vCPU threads: start and stop, kicks, work items, exclusive sections; see include/system/cpus.h.
 *
 * Invariants: (1) `stopped` is set by the vCPU's thread and cleared by vcpus_resume_all(), both
 * under the machine lock. (2) A kick sets exit_request before it looks at `sleeping`; a sleeper
 * sets `sleeping` before it looks at exit_request: no kick is lost. (3) exit_request is cleared
 * before work and stop are looked at, so what comes later ends the next run. (4) A vCPU in guest
 * code is an rcu reader; it is quiescent between runs. Test: tests/unit/test-cpus.c.
 */
#include "system/cpus.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "accel/accel.h"
#include "system/loop.h"
#include "system/runstate.h"
#include "trace-system.h"
#include "util/lockorder.h"
#include "util/rcu.h"

enum { VCPU_STACK_BYTES = 256 << 10 };

typedef struct VCpuWorkItem {
    VCpuWork *fn;
    void *opaque;
    bool done, sync;                /* sync: on the waiter's stack */
    struct VCpuWorkItem *next;
} VCpuWorkItem;

static struct {
    GPtrArray *all;                 /* of VCpu, by index; machine lock */
    pthread_cond_t changed;         /* with the machine lock: created, stopped, work done */
    pthread_mutex_t exclusive_lock;
    pthread_cond_t exclusive_alone; /* the one that asked is alone now */
    pthread_cond_t exclusive_over;
    _Atomic int exclusive_pending;  /* 0: none; else 1 + vCPUs still in guest code */
} vcpus = { .changed = PTHREAD_COND_INITIALIZER, .exclusive_lock = PTHREAD_MUTEX_INITIALIZER,
            .exclusive_alone = PTHREAD_COND_INITIALIZER, .exclusive_over = PTHREAD_COND_INITIALIZER };

static __thread VCpu *this_vcpu;

int vcpu_count(void)
{
    return vcpus.all ? vcpus.all->len : 0;
}

VCpu *vcpu_get(int index)
{
    return g_ptr_array_index(vcpus.all, index);
}

VCpu *vcpu_current(void)
{
    return this_vcpu;
}

void vcpu_init(VCpu *cpu)
{
    cpu->index = -1;
    cpu->stopped = true;
    pthread_mutex_init(&cpu->work_lock, NULL);
    pthread_cond_init(&cpu->wake, NULL);
}

static void hurry_all(void)
{
    /* Only threads matter here, and those are started and joined by the main loop, which is who reclaims. */
    for (int i = 0; i < vcpu_count(); i++) {
        VCpu *cpu = vcpu_get(i);

        if (cpu->in_exec) {
            vcpu_kick(cpu);
        }
    }
}

bool vcpu_register(VCpu *cpu, Error **errp)
{
    if (!vcpus.all) {
        vcpus.all = g_ptr_array_new();
        rcu_hurry_hook_set(hurry_all);
    }
    if (cpu->index >= 0) {
        error_set(errp, "CPU %d is registered already", cpu->index);
        return false;
    }
    cpu->index = vcpus.all->len;
    g_ptr_array_add(vcpus.all, cpu);
    return true;
}

void vcpu_unregister(VCpu *cpu)
{
    if (vcpus.all && cpu->index >= 0) {
        g_ptr_array_remove(vcpus.all, cpu);
        cpu->index = -1;
    }
}

/* ---- locks, with their ranks ---- */

static void work_lock(VCpu *cpu)
{
    lock_rank_enter(LOCK_VCPU);
    pthread_mutex_lock(&cpu->work_lock);
}

static void work_unlock(VCpu *cpu)
{
    pthread_mutex_unlock(&cpu->work_lock);
    lock_rank_leave(LOCK_VCPU);
}

static void exclusive_lock(void)
{
    lock_rank_enter(LOCK_EXCLUSIVE);
    pthread_mutex_lock(&vcpus.exclusive_lock);
}

static void exclusive_unlock(void)
{
    pthread_mutex_unlock(&vcpus.exclusive_lock);
    lock_rank_leave(LOCK_EXCLUSIVE);
}

/* ---- kicks and work ---- */

void vcpu_kick(VCpu *cpu)
{
    const AccelOps *accel = accel_current();

    atomic_store(&cpu->exit_request, 1);
    if (atomic_load(&cpu->sleeping)) {
        work_lock(cpu);
        pthread_cond_signal(&cpu->wake);
        work_unlock(cpu);
    } else if (accel && accel->kick && cpu != this_vcpu) {
        accel->kick(cpu);
    }
}

static void work_queue(VCpu *cpu, VCpuWorkItem *item)
{
    work_lock(cpu);
    if (cpu->work_last) {
        cpu->work_last->next = item;
    } else {
        cpu->work_first = item;
    }
    cpu->work_last = item;
    work_unlock(cpu);
    vcpu_kick(cpu);
}

static VCpuWorkItem *work_take(VCpu *cpu)
{
    VCpuWorkItem *item;

    work_lock(cpu);
    item = cpu->work_first;
    if (item) {
        cpu->work_first = item->next;
        if (!cpu->work_first) {
            cpu->work_last = NULL;
        }
    }
    work_unlock(cpu);
    return item;
}

/* Runs what is queued; machine lock held. */
static void work_run(VCpu *cpu)
{
    VCpuWorkItem *item;

    while ((item = work_take(cpu))) {
        bool sync = item->sync;

        item->fn(cpu, item->opaque);
        if (sync) {
            item->done = true;
            pthread_cond_broadcast(&vcpus.changed);
        } else {
            g_free(item);
        }
    }
}

static void work_run_here(VCpu *cpu, VCpuWork *fn, void *opaque)
{
    bool lock = !machine_locked();

    if (lock) {
        machine_lock();
    }
    fn(cpu, opaque);
    if (lock) {
        machine_unlock();
    }
}

void vcpu_run_sync(VCpu *cpu, VCpuWork *fn, void *opaque)
{
    VCpuWorkItem item = { .fn = fn, .opaque = opaque, .sync = true };

    if (cpu == this_vcpu || !cpu->created) {
        work_run_here(cpu, fn, opaque);
        return;
    }
    work_queue(cpu, &item);
    while (!item.done) {
        machine_cond_wait(&vcpus.changed);
    }
}

void vcpu_run_async(VCpu *cpu, VCpuWork *fn, void *opaque)
{
    VCpuWorkItem *item;

    if (!cpu->created) {
        work_run_here(cpu, fn, opaque);
        return;
    }
    item = g_new0(VCpuWorkItem, 1);
    item->fn = fn;
    item->opaque = opaque;
    work_queue(cpu, item);
}

/* ---- the thread ---- */

static bool has_requests(VCpu *cpu)
{
    return cpu->stop || cpu->unplug || atomic_load_explicit((_Atomic(VCpuWorkItem *) *)&cpu->work_first,
                                                            memory_order_acquire);
}

static void serve_requests(VCpu *cpu)
{
    machine_lock();
    work_run(cpu);
    if (atomic_exchange(&cpu->stop, false)) {
        cpu->stopped = true;
        trace_vcpu_stopped(cpu->index);
        pthread_cond_broadcast(&vcpus.changed);
    }
    machine_unlock();
}

static bool may_run(VCpu *cpu)
{
    const AccelOps *accel = accel_current();

    if (cpu->stopped) {
        return false;
    }
    if (cpu->halted) {
        if (accel->has_work && !accel->has_work(cpu)) {
            return false;
        }
        cpu->halted = false;
    }
    return true;
}

/*
 * Sleeps until a kick, unless something came meanwhile. Whether there is work is asked without work_lock: the
 * accelerator may take an end of interrupt then, which may kick this very vCPU or want the machine lock.
 */
static void sleep_until_kicked(VCpu *cpu)
{
    atomic_store(&cpu->sleeping, true);
    if (!atomic_load(&cpu->exit_request) && !has_requests(cpu) && !may_run(cpu)) {
        work_lock(cpu);
        while (!atomic_load(&cpu->exit_request) && !has_requests(cpu)) {
            pthread_cond_wait(&cpu->wake, &cpu->work_lock);
        }
        work_unlock(cpu);
    }
    atomic_store(&cpu->sleeping, false);
}

static void run_guest(VCpu *cpu)
{
    VCpuRunResult r;

    vcpu_exec_begin(cpu);
    r = accel_current()->run(cpu);
    vcpu_exec_end(cpu);
    switch (r) {
    case VCPU_RUN_HALTED:
        cpu->halted = true;
        break;
    case VCPU_RUN_DEBUG:
        cpu->stop = true;
        vm_stop_request(RUN_STATE_DEBUG);
        break;
    case VCPU_RUN_AGAIN:
    case VCPU_RUN_STOPPED:
        break;
    }
}

typedef struct VCpuStart {
    VCpu *cpu;
    Error *err;
    bool done, ok;
} VCpuStart;

void *vcpu_thread_main(void *vcpu)
{
    VCpu *cpu = vcpu;

    while (!cpu->unplug) {
        atomic_store(&cpu->exit_request, 0);
        if (has_requests(cpu)) {
            serve_requests(cpu);
        } else if (may_run(cpu)) {
            run_guest(cpu);
        } else {
            sleep_until_kicked(cpu);
        }
    }
    return NULL;
}

static void *thread_start(void *opaque)
{
    VCpuStart *start = opaque;
    VCpu *cpu = start->cpu;
    const AccelOps *accel = accel_current();
    char name[16];
    bool ok;

    this_vcpu = cpu;
    cpu->tid = syscall(SYS_gettid);
    snprintf(name, sizeof(name), "CPU %u", (unsigned)cpu->index % 10000);
    pthread_setname_np(pthread_self(), name);
    machine_lock();
    ok = !accel->vcpu_init || accel->vcpu_init(cpu, &start->err);
    start->ok = cpu->created = ok;
    start->done = true;             /* `start` is gone once the lock is released */
    pthread_cond_broadcast(&vcpus.changed);
    machine_unlock();
    if (!ok) {
        return NULL;
    }
    trace_vcpu_started(cpu->index, cpu->tid);
    (accel->thread ? accel->thread : vcpu_thread_main)(cpu);
    machine_lock();
    work_run(cpu);
    if (accel->vcpu_fini) {
        accel->vcpu_fini(cpu);
    }
    cpu->created = false;
    pthread_cond_broadcast(&vcpus.changed);
    machine_unlock();
    return NULL;
}

/* Process signals belong to the main thread; faults stay where they happen. */
static void block_signals(sigset_t *old)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    sigset_t set;

    sigfillset(&set);
    for (unsigned i = 0; i < G_N_ELEMENTS(faults); i++) {
        sigdelset(&set, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &set, old);
}

bool vcpu_start(VCpu *cpu, Error **errp)
{
    VCpuStart start = { .cpu = cpu };
    pthread_attr_t attr;
    sigset_t old;
    int r;

    if (!accel_current() || !accel_current()->run) {
        return true;                /* qtest: a machine whose CPUs never run */
    }
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, VCPU_STACK_BYTES);
    block_signals(&old);
    r = pthread_create(&cpu->thread, &attr, thread_start, &start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (r) {
        error_set_errno(errp, r, "cannot start the thread of CPU %d", cpu->index);
        return false;
    }
    while (!start.done) {
        machine_cond_wait(&vcpus.changed);
    }
    if (!start.ok) {
        error_propagate(errp, start.err);
        machine_unlock();
        pthread_join(cpu->thread, NULL);
        machine_lock();
        return false;
    }
    if (runstate_is_running()) {
        cpu->stopped = false;
        vcpu_kick(cpu);
    }
    return true;
}

/* ---- all of them ---- */

static bool all_stopped(void)
{
    for (int i = 0; i < vcpu_count(); i++) {
        if (vcpu_get(i)->created && !vcpu_get(i)->stopped) {
            return false;
        }
    }
    return true;
}

void vcpus_pause_all(void)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        if (cpu->created && !cpu->stopped) {
            cpu->stop = true;
            vcpu_kick(cpu);
        }
    }
    while (!all_stopped()) {
        machine_cond_wait(&vcpus.changed);
    }
}

void vcpus_resume_all(void)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        if (!cpu->debug_hold) {
            cpu->stop = false;
            cpu->stopped = false;
            vcpu_kick(cpu);
        }
    }
}

void vcpu_stop_current(void)
{
    if (this_vcpu) {
        this_vcpu->stop = true;
        atomic_store(&this_vcpu->exit_request, 1);
    }
}

void vcpus_join_all(void)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        if (cpu->created) {
            cpu->unplug = true;
            vcpu_kick(cpu);
        }
    }
    VCPU_FOREACH(cpu) {
        bool was = cpu->unplug;

        if (was) {
            machine_unlock();
            pthread_join(cpu->thread, NULL);
            machine_lock();
        }
    }
}

static void get_one(VCpu *cpu, void *opaque)
{
    accel_current()->get_state(cpu);
}

static void put_one(VCpu *cpu, void *opaque)
{
    accel_current()->put_state(cpu);
}

void vcpu_get_state(VCpu *cpu)
{
    if (accel_current() && accel_current()->get_state) {
        vcpu_run_sync(cpu, get_one, NULL);
    }
}

void vcpu_put_state(VCpu *cpu)
{
    if (accel_current() && accel_current()->put_state) {
        vcpu_run_sync(cpu, put_one, NULL);
    }
}

void vcpus_get_state(void)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        vcpu_get_state(cpu);
    }
}

void vcpus_put_state(void)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        vcpu_put_state(cpu);
    }
}

/* ---- exclusive sections ---- */

static void wait_for_exclusive(VCpu *cpu)
{
    exclusive_lock();
    if (!cpu->exclusive_waits) {
        /* Nobody counts on this vCPU: it must stay out until the section is over. */
        while (vcpus.exclusive_pending) {
            cpu->in_exec = false;
            pthread_cond_wait(&vcpus.exclusive_over, &vcpus.exclusive_lock);
            cpu->in_exec = true;
        }
    }
    exclusive_unlock();
}

void vcpu_exec_begin(VCpu *cpu)
{
    atomic_store(&cpu->in_exec, true);
    if (atomic_load(&vcpus.exclusive_pending)) {
        wait_for_exclusive(cpu);
    }
    rcu_read_lock();
}

void vcpu_exec_end(VCpu *cpu)
{
    rcu_read_unlock();
    atomic_store(&cpu->in_exec, false);
    if (atomic_load(&vcpus.exclusive_pending)) {
        exclusive_lock();
        if (cpu->exclusive_waits) {
            cpu->exclusive_waits = false;
            if (--vcpus.exclusive_pending == 1) {
                pthread_cond_signal(&vcpus.exclusive_alone);
            }
        }
        exclusive_unlock();
    }
}

void vcpu_exclusive_begin(VCpu *cpu)
{
    int others = 0;

    vcpu_exec_end(cpu);
    exclusive_lock();
    while (vcpus.exclusive_pending) {
        pthread_cond_wait(&vcpus.exclusive_over, &vcpus.exclusive_lock);
    }
    vcpus.exclusive_pending = 1;
    for (int i = 0; i < vcpu_count(); i++) {
        VCpu *other = vcpu_get(i);

        if (other != cpu && atomic_load(&other->in_exec)) {
            other->exclusive_waits = true;
            others++;
        }
    }
    vcpus.exclusive_pending = 1 + others;
    for (int i = 0; others && i < vcpu_count(); i++) {
        if (vcpu_get(i)->exclusive_waits) {
            vcpu_kick(vcpu_get(i));
        }
    }
    while (vcpus.exclusive_pending > 1) {
        pthread_cond_wait(&vcpus.exclusive_alone, &vcpus.exclusive_lock);
    }
    exclusive_unlock();
    rcu_read_lock();                /* the section itself touches guest memory */
}

void vcpu_exclusive_end(VCpu *cpu)
{
    rcu_read_unlock();
    exclusive_lock();
    vcpus.exclusive_pending = 0;
    pthread_cond_broadcast(&vcpus.exclusive_over);
    exclusive_unlock();
    vcpu_exec_begin(cpu);
}

static const Type cpu_type = { .name = "cpu", .parent = "device", .abstract = true, .category = "CPU devices",
                               .size = sizeof(VCpu) };
TYPE_REGISTER(cpu_type)
