/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PS/2 keyboard (IBM PS/2 Hardware Interface Technical Reference, "Keyboard") and the byte queue
 * that keyboard and mouse share. Left out: make/break types by key (f7h..fdh are acknowledged),
 * typematic repeat (user interfaces repeat keys), scan code sets 1 and 3 for keys.
 * Machine lock. Test: tests/unit/test-i8042.c.
 */
#include "hw/input/ps2.h"

enum { KBD_LEDS = 0xed, KBD_ECHO = 0xee, KBD_SCAN_SET = 0xf0, KBD_IDENTIFY = 0xf2, KBD_RATE = 0xf3,
       KBD_ENABLE = 0xf4, KBD_DISABLE = 0xf5, KBD_DEFAULTS = 0xf6, KBD_RESEND = 0xfe,
       KBD_RESET = 0xff };
enum { ACK = 0xfa, NAK = 0xfe, SELF_TEST_OK = 0xaa };

bool ps2_queue_put(Ps2Queue *q, uint8_t byte)
{
    if (q->count == PS2_QUEUE) {
        return false;
    }
    q->data[(q->head + q->count++) % PS2_QUEUE] = byte;
    return true;
}

int ps2_queue_pop(Ps2Queue *q)
{
    uint8_t byte = q->data[q->head];

    if (!q->count) {
        return -1;
    }
    q->head = (q->head + 1) % PS2_QUEUE;
    q->count--;
    return byte;
}

static void keyboard_answer(Ps2Keyboard *k, uint8_t byte)
{
    ps2_queue_put(&k->out, byte);
    k->last = byte;
}

static void keyboard_defaults(Ps2Keyboard *k)
{
    k->scan_set = 2;
    k->rate = 0x2b;
}

void ps2_keyboard_reset(Ps2Keyboard *k)
{
    k->out.count = k->out.head = 0;
    k->command = k->leds = k->last = 0;
    k->enabled = true;
    keyboard_defaults(k);
}

static void keyboard_scan_set(Ps2Keyboard *k, uint8_t set)
{
    if (set > 3) {
        keyboard_answer(k, NAK);
        return;
    }
    keyboard_answer(k, ACK);
    if (set == 0) {
        keyboard_answer(k, k->scan_set);
    } else {
        k->scan_set = set;
    }
}

static void keyboard_argument(Ps2Keyboard *k, uint8_t command, uint8_t byte)
{
    switch (command) {
    case KBD_LEDS:
        k->leds = byte & 7;
        keyboard_answer(k, ACK);
        break;
    case KBD_RATE:
        k->rate = byte & 0x7f;
        keyboard_answer(k, ACK);
        break;
    default:
        keyboard_scan_set(k, byte);
        break;
    }
}

static void keyboard_command(Ps2Keyboard *k, uint8_t byte)
{
    switch (byte) {
    case KBD_LEDS:
    case KBD_SCAN_SET:
    case KBD_RATE:
        k->command = byte;
        keyboard_answer(k, ACK);
        break;
    case KBD_ECHO:
        keyboard_answer(k, KBD_ECHO);
        break;
    case KBD_IDENTIFY:                      /* an MF2 keyboard */
        keyboard_answer(k, ACK);
        keyboard_answer(k, 0xab);
        keyboard_answer(k, 0x83);
        break;
    case KBD_ENABLE:
    case KBD_DISABLE:
        k->enabled = byte == KBD_ENABLE;
        if (byte == KBD_DISABLE) {
            keyboard_defaults(k);
        }
        keyboard_answer(k, ACK);
        break;
    case KBD_DEFAULTS:
        keyboard_defaults(k);
        keyboard_answer(k, ACK);
        break;
    case KBD_RESEND:
        ps2_queue_put(&k->out, k->last);
        break;
    case KBD_RESET:
        ps2_keyboard_reset(k);
        keyboard_answer(k, ACK);
        keyboard_answer(k, SELF_TEST_OK);
        break;
    default:
        keyboard_answer(k, byte >= 0xf7 && byte <= 0xfd ? ACK : NAK);
        break;
    }
}

void ps2_keyboard_write(Ps2Keyboard *k, uint8_t byte)
{
    uint8_t command = k->command;

    k->command = 0;
    if (command && byte < KBD_LEDS) {
        keyboard_argument(k, command, byte);
    } else {                                /* a command instead of an argument begins anew */
        k->out.count = 0;
        keyboard_command(k, byte);
    }
    k->changed(k->opaque);
}

bool ps2_keyboard_key(Ps2Keyboard *k, const uint8_t *codes, unsigned n)
{
    if (!k->enabled || k->out.count + n > PS2_QUEUE) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        keyboard_answer(k, codes[i]);
    }
    k->changed(k->opaque);
    return true;
}

static bool ps2_queue_post_load(void *opaque, Error **errp)
{
    const Ps2Queue *q = opaque;

    if (q->count > PS2_QUEUE || q->head >= PS2_QUEUE) {
        error_set(errp, "PS/2 queue: positions are out of range");
        return false;
    }
    return true;
}

static const VMField ps2_queue_fields[] = {
    VM_BUFFER(Ps2Queue, data),
    VM_FIELD(Ps2Queue, head, VM_U8),
    VM_FIELD(Ps2Queue, count, VM_U8),
    VM_END
};
const VMState ps2_queue_vmstate = {
    .name = "ps2-queue", .version = 1, .fields = ps2_queue_fields,
    .post_load = ps2_queue_post_load,
};

static const VMField ps2_keyboard_fields[] = {
    VM_SUB(Ps2Keyboard, out, ps2_queue_vmstate),
    VM_FIELD(Ps2Keyboard, command, VM_U8),
    VM_FIELD(Ps2Keyboard, scan_set, VM_U8),
    VM_FIELD(Ps2Keyboard, leds, VM_U8),
    VM_FIELD(Ps2Keyboard, rate, VM_U8),
    VM_FIELD(Ps2Keyboard, enabled, VM_BOOL),
    VM_FIELD(Ps2Keyboard, last, VM_U8),
    VM_END
};
const VMState ps2_keyboard_vmstate = {
    .name = "ps2-keyboard", .version = 1, .fields = ps2_keyboard_fields,
};
