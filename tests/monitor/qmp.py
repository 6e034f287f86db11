#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""QMP as a client sees it: negotiation, errors, broken input, every command without side effects, events.

usage: qmp.py EMULATOR
"""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import cli  # noqa: E402


class Client:
    """One connection; events that come in between are kept."""

    def __init__(self, path):
        self.sock = cli.connect(path)
        self.file = self.sock.makefile('rb')
        self.events = []
        self.greeting = json.loads(self.file.readline())

    def read(self):
        while True:
            value = json.loads(self.file.readline())
            if 'event' not in value:
                return value
            self.events.append(value)

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else json.dumps(data).encode())

    def ask(self, data):
        self.send(data)
        return self.read()

    def run(self, name, **arguments):
        return self.ask({'execute': name, 'arguments': arguments} if arguments else {'execute': name})

    def wait_event(self, name):
        while not any(e['event'] == name for e in self.events):
            self.events.append(json.loads(self.file.readline()))
        return next(e for e in self.events if e['event'] == name)

    def close(self):
        self.file.close()
        self.sock.close()


def error_is(answer, cls, part):
    return answer.get('error', {}).get('class') == cls and part in answer['error']['desc']


def check_negotiation(c, q):
    c.check(q.greeting['QMP']['version']['qemu'] == {'major': 10, 'minor': 0, 'micro': 0}, 'greeting: version')
    c.check(q.greeting['QMP']['capabilities'] == [], 'greeting: capabilities')
    c.check(error_is(q.run('query-status'), 'CommandNotFound', 'qmp_capabilities'), 'nothing before negotiation')
    c.check(error_is(q.run('qmp_capabilities', enable=['oob']), 'GenericError', 'oob'), 'oob is refused')
    c.check(q.run('qmp_capabilities') == {'return': {}}, 'negotiation')
    c.check(error_is(q.run('qmp_capabilities'), 'CommandNotFound', 'already'), 'negotiation once')


def check_errors(c, q):
    cases = [
        ({'execute': 'nope', 'id': 7}, 'CommandNotFound', 'nope'),
        ({'exec': 'stop'}, 'GenericError', "'exec' is unexpected"),
        ({'id': 1}, 'GenericError', "'execute'"),
        ({'execute': 1}, 'GenericError', 'must be a string'),
        ({'execute': 'stop', 'arguments': []}, 'GenericError', 'must be an object'),
        ({'execute': 'stop', 'arguments': {'a': 1}}, 'GenericError', "'a' is unexpected"),
        ({'execute': 'qom-list'}, 'GenericError', "'path' is missing"),
        ({'execute': 'qom-list', 'arguments': {'path': 1}}, 'GenericError', "'path', expected: string"),
        ({'execute': 'qom-list', 'arguments': {'path': '/nope'}}, 'DeviceNotFound', '/nope'),
        ({'execute': 'qom-get', 'arguments': {'path': '/machine', 'property': 'x'}}, 'GenericError', '.x'),
        ({'execute': 'set-action', 'arguments': {'panic': 'x'}}, 'GenericError', "'x'"),
        ({'execute': 'device-list-properties', 'arguments': {'typename': 'x'}}, 'DeviceNotFound', "'x'"),
        ([1], 'GenericError', 'must be a JSON object'),
        (b'"x"', 'GenericError', 'must be a JSON object'),
        (b'null\n', 'GenericError', 'must be a JSON object'),
        (b'}{"execute":"quit"}\n', 'GenericError', 'JSON parse error'),
        (b'{"execute":"quit",}\n', 'GenericError', 'JSON parse error'),
        (b'\xff\xfe\n', 'GenericError', 'JSON parse error'),
        (b'{"a":' * 2000 + b'\n', 'GenericError', 'JSON parse error'),
    ]
    for data, cls, part in cases:
        answer = q.ask(data)
        c.check(error_is(answer, cls, part), '%s: %s' % (data if len(data) < 200 else data[:20], answer))
        if isinstance(data, dict):
            c.check(answer.get('id') == data.get('id'), '%s: id' % data)


def check_input(c, q):
    q.send(b' \r\n {"exe')
    time.sleep(0.02)
    c.check(q.ask(b'cute" : "query-name", "id": {"a": [1, null]}}')['id'] == {'a': [1, None]},
            'a command in two pieces')
    q.send(b'{"execute":"query-name","id":1}{"execute":"query-name","id":2} {"execute":"query-name","id":3}')
    c.check([q.read()['id'] for _ in range(3)] == [1, 2, 3], 'three commands in one piece')
    big = 'x' * 200000
    c.check(q.ask({'execute': 'query-name', 'id': big})['id'] == big, 'a large command')


def check_queries(c, q):
    names = {x['name'] for x in q.run('query-commands')['return']}
    want = {'qmp_capabilities', 'query-version', 'query-status', 'query-commands', 'query-qmp-schema', 'stop', 'cont',
            'system_reset', 'system_powerdown', 'quit', 'qom-list-types', 'qom-list', 'qom-get', 'query-memory-lock'}
    c.check(want <= names, 'commands: %s missing' % (want - names))
    c.check(q.run('query-status')['return'] == {'running': False, 'status': 'prelaunch'}, 'query-status')
    c.check(q.run('query-name')['return'] == {'name': 'test'}, 'query-name')
    c.check(q.run('query-uuid')['return'] == {'UUID': '00000000-0000-0000-0000-000000000000'}, 'query-uuid')
    c.check(q.run('query-target')['return'] == {'arch': 'x86_64'}, 'query-target')
    c.check(q.run('query-kvm')['return']['enabled'] is False, 'query-kvm')
    c.check(q.run('query-cpus-fast')['return'] == [], 'query-cpus-fast')
    options = {o['option']: {p['name'] for p in o['parameters']}
               for o in q.run('query-command-line-options')['return']}
    c.check('mem-lock' in options['overcommit'] and 'obsolete' in options['sandbox'], 'query-command-line-options')
    c.check(error_is(q.run('query-command-line-options', option='x'), 'GenericError', 'x'), 'an option that is none')
    text = q.run('human-monitor-command', **{'command-line': 'info status'})['return']
    c.check(text == 'VM status: paused (prelaunch)\n', 'human-monitor-command: %r' % text)


def check_schema(c, q):
    schema = {}
    for row in q.run('query-qmp-schema')['return']:
        c.check(row['name'] not in schema, 'schema: %s twice' % row['name'])
        schema[row['name']] = row
    kinds = {r['meta-type'] for r in schema.values()}
    c.check({'builtin', 'enum', 'array', 'object', 'command', 'event'} == kinds, 'schema: kinds %s' % kinds)
    for row in schema.values():
        used = [row[k] for k in ('arg-type', 'ret-type', 'element-type') if k in row]
        used += [m['type'] for m in row.get('members', []) if row['meta-type'] == 'object']
        for t in used:
            c.check(t in schema, 'schema: %s uses %s' % (row['name'], t))
    commands = {n for n, r in schema.items() if r['meta-type'] == 'command'}
    c.check(commands == {x['name'] for x in q.run('query-commands')['return']}, 'schema and query-commands agree')


def check_memory_lock(c, q, pid):
    info = q.run('query-memory-lock')['return']
    with open('/proc/%d/status' % pid) as f:
        locked = next(int(line.split()[1]) << 10 for line in f if line.startswith('VmLck'))
    c.check(info['mode'] == 'on-fault' and info['locked'] == locked > 0, 'query-memory-lock: %s %d' % (info, locked))
    c.check(info['discarded'] == 0 and info['discard-failures'] == 0, 'query-memory-lock: nothing discarded')


def check_qom(c, q):
    names = {p['name']: p['type'] for p in q.run('qom-list', path='/machine')['return']}
    c.check(names.get('graphics') == 'bool' and names.get('peripheral', '').startswith('child<'),
            'qom-list: %s' % names)
    c.check(q.run('qom-get', path='/machine', property='type')['return'] == 'none-machine', 'qom-get: type')
    c.check(q.run('qom-get', path='/machine', property='graphics')['return'] is True, 'qom-get: a boolean')
    types = {t['name'] for t in q.run('qom-list-types', implements='machine')['return']}
    c.check('none-machine' in types and 'machine' not in types, 'qom-list-types: %s' % types)
    both = {t['name'] for t in q.run('qom-list-types', implements='machine', abstract=True)['return']}
    c.check('machine' in both, 'qom-list-types: abstract ones')
    props = {p['name']: p for p in q.run('qom-list-properties', typename='none-machine')['return']}
    c.check(props['graphics']['default-value'] is True and props['graphics']['description'], 'qom-list-properties')


def check_events(c, q):
    c.check(q.run('cont') == {'return': {}} and q.events[-1]['event'] == 'RESUME', 'RESUME stands before the answer')
    stamp = q.events[-1]['timestamp']
    c.check(abs(stamp['seconds'] - time.time()) < 60 and 0 <= stamp['microseconds'] < 1000000, 'time stamp')
    c.check(q.run('query-status')['return'] == {'running': True, 'status': 'running'}, 'running')
    c.check(q.run('cont') == {'return': {}} and len(q.events) == 1, 'cont while running changes nothing')
    c.check(q.run('stop') == {'return': {}} and q.events[-1]['event'] == 'STOP', 'STOP')
    c.check(q.run('query-status')['return']['status'] == 'paused', 'paused')
    q.run('system_reset')
    c.check(q.wait_event('RESET')['data'] == {'guest': False, 'reason': 'host-qmp-system-reset'}, 'RESET')
    q.run('system_powerdown')
    c.check('data' not in q.wait_event('POWERDOWN'), 'POWERDOWN')
    c.check(error_is(q.run('system_wakeup'), 'GenericError', 'not suspended'), 'system_wakeup')
    c.check(q.run('quit', ) == {'return': {}}, 'quit')
    c.check(q.wait_event('SHUTDOWN')['data'] == {'guest': False, 'reason': 'host-qmp-quit'}, 'SHUTDOWN')
    c.check(q.file.readline() == b'', 'the connection ends')


def check_machine(c, folder):
    """A real board: its CPUs and its trees."""
    path = os.path.join(folder, 'board')
    p = cli.start(sys.argv[1], ['-M', 'q35', '-m', '16', '-smp', '8,sockets=2,cores=2,threads=2', '-nodefaults', '-S',
                                '-display', 'none', '-serial', 'null', '-qmp', 'unix:%s,server=on,wait=off' % path])
    q = Client(path)
    q.run('qmp_capabilities')
    cpus = q.run('query-cpus-fast')['return']
    places = [(x['props']['socket-id'], x['props']['core-id'], x['props']['thread-id']) for x in cpus]
    c.check(places == [(s, k, t) for s in (0, 1) for k in (0, 1) for t in (0, 1)], 'query-cpus-fast: %s' % places)
    c.check(len({x['thread-id'] for x in cpus}) == 8 and cpus[7]['cpu-index'] == 7,
            'query-cpus-fast: threads %s' % cpus)
    kind = q.run('qom-get', path=cpus[7]['qom-path'], property='type')
    c.check(kind.get('return', '').endswith('-x86_64-cpu'), 'the path of a CPU: %s' % kind)
    for command, parts in (('info qtree', ('bus: pcie.0', 'bus: isa.0', 'dev: isa-serial', 'chardev = "serial0"')),
                           ('info qom-tree', ('/machine (pc-q35-10.0-machine)', '(isa-serial)')),
                           ('info chardev', ('serial0: filename=null',)),
                           ('info cpus', ('* CPU #0: thread_id=', '  CPU #7'))):
        text = q.run('human-monitor-command', **{'command-line': command})['return']
        c.check(all(part in text for part in parts), '%s: %s' % (command, text))
    c.check(error_is(q.run('qom-set', path=cpus[0]['qom-path'], property='type', value='x'), 'GenericError', 'type'),
            'qom-set: what may not be changed')
    c.check(error_is(q.run('qom-set', path='/machine', property='hpet', value=[]), 'GenericError', "'value'"),
            'qom-set: a value of no kind')
    q.run('quit')
    c.check(p.wait(10) == 0, 'exit status of the board')


def main():
    c = cli.Checks()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'qmp')
        p = cli.start(sys.argv[1], cli.BASE + ['-name', 'test', '-overcommit', 'mem-lock=on-fault',
                                               '-qmp', 'unix:%s,server=on,wait=off' % path])
        q = Client(path)
        check_negotiation(c, q)
        check_errors(c, q)
        check_input(c, q)
        check_queries(c, q)
        check_schema(c, q)
        if not cli.has_asan(sys.argv[1]):
            check_memory_lock(c, q, p.pid)
        check_qom(c, q)
        q.close()
        q = Client(path)                                        # a second client starts afresh
        c.check(error_is(q.run('query-status'), 'CommandNotFound', 'qmp_capabilities'), 'the next client negotiates')
        q.run('qmp_capabilities')
        check_events(c, q)
        c.check(p.wait(10) == 0, 'exit status')
        check_machine(c, folder)
    c.end()


main()
