/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a -cpu string to an X86CpuModel: model row, properties, +feature and -feature, then what the accelerator can
 * give.
 *
 * A feature that was asked for and cannot be given warns and goes (check=on, the default), is an error with enforce=on,
 * or goes silently with check=off. Defaults that no user asked for (SVM in old models) go silently.
 * Main thread. Test: tests/unit/test-cpuid.c.
 */
#include <cpuid.h>
#include <inttypes.h>
#include <string.h>

#include "system/machine.h"
#include "target/i386/insn.h"
#include "target/i386/internal.h"
#include "target/i386/tsc.h"

typedef struct Parse {
    X86CpuModel *m;
    const X86ModelRow *row;
    uint32_t plus[FEAT_WORDS], minus[FEAT_WORDS], asked[FEAT_WORDS];
    bool enforce, check, host_phys_bits, hv_warned, level_set, xlevel_set, phys_set;
    uint32_t phys_limit;
} Parse;

static void set_bit(uint32_t *words, int feat, bool on)
{
    if (on) {
        words[feat / 32] |= 1u << (feat % 32);
    } else {
        words[feat / 32] &= ~(1u << (feat % 32));
    }
}

/* ---- values ---- */
static bool parse_bool(const char *key, const char *value, bool *out, Error **errp)
{
    if (!strcmp(value, "on") || !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "y")) {
        *out = true;
    } else if (!strcmp(value, "off") || !strcmp(value, "no") || !strcmp(value, "false") || !strcmp(value, "n")) {
        *out = false;
    } else {
        error_set(errp, "-cpu: '%s' expects 'on' or 'off', not '%s'", key, value);
        return false;
    }
    return true;
}

static bool parse_number(const char *key, const char *value, uint64_t max, uint64_t *out, Error **errp)
{
    char *end;
    uint64_t v = g_ascii_strtoull(value, &end, 0);

    if (*end && end[1] == 0 && strchr("kKmMgG", *end)) {       /* frequencies: decimal multiples */
        v *= strchr("kK", *end) ? 1000 : strchr("mM", *end) ? 1000000 : 1000000000;
        end++;
    }
    if (!*value || *end || *value == '-' || v > max) {
        error_set(errp, "-cpu: '%s' expects a number up to %" PRIu64 ", not '%s'", key, max, value);
        return false;
    }
    *out = v;
    return true;
}

typedef struct NumberProp {
    const char *name;
    size_t offset;
    uint64_t max;
} NumberProp;
static const NumberProp number_props[] = {
    { "family", offsetof(X86CpuModel, family), 0xff + 0xf }, { "model", offsetof(X86CpuModel, model), 0xff },
    { "stepping", offsetof(X86CpuModel, stepping), 0xf }, { "level", offsetof(X86CpuModel, level), 0xffffffff },
    { "xlevel", offsetof(X86CpuModel, xlevel), 0xffffffff }, { "xlevel2", offsetof(X86CpuModel, xlevel2), 0xffffffff },
    { "level-func7", offsetof(X86CpuModel, level_func7), 2 }, { "phys-bits", offsetof(X86CpuModel, phys_bits), 52 },
};

typedef struct BoolProp {
    const char *name;
    size_t offset;
} BoolProp;
static const BoolProp bool_props[] = {
    { "kvm", offsetof(X86CpuModel, kvm_leaves) }, { "l3-cache", offsetof(X86CpuModel, l3_cache) },
    { "legacy-cache", offsetof(X86CpuModel, legacy_cache) }, { "cpuid-0xb", offsetof(X86CpuModel, cpuid_0xb) },
    { "pmu", offsetof(X86CpuModel, pmu) }, { "migratable", offsetof(X86CpuModel, migratable) },
};

/* Switches that are taken and change nothing here. */
static const char *const quiet_props[] = {
    "full-cpuid-auto-level", "fill-mtrr-mask", "lmce", "vmware-cpuid-freq", "tcg-cpuid", "x-vendor-cpuid-only",
    "x-intel-pt-auto-level", "x-migrate-smi-count", "x-consistent-cache", "x-l1-cache-per-thread", "x-force-features",
    "start-powered-off", "x-amd-topoext-features-only", "guest-phys-bits", "x-arch-cap-always-on",
};

