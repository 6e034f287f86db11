/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults from outside: `inject-nmi` (QMP), `nmi` and `mce` (the monitor for people).
 *
 * An NMI goes to each CPU's LINT1, as QEMU's does. A machine check is put into a bank of one CPU, on that CPU's own
 * thread; -b tells all others, as Intel's processors from family 6 model 14 on do. Left out: machine checks under KVM.
 * Main loop thread, machine lock. Test: tests/monitor/fault.py.
 */
#include <inttypes.h>
#include <string.h>

#include "monitor/monitor-int.h"
#include "system/cpus.h"
#include "target/i386/apic.h"
#include "target/i386/cpuid.h"
#include "target/i386/mce.h"

static void press_nmi(VCpu *cpu, void *opaque)
{
    apic_deliver_nmi(X86_CPU(cpu));
}

bool qmp_inject_nmi(Error **errp)
{
    if (!vcpu_count()) {
        error_set(errp, "the machine has no CPU that could take an NMI");
        return false;
    }
    for (int i = 0; i < vcpu_count(); i++) {
        vcpu_get_state(vcpu_get(i));
        vcpu_run_sync(vcpu_get(i), press_nmi, NULL);
    }
    return true;
}

/* ---- mce ---- */

typedef struct McePlan {
    X86MachineCheck mc;
    bool good;
    Error *err;
} McePlan;

static void inject_here(VCpu *cpu, void *opaque)
{
    McePlan *plan = opaque;

    plan->good = x86_cpu_machine_check(X86_CPU(cpu), &plan->mc, &plan->err);
}

static bool inject(int index, const X86MachineCheck *mc, Error **errp)
{
    McePlan plan = { .mc = *mc };

    vcpu_run_sync(vcpu_get(index), inject_here, &plan);
    if (!plan.good) {
        error_propagate(errp, plan.err);
    }
    return plan.good;
}

static bool numbers_parse(char **words, uint64_t values[6], Error **errp)
{
    static const char *const names[] = { "CPU", "BANK", "STATUS", "MCGSTATUS", "ADDR", "MISC" };

    for (unsigned n = 0; n < 6; n++) {
        char *end;

        if (!words[n]) {
            error_set(errp, "mce: %s is missing (usage: mce [-b] CPU BANK STATUS MCGSTATUS ADDR MISC)", names[n]);
            return false;
        }
        values[n] = g_ascii_strtoull(words[n], &end, 0);
        if (!*words[n] || *end || *words[n] == '-') {
            error_set(errp, "mce: %s expects a number, not '%s'", names[n], words[n]);
            return false;
        }
    }
    if (words[6]) {
        error_set(errp, "mce: '%s' is one word too many", words[6]);
        return false;
    }
    return true;
}

static bool may_broadcast(const X86CPU *cpu)
{
    const X86CpuModel *m = cpu->model;

    return m->family > 6 || (m->family == 6 && m->model >= 14);
}

static bool mce(char **words, Error **errp)
{
    bool all = words[0] && !strcmp(words[0], "-b");
    X86MachineCheck mc, other = { .bank = 1, .status = 5ull << 61, .mcg_status = 5 };
    uint64_t v[6];

    if (!numbers_parse(words + all, v, errp)) {
        return false;
    }
    if (v[0] >= vcpu_count()) {
        error_set(errp, "mce: there is no CPU %" PRIu64, v[0]);
        return false;
    }
    if (x86_feat_is_kvm()) {
        error_set(errp, "mce: machine checks can be injected with -accel tcg only");
        return false;
    }
    if (all && !may_broadcast(X86_CPU(vcpu_get(v[0])))) {
        error_set(errp, "mce: this CPU model does not tell the other CPUs of a machine check ('-b')");
        return false;
    }
    mc = (X86MachineCheck) { .bank = MIN(v[1], UINT_MAX), .status = v[2], .mcg_status = v[3], .addr = v[4],
                             .misc = v[5] };
    if (!inject(v[0], &mc, errp)) {
        return false;
    }
    for (int i = 0; all && i < vcpu_count(); i++) {
        if (i != (int)v[0] && !inject(i, &other, errp)) {
            return false;
        }
    }
    return true;
}

void hmp_mce(char **words, GString *out)
{
    Error *err = NULL;

    if (!mce(words, &err)) {
        g_string_append_printf(out, "Error: %s\n", error_text(err));
        error_free(err);
    }
}
