/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUID: the answer for each leaf from the CPU's model (SDM vol. 2 CPUID, APM vol. 3 appendix E).
 *
 * Feature words come from the table in features.c; this file has what is more than a word: topology, caches,
 * XSAVE sizes, names, addresses, frequencies, and KVM's leaves. Any thread. Test: tests/unit/test-cpuid.c.
 */
#include <string.h>

#include "target/i386/internal.h"
#include "target/i386/tsc.h"

/* ---- caches: one set of sizes for all models ---- */
typedef struct Cache {
    uint8_t type, level;            /* 1 data, 2 instruction, 3 unified */
    uint16_t ways;
    uint32_t sets;
    bool inclusive, by_core;        /* shared by the threads of a core, else by the whole die */
} Cache;
static const Cache caches[] = {     /* 64-byte lines */
    { 1, 1, 8, 64, false, true }, { 2, 1, 8, 64, false, true }, { 3, 2, 16, 4096, false, true },
    { 3, 3, 16, 16384, true, false },
};
static const Cache amd_caches[] = {
    { 1, 1, 8, 64, false, true }, { 2, 1, 4, 256, false, true }, { 3, 2, 8, 1024, true, true },
    { 3, 3, 16, 8192, false, false },
};

static uint32_t word_of(const X86CpuModel *m, uint32_t leaf, uint32_t subleaf, uint8_t reg)
{
    for (unsigned w = 0; w < FEAT_WORDS; w++) {
        const X86FeatWordInfo *info = &x86_feat_words[w];

        if (info->reg == reg && info->leaf == leaf && info->subleaf == subleaf) {
            return m->feat[w];
        }
    }
    return 0;
}

static X86CpuidOut words_of(const X86CpuModel *m, uint32_t leaf, uint32_t subleaf)
{
    return (X86CpuidOut) { word_of(m, leaf, subleaf, 0), word_of(m, leaf, subleaf, 1), word_of(m, leaf, subleaf, 2),
                           word_of(m, leaf, subleaf, 3) };
}

static uint32_t signature(const X86CpuModel *m)
{
    uint32_t family = m->family > 15 ? 15 << 8 | (m->family - 15) << 20 : m->family << 8;

    return family | (m->model & 15) << 4 | (m->model >> 4) << 16 | m->stepping;
}

static X86CpuidOut leaf_vendor(const X86CpuModel *m, uint32_t max)
{
    X86CpuidOut o = { max, 0, 0, 0 };

    memcpy(&o.ebx, m->vendor, 4);
    memcpy(&o.edx, m->vendor + 4, 4);
    memcpy(&o.ecx, m->vendor + 8, 4);
    return o;
}

static X86CpuidOut leaf_1(X86CPU *cpu)
{
    const X86CpuModel *m = cpu->model;
    X86CpuidOut o = { signature(m), 0, m->feat[FEAT_1_ECX], m->feat[FEAT_1_EDX] };

    o.ebx = cpu->apic_id << 24 | 8 << 8;
    if (m->smp_cpus > 1) {
        o.ebx |= (m->smp_cpus & 0xff) << 16;
    }
    if (cpu->st && (cpu->st->cr4 & CR4_OSXSAVE)) {
        o.ecx |= 1u << 27;
    }
    if (cpu->apic && !(cpu->apic->regs.base & APIC_BASE_ENABLE)) {
        o.edx &= ~(1u << 9);
    }
    return o;
}

static unsigned package_bits(const X86CpuModel *m)
{
    return m->thread_bits + m->core_bits + m->module_bits + m->die_bits;
}

static unsigned cache_share_bits(const X86CpuModel *m, const Cache *c)
{
    return c->by_core ? m->thread_bits : package_bits(m) - m->die_bits;
}

static X86CpuidOut leaf_cache(const X86CpuModel *m, const Cache *table, uint32_t sub, bool intel)
{
    const Cache *c = &table[sub];
    X86CpuidOut o = { 0 };

    if (sub >= 4 || (sub == 3 && !m->l3_cache)) {
        return o;
    }
    o.eax = c->type | c->level << 5 | 1 << 8 | ((1u << cache_share_bits(m, c)) - 1) << 14;
    if (intel) {
        o.eax |= MIN((1u << (package_bits(m) - m->thread_bits)) - 1, 63u) << 26;
    }
    o.ebx = 63 | (c->ways - 1u) << 22;
    o.ecx = c->sets - 1;
    o.edx = c->inclusive ? 2 : 0;
    return o;
}

