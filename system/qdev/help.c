/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `-device help`, `-device X,help`, `-object help` and `-object X,help` print on stdout.
 * The layout is what management tools parse: name "x", bus Y, alias "z", desc "d". Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "system/qdev/qdev-internal.h"

static const char *const categories[] = {
    "Controller/Bridge/Hub devices", "USB devices", "Storage devices", "Network devices", "Input devices",
    "Display devices", "Sound devices", "Misc devices", "CPU devices", "Watchdog devices", NULL,
};

typedef struct DeviceList {
    const char *category;           /* NULL: those that are in none of the known ones */
    bool any;                       /* a device of this category was printed */
    bool *begun;                    /* so was one of an earlier category */
} DeviceList;

static const char *type_category(const Type *type)
{
    for (; type; type = type_parent(type)) {
        if (type->category) {
            return type->category;
        }
    }
    return NULL;
}

static bool category_matches(const Type *type, const char *category)
{
    const char *own = type_category(type);

    if (category) {
        return own && !strcmp(own, category);
    }
    return !own || !g_strv_contains(categories, own);
}

static void device_list_line(const Type *type, void *opaque)
{
    DeviceList *list = opaque;
    const char *bus = device_bus_type(type);

    if (!type->user_creatable || !category_matches(type, list->category)) {
        return;
    }
    if (!list->any) {
        printf("%s%s:\n", *list->begun ? "\n" : "",
               list->category ? list->category : "Uncategorized devices");
        list->any = *list->begun = true;
    }
    printf("name \"%s\"", type->name);
    if (bus) {
        printf(", bus %s", bus);
    }
    if (type->alias) {
        printf(", alias \"%s\"", type->alias);
    }
    if (type->desc) {
        printf(", desc \"%s\"", type->desc);
    }
    printf("\n");
}

static void collect_prop(const Property *p, void *opaque)
{
    GPtrArray *all = opaque;

    /* A child type's property of the same name hides its parent's. */
    for (guint i = 0; i < all->len; i++) {
        if (!strcmp(((const Property *)g_ptr_array_index(all, i))->name, p->name)) {
            return;
        }
    }
    g_ptr_array_add(all, (gpointer)p);
}

static gint prop_compare(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const Property *const *)a)->name, (*(const Property *const *)b)->name);
}

static void print_prop(const Property *p)
{
    g_autofree char *type = prop_type_name(p);
    g_autofree char *def = prop_default_text(p);
    g_autofree char *head = g_strdup_printf("%s=<%s>", p->name, type);

    if (!p->help && !def) {
        printf("  %s\n", head);
        return;
    }
    printf("  %-22s - %s", head, p->help ? p->help : "");
    if (def) {
        printf(" (default: %s)", def);
    }
    printf("\n");
}

static void print_type_props(const Type *type)
{
    g_autoptr(GPtrArray) props = g_ptr_array_new();

    type_prop_foreach(type, collect_prop, props);
    g_ptr_array_sort(props, prop_compare);
    if (!props->len) {
        printf("There are no options for %s.\n", type->name);
        return;
    }
    printf("%s options:\n", type->name);
    for (guint i = 0; i < props->len; i++) {
        print_prop(g_ptr_array_index(props, i));
    }
}

bool device_print_help(const char *driver)
{
    bool begun = false;
    const Type *type;

    if (!driver) {
        for (int i = 0; i <= (int)G_N_ELEMENTS(categories) - 1; i++) {
            DeviceList list = { .category = categories[i], .begun = &begun };

            type_foreach("device", false, device_list_line, &list);
        }
        return true;
    }
    type = device_type_find(driver);
    if (!type || !type_is_a(type, "device")) {
        return false;
    }
    print_type_props(type);
    return true;
}

static void object_list_line(const Type *type, void *opaque)
{
    (void)opaque;
    if (type->user_creatable && !type_is_a(type, "device")) {
        printf("  %s\n", type->name);
    }
}

bool object_print_help(const char *name)
{
    const Type *type;

    if (!name) {
        printf("List of user creatable objects:\n");
        type_foreach(NULL, false, object_list_line, NULL);
        return true;
    }
    type = type_find(name);
    if (!type || !type->user_creatable || type_is_a(type, "device")) {
        return false;
    }
    print_type_props(type);
    return true;
}
