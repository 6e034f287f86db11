/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What firmware finds in fw_cfg on a PC: numbers of CPUs and bytes, where RAM is, how and in what order to boot, option
 * ROMs that are on no card (names and formats: SeaBIOS's src/fw/paravirt.c, docs/Runtime_config.md; OVMF reads the
 * same).
 *
 * Left out: NUMA nodes, TPM, memory hot-plug. The order of -boot's letters is in CMOS (pc-boot.c). Main thread, before
 * the machine runs. Tests: tests/unit/test-pc.c, tests/boot/test-seabios.py.
 */
#include <string.h>

#include "hw/i386/pc-fw_cfg.h"
#include "util/units.h"

#define ROM_SIZE_MAX (128 * KiB)

/* ---- option ROMs and the order of boot ---- */

typedef struct BootEntry {
    char *path;                         /* as SeaBIOS names what it boots from */
    int64_t index;                      /* low ones first */
} BootEntry;

static void boot_entry_clear(void *opaque)
{
    g_free(((BootEntry *)opaque)->path);
}

bool pc_boot_entry_add(PcMachine *pc, const char *path, int64_t index, Error **errp)
{
    BootEntry e = { .index = index };

    if (!pc->boot_entries) {
        pc->boot_entries = g_array_new(FALSE, FALSE, sizeof(BootEntry));
        g_array_set_clear_func(pc->boot_entries, boot_entry_clear);
    }
    for (guint i = 0; i < pc->boot_entries->len; i++) {
        if (g_array_index(pc->boot_entries, BootEntry, i).index == index) {
            error_set(errp, "The bootindex %d has already been used", (int)index);
            return false;
        }
    }
    e.path = g_strdup(path);
    g_array_append_val(pc->boot_entries, e);
    return true;
}

bool pc_option_rom_add(PcMachine *pc, const char *name, const void *data, size_t len, int64_t index, Error **errp)
{
    g_autofree char *file = g_strconcat("genroms/", name, NULL);
    g_autofree char *path = g_strconcat("/rom@", file, NULL);

    if (len > ROM_SIZE_MAX) {
        error_set(errp, "option ROM '%s' has %zu bytes: there is room for %d KiB", name, len,
                  (int)(ROM_SIZE_MAX / KiB));
        return false;
    }
    return fw_cfg_add_file(pc->fw_cfg, file, data, len, errp) &&
           (index < 0 || pc_boot_entry_add(pc, path, index, errp));
}

static int boot_entry_compare(const void *a, const void *b)
{
    int64_t x = ((const BootEntry *)a)->index, y = ((const BootEntry *)b)->index;

    return x < y ? -1 : x > y;
}

/* Lines, the last one ended by 0; "HALT" is the firmware's word for no further tries, where there was any. */
static bool fw_cfg_boot_order(PcMachine *pc, Error **errp)
{
    g_autoptr(GString) order = g_string_new(NULL);

    if (pc->boot_entries) {
        g_array_sort(pc->boot_entries, boot_entry_compare);
        for (guint i = 0; i < pc->boot_entries->len; i++) {
            g_string_append_printf(order, "%s%s", i ? "\n" : "",
                                   g_array_index(pc->boot_entries, BootEntry, i).path);
        }
    }
    if (pc->parent.config.boot_strict && order->len) {
        g_string_append(order, "\nHALT");
    }
    return fw_cfg_add_file(pc->fw_cfg, "bootorder", order->str, order->len ? order->len + 1 : 0, errp);
}

static bool fw_cfg_option_roms(PcMachine *pc, Error **errp)
{
    const MachineConfig *c = &pc->parent.config;

    for (int i = 0; i < c->n_option_roms; i++) {
        const OptionRom *rom = &c->option_roms[i];
        g_autofree char *path = machine_data_file(c, rom->file), *name = g_path_get_basename(rom->file);
        g_autofree char *data = NULL;
        g_autoptr(GError) gerr = NULL;
        gsize len;

        if (!path || !g_file_get_contents(path, &data, &len, &gerr)) {
            error_set(errp, "-option-rom: could not load '%s'%s%s", rom->file, gerr ? ": " : "",
                      gerr ? gerr->message : "");
            return false;
        }
        if (!pc_option_rom_add(pc, name, data, len, rom->bootindex, errp)) {
            error_prepend(errp, "-option-rom %s: ", rom->file);
            return false;
        }
    }
    return true;
}

