/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * i8042 keyboard controller as in a PS/2 (IBM PS/2 Technical Reference, "Keyboard/Auxiliary Device
 * Controller"). Answers are there as soon as they are asked for: probing takes no time.
 *
 * Bytes reach the output buffer in the order controller, keyboard, mouse; the buffer is refilled
 * when it has been read, with a falling and a rising interrupt edge. Left out: active multiplexing,
 * parity and time-out errors, the security lock. Machine lock. Test: tests/unit/test-i8042.c.
 */
#include "hw/input/i8042.h"

#include "system/runstate.h"
#include "util/log.h"

enum { STATUS_OBF = 0x01, STATUS_SYS = 0x04, STATUS_CMD = 0x08, STATUS_UNLOCKED = 0x10,
       STATUS_AUX_OBF = 0x20 };
enum { CONFIG_KBD_INT = 0x01, CONFIG_AUX_INT = 0x02, CONFIG_SYS = 0x04, CONFIG_KBD_OFF = 0x10,
       CONFIG_AUX_OFF = 0x20, CONFIG_XLATE = 0x40 };
enum { OUT_RESET = 0x01, OUT_A20 = 0x02, OUT_KBD_OBF = 0x10, OUT_AUX_OBF = 0x20 };
enum { CMD_READ_RAM = 0x20, CMD_WRITE_RAM = 0x60, CMD_AUX_OFF = 0xa7, CMD_AUX_ON = 0xa8,
       CMD_AUX_TEST = 0xa9, CMD_SELF_TEST = 0xaa, CMD_KBD_TEST = 0xab, CMD_KBD_OFF = 0xad,
       CMD_KBD_ON = 0xae, CMD_READ_IN = 0xc0, CMD_READ_OUT = 0xd0, CMD_WRITE_OUT = 0xd1,
       CMD_KBD_LOOP = 0xd2, CMD_AUX_LOOP = 0xd3, CMD_AUX_WRITE = 0xd4, CMD_A20_OFF = 0xdd,
       CMD_A20_ON = 0xdf, CMD_PULSE = 0xf0 };

/* Scan code set 2 to set 1, by make code. */
static const uint8_t xlate[128] = {
    0xff, 0x43, 0x41, 0x3f, 0x3d, 0x3b, 0x3c, 0x58, 0x64, 0x44, 0x42, 0x40, 0x3e, 0x0f, 0x29, 0x59,
    0x65, 0x38, 0x2a, 0x70, 0x1d, 0x10, 0x02, 0x5a, 0x66, 0x71, 0x2c, 0x1f, 0x1e, 0x11, 0x03, 0x5b,
    0x67, 0x2e, 0x2d, 0x20, 0x12, 0x05, 0x04, 0x5c, 0x68, 0x39, 0x2f, 0x21, 0x14, 0x13, 0x06, 0x5d,
    0x69, 0x31, 0x30, 0x23, 0x22, 0x15, 0x07, 0x5e, 0x6a, 0x72, 0x32, 0x24, 0x16, 0x08, 0x09, 0x5f,
    0x6b, 0x33, 0x25, 0x17, 0x18, 0x0b, 0x0a, 0x60, 0x6c, 0x34, 0x35, 0x26, 0x27, 0x19, 0x0c, 0x61,
    0x6d, 0x73, 0x28, 0x74, 0x1a, 0x0d, 0x62, 0x6e, 0x3a, 0x36, 0x1c, 0x1b, 0x75, 0x2b, 0x63, 0x76,
    0x55, 0x56, 0x77, 0x78, 0x79, 0x7a, 0x0e, 0x7b, 0x7c, 0x4f, 0x7d, 0x4b, 0x47, 0x7e, 0x7f, 0x6f,
    0x52, 0x53, 0x50, 0x4c, 0x4d, 0x48, 0x01, 0x45, 0x57, 0x4e, 0x51, 0x4a, 0x37, 0x49, 0x46, 0x54,
};

/* ---- output buffer ---- */

static void i8042_update(I8042 *s)
{
    irq_set(s->kbd_irq, s->source == I8042_KBD && (s->config & CONFIG_KBD_INT));
    irq_set(s->mouse_irq, s->source == I8042_AUX && (s->config & CONFIG_AUX_INT));
}

/* -1: the byte is a break prefix, which set 1 has as bit 7 of the code that follows. */
static int i8042_translate(I8042 *s, uint8_t byte)
{
    uint8_t release = s->break_prefix ? 0x80 : 0;

    if (!(s->config & CONFIG_XLATE)) {
        return byte;
    }
    s->break_prefix = byte == 0xf0;
    if (s->break_prefix) {
        return -1;
    }
    if (byte == 0x83) {                     /* F7, and the second byte of the keyboard's identity */
        return 0x41 | release;
    }
    return byte < 0x80 ? xlate[byte] | release : byte;
}

static int i8042_next_kbd(I8042 *s)
{
    int byte = -1;

    while (!(s->config & CONFIG_KBD_OFF) && byte < 0 && s->kbd.out.count) {
        byte = i8042_translate(s, ps2_queue_pop(&s->kbd.out));
    }
    return byte;
}

static bool i8042_load_reply(I8042 *s)
{
    if (!s->replies) {
        return false;
    }
    s->data = s->reply[0];
    s->source = s->reply_aux[0] ? I8042_AUX : I8042_KBD;
    s->replies--;
    memmove(s->reply, s->reply + 1, sizeof(s->reply) - 1);
    memmove(s->reply_aux, s->reply_aux + 1, sizeof(s->reply_aux) - sizeof(s->reply_aux[0]));
    return true;
}

/* Fills an empty output buffer with whatever waits. */
static void i8042_load(void *opaque)
{
    I8042 *s = opaque;
    int byte;

    if (s->source == I8042_EMPTY && !i8042_load_reply(s)) {
        byte = i8042_next_kbd(s);
        s->source = byte >= 0 ? I8042_KBD : I8042_EMPTY;
        if (byte < 0 && !(s->config & CONFIG_AUX_OFF)) {
            ps2_mouse_refill(&s->mouse);
            byte = ps2_queue_pop(&s->mouse.out);
            s->source = byte >= 0 ? I8042_AUX : I8042_EMPTY;
        }
        s->data = byte >= 0 ? byte : s->data;
    }
    i8042_update(s);
}

static void i8042_reply(I8042 *s, uint8_t byte, bool aux)
{
    if (s->replies < sizeof(s->reply)) {
        s->reply[s->replies] = byte;
        s->reply_aux[s->replies++] = aux;
    }
    i8042_load(s);
}

/* ---- registers ---- */

static void i8042_write_outport(I8042 *s, uint8_t value)
{
    s->outport = value & ~(OUT_KBD_OBF | OUT_AUX_OBF);
    irq_set(s->a20, !!(value & OUT_A20));
    if (!(value & OUT_RESET)) {
        system_reset_request(SHUTDOWN_GUEST_RESET);
    }
}

static uint8_t i8042_read_outport(const I8042 *s)
{
    return s->outport | (s->source == I8042_KBD ? OUT_KBD_OBF : 0) |
           (s->source == I8042_AUX ? OUT_AUX_OBF : 0);
}

static void i8042_write_config(I8042 *s, uint8_t value)
{
    s->config = value;
    s->status = value & CONFIG_SYS ? s->status | STATUS_SYS : s->status & ~STATUS_SYS;
    i8042_load(s);
}

static void i8042_set_config_bit(I8042 *s, uint8_t bit, bool on)
{
    s->config = on ? s->config | bit : s->config & ~bit;
    i8042_load(s);
}

static void i8042_self_test(I8042 *s)
{
    s->status |= STATUS_SYS;
    s->config |= CONFIG_SYS;
    i8042_reply(s, 0x55, false);
}

static void i8042_command(I8042 *s, uint8_t value)
{
    s->command = 0;
    switch (value) {
    case CMD_READ_RAM: i8042_reply(s, s->config, false); break;
    case CMD_AUX_OFF: i8042_set_config_bit(s, CONFIG_AUX_OFF, true); break;
    case CMD_AUX_ON: i8042_set_config_bit(s, CONFIG_AUX_OFF, false); break;
    case CMD_KBD_OFF: i8042_set_config_bit(s, CONFIG_KBD_OFF, true); break;
    case CMD_KBD_ON: i8042_set_config_bit(s, CONFIG_KBD_OFF, false); break;
    case CMD_AUX_TEST: i8042_reply(s, 0, false); break;
    case CMD_KBD_TEST: i8042_reply(s, 0, false); break;
    case CMD_SELF_TEST: i8042_self_test(s); break;
    case CMD_READ_IN: i8042_reply(s, 0x80, false); break;
    case CMD_READ_OUT: i8042_reply(s, i8042_read_outport(s), false); break;
    case CMD_A20_OFF: i8042_write_outport(s, s->outport & ~OUT_A20); break;
    case CMD_A20_ON: i8042_write_outport(s, s->outport | OUT_A20); break;
    case CMD_WRITE_RAM:
    case CMD_WRITE_OUT:
    case CMD_KBD_LOOP:
    case CMD_AUX_LOOP:
    case CMD_AUX_WRITE:
        s->command = value;
        break;
    default:
        if (value < CMD_PULSE) {
            log_mask(LOG_GUEST_ERROR, "i8042: command 0x%02x is not known\n", value);
        } else if (!(value & OUT_RESET)) {
            system_reset_request(SHUTDOWN_GUEST_RESET);
        }
    }
}

/* A byte at port 60h: the argument of a command, or the keyboard's (which wakes its interface). */
static void i8042_write_data(I8042 *s, uint8_t value)
{
    uint8_t command = s->command;

    s->command = 0;
    switch (command) {
    case CMD_WRITE_RAM: i8042_write_config(s, value); break;
    case CMD_WRITE_OUT: i8042_write_outport(s, value); break;
    case CMD_KBD_LOOP: i8042_reply(s, value, false); break;
    case CMD_AUX_LOOP: i8042_reply(s, value, true); break;
    case CMD_AUX_WRITE:
        s->config &= ~CONFIG_AUX_OFF;
        ps2_mouse_write(&s->mouse, value);
        break;
    default:
        s->config &= ~CONFIG_KBD_OFF;
        ps2_keyboard_write(&s->kbd, value);
        break;
    }
}

static uint8_t i8042_read_data(I8042 *s)
{
    uint8_t data = s->data;

    s->source = I8042_EMPTY;
    i8042_update(s);                        /* the line drops before the next byte raises it */
    i8042_load(s);
    return data;
}

static uint8_t i8042_read_status(const I8042 *s)
{
    return s->status | STATUS_UNLOCKED | (s->source != I8042_EMPTY ? STATUS_OBF : 0) |
           (s->source == I8042_AUX ? STATUS_AUX_OBF : 0);
}

static uint64_t i8042_data_read(void *opaque, hwaddr addr, unsigned size)
{
    return i8042_read_data(opaque);
}

static void i8042_data_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    I8042 *s = opaque;

    s->status &= ~STATUS_CMD;
    i8042_write_data(s, value);
}

