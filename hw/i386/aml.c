/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AML terms and resource descriptors; contract in include/hw/i386/aml.h, encodings from ACPI 6.4 ch. 20.2 and 6.4.
 *
 * A term with a package length is written without it first; aml_end() knows its size then and makes room for it.
 */
#include "hw/i386/aml.h"

#include <string.h>

enum { OP_ZERO = 0x00, OP_ONE = 0x01, OP_NAME = 0x08, OP_BYTE = 0x0a, OP_WORD = 0x0b, OP_DWORD = 0x0c, OP_STRING = 0x0d,
       OP_QWORD = 0x0e, OP_SCOPE = 0x10, OP_BUFFER = 0x11, OP_PACKAGE = 0x12, OP_METHOD = 0x14, OP_DUAL_NAME = 0x2e,
       OP_MULTI_NAME = 0x2f, OP_EXT = 0x5b, OP_LOCAL0 = 0x60, OP_ARG0 = 0x68, OP_IF = 0xa0, OP_ELSE = 0xa1 };
enum { EXT_REGION = 0x80, EXT_FIELD = 0x81, EXT_DEVICE = 0x82 };

static void put(GByteArray *out, uint64_t v, int bytes)
{
    uint8_t le[8];

    for (int i = 0; i < bytes; i++) {
        le[i] = v >> 8 * i;
    }
    g_byte_array_append(out, le, bytes);
}

static void aml_byte(Aml *a, uint8_t v)
{
    put(a->out, v, 1);
}

/* ---- names ---- */

static void name_segment(Aml *a, const char *text, size_t len)
{
    uint8_t seg[4] = { '_', '_', '_', '_' };

    g_assert(len >= 1 && len <= 4);
    memcpy(seg, text, len);
    g_byte_array_append(a->out, seg, 4);
}

void aml_path(Aml *a, const char *name)
{
    g_auto(GStrv) parts = NULL;
    guint n;

    while (*name == '\\' || *name == '^') {
        aml_byte(a, *name++);
    }
    parts = g_strsplit(name, ".", -1);
    n = g_strv_length(parts);
    if (!n) {
        aml_byte(a, 0);
    } else if (n == 2) {
        aml_byte(a, OP_DUAL_NAME);
    } else if (n > 2) {
        aml_byte(a, OP_MULTI_NAME);
        aml_byte(a, n);
    }
    for (guint i = 0; i < n; i++) {
        name_segment(a, parts[i], strlen(parts[i]));
    }
}

/* ---- package lengths ---- */

static void aml_begin(Aml *a)
{
    g_assert(a->depth < AML_DEPTH);
    a->open[a->depth++] = a->out->len;
}

/* The length counts its own bytes: one for up to 63, else a count of more bytes and 4 + 8n bits. */
static int pkg_length(uint32_t body, uint8_t out[4])
{
    int more = body + 1 <= 0x3f ? 0 : body + 2 <= 0xfff ? 1 : body + 3 <= 0xfffff ? 2 : 3;
    uint32_t len = body + 1 + more;

    out[0] = more ? more << 6 | (len & 15) : len;
    for (int i = 1; i <= more; i++) {
        out[i] = len >> (8 * i - 4);
    }
    return 1 + more;
}

void aml_end(Aml *a)
{
    guint at = a->open[--a->depth], body = a->out->len - at;
    uint8_t len[4];
    int n = pkg_length(body, len);

    g_byte_array_set_size(a->out, a->out->len + n);
    memmove(a->out->data + at + n, a->out->data + at, body);
    memcpy(a->out->data + at, len, n);
}

void aml_scope(Aml *a, const char *name)
{
    aml_byte(a, OP_SCOPE);
    aml_begin(a);
    aml_path(a, name);
}

void aml_device(Aml *a, const char *name)
{
    aml_byte(a, OP_EXT);
    aml_byte(a, EXT_DEVICE);
    aml_begin(a);
    aml_path(a, name);
}

