/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 8254 programmable interval timer: three 16-bit counters at 1.193182 MHz.
 *
 * Type "isa-pit" (ports 40h..43h). Counter 0 raises ISA request 0, unless pit->irq_enable_in is
 * low (the HPET's legacy routing). Counter 2's gate and output belong to port 61h (isa-pcspk).
 * Machine lock. Test: tests/unit/test-i8254.c.
 */
#ifndef CLEAT_HW_TIMER_I8254_H
#define CLEAT_HW_TIMER_I8254_H

#include "hw/isa/isa.h"
#include "system/loop.h"

#define PIT_HZ 1193182

typedef struct PitCounter {
    /* registers */
    uint32_t count;                 /* reload value, 1..10000h (binary ticks) */
    uint32_t next_count;            /* to be loaded at the period's end; 0: none */
    int64_t load_ns;                /* virtual time at which `count` was loaded */
    int64_t next_load_ns;           /* when next_count will be loaded */
    int64_t held_ticks;             /* gate low: ticks counted so far; -1: running */
    bool armed;                     /* loaded since the control word (and trigger) */
    bool has_count;                 /* a count has been written since the control word */
    uint8_t mode, rw, gate;         /* rw: 1 LSB, 2 MSB, 3 both */
    bool bcd;
    uint8_t write_low;              /* first byte of a two-byte write */
    bool write_high_next, read_high_next, latch_high_next;
    bool count_latched, status_latched;
    uint16_t latch;
    uint8_t status_latch;
} PitCounter;

typedef struct Pit {
    IsaDevice parent;
    /* config */
    uint32_t iobase;
    /* wiring */
    MemoryRegion io;
    Irq irq;
    IrqLine irq_enable_in;
    /* registers */
    PitCounter counter[3];
    bool irq_enabled;
    Timer timer;                    /* counter 0's next rising (or mode 0/1: only) edge */
    /* derived */
    bool irq_level;
} Pit;

/* Port 61h: counter n's gate (a rising edge triggers) and output as of now. */
void pit_set_gate(Pit *pit, int n, bool level);
bool pit_get_gate(const Pit *pit, int n);
bool pit_get_out(Pit *pit, int n);

#endif
