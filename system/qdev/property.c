/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties: text to field and back, defaults, the storage they own. See include/system/qdev.h.
 * Messages name the property and the value. Machine lock, or main thread. Test:
 * tests/unit/test-qdev.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "system/qdev/qdev-internal.h"
#include "util/units.h"

static struct {
    const PropKindOps *ops[PROP_CUSTOM + 1];    /* filled by constructors */
} prop_kinds;

void prop_kind_register(PropKind kind, const PropKindOps *ops)
{
    prop_kinds.ops[kind] = ops;
}

static void *prop_field(Object *obj, const Property *p)
{
    return (char *)obj + p->offset;
}

/* ---- numbers ---- */

typedef struct NumberRange {
    const char *type_name;
    int64_t min;
    uint64_t max;
} NumberRange;

static const NumberRange *number_range(PropKind kind)
{
    static const NumberRange ranges[] = {
        [PROP_U8] = { "uint8", 0, UINT8_MAX }, [PROP_U16] = { "uint16", 0, UINT16_MAX },
        [PROP_U32] = { "uint32", 0, UINT32_MAX }, [PROP_U64] = { "uint64", 0, UINT64_MAX },
        [PROP_I32] = { "int32", INT32_MIN, INT32_MAX }, [PROP_I64] = { "int64", INT64_MIN, INT64_MAX },
        [PROP_SIZE] = { "size", 0, UINT64_MAX },
    };

    return kind < G_N_ELEMENTS(ranges) && ranges[kind].type_name ? &ranges[kind] : NULL;
}

static void number_store(Object *obj, const Property *p, uint64_t v)
{
    void *field = prop_field(obj, p);

    switch (p->kind) {
    case PROP_U8:
        *(uint8_t *)field = v;
        break;
    case PROP_U16:
        *(uint16_t *)field = v;
        break;
    case PROP_U32:
    case PROP_I32:
        *(uint32_t *)field = v;
        break;
    default:
        *(uint64_t *)field = v;
        break;
    }
}

static uint64_t number_load(Object *obj, const Property *p)
{
    void *field = prop_field(obj, p);

    switch (p->kind) {
    case PROP_U8:
        return *(uint8_t *)field;
    case PROP_U16:
        return *(uint16_t *)field;
    case PROP_U32:
        return *(uint32_t *)field;
    case PROP_I32:
        return (int64_t)*(int32_t *)field;
    default:
        return *(uint64_t *)field;
    }
}

static bool number_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    const NumberRange *range = number_range(p->kind);
    ParseResult r;
    uint64_t v = 0;

    if (p->kind == PROP_SIZE) {
        r = parse_size(value, 1, &v);
    } else if (range->min < 0) {
        int64_t s = 0;

        r = parse_int(value, &s);
        if (r == PARSE_OK && (s < range->min || s > (int64_t)range->max)) {
            r = PARSE_RANGE;
        }
        v = s;
    } else {
        r = parse_uint(value, &v);
        if (r == PARSE_OK && v > range->max) {
            r = PARSE_RANGE;
        }
    }
    if (r == PARSE_BAD) {
        error_set(errp, p->kind == PROP_SIZE ? "Parameter '%s' expects a size, not '%s'"
                                             : "Parameter '%s' expects an integer, not '%s'", p->name, value);
        return false;
    }
    if (r == PARSE_RANGE) {
        error_set(errp, "Parameter '%s' expects a value that fits %s_t, not '%s'", p->name,
                  p->kind == PROP_SIZE ? "uint64" : range->type_name, value);
        return false;
    }
    number_store(obj, p, v);
    return true;
}

/* ---- words ---- */

static const char *const on_off_auto_names[] = { "auto", "on", "off", NULL };

static const char *const *enum_names(const Property *p)
{
    return p->kind == PROP_ONOFFAUTO ? on_off_auto_names : p->enum_names;
}

static bool enum_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    g_autofree char *choices = NULL;
    const char *const *names = enum_names(p);

    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], value)) {
            *(int *)prop_field(obj, p) = i;
            return true;
        }
    }
    choices = g_strjoinv("', '", (char **)names);
    error_set(errp, "Parameter '%s' does not accept value '%s' (choose from '%s')", p->name, value, choices);
    return false;
}

static void bool_store(Object *obj, const Property *p, bool on)
{
    void *field = prop_field(obj, p);

    if (p->kind == PROP_BIT) {
        uint32_t bit = UINT32_C(1) << p->bit;

        *(uint32_t *)field = on ? *(uint32_t *)field | bit : *(uint32_t *)field & ~bit;
    } else if (p->kind == PROP_BIT64) {
        uint64_t bit = UINT64_C(1) << p->bit;

        *(uint64_t *)field = on ? *(uint64_t *)field | bit : *(uint64_t *)field & ~bit;
    } else {
        *(bool *)field = on;
    }
}

