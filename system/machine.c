/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all machines share: the type, its common properties, the current one, main memory. See
 * include/system/machine.h. Main thread. Test: tests/unit/test-machine.c.
 */
#include "system/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "system/hostmem.h"
#include "util/units.h"

static struct {
    Machine *current;
} machines;

Machine *machine_current(void)
{
    return machines.current;
}

/* ---- names ---- */

static const MachineOps *machine_ops(const Type *type)
{
    return type_ops(type);
}

char *machine_user_name(const Type *type)
{
    return g_str_has_suffix(type->name, "-machine")
               ? g_strndup(type->name, strlen(type->name) - strlen("-machine")) : g_strdup(type->name);
}

typedef struct MachineSearch {
    const char *name;
    const Type *found;
} MachineSearch;

static void machine_match(const Type *type, void *opaque)
{
    MachineSearch *s = opaque;
    g_autofree char *name = machine_user_name(type);
    const MachineOps *own = type->ops;      /* an alias is not inherited by older versions */

    if (!strcmp(name, s->name) || (own && own->alias && !strcmp(own->alias, s->name))) {
        s->found = type;
    }
}

const Type *machine_type_find(const char *name)
{
    MachineSearch s = { .name = name };

    type_foreach("machine", false, machine_match, &s);
    return s.found;
}

static void machine_match_default(const Type *type, void *opaque)
{
    const MachineOps *own = type->ops;

    if (own && own->is_default) {
        *(const Type **)opaque = type;
    }
}

const Type *machine_type_default(void)
{
    const Type *found = NULL;

    type_foreach("machine", false, machine_match_default, &found);
    return found;
}

static void collect(const Type *type, void *opaque)
{
    g_ptr_array_add(opaque, (gpointer)type);
}

/* Newer versions of a family first: "pc-q35-10.0" before "pc-q35-9.2". */
static int version_compare(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    while (g_ascii_isdigit(*a) || g_ascii_isdigit(*b)) {
        guint64 x = g_ascii_strtoull(a, (char **)&a, 10), y = g_ascii_strtoull(b, (char **)&b, 10);

        if (x != y) {
            return x > y ? -1 : 1;
        }
        a += *a == '.';
        b += *b == '.';
    }
    return strcmp(a, b);
}

static gint machine_compare(gconstpointer pa, gconstpointer pb)
{
    g_autofree char *a = machine_user_name(*(const Type *const *)pa);
    g_autofree char *b = machine_user_name(*(const Type *const *)pb);

    return version_compare(a, b);
}

static void print_machine(const Type *type)
{
    const MachineOps *ops = machine_ops(type), *own = type->ops;
    g_autofree char *name = machine_user_name(type);
    const char *desc = type->desc ? type->desc : "";

    if (own && own->alias) {
        printf("%-20s %s (alias of %s)\n", own->alias, desc, name);
    }
    printf("%-20s %s%s%s\n", name, desc, own && own->is_default ? " (default)" : "",
           ops && ops->deprecated ? " (deprecated)" : "");
}

void machine_print_help(void)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();

    type_foreach("machine", false, collect, all);
    g_ptr_array_sort(all, machine_compare);
    printf("Supported machines are:\n");
    for (guint i = 0; i < all->len; i++) {
        print_machine(g_ptr_array_index(all, i));
    }
}

/* ---- creation ---- */

Machine *machine_new(const char *name, Error **errp)
{
    const Type *type = machine_type_find(name);
    Object *placeholder = object_child(object_root(), "machine");
    Machine *m;

    if (!type) {
        error_set(errp, "unsupported machine type '%s'", name);
        error_hint(errp, "Use -machine help to list supported machines");
        return NULL;
    }
    m = (Machine *)object_new_checked(type->name, errp);
    if (!m) {
        return NULL;
    }
    if (placeholder) {
        object_remove(placeholder);
    }
    object_add_child(object_root(), "machine", &m->obj);
    object_container("/machine/peripheral");
    object_container("/machine/peripheral-anon");
    object_container("/machine/unattached");
    memory_region_init(&m->system_memory, &m->obj, "system", MEMORY_SIZE_ALL);
    memory_region_init(&m->system_io, &m->obj, "io", 65536);
    address_space_init(&m->as_memory, &m->system_memory, "memory");
    address_space_init(&m->as_io, &m->system_io, "I/O");
    machines.current = m;
    return m;
}

