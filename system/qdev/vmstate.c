/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saving and loading by table; the stream's form is in include/system/vmstate.h,
 * docs/devel/vmstate.rst in words.
 *
 * All numbers in the stream are little-endian. A section is [u8 n][name][u32 version][u32
 * length][fields]; a field is [u8 n] [name][u8 kind][u32 count][u32 length][bytes]; a struct
 * field's bytes are, per element, [u32 length][fields]. Loading judges every length before it
 * reads: a stream may come from anywhere. Machine lock. Test: test-vmstate.c.
 */
#include "system/vmstate.h"

#include <inttypes.h>
#include <string.h>

#include "system/loop.h"

/* ---- writing ---- */

static void put_u32(GByteArray *out, uint32_t v)
{
    uint8_t b[4] = { v, v >> 8, v >> 16, v >> 24 };

    g_byte_array_append(out, b, 4);
}

static void put_name(GByteArray *out, const char *name)
{
    uint8_t n = strlen(name);

    g_byte_array_append(out, &n, 1);
    g_byte_array_append(out, (const uint8_t *)name, n);
}

/* Leaves room for a u32 length and returns where. */
static guint begin_length(GByteArray *out)
{
    put_u32(out, 0);
    return out->len - 4;
}

static void end_length(GByteArray *out, guint at)
{
    uint32_t n = out->len - at - 4;
    uint8_t b[4] = { n, n >> 8, n >> 16, n >> 24 };

    memcpy(out->data + at, b, 4);
}

static bool field_is_needed(const VMField *f, const void *opaque)
{
    return !f->needed || f->needed(opaque);
}

static void save_fields(const VMState *vms, void *opaque, GByteArray *out);

static void save_element(const VMField *f, uint8_t *at, GByteArray *out)
{
    if (f->kind == VM_STRUCT) {
        guint len = begin_length(out);

        save_fields(f->sub, at, out);
        end_length(out, len);
    } else if (f->kind == VM_TIMER) {
        const Timer *t = (const Timer *)at;
        uint64_t expire = timer_pending(t) ? (uint64_t)t->expire : UINT64_MAX;

        put_u32(out, expire);
        put_u32(out, expire >> 32);
    } else if (f->kind == VM_BYTES_PTR) {
        g_byte_array_append(out, *(uint8_t **)at, f->size);
    } else {
        g_byte_array_append(out, at, f->size);
    }
}

static size_t element_stride(const VMField *f)
{
    return f->kind == VM_BYTES_PTR ? sizeof(uint8_t *) : f->size;
}

static void save_fields(const VMState *vms, void *opaque, GByteArray *out)
{
    if (vms->pre_save) {
        vms->pre_save(opaque);
    }
    for (const VMField *f = vms->fields; f && f->name; f++) {
        uint8_t kind = f->kind;
        guint len;

        if (!field_is_needed(f, opaque)) {
            continue;
        }
        put_name(out, f->name);
        g_byte_array_append(out, &kind, 1);
        put_u32(out, f->count);
        len = begin_length(out);
        for (size_t i = 0; i < f->count; i++) {
            save_element(f, (uint8_t *)opaque + f->offset + i * element_stride(f), out);
        }
        end_length(out, len);
    }
}

void vmstate_save(const VMState *vms, void *opaque, GByteArray *out)
{
    guint len;

    put_name(out, vms->name);
    put_u32(out, vms->version);
    len = begin_length(out);
    save_fields(vms, opaque, out);
    end_length(out, len);
}

/* ---- reading ---- */

typedef struct Cursor {
    const uint8_t *at, *end;
} Cursor;

static bool get_bytes(Cursor *c, size_t n, const uint8_t **out)
{
    if ((size_t)(c->end - c->at) < n) {
        return false;
    }
    *out = c->at;
    c->at += n;
    return true;
}

static bool get_u32(Cursor *c, uint32_t *out)
{
    const uint8_t *b;

    if (!get_bytes(c, 4, &b)) {
        return false;
    }
    *out = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
    return true;
}

static bool get_name(Cursor *c, char out[256])
{
    const uint8_t *n, *b;

    if (!get_bytes(c, 1, &n) || !get_bytes(c, *n, &b)) {
        return false;
    }
    memcpy(out, b, *n);
    out[*n] = '\0';
    return true;
}

static bool get_block(Cursor *c, Cursor *out)
{
    uint32_t n;

    if (!get_u32(c, &n) || !get_bytes(c, n, &out->at)) {
        return false;
    }
    out->end = out->at + n;
    return true;
}

typedef struct FieldHead {
    char name[256];
    uint8_t kind;
    uint32_t count;
    Cursor data;
} FieldHead;

