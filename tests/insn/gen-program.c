/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs of 64-bit code: random instructions inside loops that run often enough to be translated, forward branches,
 * calls with returns, stack operations, loops that walk a pointer over the window's borders, groups of accesses through
 * one base register. A memory operand may have any form: the registers that it needs are set right before it by MOVs,
 * which leave the flags alone, so that flags live across accesses, faulting ones too. See insn-test.h.
 *
 * What branches depend on lies below SAFE_END of the window, where no random operand is: counters, a stack, saved
 * registers. Loops count a byte, so that they end whatever happens.
 */
#include <string.h>

#include "gen.h"

enum { COUNTER_AT = 0x100, SAVED_AT = 0x108, POINTER_AT = 0x110, CALL_STACK_TOP = 0x1c0 };
#define AT(off) (DATA_AT + (off))

typedef struct Program {
    Rng r;
    InsnCase *c;
    const uint16_t *rows;
    unsigned n_rows;
    unsigned undef;             /* flags that are undefined here */
    int base;                   /* this register holds base_value; -1: none known */
    uint64_t base_value;
    bool full;
} Program;

/* ---- bytes ---- */
static void put(Program *p, const void *bytes, unsigned n)
{
    if (p->c->length + n > CODE_MAX - 64) {
        p->full = true;
        return;
    }
    memcpy(p->c->code + p->c->length, bytes, n);
    p->c->length += n;
}

static void put8(Program *p, uint8_t v)
{
    put(p, &v, 1);
}

static void put32(Program *p, uint32_t v)
{
    put(p, &v, 4);
}

/* op with modrm /digit or register at an absolute address of the window; rex 0: none. */
static void put_absolute(Program *p, uint8_t rex, uint8_t op, unsigned reg, unsigned off)
{
    if (rex) {
        put8(p, rex);
    }
    put8(p, op);
    put8(p, (reg & 7) << 3 | 4);
    put8(p, 0x25);
    put32(p, AT(off));
}

/* mov reg, v: the flags stay. */
static void put_mov(Program *p, unsigned reg, uint64_t v)
{
    put8(p, 0x48 | reg >> 3);
    put8(p, 0xb8 | (reg & 7));
    put(p, &v, 8);
    if (p->base == (int)reg) {
        p->base = -1;
    }
}

static void count_set(Program *p, unsigned n)
{
    put_absolute(p, 0, 0xc6, 0, COUNTER_AT);            /* mov byte [counter], n */
    put8(p, n);
}

/* ---- random instructions ---- */

/* Mostly where the operand is welcome; some across two pages, some in the wrong place. */
static uint64_t target_pick(Program *p, unsigned size)
{
    unsigned where = rng_below(&p->r, 100), align = size && !(size & (size - 1)) ? MIN(size, 64) : 16;

    if (where < 72) {
        return AT(0x240) + (rng_below(&p->r, 0x2d00) & ~(align - 1));
    }
    if (where < 80 && size < 16) {
        return AT(0x240) + rng_below(&p->r, 0x2d00);
    }
    if (where < 94) {
        return AT(0x1000 * (1 + rng_below(&p->r, 2))) - rng_below(&p->r, size + 1) * (size < 16 || where > 92);
    }
    if (where < 96) {
        return AT(0x1000) + (rng_below(&p->r, 0xf00) & ~(align - 1));
    }
    return rng_percent(&p->r, 70) ? AT(0x800) + (rng_below(&p->r, 0x100) & ~(align - 1)) : target_generate(&p->r, size);
}

static void patch_disp(uint8_t *bytes, const Insn *i, int64_t v)
{
    memcpy(bytes + i->off_disp, &v, i->disp_len);
}

/* Registers, or the displacement, so that the operand is at target; false: it cannot be. */
static bool aim(Program *p, uint8_t *bytes, const Insn *i, uint64_t target)
{
    uint64_t want = target - segment_base(p->c, i->seg), index = 0;

    if (i->base == INSN_RIP) {
        patch_disp(bytes, i, want - (p->c->start.rip + p->c->length + i->length));
        return true;
    }
    if (i->index == i->base && i->index < 16) {
        unsigned factor = 1 + (1u << i->scale);

        want -= (want - i->disp) % factor;
        put_mov(p, i->base, (want - i->disp) / factor);
        return true;
    }
    if (i->index < 16) {
        index = (int)rng_below(&p->r, 4096) - 2048;
        put_mov(p, i->index, index);
        index <<= i->scale;
    }
    if (i->base == INSN_NONE) {
        if (i->disp_len != 4) {
            return false;
        }
        patch_disp(bytes, i, want - index);
        return true;
    }
    want -= index + i->disp;
    put_mov(p, i->base, i->adsize == 4 ? (uint32_t)want | rng_next(&p->r) << 32 : want);
    if (i->adsize == 8 && i->index >= 16 && i->base != i->reg) {
        p->base = i->base;
        p->base_value = want;
    }
    return true;
}

