/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM blocks: host memory behind RAM and ROM regions, the dirty map, and what a write to them
 * means.
 *
 * Each block has a range of page numbers in one "ram address space"; the dirty map has a byte for
 * each. The map lies at a fixed address and grows in place as blocks come, so that it is never
 * larger than the RAM calls for: an over-sized reservation would count as locked memory under
 * mlockall. Blocks and their pages go by epoch. Machine lock for making and freeing; the dirty map
 * is for any thread. Test: tests/unit/test-memory.c.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system/memory/memory-internal.h"
#include "system/qdev.h"
#include "trace-system_memory.h"
#include "util/units.h"

enum { PAGE = 4096, FIRST_PAGE_ALIGN = 64, DIRTY_ALL = DIRTY_VGA | DIRTY_MIGRATION | DIRTY_CODE };

/* Where the dirty map is asked to lie: far from where mmap places things, so that it can grow. */
#define DIRTY_MAP_HINT ((void *)UINT64_C(0x200000000000))

_Atomic uint8_t *ram_dirty_map;

static struct {
    RamBlock *_Atomic first;        /* sorted by first_page */
    _Atomic uint64_t total;
    uint64_t map_bytes;             /* of ram_dirty_map that are mapped */
    bool no_merge, no_dump;
    void (*_Atomic code_hook)(uint64_t ram_page, unsigned offset, unsigned len);
    void (*_Atomic flush_hook)(uint64_t ram_page, uint64_t pages);
} ram;

void ram_policy_set(bool merge, bool dump)
{
    ram.no_merge = !merge;
    ram.no_dump = !dump;
}

RamBlock *ram_block_first(void)
{
    return ram.first;
}

uint64_t ram_total(void)
{
    return ram.total;
}

RamBlock *ram_block_from_host(const void *host, uint64_t *offset)
{
    const uint8_t *at = host;
    RamBlock *found = NULL;

    rcu_read_lock();
    for (RamBlock *rb = ram.first; rb && !found; rb = rb->next) {
        if (at >= rb->host && at < rb->host + rb->size) {
            *offset = at - rb->host;
            found = rb;
        }
    }
    rcu_read_unlock();
    return found;
}

/* ---- the dirty map ---- */

