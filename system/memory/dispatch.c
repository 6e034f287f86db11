/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to guest memory: RAM by copy without a lock, everything else through its region's ops.
 *
 * An access is cut into pieces that the region declares valid, a piece into what the ops implement.
 * Ops run with the machine lock, taken here if need be. A device that reaches its own regions from
 * inside its own ops (DMA onto itself) gets a bus error; each thread keeps its chain of ops under
 * way for that. Any thread. Test: tests/unit/test-memory.c.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "system/loop.h"
#include "system/memory/memory-internal.h"
#include "trace-system_memory.h"
#include "util/units.h"

typedef struct OpsFrame {
    MemoryRegion *mr;
    struct OpsFrame *outer;
    bool locked_here;
} OpsFrame;

static __thread OpsFrame *ops_under_way;

static bool ops_enter(OpsFrame *f, MemoryRegion *mr)
{
    static atomic_bool said;

    for (OpsFrame *o = ops_under_way; o; o = o->outer) {
        if (o->mr == mr || (mr->owner && o->mr->owner == mr->owner)) {
            if (!atomic_exchange(&said, true)) {
                warn_report("a device was reached by its own DMA (region '%s'): bus error (said once)",
                            mr->name);
            }
            return false;
        }
    }
    f->mr = mr;
    f->locked_here = !mr->lockless && !machine_locked();
    if (f->locked_here) {
        machine_lock();
    }
    f->outer = ops_under_way;
    ops_under_way = f;
    return true;
}

static void ops_leave(OpsFrame *f)
{
    ops_under_way = f->outer;
    if (f->locked_here) {
        machine_unlock();
    }
}

static uint64_t size_mask(unsigned size)
{
    return size >= 8 ? UINT64_MAX : (UINT64_C(1) << (size * 8)) - 1;
}

static uint64_t swap_bytes(uint64_t v, unsigned size)
{
    return __builtin_bswap64(v) >> (64 - size * 8);
}

static bool access_is_valid(const MemoryRegionOps *ops, hwaddr offset, unsigned size)
{
    unsigned max = ops->valid.max ? ops->valid.max : 8;

    return (ops->valid.unaligned || !(offset & (size - 1))) && size >= ops->valid.min && size <= max;
}

static unsigned impl_size(const MemoryRegionOps *ops, unsigned size)
{
    unsigned max = ops->impl.max ? ops->impl.max : 4;
    unsigned min = ops->impl.min ? ops->impl.min : 1;

    return MAX_OF(MIN_OF(size, max), min);
}

MemResult region_read(MemoryRegion *mr, hwaddr offset, uint64_t *value, unsigned size)
{
    const MemoryRegionOps *ops = mr->ops;
    unsigned step = impl_size(ops, size);
    hwaddr skew = step > size ? offset & (step - 1) : 0;
    uint64_t v = 0;
    OpsFrame frame;

    *value = size_mask(size);
    if (!ops->read || !access_is_valid(ops, offset, size)) {
        return MEM_DECODE_ERROR;
    }
    if (!ops_enter(&frame, mr)) {
        return MEM_DEVICE_ERROR;
    }
    for (unsigned i = 0; i < size; i += step) {
        uint64_t piece = ops->read(mr->opaque, offset - skew + i, step) & size_mask(step);

        v |= (ops->big_endian ? swap_bytes(piece, step) : piece) << (i * 8);
    }
    ops_leave(&frame);
    *value = v >> (skew * 8) & size_mask(size);
    trace_memory_ops_read(mr->name, offset, *value, size);
    return MEM_OK;
}

/* True when the write rang a doorbell: the ops are not called then. */
static bool eventfd_signal(MemoryRegion *mr, hwaddr offset, uint64_t value, unsigned size)
{
    const uint64_t one = 1;

    for (MemIoEventFd *e = mr->ioeventfds; e; e = e->next) {
        if (e->addr == offset && (!e->size || e->size == size) && (!e->match || e->data == value)) {
            return write(e->fd, &one, sizeof(one)) == sizeof(one) || errno == EAGAIN;
        }
    }
    return false;
}

MemResult region_write(MemoryRegion *mr, hwaddr offset, uint64_t value, unsigned size)
{
    const MemoryRegionOps *ops = mr->ops;
    unsigned step = impl_size(ops, size);
    hwaddr skew = step > size ? offset & (step - 1) : 0;
    OpsFrame frame;

    value &= size_mask(size);
    if (!ops->write || !access_is_valid(ops, offset, size)) {
        return MEM_DECODE_ERROR;
    }
    if (!ops_enter(&frame, mr)) {
        return MEM_DEVICE_ERROR;
    }
    trace_memory_ops_write(mr->name, offset, value, size);
    if (!mr->ioeventfds || !eventfd_signal(mr, offset, value, size)) {
        value <<= skew * 8;
        for (unsigned i = 0; i < size; i += step) {
            uint64_t piece = value >> (i * 8) & size_mask(step);

            ops->write(mr->opaque, offset - skew + i, ops->big_endian ? swap_bytes(piece, step) : piece, step);
        }
    }
    ops_leave(&frame);
    return MEM_OK;
}