static bool set_text_prop(Parse *p, const char *key, const char *value, bool *known, Error **errp)
{
    *known = true;
    if (!strcmp(key, "vendor")) {
        if (strlen(value) != 12) {
            error_set(errp, "-cpu: 'vendor' is a name of 12 characters, not '%s'", value);
            return false;
        }
        g_strlcpy(p->m->vendor, value, sizeof(p->m->vendor));
    } else if (!strcmp(key, "model-id")) {
        g_strlcpy(p->m->model_id, value, sizeof(p->m->model_id));
    } else if (!strcmp(key, "tsc-frequency") || !strcmp(key, "tsc-freq")) {
        return parse_number(key, value, INT64_MAX, &p->m->tsc_hz, errp);
    } else if (!strcmp(key, "enforce")) {
        return parse_bool(key, value, &p->enforce, errp);
    } else if (!strcmp(key, "check")) {
        return parse_bool(key, value, &p->check, errp);
    } else if (!strcmp(key, "host-phys-bits")) {
        return parse_bool(key, value, &p->host_phys_bits, errp);
    } else if (!strcmp(key, "host-phys-bits-limit")) {
        uint64_t v;

        if (!parse_number(key, value, 52, &v, errp)) {
            return false;
        }
        p->phys_limit = v;
    } else {
        *known = false;
    }
    return true;
}

static bool set_table_prop(Parse *p, const char *key, const char *value, bool *known, Error **errp)
{
    uint64_t v;
    bool b;

    *known = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(number_props); i++) {
        if (!strcmp(number_props[i].name, key)) {
            if (!parse_number(key, value, number_props[i].max, &v, errp)) {
                return false;
            }
            *(uint32_t *)((char *)p->m + number_props[i].offset) = v;
            p->level_set |= !strcmp(key, "level");
            p->xlevel_set |= !strcmp(key, "xlevel");
            p->phys_set |= !strcmp(key, "phys-bits");
            return true;
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(bool_props); i++) {
        if (!strcmp(bool_props[i].name, key)) {
            return parse_bool(key, value, (bool *)((char *)p->m + bool_props[i].offset), errp);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(quiet_props); i++) {
        if (!strcmp(quiet_props[i], key)) {
            return !strcmp(key, "guest-phys-bits") || parse_bool(key, value, &b, errp);
        }
    }
    *known = false;
    return true;
}

static bool set_prop(Parse *p, const char *key, const char *value, Error **errp)
{
    int feat = x86_feat_find(key);
    bool known, on;

    if (feat >= 0) {
        if (!parse_bool(key, value, &on, errp)) {
            return false;
        }
        set_bit(p->m->feat, feat, on);
        set_bit(p->asked, feat, on);
        return true;
    }
    if (g_str_has_prefix(key, "hv-") || g_str_has_prefix(key, "hv_")) {
        if (!p->hv_warned && !x86_feat_is_kvm()) {
            warn_report("-cpu: Hyper-V enlightenments ('%s') need KVM; they are left out", key);
            p->hv_warned = true;
        }
        return true;
    }
    if (g_str_has_prefix(key, "vmx-")) {
        if (!parse_bool(key, value, &on, errp)) {
            return false;
        }
        if (on && p->check) {
            warn_report("-cpu: nested VMX is not there; '%s' is left out", key);
        }
        return true;
    }
    if (!set_text_prop(p, key, value, &known, errp) || (!known && !set_table_prop(p, key, value, &known, errp))) {
        return false;
    }
    if (!known) {
        error_set(errp, "Property '%s-x86_64-cpu.%s' not found", p->row->name, key);
    }
    return known;
}

static bool parse_item(Parse *p, const char *item, Error **errp)
{
    if (*item == '+' || *item == '-') {
        int feat = x86_feat_find(item + 1);

        if (feat < 0 && (g_str_has_prefix(item + 1, "vmx-") || g_str_has_prefix(item + 1, "hv-"))) {
            return set_prop(p, item + 1, *item == '+' ? "on" : "off", errp);
        }
        if (feat < 0) {
            error_set(errp, "Property '%s-x86_64-cpu.%s' not found", p->row->name, item + 1);
            return false;
        }
        set_bit(*item == '+' ? p->plus : p->minus, feat, true);
        return true;
    }
    if (strchr(item, '=')) {
        g_auto(GStrv) kv = g_strsplit(item, "=", 2);

        return set_prop(p, kv[0], kv[1], errp);
    }
    return !*item || set_prop(p, item, "on", errp);     /* nothing between two commas asks for nothing */
}

/* ---- what comes out ---- */
typedef struct Dependency {
    const char *feat, *needs;
} Dependency;
/* A feature goes when what it needs is not there. */
static const Dependency dependencies[] = {
    { "avx", "xsave" }, { "avx2", "avx" }, { "fma", "avx" }, { "f16c", "avx" }, { "avx512f", "avx2" },
    { "avx512bw", "avx512f" },
    { "avx512dq", "avx512f" }, { "avx512vl", "avx512f" }, { "avx512cd", "avx512f" }, { "avx512ifma", "avx512f" },
    { "avx512vbmi", "avx512bw" }, { "avx512vbmi2", "avx512bw" }, { "avx512vnni", "avx512f" },
    { "avx512bitalg", "avx512bw" }, { "avx512-vpopcntdq", "avx512f" }, { "avx512-bf16", "avx512bw" },
    { "avx512-fp16", "avx512bw" }, { "avx512-vp2intersect", "avx512f" }, { "avx-vnni", "avx2" }, { "vaes", "avx" },
    { "vpclmulqdq", "avx" }, { "xsaveopt", "xsave" }, { "xsavec", "xsave" }, { "xgetbv1", "xsave" },
    { "xsaves", "xsavec" },
    { "pku", "xsave" }, { "avx-ifma", "avx2" }, { "avx-vnni-int8", "avx2" }, { "avx-ne-convert", "avx2" },
    { "avx-vnni-int16", "avx2" }, { "sse2", "sse" }, { "xfd", "xsave" }, { "kvmclock-stable-bit", "kvmclock" },
};

static void drop_dependents(uint32_t *feat)
{
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(dependencies); i++) {
            int f = x86_feat_find(dependencies[i].feat), n = x86_feat_find(dependencies[i].needs);

            if (!(feat[n / 32] >> (n % 32) & 1)) {
                set_bit(feat, f, false);
            }
        }
    }
    if (!(feat[FEAT_KVM] & 1)) {
        feat[FEAT_KVM] &= ~(1u << 3 | 1u << 24);        /* kvmclock's new MSRs, and its stable bit */
    }
}

