/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software accelerator's row in the accelerator table: options, per-vCPU set-up, memory changes.
 *
 * Options: mode=interp|translate, thread=single|multi (vCPUs are threads either way: x86 on x86 needs no barriers),
 * tb-size=MiB of decoded blocks, and of host code, per vCPU, one-insn-per-tb=on|off, split-wx=on|off. Main thread
 * unless said otherwise.
 * Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>

#include "accel/accel.h"
#include "accel/tcg/xl.h"
#include "system/machine.h"
#include "target/i386/cpuid.h"
#include "target/i386/mmu.h"

static TcgConfig config = { .tb_size = 32u << 20 };     /* set by tcg_init, then constant */

const TcgConfig *tcg_config(void)
{
    return &config;
}

static bool option_bool(const AccelProp *p, bool *out, Error **errp)
{
    if (!strcmp(p->value, "on") || !strcmp(p->value, "off")) {
        *out = !strcmp(p->value, "on");
        return true;
    }
    error_set(errp, "-accel tcg: '%s' expects 'on' or 'off', not '%s'", p->key, p->value);
    return false;
}

static bool option(const AccelProp *p, Error **errp)
{
    bool dummy;

    if (!strcmp(p->key, "thread")) {
        if (strcmp(p->value, "single") && strcmp(p->value, "multi")) {
            error_set(errp, "-accel tcg: Invalid 'thread' setting '%s' (single or multi)", p->value);
            return false;
        }
        return true;
    }
    if (!strcmp(p->key, "tb-size")) {
        char *end;
        uint64_t mib = g_ascii_strtoull(p->value, &end, 10);

        if (*end || !*p->value || mib > 1u << 20) {
            error_set(errp, "-accel tcg: 'tb-size' expects MiB, not '%s'", p->value);
            return false;
        }
        config.tb_size = mib ? mib << 20 : 32u << 20;
        return true;
    }
    if (!strcmp(p->key, "one-insn-per-tb")) {
        return option_bool(p, &config.one_insn, errp);
    }
    if (!strcmp(p->key, "split-wx")) {
        return option_bool(p, &dummy, errp);
    }
    if (!strcmp(p->key, "mode")) {
        config.translate = !strcmp(p->value, "translate");
        if (!config.translate && strcmp(p->value, "interp")) {
            error_set(errp, "-accel tcg: Invalid 'mode' setting '%s' (translate or interp)", p->value);
            return false;
        }
        return true;
    }
    error_set(errp, "Property 'tcg-accel.%s' not found", p->key);
    return false;
}

/* Code was overwritten, by vCPU writer or a device: translated code of it may be linked, or running. Any thread. */
static void tell_stale(X86CPU *writer)
{
    for (int i = 0; config.translate && i < vcpu_count(); i++) {
        X86CPU *cpu = X86_CPU(vcpu_get(i));

        if (cpu != writer) {
            xl_notify_stale(cpu);
        } else {
            xl_hot(cpu->st)->stale = 1;
        }
    }
}

/* A write by a device or the loader. Any thread. */
static void code_hook(uint64_t ram_page, unsigned offset, unsigned len)
{
    if (code_page_written(ram_page, offset, len)) {
        tell_stale(NULL);
    }
}

/* A range's dirty bits were cleared: vCPUs must come back to the slow path to set them again. Any thread. */
static void flush_hook(uint64_t ram_page, uint64_t pages)
{
    for (int i = 0; i < vcpu_count(); i++) {
        X86CPU *cpu = X86_CPU(vcpu_get(i));

        if (vcpu_current() == &cpu->vcpu) {
            x86_tlb_flush_memory(cpu);
        } else {
            x86_cpu_raise(cpu, PENDING_FLUSH);
        }
    }
}

