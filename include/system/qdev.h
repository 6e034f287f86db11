/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types, objects, properties, devices and buses.
 *
 * One Type describes a device, a user-creatable object (-object), a machine or a CPU. A file ends
 * in one `static const Type` and TYPE_REGISTER(it); no central list exists. Instances are plain C
 * structs whose first member is the parent's struct (Object, Device, PCIDevice, ...), zeroed at
 * creation, properties at their defaults. Life: init (cannot fail) -> properties set -> realize
 * (may fail, undoes itself) -> reset (cannot fail, idempotent) -> unrealize -> fini. Each hook of a
 * type is called in addition to its parent's: init, realize and reset from the root down, unrealize
 * and fini from the leaf up; when a realize fails, those above it that succeeded are unrealized.
 * Main loop thread, or machine lock held. Tests: tests/unit/test-qdev.c, tests/qtest/test-walk-all.
 */
#ifndef CLEAT_SYSTEM_QDEV_H
#define CLEAT_SYSTEM_QDEV_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/keyval.h"               /* PropPair */

typedef struct Type Type;
typedef struct Object Object;
typedef struct Device Device;
typedef struct Bus Bus;
typedef struct Property Property;
typedef struct VMState VMState;             /* system/vmstate.h */

/* ---- types ---- */
struct Type {
    const char *name;
    const char *parent;                     /* "object" (default), "device", "pci-device", ... */
    const char *alias;                      /* a second name that -device takes, or NULL */
    const char *desc;                       /* for `-device help` */
    const char *category;                   /* "Storage devices", "Misc devices", ... of -device help */
    bool abstract;
    bool user_creatable;                    /* by -device / -object / device_add */
    bool no_hotplug;
    const char *const *interfaces;          /* NULL-terminated names */
    size_t size;                            /* of the instance struct; 0: the parent's */
    const Property *props;                  /* ends with an entry without name; NULL: none */
    const char *bus;                        /* device: type of bus it sits on, NULL: none (sysbus) */
    void (*init)(Object *obj);
    void (*fini)(Object *obj);
    bool (*realize)(Object *obj, Error **errp);
    void (*unrealize)(Object *obj);
    void (*reset)(Object *obj);
    const VMState *vmstate;
    const void *ops;                        /* what the parent type wants of its children, e.g. const PCIDeviceOps * */
};
#define TYPE_REGISTER(type) \
    static void __attribute__((constructor)) type##_type_register(void) { type_register(&type); }
void type_register(const Type *type);
const Type *type_find(const char *name);                   /* NULL: no such type */
bool type_is_a(const Type *type, const char *ancestor);    /* also interfaces */
const void *type_ops(const Type *type);                    /* nearest non-NULL ops up the chain */
size_t type_instance_size(const Type *type);
void type_foreach(const char *ancestor, bool include_abstract,
                  void (*fn)(const Type *type, void *opaque), void *opaque);   /* sorted by name */

/* ---- properties ---- */
typedef enum PropKind {
    PROP_BOOL, PROP_U8, PROP_U16, PROP_U32, PROP_U64, PROP_I32, PROP_I64, PROP_SIZE,
    PROP_STR,               /* char *, owned by the object */
    PROP_ENUM,              /* int field; names in enum_names */
    PROP_BIT,               /* one bit (bit number in `bit`) of a uint32_t field */
    PROP_BIT64,
    PROP_ONOFFAUTO,         /* OnOffAuto field */
    PROP_LINK,              /* Object *: path or id of an object of type link_type */
    PROP_CHARDEV,           /* CharFrontend (chardev/char.h): id of a chardev */
    PROP_MACADDR, PROP_UUID,
    PROP_CUSTOM,            /* get/set functions */
} PropKind;
typedef enum OnOffAuto { ON_OFF_AUTO_AUTO, ON_OFF_AUTO_ON, ON_OFF_AUTO_OFF } OnOffAuto;
struct Property {
    const char *name;
    const char *help;
    PropKind kind;
    size_t offset;                          /* of the field in the instance */
    uint64_t def;                           /* default (cast for signed, enum) */
    const char *def_str;
    uint8_t bit;
    bool has_default;                       /* false for CUSTOM: no default shown */
    bool settable_after_realize;
    const char *const *enum_names;          /* NULL-terminated */
    const char *link_type;
    const char *type_name;                  /* for CUSTOM and introspection */
    bool (*set)(Object *obj, const Property *p, const char *value, Error **errp);
    char *(*get)(Object *obj, const Property *p, Error **errp);   /* caller frees */
};
#define PROP_FIELD(n, k, s, f, d, h) \
    { .name = n, .kind = k, .offset = offsetof(s, f), .def = (uint64_t)(d), .has_default = true, .help = h }
#define PROP_END { .name = NULL }

bool object_prop_set(Object *obj, const char *name, const char *value, Error **errp);
bool object_prop_set_bool(Object *obj, const char *name, bool value, Error **errp);
bool object_prop_set_uint(Object *obj, const char *name, uint64_t value, Error **errp);
bool object_prop_set_link(Object *obj, const char *name, Object *target, Error **errp);
char *object_prop_get(Object *obj, const char *name, Error **errp);    /* as text; caller frees */
const Property *type_prop_find(const Type *type, const char *name);
void type_prop_foreach(const Type *type, void (*fn)(const Property *p, void *opaque), void *opaque);
/*
 * Property kinds whose fields belong to rooms above this one (PROP_CHARDEV): they register how to
 * set and show them.
 */