static bool touches(const Insn *i, unsigned reg)
{
    return (i->reg & 15) == reg || (i->rm & 15) == reg || i->vvvv == reg || (x86_row(i)->imp_write >> reg & 1);
}

/* May it stand here, whatever its operand? */
static bool suits(Program *p, const Insn *i)
{
    return fits_sequence(i) && !row_skip_reason(i->op) && gates_open(i) && !is_foreign(i) &&
           !(x86_row(i)->flags_read & p->undef) && i->disp_len != 8 &&
           !(g_str_has_suffix(x86_mnemonic(i), "div") && rng_percent(&p->r, 85));
}

/* One random instruction with its operand aimed; before it, perhaps, the MOVs that aim. */
static void random_insn(Program *p)
{
    InsnCase *c = p->c;
    uint8_t bytes[32];
    Insn i;

    for (int tries = 0; tries < 300 && c->count < PROGRAM_MAX && !p->full; tries++) {
        const InsnRow *row = &x86_insn_rows[p->rows[rng_below(&p->r, p->n_rows)]];
        bool known, wants_base = p->base >= 0 && tries < 60 && rng_percent(&p->r, 60);

        if (row->map >= MAP_VEX1 ? rng_percent(&p->r, 80) : row->xlat == XLAT_X87 && rng_percent(&p->r, 60)) {
            continue;
        }
        bytes_generate(&p->r, row, 64, false, bytes);
        memcpy(c->code + c->length, bytes, sizeof(bytes));
        if (!decode_at(c, c->length, &i) || !suits(p, &i)) {
            continue;
        }
        known = x86_is_mem(&i) && p->base == i.base && i.index == INSN_NONE && i.adsize == 8 && i.seg != SEG_GS &&
                p->base_value + i.disp - AT(0x240) < 0x2d00;
        if ((wants_base && x86_is_mem(&i) && !known) || (x86_is_mem(&i) && i.index != INSN_NONE && i.index >= 16)) {
            continue;
        }
        if (x86_is_mem(&i) && !known && !aim(p, bytes, &i, target_pick(p, i.mem_size))) {
            continue;
        }
        put(p, bytes, i.length);
        if (p->base >= 0 && touches(&i, p->base)) {
            p->base = -1;
        }
        p->undef = undef_after(&i, p->undef);
        c->flags_undef |= x86_row(&i)->flags_undef;
        c->insn[c->count++] = i;
        return;
    }
}

static void random_insns(Program *p, unsigned n)
{
    while (n--) {
        random_insn(p);
    }
}

/* ---- stack operations, on a stack anywhere: across pages, on the device, where it faults ---- */
static void stack_at(Program *p)
{
    uint64_t at = rng_percent(&p->r, 50) ? AT(0x800) + rng_below(&p->r, 0x100) * 8
                                         : AT(0x1000 * (1 + rng_below(&p->r, 3))) + 16 - rng_below(&p->r, 40);

    put_mov(p, R_RSP, at);
}

static void stack_group(Program *p)
{
    unsigned depth = 0;

    stack_at(p);
    for (unsigned n = 2 + rng_below(&p->r, 6); n--;) {
        unsigned reg = rng_below(&p->r, 16);

        switch (rng_below(&p->r, 6)) {
        case 0: case 1:
            put8(p, 0x40 | reg >> 3);
            put8(p, 0x50 | (reg & 7));                  /* push reg; rsp as well */
            depth++;
            break;
        case 2:
            reg = reg == R_RSP ? R_RBP : reg;
            put8(p, 0x40 | reg >> 3);
            put8(p, 0x58 | (reg & 7));
            break;
        case 3:
            put8(p, 0x68);
            put32(p, rng_next(&p->r));
            break;
        case 4:                                         /* push, pop qword [rsp + disp8] */
            put8(p, rng_percent(&p->r, 50) ? 0xff : 0x8f);
            put8(p, p->c->code[p->c->length - 1] == 0xff ? 0x74 : 0x44);
            put8(p, 0x24);
            put8(p, rng_below(&p->r, 8) * 8);
            break;
        default:                                        /* 16 bits */
            put8(p, 0x66);
            put8(p, (rng_percent(&p->r, 50) ? 0x50 : 0x58) | (rng_below(&p->r, 2) ? R_RBX : R_RSI));
            break;
        }
        random_insns(p, rng_percent(&p->r, 20));
        p->base = -1;
    }
}

