#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the results of meson's test logs and of text results, says why each skipped test was skipped.

Usage: test-summary.py RESULTS_DIR BUILD_DIR...
A test skips itself with exit status 77 and a line `SKIP: reason`. A skip without a reason counts as failed, and so
does a build folder whose log holds no test. Lines of RESULTS_DIR/*.txt are
`PASS name...`, `FAIL name...`, `SKIP name: reason`.
"""
import json
import pathlib
import re
import sys


def read_meson_log(build):
    """(name, outcome, reason) of each test of a build folder's last run."""
    log = pathlib.Path(build, 'meson-logs', 'testlog.json')
    rows = []
    if not log.exists():
        return [(f'{build}: no test log', 'FAIL', 'nothing was run')]
    for line in log.read_text(encoding='utf-8', errors='replace').splitlines():
        entry = json.loads(line)
        name = f"{build}: {entry['name']}"
        if entry['result'] in ('OK', 'EXPECTEDFAIL'):
            rows.append((name, 'PASS', ''))
        elif entry['result'] == 'SKIP':
            why = re.search(r'^SKIP: (.+)$', entry.get('stdout', '') + '\n' + entry.get('stderr', ''), re.M)
            rows.append((name, 'SKIP', why.group(1)) if why else (name, 'FAIL', 'skipped without a reason'))
        else:
            rows.append((name, 'FAIL', entry['result']))
    return rows or [(f'{build}: empty test log', 'FAIL', 'nothing was run')]


def read_text_results(folder):
    rows = []
    for path in sorted(pathlib.Path(folder).glob('*.txt')):
        found = [re.match(r'(PASS|FAIL|SKIP) ([^:]+):? ?(.*)', line)
                 for line in path.read_text(encoding='utf-8').splitlines()]
        found = [(m.group(2), m.group(1), m.group(3)) for m in found if m]
        rows += found or [(path.name, 'FAIL', 'no result in it')]
    return rows


def main():
    results, *builds = sys.argv[1:]
    rows = [row for build in builds for row in read_meson_log(build)] + read_text_results(results)
    count = {outcome: sum(r[1] == outcome for r in rows) for outcome in ('PASS', 'FAIL', 'SKIP')}
    for name, outcome, why in rows:
        if outcome == 'SKIP':
            print(f'skipped: {name}: {why}')
    for name, outcome, why in rows:
        if outcome == 'FAIL':
            print(f'FAILED: {name}: {why}')
    print(f"{count['PASS']} passed, {count['FAIL']} failed, {count['SKIP']} skipped")
    return 1 if count['FAIL'] or not count['PASS'] else 0


if __name__ == '__main__':
    sys.exit(main())