/* Levels of leaves 0xb (threads, cores) and 0x1f (and modules, dies). */
static X86CpuidOut leaf_topology(X86CPU *cpu, uint32_t sub, bool wide)
{
    static const uint8_t types_b[] = { 1, 2 }, types_1f[] = { 1, 2, 3, 5 };
    const X86CpuModel *m = cpu->model;
    unsigned levels = wide ? 4 : 2;
    unsigned bits[4] = { m->thread_bits, m->thread_bits + m->core_bits, m->thread_bits + m->core_bits + m->module_bits,
                         package_bits(m) };
    unsigned count[4] = { m->smp_threads, m->smp_threads * m->smp_cores, m->smp_threads * m->smp_cores * m->smp_modules,
                          m->smp_cpus };
    X86CpuidOut o = { 0, 0, sub & 0xff, cpu->apic_id };

    if (sub < levels) {
        bool last = sub == levels - 1;

        o.eax = last ? package_bits(m) : bits[sub];
        o.ebx = last ? m->smp_cpus : count[sub];
        o.ecx |= (wide ? types_1f : types_b)[sub] << 8;
    }
    return o;
}

/* ---- leaf 0xd: XSAVE components of X86XSave ---- */
static const struct { uint8_t n; uint16_t size, offset; } xcomponents[] = {
    { 2, 256, 576 }, { 5, 64, 1088 }, { 6, 512, 1152 }, { 7, 1024, 1664 }, { 9, 8, 2688 },
};

static uint32_t xsave_size(uint64_t xcr0, bool compact)
{
    uint32_t size = 576;

    for (unsigned i = 0; i < G_N_ELEMENTS(xcomponents); i++) {
        if (xcr0 >> xcomponents[i].n & 1) {
            size = compact ? size + xcomponents[i].size
                : MAX(size, (uint32_t)xcomponents[i].offset + xcomponents[i].size);
        }
    }
    return size;
}

static X86CpuidOut leaf_xsave(X86CPU *cpu, uint32_t sub)
{
    const X86CpuModel *m = cpu->model;
    uint64_t xcr0 = cpu->st ? cpu->st->xcr0 : 1;
    X86CpuidOut o = { 0 };

    if (!x86_model_has(m, X86_FEAT_XSAVE)) {
        return o;
    }
    if (sub == 0) {
        o.eax = m->xcr0_allowed;
        o.ebx = xsave_size(xcr0, false);
        o.ecx = xsave_size(m->xcr0_allowed, false);
        o.edx = m->xcr0_allowed >> 32;
    } else if (sub == 1) {
        o.eax = m->feat[FEAT_XSAVE];
        o.ebx = m->feat[FEAT_XSAVE] & 2 ? xsave_size(xcr0, true) : 0;
    } else {
        for (unsigned i = 0; i < G_N_ELEMENTS(xcomponents); i++) {
            if (xcomponents[i].n == sub && (m->xcr0_allowed >> sub & 1)) {
                o.eax = xcomponents[i].size;
                o.ebx = xcomponents[i].offset;
            }
        }
    }
    return o;
}

static X86CpuidOut leaf_7(X86CPU *cpu, uint32_t sub)
{
    const X86CpuModel *m = cpu->model;
    X86CpuidOut o = { 0 };

    if (sub > m->level_func7) {
        return o;
    }
    o = words_of(m, 7, sub);
    if (sub == 0) {
        o.eax = m->level_func7;
        if (cpu->st && (cpu->st->cr4 & CR4_PKE)) {
            o.ecx |= 1u << 4;
        }
    }
    return o;
}

