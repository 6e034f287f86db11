#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the bare-metal test kernels and judges what they print.

Usage: run.py EMULATOR ROM... [--smp N] [--accel tcg] [--peer TABLE.rst] [--groups a,b] [--show] [--timeout S]
Ours: every check passes, except those named in expected-absent.txt, which must fail (the file is empty in the end).
Peer: what fails must be in the table of disagreements (a csv-table of the document; its first column holds name
patterns), and each row of that table must be of use (but patterns with a ~ before them: those fail now and then). A
skipped check counts as failed for ours (but for those that want -smp). A group in which the machine dies counts as
the failing check GROUP/died.
"""
import argparse
import csv
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

MAGIC = b'BARE-FILTER:'
FILTER_SIZE = 64 - len(MAGIC)
ABSENT = pathlib.Path(__file__).with_name('expected-absent.txt')


def command(args, rom):
    return [args.emulator, '-accel', args.accel, '-cpu', 'max', '-M', 'q35', '-smp', str(args.smp), '-m', '64',
            '-nodefaults', '-display', 'none', '-no-reboot', '-bios', rom, '-device', 'isa-debugcon,chardev=d',
            '-chardev', 'stdio,id=d', '-device', 'isa-debug-exit,iobase=0xf4']


def run_once(args, image, groups, work):
    """One machine; returns its output."""
    data = bytearray(image)
    at = data.index(MAGIC) + len(MAGIC)
    words = ','.join(groups).encode()
    data[at:at + FILTER_SIZE] = words[:FILTER_SIZE - 1].ljust(FILTER_SIZE, b'\0')
    rom = pathlib.Path(work, 'rom')
    rom.write_bytes(data)
    try:
        done = subprocess.run(command(args, str(rom)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=args.timeout, check=False)
        out, err = done.stdout, done.stderr
    except subprocess.TimeoutExpired as e:
        out, err = e.stdout or b'', b'(timeout)'
    text = out.decode('latin-1')
    if not text:
        print('no output:', err.decode('latin-1')[-500:])
    return text


def run_rom(args, path, work):
    """Lines of all groups; a machine that dies is started again with the next group."""
    image = pathlib.Path(path).read_bytes()
    lines, todo = [], args.groups.split(',') if args.groups else []
    while True:
        text = run_once(args, image, todo[:1] if args.single else todo, work)
        part = text.split('\n')
        lines += part
        known = part[0].split()[1:] if part[0].startswith('groups ') else []
        todo = [g for g in known if not todo or g in todo]
        seen = [line.split()[1] for line in part if line.startswith('group ')]
        if not any(line.startswith('end ') for line in part):
            lines.append(f'FAIL {seen[-1] if seen else "boot"}/died got no-end want end')
            if not seen:
                return lines
            todo = todo[todo.index(seen[-1]) + 1:]
        elif args.single:
            todo = todo[1:]
        else:
            return lines
        if not todo:
            return lines


class Result:
    def __init__(self, lines):
        self.ok, self.bad, self.skipped = [], {}, []
        for line in lines:
            word = line.split(' ')
            if len(word) < 2:           # a machine that was stopped in the middle
                continue
            if word[0] == 'ok':
                self.ok.append(word[1])
            elif word[0] == 'FAIL':
                self.bad[word[1]] = line
            elif word[0] == 'skip':
                self.skipped.append(line[5:])
                self.bad[word[1]] = line
            elif line.startswith('BUG'):
                self.bad[line] = line


def read_absent():
    return {line.strip() for line in ABSENT.read_text(encoding='utf-8').split('\n')
            if line.strip() and not line.startswith('#')}


def read_rows(path, heading=''):
    """The rows of the first table behind a heading: (name patterns, the other columns)."""
    text = pathlib.Path(path).read_text(encoding='utf-8')
    text = text[text.index(f'\n{heading}'):]
    rows = text[text.index('.. csv-table::'):].split('\n\n')[1]
    return [(row[0].split(), row[1:]) for row in csv.reader(rows.split('\n'), skipinitialspace=True) if row]


def read_table(path):
    return [patterns for patterns, _ in read_rows(path)]


def judge_ours(result, args):
    absent = read_absent()
    bad = [line for name, line in result.bad.items() if name not in absent and not (args.smp == 1 and '(-smp)' in line)]
    names = set(result.ok)
    for name in sorted(absent & names - set(result.bad)):
        bad.append(f'PASSES, but is in expected-absent.txt: {name}')
    return bad


def judge_peer(result, table):
    rows = read_table(table)
    patterns = [p.lstrip('~') for row in rows for p in row]
    bad = [f'not in the table: {line}' for name, line in result.bad.items()
           if not any(fnmatch.fnmatchcase(name, p) for p in patterns) and not line.startswith('skip')]
    bad += [f'of no use in the table: {p}' for row in rows for p in row
            if p[0] != '~' and not any(fnmatch.fnmatchcase(n, p) for n in result.bad)]
    return bad


def parse():
    p = argparse.ArgumentParser()
    p.add_argument('emulator')
    p.add_argument('roms', nargs='+')
    p.add_argument('--smp', type=int, default=1)
    p.add_argument('--accel', default='tcg')
    p.add_argument('--groups', default='')
    p.add_argument('--peer')
    p.add_argument('--min', type=int, default=0, help='at least so many checks must have run')
    p.add_argument('--single', action='store_true', help='a machine for each group')
    p.add_argument('--show', action='store_true', help='print every line')
    p.add_argument('--timeout', type=float, default=120)
    return p.parse_args()


def main():
    args = parse()
    lines = []
    with tempfile.TemporaryDirectory() as work:
        for rom in args.roms:
            lines += run_rom(args, rom, work)
    if args.show:
        print('\n'.join(lines))
    result = Result(lines)
    bad = judge_peer(result, args.peer) if args.peer else judge_ours(result, args)
    counts = {}
    for name in result.ok + list(result.bad):
        counts[name] = counts.get(name, 0) + 1
    bad += [f'two checks of one name: {n}' for n, c in counts.items() if c > 1]
    if len(counts) < args.min:
        bad.append(f'{len(counts)} checks ran, at least {args.min} should have')
    for line in bad:
        print(line)
    print(f'{len(result.ok)} ok, {len(result.bad)} failed, {len(result.skipped)} skipped, {len(bad)} unexpected')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
