/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "key=value,key=value" and JSON texts to one shape: an ordered list of key/value strings.
 *
 * Two spellings, as QEMU's command line has them:
 *  flat  a bare word is a switch ("server" = on, "nowait" = wait off; with a deprecation warning);
 *        a key may be repeated (the last counts, unless the receiver takes a list);
 *  tree  keys are checked names with dots ("smp.cpus", "addr.0"), no bare words; a repeated key
 *        keeps its first place and takes the last value.
 * In both, ",," in a value is a comma, and with `implied` the first item may leave out "KEY=".
 * A JSON object gives the same list: dictionaries and arrays become dotted keys, booleans
 * "on" / "off". An item "help" or "?" sets `help` instead of a key.
 *
 * Any thread. Tests: tests/unit/test-keyval.c, tests/fuzz/fuzz-options.c.
 */
#ifndef CLEAT_UTIL_KEYVAL_H
#define CLEAT_UTIL_KEYVAL_H

#include <stdint.h>

#include "util/error.h"

typedef struct PropPair {
    const char *key, *value;
} PropPair;

typedef struct KeyVals {
    int n;
    PropPair *pairs;            /* n of them, and one more with a NULL key; strings owned */
    bool help;
} KeyVals;

/* NULL with an error when the text is wrong. implied may be NULL. Free with keyvals_free(). */
KeyVals *keyvals_parse_flat(const char *text, const char *implied, Error **errp);
KeyVals *keyvals_parse_tree(const char *text, const char *implied, Error **errp);
KeyVals *keyvals_parse_json(const char *text, Error **errp);
void keyvals_free(KeyVals *kv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeyVals, keyvals_free)
KeyVals *keyvals_new(void);

/* set: replaces the last pair of that key or adds one; add: always adds. Both copy. */
void keyvals_set(KeyVals *kv, const char *key, const char *value);
void keyvals_add(KeyVals *kv, const char *key, const char *value);
void keyvals_remove(KeyVals *kv, const char *key);
/* Sets every pair of `from` in kv, with `prefix` before its key. */
void keyvals_merge(KeyVals *kv, const char *prefix, const KeyVals *from);

/* The last value of key; `absent` (may be NULL) where there is none. Borrowed from kv. */
const char *keyvals_get(const KeyVals *kv, const char *key, const char *absent);

/* What a known key's value looks like. */
typedef enum KeyType {
    KEY_STRING,
    KEY_BOOL,
    KEY_UINT,
    KEY_INT,
    KEY_SIZE,
    KEY_WORD,                   /* one of `words` */
} KeyType;

typedef struct KeyRow {
    const char *name;
    KeyType type;
    const char *words;          /* "on|off|auto" */
} KeyRow;

/*
 * Every key of kv must be in rows (ended by a NULL name; "name.*" covers all below it) and every
 * value of its type. `prefix` ("smp.", may be "") stands before key names in messages.
 */
bool keyvals_check(const KeyVals *kv, const KeyRow *rows, const char *prefix, Error **errp);

/* For values that keyvals_check() has passed; `absent` where the key is missing. */
bool keyvals_bool(const KeyVals *kv, const char *key, bool absent);
uint64_t keyvals_uint(const KeyVals *kv, const char *key, uint64_t absent);
int64_t keyvals_int(const KeyVals *kv, const char *key, int64_t absent);
uint64_t keyvals_size(const KeyVals *kv, const char *key, uint64_t unit, uint64_t absent);

#endif
