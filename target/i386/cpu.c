/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU as a device: types "<model>-x86_64-cpu", its state mapping, reset and INIT (SDM vol. 3 table 10-1).
 *
 * The state is a mapping of its own, [guard page | X86State with the TLB at its end], so that a stray access below
 * it faults; the translator will put its stack between the two. Creation: main thread with the machine lock.
 * Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>
#include <sys/mman.h>

#include "system/machine.h"
#include "system/runstate.h"
#include "target/i386/internal.h"
#include "target/i386/kvmpv.h"
#include "target/i386/tsc.h"
#include "target/i386/vmstate.h"

#define GUARD_BYTES 4096u
static size_t bytes_below = GUARD_BYTES, state_bytes = (sizeof(X86State) + 4095) & ~(size_t)4095;

void x86_cpu_accel_area(size_t below, size_t behind)
{
    bytes_below = GUARD_BYTES + ((below + 4095) & ~(size_t)4095);
    state_bytes = (sizeof(X86State) + 63 + behind + 4095) & ~(size_t)4095;
}

/* ---- reset ---- */
static void reset_segments(X86CPU *cpu)
{
    X86State *st = cpu->st;
    uint32_t data = DESC_P | DESC_S | DESC_W | DESC_A;

    for (int i = 0; i < SEG_COUNT; i++) {
        st->seg[i] = (X86Segment) { .limit = 0xffff, .attr = data };
    }
    st->seg[SEG_CS] = (X86Segment) { .base = 0xffff0000, .limit = 0xffff, .attr = data | DESC_CODE,
                                     .selector = 0xf000 };
    st->ldt = (X86Segment) { .limit = 0xffff, .attr = DESC_P | 2 << 8 };
    st->tr = (X86Segment) { .limit = 0xffff, .attr = DESC_P | 11 << 8 };
    st->gdt = (X86Table) { .limit = 0xffff };
    st->idt = (X86Table) { .limit = 0xffff };
}

static void reset_common(X86CPU *cpu)
{
    X86State *st = cpu->st;
    const X86CpuModel *m = cpu->model;

    memset(st->regs, 0, sizeof(st->regs));
    st->regs[R_RDX] = (m->family > 15 ? 15 : m->family) << 8 | (m->model & 15) << 4 | m->stepping
        | (m->model >> 4) << 16 | (m->family > 15 ? m->family - 15 : 0) << 20;
    st->rip = 0xfff0;
    st->rflags = FL_1;
    reset_segments(cpu);
    st->cr2 = st->cr3 = st->cr4 = 0;
    st->efer = 0;
    memset(st->dr, 0, sizeof(st->dr));
    st->dr[6] = 0xffff0ff0;
    st->dr[7] = 0x400;
    /* Not the SIPI vector: the sender of INIT may have written it for the SIPI that follows. */
    memset(&st->ev, 0, offsetof(X86State, ev.sipi_vector) - offsetof(X86State, ev));
    st->ev.triple_fault_pending = false;
    cpu->atomic_held = cpu->delivering_ext = false;
    cpu->monitor_armed = 0;
    st->mp_state = cpu->vcpu.index == 0 ? MP_RUNNABLE : MP_UNINITIALIZED;
    atomic_store(&cpu->vcpu.halted, st->mp_state == MP_UNINITIALIZED);
    x86_tlb_flush_memory(cpu);
    x86_update_mode(cpu);
}

static void reset_fpu(X86CPU *cpu)
{
    X86State *st = cpu->st;

    memset(&st->xs, 0, sizeof(st->xs));
    st->xs.fcw = 0x40;
    st->xs.ftw = 0xff;
    st->xs.mxcsr = 0x1f80;
    st->xs.mxcsr_mask = x86_mxcsr_mask(cpu);
    st->xs.xstate_bv = XFEATURE_X87 | XFEATURE_SSE;
}

static void reset_msrs(X86CPU *cpu)
{
    X86State *st = cpu->st;

    st->star = st->lstar = st->cstar = st->fmask = st->kernel_gs_base = st->tsc_aux = 0;
    st->sysenter_cs = st->sysenter_esp = st->sysenter_eip = 0;
    st->pat = 0x0007040600070406ull;
    st->misc_enable = 1;
    st->mtrr_def = 0;
    memset(st->mtrr_phys, 0, sizeof(st->mtrr_phys));
    memset(st->mtrr_fixed, 0, sizeof(st->mtrr_fixed));
    st->mcg_cap = x86_has(cpu, X86_FEAT_MCA) ? 0x10a | (x86_is_amd(cpu) ? 0 : 1ull << 24) : 0;
    st->mcg_status = 0;
    st->mcg_ctl = ~0ull;
    memset(st->mc_banks, 0, sizeof(st->mc_banks));
    for (int i = 0; i < 40; i += 4) {
        st->mc_banks[i] = ~0ull;
    }
    st->tsc_offset = -x86_tsc_now(cpu->model->tsc_hz);
    st->tsc_saved = 0;
    st->tsc_adjust = st->tsc_deadline = 0;
    st->spec_ctrl = st->virt_ssbd = st->xss = 0;
    st->smbase = 0x30000;
    st->smi_count = st->pkrs = 0;
    atomic_store(&st->ferr, 0);
    st->kvm_system_time = st->kvm_wall_clock = st->kvm_pv_eoi = st->kvm_async_pf = st->kvm_steal_time = 0;
    st->kvm_poll_control = 1;
}

