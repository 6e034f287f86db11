/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt lines, see include/hw/irq.h. Machine lock. Test: tests/unit/test-qdev.c. */
#include "hw/irq.h"

void irq_set(Irq irq, int level)
{
    if (!irq) {
        return;
    }
    if (irq->tap) {
        irq->tap(irq->tap_opaque, irq->n, level);
    }
    if (irq->handler) {
        irq->handler(irq->opaque, irq->n, level);
    }
}

void irq_init_array(IrqLine *lines, int count, void (*handler)(void *, int, int), void *opaque)
{
    for (int i = 0; i < count; i++) {
        lines[i] = (IrqLine){ .handler = handler, .opaque = opaque, .n = i };
    }
}

static void pins_add(Device *dev, IrqPins pins)
{
    IrqPins **at = (IrqPins **)&dev->irq_pins;

    while (*at) {
        at = &(*at)->next;
    }
    *at = g_new0(IrqPins, 1);
    **at = pins;
}

void irq_pins_in(Device *dev, const char *name, IrqLine *lines, int count)
{
    pins_add(dev, (IrqPins){ .name = name, .in = lines, .count = count });
}

void irq_pins_out(Device *dev, const char *name, Irq *pins, int count)
{
    pins_add(dev, (IrqPins){ .name = name, .out = pins, .count = count });
}
