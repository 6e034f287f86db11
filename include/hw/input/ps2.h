/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PS/2 keyboard and mouse: what hangs on the i8042's two ports.
 *
 * A device answers commands at once into its queue; the controller takes bytes out when its output
 * buffer is free. User interfaces put keys and motion in. Machine lock.
 * Test: tests/unit/test-i8042.c.
 */
#ifndef CLEAT_HW_INPUT_PS2_H
#define CLEAT_HW_INPUT_PS2_H

#include "system/vmstate.h"

#define PS2_QUEUE 32

typedef struct Ps2Queue {
    uint8_t data[PS2_QUEUE];
    uint8_t head, count;
} Ps2Queue;

typedef struct Ps2Keyboard {
    void (*changed)(void *opaque);  /* wiring: the queue has got bytes */
    void *opaque;
    /* registers */
    Ps2Queue out;
    uint8_t command;                /* waits for its argument; 0: none */
    uint8_t scan_set, leds, rate;
    bool enabled;
    uint8_t last;                   /* for RESEND */
} Ps2Keyboard;

typedef struct Ps2Mouse {
    void (*changed)(void *opaque);
    void *opaque;
    /* registers */
    Ps2Queue out;
    uint8_t command;
    uint8_t id;                     /* 0 plain, 3 wheel, 4 wheel and five buttons */
    uint8_t resolution, rate, status, knock[2];
    bool wrap;
    int32_t dx, dy, dz;             /* motion not reported yet */
    uint8_t buttons;
} Ps2Mouse;

int ps2_queue_pop(Ps2Queue *q);     /* -1: empty */
bool ps2_queue_put(Ps2Queue *q, uint8_t byte);      /* false: full */
extern const VMState ps2_queue_vmstate;

void ps2_keyboard_reset(Ps2Keyboard *k);
void ps2_keyboard_write(Ps2Keyboard *k, uint8_t byte);
/* A key in scan code set 2, prefixes (e0h, f0h) included; false: not enabled or no room for it. */
bool ps2_keyboard_key(Ps2Keyboard *k, const uint8_t *codes, unsigned n);
extern const VMState ps2_keyboard_vmstate;

void ps2_mouse_reset(Ps2Mouse *m);
void ps2_mouse_write(Ps2Mouse *m, uint8_t byte);
/* Motion since the last call (y grows downwards) and buttons (bit 0 left, 1 right, 2 middle). */
void ps2_mouse_move(Ps2Mouse *m, int dx, int dy, int dz, uint8_t buttons);
/* The queue is empty: reports motion that has added up meanwhile. */
void ps2_mouse_refill(Ps2Mouse *m);
extern const VMState ps2_mouse_vmstate;

#endif
