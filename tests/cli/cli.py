# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the emulator on a command line and checks status and messages; shared by tests/cli."""
import atexit
import os
import re
import signal
import socket
import subprocess
import sys
import time

PROGRAM = 'qemu-system-x86_64'
BASE = ['-machine', 'none', '-nodefaults', '-display', 'none', '-S']     # a machine without CPUs, stopped
NOBODY = 65534


class Checks:
    """Counts checks and failures; end() gives the exit status."""

    def __init__(self):
        self.count, self.failures = 0, []

    def check(self, ok, what):
        self.count += 1
        if not ok:
            self.failures.append(what)
            print('FAIL: ' + what)

    def end(self):
        print('%d checks, %d failures' % (self.count, len(self.failures)))
        sys.exit(1 if self.failures or not self.count else 0)


def connect(address, seconds=10, family=socket.AF_UNIX):
    """A socket of the emulator's, once it is there and listens; `seconds` is its time limit from then on, too."""
    end = time.time() + seconds
    while True:
        s = socket.socket(family)
        s.settimeout(seconds)
        try:
            s.connect(address)
            return s
        except OSError:
            s.close()
            if time.time() > end:
                raise
            time.sleep(0.01)


def has_asan(emulator):
    """AddressSanitizer makes mlockall do nothing, and keeps freed memory."""
    with open(emulator, 'rb') as f:
        return b'__asan_init' in f.read()


def run(emulator, args, timeout=60, **kwargs):
    return subprocess.run([emulator] + args, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout, **kwargs)


def start(emulator, args):
    """A running emulator that ends with this script, however that ends."""
    p = subprocess.Popen([emulator] + args, stdin=subprocess.DEVNULL)
    atexit.register(p.kill)
    return p


def one_sentence(text):
    """The message is one line that begins with the program's name (hints may follow it)."""
    lines = [l for l in text.splitlines() if 'warning: ' not in l]
    return bool(lines) and lines[0].startswith(PROGRAM + ': ') \
        and sum(l.startswith(PROGRAM + ': ') for l in lines) == 1


def expect_refusal(checks, emulator, args, pattern):
    """Exit status 1, nothing on stdout, one sentence on stderr that matches the pattern."""
    p = run(emulator, args)
    what = '%s: status %d, stdout %r, stderr %r' % (args, p.returncode, p.stdout[:200], p.stderr)
    checks.check(p.returncode == 1 and not p.stdout and one_sentence(p.stderr)
                 and re.search(pattern, p.stderr), what)


def status_of(pid):
    """Fields of /proc/PID/status; empty when it is gone."""
    try:
        with open('/proc/%d/status' % pid) as f:
            return dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)
    except (OSError, ProcessLookupError):
        return {}


def wait_for(what, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return True
        time.sleep(0.01)
    return False


def catches_term(pid):
    """The emulator does so from the end of its start-up on."""
    return int(status_of(pid).get('SigCgt', '0'), 16) >> (signal.SIGTERM - 1) & 1


def kib(pid, field):
    return int(status_of(pid).get(field, '0 kB').split()[0])


class Vm:
    """A running emulator; leaving the block ends it by SIGTERM."""

    def __init__(self, checks, emulator, args, **kwargs):
        self.checks, self.args = checks, args
        self.p = subprocess.Popen([emulator] + BASE + args, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)

    def __enter__(self):
        up = wait_for(lambda: self.p.poll() is not None or catches_term(self.p.pid))
        self.checks.check(up and self.p.poll() is None, '%s does not start' % self.args)
        return self

    def __exit__(self, *unused):
        self.p.send_signal(signal.SIGTERM)
        try:
            _, err = self.p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.p.kill()
            _, err = self.p.communicate()
        self.checks.check(self.p.returncode == 0, '%s: status %s after SIGTERM: %s'
                          % (self.args, self.p.returncode, err))
        self.checks.check('terminating on signal 15 from pid %d' % os.getpid() in err,
                          '%s: message of SIGTERM: %r' % (self.args, err))
