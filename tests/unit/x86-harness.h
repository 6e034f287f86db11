/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs small machine-code payloads on the software CPU with flat RAM and no board.
 *
 * The test's own thread is the vCPU: harness_run() calls the accelerator's run function until the guest halts.
 * Payloads are assembled with the test (PAYLOAD) and copied to guest memory.
 */
#ifndef CLEAT_TESTS_X86_HARNESS_H
#define CLEAT_TESTS_X86_HARNESS_H

#include "target/i386/cpu.h"

#define HARNESS_RAM (64u << 20)
enum {
    /* Guest physical layout, identity-mapped in long mode. */
    H_IDT = 0x1000, H_GDT = 0x2000, H_TSS = 0x3000, H_PML4 = 0x10000, H_PDPT = 0x11000, H_PD = 0x12000, H_PT = 0x13000,
    H_CODE = 0x100000, H_STACK = 0x200000, H_STACK0 = 0x210000, H_DATA = 0x300000, H_FAULTS = 0x8000,
    /* GDT selectors */
    H_CS64 = 0x08, H_DS = 0x10, H_CS32 = 0x18, H_UDS = 0x20 | 3, H_UCS64 = 0x28 | 3, H_TR = 0x30,
};

/* What the handlers of harness_long_mode() record, at H_FAULTS: the last fault and how many there were. */
typedef struct HarnessFault {
    uint64_t count, vector, error, rip, cs, cr2, flags;
} HarnessFault;

/* The software CPU's options, as in "tcg,mode=interp", for CPUs made afterwards. */
void harness_accel(const char *options);
X86CPU *harness_cpu(const char *cpu_string);
/* Without any accelerator. */
X86CPU *harness_cpu_alone(const char *cpu_string);
uint8_t *harness_ram(void);
/* Long mode at CPL 0, first 2 MiB in 4 KiB pages (H_PT), the rest of RAM in 2 MiB pages; handlers that record and
 * halt. */
void harness_long_mode(X86CPU *cpu);
/*
 * 32-bit protected mode at CPL 0 without paging, with the same handlers. GDT: 08 code, 10 data, 18 16-bit code, 23 and
 * 2b user data and code, 30 the busy TSS; more by harness_gdt_set(), up to 0xf8.
 */
void harness_protected_mode(X86CPU *cpu);
void harness_gdt_set(unsigned selector, uint64_t descriptor);
/* Copies code to H_CODE and runs from there until HLT; false: it did not halt within a second. */
bool harness_run(X86CPU *cpu, const void *code, size_t len);
bool harness_run_from(X86CPU *cpu, uint64_t rip);
/* From where it stands, halted or not. */
bool harness_continue(X86CPU *cpu);
const HarnessFault *harness_fault(void);

/* Assembles text into a pair of symbols name, name_end. */
#define PAYLOAD(name, mode, text) \
    extern const uint8_t name[], name##_end[]; \
    __asm__(".pushsection .rodata\n.globl " #name ", " #name "_end\n" #name ":\n" mode "\n" text "\nhlt\n" #name \
            "_end:\n.code64\n.popsection\n")
#define RUN(cpu, name) harness_run(cpu, name, name##_end - name)

#endif
