/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A decoded x86 instruction, and the row of the instruction table it belongs to.
 *
 * Insn is what the decoder makes of bytes and mode (decode.h): everything the interpreter, the vector engine and
 * the translator need, in 64 bytes. InsnRow is one line of target/i386/insn.def as scripts/insn-gen.py compiled
 * it; x86_insn_rows[insn->op]. Constant data, any thread. Test: tests/unit/test-decode.c.
 */
#ifndef CLEAT_TARGET_I386_INSN_H
#define CLEAT_TARGET_I386_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct X86CPU X86CPU;
typedef struct Insn Insn;
typedef void X86SemFn(X86CPU *cpu, const Insn *i);

/* Insn.prefixes: what stood before the opcode. Of F2 and F3 the last one counts. */
enum {
    INSN_LOCK = 1 << 0, INSN_REPNE = 1 << 1 /* F2 */, INSN_REP = 1 << 2 /* F3 */, INSN_66 = 1 << 3, INSN_67 = 1 << 4,
    INSN_SEG = 1 << 5,              /* a segment override that counts */
    INSN_REX = 1 << 6, INSN_VEX = 1 << 7, INSN_EVEX = 1 << 8,
    INSN_W = 1 << 9,                /* REX.W, VEX.W or EVEX.W, as encoded */
    INSN_Z = 1 << 10,               /* EVEX.z: zeroing */
    INSN_B = 1 << 11,               /* EVEX.b: broadcast (memory), rounding or SAE (registers) */
    INSN_CODE64 = 1 << 12,          /* decoded as 64-bit code */
};

/*
 * Insn.base and .index: 0-15 GPRs; RIP is regs[16] of the state (disp counts the length already); none reads the
 * state's zero, regs[18].
 */
enum { INSN_RIP = 16, INSN_NONE = 18 };

/* How the offset of the memory operand becomes a linear address. */
enum {
    EA_NONE,        /* no memory operand */
    EA_FLAT64,      /* 64-bit address, segment base zero: linear = offset */
    EA_FLAT32,      /* 32-bit offset, flat segment by mode: linear = offset */
    EA_SEG,         /* anything else: truncate to adsize, then x86_linear() */
};

struct Insn {
    X86SemFn *fn;           /* the interpreter's function for this form */
    uint64_t imm;           /* immediate, sign-extended from its encoded size; relative jumps too; moffs: address */
    int64_t disp;           /* displacement of the memory operand, disp8*N applied; RIP-relative: plus length */
    uint16_t op;            /* row: index into x86_insn_rows */
    uint16_t imm2;          /* second immediate: ENTER level, EXTRQ/INSERTQ, selector of a far pointer */
    uint16_t prefixes;      /* INSN_* */
    uint16_t mem_size;      /* bytes of the memory operand; broadcast: of one element; 0: varies or none (XSAVE, LEA) */
    uint8_t length;         /* 1..15 */
    uint8_t opsize;         /* operand size: 1 for byte rows, 2, 4, 8 */
    uint8_t adsize;         /* address size: 2, 4, 8 */
    uint8_t vl;             /* vector length in bytes: 16, 32, 64; 0: not a vector row of VEX or EVEX encoding */
    uint8_t modrm;          /* raw; 0 when the row has none */
    uint8_t rex;            /* 0x40 | W R X B bits, as if all came from a REX prefix */
    /*
     * Register numbers. Vector registers 0-31. Byte GPRs 0-15, and 0x10-0x13 for AH CH DH BH: the byte at
     * (n & 15) * 8 + (n >> 4) of the state's regs.
     */
    uint8_t reg;            /* ModRM.reg, extended */
    uint8_t rm;             /* ModRM.rm of a register form, or the opcode's low bits, extended; else 0 (rAX) */
    uint8_t vvvv;           /* VEX/EVEX vvvv, extended; 0 when not used */
    uint8_t reg4;           /* imm8[7:4] of VEX rows with four registers */
    uint8_t seg;            /* SEG_*: of the memory operand or of the string source */
    uint8_t base, index;    /* INSN_NONE: none; index: vector number 0-31 for VSIB */
    uint8_t scale;          /* 0-3 */
    uint8_t ea;             /* EA_* */
    uint8_t opcode;         /* last opcode byte */
    uint8_t mask;           /* EVEX.aaa: 0 none */
    uint8_t rc;             /* EVEX.L'L of a rounding form */
    /* Places within the instruction's bytes; 0: not there. */
    uint8_t off_opcode;     /* legacy: first opcode byte (0F included); VEX, EVEX: the C4, C5 or 62 byte */
    uint8_t off_modrm, off_disp, off_imm;
    uint8_t disp_len, imm_len;
    uint8_t ll;             /* VEX.L or EVEX.L'L as encoded */
    uint8_t x86_pad;
    uint16_t page_offset;   /* of cached blocks: the instruction's place in its page */
};
_Static_assert(sizeof(Insn) == 64, "one cache line");

