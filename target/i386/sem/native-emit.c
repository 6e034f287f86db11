/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emitting native stubs: register loads, the re-encoded instruction, register stores (encodings:
 * SDM vol. 2 ch. 2).
 *
 * Registers inside a stub: rdi = X86State, rsi = memory operand, r9 = context, rax = the GPR in
 * ModRM.reg (or rAX used implicitly), rcx = the GPR in ModRM.rm (or rCX written implicitly), rdx
 * = rDX used implicitly. Vector, mask and MMX registers keep their numbers: all are the caller's
 * to save, and this file's caller keeps none.
 */
#include <string.h>

#include "target/i386/sem/native.h"

#define XS(field) ((uint32_t)offsetof(X86State, xs.field))

void emit_bytes(NativeBuf *b, const void *bytes, unsigned n)
{
    if (b->p + n > b->end) {
        b->full = true;
        return;
    }
    memcpy(b->p, bytes, n);
    b->p += n;
}

void emit_u8(NativeBuf *b, uint8_t v)
{
    emit_bytes(b, &v, 1);
}

void emit_u32(NativeBuf *b, uint32_t v)
{
    emit_bytes(b, &v, 4);
}

#define EMIT(b, ...) \
    do { \
        static const uint8_t bytes_[] = { __VA_ARGS__ }; \
        emit_bytes(b, bytes_, sizeof(bytes_)); \
    } while (0)

/* The compiler's library asked CPUID and XCR0 once, at start: CPUID itself is dear in a virtual machine. */
bool native_host_has_avx(void)
{
    return __builtin_cpu_supports("avx");
}

bool native_host_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

/* ---- moves between state and registers: [rdi + disp32] ---- */

/* mov r64, [rdi+disp] (0x8b) or back (0x89); n < 8 */
static void emit_gpr(NativeBuf *b, uint8_t opcode, unsigned n, uint32_t disp)
{
    const uint8_t bytes[] = { 0x48, opcode, 0x87 | n << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, disp);
}

/* movups xmm, [rdi+disp] (0x10) or back (0x11); n < 16 */
static void emit_movups(NativeBuf *b, uint8_t opcode, unsigned n, uint32_t disp)
{
    const uint8_t bytes[] = { 0x40 | n >> 3 << 2, 0x0f, opcode, 0x87 | (n & 7) << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, disp);
}

/*
 * A VEX.256.66.0F3A.W0 row with imm8 1: vinsertf128 ymm, ymm, m128 (0x18), vextractf128 m128, ymm
 * (0x19).
 */
static void emit_ymm_high(NativeBuf *b, uint8_t opcode, unsigned n, uint32_t disp)
{
    unsigned vvvv = opcode == 0x18 ? ~n & 15 : 15;
    const uint8_t bytes[] = { 0xc4, (n < 8 ? 0x80 : 0) | 0x60 | 3, vvvv << 3 | 4 | 1, opcode, 0x87 | (n & 7) << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, disp);
    emit_u8(b, 1);
}

/*
 * EVEX.512.66.0F3A.W1 with imm8 1: vinsertf64x4 zmm, zmm, m256 (0x1a), vextractf64x4 m256, zmm
 * (0x1b); n < 16.
 */
static void emit_zmm_high(NativeBuf *b, uint8_t opcode, unsigned n, uint32_t disp)
{
    unsigned vvvv = opcode == 0x1a ? ~n & 15 : 15;
    const uint8_t bytes[] = { 0x62, (n < 8 ? 0x80 : 0) | 0x60 | 0x10 | 3, 0x80 | vvvv << 3 | 4 | 1, 0x48, opcode,
                              0x87 | (n & 7) << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, disp);
    emit_u8(b, 1);
}

/* vmovups zmm16-31, m512 (0x10) or back (0x11): EVEX.512.0F.W0 */
static void emit_zmm_hi16(NativeBuf *b, uint8_t opcode, unsigned n, uint32_t disp)
{
    const uint8_t bytes[] = { 0x62, ((n & 8) ? 0 : 0x80) | 0x60 | 1, 0x7c, 0x48, opcode, 0x87 | (n & 7) << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, disp);
}

