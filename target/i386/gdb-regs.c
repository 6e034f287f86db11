/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb's registers of x86-64: one table from which numbers, sizes, access and the target description come.
 *
 * The features' names and registers are those that gdb asks for (its manual, "i386 Features"); control registers are
 * in a feature of their own. As in QEMU, outside 64-bit code general registers show 32 bits, and the program
 * counter is RIP without the CS base. A debugger cannot switch modes: CR0.PE, CR0.PG, EFER.LME and EFER.LMA stay,
 * and a selector must name a segment that the CPU could load. Test: tests/unit/test-gdb.c.
 */
#include <string.h>

#include "target/i386/cpuid.h"
#include "target/i386/debug.h"
#include "target/i386/gdb.h"
#include "target/i386/internal.h"

typedef enum RegKind {
    GDB_GPR, GDB_RIP, GDB_FLAGS, GDB_SELECTOR, GDB_SEGBASE, GDB_PLAIN, GDB_CR0, GDB_CR3, GDB_CR4, GDB_CR8, GDB_EFER,
    GDB_ST, GDB_X87, GDB_XMM, GDB_MXCSR, GDB_YMMH, GDB_MASK, GDB_ZMMH, GDB_PKRU,
} RegKind;

/* x87 control registers in gdb's order. */
enum { X87_FCTRL, X87_FSTAT, X87_FTAG, X87_FISEG, X87_FIOFF, X87_FOSEG, X87_FOOFF, X87_FOP };

/* A register, or `count` of them whose names have numbers from `first` on. */
typedef struct RegRow {
    const char *name;               /* with %u when there are several */
    RegKind kind;
    unsigned index;                 /* of the first, in its kind; GDB_PLAIN: offset in X86State */
    unsigned bits;
    const char *type;               /* gdb's or one of the description's own */
    unsigned first, count;
    uint32_t xfeatures;             /* of XCR0 that the model must offer */
} RegRow;

#define GPR(name, reg, type) { name, GDB_GPR, reg, 64, type, 0, 1, 0 }
#define SEL(name, seg) { name, GDB_SELECTOR, seg, 32, "int32", 0, 1, 0 }
#define X87(name, index) { name, GDB_X87, index, 32, "int", 0, 1, 0 }
#define AVX512 (XFEATURE_OPMASK | XFEATURE_ZMMH | XFEATURE_HI16)

