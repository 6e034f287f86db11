/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory (m, M, X) and points to stop at (Z, z).
 *
 * Addresses are linear, as the current thread's page tables have them, or guest physical in QEMU's PhyMemMode.
 * Breakpoint instructions that an accelerator has put into memory are neither seen nor overwritten (debug_hide).
 * Main loop thread, machine lock. Test: tests/unit/test-gdb.c.
 */
#include <string.h>

#include "gdbstub/gdb-int.h"
#include "target/i386/debug.h"

/* Of an answer in hex. */
enum { READ_MAX = GDB_PACKET_MAX / 2 };

static bool range_args(GdbArgs *a, uint64_t *addr, uint64_t *len)
{
    return arg_hex(a, addr) && arg_char(a, ',') && arg_hex(a, len);
}

/* ---- reading ---- */

/* As much of it as there is, at most one page at a time; 0: nothing. */
static size_t memory_read(GdbServer *s, uint64_t addr, uint8_t *buf, size_t len)
{
    const AccelOps *accel = accel_current();
    X86CPU *cpu = gdb_cpu(s);
    size_t done = 0;

    if (s->physical) {
        return address_space_read(cpu->vcpu.mem, addr, buf, len) == MEM_OK ? len : 0;
    }
    while (done < len) {
        size_t n = MIN(len - done, 4096 - ((addr + done) & 0xfff));

        if (!x86_debug_read(cpu, addr + done, buf + done, n)) {
            break;
        }
        done += n;
    }
    if (accel->debug_hide && done) {
        accel->debug_hide(&cpu->vcpu, addr, buf, done, false);
    }
    return done;
}

void gdb_memory_read(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new(NULL);
    uint8_t buf[READ_MAX];
    uint64_t addr, len;
    size_t got;

    if (!range_args(a, &addr, &len) || !arg_end(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    got = memory_read(s, addr, buf, MIN(len, READ_MAX));
    if (!got && len) {
        gdb_reply_bad_address(s);
        return;
    }
    append_hex(out, buf, got);
    gdb_reply(s, out->str);
}

/* ---- writing ---- */

static bool memory_write(GdbServer *s, uint64_t addr, uint8_t *bytes, size_t len)
{
    const AccelOps *accel = accel_current();
    X86CPU *cpu = gdb_cpu(s);

    if (s->physical) {
        return address_space_write(cpu->vcpu.mem, addr, bytes, len) == MEM_OK;
    }
    if (accel->debug_hide) {
        accel->debug_hide(&cpu->vcpu, addr, bytes, len, true);
    }
    return x86_debug_write(cpu, addr, bytes, len);
}

static void reply_written(GdbServer *s, uint64_t addr, uint8_t *bytes, size_t len)
{
    if (!len || memory_write(s, addr, bytes, len)) {
        gdb_reply_ok(s);
    } else {
        gdb_reply_bad_address(s);
    }
}

void gdb_memory_write_hex(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GByteArray) bytes = NULL;
    uint64_t addr, len;

    if (!range_args(a, &addr, &len) || !arg_char(a, ':') || !arg_bytes(a, &bytes) || bytes->len != len) {
        gdb_reply_bad_argument(s);
        return;
    }
    reply_written(s, addr, bytes->data, len);
}

void gdb_memory_write_binary(GdbServer *s, GdbArgs *a)
{
    g_autofree uint8_t *bytes = NULL;
    uint64_t addr, len;

    if (!range_args(a, &addr, &len) || !arg_char(a, ':') || (uint64_t)(a->end - a->at) != len) {
        gdb_reply_bad_argument(s);
        return;
    }
    bytes = g_memdup2(a->at, len);
    reply_written(s, addr, bytes, len);
}

/* ---- points ---- */

static int point_index(const GdbServer *s, const DebugPoint *p)
{
    for (guint i = 0; i < s->points->len; i++) {
        const DebugPoint *q = &g_array_index(s->points, DebugPoint, i);

        if (q->kind == p->kind && q->addr == p->addr && q->len == p->len) {
            return i;
        }
    }
    return -1;
}

/* "TYPE,ADDR,KIND", conditions or commands after that being somebody else's business. False: it has been answered. */
static bool point_args(GdbServer *s, GdbArgs *a, DebugPoint *p)
{
    uint64_t kind;

    if (!arg_hex(a, &kind) || !arg_char(a, ',') || !arg_hex(a, &p->addr) || !arg_char(a, ',')
        || !arg_hex(a, &p->len) || !(arg_end(a) || *a->at == ';')) {
        gdb_reply_bad_argument(s);
        return false;
    }
    if (kind >= DEBUG_KINDS || !accel_current()->debug_insert) {
        gdb_reply(s, "");
        return false;
    }
    p->kind = kind;
    if (p->kind >= DEBUG_WATCH_WRITE && (!p->len || p->addr + p->len - 1 < p->addr)) {
        gdb_reply_bad_argument(s);
        return false;
    }
    return true;
}

void gdb_point_insert(GdbServer *s, GdbArgs *a)
{
    DebugPoint p;

    if (!point_args(s, a, &p)) {
        return;
    }
    if (point_index(s, &p) < 0) {
        if (!accel_current()->debug_insert(&gdb_cpu(s)->vcpu, &p, NULL)) {
            gdb_reply_bad_argument(s);
            return;
        }
        g_array_append_val(s->points, p);
    }
    gdb_reply_ok(s);
}

void gdb_point_remove(GdbServer *s, GdbArgs *a)
{
    DebugPoint p;
    int i;

    if (!point_args(s, a, &p)) {
        return;
    }
    i = point_index(s, &p);
    if (i < 0) {
        gdb_reply_bad_argument(s);
        return;
    }
    accel_current()->debug_remove(&gdb_cpu(s)->vcpu, &p);
    g_array_remove_index(s->points, i);
    gdb_reply_ok(s);
}

void gdb_points_remove_all(GdbServer *s)
{
    for (guint i = 0; i < s->points->len; i++) {
        accel_current()->debug_remove(&gdb_cpu(s)->vcpu, &g_array_index(s->points, DebugPoint, i));
    }
    g_array_set_size(s->points, 0);
}
