/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 8237A DMA controller with page registers, as a register file: firmware and kernels set it up and
 * read it back, but no ISA device here asks for a transfer.
 *
 * One chip a Type instance: ports base + (n << dshift), pages at page-base and pageh-base.
 * Machine lock. Test: tests/unit/test-pc-ports.c.
 */
#include "hw/isa/isa.h"
#include "system/vmstate.h"

enum { REG_COMMAND = 8, REG_REQUEST = 9, REG_MASK_ONE = 10, REG_MODE = 11, REG_CLEAR_FF = 12,
       REG_RESET = 13, REG_CLEAR_MASK = 14, REG_MASK_ALL = 15 };

typedef struct Dma8237 {
    IsaDevice parent;
    /* config */
    int32_t base, dshift, page_base, pageh_base;
    /* wiring */
    MemoryRegion io, page_io[2], pageh_io[2];
    /* registers */
    uint16_t start[4], now[4], start_count[4], now_count[4];
    uint8_t page[8], pageh[8];      /* by port; 1, 2, 3 and 7 belong to channels 2, 3, 1 and 0 */
    uint8_t mode[4], command, mask, request;
    bool high_next;                 /* the byte pointer flip-flop */
} Dma8237;

static void dma_master_clear(Dma8237 *s)
{
    s->command = s->request = 0;
    s->mask = 0x0f;
    s->high_next = false;
}

static uint8_t dma_read_half(Dma8237 *s, uint16_t value)
{
    s->high_next = !s->high_next;
    return s->high_next ? value : value >> 8;
}

static void dma_write_half(Dma8237 *s, uint16_t *start, uint16_t *now, uint8_t value)
{
    *start = s->high_next ? (*start & 0xff) | value << 8 : (*start & 0xff00) | value;
    *now = *start;
    s->high_next = !s->high_next;
}

static uint64_t dma_read(void *opaque, hwaddr addr, unsigned size)
{
    Dma8237 *s = opaque;
    unsigned reg = addr >> s->dshift;

    if (reg < 8) {
        return dma_read_half(s, reg & 1 ? s->now_count[reg / 2] : s->now[reg / 2]);
    }
    switch (reg) {
    case REG_COMMAND: return s->request << 4;       /* status: no terminal count was reached */
    case REG_MASK_ALL: return s->mask | 0xf0;
    default: return 0;
    }
}

static void dma_write_control(Dma8237 *s, unsigned reg, uint8_t value)
{
    uint8_t bit = 1 << (value & 3);

    switch (reg) {
    case REG_COMMAND: s->command = value; break;
    case REG_REQUEST: s->request = value & 4 ? s->request | bit : s->request & ~bit; break;
    case REG_MASK_ONE: s->mask = value & 4 ? s->mask | bit : s->mask & ~bit; break;
    case REG_MODE: s->mode[value & 3] = value; break;
    case REG_CLEAR_FF: s->high_next = false; break;
    case REG_RESET: dma_master_clear(s); break;
    case REG_CLEAR_MASK: s->mask = 0; break;
    case REG_MASK_ALL: s->mask = value & 0x0f; break;
    }
}

static void dma_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Dma8237 *s = opaque;
    unsigned reg = addr >> s->dshift, n = reg / 2;

    if (reg >= 8) {
        dma_write_control(s, reg, value);
    } else if (reg & 1) {
        dma_write_half(s, &s->start_count[n], &s->now_count[n], value);
    } else {
        dma_write_half(s, &s->start[n], &s->now[n], value);
    }
}

static const MemoryRegionOps dma_ops = {
    .read = dma_read, .write = dma_write, .impl = { .min = 1, .max = 1 },
};

/* Page registers: ports 1..3 and 7 of a block of 8; the others are POST code and scratch ports. */
static const uint8_t page_first[2] = { 1, 7 }, page_count[2] = { 3, 1 };

static uint64_t dma_page_read(void *opaque, hwaddr addr, unsigned size)
{
    return ((uint8_t *)opaque)[addr];
}

static void dma_page_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    ((uint8_t *)opaque)[addr] = value;
}

static const MemoryRegionOps dma_page_ops = {
    .read = dma_page_read, .write = dma_page_write, .impl = { .min = 1, .max = 1 },
};

static void dma_unrealize(Object *obj)
{
    Dma8237 *s = (Dma8237 *)obj;

    isa_port_unmap(&s->io);
    for (int i = 0; i < 2; i++) {
        isa_port_unmap(&s->page_io[i]);
        isa_port_unmap(&s->pageh_io[i]);
    }
}

static bool dma_map_ports(Dma8237 *s, Error **errp)
{
    bool ok = isa_port_map(&s->parent, &s->io, s->base, errp);

    for (int i = 0; i < 2 && ok; i++) {
        ok = isa_port_map(&s->parent, &s->page_io[i], s->page_base + page_first[i], errp) &&
             isa_port_map(&s->parent, &s->pageh_io[i], s->pageh_base + page_first[i], errp);
    }
    return ok;
}

static bool dma_realize(Object *obj, Error **errp)
{
    Dma8237 *s = (Dma8237 *)obj;

    if (s->dshift < 0 || s->dshift > 1) {
        error_set(errp, "i8257: dshift=%d is not possible: 0 or 1", s->dshift);
        return false;
    }
    memory_region_init_io(&s->io, obj, &dma_ops, s, "dma", 16 << s->dshift);
    for (int i = 0; i < 2; i++) {
        memory_region_init_io(&s->page_io[i], obj, &dma_page_ops, s->page + page_first[i],
                              "dma-page", page_count[i]);
        memory_region_init_io(&s->pageh_io[i], obj, &dma_page_ops, s->pageh + page_first[i],
                              "dma-pageh", page_count[i]);
    }
    if (!dma_map_ports(s, errp)) {
        dma_unrealize(obj);
        return false;
    }
    return true;
}

static void dma_reset(Object *obj)
{
    dma_master_clear((Dma8237 *)obj);
}

static const VMField dma_fields[] = {
    VM_ARRAY(Dma8237, start, VM_U16),
    VM_ARRAY(Dma8237, now, VM_U16),
    VM_ARRAY(Dma8237, start_count, VM_U16),
    VM_ARRAY(Dma8237, now_count, VM_U16),
    VM_BUFFER(Dma8237, page),
    VM_BUFFER(Dma8237, pageh),
    VM_ARRAY(Dma8237, mode, VM_U8),
    VM_FIELD(Dma8237, command, VM_U8),
    VM_FIELD(Dma8237, mask, VM_U8),
    VM_FIELD(Dma8237, request, VM_U8),
    VM_FIELD(Dma8237, high_next, VM_BOOL),
    VM_END
};
static const VMState dma_vmstate = { .name = "i8257", .version = 1, .fields = dma_fields };

static const Property dma_props[] = {
    PROP_FIELD("base", PROP_I32, Dma8237, base, 0, "first port"),
    PROP_FIELD("page-base", PROP_I32, Dma8237, page_base, 0x80, "block of page registers"),
    PROP_FIELD("pageh-base", PROP_I32, Dma8237, pageh_base, 0x480, "block of high page registers"),
    PROP_FIELD("dshift", PROP_I32, Dma8237, dshift, 0, "1: registers are two ports apart"),
    PROP_END
};

static const Type dma_type = {
    .name = "i8257",
    .parent = "isa-device",
    .desc = "8237A DMA controller",
    .size = sizeof(Dma8237),
    .props = dma_props,
    .realize = dma_realize,
    .unrealize = dma_unrealize,
    .reset = dma_reset,
    .vmstate = &dma_vmstate,
};
TYPE_REGISTER(dma_type)
