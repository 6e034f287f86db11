/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running and stopping: c, s, C, S, vCont, and the stop replies (gdb manual, "Packets", "Stop Reply Packets").
 *
 * All-stop: every vCPU stands still while packets are carried out. A resume says for each vCPU whether it runs, steps
 * or is held; vm_start() leaves held ones alone (VCpu.debug_hold). When the machine stops, the vCPU that has a reason
 * becomes the current thread. A watchpoint that a second vCPU hit meanwhile is told at the next resume instead of
 * running. Signals mean nothing to a machine and are ignored. Main loop thread, machine lock. Test: tests/gdb/.
 */
#include "gdbstub/gdb-int.h"
#include "system/loop.h"
#include "system/runstate.h"

/* gdb's own numbers of signals, whatever the host's are. */
enum { GDB_SIGNAL_0 = 0, GDB_SIGNAL_INT = 2, GDB_SIGNAL_QUIT = 3, GDB_SIGNAL_TRAP = 5, GDB_SIGNAL_ABRT = 6,
       GDB_SIGNAL_ALRM = 14, GDB_SIGNAL_STOP = 17, GDB_SIGNAL_XCPU = 24, GDB_SIGNAL_UNKNOWN = 143 };

static int state_signal(RunState state)
{
    switch (state) {
    case RUN_STATE_DEBUG: return GDB_SIGNAL_TRAP;
    case RUN_STATE_PAUSED: return GDB_SIGNAL_INT;
    case RUN_STATE_SHUTDOWN: return GDB_SIGNAL_QUIT;
    case RUN_STATE_IO_ERROR: return GDB_SIGNAL_STOP;
    case RUN_STATE_WATCHDOG: return GDB_SIGNAL_ALRM;
    case RUN_STATE_INTERNAL_ERROR: return GDB_SIGNAL_ABRT;
    case RUN_STATE_FINISH_MIGRATE: return GDB_SIGNAL_XCPU;
    default: return GDB_SIGNAL_UNKNOWN;
    }
}

/* ---- telling ---- */

static void append_reason(const GdbServer *s, GString *out, const DebugStop *stop)
{
    static const char *const watches[] = {
        [DEBUG_WATCH_WRITE] = "watch", [DEBUG_WATCH_READ] = "rwatch", [DEBUG_WATCH_ACCESS] = "awatch",
    };

    if (stop->why == DEBUG_WHY_WATCH) {
        g_string_append_printf(out, "%s:%" G_GINT64_MODIFIER "x;", watches[stop->kind], stop->addr);
    } else if (stop->why == DEBUG_WHY_BREAK && stop->kind == DEBUG_BREAK_SOFT && s->swbreak) {
        g_string_append(out, "swbreak:;");
    } else if (stop->why == DEBUG_WHY_BREAK && stop->kind == DEBUG_BREAK_HARD && s->hwbreak) {
        g_string_append(out, "hwbreak:;");
    }
}

/* About the current thread; its reason is spent by that. */
void gdb_reply_stopped(GdbServer *s, int signal)
{
    g_autoptr(GString) out = g_string_new(NULL);
    VCpu *cpu = vcpu_get(s->general);

    g_string_append_printf(out, "T%02xthread:", signal);
    append_thread(s, out, s->general);
    g_string_append_c(out, ';');
    append_reason(s, out, &cpu->debug_stop);
    cpu->debug_stop = (DebugStop){ 0 };
    gdb_reply(s, out->str);
}

/* The first vCPU that stopped for a reason, the one that the debugger looks at going before others; -1: none. */
static int stopped_cpu(const GdbServer *s)
{
    VCpu *cpu;

    if (vcpu_get(s->general)->debug_stop.why) {
        return s->general;
    }
    VCPU_FOREACH(cpu) {
        if (cpu->debug_stop.why) {
            return cpu->index;
        }
    }
    return -1;
}

