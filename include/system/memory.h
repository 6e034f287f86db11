/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest physical memory: a tree of regions, flattened into an immutable view, dispatched without
 * locks for RAM.
 *
 * Regions form a tree with priorities (a higher one hides a lower one where they overlap); an
 * AddressSpace shows one root. After a change (a transaction's end) the tree is flattened to a
 * FlatView that readers reach through an atomic pointer and that is reclaimed by epoch
 * (util/rcu.h). Sizes and addresses are bytes; a size of 2^64 is written MEMORY_SIZE_ALL. Changes:
 * machine lock. Access: any thread; MMIO ops are called with the machine lock held (taken by
 * dispatch) unless the region is `lockless`. Test: tests/unit/test-memory.c.
 */
#ifndef CLEAT_SYSTEM_MEMORY_H
#define CLEAT_SYSTEM_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/error.h"

typedef struct MemoryRegion MemoryRegion;
typedef struct AddressSpace AddressSpace;
typedef struct FlatView FlatView;
typedef struct RamBlock RamBlock;
typedef struct Object Object;
typedef uint64_t hwaddr;
#define MEMORY_SIZE_ALL UINT64_MAX

typedef enum MemResult { MEM_OK = 0, MEM_DECODE_ERROR = 1, MEM_DEVICE_ERROR = 2 } MemResult;

/*
 * Access rules are data: sizes the guest may use (valid) and sizes the ops implement (impl);
 * dispatch splits and joins.
 */
typedef struct MemoryRegionOps {
    uint64_t (*read)(void *opaque, hwaddr offset, unsigned size);
    void (*write)(void *opaque, hwaddr offset, uint64_t value, unsigned size);
    struct { uint8_t min, max; bool unaligned; } valid;    /* 0: any 1..8 */
    struct { uint8_t min, max; bool unaligned; } impl;     /* 0: 1..4 */
    bool big_endian;
} MemoryRegionOps;

typedef enum MemKind { MEM_CONTAINER, MEM_RAM, MEM_ROM, MEM_MMIO, MEM_ALIAS, MEM_ROMD } MemKind;

struct MemoryRegion {
    const char *name;
    Object *owner;
    MemKind kind;
    uint64_t size;
    const MemoryRegionOps *ops;
    void *opaque;
    RamBlock *ram;                  /* RAM, ROM, ROMD */
    MemoryRegion *alias;
    hwaddr alias_offset;
    MemoryRegion *container;
    hwaddr addr;
    int priority;
    bool enabled;
    bool readonly;
    bool lockless;                  /* ops do their own locking */
    bool romd_mode;                 /* ROMD: reads go to RAM when true */
    MemoryRegion *first_sub, *next_sub;     /* sorted by falling priority */
    struct MemIoEventFd *ioeventfds;
    uint8_t dirty_log;              /* clients that log */
};

void memory_region_init(MemoryRegion *mr, Object *owner, const char *name, uint64_t size);   /* container */
void memory_region_init_io(MemoryRegion *mr, Object *owner, const MemoryRegionOps *ops, void *opaque,
                           const char *name, uint64_t size);
bool memory_region_init_ram(MemoryRegion *mr, Object *owner, const char *name, uint64_t size, Error **errp);
bool memory_region_init_rom(MemoryRegion *mr, Object *owner, const char *name, uint64_t size, Error **errp);
/* Flash: reads come from memory while romd mode is on, writes (and reads otherwise) go to ops. */
bool memory_region_init_romd(MemoryRegion *mr, Object *owner, const MemoryRegionOps *ops, void *opaque,
                             const char *name, uint64_t size, Error **errp);
/*
 * RAM on memory that the caller mapped (memory backends); flags RAM_*. fd -1: private anonymous.
 * Takes the mapping.
 */
bool memory_region_init_ram_ptr(MemoryRegion *mr, Object *owner, const char *name, uint64_t size, void *host,
                                int fd, uint64_t fd_offset, unsigned flags, Error **errp);
enum { RAM_SHARED = 1, RAM_HUGETLB = 2, RAM_PMEM = 4, RAM_READONLY = 8 };
void memory_region_init_alias(MemoryRegion *mr, Object *owner, const char *name, MemoryRegion *target,
                              hwaddr offset, uint64_t size);
void memory_region_fini(MemoryRegion *mr);
void memory_region_add(MemoryRegion *container, hwaddr addr, MemoryRegion *sub, int priority);
void memory_region_remove(MemoryRegion *sub);
void memory_region_set_enabled(MemoryRegion *mr, bool enabled);
void memory_region_set_address(MemoryRegion *mr, hwaddr addr);
void memory_region_set_size(MemoryRegion *mr, uint64_t size);
void memory_region_set_alias_offset(MemoryRegion *mr, hwaddr offset);
void memory_region_set_readonly(MemoryRegion *mr, bool readonly);
void memory_region_set_romd(MemoryRegion *mr, bool romd);
uint8_t *memory_region_ram_ptr(MemoryRegion *mr);
/* Turns dirty logging of a RAM region on or off for a DIRTY_* client. */
void memory_region_set_log(MemoryRegion *mr, bool on, uint8_t client);
/* Asks the listeners (KVM) to move what they know into the dirty map; NULL: all regions. */
void memory_sync_dirty(MemoryRegion *mr);
/* Changes between begin and commit show at once. Nests. */
void memory_transaction_begin(void);
void memory_transaction_commit(void);

/* ---- address spaces and access ---- */
struct AddressSpace {
    const char *name;
    MemoryRegion *root;
    FlatView *_Atomic view;
    struct MemoryListener *listeners;
    struct MemoryListenerState *told;   /* listener.c: doorbells that listeners know */
    AddressSpace *next;
};
void address_space_init(AddressSpace *as, MemoryRegion *root, const char *name);
void address_space_fini(AddressSpace *as);
AddressSpace *address_space_next(AddressSpace *as);         /* NULL: the first. Machine lock */
MemResult address_space_read(AddressSpace *as, hwaddr addr, void *buf, size_t len);
MemResult address_space_write(AddressSpace *as, hwaddr addr, const void *buf, size_t len);
/* One access of 1, 2, 4 or 8 bytes as a CPU makes it (little-endian value). */
MemResult address_space_ld(AddressSpace *as, hwaddr addr, uint64_t *value, unsigned size);
MemResult address_space_st(AddressSpace *as, hwaddr addr, uint64_t value, unsigned size);
/* Writes also to ROM (loaders, reset). */
void address_space_write_rom(AddressSpace *as, hwaddr addr, const void *buf, size_t len);
void address_space_set(AddressSpace *as, hwaddr addr, uint8_t byte, size_t len);

/* ---- the CPU's view: one page's translation to host memory, for software TLBs ---- */
typedef struct MemoryPage {
    MemoryRegion *mr;               /* NULL: nothing is there (reads all ones) */
    hwaddr offset;                  /* of the page in mr */
    uint8_t *host;                  /* RAM/ROM: host address of the page; NULL: MMIO, or of several regions */
    bool readonly;                  /* writes are dropped (ROM) or go to ops (ROMD) */
    RamBlock *ram;
    uint64_t ram_page;              /* page number in the ram address space: index of dirty/code bitmaps */
} MemoryPage;
/* Page = 4096 bytes. Valid until the view changes: a listener's commit asks vCPUs to flush before memory goes. */
void address_space_page(AddressSpace *as, hwaddr addr, MemoryPage *out);

/* ---- DMA: pins its regions until unmapped ---- */
typedef struct DmaMap {
    struct iovec *iov;              /* host memory, in guest order */
    int n, cap;
    void *bounce;
    AddressSpace *as;
    hwaddr addr;
    size_t len;
    bool write;
    RamBlock **pinned;              /* one per iov */
} DmaMap;
/* Maps [addr, addr+len) for device reads (write=false) or writes; not RAM: bounce buffer. False: bus error. */
bool dma_map(AddressSpace *as, hwaddr addr, size_t len, bool write, DmaMap *map);
void dma_unmap(DmaMap *map, size_t bytes_written);

/* ---- listeners ---- */
typedef struct MemorySection {
    MemoryRegion *mr;
    hwaddr offset_in_region;
    hwaddr addr;
    uint64_t size;
    bool readonly;
} MemorySection;
typedef struct MemoryListener MemoryListener;
struct MemoryListener {
    const char *name;
    void (*begin)(MemoryListener *l);
    void (*add)(MemoryListener *l, const MemorySection *s);
    void (*del)(MemoryListener *l, const MemorySection *s);
    void (*commit)(MemoryListener *l);
    void (*log_start)(MemoryListener *l, const MemorySection *s);
    void (*log_stop)(MemoryListener *l, const MemorySection *s);
    void (*log_sync)(MemoryListener *l, const MemorySection *s);
    void (*eventfd_add)(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd);
    void (*eventfd_del)(MemoryListener *l, const MemorySection *s, bool match, uint64_t data, int fd);
    AddressSpace *as;
    MemoryListener *next;
};
void memory_listener_register(MemoryListener *l, AddressSpace *as);     /* replays the current view */
void memory_listener_unregister(MemoryListener *l);
/* A doorbell: writes of `size` bytes (equal to data when match) at addr signal fd instead of calling ops. */
void memory_region_add_eventfd(MemoryRegion *mr, hwaddr addr, unsigned size, bool match, uint64_t data, int fd);
void memory_region_del_eventfd(MemoryRegion *mr, hwaddr addr, unsigned size, bool match, uint64_t data, int fd);

/* ---- RAM blocks, dirty log, code pages ---- */
struct RamBlock {
    char *idstr;                    /* "pc.ram", "/rom@etc/acpi/tables" */
    uint8_t *host;
    uint64_t size;                  /* bytes, page aligned */
    uint64_t first_page;            /* index of its first page in the ram address space */
    int fd;
    uint64_t fd_offset;
    unsigned flags;                 /* RAM_* */
    MemoryRegion *mr;
    RamBlock *_Atomic next;
    _Atomic unsigned pins;          /* DMA windows open on it: it stays mapped until they close */
};
RamBlock *ram_block_first(void);                                       /* machine lock */
RamBlock *ram_block_from_host(const void *host, uint64_t *offset);     /* lock-free */
uint64_t ram_total(void);                                              /* bytes of all blocks */
enum { DIRTY_VGA = 1, DIRTY_MIGRATION = 2, DIRTY_CODE = 4 /* clear: page holds decoded code */ };
/* One byte a page, bits DIRTY_*; a page whose byte has all bits set may be written without notice. */
static inline uint8_t ram_dirty_get(uint64_t ram_page);
/* After a write by anyone but a vCPU's fast path: sets the bits, and drops decoded code. */
void ram_dirty_set(uint64_t ram_page, uint64_t pages);
/* Clears `bits` in a range; true if any was set. vCPU write translations of the range are flushed. */
bool ram_dirty_test_clear(uint64_t ram_page, uint64_t pages, uint8_t bits);
/* Sets or clears bits of one page; for the owners of those bits (the code cache marks its pages). Any thread. */
void ram_dirty_or(uint64_t ram_page, uint8_t bits);
void ram_dirty_and(uint64_t ram_page, uint8_t bits);
/*
 * Told about writes to pages with DIRTY_CODE clear (the software CPU's code cache), on the writer's
 * thread. The hook sets DIRTY_CODE itself (ram_dirty_or) when the page holds no code any more.
 * Without a hook the write sets it.
 */
void ram_code_hook_set(void (*fn)(uint64_t ram_page, unsigned offset, unsigned len));
/* Told when dirty bits of a range were cleared: write translations of it must be dropped before the return. */
void ram_flush_hook_set(void (*fn)(uint64_t ram_page, uint64_t pages));
/* What a write by `host` pointer means for the page: dirty bits and code. [offset, offset+len) of the block. */
void ram_written(RamBlock *rb, uint64_t offset, uint64_t len);
/* -machine mem-merge=, dump-guest-core=: for RAM made from now on. */
void ram_policy_set(bool merge, bool dump);
extern _Atomic uint8_t *ram_dirty_map;                                  /* grows by remap; never moves */
static inline uint8_t ram_dirty_get(uint64_t ram_page)
{
    return atomic_load_explicit(&ram_dirty_map[ram_page], memory_order_relaxed);
}

/* What is at addr: region and offset (NULL: nothing). For the view's lifetime, see address_space_page. */
MemoryRegion *address_space_find(AddressSpace *as, hwaddr addr, hwaddr *offset, uint64_t *avail);

/* Calls fn for each section of the present view, in order of address. Machine lock. */
void address_space_foreach(AddressSpace *as, void (*fn)(const MemorySection *s, void *opaque), void *opaque);

/* HMP `info mtree`: prints trees and flat views. */
void memory_print_tree(void (*out)(void *opaque, const char *line), void *opaque, bool flat);

#endif
