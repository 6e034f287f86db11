/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory backends: what the kinds share, and memory-backend-ram. See include/system/hostmem.h.
 *
 * Realize maps the memory, binds it to NUMA nodes (mbind), sets merge and dump advice,
 * preallocates. Left out: prealloc-context (there is no thread-context object). Main thread. Test:
 * tests/unit/test-backends.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/backends/hostmem-internal.h"
#include "util/units.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint64_t hostmem_size(Object *backend)
{
    return ((HostMem *)backend)->size;
}

MemoryRegion *hostmem_claim(Object *backend, Error **errp)
{
    HostMem *hm = (HostMem *)backend;

    if (hm->claimed) {
        error_set(errp, "memory backend '%s' is in use already", backend->id);
        return NULL;
    }
    hm->claimed = true;
    object_ref(backend);
    return &hm->mr;
}

void hostmem_release(Object *backend)
{
    ((HostMem *)backend)->claimed = false;
    object_unref(backend);
}

/* ---- mapping ---- */

static bool bind_nodes(HostMem *hm, void *host, Error **errp)
{
    if (!hm->nodes_given && hm->policy == HOSTMEM_DEFAULT) {
        return true;
    }
    if (hm->policy == HOSTMEM_DEFAULT) {
        error_set(errp, "host-nodes= needs a policy other than 'default'");
        return false;
    }
    if (!hm->nodes_given) {
        error_set(errp, "policy= other than 'default' needs host-nodes=");
        return false;
    }
    if (syscall(SYS_mbind, host, hm->size, hm->policy, hm->nodes, HOSTMEM_MAX_NODES + 1, 3 /* STRICT | MOVE */)) {
        error_set_errno(errp, errno, "the memory cannot be bound to the given host nodes");
        return false;
    }
    return true;
}

typedef struct Touch {
    pthread_t thread;
    uint8_t *host;
    uint64_t size;
    int error;                      /* errno, 0: done */
} Touch;

static void *touch_slice(void *opaque)
{
    Touch *t = opaque;

    t->error = t->size && madvise(t->host, t->size, MADV_POPULATE_WRITE) ? errno : 0;
    return NULL;
}

static bool preallocate(HostMem *hm, uint8_t *host, Error **errp)
{
    unsigned n = CLAMP(hm->prealloc_threads, 1, 64);
    uint64_t slice = ALIGN_UP(hm->size / n, 2 * MiB);
    Touch work[64] = { 0 };
    int error = 0;

    for (unsigned i = 0; i < n; i++) {
        uint64_t start = MIN_OF(i * slice, hm->size);

        work[i].host = host + start;
        work[i].size = i + 1 == n ? hm->size - start : MIN_OF(slice, hm->size - start);
        if (i && pthread_create(&work[i].thread, NULL, touch_slice, &work[i])) {
            touch_slice(&work[i]);
            work[i].thread = 0;
        }
    }
    touch_slice(&work[0]);
    for (unsigned i = 0; i < n; i++) {
        if (i && work[i].thread) {
            pthread_join(work[i].thread, NULL);
        }
        error = work[i].error ? work[i].error : error;
    }
    if (error) {
        error_set_errno(errp, error, "prealloc=on: %" PRIu64 " bytes cannot be allocated", hm->size);
    }
    return !error;
}