/* push rbp; mov rbp, rsp; ...; leave */
static void frame_group(Program *p)
{
    static const uint8_t enter[] = { 0x55, 0x48, 0x89, 0xe5 };

    stack_at(p);
    put(p, enter, sizeof(enter));
    p->base = -1;
    random_insns(p, 1 + rng_below(&p->r, 2));
    put_mov(p, R_RBP, AT(0x900) + rng_below(&p->r, 0x80) * 8);
    put8(p, 0xc9);
    p->base = -1;
}

/* ---- control flow ---- */

/* Flags that condition cc looks at. */
static unsigned condition_flags(unsigned cc)
{
    static const uint16_t flags[8] = { FL_OF, FL_CF, FL_ZF, FL_CF | FL_ZF, FL_SF, FL_PF, FL_SF | FL_OF,
                                       FL_SF | FL_OF | FL_ZF };

    return flags[cc >> 1];
}

static void patch32(Program *p, unsigned at, unsigned to)
{
    int32_t v = to - (at + 4);

    if (!p->full) {
        memcpy(p->c->code + at, &v, 4);
    }
}

/* A near jump with a 32-bit offset to be filled in: where it is. */
static unsigned put_jump(Program *p, uint8_t first, uint8_t second)
{
    if (first) {
        put8(p, first);
    }
    put8(p, second);
    put32(p, 0);
    return p->c->length - 4;
}

static void forward_branch(Program *p)
{
    unsigned cc = rng_below(&p->r, 16), at, before;

    random_insn(p);
    if (condition_flags(cc) & p->undef) {
        put8(p, 0x84);                                  /* test al, al */
        put8(p, 0xc0);
        p->c->flags_undef |= FL_AF;
        p->undef = FL_AF;
    }
    before = p->undef;
    at = put_jump(p, 0x0f, 0x80 | cc);
    random_insns(p, 1 + rng_below(&p->r, 3));
    patch32(p, at, p->c->length);
    p->undef |= before;
    p->base = -1;
}

/* call f; jmp over; f: ...; ret. The stack pointer is set again, since anything may have changed it. */
static void call_group(Program *p)
{
    unsigned call, over;

    put_mov(p, R_RSP, AT(CALL_STACK_TOP));
    if (rng_percent(&p->r, 30)) {                       /* through a register */
        put_mov(p, R_RDX, p->c->start.rip + p->c->length + 10 + 2 + 5);
        put8(p, 0xff);
        put8(p, 0xd2);
    } else {
        call = put_jump(p, 0, 0xe8);
        patch32(p, call, p->c->length + 5);
    }
    over = put_jump(p, 0, 0xe9);
    p->base = -1;
    random_insns(p, 1 + rng_below(&p->r, 3));
    put_mov(p, R_RSP, AT(CALL_STACK_TOP - 8));
    put8(p, 0xc3);
    patch32(p, over, p->c->length);
    p->base = -1;
}

/* The end of a loop that began at `top`: by DEC and Jcc, or by LEA and JRCXZ, which keeps all flags. */
static void loop_end(Program *p, unsigned top, unsigned undef_at_top)
{
    unsigned out;

    if ((p->undef & ~undef_at_top) || rng_percent(&p->r, 50)) {
        if (p->undef & FL_CF) {
            put_absolute(p, 0, 0x80, 5, COUNTER_AT);    /* sub byte [counter], 1 */
            put8(p, 1);
        } else {
            put_absolute(p, 0, 0xfe, 1, COUNTER_AT);    /* dec */
        }
        p->undef = 0;
        out = put_jump(p, 0x0f, 0x85);
        patch32(p, out, top);
        return;
    }
    put_absolute(p, 0x48, 0x89, R_RCX, SAVED_AT);       /* mov [saved], rcx */
    put8(p, 0x0f);
    put_absolute(p, 0, 0xb6, R_RCX, COUNTER_AT);        /* movzx ecx, byte [counter] */
    put(p, "\x8d\x49\xff", 3);                          /* lea ecx, [rcx - 1] */
    put_absolute(p, 0, 0x88, R_RCX, COUNTER_AT);        /* mov [counter], cl */
    put(p, "\xe3\x0d", 2);                              /* jrcxz over the next two */
    put_absolute(p, 0x48, 0x8b, R_RCX, SAVED_AT);
    out = put_jump(p, 0, 0xe9);
    patch32(p, out, top);
    put_absolute(p, 0x48, 0x8b, R_RCX, SAVED_AT);
}

