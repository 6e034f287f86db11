/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory backends (-object memory-backend-*): host memory that the user shaped, for a machine or a
 * DIMM to use. Main thread. Test: tests/unit/test-backends.c.
 */
#ifndef CLEAT_SYSTEM_HOSTMEM_H
#define CLEAT_SYSTEM_HOSTMEM_H

#include "system/memory.h"
#include "system/qdev.h"

#define TYPE_MEMORY_BACKEND "memory-backend"

/* Bytes, as the user asked. */
uint64_t hostmem_size(Object *backend);
/* The region, for its one user; NULL with an error when somebody has it. hostmem_release() gives it back. */
MemoryRegion *hostmem_claim(Object *backend, Error **errp);
void hostmem_release(Object *backend);

#endif
