/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fw_cfg's device side: selector and data ports, DMA; contract in include/hw/i386/fw_cfg.h.
 *
 * The DMA descriptor is copied once and then judged: control, length, address, all big-endian. A transfer goes in
 * pieces
 * through dma_map, so that a guest's length costs no memory here. Reads beyond an item's end give zeros.
 * Left out: writing through the data port (obsolete since QEMU 2.4). Machine lock. Fuzz: tests/fuzz/fuzz-fwcfg.c.
 */
#include "hw/i386/fw_cfg.h"

#include <string.h>

#include "system/vmstate.h"
#include "util/units.h"

enum { DMA_ERROR = 1, DMA_READ = 2, DMA_SKIP = 4, DMA_SELECT = 8, DMA_WRITE = 16 };
#define DMA_SIGNATURE 0x51454d5520434647ull     /* "QEMU CFG", read at the DMA register */
#define DMA_DESCRIPTOR 16

static FwCfgItem *fw_cfg_item(FwCfg *s, uint16_t key)
{
    if (key & FW_CFG_ARCH_LOCAL) {
        unsigned n = key & ~FW_CFG_ARCH_LOCAL;

        return n < FW_CFG_LOCAL_ITEMS ? &s->local[n] : NULL;
    }
    if (key >= FW_CFG_FILE_FIRST && key < FW_CFG_FILE_FIRST + s->n_files) {
        return &s->file[key - FW_CFG_FILE_FIRST].item;
    }
    return key < FW_CFG_FILE_FIRST ? &s->item[key] : NULL;
}

static void fw_cfg_select(FwCfg *s, uint16_t key)
{
    FwCfgItem *item = fw_cfg_item(s, key);

    s->selector = key;
    s->offset = 0;
    if (item && item->select) {
        item->select(item->opaque);
    }
}

/* Bytes that are left of the selected item. */
static uint32_t fw_cfg_left(FwCfg *s)
{
    const FwCfgItem *item = fw_cfg_item(s, s->selector);

    return item && item->data && s->offset < item->len ? item->len - s->offset : 0;
}

static uint8_t fw_cfg_read_byte(FwCfg *s)
{
    const FwCfgItem *item = fw_cfg_item(s, s->selector);

    return fw_cfg_left(s) ? item->data[s->offset++] : 0;
}

/* The selector is a 16-bit register at 510h, data an 8-bit one at 511h: a word at 510h never touches data. */
static uint64_t fw_cfg_io_read(void *opaque, hwaddr addr, unsigned size)
{
    return addr == 1 && size == 1 ? fw_cfg_read_byte(opaque) : 0;
}

static void fw_cfg_io_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    if (addr == 0 && size == 2) {
        fw_cfg_select(opaque, value);
    }
}

static const MemoryRegionOps fw_cfg_io_ops = {
    .read = fw_cfg_io_read, .write = fw_cfg_io_write,
    .valid = { .min = 1, .max = 2 }, .impl = { .min = 1, .max = 2 },
};

/* ---- DMA ---- */

typedef struct DmaRequest {
    uint32_t control, length;
    uint64_t address;
} DmaRequest;