static bool tcg_init(const AccelProp *props, int n, Error **errp)
{
    for (int i = 0; i < n; i++) {
        if (!option(&props[i], errp)) {
            return false;
        }
    }
    config.translate = config.translate && xl_host_ok();
    if (config.translate) {
        xl_host_faults_init();
        x86_cpu_accel_area(XL_BELOW, sizeof(XlTables));
    }
    code_pages_init();
    ram_code_hook_set(code_hook);
    ram_flush_hook_set(flush_hook);
    return true;
}

static bool tcg_available(Error **errp)
{
    return true;
}

/*
 * Memory changed: every vCPU drops its translations before it runs on. Memory that went away is freed only after each
 * vCPU has left its exec section (util/rcu.h), and it handles PENDING_FLUSH before it translates again.
 */
static void memory_commit(MemoryListener *l)
{
    flush_hook(0, 0);
}

static void tcg_machine_setup(Machine *m)
{
    m->accel_chips.smm = true;
}

static bool tcg_machine_ready(Error **errp)
{
    static MemoryListener listener = { .name = "tcg", .commit = memory_commit };
    static MemoryListener smm_listener = { .name = "tcg-smm", .commit = memory_commit };
    Machine *m = machine_current();
    AddressSpace *smm = vcpu_count() ? X86_CPU(vcpu_get(0))->smm_mem : NULL;

    if (m && !listener.as) {
        memory_listener_register(&listener, &m->as_memory);
    }
    if (smm && !smm_listener.as) {
        memory_listener_register(&smm_listener, smm);
    }
    return true;
}

/* This vCPU wrote to a page under watch. */
static void code_written(X86CPU *cpu, uint64_t ram_page, unsigned offset, unsigned len)
{
    const Block *b = cpu->blocks->running;

    if (code_page_written(ram_page, offset, len)) {
        if (!b || !b->page || b->page->ram_page == ram_page) {
            cpu->blocks->end = NULL;                    /* it may have changed what it is running */
        }
        tell_stale(cpu);
    }
}

static bool tcg_vcpu_init(VCpu *vcpu, Error **errp)
{
    X86CPU *cpu = X86_CPU(vcpu);

    cpu->blocks = block_cache_new(cpu);
    if (config.translate) {
        cpu->blocks->xl = xl_cpu_new(cpu);
    }
    cpu->code_written = code_written;
    tcg_debug_vcpu_init(cpu);
    return true;
}

static void tcg_vcpu_fini(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);

    cpu->code_written = NULL;
    cpu->leave_block = NULL;
    xl_cpu_free(cpu);
    block_cache_free(cpu->blocks);
    cpu->blocks = NULL;
}

static void tcg_kick(VCpu *vcpu)
{
    X86CPU *cpu = X86_CPU(vcpu);

    /* exit_request is set, which the run loop reads before each block; translated code reads this. */
    if (cpu->blocks && cpu->blocks->xl) {
        atomic_store(&xl_hot(cpu->st)->req, 1);
    }
}

static bool tcg_has_work(VCpu *vcpu)
{
    return x86_cpu_has_work(X86_CPU(vcpu));
}

static const char *const tcg_props[] = {
    "mode\0interp (default): the interpreter; translate: hot blocks become host code (not proven with -smp)",
    "one-insn-per-tb\0decode blocks of one instruction (on/off)",
    "split-wx\0accepted: host code is never writable (on/off)",
    "tb-size\0MiB of decoded blocks per vCPU (32)",
    "thread\0single or multi; vCPUs are threads in both",
    NULL
};

static const AccelOps tcg_ops = {
    .name = "tcg",
    .desc = "software CPU: runs anywhere",
    .props = tcg_props,
    .available = tcg_available,
    .init = tcg_init,
    .machine_setup = tcg_machine_setup,
    .machine_ready = tcg_machine_ready,
    .vcpu_init = tcg_vcpu_init,
    .vcpu_fini = tcg_vcpu_fini,
    .run = tcg_run,
    .kick = tcg_kick,
    .has_work = tcg_has_work,
    .debug_insert = tcg_debug_insert,
    .debug_remove = tcg_debug_remove,
    .debug_step = tcg_debug_step,
};
ACCEL_REGISTER(tcg_ops)
