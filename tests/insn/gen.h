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
void bytes_generate(Rng *r, const InsnRow *row, bool in_sequence, uint8_t out[32]);
/* A start state and the window's contents around the operands. */
void state_generate(Rng *r, InsnCase *c);
/* A place for a memory operand of so many bytes. */
uint64_t target_generate(Rng *r, unsigned size);
void data_fill(Rng *r, void *buf, unsigned len);

#endif