void x86_cpu_reset(X86CPU *cpu)
{
    X86State *st = cpu->st;

    st->cr0 = 0x60000010;
    st->xcr0 = XFEATURE_X87;
    reset_fpu(cpu);
    reset_msrs(cpu);
    atomic_store(&st->pending, 0);
    atomic_store(&st->a20_mask, ~0ull);
    reset_common(cpu);
    apic_reset(cpu, false);
}

void x86_cpu_init_signal(X86CPU *cpu)
{
    X86State *st = cpu->st;

    st->cr0 = (st->cr0 & (CR0_CD | CR0_NW)) | CR0_ET;
    reset_common(cpu);
    apic_reset(cpu, true);
}

/* ---- device ---- */
static bool cpu_map_state(X86CPU *cpu, Error **errp)
{
    uint8_t *p = mmap(NULL, bytes_below + state_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        error_set(errp, "cannot map %zu bytes of CPU state", state_bytes);
        return false;
    }
    mprotect(p, GUARD_BYTES, PROT_NONE);
    cpu->st = (X86State *)(p + bytes_below);
    cpu->st->self = cpu;
    x86_tlb_init(cpu->st);
    return true;
}

static void cpu_init(Object *obj)
{
    vcpu_init(&((X86CPU *)obj)->vcpu);
}

static void cpu_fini(Object *obj)
{
    X86CPU *cpu = (X86CPU *)obj;

    if (cpu->st) {
        munmap((uint8_t *)cpu->st - bytes_below, bytes_below + state_bytes);
        cpu->st = NULL;
    }
    g_free(cpu->kvmpv);
}

/*
 * The TSC of a CPU that runs in software stands still with the virtual clock. One reading of the host's for all, so
 * that theirs stay in step.
 */
static void tsc_hold(bool running)
{
    uint64_t now = 0;
    VCpu *v;

    VCPU_FOREACH(v) {
        X86CPU *cpu = X86_CPU(v);

        if (!cpu->code_written) {
            continue;                                   /* an accelerator with a TSC of its own */
        }
        now = now ? now : x86_tsc_now(cpu->model->tsc_hz);
        if (running) {
            cpu->st->tsc_offset = cpu->st->tsc_saved - now;
        } else {
            cpu->st->tsc_saved = now + cpu->st->tsc_offset;
        }
    }
}

/* The virtual clock stood still: paravirtual clocks start from a new reference. */
static void on_vm_change(void *opaque, bool running, RunState state)
{
    tsc_hold(running);
    if (running) {
        x86_kvm_clock_resync();
    }
}

static bool cpu_realize(Object *obj, Error **errp)
{
    X86CPU *cpu = (X86CPU *)obj;
    Machine *m = machine_current();

    if (!cpu->model) {
        error_set(errp, "a CPU is made with its machine; -device cannot add one yet");
        return false;
    }
    if (m && !cpu->vcpu.mem) {
        cpu->vcpu.mem = &m->as_memory;
        cpu->vcpu.io = &m->as_io;
    }
    cpu->phys_bits = cpu->model->phys_bits;
    if (!cpu_map_state(cpu, errp) || !vcpu_register(&cpu->vcpu, errp)) {
        return false;
    }
    if (x86_has(cpu, X86_FEAT_APIC) && !apic_attach(cpu, errp)) {
        vcpu_unregister(&cpu->vcpu);
        return false;
    }
    x86_cpu_reset(cpu);
    x86_vmstate_register(cpu);
    if (cpu->vcpu.index == 0) {
        vm_change_notifier_add(on_vm_change, NULL);
    }
    return true;
}

static void cpu_unrealize(Object *obj)
{
    X86CPU *cpu = (X86CPU *)obj;

    x86_vmstate_unregister(cpu);
    apic_detach(cpu);
    vcpu_unregister(&cpu->vcpu);
}

