/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options about devices and what stands behind them: -device, -object, -chardev, serial and
 * parallel ports, monitors, display, network, firmware items; and the default devices, which are
 * QEMU's. Nothing is created here. Main thread. Tests: tests/unit/test-options.c, tests/cli/.
 */
#include <string.h>

#include "system/config-internal.h"
#include "util/units.h"
#include "util/values.h"

/* An id is unique among the options of one kind; `needed` where the option makes no sense without. */
static bool id_check(const GPtrArray *uses, const OptionUse *use, const char *kind, bool needed,
                     Error **errp)
{
    const char *id = keyvals_get(use->kv, "id", NULL);

    if (!id) {
        if (needed) {
            error_set(errp, "Parameter 'id' is missing: every %s needs one", kind);
        }
        return !needed;
    }
    if (!id_is_wellformed(id)) {
        error_set(errp, "Parameter 'id' expects an identifier, not '%s'", id);
        error_hint(errp, "An identifier is a letter followed by letters, digits, '-', '.' and '_'.");
        return false;
    }
    for (guint i = 0; i < uses->len; i++) {
        const OptionUse *other = g_ptr_array_index(uses, i);

        if (!g_strcmp0(keyvals_get(other->kv, "id", NULL), id)) {
            error_set(errp, "Duplicate ID '%s' for %s", id, kind);
            return false;
        }
    }
    return true;
}

static bool key_needed(const OptionUse *use, const char *key, Error **errp)
{
    const char *value = keyvals_get(use->kv, key, NULL);

    if (!value || !*value) {
        error_set(errp, "Parameter '%s' is missing", key);
        return false;
    }
    return true;
}

/* A driver of the left column stands in for that default device. */
static const struct {
    const char *driver;
    ConfigDefault stands_for;
} default_drivers[] = {
    { "isa-serial", DEFAULT_SERIAL },
    { "isa-parallel", DEFAULT_PARALLEL },
    { "isa-fdc", DEFAULT_FLOPPY },
    { "floppy", DEFAULT_FLOPPY },
    { "ide-cd", DEFAULT_CDROM },
    { "ide-hd", DEFAULT_CDROM },
    { "scsi-cd", DEFAULT_CDROM },
    { "scsi-hd", DEFAULT_CDROM },
    { "VGA", DEFAULT_VGA },
    { "isa-vga", DEFAULT_VGA },
    { "cirrus-vga", DEFAULT_VGA },
    { "isa-cirrus-vga", DEFAULT_VGA },
    { "vmware-svga", DEFAULT_VGA },
    { "qxl-vga", DEFAULT_VGA },
    { "virtio-vga", DEFAULT_VGA },
    { "virtio-vga-gl", DEFAULT_VGA },
    { "ati-vga", DEFAULT_VGA },
    { "vhost-user-vga", DEFAULT_VGA },
};

static void default_drop_for(Config *c, const char *driver)
{
    for (size_t i = 0; i < G_N_ELEMENTS(default_drivers); i++) {
        if (!strcmp(default_drivers[i].driver, driver)) {
            c->defaults[default_drivers[i].stands_for] = false;
        }
    }
}

bool config_device(Config *c, const OptionUse *use, Error **errp)
{
    const char *driver = keyvals_get(use->kv, "driver", NULL);

    if (use->kv->help) {
        config_ask_help(c, HELP_DEVICE, use);
        return true;
    }
    if (!key_needed(use, "driver", errp) || !id_check(c->devices, use, "device", false, errp)) {
        return false;
    }
    default_drop_for(c, driver);
    g_ptr_array_add(c->devices, (OptionUse *)use);
    return true;
}

bool config_object(Config *c, const OptionUse *use, Error **errp)
{
    if (use->kv->help) {
        config_ask_help(c, HELP_OBJECT, use);
        return true;
    }
    if (!key_needed(use, "qom-type", errp) || !id_check(c->objects, use, "object", true, errp)) {
        return false;
    }
    g_ptr_array_add(c->objects, (OptionUse *)use);
    return true;
}

bool config_chardev(Config *c, const OptionUse *use, Error **errp)
{
    if (use->kv->help) {
        config_ask_help(c, HELP_CHARDEV, use);
        return true;
    }
    if (!key_needed(use, "backend", errp) || !id_check(c->chardevs, use, "chardev", true, errp)) {
        return false;
    }
    g_ptr_array_add(c->chardevs, (OptionUse *)use);
    return true;
}

