/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The KVM accelerator: opening /dev/kvm, making the VM, and the row in the accelerator table.
 *
 * The parts: kvm-mem.c (slots, dirty log, doorbells), kvm-vcpu.c (run loop and exits), kvm-state.c (registers both
 * ways), kvm-rescue.c (what the kernel cannot emulate), kvm-cpuid.c, kvm-irqchip.c. Main thread. Test: tests/kvm/.
 */
#include "accel/kvm/kvm-int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "system/runstate.h"

KvmState *kvm_state;

int kvm_ioctl(int fd, unsigned long request, void *arg)
{
    int ret = ioctl(fd, request, arg);

    return ret < 0 ? -errno : ret;
}

int kvm_check_extension(unsigned cap)
{
    int ret = ioctl(kvm_state->vm_fd >= 0 ? kvm_state->vm_fd : kvm_state->dev_fd, KVM_CHECK_EXTENSION, cap);

    return ret < 0 ? 0 : ret;
}

static int kvm_open(Error **errp)
{
    int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        int err = errno;

        error_set_errno(errp, err, "Could not access KVM kernel module /dev/kvm");
        if (err == EACCES) {
            error_hint(errp, "Add this user to the group that owns /dev/kvm, or use -accel tcg");
        } else {
            error_hint(errp, "Load the kvm-intel or kvm-amd module (and switch virtualisation on in the firmware), "
                       "or use -accel tcg");
        }
    }
    return fd;
}

static bool kvm_available(Error **errp)
{
    int fd = kvm_open(errp);
    int version;

    if (fd < 0) {
        return false;
    }
    version = kvm_ioctl(fd, KVM_GET_API_VERSION, NULL);
    close(fd);
    if (version != KVM_API_VERSION) {
        error_set(errp, "/dev/kvm speaks API version %d, version %d is needed", version, KVM_API_VERSION);
        return false;
    }
    return true;
}

static bool kvm_prop_uint(const AccelProp *p, unsigned max, unsigned *out, Error **errp)
{
    char *end;
    unsigned long v = strtoul(p->value, &end, 0);

    if (*end || end == p->value || v > max || (v & (v - 1))) {
        error_set(errp, "Parameter '%s' expects a power of two up to %u, not '%s'", p->key, max, p->value);
        return false;
    }
    *out = v;
    return true;
}

static bool kvm_prop_apply(KvmState *s, const AccelProp *p, Error **errp)
{
    if (!strcmp(p->key, "kernel-irqchip")) {
        if (!strcmp(p->value, "on")) {
            s->irqchip = KVM_CHIP_FULL;
        } else if (!strcmp(p->value, "split")) {
            s->irqchip = KVM_CHIP_SPLIT;
        } else if (!strcmp(p->value, "off")) {
            s->irqchip = KVM_CHIP_OFF;
        } else {
            error_set(errp, "Parameter 'kernel-irqchip' expects 'on', 'off' or 'split', not '%s'", p->value);
            return false;
        }
        return true;
    }
    if (!strcmp(p->key, "dirty-ring-size")) {
        return kvm_prop_uint(p, 65536, &s->dirty_ring_size, errp);
    }
    error_set(errp, "Property 'kvm-accel.%s' is not available in this build yet", p->key);
    return false;
}

static void kvm_read_caps(KvmState *s)
{
    s->cap_xsave = kvm_check_extension(KVM_CAP_XSAVE);
    s->cap_xcrs = kvm_check_extension(KVM_CAP_XCRS);
    s->cap_debugregs = kvm_check_extension(KVM_CAP_DEBUGREGS);
    s->cap_vcpu_events = kvm_check_extension(KVM_CAP_VCPU_EVENTS);
    s->cap_readonly = kvm_check_extension(KVM_CAP_READONLY_MEM);
    s->cap_tsc_deadline = kvm_check_extension(KVM_CAP_TSC_DEADLINE_TIMER);
    s->cap_immediate_exit = kvm_check_extension(KVM_CAP_IMMEDIATE_EXIT);
    s->cap_user_msr = kvm_check_extension(KVM_CAP_X86_USER_SPACE_MSR);
    s->cap_x2apic_api = kvm_check_extension(KVM_CAP_X2APIC_API);
    s->debug_flags = kvm_check_extension(KVM_CAP_SET_GUEST_DEBUG2);
    s->slot_count = kvm_check_extension(KVM_CAP_NR_MEMSLOTS);
    if (s->slot_count <= 0) {
        s->slot_count = 32;
    }
    s->slot_count = MIN(s->slot_count, KVM_SLOTS_MAX);
}

/* Else a failure comes with a #UD already queued, and from user mode only as that #UD, to the guest. */
static void kvm_failure_exit_enable(KvmState *s)
{
    struct kvm_enable_cap cap = { .cap = KVM_CAP_EXIT_ON_EMULATION_FAILURE, .args = { 1 } };

    s->cap_failure_exit = kvm_check_extension(KVM_CAP_EXIT_ON_EMULATION_FAILURE) > 0 &&
                          kvm_vm_ioctl(KVM_ENABLE_CAP, &cap) >= 0;
}

