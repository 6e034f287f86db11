/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -smp: from the levels that are given to a whole topology.
 *
 * Levels: sockets > dies > clusters > modules > cores > threads (drawers and books above them exist
 * on other targets only and must be 1, as must clusters on x86 boards). What is left out is worked
 * out so that the product is maxcpus, cores being preferred to sockets; threads come last.
 * Pure. Tests: tests/unit/test-options.c, tests/cli/.
 */
#include <inttypes.h>
#include <string.h>

#include "system/config.h"

static bool smp_check_given(const KeyVals *given, Error **errp)
{
    static const char *const single[] = { "drawers", "books", "clusters" };

    for (int i = 0; i < given->n; i++) {
        if (keyvals_uint(given, given->pairs[i].key, 0) == 0) {
            error_set(errp, "Invalid CPU topology: '%s' must be greater than zero",
                      given->pairs[i].key);
            return false;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(single); i++) {
        uint64_t n = keyvals_uint(given, single[i], 1);

        if (n > 1) {
            error_set(errp, "Invalid CPU topology: this machine has no %s, so '%s=%" PRIu64
                      "' must be 1", single[i], single[i], n);
            return false;
        }
    }
    return true;
}

/* Levels are bounded so that no product of the six can overflow. */
static bool smp_level(const KeyVals *given, const char *key, unsigned *out, Error **errp)
{
    uint64_t n = keyvals_uint(given, key, 0);

    if (n > 1 << 10) {
        error_set(errp, "Invalid CPU topology: '%s=%" PRIu64 "' is more than any machine has", key,
                  n);
        return false;
    }
    *out = n;
    return true;
}

/* Fills in sockets, cores and threads where they are 0. */
static void smp_fill(SmpConfig *s)
{
    uint64_t fixed = (uint64_t)s->dies * s->clusters * s->modules;     /* 2^50 at most with all */

    if (!s->cpus && !s->maxcpus) {
        s->sockets = s->sockets ? s->sockets : 1;
        s->cores = s->cores ? s->cores : 1;
        s->threads = s->threads ? s->threads : 1;
        return;
    }
    s->maxcpus = s->maxcpus ? s->maxcpus : s->cpus;
    if (!s->cores) {
        s->sockets = s->sockets ? s->sockets : 1;
        s->threads = s->threads ? s->threads : 1;
        s->cores = s->maxcpus / (s->sockets * fixed * s->threads);
    } else if (!s->sockets) {
        s->threads = s->threads ? s->threads : 1;
        s->sockets = s->maxcpus / (fixed * s->cores * s->threads);
    }
    if (!s->threads) {
        s->threads = s->maxcpus / (s->sockets * fixed * s->cores);
    }
}

static bool smp_check_result(SmpConfig *s, const char *machine, unsigned max_cpus, Error **errp)
{
    uint64_t product = (uint64_t)s->sockets * s->dies * s->modules * s->cores * s->threads;
    g_autofree char *levels = g_strdup_printf(
        "sockets (%u) * dies (%u) * modules (%u) * cores (%u) * threads (%u)",
        s->sockets, s->dies, s->modules, s->cores, s->threads);

    s->maxcpus = s->maxcpus ? s->maxcpus : MIN(product, UINT32_MAX);
    s->cpus = s->cpus ? s->cpus : s->maxcpus;
    if (product != s->maxcpus) {
        error_set(errp, "Invalid CPU topology: the product of the levels must be maxcpus: "
                  "%s != maxcpus (%u)", levels, s->maxcpus);
        return false;
    }
    if (s->maxcpus < s->cpus) {
        error_set(errp, "Invalid CPU topology: maxcpus must be at least cpus: "
                  "%s == maxcpus (%u) < cpus (%u)", levels, s->maxcpus, s->cpus);
        return false;
    }
    if (s->maxcpus > max_cpus) {
        error_set(errp, "Invalid SMP CPUs %u: machine '%s' takes at most %u", s->maxcpus, machine,
                  max_cpus);
        return false;
    }
    return true;
}

bool smp_resolve(const KeyVals *given, const char *machine, unsigned max_cpus, SmpConfig *out,
                 Error **errp)
{
    SmpConfig s = { 0 };

    if (!smp_check_given(given, errp)
        || !smp_level(given, "cpus", &s.cpus, errp)
        || !smp_level(given, "maxcpus", &s.maxcpus, errp)
        || !smp_level(given, "sockets", &s.sockets, errp)
        || !smp_level(given, "dies", &s.dies, errp)
        || !smp_level(given, "modules", &s.modules, errp)
        || !smp_level(given, "cores", &s.cores, errp)
        || !smp_level(given, "threads", &s.threads, errp)) {
        return false;
    }
    s.clusters = 1;
    s.dies = s.dies ? s.dies : 1;
    s.modules = s.modules ? s.modules : 1;
    smp_fill(&s);
    if (!smp_check_result(&s, machine, max_cpus, errp)) {
        return false;
    }
    *out = s;
    return true;
}
