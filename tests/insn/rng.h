/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small pseudo-random generator (splitmix64): a case is a function of its seed alone. */
#ifndef CLEAT_TESTS_INSN_RNG_H
#define CLEAT_TESTS_INSN_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Rng {
    uint64_t s;
} Rng;

static inline uint64_t rng_next(Rng *r)
{
    uint64_t z = r->s += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* 0 .. n-1 */
static inline unsigned rng_below(Rng *r, unsigned n)
{
    return (rng_next(r) >> 32) * n >> 32;
}

static inline bool rng_percent(Rng *r, unsigned p)
{
    return rng_below(r, 100) < p;
}

#endif
