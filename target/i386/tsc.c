/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time-stamp counter: how fast the host's runs, and the guest's view of it (SDM vol. 3 17.17).
 *
 * The first sample is taken when the program is loaded, so that by the time a CPU is made enough time has usually
 * passed to measure without waiting. Any thread. Test: tests/unit/test-x86cpu.c.
 */
#include <time.h>
#include <x86intrin.h>

#include "target/i386/internal.h"
#include "target/i386/tsc.h"

typedef struct TscSample {
    uint64_t tsc;
    int64_t ns;
} TscSample;

/* Host facts: written once before main, and once when measured. */
static TscSample tsc_first;
static _Atomic uint64_t tsc_host_hz;

static TscSample tsc_sample(void)
{
    TscSample best = { 0, 0 };
    uint64_t best_width = ~0ull;

    /* Of a few tries, the one with the shortest way between the two readings of the TSC. */
    for (int i = 0; i < 5; i++) {
        struct timespec ts;
        uint64_t a = __rdtsc(), b;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        b = __rdtsc();
        if (b - a < best_width) {
            best_width = b - a;
            best.tsc = a + (b - a) / 2;
            best.ns = ts.tv_sec * 1000000000ll + ts.tv_nsec;
        }
    }
    return best;
}

static void __attribute__((constructor)) tsc_take_first(void)
{
    tsc_first = tsc_sample();
}

uint64_t x86_host_tsc_hz(void)
{
    uint64_t hz = atomic_load(&tsc_host_hz);

    if (!hz) {
        TscSample now;

        do {
            now = tsc_sample();
        } while (now.ns - tsc_first.ns < 2000000);
        hz = (unsigned __int128)(now.tsc - tsc_first.tsc) * 1000000000u / (now.ns - tsc_first.ns);
        hz = (hz + 500) / 1000 * 1000;
        atomic_store(&tsc_host_hz, hz);
    }
    return hz;
}

uint64_t x86_tsc_now(uint64_t guest_hz)
{
    uint64_t host_hz = atomic_load_explicit(&tsc_host_hz, memory_order_relaxed), tsc = __rdtsc();

    if (G_LIKELY(guest_hz == host_hz) || !host_hz || !guest_hz) {
        return tsc;
    }
    return (unsigned __int128)tsc * guest_hz / host_hz;
}

uint64_t x86_rdtsc(X86CPU *cpu)
{
    return x86_tsc_now(cpu->model->tsc_hz) + cpu->st->tsc_offset;
}
