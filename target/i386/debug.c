/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a debugger sees and watches of the software CPU; contract in include/target/i386/debug.h.
 *
 * Breakpoints are looked for once a block, and only while there are any (MODE_DEBUG). A watched page has no fast
 * TLB entry for the kind of access that is watched, so each access to it comes by access.c, which asks here.
 * Setting: main loop thread, vCPU stopped. Asking: the vCPU's thread. Test: tests/unit/test-debug.c.
 */
#include <string.h>

#include "target/i386/debug.h"
#include "target/i386/internal.h"

static bool point_is_watch(const DebugPoint *p)
{
    return p->kind >= DEBUG_WATCH_WRITE;
}

/* Does the debugger's point p want to know of accesses of this kind? */
static bool point_wants(const DebugPoint *p, unsigned kind)
{
    switch (p->kind) {
    case DEBUG_WATCH_WRITE:
        return kind == TLB_WRITE;
    case DEBUG_WATCH_READ:
        return kind == TLB_READ;
    case DEBUG_WATCH_ACCESS:
        return kind != TLB_CODE;
    default:
        return false;
    }
}

void x86_debug_set_points(X86CPU *cpu, const DebugPoint *points, unsigned n)
{
    bool watching = false;

    cpu->debug_points = points;
    cpu->n_debug_points = n;
    for (unsigned i = 0; i < n; i++) {
        watching |= point_is_watch(&points[i]);
    }
    if (watching || cpu->watching) {
        x86_tlb_flush(cpu, true);               /* fast entries of pages that are watched now, slow ones that were */
    }
    cpu->watching = watching;
    x86_update_mode(cpu);
}

const DebugPoint *x86_debug_break_in(const X86CPU *cpu, uint64_t lin, unsigned len)
{
    const DebugPoint *first = NULL;

    for (unsigned i = 0; i < cpu->n_debug_points; i++) {
        const DebugPoint *p = &cpu->debug_points[i];

        if (!point_is_watch(p) && p->addr - lin < len && (!first || p->addr < first->addr)) {
            first = p;
        }
    }
    return first;
}

bool x86_watch_page(const X86CPU *cpu, unsigned kind, uint64_t lin)
{
    uint64_t page = lin & ~0xfffull;

    for (unsigned i = 0; i < cpu->n_debug_points; i++) {
        const DebugPoint *p = &cpu->debug_points[i];

        if ((point_wants(p, TLB_READ) || (kind == TLB_WRITE && point_is_watch(p)))
            && (page - p->addr < p->len || p->addr - page < 4096)) {
            return true;
        }
    }
    return false;
}

void x86_watch_access(X86CPU *cpu, unsigned kind, uint64_t lin, unsigned len)
{
    DebugStop *stop = &cpu->vcpu.debug_stop;

    for (unsigned i = 0; i < cpu->n_debug_points; i++) {
        const DebugPoint *p = &cpu->debug_points[i];

        if (point_wants(p, kind) && (lin - p->addr < p->len || p->addr - lin < len)) {
            if (stop->why != DEBUG_WHY_WATCH) {
                *stop = (DebugStop){ .why = DEBUG_WHY_WATCH, .kind = p->kind, .addr = p->addr };
            }
            if (cpu->leave_block) {
                cpu->leave_block(cpu);
            }
            return;
        }
    }
}

/* ---- linear memory ---- */

/* Where [lin, lin + *n) lies, *n cut to the page; false: not mapped. */
static bool linear_piece(X86CPU *cpu, uint64_t lin, uint64_t *gpa, size_t *n)
{
    if (!x86_long_mode(cpu->st)) {
        lin = (uint32_t)lin;
    } else if (!x86_canonical(cpu->st, lin)) {
        return false;
    }
    *n = MIN(*n, 4096 - (lin & 0xfff));
    return x86_xlat_debug(cpu, lin, gpa);
}

bool x86_debug_read(X86CPU *cpu, uint64_t lin, void *buf, size_t len)
{
    uint8_t *to = buf;

    while (len) {
        size_t n = len;
        uint64_t gpa;

        if (!linear_piece(cpu, lin, &gpa, &n)) {
            return false;
        }
        if (address_space_read(cpu->vcpu.mem, gpa, to, n) != MEM_OK) {
            memset(to, 0xff, n);
        }
        lin += n;
        to += n;
        len -= n;
    }
    return true;
}

bool x86_debug_write(X86CPU *cpu, uint64_t lin, const void *buf, size_t len)
{
    const uint8_t *from = buf;

    while (len) {
        size_t n = len;
        uint64_t gpa;

        if (!linear_piece(cpu, lin, &gpa, &n)) {
            return false;
        }
        address_space_write_rom(cpu->vcpu.mem, gpa, from, n);
        lin += n;
        from += n;
        len -= n;
    }
    return true;
}
