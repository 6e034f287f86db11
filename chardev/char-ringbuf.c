/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringbuf: the last bytes of the output in memory, for QMP ringbuf-read; ringbuf-write is the front end's input.
 *
 * Main loop thread or machine lock.
 */
#include <string.h>

#include "chardev/char-int.h"

typedef struct RingChardev {
    Chardev chr;
    uint8_t *data;
    size_t size;                /* power of two */
    uint64_t produced, consumed;
} RingChardev;

static bool ring_open(Chardev *chr, const KeyVals *kv, Error **errp)
{
    RingChardev *r = (RingChardev *)chr;

    r->size = keyvals_size(kv, "size", 1, 65536);
    if (!r->size || (r->size & (r->size - 1)) || r->size > 1u << 30) {
        error_set(errp, "size of ringbuf chardev must be a power of two of at most 1 GiB, not %s",
                  keyvals_get(kv, "size", ""));
        return false;
    }
    r->data = g_malloc0(r->size);
    chr_set_open(chr, true);
    return true;
}

static void ring_close(Chardev *chr)
{
    g_free(((RingChardev *)chr)->data);
}

static int ring_write(Chardev *chr, const uint8_t *buf, int len)
{
    RingChardev *r = (RingChardev *)chr;

    for (int i = 0; i < len; i++) {
        r->data[r->produced++ & (r->size - 1)] = buf[i];
    }
    if (r->produced - r->consumed > r->size) {
        r->consumed = r->produced - r->size;
    }
    return len;
}

static const KeyRow ring_keys[] = { { .name = "size", .type = KEY_SIZE }, { .name = NULL } };
static const ChardevOps ring_ops = {
    .name = "ringbuf", .alias = "memory", .desc = "a ring buffer in memory", .keys = ring_keys,
    .size = sizeof(RingChardev), .open = ring_open, .close = ring_close, .write = ring_write,
};
CHARDEV_REGISTER(ring_ops)

static RingChardev *ring_find(const char *id, Error **errp)
{
    Chardev *chr = chardev_find(id);

    if (!chr) {
        error_set(errp, "Device '%s' not found", id);
        return NULL;
    }
    if (chr->ops != &ring_ops) {
        error_set(errp, "%s is not a ringbuf device", id);
        return NULL;
    }
    return (RingChardev *)chr;
}

GByteArray *chardev_ringbuf_read(const char *id, size_t max, Error **errp)
{
    RingChardev *r = ring_find(id, errp);
    GByteArray *out;

    if (!r) {
        return NULL;
    }
    out = g_byte_array_new();
    while (r->consumed < r->produced && out->len < max) {
        g_byte_array_append(out, &r->data[r->consumed++ & (r->size - 1)], 1);
    }
    return out;
}

bool chardev_ringbuf_write(const char *id, const uint8_t *data, size_t len, Error **errp)
{
    RingChardev *r = ring_find(id, errp);

    return r && ring_write(&r->chr, data, len) >= 0;
}
