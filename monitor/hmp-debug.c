/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitor for people as a debugger: `gdbserver`, `print`, `x`, `xp`, and `info` about a CPU and memory.
 *
 * They look at CPU 0, or at all where that can be asked; its state is brought here first, which a running CPU survives.
 * Left out: instructions (x/i). Main loop thread, machine lock. Test: tests/gdb/test-protocol.py.
 */
#include <inttypes.h>
#include <string.h>

#include "gdbstub/gdbstub.h"
#include "monitor/monitor-int.h"
#include "system/cpus.h"
#include "target/i386/debug.h"
#include "target/i386/gdb.h"

void hmp_gdbserver(char **words, GString *out)
{
    const char *device = words[0] ? words[0] : "tcp::1234";
    Error *err = NULL;

    if (!gdbstub_start(device, &err)) {
        g_string_append_printf(out, "Could not open gdbserver on device '%s': %s\n", device, error_text(err));
        error_free(err);
    } else if (!strcmp(device, "none")) {
        g_string_append(out, "Disabled gdbserver\n");
    } else {
        g_string_append_printf(out, "Waiting for gdb connection on device '%s'\n", device);
    }
}

/* ---- info ---- */

typedef void PrintFn(X86CPU *cpu, GString *out);
typedef struct PrintWork {
    PrintFn *fn;
    GString *out;
} PrintWork;

static void print_here(VCpu *cpu, void *opaque)
{
    PrintWork *work = opaque;

    work->fn(X86_CPU(cpu), work->out);
}

/* On the vCPU's own thread, between two instructions. */
static void print_cpu(VCpu *cpu, PrintFn *fn, GString *out)
{
    PrintWork work = { fn, out };

    vcpu_get_state(cpu);
    vcpu_run_sync(cpu, print_here, &work);
}

static void print_first(PrintFn *fn, GString *out)
{
    if (vcpu_count()) {
        print_cpu(vcpu_get(0), fn, out);
    } else {
        g_string_append(out, "No CPU available\n");
    }
}

void hmp_info_registers(char **words, GString *out)
{
    bool all = words[0] && !strcmp(words[0], "-a");

    if (!vcpu_count()) {
        g_string_append(out, "No CPU available\n");
    }
    for (int i = 0; i < vcpu_count() && (all || i == 0); i++) {
        g_string_append_printf(out, "\nCPU#%d\n", i);
        print_cpu(vcpu_get(i), x86_print_registers, out);
    }
}

void hmp_info_lapic(char **words, GString *out)
{
    int i = words[0] ? atoi(words[0]) : 0;

    if (i >= 0 && i < vcpu_count()) {
        print_cpu(vcpu_get(i), x86_print_apic, out);
    } else {
        g_string_append(out, "No local APIC\n");
    }
}

void hmp_info_tlb(char **words, GString *out)
{
    print_first(x86_print_tlb, out);
}

void hmp_info_mem(char **words, GString *out)
{
    print_first(x86_print_mem, out);
}

static void print_tree_line(void *opaque, const char *line)
{
    g_string_append_printf(opaque, "%s\n", line);
}

void hmp_info_mtree(char **words, GString *out)
{
    memory_print_tree(print_tree_line, out, words[0] && !strcmp(words[0], "-f"));
}

/* ---- expressions: numbers, $register, ( ) + - * / % & | ^ ~; all one precedence level below * / % ---- */

typedef struct Expr {
    const char *at;
    const char *error;              /* NULL: none yet */
    unsigned depth;
} Expr;

static void expr_space(Expr *e)
{
    while (*e->at == ' ') {
        e->at++;
    }
}

static bool expr_take(Expr *e, char c)
{
    expr_space(e);
    if (*e->at != c) {
        return false;
    }
    e->at++;
    return true;
}

static uint64_t expr_sum(Expr *e);

