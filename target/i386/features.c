/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of CPUID feature bits (SDM vol. 2 CPUID, APM vol. 3 appendix E): word, bit, name, and who can give it.
 *
 * Names are the ones that -cpu takes ('|' separates aliases). `tcg` bits are emulated by the software CPU wherever it
 * runs; `tcg_host` bits are instructions that run natively, so the host must have them. Constant data, any thread.
 * Test: tests/unit/test-cpuid.c.
 */
#include <string.h>

#include "target/i386/cpuid.h"

static const char *const feat_1_edx_names[32] = {
    "fpu", "vme", "de", "pse", "tsc", "msr", "pae", "mce", "cx8", "apic", NULL, "sep", "mtrr", "pge", "mca",
    "cmov", "pat", "pse36", "pn|psn", "clflush|clfsh", NULL, "ds|dts", "acpi", "mmx", "fxsr", "sse", "sse2",
    "ss", "ht", "tm", "ia64", "pbe",
};
static const char *const feat_1_ecx_names[32] = {
    "pni|sse3", "pclmulqdq|pclmuldq", "dtes64", "monitor", "ds-cpl", "vmx", "smx", "est", "tm2", "ssse3",
    "cid", NULL, "fma", "cx16", "xtpr", "pdcm", NULL, "pcid", "dca", "sse4.1|sse4-1", "sse4.2|sse4-2",
    "x2apic", "movbe", "popcnt", "tsc-deadline", "aes", "xsave", NULL, "avx", "f16c", "rdrand", "hypervisor",
};
static const char *const feat_7_0_ebx_names[32] = {
    "fsgsbase", "tsc-adjust", "sgx", "bmi1", "hle", "avx2", NULL, "smep", "bmi2", "erms", "invpcid", "rtm",
    NULL, NULL, "mpx", NULL, "avx512f", "avx512dq", "rdseed", "adx", "smap", "avx512ifma", "pcommit",
    "clflushopt", "clwb", "intel-pt", "avx512pf", "avx512er", "avx512cd", "sha-ni", "avx512bw", "avx512vl",
};
static const char *const feat_7_0_ecx_names[32] = {
    NULL, "avx512vbmi", "umip", "pku", NULL, "waitpkg", "avx512vbmi2", NULL, "gfni", "vaes", "vpclmulqdq",
    "avx512vnni", "avx512bitalg|avx512-bitalg", NULL, "avx512-vpopcntdq|avx512vpopcntdq", NULL, "la57", NULL,
    NULL, NULL, NULL, NULL, "rdpid", NULL, "bus-lock-detect", "cldemote", NULL, "movdiri", "movdir64b", NULL,
    "sgxlc", "pks",
};
static const char *const feat_7_0_edx_names[32] = {
    NULL, "sgx-keys", "avx512-4vnniw", "avx512-4fmaps", "fsrm", NULL, NULL, NULL, "avx512-vp2intersect", NULL,
    "md-clear", NULL, NULL, NULL, "serialize", NULL, "tsx-ldtrk", NULL, NULL, "arch-lbr", NULL, NULL,
    "amx-bf16", "avx512-fp16", "amx-tile", "amx-int8", "spec-ctrl", "stibp", "flush-l1d", "arch-capabilities",
    "core-capability", "ssbd",
};
static const char *const feat_7_1_eax_names[32] = {
    "sha512", "sm3", "sm4", NULL, "avx-vnni", "avx512-bf16", NULL, "cmpccxadd", NULL, NULL, "fzrm", "fsrs",
    "fsrc", NULL, NULL, NULL, NULL, "fred", "lkgs", "wrmsrns", NULL, "amx-fp16", NULL, "avx-ifma", NULL, NULL,
    "lam", NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_7_1_edx_names[32] = {
    NULL, NULL, NULL, NULL, "avx-vnni-int8", "avx-ne-convert", NULL, NULL, "amx-complex", NULL,
    "avx-vnni-int16", NULL, NULL, NULL, "prefetchiti", NULL, NULL, NULL, NULL, "avx10", NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_7_2_edx_names[32] = {
    "intel-psfd", "ipred-ctrl", "rrsba-ctrl", "ddpd-u", "bhi-ctrl", "mcdt-no", NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL,
};
static const char *const feat_8000_0001_edx_names[32] = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "syscall", NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, "nx|xd", NULL, "mmxext", NULL, NULL, "fxsr-opt|ffxsr", "pdpe1gb", "rdtscp", NULL,
    "lm|i64", "3dnowext", "3dnow",
};
static const char *const feat_8000_0001_ecx_names[32] = {
    "lahf-lm", "cmp-legacy", "svm", "extapic", "cr8legacy", "abm", "sse4a", "misalignsse", "3dnowprefetch",
    "osvw", "ibs", "xop", "skinit", "wdt", NULL, "lwp", "fma4", "tce", NULL, "nodeid-msr", NULL, "tbm",
    "topoext", "perfctr-core", "perfctr-nb", NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_8000_0007_edx_names[32] = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "invtsc", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_8000_0007_ebx_names[32] = {
    "overflow-recov", "succor", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_8000_0008_ebx_names[32] = {
    "clzero", NULL, "xsaveerptr", NULL, NULL, NULL, NULL, NULL, NULL, "wbnoinvd", NULL, NULL, "ibpb", NULL,
    "ibrs", "amd-stibp", NULL, "stibp-always-on", NULL, NULL, NULL, NULL, NULL, NULL, "amd-ssbd", "virt-ssbd",
    "amd-no-ssb", NULL, "amd-psfd", NULL, NULL, NULL,
};
static const char *const feat_8000_0021_eax_names[32] = {
    "no-nested-data-bp", "fs-gs-base-ns", "lfence-always-serializing", NULL, NULL, NULL, "null-sel-clr-base",
    NULL, "auto-ibrs", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, "sbpb", "ibpb-brtype", "srso-no", "srso-user-kernel-no", NULL,
};
static const char *const feat_8000_0022_eax_names[32] = {
    "perfmon-v2", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_c000_0001_edx_names[32] = {
    NULL, NULL, "xstore", "xstore-en", NULL, NULL, "xcrypt", "xcrypt-en", "ace2", "ace2-en", "phe", "phe-en",
    "pmm", "pmm-en", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL,
};
static const char *const feat_kvm_names[32] = {
    "kvmclock", "kvm-nopiodelay", "kvm-mmu", NULL, "kvm-asyncpf", "kvm-steal-time", "kvm-pv-eoi",
    "kvm-pv-unhalt", NULL, "kvm-pv-tlb-flush", "kvm-asyncpf-vmexit", "kvm-pv-ipi", "kvm-poll-control",
    "kvm-pv-sched-yield", "kvm-asyncpf-int", "kvm-msi-ext-dest-id", NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, "kvmclock-stable-bit", NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_kvm_hints_names[32] = {
    "kvm-hint-dedicated", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_svm_names[32] = {
    "npt", "lbrv", "svm-lock", "nrip-save", "tsc-scale", "vmcb-clean", "flushbyasid", "decodeassists", NULL,
    NULL, "pause-filter", NULL, "pfthreshold", "avic", NULL, "v-vmsave-vmload", "vgif", NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, "vnmi", NULL, NULL, "svme-addr-chk", NULL, NULL, NULL,
};
static const char *const feat_xsave_names[32] = {
    "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL,
};
static const char *const feat_6_eax_names[32] = {
    NULL, NULL, "arat", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_arch_capabilities_names[32] = {
    "rdctl-no", "ibrs-all", "rsba", "skip-l1dfl-vmentry", "ssb-no", "mds-no", "pschange-mc-no", "tsx-ctrl",
    "taa-no", NULL, NULL, NULL, NULL, "sbdr-ssdp-no", "fbsdp-no", "psdp-no", NULL, "fb-clear", NULL, NULL,
    "bhi-no", NULL, NULL, NULL, "pbrsb-no", NULL, "gds-no", "rfds-no", NULL, NULL, NULL, NULL,
};
static const char *const feat_core_capability_names[32] = {
    NULL, NULL, NULL, NULL, NULL, "split-lock-detect", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
};
static const char *const feat_14_0_ecx_names[32] = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "intel-pt-lip",
};

const X86FeatWordInfo x86_feat_words[FEAT_WORDS] = {
    [FEAT_1_EDX] = { "CPUID.01H:EDX", 0x1, 0, 3, .tcg = 0x1fcbfbff, .tcg_host = 0x00000000,
        .names = feat_1_edx_names },
    [FEAT_1_ECX] = { "CPUID.01H:ECX", 0x1, 0, 2, .tcg = 0xc5e22009, .tcg_host = 0x32181202,
        .names = feat_1_ecx_names },
    [FEAT_7_0_EBX] = { "CPUID.07H:EBX", 0x7, 0, 1, .tcg = 0x019c0f9b, .tcg_host = 0xf0230020,
        .names = feat_7_0_ebx_names },
    [FEAT_7_0_ECX] = { "CPUID.07H:ECX", 0x7, 0, 2, .tcg = 0x8241000c, .tcg_host = 0x18005f42,
        .names = feat_7_0_ecx_names },
    [FEAT_7_0_EDX] = { "CPUID.07H:EDX", 0x7, 0, 3, .tcg = 0xbc004410, .tcg_host = 0x00800100,
        .names = feat_7_0_edx_names },
    [FEAT_7_1_EAX] = { "CPUID.07H_01H:EAX", 0x7, 1, 0, .tcg = 0x04001c00, .tcg_host = 0x00800030,
        .names = feat_7_1_eax_names },
    [FEAT_7_1_EDX] = { "CPUID.07H_01H:EDX", 0x7, 1, 3, .tcg = 0x00004000, .tcg_host = 0x00000430,
        .names = feat_7_1_edx_names },
    [FEAT_7_2_EDX] = { "CPUID.07H_02H:EDX", 0x7, 2, 3, .tcg = 0x00000020, .tcg_host = 0x00000000,
        .names = feat_7_2_edx_names },
    [FEAT_8000_0001_EDX] = { "CPUID.80000001H:EDX", 0x80000001, 0, 3, .tcg = 0x2e500800, .tcg_host = 0x00000000,
        .names = feat_8000_0001_edx_names },
    [FEAT_8000_0001_ECX] = { "CPUID.80000001H:ECX", 0x80000001, 0, 2, .tcg = 0x004003b3, .tcg_host = 0x00000040,
        .names = feat_8000_0001_ecx_names },
    [FEAT_8000_0007_EDX] = { "CPUID.80000007H:EDX", 0x80000007, 0, 3, .tcg = 0x00000100, .tcg_host = 0x00000000,
        .names = feat_8000_0007_edx_names },
    [FEAT_8000_0007_EBX] = { "CPUID.80000007H:EBX", 0x80000007, 0, 1, .tcg = 0x00000000, .tcg_host = 0x00000000,
        .names = feat_8000_0007_ebx_names },
    [FEAT_8000_0008_EBX] = { "CPUID.80000008H:EBX", 0x80000008, 0, 1, .tcg = 0x1702d205, .tcg_host = 0x00000000,
        .names = feat_8000_0008_ebx_names },
    [FEAT_8000_0021_EAX] = { "CPUID.80000021H:EAX", 0x80000021, 0, 0, .tcg = 0x20000044, .tcg_host = 0x00000000,
        .names = feat_8000_0021_eax_names },
    [FEAT_8000_0022_EAX] = { "CPUID.80000022H:EAX", 0x80000022, 0, 0, .tcg = 0x00000000, .tcg_host = 0x00000000,
        .names = feat_8000_0022_eax_names },
    [FEAT_C000_0001_EDX] = { "CPUID.C0000001H:EDX", 0xc0000001, 0, 3, .tcg = 0x00000000, .tcg_host = 0x00000000,
        .names = feat_c000_0001_edx_names },
    [FEAT_KVM] = { "CPUID.40000001H:EAX", 0x40000001, 0, 0, .tcg = 0x0100904b, .tcg_host = 0x00000000,
        .names = feat_kvm_names },
    [FEAT_KVM_HINTS] = { "CPUID.40000001H:EDX", 0x40000001, 0, 3, .tcg = 0x00000001, .tcg_host = 0x00000000,
        .names = feat_kvm_hints_names },
    [FEAT_SVM] = { "CPUID.8000000AH:EDX", 0x8000000a, 0, 3, .tcg = 0x00000000, .tcg_host = 0x00000000,
        .names = feat_svm_names },
    [FEAT_XSAVE] = { "CPUID.0DH_01H:EAX", 0xd, 1, 0, .tcg = 0x0000000f, .tcg_host = 0x00000000,
        .names = feat_xsave_names },
    [FEAT_6_EAX] = { "CPUID.06H:EAX", 0x6, 0, 0, .tcg = 0x00000004, .tcg_host = 0x00000000,
        .names = feat_6_eax_names },
    [FEAT_ARCH_CAPABILITIES] = { "MSR(10AH)", 0x10a, 0, 4, .tcg = 0x0d12e17b, .tcg_host = 0x00000000,
        .names = feat_arch_capabilities_names },
    [FEAT_CORE_CAPABILITY] = { "MSR(CFH)", 0xcf, 0, 4, .tcg = 0x00000000, .tcg_host = 0x00000000,
        .names = feat_core_capability_names },
    [FEAT_14_0_ECX] = { "CPUID.14H:ECX", 0x14, 0, 2, .tcg = 0x00000000, .tcg_host = 0x00000000,
        .names = feat_14_0_ecx_names },
};

static bool name_is(const char *names, const char *want)
{
    while (*names) {
        const char *w = want;

        while (*names && *names != '|' && (*w == *names || ((*w == '_' || *w == '-') && *names == '-')
                                           || (*w == '_' && *names == '.'))) {
            w++;
            names++;
        }
        if (!*w && (!*names || *names == '|')) {
            return true;
        }
        while (*names && *names++ != '|') {
        }
    }
    return false;
}

int x86_feat_find(const char *name)
{
    for (unsigned w = 0; w < FEAT_WORDS; w++) {
        for (unsigned b = 0; b < 32; b++) {
            const char *names = x86_feat_words[w].names[b];

            if (names && name_is(names, name)) {
                return X86_FEAT(w, b);
            }
        }
    }
    return -1;
}

char *x86_feat_name(unsigned feat)
{
    const char *names = x86_feat_words[feat / 32].names[feat % 32];

    return names ? g_strndup(names, strcspn(names, "|")) : NULL;
}

/* The host's value of a CPUID word. */
static uint32_t host_word(const X86FeatWordInfo *w)
{
    uint32_t r[4] = { 0 }, max;

    if (w->reg > 3) {
        return 0;
    }
    __asm__ volatile("cpuid" : "=a"(max), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(w->leaf & 0x80000000), "c"(0));
    if (max < w->leaf) {
        return 0;
    }
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(w->leaf), "c"(w->subleaf));
    return r[w->reg];
}

/* Does the host's OS save AVX (0x6) and AVX-512 (0xe6) state? */
static uint64_t host_xcr0(void)
{
    uint32_t a = 1, b, c = 0, d;

    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(c >> 27 & 1)) {
        return 0;
    }
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

/* Features whose instructions use ymm, or zmm and opmask registers. */
static const char *const needs_avx[] = { "avx", "fma", "f16c", "avx2", "vaes", "vpclmulqdq", "avx-vnni", "avx-ifma",
                                         "avx-vnni-int8", "avx-ne-convert", "avx-vnni-int16", NULL };

static void drop(uint32_t words[FEAT_WORDS], int feat)
{
    if (feat >= 0) {
        words[feat / 32] &= ~(1u << (feat % 32));
    }
}

void x86_feat_tcg(uint32_t words[FEAT_WORDS])
{
    uint64_t xcr0 = host_xcr0();

    for (unsigned w = 0; w < FEAT_WORDS; w++) {
        const X86FeatWordInfo *info = &x86_feat_words[w];

        words[w] = info->tcg | (info->tcg_host ? info->tcg_host & host_word(info) : 0);
        for (unsigned b = 0; b < 32; b++) {
            if (info->names[b] && !strncmp(info->names[b], "avx512", 6) && (xcr0 & 0xe6) != 0xe6) {
                drop(words, X86_FEAT(w, b));
            }
        }
    }
    for (unsigned i = 0; needs_avx[i] && (xcr0 & 6) != 6; i++) {
        drop(words, x86_feat_find(needs_avx[i]));
    }
}

static X86FeatKvm *feat_kvm;                /* set once by the kvm accelerator's init */

void x86_feat_set_kvm(X86FeatKvm *fn)
{
    feat_kvm = fn;
}

void x86_feat_available(uint32_t words[FEAT_WORDS])
{
    if (feat_kvm) {
        feat_kvm(words);
    } else {
        x86_feat_tcg(words);
    }
}

bool x86_feat_is_kvm(void)
{
    return feat_kvm != NULL;
}
