/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all x86 boards (PC, microvm) do alike: CPUs, fw_cfg, serial ports, CMOS memory sizes, memory types for a direct
 * boot, firmware. Main thread. Tests: tests/unit/test-pc.c, tests/unit/test-microvm.c.
 */
#ifndef CLEAT_HW_I386_X86_BOARD_H
#define CLEAT_HW_I386_X86_BOARD_H

#include "hw/i386/fw_cfg.h"
#include "hw/isa/isa.h"
#include "hw/rtc/mc146818.h"
#include "system/machine.h"
#include "target/i386/cpu.h"

#define X86_APIC_BASE 0xfee00000u

/* What no x86 board here has yet: shim=, hot-plugged memory and CPUs. */
bool x86_board_check_config(const Machine *m, Error **errp);
/* All CPUs of -smp (an array for g_free(), set also on error), and the local APICs' window. */
bool x86_board_cpus_create(Machine *m, X86CPU ***cpus, unsigned *n, Error **errp);
/* fw_cfg at its ports, with what -fw_cfg says. NULL with an error. */
FwCfg *x86_board_fw_cfg_create(Machine *m, Error **errp);
/* RAM, CPUs, display and UUID, as firmware of every board asks for them by number. */
void x86_board_fw_cfg_numbers(const Machine *m, FwCfg *fw, X86CPU *const *cpus, unsigned n);
/* The serial ports of -serial, `max` at most; the port of -debugcon. */
bool x86_board_serials_create(Machine *m, IsaBus *isa, int max, Error **errp);
bool x86_board_debugcon_create(Machine *m, IsaBus *isa, Error **errp);
/* CMOS: bytes of RAM below and above 4 GiB, where firmware looks for them. */
void x86_board_cmos_memory(Rtc *rtc, uint64_t below_4g, uint64_t above_4g);
/* Memory types as firmware leaves them: write-back, but for VGA, option ROM space and [uncached, 4 GiB). */
void x86_board_mtrrs(X86CPU *const *cpus, unsigned n, uint64_t uncached);
/*
 * Firmware of -bios (or the name given): a region that ends at 4 GiB in `high`, of which the last `alias_max` bytes
 * show below 1 MiB too. "what" starts the messages: "PC BIOS".
 */
typedef struct X86Bios {
    MemoryRegion rom, alias;
} X86Bios;
bool x86_board_bios_init(Machine *m, X86Bios *bios, MemoryRegion *high, const char *default_name, const char *what,
                         uint64_t alias_max, Error **errp);

#endif
