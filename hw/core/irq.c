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
    if (irq->handler && !irq->cut) {
        irq->handler(irq->opaque, irq->n, level);
    }
}

void irq_init_array(IrqLine *lines, int count, void (*handler)(void *, int, int), void *opaque)
{
    for (int i = 0; i < count; i++) {
        lines[i] = (IrqLine){ .handler = handler, .opaque = opaque, .n = i };
    }
}
