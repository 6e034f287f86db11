/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the QAPI schema to and from JSON, by the generated description of their types; the
 * contract is in include/qapi/qapi.h. The JSON comes from outside: everything in it is checked.
 * Test: tests/unit/test-qapi.c.
 */
#include "qapi/qapi.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

const QapiType qapi_type_str = { "string", QAPI_STR, sizeof(char *) };
const QapiType qapi_type_int = { "integer", QAPI_INT, sizeof(int64_t) };
const QapiType qapi_type_uint64 = { "integer", QAPI_UINT, sizeof(uint64_t) };
const QapiType qapi_type_size = { "integer", QAPI_UINT, sizeof(uint64_t) };
const QapiType qapi_type_bool = { "boolean", QAPI_BOOL, sizeof(bool) };
const QapiType qapi_type_number = { "number", QAPI_NUMBER, sizeof(double) };
const QapiType qapi_type_any = { "any", QAPI_ANY, sizeof(json_object *) };

void *qapi_list_add(QapiList *list, const QapiType *type)
{
    size_t size = type->element->size;

    list->items = g_realloc(list->items, (list->n + 1) * size);
    return memset((char *)list->items + size * list->n++, 0, size);
}

int qapi_enum_find(const QapiType *type, const char *word)
{
    for (int i = 0; type->words[i]; i++) {
        if (!strcmp(type->words[i], word)) {
            return i;
        }
    }
    return -1;
}

static bool type_error(const QapiType *type, const char *path, Error **errp)
{
    static const char *const kinds[] = {
        [QAPI_STR] = "string", [QAPI_INT] = "integer", [QAPI_UINT] = "integer", [QAPI_BOOL] = "boolean",
        [QAPI_NUMBER] = "number", [QAPI_ANY] = "any", [QAPI_ENUM] = "string", [QAPI_STRUCT] = "object",
        [QAPI_LIST] = "array",
    };

    error_set(errp, "Invalid parameter type for '%s', expected: %s", path, kinds[type->kind]);
    return false;
}

static bool value_from_json(const QapiType *type, json_object *json, void *out, const char *path,
                            Error **errp);

/* The struct with the further members of a union's value; NULL: none. */
static const QapiType *union_branch(const QapiType *type, const void *value)
{
    const QapiVariants *v = type->variants;

    return v ? v->types[*(const int *)((const char *)value + v->tag_offset)] : NULL;
}

static bool has_field(const QapiType *type, const char *name)
{
    const QapiField *f = type ? type->fields : NULL;

    while (f && f->name && strcmp(f->name, name)) {
        f++;
    }
    return f && f->name;
}

/* Nothing in json but fields of the one or (may be NULL) the other? */
static bool struct_check_names(const QapiType *type, const QapiType *branch, json_object *json, const char *path,
                               Error **errp)
{
    json_object_object_foreach(json, key, value) {
        (void)value;
        if (!has_field(type, key) && !has_field(branch, key)) {
            error_set(errp, "Parameter '%s%s%s' is unexpected", path, *path ? "." : "", key);
            return false;
        }
    }
    return true;
}

static bool fields_from_json(const QapiType *type, json_object *json, void *out, const char *path,
                             Error **errp)
{
    for (const QapiField *f = type->fields; f->name; f++) {
        g_autofree char *name = *path ? g_strconcat(path, ".", f->name, NULL) : g_strdup(f->name);
        json_object *value;

        if (!json_object_object_get_ex(json, f->name, &value)) {
            if (f->optional) {
                continue;
            }
            error_set(errp, "Parameter '%s' is missing", name);
            return false;
        }
        if (!value_from_json(f->type, value, (char *)out + f->offset, name, errp)) {
            return false;
        }
        if (f->has_offset >= 0) {
            *((bool *)((char *)out + f->has_offset)) = true;
        }
    }
    return true;
}

