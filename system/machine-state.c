/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a whole machine in one byte array: clock, registered state, devices in tree order,
 * RAM.
 *
 * Form: magic, then entries [u8 kind][u16 n][key][u32 length][payload], ended by kind 0. A device's
 * key is its path and the type that owns the table. Loading refuses what has no place here and what
 * is missing here; RAM pages that are zero are not in the stream. Main loop thread, machine lock,
 * vCPUs paused. Test: tests/qtest/test-walk-all, test-vmstate.c.
 */
#include <inttypes.h>
#include <string.h>

#include "system/cpus.h"
#include "system/loop.h"
#include "system/memory.h"
#include "system/vmstate.h"
#include "trace-system.h"

static const char magic[8] = { 'C', 'L', 'E', 'A', 'T', 'V', 'M', '1' };
enum { ENTRY_END, ENTRY_STATE, ENTRY_DEVICE, ENTRY_RAM, PAGE = 4096 };

typedef struct Registered {
    char *name;
    const VMState *vms;
    void *opaque;
} Registered;

static struct {
    GPtrArray *registered;          /* of Registered, in order */
} states;

void vmstate_register(const char *name, const VMState *vms, void *opaque)
{
    Registered *r = g_new0(Registered, 1);

    r->name = g_strdup(name);
    r->vms = vms;
    r->opaque = opaque;
    if (!states.registered) {
        states.registered = g_ptr_array_new();
    }
    g_ptr_array_add(states.registered, r);
}

void vmstate_unregister(const VMState *vms, void *opaque)
{
    for (guint i = 0; states.registered && i < states.registered->len; i++) {
        Registered *r = g_ptr_array_index(states.registered, i);

        if (r->vms == vms && r->opaque == opaque) {
            g_ptr_array_remove_index(states.registered, i);
            g_free(r->name);
            g_free(r);
            return;
        }
    }
}

/* ---- the clock, which timers refer to ---- */

typedef struct ClockState {
    int64_t now;                    /* virtual ns */
} ClockState;

static const VMField clock_fields[] = { VM_FIELD(ClockState, now, VM_I64), VM_END };
static const VMState vmstate_clock = { .name = "clock", .version = 1, .fields = clock_fields };

/* ---- what there is to save ---- */

typedef struct Item {
    uint8_t kind;
    char *key;
    const VMState *vms;
    void *opaque;
    bool seen;
} Item;

static void item_free(void *opaque)
{
    Item *item = opaque;

    g_free(item->key);
    g_free(item);
}

static void item_add(GPtrArray *items, uint8_t kind, char *key, const VMState *vms, void *opaque)
{
    Item *item = g_new0(Item, 1);

    *item = (Item){ .kind = kind, .key = key, .vms = vms, .opaque = opaque };
    if (vms->needed && !vms->needed(opaque)) {
        item->seen = true;          /* may be absent */
    }
    g_ptr_array_add(items, item);
}

static bool collect_object(Object *obj, void *opaque)
{
    const Type *chain[16];
    int n = 0;

    if (!obj->realized) {
        return true;
    }
    for (const Type *t = obj->type; t && n < 16; t = t->parent ? type_find(t->parent) : NULL) {
        chain[n++] = t;
    }
    while (n-- > 0) {
        if (chain[n]->vmstate) {
            g_autofree char *path = object_path(obj);

            item_add(opaque, ENTRY_DEVICE, g_strdup_printf("%s:%s", path, chain[n]->name), chain[n]->vmstate,
                     obj);
        }
    }
    return true;
}

static GPtrArray *items_collect(ClockState *clock)
{
    GPtrArray *items = g_ptr_array_new_with_free_func(item_free);

    item_add(items, ENTRY_STATE, g_strdup("clock"), &vmstate_clock, clock);
    for (guint i = 0; states.registered && i < states.registered->len; i++) {
        Registered *r = g_ptr_array_index(states.registered, i);

        item_add(items, ENTRY_STATE, g_strdup(r->name), r->vms, r->opaque);
    }
    object_walk(object_root(), collect_object, items);
    return items;
}

/* ---- saving ---- */

static guint entry_begin(GByteArray *out, uint8_t kind, const char *key)
{
    uint16_t n = strlen(key);
    uint8_t head[3] = { kind, n, n >> 8 };
    uint32_t none = 0;

    g_byte_array_append(out, head, 3);
    g_byte_array_append(out, (const uint8_t *)key, n);
    g_byte_array_append(out, (uint8_t *)&none, 4);
    return out->len;
}

static void entry_end(GByteArray *out, guint payload)
{
    uint32_t n = out->len - payload;

    memcpy(out->data + payload - 4, &n, 4);     /* hosts are little-endian */
}

