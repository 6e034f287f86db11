/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the command line asks for: the loop over the options, the rules that concern several of
 * them, and the options about the process itself. Each config_NAME() takes one row of
 * qemu-options.hx (`set NAME`); those about the machine are in config-machine.c, those about
 * devices and back ends in config-backends.c, -overcommit in vl.c.
 * Main thread. Tests: tests/unit/test-options.c, tests/cli/.
 */
#include "system/config-internal.h"

#include <string.h>

#include "util/values.h"

Config *config_new(void)
{
    Config *c = g_new0(Config, 1);
    GPtrArray **lists[] = {
        &c->traces, &c->add_fds, &c->data_dirs, &c->accels, &c->globals, &c->devices, &c->objects,
        &c->chardevs, &c->fw_cfgs, &c->smbioses, &c->option_roms,
    };
    GPtrArray **owners[] = { &c->monitors, &c->serials, &c->parallels, &c->debugcons };

    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        *lists[i] = g_ptr_array_new();
    }
    for (size_t i = 0; i < G_N_ELEMENTS(owners); i++) {
        *owners[i] = g_ptr_array_new_with_free_func(g_free);
    }
    g_ptr_array_add(c->data_dirs, NULL);
    c->machine_props = keyvals_new();
    c->smp = keyvals_new();
    c->boot = keyvals_new();
    c->escape = 1;
    c->rtc_utc = true;
    c->rtc_clock = CLOCK_HOST;
    c->actions = (RunActions){ REBOOT_RESET, SHUTDOWN_POWEROFF, PANIC_SHUTDOWN, WATCHDOG_RESET };
    for (int i = 0; i < DEFAULT_COUNT; i++) {
        c->defaults[i] = true;
    }
    return c;
}

void config_free(Config *c)
{
    GPtrArray *lists[] = {
        c->traces, c->add_fds, c->data_dirs, c->accels, c->globals, c->devices, c->objects,
        c->chardevs, c->fw_cfgs, c->smbioses, c->option_roms, c->monitors, c->serials, c->parallels, c->debugcons,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_ptr_array_free(lists[i], TRUE);
    }
    keyvals_free(c->machine_props);
    keyvals_free(c->smp);
    keyvals_free(c->boot);
    if (c->uses) {
        g_ptr_array_free(c->uses, TRUE);
    }
    g_free(c);
}

void config_ask_help(Config *c, ConfigHelp help, const OptionUse *use)
{
    if (c->help == HELP_NONE) {
        c->help = help;
        c->help_use = use;
    }
}

bool config_is_help(Config *c, ConfigHelp help, const OptionUse *use)
{
    bool is = !strcmp(use->arg, "help") || !strcmp(use->arg, "?");

    if (is) {
        config_ask_help(c, help, use);
    }
    return is;
}

/* A row with known keys answers "help" with their list; others have an own answer. */
static bool config_apply(Config *c, OptionUse *use, Error **errp)
{
    error_location_set(use->location);
    if (!option_use_parse(use, errp)) {
        return false;
    }
    if (use->kv && use->kv->help && use->row->keys) {
        config_ask_help(c, use->row->set == config_trace ? HELP_TRACE : HELP_KEYS, use);
        return true;
    }
    return use->row->set(c, use, errp);
}

/* Reports at an option that was read earlier. */
bool config_fail_at(const OptionUse *use)
{
    error_location_set(use ? use->location : NULL);
    return false;
}

static bool config_text_is_stdio(const char *text)
{
    return !strcmp(text, "stdio") || !strcmp(text, "mon:stdio");
}

static bool config_check_ports(const GPtrArray *ports, Error **errp)
{
    for (guint i = 0; i < ports->len; i++) {
        const ConfigPort *port = g_ptr_array_index(ports, i);

        if (config_text_is_stdio(port->chardev)) {
            error_set(errp, "cannot use stdio with -daemonize");
            return config_fail_at(port->use);
        }
    }
    return true;
}

/* In the background there is no terminal. */
static bool config_check_daemonize(const Config *c, Error **errp)
{
    if (!c->daemonize) {
        return true;
    }
    /* Where every port leads elsewhere, -nographic has nothing left to do. */
    if (c->nographic && (c->defaults[DEFAULT_SERIAL] || c->defaults[DEFAULT_PARALLEL]
                         || c->defaults[DEFAULT_MONITOR])) {
        error_set(errp, "-nographic cannot be used with -daemonize");
        return config_fail_at(NULL);
    }
    for (guint i = 0; i < c->chardevs->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->chardevs, i);

        if (!g_strcmp0(keyvals_get(use->kv, "backend", NULL), "stdio")) {
            error_set(errp, "cannot use stdio with -daemonize");
            return config_fail_at(use);
        }
    }
    for (guint i = 0; i < c->monitors->len; i++) {
        const ConfigMonitor *mon = g_ptr_array_index(c->monitors, i);

        if (!mon->by_id && config_text_is_stdio(mon->chardev)) {
            error_set(errp, "cannot use stdio with -daemonize");
            return config_fail_at(mon->use);
        }
    }
    if (c->gdb && config_text_is_stdio(c->gdb)) {
        error_set(errp, "cannot use stdio with -daemonize");
        return config_fail_at(c->gdb_use);
    }
    return config_check_ports(c->serials, errp) && config_check_ports(c->parallels, errp)
           && config_check_ports(c->debugcons, errp);
}