static bool bool_load(Object *obj, const Property *p)
{
    void *field = prop_field(obj, p);

    switch (p->kind) {
    case PROP_BIT:
        return *(uint32_t *)field >> p->bit & 1;
    case PROP_BIT64:
        return *(uint64_t *)field >> p->bit & 1;
    default:
        return *(bool *)field;
    }
}

static bool bool_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    bool on;

    if (!parse_bool(value, &on)) {
        error_set(errp, "Parameter '%s' expects 'on' or 'off', not '%s'", p->name, value);
        return false;
    }
    bool_store(obj, p, on);
    return true;
}

/* ---- links and addresses ---- */

static bool link_store(Object *obj, const Property *p, Object *target, Error **errp)
{
    Object **field = prop_field(obj, p);

    if (target && p->link_type && !object_is_a(target, p->link_type)) {
        error_set(errp, "Parameter '%s' expects an object of type '%s', but '%s' is a '%s'", p->name,
                  p->link_type, target->id ? target->id : target->name, target->type->name);
        return false;
    }
    if (target) {
        object_ref(target);
    }
    object_unref(*field);
    *field = target;
    return true;
}

static bool link_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    Object *target = object_resolve(value);

    if (!target && *value) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Parameter '%s': there is no object '%s'",
                        p->name, value);
        return false;
    }
    return link_store(obj, p, target, errp);
}

static bool bytes_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    bool mac = p->kind == PROP_MACADDR;
    uint8_t bytes[16];

    if (!(mac ? parse_mac(value, bytes) : parse_uuid(value, bytes))) {
        error_set(errp, "Property '%s.%s' takes %s, not '%s'", obj->type->name, p->name,
                  mac ? "six bytes as xx:xx:xx:xx:xx:xx" : "a UUID", value);
        return false;
    }
    memcpy(prop_field(obj, p), bytes, mac ? 6 : 16);
    return true;
}

static char *bytes_text(const uint8_t *b, bool mac)
{
    if (mac) {
        return g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    }
    return g_strdup_printf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
                           b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
                           b[15]);
}

/* ---- the public face ---- */

static bool prop_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    const PropKindOps *ops = prop_kinds.ops[p->kind];

    if (p->set) {
        return p->set(obj, p, value, errp);
    }
    switch (p->kind) {
    case PROP_BOOL:
    case PROP_BIT:
    case PROP_BIT64:
        return bool_set(obj, p, value, errp);
    case PROP_STR:
        g_free(*(char **)prop_field(obj, p));
        *(char **)prop_field(obj, p) = g_strdup(value);
        return true;
    case PROP_ENUM:
    case PROP_ONOFFAUTO:
        return enum_set(obj, p, value, errp);
    case PROP_LINK:
        return link_set(obj, p, value, errp);
    case PROP_MACADDR:
    case PROP_UUID:
        return bytes_set(obj, p, value, errp);
    case PROP_CHARDEV:
    case PROP_CUSTOM:
        if (ops && ops->set) {
            return ops->set(obj, p, prop_field(obj, p), value, errp);
        }
        error_set(errp, "Property '%s.%s' cannot be set", obj->type->name, p->name);
        return false;
    default:
        return number_set(obj, p, value, errp);
    }
}

const Property *type_prop_find(const Type *type, const char *name)
{
    for (; type; type = type_parent(type)) {
        for (const Property *p = type->props; p && p->name; p++) {
            if (!strcmp(p->name, name)) {
                return p;
            }
        }
    }
    return NULL;
}

void type_prop_foreach(const Type *type, void (*fn)(const Property *p, void *opaque), void *opaque)
{
    for (; type; type = type_parent(type)) {
        for (const Property *p = type->props; p && p->name; p++) {
            fn(p, opaque);
        }
    }
}

static const Property *prop_for_set(Object *obj, const char *name, Error **errp)
{
    const Property *p = type_prop_find(obj->type, name);

    if (!p) {
        error_set(errp, "Property '%s.%s' not found", obj->type->name, name);
        return NULL;
    }
    if (obj->realized && !p->settable_after_realize) {
        error_set(errp, "Property '%s' of '%s' (type '%s') can no longer be set: it is realized", name,
                  obj->id ? obj->id : obj->name ? obj->name : "", obj->type->name);
        return NULL;
    }
    return p;
}

bool object_prop_set(Object *obj, const char *name, const char *value, Error **errp)
{
    const Property *p = prop_for_set(obj, name, errp);

    return p && prop_set(obj, p, value, errp);
}

bool object_prop_set_bool(Object *obj, const char *name, bool value, Error **errp)
{
    return object_prop_set(obj, name, value ? "on" : "off", errp);
}

bool object_prop_set_uint(Object *obj, const char *name, uint64_t value, Error **errp)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    return object_prop_set(obj, name, text, errp);
}

bool object_prop_set_link(Object *obj, const char *name, Object *target, Error **errp)
{
    const Property *p = prop_for_set(obj, name, errp);

    if (p && p->kind != PROP_LINK) {
        error_set(errp, "Property '%s.%s' is no link", obj->type->name, name);
        return false;
    }
    return p && link_store(obj, p, target, errp);
}