void aml_method(Aml *a, const char *name, int args, bool serialized)
{
    aml_byte(a, OP_METHOD);
    aml_begin(a);
    aml_path(a, name);
    aml_byte(a, args | (serialized ? 8 : 0));
}

void aml_package(Aml *a, int elements)
{
    aml_byte(a, OP_PACKAGE);
    aml_begin(a);
    aml_byte(a, elements);
}

void aml_if(Aml *a)
{
    aml_byte(a, OP_IF);
    aml_begin(a);
}

void aml_else(Aml *a)
{
    aml_byte(a, OP_ELSE);
    aml_begin(a);
}

void aml_field(Aml *a, const char *region, uint8_t flags)
{
    aml_byte(a, OP_EXT);
    aml_byte(a, EXT_FIELD);
    aml_begin(a);
    aml_path(a, region);
    aml_byte(a, flags);
}

void aml_field_unit(Aml *a, const char *name, uint32_t bits)
{
    if (name) {
        name_segment(a, name, strlen(name));
    } else {
        aml_byte(a, 0);
    }
    g_assert(bits < 0xfff);
    if (bits <= 0x3f) {
        aml_byte(a, bits);
    } else {
        aml_byte(a, 1 << 6 | (bits & 15));
        aml_byte(a, bits >> 4);
    }
}

/* ---- values ---- */

void aml_int(Aml *a, uint64_t v)
{
    if (v <= 1) {
        aml_byte(a, v ? OP_ONE : OP_ZERO);
    } else if (v <= UINT8_MAX) {
        aml_byte(a, OP_BYTE);
        put(a->out, v, 1);
    } else if (v <= UINT16_MAX) {
        aml_byte(a, OP_WORD);
        put(a->out, v, 2);
    } else if (v <= UINT32_MAX) {
        aml_byte(a, OP_DWORD);
        put(a->out, v, 4);
    } else {
        aml_byte(a, OP_QWORD);
        put(a->out, v, 8);
    }
}

void aml_string(Aml *a, const char *text)
{
    aml_byte(a, OP_STRING);
    g_byte_array_append(a->out, (const uint8_t *)text, strlen(text) + 1);
}

void aml_buffer(Aml *a, const void *data, uint32_t len)
{
    aml_byte(a, OP_BUFFER);
    aml_begin(a);
    aml_int(a, len);
    g_byte_array_append(a->out, data, len);
    aml_end(a);
}

/* Three letters in five bits each and four hexadecimal digits, big-endian. */
void aml_eisaid(Aml *a, const char *id)
{
    uint32_t v = (id[0] - 0x40) << 26 | (id[1] - 0x40) << 21 | (id[2] - 0x40) << 16;

    for (int i = 0; i < 4; i++) {
        v |= g_ascii_xdigit_value(id[3 + i]) << (12 - 4 * i);
    }
    aml_byte(a, OP_DWORD);
    put(a->out, GUINT32_SWAP_LE_BE(v), 4);
}

/* The first three groups are stored with their bytes swapped. */
void aml_uuid(Aml *a, const char *uuid)
{
    static const uint8_t digit_at[16] = { 6, 4, 2, 0, 11, 9, 16, 14, 19, 21, 24, 26, 28, 30, 32, 34 };
    uint8_t bytes[16];

    for (int i = 0; i < 16; i++) {
        const char *p = uuid + digit_at[i];

        bytes[i] = g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]);
    }
    aml_buffer(a, bytes, sizeof(bytes));
}

void aml_local(Aml *a, int n)
{
    aml_byte(a, OP_LOCAL0 + n);
}

void aml_arg(Aml *a, int n)
{
    aml_byte(a, OP_ARG0 + n);
}

void aml_name(Aml *a, const char *name)
{
    aml_byte(a, OP_NAME);
    aml_path(a, name);
}

void aml_name_int(Aml *a, const char *name, uint64_t v)
{
    aml_name(a, name);
    aml_int(a, v);
}

void aml_name_eisaid(Aml *a, const char *name, const char *id)
{
    aml_name(a, name);
    aml_eisaid(a, id);
}

