/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process from its first to its last step, as named phases: parse, host, accel, machine,
 * devices, run, shutdown. A phase may fail, with one error; only vl_main() turns that into the exit
 * status. This file is the roof: it alone may include any room's header.
 * Main thread. Tests: tests/cli/.
 */
#include <stdio.h>
#include <string.h>

#include "system/config.h"
#include "system/os.h"
#include "system/system.h"

void overcommit_parse(const KeyVals *kv)
{
    const char *mem_lock = keyvals_get(kv, "mem-lock", NULL);

    if (mem_lock) {
        mlock_state = !strcmp(mem_lock, "on") ? MLOCK_ON
                      : !strcmp(mem_lock, "on-fault") ? MLOCK_ON_FAULT : MLOCK_OFF;
    }
    enable_cpu_pm = keyvals_bool(kv, "cpu-pm", enable_cpu_pm);
}

bool config_overcommit(Config *c, const OptionUse *use, Error **errp)
{
    overcommit_parse(use->kv);
    return true;
}

bool realtime_init(void)
{
    int err;

    if (!should_mlock(mlock_state)) {
        return true;
    }
    err = os_mlock(is_mlock_on_fault(mlock_state));
    if (err < 0) {
        error_report("mlockall: %s", g_strerror(-err));
        error_report("locking memory failed");
        return false;
    }
    return true;
}

static void help_keys(const OptionRow *row)
{
    printf("keys of -%s:\n", row->name);
    for (const KeyRow *key = row->keys; key->name; key++) {
        static const char *const kinds[] = {
            "text", "on|off", "number", "number", "size", NULL
        };

        printf("  %s=<%s>\n", key->name, key->words ? key->words : kinds[key->type]);
    }
}

/* Answers a request for help; nothing else has been started. */
static int phase_help(const Config *c, const char *program)
{
    switch (c->help) {
    case HELP_USAGE:
        options_print_help(program);
        break;
    case HELP_VERSION:
        options_print_version();
        break;
    case HELP_KEYS:
        help_keys(c->help_use->row);
        break;
    default:
        break;
    }
    return 0;
}

int vl_main(int argc, char **argv)
{
    const char *program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    Config *c = config_new();
    Error *err = NULL;
    int status = 1;

    error_init(program);
    if (!config_parse(c, argc, argv, &err)) {
        error_report_err(err);
    } else if (c->help != HELP_NONE) {
        status = phase_help(c, program);
    } else if (realtime_init()) {
        error_report("no machine is available in this build yet");
    }
    config_free(c);
    return status;
}
