/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fw_cfg as a guest drives it: selectors, data reads, DMA descriptors anywhere in (and beyond) 64 KiB of memory.
 * The input is a list of operations: an opcode byte and its arguments.
 */
#include <string.h>

#include "hw/i386/fw_cfg.h"
#include "system/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Rig {
    FwCfg *fw;
    MemoryRegion root, io, ram;
    AddressSpace as_memory, as_io;
} Rig;

static Rig *rig_new(void)
{
    static Rig r;

    machine_lock();
    memory_region_init(&r.root, NULL, "root", MEMORY_SIZE_ALL);
    memory_region_init(&r.io, NULL, "io", 65536);
    memory_region_init_ram(&r.ram, NULL, "ram", 65536, NULL);
    memory_region_add(&r.root, 0, &r.ram, 0);
    address_space_init(&r.as_memory, &r.root, "memory");
    address_space_init(&r.as_io, &r.io, "io");
    r.fw = (FwCfg *)device_new("fw_cfg_io");
    r.fw->dma_as = &r.as_memory;
    device_plug(&r.fw->parent, NULL, NULL);
    memory_region_add(&r.io, FW_CFG_PORT, &r.fw->io, 0);
    memory_region_add(&r.io, FW_CFG_DMA_PORT, &r.fw->dma_io, 0);
    fw_cfg_add_u64(r.fw, FW_CFG_RAM_SIZE, 65536);
    fw_cfg_add_file(r.fw, "etc/one", "12345", 5, NULL);
    fw_cfg_add_file(r.fw, "etc/empty", "", 0, NULL);
    fw_cfg_add_file_hook(r.fw, "etc/writable", "abcdefgh", 8, true, NULL, NULL, NULL);
    fw_cfg_seal(r.fw);
    return &r;
}

static uint64_t take(const uint8_t **p, const uint8_t *end, int bytes)
{
    uint64_t v = 0;

    for (int i = 0; i < bytes; i++) {
        v = v << 8 | (*p < end ? *(*p)++ : 0);
    }
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Rig *r;
    const uint8_t *p = data, *end = data + size;
    uint8_t descriptor[16];
    uint64_t v, at;

    r = r ? r : rig_new();
    object_reset(&r->fw->parent.obj);
    while (p < end) {
        switch (take(&p, end, 1) % 5) {
        case 0:
            address_space_st(&r->as_io, FW_CFG_PORT, take(&p, end, 2), 2);
            break;
        case 1:
            address_space_ld(&r->as_io, FW_CFG_PORT + take(&p, end, 1) % 12, &v, 1u << take(&p, end, 1) % 4);
            break;
        case 2:
            at = FW_CFG_PORT + take(&p, end, 1) % 12;
            address_space_st(&r->as_io, at, take(&p, end, 4), 1u << take(&p, end, 1) % 4);
            break;
        default:                /* control, a length below 1 MiB, an address near memory */
            at = take(&p, end, 2);
            memset(descriptor, 0, sizeof(descriptor));
            for (int i = 0; i < 4; i++) {
                descriptor[i] = take(&p, end, 1);
            }
            v = take(&p, end, 3) & 0xfffff;
            descriptor[5] = v >> 16;
            descriptor[6] = v >> 8;
            descriptor[7] = v;
            for (int i = 13; i < 16; i++) {
                descriptor[i] = take(&p, end, 1) & (i == 13 ? 1 : 0xff);
            }
            address_space_write(&r->as_memory, at, descriptor, sizeof(descriptor));
            address_space_st(&r->as_io, FW_CFG_DMA_PORT, 0, 4);
            address_space_st(&r->as_io, FW_CFG_DMA_PORT + 4, __builtin_bswap32(at), 4);
        }
    }
    return 0;
}