void aml_name_string(Aml *a, const char *name, const char *text)
{
    aml_name(a, name);
    aml_string(a, text);
}

void aml_op(Aml *a, uint8_t op)
{
    aml_byte(a, op);
}

void aml_nowhere(Aml *a)
{
    aml_byte(a, OP_ZERO);
}

void aml_region(Aml *a, const char *name, uint8_t space, uint64_t offset, uint64_t len)
{
    aml_byte(a, OP_EXT);
    aml_byte(a, EXT_REGION);
    aml_path(a, name);
    aml_byte(a, space);
    aml_int(a, offset);
    aml_int(a, len);
}

/* ---- resources ---- */

void aml_res_begin(AmlResources *r)
{
    r->bytes = g_byte_array_new();
}

void aml_res_io(AmlResources *r, uint16_t base, uint8_t align, uint8_t len)
{
    put(r->bytes, 0x47, 1);
    put(r->bytes, 1, 1);                /* decodes 16 bits */
    put(r->bytes, base, 2);
    put(r->bytes, base, 2);
    put(r->bytes, align, 1);
    put(r->bytes, len, 1);
}

void aml_res_irq(AmlResources *r, unsigned irq)
{
    put(r->bytes, 0x22, 1);
    put(r->bytes, 1u << irq, 2);
}

void aml_res_interrupts(AmlResources *r, const uint32_t *gsis, int n)
{
    put(r->bytes, 0x89, 1);
    put(r->bytes, 2 + 4 * n, 2);
    put(r->bytes, 0x09, 1);             /* consumer, level, active high, shared */
    put(r->bytes, n, 1);
    for (int i = 0; i < n; i++) {
        put(r->bytes, gsis[i], 4);
    }
}

void aml_res_interrupt(AmlResources *r, uint32_t gsi, bool edge)
{
    put(r->bytes, 0x89, 1);
    put(r->bytes, 6, 2);
    put(r->bytes, edge ? 0x03 : 0x01, 1);       /* consumer, active high */
    put(r->bytes, 1, 1);
    put(r->bytes, gsi, 4);
}

void aml_res_memory32(AmlResources *r, uint32_t base, uint32_t len, bool writable)
{
    put(r->bytes, 0x86, 1);
    put(r->bytes, 9, 2);
    put(r->bytes, writable, 1);
    put(r->bytes, base, 4);
    put(r->bytes, len, 4);
}

/* An address space descriptor: word, dword or qword fields; ends fixed, positive decode, produced by the bridge. */
static void res_window(AmlResources *r, int bytes, uint8_t type, uint8_t type_flags, uint64_t first, uint64_t last)
{
    put(r->bytes, bytes == 2 ? 0x88 : bytes == 4 ? 0x87 : 0x8a, 1);
    put(r->bytes, 3 + 5 * bytes, 2);
    put(r->bytes, type, 1);
    put(r->bytes, 0x0c, 1);
    put(r->bytes, type_flags, 1);
    put(r->bytes, 0, bytes);
    put(r->bytes, first, bytes);
    put(r->bytes, last, bytes);
    put(r->bytes, 0, bytes);
    put(r->bytes, last - first + 1, bytes);
}

void aml_res_bus_window(AmlResources *r, uint16_t first, uint16_t last)
{
    res_window(r, 2, 2, 0, first, last);
}

void aml_res_io_window(AmlResources *r, uint16_t first, uint16_t last)
{
    res_window(r, 2, 1, 0x03, first, last);
}

void aml_res_memory_window(AmlResources *r, uint64_t first, uint64_t last, bool cacheable)
{
    res_window(r, last > UINT32_MAX ? 8 : 4, 0, 1 | (cacheable ? 2 : 0), first, last);
}

void aml_res_end(AmlResources *r, Aml *a)
{
    put(r->bytes, 0x79, 1);             /* end tag; a checksum of 0 counts as right */
    put(r->bytes, 0, 1);
    aml_buffer(a, r->bytes->data, r->bytes->len);
    g_byte_array_free(r->bytes, TRUE);
}
