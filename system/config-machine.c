/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options about the machine: board, accelerator, CPUs, memory, boot, clock, kernel.
 * -machine may carry what -smp, -m and -boot say (smp.cpus=..., memory.size=..., boot.order=...);
 * both spellings end in the same place. Main thread. Tests: tests/unit/test-options.c, tests/cli/.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "system/config-internal.h"
#include "util/units.h"
#include "util/values.h"

/* Underscores in a machine's keys count as dashes: kernel_irqchip is how it was spelled once. */
static void keys_dashify(KeyVals *kv)
{
    for (int i = 0; i < kv->n; i++) {
        g_strdelimit((char *)kv->pairs[i].key, "_", '-');
    }
}

/* The keys of kv that begin with prefix, without it; they leave kv. */
static KeyVals *keyvals_take_below(KeyVals *kv, const char *prefix)
{
    KeyVals *sub = keyvals_new();

    for (int i = 0; i < kv->n; ) {
        if (g_str_has_prefix(kv->pairs[i].key, prefix)) {
            keyvals_set(sub, kv->pairs[i].key + strlen(prefix), kv->pairs[i].value);
            keyvals_remove(kv, kv->pairs[i].key);
        } else {
            i++;
        }
    }
    return sub;
}

static bool config_smp_merge(Config *c, const KeyVals *kv, const OptionUse *use, Error **errp)
{
    if (!keyvals_check(kv, option_find("smp")->keys, "smp.", errp)) {
        return false;
    }
    keyvals_merge(c->smp, "", kv);
    c->smp_use = kv->n ? use : c->smp_use;
    return true;
}

bool config_smp(Config *c, const OptionUse *use, Error **errp)
{
    return config_smp_merge(c, use->kv, use, errp);
}

/* Letters a to p, each once. */
static bool boot_order_check(const char *name, const char *order, Error **errp)
{
    uint32_t seen = 0;

    for (const char *p = order; p && *p; p++) {
        if (*p < 'a' || *p > 'p') {
            error_set(errp, "Parameter '%s' names the boot device '%c', which does not exist", name,
                      *p);
            return false;
        }
        if (seen & 1u << (*p - 'a')) {
            error_set(errp, "Parameter '%s' names the boot device '%c' twice", name, *p);
            return false;
        }
        seen |= 1u << (*p - 'a');
    }
    return true;
}

static bool config_boot_merge(Config *c, const KeyVals *kv, const OptionUse *use, Error **errp)
{
    int64_t timeout = keyvals_int(kv, "reboot-timeout", 0);
    int64_t splash = keyvals_int(kv, "splash-time", 0);

    if (!keyvals_check(kv, option_find("boot")->keys, "boot.", errp)
        || !boot_order_check("order", keyvals_get(kv, "order", NULL), errp)
        || !boot_order_check("once", keyvals_get(kv, "once", NULL), errp)) {
        return false;
    }
    if (timeout < -1 || timeout > 0xffff || splash < 0 || splash > 0xffff) {
        error_set(errp, "Parameter '%s' is out of range: %s to 65535 milliseconds",
                  timeout < -1 || timeout > 0xffff ? "reboot-timeout" : "splash-time",
                  timeout < -1 || timeout > 0xffff ? "-1" : "0");
        return false;
    }
    keyvals_merge(c->boot, "", kv);
    c->boot_use = kv->n ? use : c->boot_use;
    return true;
}

bool config_boot(Config *c, const OptionUse *use, Error **errp)
{
    return config_boot_merge(c, use->kv, use, errp);
}

enum { RAM_GRANULE = 8192, RAM_SLOTS_MAX = 256 };

/* A key given without a number ("-m ''", "-m 0") leaves the machine's default. */
static bool config_memory_merge(Config *c, const char *size, const char *maxmem, const char *slots,
                                uint64_t unit, const OptionUse *use, Error **errp)
{
    uint64_t ram = c->ram_size, max = c->maxram_size, n = c->ram_slots;

    if ((size && !value_parse_size("size", size, unit, &ram, errp))
        || (maxmem && !value_parse_size("maxmem", maxmem, 1, &max, errp))
        || (slots && !value_parse_uint("slots", slots, &n, errp))) {
        return false;
    }
    if (ram > UINT64_MAX - RAM_GRANULE) {
        error_set(errp, "Parameter 'size' is too large: '%s'", size);
        return false;
    }
    if (n > RAM_SLOTS_MAX) {
        error_set(errp, "Parameter 'slots' allows at most %d, not '%s'", RAM_SLOTS_MAX, slots);
        return false;
    }
    c->ram_size = (ram + RAM_GRANULE - 1) & ~(uint64_t)(RAM_GRANULE - 1);
    c->maxram_size = max;
    c->ram_slots = n;
    c->memory_use = use;
    return true;
}

