#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The process as the host sees it: locked memory, daemon, pid file, jail, user, filter, names, signals.

usage: cli-process.py EMULATOR
A machine without CPUs, stopped, stands in for a VM. What needs root is left out without it.
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

import cli
from cli import catches_term, status_of, wait_for

BASE = ['-machine', 'none', '-nodefaults', '-display', 'none', '-S']
NOBODY = 65534
MIB = 1 << 20


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
            _, err = self.p.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            _, err = self.p.communicate()
        self.checks.check(self.p.returncode == 0, '%s: status %s after SIGTERM: %s'
                          % (self.args, self.p.returncode, err))
        self.checks.check('terminating on signal 15 from pid %d' % os.getpid() in err,
                          '%s: message of SIGTERM: %r' % (self.args, err))


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
    checks.check(rss['-overcommit mem-lock=on'] > rss['-overcommit mem-lock=on-fault'] + MIB // 1024,
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


def check_daemon(checks, emulator, folder):
    pidfile = os.path.join(folder, 'pid')
    p = cli.run(emulator, BASE + ['-daemonize', '-pidfile', pidfile, '-overcommit', 'mem-lock=on-fault'])
    checks.check(p.returncode == 0 and not p.stderr, 'daemonize: %d %r' % (p.returncode, p.stderr))
    pid = int(open(pidfile).read())
    fields = status_of(pid)
    checks.check(fields.get('Name') == cli.PROGRAM[:15], 'pid file names the daemon: %s' % fields.get('Name'))
    checks.check(kib(pid, 'VmLck') > 0 or cli.has_asan(emulator), 'the daemon itself holds the lock')
    checks.check(os.getsid(pid) not in (pid, os.getsid(0)), 'the daemon has left the session and leads none')
    checks.check(os.readlink('/proc/%d/cwd' % pid) == '/', 'the daemon is in the root folder')
    checks.check([os.readlink('/proc/%d/fd/%d' % (pid, n)) for n in (0, 1, 2)] == ['/dev/null'] * 3,
                 "the daemon's streams lead to /dev/null")
    second = cli.run(emulator, BASE + ['-daemonize', '-pidfile', pidfile])
    checks.check(second.returncode == 1 and pidfile in second.stderr, 'a pid file in use is refused')
    os.kill(pid, signal.SIGTERM)
    checks.check(wait_for(lambda: not status_of(pid)), 'the daemon ends by SIGTERM')
    checks.check(not os.path.exists(pidfile), 'the pid file is removed')


def check_daemon_errors(checks, emulator):
    for args in (['-pidfile', '/nonexistent/pid'], ['-object', 'no-such-type,id=a'], ['-m', 'x']):
        p = cli.run(emulator, BASE + ['-daemonize'] + args)
        checks.check(p.returncode == 1 and cli.one_sentence(p.stderr),
                     'daemonize %s: %d %r' % (args, p.returncode, p.stderr))


def check_jail(checks, emulator, folder):
    jail = os.path.join(folder, 'jail')
    os.mkdir(jail)
    with Vm(checks, emulator, ['-run-with', 'chroot=%s,user=nobody' % jail]) as vm:
        pid = vm.p.pid
        checks.check(wait_for(lambda: status_of(pid).get('Uid', '').split() == [str(NOBODY)] * 4),
                     'user= changes the user: %s' % status_of(pid).get('Uid'))
        checks.check(os.readlink('/proc/%d/root' % pid) == jail, 'chroot= changes the root folder')
    with Vm(checks, emulator, ['-run-with', 'user=1234:5678']) as vm:
        pid = vm.p.pid
        checks.check(wait_for(lambda: status_of(pid).get('Uid', '').split() == ['1234'] * 4), 'user=UID:GID, the user')
        checks.check(status_of(pid)['Gid'].split() == ['5678'] * 4, 'user=UID:GID, the group')
        checks.check(status_of(pid)['Groups'].split() == ['5678'], 'supplementary groups are dropped')
    for arg in ('chroot=/nonexistent', 'user=no-such-user', 'user=1:', 'user=1:2x'):
        cli.expect_refusal(checks, emulator, BASE + ['-run-with', arg], '-run-with %s: ' % arg)


def check_sandbox(checks, emulator):
    for args in ('on', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
                 'on,elevateprivileges=children'):
        with Vm(checks, emulator, ['-sandbox', args]) as vm:
            pid = vm.p.pid
            checks.check(wait_for(lambda: status_of(pid).get('Seccomp') == '2'), '-sandbox %s filters' % args)
            checks.check(status_of(pid).get('NoNewPrivs') == '1', '-sandbox %s: no new privileges' % args)
            for task in os.listdir('/proc/%d/task' % pid):
                with open('/proc/%d/task/%s/status' % (pid, task)) as f:
                    checks.check('Seccomp:\t2\n' in f.read(), '-sandbox %s covers thread %s' % (args, task))
    with Vm(checks, emulator, ['-sandbox', 'off,spawn=deny']) as vm:
        checks.check(status_of(vm.p.pid).get('Seccomp') == '0', '-sandbox off filters nothing')


def check_names(checks, emulator):
    with Vm(checks, emulator, ['-name', 'guest=g,process=a-rather-long-name']) as vm:
        checks.check(status_of(vm.p.pid).get('Name') == 'a-rather-long-n', '-name process=')


def helpers_of(pid):
    return [int(d) for d in os.listdir('/proc') if d.isdigit() and status_of(int(d)).get('PPid') == str(pid)]


def check_async_teardown(checks, emulator):
    with Vm(checks, emulator, ['-run-with', 'async-teardown=on']) as vm:
        helpers = helpers_of(vm.p.pid)
        checks.check(len(helpers) == 1 and wait_for(lambda: status_of(helpers[0]).get('Name') == 'cleat-teardown'),
                     'the helper process is there: %s' % helpers)
        checks.check(wait_for(lambda: not os.listdir('/proc/%d/fd' % helpers[0])), 'the helper holds no files')
        os.kill(helpers[0], signal.SIGTERM)
        time.sleep(0.05)
        checks.check(status_of(helpers[0]) != {}, 'the helper does not end before its time')
    checks.check(wait_for(lambda: status_of(helpers[0]).get('State', 'Z')[0] == 'Z'), 'the helper ends with the VM')


def main():
    emulator, checks = sys.argv[1], cli.Checks()
    locks_work = not cli.has_asan(emulator)
    with tempfile.TemporaryDirectory() as folder:
        if locks_work:
            check_lock_modes(checks, emulator)
        check_daemon(checks, emulator, folder)
        check_daemon_errors(checks, emulator)
        check_names(checks, emulator)
        check_sandbox(checks, emulator)
        check_async_teardown(checks, emulator)
        if os.getuid() == 0:
            check_jail(checks, emulator, folder)
            if locks_work:
                check_lock_refused(checks, emulator)
    checks.end()


main()
