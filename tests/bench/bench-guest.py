#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Work inside a guest: native, this emulator and the peer (-accel tcg -cpu max), by turns in one run.

Usage: bench-guest.py EMULATOR [OPTION...]      (--help lists them; needs CLEAT_GUEST_DIR, and PACKAGES_BENCH)
Tables: the 16 kernels of guestbench.c, some of them built for i686, the boot of Debian's cloud kernel to init, a
compile job (tcc), and two copies of a kernel at once on four vCPUs. The best of all rounds counts. Exit status 1 when
a side could not do one of its jobs. Gates stand beside the figures, and what misses one is named; that is no failure.
"""
import argparse
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import benchguest
import benchlib
import benchtables
import guestlib         # found by benchguest

KERNELS = ('intsort', 'sha256', 'ptrchase', 'indirect', 'calls', 'nbody_sse2', 'matmul_sse2', 'avx2_fma', 'x87',
           'memcpy', 'strlen', 'syscall', 'pagefault', 'pipe', 'fork', 'smc')
# The pipe kernel binds itself to one CPU: two copies of it may find themselves on the same one.
SOME = {'i686': ('intsort', 'sha256', 'calls', 'x87', 'syscall'),
        'parallel': ('intsort', 'sha256', 'calls', 'matmul_sse2', 'syscall', 'pagefault', 'fork')}
TABLES = ('kernels', 'i686', 'boot', 'compile', 'parallel')
SIDES = ('native', 'ours', 'peer')
SOURCE_FUNCTIONS = 160
SOURCE_TIMES = 20
PARALLEL_SMP = 4


def parse_options():
    parser = argparse.ArgumentParser(description='Native, this emulator and the peer side by side.')
    parser.add_argument('emulator')
    parser.add_argument('--tables', default=','.join(TABLES), help='which of %(default)s')
    parser.add_argument('--parallel', dest='tables', action='store_const', const='parallel',
                        help='only two copies of a kernel at once')
    parser.add_argument('--kernels', default='', help='which of guestbench.c, instead of each table\'s own')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--divide', type=int, default=1, help='do so many times less work in each kernel')
    parser.add_argument('--sides', default=','.join(SIDES), help='which of %(default)s')
    parser.add_argument('--accel', default='tcg', help='of this emulator, as tcg,mode=interp')
    parser.add_argument('--cpu', default='max', help='model of this emulator; the peer has max')
    parser.add_argument('--smp', type=int, help=f'vCPUs of both; 1, or {PARALLEL_SMP} for copies at once')
    parser.add_argument('--timeout', type=int, default=300, help='seconds for one kernel')
    parser.add_argument('--rst', type=pathlib.Path, help='a file to write the tables to')
    options = parser.parse_args()
    for name, known in (('tables', TABLES), ('kernels', KERNELS), ('sides', SIDES)):
        words = [word for word in getattr(options, name).split(',') if word]
        for word in words:
            if word not in known:
                parser.error(f'--{name}: {word} is none of {", ".join(known)}')
        setattr(options, name, words)
    for name in ('rounds', 'divide', 'timeout', 'smp'):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f'--{name} takes a number above 0')
    if 'ours' in options.sides and not shutil.which(options.emulator):
        parser.error(f'EMULATOR: there is no program {options.emulator}')
    return options


class Bench:
    """The sides of one run and what they have done so far."""

    def __init__(self, options, work):
        self.options = options
        self.tree, self.initramfs = benchguest.build_tree(work, options.tables, SOURCE_FUNCTIONS)
        self.faults = 0

    def emulator(self, side, smp, **more):
        """The command line of ours or the peer."""
        o = self.options
        program, accel, cpu = ((o.emulator, o.accel, o.cpu) if side == 'ours' else (benchlib.PEER, 'tcg', 'max'))
        return guestlib.linux(program, 'quiet', accel=accel, cpu=cpu, smp=o.smp or smp, **more)

    def sides(self, smp):
        """A new set of sides, to be stopped by the caller."""
        def one(side):
            if side == 'native':
                return benchguest.Native(self.tree)
            command = self.emulator(side, smp, mem=1024)
            command[command.index('-initrd') + 1] = str(self.initramfs)
            return benchguest.Guest(side, command)
        return {side: one(side) for side in self.options.sides}

    def best(self, what, runs):
        """{side: seconds} of a dictionary of functions, which take turns; None for a side that failed."""
        results = {side: [] for side in runs}
        for _ in range(self.options.rounds):
            for side, run in runs.items():
                if None not in results[side]:
                    results[side].append(run())
        best = {side: None if None in times else min(times) for side, times in results.items()}
        self.faults += sum(seconds is None for seconds in best.values())
        print(f'{what}: ' + ', '.join(f'{s} ' + (f'{t:.4f} s' if t else 'failed') for s, t in best.items()),
              flush=True)
        return best

    def measure(self, sides, what, command, commands_of=None):
        """The best of the same command on all sides; commands_of has a side's own command."""
        timeout = self.options.timeout
        return self.best(what, {
            name: lambda s=side, c=(commands_of or {}).get(name, command): s.run(c, timeout)
            for name, side in sides.items()})

    def kernel(self, name, program='guestbench', copies=None):
        return (['{tree}/bin/' + program, '-d', str(self.options.divide)] + (['-c', str(copies)] if copies else []) +
                [name])


