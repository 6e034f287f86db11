/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QAPI: values that cross the border to management tools, as C structs and as JSON.
 *
 * The schema (the .json files in qapi/) is the single truth: scripts/qapi/gen.py makes the structs, a table that
 * describes them (QapiType), the table of commands, the introspection data and the manual from it.
 * The functions here walk such a table, so that no type has code of its own.
 *
 * A struct owns what its pointers lead to. Optional members: a NULL pointer is "absent"; for
 * others a bool has_NAME says so. Zeroed memory is an empty value. The members that a union has for a
 * word are in u.q_WORD. Any thread; no state.
 * Test: tests/unit/test-qapi.c.
 */
#ifndef CLEAT_QAPI_QAPI_H
#define CLEAT_QAPI_QAPI_H

#include <json-c/json_object.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

typedef enum QapiKind {
    QAPI_STR, QAPI_INT, QAPI_UINT, QAPI_BOOL, QAPI_NUMBER, QAPI_ANY, QAPI_ENUM, QAPI_STRUCT, QAPI_LIST
} QapiKind;

typedef struct QapiType QapiType;

typedef struct QapiField {
    const char *name;           /* in JSON; NULL ends a list */
    const QapiType *type;
    ptrdiff_t offset;
    bool optional;
    ptrdiff_t has_offset;       /* of its has_NAME; -1: none */
} QapiField;

/* A union: which further members a struct has depends on a member that is an enum. */
typedef struct QapiVariants {
    ptrdiff_t tag_offset, offset;   /* of that member; of the C union */
    const QapiType *types[16];      /* structs, by the enum's value; NULL: no further members */
} QapiVariants;

struct QapiType {
    const char *name;
    QapiKind kind;
    size_t size;                /* of the value in C */
    const QapiField *fields;    /* QAPI_STRUCT */
    const char *const *words;   /* QAPI_ENUM: NULL-terminated, in the order of the C enum */
    const QapiType *element;    /* QAPI_LIST */
    const QapiVariants *variants;   /* QAPI_STRUCT: NULL when it is no union */
};
extern const QapiType qapi_type_str, qapi_type_int, qapi_type_uint64, qapi_type_size, qapi_type_bool,
    qapi_type_number, qapi_type_any;

/* A list: n values of the element's size in a row. */
typedef struct QapiList {
    void *items;
    size_t n;
} QapiList;
/* One more element, zeroed, at the end. */
void *qapi_list_add(QapiList *list, const QapiType *type);

/*
 * JSON to a zeroed value of that type; unknown members, missing ones and wrong types are errors that
 * name the member ("a.b"). On failure *out is cleared again.
 */
bool qapi_from_json(const QapiType *type, json_object *json, void *out, Error **errp);
/* A new JSON value. */
json_object *qapi_to_json(const QapiType *type, const void *value);
/* Frees what the value owns and zeroes it. */
void qapi_clear(const QapiType *type, void *value);
/* The number of an enum's word; -1: none of them. */
int qapi_enum_find(const QapiType *type, const char *word);

struct QmpSession;          /* monitor/qmp.c */

typedef struct QapiCommand {
    const char *name;
    const QapiType *args;       /* NULL: takes none */
    const QapiType *ret;        /* NULL: returns {} */
    bool (*call)(struct QmpSession *session, const void *args, void *ret, Error **errp);
    bool allow_preconfig;
} QapiCommand;
typedef struct QapiEvent {
    const char *name;
    const QapiType *data;       /* NULL: none */
} QapiEvent;
/* Sorted by name, ended by a NULL name; generated. */
extern const QapiCommand qapi_commands[];
extern const QapiEvent qapi_events[];
extern const char qapi_schema_json[];

const QapiCommand *qapi_command_find(const char *name);
/*
 * Runs a command: arguments (NULL: none) in, a new JSON value out; NULL with an error. session is
 * handed to the handler. Machine lock.
 */
json_object *qapi_command_run(const QapiCommand *cmd, struct QmpSession *session, json_object *arguments,
                              Error **errp);

#endif
