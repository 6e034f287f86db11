/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between gen.c (cases) and gen-bytes.c, gen-state.c. */
#ifndef CLEAT_TESTS_INSN_GEN_H
#define CLEAT_TESTS_INSN_GEN_H

#include "insn-test.h"
#include "rng.h"

/*
 * Random bytes of an instruction of this row, 15 or more; in_sequence: memory only by absolute
 * address or RIP.
 */
void bytes_generate(Rng *r, const InsnRow *row, unsigned bits, bool in_sequence, uint8_t out[32]);
/* A selector as a program might load it: good ones, bad ones. */
uint16_t selector_generate(Rng *r);
/* A start state (of code of c->bits) and the window's contents around the operands. */
void state_generate(Rng *r, InsnCase *c);
/* A place for a memory operand of so many bytes. */
uint64_t target_generate(Rng *r, unsigned size);
/* gen-aim.c: sets registers, instruction bytes and the window so that the operands of a single case are there. */
void operands_aim(Rng *r, InsnCase *c, Insn *i);
/* The memory operand of the instruction at byte `at` of the code, to target. */
void memory_aim(Rng *r, InsnCase *c, Insn *i, unsigned at, uint64_t target);
void window_fill(Rng *r, uint64_t target);
bool is_sha(const Insn *i);
/* gen.c */
bool gen_wants_mmio(uint64_t seed);
bool is_foreign(const Insn *i);                 /* a form that this host's CPU has not */
bool gates_open(const Insn *i);
bool fits_sequence(const Insn *i);
/* Which flags are undefined behind the instruction, given those before it. */
unsigned undef_after(const Insn *i, unsigned undef);
bool decode_at(InsnCase *c, unsigned at, Insn *i);
bool gen_host_is_amd(void);
/* Cases of 64-, 32- or 16-bit code alone. */
void gen_bits_only(unsigned bits);
void data_fill(Rng *r, void *buf, unsigned len);

#endif