static bool struct_from_json(const QapiType *type, json_object *json, void *out, const char *path,
                             Error **errp)
{
    const QapiType *branch;

    if (!json_object_is_type(json, json_type_object)) {
        return type_error(type, path, errp);
    }
    if (!fields_from_json(type, json, out, path, errp)) {
        return false;
    }
    branch = union_branch(type, out);
    return (!branch || fields_from_json(branch, json, (char *)out + type->variants->offset, path, errp))
           && struct_check_names(type, branch, json, path, errp);
}

static bool list_from_json(const QapiType *type, json_object *json, QapiList *out, const char *path,
                           Error **errp)
{
    if (!json_object_is_type(json, json_type_array)) {
        return type_error(type, path, errp);
    }
    for (size_t i = 0; i < json_object_array_length(json); i++) {
        g_autofree char *name = g_strdup_printf("%s[%zu]", path, i);

        if (!value_from_json(type->element, json_object_array_get_idx(json, i),
                             qapi_list_add(out, type), name, errp)) {
            return false;
        }
    }
    return true;
}

/* A number above INT64_MAX is kept by json-c as unsigned, which reading as signed would clip. */
static bool int_from_json(const QapiType *type, json_object *json, void *out, const char *path,
                          Error **errp)
{
    if (!json_object_is_type(json, json_type_int)) {
        return type_error(type, path, errp);
    }
    errno = 0;
    if (type->kind == QAPI_INT) {
        *(int64_t *)out = json_object_get_int64(json);
        if (*(int64_t *)out == INT64_MAX && json_object_get_uint64(json) != INT64_MAX) {
            errno = ERANGE;
        }
    } else {
        *(uint64_t *)out = json_object_get_uint64(json);
        if (json_object_get_int64(json) < 0) {
            errno = ERANGE;
        }
    }
    if (errno) {
        error_set(errp, "Parameter '%s' cannot take '%s': out of range", path, json_object_get_string(json));
        return false;
    }
    return true;
}

static bool enum_from_json(const QapiType *type, json_object *json, int *out, const char *path, Error **errp)
{
    if (!json_object_is_type(json, json_type_string)) {
        return type_error(type, path, errp);
    }
    *out = qapi_enum_find(type, json_object_get_string(json));
    if (*out < 0) {
        *out = 0;
        error_set(errp, "Parameter '%s' does not accept value '%s'", path, json_object_get_string(json));
        return false;
    }
    return true;
}

static bool value_from_json(const QapiType *type, json_object *json, void *out, const char *path,
                            Error **errp)
{
    switch (type->kind) {
    case QAPI_STR:
        if (!json_object_is_type(json, json_type_string)) {
            return type_error(type, path, errp);
        }
        *(char **)out = g_strdup(json_object_get_string(json));
        return true;
    case QAPI_INT:
    case QAPI_UINT:
        return int_from_json(type, json, out, path, errp);
    case QAPI_BOOL:
        if (!json_object_is_type(json, json_type_boolean)) {
            return type_error(type, path, errp);
        }
        *(bool *)out = json_object_get_boolean(json);
        return true;
    case QAPI_NUMBER:
        if (!json_object_is_type(json, json_type_double) && !json_object_is_type(json, json_type_int)) {
            return type_error(type, path, errp);
        }
        *(double *)out = json_object_get_double(json);
        return true;
    case QAPI_ANY:
        *(json_object **)out = json_object_get(json);
        return true;
    case QAPI_ENUM:
        return enum_from_json(type, json, out, path, errp);
    case QAPI_STRUCT:
        return struct_from_json(type, json, out, path, errp);
    case QAPI_LIST:
        return list_from_json(type, json, out, path, errp);
    }
    return false;
}

bool qapi_from_json(const QapiType *type, json_object *json, void *out, Error **errp)
{
    memset(out, 0, type->size);
    if (!value_from_json(type, json, out, "", errp)) {
        qapi_clear(type, out);
        return false;
    }
    return true;
}

/* Is an optional field there? */
static bool field_present(const QapiField *f, const void *value)
{
    if (!f->optional) {
        return true;
    }
    if (f->has_offset >= 0) {
        return *((const bool *)((const char *)value + f->has_offset));
    }
    if (f->type->kind == QAPI_LIST) {
        return ((const QapiList *)((const char *)value + f->offset))->n > 0;
    }
    return *(void *const *)((const char *)value + f->offset) != NULL;
}

