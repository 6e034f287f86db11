/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A KVM vCPU: creation, the run loop, and what each exit means (api.rst section 5).
 *
 * Kick: exit_request is set by the caller, then immediate_exit and a signal make KVM_RUN return EINTR, whichever
 * side of the entry the vCPU is on. vCPU thread; the machine lock is taken by memory dispatch and the requests.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accel/kvm/kvm-int.h"
#include "system/loop.h"
#include "system/runstate.h"
#include "target/i386/apic.h"
#include "target/i386/exec.h"

#define KVM_KICK_SIGNAL SIGUSR1

/* This thread's run page, for the kick handler: a signal can come at any instruction. */
static __thread struct kvm_run *kvm_this_run;

static void kvm_kick_handler(int sig)
{
    if (kvm_this_run) {
        kvm_this_run->immediate_exit = 1;
    }
}

void kvm_kick_signal_init(void)
{
    struct sigaction sa = { .sa_handler = kvm_kick_handler };

    sigaction(KVM_KICK_SIGNAL, &sa, NULL);
}

static bool vcpu_map(KvmState *s, KvmVcpu *v, Error **errp)
{
    void *p = mmap(NULL, s->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);

    if (p == MAP_FAILED) {
        error_set_errno(errp, errno, "Cannot map a KVM vCPU");
        return false;
    }
    v->run = p;
    if (s->dirty_ring_size) {
        p = mmap(NULL, s->dirty_ring_size * sizeof(struct kvm_dirty_gfn), PROT_READ | PROT_WRITE, MAP_SHARED, v->fd,
                 KVM_DIRTY_LOG_PAGE_OFFSET * 4096l);
        if (p == MAP_FAILED) {
            error_set_errno(errp, errno, "Cannot map a KVM vCPU's dirty ring");
            return false;
        }
        v->ring = p;
    }
    return true;
}

void kvm_vcpu_destroy(VCpu *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);

    if (!v) {
        return;
    }
    cpu->accel = NULL;
    kvm_this_run = NULL;
    if (v->ring) {
        munmap(v->ring, kvm_state->dirty_ring_size * sizeof(struct kvm_dirty_gfn));
    }
    if (v->run) {
        munmap(v->run, kvm_state->run_size);
    }
    close(v->fd);
    g_free(v);
}

bool kvm_vcpu_create(VCpu *cpu, Error **errp)
{
    KvmState *s = kvm_state;
    KvmVcpu *v;
    sigset_t set;
    int fd = kvm_vm_ioctl(KVM_CREATE_VCPU, (void *)(uintptr_t)X86_CPU(cpu)->apic_id);

    if (fd < 0) {
        error_set_errno(errp, -fd, "KVM cannot create vCPU %d (APIC id %u)", cpu->index, X86_CPU(cpu)->apic_id);
        return false;
    }
    v = g_new0(KvmVcpu, 1);
    v->fd = fd;
    v->state_here = true;
    cpu->accel = v;
    if (!vcpu_map(s, v, errp) || !kvm_cpuid_set(cpu, errp)) {
        kvm_vcpu_destroy(cpu);
        return false;
    }
    if (X86_CPU(cpu)->apic) {
        X86_CPU(cpu)->apic->in_kernel = s->irqchip != KVM_CHIP_OFF;
    }
    kvm_this_run = v->run;
    sigemptyset(&set);
    sigaddset(&set, KVM_KICK_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return true;
}

void kvm_vcpu_kick(VCpu *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);

    if (v && v->run) {
        pthread_kill(cpu->thread, KVM_KICK_SIGNAL);
    }
}

/* ---- exits ---- */

static void exit_io(VCpu *cpu, struct kvm_run *run)
{
    uint8_t *data = (uint8_t *)run + run->io.data_offset;

    for (uint32_t i = 0; i < run->io.count; i++, data += run->io.size) {
        uint64_t value = 0;

        if (run->io.direction == KVM_EXIT_IO_OUT) {
            memcpy(&value, data, run->io.size);
            address_space_st(cpu->io, run->io.port, value, run->io.size);
        } else {
            if (address_space_ld(cpu->io, run->io.port, &value, run->io.size) != MEM_OK) {
                value = UINT64_MAX;
            }
            memcpy(data, &value, run->io.size);
        }
    }
}

