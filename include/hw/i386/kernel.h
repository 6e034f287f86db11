/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel images for direct boot: what -kernel names, judged and taken apart on the host before anything runs.
 *
 * kernel_open() maps the file (privately, so a later change of the file does no harm), recognises it, and unpacks a
 * bzImage's payload; kernel_load() copies its segments to guest memory, again at each reset.
 * Formats: Linux/x86 bzImage, boot protocol 2.10 and newer, by its 64-bit entry or, where it has none, its 32-bit entry
 * (Documentation/arch/x86/boot.rst); multiboot (multiboot.h); ELF64 and ELF32 executables with a PVH entry note
 * (XEN_ELFNOTE_PHYS32_ENTRY). Main thread.
 * Test: tests/boot/test-start.py, tests/boot/test-multiboot.py, tests/fuzz/fuzz-loader.c.
 */
#ifndef CLEAT_HW_I386_KERNEL_H
#define CLEAT_HW_I386_KERNEL_H

#include "system/memory.h"
#include "util/error.h"

#define KERNEL_SETUP_MAX 0x1000     /* bytes of boot_params that come from the file's setup header */

typedef enum KernelEntry {
    KERNEL_ENTRY_LINUX64,           /* 64-bit mode, rsi = boot_params */
    KERNEL_ENTRY_LINUX32,           /* 32-bit protected mode, esi = boot_params */
    KERNEL_ENTRY_PVH,               /* 32-bit protected mode, ebx = hvm_start_info */
    KERNEL_ENTRY_MULTIBOOT,         /* 32-bit protected mode, ebx = multiboot information */
} KernelEntry;

typedef struct KernelSegment {
    const uint8_t *data;            /* file_size bytes */
    uint64_t file_size, mem_size;   /* mem_size >= file_size: the rest is zero */
    hwaddr paddr;
} KernelSegment;

typedef struct KernelImage {
    KernelEntry entry_kind;
    hwaddr entry;
    KernelSegment seg[16];
    int n_seg;
    hwaddr start, end;              /* memory that the segments (and a bzImage's init_size) take */
    uint8_t setup_header[KERNEL_SETUP_MAX];  /* bzImage: file bytes 0x1f1..; placed at 0x1f1 of boot_params */
    unsigned setup_header_len;      /* 0: no bzImage */
    uint32_t cmdline_max;           /* bytes without the terminating 0 */
    hwaddr initrd_max;              /* highest address that the initrd may touch */
    /* owned */
    uint8_t *file;
    size_t file_len;
    uint8_t *payload;               /* unpacked, or NULL */
} KernelImage;

KernelImage *kernel_open(const char *path, Error **errp);
/* The same over a buffer (not taken; must outlive the image): tests and fuzzing. */
KernelImage *kernel_parse(const uint8_t *data, size_t len, const char *name, Error **errp);
void kernel_free(KernelImage *k);
void kernel_load(const KernelImage *k, AddressSpace *as);

/* For the formats' own files: ELF recognised, its segments and entry taken, its PVH entry (if any) put into *pvh. */
bool kernel_is_elf(const uint8_t *data, size_t len);
bool kernel_take_elf(KernelImage *k, const uint8_t *data, size_t len, uint32_t *pvh, Error **errp);

/* Little-endian numbers at any address. */
static inline uint16_t kernel_get16(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

static inline uint32_t kernel_get32(const uint8_t *p)
{
    return kernel_get16(p) | (uint32_t)kernel_get16(p + 2) << 16;
}

static inline uint64_t kernel_get64(const uint8_t *p)
{
    return kernel_get32(p) | (uint64_t)kernel_get32(p + 4) << 32;
}

/*
 * Unpacks what a Linux bzImage may carry (gzip, bzip2, lzma, xz, lz4 "legacy" frames, zstd), recognised by its magic.
 * max: largest result allowed. The libraries are loaded on use. NULL with an error.
 */
uint8_t *unpack(const uint8_t *data, size_t len, size_t max, size_t *out_len, Error **errp);

/* Maps a whole file privately and read-only; empty files and directories are errors. "what" starts the message. */
uint8_t *map_file(const char *path, const char *what, size_t *len, Error **errp);
void unmap_file(uint8_t *data, size_t len);

#endif
