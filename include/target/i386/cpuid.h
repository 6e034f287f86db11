/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest's CPUID answers: feature words, models, and the X86CpuModel that a -cpu string becomes.
 *
 * One table (target/i386/features.c) names every feature bit, its leaf and register, what it depends on, and whether
 * the software CPU can give it. A feature's number is word * 32 + bit. Models stand in models.c. Parsing and
 * filtering: model.c (main thread); answers: cpuid.c (any thread, the model does not change after creation).
 * Tests: tests/unit/test-cpuid.c.
 */
#ifndef CLEAT_TARGET_I386_CPUID_H
#define CLEAT_TARGET_I386_CPUID_H

#include "target/i386/cpu.h"

typedef enum X86FeatWord {
    FEAT_1_EDX, FEAT_1_ECX, FEAT_7_0_EBX, FEAT_7_0_ECX, FEAT_7_0_EDX, FEAT_7_1_EAX, FEAT_7_1_EDX, FEAT_7_2_EDX,
    FEAT_8000_0001_EDX, FEAT_8000_0001_ECX, FEAT_8000_0007_EDX, FEAT_8000_0007_EBX, FEAT_8000_0008_EBX,
    FEAT_8000_0021_EAX, FEAT_8000_0022_EAX, FEAT_C000_0001_EDX, FEAT_KVM, FEAT_KVM_HINTS, FEAT_SVM, FEAT_XSAVE,
    FEAT_6_EAX, FEAT_ARCH_CAPABILITIES, FEAT_CORE_CAPABILITY, FEAT_14_0_ECX, FEAT_WORDS
} X86FeatWord;
#define X86_FEAT(word, bit) ((word) * 32 + (bit))
enum {
    X86_FEAT_PSE = X86_FEAT(FEAT_1_EDX, 3), X86_FEAT_TSC = X86_FEAT(FEAT_1_EDX, 4),
    X86_FEAT_VME = X86_FEAT(FEAT_1_EDX, 1), X86_FEAT_DE = X86_FEAT(FEAT_1_EDX, 2),
    X86_FEAT_MSR = X86_FEAT(FEAT_1_EDX, 5), X86_FEAT_PAE = X86_FEAT(FEAT_1_EDX, 6),
    X86_FEAT_MCE = X86_FEAT(FEAT_1_EDX, 7), X86_FEAT_APIC = X86_FEAT(FEAT_1_EDX, 9),
    X86_FEAT_SEP = X86_FEAT(FEAT_1_EDX, 11), X86_FEAT_MTRR = X86_FEAT(FEAT_1_EDX, 12),
    X86_FEAT_PGE = X86_FEAT(FEAT_1_EDX, 13), X86_FEAT_MCA = X86_FEAT(FEAT_1_EDX, 14),
    X86_FEAT_PAT = X86_FEAT(FEAT_1_EDX, 16), X86_FEAT_FXSR = X86_FEAT(FEAT_1_EDX, 24),
    X86_FEAT_SSE = X86_FEAT(FEAT_1_EDX, 25), X86_FEAT_HT = X86_FEAT(FEAT_1_EDX, 28),
    X86_FEAT_MONITOR = X86_FEAT(FEAT_1_ECX, 3), X86_FEAT_VMX = X86_FEAT(FEAT_1_ECX, 5),
    X86_FEAT_PDCM = X86_FEAT(FEAT_1_ECX, 15), X86_FEAT_PCID = X86_FEAT(FEAT_1_ECX, 17),
    X86_FEAT_X2APIC = X86_FEAT(FEAT_1_ECX, 21), X86_FEAT_TSC_DEADLINE = X86_FEAT(FEAT_1_ECX, 24),
    X86_FEAT_AVX = X86_FEAT(FEAT_1_ECX, 28), X86_FEAT_HYPERVISOR = X86_FEAT(FEAT_1_ECX, 31),
    X86_FEAT_XSAVE = X86_FEAT(FEAT_1_ECX, 26),
    X86_FEAT_FSGSBASE = X86_FEAT(FEAT_7_0_EBX, 0), X86_FEAT_TSC_ADJUST = X86_FEAT(FEAT_7_0_EBX, 1),
    X86_FEAT_SMEP = X86_FEAT(FEAT_7_0_EBX, 7), X86_FEAT_INVPCID = X86_FEAT(FEAT_7_0_EBX, 10),
    X86_FEAT_AVX512F = X86_FEAT(FEAT_7_0_EBX, 16), X86_FEAT_SMAP = X86_FEAT(FEAT_7_0_EBX, 20),
    X86_FEAT_UMIP = X86_FEAT(FEAT_7_0_ECX, 2), X86_FEAT_PKU = X86_FEAT(FEAT_7_0_ECX, 3),
    X86_FEAT_PSE36 = X86_FEAT(FEAT_1_EDX, 17), X86_FEAT_PKS = X86_FEAT(FEAT_7_0_ECX, 31),
    X86_FEAT_LA57 = X86_FEAT(FEAT_7_0_ECX, 16), X86_FEAT_RDPID = X86_FEAT(FEAT_7_0_ECX, 22),
    X86_FEAT_SPEC_CTRL = X86_FEAT(FEAT_7_0_EDX, 26), X86_FEAT_STIBP = X86_FEAT(FEAT_7_0_EDX, 27),
    X86_FEAT_FLUSH_L1D = X86_FEAT(FEAT_7_0_EDX, 28), X86_FEAT_ARCH_CAP = X86_FEAT(FEAT_7_0_EDX, 29),
    X86_FEAT_CORE_CAP = X86_FEAT(FEAT_7_0_EDX, 30), X86_FEAT_SSBD = X86_FEAT(FEAT_7_0_EDX, 31),
    X86_FEAT_SYSCALL = X86_FEAT(FEAT_8000_0001_EDX, 11), X86_FEAT_NX = X86_FEAT(FEAT_8000_0001_EDX, 20),
    X86_FEAT_FFXSR = X86_FEAT(FEAT_8000_0001_EDX, 25), X86_FEAT_PDPE1GB = X86_FEAT(FEAT_8000_0001_EDX, 26),
    X86_FEAT_RDTSCP = X86_FEAT(FEAT_8000_0001_EDX, 27), X86_FEAT_LM = X86_FEAT(FEAT_8000_0001_EDX, 29),
    X86_FEAT_MISALIGNSSE = X86_FEAT(FEAT_8000_0001_ECX, 7),
    X86_FEAT_CMP_LEGACY = X86_FEAT(FEAT_8000_0001_ECX, 1), X86_FEAT_SVM = X86_FEAT(FEAT_8000_0001_ECX, 2),
    X86_FEAT_TOPOEXT = X86_FEAT(FEAT_8000_0001_ECX, 22), X86_FEAT_INVTSC = X86_FEAT(FEAT_8000_0007_EDX, 8),
    X86_FEAT_AMD_IBPB = X86_FEAT(FEAT_8000_0008_EBX, 12), X86_FEAT_AMD_IBRS = X86_FEAT(FEAT_8000_0008_EBX, 14),
    X86_FEAT_AMD_STIBP = X86_FEAT(FEAT_8000_0008_EBX, 15), X86_FEAT_AMD_SSBD = X86_FEAT(FEAT_8000_0008_EBX, 24),
    X86_FEAT_VIRT_SSBD = X86_FEAT(FEAT_8000_0008_EBX, 25),
    X86_FEAT_LAM = X86_FEAT(FEAT_7_1_EAX, 26),
    X86_FEAT_XSAVES = X86_FEAT(FEAT_XSAVE, 3), X86_FEAT_ARAT = X86_FEAT(FEAT_6_EAX, 2),
    X86_FEAT_KVMCLOCK = X86_FEAT(FEAT_KVM, 0), X86_FEAT_KVMCLOCK2 = X86_FEAT(FEAT_KVM, 3),
    X86_FEAT_KVM_PV_EOI = X86_FEAT(FEAT_KVM, 6), X86_FEAT_KVM_POLL = X86_FEAT(FEAT_KVM, 12),
    X86_FEAT_NONE = 0xffff,
};

