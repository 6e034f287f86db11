/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * General queries: what the stub can do, threads, the target description, the monitor, QEMU's own packets.
 *
 * Main loop thread, machine lock. Test: tests/unit/test-gdb.c.
 */
#include <string.h>

#include "gdbstub/gdb-int.h"
#include "qapi/qapi-commands.h"

/* ---- features ---- */

static void query_supported(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *theirs = g_strndup(a->at, a->end - a->at);

    s->multiprocess = strstr(theirs, "multiprocess+") != NULL;
    s->swbreak = strstr(theirs, "swbreak+") != NULL;
    s->hwbreak = strstr(theirs, "hwbreak+") != NULL;
    g_string_append_printf(out, "PacketSize=%x;qXfer:features:read+;vContSupported+;QStartNoAckMode+", GDB_PACKET_MAX);
    g_string_append(out, s->multiprocess ? ";multiprocess+" : "");
    g_string_append(out, s->swbreak ? ";swbreak+" : "");
    g_string_append(out, s->hwbreak ? ";hwbreak+" : "");
    gdb_reply(s, out->str);
}

static void query_features(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new(NULL);
    uint64_t offset, len, total;

    if (!arg_word(a, "target.xml:")) {
        gdb_reply(s, "E00");
        return;
    }
    if (!arg_hex(a, &offset) || !arg_char(a, ',') || !arg_hex(a, &len) || !arg_end(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    s->xml = s->xml ? s->xml : x86_gdb_target_xml(gdb_cpu(s));
    total = strlen(s->xml);
    offset = MIN(offset, total);
    len = MIN(MIN(len, total - offset), GDB_PACKET_MAX / 2 - 1);       /* each byte may need an escape */
    g_string_append_c(out, offset + len < total ? 'm' : 'l');
    g_string_append_len(out, s->xml + offset, len);
    gdb_link_send(&s->link, out->str, out->len);
}

/* ---- threads ---- */

static void reply_next_thread(GdbServer *s)
{
    g_autoptr(GString) out = g_string_new("m");

    if (s->next_thread >= vcpu_count()) {
        gdb_reply(s, "l");
        return;
    }
    append_thread(s, out, s->next_thread++);
    gdb_reply(s, out->str);
}

static void query_first_thread(GdbServer *s, GdbArgs *a)
{
    s->next_thread = 0;
    reply_next_thread(s);
}

static void query_more_threads(GdbServer *s, GdbArgs *a)
{
    reply_next_thread(s);
}

static void query_thread_name(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *name = NULL;
    int index;

    if (arg_thread(a, &index) != GDB_THREAD_ONE || !arg_end(a)) {
        gdb_reply_bad_argument(s);
        return;
    }
    name = g_strdup_printf("CPU#%d [%s]", index, vcpu_get(index)->halted ? "halted " : "running");
    append_hex(out, name, strlen(name));
    gdb_reply(s, out->str);
}

static void query_current(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GString) out = g_string_new("QC");

    append_thread(s, out, s->general);
    gdb_reply(s, out->str);
}

static void query_attached(GdbServer *s, GdbArgs *a)
{
    gdb_reply(s, "1");              /* leaving means detaching, not killing */
}

/* ---- the monitor ---- */

static void query_monitor(GdbServer *s, GdbArgs *a)
{
    g_autoptr(GByteArray) bytes = NULL;
    g_autofree char *line = NULL, *text = NULL;
    QapiHumanMonitorCommandArg arg = { 0 };

    if (!arg_bytes(a, &bytes)) {
        gdb_reply_bad_argument(s);
        return;
    }
    line = g_strndup((const char *)bytes->data, bytes->len);
    arg.command_line = line;
    qmp_human_monitor_command(&arg, &text, NULL);
    for (size_t at = 0, n = strlen(text); at < n; at += GDB_PACKET_MAX / 4) {
        g_autoptr(GString) out = g_string_new("O");

        append_hex(out, text + at, MIN(n - at, GDB_PACKET_MAX / 4));
        gdb_reply(s, out->str);
    }
    gdb_reply_ok(s);
}

/* ---- QEMU's own ---- */

static void query_step_bits(GdbServer *s, GdbArgs *a)
{
    gdb_reply(s, "ENABLE=1,NOIRQ=2,NOTIMER=4");
}

static void query_step(GdbServer *s, GdbArgs *a)
{
    g_autofree char *text = g_strdup_printf("0x%x", s->step_flags);

    gdb_reply(s, text);
}

static void set_step(GdbServer *s, GdbArgs *a)
{
    uint64_t v;

    arg_word(a, "0x");
    if (!arg_hex(a, &v) || !arg_end(a) || (v & ~(uint64_t)(DEBUG_STEP_ON | DEBUG_STEP_NOIRQ | DEBUG_STEP_NOTIMER))) {
        gdb_reply_bad_argument(s);
        return;
    }
    s->step_flags = v | DEBUG_STEP_ON;          /* a step is a step */
    gdb_reply_ok(s);
}

static void query_physical(GdbServer *s, GdbArgs *a)
{
    gdb_reply(s, s->physical ? "1" : "0");
}

static void set_physical(GdbServer *s, GdbArgs *a)
{
    uint64_t v;

    if (!arg_hex(a, &v) || !arg_end(a) || v > 1) {
        gdb_reply_bad_argument(s);
        return;
    }
    s->physical = v;
    gdb_reply_ok(s);
}

static void query_qemu(GdbServer *s, GdbArgs *a)
{
    gdb_reply(s, "sstepbits;sstep;PhyMemMode");
}

static void set_no_ack(GdbServer *s, GdbArgs *a)
{
    gdb_reply_ok(s);                            /* this one is acknowledged still */
    s->link.no_ack = true;
}

/* ---- dispatch: the first row whose word begins the packet ---- */

typedef struct GdbQuery {
    const char *word;
    bool whole;                     /* nothing may follow */
    void (*run)(GdbServer *s, GdbArgs *a);
} GdbQuery;

static const GdbQuery queries[] = {
    { "Supported", false, query_supported }, { "Xfer:features:read:", false, query_features },
    { "fThreadInfo", true, query_first_thread }, { "sThreadInfo", true, query_more_threads },
    { "ThreadExtraInfo,", false, query_thread_name }, { "C", true, query_current },
    { "Attached", false, query_attached }, { "Rcmd,", false, query_monitor },
    { "qemu.sstepbits", true, query_step_bits }, { "qemu.sstep=", false, set_step },
    { "qemu.sstep", true, query_step }, { "qemu.PhyMemMode", true, query_physical },
    { "qemu.Supported", true, query_qemu },
    { NULL }
};
static const GdbQuery settings[] = {
    { "StartNoAckMode", true, set_no_ack }, { "qemu.sstep=", false, set_step },
    { "qemu.PhyMemMode:", false, set_physical },
    { NULL }
};

static void run_query(GdbServer *s, GdbArgs *a, const GdbQuery *row)
{
    GdbArgs start = *a;

    for (; row->word; row++) {
        *a = start;
        if (arg_word(a, row->word) && (!row->whole || arg_end(a))) {
            row->run(s, a);
            return;
        }
    }
    gdb_reply(s, "");
}

void gdb_query(GdbServer *s, GdbArgs *a)
{
    run_query(s, a, queries);
}

void gdb_query_set(GdbServer *s, GdbArgs *a)
{
    run_query(s, a, settings);
}