static uint64_t i8042_cmd_read(void *opaque, hwaddr addr, unsigned size)
{
    return i8042_read_status(opaque);
}

static void i8042_cmd_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    I8042 *s = opaque;

    s->status |= STATUS_CMD;
    i8042_command(s, value);
}

static const MemoryRegionOps i8042_data_ops = {
    .read = i8042_data_read, .write = i8042_data_write, .impl = { .min = 1, .max = 1 },
};
static const MemoryRegionOps i8042_cmd_ops = {
    .read = i8042_cmd_read, .write = i8042_cmd_write, .impl = { .min = 1, .max = 1 },
};

/* ---- life ---- */

static void i8042_init(Object *obj)
{
    I8042 *s = (I8042 *)obj;

    s->kbd.changed = s->mouse.changed = i8042_load;
    s->kbd.opaque = s->mouse.opaque = s;
}

static void i8042_unrealize(Object *obj)
{
    I8042 *s = (I8042 *)obj;

    isa_port_unmap(&s->data_io);
    isa_port_unmap(&s->cmd_io);
    isa_irq_put(&s->parent, s->kbd_irq);
    isa_irq_put(&s->parent, s->mouse_irq);
}

static bool i8042_realize(Object *obj, Error **errp)
{
    I8042 *s = (I8042 *)obj;

    memory_region_init_io(&s->data_io, obj, &i8042_data_ops, s, "i8042-data", 1);
    memory_region_init_io(&s->cmd_io, obj, &i8042_cmd_ops, s, "i8042-cmd", 1);
    if (!isa_irq_get(&s->parent, s->kbd_irq_no, &s->kbd_irq, errp) ||
        !isa_irq_get(&s->parent, s->mouse_irq_no, &s->mouse_irq, errp) ||
        !isa_port_map(&s->parent, &s->data_io, 0x60, errp) ||
        !isa_port_map(&s->parent, &s->cmd_io, 0x64, errp)) {
        i8042_unrealize(obj);
        return false;
    }
    return true;
}

