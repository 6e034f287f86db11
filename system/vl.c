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
#include "system/sandbox.h"
#include "system/system.h"
#include "util/fdset.h"
#include "util/log.h"

/* What the phases hand on. */
typedef struct Vl {
    const char *program;
    Config *config;
    OsProcess *process;
    int parent_status;          /* >= 0: this is -daemonize's parent */
    OsUser user;                /* -run-with user= */
    Sandbox *sandbox;           /* -sandbox, until it holds */
    Machine *machine;
} Vl;

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

bool realtime_init(Error **errp)
{
    int err;

    if (!should_mlock(mlock_state)) {
        return true;
    }
    err = os_mlock(is_mlock_on_fault(mlock_state));
    if (err < 0) {
        error_report("mlockall: %s", g_strerror(-err));
        error_set(errp, "locking memory failed");
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
static int phase_help(Vl *vl)
{
    const Config *c = vl->config;

    switch (c->help) {
    case HELP_USAGE:
        options_print_help(vl->program);
        break;
    case HELP_VERSION:
        options_print_version();
        break;
    case HELP_KEYS:
        help_keys(c->help_use->row);
        break;
    case HELP_LOG:
        log_configure("help", NULL);
        break;
    default:
        break;
    }
    return 0;
}

/* ---- parse ---- */

static bool phase_parse(Vl *vl, int argc, char **argv, Error **errp)
{
    Config *c = vl->config;

    if (!config_parse(c, argc, argv, errp)) {
        return false;
    }
    if (c->run_as) {
        error_location_set(c->run_as_use->location);
        if (!os_user_parse(c->run_as, &vl->user, errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    return true;
}

/* ---- host: the process as the host sees it ---- */

static bool host_log(const Config *c, Error **errp)
{
    if (c->log_file) {
        error_location_set(c->log_file_use->location);
        if (!log_file(c->log_file, errp)) {
            return false;
        }
    }
    if (c->log_items) {
        error_location_set(c->log_use->location);
        if (!log_configure(c->log_items, errp)) {
            if (errp && !*errp) {
                error_set(errp, "unknown log item");
            }
            return false;
        }
    }
    error_location_set(NULL);
    return true;
}

static bool host_add_fds(const Config *c, Error **errp)
{
    for (guint i = 0; i < c->add_fds->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->add_fds, i);

        error_location_set(use->location);
        if (!fdset_add(keyvals_int(use->kv, "set", 0), keyvals_int(use->kv, "fd", -1),
                       keyvals_get(use->kv, "opaque", NULL), errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    return true;
}

static bool host_sandbox(Vl *vl, Error **errp)
{
    const Config *c = vl->config;

    if (c->sandbox.enable) {
        error_location_set(c->sandbox_use->location);
        vl->sandbox = sandbox_prepare(&c->sandbox, errp);
        if (!vl->sandbox) {
            return false;
        }
        error_location_set(NULL);
    }
    return true;
}

/*
 * From here on the process is the one that stays (-daemonize's fork is behind it), so threads, locks
 * and the pid file belong to it. vl->parent_status >= 0: this is the parent, which ends now.
 */
static bool phase_host(Vl *vl, Error **errp)
{
    const Config *c = vl->config;

    if (!host_add_fds(c, errp) || !host_log(c, errp)) {
        return false;
    }
    if (c->daemonize) {
        if (!os_daemonize(vl->process, &vl->parent_status, errp)) {
            return false;
        }
        if (vl->parent_status >= 0) {
            return true;
        }
    }
    if (c->process_name) {
        os_set_process_name(c->process_name);
    }
    if (c->pidfile && !os_pidfile_create(vl->process, c->pidfile, errp)) {
        return false;
    }
    if (!host_sandbox(vl, errp) || (c->async_teardown && !os_async_teardown(errp))) {
        return false;
    }
    return realtime_init(errp);
}

/* ---- run ---- */

/* The last steps before the guest runs: everything is open, so rights that are not needed go. */
static bool run_drop_rights(Vl *vl, Error **errp)
{
    const Config *c = vl->config;
    Sandbox *sandbox = vl->sandbox;

    if (c->chroot_dir) {
        error_location_set(c->chroot_use->location);
        if (!os_change_root(c->chroot_dir, errp)) {
            return false;
        }
    }
    if (c->run_as) {
        error_location_set(c->run_as_use->location);
        if (!os_become_user(&vl->user, errp)) {
            return false;
        }
    }
    if (sandbox) {
        vl->sandbox = NULL;
        error_location_set(c->sandbox_use->location);
        if (!sandbox_enter(sandbox, errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    return os_daemonize_done(vl->process, c->log_items && !c->log_file, errp);
}

static bool phase_run(Vl *vl, Error **errp)
{
    error_set(errp, "no machine is available in this build yet");
    return vl->machine && run_drop_rights(vl, errp);
}

/* All phases; the exit status. */
static int vl_phases(Vl *vl, int argc, char **argv, Error **errp)
{
    if (!phase_parse(vl, argc, argv, errp)) {
        return 1;
    }
    if (vl->config->help != HELP_NONE) {
        return phase_help(vl);
    }
    if (!phase_host(vl, errp)) {
        return 1;
    }
    if (vl->parent_status >= 0) {
        return vl->parent_status;
    }
    return phase_run(vl, errp) ? 0 : 1;
}

int vl_main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    Vl vl = { .program = slash ? slash + 1 : argv[0], .parent_status = -1 };
    Error *err = NULL;
    int status;

    vl.process = os_init();
    vl.config = config_new();
    error_init(vl.program);
    status = vl_phases(&vl, argc, argv, &err);
    if (err) {
        error_report_err(err);
    }
    os_fini(vl.process);
    config_free(vl.config);
    return status;
}