static bool filter(Parse *p, const char *accel, Error **errp)
{
    uint32_t can[FEAT_WORDS];
    bool good = true;

    x86_feat_available(can);
    for (unsigned w = 0; w < FEAT_WORDS; w++) {
        const X86FeatWordInfo *info = &x86_feat_words[w];
        uint32_t missing = p->m->feat[w] & ~can[w];

        for (unsigned b = 0; b < 32; b++) {
            g_autofree char *name = missing >> b & 1 ? x86_feat_name(X86_FEAT(w, b)) : NULL;

            if (name && (p->check || p->enforce)) {
                warn_report("%s doesn't support requested feature: %s.%s [bit %u]", accel, info->reg_name, name, b);
            }
            good &= !(missing >> b & 1);
        }
        p->m->feat[w] &= can[w];
    }
    if (!good && p->enforce) {
        error_set(errp, "%s doesn't support requested features", accel);
        return false;
    }
    return true;
}

static void raise_level(uint32_t *level, uint32_t to)
{
    *level = MAX(*level, to);
}

static void settle_levels(Parse *p)
{
    X86CpuModel *m = p->m;

    if (!p->level_set && m->level) {
        if (m->feat[FEAT_7_0_EBX] | m->feat[FEAT_7_0_ECX] | m->feat[FEAT_7_0_EDX]) {
            raise_level(&m->level, 7);
        }
        if (m->feat[FEAT_6_EAX]) {
            raise_level(&m->level, 6);
        }
        if (x86_model_has(m, X86_FEAT_XSAVE)) {
            raise_level(&m->level, 0xd);
        }
        if (m->smp_dies > 1 || m->smp_modules > 1) {
            raise_level(&m->level, 0x1f);
        }
    }
    if (m->feat[FEAT_7_1_EAX] | m->feat[FEAT_7_1_EDX]) {
        raise_level(&m->level_func7, 1);
    }
    if (m->feat[FEAT_7_2_EDX]) {
        raise_level(&m->level_func7, 2);
    }
    if (!p->xlevel_set && m->xlevel) {
        raise_level(&m->xlevel, m->feat[FEAT_8000_0007_EDX] ? 0x80000007 : 0);
        raise_level(&m->xlevel, m->feat[FEAT_8000_0008_EBX] || x86_model_has(m, X86_FEAT_LM) ? 0x80000008 : 0);
        raise_level(&m->xlevel, m->feat[FEAT_8000_0021_EAX] ? 0x80000021 : 0);
        raise_level(&m->xlevel, x86_model_has(m, X86_FEAT_TOPOEXT) ? 0x8000001e : 0);
    }
}

