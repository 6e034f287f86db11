/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that KVM's emulator does not know, with an operand in device memory (the HPET's page, where nothing is
 * mapped by the hardware), and code there; 64-bit only. A KVM without a software CPU behind it stops at the first one.
 * Each line is the same whatever runs it. Used by tests/kvm/test-rescue.py.
 */
#include "payload.h"

#define HPET 0xfed00000ul
#define COUNTER (HPET + 0xf0)           /* 8 bytes, writable while the HPET stands; the 8 bytes behind it read as 0 */
#define NOTHING (HPET + 0x1c0)          /* reads as 0 for an XSAVE area of the first 576 bytes */
#define WINDOW 0x800000ul               /* linear: the HPET's page, and none behind it */
#define WINDOW_TABLE 0x400000ul
enum { KERNEL_SS = 0x10, KERNEL_CS = 0x18, USER_CS = 0x2b, USER_SS = 0x33, TASK = 0x38 };
#define FAULT_STACK 0x68000ul           /* of faults in user mode */

/* The last fault; the handler goes on at `resume`. */
static volatile struct {
    uint64_t vector, error, cr2, rip, cs, resume;
} fault;

void fault_taken(uint64_t *frame, uint64_t vector, uint64_t error);
void fault_taken(uint64_t *frame, uint64_t vector, uint64_t error)
{
    uint64_t cr2;

    __asm__ volatile("mov %%cr2, %0" : "=r"(cr2));
    fault.vector = vector;
    fault.error = error;
    fault.cr2 = cr2;
    fault.rip = frame[0];
    fault.cs = frame[1];
    frame[0] = fault.resume;
    frame[1] = KERNEL_CS;               /* from user mode, too, and on the same stack */
    frame[4] = KERNEL_SS;
}

extern char fault_ud[], fault_pf[];
__asm__(".text\n"
        "fault_ud: pushq $0; pushq $6; jmp 1f\n"
        "fault_pf: pushq $14\n"
        "1: push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; push %r9; push %r10; push %r11\n"
        "lea 88(%rsp), %rdi; mov 72(%rsp), %rsi; mov 80(%rsp), %rdx; cld; call fault_taken\n"
        "pop %r11; pop %r10; pop %r9; pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
        "add $16, %rsp; iretq\n");

/* Where a fault in the asm behind it goes on. */
#define RESUME_AT_1 "lea 1f(%%rip), %%rax; mov %%rax, %[resume];"

static uint64_t window_map(void)
{
    uint64_t *pd = (uint64_t *)0x4000, *pt = (uint64_t *)WINDOW_TABLE;

    for (int n = 0; n < 512; n++) {
        pt[n] = 0;
    }
    pt[0] = HPET | 3;
    pd[WINDOW >> 21] = WINDOW_TABLE | 3;
    __asm__ volatile("mov %0, %%cr3" : : "r"(0x2000ul) : "memory");
    return WINDOW;
}

static void test_exchange(void)
{
    volatile uint64_t *counter = (volatile uint64_t *)COUNTER;
    uint64_t lo = 0x1234, hi = 0;
    uint8_t same;

    *counter = 0x1234;
    __asm__ volatile("lock cmpxchg16b (%3); sete %2"
                     : "+a"(lo), "+d"(hi), "=q"(same) : "r"(COUNTER), "b"(0x777ul), "c"(0ul) : "memory", "cc");
    line("cmpxchg16b", same);
    line("exchanged", *counter);
    lo = 1;
    hi = 2;
    __asm__ volatile("lock cmpxchg16b (%3); sete %2"
                     : "+a"(lo), "+d"(hi), "=q"(same) : "r"(COUNTER), "b"(5ul), "c"(6ul) : "memory", "cc");
    line("not equal", same);
    line("what is there", lo + hi);
}

static void test_vector(void)
{
    uint32_t element, sum;
    uint64_t as_float;
    int32_t read;

    *(volatile uint64_t *)COUNTER = 20000000000ul;     /* more than 32 bits */
    __asm__ volatile("pxor %%xmm0, %%xmm0; pinsrd $1, (%1), %%xmm0; pextrd $1, %%xmm0, %0"
                     : "=r"(element) : "r"(COUNTER));
    line("pinsrd", element);
    __asm__ volatile("pxor %%xmm0, %%xmm0; paddd (%1), %%xmm0; phaddd %%xmm0, %%xmm0; movd %%xmm0, %0"
                     : "=r"(sum) : "r"(COUNTER));
    line("paddd", sum);
    __asm__ volatile("fninit; fildll (%1); fstpl %0" : "=m"(as_float) : "r"(COUNTER));
    __asm__ volatile("cvttsd2si %1, %0" : "=r"(read) : "m"(as_float));
    line("fild", (uint32_t)read);                       /* does not fit: 80000000h */
}

