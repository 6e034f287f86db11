#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The process as the host sees it: daemon, pid file, jail, user, filter, names, signals.

usage: cli-process.py EMULATOR
A machine without CPUs, stopped, stands in for a VM. What needs root is left out without it.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

import cli
from cli import BASE, NOBODY, Vm, catches_term, kib, status_of, wait_for


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
    with tempfile.TemporaryDirectory() as folder:
        check_daemon(checks, emulator, folder)
        check_daemon_errors(checks, emulator)
        check_names(checks, emulator)
        check_sandbox(checks, emulator)
        check_async_teardown(checks, emulator)
        if os.getuid() == 0:
            check_jail(checks, emulator, folder)
    checks.end()


main()
