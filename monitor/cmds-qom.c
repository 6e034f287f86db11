/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP handlers about the composition tree and the types (qapi/qom.json).
 * Main loop thread, machine lock. Test: tests/monitor/qmp.py.
 */
#include <json-c/json.h>
#include <string.h>

#include "monitor/monitor-int.h"
#include "system/qdev.h"
#include "util/units.h"

static Object *path_resolve(const char *path, Error **errp)
{
    Object *obj = object_resolve(path);

    if (!obj) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", path);
    }
    return obj;
}

static QapiObjectPropertyInfo *info_add(QapiList *list, const char *name, char *type)
{
    QapiObjectPropertyInfo *info = qapi_list_add(list, &qapi_list_ObjectPropertyInfo);

    info->name = g_strdup(name);
    info->type = type;
    return info;
}

static bool prop_is_bool(const Property *p)
{
    return p->kind == PROP_BOOL || p->kind == PROP_BIT || p->kind == PROP_BIT64;
}

static bool prop_is_number(const Property *p)
{
    return p->kind >= PROP_U8 && p->kind <= PROP_SIZE;
}

/* A property's text as the JSON value of its kind. */
static json_object *prop_text_to_json(const Property *p, const char *text)
{
    uint64_t u;
    int64_t i;
    bool b;

    if (prop_is_bool(p) && parse_bool(text, &b)) {
        return json_object_new_boolean(b);
    }
    if (prop_is_number(p)) {
        if (parse_uint(text, &u) == PARSE_OK) {
            return json_object_new_uint64(u);
        }
        if (parse_int(text, &i) == PARSE_OK) {
            return json_object_new_int64(i);
        }
    }
    return json_object_new_string(text);
}

static void prop_list_one(const Property *p, void *opaque)
{
    info_add(opaque, p->name, prop_type_name(p));
}

bool qmp_qom_list(const QapiQomListArg *args, QapiList *ret, Error **errp)
{
    Object *obj = path_resolve(args->path, errp);

    if (!obj) {
        return false;
    }
    info_add(ret, "type", g_strdup("string"));
    type_prop_foreach(obj->type, prop_list_one, ret);
    for (Object *child = obj->first_child; child; child = child->next_sibling) {
        info_add(ret, child->name, g_strdup_printf("child<%s>", child->type->name));
    }
    return true;
}

bool qmp_qom_get(const QapiQomGetArg *args, json_object **ret, Error **errp)
{
    Object *obj = path_resolve(args->path, errp), *child;
    const Property *p;
    g_autofree char *text = NULL;

    if (!obj) {
        return false;
    }
    if (!strcmp(args->property, "type")) {
        *ret = json_object_new_string(obj->type->name);
        return true;
    }
    child = object_child(obj, args->property);
    if (child) {
        text = object_path(child);
        *ret = json_object_new_string(text);
        return true;
    }
    text = object_prop_get(obj, args->property, errp);
    if (!text) {
        return false;
    }
    p = type_prop_find(obj->type, args->property);
    *ret = p ? prop_text_to_json(p, text) : json_object_new_string(text);
    return true;
}

/* A JSON value as a property's text. */
static char *prop_text_from_json(json_object *value, Error **errp)
{
    switch (json_object_get_type(value)) {
    case json_type_boolean:
        return g_strdup(json_object_get_boolean(value) ? "on" : "off");
    case json_type_int:
    case json_type_double:
    case json_type_string:
        return g_strdup(json_object_get_string(value));
    default:
        error_set(errp, "Invalid parameter type for 'value', expected: string, number or boolean");
        return NULL;
    }
}

bool qmp_qom_set(const QapiQomSetArg *args, Error **errp)
{
    Object *obj = path_resolve(args->path, errp);
    g_autofree char *text = obj ? prop_text_from_json(args->value, errp) : NULL;

    return text && object_prop_set(obj, args->property, text, errp);
}

static void type_list_one(const Type *type, void *opaque)
{
    QapiObjectTypeInfo *info = qapi_list_add(opaque, &qapi_list_ObjectTypeInfo);

    info->name = g_strdup(type->name);
    info->has_abstract = type->abstract;
    info->abstract = type->abstract;
    info->parent = g_strdup(type->parent);
}

bool qmp_qom_list_types(const QapiQomListTypesArg *args, QapiList *ret, Error **errp)
{
    type_foreach(args->implements ? args->implements : "object", args->has_abstract && args->abstract,
                 type_list_one, ret);
    return true;
}

static const Type *type_needed(const char *name, Error **errp)
{
    const Type *type = type_find(name);

    if (!type) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Class '%s' not found", name);
    }
    return type;
}

static void prop_describe_one(const Property *p, void *opaque)
{
    QapiObjectPropertyInfo *info = info_add(opaque, p->name, prop_type_name(p));
    g_autofree char *text = prop_default_text(p);

    info->description = g_strdup(p->help);
    if (text) {
        size_t len = strlen(text);
        g_autofree char *bare = len > 1 && text[0] == '"' ? g_strndup(text + 1, len - 2) : g_strdup(text);

        info->default_value = prop_text_to_json(p, bare);
    }
}

bool qmp_qom_list_properties(const QapiQomListPropertiesArg *args, QapiList *ret, Error **errp)
{
    const Type *type = type_needed(args->typename, errp);

    if (type) {
        type_prop_foreach(type, prop_describe_one, ret);
    }
    return type != NULL;
}

bool qmp_device_list_properties(const QapiDeviceListPropertiesArg *args, QapiList *ret, Error **errp)
{
    const Type *type = type_needed(args->typename, errp);

    if (!type) {
        return false;
    }
    if (!type_is_a(type, "device") || type->abstract) {
        error_set(errp, "Parameter 'typename' expects a device type that is not abstract, not '%s'", args->typename);
        return false;
    }
    type_prop_foreach(type, prop_describe_one, ret);
    return true;
}