static void cpu_reset_hook(Object *obj)
{
    x86_cpu_reset((X86CPU *)obj);
}

static const Property cpu_props[] = {
    { .name = "apic-id", .kind = PROP_U32, .offset = offsetof(X86CPU, apic_id), .help = "local APIC id" },
    { .name = "socket-id", .kind = PROP_I32, .offset = offsetof(X86CPU, socket_id), .help = "socket of -smp" },
    { .name = "die-id", .kind = PROP_I32, .offset = offsetof(X86CPU, die_id), .help = "die within the socket" },
    { .name = "module-id", .kind = PROP_I32, .offset = offsetof(X86CPU, module_id), .help = "module within the die" },
    { .name = "core-id", .kind = PROP_I32, .offset = offsetof(X86CPU, core_id), .help = "core within the module" },
    { .name = "thread-id", .kind = PROP_I32, .offset = offsetof(X86CPU, thread_id), .help = "thread within the core" },
    PROP_END
};

static const Type cpu_type = {
    .name = "x86_64-cpu",
    .parent = "cpu",
    .desc = "x86 CPU",
    .category = "CPU devices",
    .abstract = true,
    .no_hotplug = true,
    .size = sizeof(X86CPU),
    .props = cpu_props,
    .init = cpu_init,
    .fini = cpu_fini,
    .realize = cpu_realize,
    .unrealize = cpu_unrealize,
    .reset = cpu_reset_hook,
};
TYPE_REGISTER(cpu_type)

static void register_model_type(const char *name, const char *alias_of, void *opaque)
{
    Type *t;

    if (alias_of) {
        return;
    }
    t = g_new0(Type, 1);
    t->name = g_strconcat(name, "-x86_64-cpu", NULL);
    t->parent = "x86_64-cpu";
    t->no_hotplug = true;
    type_register(t);
}

static void __attribute__((constructor)) register_model_types(void)
{
    x86_model_foreach(register_model_type, NULL);
}

/* ---- creation by boards ---- */
static unsigned bits_for(unsigned count)
{
    return count > 1 ? 32 - __builtin_clz(count - 1) : 0;
}

uint32_t x86_apic_id_from_index(const struct Machine *m, unsigned index)
{
    const SmpConfig *s = &m->config.smp;
    unsigned threads = MAX(s->threads, 1), cores = MAX(s->cores, 1), modules = MAX(s->modules, 1);
    unsigned dies = MAX(s->dies, 1);
    unsigned thread = index % threads, core = index / threads % cores, module = index / (threads * cores) % modules;
    unsigned die = index / (threads * cores * modules) % dies;
    unsigned socket = index / (threads * cores * modules * dies), shift = 0, id = 0;

    id |= thread;
    shift += bits_for(threads);
    id |= core << shift;
    shift += bits_for(cores);
    id |= module << shift;
    shift += bits_for(modules);
    id |= die << shift;
    shift += bits_for(dies);
    return id | socket << shift;
}

static void set_topology_ids(X86CPU *cpu, const Machine *m, unsigned i)
{
    const SmpConfig *s = &m->config.smp;
    unsigned threads = MAX(s->threads, 1), cores = MAX(s->cores, 1), modules = MAX(s->modules, 1);
    unsigned dies = MAX(s->dies, 1);

    cpu->thread_id = i % threads;
    cpu->core_id = i / threads % cores;
    cpu->module_id = i / (threads * cores) % modules;
    cpu->die_id = i / (threads * cores * modules) % dies;
    cpu->socket_id = i / (threads * cores * modules * dies);
}

X86CPU *x86_cpu_create(struct Machine *m, int index, uint32_t apic_id, Error **errp)
{
    X86CpuModel *model = index && vcpu_count() ? X86_CPU(vcpu_get(0))->model : NULL;
    g_autofree char *type_name = NULL;
    const MachineOps *ops = type_ops(m->obj.type);
    X86CPU *cpu;

    if (!model) {
        const char *string = m->config.cpu_model ? m->config.cpu_model : ops && ops->default_cpu ? ops->default_cpu
            : "qemu64";

        model = x86_model_parse(string, m, errp);
        if (!model) {
            return NULL;
        }
    }
    type_name = g_strconcat(model->name, "-x86_64-cpu", NULL);
    cpu = (X86CPU *)object_new(type_name);
    cpu->model = model;
    cpu->apic_id = apic_id;
    cpu->vcpu.mem = &m->as_memory;
    cpu->vcpu.io = &m->as_io;
    set_topology_ids(cpu, m, index);
    if (!device_plug((Device *)cpu, NULL, errp)) {
        object_unref((Object *)cpu);
        return NULL;
    }
    return cpu;
}
