/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes cases: bytes of a row, a state in which its operands lie in the window, and short
 * sequences of them. See insn-test.h.
 */
#include <cpuid.h>
#include <string.h>

#include "gen.h"
#include "target/i386/cpuid.h"
#include "target/i386/decode.h"
#include "target/i386/interp.h"

/* ---- what ring 3 cannot run, or where two CPUs may rightly differ ---- */

typedef struct SkipReason {
    const char *reason, *mnemonics;
} SkipReason;
static const SkipReason skips[] = {
    { "enters the kernel", " int int1 int3 into syscall sysenter " },
    { "loads descriptors", " callf jmpf retf iret lar lsl verr verw lds les lfs lgs lss " },
    { "shows the host's own state", " cpuid rdtsc rdtscp rdpmc rdrand rdseed rdpid xgetbv rdpkru "
      "sgdt sidt sldt str smsw rdfsbase rdgsbase " },
    { "changes state that this process needs", " wrfsbase wrgsbase wrpkru " },
    { "has component offsets of the host", " xsave xsaveopt xsavec xrstor " },
    { "differs between Intel's and AMD's CPUs", " sysexit sysret " },
    { "waits", " monitor monitorx mwait mwaitx " },
    { "depends on the hypervisor", " vmcall vmmcall " },
    { "depends on transactions", " xbegin xabort xend xtest " },
};

static bool name_in(const char *list, const char *name)
{
    g_autofree char *word = g_strconcat(" ", name, " ", NULL);

    return strstr(list, word) != NULL;
}

static bool loads_segment(const InsnRow *row)
{
    unsigned k = row->opnd[0].kind;

    return row->xlat == XLAT_SEG || ((k == OPK_S || k == OPK_SEG) && (row->opnd[0].access & OPA_WRITE));
}

/* The interpreter may offer more than the host has. */
static bool host_has_gate(unsigned gate)
{
    int feat = x86_feat_find(x86_gate_names[gate]);
    const X86FeatWordInfo *w = feat < 0 ? NULL : &x86_feat_words[feat / 32];
    uint32_t r[4];

    return w && w->reg < 4 && __get_cpuid_count(w->leaf, w->subleaf, &r[0], &r[1], &r[2], &r[3]) &&
           (r[w->reg] >> feat % 32 & 1);
}

static bool has_gate(unsigned gate)
{
    return x86_has_gate(guest_cpu(), gate) && host_has_gate(gate);
}

const char *row_skip_reason(unsigned op)
{
    const InsnRow *row = &x86_insn_rows[op];
    const char *name = x86_mnemonics + row->mnemonic;

    if (row->flags & ROW_I64) {
        return "does not exist in 64-bit mode";
    }
    for (int n = 0; n < 2; n++) {
        if (row->gates[n] && !has_gate(row->gates[n])) {
            static char text[64];

            g_snprintf(text, sizeof(text), "host or -cpu max without %s", x86_gate_names[row->gates[n]]);
            return text;
        }
    }
    for (size_t n = 0; n < G_N_ELEMENTS(skips); n++) {
        if (name_in(skips[n].mnemonics, name)) {
            return skips[n].reason;
        }
    }
    return loads_segment(row) ? "loads a segment register" : NULL;
}

static bool gates_open(const Insn *i)
{
    uint8_t gates[4];
    unsigned n = x86_insn_gates(i, gates);

    while (n--) {
        if (!has_gate(gates[n])) {
            return false;
        }
    }
    return true;
}

/* ---- operands into the window ---- */

static void patch(uint8_t *bytes, unsigned off, unsigned len, uint64_t v)
{
    memcpy(bytes + off, &v, len);
}

static uint64_t seg_base(const Insn *i)
{
    return i->seg == SEG_GS ? GS_BASE : 0;
}

static bool is_vsib(const Insn *i)
{
    return x86_row(i)->flags & ROW_VSIB;
}

static void vsib_fill(Rng *r, InsnCase *c, const Insn *i)
{
    X86XSave *xs = &c->start.xs;
    int32_t idx[16];
    unsigned width = 4;

    for (int n = 0; n < INSN_OPERANDS; n++) {
        if (x86_row(i)->opnd[n].kind == OPK_VM) {
            width = x86_row(i)->opnd[n].aux;
        }
    }
    for (unsigned n = 0; n < 64 / width; n++) {
        int64_t v = (int)rng_below(r, 256) - 128;

        if (rng_percent(r, 1)) {
            v = rng_next(r);
        }
        memcpy((uint8_t *)idx + n * width, &v, width);
    }
    if (i->index >= 16) {
        memcpy(xs->hi16[i->index - 16], idx, 64);
        return;
    }
    memcpy(xs->xmm[i->index], idx, 16);
    if (native_features() & XFEATURE_AVX) {
        memcpy(xs->ymmh[i->index], idx + 4, 16);
    }
    if (native_features() & XFEATURE_ZMMH) {
        memcpy(xs->zmmh[i->index], idx + 8, 32);
    }
}