/* Of the x87 alone: it needs no XSETBV, which the nested host's SVM does not intercept, so that its KVM misses it. */
static void test_xrstor(void)
{
    uint32_t a = 1, b, c, d;
    uint16_t control = 0x27f;

    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    if (!(c & 1u << 26)) {
        line("xrstor", 0);                              /* the test wants a CPU that has it */
        return;
    }
    __asm__ volatile("mov %%cr4, %%rax; or $0x40000, %%rax; mov %%rax, %%cr4" : : : "rax");
    __asm__ volatile("fldcw %0; xor %%edx, %%edx; mov $1, %%eax; xrstor (%1); fnstcw %0"
                     : "+m"(control) : "r"(NOTHING) : "rax", "rdx");
    line("xrstor", control);
    __asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; xsave (%0)" : : "r"(NOTHING) : "rax", "rdx", "memory");
    line("xsave", 1);
}

/* The operand begins in the device's page and ends in one that is not there. */
static void test_fault(void)
{
    uint64_t at = window_map() + 0xff8;

    __asm__ volatile(RESUME_AT_1 "lddqu (%1), %%xmm0; ud2; 1:"
                     : [resume] "=m"(fault.resume) : "r"(at) : "rax", "memory");
    line("vector", fault.vector);
    line("error", fault.error);
    line("page", fault.cr2 - WINDOW);
}

static void test_code(void)
{
    volatile uint64_t *counter = (volatile uint64_t *)COUNTER;

    *counter = 0xc3;                                    /* ret */
    __asm__ volatile("call *%0" : : "r"(COUNTER) : "memory");
    line("code", 1);
    *counter = 0x0b0f;                                  /* ud2 */
    __asm__ volatile(RESUME_AT_1 "mov %%rsp, %%rcx; jmp *%1; 1: mov %%rcx, %%rsp"
                     : [resume] "=m"(fault.resume) : "r"(COUNTER) : "rax", "rcx", "memory");
    line("undefined", fault.vector);
    line("at", fault.rip - HPET);
}

/* Page 0 with code and stacks, and the HPET's, for user mode, and what comes back from there. */
static void user_prepare(void)
{
    static uint64_t gdt[9];
    static uint32_t tss[26];
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) desc;
    uint64_t at = (uint64_t)tss;

    *(volatile uint64_t *)0x2000 |= 4;
    *(volatile uint64_t *)0x3000 |= 4;
    *(volatile uint64_t *)0x3018 |= 4;
    *(volatile uint64_t *)0x4000 |= 4;
    *(volatile uint64_t *)(0x7000 + ((HPET >> 21) & 511) * 8) |= 4;
    __asm__ volatile("mov %0, %%cr3" : : "r"(0x2000ul) : "memory");
    __asm__ volatile("sgdt %0" : "=m"(desc));
    for (int n = 0; n < 5; n++) {
        gdt[n] = ((uint64_t *)desc.base)[n];
    }
    gdt[USER_CS / 8] = 0x00affb000000ffff;
    gdt[USER_SS / 8] = 0x00cff3000000ffff;
    gdt[TASK / 8] = 103 | (at & 0xffffff) << 16 | 0x89ull << 40 | (at >> 24 & 0xff) << 56;
    gdt[TASK / 8 + 1] = at >> 32;
    tss[1] = FAULT_STACK;
    desc.limit = sizeof(gdt) - 1;
    desc.base = (uint64_t)gdt;
    __asm__ volatile("lgdt %0; ltr %w1" : : "m"(desc), "r"(TASK) : "memory");
}

static void test_user(void)
{
    uint64_t lo = 0x4321, hi = 0, end;

    user_prepare();
    *(volatile uint64_t *)COUNTER = 0x4321;
    __asm__ volatile(RESUME_AT_1 "lea 3f(%%rip), %[end]; mov %%rsp, %%rax; push %[ss]; push %%rax; pushfq; push %[cs];"
                     "lea 2f(%%rip), %%rax; push %%rax; mov $0x4321, %%eax; iretq;"
                     "2: lock cmpxchg16b (%[at]); 3: ud2; 1:"
                     : [resume] "=m"(fault.resume), [end] "=&r"(end), "+a"(lo), "+d"(hi)
                     : [at] "r"(COUNTER), "b"(99ul), "c"(0ul), [ss] "i"(USER_SS), [cs] "i"(USER_CS) : "memory", "cc");
    line("user mode", fault.cs & 3);
    line("its exchange", *(volatile uint64_t *)COUNTER);
    line("its end", fault.rip == end);
}

void test_rescue(void)
{
    handler_set(6, fault_ud);
    handler_set(14, fault_pf);
    test_exchange();
    test_vector();
    test_xrstor();
    test_fault();
    test_code();
    test_user();
}
