#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""memtest86+ (Debian's bare image through -kernel) on the serial console, with the least memory that it runs in:
a whole pass without errors with --long (or CLEAT_TEST_LONG=1; its bit-fade test alone waits for minutes), else its
first tests.

Usage: test-memtest.py EMULATOR [--long]
The image is CLEAT_GUEST_DIR/memtest.bin (scripts/kernels.sh fetches it).
"""
import os
import pathlib
import re
import subprocess
import sys

import guestlib

MEMORY = 6                      # MiB
FIRST_TESTS = '#6 '             # the line of the test that ends the short run


def main():
    emulator = sys.argv[1]
    full = '--long' in sys.argv or os.environ.get('CLEAT_TEST_LONG') == '1'
    image = pathlib.Path(guestlib.guest_dir(), 'memtest.bin')
    if not image.exists():
        sys.exit(f'{image} is missing (scripts/kernels.sh fetches it)')
    cmd = [emulator, '-M', 'q35', '-m', str(MEMORY), '-nodefaults', '-display', 'none', '-serial', 'stdio', '-kernel',
           str(image), '-append', 'console=ttyS0,115200']
    with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as vm:
        try:
            console = guestlib.Console(vm.stdout.fileno(), None)
            console.expect('Status: Pass' if full else FIRST_TESTS, timeout=1500 if full else 240)
        finally:
            vm.kill()
    # The screen is drawn by cursor positions: a count of errors is what follows the word.
    errors = set(re.findall(r'Errors:\s*(\d+)', re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', ' ', console.text)))
    assert errors == {'0'}, errors
    print('ok: a whole pass' if full else 'ok: the first tests')
    return 0


if __name__ == '__main__':
    sys.exit(main())
