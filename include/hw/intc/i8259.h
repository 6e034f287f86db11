/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two cascaded 8259A interrupt controllers with ELCR, as in every PC chip set.
 *
 * Type "isa-i8259" is one chip; I8259Pair is the usual two, wired. A board makes the pair, feeds
 * pair->pins[0..15] and gives pair as X86CPU.pic_opaque with i8259_ack as X86CPU.pic_ack.
 * Machine lock for everything here, i8259_ack included. Test: tests/unit/test-i8259.c.
 */
#ifndef CLEAT_HW_INTC_I8259_H
#define CLEAT_HW_INTC_I8259_H

#include "hw/isa/isa.h"

typedef struct I8259 I8259;
/* A chip that an accelerator has: bring its registers here, take them there. */
typedef struct I8259Kernel {
    void (*get)(I8259 *s);
    void (*put)(I8259 *s);
} I8259Kernel;

struct I8259 {
    IsaDevice parent;
    /* config */
    uint32_t iobase, elcr_addr;     /* ports: 20h and 4d0h, a0h and 4d1h */
    uint8_t elcr_mask;              /* requests that may be made level-triggered: f8h, deh */
    bool master;
    /* wiring */
    MemoryRegion io, elcr_io;
    IrqLine pins[8];
    Irq intr;                       /* output INT */
    struct I8259 *slave;            /* master only: who answers for request 2 */
    const I8259Kernel *kernel;      /* NULL: the chip is here; else `registers` are a copy, and no output is driven */
    /* registers */
    uint8_t level;                  /* input lines as they are now */
    uint8_t irr, imr, isr;
    uint8_t elcr;                   /* bit n: request n is level-triggered */
    uint8_t icw_step;               /* 0: ready, 2..4: the ICW expected next */
    bool icw4_expected, single, ltim;
    uint8_t vector_base;            /* ICW2, bits 7..3 */
    uint8_t lowest;                 /* request of lowest priority: 7 unless rotated */
    bool read_isr, poll, special_mask, auto_eoi, rotate_on_aeoi, special_nested;
    /* derived */
    bool int_out;
};

typedef struct I8259Pair {
    I8259 *master, *slave;
    IrqLine pins[16];               /* ISA requests; 2 is the cascade and ignored */
    const I8259Kernel *kernel;      /* set before i8259_pair_init(): an accelerator has both; NULL: they are here */
} I8259Pair;

/* Creates both chips on bus; intr is the pair's INTR output (changed levels only). */
bool i8259_pair_init(I8259Pair *pair, IsaBus *bus, Irq intr, Error **errp);
/* Is there a request to pass on, going by the registers? */
bool i8259_output(const I8259 *s);
/* The CPU's INTA cycle: returns the vector; a request that went away gives IRQ 7's. */
int i8259_ack(void *pair);
/* Is INTR up? */
bool i8259_pending(const I8259Pair *pair);

#endif
