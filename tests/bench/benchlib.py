# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks share: running an emulator to its end or for a while, peak memory, memory once settled."""
import ctypes
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
PEER = '/usr/bin/qemu-system-x86_64'
LOADER_QUIET = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def exit_rom(path):
    """A 64 KiB ROM whose reset vector writes 0 to isa-debug-exit (port f4h): the first instruction ends the run."""
    code = b'\x30\xc0\xe6\xf4\xf4'          # xor al,al; out f4h,al; hlt
    rom = bytearray(b'\xff' * 65536)
    rom[0xfff0:0xfff0 + len(code)] = code
    pathlib.Path(path).write_bytes(rom)


def run_timed(cmd, timeout=60):
    """(wall seconds, peak RSS in kB, exit status) of one run.

    ru_maxrss lives on over exec, so a child of Python would never show less than Python's own size: setsid
    (a small program) forks the run, and this process, as subreaper, collects it.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    setsid = os.posix_spawnp('setsid', ['setsid', '--fork'] + cmd, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, fd, '/dev/null', os.O_RDWR, 0) for fd in (0, 1, 2)])
    os.waitpid(setsid, 0)
    _, status, usage = os.wait4(-1, 0)
    return time.monotonic() - start, usage.ru_maxrss, os.waitstatus_to_exitcode(status)


def status_kb(pid):
    text = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='ascii')
    return {k: int(v) for k, v in re.findall(r'^(VmRSS|VmLck|VmHWM):\s+(\d+) kB', text, re.M)}


def memory_settled(vm, seconds):
    """VmRSS and VmLck (kB), read every half second from `seconds` on until nothing grows any more (a minute at most);
    None when the run ended before."""
    before = None
    for wait in [seconds] + [0.5] * 120:
        try:
            vm.wait(wait)
            return None
        except subprocess.TimeoutExpired:
            now = status_kb(vm.pid)
        if now == before:
            break
        before = now
    return now


def memory_after(cmd, seconds):
    """The same for a command, which is started and ended here."""
    with subprocess.Popen(cmd, **LOADER_QUIET) as vm:
        got = memory_settled(vm, seconds)
        vm.send_signal(signal.SIGTERM)
        try:
            vm.wait(10)
        except subprocess.TimeoutExpired:
            vm.kill()
        return got


def unlimited_lock():
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, PermissionError):
        pass


def median(values):
    values = sorted(values)
    return values[len(values) // 2]