static bool dirty_map_grow(uint64_t pages, Error **errp)
{
    uint64_t want = ALIGN_UP(pages, PAGE);
    uint8_t *end = (uint8_t *)((uintptr_t)ram_dirty_map + ram.map_bytes);     /* the map may be NULL */
    void *got;

    if (want <= ram.map_bytes) {
        return true;
    }
    got = mmap(ram_dirty_map ? (void *)end : DIRTY_MAP_HINT, want - ram.map_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (ram_dirty_map ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (got == MAP_FAILED || (ram_dirty_map && got != end)) {
        error_set_errno(errp, got == MAP_FAILED ? errno : ENOMEM, "cannot make room for the dirty map");
        return false;
    }
    if (!ram_dirty_map) {
        ram_dirty_map = got;
    }
    ram.map_bytes = want;
    return true;
}

void ram_dirty_or(uint64_t ram_page, uint8_t bits)
{
    atomic_fetch_or_explicit(&ram_dirty_map[ram_page], bits, memory_order_relaxed);
}

void ram_dirty_and(uint64_t ram_page, uint8_t bits)
{
    atomic_fetch_and_explicit(&ram_dirty_map[ram_page], bits, memory_order_relaxed);
}

static void page_written(uint64_t page, unsigned offset, unsigned len)
{
    uint8_t bits = ram_dirty_get(page);
    uint8_t set = DIRTY_VGA | DIRTY_MIGRATION;

    if (bits == DIRTY_ALL) {
        return;
    }
    if (!(bits & DIRTY_CODE)) {
        void (*hook)(uint64_t, unsigned, unsigned) = ram.code_hook;

        if (hook) {
            hook(page, offset, len);
        } else {
            set |= DIRTY_CODE;
        }
    }
    if ((bits & set) != set) {
        ram_dirty_or(page, set);
    }
}

void ram_written(RamBlock *rb, uint64_t offset, uint64_t len)
{
    while (len) {
        unsigned in_page = offset & (PAGE - 1);
        unsigned n = MIN_OF(len, PAGE - in_page);

        page_written(rb->first_page + offset / PAGE, in_page, n);
        offset += n;
        len -= n;
    }
}

void ram_dirty_set(uint64_t ram_page, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++) {
        page_written(ram_page + i, 0, PAGE);
    }
}

bool ram_dirty_test_clear(uint64_t ram_page, uint64_t pages, uint8_t bits)
{
    void (*flush)(uint64_t, uint64_t) = ram.flush_hook;
    bool any = false;

    for (uint64_t i = ram_page; i < ram_page + pages; i++) {
        if (ram_dirty_get(i) & bits) {
            any |= atomic_fetch_and(&ram_dirty_map[i], (uint8_t)~bits) & bits;
        }
    }
    if (any && flush) {
        flush(ram_page, pages);
    }
    return any;
}

void ram_code_hook_set(void (*fn)(uint64_t ram_page, unsigned offset, unsigned len))
{
    ram.code_hook = fn;
}

void ram_flush_hook_set(void (*fn)(uint64_t ram_page, uint64_t pages))
{
    ram.flush_hook = fn;
}

/* ---- blocks ---- */

/* The first gap in the list that takes `pages`; *at is where the block is linked in. */
static uint64_t pages_find_gap(uint64_t pages, RamBlock *_Atomic **at)
{
    uint64_t start = 0;

    *at = &ram.first;
    for (RamBlock *rb = ram.first; rb; rb = rb->next) {
        if (rb->first_page >= start + pages) {
            break;
        }
        start = ALIGN_UP(rb->first_page + rb->size / PAGE, FIRST_PAGE_ALIGN);
        *at = &rb->next;
    }
    return start;
}

/* A device's block is called after its place on its bus, so that two cards' "vga.vram" differ. */
static char *block_idstr(const MemoryRegion *mr, const char *name)
{
    if (mr->owner && object_is_a(mr->owner, "device")) {
        const Device *dev = (const Device *)mr->owner;
        const BusOps *ops = dev->bus ? type_ops(dev->bus->obj.type) : NULL;
        g_autofree char *path = ops && ops->dev_path ? ops->dev_path(dev) : NULL;

        if (path) {
            return g_strdup_printf("%s/%s", path, name);
        }
    }
    return g_strdup(name);
}

static bool idstr_is_taken(const char *idstr)
{
    for (RamBlock *rb = ram.first; rb; rb = rb->next) {
        if (!strcmp(rb->idstr, idstr)) {
            return true;
        }
    }
    return false;
}

static void block_advise(RamBlock *rb)
{
    /* Advice only: what the kernel does not offer costs nothing but its benefit. */
    (void)madvise(rb->host, rb->size, MADV_DONTFORK);
    if (!ram.no_merge && !(rb->flags & RAM_SHARED)) {
        (void)madvise(rb->host, rb->size, MADV_MERGEABLE);
    }
    if (ram.no_dump) {
        (void)madvise(rb->host, rb->size, MADV_DONTDUMP);
    }
}

RamBlock *ram_block_adopt(MemoryRegion *mr, const char *name, uint64_t size, void *host, int fd,
                          uint64_t fd_offset, unsigned flags, Error **errp)
{
    g_autofree char *idstr = block_idstr(mr, name);
    uint64_t pages = ALIGN_UP(size, PAGE) / PAGE;
    RamBlock *_Atomic *at;
    uint64_t first = pages_find_gap(pages, &at);
    RamBlock *rb;

    if (idstr_is_taken(idstr)) {
        error_set(errp, "there is a RAM block named '%s' already", idstr);
        return NULL;
    }
    if (!dirty_map_grow(first + pages, errp)) {
        return NULL;
    }
    rb = g_new0(RamBlock, 1);
    rb->idstr = g_steal_pointer(&idstr);
    rb->host = host;
    rb->size = pages * PAGE;
    rb->first_page = first;
    rb->fd = fd;
    rb->fd_offset = fd_offset;
    rb->flags = flags;
    rb->mr = mr;
    rb->next = *at;
    block_advise(rb);
    trace_memory_ram_block(rb->idstr, rb->size, rb->first_page);
    *at = rb;
    ram.total += rb->size;
    return rb;
}

/* Private anonymous memory, on a huge page boundary where it is large. NULL with an error. */
static void *ram_map_anonymous(uint64_t size, Error **errp)
{
    uint64_t align = size >= 2 * MiB ? 2 * MiB : PAGE;
    uint64_t room = size + align - PAGE;
    uint8_t *got, *start;

    /* A request near the size of the address space must not wrap around to a small mapping. */
    if (room < size) {
        error_set_errno(errp, ENOMEM, "cannot map %" G_GUINT64_FORMAT " bytes of guest RAM", size);
        return NULL;
    }
    got = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) {
        error_set_errno(errp, errno, "cannot map %" G_GUINT64_FORMAT " bytes of guest RAM", size);
        return NULL;
    }
    start = (uint8_t *)ALIGN_UP((uintptr_t)got, align);
    if (start > got) {
        munmap(got, start - got);
    }
    if (got + room > start + size) {
        munmap(start + size, got + room - (start + size));
    }
    if (mprotect(start, size, PROT_READ | PROT_WRITE) < 0) {
        error_set_errno(errp, errno, "cannot map %" G_GUINT64_FORMAT " bytes of guest RAM", size);
        munmap(start, size);
        return NULL;
    }
    return start;
}

RamBlock *ram_block_new(MemoryRegion *mr, const char *name, uint64_t size, Error **errp)
{
    uint64_t bytes = ALIGN_UP(size, PAGE);
    void *host = ram_map_anonymous(bytes, errp);
    RamBlock *rb;

    if (!host) {
        return NULL;
    }
    rb = ram_block_adopt(mr, name, bytes, host, -1, 0, 0, errp);
    if (!rb) {
        munmap(host, bytes);
    }
    return rb;
}

static void block_reclaim(void *opaque)
{
    RamBlock *rb = opaque;

    if (atomic_load(&rb->pins)) {
        rcu_call(block_reclaim, rb);        /* a DMA window is still open: look again at the next turn */
        return;
    }
    munmap(rb->host, rb->size);
    if (rb->fd >= 0) {
        close(rb->fd);
    }
    g_free(rb->idstr);
    g_free(rb);
}

void ram_block_free(RamBlock *rb)
{
    for (RamBlock *_Atomic *at = &ram.first; *at; at = &(*at)->next) {
        if (*at == rb) {
            *at = rb->next;
            break;
        }
    }
    ram.total -= rb->size;
    for (uint64_t i = 0; i < rb->size / PAGE; i++) {
        if (ram_dirty_map[rb->first_page + i]) {
            ram_dirty_map[rb->first_page + i] = 0;
        }
    }
    rcu_call(block_reclaim, rb);
}
