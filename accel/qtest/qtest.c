/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The qtest protocol (see include/accel/qtest.h): one request line, one answer line, "OK ..." or
 * "FAIL ...".
 *
 * Requests: inb inw inl outb outw outl, readb..readq writeb..writeq, read write memset b64read
 * b64write, clock_step clock_set, irq_intercept_in irq_intercept_out set_irq_in, endianness,
 * module_load, and our own x-cleat-save and x-cleat-load FILE (machine state) and x-cleat-regions
 * (what there is to poke at). Changes of intercepted lines come as "IRQ raise N" and "IRQ lower N".
 * Left out: rtas (PowerPC). A request that is malformed answers FAIL and changes nothing.
 */
#include "accel/qtest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hw/irq.h"
#include "system/loop.h"
#include "system/machine.h"
#include "system/vmstate.h"
#include "util/units.h"

enum { LINES_MAX = 1024 };
/* A request may name any size; this bounds what one costs. */
#define TRANSFER_MAX (256 * MiB)

struct QTest {
    void (*send)(void *opaque, const char *line);
    void *opaque;
    GString *input;
    FILE *log;
    int64_t start_ns;               /* CLOCK_REAL */
    bool levels[LINES_MAX];         /* of intercepted lines, as last told */
    Device *intercepted;
};

typedef struct Request {
    char **words;
    int n;
} Request;

/* ---- log and answers ---- */

static void log_line(QTest *q, char direction, const char *text)
{
    int64_t us = (clock_ns(CLOCK_REAL) - q->start_ns) / 1000;

    if (q->log) {
        fprintf(q->log, "[%c +%" PRId64 ".%06d] %s", direction, us / 1000000, (int)(us % 1000000), text);
        fflush(q->log);
    }
}

static void G_GNUC_PRINTF(2, 3) answer(QTest *q, const char *fmt, ...)
{
    g_autofree char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    line = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    log_line(q, 'S', line);
    q->send(q->opaque, line);
}

/* The number in word i; false with a FAIL when it is missing or no number. */
static bool word_number(QTest *q, const Request *r, int i, uint64_t *out)
{
    if (i >= r->n) {
        answer(q, "FAIL %s needs %d words\n", r->words[0], i + 1);
        return false;
    }
    if (parse_uint(r->words[i], out) != PARSE_OK) {
        answer(q, "FAIL '%s' is no number\n", r->words[i]);
        return false;
    }
    return true;
}

static Machine *machine_or_fail(QTest *q)
{
    if (!machine_current()) {
        answer(q, "FAIL there is no machine\n");
    }
    return machine_current();
}

/* ---- single accesses ---- */

static unsigned letter_size(char letter)
{
    switch (letter) {
    case 'b':
        return 1;
    case 'w':
        return 2;
    case 'l':
        return 4;
    default:
        return 8;
    }
}

static void do_port_in(QTest *q, const Request *r)
{
    unsigned size = letter_size(r->words[0][2]);
    uint64_t addr, value;

    if (word_number(q, r, 1, &addr) && machine_or_fail(q)) {
        address_space_ld(&machine_current()->as_io, addr & 0xffff, &value, size);
        answer(q, "OK 0x%04" PRIx64 "\n", value);
    }
}

static void do_port_out(QTest *q, const Request *r)
{
    unsigned size = letter_size(r->words[0][3]);
    uint64_t addr, value;

    if (word_number(q, r, 1, &addr) && word_number(q, r, 2, &value) && machine_or_fail(q)) {
        address_space_st(&machine_current()->as_io, addr & 0xffff, value, size);
        answer(q, "OK\n");
    }
}

static void do_mem_read(QTest *q, const Request *r)
{
    unsigned size = letter_size(r->words[0][4]);
    uint64_t addr, value;

    if (word_number(q, r, 1, &addr) && machine_or_fail(q)) {
        address_space_ld(&machine_current()->as_memory, addr, &value, size);
        answer(q, "OK 0x%016" PRIx64 "\n", value);
    }
}

static void do_mem_write(QTest *q, const Request *r)
{
    unsigned size = letter_size(r->words[0][5]);
    uint64_t addr, value;

    if (word_number(q, r, 1, &addr) && word_number(q, r, 2, &value) && machine_or_fail(q)) {
        address_space_st(&machine_current()->as_memory, addr, value, size);
        answer(q, "OK\n");
    }
}