static uint64_t get_be(const uint8_t *p, int bytes)
{
    uint64_t v = 0;

    for (int i = 0; i < bytes; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

static bool dma_zero(AddressSpace *as, uint64_t addr, uint32_t len)
{
    static const uint8_t zeros[4096];

    while (len) {
        uint32_t part = MIN_OF(len, sizeof(zeros));

        if (address_space_write(as, addr, zeros, part) != MEM_OK) {
            return false;
        }
        addr += part;
        len -= part;
    }
    return true;
}

static bool dma_to_guest(FwCfg *s, const DmaRequest *r)
{
    const FwCfgItem *item = fw_cfg_item(s, s->selector);
    uint32_t n = MIN_OF(r->length, fw_cfg_left(s));

    if (n && address_space_write(s->dma_as, r->address, item->data + s->offset, n) != MEM_OK) {
        return false;
    }
    s->offset += n;
    return dma_zero(s->dma_as, r->address + n, r->length - n);
}

static bool dma_from_guest(FwCfg *s, const DmaRequest *r)
{
    FwCfgItem *item = fw_cfg_item(s, s->selector);

    if (!item || !item->write || r->length > fw_cfg_left(s)) {
        return false;
    }
    if (address_space_read(s->dma_as, r->address, item->owned + s->offset, r->length) != MEM_OK) {
        return false;
    }
    s->offset += r->length;
    return true;
}

static bool dma_run(FwCfg *s, const DmaRequest *r)
{
    if (r->control & DMA_SELECT) {
        fw_cfg_select(s, r->control >> 16);
    }
    if (r->control & DMA_READ) {
        return dma_to_guest(s, r);
    }
    if (r->control & DMA_WRITE) {
        return dma_from_guest(s, r);
    }
    if (r->control & DMA_SKIP) {
        s->offset += MIN_OF(r->length, fw_cfg_left(s));
    }
    return true;
}

static void fw_cfg_dma(FwCfg *s)
{
    uint64_t at = s->dma_addr;
    uint8_t raw[DMA_DESCRIPTOR], status[4] = { 0, 0, 0, DMA_ERROR };
    DmaRequest r;

    s->dma_addr = 0;
    if (!s->dma_as) {
        return;
    }
    if (address_space_read(s->dma_as, at, raw, sizeof(raw)) == MEM_OK) {
        r = (DmaRequest) { get_be(raw, 4), get_be(raw + 4, 4), get_be(raw + 8, 8) };
        if (dma_run(s, &r)) {
            status[3] = 0;
        }
    }
    address_space_write(s->dma_as, at, status, sizeof(status));
}

static uint64_t fw_cfg_dma_read(void *opaque, hwaddr addr, unsigned size)
{
    return size == 8 ? DMA_SIGNATURE : (uint32_t)(DMA_SIGNATURE >> (addr ? 0 : 32));
}

/* The high half waits; the low half (or a whole write) starts the transfer. */
static void fw_cfg_dma_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    FwCfg *s = opaque;

    if (size == 8) {
        s->dma_addr = value;
        fw_cfg_dma(s);
    } else if (addr == 0) {
        s->dma_addr = value << 32;
    } else {
        s->dma_addr |= (uint32_t)value;
        fw_cfg_dma(s);
    }
}

static const MemoryRegionOps fw_cfg_dma_ops = {
    .read = fw_cfg_dma_read, .write = fw_cfg_dma_write, .big_endian = true,
    .valid = { .min = 4, .max = 8 }, .impl = { .min = 4, .max = 8 },
};

/* ---- the device ---- */

static bool fw_cfg_realize(Object *obj, Error **errp)
{
    FwCfg *s = (FwCfg *)obj;

    memory_region_init_io(&s->io, obj, &fw_cfg_io_ops, s, "fwcfg", 2);
    memory_region_init_io(&s->dma_io, obj, &fw_cfg_dma_ops, s, "fwcfg.dma", 8);
    fw_cfg_add_bytes(s, FW_CFG_SIGNATURE, "QEMU", 4);
    fw_cfg_add_u32(s, FW_CFG_ID, s->dma_enabled ? FW_CFG_VERSION_DMA : 1);
    return true;
}

static void fw_cfg_unrealize(Object *obj)
{
    FwCfg *s = (FwCfg *)obj;

    memory_region_fini(&s->io);
    memory_region_fini(&s->dma_io);
}

static void fw_cfg_fini(Object *obj)
{
    FwCfg *s = (FwCfg *)obj;

    for (int i = 0; i < FW_CFG_FILE_FIRST; i++) {
        g_free(s->item[i].owned);
    }
    for (int i = 0; i < FW_CFG_LOCAL_ITEMS; i++) {
        g_free(s->local[i].owned);
    }
    for (int i = 0; i < s->n_files; i++) {
        g_free(s->file[i].item.owned);
    }
}

static void fw_cfg_reset(Object *obj)
{
    FwCfg *s = (FwCfg *)obj;

    fw_cfg_select(s, FW_CFG_SIGNATURE);
    s->dma_addr = 0;
}

static const VMField fw_cfg_fields[] = {
    VM_FIELD(FwCfg, selector, VM_U16),
    VM_FIELD(FwCfg, offset, VM_U32),
    VM_FIELD(FwCfg, dma_addr, VM_U64),
    VM_END
};
static const VMState fw_cfg_vmstate = { .name = "fw_cfg", .version = 1, .fields = fw_cfg_fields };

static const Property fw_cfg_props[] = {
    PROP_FIELD("dma_enabled", PROP_BOOL, FwCfg, dma_enabled, true, "the DMA interface is there"),
    PROP_END
};

static const Type fw_cfg_type = {
    .name = "fw_cfg_io",
    .parent = "device",
    .size = sizeof(FwCfg),
    .props = fw_cfg_props,
    .fini = fw_cfg_fini,
    .realize = fw_cfg_realize,
    .unrealize = fw_cfg_unrealize,
    .reset = fw_cfg_reset,
    .vmstate = &fw_cfg_vmstate,
};
TYPE_REGISTER(fw_cfg_type)
