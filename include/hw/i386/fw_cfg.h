/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fw_cfg: the named blobs that QEMU's boards offer to firmware and guests (docs/specs/fw_cfg of
 * QEMU; Linux's drivers/firmware/qemu_fw_cfg.c). Selector port 510h, data port 511h, DMA address
 * register at 514h (big-endian).
 *
 * Type "fw_cfg_io". Items are added before the machine runs; data is borrowed unless said
 * otherwise. Files are listed sorted by name under selector 19h and get selectors from 20h on in
 * that order, when the machine is finished. A file may be rebuilt by `select` each time a guest
 * selects it. Machine lock. Test: tests/unit/test-pc.c, tests/fuzz/fuzz-fwcfg.c.
 */
#ifndef CLEAT_HW_I386_FW_CFG_H
#define CLEAT_HW_I386_FW_CFG_H

#include "system/memory.h"
#include "system/qdev.h"

#define FW_CFG_PORT 0x510
#define FW_CFG_DMA_PORT 0x514
#define FW_CFG_FILE_FIRST 0x20
#define FW_CFG_FILES_MAX 96
#define FW_CFG_ITEMS (FW_CFG_FILE_FIRST + FW_CFG_FILES_MAX)
#define FW_CFG_NAME_MAX 55

enum {
    FW_CFG_SIGNATURE = 0x00, FW_CFG_ID = 0x01, FW_CFG_UUID = 0x02, FW_CFG_RAM_SIZE = 0x03, FW_CFG_NOGRAPHIC = 0x04,
    FW_CFG_NB_CPUS = 0x05, FW_CFG_KERNEL_ADDR = 0x07, FW_CFG_KERNEL_SIZE = 0x08, FW_CFG_INITRD_ADDR = 0x0a,
    FW_CFG_INITRD_SIZE = 0x0b, FW_CFG_BOOT_DEVICE = 0x0c, FW_CFG_NUMA = 0x0d, FW_CFG_BOOT_MENU = 0x0e,
    FW_CFG_MAX_CPUS = 0x0f, FW_CFG_KERNEL_ENTRY = 0x10, FW_CFG_KERNEL_DATA = 0x11, FW_CFG_INITRD_DATA = 0x12,
    FW_CFG_CMDLINE_ADDR = 0x13, FW_CFG_CMDLINE_SIZE = 0x14, FW_CFG_CMDLINE_DATA = 0x15, FW_CFG_SETUP_ADDR = 0x16,
    FW_CFG_SETUP_SIZE = 0x17, FW_CFG_SETUP_DATA = 0x18, FW_CFG_FILE_DIR = 0x19,
    FW_CFG_ARCH_LOCAL = 0x8000, FW_CFG_IRQ0_OVERRIDE = 0x8002, FW_CFG_E820_TABLE = 0x8003,
};
#define FW_CFG_LOCAL_ITEMS 8
#define FW_CFG_VERSION_DMA 3u           /* traditional interface and DMA */

typedef struct FwCfgItem {
    const uint8_t *data;
    uint32_t len;
    uint8_t *owned;                     /* freed with the item */
    void (*select)(void *opaque);       /* before a guest reads it from the start */
    void *opaque;
    bool write;                         /* a guest may write (DMA): data is then `owned` */
} FwCfgItem;

typedef struct FwCfgFile {
    char name[FW_CFG_NAME_MAX + 1];
    FwCfgItem item;
} FwCfgFile;

typedef struct FwCfg {
    Device parent;
    /* config */
    bool dma_enabled;
    /* wiring */
    MemoryRegion io, dma_io;
    AddressSpace *dma_as;               /* what DMA reaches; set by the board */
    FwCfgItem item[FW_CFG_ITEMS], local[FW_CFG_LOCAL_ITEMS];
    FwCfgFile file[FW_CFG_FILES_MAX];
    int n_files;
    bool sealed;
    uint8_t *dir;
    /* registers */
    uint16_t selector;
    uint32_t offset;
    uint64_t dma_addr;
} FwCfg;

/* Numbered items: bytes (copied), little-endian integers, or borrowed memory. Adding one again replaces it. */
void fw_cfg_add_bytes(FwCfg *s, uint16_t key, const void *data, uint32_t len);
void fw_cfg_add_borrowed(FwCfg *s, uint16_t key, const void *data, uint32_t len);
void fw_cfg_add_u16(FwCfg *s, uint16_t key, uint16_t v);
void fw_cfg_add_u32(FwCfg *s, uint16_t key, uint32_t v);
void fw_cfg_add_u64(FwCfg *s, uint16_t key, uint64_t v);
void fw_cfg_add_string(FwCfg *s, uint16_t key, const char *text);

/* Files; data is copied. False: no room, a name twice, or one that is too long. */
bool fw_cfg_add_file(FwCfg *s, const char *name, const void *data, uint32_t len, Error **errp);
/* The same with a hook, and writable by the guest's DMA if `write`. */
bool fw_cfg_add_file_hook(FwCfg *s, const char *name, const void *data, uint32_t len, bool write,
                          void (*select)(void *opaque), void *opaque, Error **errp);
/* New content of a file that exists (from its select hook or at reset); copied. */
void fw_cfg_modify_file(FwCfg *s, const char *name, const void *data, uint32_t len);
const FwCfgItem *fw_cfg_find_file(const FwCfg *s, const char *name);
/* -fw_cfg: name=,string=|file=|gen_id=; warns where the name does not begin with "opt/". */
bool fw_cfg_add_option(FwCfg *s, const PropPair *props, Error **errp);
/* Sorts and numbers the files, makes the directory. After the last file. */
void fw_cfg_seal(FwCfg *s);

#endif