static bool kvm_dirty_ring_enable(KvmState *s, Error **errp)
{
    struct kvm_enable_cap cap = { .cap = KVM_CAP_DIRTY_LOG_RING };
    int max = kvm_check_extension(KVM_CAP_DIRTY_LOG_RING);
    int ret;

    if (!s->dirty_ring_size) {
        return true;
    }
    cap.args[0] = s->dirty_ring_size * sizeof(struct kvm_dirty_gfn);
    if (max <= 0 || cap.args[0] > (unsigned)max) {
        error_set(errp, "dirty-ring-size=%u is more than this kernel offers (%d entries)", s->dirty_ring_size,
                  max > 0 ? max / (int)sizeof(struct kvm_dirty_gfn) : 0);
        return false;
    }
    ret = kvm_vm_ioctl(KVM_ENABLE_CAP, &cap);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refuses a dirty ring of %u entries", s->dirty_ring_size);
        return false;
    }
    return true;
}

/* Addresses that Intel hosts need for real mode: below the BIOS image, where no guest RAM is. */
static void kvm_set_tss(void)
{
    uint64_t identity = 0xfeffc000;

    if (kvm_check_extension(KVM_CAP_SET_IDENTITY_MAP_ADDR)) {
        kvm_vm_ioctl(KVM_SET_IDENTITY_MAP_ADDR, &identity);
    }
    kvm_vm_ioctl(KVM_SET_TSS_ADDR, (void *)(uintptr_t)0xfeffd000);
}

static bool kvm_vm_create(KvmState *s, Error **errp)
{
    do {
        s->vm_fd = kvm_ioctl(s->dev_fd, KVM_CREATE_VM, NULL);
    } while (s->vm_fd == -EINTR);
    if (s->vm_fd < 0) {
        error_set_errno(errp, -s->vm_fd, "KVM cannot create a virtual machine");
        return false;
    }
    s->run_size = kvm_ioctl(s->dev_fd, KVM_GET_VCPU_MMAP_SIZE, NULL);
    return true;
}

static void kvm_fini(void)
{
    KvmState *s = kvm_state;

    if (!s) {
        return;
    }
    kvm_debug_fini();
    kvm_state = NULL;
    if (s->vm_fd >= 0) {
        close(s->vm_fd);
    }
    close(s->dev_fd);
    g_free(s->routes);
    g_free(s->supported);
    g_free(s->msr_list);
    g_free(s);
}

static bool kvm_init(const AccelProp *props, int n, Error **errp)
{
    KvmState *s = g_new0(KvmState, 1);
    bool ok = true;

    s->vm_fd = -1;
    s->dev_fd = kvm_open(errp);
    if (s->dev_fd < 0) {
        g_free(s);
        return false;
    }
    kvm_state = s;
    for (int i = 0; i < n && ok; i++) {
        ok = kvm_prop_apply(s, &props[i], errp);
    }
    if (ok && kvm_vm_create(s, errp)) {
        kvm_read_caps(s);
        kvm_set_tss();
        kvm_failure_exit_enable(s);
        kvm_kick_signal_init();
        if (!s->cap_immediate_exit) {
            error_set(errp, "This kernel's KVM is too old: it has no immediate exit (Linux 4.13)");
        } else if (kvm_dirty_ring_enable(s, errp) && kvm_cpuid_init(errp) && kvm_irqchip_create(errp)) {
            return true;
        }
    }
    kvm_fini();
    return false;
}

/* The guest's paravirtual clock is the virtual clock: it stands still while the machine does. */
static void kvm_clock_follow(void *opaque, bool running, RunState s)
{
    struct kvm_clock_data data = { .clock = clock_ns(CLOCK_VIRTUAL) };

    if (running && kvm_state) {
        kvm_vm_ioctl(KVM_SET_CLOCK, &data);
    }
}

static bool kvm_machine_ready(Error **errp)
{
    kvm_memory_init();
    if (kvm_check_extension(KVM_CAP_ADJUST_CLOCK)) {
        vm_change_notifier_add(kvm_clock_follow, NULL);
    }
    return true;
}

/* With local APICs in the kernel, waiting is the kernel's too: KVM_RUN sleeps until SIPI or an interrupt. */
static bool kvm_has_work(VCpu *cpu)
{
    return kvm_state->irqchip != KVM_CHIP_OFF || x86_cpu_has_work(X86_CPU(cpu));
}

static void kvm_put_state(VCpu *cpu)
{
    kvm_vcpu(cpu)->state_here = true;
}

static uint64_t kvm_rescues(void)
{
    return atomic_load(&kvm_state->rescues);
}

static const char *const kvm_props[] = {
    "kernel-irqchip\0on|off|split: where the interrupt controllers are",
    "dirty-ring-size\0entries of each vCPU's dirty ring, a power of two; 0: dirty bitmap",
    NULL
};

static const AccelOps kvm_ops = {
    .name = "kvm",
    .desc = "hardware virtualisation through Linux's /dev/kvm",
    .props = kvm_props,
    .available = kvm_available,
    .init = kvm_init,
    .fini = kvm_fini,
    .machine_setup = kvm_machine_setup,
    .machine_ready = kvm_machine_ready,
    .vcpu_init = kvm_vcpu_create,
    .vcpu_fini = kvm_vcpu_destroy,
    .run = kvm_vcpu_run,
    .kick = kvm_vcpu_kick,
    .has_work = kvm_has_work,
    .get_state = kvm_state_get,
    .put_state = kvm_put_state,
    .rescues = kvm_rescues,
    .debug_insert = kvm_debug_insert,
    .debug_remove = kvm_debug_remove,
    .debug_step = kvm_debug_step,
    .debug_hide = kvm_debug_hide,
};
ACCEL_REGISTER(kvm_ops)