static const RegRow core_rows[] = {
    GPR("rax", R_RAX, "int64"), GPR("rbx", R_RBX, "int64"), GPR("rcx", R_RCX, "int64"), GPR("rdx", R_RDX, "int64"),
    GPR("rsi", R_RSI, "int64"), GPR("rdi", R_RDI, "int64"), GPR("rbp", R_RBP, "data_ptr"),
    GPR("rsp", R_RSP, "data_ptr"), { "r%u", GDB_GPR, R_R8, 64, "int64", 8, 8, 0 },
    { "rip", GDB_RIP, 0, 64, "code_ptr", 0, 1, 0 }, { "eflags", GDB_FLAGS, 0, 32, "x64_eflags", 0, 1, 0 },
    SEL("cs", SEG_CS), SEL("ss", SEG_SS), SEL("ds", SEG_DS), SEL("es", SEG_ES), SEL("fs", SEG_FS), SEL("gs", SEG_GS),
    { NULL }
};
static const RegRow base_rows[] = {
    { "fs_base", GDB_SEGBASE, SEG_FS, 64, "int64", 0, 1, 0 }, { "gs_base", GDB_SEGBASE, SEG_GS, 64, "int64", 0, 1, 0 },
    { NULL }
};
static const RegRow system_rows[] = {
    { "k_gs_base", GDB_PLAIN, offsetof(X86State, kernel_gs_base), 64, "int64", 0, 1, 0 },
    { "cr0", GDB_CR0, 0, 64, "x64_cr0", 0, 1, 0 },
    { "cr2", GDB_PLAIN, offsetof(X86State, cr2), 64, "int64", 0, 1, 0 },
    { "cr3", GDB_CR3, 0, 64, "int64", 0, 1, 0 }, { "cr4", GDB_CR4, 0, 64, "x64_cr4", 0, 1, 0 },
    { "cr8", GDB_CR8, 0, 64, "int64", 0, 1, 0 }, { "efer", GDB_EFER, 0, 64, "x64_efer", 0, 1, 0 },
    { NULL }
};
static const RegRow fpu_rows[] = {
    { "st%u", GDB_ST, 0, 80, "i387_ext", 0, 8, 0 }, X87("fctrl", X87_FCTRL), X87("fstat", X87_FSTAT),
    X87("ftag", X87_FTAG), X87("fiseg", X87_FISEG), X87("fioff", X87_FIOFF), X87("foseg", X87_FOSEG),
    X87("fooff", X87_FOOFF), X87("fop", X87_FOP),
    { NULL }
};
static const RegRow sse_rows[] = {
    { "xmm%u", GDB_XMM, 0, 128, "vec128", 0, 16, 0 }, { "mxcsr", GDB_MXCSR, 0, 32, "x64_mxcsr", 0, 1, 0 },
    { NULL }
};
static const RegRow avx_rows[] = { { "ymm%uh", GDB_YMMH, 0, 128, "uint128", 0, 16, XFEATURE_AVX }, { NULL } };
static const RegRow avx512_rows[] = {
    { "k%u", GDB_MASK, 0, 64, "uint64", 0, 8, AVX512 }, { "zmm%uh", GDB_ZMMH, 0, 256, "v2ui128", 0, 32, AVX512 },
    { "xmm%u", GDB_XMM, 16, 128, "vec128", 16, 16, AVX512 }, { "ymm%uh", GDB_YMMH, 16, 128, "uint128", 16, 16, AVX512 },
    { NULL }
};
static const RegRow pkeys_rows[] = { { "pkru", GDB_PKRU, 0, 32, "uint32", 0, 1, XFEATURE_PKRU }, { NULL } };

/* In order of register numbers; rows of one feature may be apart. */
static const struct RegPart {
    const char *feature;
    const RegRow *rows;
} parts[] = {
    { "core", core_rows }, { "segments", base_rows }, { "system", system_rows }, { "core", fpu_rows },
    { "sse", sse_rows }, { "avx", avx_rows }, { "avx512", avx512_rows }, { "pkeys", pkeys_rows },
};

/* ---- from a number to a register ---- */

typedef struct Reg {
    const RegRow *row;
    unsigned index;                 /* row->index + its place in the row */
} Reg;

static bool row_shows(const X86CPU *cpu, const RegRow *row)
{
    return (cpu->model->xcr0_allowed & row->xfeatures) == row->xfeatures;
}

static bool reg_find(const X86CPU *cpu, unsigned n, Reg *r)
{
    for (unsigned p = 0; p < G_N_ELEMENTS(parts); p++) {
        for (const RegRow *row = parts[p].rows; row->name; row++) {
            if (!row_shows(cpu, row)) {
                continue;
            }
            if (n < row->count) {
                *r = (Reg){ row, row->index + n };
                return true;
            }
            n -= row->count;
        }
    }
    return false;
}

unsigned x86_gdb_reg_size(const X86CPU *cpu, unsigned n)
{
    Reg r;

    return reg_find(cpu, n, &r) ? r.row->bits / 8 : 0;
}

/* ---- x87 ---- */

/* Two bits a physical register: 0 valid, 1 zero, 2 special, 3 empty. */
static unsigned x87_tag(const X86XSave *xs, unsigned n)
{
    const uint8_t *st = xs->st[(n - (xs->fsw >> 11 & 7)) & 7];
    uint64_t mantissa;
    uint16_t exponent;

    memcpy(&mantissa, st, 8);
    memcpy(&exponent, st + 8, 2);
    exponent &= 0x7fff;
    if (!(xs->ftw >> n & 1)) {
        return 3;
    }
    if (!exponent && !mantissa) {
        return 1;
    }
    return !exponent || exponent == 0x7fff || !(mantissa >> 63) ? 2 : 0;
}

