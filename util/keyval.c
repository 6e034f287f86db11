/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "key=value,key=value" and JSON texts to an ordered list of key/value strings; the contract is in
 * include/util/keyval.h. The text comes from the user or a management tool, so every byte sequence
 * must end in a list or in an error. JSON nesting and the length of a key are bounded.
 * Tests: tests/unit/test-keyval.c, tests/fuzz/fuzz-options.c.
 */
#include "util/keyval.h"

#include <json-c/json.h>
#include <string.h>

#include "util/values.h"

enum { KEY_MAX_LENGTH = 255, JSON_MAX_DEPTH = 32 };

KeyVals *keyvals_new(void)
{
    KeyVals *kv = g_new0(KeyVals, 1);

    kv->pairs = g_new0(PropPair, 1);
    return kv;
}

void keyvals_free(KeyVals *kv)
{
    if (!kv) {
        return;
    }
    for (int i = 0; i < kv->n; i++) {
        g_free((char *)kv->pairs[i].key);
        g_free((char *)kv->pairs[i].value);
    }
    g_free(kv->pairs);
    g_free(kv);
}

static int keyvals_index(const KeyVals *kv, const char *key)
{
    for (int i = kv->n - 1; i >= 0; i--) {
        if (!strcmp(kv->pairs[i].key, key)) {
            return i;
        }
    }
    return -1;
}

/* Takes both strings. */
static void keyvals_append(KeyVals *kv, char *key, char *value)
{
    kv->pairs = g_renew(PropPair, kv->pairs, kv->n + 2);
    kv->pairs[kv->n] = (PropPair){ key, value };
    kv->pairs[++kv->n] = (PropPair){ NULL, NULL };
}

static void keyvals_set_take(KeyVals *kv, char *key, char *value)
{
    int i = keyvals_index(kv, key);

    if (i < 0) {
        keyvals_append(kv, key, value);
        return;
    }
    g_free(key);
    g_free((char *)kv->pairs[i].value);
    kv->pairs[i].value = value;
}

void keyvals_add(KeyVals *kv, const char *key, const char *value)
{
    keyvals_append(kv, g_strdup(key), g_strdup(value));
}

void keyvals_set(KeyVals *kv, const char *key, const char *value)
{
    keyvals_set_take(kv, g_strdup(key), g_strdup(value));
}

void keyvals_remove(KeyVals *kv, const char *key)
{
    g_autofree char *gone = g_strdup(key);      /* key may be one of those that go */
    int kept = 0;

    for (int i = 0; i < kv->n; i++) {
        if (!strcmp(kv->pairs[i].key, gone)) {
            g_free((char *)kv->pairs[i].key);
            g_free((char *)kv->pairs[i].value);
        } else {
            kv->pairs[kept++] = kv->pairs[i];
        }
    }
    kv->n = kept;
    kv->pairs[kept] = (PropPair){ NULL, NULL };
}

void keyvals_merge(KeyVals *kv, const char *prefix, const KeyVals *from)
{
    for (int i = 0; i < from->n; i++) {
        keyvals_set_take(kv, g_strconcat(prefix, from->pairs[i].key, NULL),
                         g_strdup(from->pairs[i].value));
    }
}

const char *keyvals_get(const KeyVals *kv, const char *key, const char *absent)
{
    int i = keyvals_index(kv, key);

    return i < 0 ? absent : kv->pairs[i].value;
}

/* Reads up to a single comma, ",," being one comma of the value; *pos moves to the comma or end. */
static char *value_take(const char **pos)
{
    GString *value = g_string_new(NULL);
    const char *p = *pos;

    while (*p) {
        if (*p == ',' && *++p != ',') {
            p--;
            break;
        }
        g_string_append_c(value, *p++);
    }
    *pos = p;
    return g_string_free(value, FALSE);
}

static bool word_is_help(const char *word, size_t len)
{
    return (len == 4 && !memcmp(word, "help", 4)) || (len == 1 && *word == '?');
}

/* The deprecated short form: "word" is word=on, "noword" is word=off. Takes word. */
static void flat_add_switch(KeyVals *kv, char *word)
{
    bool off = g_str_has_prefix(word, "no");
    char *key = g_strdup(off ? word + 2 : word);

    if (off && !strcmp(key, "delay")) {     /* "nodelay" is itself a key */
        g_free(key);
        key = g_strdup("nodelay");
        off = false;
    }
    warn_report("the short form '%s' is deprecated; please write %s=%s", word, key,
                off ? "off" : "on");
    keyvals_append(kv, key, g_strdup(off ? "off" : "on"));
    g_free(word);
}

