/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitors: their list, their chardev ends, and the way of events to them.
 * Output that the chardev does not take at once is queued. A client that does not read is not read from
 * either, above OUT_BUSY bytes; and at OUT_MAX bytes it misses events, since it must not eat the host's memory.
 * Main loop thread, machine lock. Tests: tests/monitor/.
 */
#include <json-c/json_tokener.h>
#include <string.h>

#include "monitor/monitor-int.h"
#include "system/loop.h"
#include "system/runstate.h"

enum { OUT_MAX = 64 << 20, OUT_BUSY = 1 << 20, IN_CHUNK = 4096 };

static Monitor *monitor_list;       /* the event sink has no argument of its own */

static void monitor_on_writable(void *opaque);

static void monitor_flush(Monitor *mon)
{
    mon->watching = false;
    while (mon->out->len) {
        int n = char_write(&mon->fe, mon->out->str, MIN(mon->out->len, 1 << 20));

        if (n < 0) {
            g_string_truncate(mon->out, 0);         /* nobody is there */
        } else if (n == 0) {
            mon->watching = true;
            char_watch_writable(&mon->fe, monitor_on_writable, mon);
            return;
        } else {
            g_string_erase(mon->out, 0, n);
        }
    }
}

static void monitor_on_writable(void *opaque)
{
    Monitor *mon = opaque;

    monitor_flush(mon);
    if (mon->out->len <= OUT_BUSY) {
        char_accept_input(&mon->fe);
    }
}

void monitor_write(Monitor *mon, const char *text, size_t len)
{
    if (mon->out->len + len > OUT_MAX) {
        return;
    }
    g_string_append_len(mon->out, text, len);
    if (!mon->watching) {
        monitor_flush(mon);
    }
}

static int monitor_can_receive(void *opaque)
{
    return ((Monitor *)opaque)->out->len > OUT_BUSY ? 0 : IN_CHUNK;
}

static void monitor_receive(void *opaque, const uint8_t *buf, int len)
{
    Monitor *mon = opaque;

    if (mon->qmp) {
        qmp_session_receive(mon->qmp, buf, len);
    } else {
        hmp_session_receive(mon->hmp, buf, len);
    }
}

static void monitor_event(void *opaque, CharEvent ev)
{
    Monitor *mon = opaque;

    if (ev == CHAR_EVENT_OPENED || ev == CHAR_EVENT_CLOSED) {
        g_string_truncate(mon->out, 0);
    }
    if (mon->hmp) {
        hmp_session_event(mon->hmp, ev);
    } else if (ev == CHAR_EVENT_OPENED) {
        qmp_session_opened(mon->qmp);
    }
}

/* Every event of the run state and the devices goes to every QMP client. */
static void monitor_event_sink(const char *event, const char *json_data)
{
    int64_t now_us = clock_ns(CLOCK_HOST) / 1000;
    json_object *data = json_data ? json_tokener_parse(json_data) : NULL;

    for (Monitor *mon = monitor_list; mon; mon = mon->next) {
        if (mon->qmp) {
            qmp_session_event(mon->qmp, event, data, now_us);
        }
    }
    json_object_put(data);
}

static void monitor_free(Monitor *mon)
{
    char_detach(&mon->fe);
    qmp_session_free(mon->qmp);
    hmp_session_free(mon->hmp);
    g_string_free(mon->out, TRUE);
    g_free(mon);
}

bool monitor_new(Chardev *chr, bool control, bool pretty, Error **errp)
{
    Monitor *mon = g_new0(Monitor, 1), **at = &monitor_list;

    mon->out = g_string_new(NULL);
    if (!char_attach(&mon->fe, chr, errp)) {
        monitor_free(mon);
        return false;
    }
    if (control) {
        mon->qmp = qmp_session_new(mon, pretty);
    } else {
        mon->hmp = hmp_session_new(mon);
    }
    while (*at) {
        at = &(*at)->next;
    }
    *at = mon;
    run_event_sink_set(monitor_event_sink);
    char_set_handlers(&mon->fe, monitor_can_receive, monitor_receive, monitor_event, mon);
    return true;
}

void monitors_fini(void)
{
    run_event_sink_set(NULL);
    while (monitor_list) {
        Monitor *mon = monitor_list;

        monitor_list = mon->next;
        if (mon->out->len) {
            char_write_all(&mon->fe, mon->out->str, mon->out->len);
        }
        monitor_free(mon);
    }
}