static uint32_t x87_read(const X86XSave *xs, unsigned index)
{
    uint32_t tags = 0;

    switch (index) {
    case X87_FCTRL: return xs->fcw;
    case X87_FSTAT: return xs->fsw;
    case X87_FTAG:
        for (unsigned n = 0; n < 8; n++) {
            tags |= x87_tag(xs, n) << 2 * n;
        }
        return tags;
    case X87_FIOFF: return xs->fip;
    case X87_FOOFF: return xs->fdp;
    case X87_FISEG: return xs->fip >> 32 & 0xffff;
    case X87_FOSEG: return xs->fdp >> 32 & 0xffff;
    default: return xs->fop;
    }
}

static void x87_write(X86XSave *xs, unsigned index, uint32_t v)
{
    switch (index) {
    case X87_FCTRL: xs->fcw = (v & 0x1f3f) | 0x40; break;
    case X87_FSTAT: xs->fsw = v; break;
    case X87_FTAG:
        xs->ftw = 0;
        for (unsigned n = 0; n < 8; n++) {
            xs->ftw |= ((v >> 2 * n & 3) != 3) << n;
        }
        break;
    case X87_FIOFF: xs->fip = (xs->fip & ~0xffffffffull) | v; break;
    case X87_FOOFF: xs->fdp = (xs->fdp & ~0xffffffffull) | v; break;
    case X87_FISEG: xs->fip = (uint32_t)xs->fip | (uint64_t)(v & 0xffff) << 32; break;
    case X87_FOSEG: xs->fdp = (uint32_t)xs->fdp | (uint64_t)(v & 0xffff) << 32; break;
    default: xs->fop = v & 0x7ff; break;
    }
}

/* ---- parts of the XSAVE image ---- */

/* Where a register lies that the image holds as plain bytes, and the component it belongs to; NULL: another kind. */
static uint8_t *image_place(X86XSave *xs, const Reg *r, uint32_t *component)
{
    unsigned n = r->index;

    switch (r->row->kind) {
    case GDB_ST:
        *component = XFEATURE_X87;
        return xs->st[n];
    case GDB_XMM:
        *component = n < 16 ? XFEATURE_SSE : XFEATURE_HI16;
        return n < 16 ? xs->xmm[n] : xs->hi16[n - 16];
    case GDB_YMMH:
        *component = n < 16 ? XFEATURE_AVX : XFEATURE_HI16;
        return n < 16 ? xs->ymmh[n] : xs->hi16[n - 16] + 16;
    case GDB_ZMMH:
        *component = n < 16 ? XFEATURE_ZMMH : XFEATURE_HI16;
        return n < 16 ? xs->zmmh[n] : xs->hi16[n - 16] + 32;
    case GDB_MASK:
        *component = XFEATURE_OPMASK;
        return (uint8_t *)&xs->k[n];
    case GDB_PKRU:
        *component = XFEATURE_PKRU;
        return (uint8_t *)&xs->pkru;
    default:
        return NULL;
    }
}

/* A component that was in its initial state is all zero before one register of it is set. */
static void component_wake(X86XSave *xs, uint32_t component)
{
    static const struct { uint32_t bit; unsigned offset, size; } places[] = {
        { XFEATURE_SSE, offsetof(X86XSave, xmm), sizeof(((X86XSave *)0)->xmm) },
        { XFEATURE_AVX, offsetof(X86XSave, ymmh), sizeof(((X86XSave *)0)->ymmh) },
        { XFEATURE_OPMASK, offsetof(X86XSave, k), sizeof(((X86XSave *)0)->k) },
        { XFEATURE_ZMMH, offsetof(X86XSave, zmmh), sizeof(((X86XSave *)0)->zmmh) },
        { XFEATURE_HI16, offsetof(X86XSave, hi16), sizeof(((X86XSave *)0)->hi16) },
        { XFEATURE_PKRU, offsetof(X86XSave, pkru), sizeof(((X86XSave *)0)->pkru) },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        if (places[i].bit == component && !(xs->xstate_bv & component)) {
            memset((uint8_t *)xs + places[i].offset, 0, places[i].size);
        }
    }
    xs->xstate_bv |= component;
}

