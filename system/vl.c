/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process from its first to its last step, as named phases: parse, host, accel, machine,
 * devices, run, shutdown. A phase may fail, with one error; only vl_main() turns that into the exit
 * status. This file is the roof: it alone may include any room's header.
 * Main thread. Tests: tests/cli/.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "accel/accel.h"
#include "accel/qtest.h"
#include "chardev/char.h"
#include "gdbstub/gdbstub.h"
#include "monitor/monitor.h"
#include "system/cpus.h"
#include "system/config.h"
#include "system/machine-config.h"
#include "system/os.h"
#include "system/sandbox.h"
#include "system/system.h"
#include "target/i386/cpuid.h"
#include "util/fdset.h"
#include "util/log.h"
#include "util/trace.h"

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

/* Answers a request for help; nothing else has been started. */
static int phase_help(Vl *vl)
{
    switch (vl->config->help) {
    case HELP_CHARDEV:
        chardev_print_help();
        return 0;
    case HELP_CPU:
        x86_model_print_help();
        return 0;
    default:
        return config_print_help(vl->config, vl->program);
    }
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
    /* The log's and the trace's own messages name the option. */
    return (!c->log_file || log_file(c->log_file, errp))
           && (!c->log_items || log_configure(c->log_items, errp));
}

/* -trace: patterns from the word and from a file, and where the lines go. */
static bool host_trace(const Config *c, Error **errp)
{
    for (guint i = 0; i < c->traces->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->traces, i);
        const char *events = keyvals_get(use->kv, "events", NULL);
        const char *file = keyvals_get(use->kv, "file", NULL);

        for (int k = 0; k < use->kv->n; k++) {
            if (!strcmp(use->kv->pairs[k].key, "enable")) {
                trace_enable_reported(use->kv->pairs[k].value);
            }
        }
        if ((events && !trace_load_patterns(events, errp)) || (file && !trace_set_file(file, errp))) {
            return false;
        }
    }
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

    if (!host_add_fds(c, errp) || !host_log(c, errp) || !host_trace(c, errp)) {
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

/* ---- accel: what runs guest code ---- */

enum { ACCEL_PROPS_MAX = 32 };

/* One accelerator to try: a word of a ':' list, and the option it comes from. */
typedef struct AccelChoice {
    const OptionUse *use;       /* NULL: the default */
    char *name;
} AccelChoice;

static void accel_choices_add(GArray *choices, const OptionUse *use, const char *list)
{
    g_auto(GStrv) names = g_strsplit(list, ":", -1);

    for (int i = 0; names[i]; i++) {
        AccelChoice choice = { use, g_strdup(names[i]) };

        g_array_append_val(choices, choice);
    }
}

static void accel_choice_clear(void *opaque)
{
    g_free(((AccelChoice *)opaque)->name);
}

static GArray *accel_choices(const Config *c)
{
    GArray *choices = g_array_new(FALSE, FALSE, sizeof(AccelChoice));

    g_array_set_clear_func(choices, accel_choice_clear);
    for (guint i = 0; i < c->accels->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->accels, i);

        /* -enable-kvm has no keys. */
        accel_choices_add(choices, use, use->kv ? keyvals_get(use->kv, "accel", "") : "kvm");
    }
    if (c->machine_accel) {
        accel_choices_add(choices, c->machine_use, c->machine_accel);
    } else if (!choices->len) {
        accel_choices_add(choices, NULL, "tcg");
    }
    return choices;
}

/* The properties of one -accel; -machine kernel-irqchip= counts as one of kvm's. */
static bool accel_try(const Config *c, const AccelChoice *choice, Error **errp)
{
    const KeyVals *kv = choice->use && choice->use != c->machine_use ? choice->use->kv : NULL;
    const char *irqchip = keyvals_get(c->machine_props, "kernel-irqchip", NULL);
    AccelProp props[ACCEL_PROPS_MAX];
    int n = 0;

    for (int i = 0; kv && i < kv->n && n < ACCEL_PROPS_MAX - 1; i++) {
        if (strcmp(kv->pairs[i].key, "accel")) {
            props[n++] = (AccelProp){ kv->pairs[i].key, kv->pairs[i].value };
        }
    }
    if (irqchip && !strcmp(choice->name, "kvm") && !(kv && keyvals_get(kv, "kernel-irqchip", NULL))) {
        props[n++] = (AccelProp){ "kernel-irqchip", irqchip };
    }
    return accel_select(choice->name, props, n, errp);
}

