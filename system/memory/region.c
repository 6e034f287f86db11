/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of regions and the transactions that change it; see include/system/memory.h. Every
 * change marks the views stale; the end of the outermost transaction renders each distinct root
 * once and publishes. Machine lock, or main thread at start-up. Test: tests/unit/test-memory.c.
 */
#include <glib.h>
#include <string.h>

#include "system/memory/memory-internal.h"
#include "trace-system_memory.h"

static struct {
    int depth;                      /* open transactions */
    bool stale;
    AddressSpace *spaces;
} memory;

/* ---- making and ending regions ---- */

void memory_region_init(MemoryRegion *mr, Object *owner, const char *name, uint64_t size)
{
    memset(mr, 0, sizeof(*mr));
    mr->name = g_strdup(name ? name : "");
    mr->owner = owner;
    mr->size = size;
    mr->kind = MEM_CONTAINER;
    mr->enabled = true;
    mr->romd_mode = true;
}

void memory_region_init_io(MemoryRegion *mr, Object *owner, const MemoryRegionOps *ops, void *opaque,
                           const char *name, uint64_t size)
{
    memory_region_init(mr, owner, name, size);
    mr->kind = MEM_MMIO;
    mr->ops = ops;
    mr->opaque = opaque;
}

void memory_region_init_alias(MemoryRegion *mr, Object *owner, const char *name, MemoryRegion *target,
                              hwaddr offset, uint64_t size)
{
    memory_region_init(mr, owner, name, size);
    mr->kind = MEM_ALIAS;
    mr->alias = target;
    mr->alias_offset = offset;
}

static bool region_set_ram(MemoryRegion *mr, MemKind kind, RamBlock *rb)
{
    if (!rb) {
        g_free((char *)mr->name);
        mr->name = NULL;
        return false;
    }
    mr->ram = rb;
    mr->kind = kind;
    return true;
}

bool memory_region_init_ram(MemoryRegion *mr, Object *owner, const char *name, uint64_t size, Error **errp)
{
    memory_region_init(mr, owner, name, size);
    return region_set_ram(mr, MEM_RAM, ram_block_new(mr, name, size, errp));
}

bool memory_region_init_rom(MemoryRegion *mr, Object *owner, const char *name, uint64_t size, Error **errp)
{
    memory_region_init(mr, owner, name, size);
    mr->readonly = true;
    return region_set_ram(mr, MEM_ROM, ram_block_new(mr, name, size, errp));
}

bool memory_region_init_romd(MemoryRegion *mr, Object *owner, const MemoryRegionOps *ops, void *opaque,
                             const char *name, uint64_t size, Error **errp)
{
    memory_region_init_io(mr, owner, ops, opaque, name, size);
    return region_set_ram(mr, MEM_ROMD, ram_block_new(mr, name, size, errp));
}

bool memory_region_init_ram_ptr(MemoryRegion *mr, Object *owner, const char *name, uint64_t size, void *host,
                                int fd, uint64_t fd_offset, unsigned flags, Error **errp)
{
    memory_region_init(mr, owner, name, size);
    mr->readonly = flags & RAM_READONLY;
    return region_set_ram(mr, MEM_RAM, ram_block_adopt(mr, name, size, host, fd, fd_offset, flags, errp));
}

static void ioeventfds_free(MemoryRegion *mr)
{
    while (mr->ioeventfds) {
        MemIoEventFd *e = mr->ioeventfds;

        mr->ioeventfds = e->next;
        g_free(e);
    }
}

static void name_free(void *name)
{
    g_free(name);
}

void memory_region_fini(MemoryRegion *mr)
{
    memory_transaction_begin();
    if (mr->container) {
        memory_region_remove(mr);
    }
    while (mr->first_sub) {
        memory_region_remove(mr->first_sub);
    }
    memory_transaction_commit();
    ioeventfds_free(mr);
    if (mr->ram) {
        ram_block_free(mr->ram);
        mr->ram = NULL;
    }
    if (mr->name) {
        rcu_call(name_free, (char *)mr->name);
        mr->name = NULL;
    }
}

/* ---- the tree ---- */

void memory_region_add(MemoryRegion *container, hwaddr addr, MemoryRegion *sub, int priority)
{
    MemoryRegion **at = &container->first_sub;

    memory_transaction_begin();
    sub->container = container;
    sub->addr = addr;
    sub->priority = priority;
    /* Of equal priorities the later one hides the earlier one. */
    while (*at && (*at)->priority > priority) {
        at = &(*at)->next_sub;
    }
    sub->next_sub = *at;
    *at = sub;
    memory_changed();
    memory_transaction_commit();
}

void memory_region_remove(MemoryRegion *sub)
{
    if (!sub->container) {
        return;
    }
    memory_transaction_begin();
    for (MemoryRegion **at = &sub->container->first_sub; *at; at = &(*at)->next_sub) {
        if (*at == sub) {
            *at = sub->next_sub;
            break;
        }
    }
    sub->container = sub->next_sub = NULL;
    memory_changed();
    memory_transaction_commit();
}

