/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running a guest's vector and x87 instructions on the host's own units: stubs and their cache.
 *
 * A stub is host code for one distinct encoding: it loads the registers that the instruction
 * names from X86State, executes the same instruction with its memory operand at [rsi] and its
 * general registers renamed to rax and rcx, and stores what it wrote.
 *   uint64_t stub(X86State *st (rdi), void *mem (rsi), NativeContext *ctx (rdx)) -> RFLAGS after the instruction
 * One cache per vCPU (X86CPU.native), used by its thread only, so no locks. Memory for stubs is
 * mapped as it is used and is never writable and executable at once. Test: tests/insn.
 */
#ifndef CLEAT_TARGET_I386_SEM_NATIVE_H
#define CLEAT_TARGET_I386_SEM_NATIVE_H

#include "target/i386/sem/sem.h"

typedef struct NativeContext {
    uint32_t mxcsr;             /* in: to run with; out: what the instruction left */
    uint32_t mxcsr_host;        /* restored at the end */
    uint64_t flags;             /* in: arithmetic flags, for rows that read them */
    bool faulted;               /* out: a SIMD exception ended the stub */
} NativeContext;

typedef uint64_t NativeStub(X86State *st, void *mem, NativeContext *ctx);

/* What makes two instructions the same code. */
typedef struct NativeKey {
    uint16_t op, prefixes;
    uint8_t reg, rm, vvvv, reg4, imm, imm2, mask, rc, ll, is_mem, code64, opcode;
} NativeKey;
_Static_assert(sizeof(NativeKey) == 16, "compared as two words");

typedef struct X86Native X86Native;

/*
 * The stub of i, made when it is new; NULL when no memory for it can be had (raise nothing:
 * report and stop).
 */
NativeStub *native_stub(X86CPU *cpu, const Insn *i);
void x86_native_free(X86CPU *cpu);
/*
 * Runs a stub with unmasked SIMD exceptions. False: one came; nothing is stored, ctx->mxcsr has
 * its flags.
 */
bool native_run_unmasked(NativeStub *stub, X86State *st, void *mem, NativeContext *ctx, uint64_t *flags);

/* Emission, shared with the x87 engine (native-emit.c). */
typedef struct NativeBuf {
    uint8_t *p, *end;
    bool full;
} NativeBuf;
void emit_bytes(NativeBuf *b, const void *bytes, unsigned n);
void emit_u8(NativeBuf *b, uint8_t v);
void emit_u32(NativeBuf *b, uint32_t v);
/* A row's operands as encoded. */
#define NATIVE_NO_INDEX 16u             /* bit 3 is clear, as encoding without one wants it */
typedef struct NativeEncoding {
    unsigned reg, rm, vvvv;             /* of memory: rm is the base; not 4, 5, 12 or 13 */
    unsigned index;
    bool mem;
} NativeEncoding;
/* Its own registers, with GPRs in ModRM.reg and .rm renamed to g and rm, and memory at [base]. */
NativeEncoding native_encoding(const Insn *i, unsigned g, unsigned rm, unsigned base);
void native_emit_insn(NativeBuf *b, const Insn *i, const NativeEncoding *e);
/* The whole body for a vector or MMX row, and for an x87 row. */
void native_emit_vec(NativeBuf *b, const Insn *i);
void native_emit_x87(NativeBuf *b, const Insn *i);
bool native_host_has_avx(void);
bool native_host_has_avx512(void);

/*
 * What any MMX instruction does to the x87 state: TOP 0 (registers turn, values stay), all tags
 * valid.
 */
void native_mmx_enter(X86XSave *xs);
/* Does the row look at or change MXCSR? */
bool native_uses_mxcsr(const InsnRow *row);

#endif