bool config_memory(Config *c, const OptionUse *use, Error **errp)
{
    uint64_t max;

    if (!config_memory_merge(c, keyvals_get(use->kv, "size", NULL),
                             keyvals_get(use->kv, "maxmem", NULL),
                             keyvals_get(use->kv, "slots", NULL), 1 << 20, use, errp)) {
        return false;
    }
    max = c->maxram_size;
    if (c->ram_slots && !max) {
        error_set(errp, "Parameter 'slots=%" PRIu64 "' needs 'maxmem' beside it", c->ram_slots);
        return false;
    }
    if (max && c->ram_size && max < c->ram_size) {
        error_set(errp, "Parameter 'maxmem' (0x%" PRIx64 " bytes) must be at least 'size' (0x%"
                  PRIx64 " bytes)", max, c->ram_size);
        return false;
    }
    return true;
}

static bool config_machine_memory(Config *c, const KeyVals *kv, const OptionUse *use, Error **errp)
{
    static const KeyRow rows[] = {
        { "size", KEY_SIZE, NULL }, { "max-size", KEY_SIZE, NULL }, { "slots", KEY_UINT, NULL },
        { NULL },
    };

    return keyvals_check(kv, rows, "memory.", errp)
           && (kv->n == 0
               || config_memory_merge(c, keyvals_get(kv, "size", NULL),
                                      keyvals_get(kv, "max-size", NULL),
                                      keyvals_get(kv, "slots", NULL), 1, use, errp));
}

const MachineKey config_machine_keys[] = {
    { "kernel", "string", "as -kernel", offsetof(Config, kernel) },
    { "initrd", "string", "as -initrd", offsetof(Config, initrd) },
    { "append", "string", "as -append", offsetof(Config, append) },
    { "firmware", "string", "as -bios", offsetof(Config, bios) },
    { "memory-backend", "id", "the memory backend that is the main memory", 0 },
    { "boot", "keys", "boot.KEY=VALUE, the keys of -boot", 0 },
    { "memory", "keys", "memory.size, memory.max-size, memory.slots, as -m", 0 },
    { "smp", "keys", "smp.KEY=VALUE, the keys of -smp", 0 },
    { NULL, NULL, NULL, 0 },
};

/* A key that another option sets too, or a property of the machine. */
static bool config_machine_key(Config *c, const PropPair *pair, Error **errp)
{
    const MachineKey *key = config_machine_keys;

    while (key->name && strcmp(key->name, pair->key)) {
        key++;
    }
    if (key->name && !strcmp(key->type, "keys")) {
        error_set(errp, "Parameter '%s=%s' is no value: use %s", pair->key, pair->value, key->help);
        return false;
    }
    if (key->text) {
        *(const char **)((char *)c + key->text) = pair->value;
        return true;
    }
    /* One of a list (sgx-epc.0.memdev) is set by the list's name. */
    keyvals_set(c->machine_props, g_str_has_prefix(pair->key, "sgx-epc.") ? "sgx-epc" : pair->key, pair->value);
    return true;
}

bool config_machine(Config *c, const OptionUse *use, Error **errp)
{
    const char *type = keyvals_get(use->kv, "type", NULL);
    const char *accel = keyvals_get(use->kv, "accel", NULL);
    g_autoptr(KeyVals) smp = NULL, memory = NULL, boot = NULL;

    keys_dashify(use->kv);
    smp = keyvals_take_below(use->kv, "smp.");
    memory = keyvals_take_below(use->kv, "memory.");
    boot = keyvals_take_below(use->kv, "boot.");
    if (use->kv->help) {
        config_ask_help(c, type ? HELP_MACHINE_PROPS : HELP_MACHINE, use);
    }
    c->machine_type = type ? type : c->machine_type;
    c->machine_accel = accel ? accel : c->machine_accel;
    c->machine_use = use;
    for (int i = 0; i < use->kv->n; i++) {
        const PropPair *pair = &use->kv->pairs[i];

        if (strcmp(pair->key, "type") && strcmp(pair->key, "accel") && !config_machine_key(c, pair, errp)) {
            return false;
        }
    }
    return config_smp_merge(c, smp, use, errp) && config_boot_merge(c, boot, use, errp)
           && config_machine_memory(c, memory, use, errp);
}

