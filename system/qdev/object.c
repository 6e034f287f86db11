/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects: creation, references, the composition tree and its paths, realize. See
 * include/system/qdev.h. Machine lock, or main thread. Test: tests/unit/test-qdev.c.
 */
#include <stdlib.h>
#include <string.h>

#include "system/qdev/qdev-internal.h"

static struct {
    Object *root;
} tree;

/* ---- life ---- */

static void object_setup(Object *obj, const Type *type)
{
    const Type *chain[TYPE_MAX_DEPTH];
    int n = type_chain(type, chain);

    obj->type = type;
    obj->refs = 1;
    object_props_init(obj);
    for (int i = 0; i < n; i++) {
        if (chain[i]->init) {
            chain[i]->init(obj);
        }
    }
    object_globals_apply(obj);
}

static Object *object_create(const Type *type)
{
    Object *obj = g_malloc0(type_instance_size(type));

    obj->free = g_free;
    object_setup(obj, type);
    obj->free = g_free;
    return obj;
}

Object *object_new(const char *name)
{
    const Type *type = type_find(name);

    if (!type || type->abstract) {
        g_error("object_new: '%s' is no type that can be created", name);
    }
    return object_create(type);
}

void object_init(void *mem, const char *name)
{
    const Type *type = type_find(name);

    if (!type || type->abstract) {
        g_error("object_init: '%s' is no type that can be created", name);
    }
    memset(mem, 0, type_instance_size(type));
    object_setup(mem, type);
}

Object *object_new_checked(const char *name, Error **errp)
{
    const Type *type = type_find(name);
    Object *obj;

    if (!type) {
        error_set(errp, "there is no object type named '%s'", name);
        return NULL;
    }
    if (type->abstract) {
        error_set(errp, "type '%s' is abstract and cannot be created", name);
        return NULL;
    }
    obj = object_create(type);
    if (obj->init_error) {
        Error *err = obj->init_error;

        obj->init_error = NULL;
        error_propagate(errp, err);
        object_unref(obj);
        return NULL;
    }
    return obj;
}

void object_ref(Object *obj)
{
    obj->refs++;
}

static void object_finalize(Object *obj)
{
    const Type *chain[TYPE_MAX_DEPTH];

    while (obj->first_child) {
        object_remove(obj->first_child);
    }
    for (int i = type_chain(obj->type, chain) - 1; i >= 0; i--) {
        if (chain[i]->fini) {
            chain[i]->fini(obj);
        }
    }
    object_props_release(obj);
    g_free(obj->name);
    g_free(obj->id);
    obj->name = obj->id = NULL;
    error_free(obj->init_error);
    if (obj->free) {
        obj->free(obj);
    }
}

void object_unref(Object *obj)
{
    if (obj && --obj->refs == 0) {
        object_finalize(obj);
    }
}

/* ---- tree ---- */

Object *object_root(void)
{
    if (!tree.root) {
        tree.root = object_new("container");
    }
    return tree.root;
}

Object *object_child(const Object *parent, const char *name)
{
    for (Object *c = parent->first_child; c; c = c->next_sibling) {
        if (!strcmp(c->name, name)) {
            return c;
        }
    }
    return NULL;
}

/* "device[*]" -> "device[0]", or the first index that is free. */
static char *child_pick_name(Object *parent, const char *pattern)
{
    size_t len = strlen(pattern);
    unsigned next = 0;

    if (len < 3 || strcmp(pattern + len - 3, "[*]")) {
        return g_strdup(pattern);
    }
    for (Object *c = parent->first_child; c; c = c->next_sibling) {
        if (!strncmp(c->name, pattern, len - 2)) {
            next = MAX(next, (unsigned)atoi(c->name + len - 2) + 1);
        }
    }
    return g_strdup_printf("%.*s[%u]", (int)len - 3, pattern, next);
}

void object_add_child(Object *parent, const char *name, Object *child)
{
    Object **at = &parent->first_child;

    g_free(child->name);
    child->name = child_pick_name(parent, name);
    if (object_child(parent, child->name)) {
        g_error("object '%s' has a child '%s' already", parent->name ? parent->name : "/", child->name);
    }
    child->parent = parent;
    child->next_sibling = NULL;
    while (*at) {
        at = &(*at)->next_sibling;
    }
    *at = child;
}

