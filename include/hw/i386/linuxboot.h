/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -kernel under firmware: what the linuxboot ROM (pc-bios/linuxboot.S) and other firmware (OVMF) find in fw_cfg.
 *
 * The kernel's set-up code is entered in real mode and asks the firmware for the memory map, so any Linux/x86 zImage or
 * bzImage from boot protocol 2.00 on can be booted (Documentation/arch/x86/boot.rst). Main thread.
 * Test: tests/boot/test-firmware.py.
 */
#ifndef CLEAT_HW_I386_LINUXBOOT_H
#define CLEAT_HW_I386_LINUXBOOT_H

#include "hw/i386/pc.h"

typedef struct LinuxBoot LinuxBoot;

/*
 * Judges -kernel, -initrd and -append, fills fw_cfg's kernel items and adds the ROM, which comes first in the order of
 * boot. ram_end: where RAM below 4 GiB ends that firmware leaves alone. NULL with an error.
 */
LinuxBoot *linuxboot_new(PcMachine *pc, hwaddr ram_end, Error **errp);
void linuxboot_free(LinuxBoot *b);

#endif