KeyVals *keyvals_parse_flat(const char *text, const char *implied, Error **errp)
{
    g_autoptr(KeyVals) kv = keyvals_new();
    const char *pos = text;

    while (*pos) {
        size_t len = strcspn(pos, "=,");
        bool first = pos == text;

        if (word_is_help(pos, len) && pos[len] != '=') {
            kv->help = true;
            pos += len;
        } else if (pos[len] == '=') {
            char *key = g_strndup(pos, len);

            pos += len + 1;
            keyvals_append(kv, key, value_take(&pos));
        } else if (first && implied) {
            keyvals_append(kv, g_strdup(implied), value_take(&pos));
        } else if (len == 0) {
            error_set(errp, "Expected a parameter before ',' in '%s'", text);
            return NULL;
        } else {
            flat_add_switch(kv, g_strndup(pos, len));
            pos += len;
        }
        pos += *pos == ',';
    }
    return g_steal_pointer(&kv);
}

/* Each part between dots: a name (letters, digits, '-', '_') or an index. */
static bool tree_key_ok(const char *key)
{
    size_t part = 0;

    if (strlen(key) > KEY_MAX_LENGTH) {
        return false;
    }
    for (; *key; key++) {
        if (*key == '.') {
            if (part == 0) {
                return false;
            }
            part = 0;
        } else if (g_ascii_isalnum(*key) || *key == '_' || (*key == '-' && part)) {
            part++;
        } else {
            return false;
        }
    }
    return part > 0;
}

/* "a=1" and "a.b=2" cannot both be. */
static bool tree_key_clashes(const KeyVals *kv, const char *key)
{
    size_t len = strlen(key);

    for (int i = 0; i < kv->n; i++) {
        const char *other = kv->pairs[i].key;
        size_t olen = strlen(other), least = MIN(len, olen);

        if (len != olen && !memcmp(key, other, least)
            && (len > olen ? key[least] : other[least]) == '.') {
            return true;
        }
    }
    return false;
}

/* Takes key and value. */
static bool tree_add(KeyVals *kv, char *key, char *value, Error **errp)
{
    if (!tree_key_ok(key)) {
        error_set(errp, "Invalid parameter '%s'", key);
    } else if (tree_key_clashes(kv, key)) {
        error_set(errp, "Parameter '%s' is given both a value and parts", key);
    } else {
        keyvals_set_take(kv, key, value);
        return true;
    }
    g_free(key);
    g_free(value);
    return false;
}

KeyVals *keyvals_parse_tree(const char *text, const char *implied, Error **errp)
{
    g_autoptr(KeyVals) kv = keyvals_new();
    const char *pos = text;

    while (*pos) {
        size_t len = strcspn(pos, "=,");
        char *key;

        if (word_is_help(pos, len) && pos[len] != '=') {
            kv->help = true;
            pos += len;
            pos += *pos == ',';
            continue;
        }
        if (pos[len] == '=') {
            key = g_strndup(pos, len);
            pos += len + 1;
        } else if (pos == text && implied) {
            key = g_strdup(implied);
        } else {
            error_set(errp, "Expected '=' after parameter '%.*s'", (int)MIN(len, 200), pos);
            return NULL;
        }
        if (!tree_add(kv, key, value_take(&pos), errp)) {
            return NULL;
        }
        pos += *pos == ',';
    }
    return g_steal_pointer(&kv);
}

static bool json_flatten(KeyVals *kv, const char *key, json_object *value, Error **errp);

static bool json_flatten_dict(KeyVals *kv, const char *key, json_object *dict, Error **errp)
{
    json_object_object_foreach(dict, name, value) {
        g_autofree char *path = *key ? g_strconcat(key, ".", name, NULL) : g_strdup(name);

        if (!json_flatten(kv, path, value, errp)) {
            return false;
        }
    }
    return true;
}

static bool json_flatten_array(KeyVals *kv, const char *key, json_object *array, Error **errp)
{
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        g_autofree char *path = g_strdup_printf("%s.%zu", key, i);

        if (!json_flatten(kv, path, json_object_array_get_idx(array, i), errp)) {
            return false;
        }
    }
    return true;
}

/* Depth is bounded by the tokener. */
static bool json_flatten(KeyVals *kv, const char *key, json_object *value, Error **errp)
{
    switch (json_object_get_type(value)) {
    case json_type_object:
        return json_flatten_dict(kv, key, value, errp);
    case json_type_array:
        return json_flatten_array(kv, key, value, errp);
    case json_type_boolean:
        return tree_add(kv, g_strdup(key),
                        g_strdup(json_object_get_boolean(value) ? "on" : "off"), errp);
    case json_type_null:
        return true;
    default:
        return tree_add(kv, g_strdup(key), g_strdup(json_object_get_string(value)), errp);
    }
}

