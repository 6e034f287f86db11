/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 16550A serial port: National Semiconductor PC16550D data sheet (June 1995), sections 8.1-8.11.
 *
 * Bytes leave in the moment they are written, whatever the divisor says; the divisor only sets the
 * receive timeout. When the back end is full, the transmit FIFO fills, THRE stays low, and
 * char_watch_writable() resumes. Left out: DMA modes (RXRDY/TXRDY pins), parity, the modem's
 * inputs (CTS, DSR, DCD are up for good), the 64-byte FIFO. OUT2 does not gate the interrupt.
 * Machine lock. Test: tests/unit/test-serial.c.
 */
#include "hw/char/serial.h"

enum { REG_RBR_THR = 0, REG_IER = 1, REG_IIR_FCR = 2, REG_LCR = 3, REG_MCR = 4, REG_LSR = 5,
       REG_MSR = 6, REG_SCR = 7 };
enum { IER_RDI = 0x01, IER_THRI = 0x02, IER_RLSI = 0x04, IER_MSI = 0x08 };
enum { IIR_NONE = 0x01, IIR_MSI = 0x00, IIR_THRI = 0x02, IIR_RDI = 0x04, IIR_RLSI = 0x06,
       IIR_TIMEOUT = 0x0c, IIR_FIFOS = 0xc0 };
enum { FCR_ENABLE = 0x01, FCR_CLEAR_RX = 0x02, FCR_CLEAR_TX = 0x04, FCR_KEPT = 0xc9 };
enum { LCR_BREAK = 0x40, LCR_DLAB = 0x80 };
enum { MCR_DTR = 0x01, MCR_RTS = 0x02, MCR_OUT1 = 0x04, MCR_OUT2 = 0x08, MCR_LOOP = 0x10 };
enum { LSR_DR = 0x01, LSR_OE = 0x02, LSR_PE = 0x04, LSR_FE = 0x08, LSR_BI = 0x10, LSR_THRE = 0x20,
       LSR_TEMT = 0x40, LSR_ERRORS = 0x1e };
enum { MSR_DELTAS = 0x0f, MSR_TERI = 0x04, MSR_CTS = 0x10, MSR_DSR = 0x20, MSR_RI = 0x40,
       MSR_DCD = 0x80 };

static void fifo_push(SerialFifo *f, uint8_t byte)
{
    f->data[(f->head + f->count++) % SERIAL_FIFO] = byte;
}

static uint8_t fifo_pop(SerialFifo *f)
{
    uint8_t byte = f->data[f->head];

    f->head = (f->head + 1) % SERIAL_FIFO;
    f->count--;
    return byte;
}

static bool serial_fifos_on(const SerialPort *s)
{
    return s->fcr & FCR_ENABLE;
}

static int serial_depth(const SerialPort *s)
{
    return serial_fifos_on(s) ? SERIAL_FIFO : 1;
}

static int serial_trigger(const SerialPort *s)
{
    static const uint8_t level[4] = { 1, 4, 8, 14 };

    return serial_fifos_on(s) ? level[s->fcr >> 6] : 1;
}

/* The interrupt of highest priority, as IIR shows it (data sheet, table IV). */
static uint8_t serial_irq_source(const SerialPort *s)
{
    if ((s->ier & IER_RLSI) && (s->lsr & LSR_ERRORS)) {
        return IIR_RLSI;
    }
    if ((s->ier & IER_RDI) && s->rx.count >= serial_trigger(s)) {
        return IIR_RDI;
    }
    if ((s->ier & IER_RDI) && s->timeout_pending) {
        return IIR_TIMEOUT;
    }
    if ((s->ier & IER_THRI) && s->thr_pending) {
        return IIR_THRI;
    }
    if ((s->ier & IER_MSI) && (s->msr & MSR_DELTAS)) {
        return IIR_MSI;
    }
    return IIR_NONE;
}

static void serial_update(SerialPort *s)
{
    irq_set(s->irq, serial_irq_source(s) != IIR_NONE);
}

/* Four times start + data + parity + stop bits at the programmed rate. */
static int64_t serial_timeout_ns(const SerialPort *s)
{
    int bits = 2 + 5 + (s->lcr & 3) + !!(s->lcr & 4) + !!(s->lcr & 8);
    int64_t divisor = s->divisor ? s->divisor : 0x10000;

    return MIN(4 * bits * divisor * 1000000000LL / s->baudbase, 40 * 1000000LL);
}