/* kmovq k, m64 (0x90) or back (0x91): VEX.L0.0F.W1 */
static void emit_kmov(NativeBuf *b, uint8_t opcode, unsigned n)
{
    const uint8_t bytes[] = { 0xc4, 0xe1, 0xf8, opcode, 0x87 | n << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, XS(k) + 8 * n);
}

/* movq mm, m64 (0x6f) or back (0x7f) */
static void emit_mmx(NativeBuf *b, uint8_t opcode, unsigned n)
{
    const uint8_t bytes[] = { 0x0f, opcode, 0x87 | n << 3 };

    emit_bytes(b, bytes, sizeof(bytes));
    emit_u32(b, XS(st) + 16 * n);
}

static void vec_load(NativeBuf *b, unsigned n, unsigned bytes)
{
    if (n >= 16) {
        emit_zmm_hi16(b, 0x10, n, XS(hi16) + 64 * (n - 16));
        return;
    }
    emit_movups(b, 0x10, n, XS(xmm) + 16 * n);
    if (bytes > 16) {
        emit_ymm_high(b, 0x18, n, XS(ymmh) + 16 * n);
    }
    if (bytes > 32) {
        emit_zmm_high(b, 0x1a, n, XS(zmmh) + 32 * n);
    }
}

/* Legacy SSE leaves what is above 128 bits alone; VEX and EVEX write the whole register. */
static void vec_store(NativeBuf *b, unsigned n, bool legacy)
{
    if (n >= 16) {
        emit_zmm_hi16(b, 0x11, n, XS(hi16) + 64 * (n - 16));
        return;
    }
    emit_movups(b, 0x11, n, XS(xmm) + 16 * n);
    if (!legacy) {
        emit_ymm_high(b, 0x19, n, XS(ymmh) + 16 * n);
        if (native_host_has_avx512()) {
            emit_zmm_high(b, 0x1b, n, XS(zmmh) + 32 * n);
        }
    }
}

/* ---- the instruction itself ---- */

enum { HOST_REG = 0 /* rax */, HOST_RM = 1 /* rcx */, HOST_MEM = 6 /* rsi */ };

static bool operand_in_reg_field(unsigned kind)
{
    return kind == OPK_G || kind == OPK_V || kind == OPK_P || kind == OPK_KG;
}

NativeEncoding native_encoding(const Insn *i, unsigned g, unsigned rm, unsigned base)
{
    const InsnRow *row = x86_row(i);
    NativeEncoding e = {
        .reg = row->digit != 0xff ? row->digit : i->reg, .rm = i->rm, .vvvv = i->vvvv,
        .mem = x86_is_mem(i), .index = NATIVE_NO_INDEX,
    };

    for (int n = 0; n < INSN_OPERANDS; n++) {
        switch (row->opnd[n].kind) {
        case OPK_G:
            e.reg = g;
            break;
        case OPK_E:
        case OPK_R:
        case OPK_RM:
            e.rm = rm;
            break;
        case OPK_P:
            e.reg &= 7;
            break;
        case OPK_Q:
        case OPK_N:
            e.rm &= 7;
            break;
        default:
            break;
        }
    }
    if (e.mem) {
        e.rm = base;
    }
    return e;
}

static unsigned prefix_code(const InsnRow *row)
{
    return row->pfx == PFX_66 ? 1 : row->pfx == PFX_F3 ? 2 : row->pfx == PFX_F2 ? 3 : 0;
}