/* NULL with an error. The address is aligned as the kind asks. */
static void *map_pages(HostMem *hm, const HostMemMap *map, Error **errp)
{
    int prot = PROT_READ | (map->readonly ? 0 : PROT_WRITE);
    int flags = (hm->share ? MAP_SHARED : MAP_PRIVATE) | (map->fd < 0 ? MAP_ANONYMOUS : 0) |
                (hm->reserve ? 0 : MAP_NORESERVE);
    uint64_t align = MAX_OF(map->align, hm->size >= 2 * MiB ? 2 * MiB : 4096);
    uint64_t room = hm->size + align;
    uint8_t *got, *start;

    got = room < hm->size ? MAP_FAILED
                          : mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got != MAP_FAILED) {
        start = (uint8_t *)ALIGN_UP((uintptr_t)got, align);
        if (start > got) {
            munmap(got, start - got);
        }
        munmap(start + hm->size, got + room - (start + hm->size));
        if (mmap(start, hm->size, prot, flags | MAP_FIXED, map->fd, map->fd_offset) != MAP_FAILED) {
            return start;
        }
        munmap(start, hm->size);
    }
    error_set_errno(errp, errno, "cannot map %" PRIu64 " bytes", hm->size);
    return NULL;
}

static unsigned region_flags(const HostMem *hm, const HostMemMap *map)
{
    return (hm->share ? RAM_SHARED : 0) | (map->hugetlb ? RAM_HUGETLB : 0) | (map->pmem ? RAM_PMEM : 0) |
           (map->readonly ? RAM_READONLY : 0);
}

static bool hostmem_finish(HostMem *hm, const HostMemMap *map, void *host, Error **errp)
{
    g_autofree char *path = g_strdup_printf("/objects/%s", hm->obj.id);
    const char *name = hm->canonical_id ? path : hm->obj.id;

    if (!bind_nodes(hm, host, errp) || (hm->prealloc && !map->readonly && !preallocate(hm, host, errp))) {
        return false;
    }
    if (!memory_region_init_ram_ptr(&hm->mr, &hm->obj, name, hm->size, host, map->fd, map->fd_offset,
                                    region_flags(hm, map), errp)) {
        return false;
    }
    (void)madvise(host, hm->size, hm->merge ? MADV_MERGEABLE : MADV_UNMERGEABLE);
    if (!hm->dump) {
        (void)madvise(host, hm->size, MADV_DONTDUMP);
    }
    hm->mapped = true;
    return true;
}

bool hostmem_map(HostMem *hm, const HostMemMap *map, Error **errp)
{
    void *host = NULL;

    if (!hm->size) {
        error_set(errp, "Parameter 'size' is missing or zero");
    } else if (map->align && hm->size % map->align) {
        error_set(errp, "size=%" PRIu64 " is no multiple of the page size %" PRIu64, hm->size, map->align);
    } else {
        host = map_pages(hm, map, errp);
    }
    if (host && hostmem_finish(hm, map, host, errp)) {
        return true;
    }
    if (host) {
        munmap(host, hm->size);
    }
    if (map->fd >= 0) {
        close(map->fd);
    }
    return false;
}

static void hostmem_unrealize(Object *obj)
{
    HostMem *hm = (HostMem *)obj;

    if (hm->mapped) {
        memory_region_fini(&hm->mr);
        hm->mapped = false;
    }
}

/* The object may go without unrealize when a user's mistake ends its creation. */
static void hostmem_fini(Object *obj)
{
    hostmem_unrealize(obj);
}

static bool hostmem_realize(Object *obj, Error **errp)
{
    HostMem *hm = (HostMem *)obj;

    hm->size = ALIGN_UP(hm->size, 4096);
    return true;
}

/* ---- properties ---- */

/* "0", "0-3": may be given several times. */
static bool set_host_nodes(Object *obj, const Property *p, const char *value, Error **errp)
{
    HostMem *hm = (HostMem *)obj;
    g_auto(GStrv) ends = g_strsplit(value, "-", 2);
    uint64_t lo = 0, hi = 0;

    if (!ends[0] || parse_uint(ends[0], &lo) != PARSE_OK || parse_uint(ends[1] ? ends[1] : ends[0], &hi) != PARSE_OK ||
        lo > hi || hi >= HOSTMEM_MAX_NODES) {
        error_set(errp, "Parameter 'host-nodes' expects a node or range below %d, not '%s'", HOSTMEM_MAX_NODES,
                  value);
        return false;
    }
    for (uint64_t i = lo; i <= hi; i++) {
        hm->nodes[i / 64] |= UINT64_C(1) << (i % 64);
    }
    hm->nodes_given = true;
    return true;
}

