#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the QAPI schema into C types, the command table, introspection data and the manual.

usage: gen.py types.h|commands.h|tables.c|manual OUTPUT SCHEMA.json...

A schema file is a row of Python-style dictionaries; `#` lines are comments and `##` blocks are the words of
the manual about the next expression (`# @member: ...` lines about its members). Expressions:
  { 'enum': NAME, 'data': [WORD...] }
  { 'struct': NAME, ['base': STRUCT,] 'data': { ['*']MEMBER: TYPE } }     '*': optional; TYPE: name, or [name]
  { 'union': NAME, 'base': {...}, 'discriminator': MEMBER, 'data': { WORD: STRUCT } }   more members by a word
  { 'command': NAME, ['data': {...},] ['returns': TYPE,] flags }
       flags: allow-preconfig, session (the handler gets the QMP session), introspect-as (shown element type)
Introspection shows types of the schema by numbers, as QEMU does: their names are no part of the interface.
  { 'event': NAME, ['data': {...}] }
"""
import ast
import json
import re
import sys
import textwrap

# QAPI name: (C type of a member, kind, name in introspection)
BUILTINS = {'str': ('char *', 'QAPI_STR', 'str'), 'int': ('int64_t ', 'QAPI_INT', 'int'),
            'uint64': ('uint64_t ', 'QAPI_UINT', 'int'), 'size': ('uint64_t ', 'QAPI_UINT', 'int'),
            'bool': ('bool ', 'QAPI_BOOL', 'bool'), 'number': ('double ', 'QAPI_NUMBER', 'number'),
            'any': ('json_object *', 'QAPI_ANY', 'any')}
JSON_TYPES = {'str': 'string', 'int': 'int', 'bool': 'boolean', 'number': 'number', 'any': 'value', 'null': 'null'}
HEAD = ('/* SPDX-License-Identifier: GPL-2.0-or-later */\n'
        '/* Generated from the schema in qapi/ by scripts/qapi/gen.py. */\n')
FLAGS = {'allow-preconfig', 'session', 'introspect-as'}


def fail(where, text):
    sys.exit('%s: %s' % (where, text))


def c_name(name):
    name = re.sub(r'[^A-Za-z0-9_]', '_', name)
    return 'q_' + name if name in ('default', 'static', 'switch', 'case', 'unix') else name


def upper_name(name):
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', c_name(name)).upper()


class Expr:
    def __init__(self, body, doc, where):
        self.where, self.doc = where, doc
        self.kind = next((k for k in ('enum', 'struct', 'union', 'command', 'event') if k in body), None)
        if not self.kind:
            fail(where, 'unknown kind of expression')
        self.name = body.pop(self.kind)
        self.data = body.pop('data', {})
        self.base = body.pop('base', None)
        self.tag = body.pop('discriminator', None)
        self.branches = {}
        if self.kind == 'union':
            self.branches, self.data, self.base = self.data, self.base, None
        self.returns = body.pop('returns', None)
        self.flags = body
        if set(body) - FLAGS:
            fail(where, 'unknown key %s' % (set(body) - FLAGS))
        if not doc:
            fail(where, '%s has no words for the manual' % self.name)

    @property
    def args(self):
        """Name of the struct that holds a command's or event's data; None: there is none."""
        words = re.split('[-_]', self.name.lower())
        return ''.join(map(str.capitalize, words)) + 'Arg' if self.kind in ('command', 'event') and self.data else None


def read_file(path):
    text, depth, doc, in_doc, start = '', 0, [], False, 0
    for n, line in enumerate(open(path, encoding='utf-8'), 1):
        if depth == 0 and line.strip() == '##':
            in_doc = not in_doc
            doc = [] if in_doc else doc
        elif depth == 0 and line.startswith('#'):
            if in_doc:
                doc.append(line[1:].strip())
        elif line.strip():
            start = start if depth else n
            text += line
            depth = text.count('{') - text.count('}')
            if depth == 0:
                body = re.sub(r'\btrue\b', 'True', re.sub(r'\bfalse\b', 'False', text))
                yield Expr(ast.literal_eval(body.strip()), doc, '%s:%d' % (path, start))
                text, doc = '', []


class Schema:
    def __init__(self, paths):
        self.exprs = [e for p in paths for e in read_file(p)]
        self.types = {e.name: e for e in self.exprs if e.kind in ('enum', 'struct', 'union')}
        for e in self.exprs:
            if e.base:
                e.data = dict(self.types[e.base].data, **e.data)
            if e.kind == 'union':
                self.check_union(e)
        names = [e.name for e in self.exprs]
        for e in self.exprs:
            if names.count(e.name) > 1:
                fail(e.where, '%s is there twice' % e.name)
            if e.kind != 'enum':
                for t in list(e.data.values()) + ([e.returns] if e.returns else []):
                    self.check_type(t, e.where)

    def check_type(self, t, where):
        t = t[0] if isinstance(t, list) else t
        if t not in BUILTINS and t not in self.types:
            fail(where, 'unknown type %s' % t)

    def check_union(self, e):
        tag = self.types.get(e.data.get(e.tag))
        if not tag or tag.kind != 'enum':
            fail(e.where, 'the discriminator of %s is no member that is an enum' % e.name)
        for word, t in e.branches.items():
            if word not in tag.data or t not in self.types or self.types[t].kind != 'struct':
                fail(e.where, "%s: '%s' is no word of %s, or %s is no struct" % (e.name, word, tag.name, t))

    def of(self, kind):
        return [e for e in self.exprs if e.kind == kind]

    def structs(self):
        """(name, members, union or None) of each struct, those of other structs' members first."""
        done, out = set(), []

        def visit(e):
            if e.name in done:
                return
            done.add(e.name)
            for t in list(e.data.values()) + list(e.branches.values()):
                t = t[0] if isinstance(t, list) else t
                if t in self.types and self.types[t].kind != 'enum':
                    visit(self.types[t])
            out.append((e.name, e.data, e if e.branches else None))
        for e in self.of('struct') + self.of('union'):
            visit(e)
        return out + [(e.args, e.data, None) for e in self.exprs if e.args]

    def is_pointer(self, t):
        return isinstance(t, list) or t in ('str', 'any')

    def c_type(self, t):
        if isinstance(t, list):
            return 'QapiList '
        if t in BUILTINS:
            return BUILTINS[t][0]
        return 'Qapi%s ' % c_name(t)

    def list_types(self):
        out = []
        for e in self.exprs:
            if e.kind != 'enum':
                shown = [[e.flags['introspect-as']]] if 'introspect-as' in e.flags else []
                for t in list(e.data.values()) + ([e.returns] if e.returns else []) + shown:
                    if isinstance(t, list) and t[0] not in out:
                        out.append(t[0])
        return out

    def type_ref(self, t):
        if isinstance(t, list):
            return '&qapi_list_%s' % c_name(t[0])
        return '&qapi_type_%s' % c_name(t)