/* How the software CPU gives a feature. */
typedef enum X86FeatTcg {
    FEAT_TCG_NO, FEAT_TCG_YES,
    FEAT_TCG_HOST,                              /* runs natively: when the host has it */
} X86FeatTcg;
typedef struct X86FeatWordInfo {
    const char *reg_name;           /* "CPUID.01H:EDX", or an MSR's name */
    uint32_t leaf, subleaf;
    uint8_t reg;                    /* 0 eax, 1 ebx, 2 ecx, 3 edx; 4: not CPUID (an MSR) */
    uint32_t tcg, tcg_host;         /* masks: emulated; given when the host has them */
    const char *const *names;       /* 32: "name" or "name|alias|alias", NULL: nameless */
} X86FeatWordInfo;
extern const X86FeatWordInfo x86_feat_words[FEAT_WORDS];
/* The feature's number by QEMU's name or an alias (- and _ are the same), -1: none. */
int x86_feat_find(const char *name);
/* First name of a feature; NULL: it has none. */
char *x86_feat_name(unsigned feat);
/* Features that the software CPU can give on this host. */
void x86_feat_tcg(uint32_t words[FEAT_WORDS]);
/* Features that the kernel's KVM can give: filled by the kvm room; NULL: not under KVM. */
typedef void X86FeatKvm(uint32_t words[FEAT_WORDS]);
void x86_feat_set_kvm(X86FeatKvm *fn);
/* What the accelerator in use can give; is it KVM? */
void x86_feat_available(uint32_t words[FEAT_WORDS]);
bool x86_feat_is_kvm(void);