/* ---- blocks ---- */

static bool block_args(QTest *q, const Request *r, uint64_t *addr, uint64_t *len)
{
    if (!word_number(q, r, 1, addr) || !word_number(q, r, 2, len) || !machine_or_fail(q)) {
        return false;
    }
    if (!*len || *len > TRANSFER_MAX) {
        answer(q, "FAIL a length of %" PRIu64 " is not served\n", *len);
        return false;
    }
    return true;
}

static void do_read(QTest *q, const Request *r)
{
    g_autofree uint8_t *data = NULL;
    g_autoptr(GString) hex = NULL;
    uint64_t addr, len;

    if (!block_args(q, r, &addr, &len)) {
        return;
    }
    data = g_malloc(len);
    address_space_read(&machine_current()->as_memory, addr, data, len);
    hex = g_string_sized_new(2 * len + 1);
    for (uint64_t i = 0; i < len; i++) {
        g_string_append_c(hex, "0123456789abcdef"[data[i] >> 4]);
        g_string_append_c(hex, "0123456789abcdef"[data[i] & 15]);
    }
    answer(q, "OK 0x%s\n", hex->str);
}

static void do_write(QTest *q, const Request *r)
{
    g_autofree uint8_t *data = NULL;
    uint64_t addr, len;
    const char *hex;

    if (!block_args(q, r, &addr, &len)) {
        return;
    }
    if (r->n < 4 || strncmp(r->words[3], "0x", 2)) {
        answer(q, "FAIL write needs its data as 0x and hexadecimal digits\n");
        return;
    }
    hex = r->words[3] + 2;
    data = g_malloc0(len);
    for (uint64_t i = 0; i < len && hex[2 * i] && hex[2 * i + 1]; i++) {
        data[i] = (g_ascii_xdigit_value(hex[2 * i]) & 15) << 4 | (g_ascii_xdigit_value(hex[2 * i + 1]) & 15);
    }
    address_space_write(&machine_current()->as_memory, addr, data, len);
    answer(q, "OK\n");
}

static void do_memset(QTest *q, const Request *r)
{
    uint64_t addr, len, value;

    if (block_args(q, r, &addr, &len) && word_number(q, r, 3, &value)) {
        address_space_set(&machine_current()->as_memory, addr, value, len);
        answer(q, "OK\n");
    }
}

static void do_b64read(QTest *q, const Request *r)
{
    g_autofree uint8_t *data = NULL;
    g_autofree char *text = NULL;
    uint64_t addr, len;

    if (block_args(q, r, &addr, &len)) {
        data = g_malloc(len);
        address_space_read(&machine_current()->as_memory, addr, data, len);
        text = g_base64_encode(data, len);
        answer(q, "OK %s\n", text);
    }
}

static void do_b64write(QTest *q, const Request *r)
{
    g_autofree guchar *data = NULL;
    uint64_t addr, len;
    gsize got = 0;

    if (!block_args(q, r, &addr, &len)) {
        return;
    }
    data = r->n > 3 ? g_base64_decode(r->words[3], &got) : NULL;
    if (!data || got != len) {
        answer(q, "FAIL b64write: %zu bytes of data, %" PRIu64 " announced\n", (size_t)got, len);
        return;
    }
    address_space_write(&machine_current()->as_memory, addr, data, len);
    answer(q, "OK\n");
}

/* ---- time ---- */

static void do_clock_step(QTest *q, const Request *r)
{
    uint64_t ns = 0;

    if (!qtest_enabled()) {
        answer(q, "FAIL clock_step needs -accel qtest\n");
    } else if (r->n < 2) {
        answer(q, "OK %" PRId64 "\n", clock_qtest_step(-1));
    } else if (word_number(q, r, 1, &ns)) {
        answer(q, "OK %" PRId64 "\n", clock_qtest_step(ns & INT64_MAX));
    }
}

static void do_clock_set(QTest *q, const Request *r)
{
    int64_t now = clock_ns(CLOCK_VIRTUAL);
    uint64_t ns;

    if (!qtest_enabled()) {
        answer(q, "FAIL clock_set needs -accel qtest\n");
    } else if (word_number(q, r, 1, &ns)) {
        if ((int64_t)ns > now) {
            now = clock_qtest_step((int64_t)ns - now);
        }
        answer(q, "OK %" PRId64 "\n", now);
    }
}

