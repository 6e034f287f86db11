#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a room's trace-events into a C header and source: tracetool.py h|c ROOM INPUT OUTPUT.

A line is NAME(TYPE ARG, ...) "FORMAT"; '#' begins a comment line. FORMAT may use PRIx64 and its kin.
"""
import re
import sys

LINE = re.compile(r'^(\w+)\((.*?)\)\s+(".*)$')


def parse(path):
    events = []
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            if not line or line.startswith('#'):
                continue
            m = LINE.match(line)
            if not m:
                sys.exit(f'{path}:{number}: expected NAME(TYPE ARG, ...) "FORMAT"')
            name, args, fmt = m.groups()
            params = [] if args.strip() in ('', 'void') else [a.strip() for a in args.split(',')]
            names = [re.search(r'(\w+)$', p).group(1) for p in params]
            events.append((name, params, names, fmt))
    return events


def header(room, events):
    guard = 'TRACE_' + room.upper() + '_H'
    out = [f'/* Generated from {room}/trace-events by scripts/tracetool.py. */',
           f'#ifndef {guard}', f'#define {guard}', '', '#include <inttypes.h>', '#include <stddef.h>', '',
           '#include "util/trace.h"', '', f'extern TraceEvent trace_events_{room}[];', '']
    for i, (name, params, names, fmt) in enumerate(events):
        sig = ', '.join(params) or 'void'
        args = ''.join(', ' + n for n in names)
        out += [f'static inline void trace_{name}({sig})', '{',
                f'    if (trace_event_on(&trace_events_{room}[{i}])) {{',
                f'        trace_emit(&trace_events_{room}[{i}], {fmt}{args});', '    }', '}', '',
                f'#define TRACE_{name.upper()}_ON trace_event_on(&trace_events_{room}[{i}])', '']
    return out + ['#endif']


def source(room, events):
    out = [f'/* Generated from {room}/trace-events by scripts/tracetool.py. */', f'#include "trace-{room}.h"', '',
           f'TraceEvent trace_events_{room}[] = {{']
    out += [f'    {{ .name = "{e[0]}" }},' for e in events]
    return out + ['};', '', 'static void __attribute__((constructor)) register_events(void)', '{',
                  f'    trace_events_register(trace_events_{room}, {len(events)});', '}']


def main():
    kind, room, path, output = sys.argv[1:]
    lines = (header if kind == 'h' else source)(room, parse(path))
    with open(output, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


main()
