/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BT BTS BTR BTC, BSF BSR TZCNT LZCNT POPCNT, CRC32, ADCX ADOX (SDM vol. 2). TZCNT and LZCNT act as BSF and BSR on a
 * guest CPU without them. With a register bit offset the memory operand is a bit string of any length.
 * Test: tests/unit/test-sem.c.
 */
#include "sem.h"

enum { BIT_TEST = 0, BIT_SET = 1, BIT_RESET = 2, BIT_COMPLEMENT = 3 };

static uint64_t bit_apply(uint64_t v, uint64_t bit, unsigned kind)
{
    return kind == BIT_SET ? v | bit : kind == BIT_RESET ? v & ~bit : kind == BIT_COMPLEMENT ? v ^ bit : v;
}

/* One locked or plain update of the byte with the bit: same outcome as on the whole word. */
static bool bit_update(uint8_t *p, unsigned n, unsigned kind, bool locked)
{
    uint8_t bit = 1u << n, old;

    if (!locked) {
        old = *p;
        *p = bit_apply(old, bit, kind);
    } else if (kind == BIT_SET) {
        old = __atomic_fetch_or(p, bit, __ATOMIC_SEQ_CST);
    } else if (kind == BIT_RESET) {
        old = __atomic_fetch_and(p, (uint8_t)~bit, __ATOMIC_SEQ_CST);
    } else {
        old = __atomic_fetch_xor(p, bit, __ATOMIC_SEQ_CST);
    }
    return old & bit;
}

static bool bit_memory(X86CPU *cpu, const Insn *i, uint64_t lin, unsigned n, unsigned kind)
{
    unsigned size = i->opsize;
    bool locked = is_locked(i);
    uint8_t *p;
    uint64_t v;

    if (kind == BIT_TEST) {
        return sem_ld_at(cpu, lin, size) >> n & 1;
    }
    p = x86_host(cpu, lin, size, true);
    if (p) {
        return bit_update(p + n / 8, n % 8, kind, locked);
    }
    x86_probe(cpu, lin, size, true);
    if (locked) {
        x86_atomic_begin(cpu);
    }
    v = sem_ld_at(cpu, lin, size);
    sem_st_at(cpu, lin, bit_apply(v, 1ull << n, kind), size);
    if (locked) {
        x86_atomic_end(cpu);
    }
    return v >> n & 1;
}

/* offset: signed bit offset; within one operand unless it moves the address (register form of memory operands). */
static void bit_op(X86CPU *cpu, const Insn *i, int64_t offset, bool moves, unsigned kind)
{
    X86State *st = cpu->st;
    unsigned bits = i->opsize * 8, n = offset & (bits - 1);
    bool cf;

    if (x86_is_mem(i)) {
        int64_t step = moves ? (offset >> (i->opsize == 8 ? 6 : i->opsize == 4 ? 5 : 4)) * i->opsize : 0;
        uint64_t off = ea_truncate(i, ea_sum(st, i) + step);
        cf = bit_memory(cpu, i, x86_linear(cpu, i->seg, off, i->opsize, kind != BIT_TEST), n, kind);
    } else {
        uint64_t v = reg_read(st, i->rm, i->opsize);
        cf = v >> n & 1;
        if (kind != BIT_TEST) {
            reg_write(st, i->rm, bit_apply(v, 1ull << n, kind), i->opsize);
        }
    }
    set_flags(st, cf, FL_CF);
    x86_next(st, i);
}

static void bit_by_reg(X86CPU *cpu, const Insn *i, unsigned kind)
{
    unsigned up = 64 - i->opsize * 8;

    bit_op(cpu, i, (int64_t)(cpu->st->regs[i->reg] << up) >> up, true, kind);
}

SEM(bt_EG) { bit_by_reg(cpu, i, BIT_TEST); }
SEM(bts_EG) { bit_by_reg(cpu, i, BIT_SET); }
SEM(btr_EG) { bit_by_reg(cpu, i, BIT_RESET); }
SEM(btc_EG) { bit_by_reg(cpu, i, BIT_COMPLEMENT); }
SEM(bt_EI) { bit_op(cpu, i, i->imm, false, BIT_TEST); }
SEM(bts_EI) { bit_op(cpu, i, i->imm, false, BIT_SET); }
SEM(btr_EI) { bit_op(cpu, i, i->imm, false, BIT_RESET); }
SEM(btc_EI) { bit_op(cpu, i, i->imm, false, BIT_COMPLEMENT); }