/*
 * Sets registers, or the displacement of instruction bytes at `at`, so that the operand lies at
 * target.
 */
static void memory_aim(Rng *r, InsnCase *c, Insn *i, unsigned at, uint64_t target)
{
    uint64_t want = target - seg_base(i), *regs = c->start.regs;

    if (is_vsib(i)) {
        vsib_fill(r, c, i);
    } else if (i->index == i->base && i->index < 16) {
        c->count = 0;                   /* two unknowns in one */
    } else if (i->index != INSN_NONE && i->index != i->base) {
        regs[i->index] = (int)rng_below(r, 128) - 64;
        want -= regs[i->index] << i->scale;
    }
    if (i->base == INSN_RIP) {
        patch(c->code + at, i->off_disp, 4, want - (c->start.rip + at + i->length));
    } else if (i->base == INSN_NONE) {
        patch(c->code + at, i->off_disp, i->disp_len, want);
    } else {
        regs[i->base] = want - i->disp;
        if (i->adsize == 4 && i->base != R_RSP) {
            regs[i->base] = (uint32_t)regs[i->base] | rng_next(r) << 32;
        }
    }
}

static void window_fill(Rng *r, uint64_t target)
{
    uint64_t at = (target - 64 - DATA_AT) & ~15ull;

    if (at < DATA_RW - 256) {
        data_fill(r, window_start + at, 256);
    }
}

/* With an empty mask a CPU may or may not touch memory: select the first byte. */
static void maskmov_select(InsnCase *c, const Insn *i)
{
    X86XSave *xs = &c->start.xs;

    if (x86_row(i)->opnd[0].kind == OPK_P) {
        xs->st[((i->rm & 7) - (xs->fsw >> 11 & 7)) & 7][0] |= 0x80;
    } else {
        xs->xmm[i->rm][0] |= 0x80;
    }
}

static void implicit_aim(Rng *r, InsnCase *c, const Insn *i)
{
    const InsnRow *row = x86_row(i);
    const char *name = x86_mnemonic(i);
    uint64_t *regs = c->start.regs, second = target_generate(r, 8);

    if (row->xlat == XLAT_STRING) {
        regs[R_RCX] = rng_below(r, 20);
        regs[R_RDI] = second;
        regs[R_RSI] = c->target - seg_base(i);
        if (i->adsize == 4) {
            regs[R_RCX] |= rng_next(r) << 32;
            regs[R_RSI] = (uint32_t)regs[R_RSI] | rng_next(r) << 32;
        }
        if (rng_percent(r, 50)) {
            memset(window_start + 0x200, rng_percent(r, 50) ? regs[R_RAX] & 0xff : 0, 0x2000);
        }
    } else if (!strcmp(name, "xlat")) {
        regs[R_RBX] = c->target - (regs[R_RAX] & 0xff) - seg_base(i);
    } else if (g_str_has_prefix(name, "maskmov") || !strcmp(name, "vmaskmovdqu")) {
        regs[R_RDI] = c->target - seg_base(i);
        maskmov_select(c, i);
    } else if (!strcmp(name, "leave") || !strcmp(name, "enter")) {
        regs[R_RBP] = second;
    } else if (!strcmp(name, "movdir64b")) {
        regs[i->reg] = DATA_AT + 0x400 + rng_below(r, 64) * 64 - seg_base(i);
    } else if (!strcmp(name, "clzero")) {
        regs[R_RAX] = c->target;
    } else if (!strcmp(name, "div") && rng_percent(r, 60)) {
        regs[R_RDX] = 0;
    } else if (!strcmp(name, "idiv") && rng_percent(r, 60)) {
        regs[R_RDX] = (int64_t)regs[R_RAX] >> 63;
    } else if ((row->flags & ROW_BITMEM) && x86_is_mem(i) && i->reg != i->base && i->reg != i->index) {
        regs[i->reg] = (int)rng_below(r, 4096) - 2048;
    } else if (!strcmp(name, "cmpxchg8b") || !strcmp(name, "cmpxchg")) {
        if (rng_percent(r, 50) && c->target - DATA_AT < DATA_RW - 16) {
            memcpy(&regs[R_RAX], window_start + (c->target - DATA_AT), 8);
            memcpy(&regs[R_RDX], window_start + (c->target - DATA_AT) + (i->opsize == 8 ? 8 : 4), 8);
        }
    }
}

static bool decode_at(InsnCase *c, unsigned at, Insn *i)
{
    return x86_decode(c->code + at, X86_INSN_MAX, guest_cpu()->st->mode, i) == X86_DECODE_OK;
}

static bool is_sha(const Insn *i)
{
    return g_str_has_prefix(x86_mnemonic(i), "sha1") || g_str_has_prefix(x86_mnemonic(i), "sha256");
}

/*
 * What CPUs may do as they like: alignment of SHA's operands, unselected bytes of MASKMOV, #AC of
 * big operands.
 */
