/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the command line asks for, typed: the result of the parse phase, read by all later ones.
 *
 * Strings are borrowed from argv or from the OptionUse that holds them; they live as long as the
 * Config. A list keeps the order of the command line. Nothing here has been opened or created.
 * Main thread. Tests: tests/unit/test-options.c, tests/cli/.
 */
#ifndef CLEAT_SYSTEM_CONFIG_H
#define CLEAT_SYSTEM_CONFIG_H

#include "system/loop.h"
#include "system/machine.h"
#include "system/options.h"
#include "system/runstate.h"

/* What an option's "help" argument asks about. */
typedef enum ConfigHelp {
    HELP_NONE, HELP_USAGE, HELP_VERSION, HELP_MACHINE, HELP_MACHINE_PROPS, HELP_CPU, HELP_ACCEL,
    HELP_DEVICE, HELP_OBJECT, HELP_CHARDEV, HELP_LOG, HELP_TRACE, HELP_DATA_DIR, HELP_KEYS, HELP_DISPLAY, HELP_VGA,
} ConfigHelp;

typedef enum SandboxPolicy { SANDBOX_ALLOW, SANDBOX_DENY, SANDBOX_CHILDREN } SandboxPolicy;
typedef struct SandboxConfig {
    bool enable;
    SandboxPolicy obsolete, elevate, spawn, resource;
} SandboxConfig;

typedef struct ConfigMonitor {
    const OptionUse *use;       /* NULL: a default */
    const char *chardev;        /* id when use is -mon, else the short form ("stdio", "unix:...") */
    bool by_id, control, pretty;
} ConfigMonitor;

/* A serial port, parallel port or debug console: a chardev in its short form. */
typedef struct ConfigPort {
    const OptionUse *use;       /* NULL: a default */
    const char *chardev;
} ConfigPort;

/* Devices that QEMU adds on its own unless something stands in their place. */
typedef enum ConfigDefault {
    DEFAULT_SERIAL, DEFAULT_PARALLEL, DEFAULT_MONITOR, DEFAULT_FLOPPY, DEFAULT_CDROM, DEFAULT_VGA,
    DEFAULT_NET, DEFAULT_COUNT
} ConfigDefault;

struct Config {
    GPtrArray *uses;            /* of OptionUse; owns all strings */
    ConfigHelp help;            /* the first one asked for; then nothing starts */
    const OptionUse *help_use;

    /* the process */
    const char *name, *process_name;
    bool debug_threads, daemonize, async_teardown, msg_timestamp, msg_guest_name;
    const char *pidfile, *chroot_dir, *run_as;
    const OptionUse *run_as_use, *chroot_use;
    SandboxConfig sandbox;
    const OptionUse *sandbox_use;
    const char *log_items, *log_file;
    const OptionUse *log_use, *log_file_use;
    GPtrArray *traces, *add_fds;            /* of OptionUse */
    GPtrArray *data_dirs;                   /* of char, ended by NULL */
    int escape;                             /* ASCII; 1 is Ctrl-A */

    /* accelerator, machine, CPUs, memory */
    GPtrArray *accels;                      /* of OptionUse (-accel, -enable-kvm) */
    const char *machine_accel;              /* -machine accel=; NULL: not given */
    const char *machine_type;               /* NULL: the default */
    const OptionUse *machine_use;           /* the last -machine */
    KeyVals *machine_props;                 /* the rest of all -machine */
    const char *cpu_model;
    const OptionUse *cpu_use, *kernel_use, *bios_use;
    KeyVals *smp, *boot;                    /* keys of their rows, checked */
    const OptionUse *smp_use, *boot_use;
    uint64_t ram_size, maxram_size, ram_slots;  /* bytes; ram_size 0: the machine's default */
    const OptionUse *memory_use;
    const char *kernel, *initrd, *append, *bios;
    const OptionUse *initrd_use, *append_use;
    bool uuid_set;
    uint8_t uuid[16];
    const char *uuid_text;
    bool rtc_utc, rtc_date, rtc_slew;
    int64_t rtc_epoch_s;                    /* start date when rtc_date, else local time's offset */
    ClockType rtc_clock;
    bool no_fd_bootchk;

    /* devices and back ends */
    GPtrArray *globals, *devices, *objects, *chardevs, *fw_cfgs, *smbioses,
              *option_roms;                 /* of OptionUse */
    GPtrArray *monitors;                    /* of ConfigMonitor */
    GPtrArray *serials, *parallels, *debugcons;                               /* of ConfigPort */
    bool nodefaults, nographic, display_given, no_net;
    const char *vga;                        /* NULL: default */
    const OptionUse *vga_use;
    bool defaults[DEFAULT_COUNT];           /* wanted still */
    const char *gdb;                        /* -gdb, -s: NULL none */
    const OptionUse *gdb_use;
    const char *qtest, *qtest_log;
    const OptionUse *qtest_use;

    /* running */
    bool stopped, only_migratable;
    RunActions actions;
};

Config *config_new(void);
void config_free(Config *c);
/* Both passes over argv, then the rules that concern several options. */
bool config_parse(Config *c, int argc, char **argv, Error **errp);

/* Answers c->help on stdout; the exit status. (HELP_CPU and HELP_CHARDEV are the caller's.) */
int config_print_help(const Config *c, const char *program);
/*
 * A whole topology from the keys of -smp (c->smp) by the rules of x86 boards; the machine's name
 * and its limit on CPUs are for the message.
 */
bool smp_resolve(const KeyVals *given, const char *machine, unsigned max_cpus, SmpConfig *out,
                 Error **errp);

/* config_NAME() of every `set NAME` in qemu-options.hx. */
#include "system/options-takers.h"

#endif
