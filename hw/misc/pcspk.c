/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Port 61h: gate and output of the PIT's counter 2, the speaker's data bit, the refresh toggle.
 * Bit 4 changes every 15.085 us, as DRAM refresh would make it; no sound comes out.
 * Machine lock. Test: tests/unit/test-i8254.c.
 */
#include "hw/timer/i8254.h"
#include "system/vmstate.h"

enum { GATE2 = 0x01, SPEAKER = 0x02, REFRESH = 0x10, OUT2 = 0x20 };
#define REFRESH_NS 15085

typedef struct PcSpk {
    IsaDevice parent;
    uint32_t iobase;                /* config */
    Pit *pit;
    MemoryRegion io;
    bool data_on;                   /* registers */
} PcSpk;

static uint64_t pcspk_read(void *opaque, hwaddr addr, unsigned size)
{
    PcSpk *s = opaque;
    bool refresh = clock_ns(CLOCK_VIRTUAL) / REFRESH_NS & 1;

    return (pit_get_gate(s->pit, 2) ? GATE2 : 0) | (s->data_on ? SPEAKER : 0) |
           (refresh ? REFRESH : 0) | (pit_get_out(s->pit, 2) ? OUT2 : 0);
}

static void pcspk_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    PcSpk *s = opaque;

    pit_set_gate(s->pit, 2, value & GATE2);
    s->data_on = value & SPEAKER;
}

static const MemoryRegionOps pcspk_ops = {
    .read = pcspk_read, .write = pcspk_write, .impl = { .min = 1, .max = 1 },
};

static void pcspk_unrealize(Object *obj)
{
    isa_port_unmap(&((PcSpk *)obj)->io);
}

static bool pcspk_realize(Object *obj, Error **errp)
{
    PcSpk *s = (PcSpk *)obj;

    if (!s->pit) {
        error_set(errp, "isa-pcspk needs the property 'pit'");
        return false;
    }
    memory_region_init_io(&s->io, obj, &pcspk_ops, s, "pcspk", 1);
    if (!isa_port_map(&s->parent, &s->io, s->iobase, errp)) {
        pcspk_unrealize(obj);
        return false;
    }
    return true;
}

static void pcspk_reset(Object *obj)
{
    ((PcSpk *)obj)->data_on = false;
}

static const VMField pcspk_fields[] = {
    VM_FIELD(PcSpk, data_on, VM_BOOL),
    VM_END
};
static const VMState pcspk_vmstate = { .name = "pcspk", .version = 1, .fields = pcspk_fields };

static const Property pcspk_props[] = {
    PROP_FIELD("iobase", PROP_U32, PcSpk, iobase, 0x61, "its port"),
    { .name = "pit", .kind = PROP_LINK, .offset = offsetof(PcSpk, pit), .link_type = "isa-pit",
      .help = "the timer whose counter 2 it drives" },
    PROP_END
};

static const Type pcspk_type = {
    .name = "isa-pcspk",
    .parent = "isa-device",
    .desc = "PC speaker port",
    .size = sizeof(PcSpk),
    .props = pcspk_props,
    .realize = pcspk_realize,
    .unrealize = pcspk_unrealize,
    .reset = pcspk_reset,
    .vmstate = &pcspk_vmstate,
};
TYPE_REGISTER(pcspk_type)