static char *get_host_nodes(Object *obj, const Property *p, Error **errp)
{
    HostMem *hm = (HostMem *)obj;
    GString *text = g_string_new(NULL);

    for (int i = 0; i < HOSTMEM_MAX_NODES; i++) {
        if (hm->nodes[i / 64] >> (i % 64) & 1) {
            g_string_append_printf(text, "%s%d", text->len ? "," : "", i);
        }
    }
    return g_string_free(text, FALSE);
}

static bool refuse_context(Object *obj, const Property *p, const char *value, Error **errp)
{
    error_set(errp, "prealloc-context=%s is not served: this program has no thread-context objects; "
              "use prealloc-threads=", value);
    return false;
}

static const char *const policies[] = { "default", "preferred", "bind", "interleave", NULL };
static const Property hostmem_props[] = {
    PROP_FIELD("size", PROP_SIZE, HostMem, size, 0, "bytes, with suffixes (ex: 500M)"),
    PROP_FIELD("merge", PROP_BOOL, HostMem, merge, true, "let the host merge equal pages (KSM)"),
    PROP_FIELD("dump", PROP_BOOL, HostMem, dump, true, "off: leave it out of core dumps"),
    PROP_FIELD("share", PROP_BOOL, HostMem, share, false, "visible to other processes that map the same memory"),
    PROP_FIELD("prealloc", PROP_BOOL, HostMem, prealloc, false, "allocate all pages at start"),
    PROP_FIELD("prealloc-threads", PROP_U32, HostMem, prealloc_threads, 1, "threads that do so"),
    { .name = "prealloc-context", .kind = PROP_CUSTOM, .set = refuse_context, .type_name = "link<thread-context>",
      .help = "not served" },
    PROP_FIELD("reserve", PROP_BOOL, HostMem, reserve, true, "off: do not reserve swap or huge pages"),
    { .name = "policy", .kind = PROP_ENUM, .offset = offsetof(HostMem, policy), .enum_names = policies,
      .has_default = true, .type_name = "HostMemPolicy", .help = "NUMA policy" },
    { .name = "host-nodes", .kind = PROP_CUSTOM, .set = set_host_nodes, .get = get_host_nodes, .type_name = "int",
      .help = "host NUMA nodes, a number or range" },
    PROP_FIELD("x-use-canonical-path-for-ramblock-id", PROP_BOOL, HostMem, canonical_id, false,
               "call the RAM block by the object's path"),
    PROP_END
};
static const Type hostmem_type = { .name = TYPE_MEMORY_BACKEND, .abstract = true, .size = sizeof(HostMem),
    .props = hostmem_props, .realize = hostmem_realize, .unrealize = hostmem_unrealize, .fini = hostmem_fini };
TYPE_REGISTER(hostmem_type)

/* ---- memory-backend-ram ---- */

static bool ram_realize(Object *obj, Error **errp)
{
    HostMem *hm = (HostMem *)obj;
    HostMemMap map = { .fd = -1 };

    if (hm->share) {
        /* Shared memory gets a descriptor, so that vhost-user and the like may be handed it. */
        map.fd = memfd_create("memory-backend-ram", MFD_CLOEXEC);
        if (map.fd < 0 || ftruncate(map.fd, hm->size) < 0) {
            error_set_errno(errp, errno, "share=on: cannot create shared memory");
            if (map.fd >= 0) {
                close(map.fd);
            }
            return false;
        }
    }
    return hostmem_map(hm, &map, errp);
}

static const Type ram_type = { .name = "memory-backend-ram", .parent = TYPE_MEMORY_BACKEND, .user_creatable = true,
                               .desc = "anonymous host memory", .realize = ram_realize };
TYPE_REGISTER(ram_type)