/* Operand letters (insn.def explains them). */
typedef enum InsnOpKind {
    OPK_NONE,
    OPK_E, OPK_G, OPK_R, OPK_M, OPK_Z, OPK_B,          /* general registers and memory */
    OPK_RM,                                             /* RdM.: 32-bit register, or memory of `size` */
    OPK_V, OPK_H, OPK_W, OPK_U, OPK_L, OPK_UM, OPK_XMM0,    /* vector; UM: UdqMd */
    OPK_P, OPK_Q, OPK_N,                                /* MMX */
    OPK_KG, OPK_KH, OPK_KU, OPK_KE,                     /* opmask */
    OPK_S, OPK_C, OPK_D,
    OPK_I, OPK_I2, OPK_J, OPK_A, OPK_O, OPK_X, OPK_Y, OPK_ONE,
    OPK_ST, OPK_STI,
    OPK_FIXED,                                          /* GPR number in aux */
    OPK_SEG,                                            /* SEG_* in aux */
    OPK_VM,                     /* vector index; aux: index width 4 or 8; size: of the index vector */
} InsnOpKind;

/* Operand sizes; x86_operand_size() turns them into bytes. */
typedef enum InsnOpSize {
    SZ_0, SZ_B, SZ_BS, SZ_W, SZ_D, SZ_Q, SZ_V, SZ_Y, SZ_Z, SZ_DQ, SZ_QQ, SZ_X, SZ_H, SZ_F, SZ_E,
    SZ_P, SZ_S, SZ_A, SZ_T, SZ_ENV, SZ_SAVE, SZ_64, SZ_512, SZ_XS, SZ_CX,
} InsnOpSize;

enum { OPA_READ = 1, OPA_WRITE = 2 };

typedef struct InsnOperand {
    uint8_t kind;           /* OPK_* */
    uint8_t size;           /* SZ_* */
    uint8_t access;         /* OPA_* */
    uint8_t aux;
} InsnOperand;

/* InsnRow.map */
enum { MAP_1B, MAP_0F, MAP_0F38, MAP_0F3A, MAP_VEX1, MAP_VEX2, MAP_VEX3,
       MAP_EVEX1, MAP_EVEX2, MAP_EVEX3, MAP_EVEX5, MAP_EVEX6, MAP_COUNT };

/* InsnRow.pfx: allowed mandatory prefixes, a bit each. */
enum { PFX_NONE = 1, PFX_66 = 2, PFX_F3 = 4, PFX_F2 = 8 };

/* InsnRow.flags */
enum {
    ROW_I64 = 1 << 0, ROW_O64 = 1 << 1, ROW_D64 = 1 << 2, ROW_F64 = 1 << 3,
    ROW_LOCK = 1 << 4, ROW_REP = 1 << 5, ROW_END = 1 << 6, ROW_CPL0 = 1 << 7, ROW_PE = 1 << 8,
    ROW_NOREXB = 1 << 9, ROW_ALIAS = 1 << 10, ROW_NOTCS = 1 << 11, ROW_MODR = 1 << 12, ROW_SGST = 1 << 13,
    ROW_SEG8C = 1 << 14, ROW_BITMEM = 1 << 15, ROW_NOWAIT = 1 << 16, ROW_K = 1 << 17, ROW_KZ = 1 << 18,
    ROW_KREQ = 1 << 19, ROW_ER = 1 << 20, ROW_SAE = 1 << 21, ROW_RCOK = 1 << 22, ROW_W32 = 1 << 23,
    ROW_VSIB = 1 << 24, ROW_KPAIR = 1 << 25, ROW_XMM0W = 1 << 26, ROW_MOVDIR = 1 << 27, ROW_NOPM = 1 << 28,
    ROW_BYTE = 1 << 29,             /* operand size is a byte */
    ROW_MODRM = 1 << 30,            /* has a ModRM byte */
};

