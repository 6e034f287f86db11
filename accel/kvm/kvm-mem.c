/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory for KVM: each RAM or ROM section of the flat view is a slot; doorbells become ioeventfds; the
 * kernel's dirty log (bitmap or ring) is folded into the process's dirty map.
 *
 * Called by the memory core with the machine lock held. Slots are whole pages: a section's ragged ends are left to
 * the MMIO exit. Reference: KVM_SET_USER_MEMORY_REGION, KVM_GET_DIRTY_LOG, KVM_IOEVENTFD, dirty ring (api.rst 4.35,
 * 8.29).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"

#define PAGE 4096ull

static bool slot_write(KvmState *s, int n)
{
    KvmSlot *slot = &s->slots[n];
    struct kvm_userspace_memory_region r = {
        .slot = n,
        .flags = (slot->logging ? KVM_MEM_LOG_DIRTY_PAGES : 0) | (slot->readonly ? KVM_MEM_READONLY : 0),
        .guest_phys_addr = slot->gpa,
        .memory_size = slot->size,
        .userspace_addr = (uintptr_t)slot->host,
    };
    int ret = kvm_vm_ioctl(KVM_SET_USER_MEMORY_REGION, &r);

    if (ret < 0) {
        error_report("KVM refuses guest memory at 0x%" PRIx64 ", size 0x%" PRIx64 ": %s", slot->gpa, slot->size,
                     strerror(-ret));
        return false;
    }
    return true;
}

static void slot_clear(KvmState *s, int n)
{
    s->slots[n].size = 0;
    slot_write(s, n);
}

static int slot_find(KvmState *s, hwaddr gpa)
{
    for (int i = 0; i < s->slot_count; i++) {
        if (s->slots[i].size && s->slots[i].gpa == gpa) {
            return i;
        }
    }
    return -1;
}

static int slot_find_free(KvmState *s)
{
    for (int i = 0; i < s->slot_count; i++) {
        if (!s->slots[i].size) {
            return i;
        }
    }
    return -1;
}

/* The whole pages of a section that KVM can map; false: none, or writes must reach the device (ROM without the cap). */
static bool section_to_slot(const MemorySection *sec, KvmSlot *out)
{
    hwaddr start = (sec->addr + PAGE - 1) & ~(PAGE - 1);
    hwaddr end = (sec->addr + sec->size) & ~(PAGE - 1);
    MemoryRegion *mr = sec->mr;

    if (!mr->ram || end <= start || (mr->kind == MEM_ROMD && !mr->romd_mode)) {
        return false;
    }
    *out = (KvmSlot) {
        .gpa = start,
        .size = end - start,
        .host = mr->ram->host + sec->offset_in_region + (start - sec->addr),
        .ram_page = mr->ram->first_page + (sec->offset_in_region + (start - sec->addr)) / PAGE,
        .readonly = sec->readonly || mr->kind != MEM_RAM,
    };
    return !((uintptr_t)out->host & (PAGE - 1)) && (!out->readonly || kvm_state->cap_readonly);
}

static void kvm_section_add(MemoryListener *l, const MemorySection *sec)
{
    KvmState *s = kvm_state;
    KvmSlot slot;
    int n;

    if (!section_to_slot(sec, &slot)) {
        return;
    }
    n = slot_find_free(s);
    if (n < 0) {
        error_report("KVM has no more than %d memory slots: guest memory at 0x%" PRIx64 " is left out", s->slot_count,
                     slot.gpa);
        return;
    }
    s->slots[n] = slot;
    if (!slot_write(s, n)) {
        s->slots[n].size = 0;
    }
}

static void slot_sync_bitmap(KvmState *s, int n)
{
    KvmSlot *slot = &s->slots[n];
    uint64_t pages = slot->size / PAGE;
    g_autofree uint64_t *bitmap = g_new0(uint64_t, (pages + 63) / 64);
    struct kvm_dirty_log log = { .slot = n, .dirty_bitmap = bitmap };

    if (kvm_vm_ioctl(KVM_GET_DIRTY_LOG, &log) < 0) {
        return;
    }
    for (uint64_t w = 0; w < (pages + 63) / 64; w++) {
        for (uint64_t bits = bitmap[w]; bits; bits &= bits - 1) {
            ram_dirty_set(slot->ram_page + w * 64 + __builtin_ctzll(bits), 1);
        }
    }
}

static void ioeventfd_set(const MemorySection *sec, bool pio, bool match, uint64_t data, int fd, bool add)
{
    struct kvm_ioeventfd req = {
        .datamatch = match ? data : 0,
        .addr = sec->addr,
        .len = sec->size,
        .fd = fd,
        .flags = (pio ? KVM_IOEVENTFD_FLAG_PIO : 0) | (match ? KVM_IOEVENTFD_FLAG_DATAMATCH : 0) |
                 (add ? 0 : KVM_IOEVENTFD_FLAG_DEASSIGN),
    };
    int ret = kvm_vm_ioctl(KVM_IOEVENTFD, &req);

    if (ret < 0 && add) {
        warn_report("KVM cannot watch a doorbell at 0x%" PRIx64 ": %s", sec->addr, strerror(-ret));
    }
}