static bool get_field(Cursor *c, FieldHead *h)
{
    const uint8_t *kind;

    if (!get_name(c, h->name) || !get_bytes(c, 1, &kind) || !get_u32(c, &h->count)) {
        return false;
    }
    h->kind = *kind;
    return get_block(c, &h->data);
}

static bool load_fields(const VMState *vms, void *opaque, Cursor c, Error **errp);

static bool load_struct(const VMField *f, uint8_t *at, Cursor *data, Error **errp)
{
    Cursor element;

    if (!get_block(data, &element)) {
        error_set(errp, "field '%s' is cut short", f->name);
        return false;
    }
    return load_fields(f->sub, at, element, errp);
}

static void load_timer(uint8_t *at, const uint8_t *bytes)
{
    Timer *t = (Timer *)at;
    uint64_t expire = 0;

    for (int i = 7; i >= 0; i--) {
        expire = expire << 8 | bytes[i];
    }
    if (expire > INT64_MAX) {
        timer_del(t);
    } else {
        timer_mod(t, expire);
    }
}

static bool load_element(const VMField *f, uint8_t *at, Cursor *data, Error **errp)
{
    size_t size = f->kind == VM_TIMER ? 8 : f->size;
    const uint8_t *bytes;

    if (f->kind == VM_STRUCT) {
        return load_struct(f, at, data, errp);
    }
    if (!get_bytes(data, size, &bytes)) {
        error_set(errp, "field '%s' is cut short", f->name);
        return false;
    }
    if (f->kind == VM_TIMER) {
        load_timer(at, bytes);
    } else if (f->kind == VM_BYTES_PTR) {
        memcpy(*(uint8_t **)at, bytes, size);
    } else if (f->kind == VM_BOOL) {
        *at = bytes[0] != 0;
    } else {
        memcpy(at, bytes, size);
    }
    return true;
}

static bool load_field(const VMField *f, void *opaque, const FieldHead *h, Error **errp)
{
    Cursor data = h->data;

    if (h->kind != f->kind || h->count != f->count) {
        error_set(errp, "field '%s' has another form (kind %u, %u elements) than this version's", f->name, h->kind,
                  h->count);
        return false;
    }
    for (size_t i = 0; i < f->count; i++) {
        if (!load_element(f, (uint8_t *)opaque + f->offset + i * element_stride(f), &data, errp)) {
            return false;
        }
    }
    if (data.at != data.end) {
        error_set(errp, "field '%s' is %zu bytes too long", f->name, (size_t)(data.end - data.at));
        return false;
    }
    return true;
}

/* Fields come in the table's order; what lies between them is a newer writer's and is skipped. */
static bool load_fields(const VMState *vms, void *opaque, Cursor c, Error **errp)
{
    const VMField *next = vms->fields;
    FieldHead h;

    while (c.at < c.end) {
        const VMField *f = next;

        if (!get_field(&c, &h)) {
            error_set(errp, "state '%s' is cut short", vms->name);
            return false;
        }
        while (f && f->name && strcmp(f->name, h.name)) {
            f++;
        }
        if (!f || !f->name) {
            continue;
        }
        for (; next < f; next++) {
            if (field_is_needed(next, opaque)) {
                error_set(errp, "state '%s' lacks field '%s'", vms->name, next->name);
                return false;
            }
        }
        if (!load_field(f, opaque, &h, errp)) {
            error_prepend(errp, "state '%s': ", vms->name);
            return false;
        }
        next = f + 1;
    }
    for (; next && next->name; next++) {
        if (field_is_needed(next, opaque)) {
            error_set(errp, "state '%s' lacks field '%s'", vms->name, next->name);
            return false;
        }
    }
    return !vms->post_load || vms->post_load(opaque, errp);
}

bool vmstate_load(const VMState *vms, void *opaque, const uint8_t *data, size_t len, size_t *used, Error **errp)
{
    Cursor c = { data, data + len }, fields;
    char name[256];
    uint32_t version;

    if (!get_name(&c, name) || !get_u32(&c, &version) || !get_block(&c, &fields)) {
        error_set(errp, "state '%s' is cut short", vms->name);
        return false;
    }
    if (strcmp(name, vms->name)) {
        error_set(errp, "expected state '%s', found '%s'", vms->name, name);
        return false;
    }
    if (version > (uint32_t)vms->version) {
        error_set(errp, "state '%s' has version %" PRIu32 ", newer than %d", name, version, vms->version);
        return false;
    }
    if (used) {
        *used = c.at - data;
    }
    return load_fields(vms, opaque, fields, errp);
}
