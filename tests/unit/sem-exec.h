/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs single instructions on the software CPU, for the tests of their semantics: a CPU in one of three code sizes,
 * instructions as hex digits, and what came of them. Included once by each such test program (Check).
 */
#ifndef CLEAT_TESTS_SEM_EXEC_H
#define CLEAT_TESTS_SEM_EXEC_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86-harness.h"
#include "target/i386/decode.h"
#include "target/i386/mmu.h"

enum { NO_FAULT = -1, PAGE = 0x50000 };

static X86CPU *cpu;

static inline void start(unsigned bits)
{
    X86State *st;

    if (!cpu) {
        cpu = harness_cpu("max");
    }
    harness_long_mode(cpu);
    st = cpu->st;
    if (bits != 64) {
        st->seg[SEG_CS].attr = (st->seg[SEG_CS].attr & ~DESC_L) | (bits == 32 ? DESC_B : 0);
        x86_update_mode(cpu);
    }
    memset(st->regs, 0, sizeof(st->regs));
    st->regs[R_RSP] = H_STACK;
    memset(harness_ram() + PAGE, 0, 0x4000);
}

/* Page n of the first 2 MiB: bits of its entry. 0: not present; 5: read only; 7: all. */
static inline void page_set(unsigned address, unsigned rights)
{
    uint64_t v = rights ? (address & ~0xfffu) | rights : 0;

    memcpy(harness_ram() + H_PT + (address >> 12) * 8, &v, 8);
    x86_tlb_flush(cpu, true);
}

/* Runs one instruction at H_CODE; returns the vector raised, or NO_FAULT. */
static inline int exec(const char *hex)
{
    uint8_t bytes[16];
    unsigned n = 0;
    sigjmp_buf jmp;
    Insn i;

    for (; hex[0]; hex += hex[2] == ' ' ? 3 : 2) {
        char two[3] = {hex[0], hex[1], 0};
        bytes[n++] = strtoul(two, NULL, 16);
    }
    ck_assert_int_eq(x86_decode(bytes, n, cpu->st->mode, &i), X86_DECODE_OK);
    ck_assert_int_eq(i.length, n);
    if (getenv("CLEAT_ROWS")) {         /* tests/insn/rows.py makes a list */
        printf("tcg_row %s insn.def:%u\n", x86_mnemonic(&i), x86_row(&i)->line);
    }
    cpu->st->rip = H_CODE;
    cpu->fault_jmp = &jmp;
    if (sigsetjmp(jmp, 0) == 0) {
        i.fn(cpu, &i);
        return NO_FAULT;
    }
    cpu->st->ev.exception_pending = false;
    ck_assert_uint_eq(cpu->st->rip, H_CODE);
    return cpu->st->ev.exception_nr;
}

static inline uint64_t mem_get(unsigned address, unsigned size)
{
    uint64_t v = 0;

    memcpy(&v, harness_ram() + address, size);
    return v;
}

static inline void mem_put(unsigned address, uint64_t v, unsigned size)
{
    memcpy(harness_ram() + address, &v, size);
}

#endif
