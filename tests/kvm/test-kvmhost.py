#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kvmhost.py itself: a host that dies is killed and tried again, one that writes or ends is not.

Usage: test-kvmhost.py
"""
import concurrent.futures
import pathlib
import sys
import tempfile
import time

import kvmhost

HANG = 'while :; do sleep 1; done'
# (what happens, shell text of the host with its start's number in $n, seconds of silence, seconds in all,
#  starts that it must take, what is left in the log)
CASES = (
    ('ends well', 'echo end', 3, 60, 1, 'end\n'),
    ('ends badly', 'echo FAIL; exit 1', 3, 60, 1, 'FAIL\n'),
    ('ends without a word', 'exit 1', 3, 60, 1, ''),
    ('dies once', f'[ $n = 2 ] || {{ echo begin; {HANG}; }}; echo end', 3, 60, 2, 'end\n'),
    ('dies three times without a word', f'[ $n = 4 ] || {HANG}; echo end', 3, 60, 4, 'end\n'),
    ('dies each time', f'echo begin $n; {HANG}', 3, 60, kvmhost.ATTEMPTS, f'begin {kvmhost.ATTEMPTS}\n'),
    ('panics once', '[ $n = 2 ] || { echo not syncing: softlockup; exit; }; echo end', 3, 60, 2, 'end\n'),
    ('writes with breaks', 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done', 3, 60, 1, '1\n2\n3\n4\n5\n6\n'),
    ('writes for ever', 'while :; do echo x; sleep 0.3; done', 3, 4, 1, None),
)


def run_case(case):
    """(starts, log, seconds that it took)"""
    _, text, silence, seconds, _, _ = case
    with tempfile.TemporaryDirectory() as work:
        count = f'{work}/count'
        script = f'echo >>{count}; n=$(wc -l <{count}); {text}'
        start = time.monotonic()
        log = kvmhost.host_runs(['sh', '-c', script], f'{work}/log', seconds, silence).decode()
        return len(pathlib.Path(count).read_text(encoding='ascii')), log, time.monotonic() - start


def main():
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        results = list(pool.map(run_case, CASES))
    for (name, *_, want_starts, want_log), (starts, log, took) in zip(CASES, results):
        ok = starts == want_starts and took < 50 and (log == want_log if want_log is not None else 'x\n' in log)
        bad += not ok
        print(f"{'ok' if ok else 'NOT OK'}: a host that {name}" + ('' if ok else f': {starts} starts, log {log!r}'))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
