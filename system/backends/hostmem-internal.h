/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parent struct of all memory backends; system/backends only. Main thread. */
#ifndef CLEAT_BACKENDS_HOSTMEM_INTERNAL_H
#define CLEAT_BACKENDS_HOSTMEM_INTERNAL_H

#include "system/hostmem.h"

typedef enum HostMemPolicy { HOSTMEM_DEFAULT, HOSTMEM_PREFERRED, HOSTMEM_BIND, HOSTMEM_INTERLEAVE } HostMemPolicy;
enum { HOSTMEM_MAX_NODES = 128 };

typedef struct HostMem {
    Object obj;
    /* config */
    uint64_t size;                  /* bytes */
    bool merge, dump, share, prealloc, reserve, canonical_id;
    uint32_t prealloc_threads;
    int policy;                     /* HostMemPolicy */
    uint64_t nodes[HOSTMEM_MAX_NODES / 64];
    bool nodes_given;
    /* realized */
    MemoryRegion mr;
    bool mapped, claimed;
} HostMem;

/* How a backend maps: filled by its kind, consumed by hostmem_map(). */
typedef struct HostMemMap {
    int fd;                         /* -1: anonymous; taken over */
    uint64_t fd_offset;
    uint64_t align;                 /* of size and address, bytes; 0: page */
    bool readonly;                  /* PROT_READ only */
    bool hugetlb, pmem;
} HostMemMap;

/* Maps, applies policy, preallocates, makes the region. Closes map->fd on failure. */
bool hostmem_map(HostMem *hm, const HostMemMap *map, Error **errp);

#endif