typedef struct PropKindOps {
    bool (*set)(Object *obj, const Property *p, void *field, const char *value, Error **errp);
    char *(*get)(Object *obj, const Property *p, void *field);
    void (*release)(Object *obj, const Property *p, void *field);
} PropKindOps;
void prop_kind_register(PropKind kind, const PropKindOps *ops);
/* "bool", "uint32", "str", "OnOffAuto", ...: the name that introspection and help show; caller frees. */
char *prop_type_name(const Property *p);
/* The default as text ("off", "3", "\"auto\""); NULL: none; caller frees. */
char *prop_default_text(const Property *p);
/* -global driver.prop=value, checked when an instance is created; unused ones warn at the end of start-up. */
void global_prop_add(const char *driver, const char *prop, const char *value);
void global_prop_warn_unused(void);

/* ---- objects: a tree of named children ---- */
struct Object {
    const Type *type;
    Object *parent;
    char *name;                             /* in the parent; "unattached/device[0]" style is the caller's */
    char *id;                               /* user's id= or NULL */
    Object *first_child, *next_sibling;
    unsigned refs;
    bool realized;
    void (*free)(void *obj);                /* NULL: embedded in another's struct */
    Error *init_error;                      /* a -global that did not apply; realize fails with it */
};
Object *object_new(const char *type);                      /* init hooks run; programmer error if unknown */
Object *object_new_checked(const char *type, Error **errp);/* for user-given names; refuses abstract */
/* In memory that the caller owns (embedded children): zeroes it and runs the init hooks. */
void object_init(void *mem, const char *type);
void object_ref(Object *obj);
void object_unref(Object *obj);
Object *object_root(void);                                 /* "/"; holds /machine, /objects, /chardevs */
/* Takes the reference; "x[*]" picks an index. */
void object_add_child(Object *parent, const char *name, Object *child);
void object_remove(Object *obj);                           /* from its parent, dropping that reference */
Object *object_resolve(const char *path_or_id);
Object *object_child(const Object *parent, const char *name);
/* The container at an absolute path, made where missing: "/machine/unattached", "/objects". */
Object *object_container(const char *path);
/* Calls fn for obj and all below, parents first; false from fn ends the walk (and is returned). */
bool object_walk(Object *obj, bool (*fn)(Object *obj, void *opaque), void *opaque);
char *object_path(const Object *obj);
bool object_is_a(const Object *obj, const char *ancestor);
bool object_realize(Object *obj, Error **errp);
void object_unrealize(Object *obj);
void object_reset(Object *obj);

/* ---- devices and buses ---- */
struct Device {
    Object obj;
    Bus *bus;                               /* where it sits; NULL: system bus */
    Device *next_on_bus;
    Bus *first_bus;                         /* buses it provides */
    bool hotplugged;
    void *irq_pins;                         /* hw/irq.h: list of IrqPins, each g_malloc'ed, `next` first */
};
struct Bus {
    Object obj;
    Device *owner;
    Device *first_dev;
    Bus *next_of_owner;
    int max_devs;                           /* 0: no limit */
};
/* Bus types are Types with parent "bus"; ops: const BusOps *. */
typedef struct BusOps {
    /* May dev sit here (addr= free, ...)? Called before realize. NULL: yes. */
    bool (*check)(Bus *bus, Device *dev, Error **errp);
    void (*reset)(Bus *bus);
    char *(*dev_path)(const Device *dev);   /* "0000:00:03.0", for info qtree and messages */
    /*
     * Hot-plug after start-up: NULL plug_hot: the bus refuses it. unplug asks the guest (it
     * completes with device_unplug).
     */
    bool (*plug_hot)(Bus *bus, Device *dev, Error **errp);
    bool (*unplug_request)(Bus *bus, Device *dev, Error **errp);
} BusOps;
void bus_init(Bus *bus, const char *type, Device *owner, const char *name);   /* embedded bus */
Bus *bus_new(const char *type, Device *owner, const char *name);
Bus *bus_find(const char *name);                           /* "pci.0", "isa.0", by id or path */
/*
 * Puts dev on bus (NULL: system bus), under /machine/peripheral/ID, /peripheral-anon or
 * /unattached, and realizes it.
 */
bool device_plug(Device *dev, Bus *bus, Error **errp);
/* Unrealizes and takes away a device; memory goes by epoch. */
void device_unplug(Device *dev);
/* From here on plugged devices count as hot-plugged (vl.c, after the machine is built). */
void devices_set_hotplug(bool on);
/* The id, else the composition path: how messages call a device. Caller frees. */
char *device_label(const Device *dev);
/* For boards: device_new + set props + device_plug as one; exits the caller's way on error. */
static inline Device *device_new(const char *type) { return (Device *)object_new(type); }
/*
 * -device / device_add: driver and properties as ordered key/value pairs (id and bus among them).
 * Finds the bus, creates, sets, plugs. NULL on error.
 */
Device *device_add_from_props(const char *driver, const PropPair *props, int n, Error **errp);
bool object_add_from_props(const char *type, const char *id, const PropPair *props, int n, Error **errp);
/* -object help, -object X,help on stdout; false: no such type. */
bool object_print_help(const char *type_or_null);
bool device_print_help(const char *driver_or_null);        /* -device help, -device X,help likewise */
/* By name or alias; NULL: none. The bus type that a device type sits on; NULL: none. */
const Type *device_type_find(const char *driver);
const char *device_bus_type(const Type *type);
/* Resets a device with all that is in it and on its buses. */
void device_reset_tree(Device *dev);
/* Resets every realized device from the machine down, then the registered hooks (system/runstate.h). */
void devices_reset_all(void);

#endif