char *object_prop_get(Object *obj, const char *name, Error **errp)
{
    const Property *p = type_prop_find(obj->type, name);
    const PropKindOps *ops;
    Object *target;

    if (!p) {
        error_set(errp, "Property '%s.%s' not found", obj->type->name, name);
        return NULL;
    }
    if (p->get) {
        return p->get(obj, p, errp);
    }
    ops = prop_kinds.ops[p->kind];
    switch (p->kind) {
    case PROP_BOOL:
    case PROP_BIT:
    case PROP_BIT64:
        return g_strdup(bool_load(obj, p) ? "true" : "false");
    case PROP_STR:
        return g_strdup(*(char **)prop_field(obj, p) ? *(char **)prop_field(obj, p) : "");
    case PROP_ENUM:
    case PROP_ONOFFAUTO:
        return g_strdup(enum_names(p)[*(int *)prop_field(obj, p)]);
    case PROP_LINK:
        target = *(Object **)prop_field(obj, p);
        return target ? object_path(target) : g_strdup("");
    case PROP_MACADDR:
    case PROP_UUID:
        return bytes_text(prop_field(obj, p), p->kind == PROP_MACADDR);
    case PROP_CHARDEV:
    case PROP_CUSTOM:
        if (ops && ops->get) {
            return ops->get(obj, p, prop_field(obj, p));
        }
        error_set(errp, "Property '%s.%s' cannot be read", obj->type->name, name);
        return NULL;
    case PROP_I32:
    case PROP_I64:
        return g_strdup_printf("%" PRId64, (int64_t)number_load(obj, p));
    default:
        return g_strdup_printf("%" PRIu64, number_load(obj, p));
    }
}

/* ---- defaults and storage ---- */

static void prop_init(Object *obj, const Property *p)
{
    if (p->kind == PROP_STR) {
        *(char **)prop_field(obj, p) = g_strdup(p->def_str);
    } else if (p->def_str) {
        Error *err = NULL;

        if (!prop_set(obj, p, p->def_str, &err)) {
            g_error("default of '%s.%s': %s", obj->type->name, p->name, error_text(err));
        }
    } else if (!p->has_default) {
        return;
    } else if (p->kind == PROP_BOOL || p->kind == PROP_BIT || p->kind == PROP_BIT64) {
        bool_store(obj, p, p->def);
    } else if (p->kind == PROP_ENUM || p->kind == PROP_ONOFFAUTO) {
        *(int *)prop_field(obj, p) = p->def;
    } else if (number_range(p->kind)) {
        number_store(obj, p, p->def);
    }
}

void object_props_init(Object *obj)
{
    const Type *chain[TYPE_MAX_DEPTH];
    int n = type_chain(obj->type, chain);

    for (int i = 0; i < n; i++) {
        for (const Property *p = chain[i]->props; p && p->name; p++) {
            prop_init(obj, p);
        }
    }
}

static void prop_release(const Property *p, void *opaque)
{
    Object *obj = opaque;
    void *field = prop_field(obj, p);
    const PropKindOps *ops = prop_kinds.ops[p->kind];

    if (p->kind == PROP_STR) {
        g_free(*(char **)field);
        *(char **)field = NULL;
    } else if (p->kind == PROP_LINK) {
        object_unref(*(Object **)field);
        *(Object **)field = NULL;
    } else if (ops && ops->release) {
        ops->release(obj, p, field);
    }
}

void object_props_release(Object *obj)
{
    type_prop_foreach(obj->type, prop_release, obj);
}

char *prop_type_name(const Property *p)
{
    const NumberRange *range = number_range(p->kind);

    if (p->type_name) {
        return g_strdup(p->type_name);
    }
    if (range) {
        return g_strdup(range->type_name);
    }
    switch (p->kind) {
    case PROP_STR:
    case PROP_CHARDEV:
    case PROP_MACADDR:
    case PROP_UUID:
        return g_strdup("str");
    case PROP_ENUM:
        return g_strdup("str");
    case PROP_ONOFFAUTO:
        return g_strdup("OnOffAuto");
    case PROP_LINK:
        return g_strdup_printf("link<%s>", p->link_type);
    case PROP_CUSTOM:
        return g_strdup("str");
    default:
        return g_strdup("bool");
    }
}

char *prop_default_text(const Property *p)
{
    if (p->def_str) {
        return g_strdup_printf("\"%s\"", p->def_str);
    }
    if (!p->has_default) {
        return NULL;
    }
    switch (p->kind) {
    case PROP_BOOL:
    case PROP_BIT:
    case PROP_BIT64:
        return g_strdup(p->def ? "true" : "false");
    case PROP_ENUM:
    case PROP_ONOFFAUTO:
        return g_strdup_printf("\"%s\"", enum_names(p)[p->def]);
    case PROP_I32:
    case PROP_I64:
        return g_strdup_printf("%" PRId64, (int64_t)p->def);
    default:
        return number_range(p->kind) ? g_strdup_printf("%" PRIu64, p->def) : NULL;
    }
}