static uint64_t expr_register(Expr *e)
{
    size_t n = strspn(e->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    g_autofree char *name = g_strndup(e->at, n);
    uint64_t v = 0;

    e->at += n;
    if (!vcpu_count()) {
        e->error = "No CPU available";
        return 0;
    }
    vcpu_get_state(vcpu_get(0));
    if (!x86_gdb_reg_by_name(X86_CPU(vcpu_get(0)), !strcmp(name, "pc") ? "rip" : name, &v)) {
        e->error = "unknown register";
    }
    return v;
}

static uint64_t expr_unary(Expr *e)
{
    uint64_t v;
    char *end;

    if (++e->depth > 100) {
        e->error = "expression too deep";
        return 0;
    }
    if (expr_take(e, '-')) {
        return -expr_unary(e);
    }
    if (expr_take(e, '~')) {
        return ~expr_unary(e);
    }
    if (expr_take(e, '+')) {
        return expr_unary(e);
    }
    if (expr_take(e, '$')) {
        return expr_register(e);
    }
    if (expr_take(e, '(')) {
        v = expr_sum(e);
        e->error = e->error || expr_take(e, ')') ? e->error : "')' expected";
        return v;
    }
    v = g_ascii_strtoull(e->at, &end, 0);
    if (end == e->at) {
        e->error = "invalid char in expression";
    }
    e->at = end;
    return v;
}

static uint64_t expr_product(Expr *e)
{
    uint64_t v = expr_unary(e);

    while (!e->error) {
        bool mul = expr_take(e, '*'), div = !mul && expr_take(e, '/');
        uint64_t w;

        if (!mul && !div && !expr_take(e, '%')) {
            break;
        }
        w = expr_unary(e);
        if (!mul && !w && !e->error) {
            e->error = "division by zero";
        }
        v = mul ? v * w : !w ? 0 : div ? v / w : v % w;
    }
    return v;
}

static uint64_t expr_sum(Expr *e)
{
    uint64_t v = expr_product(e);

    while (!e->error) {
        if (expr_take(e, '+')) {
            v += expr_product(e);
        } else if (expr_take(e, '-')) {
            v -= expr_product(e);
        } else if (expr_take(e, '&')) {
            v &= expr_product(e);
        } else if (expr_take(e, '|')) {
            v |= expr_product(e);
        } else if (expr_take(e, '^')) {
            v ^= expr_product(e);
        } else {
            break;
        }
    }
    return v;
}

/* The words joined by blanks, as one expression; false: out says what is wrong. */
static bool expr_words(char **words, uint64_t *v, GString *out)
{
    g_autofree char *text = g_strjoinv(" ", words);
    Expr e = { .at = text };

    *v = expr_sum(&e);
    expr_space(&e);
    if (!e.error && *e.at) {
        e.error = "junk at the end of the expression";
    }
    if (e.error) {
        g_string_append_printf(out, "%s\n", e.error);
    }
    return !e.error;
}

/* ---- print, x, xp ---- */

typedef struct Format {
    unsigned count, size;           /* elements; bytes of one: 1, 2, 4, 8 */
    char letter;                    /* x d u o c */
} Format;

/* "/4xw" in words[0] or nothing; the number of words it took, -1: out says what is wrong. */
static int format_take(char **words, Format *f, GString *out)
{
    const char *p = words[0];
    char *end;

    if (!p || *p != '/') {
        return 0;
    }
    p++;
    if (g_ascii_isdigit(*p)) {
        f->count = MIN(strtoul(p, &end, 10), 65536);
        p = end;
    }
    for (; *p; p++) {
        const char *size = strchr("bhwg", *p);

        if (size) {
            f->size = 1u << (size - "bhwg");
        } else if (strchr("xduoc", *p)) {
            f->letter = *p;
        } else {
            g_string_append_printf(out, "invalid char in format: '%c'\n", *p);
            return -1;
        }
    }
    return 1;
}

static void print_value(GString *out, const Format *f, uint64_t v)
{
    int64_t s = (int64_t)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size);

    switch (f->letter) {
    case 'd': g_string_append_printf(out, "%" PRId64, s); break;
    case 'u': g_string_append_printf(out, "%" PRIu64, v); break;
    case 'o': g_string_append_printf(out, "%#" PRIo64, v); break;
    case 'c':
        g_string_append_printf(out, g_ascii_isprint(v & 0xff) ? "'%c'" : "'\\x%02x'", (unsigned)(v & 0xff));
        break;
    default: g_string_append_printf(out, "0x%0*" PRIx64, (int)f->size * 2, v); break;
    }
}

void hmp_print(char **words, GString *out)
{
    Format f = { 1, 8, 'x' };
    int n = format_take(words, &f, out);
    uint64_t v;

    if (n < 0 || !expr_words(words + n, &v, out)) {
        return;
    }
    if (f.letter == 'x') {
        g_string_append_printf(out, "%#" PRIx64 "\n", v);
    } else {
        print_value(out, &f, v);
        g_string_append_c(out, '\n');
    }
}

static bool memory_get(uint64_t addr, bool physical, void *buf, unsigned size)
{
    X86CPU *cpu = X86_CPU(vcpu_get(0));

    return physical ? address_space_read(cpu->vcpu.mem, addr, buf, size) == MEM_OK
        : x86_debug_read(cpu, addr, buf, size);
}

static void dump(char **words, bool physical, GString *out)
{
    Format f = { 1, 4, 'x' };
    int n = format_take(words, &f, out);
    unsigned line;
    uint64_t addr;

    if (n < 0 || !expr_words(words + n, &addr, out)) {
        return;
    }
    if (!vcpu_count()) {
        g_string_append(out, "No CPU available\n");
        return;
    }
    vcpu_get_state(vcpu_get(0));
    line = f.letter == 'c' || f.size == 1 ? 8 : f.size == 8 ? 2 : 16 / f.size;
    for (unsigned i = 0; i < f.count; i++, addr += f.size) {
        uint64_t v = 0;

        if (i % line == 0) {
            g_string_append_printf(out, "%s%016" PRIx64 ":", i ? "\n" : "", addr);
        }
        if (!memory_get(addr, physical, &v, f.size)) {
            g_string_append(out, "\nCannot access memory\n");
            return;
        }
        g_string_append_c(out, ' ');
        print_value(out, &f, v);
    }
    g_string_append_c(out, '\n');
}

void hmp_x(char **words, GString *out)
{
    dump(words, false, out);
}

void hmp_xp(char **words, GString *out)
{
    dump(words, true, out);
}