/* ---- hypervisor leaves ---- */
static X86CpuidOut leaf_hypervisor(const X86CpuModel *m, uint32_t leaf)
{
    X86CpuidOut o = { 0 };

    switch (leaf) {
    case 0x40000000:
        o.eax = 0x40000010;
        memcpy(&o.ebx, "KVMK", 4);
        memcpy(&o.ecx, "VMKV", 4);
        memcpy(&o.edx, "M\0\0\0", 4);
        break;
    case 0x40000001:
        o.eax = m->feat[FEAT_KVM];
        o.edx = m->feat[FEAT_KVM_HINTS];
        break;
    case 0x40000010:                                    /* frequencies in kHz: TSC, local APIC bus */
        o.eax = m->tsc_hz / 1000;
        o.ebx = X86_APIC_BUS_HZ / 1000;
        break;
    default:
        break;
    }
    return o;
}

/* ---- extended leaves ---- */
static X86CpuidOut leaf_brand(const X86CpuModel *m, unsigned part)
{
    X86CpuidOut o;
    char text[48] = { 0 };

    memcpy(text, m->model_id, strnlen(m->model_id, 48));
    memcpy(&o, text + part * 16, 16);
    return o;
}

static X86CpuidOut leaf_80000001(const X86CpuModel *m)
{
    X86CpuidOut o = { signature(m), 0, m->feat[FEAT_8000_0001_ECX], m->feat[FEAT_8000_0001_EDX] };

    if (m->vendor[0] == 'A' || m->vendor[0] == 'H') {
        o.edx |= m->feat[FEAT_1_EDX] & 0x0183f3ff;      /* AMD repeats leaf 1's bits */
    } else {
        o.eax = signature(m);
    }
    return o;
}

static uint32_t assoc_code(unsigned ways)
{
    switch (ways) {
    case 2: return 2;
    case 4: return 4;
    case 8: return 6;
    case 16: return 8;
    default: return 0xf;
    }
}

static uint32_t cache_kib(const Cache *c)
{
    return c->ways * c->sets / 16;
}

static X86CpuidOut leaf_80000008(const X86CpuModel *m)
{
    X86CpuidOut o = { 0 };

    o.eax = m->phys_bits;
    if (x86_model_has(m, X86_FEAT_LM)) {
        o.eax |= (x86_model_has(m, X86_FEAT_LA57) ? 57 : 48) << 8;
    }
    o.ebx = m->feat[FEAT_8000_0008_EBX];
    if (m->smp_cpus > 1) {
        o.ecx = package_bits(m) << 12 | ((m->smp_cpus - 1) & 0xff);
    }
    return o;
}

static X86CpuidOut leaf_8000001e(X86CPU *cpu)
{
    const X86CpuModel *m = cpu->model;
    X86CpuidOut o = { 0 };

    if (x86_model_has(m, X86_FEAT_TOPOEXT)) {
        o.eax = cpu->apic_id;
        o.ebx = (cpu->apic_id >> m->thread_bits & ((1u << m->core_bits) - 1)) | (m->smp_threads - 1) << 8;
        o.ecx = (cpu->apic_id >> (package_bits(m) - m->die_bits) & 0xff) | (m->smp_dies - 1) << 8;
    }
    return o;
}

static X86CpuidOut leaf_extended(X86CPU *cpu, uint32_t leaf, uint32_t sub)
{
    const X86CpuModel *m = cpu->model;
    const Cache *c = amd_caches;

    switch (leaf) {
    case 0x80000000: return leaf_vendor(m, m->xlevel);
    case 0x80000001: return leaf_80000001(m);
    case 0x80000002: case 0x80000003: case 0x80000004: return leaf_brand(m, leaf - 0x80000002);
    case 0x80000005:
        return (X86CpuidOut) { 0x01ff01ff, 0x01ff01ff, cache_kib(&c[0]) << 24 | c[0].ways << 16 | 1 << 8 | 64,
                               cache_kib(&c[1]) << 24 | c[1].ways << 16 | 1 << 8 | 64 };
    case 0x80000006:
        return (X86CpuidOut) { 0, 0x42004200, cache_kib(&c[2]) << 16 | assoc_code(c[2].ways) << 12 | 1 << 8 | 64,
                               !m->l3_cache ? 0 :
                                cache_kib(&c[3]) / 512 << 18 | assoc_code(c[3].ways) << 12 | 1 << 8 | 64 };
    case 0x80000008: return leaf_80000008(m);
    case 0x8000000a:
        return x86_model_has(m, X86_FEAT_SVM) ? (X86CpuidOut) { 1, 16, 0, m->feat[FEAT_SVM] } : (X86CpuidOut) { 0 };
    case 0x8000001d:
        return x86_model_has(m, X86_FEAT_TOPOEXT) ? leaf_cache(m, amd_caches, sub, false) : (X86CpuidOut) { 0 };
    case 0x8000001e: return leaf_8000001e(cpu);
    default: return words_of(m, leaf, 0);
    }
}

