/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 16550A serial port (National PC16550D) as a part of a device: 8 byte-wide registers.
 *
 * isa-serial and pci-serial embed a SerialPort; chr is their "chardev" property. No byte is lost
 * or doubled: what the back end does not take stays in the transmit FIFO (THRE stays low), what
 * the receive FIFO cannot hold stays in the back end. Transmission takes no time otherwise.
 * Machine lock. Test: tests/unit/test-serial.c.
 */
#ifndef CLEAT_HW_CHAR_SERIAL_H
#define CLEAT_HW_CHAR_SERIAL_H

#include "chardev/char.h"
#include "hw/irq.h"
#include "system/loop.h"
#include "system/memory.h"
#include "system/vmstate.h"

#define SERIAL_FIFO 16
#define SERIAL_PORTS 8              /* registers, hence size of the region */

typedef struct SerialFifo {
    uint8_t data[SERIAL_FIFO];
    uint8_t head, count;
} SerialFifo;

typedef struct SerialPort {
    /* config */
    uint32_t baudbase;              /* divisor 1's rate */
    CharFrontend chr;
    /* wiring */
    MemoryRegion io;
    Irq irq;
    /* registers */
    uint8_t ier, fcr, lcr, mcr, lsr, msr, scr;
    uint16_t divisor;
    SerialFifo rx, tx;
    bool thr_pending;               /* the "THR empty" interrupt has not been read from IIR yet */
    bool timeout_pending;           /* received bytes have waited for four character times */
    Timer timeout;
    /* derived */
    bool tx_waiting;                /* asked the back end to call when it can take more */
} SerialPort;

void serial_init(SerialPort *s);    /* from the device's init */
bool serial_realize(SerialPort *s, Object *owner, Error **errp);
void serial_unrealize(SerialPort *s);
void serial_reset(SerialPort *s);
extern const VMState serial_vmstate;

#endif
