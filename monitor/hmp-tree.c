/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `info qtree` (devices by the bus they sit on) and `info qom-tree` (all objects by their place) of the monitor
 * for people. What they print is for eyes; programs use qom-list and qom-get.
 * Main loop thread, machine lock. Test: tests/monitor/hmp.py.
 */
#include "monitor/monitor-int.h"
#include "system/qdev.h"

/* Where a line goes, and how far it is indented. */
typedef struct Printer {
    GString *out;
    int indent;
    Object *obj;                /* whose properties are printed */
} Printer;

G_GNUC_PRINTF(2, 3)
static void print_line(const Printer *p, const char *fmt, ...)
{
    va_list ap;

    g_string_append_printf(p->out, "%*s", p->indent, "");
    va_start(ap, fmt);
    g_string_append_vprintf(p->out, fmt, ap);
    va_end(ap);
    g_string_append_c(p->out, '\n');
}

static void print_prop(const Property *prop, void *opaque)
{
    const Printer *p = opaque;
    g_autofree char *value = object_prop_get(p->obj, prop->name, NULL);

    if (value) {
        bool text = prop->kind == PROP_STR || prop->kind == PROP_CHARDEV;

        print_line(p, text ? "%s = \"%s\"" : "%s = %s", prop->name, value);
    }
}

static void print_bus(Bus *bus, GString *out, int indent);

static void print_device(Device *dev, GString *out, int indent)
{
    Printer p = { out, indent, &dev->obj };

    print_line(&p, "dev: %s, id \"%s\"", dev->obj.type->name, dev->obj.id ? dev->obj.id : "");
    p.indent += 2;
    type_prop_foreach(dev->obj.type, print_prop, &p);
    for (Bus *bus = dev->first_bus; bus; bus = bus->next_of_owner) {
        print_bus(bus, out, indent + 2);
    }
}

static void print_bus(Bus *bus, GString *out, int indent)
{
    Printer p = { out, indent, NULL };

    print_line(&p, "bus: %s", bus->obj.name);
    p.indent += 2;
    print_line(&p, "type %s", bus->obj.type->name);
    for (Device *dev = bus->first_dev; dev; dev = dev->next_on_bus) {
        print_device(dev, out, indent + 2);
    }
}

static bool print_if_on_system_bus(Object *obj, void *opaque)
{
    if (object_is_a(obj, "device") && !((Device *)obj)->bus) {
        print_device((Device *)obj, opaque, 2);
    }
    return true;
}

void hmp_info_qtree(char **words, GString *out)
{
    g_string_append(out, "bus: main-system-bus\n  type System\n");
    object_walk(object_root(), print_if_on_system_bus, out);
}

static void print_object(Object *obj, const char *name, GString *out, int indent)
{
    Printer p = { out, indent, obj };

    print_line(&p, "%s%s (%s)", *name == '/' ? "" : "/", name, obj->type->name);
    for (Object *child = obj->first_child; child; child = child->next_sibling) {
        print_object(child, child->name, out, indent + 2);
    }
}

void hmp_info_qom_tree(char **words, GString *out)
{
    const char *path = words[0] ? words[0] : "/machine";
    Object *obj = object_resolve(path);
    g_autofree char *whole = obj ? object_path(obj) : NULL;

    if (obj) {
        print_object(obj, whole, out, 0);
    } else {
        g_string_append_printf(out, "Error: Device '%s' not found\n", path);
    }
}
