/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -smbios: fields of structures by type, and whole structures from files. Contract in include/hw/i386/smbios.h.
 * Main thread. Test: tests/boot/test-tables.py.
 */
#include <stdio.h>
#include <string.h>

#include "hw/i386/smbios.h"
#include "util/units.h"
#include "util/values.h"

#define STRUCTURE_HEADER 4
#define TYPE_END 127

static const KeyRow keys0[] = {
    { "vendor", KEY_STRING }, { "version", KEY_STRING }, { "date", KEY_STRING }, { "release", KEY_STRING },
    { "uefi", KEY_BOOL }, { NULL },
};
static const KeyRow keys1[] = {
    { "manufacturer", KEY_STRING }, { "product", KEY_STRING }, { "version", KEY_STRING }, { "serial", KEY_STRING },
    { "uuid", KEY_STRING }, { "sku", KEY_STRING }, { "family", KEY_STRING }, { NULL },
};
static const KeyRow keys2[] = {
    { "manufacturer", KEY_STRING }, { "product", KEY_STRING }, { "version", KEY_STRING }, { "serial", KEY_STRING },
    { "asset", KEY_STRING }, { "location", KEY_STRING }, { NULL },
};
static const KeyRow keys3[] = {
    { "manufacturer", KEY_STRING }, { "version", KEY_STRING }, { "serial", KEY_STRING }, { "asset", KEY_STRING },
    { "sku", KEY_STRING }, { NULL },
};
static const KeyRow keys4[] = {
    { "sock_pfx", KEY_STRING }, { "manufacturer", KEY_STRING }, { "version", KEY_STRING }, { "serial", KEY_STRING },
    { "asset", KEY_STRING }, { "part", KEY_STRING }, { "max-speed", KEY_UINT }, { "current-speed", KEY_UINT },
    { "processor-id", KEY_UINT }, { "processor-family", KEY_UINT }, { NULL },
};
static const KeyRow keys11[] = { { "value", KEY_STRING }, { "path", KEY_STRING }, { NULL } };
static const KeyRow keys17[] = {
    { "loc_pfx", KEY_STRING }, { "bank", KEY_STRING }, { "manufacturer", KEY_STRING }, { "serial", KEY_STRING },
    { "asset", KEY_STRING }, { "part", KEY_STRING }, { "speed", KEY_UINT }, { NULL },
};
static const KeyRow *const keys_of[SMBIOS_TYPES] = {
    [0] = keys0, [1] = keys1, [2] = keys2, [3] = keys3, [4] = keys4, [11] = keys11, [17] = keys17,
};

const char *smbios_given(const SmbiosBuild *s, int type, const char *key, const char *absent)
{
    return s->given[type] ? keyvals_get(s->given[type], key, absent) : absent;
}

/* Values that more than a string's shape is asked of. */
static bool check_values(int type, const KeyVals *kv, Error **errp)
{
    const char *uuid = type == 1 ? keyvals_get(kv, "uuid", NULL) : NULL;
    const char *release = type == 0 ? keyvals_get(kv, "release", NULL) : NULL;
    unsigned major, minor;
    uint8_t bytes[16];
    char rest;

    if (uuid && !parse_uuid(uuid, bytes)) {
        error_set(errp, "Invalid UUID '%s' in -smbios type=1", uuid);
        return false;
    }
    if (release && (sscanf(release, "%u.%u%c", &major, &minor, &rest) != 2 || major > 255 || minor > 255)) {
        error_set(errp, "Invalid release '%s' in -smbios type=0: MAJOR.MINOR, each up to 255", release);
        return false;
    }
    return true;
}

static bool take_oem_string(SmbiosBuild *s, const PropPair *p, Error **errp)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) gerr = NULL;

    if (!strcmp(p->key, "value")) {
        g_ptr_array_add(s->oem_strings, g_strdup(p->value));
        return true;
    }
    if (!g_file_get_contents(p->value, &text, NULL, &gerr)) {
        error_set(errp, "Unable to open %s for -smbios type=11: %s", p->value, gerr->message);
        return false;
    }
    g_ptr_array_add(s->oem_strings, g_steal_pointer(&text));
    return true;
}

static bool take_fields(SmbiosBuild *s, int type, const PropPair *props, Error **errp)
{
    KeyVals *kv = s->given[type] ? s->given[type] : keyvals_new();

    s->given[type] = kv;
    for (const PropPair *p = props; p->key; p++) {
        if (!strcmp(p->key, "type")) {
            continue;
        }
        if (type == 11 && (!strcmp(p->key, "value") || !strcmp(p->key, "path"))) {
            if (!take_oem_string(s, p, errp)) {
                return false;
            }
            continue;
        }
        keyvals_set(kv, p->key, p->value);
    }
    return keyvals_check(kv, keys_of[type], "", errp) && check_values(type, kv, errp);
}

/* One structure: its formatted part, then strings, ended by two zero bytes. */
static bool take_file(SmbiosBuild *s, const char *path, Error **errp)
{
    g_autofree char *data = NULL;
    g_autoptr(GError) gerr = NULL;
    gsize len;
    uint8_t type;

    if (!g_file_get_contents(path, &data, &len, &gerr)) {
        error_set(errp, "Cannot read SMBIOS file %s: %s", path, gerr->message);
        return false;
    }
    type = len ? data[0] : 0;
    if (len < STRUCTURE_HEADER + 2 || (uint8_t)data[1] < STRUCTURE_HEADER || (uint8_t)data[1] + 2u > len ||
        data[len - 1] || data[len - 2] || len > UINT16_MAX) {
        error_set(errp, "SMBIOS file %s holds no whole structure", path);
        return false;
    }
    if (type == TYPE_END) {
        error_set(errp, "SMBIOS file %s has type %d, which ends the table", path, type);
        return false;
    }
    s->raw_type[type] = true;
    g_byte_array_append(s->raw, (const uint8_t *)data, len);
    s->count++;
    s->largest = MAX_OF(s->largest, len);
    return true;
}

static const char *pair_get(const PropPair *props, const char *key)
{
    for (; props->key; props++) {
        if (!strcmp(props->key, key)) {
            return props->value;
        }
    }
    return NULL;
}

static bool take_option(SmbiosBuild *s, const PropPair *props, Error **errp)
{
    const char *file = pair_get(props, "file"), *type_text = pair_get(props, "type");
    uint64_t type;

    if (file) {
        return take_file(s, file, errp);
    }
    if (!type_text) {
        error_set(errp, "Must specify type= or file= for -smbios");
        return false;
    }
    if (!value_parse_uint("type", type_text, &type, errp)) {
        return false;
    }
    if (type >= SMBIOS_TYPES || !keys_of[type]) {
        bool known = type == 8 || type == 9 || type == 41;

        error_set(errp, "Don't know how to build fields for SMBIOS type %s%s", type_text, known ? " yet" : "");
        return false;
    }
    return take_fields(s, type, props, errp);
}

bool smbios_parse_options(SmbiosBuild *s, const MachineConfig *c, Error **errp)
{
    for (int i = 0; i < c->n_smbios; i++) {
        if (!take_option(s, c->smbios[i], errp)) {
            error_prepend(errp, "-smbios %s=%s: ", c->smbios[i]->key, c->smbios[i]->value);
            return false;
        }
    }
    for (int type = 0; type < SMBIOS_TYPES; type++) {
        if (s->given[type] && s->raw_type[type]) {
            error_set(errp, "SMBIOS type %d has fields and a file already", type);
            return false;
        }
    }
    return true;
}
