/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUID under KVM: what the kernel can give bounds the models, and the model's answers become KVM_SET_CPUID2 entries.
 *
 * Leaf 0xd is the host's, cut to the components the model allows: XSAVE runs natively, with the host's offsets.
 * Main thread (init), vCPU thread (set). Reference: api.rst 4.46, 4.85.
 */
#include <errno.h>
#include <string.h>

#include "accel/kvm/kvm-int.h"
#include "target/i386/cpuid.h"

#define ENTRIES_MAX 256

typedef struct CpuidTable {
    struct kvm_cpuid2 head;
    struct kvm_cpuid_entry2 entries[ENTRIES_MAX];
} CpuidTable;

static const struct kvm_cpuid_entry2 *supported_find(uint32_t leaf, uint32_t subleaf)
{
    const struct kvm_cpuid2 *s = kvm_state->supported;

    for (uint32_t i = 0; i < s->nent; i++) {
        const struct kvm_cpuid_entry2 *e = &s->entries[i];

        if (e->function == leaf && (e->index == subleaf || !(e->flags & KVM_CPUID_FLAG_SIGNIFCANT_INDEX))) {
            return e;
        }
    }
    return NULL;
}

static void features_adjust(uint32_t *words)
{
    bool in_kernel = kvm_state->irqchip != KVM_CHIP_OFF;

    words[FEAT_1_ECX] |= 1u << 31;                          /* hypervisor */
    words[FEAT_1_EDX] |= 1u << 9 | 1u << 28;                /* apic, ht */
    words[FEAT_1_ECX] &= ~(1u << 21 | 1u << 24);
    if (in_kernel) {
        words[FEAT_1_ECX] |= 1u << 21;                      /* x2apic */
        words[FEAT_1_ECX] |= kvm_state->cap_tsc_deadline ? 1u << 24 : 0;
    } else {
        words[FEAT_KVM] &= ~(1u << 6);                      /* PV EOI is the kernel APIC's */
    }
    words[FEAT_8000_0001_ECX] |= 1u << 1;                   /* cmp_legacy */
    words[FEAT_8000_0007_EDX] |= 1u << 8;                   /* invtsc, where asked for */
}

/* For the models: the features that this kernel can give. */
static void kvm_features(uint32_t words[FEAT_WORDS])
{
    for (unsigned w = 0; w < FEAT_WORDS; w++) {
        const X86FeatWordInfo *info = &x86_feat_words[w];
        const struct kvm_cpuid_entry2 *e = info->reg < 4 ? supported_find(info->leaf, info->subleaf) : NULL;
        const uint32_t regs[4] = { e ? e->eax : 0, e ? e->ebx : 0, e ? e->ecx : 0, e ? e->edx : 0 };

        words[w] = info->reg < 4 ? regs[info->reg] : 0;
    }
    features_adjust(words);
}

bool kvm_cpuid_init(Error **errp)
{
    KvmState *s = kvm_state;
    struct kvm_msr_list probe = { .nmsrs = 0 };
    int ret;

    s->supported = g_malloc0(sizeof(CpuidTable));
    s->supported->nent = ENTRIES_MAX;
    ret = kvm_ioctl(s->dev_fd, KVM_GET_SUPPORTED_CPUID, s->supported);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM does not tell which CPU features it has");
        return false;
    }
    kvm_ioctl(s->dev_fd, KVM_GET_MSR_INDEX_LIST, &probe);   /* fails with E2BIG and the count */
    s->msr_list = g_malloc0(sizeof(*s->msr_list) + probe.nmsrs * sizeof(uint32_t));
    s->msr_list->nmsrs = probe.nmsrs;
    ret = kvm_ioctl(s->dev_fd, KVM_GET_MSR_INDEX_LIST, s->msr_list);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM does not tell which MSRs it has");
        return false;
    }
    x86_feat_set_kvm(kvm_features);
    return true;
}

