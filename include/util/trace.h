/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace events: named points in the code that print one line each when they are switched on
 * (-trace, -d trace:).
 *
 * A room lists its events in a file `trace-events`, one a line: NAME(TYPE ARG, ...) "FORMAT".
 * scripts/tracetool.py makes trace-ROOM.h (hw/char: "trace-hw_char.h") with an inline trace_NAME()
 * that costs one load and a branch when off. Switching: any thread. Test: tests/unit/test-trace.c.
 */
#ifndef CLEAT_UTIL_TRACE_H
#define CLEAT_UTIL_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "util/error.h"

typedef struct TraceEvent {
    const char *name;
    _Atomic bool on;
} TraceEvent;

static inline bool trace_event_on(const TraceEvent *ev)
{
    return __builtin_expect(atomic_load_explicit(&ev->on, memory_order_relaxed), 0);
}

void trace_emit(const TraceEvent *ev, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* By the generated constructors: `events` is the room's array. */
void trace_events_register(TraceEvent *events, unsigned count);

/* Switches all events that match a pattern ('*' and '?'); how many there were. A '-' in front switches off. */
unsigned trace_switch(const char *pattern);
/* -trace [enable=]PATTERN: the same, with a warning when nothing matches. */
void trace_enable_reported(const char *pattern);
/* -trace events=FILE: a pattern a line, '#' for comments. */
bool trace_load_patterns(const char *path, Error **errp);
/* -trace file=FILE: lines go there; NULL: to the log (-D), else stderr. */
bool trace_set_file(const char *path, Error **errp);
void trace_foreach(void (*fn)(TraceEvent *ev, void *opaque), void *opaque);
TraceEvent *trace_find(const char *name);
/* -trace help: all names on stdout. */
void trace_print_help(void);

#endif