static void emit_legacy(NativeBuf *b, const Insn *i, const NativeEncoding *e)
{
    static const uint8_t prefix_byte[] = { 0, 0x66, 0xf3, 0xf2 };
    const InsnRow *row = x86_row(i);
    unsigned pp = prefix_code(row);
    uint8_t rex = (i->prefixes & INSN_W ? 8 : 0) | (e->reg >> 3 & 1) << 2 | (e->index >> 3 & 1) << 1 | (e->rm >> 3 & 1);

    if (pp) {
        emit_u8(b, prefix_byte[pp]);
    }
    if (rex) {
        emit_u8(b, 0x40 | rex);
    }
    emit_u8(b, 0x0f);
    if (row->map == MAP_0F38 || row->map == MAP_0F3A) {
        emit_u8(b, row->map == MAP_0F38 ? 0x38 : 0x3a);
    }
}

static void emit_vex(NativeBuf *b, const Insn *i, const NativeEncoding *e)
{
    const InsnRow *row = x86_row(i);
    uint8_t r = e->reg >> 3 & 1, rm = e->rm >> 3 & 1;
    const uint8_t bytes[] = {
        0xc4, (r ? 0 : 0x80) | (e->index >> 3 & 1 ? 0 : 0x40) | (rm ? 0 : 0x20) | (row->map - MAP_VEX1 + 1),
        (i->prefixes & INSN_W ? 0x80 : 0) | (~e->vvvv & 15) << 3 | (i->ll & 1) << 2 | prefix_code(row),
    };

    emit_bytes(b, bytes, sizeof(bytes));
}

static void emit_evex(NativeBuf *b, const Insn *i, const NativeEncoding *e)
{
    static const uint8_t maps[] = { 1, 2, 3, 5, 6 };
    const InsnRow *row = x86_row(i);
    unsigned ll = (i->prefixes & INSN_B) && !e->mem ? i->rc : i->ll;
    const uint8_t bytes[] = {
        0x62,
        (e->reg & 8 ? 0 : 0x80) | ((e->mem ? e->index & 8 : e->rm & 16) ? 0 : 0x40) | (e->rm & 8 ? 0 : 0x20) |
            (e->reg & 16 ? 0 : 0x10) |
            maps[row->map - MAP_EVEX1],
        (i->prefixes & INSN_W ? 0x80 : 0) | (~e->vvvv & 15) << 3 | 4 | prefix_code(row),
        (i->prefixes & INSN_Z ? 0x80 : 0) | ll << 5 | (i->prefixes & INSN_B ? 0x10 : 0) |
            (e->vvvv & 16 ? 0 : 8) | i->mask,
    };

    emit_bytes(b, bytes, sizeof(bytes));
}

void native_emit_insn(NativeBuf *b, const Insn *i, const NativeEncoding *e)
{
    const InsnRow *row = x86_row(i);

    if (i->prefixes & INSN_EVEX) {
        emit_evex(b, i, e);
    } else if (i->prefixes & INSN_VEX) {
        emit_vex(b, i, e);
    } else {
        emit_legacy(b, i, e);
    }
    emit_u8(b, i->opcode);
    if ((row->flags & ROW_MODRM) && e->mem && e->index != NATIVE_NO_INDEX) {
        emit_u8(b, (e->reg & 7) << 3 | 4);
        emit_u8(b, (e->index & 7) << 3 | (e->rm & 7));
    } else if (row->flags & ROW_MODRM) {
        emit_u8(b, (e->mem ? 0 : 0xc0) | (e->reg & 7) << 3 | (e->rm & 7));
    }
    if (i->imm_len) {
        emit_u8(b, i->imm);
    }
    if (i->imm_len > 1) {
        emit_u8(b, i->imm2);
    }
}

/* ---- operands around it ---- */

static unsigned load_width(const Insn *i)
{
    if ((i->prefixes & INSN_B) && !x86_is_mem(i)) {
        return 64;                      /* rounding and SAE forms are 512 bits long, or scalar */
    }
    return i->prefixes & (INSN_VEX | INSN_EVEX) ? MAX(i->vl, 16) : 16;
}