static void step_set(VCpu *cpu, uint32_t flags)
{
    const AccelOps *accel = accel_current();

    if (cpu->debug_step != flags) {
        cpu->debug_step = flags;
        accel->debug_step(cpu);
    }
}

void gdb_machine_stopped(GdbServer *s, RunState state)
{
    int index = state == RUN_STATE_DEBUG ? stopped_cpu(s) : -1;
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        step_set(cpu, 0);
        cpu->debug_hold = false;
        if (cpu->index != index && cpu->debug_stop.why != DEBUG_WHY_WATCH) {
            cpu->debug_stop = (DebugStop){ 0 };         /* a breakpoint is met again, a step is over */
        }
    }
    if (!s->waiting || state == RUN_STATE_SAVE_VM || state == RUN_STATE_RESTORE_VM) {
        return;
    }
    s->waiting = false;
    if (index >= 0) {
        s->general = s->run = index;
    }
    gdb_reply_stopped(s, state_signal(state));
}

/* ---- running ---- */

/* All that run do single steps in which time stands still. */
static bool time_stands(const GdbServer *s, const GdbAction *actions)
{
    bool steps = false;

    for (int i = 0; i < vcpu_count(); i++) {
        if (actions[i] == GDB_CONTINUE) {
            return false;
        }
        steps |= actions[i] == GDB_STEP;
    }
    return steps && (s->step_flags & DEBUG_STEP_NOTIMER);
}

/* Steps of halted vCPUs that nothing would wake while time stands still: they are over before they begin. */
static bool nothing_moves(const GdbServer *s, const GdbAction *actions)
{
    const AccelOps *accel = accel_current();
    VCpu *cpu;

    if (!time_stands(s, actions)) {
        return false;
    }
    VCPU_FOREACH(cpu) {
        if (actions[cpu->index] == GDB_STEP && !(cpu->halted && accel->has_work && !accel->has_work(cpu))) {
            return false;
        }
    }
    return true;
}

static bool machine_must_be_reset(void)
{
    RunState state = runstate_get();

    return state == RUN_STATE_INTERNAL_ERROR || state == RUN_STATE_SHUTDOWN;
}

void gdb_resume(GdbServer *s, const GdbAction *actions)
{
    int told = stopped_cpu(s);
    VCpu *cpu;

    if (told >= 0) {
        s->general = s->run = told;
        gdb_reply_stopped(s, GDB_SIGNAL_TRAP);
        return;
    }
    if (machine_must_be_reset()) {
        gdb_reply_stopped(s, state_signal(runstate_get()));
        return;
    }
    if (nothing_moves(s, actions)) {
        gdb_reply_stopped(s, GDB_SIGNAL_TRAP);
        return;
    }
    VCPU_FOREACH(cpu) {
        step_set(cpu, actions[cpu->index] == GDB_STEP ? s->step_flags : 0);
        cpu->debug_hold = actions[cpu->index] == GDB_HOLD;
    }
    s->waiting = true;
    vm_start();
    if (time_stands(s, actions)) {
        clock_virtual_enable(false);
    }
}

static GdbAction *actions_new(GdbAction all)
{
    GdbAction *actions = g_new(GdbAction, vcpu_count());

    for (int i = 0; i < vcpu_count(); i++) {
        actions[i] = all;
    }
    return actions;
}

void gdb_forget(GdbServer *s)
{
    bool running = runstate_is_running();
    VCpu *cpu;

    s->waiting = false;
    if (running) {
        vcpus_pause_all();
    }
    gdb_points_remove_all(s);
    VCPU_FOREACH(cpu) {
        step_set(cpu, 0);
        cpu->debug_hold = false;
        cpu->debug_stop = (DebugStop){ 0 };
    }
    if (running) {
        clock_virtual_enable(true);                     /* it may have been in a step */
        vcpus_resume_all();
    }
}

void gdb_continue_detached(void)
{
    if (!machine_must_be_reset()) {
        vm_start();
    }
}

