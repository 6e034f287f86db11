#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-overcommit mem-lock= as the host sees it: every spelling, and an ordinary user whose limit is too small.

usage: cli-lock.py EMULATOR
"""
import os
import resource
import shutil
import sys
import tempfile

import cli
from cli import BASE, NOBODY, Vm, kib


def as_nobody(memlock):
    """For preexec_fn: an ordinary user who may lock that many bytes."""
    def drop():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (memlock, memlock))
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    return drop


def may_lift_limit():
    """Containers often may not."""
    old = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError:
        return False
    resource.setrlimit(resource.RLIMIT_MEMLOCK, old)
    return True


def check_lock_modes(checks, emulator):
    cases = [([], False), (['-overcommit', 'mem-lock=off'], False), (['-overcommit', 'cpu-pm=on'], False),
             (['-overcommit', 'mem-lock=on'], True), (['-overcommit', 'mem-lock=on-fault'], True),
             (['-overcommit', 'mem-lock=on', '-overcommit', 'cpu-pm=off'], True),
             (['-overcommit', 'mem-lock=on', '-overcommit', 'mem-lock=off'], False),
             (['-overcommit', 'mem-lock=off,mem-lock=on-fault'], True),
             (['-overcommit', 'mem-lock'], True), (['-overcommit', 'mem-lock=on,nomem-lock'], False)]
    rss = {}
    for args, locked in cases:
        with Vm(checks, emulator, args) as vm:
            lck = kib(vm.p.pid, 'VmLck')
            checks.check((lck > 0) == locked, '%s: VmLck is %d kB' % (args, lck))
            rss[' '.join(args)] = kib(vm.p.pid, 'VmRSS')
    checks.check(rss['-overcommit mem-lock=on'] > rss['-overcommit mem-lock=on-fault'] + 1024,
                 'on costs more than on-fault: %s' % rss)


def check_lock_refused(checks, emulator):
    for mode in ('on', 'on-fault'):
        for extra in ([], ['-daemonize']):
            for limit, reason in ((64 << 10, 'Cannot allocate memory'), (0, 'Operation not permitted')):
                args = BASE + ['-overcommit', 'mem-lock=' + mode] + extra
                p = cli.run(emulator, args, preexec_fn=as_nobody(limit))
                checks.check(p.returncode == 1 and p.stderr == '%s: mlockall: %s\n%s: locking memory failed\n'
                             % (cli.PROGRAM, reason, cli.PROGRAM), '%s: %d %r' % (args, p.returncode, p.stderr))
    if may_lift_limit():
        with Vm(checks, emulator, ['-overcommit', 'mem-lock=on'],
                preexec_fn=as_nobody(resource.RLIM_INFINITY)) as vm:
            checks.check(kib(vm.p.pid, 'VmLck') > 0, 'an ordinary user without a limit may lock')


def main():
    emulator, checks = sys.argv[1], cli.Checks()
    if cli.has_asan(emulator):
        print('SKIP: AddressSanitizer turns mlockall into a no-op')
        sys.exit(77)
    check_lock_modes(checks, emulator)
    if os.getuid() == 0:
        with tempfile.TemporaryDirectory() as folder:       # the build tree may lie where only root may look
            os.chmod(folder, 0o755)
            check_lock_refused(checks, shutil.copy(emulator, folder))
    checks.end()


main()