#define CHANGE_FIELD(field, value)                 \
    do {                                           \
        if (mr->field != (value)) {                \
            memory_transaction_begin();            \
            mr->field = (value);                   \
            memory_changed();                      \
            memory_transaction_commit();           \
        }                                          \
    } while (0)

void memory_region_set_enabled(MemoryRegion *mr, bool enabled)
{
    CHANGE_FIELD(enabled, enabled);
}

void memory_region_set_size(MemoryRegion *mr, uint64_t size)
{
    CHANGE_FIELD(size, size);
}

void memory_region_set_alias_offset(MemoryRegion *mr, hwaddr offset)
{
    CHANGE_FIELD(alias_offset, offset);
}

void memory_region_set_readonly(MemoryRegion *mr, bool readonly)
{
    CHANGE_FIELD(readonly, readonly);
}

void memory_region_set_romd(MemoryRegion *mr, bool romd)
{
    CHANGE_FIELD(romd_mode, romd);
}

void memory_region_set_address(MemoryRegion *mr, hwaddr addr)
{
    MemoryRegion *container = mr->container;

    if (mr->addr == addr) {
        return;
    }
    memory_transaction_begin();
    if (container) {
        memory_region_remove(mr);
        memory_region_add(container, addr, mr, mr->priority);
    }
    mr->addr = addr;
    memory_transaction_commit();
}

void memory_region_set_log(MemoryRegion *mr, bool on, uint8_t client)
{
    uint8_t log = on ? mr->dirty_log | client : mr->dirty_log & ~client;

    CHANGE_FIELD(dirty_log, log);
}

uint8_t *memory_region_ram_ptr(MemoryRegion *mr)
{
    hwaddr offset = 0;

    while (mr->alias) {
        offset += mr->alias_offset;
        mr = mr->alias;
    }
    return mr->ram ? mr->ram->host + offset : NULL;
}

void memory_region_add_eventfd(MemoryRegion *mr, hwaddr addr, unsigned size, bool match, uint64_t data, int fd)
{
    MemIoEventFd *e = g_new0(MemIoEventFd, 1);

    *e = (MemIoEventFd){ addr, size, match, data, fd, mr->ioeventfds };
    memory_transaction_begin();
    mr->ioeventfds = e;
    memory_changed();
    memory_transaction_commit();
}

void memory_region_del_eventfd(MemoryRegion *mr, hwaddr addr, unsigned size, bool match, uint64_t data, int fd)
{
    memory_transaction_begin();
    for (MemIoEventFd **at = &mr->ioeventfds; *at; at = &(*at)->next) {
        MemIoEventFd *e = *at;

        if (e->addr == addr && e->size == size && e->match == match && e->data == data && e->fd == fd) {
            *at = e->next;
            g_free(e);
            break;
        }
    }
    memory_changed();
    memory_transaction_commit();
}

/* ---- transactions and address spaces ---- */

void memory_changed(void)
{
    memory.stale = true;
}

void memory_transaction_begin(void)
{
    memory.depth++;
}

/* The view of a root rendered in this commit, shared by all address spaces that show it. */
static FlatView *view_for_root(GHashTable *done, MemoryRegion *root)
{
    MemoryRegion *real = flatview_root(root);
    FlatView *view = g_hash_table_lookup(done, real);

    if (!view) {
        view = flatview_render(real);
        g_hash_table_insert(done, real, view);
    }
    return flatview_ref(view);
}

static void space_update(AddressSpace *as, FlatView *view)
{
    FlatView *old = atomic_load(&as->view);

    trace_memory_view(as->name, view->n);
    atomic_store(&as->view, view);
    if (as->listeners) {
        listeners_update(as, old, view);
        listeners_update_eventfds(as, view);
    }
    flatview_unref(old);
}

void memory_transaction_commit(void)
{
    GHashTable *done;
    GHashTableIter it;
    gpointer view;

    if (--memory.depth > 0 || !memory.stale) {
        return;
    }
    memory.stale = false;
    done = g_hash_table_new(NULL, NULL);
    for (AddressSpace *as = memory.spaces; as; as = as->next) {
        space_update(as, view_for_root(done, as->root));
    }
    g_hash_table_iter_init(&it, done);
    while (g_hash_table_iter_next(&it, NULL, &view)) {
        flatview_unref(view);
    }
    g_hash_table_destroy(done);
}

void address_space_init(AddressSpace *as, MemoryRegion *root, const char *name)
{
    memset(as, 0, sizeof(*as));
    as->name = g_strdup(name);
    as->root = root;
    as->view = flatview_render(flatview_root(root));
    as->next = memory.spaces;
    memory.spaces = as;
}

void address_space_fini(AddressSpace *as)
{
    for (AddressSpace **at = &memory.spaces; *at; at = &(*at)->next) {
        if (*at == as) {
            *at = as->next;
            break;
        }
    }
    listeners_forget(as);
    flatview_unref(atomic_exchange(&as->view, NULL));
    g_free((char *)as->name);
    as->name = NULL;
}

AddressSpace *address_space_next(AddressSpace *as)
{
    return as ? as->next : memory.spaces;
}