/* ---- interrupt lines ---- */

static void line_changed(void *opaque, int n, int level)
{
    QTest *q = opaque;

    if (n < LINES_MAX && q->levels[n] != (level != 0)) {
        q->levels[n] = level != 0;
        answer(q, "IRQ %s %d\n", level ? "raise" : "lower", n);
    }
}

/* Stands between an output pin and what it was connected to. */
typedef struct OutTap {
    IrqLine line;
    Irq to;
    QTest *q;
} OutTap;

static void out_tap(void *opaque, int n, int level)
{
    OutTap *tap = opaque;

    line_changed(tap->q, n, level);
    irq_set(tap->to, level);
}

static void tap_in(QTest *q, IrqPins *pins)
{
    for (int i = 0; i < pins->count; i++) {
        pins->in[i].tap = line_changed;
        pins->in[i].tap_opaque = q;
    }
}

static void tap_out(QTest *q, IrqPins *pins)
{
    for (int i = 0; i < pins->count; i++) {
        OutTap *tap = g_new0(OutTap, 1);    /* lives as long as the process: this is a test's */

        tap->to = pins->out[i];
        tap->q = q;
        irq_init_array(&tap->line, 1, out_tap, tap);
        tap->line.n = i;
        pins->out[i] = &tap->line;
    }
}

static Device *request_device(QTest *q, const Request *r)
{
    Object *obj = r->n > 1 ? object_resolve(r->words[1]) : NULL;

    if (!obj || !object_is_a(obj, "device")) {
        answer(q, "FAIL Unknown device\n");
        return NULL;
    }
    return (Device *)obj;
}

static void do_intercept(QTest *q, const Request *r)
{
    bool in = !strcmp(r->words[0], "irq_intercept_in");
    Device *dev = request_device(q, r);
    bool any = false;

    if (!dev) {
        return;
    }
    if (q->intercepted) {
        answer(q, q->intercepted == dev ? "OK\n" : "FAIL IRQ intercept already enabled\n");
        return;
    }
    for (IrqPins *p = dev->irq_pins; p; p = p->next) {
        if ((in ? p->in != NULL : p->out != NULL) && (r->n < 3 || !g_strcmp0(p->name, r->words[2]))) {
            if (in) {
                tap_in(q, p);
            } else {
                tap_out(q, p);
            }
            any = true;
        }
    }
    if (!any) {
        answer(q, "FAIL the device has no such pins\n");
        return;
    }
    q->intercepted = dev;
    answer(q, "OK\n");
}

static void do_set_irq_in(QTest *q, const Request *r)
{
    const char *name = r->n > 2 && strcmp(r->words[2], "unnamed-gpio-in") ? r->words[2] : NULL;
    Device *dev = request_device(q, r);
    uint64_t n, level;

    if (!dev || !word_number(q, r, 3, &n) || !word_number(q, r, 4, &level)) {
        return;
    }
    for (IrqPins *p = dev->irq_pins; p; p = p->next) {
        if (p->in && !g_strcmp0(p->name, name) && n < (unsigned)p->count) {
            irq_set(&p->in[n], level);
            answer(q, "OK\n");
            return;
        }
    }
    answer(q, "FAIL the device has no such pin\n");
}

/* ---- the rest ---- */

static void do_endianness(QTest *q, const Request *r)
{
    answer(q, "OK little\n");
}

static void do_module_load(QTest *q, const Request *r)
{
    answer(q, "OK\n");              /* everything a test may ask for is built in */
}

static void do_save(QTest *q, const Request *r)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(Error) err = NULL;

    if (r->n < 2) {
        answer(q, "FAIL x-cleat-save needs a file name\n");
    } else if (!machine_state_save(bytes, true, &err)) {
        answer(q, "FAIL %s\n", error_text(err));
    } else if (!g_file_set_contents(r->words[1], (char *)bytes->data, bytes->len, NULL)) {
        answer(q, "FAIL cannot write '%s'\n", r->words[1]);
    } else {
        answer(q, "OK %u\n", bytes->len);
    }
}

static void do_load(QTest *q, const Request *r)
{
    g_autofree char *data = NULL;
    g_autoptr(Error) err = NULL;
    gsize len;

    if (r->n < 2 || !g_file_get_contents(r->words[1], &data, &len, NULL)) {
        answer(q, "FAIL x-cleat-load cannot read its file\n");
    } else if (!machine_state_load((const uint8_t *)data, len, &err)) {
        answer(q, "FAIL %s\n", error_text(err));
    } else {
        answer(q, "OK\n");
    }
}