/* ---- reading ---- */

static uint64_t plain_read(X86CPU *cpu, const Reg *r)
{
    const X86State *st = cpu->st;
    bool wide = st->mode & MODE_CS64;

    switch (r->row->kind) {
    case GDB_GPR:
        return wide ? st->regs[r->index] : r->index < 8 ? (uint32_t)st->regs[r->index] : 0;
    case GDB_RIP: return wide ? st->rip : (uint32_t)st->rip;
    case GDB_FLAGS: return st->rflags;
    case GDB_SELECTOR: return st->seg[r->index].selector;
    case GDB_SEGBASE: return st->seg[r->index].base;
    case GDB_PLAIN: return *(const uint64_t *)((const uint8_t *)st + r->index);
    case GDB_CR0: return st->cr0;
    case GDB_CR3: return st->cr3;
    case GDB_CR4: return st->cr4;
    case GDB_CR8: return apic_get_tpr(cpu) >> 4;
    case GDB_EFER: return st->efer;
    case GDB_MXCSR: return st->xs.mxcsr;
    default: return x87_read(&st->xs, r->index);
    }
}

unsigned x86_gdb_reg_read(X86CPU *cpu, unsigned n, uint8_t buf[X86_GDB_REG_MAX])
{
    uint32_t component;
    const uint8_t *at;
    unsigned size;
    Reg r;

    if (!reg_find(cpu, n, &r)) {
        return 0;
    }
    size = r.row->bits / 8;
    at = image_place(&cpu->st->xs, &r, &component);
    if (!at) {
        uint64_t v = plain_read(cpu, &r);

        memcpy(buf, &v, size);
    } else if (cpu->st->xs.xstate_bv & component) {
        memcpy(buf, at, size);
    } else {
        memset(buf, 0, size);
    }
    return size;
}

/* ---- writing ---- */

static bool cr0_write(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;
    uint64_t defined = CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_NE | CR0_WP | CR0_AM | CR0_NW | CR0_CD | CR0_PG;

    v |= CR0_ET;
    if ((v & ~(defined | CR0_ET)) || ((v ^ st->cr0) & (CR0_PE | CR0_PG)) || (v & (CR0_NW | CR0_CD)) == CR0_NW) {
        return false;
    }
    st->cr0 = v;
    return true;
}

static bool cr3_write(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;
    bool pae = (st->cr0 & CR0_PG) && (st->cr4 & CR4_PAE) && !x86_long_mode(st);

    if (x86_long_mode(st) ? v & x86_cr3_reserved(cpu) : v >> 32) {
        return false;
    }
    x86_tlb_flush_memory(cpu);
    if (pae && !x86_load_pdptes(cpu, v)) {
        return false;
    }
    st->cr3 = v;
    return true;
}

static bool cr4_write(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;

    if ((v & ~x86_cr4_allowed(cpu)) || ((v ^ st->cr4) & (CR4_PAE | CR4_LA57 | CR4_PCIDE))) {
        return false;
    }
    st->cr4 = v;
    return true;
}

static bool efer_write(X86CPU *cpu, uint64_t v)
{
    X86State *st = cpu->st;

    if ((v ^ st->efer) & ~(uint64_t)(EFER_SCE | EFER_NXE)) {
        return false;
    }
    st->efer = v;
    return true;
}

/* A descriptor by the debugger's way to memory: no fault, no accessed bit. */
static bool descriptor_get(X86CPU *cpu, uint16_t sel, X86Desc *d)
{
    X86State *st = cpu->st;
    const X86Segment *ldt = &st->ldt;
    uint64_t base = sel & 4 ? ldt->base : st->gdt.base;
    uint32_t limit = sel & 4 ? (ldt->attr & DESC_P ? ldt->limit : 0) : st->gdt.limit;

    return (sel | 7u) <= limit && x86_debug_read(cpu, base + (sel & ~7u), d, sizeof(*d))
        && (d->hi & DESC_P) && (d->hi & DESC_S);
}