/* The first that works; a later one is taken with a line that says why the first is not. */
static bool phase_accel(Vl *vl, Error **errp)
{
    g_autoptr(GArray) choices = accel_choices(vl->config);
    const char *first_location = NULL;
    Error *first = NULL;

    for (guint i = 0; i < choices->len; i++) {
        const AccelChoice *choice = &g_array_index(choices, AccelChoice, i);
        const char *location = choice->use ? choice->use->location : NULL;
        Error *err = NULL;

        error_location_set(location);
        if (accel_try(vl->config, choice, &err)) {
            error_location_set(first_location);
            if (first) {
                info_report("%s; falling back to %s", error_text(first), accel_current()->name);
                error_free(first);
            }
            error_location_set(NULL);
            return true;
        }
        first_location = first ? first_location : location;
        error_propagate(&first, err);
    }
    error_location_set(first_location);
    error_propagate(errp, first);
    return false;
}

/* ---- machine ---- */

/* What the user would have typed for the default machine; g_free(). */
static char *machine_default_name(void)
{
    const Type *type = machine_type_default();

    return type ? machine_user_name(type) : NULL;
}

static bool machine_create(Vl *vl, Error **errp)
{
    const Config *c = vl->config;
    g_autofree char *name = c->machine_type ? g_strdup(c->machine_type) : machine_default_name();

    error_location_set(c->machine_use ? c->machine_use->location : NULL);
    if (!name) {
        error_set(errp, "this build has no default machine: choose one by -machine");
        return false;
    }
    vl->machine = machine_new(name, errp);
    if (!vl->machine) {
        return false;
    }
    if (c->nographic && !object_prop_set_bool(&vl->machine->obj, "graphics", false, errp)) {
        return false;
    }
    for (int i = 0; i < c->machine_props->n; i++) {
        const PropPair *pair = &c->machine_props->pairs[i];

        if (strcmp(pair->key, "memory-backend")
            && !object_prop_set(&vl->machine->obj, pair->key, pair->value, errp)) {
            return false;
        }
    }
    machine_apply_memory_policy(vl->machine);
    error_location_set(NULL);
    return true;
}

