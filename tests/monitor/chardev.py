#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Character devices as their peers see them, with a monitor for people behind each: what is typed arrives once and in
order, peers may come and go, and a peer that does not read costs a bounded amount.

usage: chardev.py EMULATOR
"""
import array
import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import cli  # noqa: E402

EMULATOR = sys.argv[1]
PROMPT = b'(qemu) '
STATUS = b'VM status: paused (prelaunch)\r\n'


class Vm:
    """An emulator with a QMP client; ends by quit."""

    def __init__(self, folder, args, fds=(), stdin=subprocess.DEVNULL):
        self.path = os.path.join(folder, 'qmp')
        cmd = [EMULATOR, '-machine', 'none', '-nodefaults', '-display', 'none', '-S',
               '-qmp', 'unix:%s,server=on,wait=off' % self.path] + args
        self.p = subprocess.Popen(cmd, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=fds)
        self.file = cli.connect(self.path).makefile('rwb')
        self.file.readline()
        self.qmp('qmp_capabilities')

    def qmp(self, name, **arguments):
        self.file.write(json.dumps({'execute': name, 'arguments': arguments}).encode())
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if 'event' not in answer:
                return answer.get('return', answer)

    def chardevs(self):
        return {c['label']: c for c in self.qmp('query-chardev')}

    def quit(self, c):
        self.qmp('quit')
        out, err = self.p.communicate(timeout=10)
        c.check(self.p.returncode == 0, 'exit status %d: %s' % (self.p.returncode, err))
        return out


def read_until(fd, what, seconds=10):
    """Bytes up to and with `what`, or what there was when time or input ended."""
    got, end = b'', time.time() + seconds
    while what not in got and time.time() < end:
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            data = fd.recv(65536) if isinstance(fd, socket.socket) else os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        got += data
    return got


def check_shell(c, send, fd, what, rounds=200):
    """Many commands in one go; each is answered once."""
    read_until(fd, PROMPT)
    send(b'info version\r' * rounds + b'info status\r')
    got = read_until(fd, STATUS + PROMPT)
    c.check(got.count(b'10.0.0 (cleat-') == rounds and STATUS in got, '%s: %d answers of %d' %
            (what, got.count(b'10.0.0 (cleat-'), rounds))


def check_tcp(c, folder):
    vm = Vm(folder, ['-chardev', 'socket,id=t,host=127.0.0.1,port=0,server=on,wait=off,ipv4=on', '-mon', 't'])
    found = re.fullmatch(r'disconnected:tcp:127\.0\.0\.1:(\d+),server=on', vm.chardevs()['t']['filename'])
    c.check(found and vm.chardevs()['t']['frontend-open'], 'tcp: %s' % vm.chardevs()['t'])
    for n in range(2):                                      # one client after the other
        s = cli.connect(('127.0.0.1', int(found[1])), family=socket.AF_INET)
        check_shell(c, s.sendall, s, 'tcp, client %d' % n)
        c.check(vm.chardevs()['t']['filename'].startswith('tcp:'), 'tcp: connected')
        s.close()
    vm.quit(c)


def check_port_range(c, folder):
    taken = socket.create_server(('127.0.0.1', 0))
    first = taken.getsockname()[1]
    vm = Vm(folder, ['-chardev', 'socket,id=t,host=127.0.0.1,port=%d,to=%d,server=on,wait=off' % (first, first + 50)])
    found = re.search(r':(\d+),server', vm.chardevs()['t']['filename'])
    c.check(first < int(found[1]) <= first + 50, 'to=: port %s, not %d' % (found[1], first))
    vm.quit(c)


def check_telnet(c, folder):
    vm = Vm(folder, ['-chardev', 'socket,id=t,host=127.0.0.1,port=0,server=on,wait=off,telnet=on', '-mon', 't'])
    port = int(re.search(r':(\d+),server', vm.chardevs()['t']['filename'])[1])
    s = cli.connect(('127.0.0.1', port), family=socket.AF_INET)
    hello = read_until(s, PROMPT)
    c.check(hello.startswith(b'\xff\xfb\x01\xff\xfb\x03\xff\xfb\x00\xff\xfd\x00'), 'telnet: greeting %r' % hello[:16])
    s.sendall(b'in\xff\xfd\x01fo \xff\xfa\x18\x00xterm\xff\xf0sta\xff\xf1tus\r')        # DO, a subnegotiation, NOP
    c.check(STATUS in read_until(s, STATUS), 'telnet: its commands are taken out')
    s.close()
    vm.quit(c)


def check_reconnect(c, folder):
    path = os.path.join(folder, 'client')
    vm = Vm(folder, ['-chardev', 'socket,id=r,path=%s,reconnect-ms=50' % path, '-mon', 'r'])
    for n in range(2):
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        server.settimeout(10)
        s = server.accept()[0]
        check_shell(c, s.sendall, s, 'reconnect, time %d' % n, 5)
        server.close()
        s.close()
        os.unlink(path)
    vm.quit(c)


def check_passed_listener(c, folder):
    path = os.path.join(folder, 'passed')
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(1)
    vm = Vm(folder, ['-chardev', 'socket,id=f,fd=%d,server=on,wait=off' % server.fileno(), '-mon', 'f'],
            fds=[server.fileno()])
    server.close()
    s = cli.connect(path)
    check_shell(c, s.sendall, s, 'fd=')
    s.close()
    vm.quit(c)


def check_abstract(c, folder):
    name = 'cleat-test-%d' % os.getpid()
    vm = Vm(folder, ['-chardev', 'socket,id=a,path=%s,abstract=on,server=on,wait=off' % name, '-mon', 'a'])
    s = cli.connect('\0' + name)
    check_shell(c, s.sendall, s, 'abstract', 5)
    vm.quit(c)


def check_pty(c, folder):
    vm = Vm(folder, ['-monitor', 'pty'])
    name = re.fullmatch('pty:(/dev/pts/.*)', vm.chardevs()['compat_monitor1']['filename'])[1]
    for n in range(3):
        fd = os.open(name, os.O_RDWR | os.O_NOCTTY)
        os.write(fd, b'\r')                                 # for a prompt: no greeting when its coming was not noticed
        check_shell(c, lambda data: os.write(fd, data), fd, 'pty, peer %d' % n, 20)
        os.close(fd)
    c.check(vm.quit(c) == b'', 'pty: nothing on stdout')


def check_pipe(c, folder):
    path = os.path.join(folder, 'pipe')
    os.mkfifo(path + '.in')
    os.mkfifo(path + '.out')
    out = os.open(path + '.out', os.O_RDWR)
    vm = Vm(folder, ['-monitor', 'pipe:' + path])
    fd = os.open(path + '.in', os.O_WRONLY)
    check_shell(c, lambda data: os.write(fd, data), out, 'pipe')
    vm.quit(c)


def check_stdio(c, folder):
    vm = Vm(folder, ['-monitor', 'stdio'], stdin=subprocess.PIPE)
    vm.p.stdin.write(b'info version\n' * 200 + b'info status\n')
    vm.p.stdin.close()
    vm.p.stdin = None
    got = read_until(vm.p.stdout.fileno(), STATUS)
    c.check(got.count(b'10.0.0 (cleat-') == 200 and STATUS in got, 'stdio: a script before the end of input')
    c.check(vm.qmp('query-status')['status'] == 'prelaunch', 'stdio: the end of input changes nothing')
    vm.quit(c)


def check_files(c, folder):
    names = {n: os.path.join(folder, n) for n in ('in', 'out', 'log')}
    for n, text in (('in', 'info status\n'), ('out', 'old\n'), ('log', 'old\n')):
        with open(names[n], 'w') as f:
            f.write(text)
    vm = Vm(folder, ['-mon', 'f', '-chardev',
                     'file,id=f,path=%(out)s,input-path=%(in)s,append=on,logfile=%(log)s' % names])
    wanted = lambda n: STATUS in open(names[n], 'rb').read()        # noqa: E731
    c.check(cli.wait_for(lambda: wanted('out')), 'file: input and output')
    vm.quit(c)
    with open(names['out'], 'rb') as out, open(names['log'], 'rb') as log:
        out, log = out.read(), log.read()
    c.check(out.startswith(b'old\n') and out == b'old\n' + log, 'file: append=on, logappend=off: %r, %r' % (out, log))


def check_mux(c, folder):
    path = os.path.join(folder, 'mux')
    vm = Vm(folder, ['-chardev', 'socket,id=m,mux=on,path=%s,server=on,wait=off' % path, '-mon', 'm', '-mon', 'm',
                     '-echr', '20'])
    s = cli.connect(path)
    read_until(s, PROMPT)
    s.sendall(b'info st\x14c' + b'info name\r' * 100 + b'\x14catus\r')     # half a line, the other monitor, the rest
    c.check(STATUS in read_until(s, STATUS), 'mux: each monitor has its own line')
    s.sendall(b'\x14h')
    c.check(b'C-t x' in read_until(s, b'C-t C-t'), 'mux: help names the escape key')
    s.sendall(b'\x14tinfo status\r')
    c.check(re.search(rb'\[00:00:0\d\.\d{3}\] VM status', read_until(s, b'prelaunch)')), 'mux: time stamps')
    s.sendall(b'\x14x')
    c.check(vm.p.wait(10) == 0, 'mux: the escape key ends it')
    vm.p.communicate()


def check_ringbuf(c, folder):
    vm = Vm(folder, ['-chardev', 'ringbuf,id=r,size=16'])
    c.check(vm.qmp('ringbuf-write', device='r', data='0123456789abcdefXYZ') == {}, 'ringbuf-write')
    c.check(vm.qmp('ringbuf-read', device='r', size=4) == '3456', 'ringbuf-read: the oldest of the last 16')
    vm.qmp('ringbuf-write', device='r', data='/wA=', format='base64')
    c.check(vm.qmp('ringbuf-read', device='r', size=99, format='base64') == 'Nzg5YWJjZGVmWFla/wA=', 'ringbuf: base64')
    for arguments, part in (({'device': 'r', 'size': 0}, 'size'), ({'device': 'x', 'size': 1}, "'x'")):
        c.check(part in vm.qmp('ringbuf-read', **arguments)['error']['desc'], 'ringbuf-read %s' % arguments)
    refused = vm.qmp('ringbuf-write', device='r', data='?', format='base64')
    c.check('base64' in refused['error']['desc'], 'ringbuf: no base64')
    names = {b['name'] for b in vm.qmp('query-chardev-backends')}
    c.check({'socket', 'stdio', 'null', 'ringbuf', 'pty', 'file', 'pipe'} <= names,
            'query-chardev-backends: %s' % names)
    vm.quit(c)


def resident(pid):
    return int(cli.status_of(pid)['VmRSS'].split()[0])


def check_client_that_does_not_read(c, folder):
    """Commands are taken no faster than answers; all are answered once it reads."""
    path = os.path.join(folder, 'lazy')
    vm = Vm(folder, ['-chardev', 'socket,id=l,path=%s,server=on,wait=off' % path, '-mon', 'chardev=l,mode=control'])
    s = cli.connect(path)
    before, n = resident(vm.p.pid), 600
    batch = b'{"execute":"qmp_capabilities"}' + b''.join(
        b'{"execute":"query-qmp-schema","id":%d}' % i for i in range(n))
    sender = threading.Thread(target=s.sendall, args=(batch,), daemon=True)
    sender.start()
    time.sleep(0.5)
    grown = resident(vm.p.pid) - before
    c.check(grown < 8192 or cli.has_asan(EMULATOR), 'answers that nobody reads take %d kB' % grown)
    c.check(vm.qmp('query-status')['status'] == 'prelaunch', 'other clients are served meanwhile')
    f = s.makefile('rb')
    f.readline(), f.readline()
    ids = [json.loads(f.readline())['id'] for _ in range(n)]
    c.check(ids == list(range(n)), 'every command was answered once, in order')
    sender.join(10)
    s.sendall(batch)                                        # and one that leaves without having read anything
    s.close()
    c.check(vm.qmp('query-status')['status'] == 'prelaunch', 'a client that left does no harm')
    f = cli.connect(path).makefile('rb')
    c.check('QMP' in json.loads(f.readline()), 'the next one is greeted')
    vm.quit(c)


def check_stray_descriptors(c, folder):
    """Descriptors that come with bytes are closed when nobody takes them."""
    path = os.path.join(folder, 'stray')
    vm = Vm(folder, ['-chardev', 'socket,id=s,path=%s,server=on,wait=off' % path, '-mon', 's'])
    count = lambda: len(os.listdir('/proc/%d/fd' % vm.p.pid))     # noqa: E731
    before = count()
    s = cli.connect(path)
    for _ in range(100):
        s.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])
    read_until(s, b'x' * 100)
    c.check(count() < before + 60, 'descriptors that nobody takes are bounded')
    s.close()
    c.check(cli.wait_for(lambda: count() == before), 'descriptors: %d, %d before' % (count(), before))
    vm.quit(c)


def check_mistakes(c):
    for args, pattern in (
            (['-chardev', 'vc,id=x'], "'vc'"), (['-serial', 'braille'], "'braille'"),
            (['-chardev', 'file,id=x'], "'x'.*path="), (['-chardev', 'socket,id=x,path=/a,port=1'], 'exclude'),
            (['-chardev', 'socket,id=x,host=h,port=5,to=4,server=on'], 'to=4'),
            (['-chardev', 'socket,id=x,port=5,ipv4=off,ipv6=off'], "'ipv4' and 'ipv6'"),
            (['-chardev', 'socket,id=x,path=/a,wait=on'], "'wait'"),
            (['-chardev', 'socket,id=x,fd=1,server=on'], "'1'"),
            (['-chardev', 'null,id=x', '-chardev', 'null,id=x'], "'x'"), (['-chardev', 'ringbuf,id=x,size=3'], '3'),
            (['-chardev', 'null,id=x', '-mon', 'x', '-mon', 'x'], "'x'")):
        cli.expect_refusal(c, EMULATOR, ['-machine', 'none', '-nodefaults', '-display', 'none', '-S'] + args, pattern)


def main():
    c = cli.Checks()
    for check in (check_tcp, check_port_range, check_telnet, check_reconnect, check_passed_listener, check_abstract,
                  check_pty, check_pipe, check_stdio, check_files, check_mux, check_ringbuf,
                  check_client_that_does_not_read, check_stray_descriptors):
        with tempfile.TemporaryDirectory() as folder:
            check(c, folder)
    check_mistakes(c)
    c.end()


main()
