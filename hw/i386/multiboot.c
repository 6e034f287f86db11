/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiboot kernels; contract in include/hw/i386/multiboot.h. Section numbers are the specification's. */
#include "hw/i386/multiboot.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#define HEADER_MAGIC 0x1badb002
#define HEADER_AREA 8192            /* 3.1.1: the header lies whole in it, on 4 bytes */
#define LOADER_NAME "qemu"          /* what a guest expects that looks who started it */

enum {                              /* 3.1.2: what the header asks for; bits 0-15 must be understood */
    ASK_PAGE_ALIGN = 1 << 0, ASK_MEMORY = 1 << 1, ASK_VIDEO = 1 << 2, ASK_MUST = 0xffff, ASK_ADDRESSES = 1 << 16,
};
enum {                              /* 3.3: what the information structure holds */
    INFO_MEMORY = 1 << 0, INFO_BOOT_DEVICE = 1 << 1, INFO_CMDLINE = 1 << 2, INFO_MODULES = 1 << 3, INFO_MMAP = 1 << 6,
    INFO_LOADER_NAME = 1 << 9,
};
#define MMAP_ADDR (MULTIBOOT_INFO_ADDR + 0x80)
#define MMAP_ENTRY 24
#define MODULES_ADDR 0x8000
_Static_assert(MMAP_ADDR + E820_MAX * MMAP_ENTRY <= MODULES_ADDR, "the memory map fits");
_Static_assert(MULTIBOOT_MODULES_MAX * 16 <= 0x1000, "the modules fit below the page tables' place");

static size_t header_find(const uint8_t *data, size_t len)
{
    for (size_t at = 0; at + 12 <= MIN(len, HEADER_AREA); at += 4) {
        const uint8_t *h = data + at;

        if (kernel_get32(h) == HEADER_MAGIC && !(uint32_t)(HEADER_MAGIC + kernel_get32(h + 4) + kernel_get32(h + 8))) {
            return at;
        }
    }
    return SIZE_MAX;
}

bool multiboot_is(const uint8_t *data, size_t len)
{
    return header_find(data, len) != SIZE_MAX;
}

/* The header's own addresses (3.1.3), for files that are no ELF: one stretch of the file, then zeros. */
static bool addresses_take(KernelImage *k, const uint8_t *data, size_t len, size_t at, Error **errp)
{
    const uint8_t *h = data + at;
    uint32_t header, load, load_end, bss_end;
    uint64_t before, size, mem;

    if (len - at < 32) {
        error_set(errp, "its multiboot header reaches beyond the file's end");
        return false;
    }
    header = kernel_get32(h + 12);
    load = kernel_get32(h + 16);
    load_end = kernel_get32(h + 20);
    bss_end = kernel_get32(h + 24);
    before = (uint64_t)header - load;                   /* bytes that are loaded from before the header */
    if (load > header || before > at) {
        error_set(errp, "its multiboot header's load address 0x%" PRIx32 " lies outside the file", load);
        return false;
    }
    size = load_end ? (uint64_t)load_end - load : len - (at - before);
    mem = bss_end ? (uint64_t)bss_end - load : size;
    if (load_end < load && load_end) {
        error_set(errp, "its multiboot header ends the load at 0x%" PRIx32 ", before its begin", load_end);
        return false;
    }
    if (size > len - (at - before)) {
        error_set(errp, "its multiboot header loads %" PRIu64 " bytes, more than the file has", size);
        return false;
    }
    if (mem < size || mem > UINT32_MAX - (uint64_t)load) {
        error_set(errp, "its multiboot header's end of memory 0x%" PRIx32 " is not above what is loaded", bss_end);
        return false;
    }
    k->seg[0] = (KernelSegment) { data + (at - before), size, mem, load };
    k->n_seg = 1;
    k->start = load;
    k->end = load + mem;
    k->entry = kernel_get32(h + 28);
    return true;
}

static bool elf_take(KernelImage *k, const uint8_t *data, size_t len, Error **errp)
{
    uint32_t pvh = 0;

    if (!kernel_is_elf(data, len)) {
        error_set(errp, "its multiboot header gives no addresses, and it is not an ELF file");
        return false;
    }
    if (data[EI_CLASS] != ELFCLASS32) {
        error_set(errp, "it is a 64-bit ELF file, and multiboot starts 32-bit ones");
        return false;
    }
    return kernel_take_elf(k, data, len, &pvh, errp);
}