static void operand_load(NativeBuf *b, const Insn *i, const InsnOperand *o, unsigned width)
{
    switch (o->kind) {
    case OPK_V:
        vec_load(b, i->reg, width);
        break;
    case OPK_H:
        vec_load(b, i->vvvv, width);
        break;
    case OPK_W:
    case OPK_U:
    case OPK_UM:
        if (!x86_is_mem(i)) {
            vec_load(b, i->rm, width);
        }
        break;
    case OPK_L:
        vec_load(b, i->reg4, width);
        break;
    case OPK_XMM0:
        vec_load(b, 0, 16);
        break;
    case OPK_P:
        emit_mmx(b, 0x6f, i->reg & 7);
        break;
    case OPK_Q:
    case OPK_N:
        if (!x86_is_mem(i)) {
            emit_mmx(b, 0x6f, i->rm & 7);
        }
        break;
    case OPK_KG:
        emit_kmov(b, 0x90, i->reg & 7);
        break;
    case OPK_KH:
        emit_kmov(b, 0x90, i->vvvv & 7);
        break;
    case OPK_KU:
    case OPK_KE:
        if (!x86_is_mem(i)) {
            emit_kmov(b, 0x90, i->rm & 7);
        }
        break;
    case OPK_G:
        emit_gpr(b, 0x8b, HOST_REG, 8 * i->reg);
        break;
    case OPK_E:
    case OPK_R:
    case OPK_RM:
        if (!x86_is_mem(i)) {
            emit_gpr(b, 0x8b, HOST_RM, 8 * i->rm);
        }
        break;
    default:
        break;
    }
}

static void operand_store(NativeBuf *b, const Insn *i, const InsnOperand *o, bool legacy)
{
    bool mem = x86_is_mem(i) && !operand_in_reg_field(o->kind) && o->kind != OPK_H;

    if (!(o->access & OPA_WRITE) || mem) {
        return;
    }
    switch (o->kind) {
    case OPK_V:
        vec_store(b, i->reg, legacy);
        break;
    case OPK_H:
        vec_store(b, i->vvvv, legacy);
        break;
    case OPK_W:
    case OPK_U:
    case OPK_UM:
        vec_store(b, i->rm, legacy);
        break;
    case OPK_P:
        emit_mmx(b, 0x7f, i->reg & 7);
        break;
    case OPK_Q:
    case OPK_N:
        emit_mmx(b, 0x7f, i->rm & 7);
        break;
    case OPK_KG:
        emit_kmov(b, 0x91, i->reg & 7);
        if (x86_row(i)->flags & ROW_KPAIR) {
            emit_kmov(b, 0x91, (i->reg & 7) ^ 1);
        }
        break;
    case OPK_KU:
    case OPK_KE:
        emit_kmov(b, 0x91, i->rm & 7);
        break;
    case OPK_G:
        emit_gpr(b, 0x89, HOST_REG, 8 * i->reg);
        break;
    case OPK_E:
    case OPK_R:
    case OPK_RM:
        emit_gpr(b, 0x89, HOST_RM, 8 * i->rm);
        break;
    default:
        break;
    }
}

/* Rows of quiet classes whose results follow MXCSR.DAZ: VRCP14, VRSQRT14, VFPCLASS. */
static bool looks_at_daz(const InsnRow *row)
{
    return (row->map == MAP_EVEX2 && row->opcode >= 0x4c && row->opcode <= 0x4f) ||
           (row->map == MAP_EVEX3 && (row->opcode == 0x66 || row->opcode == 0x67));
}

bool native_uses_mxcsr(const InsnRow *row)
{
    switch (row->excl) {
    case EXC_2:
    case EXC_3:
    case EXC_11:
    case EXC_CVT:
    case EXC_E2:
    case EXC_E3:
    case EXC_E3NF:
    case EXC_E11:
        return true;
    default:
        return looks_at_daz(row);
    }
}

static bool row_is_mmx(const InsnRow *row)
{
    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (row->opnd[n].kind == OPK_P || row->opnd[n].kind == OPK_Q || row->opnd[n].kind == OPK_N) {
            return true;
        }
    }
    return false;
}

