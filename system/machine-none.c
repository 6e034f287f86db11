/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -machine none: no memory, no CPU, no chips. Management tools ask it what this binary can do.
 */
#include "system/machine.h"

static bool none_build(Machine *m, Error **errp)
{
    if (m->config.kernel) {
        error_set(errp, "-kernel: machine 'none' has no CPU that could boot '%s'", m->config.kernel);
        return false;
    }
    return m->config.ram_size == 0 || machine_init_ram(m, "ram", errp);
}

static const MachineOps none_ops = { .max_cpus = 1, .build = none_build };

static const Type none_type = {
    .name = "none-machine", .parent = "machine", .desc = "empty machine", .ops = &none_ops,
};
TYPE_REGISTER(none_type)
