#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The remote protocol packet by packet: answers, malformed packets, the start of the interface and its refusals.

Usage: test-protocol.py EMULATOR
"""
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import gdblib


def machine(emulator, work, *more):
    return [emulator, '-M', 'q35', '-accel', 'tcg', '-nodefaults', '-display', 'none', '-m', '32', '-smp', '2',
            '-bios', f'{work}/rom', *more]


def make_rom(work):
    """Counts in a loop at F000:E000: inc word [0x500] (4 bytes), inc ax, jmp back."""
    rom = bytearray(b'\xf4' * 65536)
    rom[0xfff0:0xfff5] = b'\xea\x00\xe0\x00\xf0'
    rom[0xe000:0xe007] = b'\xff\x06\x00\x05\x40\xeb\xf9'
    pathlib.Path(work, 'rom').write_bytes(rom)


FIXED = [
    ('?', 'T05thread:01;'), ('qSupported:multiprocess+;swbreak+;hwbreak+', 'PacketSize=4000;qXfer:features:read+;'
     'vContSupported+;QStartNoAckMode+;multiprocess+;swbreak+;hwbreak+'), ('?', 'T05thread:p01.01;'),
    ('qC', 'QCp01.01'), ('qfThreadInfo', 'mp01.01'), ('qsThreadInfo', 'mp01.02'), ('qsThreadInfo', 'l'),
    ('qThreadExtraInfo,p1.2', b'CPU#1 [halted ]'.hex()), ('qAttached', '1'), ('vCont?', 'vCont;c;C;s;S'),
    ('Hgp1.2', 'OK'), ('Hgp2.1', 'E22'), ('Hgp1.3', 'E22'), ('Hg', 'E22'), ('Hc-1', 'OK'), ('Hg0', 'OK'), ('Hg1', 'OK'),
    ('T2', 'OK'), ('Tp1.3', 'E22'), ('T', 'E22'), ('vMustReplyEmpty', ''), ('!', ''), ('', ''), ('qOffsets', ''),
    ('qqemu.sstepbits', 'ENABLE=1,NOIRQ=2,NOTIMER=4'), ('qqemu.sstep', '0x7'), ('Qqemu.sstep=5', 'OK'),
    ('qqemu.sstep', '0x5'), ('Qqemu.sstep=8', 'E22'), ('Qqemu.sstep=0x7', 'OK'),
    ('qqemu.Supported', 'sstepbits;sstep;PhyMemMode'),
    # 16-bit code: RIP and linear addresses
    ('p10', 'f0ff000000000000'), ('p11', '02000000'), ('p12', '00f00000'), ('mffff0,5', 'ea00e000f0'), ('pffff', 'E14'),
    ('pfffff', 'E22'), ('p', 'E22'), ('pxyz', 'E22'), ('P0=efbeadde00000000', 'OK'), ('p0', 'efbeadde00000000'),
    ('P0=00', 'E22'), ('P0', 'E22'), ('P0=zz', 'E22'), ('P10=f0ff000000000000', 'OK'), ('P1b=0000000000000000', 'OK'),
    ('P1b=0100000000000000', 'E22'), ('P1d=ffffffffffffffff', 'E22'), ('P20=0001000000000000', 'E22'),
    # memory
    ('m0,0', ''), ('m', 'E22'), ('m0', 'E22'), ('m0,', 'E22'), ('m0,4,', 'E22'), ('mx,4', 'E22'),
    ('m11111111111111111,4', 'E22'), ('M600,4:11223344', 'OK'), ('m600,4', '11223344'), ('M600,4:1122', 'E22'),
    ('M600,4:1122334', 'E22'), (b'X600,3:a}\x03b', 'OK'), ('m600,4', '61236244'), ('X600,9:a', 'E22'),
    ('Qqemu.PhyMemMode:1', 'OK'), ('qqemu.PhyMemMode', '1'), ('m600,2', '6123'), ('Qqemu.PhyMemMode:2', 'E22'),
    ('Qqemu.PhyMemMode:0', 'OK'), ('M600,2:0000', 'OK'),
    # points
    ('Z0,fe000,1', 'OK'), ('Z0,fe000,1', 'OK'), ('z0,fe000,1', 'OK'), ('z0,fe000,1', 'E22'), ('Z5,0,1', ''),
    ('Z', 'E22'), ('Z0', 'E22'), ('Z0,1', 'E22'), ('Z2,0,0', 'E22'), ('Z2,ffffffffffffffff,2', 'E22'), ('z9,0,1', ''),
    ('vCont', 'E22'), ('vCont;', 'E22'), ('vCont;x', 'E22'), ('vCont;s:p9.1', 'E22'), ('vCont;Szz', 'E22'),
    ('C', 'E22'), ('Czz', 'E22'), ('sxyz', 'E22'), ('D;2', 'E22'), ('vKill;2', 'E22'), ('vAttach;2', 'E22'),
    ('qXfer:features:read:none.xml:0,10', 'E00'), ('qXfer:features:read:target.xml:zz,10', 'E22'), ('qRcmd,1', 'E22'),
    ('qRcmd,zz', 'E22'),
]


def check_fixed(c):
    for question, want in FIXED:
        got = c.ask(question)
        assert got == want, f'{question!r}: got {got!r}, wanted {want!r}'


def check_description(c):
    text, at = '', 0
    while True:
        part = c.ask(f'qXfer:features:read:target.xml:{at:x},7ff')
        text += part[1:]
        at += len(part) - 1
        if part[0] == 'l':
            break
    root = xml.etree.ElementTree.fromstring(text)
    regs = sorted((int(r.get('regnum')), int(r.get('bitsize')) // 8, r.get('name')) for r in root.iter('reg'))
    assert [r[0] for r in regs] == list(range(len(regs))), 'numbers have no gaps'
    some = ['rip', 'cr0', 'st0', 'xmm0', 'mxcsr']
    assert [r[2] for r in regs if r[2] in some] == some, 'in QEMU\'s order'
    whole = c.ask('g')
    assert len(whole) == 2 * sum(r[1] for r in regs), 'g has every register'
    assert c.ask('G' + whole) == 'OK' and c.ask('g') == whole, 'G writes what g read'
    at = 0
    for number, size, name in regs:
        one = c.ask(f'p{number:x}')
        assert one == whole[at:at + 2 * size], f'{name}: p and g differ'
        at += 2 * size


def check_running(c):
    assert c.ask('vCont;s:p1.1') == 'T05thread:p01.01;'
    assert c.ask('p10') == '00e0000000000000', 'one step: the far jump'
    assert c.ask('Z1,fe004,1') == 'OK' and c.ask('c') == 'T05thread:p01.01;hwbreak:;'
    assert c.ask('p10') == '04e0000000000000' and c.ask('z1,fe004,1') == 'OK'
    assert c.ask('Z2,500,2') == 'OK' and c.ask('c') == 'T05thread:p01.01;watch:500;'
    assert c.ask('p10') == '04e0000000000000' and c.ask('m500,2') == '0200' and c.ask('z2,500,2') == 'OK'
    assert c.ask('s') == 'T05thread:p01.01;' and c.ask('p10') == '05e0000000000000'
    assert c.ask('se004') == 'T05thread:p01.01;' and c.ask('p10') == '05e0000000000000', 'a step from elsewhere'
    assert c.ask('vCont;s:p1.2') == 'T05thread:p01.01;', 'a vCPU that waits for SIPI has no step to do'
    c.send('c')
    c.interrupt()
    assert c.receive().startswith('T02thread:')
    c.send('vCont;c')
    assert c.ask('qRcmd,' + b'info status'.hex()).startswith('T02'), 'a packet stops the machine, too'
    assert bytes.fromhex(c.receive()[1:]) == b'VM status: paused\n' and c.receive() == 'OK'


MONITOR = [
    ('info registers', 'EAX=', 'EIP=', 'CS =f000 ', 'CR0=00000010', 'FCW=', 'XMM00='),
    ('info registers -a', 'CPU#0', 'CPU#1', 'HLT=1'), ('info lapic 1', 'state for CPU 1', 'LVT0', 'IRR'),
    ('info lapic 7', 'No local APIC'), ('info tlb', 'PG disabled'), ('info mem', 'PG disabled'),
    ('info mtree', 'address-space: memory', 'pc.bios'), ('info mtree -f', 'address-space: I/O'),
    ('xp/4xb 0xfe000', '00000000000fe000: 0xff 0x06 0x00 0x05'), ('x/2dw 0xfe000', '83887871'),
    ('x 0xfe000', '0x050006ff'),
    ('xp/2xg 0xffff0', '0x'), ('x/q 0', "invalid char in format: 'q'"), ('print $cs', '0xf000'), ('p 1+2*(3-1)', '0x5'),
    ('print/d -5', '-5'), ('print 1/0', 'division by zero'), ('print $nothing', 'unknown register'),
    ('print (1', "')'"),
    ('print 1 1', 'junk'), ('print ' + '(' * 500, 'too deep'), ('print/x', 'invalid char'),
    ('gdbserver none', 'cannot replace the connection'),
]


def monitor(c, line):
    text, answer = '', c.ask('qRcmd,' + line.encode().hex())
    while answer != 'OK':
        text += bytes.fromhex(answer[1:]).decode()
        answer = c.receive()
    return text


def check_monitor(c):
    for line, *wanted in MONITOR:
        gdblib.check(monitor(c, line), *wanted)


def check_frames(c):
    c.sock.sendall(b'$?#00')
    assert c.byte() == b'-', 'a wrong checksum is refused'
    c.sock.sendall(b'$qC$?#3f')
    assert c.receive().startswith('T05'), 'a packet begins anew'
    c.sock.sendall(b'-')
    assert c.receive().startswith('T05'), 'repeated when asked'
    c.send('m0,' + '1' * 40000)
    assert c.receive() == 'E22', 'too long'
    c.send(b'm60*"')
    assert c.receive() == 'E22', 'repeat counts are known'
    assert c.ask('QStartNoAckMode') == 'OK'
    c.send('qC')
    assert c.byte() == b'$', 'no acknowledgement'
    while c.byte() != b'#':
        pass


def check_session(emulator, work):
    sock = f'{work}/gdb'
    with gdblib.started(machine(emulator, work, '-S', '-gdb', f'unix:{sock},server=on,wait=off')) as vm:
        c = gdblib.Client(sock)
        check_fixed(c)
        check_description(c)
        check_running(c)
        check_monitor(c)
        check_frames(c)
        c.close()
        c = gdblib.Client(sock)
        assert c.ask('?') == 'T05thread:01;', 'a new connection starts afresh'
        assert c.ask('D') == 'OK'
        assert c.ask('vAttach;1') == 'T05thread:01;', 'and stops the machine again'
        c.send('k')
        assert vm.wait(30) == 0, 'killed'


def check_exit(emulator, work):
    """A debugger that waits hears of the end, with the exit status."""
    rom = bytearray(pathlib.Path(work, 'rom').read_bytes())
    rom[0xe000:0xe006] = b'\xb0\x10\xe6\xf4\xf4\xf4'     # mov al, 16; out 0xf4, al
    pathlib.Path(work, 'rom').write_bytes(rom)
    sock = f'{work}/gdb'
    with gdblib.started(machine(emulator, work, '-S', '-gdb', f'unix:{sock},server=on,wait=off',
                                  '-device', 'isa-debug-exit,iobase=0xf4')) as vm:
        c = gdblib.Client(sock)
        assert c.ask('c') == 'W21'
        assert vm.wait(30) == 33


def check_refusals(emulator, work):
    for words, status, said in ((['-gdb', 'none'], 0, ''), (['-gdb', 'nonsense'], 1, "-gdb nonsense: 'nonsense'"),
                                (['-gdb', 'chardev:x'], 1, "-gdb chardev:x: Chardev 'x' not found"),
                                (['-daemonize', '-gdb', 'stdio'], 1, 'cannot use stdio with -daemonize')):
        p = subprocess.run(machine(emulator, work, '-S', '-monitor', 'stdio', *words), input=b'quit\n', timeout=30,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        assert p.returncode == status and said in p.stderr.decode(), (words, p)


def main():
    with tempfile.TemporaryDirectory() as work:
        make_rom(work)
        for check in (check_session, check_refusals, check_exit):
            check(sys.argv[1], work)
            print(f'ok: {check.__name__}', flush=True)


main()
