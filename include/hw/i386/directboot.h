/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Direct boot: a kernel entered without firmware (docs/devel/tour.rst, "direct boot").
 *
 * The board gives what firmware would know; directboot_prepare() judges kernel, initrd and command line once (errors
 * are the user's), and directboot_run() lays everything out in guest memory and sets the boot processor's state, at
 * each reset.
 * Low memory used: GDT 500h, boot_params or multiboot information 7000h, PVH start info or multiboot modules 8000h,
 * page tables 9000h..0efffh, command line and other strings 20000h, a reset for whom calls firmware at f000:fff0 (so
 * the board's tables end below ffff0h).
 * Main thread. Test: tests/boot/.
 */
#ifndef CLEAT_HW_I386_DIRECTBOOT_H
#define CLEAT_HW_I386_DIRECTBOOT_H

#include "hw/i386/kernel.h"
#include "target/i386/cpu.h"

typedef enum E820Type { E820_RAM = 1, E820_RESERVED = 2, E820_ACPI = 3, E820_NVS = 4 } E820Type;
typedef struct E820Entry {
    uint64_t addr, size;
    uint32_t type;
} E820Entry;
#define E820_MAX 128

/* A file beside the kernel: Linux's and PVH's one initrd, or multiboot's modules. */
typedef struct BootModule {
    uint8_t *data;                  /* mapped file */
    size_t len;
    hwaddr addr;
    char *args;                     /* multiboot: its word on the command line, the file's name first */
} BootModule;

typedef struct DirectBoot {
    KernelImage *kernel;
    BootModule *module;
    int n_module;
    char *cmdline;
    /* filled by the board before directboot_run */
    E820Entry e820[E820_MAX];       /* sorted by address */
    int n_e820;
    hwaddr rsdp;                    /* ACPI root pointer, 0: none */
} DirectBoot;

/* low_end: where usable RAM below 4 GiB ends (bytes). NULL with an error. */
DirectBoot *directboot_prepare(const char *kernel, const char *initrd, const char *append, hwaddr low_end,
                               Error **errp);
void directboot_free(DirectBoot *b);
void directboot_run(DirectBoot *b, AddressSpace *as, X86CPU *bsp);
void e820_add(DirectBoot *b, uint64_t addr, uint64_t size, E820Type type);

#endif