static bool adopt_backend(Machine *m, Error **errp)
{
    Object *backend = object_resolve(m->config.memory_backend);

    if (!backend || !object_is_a(backend, TYPE_MEMORY_BACKEND)) {
        error_set(errp, "-machine memory-backend=%s: there is no memory backend of that id",
                  m->config.memory_backend);
        return false;
    }
    if (hostmem_size(backend) != m->config.ram_size) {
        error_set(errp, "-machine memory-backend=%s has %" PRIu64 " bytes, but -m asks for %" PRIu64,
                  m->config.memory_backend, hostmem_size(backend), m->config.ram_size);
        return false;
    }
    m->ram = hostmem_claim(backend, errp);
    return m->ram != NULL;
}

bool machine_init_ram(Machine *m, const char *block_name, Error **errp)
{
    if (!m->config.ram_size) {
        error_set(errp, "a machine needs some memory: -m 0 is too small");
        return false;
    }
    if (m->config.memory_backend) {
        return adopt_backend(m, errp);
    }
    m->ram = g_new0(MemoryRegion, 1);
    if (!memory_region_init_ram(m->ram, &m->obj, block_name, m->config.ram_size, errp)) {
        g_free(g_steal_pointer(&m->ram));
        return false;
    }
    return true;
}

void machine_apply_memory_policy(const Machine *m)
{
    ram_policy_set(m->mem_merge, m->dump_guest_core);
}

/* ---- properties ---- */

static bool set_irqchip(Object *obj, const Property *p, const char *value, Error **errp)
{
    Machine *m = (Machine *)obj;

    if (strcmp(value, "on") && strcmp(value, "off") && strcmp(value, "split")) {
        error_set(errp, "Parameter 'kernel-irqchip' does not accept value '%s' (choose from 'on', 'off', 'split')",
                  value);
        return false;
    }
    g_free(m->kernel_irqchip);
    m->kernel_irqchip = g_strdup(value);
    return true;
}

static char *get_irqchip(Object *obj, const Property *p, Error **errp)
{
    Machine *m = (Machine *)obj;

    return g_strdup(m->kernel_irqchip ? m->kernel_irqchip : "");
}

static void machine_fini(Object *obj)
{
    Machine *m = (Machine *)obj;

    g_free(m->kernel_irqchip);
    if (machines.current == m) {
        machines.current = NULL;
    }
}

static const Property machine_props[] = {
    { .name = "kernel-irqchip", .kind = PROP_CUSTOM, .type_name = "on|off|split", .set = set_irqchip,
      .get = get_irqchip, .help = "where the interrupt controllers run (KVM)" },
    PROP_FIELD("usb", PROP_BOOL, Machine, usb, false, "a USB controller on board"),
    PROP_FIELD("graphics", PROP_BOOL, Machine, graphics, true, "off: firmware and console without a display"),
    PROP_FIELD("dump-guest-core", PROP_BOOL, Machine, dump_guest_core, true, "guest memory in core dumps"),
    PROP_FIELD("mem-merge", PROP_BOOL, Machine, mem_merge, true, "let the host merge equal pages (KSM)"),
    MACHINE_PART("confidential-guest-support", "string", NULL, "encrypted guest memory"),
    MACHINE_PART("memory-encryption", "string", NULL, "encrypted guest memory"),
    MACHINE_PART("dtb", "string", NULL, "a device tree"),
    MACHINE_PART("dumpdtb", "string", NULL, "a device tree"),
    MACHINE_PART("dt-compatible", "string", NULL, "a device tree"),
    MACHINE_PART("phandle-start", "int", "0", "a device tree"),
    MACHINE_PART("suppress-vmdesc", "bool", "off", "migration"),
    PROP_END
};
static const Type machine_type = { .name = "machine", .abstract = true, .size = sizeof(Machine),
                                   .props = machine_props, .fini = machine_fini };
TYPE_REGISTER(machine_type)
