/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the command line's wishes (Config) to what a board builds from (MachineConfig).
 * Main thread. Test: tests/unit/test-options.c, tests/cli/.
 */
#ifndef CLEAT_SYSTEM_MACHINE_CONFIG_H
#define CLEAT_SYSTEM_MACHINE_CONFIG_H

#include "system/config.h"

/*
 * Fills out for a machine of that name and those limits; strings are borrowed from c. The chardev
 * fields stay empty. An error has the option's location set.
 */
bool machine_config_fill(MachineConfig *out, const Config *c, const char *machine,
                         const MachineOps *ops, Error **errp);

#endif
