/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt lines: a wire from an output of one chip to an input of another.
 *
 * A chip owns an array of IrqLine inputs; a source keeps an Irq (pointer, NULL when not connected).
 * Level semantics; the source recomputes its level in one x_update() function. Machine lock.
 */
#ifndef CLEAT_HW_IRQ_H
#define CLEAT_HW_IRQ_H

#include <stdbool.h>
#include <stddef.h>

#include "system/qdev.h"

typedef struct IrqLine {
    void (*handler)(void *opaque, int n, int level);
    void *opaque;
    int n;
    /* qtest irq_intercept: when set, called besides the handler */
    void (*tap)(void *opaque, int n, int level);
    void *tap_opaque;
} IrqLine;
typedef IrqLine *Irq;

void irq_set(Irq irq, int level);
static inline void irq_raise(Irq irq) { irq_set(irq, 1); }
static inline void irq_lower(Irq irq) { irq_set(irq, 0); }
static inline void irq_pulse(Irq irq) { irq_set(irq, 1); irq_set(irq, 0); }
void irq_init_array(IrqLine *lines, int count, void (*handler)(void *, int, int), void *opaque);

/*
 * Tells qtest (irq_intercept_in/out, set_irq_in) where a device's pins are: `name` NULL for the
 * only list. `out` points to the fields that the device drives, which may be connected before or
 * after. Call it from init or realize.
 */
void irq_pins_in(Device *dev, const char *name, IrqLine *lines, int count);
void irq_pins_out(Device *dev, const char *name, Irq *pins, int count);
typedef struct IrqPins {
    struct IrqPins *next;           /* must be first: the device frees the list */
    const char *name;               /* NULL: unnamed */
    IrqLine *in;                    /* inputs, or */
    Irq *out;                       /* outputs */
    int count;
} IrqPins;

#endif
