/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a bzImage's parts go when firmware boots it; contract in include/hw/i386/linuxboot.h.
 *
 *   protocol             set-up code   command line   protected-mode code
 *   high, 2.02 and newer 10000h        20000h         100000h
 *   high, older          90000h        below 9a000h   100000h
 *   zImage (low)         90000h        below 9a000h   10000h
 *
 * The initrd goes as high as protocol and RAM allow. File images are mapped, and given to fw_cfg as they are. Left out:
 * vga= (the set-up code's own menu), setup_data. Main thread. Test: tests/boot/test-firmware.py.
 */
#include "hw/i386/linuxboot.h"

#include <string.h>

#include "hw/i386/pc-fw_cfg.h"
#include "pc-bios/linuxboot-rom.h"
#include "util/units.h"

/* The set-up header (boot.rst, "The Real-Mode Kernel Header") */
enum { HDR_CMDLINE_MAGIC = 0x20, HDR_CMDLINE_OFFSET = 0x22, HDR_SETUP_SECTS = 0x1f1, HDR_BOOT_FLAG = 0x1fe,
       HDR_MAGIC = 0x202, HDR_VERSION = 0x206, HDR_LOADER = 0x210, HDR_LOADFLAGS = 0x211, HDR_RAMDISK = 0x218,
       HDR_RAMDISK_SIZE = 0x21c, HDR_HEAP_END = 0x224, HDR_CMDLINE = 0x228, HDR_INITRD_MAX = 0x22c,
       HDR_XLOADFLAGS = 0x236, HDR_CMDLINE_SIZE = 0x238 };
enum { LOADED_HIGH = 0x01, CAN_USE_HEAP = 0x80, XLF_ABOVE_4G = 0x02 };
#define LOADER_OF_OURS 0xb0             /* the number assigned to loaders of this kind */
#define CMDLINE_OLD_MAGIC 0xa33f
#define OLD_CMDLINE_END 0x9a000
#define SETUP_SECTS_MAX 64

struct LinuxBoot {
    uint8_t *kernel, *initrd;           /* mapped files */
    size_t kernel_len, initrd_len;
    const char *name;
    unsigned version;                   /* of the boot protocol: 0x20c is 2.12 */
    size_t setup_len;
    bool high;
    /* addresses */
    uint32_t setup_addr, cmdline_addr, kernel_addr, initrd_addr;
};

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = v;
    p[1] = v >> 8;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v);
    put16(p + 2, v >> 16);
}

/* ---- judging ---- */

static bool kernel_check(LinuxBoot *b, Error **errp)
{
    const uint8_t *k = b->kernel;
    unsigned sects;

    if (b->kernel_len < 0x400 || pci_get_word(k + HDR_BOOT_FLAG) != 0xaa55 || memcmp(k + HDR_MAGIC, "HdrS", 4)) {
        error_set(errp, "kernel '%s' is no Linux bzImage, which is what firmware (-bios, an option ROM) can boot; "
                  "without firmware ELF kernels are possible too", b->name);
        return false;
    }
    sects = k[HDR_SETUP_SECTS] ? k[HDR_SETUP_SECTS] : 4;
    b->setup_len = (sects + 1) * 512;
    b->version = pci_get_word(k + HDR_VERSION);
    b->high = k[HDR_LOADFLAGS] & LOADED_HIGH;
    if (sects > SETUP_SECTS_MAX || b->setup_len >= b->kernel_len || b->version < 0x200) {
        error_set(errp, "kernel '%s' is damaged or too old: boot protocol %u.%02u, %u set-up sectors, %zu bytes",
                  b->name, b->version >> 8, b->version & 0xff, sects, b->kernel_len);
        return false;
    }
    return true;
}

static bool cmdline_check(const LinuxBoot *b, size_t len, Error **errp)
{
    size_t max = b->version >= 0x206 ? pci_get_long(b->kernel + HDR_CMDLINE_SIZE) : 255;

    max = MIN_OF(max, 0xfffe);
    if (len > max) {
        error_set(errp, "the kernel command line has %zu characters, and this kernel takes %zu", len, max);
        return false;
    }
    return true;
}

static void place(LinuxBoot *b, size_t cmdline_len)
{
    bool recent = b->high && b->version >= 0x202;

    b->setup_addr = recent ? 0x10000 : 0x90000;
    b->cmdline_addr = recent ? 0x20000 : (OLD_CMDLINE_END - cmdline_len - 1) & ~15u;
    b->kernel_addr = b->high ? MiB : 0x10000;
}

static uint64_t initrd_max(const LinuxBoot *b)
{
    if (b->version >= 0x20c && (pci_get_word(b->kernel + HDR_XLOADFLAGS) & XLF_ABOVE_4G)) {
        return UINT32_MAX;
    }
    return b->version >= 0x203 ? pci_get_long(b->kernel + HDR_INITRD_MAX) : 0x37ffffff;
}

