/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VMState: which fields of a struct make up a device's migrated state, as a table.
 *
 * The stream is ours: each section is {name, version, length, named fields}, each field {name,
 * kind, count, bytes}, so a reader can skip what it does not know and refuse what it needs and
 * lacks. Saving is a pure function of the struct; loading fills it and then post_load recomputes
 * what is derived (and drives output lines). Machine lock. Test: tests/unit/test-vmstate.c and the
 * walk-all test.
 */
#ifndef CLEAT_SYSTEM_VMSTATE_H
#define CLEAT_SYSTEM_VMSTATE_H

#include "system/loop.h"
#include "system/qdev.h"

typedef enum VMKind {
    VM_U8, VM_U16, VM_U32, VM_U64, VM_I32, VM_I64, VM_BOOL, VM_BYTES,
    VM_STRUCT,                      /* nested table (sub) */
    VM_TIMER,                       /* Timer *: expiry in its clock's ns, ~0 when idle */
    VM_BYTES_PTR,                   /* uint8_t * with a fixed size in size */
} VMKind;
typedef struct VMField VMField;
struct VMField {
    const char *name;
    VMKind kind;
    size_t offset;
    size_t size;                    /* of one element */
    size_t count;                   /* array length, 1 for scalars */
    const VMState *sub;
    bool (*needed)(const void *opaque);     /* NULL: always there */
};
struct VMState {
    const char *name;
    int version;
    const VMField *fields;          /* ends with an entry without name */
    void (*pre_save)(void *opaque);
    bool (*post_load)(void *opaque, Error **errp);  /* also where loaded values are judged */
    bool (*needed)(const void *opaque);
};
#define VM_SIZE_OF(s, f) sizeof(((s *)0)->f)
#define VM_COUNT_OF(s, f) (VM_SIZE_OF(s, f) / VM_SIZE_OF(s, f[0]))
#define VM_FIELD(s, f, k) \
    { .name = #f, .kind = k, .offset = offsetof(s, f), .size = VM_SIZE_OF(s, f), .count = 1 }
#define VM_ARRAY(s, f, k) \
    { .name = #f, .kind = k, .offset = offsetof(s, f), .size = VM_SIZE_OF(s, f[0]), .count = VM_COUNT_OF(s, f) }
#define VM_BUFFER(s, f) VM_FIELD(s, f, VM_BYTES)
#define VM_SUB(s, f, v) \
    { .name = #f, .kind = VM_STRUCT, .offset = offsetof(s, f), .size = VM_SIZE_OF(s, f), .count = 1, .sub = &(v) }
#define VM_SUB_ARRAY(s, f, v) \
    { .name = #f, .kind = VM_STRUCT, .offset = offsetof(s, f), .size = VM_SIZE_OF(s, f[0]), \
      .count = VM_COUNT_OF(s, f), .sub = &(v) }
#define VM_TIMER_FIELD(s, f) VM_FIELD(s, f, VM_TIMER)
#define VM_END { .name = NULL }

void vmstate_save(const VMState *vms, void *opaque, GByteArray *out);
bool vmstate_load(const VMState *vms, void *opaque, const uint8_t *data, size_t len, size_t *used, Error **errp);
/* The whole machine: every realized device, the CPUs, and RAM when with_ram. */
bool machine_state_save(GByteArray *out, bool with_ram, Error **errp);
bool machine_state_load(const uint8_t *data, size_t len, Error **errp);
/* State that belongs to no device. */
void vmstate_register(const char *name, const VMState *vms, void *opaque);
void vmstate_unregister(const VMState *vms, void *opaque);

#endif