KeyVals *keyvals_parse_json(const char *text, Error **errp)
{
    g_autoptr(KeyVals) kv = keyvals_new();
    json_tokener *tok = json_tokener_new_ex(JSON_MAX_DEPTH);
    json_object *root;
    enum json_tokener_error why;
    size_t len = strlen(text), end;

    json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
    root = json_tokener_parse_ex(tok, text, MIN(len, INT32_MAX - 1));
    why = json_tokener_get_error(tok);
    end = json_tokener_get_parse_end(tok);
    json_tokener_free(tok);
    if (why != json_tokener_success) {
        error_set(errp, "JSON parse error at character %zu: %s", end + 1,
                  why == json_tokener_continue ? "the text ends too early"
                                               : json_tokener_error_desc(why));
    } else if (strspn(text + end, " \t\r\n") != len - end) {
        error_set(errp, "JSON parse error at character %zu: text after the value", end + 1);
    } else if (!json_object_is_type(root, json_type_object)) {
        error_set(errp, "JSON parse error: expected an object in braces");
    } else if (json_flatten(kv, "", root, errp)) {
        json_object_put(root);
        return g_steal_pointer(&kv);
    }
    json_object_put(root);
    return NULL;
}

static const KeyRow *key_row_find(const KeyRow *rows, const char *key)
{
    for (; rows->name; rows++) {
        size_t len = strlen(rows->name);

        if (!strcmp(rows->name, key)
            || (len > 2 && !strcmp(rows->name + len - 2, ".*")
                && !strncmp(key, rows->name, len - 1))) {
            return rows;
        }
    }
    return NULL;
}

static bool word_check(const char *name, const char *value, const char *words, Error **errp)
{
    g_auto(GStrv) list = g_strsplit(words, "|", -1);
    g_autoptr(GString) all = NULL;

    if (g_strv_contains((const char *const *)list, value)) {
        return true;
    }
    all = g_string_new(NULL);
    for (int i = 0; list[i]; i++) {
        g_string_append_printf(all, "%s'%s'", i ? ", " : "", list[i]);
    }
    error_set(errp, "Parameter '%s' expects one of %s, not '%s'", name, all->str, value);
    return false;
}

static bool key_check(const KeyRow *row, const char *name, const char *value, Error **errp)
{
    uint64_t u;
    int64_t i;
    bool b;

    switch (row->type) {
    case KEY_STRING:
        return true;
    case KEY_BOOL:
        return value_parse_bool(name, value, &b, errp);
    case KEY_UINT:
        return value_parse_uint(name, value, &u, errp);
    case KEY_INT:
        return value_parse_int(name, value, &i, errp);
    case KEY_SIZE:
        return value_parse_size(name, value, 1, &u, errp);
    case KEY_WORD:
        return word_check(name, value, row->words, errp);
    }
    return false;
}

bool keyvals_check(const KeyVals *kv, const KeyRow *rows, const char *prefix, Error **errp)
{
    for (int i = 0; i < kv->n; i++) {
        g_autofree char *name = g_strconcat(prefix, kv->pairs[i].key, NULL);
        const KeyRow *row = key_row_find(rows, kv->pairs[i].key);

        if (!row) {
            error_set(errp, "Invalid parameter '%s'", name);
            return false;
        }
        if (!key_check(row, name, kv->pairs[i].value, errp)) {
            return false;
        }
    }
    return true;
}

bool keyvals_bool(const KeyVals *kv, const char *key, bool absent)
{
    const char *value = keyvals_get(kv, key, NULL);

    if (value) {
        value_parse_bool(key, value, &absent, NULL);
    }
    return absent;
}

uint64_t keyvals_uint(const KeyVals *kv, const char *key, uint64_t absent)
{
    const char *value = keyvals_get(kv, key, NULL);

    if (value) {
        value_parse_uint(key, value, &absent, NULL);
    }
    return absent;
}

int64_t keyvals_int(const KeyVals *kv, const char *key, int64_t absent)
{
    const char *value = keyvals_get(kv, key, NULL);

    if (value) {
        value_parse_int(key, value, &absent, NULL);
    }
    return absent;
}

uint64_t keyvals_size(const KeyVals *kv, const char *key, uint64_t unit, uint64_t absent)
{
    const char *value = keyvals_get(kv, key, NULL);

    if (value) {
        value_parse_size(key, value, unit, &absent, NULL);
    }
    return absent;
}
