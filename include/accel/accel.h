/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accelerator table: tcg (our software CPU), kvm, qtest are three rows.
 *
 * An accelerator file ends in one `static const AccelOps` and ACCEL_REGISTER(). Options of
 * `-accel NAME,key=value` arrive as strings in init's props. Main thread unless said otherwise.
 */
#ifndef CLEAT_ACCEL_ACCEL_H
#define CLEAT_ACCEL_ACCEL_H

#include "system/cpus.h"

struct Machine;

typedef enum VCpuRunResult {
    VCPU_RUN_AGAIN,         /* interrupted: look at requests, then run again */
    VCPU_RUN_HALTED,        /* the guest waits for an event */
    VCPU_RUN_DEBUG,         /* breakpoint, watchpoint or step: VCpu.debug_stop says which */
    VCPU_RUN_STOPPED,       /* the machine was asked to stop/reset/shut down by this run */
} VCpuRunResult;

typedef struct AccelProp {
    const char *key, *value;
} AccelProp;

typedef struct AccelOps {
    const char *name;
    const char *desc;                    /* one line for -accel help */
    const char *const *props;            /* NULL-terminated "key\0help" keys that init accepts */
    /* Could it work here? false with the reason (a sentence that says what to do). Changes nothing. */
    bool (*available)(Error **errp);
    bool (*init)(const AccelProp *props, int n, Error **errp);
    void (*fini)(void);
    /* The machine object exists, its board is not built yet: what the accelerator brings along. May be NULL. */
    void (*machine_setup)(struct Machine *m);
    /* After the machine's memory is set up and before vCPUs start. May be NULL. */
    bool (*machine_ready)(Error **errp);
    bool (*vcpu_init)(VCpu *cpu, Error **errp);    /* on the vCPU's own thread, machine lock held */
    void (*vcpu_fini)(VCpu *cpu);
    void *(*thread)(void *vcpu);         /* NULL: vcpu_thread_main */
    /* Runs guest code until exit; vCPU thread, machine lock NOT held. */
    VCpuRunResult (*run)(VCpu *cpu);
    void (*kick)(VCpu *cpu);             /* any thread; exit_request is set already */
    bool (*has_work)(VCpu *cpu);         /* halted vCPU: is there an event that wakes it? vCPU thread */
    /* Copy architectural state from / to the accelerator; vCPU thread, machine lock. NULL: state is in place. */
    void (*get_state)(VCpu *cpu);
    void (*put_state)(VCpu *cpu);
    uint64_t (*rescues)(void);           /* instructions that the software CPU executed in its place. NULL: none */
    int64_t (*clock_virtual)(void);      /* NULL: monotonic clock while running */
    /*
     * The debugger's points (include/system/debug.h): main loop thread, machine lock, every vCPU stopped. cpu is the
     * one through whose page tables a software breakpoint is written, where the accelerator does that. insert: a point
     * that is there already counts as inserted; false with the reason ("... has four debug registers, all in use").
     * remove: false when there is no such point. debug_step: VCpu.debug_step has its new value already
     * (0 too, when the vCPU runs freely again). NULL: no debugging by this accelerator.
     */
    bool (*debug_insert)(VCpu *cpu, const DebugPoint *p, Error **errp);
    bool (*debug_remove)(VCpu *cpu, const DebugPoint *p);
    void (*debug_step)(VCpu *cpu);
    /*
     * Bytes that the debugger read at linear address addr, or is about to write there: put the guest's own bytes in
     * place of breakpoint instructions (read), or keep breakpoint instructions over the new ones (write; what is
     * to be stored comes back in buf). NULL: breakpoints are not in guest memory.
     */
    void (*debug_hide)(VCpu *cpu, uint64_t addr, uint8_t *buf, uint64_t len, bool write);
} AccelOps;

/* Registers a row; used at file end. */
#define ACCEL_REGISTER(ops) \
    static void __attribute__((constructor)) ops##_register(void) { accel_register(&ops); }
void accel_register(const AccelOps *ops);
const AccelOps *accel_find(const char *name);
/* The one in use; set once at start-up. */
const AccelOps *accel_current(void);
/*
 * Tries a ':'-separated list in turn ("kvm:tcg"): the first that is available and initialises is
 * taken; where it is not the first, stderr says which one was taken and why.
 */
bool accel_select(const char *list, const AccelProp *props, int n, Error **errp);
/* Names and descriptions for `-accel help`, on stdout. */
void accel_print_help(void);

#endif