/*
 * "io 0x70 0x2 1 1 /machine/unattached/device[3] rtc;": space, address, bytes, valid sizes (0 0:
 * any), owner, name.
 */
static void describe_region(const MemorySection *s, void *opaque)
{
    GString *out = opaque;
    g_autofree char *owner = s->mr->owner ? object_path(s->mr->owner) : g_strdup("-");

    if (s->mr->ops && !s->mr->ram) {
        g_string_append_printf(out, " 0x%" PRIx64 " 0x%" PRIx64 " %u %u %s %s;", s->addr, s->size,
                               s->mr->ops->valid.min, s->mr->ops->valid.max, owner, s->mr->name);
    }
}

static void do_regions(QTest *q, const Request *r)
{
    g_autoptr(GString) io = g_string_new(NULL), mem = g_string_new(NULL);

    if (machine_or_fail(q)) {
        address_space_foreach(&machine_current()->as_io, describe_region, io);
        address_space_foreach(&machine_current()->as_memory, describe_region, mem);
        answer(q, "OK io:%s mem:%s\n", io->str, mem->str);
    }
}

typedef struct Verb {
    const char *name;
    void (*fn)(QTest *q, const Request *r);
} Verb;

static const Verb verbs[] = {
    { "inb", do_port_in }, { "inw", do_port_in }, { "inl", do_port_in },
    { "outb", do_port_out }, { "outw", do_port_out }, { "outl", do_port_out },
    { "readb", do_mem_read }, { "readw", do_mem_read }, { "readl", do_mem_read }, { "readq", do_mem_read },
    { "writeb", do_mem_write }, { "writew", do_mem_write }, { "writel", do_mem_write }, { "writeq", do_mem_write },
    { "read", do_read }, { "write", do_write }, { "memset", do_memset },
    { "b64read", do_b64read }, { "b64write", do_b64write },
    { "clock_step", do_clock_step }, { "clock_set", do_clock_set },
    { "irq_intercept_in", do_intercept }, { "irq_intercept_out", do_intercept }, { "set_irq_in", do_set_irq_in },
    { "endianness", do_endianness }, { "module_load", do_module_load },
    { "x-cleat-regions", do_regions }, { "x-cleat-save", do_save }, { "x-cleat-load", do_load },
};

static void carry_out(QTest *q, char *line)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \r", -1);
    Request r = { .words = words };
    int n = 0;

    for (char **w = words; *w; w++) {       /* drop what doubled blanks leave */
        if (**w) {
            words[n++] = *w;
        } else {
            g_free(*w);
        }
    }
    words[n] = NULL;
    r.n = n;
    if (!n) {
        return;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (!strcmp(words[0], verbs[i].name)) {
            verbs[i].fn(q, &r);
            return;
        }
    }
    answer(q, "FAIL Unknown command '%s'\n", words[0]);
}

void qtest_feed(QTest *q, const char *bytes, size_t len)
{
    char *end;

    g_string_append_len(q->input, bytes, len);
    while ((end = strchr(q->input->str, '\n'))) {
        size_t n = end - q->input->str;
        g_autofree char *line = g_strndup(q->input->str, n);
        g_autofree char *logged = g_strdup_printf("%s\n", line);

        g_string_erase(q->input, 0, n + 1);
        log_line(q, 'R', logged);
        carry_out(q, line);
    }
}

QTest *qtest_new(void (*send)(void *opaque, const char *line), void *opaque)
{
    QTest *q = g_new0(QTest, 1);

    q->send = send;
    q->opaque = opaque;
    q->input = g_string_new(NULL);
    q->start_ns = clock_ns(CLOCK_REAL);
    return q;
}

void qtest_free(QTest *q)
{
    if (q->log && q->log != stderr) {
        fclose(q->log);
    }
    g_string_free(q->input, TRUE);
    g_free(q);
}

bool qtest_log_to(QTest *q, const char *path, Error **errp)
{
    q->log = !path ? stderr : strcmp(path, "none") ? fopen(path, "w+") : NULL;
    if (path && strcmp(path, "none") && !q->log) {
        error_set(errp, "-qtest-log: cannot open '%s'", path);
        return false;
    }
    return true;
}
