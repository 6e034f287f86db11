/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DMA windows: guest memory as an iovec that stays valid until it is unmapped; see
 * include/system/memory.h.
 *
 * RAM is mapped in place and its block pinned; a range that touches anything else goes through a
 * bounce buffer as a whole. Unmapping tells the dirty map and the code cache. Any thread. Test:
 * tests/unit/test-memory.c.
 */
#include <glib.h>
#include <string.h>

#include "system/memory/memory-internal.h"
#include "util/units.h"

/* A guest may ask for a window as large as it likes onto a device; this bounds what it costs the host. */
enum { BOUNCE_MAX = 16 << 20 };

static void map_append(DmaMap *map, RamBlock *rb, uint8_t *host, size_t len)
{
    if (map->n && map->pinned[map->n - 1] == rb &&
        (uint8_t *)map->iov[map->n - 1].iov_base + map->iov[map->n - 1].iov_len == host) {
        map->iov[map->n - 1].iov_len += len;
        return;
    }
    if (map->n == map->cap) {
        map->cap = MAX(4, map->cap * 2);
        map->iov = g_renew(struct iovec, map->iov, map->cap);
        map->pinned = g_renew(RamBlock *, map->pinned, map->cap);
    }
    atomic_fetch_add(&rb->pins, 1);
    map->pinned[map->n] = rb;
    map->iov[map->n++] = (struct iovec){ host, len };
}

static void map_release(DmaMap *map)
{
    for (int i = 0; i < map->n && map->pinned; i++) {
        atomic_fetch_sub(&map->pinned[i]->pins, 1);
    }
    g_free(map->iov);
    g_free(map->pinned);
    g_free(map->bounce);
    memset(map, 0, sizeof(*map));
}

/* Maps all of it in place; false when some of it is no RAM. */
static bool map_ram(DmaMap *map)
{
    hwaddr addr = map->addr;
    size_t left = map->len;
    const FlatView *view;
    bool ok = true;

    rcu_read_lock();
    view = atomic_load_explicit(&map->as->view, memory_order_acquire);
    while (ok && left) {
        const FlatRange *r = flatview_find(view, addr);

        ok = r && (map->write ? range_writes_memory(r) : range_reads_memory(r));
        if (ok) {
            uint64_t rest = r->last - addr;
            size_t n = rest < left ? rest + 1 : left;

            map_append(map, r->mr->ram, range_host(r, addr), n);
            addr += n;
            left -= n;
        }
    }
    rcu_read_unlock();
    return ok;
}

static bool map_bounce(DmaMap *map)
{
    if (map->len > BOUNCE_MAX) {
        return false;
    }
    map->bounce = g_malloc0(map->len);
    if (!map->write && address_space_read(map->as, map->addr, map->bounce, map->len) != MEM_OK) {
        return false;
    }
    map->iov = g_new(struct iovec, 1);
    map->iov[0] = (struct iovec){ map->bounce, map->len };
    map->n = map->cap = 1;
    return true;
}

bool dma_map(AddressSpace *as, hwaddr addr, size_t len, bool write, DmaMap *map)
{
    *map = (DmaMap){ .as = as, .addr = addr, .len = len, .write = write };
    if (len && addr + (len - 1) < addr) {
        return false;
    }
    if (map_ram(map)) {
        return true;
    }
    map_release(map);
    *map = (DmaMap){ .as = as, .addr = addr, .len = len, .write = write };
    if (map_bounce(map)) {
        return true;
    }
    map_release(map);
    return false;
}

void dma_unmap(DmaMap *map, size_t bytes_written)
{
    bytes_written = map->write ? MIN_OF(bytes_written, map->len) : 0;
    if (map->bounce && bytes_written) {
        address_space_write(map->as, map->addr, map->bounce, bytes_written);
    }
    for (int i = 0; i < map->n && map->pinned && bytes_written; i++) {
        size_t n = MIN_OF(bytes_written, map->iov[i].iov_len);

        ram_written(map->pinned[i], (uint8_t *)map->iov[i].iov_base - map->pinned[i]->host, n);
        bytes_written -= n;
    }
    map_release(map);
}
