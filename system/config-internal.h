/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the config room share among themselves; see config.c. */
#ifndef CLEAT_SYSTEM_CONFIG_INTERNAL_H
#define CLEAT_SYSTEM_CONFIG_INTERNAL_H

#include "system/config.h"

/* The first request for help decides; reading ends with it. */
void config_ask_help(Config *c, ConfigHelp help, const OptionUse *use);
/* Is an argument that is one word a request for help ("help" or "?")? Then it is noted. */
bool config_is_help(Config *c, ConfigHelp help, const OptionUse *use);
/* Puts the location of messages at an option read earlier (NULL: nowhere); false, for `return`. */
bool config_fail_at(const OptionUse *use);
/* What -machine takes besides its type's properties, for "-machine NAME,help"; ends with an entry without name. */
typedef struct MachineKey {
    const char *name, *type, *help;
    size_t text;                            /* of the field (const char *) in Config that it sets; 0: none */
} MachineKey;
extern const MachineKey config_machine_keys[];
/* Which default devices are still wanted, and the ports and monitors that stand for them. */
bool config_finish_defaults(Config *c, Error **errp);

#endif