static void fields_to_json(const QapiType *type, const void *value, json_object *out)
{
    for (const QapiField *f = type->fields; f->name; f++) {
        if (field_present(f, value)) {
            json_object_object_add(out, f->name, qapi_to_json(f->type, (const char *)value + f->offset));
        }
    }
}

static json_object *struct_to_json(const QapiType *type, const void *value)
{
    json_object *out = json_object_new_object();
    const QapiType *branch = union_branch(type, value);

    fields_to_json(type, value, out);
    if (branch) {
        fields_to_json(branch, (const char *)value + type->variants->offset, out);
    }
    return out;
}

static json_object *list_to_json(const QapiType *type, const QapiList *list)
{
    json_object *out = json_object_new_array();

    for (size_t i = 0; i < list->n; i++) {
        json_object_array_add(out, qapi_to_json(type->element,
                                                (const char *)list->items + i * type->element->size));
    }
    return out;
}

json_object *qapi_to_json(const QapiType *type, const void *value)
{
    switch (type->kind) {
    case QAPI_STR: {
        const char *text = *(char *const *)value;

        return json_object_new_string(text ? text : "");
    }
    case QAPI_INT:
        return json_object_new_int64(*(const int64_t *)value);
    case QAPI_UINT:
        return json_object_new_uint64(*(const uint64_t *)value);
    case QAPI_BOOL:
        return json_object_new_boolean(*(const bool *)value);
    case QAPI_NUMBER:
        return json_object_new_double(*(const double *)value);
    case QAPI_ANY:
        return json_object_get(*(json_object *const *)value);
    case QAPI_ENUM:
        return json_object_new_string(type->words[*(const int *)value]);
    case QAPI_STRUCT:
        return struct_to_json(type, value);
    case QAPI_LIST:
        return list_to_json(type, value);
    }
    return NULL;
}

static void list_clear(const QapiType *type, QapiList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        qapi_clear(type->element, (char *)list->items + i * type->element->size);
    }
    g_free(list->items);
}

void qapi_clear(const QapiType *type, void *value)
{
    switch (type->kind) {
    case QAPI_STR:
        g_free(*(char **)value);
        break;
    case QAPI_ANY:
        json_object_put(*(json_object **)value);
        break;
    case QAPI_STRUCT:
        if (union_branch(type, value)) {
            qapi_clear(union_branch(type, value), (char *)value + type->variants->offset);
        }
        for (const QapiField *f = type->fields; f->name; f++) {
            qapi_clear(f->type, (char *)value + f->offset);
        }
        break;
    case QAPI_LIST:
        list_clear(type, value);
        break;
    default:
        break;
    }
    memset(value, 0, type->size);
}

const QapiCommand *qapi_command_find(const char *name)
{
    for (const QapiCommand *cmd = qapi_commands; cmd->name; cmd++) {
        if (!strcmp(cmd->name, name)) {
            return cmd;
        }
    }
    return NULL;
}

json_object *qapi_command_run(const QapiCommand *cmd, struct QmpSession *session, json_object *arguments,
                              Error **errp)
{
    static const QapiField no_fields[] = { { NULL } };
    static const QapiType no_args = { "q_empty", QAPI_STRUCT, 0, no_fields };
    const QapiType *type = cmd->args ? cmd->args : &no_args;
    g_autofree void *args = g_malloc0(type->size + 1);
    g_autofree void *ret = g_malloc0(cmd->ret ? cmd->ret->size : 1);
    json_object *none = arguments ? NULL : json_object_new_object(), *answer = NULL;
    Error *err = NULL;

    if (qapi_from_json(type, arguments ? arguments : none, args, &err)) {
        if (cmd->call(session, args, ret, &err)) {
            answer = cmd->ret ? qapi_to_json(cmd->ret, ret) : json_object_new_object();
        }
        qapi_clear(type, args);
        if (cmd->ret) {
            qapi_clear(cmd->ret, ret);
        }
    }
    json_object_put(none);
    error_propagate(errp, err);
    return answer;
}
