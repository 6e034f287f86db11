/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software CPU under a debugger: points, steps, and where a vCPU stops for them.
 *
 * Breakpoints are not written to guest memory: a block in whose bytes one lies is run instruction by instruction.
 * A step goes over a breakpoint at its own address. Watchpoints: target/i386/debug.c. The list is changed by the main
 * loop while all vCPUs are stopped, and read by them. Test: tests/unit/test-debug.c, tests/gdb/.
 */
#include "accel/tcg/tcg-internal.h"
#include "target/i386/debug.h"

static struct {
    GArray *points;                 /* of DebugPoint; NULL: there was never one */
} tcg_debug;

static void tell(X86CPU *cpu)
{
    GArray *all = tcg_debug.points;

    x86_debug_set_points(cpu, all ? (const DebugPoint *)all->data : NULL, all ? all->len : 0);
}

static void tell_all(void)
{
    VCpu *vcpu;

    VCPU_FOREACH(vcpu) {
        tell(X86_CPU(vcpu));
    }
}

static int point_index(const DebugPoint *p)
{
    for (guint i = 0; tcg_debug.points && i < tcg_debug.points->len; i++) {
        const DebugPoint *q = &g_array_index(tcg_debug.points, DebugPoint, i);

        if (q->kind == p->kind && q->addr == p->addr && q->len == p->len) {
            return i;
        }
    }
    return -1;
}

bool tcg_debug_insert(VCpu *vcpu, const DebugPoint *p, Error **errp)
{
    if (point_index(p) >= 0) {
        return true;
    }
    if (!tcg_debug.points) {
        tcg_debug.points = g_array_new(FALSE, FALSE, sizeof(DebugPoint));
    }
    g_array_append_vals(tcg_debug.points, p, 1);
    tell_all();
    return true;
}

bool tcg_debug_remove(VCpu *vcpu, const DebugPoint *p)
{
    int i = point_index(p);

    if (i >= 0) {
        g_array_remove_index(tcg_debug.points, i);
        tell_all();
    }
    return i >= 0;
}

void tcg_debug_step(VCpu *vcpu)
{
    tell(X86_CPU(vcpu));
}

/* A watchpoint was hit in the running instruction. */
static void leave_block(X86CPU *cpu)
{
    cpu->blocks->end = NULL;
    atomic_store(&cpu->vcpu.exit_request, 1);
}

void tcg_debug_vcpu_init(X86CPU *cpu)
{
    cpu->leave_block = leave_block;
    tell(cpu);
}

bool tcg_debug_before(X86CPU *cpu, const Block *b, bool *step)
{
    VCpu *v = &cpu->vcpu;
    uint64_t lin = x86_code_linear(cpu->st);
    const DebugPoint *p = v->debug_step ? NULL : x86_debug_break_in(cpu, lin, b->bytes);

    *step = v->debug_step || p;
    if (p && p->addr == lin) {
        v->debug_stop = (DebugStop){ .why = DEBUG_WHY_BREAK, .kind = p->kind, .addr = lin };
        return true;
    }
    return false;
}

bool tcg_debug_after(X86CPU *cpu)
{
    VCpu *v = &cpu->vcpu;

    if (v->debug_stop.why == DEBUG_WHY_NONE && v->debug_step) {
        v->debug_stop.why = DEBUG_WHY_STEP;
    }
    return v->debug_stop.why != DEBUG_WHY_NONE;
}
