/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder: bytes and mode to Insn. A pure function, no CPU state, any thread.
 * Tests: tests/unit/test-decode.c (lengths against capstone), tests/fuzz/fuzz-decode.c.
 */
#ifndef CLEAT_TARGET_I386_DECODE_H
#define CLEAT_TARGET_I386_DECODE_H

#include "target/i386/insn.h"

/* Longest instruction the architecture allows. */
#define X86_INSN_MAX 15

typedef enum X86DecodeResult {
    X86_DECODE_OK,
    X86_DECODE_MORE,        /* avail bytes are a proper prefix of an instruction: fetch more */
    X86_DECODE_UD,          /* #UD; out->length is how many bytes were looked at */
    X86_DECODE_TOO_LONG,    /* more than 15 bytes: #GP(0) */
} X86DecodeResult;

/*
 * Decodes the instruction at bytes. mode: MODE_* of X86State (CS64, CS32, PE, VM and ADDSEG count here).
 * out is complete at OK and unspecified otherwise, but for length at UD. CPUID gates, CPL and CR bits are
 * not looked at: see x86_insn_gates() and the row's flags. out->fn is set by the row, size and form.
 */
X86DecodeResult x86_decode(const uint8_t *bytes, size_t avail, uint32_t mode, Insn *out);

#endif
