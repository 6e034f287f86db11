/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multiboot kernels (Multiboot Specification 0.6.96) for direct boot: the header in the file, and the information
 * structure in guest memory. -initrd names the modules: "FILE ARGUMENTS,FILE ARGUMENTS" (",," is a comma).
 * A header that asks for a video mode is refused: there is no framebuffer. Main thread.
 * Test: tests/boot/test-multiboot.py, tests/fuzz/fuzz-loader.c.
 */
#ifndef CLEAT_HW_I386_MULTIBOOT_H
#define CLEAT_HW_I386_MULTIBOOT_H

#include "hw/i386/directboot.h"

#define MULTIBOOT_BOOTLOADER_MAGIC 0x2badb002   /* in EAX at the kernel's entry */
#define MULTIBOOT_INFO_ADDR 0x7000              /* in EBX */
#define MULTIBOOT_MODULES_MAX 255
#define MULTIBOOT_ARGS_MAX 0x50000              /* bytes of all modules' strings, with their zeros */

/* Is there a header with the right sum in the first 8 KiB? */
bool multiboot_is(const uint8_t *data, size_t len);
/* Takes segments and entry of a file for which multiboot_is() holds. */
bool multiboot_parse(KernelImage *k, const uint8_t *data, size_t len, Error **errp);
/* The information structure, memory map, modules and strings; strings_addr: where the command line is already. */
void multiboot_info_write(const DirectBoot *b, AddressSpace *as, hwaddr strings_addr);

#endif