static void kvm_mem_eventfd_add(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd)
{
    ioeventfd_set(s, false, match, data, fd, true);
}

static void kvm_mem_eventfd_del(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd)
{
    ioeventfd_set(s, false, match, data, fd, false);
}

static void kvm_io_eventfd_add(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd)
{
    ioeventfd_set(s, true, match, data, fd, true);
}

static void kvm_io_eventfd_del(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd)
{
    ioeventfd_set(s, true, match, data, fd, false);
}

/* ---- dirty log ---- */

static KvmSlot *slot_of_ring_entry(KvmState *s, uint32_t slot)
{
    unsigned n = slot & 0xffff;

    return n < (unsigned)s->slot_count && s->slots[n].size ? &s->slots[n] : NULL;
}

/* Harvests one vCPU's ring: entries marked dirty are counted and handed back to the kernel. Machine lock. */
void kvm_dirty_ring_reap(VCpu *cpu)
{
    KvmState *s = kvm_state;
    KvmVcpu *v = kvm_vcpu(cpu);
    uint32_t count = 0;

    while (count < s->dirty_ring_size) {
        struct kvm_dirty_gfn *e = &v->ring[v->ring_next % s->dirty_ring_size];
        KvmSlot *slot;

        if (!(__atomic_load_n(&e->flags, __ATOMIC_ACQUIRE) & KVM_DIRTY_GFN_F_DIRTY)) {
            break;
        }
        slot = slot_of_ring_entry(s, e->slot);
        if (slot && e->offset < slot->size / PAGE) {
            ram_dirty_set(slot->ram_page + e->offset, 1);
        }
        __atomic_store_n(&e->flags, KVM_DIRTY_GFN_F_RESET, __ATOMIC_RELEASE);
        v->ring_next++;
        count++;
    }
    if (count) {
        kvm_vm_ioctl(KVM_RESET_DIRTY_RINGS, NULL);
    }
}

/* Folds what the kernel knows of one slot's writes into the dirty map. The rings hold all slots' writes. */
static void slot_sync(KvmState *s, int n)
{
    VCpu *cpu;

    if (!s->slots[n].logging) {
        return;
    }
    if (!s->dirty_ring_size) {
        slot_sync_bitmap(s, n);
        return;
    }
    VCPU_FOREACH(cpu) {
        if (cpu->accel) {
            kvm_dirty_ring_reap(cpu);
        }
    }
}

static void kvm_section_del(MemoryListener *l, const MemorySection *sec)
{
    KvmState *s = kvm_state;
    KvmSlot slot;
    int n;

    if (!section_to_slot(sec, &slot) || (n = slot_find(s, slot.gpa)) < 0) {
        return;
    }
    slot_sync(s, n);
    slot_clear(s, n);
}

/* Switches the log of the section's slot; the listener replays log_start after each add. */
static void section_log(const MemorySection *sec, bool on)
{
    KvmState *s = kvm_state;
    KvmSlot want;
    int n;

    if (!section_to_slot(sec, &want) || want.readonly || (n = slot_find(s, want.gpa)) < 0 ||
        s->slots[n].logging == on) {
        return;
    }
    if (!on) {
        slot_sync(s, n);
    }
    s->slots[n].logging = on;
    if (!slot_write(s, n)) {
        s->slots[n].logging = !on;
    }
}

static void kvm_log_start(MemoryListener *l, const MemorySection *sec)
{
    section_log(sec, true);
}

static void kvm_log_stop(MemoryListener *l, const MemorySection *sec)
{
    section_log(sec, false);
}

static void left_guest(VCpu *cpu, void *opaque)
{
}

/* With rings a vCPU in guest code may have writes that are in no ring yet (page modification log): it leaves first. */
static void kvm_log_sync(MemoryListener *l, const MemorySection *sec)
{
    KvmSlot want;
    VCpu *cpu;
    int n;

    if (section_to_slot(sec, &want) && (n = slot_find(kvm_state, want.gpa)) >= 0 && kvm_state->slots[n].logging) {
        if (kvm_state->dirty_ring_size) {
            VCPU_FOREACH(cpu) {
                vcpu_run_sync(cpu, left_guest, NULL);
            }
        }
        slot_sync(kvm_state, n);
    }
}

void kvm_memory_init(void)
{
    KvmState *s = kvm_state;
    VCpu *cpu = vcpu_get(0);

    s->mem_listener = (MemoryListener) {
        .name = "kvm-memory", .add = kvm_section_add, .del = kvm_section_del,
        .log_start = kvm_log_start, .log_stop = kvm_log_stop, .log_sync = kvm_log_sync,
        .eventfd_add = kvm_mem_eventfd_add, .eventfd_del = kvm_mem_eventfd_del,
    };
    s->io_listener = (MemoryListener) {
        .name = "kvm-io", .eventfd_add = kvm_io_eventfd_add, .eventfd_del = kvm_io_eventfd_del,
    };
    if (cpu) {
        memory_listener_register(&s->mem_listener, cpu->mem);
        memory_listener_register(&s->io_listener, cpu->io);
    }
}
