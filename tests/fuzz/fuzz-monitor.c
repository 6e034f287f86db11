/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes what comes from monitor clients. The first byte says how long the pieces are in which the rest is
 * delivered, and (its top bit) to which monitor: QMP, whose answers must be JSON, one to a line, or HMP.
 * The rest is also tried as a value of every type that a command takes.
 */
#include <json-c/json.h>
#include <stddef.h>
#include <string.h>

#include "chardev/char-int.h"
#include "monitor/monitor.h"
#include "qapi/qapi-commands.h"
#include "system/loop.h"
#include "system/runstate.h"

static void sink_drop(void *opaque, const char *text)
{
}

/* One type: either an error, or a value that stays the same on the way to JSON and back. */
static void try_type(const QapiType *type, json_object *json)
{
    g_autofree void *value = g_malloc0(type->size);
    json_object *first, *second;
    Error *err = NULL;

    if (!qapi_from_json(type, json, value, &err)) {
        if (!err) {
            __builtin_trap();
        }
        error_free(err);
        return;
    }
    first = qapi_to_json(type, value);
    qapi_clear(type, value);
    if (!qapi_from_json(type, first, value, NULL)) {
        __builtin_trap();
    }
    second = qapi_to_json(type, value);
    if (!json_object_equal(first, second)) {
        __builtin_trap();
    }
    json_object_put(first);
    json_object_put(second);
    qapi_clear(type, value);
}

static void try_types(const char *text, size_t len)
{
    json_tokener *tok = json_tokener_new();
    json_object *json = json_tokener_parse_ex(tok, text, len);

    if (json) {
        for (const QapiCommand *cmd = qapi_commands; cmd->name; cmd++) {
            if (cmd->args) {
                try_type(cmd->args, json);
            }
        }
        try_type(&qapi_list_SchemaInfo, json);
        json_object_put(json);
    }
    json_tokener_free(tok);
}

static Chardev *monitor_make(const char *id, bool control)
{
    const PropPair props[] = { { "size", "1048576" } };
    Chardev *chr = chardev_new_from_props("ringbuf", id, props, 1, NULL);

    if (!chr || !monitor_new(chr, control, false, NULL)) {
        __builtin_trap();
    }
    return chr;
}

static void deliver(Chardev *chr, const uint8_t *data, size_t size, size_t piece)
{
    while (size) {
        size_t n = MIN(MIN(size, piece), (size_t)MAX(chr_room(chr), 0));

        if (!n) {
            return;
        }
        chr_deliver(chr, data, n);
        data += n;
        size -= n;
    }
    chr_deliver(chr, (const uint8_t *)"\n", 1);
}

static void check_answers(void)
{
    GByteArray *out = chardev_ringbuf_read("qmp", 1 << 20, NULL);
    g_autofree char *text = g_strndup((char *)out->data, out->len);
    g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);
    bool whole = out->len < 1 << 20;            /* else its start is lost */

    for (int i = 0; whole && lines[i] && lines[i + 1]; i++) {
        json_object *json = json_tokener_parse(lines[i]);

        if (!json_object_is_type(json, json_type_object)) {
            __builtin_trap();
        }
        json_object_put(json);
    }
    g_byte_array_free(out, TRUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Chardev *chr;

    if (size < 2) {
        return 0;
    }
    error_sink_set(sink_drop, NULL);
    if (!machine_locked()) {
        machine_lock();
    }
    try_types((const char *)data + 1, size - 1);
    chr = monitor_make(data[0] & 0x80 ? "hmp" : "qmp", !(data[0] & 0x80));
    if (!(data[0] & 0x80)) {
        const char *hello = "{\"execute\":\"qmp_capabilities\"}";

        chr_deliver(chr, (const uint8_t *)hello, strlen(hello));
    }
    deliver(chr, data + 1, size - 1, (data[0] & 0x7f) + 1);
    if (!(data[0] & 0x80)) {
        check_answers();
    }
    loop_poll(loop_main(), false);
    monitors_fini();
    chardev_cleanup();
    return 0;
}
