/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties of QEMU's machines whose part this build does not have: the value that means "without it" is taken, any
 * other is refused by a sentence that names the part. Rows are made by MACHINE_PART (system/machine.h).
 * Main thread. Test: tests/cli/cli-machine.py.
 */
#include <inttypes.h>
#include <string.h>

#include "system/machine.h"
#include "util/values.h"

/* The value of a text of the property's type; a string has none that would do. */
static bool part_parse(const Property *p, const char *text, uint64_t *v, Error **errp)
{
    bool on = false;

    *v = 1;
    if (!strcmp(p->type_name, "bool")) {
        if (!value_parse_bool(p->name, text, &on, errp)) {
            return false;
        }
        *v = on;
        return true;
    }
    if (!strcmp(p->type_name, "size")) {
        return value_parse_size(p->name, text, 1, v, errp);
    }
    return !strcmp(p->type_name, "string") || value_parse_uint(p->name, text, v, errp);
}

bool machine_part_set(Object *obj, const Property *p, const char *value, Error **errp)
{
    uint64_t v, without = 0;

    if (!part_parse(p, value, &v, errp) || (p->def_str && !part_parse(p, p->def_str, &without, errp))) {
        return false;
    }
    if (v != without) {
        error_set(errp, "Parameter '%s=%s' needs %s, which is not available in this build yet", p->name, value,
                  p->help);
    }
    return v == without;
}

char *machine_part_get(Object *obj, const Property *p, Error **errp)
{
    uint64_t v = 0;

    if (!strcmp(p->type_name, "string")) {
        return g_strdup("");
    }
    if (!part_parse(p, p->def_str, &v, errp)) {
        return NULL;
    }
    return strcmp(p->type_name, "bool") ? g_strdup_printf("%" PRIu64, v) : g_strdup(v ? "true" : "false");
}