static bool selector_load(X86CPU *cpu, int seg, uint16_t sel)
{
    X86State *st = cpu->st;
    unsigned cpl = x86_cpl(st), dpl;
    bool code;
    X86Desc d;

    if (!(sel & ~3) && seg != SEG_CS && seg != SEG_SS) {
        x86_seg_set_null(cpu, seg, sel);
        return true;
    }
    if (!descriptor_get(cpu, sel, &d)) {
        return false;
    }
    code = d.hi & DESC_CODE;
    dpl = x86_desc_dpl(d);
    if (seg == SEG_CS) {
        if (!code || (d.hi & DESC_C ? dpl > cpl : dpl != cpl) || (sel & 3) != cpl
            || (x86_long_mode(st) && (d.hi & DESC_L) && (d.hi & DESC_B))) {
            return false;
        }
        x86_set_cs(cpu, sel, d, cpl);
        return true;
    }
    if (seg == SEG_SS ? code || !(d.hi & DESC_W) || dpl != cpl || (sel & 3) != cpl : code && !(d.hi & DESC_R)) {
        return false;
    }
    d.hi |= DESC_A;
    x86_seg_set(cpu, seg, sel, d);
    return true;
}

static bool selector_write(X86CPU *cpu, int seg, uint64_t sel)
{
    X86State *st = cpu->st;

    if (sel == st->seg[seg].selector) {
        return true;
    }
    if (sel > 0xffff) {
        return false;
    }
    if (st->rflags & FL_VM) {
        x86_seg_set_vm(cpu, seg, sel);
    } else if (!(st->cr0 & CR0_PE)) {
        x86_seg_set_real(cpu, seg, sel);
    } else {
        return selector_load(cpu, seg, sel);
    }
    return true;
}

static void gpr_write(X86State *st, unsigned n, uint64_t v)
{
    if (st->mode & MODE_CS64) {
        st->regs[n] = v;
    } else if (n < 8) {
        st->regs[n] = (st->regs[n] & ~0xffffffffull) | (uint32_t)v;
    }
}

static bool plain_write(X86CPU *cpu, const Reg *r, uint64_t v)
{
    enum { FLAGS_FIXED = FL_1 | FL_VM, FLAGS = FL_ARITH | FL_TF | FL_IF | FL_DF | FL_IOPL | FL_NT | FL_RF | FL_AC
           | FL_VIF | FL_VIP | FL_ID };
    X86State *st = cpu->st;

    switch (r->row->kind) {
    case GDB_GPR:
        gpr_write(st, r->index, v);
        return true;
    case GDB_RIP:
        st->rip = st->mode & MODE_CS64 ? v : (uint32_t)v;
        return true;
    case GDB_FLAGS:
        st->rflags = (st->rflags & FLAGS_FIXED) | (v & FLAGS);
        return true;
    case GDB_SELECTOR:
        return selector_write(cpu, r->index, v);
    case GDB_SEGBASE:
        if (!x86_canonical(st, v)) {
            return false;
        }
        st->seg[r->index].base = v;
        return true;
    case GDB_PLAIN:
        if (r->index == offsetof(X86State, kernel_gs_base) && !x86_canonical(st, v)) {
            return false;
        }
        *(uint64_t *)((uint8_t *)st + r->index) = v;
        return true;
    case GDB_CR0: return cr0_write(cpu, v);
    case GDB_CR3: return cr3_write(cpu, v);
    case GDB_CR4: return cr4_write(cpu, v);
    case GDB_EFER: return efer_write(cpu, v);
    case GDB_CR8:
        if (v < 16) {
            apic_set_tpr(cpu, v << 4);
        }
        return v < 16;
    case GDB_MXCSR:
        if (!(v & ~(uint64_t)x86_mxcsr_mask(cpu))) {
            st->xs.mxcsr = v;
            return true;
        }
        return false;
    default:
        component_wake(&st->xs, XFEATURE_X87);
        x87_write(&st->xs, r->index, v);
        return true;
    }
}

