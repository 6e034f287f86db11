/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM's paravirtual clock and end-of-interrupt flag, for guests of the software CPU.
 *
 * All CPUs' clock pages are computed from one reference (TSC, ns) pair, kept by CPU 0, because the guest is told that
 * they agree (TSC_STABLE). Structures are Linux's pvclock-abi.h. Test: tests/unit/test-x86cpu.c.
 */
#include <string.h>

#include "system/loop.h"
#include "target/i386/internal.h"
#include "target/i386/kvmpv.h"
#include "target/i386/tsc.h"

typedef struct ClockPage {
    uint32_t version, pad0;
    uint64_t tsc_timestamp, system_time;
    uint32_t tsc_to_system_mul;
    int8_t tsc_shift;
    uint8_t flags, pad[2];
} ClockPage;
typedef struct WallClock {
    uint32_t version, sec, nsec;
} WallClock;
enum { PVCLOCK_TSC_STABLE = 1 };

/* Reference of the machine's paravirtual clock: CPU 0's. */
struct X86KvmPv {
    uint64_t ref_tsc;               /* scaled host TSC, without offset */
    int64_t ref_ns;
    uint32_t clock_version;
};

static struct X86KvmPv *pv_of(X86CPU *cpu)
{
    if (!cpu->kvmpv) {
        cpu->kvmpv = g_new0(struct X86KvmPv, 1);
    }
    return cpu->kvmpv;
}

static struct X86KvmPv *pv_reference(X86CPU *cpu)
{
    struct X86KvmPv *ref = pv_of(vcpu_count() ? X86_CPU(vcpu_get(0)) : cpu);

    if (!ref->ref_tsc) {
        ref->ref_tsc = x86_tsc_now(cpu->model->tsc_hz);
        ref->ref_ns = clock_ns(CLOCK_VIRTUAL);
    }
    return ref;
}

/* ns = ((tsc << shift) * mul) >> 32. */
static void clock_scale(uint64_t hz, uint32_t *mul, int8_t *shift)
{
    uint64_t scaled = hz;
    int s = 0;

    while (scaled > 2000000000ull) {
        scaled >>= 1;
        s--;
    }
    while (scaled <= 1000000000ull) {
        scaled <<= 1;
        s++;
    }
    *shift = s;
    /* The shifted frequency lost its low bits: compute from the whole one. */
    const unsigned __int128 ns = (unsigned __int128)1000000000u << 32;

    *mul = (s <= 0 ? ns << -s : ns >> s) / hz;
}

static void clock_write_page(X86CPU *cpu)
{
    X86State *st = cpu->st;
    struct X86KvmPv *ref = pv_reference(cpu), *own = pv_of(cpu);
    uint64_t gpa = st->kvm_system_time & ~1ull;
    ClockPage p = { .flags = x86_has(cpu, X86_FEAT(FEAT_KVM, 24)) ? PVCLOCK_TSC_STABLE : 0 };

    clock_scale(cpu->model->tsc_hz, &p.tsc_to_system_mul, &p.tsc_shift);
    p.tsc_timestamp = ref->ref_tsc + st->tsc_offset;
    p.system_time = ref->ref_ns;
    own->clock_version += 2;
    /* Odd version first: a reader on another CPU tries again. */
    p.version = own->clock_version - 1;
    address_space_write(cpu->vcpu.mem, gpa, &p.version, sizeof(p.version));
    address_space_write(cpu->vcpu.mem, gpa, &p, sizeof(p));
    p.version++;
    address_space_write(cpu->vcpu.mem, gpa, &p.version, sizeof(p.version));
}

bool x86_kvm_write_system_time(X86CPU *cpu, uint64_t v)
{
    if ((v & 1) && (v & 2)) {
        return false;
    }
    cpu->st->kvm_system_time = v;
    if (v & 1) {
        clock_write_page(cpu);
    }
    return true;
}

bool x86_kvm_write_wall_clock(X86CPU *cpu, uint64_t v)
{
    int64_t boot = clock_ns(CLOCK_HOST) - clock_ns(CLOCK_VIRTUAL);
    WallClock w = { .version = 2, .sec = boot / 1000000000, .nsec = boot % 1000000000 };

    if (v & 3) {
        return false;
    }
    cpu->st->kvm_wall_clock = v;
    if (v) {
        address_space_write(cpu->vcpu.mem, v, &w, sizeof(w));
    }
    return true;
}

void x86_kvm_clock_resync(void)
{
    int n = vcpu_count();

    for (int i = 0; i < n; i++) {
        X86CPU *cpu = X86_CPU(vcpu_get(i));

        if (i == 0 && cpu->kvmpv) {
            cpu->kvmpv->ref_tsc = 0;
        }
        if (cpu->st->kvm_system_time & 1) {
            clock_write_page(cpu);
        }
    }
}

bool x86_kvm_write_pv_eoi(X86CPU *cpu, uint64_t v)
{
    if (v & 2) {
        return false;
    }
    if (cpu->apic) {
        apic_sync_pv_eoi(cpu->apic);                    /* by the old address: a kernel switches it off to reboot */
    }
    cpu->st->kvm_pv_eoi = v;
    return true;
}

static uint8_t *pv_eoi_flag(X86CPU *cpu)
{
    uint64_t gpa = cpu->st->kvm_pv_eoi & ~1ull;
    const X86PhysPage *p;

    if (!(cpu->st->kvm_pv_eoi & 1)) {
        return NULL;
    }
    p = x86_phys_page(cpu, gpa);
    return p->ram ? p->host + (gpa & 0xfff) : NULL;
}

bool x86_kvm_pv_eoi_offer(X86CPU *cpu)
{
    uint8_t *flag = pv_eoi_flag(cpu);

    if (!flag) {
        return false;
    }
    __atomic_fetch_or(flag, 1, __ATOMIC_SEQ_CST);
    return true;
}

bool x86_kvm_pv_eoi_take_back(X86CPU *cpu)
{
    uint8_t *flag = pv_eoi_flag(cpu);

    return flag && (__atomic_fetch_and(flag, (uint8_t)~1, __ATOMIC_SEQ_CST) & 1);
}
