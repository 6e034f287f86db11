# SPDX-License-Identifier: GPL-2.0-or-later
"""A small libqtest: starts the emulator with -accel qtest and speaks the protocol (include/accel/qtest.h)."""
import base64
import os
import shutil
import socket
import subprocess
import tempfile


class QTestError(Exception):
    pass


class QTest:
    """One emulator under test. `with QTest(binary, '-M', 'none') as q: q.inb(0x70)`."""

    def __init__(self, binary, *args, accel=True):
        self.dir = tempfile.mkdtemp(prefix='cleat-qtest-')
        path = os.path.join(self.dir, 'qtest.sock')
        self.irq_log = []
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(20)
        command = [binary, '-qtest', f'unix:{path}', '-qtest-log', 'none', '-display', 'none', '-nodefaults']
        command += ['-accel', 'qtest'] if accel else []
        self.stderr = open(os.path.join(self.dir, 'stderr'), 'w+', encoding='utf-8')
        self.process = subprocess.Popen(command + list(args), stdin=subprocess.DEVNULL, stdout=self.stderr,
                                        stderr=self.stderr)
        try:
            self.socket = self._accept(listener)
        except QTestError:
            self.close()
            raise
        finally:
            listener.close()
        self.socket.settimeout(30)
        self.file = self.socket.makefile('r', encoding='utf-8', newline='\n')

    def _accept(self, listener):
        listener.settimeout(0.05)
        for _ in range(400):
            try:
                return listener.accept()[0]
            except socket.timeout:
                if self.process.poll() is not None:
                    raise QTestError('the emulator ended: ' + self.output()) from None
        raise QTestError('the emulator did not connect')

    def output(self):
        self.stderr.flush()
        self.stderr.seek(0)
        return self.stderr.read().strip()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.stderr.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- the protocol ----

    def ask(self, line):
        """Sends a request; the words after OK. Raises on FAIL or when the emulator is gone."""
        try:
            self.socket.sendall((line + '\n').encode())
            while True:
                answer = self.file.readline()
                if not answer:
                    break
                if not answer.startswith('IRQ '):
                    break
                _, what, number = answer.split()
                self.irq_log.append((what, int(number)))
        except OSError as e:
            raise QTestError(f'{line}: {e}: {self.output()}') from e
        if not answer:
            self.process.wait(10)
            raise QTestError(f'{line}: the emulator ended ({self.process.returncode}): {self.output()}')
        if not answer.startswith('OK'):
            raise QTestError(f'{line}: {answer.strip()}')
        return answer[2:].strip()

    def inp(self, letter, port):
        return int(self.ask(f'in{letter} {port:#x}'), 0)

    def outp(self, letter, port, value):
        self.ask(f'out{letter} {port:#x} {value:#x}')

    def load(self, letter, addr):
        return int(self.ask(f'read{letter} {addr:#x}'), 0)

    def store(self, letter, addr, value):
        self.ask(f'write{letter} {addr:#x} {value:#x}')

    def inb(self, port):
        return self.inp('b', port)

    def outb(self, port, value):
        self.outp('b', port, value)

    def inl(self, port):
        return self.inp('l', port)

    def outl(self, port, value):
        self.outp('l', port, value)

    def read(self, addr, size):
        return base64.b64decode(self.ask(f'b64read {addr:#x} {size}'))

    def write(self, addr, data):
        self.ask(f'b64write {addr:#x} {len(data)} {base64.b64encode(data).decode()}')

    def clock_step(self, ns=None):
        return int(self.ask('clock_step' if ns is None else f'clock_step {ns}'))

    def intercept_in(self, path):
        self.ask(f'irq_intercept_in {path}')

    def intercept_out(self, path, name=''):
        self.ask(f'irq_intercept_out {path} {name}'.strip())

    def save_state(self):
        path = os.path.join(self.dir, 'state')
        self.ask(f'x-cleat-save {path}')
        with open(path, 'rb') as f:
            return f.read()

    def load_state(self, data):
        path = os.path.join(self.dir, 'state')
        with open(path, 'wb') as f:
            f.write(data)
        self.ask(f'x-cleat-load {path}')

    def regions(self):
        """All register regions: (space, address, size, valid min, valid max, owner path, name)."""
        io, mem = self.ask('x-cleat-regions')[3:].split(' mem:')
        found = []
        for space, text in (('io', io), ('mem', mem)):
            for part in text.split(';'):
                words = part.split(maxsplit=5)
                if len(words) >= 5:
                    found.append((space, int(words[0], 0), int(words[1], 0), int(words[2]), int(words[3]), words[4],
                                  words[5] if len(words) > 5 else ''))
        return found


def state_entries(data):
    """A saved machine as {key: payload} (system/machine-state.c)."""
    at, out = 8, {}
    while data[at]:
        n = int.from_bytes(data[at + 1:at + 3], 'little')
        key = data[at + 3:at + 3 + n].decode()
        at += 3 + n
        length = int.from_bytes(data[at:at + 4], 'little')
        out.setdefault(key, b'')
        out[key] += data[at + 4:at + 4 + length]
        at += 4 + length
    return out


def state_fields(payload):
    """A device's entry as {field: bytes} (system/qdev/vmstate.c)."""
    at, out = 1 + payload[0] + 8, {}
    while at < len(payload):
        n = payload[at]
        name = payload[at + 1:at + 1 + n].decode()
        at += 1 + n + 5
        length = int.from_bytes(payload[at:at + 4], 'little')
        out[name] = payload[at + 4:at + 4 + length]
        at += 4 + length
    return out