static void exit_mmio(VCpu *cpu, struct kvm_run *run)
{
    hwaddr addr = run->mmio.phys_addr;
    uint32_t len = run->mmio.len;

    if (run->mmio.is_write) {
        address_space_write(cpu->mem, addr, run->mmio.data, len);
    } else if (address_space_read(cpu->mem, addr, run->mmio.data, len) != MEM_OK) {
        memset(run->mmio.data, 0xff, len);
    }
}

VCpuRunResult kvm_gave_up(VCpu *cpu, uint32_t suberror)
{
    machine_lock();
    kvm_state_get(cpu);
    error_report("KVM gave up on vCPU %d (internal error %u%s) at rip 0x%" PRIx64, cpu->index, suberror,
                 suberror == KVM_INTERNAL_ERROR_EMULATION ? ": it cannot emulate the instruction" : "",
                 X86_CPU(cpu)->st->rip);
    machine_unlock();
    vm_stop_request(RUN_STATE_INTERNAL_ERROR);
    return VCPU_RUN_STOPPED;
}

static VCpuRunResult exit_internal_error(VCpu *cpu, struct kvm_run *run)
{
    uint32_t suberror = run->internal.suberror;

    return suberror == KVM_INTERNAL_ERROR_EMULATION ? kvm_rescue(cpu) : kvm_gave_up(cpu, suberror);
}

static VCpuRunResult exit_system_event(VCpu *cpu, struct kvm_run *run)
{
    switch (run->system_event.type) {
    case KVM_SYSTEM_EVENT_SHUTDOWN:
        system_shutdown_request(SHUTDOWN_GUEST_SHUTDOWN);
        return VCPU_RUN_STOPPED;
    case KVM_SYSTEM_EVENT_RESET:
        system_reset_request(SHUTDOWN_GUEST_RESET);
        return VCPU_RUN_STOPPED;
    case KVM_SYSTEM_EVENT_CRASH:
        system_guest_panicked(NULL);
        return VCPU_RUN_STOPPED;
    default:
        return VCPU_RUN_AGAIN;
    }
}

static VCpuRunResult exit_fatal(VCpu *cpu, const char *what, uint64_t code)
{
    error_report("KVM cannot run vCPU %d: %s (code 0x%" PRIx64 ")", cpu->index, what, code);
    vm_stop_request(RUN_STATE_INTERNAL_ERROR);
    return VCPU_RUN_STOPPED;
}

/* Only with the local APIC here: else the kernel halts the vCPU by itself. */
static VCpuRunResult exit_halt(VCpu *cpu, struct kvm_run *run)
{
    X86CPU *x86 = X86_CPU(cpu);

    x86->st->rflags = (x86->st->rflags & ~(uint64_t)FL_IF) | (run->if_flag ? FL_IF : 0);
    x86->st->ev.interrupt_shadow = 0;
    if (x86_cpu_has_work(x86)) {
        return VCPU_RUN_AGAIN;
    }
    x86->st->mp_state = MP_HALTED;
    cpu->halted = true;
    return VCPU_RUN_HALTED;
}

static VCpuRunResult exit_dirty_ring(VCpu *cpu)
{
    machine_lock();
    kvm_dirty_ring_reap(cpu);
    machine_unlock();
    return VCPU_RUN_AGAIN;
}

static VCpuRunResult kvm_handle_exit(VCpu *cpu, struct kvm_run *run)
{
    switch (run->exit_reason) {
    case KVM_EXIT_IO:
        exit_io(cpu, run);
        return VCPU_RUN_AGAIN;
    case KVM_EXIT_MMIO:
        exit_mmio(cpu, run);
        return VCPU_RUN_AGAIN;
    case KVM_EXIT_IRQ_WINDOW_OPEN:
    case KVM_EXIT_INTR:
    case KVM_EXIT_SET_TPR:
        return VCPU_RUN_AGAIN;
    case KVM_EXIT_HLT:
        return exit_halt(cpu, run);
    case KVM_EXIT_SHUTDOWN:
        system_reset_request(SHUTDOWN_GUEST_RESET);
        return VCPU_RUN_STOPPED;
    case KVM_EXIT_HYPERCALL:
        run->hypercall.ret = -1000; /* KVM_ENOSYS: no hypercall is left to user space */
        return VCPU_RUN_AGAIN;
    case KVM_EXIT_X86_RDMSR:
    case KVM_EXIT_X86_WRMSR:
        run->msr.error = 1;         /* #GP: none of the filtered MSRs exists */
        return VCPU_RUN_AGAIN;
    case KVM_EXIT_IOAPIC_EOI:
        machine_lock();
        apic_broadcast_eoi(run->eoi.vector);
        machine_unlock();
        return VCPU_RUN_AGAIN;
    case KVM_EXIT_DIRTY_RING_FULL:
        return exit_dirty_ring(cpu);
    case KVM_EXIT_SYSTEM_EVENT:
        return exit_system_event(cpu, run);
    case KVM_EXIT_DEBUG:
        return kvm_debug_exit(cpu, run);
    case KVM_EXIT_INTERNAL_ERROR:
        return exit_internal_error(cpu, run);
    case KVM_EXIT_FAIL_ENTRY:
        return exit_fatal(cpu, "the hardware refuses the guest's state", run->fail_entry.hardware_entry_failure_reason);
    case KVM_EXIT_UNKNOWN:
        return exit_fatal(cpu, "unknown hardware exit", run->hw.hardware_exit_reason);
    default:
        return exit_fatal(cpu, "unknown exit", run->exit_reason);
    }
}

