/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of system/memory share; nobody else includes this. */
#ifndef CLEAT_SYSTEM_MEMORY_INTERNAL_H
#define CLEAT_SYSTEM_MEMORY_INTERNAL_H

#include "system/memory.h"
#include "util/rcu.h"

/* A piece of address space that one region (never an alias or container) answers. Immutable. */
typedef struct FlatRange {
    hwaddr addr, last;              /* both included: a range may end at 2^64 */
    MemoryRegion *mr;
    hwaddr offset;                  /* of addr in mr */
    bool readonly;
    bool romd;                      /* ROMD: reads come from memory */
    uint8_t dirty_log;
} FlatRange;

struct FlatView {
    MemoryRegion *root;
    unsigned refs;                  /* address spaces that show it; machine lock */
    int n;
    FlatRange *ranges;              /* sorted by addr, not overlapping */
};

typedef struct MemIoEventFd {
    hwaddr addr;
    unsigned size;
    bool match;
    uint64_t data;
    int fd;
    struct MemIoEventFd *next;
} MemIoEventFd;

FlatView *flatview_render(MemoryRegion *root);
FlatView *flatview_ref(FlatView *view);
void flatview_unref(FlatView *view);            /* freed by epoch */
/* Regions that only wrap one other (bus master windows) show that one's view. NULL: empty. */
MemoryRegion *flatview_root(MemoryRegion *mr);
/* Binary search; NULL: nothing there. Inside rcu_read_lock. */
const FlatRange *flatview_find(const FlatView *view, hwaddr addr);

static inline uint64_t region_last(const MemoryRegion *mr)      /* last byte's offset */
{
    return mr->size == MEMORY_SIZE_ALL ? UINT64_MAX : mr->size - 1;
}

static inline bool range_reads_memory(const FlatRange *r)
{
    return r->mr->kind == MEM_RAM || r->mr->kind == MEM_ROM || (r->mr->kind == MEM_ROMD && r->romd);
}

static inline bool range_writes_memory(const FlatRange *r)
{
    return r->mr->kind == MEM_RAM && !r->readonly;
}

static inline uint8_t *range_host(const FlatRange *r, hwaddr addr)
{
    return r->mr->ram->host + r->offset + (addr - r->addr);
}

/* One access to a region's ops, valid or not; splits by the ops' sizes. */
MemResult region_read(MemoryRegion *mr, hwaddr offset, uint64_t *value, unsigned size);
MemResult region_write(MemoryRegion *mr, hwaddr offset, uint64_t value, unsigned size);
/* How many bytes of [offset, offset+len) one access may take. */
unsigned region_access_size(const MemoryRegion *mr, hwaddr offset, size_t len);

/* Something changed: views are rebuilt at the end of the outermost transaction. */
void memory_changed(void);

RamBlock *ram_block_new(MemoryRegion *mr, const char *name, uint64_t size, Error **errp);
RamBlock *ram_block_adopt(MemoryRegion *mr, const char *name, uint64_t size, void *host, int fd,
                          uint64_t fd_offset, unsigned flags, Error **errp);
void ram_block_free(RamBlock *rb);              /* by epoch */

/* Tells listeners of `as` what changed between two views. */
void listeners_update(AddressSpace *as, const FlatView *old, const FlatView *new_view);
void listeners_update_eventfds(AddressSpace *as, const FlatView *view);
void listeners_forget(AddressSpace *as);

#endif