/* ldmxcsr (/2) or stmxcsr (/3) [r9+disp8] */
static void emit_mxcsr(NativeBuf *b, unsigned digit, uint8_t disp)
{
    const uint8_t bytes[] = { 0x41, 0x0f, 0xae, 0x41 | digit << 3, disp };

    emit_bytes(b, bytes, sizeof(bytes));
}

void native_emit_vec(NativeBuf *b, const Insn *i)
{
    const InsnRow *row = x86_row(i);
    bool legacy = !(i->prefixes & (INSN_VEX | INSN_EVEX)), mxcsr = native_uses_mxcsr(row);
    unsigned width = load_width(i);
    NativeEncoding e = native_encoding(i, HOST_REG, HOST_RM, HOST_MEM);

    EMIT(b, 0x49, 0x89, 0xd1);                          /* mov r9, rdx */
    if (mxcsr) {
        emit_mxcsr(b, 2, offsetof(NativeContext, mxcsr));
    }
    for (int n = 0; n < INSN_OPERANDS; n++) {
        operand_load(b, i, &row->opnd[n], width);
    }
    if (i->mask) {
        emit_kmov(b, 0x90, i->mask);
    }
    for (int n = 0; n < 3; n++) {                       /* rAX, rCX, rDX used implicitly */
        if (row->imp_read >> n & 1) {
            emit_gpr(b, 0x8b, n, 8 * n);
        }
    }
    native_emit_insn(b, i, &e);
    for (int n = 0; n < INSN_OPERANDS; n++) {
        operand_store(b, i, &row->opnd[n], legacy);
    }
    for (int n = 0; n < 3; n++) {
        if (row->imp_write >> n & 1) {
            emit_gpr(b, 0x89, n, 8 * n);
        }
    }
    if (row->flags & ROW_XMM0W) {
        vec_store(b, 0, legacy);
    }
    EMIT(b, 0x9c, 0x58);                                /* pushfq; pop rax */
    if (mxcsr) {
        emit_mxcsr(b, 3, offsetof(NativeContext, mxcsr));
        emit_mxcsr(b, 2, offsetof(NativeContext, mxcsr_host));
    }
    if (row_is_mmx(row)) {
        EMIT(b, 0x0f, 0x77);                            /* emms */
    }
    if (!legacy) {
        EMIT(b, 0xc5, 0xf8, 0x77);                      /* vzeroupper: the C code around uses SSE */
    }
    EMIT(b, 0xc3);
}

/*
 * x87: the legacy area of the state is an FXSAVE image, so FXRSTOR64, the instruction, FXSAVE64.
 * The image's FIP, FDP and FOP are put right by the caller. FNINIT: an unmasked exception must
 * not be left pending for C code.
 */
void native_emit_x87(NativeBuf *b, const Insn *i)
{
    const InsnRow *row = x86_row(i);
    uint8_t modrm = x86_is_mem(i) ? (i->modrm & 0x38) | HOST_MEM : i->modrm;

    EMIT(b, 0x49, 0x89, 0xd1);                          /* mov r9, rdx */
    EMIT(b, 0x48, 0x0f, 0xae, 0x8f);                    /* fxrstor64 [rdi+xs] */
    emit_u32(b, XS(fcw));
    if (row->flags_read) {
        EMIT(b, 0x41, 0xff, 0x71, offsetof(NativeContext, flags), 0x9d);     /* push [r9+flags]; popfq */
    }
    emit_u8(b, i->opcode);
    emit_u8(b, modrm);
    EMIT(b, 0x9c, 0x58);                                /* pushfq; pop rax */
    EMIT(b, 0x48, 0x0f, 0xae, 0x87);                    /* fxsave64 [rdi+xs] */
    emit_u32(b, XS(fcw));
    EMIT(b, 0xdb, 0xe3);                                /* fninit */
    emit_mxcsr(b, 2, offsetof(NativeContext, mxcsr_host));
    EMIT(b, 0xc3);
}