static bool config_check_kernel(const Config *c, Error **errp)
{
    if (!c->kernel && (c->append || c->initrd)) {
        error_set(errp, "-%s only makes sense together with -kernel",
                  c->append ? "append" : "initrd");
        return config_fail_at(NULL);
    }
    return true;
}

static bool config_check_accel(const Config *c, Error **errp)
{
    if (c->machine_accel && c->accels->len) {
        error_set(errp, "-accel and '-machine accel=%s' are two answers to one question: give one "
                  "of them", c->machine_accel);
        return config_fail_at(NULL);
    }
    return true;
}

bool config_parse(Config *c, int argc, char **argv, Error **errp)
{
    c->uses = options_scan(argc, argv, errp);
    if (!c->uses) {
        return false;
    }
    for (guint i = 0; i < c->uses->len && c->help == HELP_NONE; i++) {
        if (!config_apply(c, g_ptr_array_index(c->uses, i), errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    error_msg_config(c->msg_timestamp, c->msg_guest_name, c->name);
    return c->help != HELP_NONE
           || (config_check_accel(c, errp) && config_check_kernel(c, errp)
               && config_finish_defaults(c, errp) && config_check_daemonize(c, errp));
}

/* ---- rows about the process ---- */

bool config_help(Config *c, const OptionUse *use, Error **errp)
{
    config_ask_help(c, HELP_USAGE, use);
    return true;
}

bool config_version(Config *c, const OptionUse *use, Error **errp)
{
    config_ask_help(c, HELP_VERSION, use);
    return true;
}

bool config_name(Config *c, const OptionUse *use, Error **errp)
{
    c->name = keyvals_get(use->kv, "guest", c->name);
    c->process_name = keyvals_get(use->kv, "process", c->process_name);
    c->debug_threads = keyvals_bool(use->kv, "debug-threads", c->debug_threads);
    return true;
}

bool config_msg(Config *c, const OptionUse *use, Error **errp)
{
    c->msg_timestamp = keyvals_bool(use->kv, "timestamp", false);
    c->msg_guest_name = keyvals_bool(use->kv, "guest-name", false);
    /* At once, so that messages about later options have it; -name may still come. */
    error_msg_config(c->msg_timestamp, c->msg_guest_name, c->name);
    return true;
}

bool config_pidfile(Config *c, const OptionUse *use, Error **errp)
{
    c->pidfile = use->arg;
    return true;
}

bool config_daemonize(Config *c, const OptionUse *use, Error **errp)
{
    c->daemonize = true;
    return true;
}

bool config_run_with(Config *c, const OptionUse *use, Error **errp)
{
    const char *dir = keyvals_get(use->kv, "chroot", NULL);
    const char *user = keyvals_get(use->kv, "user", NULL);

    c->async_teardown = keyvals_bool(use->kv, "async-teardown", c->async_teardown);
    if (dir) {
        c->chroot_dir = dir;
        c->chroot_use = use;
    }
    if (user) {
        c->run_as = user;
        c->run_as_use = use;
    }
    return true;
}

static SandboxPolicy sandbox_policy(const KeyVals *kv, const char *key, SandboxPolicy absent)
{
    const char *word = keyvals_get(kv, key, NULL);

    if (!word) {
        return absent;
    }
    return !strcmp(word, "allow") ? SANDBOX_ALLOW
           : !strcmp(word, "deny") ? SANDBOX_DENY : SANDBOX_CHILDREN;
}

bool config_sandbox(Config *c, const OptionUse *use, Error **errp)
{
    if (!keyvals_get(use->kv, "enable", NULL)) {
        error_set(errp, "Parameter 'enable' is missing: write '-sandbox on' or '-sandbox off'");
        return false;
    }
    c->sandbox = (SandboxConfig){
        .enable = keyvals_bool(use->kv, "enable", false),
        /* Deny is the default for obsolete calls, as in QEMU. */
        .obsolete = sandbox_policy(use->kv, "obsolete", SANDBOX_DENY),
        .elevate = sandbox_policy(use->kv, "elevateprivileges", SANDBOX_ALLOW),
        .spawn = sandbox_policy(use->kv, "spawn", SANDBOX_ALLOW),
        .resource = sandbox_policy(use->kv, "resourcecontrol", SANDBOX_ALLOW),
    };
    c->sandbox_use = use;
    return true;
}

bool config_add_fd(Config *c, const OptionUse *use, Error **errp)
{
    int64_t fd = keyvals_int(use->kv, "fd", -1), set = keyvals_int(use->kv, "set", -1);

    if (fd < 0) {
        error_set(errp, "Parameter 'fd' is needed, and must not be negative");
    } else if (fd <= 2) {
        error_set(errp, "Parameter 'fd' cannot be %d, a standard stream", (int)fd);
    } else if (set < 0) {
        error_set(errp, "Parameter 'set' is needed, and must not be negative");
    } else {
        g_ptr_array_add(c->add_fds, (OptionUse *)use);
        return true;
    }
    return false;
}

bool config_log_items(Config *c, const OptionUse *use, Error **errp)
{
    if (!strcmp(use->arg, "trace:help")) {
        config_ask_help(c, HELP_TRACE, use);
    }
    config_is_help(c, HELP_LOG, use);
    c->log_items = use->arg;
    c->log_use = use;
    return true;
}

bool config_log_file(Config *c, const OptionUse *use, Error **errp)
{
    c->log_file = use->arg;
    c->log_file_use = use;
    return true;
}

bool config_trace(Config *c, const OptionUse *use, Error **errp)
{
    g_ptr_array_add(c->traces, (OptionUse *)use);
    return true;
}

bool config_echr(Config *c, const OptionUse *use, Error **errp)
{
    uint64_t n;

    if (!value_parse_uint("echr", use->arg, &n, errp)) {
        return false;
    }
    if (n > 255) {
        error_set(errp, "Parameter 'echr' expects a character code from 0 to 255, not '%s'",
                  use->arg);
        return false;
    }
    c->escape = n;
    return true;
}

bool config_data_dir(Config *c, const OptionUse *use, Error **errp)
{
    config_is_help(c, HELP_DATA_DIR, use);
    /* Kept ended by NULL. */
    g_ptr_array_insert(c->data_dirs, c->data_dirs->len - 1, (char *)use->arg);
    return true;
}

bool config_no_user_config(Config *c, const OptionUse *use, Error **errp)
{
    return true;        /* Cleat reads no configuration files of its own accord */
}

bool config_nodefaults(Config *c, const OptionUse *use, Error **errp)
{
    c->nodefaults = true;
    return true;
}

/* ---- rows about running ---- */

bool config_stopped(Config *c, const OptionUse *use, Error **errp)
{
    c->stopped = true;
    return true;
}

bool config_no_reboot(Config *c, const OptionUse *use, Error **errp)
{
    c->actions.reboot = REBOOT_SHUTDOWN;
    return true;
}

bool config_no_shutdown(Config *c, const OptionUse *use, Error **errp)
{
    c->actions.shutdown = SHUTDOWN_PAUSE;
    return true;
}

static int word_index(const char *word, const char *const *words)
{
    int i = 0;

    while (words[i] && strcmp(word, words[i])) {
        i++;
    }
    return words[i] ? i : -1;
}

/* In the order of the enums of system/runstate.h. */
static const char *const reboot_words[] = { "reset", "shutdown", NULL };
static const char *const shutdown_words[] = { "poweroff", "pause", NULL };
static const char *const panic_words[] = { "pause", "shutdown", "exit-failure", "none", NULL };
static const char *const watchdog_words[] = {
    "reset", "shutdown", "poweroff", "pause", "debug", "none", "inject-nmi", NULL
};

bool config_action(Config *c, const OptionUse *use, Error **errp)
{
    const char *reboot = keyvals_get(use->kv, "reboot", NULL);
    const char *shutdown = keyvals_get(use->kv, "shutdown", NULL);
    const char *panic = keyvals_get(use->kv, "panic", NULL);
    const char *watchdog = keyvals_get(use->kv, "watchdog", NULL);

    c->actions.reboot = reboot ? word_index(reboot, reboot_words) : c->actions.reboot;
    c->actions.shutdown = shutdown ? word_index(shutdown, shutdown_words) : c->actions.shutdown;
    c->actions.panic = panic ? word_index(panic, panic_words) : c->actions.panic;
    c->actions.watchdog = watchdog ? word_index(watchdog, watchdog_words) : c->actions.watchdog;
    return true;
}

bool config_watchdog_action(Config *c, const OptionUse *use, Error **errp)
{
    int i = word_index(use->arg, watchdog_words);

    if (i < 0) {
        error_set(errp, "'%s' is no watchdog action: reset, shutdown, poweroff, inject-nmi, pause, "
                  "debug and none are", use->arg);
        return false;
    }
    c->actions.watchdog = i;
    return true;
}

bool config_only_migratable(Config *c, const OptionUse *use, Error **errp)
{
    c->only_migratable = true;
    return true;
}

bool config_gdb(Config *c, const OptionUse *use, Error **errp)
{
    c->gdb = use->arg;
    c->gdb_use = use;
    return true;
}

bool config_gdb_default(Config *c, const OptionUse *use, Error **errp)
{
    c->gdb = "tcp::1234";
    c->gdb_use = use;
    return true;
}

bool config_qtest(Config *c, const OptionUse *use, Error **errp)
{
    c->qtest = use->arg;
    c->qtest_use = use;
    return true;
}

bool config_qtest_log(Config *c, const OptionUse *use, Error **errp)
{
    c->qtest_log = use->arg;
    return true;
}
