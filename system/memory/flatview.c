/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the tree of regions to a flat, sorted list of ranges.
 *
 * Regions are rendered highest priority first; each fills only what is still empty, so that what is
 * rendered first hides what comes later. Arithmetic is 128 bits wide: an alias may start "below
 * zero". Pure functions of the tree, but for the epoch-deferred free. Machine lock. Test:
 * tests/unit/test-memory.c (against a brute-force model).
 */
#include <glib.h>
#include <string.h>

#include "system/memory/memory-internal.h"

typedef __int128 Wide;

typedef struct Render {
    GArray *ranges;                 /* of FlatRange, sorted */
} Render;

/* Index of the first range that ends at or after addr. */
static guint first_at(const Render *r, hwaddr addr)
{
    guint lo = 0, hi = r->ranges->len;

    while (lo < hi) {
        guint mid = (lo + hi) / 2;

        if (g_array_index(r->ranges, FlatRange, mid).last < addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Puts mr into every hole of [lo, hi]; base is the address of mr's offset 0. */
static void fill_holes(Render *r, MemoryRegion *mr, Wide base, hwaddr lo, hwaddr hi, bool readonly)
{
    guint i = first_at(r, lo);

    for (;;) {
        bool at_end = i >= r->ranges->len || g_array_index(r->ranges, FlatRange, i).addr > hi;
        hwaddr stop = at_end ? hi : g_array_index(r->ranges, FlatRange, i).addr - 1;
        hwaddr next;

        if (at_end || g_array_index(r->ranges, FlatRange, i).addr > lo) {
            FlatRange piece = { .addr = lo, .last = stop, .mr = mr, .offset = (hwaddr)(lo - base),
                                .readonly = readonly, .romd = mr->romd_mode, .dirty_log = mr->dirty_log };

            g_array_insert_val(r->ranges, i, piece);
            i++;
        }
        if (at_end) {
            return;
        }
        next = g_array_index(r->ranges, FlatRange, i).last;
        if (next >= hi) {
            return;
        }
        lo = next + 1;
        i++;
    }
}

/* Renders mr with its offset 0 at base, as far as it shows in [lo, hi]. */
static void render_region(Render *r, MemoryRegion *mr, Wide base, Wide lo, Wide hi, bool readonly, int depth)
{
    lo = MAX(lo, base);
    hi = MIN(hi, base + region_last(mr));
    /* The depth guards against a region that contains itself by way of an alias. */
    if (!mr->enabled || !mr->size || lo > hi || depth > 64) {
        return;
    }
    readonly |= mr->readonly;
    if (mr->alias) {
        Wide start = base - mr->alias_offset;

        /* The target shows at the alias, wherever its own parent put it. */
        render_region(r, mr->alias, start, lo, hi, readonly, depth + 1);
        return;
    }
    for (MemoryRegion *sub = mr->first_sub; sub; sub = sub->next_sub) {
        render_region(r, sub, base + sub->addr, lo, hi, readonly, depth + 1);
    }
    if (mr->kind != MEM_CONTAINER) {
        fill_holes(r, mr, base, (hwaddr)lo, (hwaddr)hi, readonly);
    }
}

static bool ranges_join(const FlatRange *a, const FlatRange *b)
{
    return a->mr == b->mr && a->last + 1 == b->addr && a->last != UINT64_MAX &&
           a->offset + (b->addr - a->addr) == b->offset && a->readonly == b->readonly && a->romd == b->romd &&
           a->dirty_log == b->dirty_log;
}

static int ranges_merge(FlatRange *ranges, int n)
{
    int out = 0;

    for (int i = 1; i < n; i++) {
        if (ranges_join(&ranges[out], &ranges[i])) {
            ranges[out].last = ranges[i].last;
        } else {
            ranges[++out] = ranges[i];
        }
    }
    return n ? out + 1 : 0;
}

FlatView *flatview_render(MemoryRegion *root)
{
    Render r = { .ranges = g_array_new(FALSE, FALSE, sizeof(FlatRange)) };
    FlatView *view = g_new0(FlatView, 1);

    if (root) {
        render_region(&r, root, 0, 0, UINT64_MAX, false, 0);
    }
    view->root = root;
    view->refs = 1;
    view->n = ranges_merge((FlatRange *)r.ranges->data, r.ranges->len);
    view->ranges = (FlatRange *)g_array_free(r.ranges, FALSE);
    return view;
}

/* The only enabled child, when mr is an otherwise empty container that it fills from its start. */
static MemoryRegion *only_child(MemoryRegion *mr, bool *empty)
{
    MemoryRegion *found = NULL;

    *empty = true;
    for (MemoryRegion *sub = mr->first_sub; sub; sub = sub->next_sub) {
        if (sub->enabled) {
            if (found) {
                return NULL;
            }
            *empty = false;
            found = sub;
        }
    }
    if (found && (found->addr || region_last(found) > region_last(mr) || found->readonly)) {
        found = NULL;
    }
    return found;
}

MemoryRegion *flatview_root(MemoryRegion *mr)
{
    for (int depth = 0; mr && depth < 64; depth++) {
        MemoryRegion *next = NULL;
        bool empty = false;

        if (!mr->enabled) {
            return NULL;
        }
        if (mr->kind == MEM_ALIAS && !mr->alias_offset && !mr->readonly &&
            region_last(mr->alias) <= region_last(mr)) {
            next = mr->alias;
        } else if (mr->kind == MEM_CONTAINER && !mr->readonly) {
            next = only_child(mr, &empty);
            if (empty) {
                return NULL;
            }
        }
        if (!next) {
            break;
        }
        mr = next;
    }
    return mr;
}

FlatView *flatview_ref(FlatView *view)
{
    view->refs++;
    return view;
}

static void flatview_free(void *opaque)
{
    FlatView *view = opaque;

    g_free(view->ranges);
    g_free(view);
}

void flatview_unref(FlatView *view)
{
    if (view && --view->refs == 0) {
        rcu_call(flatview_free, view);
    }
}

const FlatRange *flatview_find(const FlatView *view, hwaddr addr)
{
    const FlatRange *base = view->ranges;
    int n = view->n;

    /* Branch-free halving: base ends at the last range that begins at or before addr. */
    while (n > 1) {
        int half = n / 2;

        base = base[half].addr <= addr ? base + half : base;
        n -= half;
    }
    return n && base->addr <= addr && addr <= base->last ? base : NULL;
}