/* Pushes state that was changed here, and events that a user-space interrupt controller has. Machine lock inside. */
static bool kvm_prepare_run(VCpu *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    Error *err = NULL;
    bool ok = true;

    if (v->state_here) {
        machine_lock();
        ok = kvm_state_put(cpu, &err);
        v->state_here = !ok;
        v->run->ready_for_interrupt_injection = 0;      /* told by the last exit, of another state */
        machine_unlock();
        v->debug_stale |= cpu->debug_step != 0;
    }
    if (!ok) {
        error_report_err(err);
        vm_stop_request(RUN_STATE_INTERNAL_ERROR);
        return false;
    }
    if (v->debug_stale) {
        kvm_debug_apply(cpu);
    }
    kvm_irqchip_inject(cpu);
    return true;
}

/* INIT and SIPI come here only when the local APIC is here too; the state is then ours to change. Machine lock. */
static void kvm_take_init_sipi(VCpu *cpu)
{
    X86CPU *x86 = X86_CPU(cpu);
    uint32_t pending = x86->st->pending;

    kvm_state_get(cpu);
    if (pending & PENDING_INIT) {
        x86_take_init(x86);
    }
    if (pending & PENDING_SIPI) {
        x86_take_sipi(x86);
    }
}

/* The vCPU was given the processor: it has something to do. False: it still waits for SIPI. */
static bool kvm_wake(VCpu *cpu)
{
    X86State *st = X86_CPU(cpu)->st;

    cpu->halted = false;
    if (kvm_state->irqchip != KVM_CHIP_OFF) {
        return true;
    }
    if (st->pending & (PENDING_INIT | PENDING_SIPI)) {
        machine_lock();
        kvm_take_init_sipi(cpu);
        machine_unlock();
    }
    if (st->mp_state == MP_HALTED) {
        st->mp_state = MP_RUNNABLE;
    }
    cpu->halted = st->mp_state == MP_UNINITIALIZED;
    return !cpu->halted;
}

VCpuRunResult kvm_vcpu_run(VCpu *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    struct kvm_run *run = v->run;
    VCpuRunResult result = VCPU_RUN_AGAIN;

    if (!kvm_wake(cpu)) {
        return VCPU_RUN_HALTED;
    }
    while (result == VCPU_RUN_AGAIN) {
        int ret;

        if (!kvm_prepare_run(cpu)) {
            return VCPU_RUN_STOPPED;
        }
        if (atomic_load(&cpu->exit_request)) {
            run->immediate_exit = 1;
        }
        ret = kvm_ioctl(v->fd, KVM_RUN, NULL);
        v->exits++;
        run->immediate_exit = 0;
        kvm_irqchip_after_run(cpu);
        if (ret == -EINTR || ret == -EAGAIN) {
            return VCPU_RUN_AGAIN;
        }
        if (ret < 0 && ret != -EFAULT) {
            return exit_fatal(cpu, strerror(-ret), -ret);
        }
        if (ret == -EFAULT) {
            return exit_fatal(cpu, "guest memory is gone from this process", run->exit_reason);
        }
        result = kvm_handle_exit(cpu, run);
        if (atomic_load(&cpu->exit_request)) {
            break;
        }
    }
    return result;
}