bool x86_gdb_reg_write(X86CPU *cpu, unsigned n, const uint8_t *buf)
{
    uint32_t component;
    uint8_t *at;
    bool ok = true;
    Reg r;

    if (!reg_find(cpu, n, &r)) {
        return false;
    }
    at = image_place(&cpu->st->xs, &r, &component);
    if (at) {
        component_wake(&cpu->st->xs, component);
        memcpy(at, buf, r.row->bits / 8);
    } else {
        uint64_t v = 0;

        memcpy(&v, buf, r.row->bits / 8);
        ok = plain_write(cpu, &r, v);
    }
    x86_tlb_flush(cpu, true);
    x86_update_mode(cpu);
    return ok;
}

bool x86_gdb_reg_by_name(X86CPU *cpu, const char *name, uint64_t *v)
{
    uint8_t buf[X86_GDB_REG_MAX];
    unsigned n = 0;

    for (unsigned p = 0; p < G_N_ELEMENTS(parts); p++) {
        for (const RegRow *row = parts[p].rows; row->name; row++) {
            if (!row_shows(cpu, row)) {
                continue;
            }
            for (unsigned i = 0; i < row->count; i++, n++) {
                g_autofree char *digits = g_strdup_printf("%u", row->first + i);
                g_auto(GStrv) around = g_strsplit(row->name, "%u", 2);
                g_autofree char *full = g_strjoinv(row->count > 1 ? digits : "", around);

                if (row->bits <= 64 && !strcmp(full, name)) {
                    *v = 0;
                    x86_gdb_reg_read(cpu, n, buf);
                    memcpy(v, buf, row->bits / 8);
                    return true;
                }
            }
        }
    }
    return false;
}

/* ---- the target description ---- */

/* Flags types: bits by name, "-" for those without; the lowest first, "NAME:n" is n bits wide. */
static const struct FlagsType {
    const char *id;
    unsigned size;
    const char *bits;
} flags_types[] = {
    { "x64_eflags", 4, "CF - PF - AF - ZF SF TF IF DF OF IOPL:2 NT - RF VM AC VIF VIP ID" },
    { "x64_cr0", 8, "PE MP EM TS ET NE -:10 WP - AM -:10 NW CD PG" },
    { "x64_cr4", 8, "VME PVI TSD DE PSE PAE MCE PGE PCE OSFXSR OSXMMEXCPT UMIP LA57 VMXE SMXE - FSGSBASE PCIDE OSXSAVE"
      " - SMEP SMAP PKE - PKS -:3 LAM_SUP" },
    { "x64_efer", 8, "SCE -:7 LME - LMA NXE SVME LMSLE FFXSR" },
    { "x64_mxcsr", 4, "IE DE ZE OE UE PE DAZ IM DM ZM OM UM PM -:2 FZ - MM" },
};

static void xml_flags(GString *xml, const struct FlagsType *type)
{
    g_auto(GStrv) words = g_strsplit(type->bits, " ", -1);
    unsigned bit = 0;

    g_string_append_printf(xml, "<flags id=\"%s\" size=\"%u\">", type->id, type->size);
    for (char **w = words; *w; w++) {
        char *colon = strchr(*w, ':');
        unsigned width = colon ? atoi(colon + 1) : 1;

        if (colon) {
            *colon = 0;
        }
        if (**w != '-') {
            g_string_append_printf(xml, "<field name=\"%s\" start=\"%u\" end=\"%u\"/>", *w, bit, bit + width - 1);
        }
        bit += width;
    }
    g_string_append(xml, "</flags>");
}

static void xml_vector(GString *xml, const char *id, const char *type, unsigned count)
{
    g_string_append_printf(xml, "<vector id=\"%s\" type=\"%s\" count=\"%u\"/>", id, type, count);
}