/* An address to go on at, or nothing. */
static bool take_address(GdbServer *s, GdbArgs *a)
{
    X86CPU *cpu;
    uint64_t addr;

    if (arg_end(a)) {
        return true;
    }
    if (!arg_hex(a, &addr) || !arg_end(a)) {
        gdb_reply_bad_argument(s);
        return false;
    }
    cpu = X86_CPU(vcpu_get(s->run));
    vcpu_get_state(&cpu->vcpu);
    cpu->st->rip = addr;
    gdb_cpu_changed(cpu);
    return true;
}

void gdb_command_continue(GdbServer *s, GdbArgs *a)
{
    g_autofree GdbAction *actions = actions_new(GDB_CONTINUE);

    if (take_address(s, a)) {
        gdb_resume(s, actions);
    }
}

/* The others run meanwhile: who wants them to stand still uses vCont. */
void gdb_command_step(GdbServer *s, GdbArgs *a)
{
    g_autofree GdbAction *actions = actions_new(GDB_CONTINUE);

    if (!accel_current()->debug_step) {
        gdb_reply_bad_argument(s);
    } else if (take_address(s, a)) {
        actions[s->run] = GDB_STEP;
        gdb_resume(s, actions);
    }
}

static bool skip_signal(GdbServer *s, GdbArgs *a)
{
    uint64_t signal;

    if (!arg_hex(a, &signal) || signal > 0xff) {
        gdb_reply_bad_argument(s);
        return false;
    }
    arg_char(a, ';');
    return true;
}

void gdb_command_signal(GdbServer *s, GdbArgs *a)
{
    if (skip_signal(s, a)) {
        gdb_command_continue(s, a);
    }
}

void gdb_command_signal_step(GdbServer *s, GdbArgs *a)
{
    if (skip_signal(s, a)) {
        gdb_command_step(s, a);
    }
}

/* ---- vCont ---- */

/* "c", "s", "Cxx", "Sxx"; false: malformed, or an action that there is not. */
static bool vcont_action(GdbArgs *a, GdbAction *action)
{
    uint64_t signal;
    bool with_signal;

    if (arg_char(a, 'c') || arg_char(a, 'C')) {
        *action = GDB_CONTINUE;
    } else if (arg_char(a, 's') || arg_char(a, 'S')) {
        *action = GDB_STEP;
    } else {
        return false;
    }
    with_signal = g_ascii_isupper(a->at[-1]);
    return !with_signal || arg_hex(a, &signal);
}

/* The leftmost action that fits a thread counts. */
static void vcont_apply(GdbAction *actions, GdbAction action, GdbWhich which, int index)
{
    for (int i = 0; i < vcpu_count(); i++) {
        if (actions[i] == GDB_HOLD && (which != GDB_THREAD_ONE || i == index)) {
            actions[i] = action;
            if (which == GDB_THREAD_ANY) {
                return;
            }
        }
    }
}

static bool vcont_parse(GdbArgs *a, GdbAction *actions)
{
    while (arg_char(a, ';')) {
        GdbWhich which = GDB_THREAD_ALL;
        GdbAction action;
        int index = 0;

        if (!vcont_action(a, &action)) {
            return false;
        }
        if (arg_char(a, ':') && (which = arg_thread(a, &index)) == GDB_THREAD_NONE) {
            return false;
        }
        if (action == GDB_STEP && !accel_current()->debug_step) {
            return false;
        }
        vcont_apply(actions, action, which, index);
    }
    return arg_end(a);
}

void gdb_command_vcont(GdbServer *s, GdbArgs *a)
{
    g_autofree GdbAction *actions = actions_new(GDB_HOLD);
    bool some = false;

    if (!vcont_parse(a, actions)) {
        gdb_reply_bad_argument(s);
        return;
    }
    for (int i = 0; i < vcpu_count(); i++) {
        some |= actions[i] != GDB_HOLD;
    }
    if (some) {
        gdb_resume(s, actions);
    } else {
        gdb_reply_bad_argument(s);
    }
}