def members(data):
    for key, t in data.items():
        yield key.lstrip('*'), t, key.startswith('*')


def types_h(s):
    out = [HEAD, '#ifndef CLEAT_QAPI_TYPES_H', '#define CLEAT_QAPI_TYPES_H', '', '#include "qapi/qapi.h"', '']
    for e in s.of('enum'):
        words = ['    QAPI_%s_%s,' % (upper_name(e.name), upper_name(w)) for w in e.data]
        out += ['typedef enum Qapi%s {' % c_name(e.name)] + words + ['} Qapi%s;' % c_name(e.name)]
        out += ['extern const QapiType qapi_type_%s;' % c_name(e.name), '']
    for name, data, union in s.structs():
        out.append('typedef struct Qapi%s {' % c_name(name))
        for key, t, optional in members(data):
            if optional and not s.is_pointer(t):
                out.append('    bool has_%s;' % c_name(key))
            out.append('    %s%s;' % (s.c_type(t), c_name(key)))
        if union:
            out += ['    union {'] + ['        %s%s;' % (s.c_type(t), c_name('q_' + word))
                                      for word, t in union.branches.items()] + ['    } u;']
        out += ['} Qapi%s;' % c_name(name), 'extern const QapiType qapi_type_%s;' % c_name(name), '']
    for t in s.list_types():
        out.append('extern const QapiType qapi_list_%s;' % c_name(t))
    return '\n'.join(out + ['', '#endif', ''])


