/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace events: the switches and the output; see include/util/trace.h. Test: tests/unit/test-trace.c. */
#include "util/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"

typedef struct TraceRoom {
    TraceEvent *events;
    unsigned count;
    struct TraceRoom *next;
} TraceRoom;

static struct {
    TraceRoom *rooms;               /* filled by constructors */
    FILE *file;                     /* NULL: the log */
} trace;

void trace_events_register(TraceEvent *events, unsigned count)
{
    TraceRoom *room = g_new(TraceRoom, 1);

    *room = (TraceRoom){ events, count, trace.rooms };
    trace.rooms = room;
}

void trace_foreach(void (*fn)(TraceEvent *ev, void *opaque), void *opaque)
{
    for (TraceRoom *room = trace.rooms; room; room = room->next) {
        for (unsigned i = 0; i < room->count; i++) {
            fn(&room->events[i], opaque);
        }
    }
}

void trace_emit(const TraceEvent *ev, const char *fmt, ...)
{
    char text[512], line[768];
    struct timespec now;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(line, sizeof(line), "%d@%lld.%06ld:%s %s\n", (int)getpid(), (long long)now.tv_sec,
             now.tv_nsec / 1000, ev->name, text);
    if (trace.file) {
        fputs(line, trace.file);
        fflush(trace.file);
    } else {
        log_printf("%s", line);
    }
}

typedef struct Match {
    GPatternSpec *pattern;
    const char *name;
    bool on;
    unsigned hits;
    TraceEvent *found;
} Match;

static void switch_one(TraceEvent *ev, void *opaque)
{
    Match *m = opaque;

    if (g_pattern_spec_match_string(m->pattern, ev->name)) {
        atomic_store(&ev->on, m->on);
        m->hits++;
    }
}

unsigned trace_switch(const char *pattern)
{
    Match m = { .on = pattern[0] != '-' };

    m.pattern = g_pattern_spec_new(pattern + !m.on);
    trace_foreach(switch_one, &m);
    g_pattern_spec_free(m.pattern);
    return m.hits;
}

void trace_enable_reported(const char *pattern)
{
    if (!trace_switch(pattern) && !strpbrk(pattern, "*?")) {
        warn_report("trace event '%s' does not exist", pattern + (pattern[0] == '-'));
    }
}

bool trace_load_patterns(const char *path, Error **errp)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    GError *gerr = NULL;

    if (!g_file_get_contents(path, &text, NULL, &gerr)) {
        error_set(errp, "-trace events=%s: %s", path, gerr->message);
        g_error_free(gerr);
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_strstrip(*line);
        if (**line && **line != '#') {
            trace_enable_reported(*line);
        }
    }
    return true;
}

bool trace_set_file(const char *path, Error **errp)
{
    FILE *f = path ? fopen(path, "w") : NULL;

    if (path && !f) {
        error_set_errno(errp, errno, "-trace file=%s: cannot open it", path);
        return false;
    }
    if (trace.file) {
        fclose(trace.file);
    }
    trace.file = f;
    return true;
}

static void find_one(TraceEvent *ev, void *opaque)
{
    Match *m = opaque;

    if (!strcmp(ev->name, m->name)) {
        m->found = ev;
    }
}

TraceEvent *trace_find(const char *name)
{
    Match m = { .name = name };

    trace_foreach(find_one, &m);
    return m.found;
}

static void collect_name(TraceEvent *ev, void *opaque)
{
    g_ptr_array_add(opaque, (gpointer)ev->name);
}

static gint name_compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void trace_print_help(void)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    trace_foreach(collect_name, names);
    g_ptr_array_sort(names, name_compare);
    for (guint i = 0; i < names->len; i++) {
        printf("%s\n", (char *)g_ptr_array_index(names, i));
    }
}
