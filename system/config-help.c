/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answers to "help" on the command line, on stdout; those of rooms above this one (chardevs, CPU
 * models) are in vl.c. Nothing has been started then. Main thread. Test: tests/cli/cli-errors.py.
 */
#include <stdio.h>

#include "accel/accel.h"
#include "system/config-internal.h"
#include "system/machine.h"
#include "util/log.h"
#include "util/trace.h"

static void help_keys(const OptionRow *row)
{
    static const char *const kinds[] = { "text", "on|off", "number", "number", "size", NULL };

    printf("keys of -%s:\n", row->name);
    for (const KeyRow *key = row->keys; key->name; key++) {
        printf("  %s=<%s>\n", key->name, key->words ? key->words : kinds[key->type]);
    }
}

static void help_data_dirs(const Config *c)
{
    const char *const *dirs = machine_data_dirs_builtin();

    for (guint i = 0; i + 2 < c->data_dirs->len; i++) {     /* the last one is "help" itself */
        puts(g_ptr_array_index(c->data_dirs, i));
    }
    for (; *dirs; dirs++) {
        puts(*dirs);
    }
}

static int help_fail(const OptionUse *use, const char *what, const char *name)
{
    error_location_set(use->location);
    error_report("there is no %s '%s'", what, name);
    return 1;
}

static void help_one_prop(const Property *p, void *opaque)
{
    g_autofree char *type = prop_type_name(p);

    printf("  %s=<%s>%s%s%s\n", p->name, type, p->help ? " - " : "", p->help ? p->help : "",
           p->set == machine_part_set ? " (not available in this build yet)" : "");
}

/* "-machine NAME,help". */
static int help_machine_props(const Config *c)
{
    const Type *type = machine_type_find(c->machine_type);

    if (!type) {
        return help_fail(c->help_use, "machine type", c->machine_type);
    }
    printf("%s options:\n", c->machine_type);
    for (const MachineKey *key = config_machine_keys; key->name; key++) {
        printf("  %s=<%s> - %s\n", key->name, key->type, key->help);
    }
    type_prop_foreach(type, help_one_prop, NULL);
    return 0;
}

/* "-device help" or "-device NAME,help". */
static int help_types(bool (*print)(const char *name), const OptionUse *use, const char *key)
{
    const char *name = keyvals_get(use->kv, key, NULL);

    return print(name) ? 0 : help_fail(use, "type", name);
}

int config_print_help(const Config *c, const char *program)
{
    switch (c->help) {
    case HELP_VERSION:
        options_print_version();
        break;
    case HELP_KEYS:
        help_keys(c->help_use->row);
        break;
    case HELP_LOG:
        log_configure("help", NULL);
        break;
    case HELP_DATA_DIR:
        help_data_dirs(c);
        break;
    case HELP_MACHINE:
        machine_print_help();
        break;
    case HELP_MACHINE_PROPS:
        return help_machine_props(c);
    case HELP_ACCEL:
        accel_print_help();
        break;
    case HELP_DEVICE:
        return help_types(device_print_help, c->help_use, "driver");
    case HELP_OBJECT:
        return help_types(object_print_help, c->help_use, "qom-type");
    case HELP_TRACE:
        trace_print_help();
        break;
    case HELP_DISPLAY:
        printf("Display types of this build:\n%-8s no display; a guest's screen goes nowhere\n", "none");
        break;
    case HELP_VGA:
        printf("Graphics cards of this build:\n%-8s no graphics card\n", "none");
        break;
    default:
        options_print_help(program);
        break;
    }
    return 0;
}
