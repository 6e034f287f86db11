/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `info mtree`: the trees behind the address spaces, or the flat views. Machine lock. */
#include <glib.h>
#include <inttypes.h>

#include "system/memory/memory-internal.h"

typedef struct Printer {
    void (*out)(void *opaque, const char *line);
    void *opaque;
} Printer;

static void G_GNUC_PRINTF(2, 3) print_line(Printer *p, const char *fmt, ...)
{
    g_autofree char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    line = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    p->out(p->opaque, line);
}

static const char *kind_name(MemKind kind, bool readonly)
{
    switch (kind) {
    case MEM_RAM:
        return readonly ? "rom" : "ram";
    case MEM_ROM:
        return "rom";
    case MEM_ROMD:
        return "romd";
    default:
        return "i/o";
    }
}

static void print_region(Printer *p, const MemoryRegion *mr, hwaddr base, int indent)
{
    hwaddr first = base + mr->addr, last = first + region_last(mr);

    if (mr->alias) {
        print_line(p, "%*s%016" PRIx64 "-%016" PRIx64 " (prio %d, %s): alias %s @%s %016" PRIx64 "-%016" PRIx64
                   "%s", indent, "", first, last, mr->priority, kind_name(mr->alias->kind, mr->readonly),
                   mr->name, mr->alias->name, mr->alias_offset, mr->alias_offset + region_last(mr),
                   mr->enabled ? "" : " [disabled]");
    } else {
        print_line(p, "%*s%016" PRIx64 "-%016" PRIx64 " (prio %d, %s): %s%s", indent, "", first, last,
                   mr->priority, kind_name(mr->kind, mr->readonly), mr->name,
                   mr->enabled ? "" : " [disabled]");
    }
    for (const MemoryRegion *sub = mr->first_sub; sub; sub = sub->next_sub) {
        print_region(p, sub, first, indent + 2);
    }
}

static void print_view(Printer *p, const FlatView *view)
{
    for (int i = 0; i < view->n; i++) {
        const FlatRange *r = &view->ranges[i];

        print_line(p, "  %016" PRIx64 "-%016" PRIx64 " (prio %d, %s): %s @%016" PRIx64, r->addr, r->last,
                   r->mr->priority, kind_name(r->mr->kind, r->readonly), r->mr->name, r->offset);
    }
}

void memory_print_tree(void (*out)(void *opaque, const char *line), void *opaque, bool flat)
{
    Printer p = { out, opaque };

    for (AddressSpace *as = address_space_next(NULL); as; as = as->next) {
        print_line(&p, "address-space: %s", as->name);
        if (flat) {
            print_view(&p, atomic_load(&as->view));
        } else {
            print_region(&p, as->root, 0, 2);
        }
        print_line(&p, "%s", "");
    }
}
