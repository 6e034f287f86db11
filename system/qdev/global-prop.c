/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -global: defaults from the user for every instance of a type. Later ones win. A setting for a
 * type or property that never came up is reported once the machine stands. Main thread. Test:
 * tests/unit/test-qdev.c.
 */
#include <string.h>

#include "system/qdev/qdev-internal.h"

typedef struct GlobalProp {
    char *driver, *prop, *value;
    bool used;
} GlobalProp;

static struct {
    GPtrArray *all;                 /* of GlobalProp, in the order given */
} globals;

void global_prop_add(const char *driver, const char *prop, const char *value)
{
    GlobalProp *g = g_new0(GlobalProp, 1);

    g->driver = g_strdup(driver);
    g->prop = g_strdup(prop);
    g->value = g_strdup(value);
    if (!globals.all) {
        globals.all = g_ptr_array_new();
    }
    g_ptr_array_add(globals.all, g);
}

void object_globals_apply(Object *obj)
{
    for (guint i = 0; globals.all && i < globals.all->len; i++) {
        GlobalProp *g = g_ptr_array_index(globals.all, i);
        Error *err = NULL;

        if (!type_is_a(obj->type, g->driver)) {
            continue;
        }
        g->used = true;
        if (!object_prop_set(obj, g->prop, g->value, &err)) {
            error_prepend(&err, "-global %s.%s=%s cannot be applied: ", g->driver, g->prop, g->value);
            error_propagate(obj->init_error ? NULL : &obj->init_error, err);
        }
    }
}

void global_prop_warn_unused(void)
{
    for (guint i = 0; globals.all && i < globals.all->len; i++) {
        GlobalProp *g = g_ptr_array_index(globals.all, i);

        if (g->used) {
            continue;
        }
        if (!type_find(g->driver)) {
            warn_report("-global %s.%s=%s names an unknown driver '%s'", g->driver, g->prop, g->value,
                        g->driver);
        } else {
            warn_report("-global %s.%s=%s had no effect: no '%s' was created", g->driver, g->prop, g->value,
                        g->driver);
        }
    }
}
