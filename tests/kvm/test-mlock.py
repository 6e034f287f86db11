#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory budgets under KVM: VmRSS and VmLck with mem-lock=off, on and on-fault, -smp 1 and 8, beside the peer.

Usage: test-mlock.py EMULATOR [--table]
Rows: -S, bare starts (SeaBIOS to "No bootable device"); --table adds a booted kernel (to BOOT-OK). Rows and gates are
those of bench-mlock.py. The peer is measured where there is one, and is not judged.
"""
import importlib
import os
import pathlib
import re
import shlex
import sys

import kvmhost

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'bench'))
bench = importlib.import_module('bench-mlock')

OURS, PEER = '/usr/bin/qemu-ours', '/usr/bin/qemu-peer'     # they look for data beside their folder
FIRMWARE = ('/usr/share/seabios/bios-256k.bin',)
PEER_DATA = ('/usr/share/seabios/bios-256k.bin', '/usr/share/seabios/kvmvapic.bin', '/usr/share/qemu/kvmvapic.bin',
             '/usr/share/seabios/linuxboot_dma.bin', '/usr/share/qemu/linuxboot_dma.bin',
             '/usr/share/seabios/vgabios-stdvga.bin', '/usr/lib/ipxe/qemu/efi-e1000.rom')
MODES = ('off', 'on', 'on-fault')
MARKS = {'-S': '', 'bare': 'No bootable device', 'plain': 'No bootable device', 'kernel': 'BOOT-OK'}
# measure MARK COMMAND: its sizes, when the mark is in the log and the size was the same three times, or after a minute.
MEASURE = '''
measure() {
    mark=$1; shift; rm -f /tmp/mark
    "$@" >/dev/null 2>/tmp/err </dev/null &
    p=$!; last=; same=0; n=0
    while [ -n "$mark" ] && [ $n -lt 200 ] && [ -e /proc/$p/status ] && ! grep -qs "$mark" /tmp/mark; do
        sleep 1; n=$((n + 1)); printf .
    done
    [ -z "$mark" ] || grep -qs "$mark" /tmp/mark || echo "@@no $mark"
    n=0
    while [ $n -lt 60 ] && [ $same -lt 3 ] && [ -e /proc/$p/status ]; do
        sleep 1
        now=$(grep VmRSS /proc/$p/status)
        if [ "$now" = "$last" ]; then same=$((same + 1)); else same=0; fi
        last=$now; n=$((n + 1))
    done
    grep -E 'VmRSS|VmLck' /proc/$p/status || cat /tmp/err
    kill -9 $p; wait $p
}
'''


def command(program, mode, smp, start):
    words = bench.command(program, 'kvm', mode, smp, '/guest', start, program == PEER)
    if start == 'kernel':
        words[-1] = 'file:/tmp/mark'
    elif start != '-S':
        words += ['-debugcon', 'file:/tmp/mark', '-global', 'isa-debugcon.iobase=0x402']
    return shlex.join([MARKS[start]] + words)


def rows(table, with_peer):
    """(who, start, smp, mode)"""
    for start in bench.STARTS if table else bench.STARTS[:-1]:
        for smp in (1, 8):
            for mode in MODES:
                yield 'ours', start, smp, mode
                if with_peer and mode != 'on-fault':
                    yield 'peer', start, smp, mode


def gate_of(start, smp, mode):
    return None if start == 'kernel' else bench.gate_of(mode, smp)


def judge(got, part, start, smp, mode):
    gate = gate_of(start, smp, mode)
    if '@@no' in part or len(got) != 2:
        return False
    return (gate is None or got['VmRSS'] <= gate) and (got['VmLck'] > 0) == (mode != 'off')


def main():
    table = '--table' in sys.argv
    with_peer = os.access(kvmhost.PEER, os.X_OK)
    files = {sys.argv[1]: OURS, **{f: f for f in FIRMWARE}}
    if with_peer:
        files[kvmhost.PEER] = PEER
        files.update({f: '/usr/share/qemu/' + os.path.basename(f) for f in PEER_DATA if os.path.exists(f)})
    if table:
        guest = os.environ['CLEAT_GUEST_DIR']
        files.update({f'{guest}/{name}': f'/guest/{name}' for name in ('vmlinuz', 'initramfs.cpio.gz')})
    script = MEASURE
    for who, start, smp, mode in rows(table, with_peer):
        words = command(OURS if who == 'ours' else PEER, mode, smp, start)
        script += f"echo '@@row {who} {start} {smp} {mode}'\nmeasure {words}\n"
    out = kvmhost.run(files, script, 1800, memory=2560)
    bad = 0
    print('start   smp  mem-lock    VmRSS    VmLck     gate')
    for who, start, smp, mode in rows(table, with_peer):
        part = out.split(f'@@row {who} {start} {smp} {mode}\n', 1)[-1].split('@@row', 1)[0]
        got = {k: int(v) for k, v in re.findall(r'(VmRSS|VmLck):\s+(\d+) kB', part)}
        ok = who == 'peer' or judge(got, part, start, smp, mode)
        bad += not ok
        print(f"{start:7} {smp:3}  {mode:8} {got.get('VmRSS', 'ended'):>8} {got.get('VmLck', ''):>8} "
              f"{gate_of(start, smp, mode) or '-':>8}  {'peer' if who == 'peer' else 'ok' if ok else 'NOT OK'}")
        if not ok or not got:
            print(part)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