static void serial_restart_timeout(SerialPort *s)
{
    s->timeout_pending = false;
    if (serial_fifos_on(s) && s->rx.count) {
        timer_mod(&s->timeout, clock_ns(CLOCK_VIRTUAL) + serial_timeout_ns(s));
    } else {
        timer_del(&s->timeout);
    }
}

static void serial_timed_out(void *opaque)
{
    SerialPort *s = opaque;

    s->timeout_pending = s->rx.count != 0;
    serial_update(s);
}

/* ---- receiver ---- */

static void serial_rx_byte(SerialPort *s, uint8_t byte)
{
    if (s->rx.count >= serial_depth(s)) {
        s->lsr |= LSR_OE;
        if (!serial_fifos_on(s)) {          /* the new character replaces the unread one */
            s->rx.data[s->rx.head] = byte;
        }
        return;
    }
    fifo_push(&s->rx, byte);
    s->lsr |= LSR_DR;
}

static uint8_t serial_rx_pop(SerialPort *s)
{
    uint8_t byte = 0;

    if (s->rx.count) {
        byte = fifo_pop(&s->rx);
        if (!s->rx.count) {
            s->lsr &= ~(LSR_DR | LSR_BI);
        }
        serial_restart_timeout(s);
        if (!(s->mcr & MCR_LOOP)) {
            char_accept_input(&s->chr);
        }
    }
    serial_update(s);
    return byte;
}

static int serial_can_receive(void *opaque)
{
    SerialPort *s = opaque;

    return s->mcr & MCR_LOOP ? 0 : serial_depth(s) - s->rx.count;
}

static void serial_receive(void *opaque, const uint8_t *buf, int len)
{
    SerialPort *s = opaque;

    for (int i = 0; i < len; i++) {
        serial_rx_byte(s, buf[i]);
    }
    serial_restart_timeout(s);
    serial_update(s);
}

static void serial_event(void *opaque, CharEvent ev)
{
    SerialPort *s = opaque;

    if (ev == CHAR_EVENT_BREAK && !(s->mcr & MCR_LOOP)) {
        serial_rx_byte(s, 0);
        s->lsr |= LSR_BI;
        serial_restart_timeout(s);
        serial_update(s);
    }
}

/* ---- transmitter ---- */

static void serial_tx_writable(void *opaque);

/* Hands the FIFO's bytes to the back end; what it takes is gone, the rest waits for it. */
static void serial_tx_send(SerialPort *s)
{
    while (s->tx.count) {
        int run = MIN(s->tx.count, SERIAL_FIFO - s->tx.head);
        int sent = char_write(&s->chr, s->tx.data + s->tx.head, run);

        if (sent < 0) {
            sent = run;                     /* nobody listens: the line is not connected */
        }
        if (sent == 0) {
            s->tx_waiting = true;
            char_watch_writable(&s->chr, serial_tx_writable, s);
            return;
        }
        s->tx.head = (s->tx.head + sent) % SERIAL_FIFO;
        s->tx.count -= sent;
    }
    s->lsr |= LSR_THRE | LSR_TEMT;
    s->thr_pending = true;
}

static void serial_tx_writable(void *opaque)
{
    SerialPort *s = opaque;

    s->tx_waiting = false;
    if (s->tx.count) {
        serial_tx_send(s);
        serial_update(s);
    }
}

static void serial_tx_byte(SerialPort *s, uint8_t byte)
{
    s->thr_pending = false;
    serial_update(s);                       /* an edge-triggered input must see the line drop */
    if (s->mcr & MCR_LOOP) {
        serial_rx_byte(s, byte);
        serial_restart_timeout(s);
        s->thr_pending = true;
    } else if (s->tx.count < serial_depth(s)) {
        s->lsr &= ~(LSR_THRE | LSR_TEMT);
        fifo_push(&s->tx, byte);
        if (!s->tx_waiting) {
            serial_tx_send(s);
        }
    }                                       /* else: THRE was not asked; lost, as on the chip */
    serial_update(s);
}

/* ---- registers ---- */

static void serial_write_ier(SerialPort *s, uint8_t value)
{
    uint8_t set = value & ~s->ier;

    s->ier = value & 0x0f;
    if (set & IER_THRI) {                   /* enabling it with THR empty raises it */
        s->thr_pending = s->lsr & LSR_THRE;
    }
    serial_update(s);
}