void object_remove(Object *obj)
{
    Object *parent = obj->parent;

    if (!parent) {
        return;
    }
    for (Object **at = &parent->first_child; *at; at = &(*at)->next_sibling) {
        if (*at == obj) {
            *at = obj->next_sibling;
            break;
        }
    }
    obj->parent = obj->next_sibling = NULL;
    object_unref(obj);
}

Object *object_container(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    Object *at = object_root();

    for (int i = 0; parts[i]; i++) {
        Object *next;

        if (!*parts[i]) {
            continue;
        }
        next = object_child(at, parts[i]);
        if (!next) {
            next = object_new("container");
            object_add_child(at, parts[i], next);
        }
        at = next;
    }
    return at;
}

static Object *resolve_from(Object *at, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);

    for (int i = 0; at && parts[i]; i++) {
        if (*parts[i]) {
            at = object_child(at, parts[i]);
        }
    }
    return at;
}

bool object_walk(Object *obj, bool (*fn)(Object *obj, void *opaque), void *opaque)
{
    if (!fn(obj, opaque)) {
        return false;
    }
    for (Object *c = obj->first_child, *next; c; c = next) {
        next = c->next_sibling;
        if (!object_walk(c, fn, opaque)) {
            return false;
        }
    }
    return true;
}

typedef struct PartialSearch {
    const char *path;
    Object *found;
} PartialSearch;

static bool partial_match(Object *obj, void *opaque)
{
    PartialSearch *s = opaque;

    s->found = resolve_from(obj, s->path);
    return !s->found;
}

/* A path with '/' in front is absolute; else an id, else the first place where it fits below some object. */
Object *object_resolve(const char *path)
{
    static const char *const homes[] = { "/objects", "/machine/peripheral", "/chardevs" };
    PartialSearch s = { .path = path };

    if (path[0] == '/') {
        return resolve_from(object_root(), path);
    }
    if (!path[0]) {
        return NULL;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(homes); i++) {
        Object *home = resolve_from(object_root(), homes[i]);
        Object *obj = home ? resolve_from(home, path) : NULL;

        if (obj) {
            return obj;
        }
    }
    object_walk(object_root(), partial_match, &s);
    return s.found;
}

char *object_path(const Object *obj)
{
    g_autoptr(GString) path = g_string_new(NULL);

    for (; obj->parent; obj = obj->parent) {
        g_string_prepend(path, obj->name);
        g_string_prepend_c(path, '/');
    }
    if (!path->len) {
        g_string_assign(path, "/");
    }
    return g_string_free(g_steal_pointer(&path), FALSE);
}

bool object_is_a(const Object *obj, const char *ancestor)
{
    return type_is_a(obj->type, ancestor);
}

/* ---- realize, reset ---- */

static void chain_unrealize(Object *obj, const Type *const *chain, int n)
{
    while (n-- > 0) {
        if (chain[n]->unrealize) {
            chain[n]->unrealize(obj);
        }
    }
}

bool object_realize(Object *obj, Error **errp)
{
    const Type *chain[TYPE_MAX_DEPTH];
    int n = type_chain(obj->type, chain);

    if (obj->realized) {
        return true;
    }
    if (obj->init_error) {
        error_propagate(errp, g_steal_pointer(&obj->init_error));
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (chain[i]->realize && !chain[i]->realize(obj, errp)) {
            chain_unrealize(obj, chain, i);
            return false;
        }
    }
    obj->realized = true;
    return true;
}

void object_unrealize(Object *obj)
{
    const Type *chain[TYPE_MAX_DEPTH];

    if (obj->realized) {
        obj->realized = false;
        chain_unrealize(obj, chain, type_chain(obj->type, chain));
    }
}

void object_reset(Object *obj)
{
    const Type *chain[TYPE_MAX_DEPTH];
    int n = type_chain(obj->type, chain);

    for (int i = 0; i < n; i++) {
        if (chain[i]->reset) {
            chain[i]->reset(obj);
        }
    }
}