static bool initrd_place(LinuxBoot *b, hwaddr ram_end, Error **errp)
{
    uint64_t kernel_end = b->kernel_addr + b->kernel_len - b->setup_len, top = MIN_OF(ram_end, initrd_max(b) + 1);

    if (kernel_end > (b->high ? ram_end : b->setup_addr)) {
        error_set(errp, "kernel '%s' (%zu bytes) does not fit into the guest's memory", b->name, b->kernel_len);
        return false;
    }
    if (b->initrd_len > top || ALIGN_DOWN(top - b->initrd_len, 4096) < MAX_OF(kernel_end, MiB)) {
        error_set(errp, "the initrd (%zu bytes) and the kernel do not fit into the guest's memory below 0x%llx",
                  b->initrd_len, (unsigned long long)top);
        return false;
    }
    b->initrd_addr = b->initrd ? ALIGN_DOWN(top - b->initrd_len, 4096) : 0;
    return true;
}

/* ---- fw_cfg ---- */

/* The header as the loader fills it in. */
static void setup_patch(const LinuxBoot *b, uint8_t *setup)
{
    setup[HDR_LOADER] = LOADER_OF_OURS;
    if (b->version >= 0x201) {
        setup[HDR_LOADFLAGS] |= CAN_USE_HEAP;
        put16(setup + HDR_HEAP_END, b->cmdline_addr - b->setup_addr - 0x200);
    }
    if (b->version >= 0x202) {
        put32(setup + HDR_CMDLINE, b->cmdline_addr);
    } else {
        put16(setup + HDR_CMDLINE_MAGIC, CMDLINE_OLD_MAGIC);
        put16(setup + HDR_CMDLINE_OFFSET, b->cmdline_addr - b->setup_addr);
    }
    put32(setup + HDR_RAMDISK, b->initrd_addr);
    put32(setup + HDR_RAMDISK_SIZE, b->initrd_len);
}

static void fw_cfg_fill(const LinuxBoot *b, FwCfg *fw, const char *cmdline)
{
    g_autofree uint8_t *setup = g_memdup2(b->kernel, b->setup_len);

    setup_patch(b, setup);
    fw_cfg_add_u32(fw, FW_CFG_SETUP_ADDR, b->setup_addr);
    fw_cfg_add_u32(fw, FW_CFG_SETUP_SIZE, b->setup_len);
    fw_cfg_add_bytes(fw, FW_CFG_SETUP_DATA, setup, b->setup_len);
    fw_cfg_add_u32(fw, FW_CFG_CMDLINE_ADDR, b->cmdline_addr);
    fw_cfg_add_u32(fw, FW_CFG_CMDLINE_SIZE, strlen(cmdline) + 1);
    fw_cfg_add_string(fw, FW_CFG_CMDLINE_DATA, cmdline);
    fw_cfg_add_u32(fw, FW_CFG_KERNEL_ADDR, b->kernel_addr);
    fw_cfg_add_u32(fw, FW_CFG_KERNEL_SIZE, b->kernel_len - b->setup_len);
    fw_cfg_add_borrowed(fw, FW_CFG_KERNEL_DATA, b->kernel + b->setup_len, b->kernel_len - b->setup_len);
    if (b->initrd) {
        fw_cfg_add_u32(fw, FW_CFG_INITRD_ADDR, b->initrd_addr);
        fw_cfg_add_u32(fw, FW_CFG_INITRD_SIZE, b->initrd_len);
        fw_cfg_add_borrowed(fw, FW_CFG_INITRD_DATA, b->initrd, b->initrd_len);
    }
}

static bool linuxboot_prepare(LinuxBoot *b, PcMachine *pc, hwaddr ram_end, Error **errp)
{
    const MachineConfig *c = &pc->parent.config;
    const char *cmdline = c->append ? c->append : "";

    b->name = c->kernel;
    b->kernel = map_file(c->kernel, "kernel", &b->kernel_len, errp);
    if (!b->kernel || !kernel_check(b, errp) || !cmdline_check(b, strlen(cmdline), errp)) {
        return false;
    }
    if (c->initrd) {
        b->initrd = map_file(c->initrd, "initrd", &b->initrd_len, errp);
        if (!b->initrd) {
            return false;
        }
    }
    place(b, strlen(cmdline));
    if (!initrd_place(b, ram_end, errp)) {
        return false;
    }
    fw_cfg_fill(b, pc->fw_cfg, cmdline);
    return pc_option_rom_add(pc, "linuxboot_dma.bin", linuxboot_rom, sizeof(linuxboot_rom), 0, errp);
}

LinuxBoot *linuxboot_new(PcMachine *pc, hwaddr ram_end, Error **errp)
{
    LinuxBoot *b = g_new0(LinuxBoot, 1);

    if (!linuxboot_prepare(b, pc, ram_end, errp)) {
        linuxboot_free(b);
        return NULL;
    }
    return b;
}

void linuxboot_free(LinuxBoot *b)
{
    if (b) {
        unmap_file(b->kernel, b->kernel_len);
        unmap_file(b->initrd, b->initrd_len);
        g_free(b);
    }
}