def handler(s, e):
    params = ['struct QmpSession *session'] if e.flags.get('session') else []
    if e.args:
        params.append('const Qapi%s *args' % c_name(e.args))
    if e.returns:
        params.append(s.c_type(e.returns) + '*ret')
    return 'bool qmp_%s(%s)' % (re.sub('^qmp_', '', c_name(e.name)), ', '.join(params + ['Error **errp']))


def commands_h(s):
    out = [HEAD, '#ifndef CLEAT_QAPI_COMMANDS_H', '#define CLEAT_QAPI_COMMANDS_H', '',
           '#include "qapi/qapi-types.h"', '', 'struct QmpSession;', '']
    out += ['%s;' % handler(s, e) for e in s.of('command')]
    return '\n'.join(out + ['', '#endif', ''])


def struct_tables(s):
    out = []
    for name, data, union in s.structs():
        out.append('static const QapiField fields_%s[] = {' % c_name(name))
        for key, t, optional in members(data):
            has = 'offsetof(Qapi%s, has_%s)' % (c_name(name), c_name(key)) \
                if optional and not s.is_pointer(t) else '-1'
            out.append('    { "%s", %s, offsetof(Qapi%s, %s), %s, %s },' % (
                key, s.type_ref(t), c_name(name), c_name(key), 'true' if optional else 'false', has))
        out += ['    { NULL },', '};']
        if union:
            out.append('static const QapiVariants variants_%s = { offsetof(Qapi%s, %s), offsetof(Qapi%s, u), {'
                       % (c_name(name), c_name(name), c_name(union.tag), c_name(name)))
            tag = s.types[union.data[union.tag]]
            out += ['    [QAPI_%s_%s] = &qapi_type_%s,' % (upper_name(tag.name), upper_name(word), c_name(t))
                    for word, t in union.branches.items()] + ['} };']
        out.append('const QapiType qapi_type_%s = { "%s", QAPI_STRUCT, sizeof(Qapi%s), fields_%s%s };'
                   % (c_name(name), name, c_name(name), c_name(name),
                      ', .variants = &variants_%s' % c_name(name) if union else ''))
    return out


def tables_c(s):
    out = [HEAD, '#include <stddef.h>', '', '#include "qapi/qapi-commands.h"', '']
    for e in s.of('enum'):
        out.append('static const char *const words_%s[] = { %s, NULL };'
                   % (c_name(e.name), ', '.join('"%s"' % w for w in e.data)))
        out.append('const QapiType qapi_type_%s = { "%s", QAPI_ENUM, sizeof(int), NULL, words_%s };'
                   % (c_name(e.name), e.name, c_name(e.name)))
    for t in s.list_types():
        out.append('const QapiType qapi_list_%s = { "[%s]", QAPI_LIST, sizeof(QapiList), NULL, NULL, %s };'
                   % (c_name(t), t, s.type_ref(t)))
    out += struct_tables(s)
    for e in s.of('command'):
        call = (['session'] if e.flags.get('session') else []) + (['args'] if e.args else []) \
            + (['ret'] if e.returns else []) + ['errp']
        out += ['static bool call_%s(struct QmpSession *session, const void *args, void *ret, Error **errp)'
                % c_name(e.name), '{', '    return qmp_%s(%s);' % 
                 (re.sub('^qmp_', '', c_name(e.name)), ', '.join(call)),
                '}']
    out.append('const QapiCommand qapi_commands[] = {')
    for e in sorted(s.of('command'), key=lambda e: e.name):
        out.append('    { "%s", %s, %s, call_%s, %s },' % (
            e.name, s.type_ref(e.args) if e.args else 'NULL', s.type_ref(e.returns) if e.returns else 'NULL',
            c_name(e.name), 'true' if e.flags.get('allow-preconfig') else 'false'))
    out += ['    { NULL },', '};', 'const QapiEvent qapi_events[] = {']
    for e in sorted(s.of('event'), key=lambda e: e.name):
        out.append('    { "%s", %s },' % (e.name, s.type_ref(e.args) if e.args else 'NULL'))
    out += ['    { NULL },', '};', 'const char qapi_schema_json[] =']
    for piece in textwrap.wrap(json.dumps(Introspection(s).rows, separators=(',', ':')), 4000, break_on_hyphens=False):
        out.append('    "%s"' % piece.replace('\\', '\\\\').replace('"', '\\"'))
    return '\n'.join(out) + ';\n'