static void i8042_reset(Object *obj)
{
    I8042 *s = (I8042 *)obj;

    /* As firmware leaves it, for guests that start without one: tested, translating. */
    s->status = STATUS_CMD | STATUS_SYS;
    s->config = CONFIG_KBD_INT | CONFIG_AUX_INT | CONFIG_SYS | CONFIG_XLATE;
    s->outport = OUT_RESET | OUT_A20;
    s->command = s->data = s->replies = 0;
    s->source = I8042_EMPTY;
    s->break_prefix = false;
    ps2_keyboard_reset(&s->kbd);
    ps2_mouse_reset(&s->mouse);
    irq_set(s->a20, 1);
    i8042_update(s);
}

static bool i8042_post_load(void *opaque, Error **errp)
{
    I8042 *s = opaque;

    if (s->replies > sizeof(s->reply) || s->source > I8042_AUX) {
        error_set(errp, "i8042: the output buffer's state is out of range");
        return false;
    }
    i8042_update(s);                    /* A20 is in the CPUs' state: another chip may have set it since */
    return true;
}

static const VMField i8042_fields[] = {
    VM_SUB(I8042, kbd, ps2_keyboard_vmstate),
    VM_SUB(I8042, mouse, ps2_mouse_vmstate),
    VM_FIELD(I8042, status, VM_U8),
    VM_FIELD(I8042, config, VM_U8),
    VM_FIELD(I8042, outport, VM_U8),
    VM_FIELD(I8042, command, VM_U8),
    VM_FIELD(I8042, data, VM_U8),
    VM_FIELD(I8042, source, VM_U8),
    VM_ARRAY(I8042, reply, VM_U8),
    VM_ARRAY(I8042, reply_aux, VM_BOOL),
    VM_FIELD(I8042, replies, VM_U8),
    VM_FIELD(I8042, break_prefix, VM_BOOL),
    VM_END
};
static const VMState i8042_vmstate = {
    .name = "i8042", .version = 1, .fields = i8042_fields, .post_load = i8042_post_load,
};

static const Property i8042_props[] = {
    PROP_FIELD("kbd-irq", PROP_U8, I8042, kbd_irq_no, 1, "keyboard's ISA interrupt"),
    PROP_FIELD("mouse-irq", PROP_U8, I8042, mouse_irq_no, 12, "mouse's ISA interrupt"),
    PROP_END
};

static const Type i8042_type = {
    .name = "i8042",
    .parent = "isa-device",
    .desc = "keyboard controller with PS/2 keyboard and mouse",
    .category = "Input devices",
    .user_creatable = true,
    .size = sizeof(I8042),
    .props = i8042_props,
    .init = i8042_init,
    .realize = i8042_realize,
    .unrealize = i8042_unrealize,
    .reset = i8042_reset,
    .vmstate = &i8042_vmstate,
};
TYPE_REGISTER(i8042_type)
