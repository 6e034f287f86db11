# SPDX-License-Identifier: GPL-2.0-or-later
"""Driving a booted guest from tests: command lines, waiting for text on its console, talking to its shell."""
import os
import pathlib
import select
import socket
import subprocess
import sys
import time


def guest_dir():
    return os.environ.get('CLEAT_GUEST_DIR') or str(pathlib.Path(__file__).parents[2] / 'build' / 'guest')


def need_guest():
    """Fails the test when there is no kernel: scripts/test.sh fetches it."""
    for name in ('vmlinuz', 'initramfs.cpio.gz'):
        if not pathlib.Path(guest_dir(), name).exists():
            sys.exit(f'{guest_dir()}/{name} is missing (scripts/test.sh puts it there)')


# What no boot may say.
FAULTS = ('WARNING:', 'BUG:', 'Oops', 'Call Trace', 'ACPI Error', 'ACPI BIOS Error', 'firmware bug', 'Firmware Bug',
          "can't route interrupt", 'no compatible bridge window', 'lost interrupt')


def check_log(text):
    # Advice about the host CPU's speculation faults is the model's, and the peer's guests print it too.
    faults = [l for l in text.splitlines() if any(f in l for f in FAULTS) and 'hw-vuln' not in l]
    assert not faults, '\n'.join(faults[:20])


def linux(emulator, append='', machine='q35', accel='tcg', cpu='max', smp=1, mem=512, serial='stdio', kernel='vmlinuz',
          initramfs='initramfs.cpio.gz', more=()):
    """A command line that boots the test kernel with the serial console on `serial`."""
    return [emulator, '-M', machine, '-accel', accel, '-cpu', cpu, '-smp', str(smp), '-m', str(mem), '-nodefaults',
            '-display', 'none', '-serial', serial, '-kernel', f'{guest_dir()}/{kernel}',
            '-initrd', f'{guest_dir()}/{initramfs}', '-append', f'console=ttyS0 panic=-1 {append}', *more]


class Console:
    """Text in and out of a file descriptor pair; keeps all that was read in .text."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.text = reader, writer, ''

    def expect(self, what, timeout=60, start=0):
        """Reads until `what` appears after offset start; returns the offset behind it."""
        end = time.monotonic() + timeout
        while what not in self.text[start:]:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f'no {what!r} within {timeout} s; the console ends:\n{self.text[-1500:]}')
            ready, _, _ = select.select([self.reader], [], [], left)
            data = os.read(self.reader, 65536) if ready else None
            if data == b'':
                raise EOFError(f'console closed before {what!r}; it ends:\n{self.text[-1500:]}')
            if data:
                self.text += data.decode('utf-8', 'replace').replace('\r', '')
        return self.text.index(what, start) + len(what)

    def send(self, text):
        data = text.encode()
        while data:
            data = data[os.write(self.writer, data):]


def connect_unix(path, timeout=10):
    end = time.monotonic() + timeout
    while True:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            return s
        except OSError:
            s.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def run_to_end(cmd, timeout=90):
    """(exit status, stdout text, stderr text) of a run without input."""
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, check=False)
    text, errors = (stream.decode('utf-8', 'replace') for stream in (done.stdout, done.stderr))
    return done.returncode, text.replace('\r', ''), errors
