/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the command line's wishes to what a board builds from; see include/system/machine-config.h.
 * What a machine's limits say about sizes and numbers is judged here, with the option's name.
 * Main thread. Test: tests/cli/.
 */
#include "system/machine-config.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

const char *const *machine_data_dirs_builtin(void)
{
    static const char *const dirs[] = {
        "/usr/local/share/qemu", "/usr/share/qemu", "/usr/share/seabios", "/usr/share/ovmf",
        "/usr/share/OVMF", NULL
    };

    return dirs;
}

static char *data_file_in(const char *const *dirs, const char *name)
{
    for (; dirs && *dirs; dirs++) {
        char *path = g_build_filename(*dirs, name, NULL);

        if (access(path, R_OK) == 0) {
            return path;
        }
        g_free(path);
    }
    return NULL;
}

char *machine_data_file(const MachineConfig *config, const char *name)
{
    char *path;

    if (access(name, R_OK) == 0) {
        return g_strdup(name);
    }
    if (strchr(name, '/')) {
        return NULL;
    }
    path = data_file_in(config->data_dirs, name);
    return path ? path : data_file_in(machine_data_dirs_builtin(), name);
}

static const PropPair **pair_lists(const GPtrArray *uses, int *n)
{
    const PropPair **lists = g_new0(const PropPair *, uses->len + 1);

    for (guint i = 0; i < uses->len; i++) {
        const OptionUse *use = g_ptr_array_index(uses, i);

        lists[i] = use->kv->pairs;
    }
    *n = uses->len;
    return lists;
}

static void fill_clock(MachineConfig *out, const Config *c)
{
    out->rtc_utc = c->rtc_utc;
    out->rtc_base_offset_s = c->rtc_utc || c->rtc_date ? 0 : c->rtc_epoch_s;
    out->rtc_base_date = c->rtc_date;
    out->rtc_base_epoch_s = c->rtc_date ? c->rtc_epoch_s : 0;
    out->rtc_clock = c->rtc_clock;
    out->rtc_driftfix_slew = c->rtc_slew;
}

static void fill_boot(MachineConfig *out, const Config *c)
{
    out->kernel = c->kernel;
    out->initrd = c->initrd;
    out->append = c->append;
    out->bios = c->bios;
    out->boot_order = keyvals_get(c->boot, "order", NULL);
    out->boot_once = keyvals_get(c->boot, "once", NULL);
    out->boot_menu = keyvals_bool(c->boot, "menu", false);
    out->no_fd_bootchk = c->no_fd_bootchk;
    out->boot_strict = keyvals_bool(c->boot, "strict", false);
    out->boot_menu_timeout = keyvals_int(c->boot, "splash-time", -1);
    out->boot_reboot_timeout = keyvals_int(c->boot, "reboot-timeout", -1);
    out->boot_splash = keyvals_get(c->boot, "splash", NULL);
}

static void fill_option_roms(MachineConfig *out, const Config *c)
{
    OptionRom *roms = g_new0(OptionRom, c->option_roms->len + 1);

    for (guint i = 0; i < c->option_roms->len; i++) {
        const OptionUse *use = g_ptr_array_index(c->option_roms, i);

        roms[i].file = keyvals_get(use->kv, "romfile", NULL);
        roms[i].bootindex = keyvals_int(use->kv, "bootindex", -1);
    }
    out->option_roms = roms;
    out->n_option_roms = c->option_roms->len;
}

static bool fill_memory(MachineConfig *out, const Config *c, const MachineOps *ops, Error **errp)
{
    out->ram_size = c->ram_size ? c->ram_size : ops->default_ram_size;
    out->maxram_size = c->maxram_size ? c->maxram_size : out->ram_size;
    out->ram_slots = c->ram_slots;
    out->memory_backend = keyvals_get(c->machine_props, "memory-backend", NULL);
    if (out->maxram_size < out->ram_size) {
        error_location_set(c->memory_use->location);
        error_set(errp, "Parameter 'maxmem' (0x%" PRIx64 " bytes) must be at least the machine's memory "
                  "(0x%" PRIx64 " bytes)", out->maxram_size, out->ram_size);
        return false;
    }
    return true;
}

bool machine_config_fill(MachineConfig *out, const Config *c, const char *machine,
                         const MachineOps *ops, Error **errp)
{
    unsigned max_cpus = ops->max_cpus ? ops->max_cpus : 1;

    *out = (MachineConfig){ .enable_cpu_pm = false };
    error_location_set(c->smp_use ? c->smp_use->location : NULL);
    if (!smp_resolve(c->smp, machine, max_cpus, &out->smp, errp)) {
        return false;
    }
    error_location_set(NULL);
    if (!fill_memory(out, c, ops, errp)) {
        return false;
    }
    fill_boot(out, c);
    fill_option_roms(out, c);
    fill_clock(out, c);
    out->cpu_model = c->cpu_model;
    out->name = c->name;
    out->uuid = c->uuid_text;
    out->uuid_set = c->uuid_set;
    memcpy(out->uuid_bytes, c->uuid, sizeof(out->uuid_bytes));
    out->nodefaults = c->nodefaults;
    out->data_dirs = (const char *const *)c->data_dirs->pdata;
    out->fw_cfg = pair_lists(c->fw_cfgs, &out->n_fw_cfg);
    out->smbios = pair_lists(c->smbioses, &out->n_smbios);
    return true;
}
