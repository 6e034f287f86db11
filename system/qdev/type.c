/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry of types: filled by constructors before main, read-only after. See
 * include/system/qdev.h. Parents are looked up by name on demand, since constructors run in no
 * particular order. Test: tests/unit/test-qdev.c.
 */
#include <string.h>

#include "system/qdev/qdev-internal.h"

static struct {
    GHashTable *by_name;            /* name -> const Type * */
} types;

void type_register(const Type *type)
{
    if (!types.by_name) {
        types.by_name = g_hash_table_new(g_str_hash, g_str_equal);
    }
    if (g_hash_table_contains(types.by_name, type->name)) {
        g_error("type '%s' is registered twice", type->name);
    }
    g_hash_table_insert(types.by_name, (void *)type->name, (void *)type);
}

const Type *type_find(const char *name)
{
    return types.by_name ? g_hash_table_lookup(types.by_name, name) : NULL;
}

const Type *type_parent(const Type *type)
{
    const Type *parent;

    if (!type->parent && !strcmp(type->name, "object")) {
        return NULL;
    }
    parent = type_find(type->parent ? type->parent : "object");
    if (!parent) {
        g_error("type '%s' names an unknown parent '%s'", type->name, type->parent);
    }
    return parent;
}

int type_chain(const Type *type, const Type *chain[TYPE_MAX_DEPTH])
{
    const Type *up[TYPE_MAX_DEPTH];
    int n = 0;

    for (; type && n < TYPE_MAX_DEPTH; type = type_parent(type)) {
        up[n++] = type;
    }
    for (int i = 0; i < n; i++) {
        chain[i] = up[n - 1 - i];
    }
    return n;
}

static bool has_interface(const Type *type, const char *name)
{
    for (const char *const *i = type->interfaces; i && *i; i++) {
        if (!strcmp(*i, name)) {
            return true;
        }
    }
    return false;
}

bool type_is_a(const Type *type, const char *ancestor)
{
    for (; type; type = type_parent(type)) {
        if (!strcmp(type->name, ancestor) || has_interface(type, ancestor)) {
            return true;
        }
    }
    return false;
}

const void *type_ops(const Type *type)
{
    for (; type; type = type_parent(type)) {
        if (type->ops) {
            return type->ops;
        }
    }
    return NULL;
}

size_t type_instance_size(const Type *type)
{
    for (; type; type = type_parent(type)) {
        if (type->size) {
            return type->size;
        }
    }
    return sizeof(Object);
}

static gint type_compare(gconstpointer a, gconstpointer b)
{
    return strcmp(((const Type *)a)->name, ((const Type *)b)->name);
}

void type_foreach(const char *ancestor, bool include_abstract, void (*fn)(const Type *type, void *opaque),
                  void *opaque)
{
    GList *all = types.by_name ? g_hash_table_get_values(types.by_name) : NULL;

    all = g_list_sort(all, type_compare);
    for (GList *at = all; at; at = at->next) {
        const Type *type = at->data;

        if ((include_abstract || !type->abstract) && (!ancestor || type_is_a(type, ancestor))) {
            fn(type, opaque);
        }
    }
    g_list_free(all);
}

static const Type object_type = { .name = "object", .abstract = true, .size = sizeof(Object) };
TYPE_REGISTER(object_type)
static const Type container_type = { .name = "container", .size = sizeof(Object) };
TYPE_REGISTER(container_type)