static bool machine_chardevs(const Config *c, Error **errp)
{
    for (guint i = 0; i < c->chardevs->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->chardevs, i);

        error_location_set(use->location);
        if (!chardev_new_from_props(keyvals_get(use->kv, "backend", NULL), keyvals_get(use->kv, "id", NULL),
                                    use->kv->pairs, use->kv->n, errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    return true;
}

static bool machine_objects(const Config *c, Error **errp)
{
    for (guint i = 0; i < c->objects->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->objects, i);

        error_location_set(use->location);
        if (!object_add_from_props(keyvals_get(use->kv, "qom-type", NULL), keyvals_get(use->kv, "id", NULL),
                                   use->kv->pairs, use->kv->n, errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    return true;
}

/*
 * A chardev from its short form: *id is NULL for "none". "mon:" shares it with a monitor, which comes first so
 * that the port has the focus.
 */
static bool legacy_chardev(const OptionUse *use, const char *text, const char *label, const char **id,
                           Error **errp)
{
    Chardev *chr;
    bool none = false;

    error_location_set(use ? use->location : NULL);
    chr = chardev_new_legacy(label, text, &none, errp);
    if (!chr && !none) {
        return false;
    }
    if (chr && g_str_has_prefix(text, "mon:") && !monitor_new(chr, false, false, errp)) {
        return false;
    }
    *id = chr ? chardev_id(chr) : NULL;
    error_location_set(NULL);
    return true;
}

static bool machine_ports(Vl *vl, Error **errp)
{
    const Config *c = vl->config;
    MachineConfig *mc = &vl->machine->config;
    const char **ids = g_new0(const char *, c->serials->len + 1);

    mc->chardev_serial = ids;
    mc->n_serial = c->serials->len;
    for (guint i = 0; i < c->serials->len; i++) {
        const ConfigPort *port = g_ptr_array_index(c->serials, i);
        g_autofree char *label = g_strdup_printf("serial%u", i);

        if (!legacy_chardev(port->use, port->chardev, label, &ids[i], errp)) {
            return false;
        }
    }
    for (guint i = 0; i < c->debugcons->len; i++) {
        const ConfigPort *port = g_ptr_array_index(c->debugcons, i);

        if (!legacy_chardev(port->use, port->chardev, "debugcon", &mc->debugcon, errp)) {
            return false;
        }
    }
    return true;
}

/* Before the ports: on a chardev that they share, the port has the focus. */
static bool machine_monitors(const Config *c, Error **errp)
{
    for (guint i = 0; i < c->monitors->len; i++) {
        const ConfigMonitor *mon = g_ptr_array_index(c->monitors, i);
        g_autofree char *label = g_strdup_printf("compat_monitor%u", i);
        const char *id = mon->chardev;
        Chardev *chr;

        if (!mon->by_id && !legacy_chardev(mon->use, mon->chardev, label, &id, errp)) {
            return false;
        }
        if (!id) {
            continue;
        }
        error_location_set(mon->use ? mon->use->location : NULL);
        chr = chardev_find(id);
        if (!chr) {
            error_set(errp, "there is no chardev '%s'", id);
            return false;
        }
        if (!monitor_new(chr, mon->control, mon->pretty, errp)) {
            return false;
        }
    }
    error_location_set(NULL);
    return true;
}

/* Not built yet; a "none" or an absent default changes nothing. */
static bool machine_parallels(const Config *c, Error **errp)
{
    for (guint i = 0; i < c->parallels->len; i++) {
        const ConfigPort *port = g_ptr_array_index(c->parallels, i);

        if (strcmp(port->chardev, "none")) {
            error_location_set(port->use->location);
            error_set(errp, "a parallel port is not available in this build yet");
            return false;
        }
    }
    return true;
}

static void machine_globals(const Config *c)
{
    for (guint i = 0; i < c->globals->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->globals, i);

        global_prop_add(keyvals_get(use->kv, "driver", NULL), keyvals_get(use->kv, "property", NULL),
                        keyvals_get(use->kv, "value", NULL));
    }
}

/* Back ends, then the board. Everything that a board can ask for stands before it is built. */
static bool phase_machine(Vl *vl, Error **errp)
{
    const Config *c = vl->config;
    const MachineOps *ops;

    machine_globals(c);
    chardev_set_escape(c->escape);
    if (!machine_create(vl, errp) || !machine_chardevs(c, errp) || !machine_objects(c, errp)
        || !machine_monitors(c, errp) || !machine_parallels(c, errp)) {
        return false;
    }
    ops = type_ops(vl->machine->obj.type);
    g_autofree char *name = machine_user_name(vl->machine->obj.type);

    if (!machine_config_fill(&vl->machine->config, c, name, ops, errp)
        || !machine_ports(vl, errp)) {
        return false;
    }
    vl->machine->config.enable_cpu_pm = enable_cpu_pm;
    if (accel_current()->machine_setup) {
        accel_current()->machine_setup(vl->machine);
    }
    return ops->build(vl->machine, errp)
           && (!accel_current()->machine_ready || accel_current()->machine_ready(errp));
}

/* ---- devices ---- */

/* QEMU adds these on its own; where the type is not built yet, the user is told once, in one line. */
static void devices_missing_defaults(const Config *c)
{
    static const struct {
        ConfigDefault which;
        const char *type, *name;
    } rows[] = {
        { DEFAULT_PARALLEL, "isa-parallel", "parallel port" },
        { DEFAULT_FLOPPY, "isa-fdc", "floppy drive" },
        { DEFAULT_CDROM, "ide-cd", "CD-ROM drive" },
        { DEFAULT_VGA, "VGA", "graphics card" },
        { DEFAULT_NET, "e1000", "network card" },
    };
    g_autoptr(GString) names = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (c->defaults[rows[i].which] && !type_find(rows[i].type)) {
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", rows[i].name);
        }
    }
    if (!c->display_given && !c->nodefaults) {
        g_string_append_printf(names, "%sdisplay window", names->len ? ", " : "");
    }
    if (names->len) {
        warn_report("default devices that this build does not have yet are left out: %s", names->str);
    }
}

static bool devices_vga(const Config *c, Error **errp)
{
    if (!c->vga || !*c->vga) {
        return true;
    }
    error_location_set(c->vga_use->location);
    if (!type_find(c->vga)) {
        error_set(errp, "the graphics card '%s' is not available in this build yet", c->vga);
        return false;
    }
    return device_add_from_props(c->vga, NULL, 0, errp) != NULL;
}

/* -only-migratable: state that is not described cannot be moved. */
static bool device_check_migratable(const Config *c, const char *driver, Error **errp)
{
    const Type *type = device_type_find(driver);

    if (!c->only_migratable || !type) {
        return true;
    }
    for (; type; type = type->parent ? type_find(type->parent) : NULL) {
        if (type->vmstate) {
            return true;
        }
    }
    error_set(errp, "device '%s' cannot be migrated, which -only-migratable asks for", driver);
    return false;
}

/* The test that drives the machine in place of a CPU. */
static bool devices_qtest(const Config *c, Error **errp)
{
    if (!c->qtest) {
        return true;
    }
    error_location_set(c->qtest_use->location);
    return qtest_server_start(c->qtest, c->qtest_log, errp);
}

/* -gdb, -s. */
static bool devices_gdb(const Config *c, Error **errp)
{
    if (!c->gdb) {
        return true;
    }
    error_location_set(c->gdb_use->location);
    return gdbstub_start(c->gdb, errp);
}

static bool phase_devices(Vl *vl, Error **errp)
{
    const Config *c = vl->config;
    const MachineOps *ops = type_ops(vl->machine->obj.type);

    for (guint i = 0; i < c->devices->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->devices, i);
        const char *driver = keyvals_get(use->kv, "driver", NULL);

        error_location_set(use->location);
        if (!device_check_migratable(c, driver, errp)
            || !device_add_from_props(driver, use->kv->pairs, use->kv->n, errp)) {
            return false;
        }
    }
    if (!devices_vga(c, errp)) {
        return false;
    }
    error_location_set(NULL);
    devices_missing_defaults(c);
    global_prop_warn_unused();
    if (ops->finish && !ops->finish(vl->machine, errp)) {
        return false;
    }
    devices_set_hotplug(true);
    if (!devices_qtest(c, errp) || !devices_gdb(c, errp)) {
        return false;
    }
    error_location_set(NULL);
    return true;
}

/* ---- run ---- */

/* What the signal handler leaves for the main loop; only these words and the bottom half are shared. */
static struct {
    BottomHalf *bh;
    volatile sig_atomic_t sig, pid;
} signal_note;

static void signal_shutdown(void *opaque)
{
    g_autofree char *name = os_process_name_of(signal_note.pid);

    if (signal_note.pid) {
        error_report("terminating on signal %d from pid %d (%s)", (int)signal_note.sig, (int)signal_note.pid,
                     name ? name : "<unknown process>");
    } else {
        error_report("terminating on signal %d", (int)signal_note.sig);
    }
    system_shutdown_request(SHUTDOWN_HOST_SIGNAL);
}

static void signal_notice(int sig, int pid)
{
    signal_note.sig = sig;
    signal_note.pid = pid;
    bh_schedule(signal_note.bh);
}

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

/* Their threads wait until the machine runs. */
static bool run_start_vcpus(Error **errp)
{
    VCpu *cpu;

    VCPU_FOREACH(cpu) {
        if (!vcpu_start(cpu, errp)) {
            return false;
        }
    }
    return true;
}

/* Until the end of the machine; *status is the process's exit status. */
static bool phase_run(Vl *vl, int *status, Error **errp)
{
    *run_actions() = vl->config->actions;
    signal_note.bh = bh_new(loop_main(), signal_shutdown, NULL);
    os_catch_signals(signal_notice);
    if (!run_start_vcpus(errp)) {
        return false;
    }
    system_reset_now(SHUTDOWN_NONE);
    if (!run_drop_rights(vl, errp)) {
        return false;
    }
    if (!vl->config->stopped) {
        vm_start();
    }
    *status = main_loop_run();
    return true;
}

/* In the reverse order of the start; also after a phase that failed half-way. */
static void phase_shutdown(Vl *vl, int status)
{
    if (vl->machine) {
        vcpus_join_all();
    }
    gdbstub_fini(status);
    monitors_fini();
    chardev_cleanup();
    if (accel_current() && accel_current()->fini) {
        accel_current()->fini();
    }
}

/* All phases; the exit status. */
static int vl_phases(Vl *vl, int argc, char **argv, Error **errp)
{
    int status = 0;

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
    machine_lock();
    if (!phase_accel(vl, errp) || !phase_machine(vl, errp) || !phase_devices(vl, errp)
        || !phase_run(vl, &status, errp)) {
        status = 1;
    }
    return status;
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
    phase_shutdown(&vl, status);
    os_fini(vl.process);
    config_free(vl.config);
    return status;
}