/* InsnRow.xlat: class of translation. */
enum { XLAT_CALL, XLAT_SAME, XLAT_FLOW, XLAT_STACK, XLAT_STRING, XLAT_SEG, XLAT_SYS, XLAT_FLAG, XLAT_VEC, XLAT_X87,
       XLAT_MASK };

/* InsnRow.excl: exception class (SDM vol. 2, 2.4 and 2.8). 4U: type 4 that checks no alignment. */
enum { EXC_NONE, EXC_X87, EXC_MMX, EXC_CVT /* MMX with SSE */, EXC_1, EXC_2, EXC_3, EXC_4, EXC_4U, EXC_5, EXC_6,
       EXC_7, EXC_8, EXC_11, EXC_12, EXC_K20, EXC_K21, EXC_E1, EXC_E1NF, EXC_E2, EXC_E3, EXC_E3NF, EXC_E4, EXC_E4NF,
       EXC_E5, EXC_E5NF, EXC_E6, EXC_E6NF, EXC_E7NM, EXC_E9NF, EXC_E10, EXC_E10NF, EXC_E11, EXC_E12 };

#define INSN_OPERANDS 5
typedef struct InsnRow {
    uint32_t flags;         /* ROW_* */
    uint8_t map;            /* MAP_* */
    uint8_t opcode;         /* of +r rows: the first of eight */
    uint8_t pfx;            /* PFX_*: allowed */
    uint8_t digit;          /* ModRM.reg; 0xff: any */
    uint8_t rm;             /* ModRM.rm; 0xff: any */
    uint8_t mod;            /* 1: memory only, 2: register only, 3: both */
    uint8_t w;              /* 1: W0, 2: W1, 3: both */
    uint8_t l;              /* bit n: VEX.L/EVEX.L'L may be n; 0x80 set: length is ignored (LIG) */
    uint8_t plus_r;         /* the opcode's low three bits are a register */
    uint8_t gates[2];       /* GATE_*, 0: none */
    uint8_t gate64;         /* needed in 64-bit mode only */
    uint8_t xlat;           /* XLAT_* */
    uint8_t excl;           /* EXC_* */
    uint8_t bcast;          /* bytes of a broadcast element; 0: no broadcast */
    uint8_t elem;           /* bytes of the destination's element that one mask bit covers; 0: no mask */
    uint16_t flags_read, flags_written, flags_undef;    /* FL_* bits 0-11; allsys: 0xffff */
    uint16_t imp_read, imp_write;                       /* GPRs used implicitly, bit n: register n */
    uint16_t fnset;         /* row of the function table: index in x86_sem_sets */
    uint16_t mnemonic;      /* offset in x86_mnemonics */
    uint16_t line;          /* in insn.def */
    InsnOperand opnd[INSN_OPERANDS];
} InsnRow;

#include "target/i386/insn-tables.h"     /* generated: enum of GATE_*, INSN_ROW_COUNT, declarations */

extern const InsnRow x86_insn_rows[INSN_ROW_COUNT];
extern const char x86_mnemonics[];
/* CPUID feature names as QEMU spells them, by GATE_*. */
extern const char *const x86_gate_names[GATE_COUNT];
/* By fnset: [0..3] register form at operand size 1, 2, 4, 8; [4..7] memory form. */
extern X86SemFn *const x86_sem_sets[][8];

static inline const InsnRow *x86_row(const Insn *i)
{
    return &x86_insn_rows[i->op];
}

static inline const char *x86_mnemonic(const Insn *i)
{
    return x86_mnemonics + x86_row(i)->mnemonic;
}

/* Is ModRM's operand memory? */
static inline bool x86_is_mem(const Insn *i)
{
    return i->ea != EA_NONE;
}

/* Bytes of an operand of this instruction; 0 where it varies (XSAVE) or has no size (LEA). */
unsigned x86_operand_size(const Insn *i, const InsnOperand *o);
/* CPUID features this instruction needs, with AVX512VL where the length asks for it; returns how many (<= 4). */
unsigned x86_insn_gates(const Insn *i, uint8_t gates[4]);

#endif
