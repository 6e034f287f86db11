/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes JSON from management tools: the input is read as the arguments of every QMP command and the data of
 * every event; what is accepted must come out again as JSON that is accepted and equal. Also as a JSON argument of
 * the command line. Nothing is executed.
 */
#include <json-c/json.h>
#include <stddef.h>
#include <string.h>

#include "qapi/qapi.h"
#include "util/keyval.h"

static void try_type(const QapiType *type, json_object *json)
{
    g_autofree void *value = g_malloc0(type->size), *again = g_malloc0(type->size);
    json_object *out, *out_again;
    Error *err = NULL;

    if (!qapi_from_json(type, json, value, &err)) {
        if (!err) {
            __builtin_trap();
        }
        error_free(err);
        return;
    }
    out = qapi_to_json(type, value);
    if (!qapi_from_json(type, out, again, NULL)) {
        __builtin_trap();
    }
    out_again = qapi_to_json(type, again);
    if (!json_object_equal(out, out_again)) {
        __builtin_trap();
    }
    json_object_put(out);
    json_object_put(out_again);
    qapi_clear(type, value);
    qapi_clear(type, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    json_object *json = json_tokener_parse(text);
    KeyVals *kv = keyvals_parse_json(text, NULL);

    keyvals_free(kv);
    for (const QapiCommand *cmd = qapi_commands; json && cmd->name; cmd++) {
        if (cmd->args) {
            try_type(cmd->args, json);
        }
        if (cmd->ret) {
            try_type(cmd->ret, json);
        }
    }
    for (const QapiEvent *ev = qapi_events; json && ev->name; ev++) {
        if (ev->data) {
            try_type(ev->data, json);
        }
    }
    json_object_put(json);
    return 0;
}
