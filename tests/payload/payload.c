/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bare-metal guest that exercises an accelerator and the platform and prints a transcript on port e9h, the same
 * whatever runs it. Built three times: -m16 (real mode with 4 GiB data segments), -m32 (PAE) and -m64. Ends by what
 * END says: isa-debug-exit (0), a keyboard-controller reset (1), a triple fault (2), an endless HLT (3), or
 * test_accel() (4) or test_rescue() (5) and then isa-debug-exit.
 */
#include "payload.h"

#ifndef END
#define END 0
#endif

volatile uint32_t ticks[VECTORS], ap_ipi, eoi_held;
static volatile uint32_t ap_up, ap_counter;

void print(const char *s)
{
    while (*s) {
        outb(0xe9, *s++);
    }
}

static void print_number(uint32_t v)
{
    char buf[12];
    int n = 11;

    buf[n] = 0;
    do {
        buf[--n] = '0' + v % 10;
        v /= 10;
    } while (v);
    print(buf + n);
}

void line(const char *what, uint32_t v)
{
    print(MODE);
    print(what);
    print(" ");
    print_number(v);
    print("\n");
}

void isr(int vector);
void isr(int vector)
{
    ticks[vector - 48]++;
    if (vector == 50) {
        ap_ipi++;
    }
    if (vector == 48) {
        outb(0x20, 0x20);
    } else if (!eoi_held) {
        mmio_write(LAPIC + 0xb0, 0);
    }
}

extern char isr_stub_48[], isr_stub_49[], isr_stub_50[], isr_stub_51[], isr_stub_52[], isr_stub_53[];

#ifdef BITS16
#define CODE_BASE 0xf0000ul

/* The vector table at address 0, which the compiler must not take for a null pointer. */
static void gate_set(int n, const char *stub)
{
    unsigned long entry = ((unsigned long)stub - CODE_BASE) | 0xf000ul << 16;

    __asm__ volatile("movl %0, (%1)" : : "r"(entry), "r"(n * 4) : "memory");
}

static void idt_load(void)
{
}
#else
typedef struct Gate {
    uint16_t low, selector, type, high;
#ifdef __x86_64__
    uint32_t top, zero;
#endif
} Gate;
static Gate idt[VECTORS_FIRST + VECTORS];

static void gate_set(int n, const char *stub)
{
    unsigned long a = (unsigned long)stub;

    idt[n].low = a;
#ifdef __x86_64__
    idt[n].selector = 0x18;
    idt[n].top = 0;
#else
    idt[n].selector = 0x08;
#endif
    idt[n].type = 0x8e00;
    idt[n].high = a >> 16;
}

void handler_set(int n, const char *stub)
{
    gate_set(n, stub);
}

static void idt_load(void)
{
    struct {
        uint16_t limit;
        unsigned long base;
    } __attribute__((packed)) desc = { sizeof(idt) - 1, (unsigned long)idt };

    __asm__ volatile("lidt %0" : : "m"(desc));
}
#endif

void wait_ticks(int n, uint32_t want)
{
    while (ticks[n] < want) {
        __asm__ volatile("sti; hlt; cli");
    }
}

void pit_start(void)
{
    outb(0x43, 0x34);
    outb(0x40, 1193 & 0xff);
    outb(0x40, 1193 >> 8);
}

static void test_pic_timer(void)
{
    outb(0x20, 0x11);
    outb(0x21, 0x30);
    outb(0x21, 4);
    outb(0x21, 1);
    outb(0xa1, 0xff);
    outb(0x21, 0xfe);
    mmio_write(LAPIC + 0xf0, 0x1ff);    /* software enable */
    mmio_write(LAPIC + 0x350, 0x700);   /* LINT0: ExtINT */
    pit_start();
    wait_ticks(0, 5);
    outb(0x21, 0xff);
    line("timer-pic", 5);
}

static void test_ioapic_timer(void)
{
    mmio_write(LAPIC + 0x350, 0x10700);
    mmio_write(IOAPIC, 0x10 + 2 * 2 + 1);
    mmio_write(IOAPIC + 0x10, mmio_read(LAPIC + 0x20) & 0xff000000);
    mmio_write(IOAPIC, 0x10 + 2 * 2);
    mmio_write(IOAPIC + 0x10, 0x31);
    pit_start();
    wait_ticks(1, 5);
    mmio_write(IOAPIC, 0x10 + 2 * 2);
    mmio_write(IOAPIC + 0x10, 0x10031);
    line("timer-ioapic", 5);
}