static void counted_loop(Program *p)
{
    unsigned top, undef, calls = rng_percent(&p->r, 25);

    count_set(p, 2 + rng_below(&p->r, 40));
    p->base = -1;
    top = p->c->length;
    undef = p->undef;
    random_insns(p, 1 + rng_below(&p->r, 5));
    if (calls) {
        call_group(p);
    } else if (rng_percent(&p->r, 25)) {
        stack_group(p);
    } else if (rng_percent(&p->r, 25)) {
        forward_branch(p);
    }
    loop_end(p, top, undef);
    p->base = -1;
}

/*
 * A pointer in memory walks over the window and, often, beyond it, so that code that was hot faults; or over a border
 * inside it, so that it meets another page, or the device.
 */
static void walking_loop(Program *p)
{
    static const int8_t strides[] = { 1, 2, 3, 4, 8, 8, 16, 24, 64, -1, -8, -16, -4 };
    int stride = strides[rng_below(&p->r, sizeof(strides))];
    unsigned turns = 10 + rng_below(&p->r, 60), top, undef, reg, border = rng_below(&p->r, 5);
    static const uint32_t borders[] = { 0x1000, 0x2000, DATA_RW, DATA_SIZE, 0x2000 };
    uint64_t start = AT(borders[border]) - (int64_t)stride * (int)rng_below(&p->r, turns + 8);

    if (start - DATA_AT < 0x280) {
        start = AT(0x280);
    }
    do {
        reg = rng_below(&p->r, 16);
    } while (reg == R_RSP);
    put_mov(p, reg, start - stride);
    put_absolute(p, 0x48 | reg >> 3 << 2, 0x89, reg, POINTER_AT);
    count_set(p, turns);
    top = p->c->length;
    undef = p->undef;
    put_absolute(p, 0x48 | reg >> 3 << 2, 0x8b, reg, POINTER_AT);
    put8(p, 0x48 | reg >> 3 | reg >> 3 << 2);           /* lea reg, [reg + stride] */
    put8(p, 0x8d);
    put8(p, 0x40 | (reg & 7) << 3 | (reg & 7));
    if ((reg & 7) == R_RSP) {
        put8(p, 0x24);
    }
    put8(p, stride);
    put_absolute(p, 0x48 | reg >> 3 << 2, 0x89, reg, POINTER_AT);
    for (unsigned n = 1 + rng_below(&p->r, 4); n--;) {
        p->base = reg;                                  /* its real value differs from turn to turn */
        p->base_value = AT(0x1800);
        random_insn(p);
    }
    loop_end(p, top, undef);
    p->base = -1;
}

static void state_calm(Program *p)
{
    InsnState *s = &p->c->start;

    s->rflags &= ~(uint64_t)(FL_AC | FL_DF);
    if (rng_percent(&p->r, 90)) {
        s->xs.mxcsr |= 0x1f80;
    }
    if (rng_percent(&p->r, 85)) {
        s->xs.fcw |= 0x3f;
        s->xs.fsw &= ~0x80ff;
    }
}

void program_generate(InsnCase *c, uint64_t seed, const uint16_t *rows, unsigned n_rows)
{
    Program p = { .r = { seed }, .c = c, .rows = rows, .n_rows = n_rows, .base = -1 };

    c->seed = seed;
    c->bits = 64;
    c->count = c->length = c->flags_undef = 0;
    c->undecodable = c->reloads = c->xsave = false;
    c->program = true;
    c->mmio = gen_wants_mmio(seed);
    c->target = 0;
    state_generate(&p.r, c);
    state_calm(&p);
    for (unsigned n = 0; n < 8; n++) {
        window_fill(&p.r, AT(0x240) + rng_below(&p.r, 0x2c00));
    }
    for (unsigned n = 2 + rng_below(&p.r, 4); n-- && !p.full && c->count < PROGRAM_MAX;) {
        switch (rng_below(&p.r, 10)) {
        case 0: random_insns(&p, 1 + rng_below(&p.r, 6)); break;
        case 1: case 2: case 3: counted_loop(&p); break;
        case 4: forward_branch(&p); break;
        case 5: call_group(&p); break;
        case 6: stack_group(&p); break;
        case 7: frame_group(&p); break;
        default: walking_loop(&p); break;
        }
    }
    if (p.full) {
        c->count = 0;                   /* cut short in the middle of something */
    }
}