bool config_usb(Config *c, const OptionUse *use, Error **errp)
{
    keyvals_set(c->machine_props, "usb", "on");
    c->machine_use = c->machine_use ? c->machine_use : use;
    return true;
}

bool config_cpu(Config *c, const OptionUse *use, Error **errp)
{
    config_is_help(c, HELP_CPU, use);
    c->cpu_model = use->arg;
    c->cpu_use = use;
    return true;
}

bool config_accel(Config *c, const OptionUse *use, Error **errp)
{
    const char *name = keyvals_get(use->kv, "accel", NULL);

    if (use->kv->help) {
        config_ask_help(c, HELP_ACCEL, use);
        return true;
    }
    if (!name || !*name) {
        error_set(errp, "Parameter 'accel' is missing: which accelerator?");
        return false;
    }
    g_ptr_array_add(c->accels, (OptionUse *)use);
    return true;
}

bool config_enable_kvm(Config *c, const OptionUse *use, Error **errp)
{
    g_ptr_array_add(c->accels, (OptionUse *)use);
    return true;
}

bool config_uuid(Config *c, const OptionUse *use, Error **errp)
{
    if (!parse_uuid(use->arg, c->uuid)) {
        error_set(errp, "'%s' is not a UUID (8-4-4-4-12 hexadecimal digits)", use->arg);
        return false;
    }
    c->uuid_set = true;
    c->uuid_text = use->arg;
    return true;
}

/* "2006-06-17" or "2006-06-17T16:01:21"; real dates only. */
static bool rtc_parse_date(const char *text, int64_t *epoch_s)
{
    g_autofree char *full = strchr(text, 'T') ? g_strdup(text) : g_strconcat(text, "T00:00:00", NULL);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) date = NULL;

    if (strlen(full) == 19 && full[4] == '-' && full[7] == '-') {
        date = g_date_time_new_from_iso8601(full, utc);
    }
    if (!date) {
        return false;
    }
    *epoch_s = g_date_time_to_unix(date);
    return true;
}

static int64_t rtc_local_offset(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();

    return now ? g_date_time_get_utc_offset(now) / G_TIME_SPAN_SECOND : 0;
}

bool config_rtc(Config *c, const OptionUse *use, Error **errp)
{
    const char *base = keyvals_get(use->kv, "base", NULL);
    const char *clock = keyvals_get(use->kv, "clock", NULL);
    const char *drift = keyvals_get(use->kv, "driftfix", NULL);

    if (base && !strcmp(base, "localtime")) {
        c->rtc_utc = c->rtc_date = false;
        c->rtc_epoch_s = rtc_local_offset();
    } else if (base && !strcmp(base, "utc")) {
        c->rtc_utc = true;
        c->rtc_date = false;
    } else if (base) {
        if (!rtc_parse_date(base, &c->rtc_epoch_s)) {
            error_set(errp, "Parameter 'base' expects utc, localtime or a date like "
                      "2006-06-17T16:01:21, not '%s'", base);
            return false;
        }
        c->rtc_date = true;
    }
    if (clock) {
        c->rtc_clock = !strcmp(clock, "host") ? CLOCK_HOST
                       : !strcmp(clock, "rt") ? CLOCK_REAL : CLOCK_VIRTUAL;
    }
    c->rtc_slew = drift ? !strcmp(drift, "slew") : c->rtc_slew;
    return true;
}

bool config_kernel(Config *c, const OptionUse *use, Error **errp)
{
    c->kernel = use->arg;
    c->kernel_use = use;
    return true;
}

bool config_append(Config *c, const OptionUse *use, Error **errp)
{
    c->append = use->arg;
    return true;
}

bool config_initrd(Config *c, const OptionUse *use, Error **errp)
{
    c->initrd = use->arg;
    return true;
}

bool config_bios(Config *c, const OptionUse *use, Error **errp)
{
    c->bios = use->arg;
    c->bios_use = use;
    return true;
}

bool config_no_fd_bootchk(Config *c, const OptionUse *use, Error **errp)
{
    c->no_fd_bootchk = true;
    return true;
}
