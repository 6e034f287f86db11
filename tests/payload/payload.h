/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a payload share: ports, memory-mapped registers, lines of the transcript, interrupts seen. */
#ifndef CLEAT_PAYLOAD_H
#define CLEAT_PAYLOAD_H

#include <stdint.h>

#ifdef BITS16
#define MODE "16 "
#elif defined(__x86_64__)
#define MODE "64 "
#else
#define MODE "32 "
#endif

#define LAPIC 0xfee00000ul
#define IOAPIC 0xfec00000ul
enum { VECTORS_FIRST = 0x30, VECTORS = 6 };

extern volatile uint32_t ticks[VECTORS];    /* interrupts seen, by vector - 30h */
extern volatile uint32_t ap_ipi;            /* those that the second CPU saw */
extern volatile uint32_t eoi_held;          /* handlers leave the local APIC's EOI out */

static inline void outb(uint16_t port, uint8_t v)
{
    __asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outl(uint16_t port, uint32_t v)
{
    __asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
    uint8_t v;

    __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

#ifdef BITS16
/* By a register, since the compiler's absolute addresses are 16 bits wide there. */
static inline uint32_t mmio_read(unsigned long a)
{
    uint32_t v;

    __asm__ volatile("addr32 movl (%1), %0" : "=r"(v) : "r"(a) : "memory");
    return v;
}

static inline void mmio_write(unsigned long a, uint32_t v)
{
    __asm__ volatile("addr32 movl %0, (%1)" : : "r"(v), "r"(a) : "memory");
}
#else
static inline uint32_t mmio_read(unsigned long a)
{
    return *(volatile uint32_t *)a;
}

static inline void mmio_write(unsigned long a, uint32_t v)
{
    *(volatile uint32_t *)a = v;
}
#endif

static inline uint32_t inl(uint16_t port)
{
    uint32_t v;

    __asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

void print(const char *s);
void line(const char *what, uint32_t v);    /* MODE what v */
void wait_ticks(int n, uint32_t want);      /* halts until ticks[n] is there */
void pit_start(void);                       /* 1 kHz */
void icr_send(uint32_t dest, uint32_t low);
/* accel.c: with the device accel-test of tests/kvm. */
void test_accel(void);
/* rescue.c */
void test_rescue(void);
void handler_set(int n, const char *stub);  /* of an exception; not in 16-bit code */

#endif
