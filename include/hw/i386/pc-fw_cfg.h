/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a PC board tells its firmware through fw_cfg; hw/i386/pc-fw_cfg.c. Main thread, before the machine runs.
 * Test: tests/unit/test-pc.c.
 */
#ifndef CLEAT_HW_I386_PC_FW_CFG_H
#define CLEAT_HW_I386_PC_FW_CFG_H

#include "hw/i386/pc.h"

/* Something to boot from, by firmware's name for it; each index once. */
bool pc_boot_entry_add(PcMachine *pc, const char *path, int64_t index, Error **errp);
/* An option ROM on no card: file genroms/NAME (data is copied); index >= 0: it is also booted from. */
bool pc_option_rom_add(PcMachine *pc, const char *name, const void *data, size_t len, int64_t index, Error **errp);
/* Everything but tables and -fw_cfg; after the last boot entry. */
bool pc_fw_cfg_fill(PcMachine *pc, Error **errp);
void pc_fw_cfg_free(PcMachine *pc);

#endif