/* "driver.property=value", where a property may have dots, or the key=value spelling. */
bool config_global(Config *c, const OptionUse *use, Error **errp)
{
    static const KeyRow rows[] = {
        { "driver", KEY_STRING, NULL }, { "property", KEY_STRING, NULL },
        { "value", KEY_STRING, NULL }, { NULL },
    };
    const char *dot = strpbrk(use->arg, ".="), *eq = strchr(use->arg, '=');
    KeyVals *kv;

    if (dot && *dot == '.' && dot > use->arg && eq > dot + 1) {
        g_autofree char *driver = g_strndup(use->arg, dot - use->arg);
        g_autofree char *property = g_strndup(dot + 1, eq - dot - 1);

        kv = keyvals_new();
        keyvals_set(kv, "driver", driver);
        keyvals_set(kv, "property", property);
        keyvals_set(kv, "value", eq + 1);
    } else {
        kv = keyvals_parse_flat(use->arg, NULL, errp);
    }
    ((OptionUse *)use)->kv = kv;
    if (!kv || !keyvals_check(kv, rows, "", errp) || !key_needed(use, "driver", errp)
        || !key_needed(use, "property", errp)) {
        return false;
    }
    if (!keyvals_get(kv, "value", NULL)) {
        error_set(errp, "Parameter 'value' is missing");
        return false;
    }
    g_ptr_array_add(c->globals, (OptionUse *)use);
    return true;
}

bool config_fw_cfg(Config *c, const OptionUse *use, Error **errp)
{
    const char *name = keyvals_get(use->kv, "name", NULL);
    int sources = !!keyvals_get(use->kv, "file", NULL) + !!keyvals_get(use->kv, "string", NULL)
                  + !!keyvals_get(use->kv, "gen_id", NULL);

    if (!name || !*name || sources != 1) {
        error_set(errp, "a name and just one of 'file', 'string' and 'gen_id' are needed");
        return false;
    }
    if (strlen(name) > 55) {
        error_set(errp, "Parameter 'name' is longer than 55 characters: '%s'", name);
        return false;
    }
    if (!g_str_has_prefix(name, "opt/")) {
        warn_report("'%s' is not below \"opt/\", where user-given items belong", name);
    }
    g_ptr_array_add(c->fw_cfgs, (OptionUse *)use);
    return true;
}

bool config_option_rom(Config *c, const OptionUse *use, Error **errp)
{
    const char *file = keyvals_get(use->kv, "romfile", NULL);
    int64_t bootindex = keyvals_int(use->kv, "bootindex", -1);

    if (!file || !*file) {
        error_set(errp, "Parameter 'romfile' is missing");
        return false;
    }
    if (bootindex < -1 || bootindex > INT32_MAX) {
        error_set(errp, "Parameter 'bootindex' is out of range: 0 to %d", INT32_MAX);
        return false;
    }
    g_ptr_array_add(c->option_roms, (OptionUse *)use);
    return true;
}

bool config_smbios(Config *c, const OptionUse *use, Error **errp)
{
    const char *type = keyvals_get(use->kv, "type", NULL);
    uint64_t n;

    if (!type == !keyvals_get(use->kv, "file", NULL)) {
        error_set(errp, "just one of 'type' and 'file' is needed");
        return false;
    }
    if (type && !value_parse_uint("type", type, &n, errp)) {
        return false;
    }
    g_ptr_array_add(c->smbioses, (OptionUse *)use);
    return true;
}

static bool port_add(GPtrArray *list, const OptionUse *use, const char *chardev)
{
    ConfigPort *port = g_new0(ConfigPort, 1);

    port->use = use;
    port->chardev = chardev;
    g_ptr_array_add(list, port);
    return true;
}

bool config_serial(Config *c, const OptionUse *use, Error **errp)
{
    c->defaults[DEFAULT_SERIAL] = false;
    if (g_str_has_prefix(use->arg, "mon:")) {
        c->defaults[DEFAULT_MONITOR] = false;
    }
    return port_add(c->serials, use, use->arg);
}

bool config_parallel(Config *c, const OptionUse *use, Error **errp)
{
    c->defaults[DEFAULT_PARALLEL] = false;
    if (g_str_has_prefix(use->arg, "mon:")) {
        c->defaults[DEFAULT_MONITOR] = false;
    }
    return port_add(c->parallels, use, use->arg);
}

bool config_debugcon(Config *c, const OptionUse *use, Error **errp)
{
    return port_add(c->debugcons, use, use->arg);
}

static bool monitor_add(Config *c, const OptionUse *use, const char *chardev, bool by_id,
                        bool control, bool pretty)
{
    ConfigMonitor *mon = g_new0(ConfigMonitor, 1);

    *mon = (ConfigMonitor){ use, chardev, by_id, control, pretty };
    c->defaults[DEFAULT_MONITOR] = false;
    g_ptr_array_add(c->monitors, mon);
    return true;
}

bool config_monitor(Config *c, const OptionUse *use, Error **errp)
{
    c->defaults[DEFAULT_MONITOR] = false;
    return !strcmp(use->arg, "none") || monitor_add(c, use, use->arg, false, false, false);
}

bool config_qmp(Config *c, const OptionUse *use, Error **errp)
{
    return monitor_add(c, use, use->arg, false, true, false);
}

