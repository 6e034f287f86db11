/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listeners: who is told how a view changed (KVM slots, software TLBs, dirty logs, doorbells).
 *
 * An update is begin, all dels, all adds, log changes, commit. The view that readers see is already
 * the new one; the old one's memory is not unmapped before its readers have left. Machine lock.
 * Test: tests/unit/test-memory.c.
 */
#include <glib.h>
#include <string.h>

#include "system/memory/memory-internal.h"

typedef struct FlatEventFd {
    MemorySection section;
    bool match;
    uint64_t data;
    int fd;
} FlatEventFd;

struct MemoryListenerState {        /* per address space: doorbells as last told */
    GArray *eventfds;               /* of FlatEventFd, sorted */
};

static MemorySection range_section(const FlatRange *r)
{
    return (MemorySection){ .mr = r->mr, .offset_in_region = r->offset, .addr = r->addr,
                            .size = r->last - r->addr == UINT64_MAX ? MEMORY_SIZE_ALL : r->last - r->addr + 1,
                            .readonly = r->readonly || (r->mr->kind == MEM_ROMD && r->romd) };
}

void address_space_foreach(AddressSpace *as, void (*fn)(const MemorySection *s, void *opaque), void *opaque)
{
    const FlatView *view = atomic_load(&as->view);

    for (int i = 0; i < view->n; i++) {
        MemorySection s = range_section(&view->ranges[i]);

        fn(&s, opaque);
    }
}

static bool ranges_equal(const FlatRange *a, const FlatRange *b)
{
    return a->addr == b->addr && a->last == b->last && a->mr == b->mr && a->offset == b->offset &&
           a->readonly == b->readonly && a->romd == b->romd;
}

/* The range of `view` that begins at addr; the scan position i only moves forward. */
static const FlatRange *range_at(const FlatView *view, hwaddr addr, int *i)
{
    if (!view) {
        return NULL;
    }
    while (*i < view->n && view->ranges[*i].addr < addr) {
        ++*i;
    }
    return *i < view->n && view->ranges[*i].addr == addr ? &view->ranges[*i] : NULL;
}

/* Calls fn for each range of `of` that `against` does not have. */
static void for_missing(MemoryListener *l, const FlatView *of, const FlatView *against,
                        void (*fn)(MemoryListener *l, const MemorySection *s))
{
    int at = 0;

    for (int i = 0; fn && of && i < of->n; i++) {
        const FlatRange *other = range_at(against, of->ranges[i].addr, &at);

        if (!other || !ranges_equal(&of->ranges[i], other)) {
            MemorySection s = range_section(&of->ranges[i]);

            fn(l, &s);
        }
    }
}

static void log_changes(MemoryListener *l, const FlatView *old, const FlatView *view)
{
    int at = 0;

    for (int i = 0; view && i < view->n; i++) {
        const FlatRange *was = range_at(old, view->ranges[i].addr, &at);
        bool same = was && ranges_equal(was, &view->ranges[i]);
        bool logged = same && was->dirty_log;
        MemorySection s = range_section(&view->ranges[i]);

        if (view->ranges[i].dirty_log && !logged && l->log_start) {
            l->log_start(l, &s);
        } else if (!view->ranges[i].dirty_log && logged && l->log_stop) {
            l->log_stop(l, &s);
        }
    }
}

static void listener_update(MemoryListener *l, const FlatView *old, const FlatView *view)
{
    if (l->begin) {
        l->begin(l);
    }
    for_missing(l, old, view, l->del);
    for_missing(l, view, old, l->add);
    log_changes(l, old, view);
    if (l->commit) {
        l->commit(l);
    }
}

void listeners_update(AddressSpace *as, const FlatView *old, const FlatView *view)
{
    for (MemoryListener *l = as->listeners; l; l = l->next) {
        listener_update(l, old, view);
    }
}

/* ---- doorbells ---- */

