/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the user's words to a device or object: -device, device_add, -object, object-add.
 * Everything is judged before anything becomes visible; what failed half way is undone.
 * Main thread, machine lock. Test: tests/unit/test-qdev.c.
 */
#include <string.h>

#include "system/qdev/qdev-internal.h"
#include "util/units.h"

typedef struct AliasSearch {
    const char *alias;
    const Type *found;
} AliasSearch;

static void alias_match(const Type *type, void *opaque)
{
    AliasSearch *s = opaque;

    if (type->alias && !strcmp(type->alias, s->alias)) {
        s->found = type;
    }
}

const Type *device_type_find(const char *driver)
{
    AliasSearch s = { .alias = driver };
    const Type *type = type_find(driver);

    if (type) {
        return type;
    }
    type_foreach("device", false, alias_match, &s);
    return s.found;
}

static const Type *device_type_check(const char *driver, Error **errp)
{
    const Type *type = device_type_find(driver);

    if (!type) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "'%s' is not a valid device model name", driver);
        return NULL;
    }
    if (!type_is_a(type, "device")) {
        error_set(errp, "'%s' is an object type, not a device model", driver);
        return NULL;
    }
    if (type->abstract) {
        error_set(errp, "Device model '%s' is abstract: parameter 'driver' needs one of its kinds", driver);
        return NULL;
    }
    if (!type->user_creatable) {
        error_set(errp, "Device model '%s' is built in by the machine and cannot be added with -device", driver);
        return NULL;
    }
    return type;
}

static const char *props_get(const PropPair *props, int n, const char *key)
{
    const char *value = NULL;

    for (int i = 0; i < n; i++) {
        if (!strcmp(props[i].key, key)) {
            value = props[i].value;
        }
    }
    return value;
}

static bool id_check(const char *id, const char *home, const char *what, Error **errp)
{
    if (!id_is_wellformed(id)) {
        error_set(errp, "Parameter 'id' expects an identifier, not '%s'", id);
        error_hint(errp, "An identifier is a letter, followed by letters, digits, '-', '.' and '_'.");
        return false;
    }
    if (object_child(object_container(home), id)) {
        error_set(errp, "Duplicate ID '%s' for %s", id, what);
        return false;
    }
    return true;
}

/* The bus that bus= names, or the first that fits. False with an error; *bus NULL for a system bus device. */
static bool device_choose_bus(const Type *type, const char *name, Bus **bus, Error **errp)
{
    const char *want = device_bus_type(type);

    *bus = NULL;
    if (name) {
        *bus = bus_find(name);
        if (!*bus) {
            error_set(errp, "Bus '%s' not found", name);
        }
        return *bus != NULL;
    }
    if (!want) {
        return true;
    }
    *bus = bus_find_by_type(want);
    if (!*bus) {
        error_set(errp, "No '%s' bus found for device '%s'", want, type->name);
    }
    return *bus != NULL;
}

static bool props_apply(Object *obj, const PropPair *props, int n, const char *const *skip, Error **errp)
{
    for (int i = 0; i < n; i++) {
        if (!g_strv_contains(skip, props[i].key) &&
            !object_prop_set(obj, props[i].key, props[i].value, errp)) {
            return false;
        }
    }
    return true;
}

/* Takes obj out of the tree and lets it go, wherever it got to. */
static void object_discard(Object *obj)
{
    if (obj->parent) {
        object_remove(obj);
    } else {
        object_unref(obj);
    }
}

Device *device_add_from_props(const char *driver, const PropPair *props, int n, Error **errp)
{
    static const char *const skip[] = { "driver", "id", "bus", NULL };
    const char *id = props_get(props, n, "id");
    const Type *type = device_type_check(driver, errp);
    Device *dev;
    Bus *bus;

    if (!type || (id && !id_check(id, "/machine/peripheral", "device", errp)) ||
        !device_choose_bus(type, props_get(props, n, "bus"), &bus, errp)) {
        return NULL;
    }
    dev = (Device *)object_new_checked(type->name, errp);
    if (!dev) {
        return NULL;
    }
    dev->obj.id = g_strdup(id);
    if (!props_apply(&dev->obj, props, n, skip, errp)) {
        object_unref(&dev->obj);
        return NULL;
    }
    if (!id) {
        object_add_child(object_container("/machine/peripheral-anon"), "device[*]", &dev->obj);
    }
    if (!device_plug(dev, bus, errp)) {
        object_discard(&dev->obj);
        return NULL;
    }
    return dev;
}

static const Type *object_type_check(const char *name, Error **errp)
{
    const Type *type = type_find(name);

    if (!type || !type->user_creatable || type->abstract || type_is_a(type, "device")) {
        error_set(errp, "Parameter 'qom-type' does not accept value '%s': no such user-creatable object type",
                  name);
        return NULL;
    }
    return type;
}

bool object_add_from_props(const char *name, const char *id, const PropPair *props, int n, Error **errp)
{
    static const char *const skip[] = { "qom-type", "id", NULL };
    const Type *type = object_type_check(name, errp);
    Object *obj;

    if (!type) {
        return false;
    }
    if (!id) {
        error_set(errp, "Parameter 'id' is missing");
        return false;
    }
    if (!id_check(id, "/objects", "object", errp)) {
        return false;
    }
    obj = object_new_checked(type->name, errp);
    if (!obj) {
        return false;
    }
    obj->id = g_strdup(id);
    if (!props_apply(obj, props, n, skip, errp) || !object_realize(obj, errp)) {
        object_unref(obj);
        return false;
    }
    object_add_child(object_container("/objects"), id, obj);
    return true;
}