static void xml_vec128(GString *xml)
{
    static const struct { const char *field, *id, *type; unsigned count; } views[] = {
        { "v4_float", "v4f", "ieee_single", 4 }, { "v2_double", "v2d", "ieee_double", 2 },
        { "v16_int8", "v16i8", "int8", 16 }, { "v8_int16", "v8i16", "int16", 8 }, { "v4_int32", "v4i32", "int32", 4 },
        { "v2_int64", "v2i64", "int64", 2 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(views); i++) {
        xml_vector(xml, views[i].id, views[i].type, views[i].count);
    }
    g_string_append(xml, "<union id=\"vec128\">");
    for (unsigned i = 0; i < G_N_ELEMENTS(views); i++) {
        g_string_append_printf(xml, "<field name=\"%s\" type=\"%s\"/>", views[i].field, views[i].id);
    }
    g_string_append(xml, "<field name=\"uint128\" type=\"uint128\"/></union>");
}

/* Types hold in their feature only. */
static void xml_types(GString *xml, const RegRow *rows)
{
    bool vec128 = false, v2ui128 = false;

    for (const RegRow *row = rows; row->name; row++) {
        vec128 |= !strcmp(row->type, "vec128");
        v2ui128 |= !strcmp(row->type, "v2ui128");
        for (unsigned i = 0; i < G_N_ELEMENTS(flags_types); i++) {
            if (!strcmp(row->type, flags_types[i].id)) {
                xml_flags(xml, &flags_types[i]);
            }
        }
    }
    if (vec128) {
        xml_vec128(xml);
    }
    if (v2ui128) {
        xml_vector(xml, "v2ui128", "uint128", 2);
    }
}

static void xml_regs(GString *xml, const RegRow *rows, unsigned number)
{
    for (const RegRow *row = rows; row->name; row++) {
        for (unsigned i = 0; i < row->count; i++, number++) {
            g_autofree char *name = row->count > 1 ? g_strdup(row->name) : NULL;
            char *digits = name ? strstr(name, "%u") : NULL;

            g_string_append(xml, "<reg name=\"");
            if (digits) {
                *digits = 0;
                g_string_append_printf(xml, "%s%u%s", name, row->first + i, digits + 2);
            } else {
                g_string_append(xml, row->name);
            }
            g_string_append_printf(xml, "\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>", row->bits, row->type, number);
        }
    }
}

static unsigned rows_count(const RegRow *rows)
{
    unsigned n = 0;

    for (; rows->name; rows++) {
        n += rows->count;
    }
    return n;
}

/* All parts of one feature, the first of them being parts[p]. */
static void xml_feature(GString *xml, const X86CPU *cpu, unsigned p, unsigned number)
{
    g_string_append_printf(xml, "<feature name=\"org.gnu.gdb.i386.%s\">", parts[p].feature);
    for (unsigned q = p; q < G_N_ELEMENTS(parts); q++) {
        if (!row_shows(cpu, parts[q].rows)) {
            continue;
        }
        if (!strcmp(parts[q].feature, parts[p].feature)) {
            xml_types(xml, parts[q].rows);
            xml_regs(xml, parts[q].rows, number);
        }
        number += rows_count(parts[q].rows);
    }
    g_string_append(xml, "</feature>");
}

static bool feature_seen(unsigned p)
{
    for (unsigned q = 0; q < p; q++) {
        if (!strcmp(parts[q].feature, parts[p].feature)) {
            return true;
        }
    }
    return false;
}

char *x86_gdb_target_xml(const X86CPU *cpu)
{
    GString *xml = g_string_new("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
                                "<architecture>i386:x86-64</architecture>");
    unsigned number = 0;

    for (unsigned p = 0; p < G_N_ELEMENTS(parts); p++) {
        if (!row_shows(cpu, parts[p].rows)) {
            continue;
        }
        if (!feature_seen(p)) {
            xml_feature(xml, cpu, p, number);
        }
        number += rows_count(parts[p].rows);
    }
    g_string_append(xml, "</target>");
    return g_string_free(xml, FALSE);
}