/* Scans of zero leave the destination alone, as the host does. */
SEM(bsf)
{
    X86State *st = cpu->st;
    uint64_t v = rm_read(cpu, i, i->opsize);

    if (v) {
        reg_write(st, i->reg, __builtin_ctzll(v), i->opsize);
    }
    set_flags(st, v ? 0 : FL_ZF, FL_ZF);
    x86_next(st, i);
}

SEM(bsr)
{
    X86State *st = cpu->st;
    uint64_t v = rm_read(cpu, i, i->opsize);

    if (v) {
        reg_write(st, i->reg, 63 - __builtin_clzll(v), i->opsize);
    }
    set_flags(st, v ? 0 : FL_ZF, FL_ZF);
    x86_next(st, i);
}

static void count_zeros(X86CPU *cpu, const Insn *i, uint64_t v, unsigned n)
{
    X86State *st = cpu->st;

    reg_write(st, i->reg, n, i->opsize);
    set_flags(st, (v ? 0 : FL_CF) | (n ? 0 : FL_ZF), FL_CF | FL_ZF);
    x86_next(st, i);
}

SEM(tzcnt)
{
    uint64_t v;

    if (!x86_has_gate(cpu, GATE_BMI1)) {
        sem_bsf(cpu, i);
        return;
    }
    v = rm_read(cpu, i, i->opsize);
    count_zeros(cpu, i, v, v ? __builtin_ctzll(v) : i->opsize * 8);
}

SEM(lzcnt)
{
    uint64_t v;

    if (!x86_has_gate(cpu, GATE_ABM)) {
        sem_bsr(cpu, i);
        return;
    }
    v = rm_read(cpu, i, i->opsize);
    count_zeros(cpu, i, v, v ? __builtin_clzll(v) - (64 - i->opsize * 8) : i->opsize * 8);
}

SEM(popcnt)
{
    X86State *st = cpu->st;
    uint64_t v = rm_read(cpu, i, i->opsize);

    reg_write(st, i->reg, __builtin_popcountll(v), i->opsize);
    set_flags(st, v ? 0 : FL_ZF, FL_ARITH);
    x86_next(st, i);
}

/* CRC-32C (polynomial 11EDC6F41, reflected). */
static uint32_t crc32c(uint32_t crc, uint64_t v, unsigned size)
{
    for (unsigned n = 0; n < size; n++) {
        crc ^= (uint8_t)(v >> n * 8);
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
    }
    return crc;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_host(uint32_t crc, uint64_t v, unsigned size)
{
    switch (size) {
    case 1: return __builtin_ia32_crc32qi(crc, v);
    case 2: return __builtin_ia32_crc32hi(crc, v);
    case 4: return __builtin_ia32_crc32si(crc, v);
    default: return __builtin_ia32_crc32di(crc, v);
    }
}

static void crc32_op(X86CPU *cpu, const Insn *i, unsigned size)
{
    X86State *st = cpu->st;
    uint64_t v = rm_read(cpu, i, size);
    uint32_t crc = st->regs[i->reg];

    st->regs[i->reg] = __builtin_cpu_supports("sse4.2") ? crc32c_host(crc, v, size) : crc32c(crc, v, size);
    x86_next(st, i);
}

SEM(crc32_b) { crc32_op(cpu, i, 1); }
SEM(crc32_v) { crc32_op(cpu, i, i->opsize); }

static void add_with(X86CPU *cpu, const Insn *i, unsigned flag)
{
    X86State *st = cpu->st;
    unsigned size = i->opsize == 8 ? 8 : 4;
    uint64_t a = reg_read(st, i->reg, size), b = rm_read(cpu, i, size);
    unsigned __int128 sum = (unsigned __int128)a + b + !!(st->rflags & flag);

    reg_write(st, i->reg, sum, size);
    set_flags(st, sum >> size * 8 ? flag : 0, flag);
    x86_next(st, i);
}

SEM(adcx) { add_with(cpu, i, FL_CF); }
SEM(adox) { add_with(cpu, i, FL_OF); }
