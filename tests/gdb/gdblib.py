# SPDX-License-Identifier: GPL-2.0-or-later
"""Driving Debian's gdb against the emulator: symbol files, scripts, and a client of the bare protocol."""
import contextlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time

SKIP = 77


def need_gdb():
    if not shutil.which('gdb'):
        print('no gdb here (package gdb)')
        sys.exit(SKIP)


def write_symbol_file(path, symbols):
    """An ELF file with nothing but function symbols: all that gdb needs to find addresses and names."""
    low = min(symbols.values())
    size = max(symbols.values()) - low + 1
    strtab, symtab = b'\0', struct.pack('<IBBHQQ', 0, 0, 0, 0, 0, 0)
    for name, addr in sorted(symbols.items(), key=lambda s: s[1]):
        symtab += struct.pack('<IBBHQQ', len(strtab), 0x12, 0, 1, addr, 0)
        strtab += name.encode() + b'\0'
    names = b'\0.text\0.symtab\0.strtab\0.shstrtab\0'
    at = 64
    body, heads = b'', [struct.pack('<IIQQQQIIQQ', *[0] * 10)]
    # name, type, flags, address, offset, size, link, info, align, entry size
    heads.append(struct.pack('<IIQQQQIIQQ', 1, 8, 6, low, at, size, 0, 0, 16, 0))
    for name, kind, data, link, info, entry in ((7, 2, symtab, 3, 1, 24), (15, 3, strtab, 0, 0, 0),
                                                (23, 3, names, 0, 0, 0)):
        heads.append(struct.pack('<IIQQQQIIQQ', name, kind, 0, 0, at + len(body), len(data), link, info, 8, entry))
        body += data
    ident = b'\x7fELF\x02\x01\x01' + bytes(9)
    head = ident + struct.pack('<HHIQQQIHHHHHH', 2, 62, 1, low, 0, at + len(body), 0, 64, 0, 0, 64, len(heads), 4)
    pathlib.Path(path).write_bytes(head + body + b''.join(heads))


def run_gdb(commands, timeout=120, args=()):
    """gdb in batch mode with these command lines; what it printed. Fails the test when it hangs."""
    line = ['gdb', '-nx', '-batch', '-q', '-iex', 'set pagination off', '-iex', 'set confirm off',
            '-iex', f'set remotetimeout {timeout}', *args]
    for c in commands:
        line += ['-ex', c]
    try:
        p = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=timeout, check=False)
        return p.stdout.decode('utf-8', 'replace')
    except subprocess.TimeoutExpired as e:
        sys.exit(f'gdb hangs after:\n{(e.stdout or b"").decode("utf-8", "replace")}')


def connect(path, seconds=30):
    """A socket of the emulator's, once it is there."""
    end = time.monotonic() + seconds
    while True:
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect(str(path))
            return s
        except OSError:
            s.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


class Client:
    """The remote protocol without gdb."""

    def __init__(self, path, seconds=60):
        self.sock = connect(path)
        self.sock.settimeout(seconds)

    def byte(self):
        c = self.sock.recv(1)
        if not c:
            raise EOFError('the stub closed the connection')
        return c

    def receive(self):
        """The next packet; acknowledges it."""
        while self.byte() != b'$':
            pass
        data = b''
        while not data.endswith(b'#'):
            data += self.byte()
        self.byte(), self.byte()
        if data[:1] not in b'WX':                   # a process that ended waits for no acknowledgement
            self.sock.sendall(b'+')
        return data[:-1].decode('latin1')

    def send(self, text):
        data = text if isinstance(text, bytes) else text.encode('latin1')
        self.sock.sendall(b'$' + data + b'#%02x' % (sum(data) & 255))

    def ask(self, text):
        self.send(text)
        return self.receive()

    def interrupt(self):
        self.sock.sendall(b'\x03')

    def close(self):
        self.sock.close()


def check(text, *wanted):
    """Every one of the wanted texts is in it, in this order."""
    at = 0
    for w in wanted:
        found = text.find(w, at)
        if found < 0:
            sys.exit(f'--- wanted {w!r} after position {at} of:\n{text}')
        at = found + len(w)


@contextlib.contextmanager
def started(cmd):
    """A running emulator that does not outlive the block, however that ends."""
    process = subprocess.Popen(cmd)
    try:
        yield process
    finally:
        stop(process)


def stop(process):
    process.kill()
    process.wait()
    return os.EX_OK