unsigned region_access_size(const MemoryRegion *mr, hwaddr offset, size_t len)
{
    unsigned max = mr->ops->valid.max ? mr->ops->valid.max : 4;
    unsigned size = 8;

    if (!mr->ops->valid.unaligned && offset) {
        uint64_t align = offset & -offset;

        max = MIN_OF(max, align);
    }
    while (size > max || size > len) {
        size >>= 1;
    }
    return size;
}

/* ---- pieces of a range ---- */

static size_t range_bytes(const FlatRange *r, hwaddr addr, size_t len)
{
    uint64_t rest = r->last - addr;         /* one less than what is left */

    return rest < len ? rest + 1 : len;
}

static size_t hole_bytes(const FlatView *view, hwaddr addr, size_t len)
{
    for (int i = 0; i < view->n; i++) {
        if (view->ranges[i].addr > addr) {
            return MIN_OF(len, view->ranges[i].addr - addr);
        }
    }
    return len;
}

static MemResult ops_read_bytes(const FlatRange *r, hwaddr addr, uint8_t *buf, size_t len)
{
    hwaddr offset = r->offset + (addr - r->addr);
    MemResult result = MEM_OK;

    while (len) {
        unsigned size = region_access_size(r->mr, offset, len);
        uint64_t v;

        result |= region_read(r->mr, offset, &v, size);
        memcpy(buf, &v, size);      /* the host is little-endian, as the guest is */
        buf += size;
        offset += size;
        len -= size;
    }
    return result;
}

static MemResult ops_write_bytes(const FlatRange *r, hwaddr addr, const uint8_t *buf, size_t len)
{
    hwaddr offset = r->offset + (addr - r->addr);
    MemResult result = MEM_OK;

    while (len) {
        unsigned size = region_access_size(r->mr, offset, len);
        uint64_t v = 0;

        memcpy(&v, buf, size);
        result |= region_write(r->mr, offset, v, size);
        buf += size;
        offset += size;
        len -= size;
    }
    return result;
}

static void ram_copy_in(const FlatRange *r, hwaddr addr, const void *buf, size_t len)
{
    uint8_t *host = range_host(r, addr);

    memcpy(host, buf, len);
    ram_written(r->mr->ram, host - r->mr->ram->host, len);
}

/* ---- the public face ---- */

MemResult address_space_read(AddressSpace *as, hwaddr addr, void *buf, size_t len)
{
    MemResult result = MEM_OK;
    uint8_t *to = buf;

    rcu_read_lock();
    while (len) {
        const FlatView *view = atomic_load_explicit(&as->view, memory_order_acquire);
        const FlatRange *r = flatview_find(view, addr);
        size_t n = r ? range_bytes(r, addr, len) : hole_bytes(view, addr, len);

        if (!r) {
            trace_memory_unassigned(as->name, addr, n, false);
            memset(to, 0xff, n);
            result |= MEM_DECODE_ERROR;
        } else if (range_reads_memory(r)) {
            memcpy(to, range_host(r, addr), n);
        } else {
            result |= ops_read_bytes(r, addr, to, n);
        }
        to += n;
        addr += n;
        len -= n;
    }
    rcu_read_unlock();
    return result;
}

static MemResult range_write(const FlatRange *r, hwaddr addr, const uint8_t *buf, size_t len)
{
    if (range_writes_memory(r)) {
        ram_copy_in(r, addr, buf, len);
        return MEM_OK;
    }
    /* ROM, and RAM made read-only, drop what is written. */
    return r->mr->ops && !r->readonly ? ops_write_bytes(r, addr, buf, len) : MEM_OK;
}

MemResult address_space_write(AddressSpace *as, hwaddr addr, const void *buf, size_t len)
{
    MemResult result = MEM_OK;
    const uint8_t *from = buf;

    rcu_read_lock();
    while (len) {
        const FlatView *view = atomic_load_explicit(&as->view, memory_order_acquire);
        const FlatRange *r = flatview_find(view, addr);
        size_t n = r ? range_bytes(r, addr, len) : hole_bytes(view, addr, len);

        if (!r) {
            trace_memory_unassigned(as->name, addr, n, true);
        }
        result |= r ? range_write(r, addr, from, n) : MEM_DECODE_ERROR;
        from += n;
        addr += n;
        len -= n;
    }
    rcu_read_unlock();
    return result;
}

