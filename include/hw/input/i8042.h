/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The i8042 keyboard controller with a PS/2 keyboard and mouse, ports 60h and 64h.
 * Type "i8042". Machine lock. Test: tests/unit/test-i8042.c.
 */
#ifndef CLEAT_HW_INPUT_I8042_H
#define CLEAT_HW_INPUT_I8042_H

#include "hw/input/ps2.h"
#include "hw/isa/isa.h"

typedef struct I8042 {
    IsaDevice parent;
    /* config */
    uint8_t kbd_irq_no, mouse_irq_no;
    /* wiring */
    MemoryRegion data_io, cmd_io;
    Irq kbd_irq, mouse_irq;
    Irq a20;                        /* level 1: A20 is not masked; NULL: nobody cares */
    Ps2Keyboard kbd;
    Ps2Mouse mouse;
    /* registers */
    uint8_t status;                 /* SYS, CMD bits; the rest is derived */
    uint8_t config;                 /* command byte */
    uint8_t outport;
    uint8_t command;                /* waits for a byte at 60h; 0: that byte is the keyboard's */
    uint8_t data;                   /* output buffer */
    uint8_t source;                 /* I8042_*: whose byte is in it */
    uint8_t reply[4], replies;      /* the controller's own answers, oldest first */
    bool reply_aux[4];
    bool break_prefix;              /* translation: f0h has been seen */
} I8042;
enum { I8042_EMPTY, I8042_KBD, I8042_AUX };

#endif