void pc_fw_cfg_free(PcMachine *pc)
{
    if (pc->boot_entries) {
        g_array_free(pc->boot_entries, TRUE);
    }
}

/* ---- files ---- */

static void put(GByteArray *out, uint64_t v, int bytes)
{
    uint8_t le[8];

    for (int i = 0; i < bytes; i++) {
        le[i] = v >> 8 * i;
    }
    g_byte_array_append(out, le, bytes);
}

static void put_e820(GByteArray *out, uint64_t addr, uint64_t size, uint32_t type)
{
    put(out, addr, 8);
    put(out, size, 8);
    put(out, type, 4);
}

/* What firmware cannot find out by itself: where RAM is. */
static bool fw_cfg_e820(PcMachine *pc, Error **errp)
{
    g_autoptr(GByteArray) table = g_byte_array_new();

    put_e820(table, 0xfeffc000, 0x4000, E820_RESERVED);
    put_e820(table, 0, pc->below_4g, E820_RAM);
    if (pc->above_4g) {
        put_e820(table, 4 * GiB, pc->above_4g, E820_RAM);
    }
    return fw_cfg_add_file(pc->fw_cfg, "etc/e820", table->data, table->len, errp);
}

static bool fw_cfg_number(PcMachine *pc, const char *name, uint64_t v, int bytes, Error **errp)
{
    g_autoptr(GByteArray) number = g_byte_array_new();

    put(number, v, bytes);
    return fw_cfg_add_file(pc->fw_cfg, name, number->data, number->len, errp);
}

/* The picture must be one of the two kinds that firmware can show; its name says which. */
static bool fw_cfg_splash(PcMachine *pc, Error **errp)
{
    const char *file = pc->parent.config.boot_splash;
    g_autofree char *path = machine_data_file(&pc->parent.config, file), *data = NULL;
    gsize len = 0;
    bool jpeg, bmp;

    if (!path || !g_file_get_contents(path, &data, &len, NULL)) {
        error_set(errp, "-boot splash: could not load '%s'", file);
        return false;
    }
    jpeg = len >= 30 && (uint8_t)data[0] == 0xff && (uint8_t)data[1] == 0xd8;
    bmp = len >= 30 && data[0] == 'B' && data[1] == 'M' && data[28] == 24;
    if ((!jpeg && !bmp) || len > UINT32_MAX) {
        error_set(errp, "-boot splash: '%s' is neither a JPEG nor a BMP with 24 bits a pixel", file);
        return false;
    }
    return fw_cfg_add_file(pc->fw_cfg, jpeg ? "bootsplash.jpg" : "bootsplash.bmp", data, len, errp);
}

/* Sleep states S0..S5: sleep type, bit 7: there is such a state. Suspend to RAM has no way back yet. */
static bool fw_cfg_sleep_states(PcMachine *pc, Error **errp)
{
    const AcpiPm *pm = pc->pm;
    uint8_t states[6] = { 0x80, 0, 0, 1, 0, 0x80 };

    if (!pm) {
        return true;
    }
    states[4] = pm->s4_val | (pm->disable_s4 ? 0 : 0x80);
    return fw_cfg_add_file(pc->fw_cfg, "etc/system-states", states, sizeof(states), errp);
}

static bool fw_cfg_boot_waits(PcMachine *pc, Error **errp)
{
    const MachineConfig *c = &pc->parent.config;

    return (c->boot_menu_timeout < 0 || fw_cfg_number(pc, "etc/boot-menu-wait", c->boot_menu_timeout, 2, errp)) &&
           fw_cfg_number(pc, "etc/boot-fail-wait", c->boot_reboot_timeout, 4, errp) &&
           (!c->boot_splash || fw_cfg_splash(pc, errp));
}

static void fw_cfg_numbers(PcMachine *pc)
{
    x86_board_fw_cfg_numbers(&pc->parent, pc->fw_cfg, pc->cpus, pc->n_cpus);
    fw_cfg_add_u16(pc->fw_cfg, FW_CFG_BOOT_MENU, pc->parent.config.boot_menu);
}

bool pc_fw_cfg_fill(PcMachine *pc, Error **errp)
{
    fw_cfg_numbers(pc);
    return fw_cfg_e820(pc, errp) && fw_cfg_sleep_states(pc, errp) && fw_cfg_boot_waits(pc, errp) &&
           fw_cfg_option_roms(pc, errp) && fw_cfg_boot_order(pc, errp);
}
