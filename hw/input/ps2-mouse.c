/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PS/2 mouse with the wheel and five-button extensions (the knocks 200-100-80 and 200-200-80).
 * Reports are made when the controller has taken the last one, so motion adds up meanwhile.
 * Left out: the sample rate as a limit. Machine lock. Test: tests/unit/test-i8042.c.
 */
#include "hw/input/ps2.h"

enum { MOUSE_SCALE1 = 0xe6, MOUSE_SCALE2 = 0xe7, MOUSE_RESOLUTION = 0xe8, MOUSE_STATUS = 0xe9,
       MOUSE_STREAM = 0xea, MOUSE_POLL = 0xeb, MOUSE_UNWRAP = 0xec, MOUSE_WRAP = 0xee,
       MOUSE_REMOTE = 0xf0, MOUSE_IDENTIFY = 0xf2, MOUSE_RATE = 0xf3, MOUSE_ENABLE = 0xf4,
       MOUSE_DISABLE = 0xf5, MOUSE_DEFAULTS = 0xf6, MOUSE_RESET = 0xff };
enum { ACK = 0xfa, NAK = 0xfe, SELF_TEST_OK = 0xaa };
enum { ST_SCALE2 = 0x10, ST_ENABLED = 0x20, ST_REMOTE = 0x40 };
enum { ID_PLAIN = 0, ID_WHEEL = 3, ID_FIVE = 4 };

static void mouse_answer(Ps2Mouse *m, uint8_t byte)
{
    ps2_queue_put(&m->out, byte);
}

static void mouse_defaults(Ps2Mouse *m)
{
    m->rate = 100;
    m->resolution = 2;
    m->status = 0;
    m->dx = m->dy = m->dz = 0;
}

void ps2_mouse_reset(Ps2Mouse *m)
{
    m->out.count = m->out.head = 0;
    m->command = m->id = m->buttons = m->knock[0] = m->knock[1] = 0;
    m->wrap = false;
    mouse_defaults(m);
}

/* One packet; motion beyond what it can say stays for the next. */
static void mouse_report(Ps2Mouse *m)
{
    int dx = CLAMP(m->dx, -255, 255), dy = CLAMP(m->dy, -255, 255), dz = CLAMP(m->dz, -8, 7);

    m->dx -= dx;
    m->dy -= dy;
    m->dz -= dz;
    mouse_answer(m, 0x08 | (m->buttons & 7) | (dx < 0 ? 0x10 : 0) | (dy > 0 ? 0x20 : 0));
    mouse_answer(m, dx);
    mouse_answer(m, -dy);                   /* the packet's y grows upwards */
    if (m->id == ID_WHEEL) {
        mouse_answer(m, dz);
    } else if (m->id == ID_FIVE) {
        mouse_answer(m, (dz & 0x0f) | (m->buttons & 0x18) << 1);
    }
}

static void mouse_knock(Ps2Mouse *m, uint8_t rate)
{
    if (m->knock[0] == 200 && m->knock[1] == 100 && rate == 80) {
        m->id = ID_WHEEL;
    } else if (m->knock[0] == 200 && m->knock[1] == 200 && rate == 80) {
        m->id = ID_FIVE;
    }
    m->knock[0] = m->knock[1];
    m->knock[1] = rate;
    m->rate = rate;
}

