#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles target/i386/insn.def (its head explains the columns) into the decoder's and interpreter's tables.

Usage: insn-gen.py INSN.DEF OUT.H OUT.C SEM-LIST.H
`parse(path)` is also what tests and reports use: a list of Row.
"""
import re
import sys

MAPS = {'1b': 0, '0f': 1, '0f38': 2, '0f3a': 3}
VEX_MAPS = {'0f': 4, '0f38': 5, '0f3a': 6}
EVEX_MAPS = {'0f': 7, '0f38': 8, '0f3a': 9, 'map5': 10, 'map6': 11}
MAP_COUNT = 12
PFX = {'np': 1, '66': 2, 'f3': 4, 'f2': 8, 'nr': 3, '': 15}
LENGTHS = {'128': 1, '256': 2, '512': 4, 'lz': 1, 'y': 6, 'lig': 0x87}
ROW_FLAGS = ['i64', 'o64', 'd64', 'f64', 'lock', 'rep', 'end', 'cpl0', 'pe', 'norexb', 'alias', 'notcs', 'modr',
             'sgst', 'seg8c', 'bitmem', 'nowait', 'k', 'kz', 'kreq', 'er', 'sae', 'rcok', 'w32', 'vsib', 'kpair',
             'xmm0w', 'movdir', 'nopm']
FLAG_BITS = {'c': 1, 'p': 4, 'a': 0x10, 'z': 0x40, 's': 0x80, 'i': 0x200, 'd': 0x400, 'o': 0x800}
GPRS = ['rAX', 'rCX', 'rDX', 'rBX', 'rSP', 'rBP', 'rSI', 'rDI', 'rR8', 'rR9', 'rR10', 'rR11']
SEGS = ['ES', 'CS', 'SS', 'DS', 'FS', 'GS']
FIXED = {'AL': (0, 'B'), 'AX': (0, 'W'), 'eAX': (0, 'Z'), 'rAX': (0, 'V'), 'CL': (1, 'B'), 'DX': (2, 'W')}
SIZES = {'': '0', 'm': '0', 'b': 'B', 'bs': 'BS', 'w': 'W', 'd': 'D', 'q': 'Q', 'v': 'V', 'y': 'Y', 'z': 'Z',
         'dq': 'DQ', 'qq': 'QQ', 'x': 'X', 'h': 'H', 'f': 'F', 'e': 'E', 'p': 'P', 's': 'S', 'a': 'A', 't': 'T',
         '64': '64', '512': '512', 'xs': 'XS', 'cx': 'CX'}
MEM_ONLY_SIZES = {'e': 'ENV', 'f': 'SAVE'}      # of letter M
KINDS = ['KG', 'KH', 'KU', 'KE'] + list('EGRMZBVHWULPQNSCDIJAOXY')
MEM_KINDS = {'M', 'VM'}
REG_KINDS = {'R', 'U', 'N', 'KU'}
MODRM_KINDS = {'E', 'G', 'R', 'M', 'RM', 'V', 'W', 'U', 'UM', 'P', 'Q', 'N', 'KG', 'KU', 'KE', 'S', 'C', 'D', 'VM',
               'STI'}
EXCLASS = {None: 'NONE', 'x87': 'X87', 'mmx': 'MMX', 'cvt': 'CVT'}
KNOWN_KEYS = {'fn', 'gate', 'gate64', 'x', 'ex', 'fr', 'fw', 'fu', 'imp_r', 'imp_w', 'bc', 'elem'}


class Operand:
    """kind (OPK_ suffix), size (SZ_ suffix), access bits, aux."""

    def __init__(self, text, first):
        text, _, acc = text.partition(':')
        self.access = {'': 2 if first else 1, 'r': 1, 'w': 2, 'rw': 3, 'n': 0}[acc]
        self.aux = 0
        self.kind, self.size = self.parse(text)

    def parse(self, t):
        if t in FIXED:
            self.aux, size = FIXED[t]
            return 'FIXED', size
        if t in SEGS:
            self.aux = SEGS.index(t)
            return 'SEG', 'W'
        simple = {'1': ('ONE', '0'), 'ST': ('ST', 'T'), 'STi': ('STI', 'T'), 'XMM0': ('XMM0', 'DQ'),
                  'Ib2': ('I2', 'B')}
        if t in simple:
            return simple[t]
        m = re.fullmatch(r'vm(32|64)([xh])', t)
        if m:
            self.aux = int(m[1]) // 8
            return 'VM', SIZES[m[2]]
        if t.startswith('RdM'):
            return 'RM', SIZES[t[3:]]
        if t.startswith('UdqM'):
            return 'UM', SIZES[t[4:]]
        kind = next((k for k in KINDS if t.startswith(k)), None)
        size = t[len(kind):] if kind else ''
        if kind is None or size not in SIZES:
            raise ValueError('operand ' + t)
        if kind == 'M' and size in MEM_ONLY_SIZES:
            return 'M', MEM_ONLY_SIZES[size]
        return kind, SIZES[size]

    def c(self):
        return '{OPK_%s, SZ_%s, %d, %d}' % (self.kind, self.size, self.access, self.aux)


class Row:
    """One line of insn.def; attributes are the fields of InsnRow."""

    def __init__(self, line, text, defaults):
        cols = text.split()
        self.line, self.encoding, self.opcode_text, self.mnemonic = line, cols[0], cols[1], cols[2]
        self.operand_text = cols[3]
        self.attrs = dict(defaults)
        for k, v in parse_attrs(cols[4:]).items():
            self.attrs[k] = v
        if 'nok' in self.attrs:
            self.attrs.pop('kz', None)
            self.attrs.pop('nok')
        if 'k' in self.attrs:
            self.attrs.pop('kz', None)
        if 'kz' in self.attrs:
            self.attrs['k'] = True
        texts = [] if cols[3] == '-' else cols[3].split(',')
        self.operands = [Operand(t, n == 0) for n, t in enumerate(texts)]
        self.parse_encoding()
        self.parse_opcode()
        self.has_modrm = self.digit != 255 or self.mod != 3 or 'modr' in self.attrs or any(
            o.kind in MODRM_KINDS for o in self.operands)
        self.byte = self.is_byte()

    def parse_encoding(self):
        parts = self.encoding.split('.')
        self.w, self.l = 3, 0x87
        self.vex = parts[0] if parts[0] in ('vex', 'evex') else ''
        if not self.vex:
            self.pfx = PFX[parts[0] if len(parts) == 2 else '']
            self.map = MAPS[parts[-1]]
            return
        _, length, pfx, mp, w = parts
        self.l = LENGTHS.get(length) or (7 if self.vex == 'evex' else 3)
        self.pfx = PFX[pfx]
        self.map = (EVEX_MAPS if self.vex == 'evex' else VEX_MAPS)[mp]
        self.w = {'w0': 1, 'w1': 2, 'wig': 3}[w]
        self.lz = length == 'lz'

    def parse_opcode(self):
        m = re.fullmatch(r'([0-9a-f]{2})(\+r)?(?:/([0-7])?([mr])?([0-7])?)?', self.opcode_text)
        if not m:
            raise ValueError('opcode ' + self.opcode_text)
        self.opcode, self.plus_r = int(m[1], 16), bool(m[2])
        self.digit = int(m[3]) if m[3] else 255
        self.rm = int(m[5]) if m[5] else 255
        self.mod = {'m': 1, 'r': 2, None: 3}[m[4]]
        for o in self.operands:
            if o.kind in MEM_KINDS:
                self.mod &= 1
            elif o.kind in REG_KINDS and 'modr' not in self.attrs:
                self.mod &= 2
        if 'modr' in self.attrs:
            self.mod = 3
        if not self.mod:
            raise ValueError('memory and register at once')

    def is_byte(self):
        gp = {'E', 'G', 'Z', 'FIXED', 'M', 'X', 'Y', 'O', 'R'}
        ops = self.operands
        if not ops or self.vex:
            return False
        if ops[0].size == 'B' and ops[0].kind in gp:
            return True
        return len(ops) == 2 and ops[0].kind in ('FIXED', 'I') and ops[1].size == 'B' and ops[1].kind in ('FIXED', 'X')

    def gates(self):
        g = self.attrs.get('gate')
        return g.split('+') if g else []

    def fnset(self):
        """Eight function names: register form at 1, 2, 4, 8 bytes, then memory form."""
        pattern = self.attrs['fn']
        out = []
        for form in 'rm':
            for size in 'bwdq':
                if not self.mod & (2 if form == 'r' else 1) and '{m}' in pattern:
                    out.append(None)
                elif size == 'b' and '{s}' in pattern or size == 'q' and 'i64' in self.attrs and '{s}' in pattern:
                    out.append(None)
                else:
                    out.append('sem_' + pattern.format(m=form, s=size))
        return tuple(out)


def parse_attrs(words):
    out = {}
    for w in words:
        k, eq, v = w.partition('=')
        if eq and k not in KNOWN_KEYS or not eq and k not in ROW_FLAGS + ['nok']:
            raise ValueError('attribute ' + w)
        out[k] = v if eq else True
    return out


def parse(path):
    rows, defaults = [], {}
    with open(path, encoding='utf-8') as f:
        for n, text in enumerate(f, 1):
            text = text.strip()
            if not text or text[0] in '#!':
                continue
            try:
                if text.startswith('@'):
                    defaults = parse_attrs(text[1:].split())
                else:
                    rows.append(Row(n, text, defaults))
            except (ValueError, IndexError, KeyError) as e:
                sys.exit('%s:%d: %s' % (path, n, e))
    return rows


def flag_mask(text):
    if not text:
        return 0
    if text == 'allsys':
        return 0xffff
    return sum(FLAG_BITS[c] for c in ('cpazso' if text == 'all' else text))


def reg_mask(text):
    if not text:
        return 0
    if text == 'all':
        return 0xff
    return sum(1 << GPRS.index(r) for r in text.split('+'))


def c_ident(name):
    return re.sub(r'[^A-Za-z0-9]', '_', name).upper()


def extra_gates(path):
    """Features of "! gates" lines: no row needs them, functions ask for them."""
    with open(path, encoding='utf-8') as f:
        return [w for line in f if line.startswith('! gates ') for w in line.split()[2:]]


def collect_gates(rows, extra):
    names = list(extra)
    for r in rows:
        for g in r.gates() + ([r.attrs['gate64']] if 'gate64' in r.attrs else []):
            if g not in names:
                names.append(g)
    return sorted(names)


def write_header(rows, gates, nsets, path):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('/* SPDX-License-Identifier: GPL-2.0-or-later */\n/* Made by scripts/insn-gen.py from insn.def. */\n')
        f.write('#ifndef CLEAT_INSN_TABLES_H\n#define CLEAT_INSN_TABLES_H\n\n')
        f.write('#define INSN_ROW_COUNT %d\n#define SEM_SET_COUNT %d\n\n' % (len(rows), nsets))
        f.write('enum {\n    GATE_NONE,\n')
        for g in gates:
            f.write('    GATE_%s,\n' % c_ident(g))
        f.write('    GATE_COUNT\n};\n\n#endif\n')


def row_c(r, gates, sets, mnemonics):
    flags = ['ROW_' + x.upper() for x in ROW_FLAGS if x in r.attrs]
    flags += ['ROW_BYTE'] * r.byte + ['ROW_MODRM'] * r.has_modrm
    g = [gates.index(x) + 1 for x in r.gates()] + [0, 0]
    a = r.attrs
    g64 = gates.index(a['gate64']) + 1 if 'gate64' in a else 0
    bcast = int(a.get('bc', 0)) // 8
    elem = int(a.get('elem', 0)) or bcast
    excl = EXCLASS.get(a.get('ex')) or a['ex'].upper()
    ops = ', '.join(o.c() for o in r.operands)
    nums = [r.map, r.opcode, r.pfx, r.digit, r.rm, r.mod, r.w, r.l, int(r.plus_r)]
    return '    {%s, %s, {%d, %d}, %d, XLAT_%s, EXC_%s, %d, %d, %s, %d, %d, %d, {%s}},\n' % (
        ' | '.join(flags) or '0', ', '.join(str(n) for n in nums), g[0], g[1], g64, a.get('x', 'call').upper(), excl,
        bcast, elem, ', '.join('0x%x' % x for x in (
            flag_mask(a.get('fr')), flag_mask(a.get('fw')), flag_mask(a.get('fu')),
            reg_mask(a.get('imp_r')), reg_mask(a.get('imp_w')))),
        sets[r.fnset()], mnemonics[r.mnemonic], r.line, ops or '{0}')


def candidates(rows):
    """Row numbers by (map, opcode), in file order."""
    table = {}
    for n, r in enumerate(rows):
        for k in range(8 if r.plus_r else 1):
            table.setdefault((r.map, r.opcode + k), []).append(n)
    return table


def write_index(rows, f):
    table = candidates(rows)
    lists, index, pool = {}, [[(0, 0)] * 256 for _ in range(MAP_COUNT)], []
    for (mp, opc), nums in sorted(table.items()):
        key = tuple(nums)
        if key not in lists:
            lists[key] = len(pool)
            pool.extend(nums)
        modrm = {rows[n].has_modrm for n in nums}
        if len(modrm) != 1:
            sys.exit('insn.def: rows of map %d opcode %02x disagree about ModRM' % (mp, opc))
        index[mp][opc] = (lists[key], len(nums))
    f.write('\nconst uint16_t x86_decode_cand[] = {\n    %s\n};\n' % ', '.join(map(str, pool)))
    f.write('\nconst X86DecodeSlot x86_decode_index[MAP_COUNT][256] = {\n')
    for mp in index:
        f.write('    {%s},\n' % ', '.join('{%d, %d}' % s for s in mp))
    f.write('};\n')


def write_tables(rows, gates, sets, path):
    mnemonics, pool = {}, ''
    for r in rows:
        if r.mnemonic not in mnemonics:
            mnemonics[r.mnemonic] = len(pool)
            pool += r.mnemonic + '\0'
    with open(path, 'w', encoding='utf-8') as f:
        f.write('/* SPDX-License-Identifier: GPL-2.0-or-later */\n/* Made by scripts/insn-gen.py from insn.def. */\n')
        f.write('#include "target/i386/decode-tables.h"\n\nconst InsnRow x86_insn_rows[INSN_ROW_COUNT] = {\n')
        for r in rows:
            f.write(row_c(r, gates, sets, mnemonics))
        f.write('};\n\nconst char x86_mnemonics[] =\n')
        for m in mnemonics:
            f.write('    "%s\\0"\n' % m)
        f.write('    ;\n\nconst char *const x86_gate_names[GATE_COUNT] = {\n    "",\n')
        for g in gates:
            f.write('    "%s",\n' % g)
        f.write('};\n\n')
        f.write('#include "target/i386/sem-list.h"\n\nX86SemFn *const x86_sem_sets[SEM_SET_COUNT][8] = {\n')
        for s in sets:
            f.write('    {%s},\n' % ', '.join(n or 'NULL' for n in s))
        f.write('};\n')
        write_index(rows, f)


def write_sem_list(sets, path):
    names = sorted({n for s in sets for n in s if n})
    with open(path, 'w', encoding='utf-8') as f:
        f.write('/* SPDX-License-Identifier: GPL-2.0-or-later */\n/* Made by scripts/insn-gen.py from insn.def. */\n')
        f.write('#ifndef CLEAT_SEM_LIST_H\n#define CLEAT_SEM_LIST_H\n\n#include "target/i386/insn.h"\n\n')
        for n in names:
            f.write('X86SemFn %s;\n' % n)
        f.write('\n#endif\n')


def main():
    src, out_h, out_c, out_sem = sys.argv[1:]
    rows = parse(src)
    gates = collect_gates(rows, extra_gates(src))
    sets = {}
    for r in rows:
        sets.setdefault(r.fnset(), len(sets))
    write_header(rows, gates, len(sets), out_h)
    write_tables(rows, gates, sets, out_c)
    write_sem_list(sets, out_sem)


if __name__ == '__main__':
    main()