static void test_lapic_timer(void)
{
    mmio_write(LAPIC + 0x3e0, 0xb);
    mmio_write(LAPIC + 0x320, 0x20033);
    mmio_write(LAPIC + 0x380, 100000);
    wait_ticks(3, 5);
    mmio_write(LAPIC + 0x320, 0x10033);
    line("timer-lapic", 5);
}

void icr_send(uint32_t dest, uint32_t low)
{
    mmio_write(LAPIC + 0x310, dest << 24);
    mmio_write(LAPIC + 0x300, low);
    while (mmio_read(LAPIC + 0x300) & 0x1000) {
        __asm__ volatile("pause");
    }
}

void ap_main(void);
void ap_main(void)
{
    idt_load();
    mmio_write(LAPIC + 0xf0, 0x1ff);
    ap_up = 1;
    while (ap_ipi < 3) {
        __asm__ volatile("sti; hlt; cli");
    }
    for (int i = 0; i < 10000; i++) {
        __asm__ volatile("lock incl %0" : "+m"(ap_counter));
    }
    ap_up = 2;
#if END == 4
    for (;;) {
        __asm__ volatile("sti; hlt; cli");
    }
#endif
}

static void test_ipi(void)
{
    icr_send(1, 0x4500);
    icr_send(1, 0x4608);
    for (uint32_t i = 0; !ap_up; i++) {
        __asm__ volatile("pause");
        if (i == 400000000) {
            line("ipi: no second CPU", 0);
            return;
        }
    }
    for (uint32_t n = 0; n < 3; n++) {
        icr_send(1, 0x4032);
        while (ap_ipi <= n) {
            __asm__ volatile("pause");
        }
    }
    for (int i = 0; i < 10000; i++) {
        __asm__ volatile("lock incl %0" : "+m"(ap_counter));
    }
    while (ap_up != 2 || ap_counter < 20000) {
        __asm__ volatile("pause");
    }
    line("ipi", ap_ipi);
    line("atomic", ap_counter);
}

static void test_mmio(void)
{
    mmio_write(IOAPIC, 1);
    line("mmio ioapic", mmio_read(IOAPIC + 0x10) >> 16 & 0xff);
    line("mmio lapic", (mmio_read(LAPIC + 0x30) & 0xff) >= 0x10);
}

/* Port strings: the transcript itself goes out by REP OUTSB. */
static void test_string_io(void)
{
    static const char text[] = MODE "outs ok\n";
    const char *p = text;
    unsigned long n = sizeof(text) - 1;

#ifdef BITS16
    __asm__ volatile("addr32 rep outsb" : "+S"(p), "+c"(n) : "d"(0xe9) : "memory");
    return;
#endif
    __asm__ volatile("rep outsb" : "+S"(p), "+c"(n) : "d"(0xe9) : "memory");
}

static void test_sse(void)
{
    float a[4] __attribute__((aligned(16))) = { 1, 2, 3, 4 };
    uint32_t sum;

    __asm__ volatile("movaps %1, %%xmm0; addps %%xmm0, %%xmm0; movhlps %%xmm0, %%xmm1; addps %%xmm1, %%xmm0;"
                     "cvttss2si %%xmm0, %0" : "=r"(sum) : "m"(a));
    line("sse", sum);
}

static void finish(void)
{
    print(MODE "end\n");
#if END == 0 || END >= 4
    outl(0xf4, 0x10);
#elif END == 1
    outb(0x64, 0xfe);
#elif END == 2
    static const struct {
        uint16_t limit;
        unsigned long base;
    } __attribute__((packed)) none = { 0, 0 };

    __asm__ volatile("lidt (%0); int3" : : "r"(&none));
#endif
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

void bsp_main(void);
void bsp_main(void)
{
    gate_set(48, isr_stub_48);
    gate_set(49, isr_stub_49);
    gate_set(50, isr_stub_50);
    gate_set(51, isr_stub_51);
    gate_set(52, isr_stub_52);
    gate_set(53, isr_stub_53);
    idt_load();
    print(MODE "pio ok\n");
    test_string_io();
    test_mmio();
    test_sse();
    test_pic_timer();
    test_ioapic_timer();
    test_lapic_timer();
    test_ipi();
#if END == 4
    test_accel();
#elif END == 5
    test_rescue();
#endif
    finish();
}