static bool page_is_zero(const uint8_t *page)
{
    return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

/* A block is an entry with its size, followed by one entry per stretch of pages that are not zero. */
static void save_ram_block(const RamBlock *rb, GByteArray *out)
{
    guint payload = entry_begin(out, ENTRY_RAM, rb->idstr);

    g_byte_array_append(out, (const uint8_t *)&rb->size, 8);
    entry_end(out, payload);
    for (uint64_t at = 0; at < rb->size; at += PAGE) {
        if (!page_is_zero(rb->host + at)) {
            payload = entry_begin(out, ENTRY_RAM, rb->idstr);
            g_byte_array_append(out, (const uint8_t *)&at, 8);
            g_byte_array_append(out, rb->host + at, PAGE);
            entry_end(out, payload);
        }
    }
}

bool machine_state_save(GByteArray *out, bool with_ram, Error **errp)
{
    ClockState clock = { .now = clock_ns(CLOCK_VIRTUAL) };
    g_autoptr(GPtrArray) items = NULL;
    uint8_t end = ENTRY_END;

    vcpus_get_state();
    items = items_collect(&clock);
    g_byte_array_append(out, (const uint8_t *)magic, sizeof(magic));
    for (guint i = 0; i < items->len; i++) {
        Item *item = g_ptr_array_index(items, i);
        guint payload;

        if (item->vms->needed && !item->vms->needed(item->opaque)) {
            continue;
        }
        payload = entry_begin(out, item->kind, item->key);
        vmstate_save(item->vms, item->opaque, out);
        entry_end(out, payload);
        trace_machine_state_saved(item->key, out->len - payload);
    }
    for (RamBlock *rb = with_ram ? ram_block_first() : NULL; rb; rb = rb->next) {
        save_ram_block(rb, out);
    }
    g_byte_array_append(out, &end, 1);
    return true;
}

/* ---- loading ---- */

typedef struct Entry {
    uint8_t kind;
    char *key;
    const uint8_t *payload;
    uint32_t len;
} Entry;

static bool entry_read(const uint8_t **at, const uint8_t *end, Entry *e)
{
    uint16_t n;

    e->key = NULL;
    if (end - *at < 1) {
        return false;
    }
    e->kind = *(*at)++;
    if (e->kind == ENTRY_END) {
        return true;
    }
    if (end - *at < 2) {
        return false;
    }
    memcpy(&n, *at, 2);
    *at += 2;
    if (end - *at < n + 4) {
        return false;
    }
    memcpy(&e->len, *at + n, 4);
    if ((uint64_t)(end - *at) - n - 4 < e->len) {
        return false;
    }
    e->key = g_strndup((const char *)*at, n);
    e->payload = *at + n + 4;
    *at = e->payload + e->len;
    return true;
}

static RamBlock *ram_block_by_name(const char *idstr)
{
    for (RamBlock *rb = ram_block_first(); rb; rb = rb->next) {
        if (!strcmp(rb->idstr, idstr)) {
            return rb;
        }
    }
    return NULL;
}

static bool load_ram(const Entry *e, Error **errp)
{
    RamBlock *rb = ram_block_by_name(e->key);
    uint64_t n;

    if (!rb || (e->len != 8 && e->len != 8 + PAGE)) {
        error_set(errp, rb ? "RAM block '%s': an entry has a wrong size" : "there is no RAM block '%s' here", e->key);
        return false;
    }
    memcpy(&n, e->payload, 8);
    if (e->len == 8) {
        if (n != rb->size) {
            error_set(errp, "RAM block '%s' has %" PRIu64 " bytes here, %" PRIu64 " in the stream", e->key,
                      rb->size, n);
            return false;
        }
        for (uint64_t at = 0; at < rb->size; at += PAGE) {
            if (!page_is_zero(rb->host + at)) {
                memset(rb->host + at, 0, PAGE);
                ram_written(rb, at, PAGE);
            }
        }
        return true;
    }
    if (n % PAGE || n >= rb->size) {
        error_set(errp, "RAM block '%s': page offset %" PRIu64 " is outside", e->key, n);
        return false;
    }
    memcpy(rb->host + n, e->payload + 8, PAGE);
    ram_written(rb, n, PAGE);
    return true;
}

static bool load_item(GPtrArray *items, const Entry *e, Error **errp)
{
    for (guint i = 0; i < items->len; i++) {
        Item *item = g_ptr_array_index(items, i);
        size_t used = 0;

        if (item->kind != e->kind || strcmp(item->key, e->key)) {
            continue;
        }
        item->seen = true;
        if (!vmstate_load(item->vms, item->opaque, e->payload, e->len, &used, errp)) {
            error_prepend(errp, "loading '%s': ", e->key);
            return false;
        }
        if (used != e->len) {
            error_set(errp, "loading '%s': %zu bytes are left over", e->key, e->len - used);
            return false;
        }
        return true;
    }
    error_set(errp, "the stream has '%s', which this machine has not", e->key);
    return false;
}

static bool all_seen(const GPtrArray *items, Error **errp)
{
    for (guint i = 0; i < items->len; i++) {
        const Item *item = g_ptr_array_index(items, i);

        if (!item->seen) {
            error_set(errp, "the stream lacks '%s'", item->key);
            return false;
        }
    }
    return true;
}

bool machine_state_load(const uint8_t *data, size_t len, Error **errp)
{
    const uint8_t *at = data + sizeof(magic), *end = data + len;
    ClockState clock = { 0 };
    g_autoptr(GPtrArray) items = NULL;
    bool ok = true;

    if (len < sizeof(magic) || memcmp(data, magic, sizeof(magic))) {
        error_set(errp, "this is no saved machine");
        return false;
    }
    vcpus_get_state();
    items = items_collect(&clock);
    while (ok) {
        Entry e;

        if (!entry_read(&at, end, &e)) {
            error_set(errp, "the saved machine is cut short");
            return false;
        }
        if (e.kind == ENTRY_END) {
            break;
        }
        ok = e.kind == ENTRY_RAM ? load_ram(&e, errp) : load_item(items, &e, errp);
        if (ok && !strcmp(e.key, "clock") && e.kind == ENTRY_STATE) {
            clock_virtual_set(clock.now);
        }
        g_free(e.key);
    }
    ok = ok && all_seen(items, errp);
    vcpus_put_state();
    return ok;
}
