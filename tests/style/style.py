#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The style test: what docs/devel/style.rst asks for and a program can check.

Usage: style.py SOURCE_DIR [BUILD_DIR]
Checks the committed files: SPDX line, line length, file and function length, who includes whom, no machine paths;
and, given a build, that no object file has mutable globals outside tests/style/globals.allow. Prints the ten
longest files and functions.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

LINE_MAX = 120          # hard; aim at 100
FILE_MAX = 1500
FUNCTION_MAX = 100
NO_SPDX = ('COPYING', '*.bin', '*.png', 'tests/fuzz/corpus/*')
TABLE_FILES = ('tests/bench/guestbench.c', 'target/i386/insn.def', 'qemu-options.hx', 'qapi/*.json',
               '*.golden', '*.txt')
SWITCH_ALLOWANCE = 160  # a function that is mostly one-line cases

# A room may include itself and what its row names; `system/vl.c` may include anything.
CORE = {'util', 'qapi', 'system'}
MAY_INCLUDE = {
    'util': {'util'},
    'qapi': {'util', 'qapi'},
    'system': {'util', 'qapi', 'system', 'accel'},
    'hw': CORE | {'hw', 'target', 'chardev', 'block', 'net', 'ui'},
    'target': CORE | {'target'},
    'block': CORE | {'block', 'chardev'},
    'net': CORE | {'net', 'chardev'},
    'chardev': CORE | {'chardev'},
    'gdbstub': CORE | {'gdbstub', 'chardev', 'accel', 'target'},
    'ui': CORE | {'ui', 'chardev'},
    'migration': CORE | {'migration'},
    'monitor': CORE | {'monitor', 'chardev', 'gdbstub', 'accel', 'target', 'net', 'block', 'ui', 'migration'},
    'accel': CORE | {'accel', 'target', 'hw', 'chardev'},
}
ROOF = {'system/vl.c', 'system/main.c'}


class Report:
    def __init__(self):
        self.faults = []

    def add(self, path, line, text):
        self.faults.append(f'{path}:{line}: {text}' if line else f'{path}: {text}')


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, p) or fnmatch.fnmatch(pathlib.PurePath(path).name, p) for p in patterns)


def committed_files(src):
    out = subprocess.run(['git', '-C', src, 'ls-files'], capture_output=True, text=True, check=False)
    if out.returncode == 0 and out.stdout:
        return out.stdout.split('\n')[:-1]
    return sorted(str(p.relative_to(src)) for p in pathlib.Path(src).rglob('*')
                  if p.is_file() and not str(p.relative_to(src)).startswith(('build', '.git/'))
                   and '__pycache__' not in str(p))


def check_text(path, lines, report):
    if not matches(path, NO_SPDX) and not any('SPDX-License-Identifier: GPL-2.0-or-later' in l for l in lines[:3]):
        report.add(path, 1, 'no SPDX line')
    if not matches(path, NO_SPDX + TABLE_FILES):
        if len(lines) > FILE_MAX:
            report.add(path, 0, f'{len(lines)} lines, limit {FILE_MAX}')
        for n, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                report.add(path, n, f'{len(line)} columns, limit {LINE_MAX}')
            if re.search(r'/work/(main|wt|shared)|/home/\w', line) and path != 'tests/style/style.py':
                report.add(path, n, 'a path of one machine')


def functions_of(lines):
    """(name, first line, lines, cases) of each function body: an opening brace in column 0 up to the closing one."""
    start = None
    for n, line in enumerate(lines):
        if line.startswith('{'):
            start = n
        elif line.startswith('}') and start is not None:
            head = next((l for l in reversed(lines[max(0, start - 5):start]) if re.match(r"\w.*\(", l)), "")
            names = re.findall(r'(\w+)\s*\(', head)
            body = lines[start:n]
            cases = sum(bool(re.match(r'\s*(case .*|default):', l)) for l in body)
            yield (names[0] if names else '?'), start + 1, n - start - 1, cases
            start = None


def check_functions(path, lines, report, longest):
    for name, at, length, cases in functions_of(lines):
        longest.append((length, f'{path}:{at} {name}'))
        if length > (SWITCH_ALLOWANCE if cases * 2 >= length // 2 else FUNCTION_MAX):
            report.add(path, at, f'function {name} has {length} lines, limit {FUNCTION_MAX}')


def room_of(path):
    parts = path.split('/')
    if parts[0] == 'include':
        parts = parts[1:]
    return parts[0] if len(parts) > 1 else None


def check_includes(path, lines, report):
    room = room_of(path)
    if room not in MAY_INCLUDE or path in ROOF:
        return
    for n, line in enumerate(lines, 1):
        m = re.match(r'#include "([^"]+)"', line)
        if m and '/' in m.group(1):
            other = room_of(m.group(1).replace('include/', ''))
            if other in MAY_INCLUDE and other not in MAY_INCLUDE[room]:
                report.add(path, n, f'room {room} includes {m.group(1)}')


def check_globals(src, build, report):
    allow = [l.split('#')[0].strip() for l in pathlib.Path(src, 'tests/style/globals.allow').read_text().splitlines()]
    allow = [a for a in allow if a]
    lib = pathlib.Path(build, 'libcleat-core.a')
    if not lib.exists():
        report.add(str(lib), 0, 'not built: cannot look for globals')
        return
    out = subprocess.run(['nm', '-A', str(lib)], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        m = re.match(r'.*?:([\w.-]+\.o):[0-9a-f]* +([bBdDC]) (\S+)$', line)
        if not m:
            continue
        obj, symbol = m.group(1), re.sub(r'\.\d+$', '', m.group(3))
        if not any(fnmatch.fnmatch(f'{obj}:{symbol}', a) for a in allow):
            report.add(obj, 0, f'mutable global {symbol} (tests/style/globals.allow lists the few there may be)')


def main():
    src = sys.argv[1]
    report, files, functions = Report(), [], []
    for path in committed_files(src):
        full = pathlib.Path(src, path)
        if not full.is_file() or full.is_symlink():
            continue
        try:
            lines = full.read_text(encoding='utf-8').splitlines()
        except UnicodeDecodeError:
            continue
        check_text(path, lines, report)
        if path.endswith(('.c', '.h')):
            files.append((len(lines), path))
            check_functions(path, lines, report, functions)
            check_includes(path, lines, report)
    if len(sys.argv) > 2:
        check_globals(src, sys.argv[2], report)
    for title, rows in (('longest files', files), ('longest functions', functions)):
        print(f'{title}:')
        for size, what in sorted(rows, reverse=True)[:10]:
            print(f'  {size:5} {what}')
    lengths = sorted(f[0] for f in functions) or [0]
    print(f'functions: {len(lengths)}, median {lengths[len(lengths) // 2]}, '
          f'95th percentile {lengths[len(lengths) * 95 // 100]}')
    for fault in report.faults:
        print(fault)
    print(f'{len(report.faults)} faults')
    return 1 if report.faults else 0


if __name__ == '__main__':
    sys.exit(main())
