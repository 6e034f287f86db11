#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns qemu-options.hx into the parser's table, the text of -help, or the manual.

usage: hxtool.py takers|table|help|manual INPUT OUTPUT   (takers: prototypes of config_NAME)
The row format is described at the head of qemu-options.hx. Mistakes there end the build.
"""
import re
import sys
import textwrap

KEY_TYPES = {'string': 'KEY_STRING', 'bool': 'KEY_BOOL', 'uint': 'KEY_UINT', 'int': 'KEY_INT',
             'size': 'KEY_SIZE', 'word': 'KEY_WORD'}
FORMS = {'flag': 'OPTION_FLAG', 'string': 'OPTION_STRING', 'flat': 'OPTION_FLAT',
         'tree': 'OPTION_TREE'}
HEAD = 'Generated from qemu-options.hx by scripts/hxtool.py.'


class Row:
    def __init__(self, names, section, where):
        self.names, self.section, self.where = names, section, where
        self.form, self.json, self.implied = None, False, None
        self.args, self.keys, self.help, self.text = [], [], [], []
        self.set = self.missing = None
        self.elsewhere = False

    def check(self):
        takers = (self.set is not None) + (self.missing is not None) + self.elsewhere
        if self.form is None or takers != 1 or not self.help:
            sys.exit('%s: a row needs `form`, `help` and one of set/missing/elsewhere' % self.where)
        if (self.form == 'flag') != (not self.args):
            sys.exit('%s: `form flag` and `arg` contradict each other' % self.where)


def read_key(value, where):
    m = re.match(r'(\S+) ([a-z]+)(?::(\S+))? (.+)$', value)
    if not m or m.group(2) not in KEY_TYPES or (m.group(2) == 'word') != bool(m.group(3)):
        sys.exit('%s: bad key row' % where)
    return m.groups()


def read_form(row, value, where):
    words = value.split()
    if not words or words[0] not in FORMS:
        sys.exit('%s: unknown form' % where)
    row.form, row.json = words[0], 'json' in words[1:]
    rest = [w for w in words[1:] if w != 'json']
    row.implied = rest[0] if rest else None


def read(path):
    rows, section, seen = [], None, set()
    for n, line in enumerate(open(path, encoding='utf-8'), 1):
        where = '%s:%d' % (path, n)
        line = line.rstrip('\n')
        if not line or line.startswith('#'):
            continue
        word, _, value = line.partition(' ')
        if word == 'section':
            section = value
        elif word == 'option':
            names = value.split()
            if seen & set(names):
                sys.exit('%s: option given twice' % where)
            seen |= set(names)
            rows.append(Row(names, section, where))
        elif word == 'form':
            read_form(rows[-1], value, where)
        elif word == 'key':
            rows[-1].keys.append(read_key(value, where))
        elif word in ('arg', 'help', 'text'):
            {'arg': rows[-1].args, 'help': rows[-1].help, 'text': rows[-1].text}[word].append(value)
        elif word in ('set', 'missing'):
            setattr(rows[-1], word, value)
        elif word == 'elsewhere':
            rows[-1].elsewhere = True
        else:
            sys.exit('%s: unknown word %s' % (where, word))
    for row in rows:
        row.check()
    return rows


def cstr(s):
    return 'NULL' if s is None else '"%s"' % s.replace('\\', '\\\\').replace('"', '\\"')


def takers(rows):
    return '/* %s */\n' % HEAD + ''.join(
        'bool config_%s(Config *c, const OptionUse *use, Error **errp);\n' % name
        for name in sorted({r.set for r in rows if r.set}))


def table(rows):
    out = ['/* %s */' % HEAD]
    for r in rows:
        if r.keys:
            out.append('static const KeyRow keys_%s[] = {' % r.names[0].replace('-', '_'))
            out += ['    { %s, %s, %s },' % (cstr(k), KEY_TYPES[t], cstr(w)) for k, t, w, _ in r.keys]
            out += ['    { NULL },', '};']
    out.append('static const OptionRow option_rows[] = {')
    for r in rows:
        for name in r.names:
            out.append('    { %s, %s, %s, %s, %s, %s, %s, %s },' % (
                cstr(name), FORMS[r.form], 'true' if r.json else 'false', cstr(r.implied),
                'keys_' + r.names[0].replace('-', '_') if r.keys else 'NULL',
                'config_' + r.set if r.set else 'NULL', cstr(r.missing),
                'true' if r.elsewhere else 'false'))
    return '\n'.join(out + ['    { NULL },', '};', ''])


def help_row(r):
    out = []
    flag = ' or '.join('-' + n for n in r.names)
    if r.form == 'flag':
        out.append('%-15s %s' % (flag, r.help[0]) if len(flag) < 16 else flag)
        rest = r.help[1:] if len(flag) < 16 else r.help
    else:
        out += ['-%s %s' % (r.names[0], a) for a in r.args]
        rest = r.help
    out += [' ' * 16 + line for line in rest]
    if r.keys and not any(line.startswith('  ') for line in r.help):
        out += ['%s  %s %s' % (' ' * 16, (k + '=').ljust(15), d) for k, _, _, d in r.keys]
    return out


def help_text(rows):
    out = ['', 'DISK_IMAGE is a raw image of disk 0.']
    section = None
    for r in rows:
        if r.elsewhere:
            continue
        if r.section != section:
            section = r.section
            out += ['', section + ':']
        out += help_row(r)
        if r.missing:
            out.append(' ' * 16 + '(not available in this build yet)')
    body = '\n'.join('    %s' % cstr(line + '\n').replace('\n', '\\n') for line in out)
    return '/* %s */\nstatic const char option_help_text[] =\n%s;\n' % (HEAD, body)


def manual_row(r):
    spellings = [' '.join(filter(None, ['-' + r.names[0], s])) for s in (r.args or [''])]
    out = ['.. option:: ' + spellings[0]] + [' ' * 12 + s for s in spellings[1:]]
    out.append('')
    prose = ' '.join(line for line in r.help if not line.startswith('  ')).strip()
    out.append(textwrap.indent(textwrap.fill(prose[:1].upper() + prose[1:] + '.', 96), '   '))
    table_lines = [re.match(r'  (\S+)\s+(.+)$', line) for line in r.help if line.startswith('  ')]
    for m in table_lines:
        out += ['', '   ``%s``' % m.group(1), '      %s.' % m.group(2)]
    for key, kind, words, text in ([] if table_lines else r.keys):
        out += ['', '   ``%s=%s``' % (key, words or kind), '      %s.' % text]
    for para in '\n'.join(r.text).split('\n\n'):
        if para:
            out += ['', textwrap.indent(textwrap.fill(para, 96), '   ')]
    if len(r.names) > 1:
        out += ['', '   Also: %s.' % ', '.join('``-%s``' % n for n in r.names[1:])]
    if r.missing:
        out += ['', '   Not available yet: %s.' % r.missing]
    return out + ['']


def manual(rows):
    out = ['.. SPDX-License-Identifier: GPL-2.0-or-later', '.. ' + HEAD, '', 'Options', '=======', '',
           'A double hyphen is as good as a single one. Of options that are given more than once, the',
           'last one counts unless something else is said.', '']
    section = None
    for r in rows:
        if r.elsewhere:
            continue
        if r.section != section:
            section = r.section
            out += [section, '-' * len(section), '']
        out += manual_row(r)
    return '\n'.join(out)


def main():
    kinds = {'takers': takers, 'table': table, 'help': help_text, 'manual': manual}
    if len(sys.argv) != 4 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    text = kinds[sys.argv[1]](read(sys.argv[2]))
    with open(sys.argv[3], 'w', encoding='utf-8') as f:
        f.write(text)


main()
