/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the command line: the input's lines are the arguments, and its first line is also read as
 * key=value text in each spelling. Nothing may crash, leak or accept a key twice in a tree.
 */
#include <stddef.h>
#include <string.h>

#include "system/config.h"
#include "system/system.h"

static void sink_drop(void *opaque, const char *text)
{
}

static void try_keyvals(KeyVals *kv, Error *err)
{
    if (!kv == !err) {
        __builtin_trap();       /* either a result or a reason */
    }
    keyvals_free(kv);
    error_free(err);
}

static void try_texts(const char *text)
{
    Error *err = NULL;
    KeyVals *kv = keyvals_parse_flat(text, "first", &err);

    try_keyvals(kv, err);
    err = NULL;
    kv = keyvals_parse_tree(text, "first", &err);
    try_keyvals(kv, err);
    err = NULL;
    kv = keyvals_parse_json(text, &err);
    try_keyvals(kv, err);
}

static void try_command_line(char **lines)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    Config *c = config_new();
    Error *err = NULL;
    SmpConfig smp;

    g_ptr_array_add(argv, (char *)"prog");
    for (; *lines; lines++) {
        g_ptr_array_add(argv, *lines);
    }
    if (config_parse(c, argv->len, (char **)argv->pdata, &err)) {
        smp_resolve(c->smp, "m", 255, &smp, NULL);
    } else if (!err) {
        __builtin_trap();
    }
    error_location_set(NULL);
    error_free(err);
    config_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", 64);

    error_sink_set(sink_drop, NULL);
    if (lines[0]) {
        try_texts(lines[0]);
        try_command_line(lines);
    }
    return 0;
}
