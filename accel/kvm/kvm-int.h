/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The KVM accelerator's own shapes (Linux Documentation/virt/kvm/api.rst); nobody outside accel/kvm/ includes this.
 *
 * One KvmState per process (one VM), one KvmVcpu per vCPU hung on VCpu.accel. ioctls on a vCPU are made by its own
 * thread only. Test: tests/kvm/ (payloads, on the host's /dev/kvm or on one inside a peer's guest).
 */
#ifndef CLEAT_ACCEL_KVM_INT_H
#define CLEAT_ACCEL_KVM_INT_H

#include <linux/kvm.h>

#include "accel/accel.h"
#include "system/loop.h"
#include "target/i386/apic.h"
#include "target/i386/cpu.h"

#define KVM_SLOTS_MAX 512

typedef enum KvmIrqchip { KVM_CHIP_FULL, KVM_CHIP_SPLIT, KVM_CHIP_OFF } KvmIrqchip;

typedef struct KvmSlot {
    hwaddr gpa;
    uint64_t size;              /* bytes; 0: slot is free */
    uint8_t *host;
    uint64_t ram_page;          /* first page's index in the dirty map */
    bool readonly;
    bool logging;               /* KVM_MEM_LOG_DIRTY_PAGES is on */
} KvmSlot;

typedef struct KvmRoutes KvmRoutes;
typedef struct KvmDebug KvmDebug;

typedef struct KvmState {
    int dev_fd, vm_fd;
    KvmIrqchip irqchip;
    unsigned dirty_ring_size;   /* entries per vCPU, 0: bitmap log */
    unsigned run_size;          /* bytes of a vCPU's mmap */
    bool cap_xsave, cap_xcrs, cap_debugregs, cap_vcpu_events, cap_readonly, cap_tsc_deadline, cap_immediate_exit;
    bool cap_user_msr, cap_x2apic_api;
    bool cap_failure_exit;      /* emulation failures come here as they are, from any privilege level */
    MemoryListener mem_listener, io_listener;
    KvmSlot slots[KVM_SLOTS_MAX];
    int slot_count;             /* the kernel's limit */
    struct KvmRoutes *routes;   /* NULL: none yet */
    struct KvmDebug *debug;     /* NULL: no debugger asked for anything yet */
    unsigned debug_flags;       /* KVM_GUESTDBG_* that the kernel has */
    _Atomic uint64_t rescues;   /* steps that the software CPU took for it */
    struct kvm_cpuid2 *supported;   /* KVM_GET_SUPPORTED_CPUID */
    struct kvm_msr_list *msr_list;
} KvmState;

/* A rescue that came to nothing, to see whether the next one is the same. */
typedef struct KvmAttempt {
    uint64_t rip, rflags, regs[16];
    unsigned count;             /* in a row */
} KvmAttempt;

/* What the kernel had before a step. */
#define KVM_MSRS_MAX 64
typedef struct KvmNote {
    uint64_t msrs[KVM_MSRS_MAX];
    uint32_t mp_state;
} KvmNote;

typedef struct KvmVcpu {
    int fd;
    struct kvm_run *run;
    struct kvm_dirty_gfn *ring;
    uint32_t ring_next;
    bool state_here;            /* X86State is the truth: push before the next run */
    bool debug_stale;           /* tell the kernel of points and steps at the next entry; set while stopped */
    bool tsc_known;             /* the kernel has tsc_offset */
    uint64_t tsc_offset;        /* X86State's when it was last exchanged */
    bool lapic_known;
    X86ApicRegs lapic;          /* as the kernel's local APIC was when it was last read */
    uint64_t exits;
    KvmAttempt attempt;
} KvmVcpu;

extern KvmState *kvm_state;     /* NULL until init; set once */

static inline KvmVcpu *kvm_vcpu(VCpu *cpu)
{
    return cpu->accel;
}

/* ioctl with negative errno results; EINTR is the caller's. */
int kvm_ioctl(int fd, unsigned long request, void *arg);
static inline int kvm_vm_ioctl(unsigned long request, void *arg)
{
    return kvm_ioctl(kvm_state->vm_fd, request, arg);
}
int kvm_check_extension(unsigned cap);

/* kvm-mem.c */
void kvm_memory_init(void);
void kvm_dirty_ring_reap(VCpu *cpu);

/* kvm-state.c: vCPU thread, machine lock. */
void kvm_state_get(VCpu *cpu);
bool kvm_state_put(VCpu *cpu, Error **errp);
/*
 * While the machine runs, after a get and a note: of the MSRs and the run state only what this vCPU changed since, so
 * that an NMI, a timer or another vCPU's INIT that came meanwhile is not undone.
 */
void kvm_state_note(VCpu *cpu, KvmNote *note);
bool kvm_state_put_running(VCpu *cpu, const KvmNote *note, Error **errp);
/* The local APIC's part of the state (kvm-irqchip.c). put returns a negative errno. */
void kvm_apic_from_sregs(X86CPU *cpu, const struct kvm_sregs *sregs);
void kvm_apic_to_sregs(X86CPU *cpu, struct kvm_sregs *sregs);
void kvm_apic_get(VCpu *cpu);
int kvm_apic_put(VCpu *cpu);
/* kvm-cpuid.c */
bool kvm_cpuid_init(Error **errp);
bool kvm_cpuid_set(VCpu *cpu, Error **errp);
/* kvm-irqchip.c */
bool kvm_irqchip_create(Error **errp);
void kvm_irq_line_set(int gsi, int level);
/* kvm-chips.c: the kernel's 8259s and I/O APIC behind the board's devices. */
void kvm_chips_setup(struct Machine *m);
/* kvm-route.c: the routing table. Negative errno on failure. */
int kvm_routes_set_chips(const struct kvm_irq_routing_entry *entries, unsigned n);
int kvm_msi_route_new(uint64_t address, uint32_t data);
void kvm_msi_route_set(int gsi, uint64_t address, uint32_t data);
void kvm_msi_route_free(int gsi);
int kvm_irqfd_set(int fd, int gsi, bool on);
bool kvm_irqchip_inject(VCpu *cpu);     /* before KVM_RUN: from controllers that are here; false: nothing injected */
void kvm_irqchip_after_run(VCpu *cpu);
void kvm_machine_setup(struct Machine *m);
/* kvm-debug.c */
bool kvm_debug_insert(VCpu *cpu, const DebugPoint *p, Error **errp);
bool kvm_debug_remove(VCpu *cpu, const DebugPoint *p);
void kvm_debug_step(VCpu *cpu);
void kvm_debug_hide(VCpu *cpu, uint64_t addr, uint8_t *buf, uint64_t len, bool write);
void kvm_debug_apply(VCpu *cpu);
VCpuRunResult kvm_debug_exit(VCpu *cpu, const struct kvm_run *run);
void kvm_debug_fini(void);
/* kvm-rescue.c: the kernel cannot execute the instruction at rip. vCPU thread, machine lock not held. */
VCpuRunResult kvm_rescue(VCpu *cpu);
/* kvm-vcpu.c */
VCpuRunResult kvm_gave_up(VCpu *cpu, uint32_t suberror);    /* the machine stops */
bool kvm_vcpu_create(VCpu *cpu, Error **errp);
void kvm_vcpu_destroy(VCpu *cpu);
VCpuRunResult kvm_vcpu_run(VCpu *cpu);
void kvm_vcpu_kick(VCpu *cpu);
void kvm_kick_signal_init(void);

#endif
