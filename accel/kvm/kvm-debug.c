/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debugger's points and steps under KVM (include/system/debug.h; KVM_SET_GUEST_DEBUG, api.rst 4.87).
 *
 * A software breakpoint is an INT3 in guest memory, with the guest's byte kept here; hardware points share the four
 * debug registers, which the guest does not see meanwhile. INT3 and #DB that are the guest's own go back to it. Points
 * change on the main thread with all vCPUs stopped; each vCPU tells the kernel at its next entry, after its registers,
 * since a step counts from the rip of that moment. Test: tests/kvm/test-accel.py.
 */
#include <inttypes.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "target/i386/debug.h"

#define HARD_POINTS 4
#define INT3 0xcc
#define DR6_STEP (1u << 14)
#define DR7_FIXED 0x600u

typedef struct SoftPoint {
    uint64_t addr;
    uint8_t byte;                   /* the guest's own */
} SoftPoint;

struct KvmDebug {
    GArray *soft;                   /* of SoftPoint */
    DebugPoint hard[HARD_POINTS];
    bool used[HARD_POINTS];
};

static KvmDebug *debug_state(void)
{
    KvmState *s = kvm_state;

    if (!s->debug) {
        s->debug = g_new0(KvmDebug, 1);
        s->debug->soft = g_array_new(FALSE, FALSE, sizeof(SoftPoint));
    }
    return s->debug;
}

void kvm_debug_fini(void)
{
    if (kvm_state->debug) {
        g_array_free(kvm_state->debug->soft, TRUE);
        g_free(kvm_state->debug);
    }
}

static void tell_all(void)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        if (cpu->accel) {
            kvm_vcpu(cpu)->debug_stale = true;
        }
    }
}

/* ---- software ---- */

static int soft_index(uint64_t addr)
{
    const GArray *all = debug_state()->soft;

    for (guint i = 0; i < all->len; i++) {
        if (g_array_index(all, SoftPoint, i).addr == addr) {
            return i;
        }
    }
    return -1;
}

static bool soft_insert(VCpu *cpu, uint64_t addr, Error **errp)
{
    SoftPoint p = { .addr = addr };
    const uint8_t int3 = INT3;

    if (soft_index(addr) >= 0) {
        return true;
    }
    if (!x86_debug_read(X86_CPU(cpu), addr, &p.byte, 1) || !x86_debug_write(X86_CPU(cpu), addr, &int3, 1)) {
        error_set(errp, "no memory at 0x%" PRIx64 " to put a breakpoint into", addr);
        return false;
    }
    g_array_append_val(debug_state()->soft, p);
    return true;
}

/* Memory that is not mapped any more is left alone: the breakpoint went with it. */
static bool soft_remove(VCpu *cpu, uint64_t addr)
{
    int i = soft_index(addr);
    uint8_t now;

    if (i < 0) {
        return false;
    }
    if (x86_debug_read(X86_CPU(cpu), addr, &now, 1) && now == INT3) {
        x86_debug_write(X86_CPU(cpu), addr, &g_array_index(debug_state()->soft, SoftPoint, i).byte, 1);
    }
    g_array_remove_index(debug_state()->soft, i);
    return true;
}

void kvm_debug_hide(VCpu *cpu, uint64_t addr, uint8_t *buf, uint64_t len, bool write)
{
    GArray *all = debug_state()->soft;

    for (guint i = 0; i < all->len; i++) {
        SoftPoint *p = &g_array_index(all, SoftPoint, i);
        uint64_t at = p->addr - addr;

        if (at >= len) {
            continue;
        }
        if (write) {
            p->byte = buf[at];
            buf[at] = INT3;
        } else {
            buf[at] = p->byte;
        }
    }
}

/* ---- hardware ---- */

static int hard_index(const DebugPoint *p)
{
    const KvmDebug *d = debug_state();

    for (int n = 0; n < HARD_POINTS; n++) {
        if (d->used[n] && d->hard[n].kind == p->kind && d->hard[n].addr == p->addr && d->hard[n].len == p->len) {
            return n;
        }
    }
    return -1;
}

static bool hard_insert(const DebugPoint *p, Error **errp)
{
    KvmDebug *d = debug_state();
    bool data = p->kind != DEBUG_BREAK_HARD;

    if (data && ((p->len != 1 && p->len != 2 && p->len != 4 && p->len != 8) || (p->addr & (p->len - 1)))) {
        error_set(errp, "a debug register watches 1, 2, 4 or 8 aligned bytes, not %" PRIu64 " at 0x%" PRIx64, p->len,
                  p->addr);
        return false;
    }
    for (int n = 0; n < HARD_POINTS && hard_index(p) < 0; n++) {
        if (!d->used[n]) {
            d->used[n] = true;
            d->hard[n] = *p;
            return true;
        }
    }
    if (hard_index(p) < 0) {
        error_set(errp, "the CPU has four debug registers, and all are in use");
        return false;
    }
    return true;
}

