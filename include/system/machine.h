/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine object: what the command line asked for, and what a board builds from it.
 *
 * A board is a Type with parent "machine" whose ops is a MachineOps; vl.c creates it, fills
 * `config`, sets -machine properties, then calls ops->build. Main thread.
 */
#ifndef CLEAT_SYSTEM_MACHINE_H
#define CLEAT_SYSTEM_MACHINE_H

#include "system/memory.h"
#include "system/qdev.h"

typedef struct SmpConfig {
    unsigned cpus, maxcpus, sockets, dies, clusters, modules, cores, threads;
} SmpConfig;

typedef struct OptionRom {                      /* -option-rom */
    const char *file;
    int64_t bootindex;                          /* -1: not booted from */
} OptionRom;

typedef struct MachineConfig {                  /* strings are borrowed for the process's life; NULL: not given */
    uint64_t ram_size, maxram_size;             /* bytes */
    unsigned ram_slots;
    const char *memory_backend;                 /* id of the -object that is main memory */
    SmpConfig smp;
    const char *cpu_model;                      /* the -cpu string, whole */
    const char *kernel, *initrd, *append, *dtb, *shim;
    const char *bios;
    const char *boot_order, *boot_once;
    bool boot_menu, boot_strict;
    bool no_fd_bootchk;                         /* floppies need no boot signature */
    int boot_menu_timeout, boot_reboot_timeout; /* ms; -1: not given, never */
    const char *boot_splash;
    int n_option_roms;
    const OptionRom *option_roms;
    const char *const *chardev_serial;          /* n_serial chardev ids, NULL entry: none */
    int n_serial;
    const char *debugcon;                       /* chardev id */
    const char *uuid, *name;
    bool uuid_set;
    uint8_t uuid_bytes[16];
    bool nodefaults;
    bool rtc_utc;                               /* -rtc base= */
    int64_t rtc_base_offset_s;                  /* seconds to add to the host clock (base=date), */
    bool rtc_base_date;
    int64_t rtc_base_epoch_s;                   /* start date when rtc_base_date */
    int rtc_clock;                              /* ClockType of -rtc clock= */
    bool rtc_driftfix_slew;
    int n_fw_cfg;
    const PropPair **fw_cfg;                    /* each -fw_cfg: pairs ended by a NULL key */
    int n_smbios;
    const PropPair **smbios;                    /* each -smbios likewise */
    bool enable_cpu_pm;
    const char *const *data_dirs;               /* -L, ended by NULL: where firmware is looked for first */
} MachineConfig;

/*
 * The path of a data file (firmware, option ROM): as given when it exists, else in data_dirs, else
 * where Debian's packages put such files. NULL: nowhere. Caller frees.
 */
char *machine_data_file(const MachineConfig *config, const char *name);
/* The folders searched after -L; ended by NULL. */
const char *const *machine_data_dirs_builtin(void);

/* Interrupt chips that the accelerator brings itself; filled before the board is built. */
typedef struct AccelChips {
    /* The accelerator has the 8259s and the I/O APIC: where interrupt lines (GSIs) go. NULL: the board has them. */
    void (*gsi_set)(int gsi, int level);
    /* Then the board's devices show and save them by these (hw/intc/i8259.h, ioapic.h). */
    const struct I8259Kernel *pic_kernel;
    const struct IoApicKernel *ioapic_kernel;
    /* It has the local APICs, the board the I/O APIC: where its messages go, and who hears of its changes. */
    void (*ioapic_deliver)(void *opaque, uint32_t dest, bool logical, uint8_t mode, uint8_t vector, bool level);
    void (*ioapic_changed)(void *ioapic);
    /*
     * Interrupts from descriptors: a route is a message (MSI) with a number; after irqfd_set(fd, number, true) each
     * write to the eventfd fd sends it, with none of our threads in between. Numbers below the first route are GSIs.
     * Negative errno on failure. NULL: this accelerator has none of it, the owner of the descriptor polls it.
     */
    int (*msi_route_new)(uint64_t address, uint32_t data);
    void (*msi_route_set)(int route, uint64_t address, uint32_t data);
    void (*msi_route_free)(int route);
    int (*irqfd_set)(int fd, int route, bool on);
    bool smm;                                   /* its CPUs have system management mode */
} AccelChips;

typedef struct Machine {
    Object obj;
    MachineConfig config;
    /* -machine properties common to all */
    char *kernel_irqchip;                       /* "on", "off", "split" or NULL */
    bool usb, graphics, dump_guest_core, mem_merge;
    /* the same, of x86 boards (x86-machine, generic-pc-machine) */
    OnOffAuto smm, acpi, pit, pic, vmport;
    bool hpet_on;
    char *oem_id, *oem_table_id;                /* ACPI tables'; NULL: the defaults */
    AccelChips accel_chips;
    /* built */
    MemoryRegion system_memory, system_io;
    AddressSpace as_memory, as_io;
    MemoryRegion *ram;
} Machine;

typedef struct MachineOps {
    unsigned max_cpus;
    uint64_t default_ram_size;                  /* bytes */
    const char *default_cpu;
    const char *alias;                          /* "q35", "pc" */
    bool is_default;
    bool (*build)(Machine *m, Error **errp);    /* memory, CPUs, chips, loaders */
    /* After -device: tables, firmware slots, boot images. */
    bool (*finish)(Machine *m, Error **errp);
    bool deprecated;
} MachineOps;

Machine *machine_current(void);                 /* NULL before creation */
/* NULL with an error; resolves aliases. */
Machine *machine_new(const char *type, Error **errp);
void machine_print_help(void);
/* By name or alias; NULL: none. The default machine's type; NULL when no room offers one. */
const Type *machine_type_find(const char *name);
const Type *machine_type_default(void);
/* What the user calls it: the type "pc-q35-10.0-machine" is pc-q35-10.0. g_free(). */
char *machine_user_name(const Type *type);
/* mem-merge and dump-guest-core take effect on RAM made from now on: after -machine's properties, before -object. */
void machine_apply_memory_policy(const Machine *m);
/*
 * A property that asks for a part that this build does not have (`part`: "a SATA controller"): only `without`, the text
 * of the default, is taken; NULL for strings. Types: bool, size, int, string.
 */
#define MACHINE_PART(n, type, without, part) \
    { .name = n, .kind = PROP_CUSTOM, .type_name = type, .def_str = without, .set = machine_part_set, \
      .get = machine_part_get, .help = part }
bool machine_part_set(Object *obj, const Property *p, const char *value, Error **errp);
char *machine_part_get(Object *obj, const Property *p, Error **errp);
/* Allocates or adopts (memory-backend) main memory as m->ram, of config.ram_size bytes. */
bool machine_init_ram(Machine *m, const char *block_name, Error **errp);

#endif