bool multiboot_parse(KernelImage *k, const uint8_t *data, size_t len, Error **errp)
{
    size_t at = header_find(data, len);
    uint32_t ask = kernel_get32(data + at + 4);

    if (ask & ASK_VIDEO) {
        error_set(errp, "its multiboot header asks for a framebuffer (video mode, flag 2), which is not available yet");
        return false;
    }
    if (ask & ASK_MUST & ~(ASK_PAGE_ALIGN | ASK_MEMORY)) {
        error_set(errp, "its multiboot header asks for what nobody knows (flags 0x%" PRIx32 ")", ask);
        return false;
    }
    if (!(ask & ASK_ADDRESSES ? addresses_take(k, data, len, at, errp) : elf_take(k, data, len, errp))) {
        return false;
    }
    k->entry_kind = KERNEL_ENTRY_MULTIBOOT;
    k->cmdline_max = 0xffff;
    k->initrd_max = UINT32_MAX;
    return true;
}

/* ---- what the kernel is told ---- */

static void put32(AddressSpace *as, hwaddr addr, uint32_t v)
{
    address_space_st(as, addr, v, 4);
}

static hwaddr string_write(AddressSpace *as, hwaddr *at, const char *text)
{
    hwaddr addr = *at;

    address_space_write(as, addr, text, strlen(text) + 1);
    *at += strlen(text) + 1;
    return addr;
}

/* mem_lower and mem_upper: KiB of RAM from 0 and from 1 MiB on without a hole. */
static uint32_t ram_from(const DirectBoot *b, uint64_t start)
{
    uint64_t end = start;

    for (int i = 0; i < b->n_e820; i++) {
        if (b->e820[i].type == E820_RAM && b->e820[i].addr == end) {
            end += b->e820[i].size;
        }
    }
    return (end - start) / 1024;
}

static void memory_map_write(const DirectBoot *b, AddressSpace *as)
{
    for (int i = 0; i < b->n_e820; i++) {
        hwaddr e = MMAP_ADDR + i * MMAP_ENTRY;

        put32(as, e, MMAP_ENTRY - 4);                   /* the size does not count itself */
        address_space_st(as, e + 4, b->e820[i].addr, 8);
        address_space_st(as, e + 12, b->e820[i].size, 8);
        put32(as, e + 20, b->e820[i].type);
    }
    put32(as, MULTIBOOT_INFO_ADDR + 44, b->n_e820 * MMAP_ENTRY);
    put32(as, MULTIBOOT_INFO_ADDR + 48, MMAP_ADDR);
}

static void modules_write(const DirectBoot *b, AddressSpace *as, hwaddr *strings)
{
    for (int i = 0; i < b->n_module; i++) {
        const BootModule *m = &b->module[i];
        hwaddr e = MODULES_ADDR + i * 16;

        put32(as, e, m->addr);
        put32(as, e + 4, m->addr + m->len);
        put32(as, e + 8, string_write(as, strings, m->args));
        put32(as, e + 12, 0);
    }
    put32(as, MULTIBOOT_INFO_ADDR + 20, b->n_module);
    put32(as, MULTIBOOT_INFO_ADDR + 24, MODULES_ADDR);
}

void multiboot_info_write(const DirectBoot *b, AddressSpace *as, hwaddr strings_addr)
{
    hwaddr strings = strings_addr + strlen(b->cmdline) + 1;

    address_space_set(as, MULTIBOOT_INFO_ADDR, 0, MMAP_ADDR - MULTIBOOT_INFO_ADDR);
    put32(as, MULTIBOOT_INFO_ADDR, INFO_MEMORY | INFO_BOOT_DEVICE | INFO_CMDLINE | INFO_MODULES | INFO_MMAP
          | INFO_LOADER_NAME);
    put32(as, MULTIBOOT_INFO_ADDR + 4, ram_from(b, 0));
    put32(as, MULTIBOOT_INFO_ADDR + 8, ram_from(b, 0x100000));
    put32(as, MULTIBOOT_INFO_ADDR + 12, 0x8000ffff);    /* the first disk, no partition */
    put32(as, MULTIBOOT_INFO_ADDR + 16, strings_addr);
    put32(as, MULTIBOOT_INFO_ADDR + 64, string_write(as, &strings, LOADER_NAME));
    modules_write(b, as, &strings);
    memory_map_write(b, as);
}