static void entry_add(CpuidTable *t, X86CPU *cpu, uint32_t leaf, uint32_t sub, bool indexed)
{
    struct kvm_cpuid_entry2 *e = &t->entries[t->head.nent];
    X86CpuidOut o = x86_cpuid_leaf(cpu, leaf, sub);

    if (t->head.nent == ENTRIES_MAX) {
        return;
    }
    *e = (struct kvm_cpuid_entry2) {
        .function = leaf, .index = sub, .flags = indexed ? KVM_CPUID_FLAG_SIGNIFCANT_INDEX : 0,
        .eax = o.eax, .ebx = o.ebx, .ecx = o.ecx, .edx = o.edx,
    };
    t->head.nent++;
}

/* Leaves whose subleaves go on until a type field is zero. */
static void entry_add_until_zero(CpuidTable *t, X86CPU *cpu, uint32_t leaf, unsigned shift, bool in_ecx)
{
    for (uint32_t sub = 0; sub < 16; sub++) {
        X86CpuidOut o = x86_cpuid_leaf(cpu, leaf, sub);

        entry_add(t, cpu, leaf, sub, true);
        if (!((in_ecx ? o.ecx : o.eax) >> shift & 0x1f)) {
            break;
        }
    }
}

/* Leaf 0xd from the host's, for the components that the model's XCR0 may have. */
static void entry_add_xsave(CpuidTable *t, const X86CPU *cpu)
{
    uint64_t allowed = cpu->model->xcr0_allowed;
    uint32_t size = 576;

    for (uint32_t sub = 0; sub < 64 && t->head.nent < ENTRIES_MAX; sub++) {
        const struct kvm_cpuid_entry2 *host = supported_find(0xd, sub);
        struct kvm_cpuid_entry2 *e = &t->entries[t->head.nent];

        if (!host || (sub >= 2 && !(allowed >> sub & 1))) {
            continue;
        }
        *e = *host;
        e->flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX;
        if (sub == 1) {
            e->eax = cpu->model->feat[FEAT_XSAVE];
            e->ecx = e->edx = 0;
        } else if (sub >= 2) {
            size = MAX(size, host->eax + host->ebx);
        }
        t->head.nent++;
    }
    for (uint32_t i = 0; i < t->head.nent; i++) {
        struct kvm_cpuid_entry2 *e = &t->entries[i];

        if (e->function == 0xd && e->index == 0) {
            e->eax &= allowed;
            e->edx &= allowed >> 32;
            e->ebx = e->ecx = size;
        }
    }
}

static void leaf_add(CpuidTable *t, X86CPU *cpu, uint32_t leaf)
{
    switch (leaf) {
    case 4:
        entry_add_until_zero(t, cpu, leaf, 0, false);
        break;
    case 7:
        for (uint32_t sub = 0; sub <= cpu->model->level_func7; sub++) {
            entry_add(t, cpu, leaf, sub, true);
        }
        break;
    case 0xb:
    case 0x1f:
        entry_add_until_zero(t, cpu, leaf, 8, true);
        break;
    case 0xd:
        entry_add_xsave(t, cpu);
        break;
    case 0x8000001d:
        entry_add_until_zero(t, cpu, leaf, 0, false);
        break;
    default:
        entry_add(t, cpu, leaf, 0, false);
        break;
    }
}

bool kvm_cpuid_set(VCpu *vcpu, Error **errp)
{
    X86CPU *cpu = X86_CPU(vcpu);
    g_autofree CpuidTable *t = g_new0(CpuidTable, 1);
    int ret;

    for (uint32_t leaf = 0; leaf <= cpu->model->level; leaf++) {
        leaf_add(t, cpu, leaf);
    }
    for (uint32_t leaf = 0x40000000; leaf <= 0x40000001 && cpu->model->kvm_leaves; leaf++) {
        leaf_add(t, cpu, leaf);
    }
    for (uint32_t leaf = 0x80000000; leaf <= cpu->model->xlevel; leaf++) {
        leaf_add(t, cpu, leaf);
    }
    ret = kvm_ioctl(kvm_vcpu(vcpu)->fd, KVM_SET_CPUID2, t);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refuses the CPUID of model '%s'", cpu->model->name);
        return false;
    }
    return true;
}
