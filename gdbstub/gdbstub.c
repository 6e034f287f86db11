/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debugger's session: its character device, connections, and what the machine's run state means to it.
 *
 * The parts: link.c (frames), commands.c (one packet), query.c (q and Q), memory.c (memory and points), resume.c
 * (running and stopping). A connection stops the machine; its end takes all points away and leaves the machine as it
 * is. Main loop thread, machine lock. Tests: tests/unit/test-gdb.c, tests/gdb/, tests/fuzz/fuzz-gdb.c.
 */
#include <string.h>

#include "gdbstub/gdb-int.h"
#include "system/loop.h"
#include "system/runstate.h"
#include "util/error.h"

enum { OUT_MAX = 4 << 20, OUT_BUSY = 256 << 10, IN_CHUNK = 4096 };

/* One for the process: -gdb, HMP and the end of the process mean the same. */
static struct {
    GdbServer *session;
    bool notified;                  /* the run state's notifier is there */
} gdbstub;

/* ---- output ---- */

static void out_writable(void *opaque);

static void out_flush(GdbServer *s)
{
    s->watching = false;
    while (s->out->len) {
        int n = char_write(&s->fe, s->out->str, s->out->len);

        if (n < 0) {
            g_string_truncate(s->out, 0);       /* nobody is there */
        } else if (n == 0) {
            s->watching = true;
            char_watch_writable(&s->fe, out_writable, s);
            return;
        } else {
            g_string_erase(s->out, 0, n);
        }
    }
}

static void out_writable(void *opaque)
{
    GdbServer *s = opaque;

    out_flush(s);
    if (s->out->len <= OUT_BUSY) {
        char_accept_input(&s->fe);
    }
}

static void link_send(void *opaque, const char *data, size_t len)
{
    GdbServer *s = opaque;

    if (s->out->len + len > OUT_MAX) {
        return;                                 /* a debugger that asks and never reads */
    }
    g_string_append_len(s->out, data, len);
    if (!s->watching) {
        out_flush(s);
    }
}

/* ---- input ---- */

static void link_packet(void *opaque, const char *data, size_t len)
{
    GdbServer *s = opaque;

    if (runstate_is_running()) {
        vm_stop(RUN_STATE_PAUSED);              /* answers are about a machine that stands still */
    }
    s->busy = true;
    gdb_command(s, data, len);
    s->busy = false;
}

static void link_interrupt(void *opaque)
{
    if (runstate_is_running()) {
        vm_stop(RUN_STATE_PAUSED);
    }
}

static int session_room(void *opaque)
{
    return ((GdbServer *)opaque)->out->len > OUT_BUSY ? 0 : IN_CHUNK;
}

static void session_receive(void *opaque, const uint8_t *buf, int len)
{
    gdb_link_receive(&((GdbServer *)opaque)->link, buf, len);
}

static void session_opened(GdbServer *s)
{
    gdb_link_reset(&s->link);
    g_string_truncate(s->out, 0);
    s->connected = true;
    s->multiprocess = s->swbreak = s->hwbreak = s->physical = s->waiting = false;
    s->step_flags = DEBUG_STEP_ON | DEBUG_STEP_NOIRQ | DEBUG_STEP_NOTIMER;
    s->general = s->run = 0;
    if (runstate_is_running()) {
        vm_stop(RUN_STATE_PAUSED);
    }
}

/* A debugger that goes away without a word takes its points along; the machine runs on or stands as it did. */
static void session_closed(GdbServer *s)
{
    s->connected = false;
    gdb_forget(s);
}

static void session_event(void *opaque, CharEvent ev)
{
    if (ev == CHAR_EVENT_OPENED) {
        session_opened(opaque);
    } else if (ev == CHAR_EVENT_CLOSED) {
        session_closed(opaque);
    }
}

static void machine_changed(void *opaque, bool running, RunState state)
{
    if (gdbstub.session && !running) {
        gdb_machine_stopped(gdbstub.session, state);
    }
}

/* ---- start and end ---- */

static void session_free(GdbServer *s)
{
    if (s->connected) {
        session_closed(s);
    }
    char_detach(&s->fe);
    if (s->own_chr) {
        chardev_remove(s->chr);
    }
    gdb_link_fini(&s->link);
    g_string_free(s->out, TRUE);
    g_array_free(s->points, TRUE);
    g_free(s->xml);
    g_free(s);
}

static GdbServer *session_new(Chardev *chr, bool own, Error **errp)
{
    GdbServer *s = g_new0(GdbServer, 1);

    s->chr = chr;
    s->own_chr = own;
    s->out = g_string_new(NULL);
    s->points = g_array_new(FALSE, FALSE, sizeof(DebugPoint));
    s->link = (GdbLink){ .packet = link_packet, .interrupt = link_interrupt, .send = link_send, .opaque = s };
    gdb_link_init(&s->link);
    if (!char_attach(&s->fe, chr, errp)) {
        session_free(s);
        return NULL;
    }
    return s;
}

static Chardev *device_open(const char *device, bool *own, Error **errp)
{
    /* As in QEMU: nobody wants to wait for a debugger that comes by the network, or to be one's client. */
    g_autofree char *text = g_str_has_prefix(device, "tcp:")
        ? g_strconcat(device, ",wait=off,nodelay=on,server=on", NULL) : g_strdup(device);
    bool none;

    *own = !g_str_has_prefix(device, "chardev:");
    return chardev_new_legacy("gdb", text, &none, errp);
}

bool gdbstub_start(const char *device, Error **errp)
{
    Chardev *chr;
    bool own;

    if (gdbstub.session && gdbstub.session->busy) {
        error_set(errp, "the debugger cannot replace the connection that it speaks through");
        return false;
    }
    if (gdbstub.session) {
        session_free(gdbstub.session);
        gdbstub.session = NULL;
    }
    if (!strcmp(device, "none")) {
        return true;
    }
    if (!vcpu_count()) {
        error_set(errp, "a machine without CPUs has nothing to debug");
        return false;
    }
    chr = device_open(device, &own, errp);
    if (!chr) {
        return false;
    }
    gdbstub.session = session_new(chr, own, errp);
    if (!gdbstub.session) {
        return false;
    }
    if (!gdbstub.notified) {
        gdbstub.notified = true;
        vm_change_notifier_add(machine_changed, NULL);
    }
    char_set_handlers(&gdbstub.session->fe, session_room, session_receive, session_event, gdbstub.session);
    return true;
}

void gdbstub_fini(int exit_status)
{
    GdbServer *s = gdbstub.session;

    if (!s) {
        return;
    }
    gdbstub.session = NULL;
    if (s->connected && s->waiting) {
        g_autofree char *text = g_strdup_printf("W%02x", exit_status & 0xff);

        gdb_link_send(&s->link, text, strlen(text));
        if (s->out->len) {
            char_write_all(&s->fe, s->out->str, s->out->len);
        }
    }
    s->connected = false;                       /* vCPUs are gone: points need no removal */
    session_free(s);
}
