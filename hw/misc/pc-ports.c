/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PC chip set's small ports: 92h (PS/2 system control port A), cf9h (reset control), 80h and edh
 * (delays, POST codes), f0h (clears FERR#).
 *
 * 92h bit 0 rising resets, bit 1 is A20. Left out: 92h's watchdog and lock bits.
 * Machine lock. Test: tests/unit/test-pc-ports.c.
 */
#include "hw/misc/pc-ports.h"

#include "system/runstate.h"

/* ---- port 92h ---- */

enum { PORT92_RESET = 0x01, PORT92_A20 = 0x02 };

static void port92_update(Port92 *s)
{
    irq_set(s->a20, !!(s->outport & PORT92_A20));
}

static uint64_t port92_read(void *opaque, hwaddr addr, unsigned size)
{
    return ((Port92 *)opaque)->outport;
}

static void port92_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Port92 *s = opaque;
    bool reset = value & ~s->outport & PORT92_RESET;

    s->outport = value;
    port92_update(s);
    if (reset) {
        system_reset_request(SHUTDOWN_GUEST_RESET);
    }
}

static const MemoryRegionOps port92_ops = {
    .read = port92_read, .write = port92_write, .impl = { .min = 1, .max = 1 },
};

static bool port92_realize(Object *obj, Error **errp)
{
    Port92 *s = (Port92 *)obj;

    memory_region_init_io(&s->io, obj, &port92_ops, s, "port92", 1);
    return isa_port_map(&s->parent, &s->io, 0x92, errp);
}

static void port92_unrealize(Object *obj)
{
    isa_port_unmap(&((Port92 *)obj)->io);
}

static void port92_reset(Object *obj)
{
    Port92 *s = (Port92 *)obj;

    s->outport = PORT92_A20;
    port92_update(s);
}

static const VMField port92_fields[] = {
    VM_FIELD(Port92, outport, VM_U8),
    VM_END
};
static const VMState port92_vmstate = {
    .name = "port92", .version = 1, .fields = port92_fields,     /* A20 is in the CPUs' state, too */
};

static const Type port92_type = {
    .name = "port92",
    .parent = "isa-device",
    .desc = "system control port A",
    .size = sizeof(Port92),
    .realize = port92_realize,
    .unrealize = port92_unrealize,
    .reset = port92_reset,
    .vmstate = &port92_vmstate,
};
TYPE_REGISTER(port92_type)

/* ---- delay ports and FERR# ---- */

static uint64_t pc_ports_read(void *opaque, hwaddr addr, unsigned size)
{
    return UINT64_MAX;
}

static void pc_ports_write_delay(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static void pc_ports_write_f0(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    irq_pulse(((PcPorts *)opaque)->ferr_clear);
}

static const MemoryRegionOps pc_ports_delay_ops = {
    .read = pc_ports_read, .write = pc_ports_write_delay,
};
static const MemoryRegionOps pc_ports_f0_ops = {
    .read = pc_ports_read, .write = pc_ports_write_f0, .impl = { .min = 1, .max = 1 },
};

static void pc_ports_unrealize(Object *obj)
{
    PcPorts *s = (PcPorts *)obj;

    isa_port_unmap(&s->io80);
    isa_port_unmap(&s->ioed);
    isa_port_unmap(&s->iof0);
}

static bool pc_ports_realize(Object *obj, Error **errp)
{
    PcPorts *s = (PcPorts *)obj;

    memory_region_init_io(&s->io80, obj, &pc_ports_delay_ops, s, "ioport80", 1);
    memory_region_init_io(&s->ioed, obj, &pc_ports_delay_ops, s, "ioportED", 1);
    memory_region_init_io(&s->iof0, obj, &pc_ports_f0_ops, s, "ioportF0", 1);
    if (!isa_port_map(&s->parent, &s->io80, 0x80, errp) ||
        !isa_port_map(&s->parent, &s->ioed, 0xed, errp) ||
        !isa_port_map(&s->parent, &s->iof0, 0xf0, errp)) {
        pc_ports_unrealize(obj);
        return false;
    }
    return true;
}

static const Type pc_ports_type = {
    .name = "pc-ports",
    .parent = "isa-device",
    .desc = "delay ports and coprocessor error clear",
    .size = sizeof(PcPorts),
    .realize = pc_ports_realize,
    .unrealize = pc_ports_unrealize,
};
TYPE_REGISTER(pc_ports_type)

/* ---- cf9h ---- */

enum { RESET_CPU = 0x04 };                  /* starts the reset that bits 1 and 3 choose */

static uint64_t reset_control_read(void *opaque, hwaddr addr, unsigned size)
{
    return ((ResetControl *)opaque)->value;
}

/* Hard, full and soft (INIT) reset all end as a reset of the whole machine. */
static void reset_control_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    ResetControl *rc = opaque;

    rc->value = value & rc->keep;
    if (value & RESET_CPU) {
        system_reset_request(SHUTDOWN_GUEST_RESET);
    }
}

static const MemoryRegionOps reset_control_ops = {
    .read = reset_control_read, .write = reset_control_write, .impl = { .min = 1, .max = 1 },
};

void reset_control_init(ResetControl *rc, Object *owner, uint8_t keep)
{
    rc->keep = keep;
    memory_region_init_io(&rc->io, owner, &reset_control_ops, rc, "reset-control", 1);
}

void reset_control_fini(ResetControl *rc)
{
    isa_port_unmap(&rc->io);
}

void reset_control_reset(ResetControl *rc)
{
    rc->value = 0;
}

static const VMField reset_control_fields[] = {
    VM_FIELD(ResetControl, value, VM_U8),
    VM_END
};
const VMState reset_control_vmstate = {
    .name = "reset-control", .version = 1, .fields = reset_control_fields,
};
