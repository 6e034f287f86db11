/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual CPU as the rest of the process sees it: a thread that runs until it is asked to stop.
 *
 * What a vCPU computes is the accelerator's business (include/accel/accel.h), what it is is the
 * target's (include/target/i386/cpu.h); this header is what devices, monitors and the run state
 * need. Thread notes stand at each function. Test: tests/unit/test-cpus.c.
 */
#ifndef CLEAT_SYSTEM_CPUS_H
#define CLEAT_SYSTEM_CPUS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "system/debug.h"
#include "system/memory.h"
#include "system/qdev.h"

typedef struct VCpu VCpu;
typedef void VCpuWork(VCpu *cpu, void *opaque);

struct VCpu {
    Device parent;                  /* the CPU is a device in the composition tree */
    /* wiring, set before the thread starts */
    int index;                      /* 0..n-1, dense */
    AddressSpace *mem;              /* guest physical memory as this CPU sees it */
    AddressSpace *io;               /* port space */
    pthread_t thread;
    int tid;                        /* host thread id (QMP query-cpus-fast) */
    /* control: written by any thread, read by the vCPU at each block boundary or exit */
    _Atomic uint32_t exit_request;  /* non-zero: leave the run loop soon; cleared by the vCPU */
    _Atomic bool halted;            /* in HLT/wait-for-SIPI; wakes on a pending event */
    _Atomic bool stop;              /* asked to stop (machine lock held by the asker) */
    _Atomic bool stopped;           /* has stopped (from creation until the VM runs); changed under the machine lock */
    bool created;                   /* thread is up; machine lock */
    _Atomic bool unplug;            /* the thread is to end */
    _Atomic bool in_exec;           /* between exec_begin and exec_end */
    bool exclusive_waits;           /* an exclusive section waits for this vCPU; cpus.c's exclusive lock */
    _Atomic bool sleeping;          /* about to wait on wake, or waiting */
    pthread_mutex_t work_lock;      /* leaf lock: guards work list and the sleep */
    pthread_cond_t wake;            /* with work_lock: halted or stopped vCPUs sleep here */
    struct VCpuWorkItem *work_first, *work_last;
    void *accel;                    /* the accelerator's own per-vCPU data */
    /* debugger: written while the vCPU is stopped, see include/system/debug.h */
    uint32_t debug_step;            /* DEBUG_STEP_*; 0: run freely */
    bool debug_hold;                /* stays stopped while others run; machine lock */
    DebugStop debug_stop;           /* why it last returned VCPU_RUN_DEBUG */
};

/* All vCPUs, in index order. Machine lock, or before the threads start. */
int vcpu_count(void);
VCpu *vcpu_get(int index);
#define VCPU_FOREACH(cpu) \
    for (int cpu##_i = 0; cpu##_i < vcpu_count() && ((cpu) = vcpu_get(cpu##_i), true); cpu##_i++)

/* The vCPU whose thread this is; NULL on any other thread. */
VCpu *vcpu_current(void);

/* init: fields and locks (from the target's init); register: gives the index (from realize, machine lock). */
void vcpu_init(VCpu *cpu);
bool vcpu_register(VCpu *cpu, Error **errp);
void vcpu_unregister(VCpu *cpu);
/* Starts the thread through the accelerator; waits until it is up. Machine lock. */
bool vcpu_start(VCpu *cpu, Error **errp);

/* Makes the vCPU look at its state soon: leaves guest code, or wakes from halt. Any thread, no lock. */
void vcpu_kick(VCpu *cpu);
/* Runs fn on the vCPU's thread with the machine lock held; _sync waits for it (drops and retakes the lock). */
void vcpu_run_sync(VCpu *cpu, VCpuWork *fn, void *opaque);
void vcpu_run_async(VCpu *cpu, VCpuWork *fn, void *opaque);
/* Stop all (returns when each has stopped), or let all go but those with debug_hold. Main loop, machine lock. */
void vcpus_pause_all(void);
void vcpus_resume_all(void);
/* Ends all threads and joins them (shutdown). Main loop thread, machine lock. */
void vcpus_join_all(void);
/*
 * Stops the vCPU whose thread this is, at its next boundary, until the main loop resumes it; no-op
 * on other threads.
 */
void vcpu_stop_current(void);
/* Brings architectural state from / to the accelerator, of one vCPU or all. Main loop thread, machine lock, all
 * paused. */
void vcpu_get_state(VCpu *cpu);
void vcpu_put_state(VCpu *cpu);
void vcpus_get_state(void);
void vcpus_put_state(void);

/*
 * The exclusive section: between begin and end no other vCPU executes guest instructions.
 * For the rare operations that must look atomic to all CPUs. vCPU thread, machine lock NOT held.
 */
void vcpu_exclusive_begin(VCpu *cpu);
void vcpu_exclusive_end(VCpu *cpu);
/* Around each run of guest instructions (called by accelerators); begin blocks while another is exclusive. */
void vcpu_exec_begin(VCpu *cpu);
void vcpu_exec_end(VCpu *cpu);

/*
 * One common thread body for accelerators whose vCPU is a plain loop: waits for events, runs work
 * items, calls accel->run(cpu) while the machine runs. Defined in system/cpus.c.
 */
void *vcpu_thread_main(void *vcpu);

#endif
