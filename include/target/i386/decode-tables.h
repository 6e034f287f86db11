/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between scripts/insn-gen.py's output and decode.c: rows by map and opcode. Nobody else's business. */
#ifndef CLEAT_TARGET_I386_DECODE_TABLES_H
#define CLEAT_TARGET_I386_DECODE_TABLES_H

#include "target/i386/insn.h"

typedef struct X86DecodeSlot {
    uint16_t first;         /* in x86_decode_cand */
    uint16_t count;         /* 0: no such opcode */
} X86DecodeSlot;

extern const uint16_t x86_decode_cand[];
extern const X86DecodeSlot x86_decode_index[MAP_COUNT][256];

#endif
