#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The function names in docs/devel/tour.rst exist in the source.

Usage: tour.py SOURCE_DIR
"""
import pathlib
import re
import sys


def main():
    src = pathlib.Path(sys.argv[1])
    names = set(re.findall(r'``([a-z0-9_]+_[a-z0-9_]+)``', (src / 'docs/devel/tour.rst').read_text(encoding='utf-8')))
    words = set()
    for pattern in ('*.c', '*.h', '*.def'):
        for path in src.rglob(pattern):
            if not str(path.relative_to(src)).startswith('build'):
                words.update(re.findall(r'\w+', path.read_text(encoding='utf-8')))
    # qmp_* and sem_* are spelled by generators: qmp_NAME stands in C, sem_NAME in a SEM(NAME).
    missing = [n for n in sorted(names) if n not in words and n.removeprefix('sem_') not in words]
    print(f'{len(names)} names, missing: {missing}')
    return 1 if missing or not names else 0


if __name__ == '__main__':
    sys.exit(main())
