/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line as rows of a table: which options there are and what their arguments look like.
 *
 * The table is generated from qemu-options.hx. Reading a command line has two passes, as in QEMU:
 * options_scan() knows every option and has every argument before anything acts (a typing error
 * never leaves half a start behind); option_use_parse() then takes one argument apart.
 * Main thread. Tests: tests/unit/test-options.c, tests/cli/.
 */
#ifndef CLEAT_SYSTEM_OPTIONS_H
#define CLEAT_SYSTEM_OPTIONS_H

#include "util/error.h"
#include "util/keyval.h"

typedef struct Config Config;
typedef struct OptionUse OptionUse;

typedef enum OptionForm {
    OPTION_FLAG,                /* no argument */
    OPTION_STRING,              /* the argument as it is */
    OPTION_FLAT, OPTION_TREE,   /* keyvals_parse_flat / _tree */
} OptionForm;

typedef struct OptionRow {
    const char *name;           /* without the hyphen */
    OptionForm form;
    bool json;                  /* an argument that begins with '{' is JSON */
    const char *implied;        /* key of a first item without "KEY="; NULL: none */
    const KeyRow *keys;         /* NULL: every key goes */
    bool (*set)(Config *c, const OptionUse *use, Error **errp);
    const char *missing;        /* no `set` yet: the part of the emulator that it waits for */
    bool elsewhere;             /* an option of other targets */
} OptionRow;

/* One option of a command line. */
struct OptionUse {
    const OptionRow *row;
    const char *arg;            /* borrowed from argv; NULL: flag */
    char *location;             /* as typed, "-smp foo": what messages about it begin with */
    KeyVals *kv;                /* by option_use_parse(): flat and tree rows */
};

const OptionRow *option_find(const char *name);
/* Table order, for manuals and query-command-line-options. NULL after the last. */
const OptionRow *option_row(int index);

/*
 * All of argv[1..] as OptionUse in order; a word that is no option counts as -hda. NULL with an
 * error, error_location_set() being at the culprit.
 */
GPtrArray *options_scan(int argc, char **argv, Error **errp);
/* Fills use->kv and checks it against the row's keys; refuses rows that nothing takes yet. */
bool option_use_parse(OptionUse *use, Error **errp);

/* -help and -version on stdout. */
void options_print_help(const char *program);
void options_print_version(void);

#endif
