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
    { "enters the kernel, which answers", " syscall sysenter " },
    { "changes state that this process needs", " wrpkru " },
    { "waits for an event", " monitorx mwaitx " },
    { "is answered by the hypervisor", " vmcall vmmcall " },
};

bool gen_host_is_amd(void)
{
    static int known;
    uint32_t a, b, c, d;

    if (!known) {
        known = __get_cpuid(0, &a, &b, &c, &d) && (b == signature_AMD_ebx || b == 0x6f677948) ? 2 : 1;
    }
    return known == 2;
}

static bool name_in(const char *list, const char *name)
{
    g_autofree char *word = g_strconcat(" ", name, " ", NULL);

    return strstr(list, word) != NULL;
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

static bool host_has_umip(void)
{
    uint32_t a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 2 & 1);
}

/* CPUID is dear in a virtual machine: each gate is asked for once. */
static bool has_gate(unsigned gate)
{
    static uint8_t known[GATE_COUNT];

    if (!known[gate]) {
        known[gate] = x86_has_gate(guest_cpu(), gate) && host_has_gate(gate) ? 2 : 1;
    }
    return known[gate] == 2;
}

/* A feature whose instructions only a host that has them can run. */
static bool is_native(unsigned gate)
{
    int feat = x86_feat_find(x86_gate_names[gate]);

    return feat >= 0 && (x86_feat_words[feat / 32].tcg_host >> feat % 32 & 1);
}

static const char *skip_reason_find(unsigned op)
{
    const InsnRow *row = &x86_insn_rows[op];
    const char *name = x86_mnemonics + row->mnemonic;

    for (int n = 0; n < 2; n++) {
        if (row->gates[n] && !has_gate(row->gates[n])) {
            return g_strdup_printf(is_native(row->gates[n]) ? "runs natively, and the host has no %s"
                                   : "host or -cpu max without %s", x86_gate_names[row->gates[n]]);
        }
    }
    if (!strcmp(name, "sysexit") && gen_host_is_amd()) {
        return "AMD's CPUs have none in long mode";
    }
    if (name_in(" rdfsbase rdgsbase wrfsbase wrgsbase ", name) && !native_has_fsgsbase()) {
        return "the host's kernel leaves CR4.FSGSBASE off";
    }
    if (name_in(" sgdt sidt sldt smsw str ", name) && host_has_umip()) {
        return "faults into the host's kernel under UMIP, which may emulate it";
    }
    for (size_t n = 0; n < G_N_ELEMENTS(skips); n++) {
        if (name_in(skips[n].mnemonics, name)) {
            return skips[n].reason;
        }
    }
    return NULL;
}

const char *row_skip_reason(unsigned op)
{
    static const char *reasons[INSN_ROW_COUNT];
    static bool known[INSN_ROW_COUNT];

    if (!known[op]) {
        reasons[op] = skip_reason_find(op);
        known[op] = true;
    }
    return reasons[op];
}

static unsigned bits_only;              /* 0: any */
static unsigned mmio_percent;

void gen_mmio(unsigned percent)
{
    mmio_percent = percent;
}

bool gen_wants_mmio(uint64_t seed)
{
    Rng r = { seed ^ 0x3310 };

    return rng_percent(&r, mmio_percent);
}

void gen_bits_only(unsigned bits)
{
    bits_only = bits;
}

bool row_in(unsigned op, unsigned bits)
{
    uint32_t flags = x86_insn_rows[op].flags;

    if (bits_only && bits != bits_only) {
        return false;
    }
    return bits == 64 ? !(flags & ROW_I64) : !(flags & ROW_O64) && segments_have(bits);
}

/* 64-bit code mostly, where a row exists in it. */
static unsigned bits_pick(Rng *r, unsigned op)
{
    unsigned n = rng_below(r, 100);

    if (bits_only) {
        return bits_only;
    }
    if (row_in(op, 64) && (n < 65 || !row_in(op, 32))) {
        return 64;
    }
    return n % 3 || !row_in(op, 16) ? 32 : 16;
}

/*
 * Forms that Intel's manual has and AMD's CPUs have not: far pointers with 64-bit offsets (they ignore REX.W there),
 * MOVSXD r16, m16 (they read 32 bits).
 */
bool is_foreign(const Insn *i)
{
    const InsnRow *row = x86_row(i);

    if (!gen_host_is_amd()) {
        return false;
    }
    if (!strcmp(x86_mnemonic(i), "movsxd")) {
        return i->opsize == 2;
    }
    return i->opsize == 8 &&
           (name_in(" callf jmpf ", x86_mnemonic(i)) || (row->xlat == XLAT_SEG && row->opnd[1].kind == OPK_M));
}

/* The same of bytes that are #UD here: LOCK MOV CR0 is MOV CR8 there, LOCK VERR reads memory first. */
static bool is_foreign_ud(const uint8_t *code)
{
    unsigned n = 0;

    while (n < 10 && !(code[n] == 0x0f && (code[n + 1] == 0x00 || code[n + 1] == 0x20 || code[n + 1] == 0x22))) {
        n++;
    }
    return n < 10 && gen_host_is_amd();
}