def table_kernels(bench, sides):
    results = {name: bench.measure(sides, name, bench.kernel(name)) for name in bench.options.kernels or KERNELS}
    return benchtables.ratios('The kernels of ``guestbench.c``:', results, benchtables.GATES)


def table_i686(bench, sides):
    """Where the host runs no 32-bit programs, native is the 64-bit build, and the table says so."""
    try:
        subprocess.run([bench.tree / 'bin' / 'guestbench32', '-d', '1000', 'x87'], stdout=subprocess.DEVNULL,
                       check=True)
        native, note = 'guestbench32', ''
    except OSError:
        native, note = 'guestbench', ' (this host runs no such programs: native is the 64-bit build)'
    results = {}
    for name in bench.options.kernels or SOME['i686']:
        own = {'native': bench.kernel(name, native)}
        results[name] = bench.measure(sides, f'i686 {name}', bench.kernel(name, 'guestbench32'), own)
    return benchtables.ratios(f'Kernels built for i686, under the amd64 kernel{note}:', results,
                              others=benchtables.GATE_I686)


def table_compile(bench, sides):
    times = max(SOURCE_TIMES // bench.options.divide, 1)
    lines = benchguest.c_source(SOURCE_FUNCTIONS).count('\n')
    job = ['{tree}/bin/guestbench', '-r', str(times), '/usr/bin/tcc', '-c', '-o', '{tmp}/job.o', '{tree}/bench/job.c']
    return benchtables.ratios(f'``tcc -c`` of {lines} lines, {times} times:',
                              {'compile': bench.measure(sides, 'compile', job)}, others=None)


def table_boot(bench):
    best = bench.best('boot', {side: lambda s=side: benchguest.boot_seconds(bench.emulator(s, 1))
                               for side in bench.options.sides if side != 'native'})
    return benchtables.boots('From the emulator\'s start to Debian\'s cloud kernel in its init:', best)


def table_parallel(bench, sides):
    results = {name: [bench.measure(sides, f'{copies} x {name}', bench.kernel(name, copies=copies))
                      for copies in (1, 2)] for name in bench.options.kernels or SOME['parallel']}
    smp = bench.options.smp or PARALLEL_SMP
    return benchtables.scaling(f'Two copies at once, ``-smp {smp}``: the time of one over the time of both:', results)


def run_tables(bench, wanted):
    """Yields the tables; those with as many vCPUs share their guests."""
    for smp, names in ((1, {'kernels': table_kernels, 'i686': table_i686, 'compile': table_compile}),
                       (PARALLEL_SMP, {'parallel': table_parallel})):
        sides = bench.sides(smp)
        try:
            for name in names:
                if name in wanted:
                    yield names[name](bench, sides)
        finally:
            for side in sides.values():
                side.stop()
                for fault in getattr(side, 'clock_faults', ()):
                    print(f'clock: {fault}', file=sys.stderr)
        if smp == 1 and 'boot' in wanted:
            yield table_boot(bench)


def write_rst(path, bench, text):
    """The tables, headed by what they were measured on: a host that is a virtual machine may have slow system calls."""
    options = bench.options
    native = benchguest.Native(bench.tree)
    syscalls = native.run(['{tree}/bin/guestbench', '-d', '10', 'syscall'], 60)     # 50000 of them
    native.stop()
    cpu = re.search(r'^model name\s*: (.*)$', pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8'), re.M)
    less = f', 1/{options.divide} of the work' if options.divide > 1 else ''
    path.write_text(
        '.. SPDX-License-Identifier: GPL-2.0-or-later\n'
        '.. Written by tests/bench/bench-guest.py --rst; included by performance.rst.\n\n'
        f'{datetime.date.today()}, {cpu.group(1) if cpu else "unknown CPU"}, {os.cpu_count()} CPUs, '
        f'{syscalls / 50000 * 1e6:.2f} us for a system call; best of {options.rounds} rounds{less}.\n'
        f'Cleat: ``-accel {options.accel} -cpu {options.cpu}``; QEMU: ``-accel tcg -cpu max``.\n\n'
        f'{text}',
        encoding='utf-8')


def main():
    options = parse_options()
    if set(options.sides) - {'native'}:
        guestlib.need_guest()
    with tempfile.TemporaryDirectory(prefix='bench-guest-') as name:
        bench = Bench(options, pathlib.Path(name))
        tables = list(run_tables(bench, options.tables))
        text = '\n'.join(table.text() for table in tables)
        print('\n' + text)
        if options.rst:
            write_rst(options.rst, bench, text)
    for sentence in (s for table in tables for s in table.missed):
        print(f'missed: {sentence}')
    if bench.faults:
        print(f'{bench.faults} jobs failed')
    return 1 if bench.faults else 0


if __name__ == '__main__':
    sys.exit(main())