static GArray *eventfds_collect(const FlatView *view)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(FlatEventFd));

    for (int i = 0; view && i < view->n; i++) {
        const FlatRange *r = &view->ranges[i];

        for (MemIoEventFd *e = r->mr->ioeventfds; e; e = e->next) {
            if (e->addr >= r->offset && e->addr - r->offset <= r->last - r->addr) {
                FlatEventFd f = { .section = { .mr = r->mr, .offset_in_region = e->addr,
                                               .addr = r->addr + (e->addr - r->offset), .size = e->size },
                                  .match = e->match, .data = e->data, .fd = e->fd };

                g_array_append_val(out, f);
            }
        }
    }
    return out;
}

static bool eventfd_in(const GArray *list, const FlatEventFd *f)
{
    for (guint i = 0; list && i < list->len; i++) {
        const FlatEventFd *o = &g_array_index(list, FlatEventFd, i);

        if (o->section.addr == f->section.addr && o->section.size == f->section.size && o->match == f->match &&
            o->data == f->data && o->fd == f->fd) {
            return true;
        }
    }
    return false;
}

static void eventfds_tell(AddressSpace *as, const GArray *of, const GArray *against, bool add)
{
    for (guint i = 0; of && i < of->len; i++) {
        const FlatEventFd *f = &g_array_index(of, FlatEventFd, i);

        if (eventfd_in(against, f)) {
            continue;
        }
        for (MemoryListener *l = as->listeners; l; l = l->next) {
            void (*fn)(MemoryListener *, const MemorySection *, bool, uint64_t, int) =
                add ? l->eventfd_add : l->eventfd_del;

            if (fn) {
                fn(l, &f->section, f->match, f->data, f->fd);
            }
        }
    }
}

void listeners_update_eventfds(AddressSpace *as, const FlatView *view)
{
    GArray *now = eventfds_collect(view);

    if (!as->told) {
        as->told = g_new0(struct MemoryListenerState, 1);
    }
    eventfds_tell(as, as->told->eventfds, now, false);
    eventfds_tell(as, now, as->told->eventfds, true);
    if (as->told->eventfds) {
        g_array_free(as->told->eventfds, TRUE);
    }
    as->told->eventfds = now;
}

/* ---- registration ---- */

void memory_listener_register(MemoryListener *l, AddressSpace *as)
{
    MemoryListener **at = &as->listeners;
    FlatView *view = atomic_load(&as->view);

    while (*at) {
        at = &(*at)->next;
    }
    l->as = as;
    l->next = NULL;
    *at = l;
    listener_update(l, NULL, view);
    for (guint i = 0; l->eventfd_add && as->told && as->told->eventfds && i < as->told->eventfds->len; i++) {
        const FlatEventFd *f = &g_array_index(as->told->eventfds, FlatEventFd, i);

        l->eventfd_add(l, &f->section, f->match, f->data, f->fd);
    }
    if (!as->told) {
        listeners_update_eventfds(as, view);
    }
}

void memory_listener_unregister(MemoryListener *l)
{
    if (!l->as) {
        return;
    }
    for (MemoryListener **at = &l->as->listeners; *at; at = &(*at)->next) {
        if (*at == l) {
            *at = l->next;
            break;
        }
    }
    listener_update(l, atomic_load(&l->as->view), NULL);
    l->as = NULL;
}

void listeners_forget(AddressSpace *as)
{
    while (as->listeners) {
        memory_listener_unregister(as->listeners);
    }
    if (as->told) {
        if (as->told->eventfds) {
            g_array_free(as->told->eventfds, TRUE);
        }
        g_free(as->told);
        as->told = NULL;
    }
}

static void sync_view(AddressSpace *as, MemoryRegion *mr)
{
    const FlatView *view = atomic_load(&as->view);

    for (int i = 0; i < view->n; i++) {
        MemorySection s = range_section(&view->ranges[i]);

        if ((mr && s.mr != mr) || !s.mr->ram) {
            continue;
        }
        for (MemoryListener *l = as->listeners; l; l = l->next) {
            if (l->log_sync) {
                l->log_sync(l, &s);
            }
        }
    }
}

void memory_sync_dirty(MemoryRegion *mr)
{
    for (AddressSpace *as = address_space_next(NULL); as; as = as->next) {
        if (as->listeners) {
            sync_view(as, mr);
        }
    }
}
