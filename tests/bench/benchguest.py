# SPDX-License-Identifier: GPL-2.0-or-later
"""The three sides of bench-guest.py, and what they run: a tree of programs that is unpacked in the guests as well.

A command is a list of words in which {tree} stands for the tree's place ('' in a guest) and {tmp} for a place in
memory to write to. Both guests stay up for a whole run and idle while another side works, so that the sides can
take turns kernel by kernel. Seconds are those that guestbench prints, by the guest's clock; that clock is checked
against the host's.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'boot'))

# pylint: disable=wrong-import-position # where it is is only known now
import guestlib

HERE = pathlib.Path(__file__).parent
STARTS = 3              # a guest that died so often before it did anything is given up
BOOT_TIMEOUT = 120
SOURCE_HEADERS = ('stdio.h', 'stdlib.h', 'string.h', 'stdint.h')
SOURCE_FUNCTION = '''
struct record{n} {{ uint64_t key; int32_t weight[8]; char name[24]; struct record{n} *next; }};
static int visit{n}(struct record{n} *list, uint32_t seed)
{{
    int sum = {n}, i;
    for (; list; list = list->next) {{
        if (list->key % {odd} == 0 && strncmp(list->name, "name{n}", sizeof(list->name)) < 0) {{
            sum += (int)(list->key >> {shift});
            continue;
        }}
        for (i = 0; i < 8; i++) {{
            list->weight[i] += (int32_t)(seed = seed * 1664525u + {n}u);
            sum ^= list->weight[i] << (i & {shift});
        }}
        switch (sum & 3) {{
        case 0: sum += visit{before}(NULL, seed); break;
        case 1: snprintf(list->name, sizeof(list->name), "%d:%u", sum, seed); break;
        case 2: sum -= (int)strlen(list->name) * {odd}; break;
        default: sum = sum < 0 ? -sum : sum + {n}; break;
        }}
    }}
    return sum;
}}
'''


def c_source(functions):
    """A C file of about 25 lines a function, each unlike the others, each calling the one before it."""
    text = [f'#include <{header}>' for header in SOURCE_HEADERS]
    text.append('static int visit0(void *list, uint32_t seed)\n{\n    return list ? (int)seed : 0;\n}')
    for n in range(1, functions + 1):
        text.append(SOURCE_FUNCTION.format(n=n, before=n - 1, odd=2 * n + 1, shift=n % 29))
    text.append(f'int main(void)\n{{\n    return visit{functions}(NULL, 1);\n}}\n')
    return '\n'.join(text)


def build_guestbench(tree, name, flags):
    subprocess.run(['gcc', '-O2', '-static', *flags, '-o', tree / 'bin' / name, HERE / 'guestbench.c', '-lm'],
                   check=True)


def copy_into(tree, path):
    """The file into the tree, at its own place."""
    to = tree / str(path).lstrip('/')
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)


def pack_compiler(tree, functions):
    """tcc with its libraries, a source for it, and the headers that this source includes."""
    source = tree / 'bench' / 'job.c'
    source.parent.mkdir(parents=True)
    source.write_text(c_source(functions), encoding='ascii')
    told = subprocess.run(['tcc', '-vv', '-c', '-o', tree.parent / 'job.o', source], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    libraries = subprocess.run(['ldd', shutil.which('tcc')], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in {'/usr/bin/tcc', *re.findall(r'^-> +(/usr/\S+)$', told, re.M), *re.findall(r'\s(/\S+)', libraries)}:
        copy_into(tree, path)


def build_tree(work, parts, functions):
    """What the sides run, below work/tree, and the initramfs that has it."""
    tree, initramfs = work / 'tree', work / 'initramfs.cpio.gz'
    (tree / 'bin').mkdir(parents=True)
    build_guestbench(tree, 'guestbench', [])
    if 'i686' in parts:
        build_guestbench(tree, 'guestbench32', ['-m32'])
    if 'compile' in parts:
        pack_compiler(tree, functions)
    subprocess.run([HERE.parent / 'boot' / 'mkinitramfs.sh', initramfs, tree], check=True)
    return tree, initramfs


def parse_seconds(text):
    found = re.findall(r'^GB \S+ ([0-9.]+)$', text, re.M)
    return float(found[-1]) if found else None


class Native:
    """The host itself."""

    def __init__(self, tree):
        self.tree = tree
        memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.tmp = tempfile.TemporaryDirectory(dir=memory)

    def run(self, command, timeout):
        words = [word.format(tree=self.tree, tmp=self.tmp.name) for word in command]
        try:
            done = subprocess.run(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=timeout, text=True,
                                  check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f'native: {error}', file=sys.stderr)
            return None
        return parse_seconds(done.stdout)

    def stop(self):
        self.tmp.cleanup()


def guest_line(command):
    return ' '.join(word.format(tree='', tmp='/tmp') for word in command)


class Guest:
    """One emulator, its guest's shell on the serial port; started when first needed, and again after it died."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.vm = self.console = self.errors = None
        self.starts = 0
        self.clock_faults = []

    def start(self):
        self.starts += 1
        self.errors = tempfile.TemporaryFile()      # pylint: disable=consider-using-with # closed by stop
        self.vm = subprocess.Popen(self.command, stdin=subprocess.PIPE,     # pylint: disable=consider-using-with
                                   stdout=subprocess.PIPE, stderr=self.errors)
        self.console = guestlib.Console(self.vm.stdout.fileno(), self.vm.stdin.fileno())
        self.console.expect('guest# ', BOOT_TIMEOUT)
        self.console.send('stty -echo; PS1=; echo ready-$((40+2))\n')
        self.console.expect('ready-42\n')

    def stop(self):
        if self.vm:
            self.vm.kill()
            self.vm.communicate()
            self.errors.close()
        self.vm = None

    def ask(self, command, timeout):
        line = guest_line(command)
        self.console.text = ''
        start = time.monotonic()
        self.console.send(f'{line}; echo end-$((40+2))\n')
        self.console.expect('end-42\n', timeout)
        self.starts = 0
        self.check_clock(command, parse_seconds(self.console.text), time.monotonic() - start)
        return parse_seconds(self.console.text)

    def check_clock(self, command, seconds, wall):
        """The host sees the shell start the program too: some more than the guest says, but never less."""
        if seconds and not 0.95 * seconds - 0.02 <= wall <= 1.1 * seconds + 2:
            self.clock_faults.append(f'{self.name}: {guest_line(command)}: {seconds:.3f} s by the guest\'s clock, '
                                     f'{wall:.3f} s by the host\'s')

    def run(self, command, timeout):
        """Seconds, or None: the program failed, hung or took its guest with it."""
        try:
            if not self.vm:
                if self.starts == STARTS:
                    return None
                self.start()
            return self.ask(command, timeout)
        except (EOFError, TimeoutError, BrokenPipeError) as error:
            print(f'{self.name}: {guest_line(command)}: {error}\n{how_it_ended(self.vm, self.errors)}', file=sys.stderr)
            self.stop()
            return None


def how_it_ended(vm, errors):
    """What an emulator left behind that said nothing more."""
    try:
        status = f'exit status {vm.wait(2)}'
    except subprocess.TimeoutExpired:
        status = 'still running'
    errors.seek(0)
    return f'{status}; stderr: {errors.read()[-2000:].decode(errors="replace")}'


def boot_seconds(command):
    """Wall time from the start of the emulator to the guest's line BOOT-OK; None when that does not come."""
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as vm:
            try:
                guestlib.Console(vm.stdout.fileno(), None).expect('BOOT-OK', BOOT_TIMEOUT)
                return time.monotonic() - start
            except (EOFError, TimeoutError) as error:
                print(f'{command[0]}: {error}\n{how_it_ended(vm, errors)}', file=sys.stderr)
                return None
            finally:
                vm.kill()