static void tame_alignment(InsnCase *c, const Insn *i)
{
    const char *name = x86_mnemonic(i);

    if (is_sha(i) || g_str_has_prefix(name, "maskmov") || !strcmp(name, "vmaskmovdqu")) {
        c->target &= ~15ull;
    }
    if (!strcmp(name, "fxrstor") || !strcmp(name, "fxsave") || !strcmp(name, "movdir64b")) {
        c->start.rflags &= ~(uint64_t)FL_AC;
        if (c->target + 512 > DATA_AT + DATA_RW && c->target < DATA_AT + DATA_SIZE) {
            c->target = DATA_AT + 0x600;        /* of two faulting pages any may be reported */
        }
    }
}

/*
 * Data that only some CPUs accept in a control register: MXCSR bits beyond those of every SSE
 * CPU.
 */
static void tame_control_data(InsnCase *c, const Insn *i)
{
    const char *name = x86_mnemonic(i);
    unsigned off = !strcmp(name, "fxrstor") ? 24 : 0;

    if (off || strstr(name, "ldmxcsr")) {
        if (c->target - DATA_AT < DATA_RW - 32) {
            uint32_t v;

            memcpy(&v, window_start + (c->target - DATA_AT) + off, 4);
            v &= v & 1 ? 0xffff : 0x8000ffff;
            memcpy(window_start + (c->target - DATA_AT) + off, &v, 4);
        }
    }
}

void case_generate(InsnCase *c, uint64_t seed, unsigned op)
{
    const InsnRow *row = &x86_insn_rows[op];
    Rng r = { seed };
    Insn *i = &c->insn[0];

    c->seed = seed;
    c->count = 0;
    c->undecodable = false;
    for (int tries = 0; tries < 100; tries++) {
        bytes_generate(&r, row, false, c->code);
        if (decode_at(c, 0, i)) {
            if (row_skip_reason(i->op) || !gates_open(i)) {
                continue;
            }
            c->count = 1;
            c->length = i->length;
            break;
        }
        if (rng_percent(&r, 10) && tries < 3) {
            memset(i, 0, sizeof(*i));
            i->op = op;
            i->ea = EA_NONE;
            c->undecodable = true;
            c->count = 1;
            c->length = X86_INSN_MAX;
            break;
        }
    }
    if (!c->count) {
        return;
    }
    state_generate(&r, c);
    c->flags_undef = x86_row(i)->flags_undef;
    c->target = target_generate(&r, i->mem_size ? i->mem_size : 16);
    window_fill(&r, c->target);
    if (!c->undecodable) {
        tame_alignment(c, i);
        implicit_aim(&r, c, i);
        if (x86_is_mem(i)) {
            memory_aim(&r, c, i, 0, c->target);
        }
        tame_control_data(c, i);
        decode_at(c, 0, i);
    }
}

/* ---- sequences ---- */

static bool fits_sequence(const Insn *i)
{
    const InsnRow *row = x86_row(i);

    return (row->xlat == XLAT_SAME || row->xlat == XLAT_VEC || row->xlat == XLAT_X87 || row->xlat == XLAT_FLAG) &&
           !(row->flags & (ROW_CPL0 | ROW_BITMEM | ROW_NOPM | ROW_END)) &&
           row->opnd[0].size != SZ_ENV && row->opnd[0].size != SZ_SAVE && !(x86_is_mem(i) && is_sha(i));
}

void sequence_generate(InsnCase *c, uint64_t seed, const uint16_t *rows, unsigned n_rows)
{
    Rng r = { seed };
    unsigned want = 2 + rng_below(&r, SEQUENCE_MAX - 1), undef = 0;

    c->seed = seed;
    c->count = c->length = c->flags_undef = 0;
    c->undecodable = false;
    c->target = 0;
    c->start.rip = CODE_START;
    c->start.rflags = 0x202 | (rng_next(&r) & FL_ARITH);
    for (int tries = 0; tries < 200 && c->count < want; tries++) {
        Insn *i = &c->insn[c->count];
        uint64_t target;

        bytes_generate(&r, &x86_insn_rows[rows[rng_below(&r, n_rows)]], true, c->code + c->length);
        if (!decode_at(c, c->length, i) || !fits_sequence(i) || row_skip_reason(i->op) || !gates_open(i) ||
            (x86_row(i)->flags_read & undef)) {
            continue;
        }
        if (x86_is_mem(i)) {
            if (i->base != INSN_RIP) {
                continue;
            }
            target = target_generate(&r, i->mem_size);
            if (target - DATA_AT < DATA_SIZE) {
                memory_aim(&r, c, i, c->length, target);
                window_fill(&r, target);
            }
            decode_at(c, c->length, i);
        }
        undef = (undef & ~x86_row(i)->flags_written) | x86_row(i)->flags_undef;
        c->flags_undef |= x86_row(i)->flags_undef;      /* a fault may end it anywhere */
        c->length += i->length;
        c->count++;
    }
    if (c->count) {
        state_generate(&r, c);
        c->start.rflags &= ~(uint64_t)FL_AC;
    }
}
