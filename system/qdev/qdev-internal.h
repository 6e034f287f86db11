/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of system/qdev share; nobody else includes this. Machine lock, or main thread at start-up. */
#ifndef CLEAT_SYSTEM_QDEV_INTERNAL_H
#define CLEAT_SYSTEM_QDEV_INTERNAL_H

#include "system/qdev.h"

/* The parent type; NULL for "object". */
const Type *type_parent(const Type *type);
enum { TYPE_MAX_DEPTH = 16 };
/* Fills chain with type and its ancestors, the root first; returns how many. */
int type_chain(const Type *type, const Type *chain[TYPE_MAX_DEPTH]);

void object_props_init(Object *obj);
void object_props_release(Object *obj);
/* Applies every -global that matches; the first that fails lands in obj->init_error. */
void object_globals_apply(Object *obj);

/* First bus of a type, preferring one with room. */
Bus *bus_find_by_type(const char *type);
bool bus_is_full(const Bus *bus);
/* Buses of all devices, in the order of plugging. */
void bus_foreach(bool (*fn)(Bus *bus, void *opaque), void *opaque);

#endif