/*
 * A CPU's access goes whole to the region it starts in when that takes its size, even where a part
 * of it is hidden by another region (PCI's dword at cf8h under the reset control's byte at cf9h).
 */
static bool range_takes_whole(const FlatRange *r, hwaddr addr, unsigned size)
{
    hwaddr offset = r->offset + (addr - r->addr);

    return r->mr->ops && offset <= r->mr->size - size && r->mr->size >= size &&
           region_access_size(r->mr, offset, size) == size;
}

MemResult address_space_ld(AddressSpace *as, hwaddr addr, uint64_t *value, unsigned size)
{
    MemResult result = MEM_OK;
    const FlatRange *r;

    *value = 0;
    rcu_read_lock();
    r = flatview_find(atomic_load_explicit(&as->view, memory_order_acquire), addr);
    if (r && r->last - addr >= size - 1 && range_reads_memory(r)) {
        memcpy(value, range_host(r, addr), size);
    } else if (r && !range_reads_memory(r) && range_takes_whole(r, addr, size)) {
        result = region_read(r->mr, r->offset + (addr - r->addr), value, size);
    } else {
        result = address_space_read(as, addr, value, size);
    }
    rcu_read_unlock();
    return result;
}

MemResult address_space_st(AddressSpace *as, hwaddr addr, uint64_t value, unsigned size)
{
    MemResult result;
    const FlatRange *r;

    rcu_read_lock();
    r = flatview_find(atomic_load_explicit(&as->view, memory_order_acquire), addr);
    if (r && !r->readonly && !range_writes_memory(r) && range_takes_whole(r, addr, size)) {
        result = region_write(r->mr, r->offset + (addr - r->addr), value, size);
    } else {
        result = address_space_write(as, addr, &value, size);
    }
    rcu_read_unlock();
    return result;
}

void address_space_write_rom(AddressSpace *as, hwaddr addr, const void *buf, size_t len)
{
    const uint8_t *from = buf;

    rcu_read_lock();
    while (len) {
        const FlatView *view = atomic_load_explicit(&as->view, memory_order_acquire);
        const FlatRange *r = flatview_find(view, addr);
        size_t n = r ? range_bytes(r, addr, len) : hole_bytes(view, addr, len);

        if (r && r->mr->ram) {
            ram_copy_in(r, addr, from, n);
        }
        from += n;
        addr += n;
        len -= n;
    }
    rcu_read_unlock();
}

void address_space_set(AddressSpace *as, hwaddr addr, uint8_t byte, size_t len)
{
    uint8_t block[4096];

    memset(block, byte, sizeof(block));
    while (len) {
        size_t n = MIN_OF(len, sizeof(block));

        address_space_write(as, addr, block, n);
        addr += n;
        len -= n;
    }
}

void address_space_page(AddressSpace *as, hwaddr addr, MemoryPage *out)
{
    const FlatRange *r;

    memset(out, 0, sizeof(*out));
    addr &= ~UINT64_C(4095);
    rcu_read_lock();
    r = flatview_find(atomic_load_explicit(&as->view, memory_order_acquire), addr);
    if (r) {
        hwaddr offset = r->offset + (addr - r->addr);

        out->mr = r->mr;
        out->offset = offset;
        out->readonly = r->readonly || r->mr->kind == MEM_ROM || r->mr->kind == MEM_ROMD;
        if (range_reads_memory(r) && r->last - addr >= 4095 && !(offset & 4095)) {
            out->ram = r->mr->ram;
            out->host = out->ram->host + offset;
            out->ram_page = out->ram->first_page + offset / 4096;
        }
    } else {
        const FlatView *view = atomic_load(&as->view);

        /* A region that begins inside the page: not empty, but only byte-wise access finds it. */
        if (hole_bytes(view, addr, 4096) < 4096) {
            r = flatview_find(view, addr + hole_bytes(view, addr, 4096));
            out->mr = r ? r->mr : NULL;
        }
    }
    rcu_read_unlock();
}

MemoryRegion *address_space_find(AddressSpace *as, hwaddr addr, hwaddr *offset, uint64_t *avail)
{
    const FlatRange *r;
    MemoryRegion *mr = NULL;

    rcu_read_lock();
    r = flatview_find(atomic_load_explicit(&as->view, memory_order_acquire), addr);
    if (r) {
        mr = r->mr;
        *offset = r->offset + (addr - r->addr);
        *avail = r->last - addr == UINT64_MAX ? UINT64_MAX : r->last - addr + 1;
    }
    rcu_read_unlock();
    return mr;
}