static void serial_clear_rx(SerialPort *s)
{
    s->rx.count = s->rx.head = 0;
    s->lsr &= ~(LSR_DR | LSR_BI);
    serial_restart_timeout(s);
    char_accept_input(&s->chr);
}

static void serial_clear_tx(SerialPort *s)
{
    s->tx.count = s->tx.head = 0;
    s->lsr |= LSR_THRE | LSR_TEMT;
    s->thr_pending = true;
}

static void serial_write_fcr(SerialPort *s, uint8_t value)
{
    bool toggled = (s->fcr ^ value) & FCR_ENABLE;

    s->fcr = value & FCR_ENABLE ? value & FCR_KEPT : 0;
    /* Bytes the back end has not taken yet were "sent" long ago on a real line: they are kept. */
    if (toggled || (value & FCR_CLEAR_RX)) {
        serial_clear_rx(s);
    }
    if ((toggled || (value & FCR_CLEAR_TX)) && !s->tx_waiting) {
        serial_clear_tx(s);
    }
    serial_update(s);
}

/* The modem inputs: the outputs turned round in loopback, else a line that is always ready. */
static uint8_t serial_modem_inputs(const SerialPort *s)
{
    if (!(s->mcr & MCR_LOOP)) {
        return MSR_CTS | MSR_DSR | MSR_DCD;
    }
    return (s->mcr & MCR_DTR ? MSR_DSR : 0) | (s->mcr & MCR_RTS ? MSR_CTS : 0) |
           (s->mcr & MCR_OUT1 ? MSR_RI : 0) | (s->mcr & MCR_OUT2 ? MSR_DCD : 0);
}

static void serial_update_modem(SerialPort *s)
{
    uint8_t now = serial_modem_inputs(s);
    uint8_t changed = (s->msr ^ now) >> 4;

    if (!(s->msr & MSR_RI) || (now & MSR_RI)) {
        changed &= ~MSR_TERI;               /* only RI's trailing edge counts */
    }
    s->msr = now | (s->msr & MSR_DELTAS) | changed;
}

static void serial_write_mcr(SerialPort *s, uint8_t value)
{
    bool was_loop = s->mcr & MCR_LOOP;

    s->mcr = value & 0x1f;
    if (was_loop || (s->mcr & MCR_LOOP)) {
        serial_update_modem(s);
        serial_update(s);
    }
    if (was_loop && !(s->mcr & MCR_LOOP)) {
        char_accept_input(&s->chr);
    }
}

static void serial_write_divisor(SerialPort *s, uint16_t divisor)
{
    s->divisor = divisor;
    if (divisor) {
        char_ioctl_serial_params(&s->chr, s->baudbase / divisor,
                                 !(s->lcr & 8) ? 'N' : s->lcr & 0x10 ? 'E' : 'O',
                                 5 + (s->lcr & 3), s->lcr & 4 ? 2 : 1);
    }
}

static uint8_t serial_read_iir(SerialPort *s)
{
    uint8_t iir = serial_irq_source(s);

    if (iir == IIR_THRI) {
        s->thr_pending = false;
        serial_update(s);
    }
    return iir | (serial_fifos_on(s) ? IIR_FIFOS : 0);
}

static uint8_t serial_read_lsr(SerialPort *s)
{
    uint8_t lsr = s->lsr;

    s->lsr &= ~LSR_ERRORS;
    serial_update(s);
    return lsr;
}

static uint8_t serial_read_msr(SerialPort *s)
{
    uint8_t msr = s->msr;

    s->msr &= ~MSR_DELTAS;
    serial_update(s);
    return msr;
}

static uint64_t serial_read(void *opaque, hwaddr addr, unsigned size)
{
    SerialPort *s = opaque;
    bool dlab = s->lcr & LCR_DLAB;

    switch (addr) {
    case REG_RBR_THR: return dlab ? s->divisor & 0xff : serial_rx_pop(s);
    case REG_IER: return dlab ? s->divisor >> 8 : s->ier;
    case REG_IIR_FCR: return serial_read_iir(s);
    case REG_LCR: return s->lcr;
    case REG_MCR: return s->mcr;
    case REG_LSR: return serial_read_lsr(s);
    case REG_MSR: return serial_read_msr(s);
    default: return s->scr;
    }
}