class Introspection:
    """The answer to query-qmp-schema: commands and events by name, the types that they use by number."""

    def __init__(self, schema):
        self.schema = schema
        self.rows = [{'name': n, 'meta-type': 'builtin', 'json-type': j} for n, j in JSON_TYPES.items()]
        self.numbers, self.arrays, self.todo = {}, set(), []
        for e in schema.exprs:
            if e.kind in ('command', 'event'):
                self.rows.append(self.callable_row(e))
        while self.todo:
            self.rows.append(self.type_row(*self.todo.pop(0)))

    def number(self, name, data, union=None):
        if name not in self.numbers:
            self.numbers[name] = str(len(self.numbers))
            self.todo.append((name, data, union))
        return self.numbers[name]

    def ref(self, t):
        if isinstance(t, list):
            name = '[%s]' % self.ref(t[0])
            if name not in self.arrays:
                self.arrays.add(name)
                self.rows.append({'name': name, 'meta-type': 'array', 'element-type': name[1:-1]})
            return name
        if t in BUILTINS:
            return BUILTINS[t][2]
        e = self.schema.types[t]
        return self.number(t, e.data, e if e.branches else None)

    def callable_row(self, e):
        row = {'name': e.name, 'meta-type': e.kind, 'arg-type': self.number(e.args or 'q_empty', e.data)}
        if e.kind == 'command':
            ret = [e.flags['introspect-as']] if 'introspect-as' in e.flags else e.returns
            row['ret-type'] = self.ref(ret) if ret else self.number('q_empty', {})
        return row

    def type_row(self, name, data, union):
        row = {'name': self.numbers[name]}
        if isinstance(data, list):
            return dict(row, **{'meta-type': 'enum', 'values': data, 'members': [{'name': w} for w in data]})
        row.update({'meta-type': 'object', 'members': [
            dict({'name': k, 'type': self.ref(t)}, **({'default': None} if o else {})) for k, t, o in members(data)]})
        if union:
            words = self.schema.types[data[union.tag]].data
            row.update({'tag': union.tag, 'variants': [
                {'case': w, 'type': self.ref(union.branches[w]) if w in union.branches else self.number('q_empty', {})}
                for w in words]})
        return row


def manual_expr(e):
    title = e.name
    words = ' '.join(l for l in e.doc if not l.startswith('@')).strip()
    about = dict(re.match(r'@([\w-]+): (.*)', l).groups() for l in e.doc if l.startswith('@'))
    out = [title, '~' * len(title), '', words, '']
    if e.kind == 'enum':
        return out + ['One of ' + ', '.join('``%s``' % w for w in e.data) + '.', '']
    for key, t, optional in members(e.data):
        what = 'list of %s' % t[0] if isinstance(t, list) else t
        out += ['``%s``: %s%s' % (key, what, ', optional' if optional else '')]
        out += ['    %s' % about[key]] if key in about else []
    for word, t in e.branches.items():
        out += ['With ``%s`` ``%s``: the members of %s' % (e.tag, word, t)]
    if e.data:
        out.append('')
    if e.returns:
        out += ['Returns: %s' % ('list of %s' % e.returns[0] if isinstance(e.returns, list) else e.returns), '']
    return out


def manual(s):
    out = ['.. SPDX-License-Identifier: GPL-2.0-or-later', '.. Generated from qapi/*.json by scripts/qapi/gen.py.', '',
           'QMP', '===', '']
    for kind, title in (('command', 'Commands'), ('event', 'Events'), ('struct', 'Structures'),
                        ('union', 'Unions'), ('enum', 'Enumerations')):
        out += [title, '-' * len(title), '']
        for e in sorted(s.of(kind), key=lambda e: e.name):
            out += manual_expr(e)
    return '\n'.join(out)


def main():
    kinds = {'types.h': types_h, 'commands.h': commands_h, 'tables.c': tables_c, 'manual': manual}
    if len(sys.argv) < 4 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    text = kinds[sys.argv[1]](Schema(sys.argv[3:]))
    with open(sys.argv[2], 'w', encoding='utf-8') as f:
        f.write(text)


main()
