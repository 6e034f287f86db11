# SPDX-License-Identifier: GPL-2.0-or-later
"""The qtest protocol for tests: an emulator without running CPUs, its memory and ports reached by text commands."""
import pathlib
import socket
import struct
import subprocess
import tempfile


class Qtest:
    def __init__(self, emulator, args):
        self.work = tempfile.TemporaryDirectory()
        path = f'{self.work.name}/qtest.sock'
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        server.settimeout(20)
        self.vm = subprocess.Popen([emulator, '-accel', 'qtest', '-qtest', f'unix:{path}', '-qtest-log', '/dev/null',
                                    '-display', 'none', '-nodefaults', *args], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            self.sock, _ = server.accept()
        except OSError:
            self.vm.kill()
            raise
        self.sock.settimeout(20)
        self.file = self.sock.makefile('r', encoding='ascii')

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()
        self.vm.terminate()
        self.vm.wait(20)
        self.work.cleanup()

    def command(self, text):
        self.sock.sendall(text.encode() + b'\n')
        while True:
            line = self.file.readline()
            if not line:
                raise EOFError(f'the emulator ended at {text!r}')
            words = line.split()
            if words and words[0] == 'OK':
                return words[1:]
            if words and words[0] in ('FAIL', 'ERR'):
                raise RuntimeError(f'{text!r}: {line.strip()}')

    def read(self, addr, size):
        return bytes.fromhex(self.command(f'read {addr:#x} {size:#x}')[0][2:])

    def write(self, addr, data):
        self.command(f'write {addr:#x} {len(data):#x} 0x{data.hex()}')

    def out(self, port, value, size=1):
        self.command(f'out{"_bw_l"[size]} {port:#x} {value:#x}')

    def inp(self, port, size=1):
        return int(self.command(f'in{"_bw_l"[size]} {port:#x}')[0], 16)


def tiny_kernel(path, text=b'\xf4', base=0x100000):
    """An ELF64 kernel with a PVH entry note: `text` at base, entered there."""
    note = struct.pack('<III4sI', 4, 4, 18, b'Xen\0', base)
    head = 64 + 2 * 56
    ehdr = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 2, 62, 1, base, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack('<IIQQQQQQ', 1, 5, head, base, base, len(text), len(text), 0x1000)
    notes = struct.pack('<IIQQQQQQ', 4, 4, head + len(text), 0, 0, len(note), len(note), 4)
    pathlib.Path(path).write_bytes(ehdr + load + notes + text + note)
    return path