static uint32_t host_phys_bits(void)
{
    uint32_t a = 0x80000008, b, c = 0, d;

    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return a & 0xff;
}

static bool settle_phys_bits(Parse *p, Error **errp)
{
    X86CpuModel *m = p->m;

    if (!x86_model_has(m, X86_FEAT_LM)) {
        if (p->phys_set && m->phys_bits) {
            error_set(errp, "-cpu: phys-bits is not user-configurable in 32 bit");
            return false;
        }
        m->phys_bits = x86_model_has(m, X86_FEAT(FEAT_1_EDX, 17)) ? 36 : 32;
        return true;
    }
    if (p->host_phys_bits) {
        m->phys_bits = host_phys_bits();
        if (p->phys_limit && m->phys_bits > p->phys_limit) {
            m->phys_bits = p->phys_limit;
        }
    }
    if (!m->phys_bits) {
        m->phys_bits = 40;
    }
    if (m->phys_bits < 32 || m->phys_bits > 52) {
        error_set(errp, "-cpu: phys-bits should be between 32 and 52 (but is %u)", m->phys_bits);
        return false;
    }
    return true;
}

static void settle_gates(X86CpuModel *m)
{
    for (unsigned g = 0; g < GATE_COUNT; g++) {
        int feat = x86_gate_names[g] ? x86_feat_find(x86_gate_names[g]) : -1;

        /* Gate 0 means "no gate". 3DNow!'s prefetches also come with 3dnowprefetch and long mode. */
        if (g == 0 || (feat >= 0 && x86_model_has(m, feat))) {
            m->gates[g / 8] |= 1u << (g % 8);
        }
    }
    m->xcr0_allowed = XFEATURE_X87 | XFEATURE_SSE;
    m->xcr0_allowed |= x86_model_has(m, X86_FEAT_AVX) ? XFEATURE_AVX : 0;
    m->xcr0_allowed |= x86_model_has(m, X86_FEAT_AVX512F) ? XFEATURE_OPMASK | XFEATURE_ZMMH | XFEATURE_HI16 : 0;
    m->xcr0_allowed |= x86_model_has(m, X86_FEAT_PKU) ? XFEATURE_PKRU : 0;
}

static unsigned bits_for(unsigned count)
{
    return count > 1 ? 32 - __builtin_clz(count - 1) : 0;
}

static void settle_topology(X86CpuModel *m, const Machine *machine)
{
    const SmpConfig *s = machine ? &machine->config.smp : NULL;

    m->smp_threads = s && s->threads ? s->threads : 1;
    m->smp_cores = s && s->cores ? s->cores : 1;
    m->smp_modules = s && s->modules ? s->modules : 1;
    m->smp_dies = s && s->dies ? s->dies : 1;
    m->smp_cpus = m->smp_threads * m->smp_cores * m->smp_modules * m->smp_dies;
    m->thread_bits = bits_for(m->smp_threads);
    m->core_bits = bits_for(m->smp_cores);
    m->module_bits = bits_for(m->smp_modules);
    m->die_bits = bits_for(m->smp_dies);
}

/* What no user asked for by name and no accelerator of ours gives: nested virtualization of the old models. */
static void drop_silent_defaults(Parse *p)
{
    static const char *const silent[] = { "svm", "vmx", "monitor", "acpi" };
    unsigned n = x86_feat_is_kvm() ? G_N_ELEMENTS(silent) : 2;

    for (unsigned i = 0; i < n; i++) {
        int f = x86_feat_find(silent[i]);

        if (!(p->asked[f / 32] >> (f % 32) & 1)) {
            set_bit(p->m->feat, f, false);
        }
    }
    if (!x86_model_has(p->m, X86_FEAT_SVM)) {
        p->m->feat[FEAT_SVM] = 0;
    }
}

/* What accelerators add to every model that has a hypervisor bit: KVM's paravirtual features, x2APIC. */
static void add_accel_defaults(X86CpuModel *m)
{
    uint32_t can[FEAT_WORDS];

    x86_feat_available(can);
    m->feat[FEAT_KVM] |= can[FEAT_KVM];
    if (!x86_feat_is_kvm()) {
        m->feat[FEAT_KVM] &= ~(1u << 15);                       /* extended destination ids: for big machines only */
    }
    set_bit(m->feat, X86_FEAT_HYPERVISOR, true);
    set_bit(m->feat, X86_FEAT_TSC_ADJUST, x86_model_has(m, X86_FEAT_TSC_ADJUST));
}