static X86CpuidOut leaf_basic(X86CPU *cpu, uint32_t leaf, uint32_t sub)
{
    const X86CpuModel *m = cpu->model;
    bool intel = !strcmp(m->vendor, "GenuineIntel");

    switch (leaf) {
    case 0: return leaf_vendor(m, m->level);
    case 1: return leaf_1(cpu);
    case 2: return intel ? (X86CpuidOut) { 1, 0, m->l3_cache ? 0x4d : 0, 0x002c307d } : (X86CpuidOut) { 0 };
    case 4: return intel ? leaf_cache(m, caches, sub, true) : (X86CpuidOut) { 0 };
    case 5: return (X86CpuidOut) { 0, 0, 3, 0 };
    case 7: return leaf_7(cpu, sub);
    case 0xb: return m->cpuid_0xb ? leaf_topology(cpu, sub, false) : (X86CpuidOut) { 0 };
    case 0xd: return leaf_xsave(cpu, sub);
    case 0x15: return (X86CpuidOut) { 1, m->tsc_hz / 1000000, 1000000, 0 };
    case 0x16: return (X86CpuidOut) { m->tsc_hz / 1000000, m->tsc_hz / 1000000, 100, 0 };
    case 0x1f: return leaf_topology(cpu, sub, true);
    case 3: case 9: case 0xa: return (X86CpuidOut) { 0 };
    default: return words_of(m, leaf, sub);
    }
}

X86CpuidOut x86_cpuid_leaf(X86CPU *cpu, uint32_t leaf, uint32_t subleaf)
{
    const X86CpuModel *m = cpu->model;

    if (leaf >= 0x80000000 && leaf < 0xc0000000) {
        if (leaf > m->xlevel) {
            return leaf_basic(cpu, m->level, subleaf);
        }
        return leaf_extended(cpu, leaf, subleaf);
    }
    if (leaf >= 0x40000000 && leaf <= 0x400000ff) {
        if (m->kvm_leaves && x86_model_has(m, X86_FEAT_HYPERVISOR)) {
            return leaf_hypervisor(m, leaf);
        }
        return (X86CpuidOut) { 0 };
    }
    if (leaf > m->level) {
        leaf = m->level;                                /* out of range: the highest basic leaf answers */
        if (m->vendor[0] == 'A' || m->vendor[0] == 'H') {
            return (X86CpuidOut) { 0 };
        }
    }
    return leaf_basic(cpu, leaf, subleaf);
}

void x86_cpuid(X86CPU *cpu)
{
    X86State *st = cpu->st;
    X86CpuidOut o = x86_cpuid_leaf(cpu, st->regs[R_RAX], st->regs[R_RCX]);

    st->regs[R_RAX] = o.eax;
    st->regs[R_RBX] = o.ebx;
    st->regs[R_RCX] = o.ecx;
    st->regs[R_RDX] = o.edx;
}

/* Hypercalls: the paravirtual features on offer need none, so each is "no such call" (KVM_ENOSYS). */
void x86_hypercall(X86CPU *cpu, bool vmmcall)
{
    X86State *st = cpu->st;

    if (!cpu->model->kvm_leaves || !x86_has(cpu, X86_FEAT_HYPERVISOR)) {
        x86_raise(cpu, EXCP_UD);
    }
    if (x86_cpl(st)) {
        st->regs[R_RAX] = -1;                           /* KVM_EPERM */
        return;
    }
    st->regs[R_RAX] = -1000;
}
