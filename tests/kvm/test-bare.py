#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The bare-metal test kernels (tests/bare) under KVM, a machine for each group.

Usage: test-bare.py EMULATOR bare-metal.rst ROM... [--show] [--peer] [--groups A,B]
The document's tables say what KVM does otherwise than the manual, and what the nested host adds. A failure that is not
in them is one of ours; a row that no failure needs is reported, too. --peer (by hand) runs the peer as emulator in the
nested host, to see which failures are the host's.
"""
import argparse
import fnmatch
import os
import pathlib
import sys

import kvmhost

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'bare'))
import run as bare      # noqa: E402

OURS, PEER = '/usr/bin/qemu-ours', '/usr/bin/qemu-peer'     # they look for data beside their folder
PEER_DATA = ('/usr/share/seabios/kvmvapic.bin', '/usr/share/qemu/kvmvapic.bin')
SMP, SECONDS = 2, 60        # as many CPUs as the nested host has: with four, group smp takes minutes there
KVM_TABLE, HOST_TABLE = 'Under KVM', 'In the nested host'
RIGHT = ('right', 'not reached')    # second column: not what QEMU does wrong as a CPU, listed above


def groups_of(emulator, rom):
    """Asked of the kernel itself, under tcg: a group that does not exist is all it is to run."""
    args = argparse.Namespace(emulator=emulator, accel='tcg', smp=1, timeout=60)
    first = bare.run_once(args, pathlib.Path(rom).read_bytes(), ['none-of-these'], '/tmp').split('\n')[0]
    return first.split()[1:]


def script_of(program, rom, place, groups):
    at = pathlib.Path(rom).read_bytes().index(bare.MAGIC) + len(bare.MAGIC)
    command = ' '.join(bare.command(argparse.Namespace(emulator=program, accel='kvm', smp=SMP), '/tmp/rom'))
    return ''.join(f"echo '@@group {group}'\ncp {place} /tmp/rom\n"
                   f"printf '{group}\\0' | dd of=/tmp/rom bs=1 seek={at} conv=notrunc 2>/dev/null\n"
                   f'timeout {SECONDS} {command} 2>/tmp/err </dev/null\necho "@@status $?"\ncat /tmp/err\n'
                   for group in groups)


def lines_of(out, groups):
    """What run.py makes of a machine's output, with a line of its own for a group in which it died."""
    lines = []
    for group in groups:
        part = out.split(f'@@group {group}\n', 1)[-1].split('@@group', 1)[0]
        text, _, rest = part.partition('@@status ')
        text = list(dict.fromkeys(text.split('\n')))        # a machine that starts again says all again
        lines += text
        if not any(line.startswith('end ') for line in text):
            lines.append(f'FAIL {group}/died got status {" ".join(rest.split())[:100]} want end')
    return lines


def run_roms(args):
    program, files, script, groups = PEER if args.peer else OURS, {}, '', []
    files[kvmhost.PEER if args.peer else args.emulator] = program
    if args.peer:
        files.update({f: '/usr/share/qemu/' + os.path.basename(f) for f in PEER_DATA if os.path.exists(f)})
    for rom in args.roms:
        place = '/' + os.path.basename(rom)
        files[rom] = place
        names = [g for g in groups_of(args.emulator, rom) if not args.groups or g in args.groups.split(',')]
        script += script_of(program, rom, place, names)
        groups += names
    return lines_of(kvmhost.run(files, script, 1800), groups)


def listed(path):
    """Patterns of the checks that must fail."""
    names = {p for patterns, _ in bare.read_rows(path, KVM_TABLE) for p in patterns}
    if kvmhost.kvm_usable():
        return names
    rows = bare.read_rows(path, HOST_TABLE)
    names |= {p for patterns, rest in rows if rest[0] not in RIGHT for p in patterns}
    names |= {p for patterns in bare.read_table(path) for p in patterns}
    return names - {p for patterns, rest in rows if rest[0] in RIGHT for p in patterns}


def judge(result, path):
    listed_now = listed(path)
    patterns = {p.lstrip('~') for p in listed_now}
    names = {name for name, line in result.bad.items() if not line.startswith('skip')}
    bad = [result.bad[name] for name in sorted(names) if not any(fnmatch.fnmatchcase(name, p) for p in patterns)]
    return bad + [f'listed, but passes: {p}' for p in sorted(listed_now) if p[0] != '~' and
                  not any(fnmatch.fnmatchcase(n, p) for n in names)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('emulator')
    p.add_argument('table')
    p.add_argument('roms', nargs='+')
    p.add_argument('--show', action='store_true')
    p.add_argument('--peer', action='store_true')
    p.add_argument('--groups')
    args = p.parse_args()
    lines = run_roms(args)
    if args.show:
        print('\n'.join(lines))
    result = bare.Result(lines)
    bad = judge(result, args.table)
    for line in bad:
        print(line)
    print(f'{len(result.ok)} ok, {len(result.bad) - len(result.skipped)} failed, {len(result.skipped)} skipped, '
          f'{len(bad)} unexpected')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