bool gates_open(const Insn *i)
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

bool decode_at(InsnCase *c, unsigned at, Insn *i)
{
    return x86_decode(c->code + at, X86_INSN_MAX, guest_mode(c->bits), i) == X86_DECODE_OK;
}

/* Bytes that decode to a row that may run; now and then such that our decoder refuses. False: none found. */
static bool code_generate(Rng *r, InsnCase *c, unsigned op)
{
    Insn *i = &c->insn[0];

    for (int tries = 0; tries < 100; tries++) {
        bytes_generate(r, &x86_insn_rows[op], c->bits, false, c->code);
        if (decode_at(c, 0, i)) {
            if (row_skip_reason(i->op) || !gates_open(i) || is_foreign(i)) {
                continue;
            }
            c->length = i->length;
            return true;
        }
        if (rng_percent(r, 10) && tries < 3 && !is_foreign_ud(c->code)) {
            memset(i, 0, sizeof(*i));
            i->op = op;
            i->ea = EA_NONE;
            c->undecodable = true;
            c->length = X86_INSN_MAX;
            return true;
        }
    }
    return false;
}

void case_generate(InsnCase *c, uint64_t seed, unsigned op)
{
    Rng r = { seed };
    Insn *i = &c->insn[0];

    c->seed = seed;
    c->bits = bits_pick(&r, op);
    c->undecodable = c->reloads = c->xsave = c->program = false;
    c->mmio = gen_wants_mmio(seed);
    c->count = code_generate(&r, c, op);
    if (!c->count) {
        return;
    }
    state_generate(&r, c);
    c->flags_undef = x86_row(i)->flags_undef;
    c->target = target_generate(&r, i->mem_size ? i->mem_size : 16);
    window_fill(&r, c->target);
    if (!c->undecodable) {
        operands_aim(&r, c, i);
        decode_at(c, 0, i);
    }
}

/* ---- sequences ---- */

bool fits_sequence(const Insn *i)
{
    const InsnRow *row = x86_row(i);

    return (row->xlat == XLAT_SAME || row->xlat == XLAT_VEC || row->xlat == XLAT_X87 || row->xlat == XLAT_FLAG) &&
           !(row->flags & (ROW_CPL0 | ROW_BITMEM | ROW_NOPM | ROW_END)) &&
           row->opnd[0].size != SZ_ENV && row->opnd[0].size != SZ_SAVE && !(x86_is_mem(i) && is_sha(i));
}

/* Shifts and rotates by 0 leave the flags as they are, undefined ones too. */
unsigned undef_after(const Insn *i, unsigned undef)
{
    static const char *const shifts = " rol ror rcl rcr sal shl shr sar shld shrd ";

    if (!name_in(shifts, x86_mnemonic(i))) {
        undef &= ~x86_row(i)->flags_written;
    }
    return undef | x86_row(i)->flags_undef;
}

void sequence_generate(InsnCase *c, uint64_t seed, const uint16_t *rows, unsigned n_rows)
{
    Rng r = { seed };
    unsigned want = 2 + rng_below(&r, SEQUENCE_MAX - 1), undef = 0;

    c->seed = seed;
    c->bits = bits_only ? bits_only : rng_percent(&r, 75) || !segments_have(32) ? 64 :
              rng_percent(&r, 60) || !segments_have(16) ? 32 : 16;
    c->count = c->length = c->flags_undef = 0;
    c->undecodable = c->reloads = c->xsave = c->program = false;
    c->mmio = gen_wants_mmio(seed);
    c->target = 0;
    state_generate(&r, c);
    c->start.rflags &= ~(uint64_t)(FL_AC | FL_DF);
    for (int tries = 0; tries < 200 && c->count < want; tries++) {
        Insn *i = &c->insn[c->count];
        uint64_t target;

        bytes_generate(&r, &x86_insn_rows[rows[rng_below(&r, n_rows)]], c->bits, true, c->code + c->length);
        if (!decode_at(c, c->length, i) || !fits_sequence(i) || row_skip_reason(i->op) || !gates_open(i) ||
            is_foreign(i) || (x86_row(i)->flags_read & undef)) {
            continue;
        }
        if (x86_is_mem(i)) {
            if (i->base < 16 || i->index < 16 || !i->disp_len) {
                continue;
            }
            target = target_generate(&r, i->mem_size);
            if (target - DATA_AT < DATA_SIZE) {
                memory_aim(&r, c, i, c->length, target);
                window_fill(&r, target);
            }
            decode_at(c, c->length, i);
        }
        undef = undef_after(i, undef);
        c->flags_undef |= x86_row(i)->flags_undef;      /* a fault may end it anywhere */
        c->length += i->length;
        c->count++;
    }
}