/* -cpu host: who the processor is and how far its leaves go. */
static void identity_from_host(X86CpuModel *m)
{
    unsigned a, b, c, d;
    uint32_t words[12] = { 0 };

    __cpuid(0, m->level, b, c, d);
    memcpy(m->vendor, &b, 4);
    memcpy(m->vendor + 4, &d, 4);
    memcpy(m->vendor + 8, &c, 4);
    m->level = MIN(m->level, 0x1f);
    __cpuid(1, a, b, c, d);
    m->family = (a >> 8 & 15) + ((a >> 8 & 15) == 15 ? a >> 20 & 0xff : 0);
    m->model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    m->stepping = a & 15;
    __cpuid(0x80000000, m->xlevel, b, c, d);
    m->xlevel = MIN(m->xlevel, 0x80000021);
    for (unsigned n = 0; n < 3 && m->xlevel >= 0x80000004; n++) {
        __cpuid(0x80000002 + n, words[n * 4], words[n * 4 + 1], words[n * 4 + 2], words[n * 4 + 3]);
    }
    memcpy(m->model_id, words, sizeof(words));
}

static void start_from_row(Parse *p)
{
    X86CpuModel *m = p->m;
    const X86ModelRow *row = p->row;

    m->name = row->name;
    g_strlcpy(m->vendor, row->vendor, sizeof(m->vendor));
    g_strlcpy(m->model_id, row->model_id, sizeof(m->model_id));
    m->family = row->family;
    m->model = row->model;
    m->stepping = row->stepping;
    m->level = row->level;
    m->xlevel = row->xlevel;
    m->level_func7 = row->flags & 0xff;
    m->legacy_cache = row->flags & MODEL_LEGACY_CACHE;
    m->kvm_leaves = m->l3_cache = m->cpuid_0xb = m->migratable = true;
    if (!strcmp(row->name, "max") || !strcmp(row->name, "host")) {
        x86_feat_available(m->feat);
        if (row->name[0] == 'h') {
            identity_from_host(m);
        }
        if (!x86_feat_is_kvm()) {
            set_bit(m->feat, X86_FEAT_INVTSC, false);           /* not migratable */
            m->feat[FEAT_KVM_HINTS] = 0;
        }
    } else {
        x86_model_features(row, m->feat);
    }
    if (strcmp(row->name, "base")) {
        add_accel_defaults(m);
    }
}

static bool finish(Parse *p, const Machine *machine, Error **errp)
{
    X86CpuModel *m = p->m;

    for (unsigned w = 0; w < FEAT_WORDS; w++) {
        m->feat[w] = (m->feat[w] | p->plus[w]) & ~p->minus[w];
        p->asked[w] |= p->plus[w];
    }
    drop_silent_defaults(p);
    if (!filter(p, x86_feat_is_kvm() ? "KVM" : "TCG", errp)) {
        return false;
    }
    drop_dependents(m->feat);
    settle_topology(m, machine);
    if (m->smp_cpus > 1) {
        set_bit(m->feat, X86_FEAT_HT, true);
        if (!strcmp(m->vendor, "AuthenticAMD") || !strcmp(m->vendor, "HygonGenuine")) {
            set_bit(m->feat, X86_FEAT_CMP_LEGACY, true);
        }
    }
    settle_levels(p);
    if (!settle_phys_bits(p, errp)) {
        return false;
    }
    settle_gates(m);
    if (!m->tsc_hz) {
        m->tsc_hz = x86_host_tsc_hz();
    }
    x86_host_tsc_hz();
    return true;
}

X86CpuModel *x86_model_parse(const char *cpu_string, const struct Machine *machine, Error **errp)
{
    g_auto(GStrv) items = g_strsplit(cpu_string, ",", 0);
    g_autofree X86CpuModel *m = g_new0(X86CpuModel, 1);
    Parse p = { .m = m, .check = true };

    p.row = items[0] && *items[0] ? x86_model_find(items[0]) : NULL;
    if (!p.row) {
        error_set(errp, "unable to find CPU model '%s'", items[0] ? items[0] : "");
        return NULL;
    }
    if (!strcmp(p.row->name, "host") && !x86_feat_is_kvm()) {
        error_set(errp, "CPU model 'host' requires KVM");
        return NULL;
    }
    start_from_row(&p);
    for (char **i = items + 1; *i; i++) {
        if (!parse_item(&p, *i, errp)) {
            return NULL;
        }
    }
    if (!finish(&p, machine, errp)) {
        return NULL;
    }
    return g_steal_pointer(&m);
}
