#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds faults into the CPU's sources and shows that the bare-metal kernels notice each.

Usage: mutate.py SOURCE_DIR BUILD_DIR ROM... [--only NAME,...] [--jobs N]
A mutant is one file compiled again beside the build's other objects and one link, in a scratch directory; the build
is not touched. The mutant is caught when some check fails that does not fail otherwise, or when the machine dies.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import types

from mutants import MUTANTS
import run as runner

PROGRAM, ARCHIVE = 'qemu-system-x86_64', 'libcleat-core.a'


class Tree:
    """Commands of the existing build."""

    def __init__(self, source, build):
        self.source, self.build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
        rows = json.loads((self.build / 'compile_commands.json').read_text(encoding='utf-8'))
        self.compile = {str((self.build / row['file']).resolve()): row for row in rows if ARCHIVE in row['output']}
        out = subprocess.run(['ninja', '-C', str(self.build), '-t', 'commands', PROGRAM], capture_output=True,
                             text=True, check=True).stdout
        self.link = shlex.split(out.strip().split('\n')[-1])
        members = subprocess.run(['ar', 't', str(self.build / ARCHIVE)], capture_output=True, text=True,
                                 check=True).stdout
        self.objects = [m if '/' in m else f'{ARCHIVE}.p/{m}' for m in members.split()]

    def mutate(self, file, old, new, work):
        """The mutant's program, or a sentence that says why there is none."""
        path = self.source / (file if file.startswith('accel/') else f'target/i386/{file}')
        text = path.read_text(encoding='utf-8')
        if text.count(old) < 1:
            return None, f'{file} does not say: {old}'
        changed = pathlib.Path(work, path.name)
        changed.write_text(text.replace(old, new, 1), encoding='utf-8')
        row = self.compile[str(path.resolve())]
        words = [w for w in shlex.split(row['command']) if w not in ('-Werror', 'ccache')]
        target = words[words.index('-o') + 1]
        words[words.index('-o') + 1] = f'{work}/mutant.o'
        words = [f'{work}/mutant.d' if w.endswith('.o.d') else w for w in words]
        words = [str(changed) if w == row['file'] else w for w in words] + ['-iquote', str(path.parent), '-w']
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True, check=False)
        if done.returncode:
            return None, 'does not compile: ' + done.stderr[-300:]
        target = pathlib.Path(target).name
        objects = [f'{work}/mutant.o' if pathlib.Path(o).name == target else o for o in self.objects]
        assert f'{work}/mutant.o' in objects, target
        link = []
        for w in self.link:
            link += objects if w == ARCHIVE else [w]
        link[link.index('-o') + 1] = f'{work}/{PROGRAM}'
        done = subprocess.run(link, cwd=self.build, capture_output=True, text=True, check=False)
        return (f'{work}/{PROGRAM}', '') if not done.returncode else (None, 'does not link: ' + done.stderr[-300:])


def failures(emulator, roms, work):
    """Names of the checks that fail in one machine a ROM; a machine that dies counts as a failure of its own."""
    args = types.SimpleNamespace(emulator=emulator, smp=1, accel='tcg', timeout=90)
    names = set()
    for rom in roms:
        text = runner.run_once(args, pathlib.Path(rom).read_bytes(), [], work)
        lines = text.split('\n')
        names |= {line.split(' ')[1] for line in lines if line.startswith(('FAIL ', 'skip '))}
        if not any(line.startswith('end ') for line in lines):
            names.add(f'died:{lines[-2][:60] if len(lines) > 1 else "at once"}')
    return names


def try_one(tree, name, roms, base):
    row = MUTANTS[name]
    with tempfile.TemporaryDirectory() as work:
        program, why = tree.mutate(*row[:3], work)
        if not program:
            return name, False, f'NO MUTANT: {why}'
        for rom in roms:
            new = sorted(failures(program, [rom], work) - base)
            if new:
                return name, True, f'caught by {new[0]}' + (f' and {len(new) - 1} more' if len(new) > 1 else '')
    return name, False, 'NOT CAUGHT'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('source')
    p.add_argument('build')
    p.add_argument('roms', nargs='+')
    p.add_argument('--only', default='')
    p.add_argument('--jobs', type=int, default=2)
    args = p.parse_args()
    tree = Tree(args.source, args.build)
    names = args.only.split(',') if args.only else list(MUTANTS)
    with tempfile.TemporaryDirectory() as work:
        base = failures(str(tree.build / PROGRAM), args.roms, work)
    if base - {'smp/all'}:
        print(f'without a mutant, these fail already: {sorted(base)}')
        return 1
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, ok, text in pool.map(lambda n: try_one(tree, n, args.roms, base), names):
            bad += not ok
            print(f'{"ok" if ok else "FAIL"} {name}: {text}', flush=True)
    print(f'{len(names)} mutants, {bad} not caught')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