static bool hard_remove(const DebugPoint *p)
{
    int n = hard_index(p);

    if (n >= 0) {
        debug_state()->used[n] = false;
    }
    return n >= 0;
}

bool kvm_debug_insert(VCpu *cpu, const DebugPoint *p, Error **errp)
{
    bool ok;

    vcpus_get_state();
    ok = p->kind == DEBUG_BREAK_SOFT ? soft_insert(cpu, p->addr, errp) : hard_insert(p, errp);
    tell_all();
    return ok;
}

bool kvm_debug_remove(VCpu *cpu, const DebugPoint *p)
{
    bool ok;

    vcpus_get_state();
    ok = p->kind == DEBUG_BREAK_SOFT ? soft_remove(cpu, p->addr) : hard_remove(p);
    tell_all();
    return ok;
}

void kvm_debug_step(VCpu *cpu)
{
    vcpus_get_state();
    kvm_vcpu(cpu)->debug_stale = true;
}

/* ---- what the kernel is told ---- */

static uint64_t dr7_of(const DebugPoint *p, int n)
{
    static const uint8_t len_code[9] = { [1] = 0, [2] = 1, [4] = 3, [8] = 2 };
    bool code = p->kind == DEBUG_BREAK_HARD;
    unsigned type = code ? 0 : p->kind == DEBUG_WATCH_WRITE ? 1 : 3;

    return 2ull << (n * 2) | (uint64_t)(type | (code ? 0 : len_code[p->len]) << 2) << (16 + n * 4);
}

/* vCPU thread, after its registers went to the kernel. */
void kvm_debug_apply(VCpu *cpu)
{
    const KvmDebug *d = kvm_state->debug;
    struct kvm_guest_debug g = { .control = 0 };

    kvm_vcpu(cpu)->debug_stale = false;
    if (cpu->debug_step) {
        g.control |= KVM_GUESTDBG_SINGLESTEP;
        if ((cpu->debug_step & DEBUG_STEP_NOIRQ) && (kvm_state->debug_flags & KVM_GUESTDBG_BLOCKIRQ)) {
            g.control |= KVM_GUESTDBG_BLOCKIRQ;
        }
    }
    if (d && d->soft->len) {
        g.control |= KVM_GUESTDBG_USE_SW_BP;
    }
    for (int n = 0; d && n < HARD_POINTS; n++) {
        if (d->used[n]) {
            g.control |= KVM_GUESTDBG_USE_HW_BP;
            g.arch.debugreg[n] = d->hard[n].addr;
            g.arch.debugreg[7] |= DR7_FIXED | dr7_of(&d->hard[n], n);
        }
    }
    g.control |= g.control ? KVM_GUESTDBG_ENABLE : 0;
    kvm_ioctl(kvm_vcpu(cpu)->fd, KVM_SET_GUEST_DEBUG, &g);
}

/* ---- exits ---- */

static bool stop_by_int3(VCpu *cpu, uint64_t pc)
{
    if (!kvm_state->debug || soft_index(pc) < 0) {
        return false;
    }
    cpu->debug_stop = (DebugStop) { .why = DEBUG_WHY_BREAK, .kind = DEBUG_BREAK_SOFT, .addr = pc };
    return true;
}

static bool stop_by_db(VCpu *cpu, uint64_t dr6)
{
    const KvmDebug *d = kvm_state->debug;

    for (int n = 0; d && n < HARD_POINTS; n++) {
        if (d->used[n] && (dr6 >> n & 1)) {
            cpu->debug_stop = (DebugStop) {
                .why = d->hard[n].kind == DEBUG_BREAK_HARD ? DEBUG_WHY_BREAK : DEBUG_WHY_WATCH,
                .kind = d->hard[n].kind, .addr = d->hard[n].addr,
            };
            return true;
        }
    }
    if (cpu->debug_step && (dr6 & DR6_STEP)) {
        cpu->debug_stop = (DebugStop) { .why = DEBUG_WHY_STEP };
        return true;
    }
    return false;
}

/* The guest's own: it gets the exception that the kernel took. Machine lock. */
static void give_back(VCpu *cpu, uint8_t vector, uint64_t dr6)
{
    X86State *st = X86_CPU(cpu)->st;

    kvm_state_get(cpu);
    if (vector == EXCP_DB) {
        st->dr[6] |= dr6;
    }
    st->ev.exception_injected = true;
    st->ev.exception_nr = vector;
    st->ev.exception_has_error = false;
}

VCpuRunResult kvm_debug_exit(VCpu *cpu, const struct kvm_run *run)
{
    const struct kvm_debug_exit_arch copy = run->debug.arch;    /* the run page changes with the next ioctl */

    if (copy.exception == EXCP_BP ? stop_by_int3(cpu, copy.pc) : stop_by_db(cpu, copy.dr6)) {
        return VCPU_RUN_DEBUG;
    }
    machine_lock();
    give_back(cpu, copy.exception, copy.dr6);
    machine_unlock();
    return VCPU_RUN_AGAIN;
}