bool config_qmp_pretty(Config *c, const OptionUse *use, Error **errp)
{
    return monitor_add(c, use, use->arg, false, true, true);
}

bool config_mon(Config *c, const OptionUse *use, Error **errp)
{
    bool control = !strcmp(keyvals_get(use->kv, "mode", "readline"), "control");
    bool pretty = keyvals_bool(use->kv, "pretty", false);

    if (!key_needed(use, "chardev", errp)) {
        return false;
    }
    if (pretty && !control) {
        error_set(errp, "Parameter 'pretty=on' is for mode=control only");
        return false;
    }
    return monitor_add(c, use, keyvals_get(use->kv, "chardev", NULL), true, control, pretty);
}

/* ---- display and network: what is not built yet is named ---- */

typedef struct NamedPart {
    const char *word, *part;
} NamedPart;

/* Finds the word at the head of arg (up to ',' or '='); NULL: unknown. */
static const NamedPart *part_find(const NamedPart *parts, const char *arg)
{
    size_t len = strcspn(arg, ",=");

    for (; parts->word; parts++) {
        if (strlen(parts->word) == len && !memcmp(parts->word, arg, len)) {
            return parts;
        }
    }
    return NULL;
}

static bool part_refuse(const NamedPart *parts, const char *arg, const char *what, Error **errp)
{
    const NamedPart *part = part_find(parts, arg);

    if (part) {
        error_set(errp, "%s is not available in this build yet", part->part);
    } else {
        error_set(errp, "'%.*s' is no %s", (int)strcspn(arg, ",="), arg, what);
    }
    return false;
}

bool config_display(Config *c, const OptionUse *use, Error **errp)
{
    static const NamedPart parts[] = {
        { "gtk", "the GTK window" }, { "sdl", "the SDL window" }, { "curses", "the curses display" },
        { "vnc", "the VNC server" }, { "spice-app", "the SPICE server" },
        { "egl-headless", "OpenGL rendering" }, { "dbus", "the D-Bus display" },
        { "default", "a display window" }, { NULL },
    };

    c->display_given = true;
    return config_is_help(c, HELP_DISPLAY, use) || !strcmp(use->arg, "none")
           || part_refuse(parts, use->arg, "display type", errp);
}

bool config_vga(Config *c, const OptionUse *use, Error **errp)
{
    static const NamedPart parts[] = {
        { "std", "VGA" }, { "cirrus", "cirrus-vga" }, { "vmware", "vmware-svga" },
        { "qxl", "qxl-vga" }, { "virtio", "virtio-vga" }, { "none", "" }, { NULL },
    };
    const NamedPart *card = part_find(parts, use->arg);

    if (config_is_help(c, HELP_VGA, use)) {
        return true;
    }
    if (!card) {
        error_set(errp, "'%s' is no graphics card: std, cirrus, vmware, qxl, virtio and none are",
                  use->arg);
        return false;
    }
    c->vga = card->part;
    c->vga_use = use;
    c->defaults[DEFAULT_VGA] = false;
    return true;
}

static const NamedPart net_parts[] = {
    { "nic", "networking" }, { "user", "networking" }, { "tap", "networking" },
    { "bridge", "networking" }, { "socket", "networking" }, { "stream", "networking" },
    { "dgram", "networking" }, { "vde", "networking" }, { "l2tpv3", "networking" },
    { "vhost-user", "networking" }, { "vhost-vdpa", "networking" }, { "hubport", "networking" },
    { "model", "networking" }, { "passt", "networking" }, { NULL },
};

bool config_nic(Config *c, const OptionUse *use, Error **errp)
{
    c->defaults[DEFAULT_NET] = false;
    return !strcmp(use->arg, "none") || part_refuse(net_parts, use->arg, "network back end", errp);
}

bool config_nographic(Config *c, const OptionUse *use, Error **errp)
{
    c->nographic = true;
    c->display_given = true;
    return true;
}

/*
 * -nographic puts the serial port and the monitor on the terminal. Otherwise QEMU gives each a
 * text console of its display; without a display these lead nowhere, so the port gets a null
 * chardev and the monitor is left out.
 */
bool config_finish_defaults(Config *c, Error **errp)
{
    if (c->nodefaults || !g_strcmp0(c->machine_type, "none")) {
        memset(c->defaults, 0, sizeof(c->defaults));
    }
    if (c->nographic && c->defaults[DEFAULT_SERIAL] && c->defaults[DEFAULT_MONITOR]) {
        port_add(c->serials, NULL, "mon:stdio");
    } else if (c->nographic) {
        if (c->defaults[DEFAULT_SERIAL]) {
            port_add(c->serials, NULL, "stdio");
        }
        if (c->defaults[DEFAULT_MONITOR]) {
            monitor_add(c, NULL, "stdio", false, false, false);
        }
    } else if (c->defaults[DEFAULT_SERIAL]) {
        port_add(c->serials, NULL, "null");
    }
    return true;
}
