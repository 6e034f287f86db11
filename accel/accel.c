/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of accelerators and the choice among them; see include/accel/accel.h. Main thread. Test: test-cpus.c. */
#include "accel/accel.h"

#include <stdio.h>
#include <string.h>

#include "system/loop.h"

static struct {
    GPtrArray *rows;                /* of const AccelOps *, filled by constructors */
    const AccelOps *current;
} accels;

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const AccelOps *const *)a)->name, (*(const AccelOps *const *)b)->name);
}

void accel_register(const AccelOps *ops)
{
    if (!accels.rows) {
        accels.rows = g_ptr_array_new();
    }
    g_ptr_array_add(accels.rows, (gpointer)ops);
    g_ptr_array_sort(accels.rows, by_name);
}

const AccelOps *accel_find(const char *name)
{
    for (guint i = 0; accels.rows && i < accels.rows->len; i++) {
        const AccelOps *ops = g_ptr_array_index(accels.rows, i);

        if (!strcmp(ops->name, name)) {
            return ops;
        }
    }
    return NULL;
}

const AccelOps *accel_current(void)
{
    return accels.current;
}

void accel_print_help(void)
{
    printf("Accelerators supported in this binary:\n");
    for (guint i = 0; accels.rows && i < accels.rows->len; i++) {
        const AccelOps *ops = g_ptr_array_index(accels.rows, i);

        printf("%s\n", ops->name);
    }
}

static char *accel_names(void)
{
    GString *names = g_string_new(NULL);

    for (guint i = 0; accels.rows && i < accels.rows->len; i++) {
        g_string_append_printf(names, "%s%s", i ? ", " : "", ((AccelOps *)accels.rows->pdata[i])->name);
    }
    return g_string_free(names, FALSE);
}

static bool prop_is_known(const AccelOps *ops, const char *key)
{
    for (const char *const *p = ops->props; p && *p; p++) {
        if (!strcmp(*p, key)) {
            return true;
        }
    }
    return false;
}

/* Every name of a list must exist, and know the properties, before any is tried. */
static bool list_check(char *const *names, const AccelProp *props, int n, Error **errp)
{
    for (int i = 0; names[i]; i++) {
        const AccelOps *ops = accel_find(names[i]);

        if (!ops) {
            g_autofree char *known = accel_names();

            error_set(errp, "invalid accelerator '%s' (this binary has: %s)", names[i], known);
            return false;
        }
        for (int k = 0; k < n; k++) {
            if (!prop_is_known(ops, props[k].key)) {
                error_set(errp, "Property '%s-accel.%s' not found", ops->name, props[k].key);
                return false;
            }
        }
    }
    return true;
}

static bool accel_try(const AccelOps *ops, const AccelProp *props, int n, Error **errp)
{
    if ((ops->available && !ops->available(errp)) || (ops->init && !ops->init(props, n, errp))) {
        return false;
    }
    accels.current = ops;
    clock_virtual_source_set(ops->clock_virtual);
    return true;
}

bool accel_select(const char *list, const AccelProp *props, int n, Error **errp)
{
    g_auto(GStrv) names = g_strsplit(list, ":", -1);
    Error *first_err = NULL;

    if (!names[0]) {
        error_set(errp, "no accelerator is named");
        return false;
    }
    if (!list_check(names, props, n, errp)) {
        return false;
    }
    for (int i = 0; names[i]; i++) {
        Error *err = NULL;

        if (accel_try(accel_find(names[i]), props, n, &err)) {
            if (first_err) {
                info_report("falling back to accelerator '%s': %s", names[i], error_text(first_err));
                error_free(first_err);
            }
            return true;
        }
        error_prepend(&err, "accelerator '%s': ", names[i]);
        error_propagate(&first_err, err);
    }
    error_propagate(errp, first_err);
    return false;
}