/* A row of models.def, its changes resolved by x86_model_features(). */
typedef struct X86ModelRow {
    const char *name, *base;
    const char *vendor;
    uint16_t family, model, stepping;
    uint32_t level, xlevel;
    uint32_t flags;                 /* MODEL_* */
    const char *model_id, *changes;
} X86ModelRow;
#define MODEL_LEGACY_CACHE 0x100
#define MODEL_LEVEL7(n) (n)         /* highest subleaf of leaf 7 */
/* By name, alias, or plain name (its -v1); NULL: no such model. */
const X86ModelRow *x86_model_find(const char *name);
void x86_model_features(const X86ModelRow *row, uint32_t words[FEAT_WORDS]);

struct X86CpuModel {
    const char *name;               /* "Haswell-v1" */
    uint32_t feat[FEAT_WORDS];
    char vendor[13];
    char model_id[49];
    uint32_t family, model, stepping;
    uint32_t level, xlevel, xlevel2, level_func7;   /* highest leaves */
    uint32_t phys_bits;
    uint64_t tsc_hz;                /* guest's TSC frequency */
    bool legacy_cache;              /* the old fixed cache sizes */
    bool kvm_leaves, l3_cache, cpuid_0xb, pmu, migratable;
    uint8_t gates[32];              /* bit n: instruction gate GATE_n is open */
    uint64_t xcr0_allowed;          /* XFEATURE_* that XSETBV accepts */
    /* topology, in APIC id bits */
    uint32_t smp_threads, smp_cores, smp_modules, smp_dies, smp_cpus;  /* per next outer level; cpus: per socket */
    uint8_t thread_bits, core_bits, module_bits, die_bits;
};

typedef struct X86CpuidOut {
    uint32_t eax, ebx, ecx, edx;
} X86CpuidOut;
/* The answer for one CPU. CR4.OSXSAVE and OSPKE are mirrored from the state; XCR0 decides sizes in leaf 0xd. */
X86CpuidOut x86_cpuid_leaf(X86CPU *cpu, uint32_t leaf, uint32_t subleaf);
/* Highest basic leaf etc. are in the model; the KVM room walks leaves with this. */

/*
 * Parses a -cpu string (model and properties) once for the machine; cores and threads from its -smp. Unknown models and
 * properties are errors; features that cannot be given warn and go (enforce: error). Free with g_free().
 */
struct Machine;
X86CpuModel *x86_model_parse(const char *cpu_string, const struct Machine *m, Error **errp);
/* -cpu help on stdout. */
void x86_model_print_help(void);
/* For QMP query-cpu-definitions: each model name, in table order, then aliases. */
void x86_model_foreach(void (*fn)(const char *name, const char *alias_of, void *opaque), void *opaque);

static inline bool x86_model_has(const X86CpuModel *m, unsigned feat)
{
    return m->feat[feat / 32] >> (feat % 32) & 1;
}
static inline bool x86_has(const X86CPU *cpu, unsigned feat)
{
    return x86_model_has(cpu->model, feat);
}
/* Bits of MXCSR that may be set; MM (misaligned operands of legacy SSE) is AMD's. */
#define MXCSR_MM 0x20000u
static inline uint32_t x86_mxcsr_mask(const X86CPU *cpu)
{
    return x86_has(cpu, X86_FEAT_MISALIGNSSE) ? 0xffff | MXCSR_MM : 0xffff;
}
static inline bool x86_is_amd(const X86CPU *cpu)
{
    return cpu->model->vendor[0] == 'A' || cpu->model->vendor[0] == 'H';    /* AuthenticAMD, HygonGenuine */
}
static inline unsigned x86_phys_bits(const X86CPU *cpu)
{
    return cpu->phys_bits;
}

#endif
