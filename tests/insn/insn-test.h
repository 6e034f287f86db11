/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The differential test of the software CPU against the real one: shared shapes.
 *
 * A case is an instruction (or a short sequence) with a start state and the contents of a small
 * window of memory. It runs once on the host (native.c: ring 3, single-stepped, ended by a
 * signal) and once in the interpreter (guest.c: the whole CPU with paging, CPL 3); gen.c makes
 * cases from the instruction table and a seed; compare.c judges.
 */
#ifndef CLEAT_TESTS_INSN_TEST_H
#define CLEAT_TESTS_INSN_TEST_H

#include <stdio.h>

#include "target/i386/cpu.h"
#include "target/i386/insn.h"

/* Linear addresses, the same in both worlds. Pages around them are not mapped. */
#define DATA_AT 0x10000000ull
#define DATA_RW 0x3000u             /* writable bytes; then a page that may only be read, then nothing */
#define DATA_SIZE 0x4000u
#define CODE_AT 0x10200000ull       /* one page, not writable */
#define CODE_START (CODE_AT + 0x800)
#define GS_BASE (DATA_AT + 0x40)
#define SEQUENCE_MAX 8
#define CODE_MAX (16 * SEQUENCE_MAX)

typedef struct InsnState {
    uint64_t regs[16];
    uint64_t rip, rflags;
    X86XSave xs;                    /* XSTATE_BV is not looked at */
} InsnState;

typedef struct InsnCase {
    uint64_t seed;
    InsnState start;
    uint8_t code[CODE_MAX + 32];    /* followed by int3 */
    unsigned length, count;         /* bytes, instructions */
    Insn insn[SEQUENCE_MAX];
    bool undecodable;               /* our decoder refuses it: #UD expected */
    uint16_t flags_undef;           /* left undefined at the end */
    uint64_t target;                /* where the (first) memory operand is */
} InsnCase;

typedef struct InsnOutcome {
    InsnState end;
    int vector;                     /* of the fault, -1: none */
    uint32_t error;
    uint64_t cr2;
    bool endless;                   /* gave up */
} InsnOutcome;

/* Window contents at the start of a case, and where each world keeps its copy. */
extern uint8_t window_start[DATA_SIZE];

/* native.c */
bool native_init(const char **reason);          /* false: this host cannot run the test */
uint64_t native_features(void);                 /* XFEATURE_* of the host */
uint8_t *native_window(void);                   /* writable view of the data window */
void native_run(const InsnCase *c, bool step, InsnOutcome *out);
uint16_t native_selector(int seg);

/* guest.c */
void guest_init(void);
X86CPU *guest_cpu(void);
uint8_t *guest_window(void);
void guest_run(const InsnCase *c, InsnOutcome *out);

/* gen.c */
const char *row_skip_reason(unsigned op);       /* NULL: ring 3 can run it here */
void case_generate(InsnCase *c, uint64_t seed, unsigned op);
void sequence_generate(InsnCase *c, uint64_t seed, const uint16_t *rows, unsigned n_rows);

/* compare.c: true when both agree, or where they may differ. */
bool outcome_same(const InsnCase *c, const InsnOutcome *native, const InsnOutcome *guest, FILE *report);

#endif