static void mouse_command(Ps2Mouse *m, uint8_t byte)
{
    mouse_answer(m, ACK);
    switch (byte) {
    case MOUSE_SCALE1: m->status &= ~ST_SCALE2; break;
    case MOUSE_SCALE2: m->status |= ST_SCALE2; break;
    case MOUSE_STREAM: m->status &= ~ST_REMOTE; break;
    case MOUSE_REMOTE: m->status |= ST_REMOTE; break;
    case MOUSE_ENABLE: m->status |= ST_ENABLED; break;
    case MOUSE_DISABLE: m->status &= ~ST_ENABLED; break;
    case MOUSE_UNWRAP: m->wrap = false; break;
    case MOUSE_WRAP: m->wrap = true; break;
    case MOUSE_DEFAULTS: mouse_defaults(m); break;
    case MOUSE_IDENTIFY: mouse_answer(m, m->id); break;
    case MOUSE_POLL: mouse_report(m); break;
    case MOUSE_RESOLUTION:
    case MOUSE_RATE:
        m->command = byte;
        break;
    case MOUSE_STATUS:
        mouse_answer(m, m->status | (m->buttons & 1) << 2 | (m->buttons & 4) >> 1 |
                     (m->buttons & 2) >> 1);
        mouse_answer(m, m->resolution);
        mouse_answer(m, m->rate);
        break;
    case MOUSE_RESET:
        ps2_mouse_reset(m);
        mouse_answer(m, ACK);
        mouse_answer(m, SELF_TEST_OK);
        mouse_answer(m, ID_PLAIN);
        break;
    default:
        m->out.count = 0;
        mouse_answer(m, NAK);
        break;
    }
}

static void mouse_argument(Ps2Mouse *m, uint8_t command, uint8_t byte)
{
    if (command == MOUSE_RATE) {
        mouse_knock(m, byte);
    } else {
        m->resolution = byte & 3;
    }
    mouse_answer(m, ACK);
}

void ps2_mouse_write(Ps2Mouse *m, uint8_t byte)
{
    uint8_t command = m->command;

    m->command = 0;
    m->out.count = 0;
    if (m->wrap && byte != MOUSE_UNWRAP && byte != MOUSE_RESET) {
        mouse_answer(m, byte);
    } else if (command) {
        mouse_argument(m, command, byte);
    } else {
        mouse_command(m, byte);
    }
    m->changed(m->opaque);
}

void ps2_mouse_move(Ps2Mouse *m, int dx, int dy, int dz, uint8_t buttons)
{
    if ((m->status & (ST_ENABLED | ST_REMOTE)) != ST_ENABLED || m->wrap) {
        m->buttons = buttons;
        return;
    }
    m->dx = CLAMP((int64_t)m->dx + dx, -0x7fff, 0x7fff);
    m->dy = CLAMP((int64_t)m->dy + dy, -0x7fff, 0x7fff);
    m->dz = CLAMP((int64_t)m->dz + dz, -0x7fff, 0x7fff);
    if (m->out.count == 0 || (m->buttons != buttons && m->out.count + 4 <= PS2_QUEUE)) {
        m->buttons = buttons;
        mouse_report(m);
        m->changed(m->opaque);
    }
}

void ps2_mouse_refill(Ps2Mouse *m)
{
    bool reporting = (m->status & (ST_ENABLED | ST_REMOTE)) == ST_ENABLED && !m->wrap;

    if (reporting && m->out.count == 0 && (m->dx || m->dy || m->dz)) {
        mouse_report(m);
    }
}

static const VMField ps2_mouse_fields[] = {
    VM_SUB(Ps2Mouse, out, ps2_queue_vmstate),
    VM_FIELD(Ps2Mouse, command, VM_U8),
    VM_FIELD(Ps2Mouse, id, VM_U8),
    VM_FIELD(Ps2Mouse, resolution, VM_U8),
    VM_FIELD(Ps2Mouse, rate, VM_U8),
    VM_FIELD(Ps2Mouse, status, VM_U8),
    VM_ARRAY(Ps2Mouse, knock, VM_U8),
    VM_FIELD(Ps2Mouse, wrap, VM_BOOL),
    VM_FIELD(Ps2Mouse, dx, VM_I32),
    VM_FIELD(Ps2Mouse, dy, VM_I32),
    VM_FIELD(Ps2Mouse, dz, VM_I32),
    VM_FIELD(Ps2Mouse, buttons, VM_U8),
    VM_END
};
const VMState ps2_mouse_vmstate = {
    .name = "ps2-mouse", .version = 1, .fields = ps2_mouse_fields,
};