static void serial_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    SerialPort *s = opaque;
    bool dlab = s->lcr & LCR_DLAB;

    switch (addr) {
    case REG_RBR_THR:
        if (dlab) {
            serial_write_divisor(s, (s->divisor & 0xff00) | (value & 0xff));
        } else {
            serial_tx_byte(s, value);
        }
        break;
    case REG_IER:
        if (dlab) {
            serial_write_divisor(s, (s->divisor & 0xff) | (value & 0xff) << 8);
        } else {
            serial_write_ier(s, value);
        }
        break;
    case REG_IIR_FCR:
        serial_write_fcr(s, value);
        break;
    case REG_LCR:
        s->lcr = value;
        break;
    case REG_MCR:
        serial_write_mcr(s, value);
        break;
    case REG_SCR:
        s->scr = value;
        break;
    default:                                /* LSR, MSR: factory test only */
        break;
    }
}

static const MemoryRegionOps serial_ops = {
    .read = serial_read,
    .write = serial_write,
    .valid = { .min = 1, .max = 8, .unaligned = true },
    .impl = { .min = 1, .max = 1 },
};

/* ---- life ---- */

void serial_init(SerialPort *s)
{
    timer_init(&s->timeout, CLOCK_VIRTUAL, serial_timed_out, s);
}

bool serial_realize(SerialPort *s, Object *owner, Error **errp)
{
    if (s->baudbase == 0) {
        error_set(errp, "property 'baudbase' must not be 0");
        return false;
    }
    memory_region_init_io(&s->io, owner, &serial_ops, s, "serial", SERIAL_PORTS);
    char_set_handlers(&s->chr, serial_can_receive, serial_receive, serial_event, s);
    serial_reset(s);
    return true;
}

void serial_unrealize(SerialPort *s)
{
    timer_del(&s->timeout);
    char_set_handlers(&s->chr, NULL, NULL, NULL, NULL);
}

/* MR pin (table II). Bytes under way to a slow back end are not the guest's to take back. */
void serial_reset(SerialPort *s)
{
    s->ier = s->fcr = s->lcr = s->scr = 0;
    s->mcr = MCR_OUT2;
    s->divisor = 12;
    s->msr = MSR_CTS | MSR_DSR | MSR_DCD;
    s->lsr = s->tx_waiting ? 0 : LSR_THRE | LSR_TEMT;
    serial_clear_rx(s);
    s->thr_pending = false;
    serial_update(s);
}

static bool serial_post_load(void *opaque, Error **errp)
{
    SerialPort *s = opaque;

    if (s->rx.count > SERIAL_FIFO || s->rx.head >= SERIAL_FIFO || s->tx.count > SERIAL_FIFO ||
        s->tx.head >= SERIAL_FIFO) {
        error_set(errp, "serial port: FIFO positions are out of range");
        return false;
    }
    s->fcr &= FCR_KEPT;
    if (s->tx.count && !s->tx_waiting) {
        serial_tx_send(s);
    }
    serial_update(s);
    return true;
}

static const VMField serial_fifo_fields[] = {
    VM_BUFFER(SerialFifo, data),
    VM_FIELD(SerialFifo, head, VM_U8),
    VM_FIELD(SerialFifo, count, VM_U8),
    VM_END
};
static const VMState serial_fifo_vmstate = {
    .name = "serial-fifo", .version = 1, .fields = serial_fifo_fields,
};

static const VMField serial_fields[] = {
    VM_FIELD(SerialPort, ier, VM_U8),
    VM_FIELD(SerialPort, fcr, VM_U8),
    VM_FIELD(SerialPort, lcr, VM_U8),
    VM_FIELD(SerialPort, mcr, VM_U8),
    VM_FIELD(SerialPort, lsr, VM_U8),
    VM_FIELD(SerialPort, msr, VM_U8),
    VM_FIELD(SerialPort, scr, VM_U8),
    VM_FIELD(SerialPort, divisor, VM_U16),
    VM_SUB(SerialPort, rx, serial_fifo_vmstate),
    VM_SUB(SerialPort, tx, serial_fifo_vmstate),
    VM_FIELD(SerialPort, thr_pending, VM_BOOL),
    VM_FIELD(SerialPort, timeout_pending, VM_BOOL),
    VM_TIMER_FIELD(SerialPort, timeout),
    VM_END
};
const VMState serial_vmstate = {
    .name = "serial", .version = 1, .fields = serial_fields, .post_load = serial_post_load,
};
