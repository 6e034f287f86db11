# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux with /dev/kvm to run commands on: this host, or, where it has none, a Debian guest with kvm-amd inside the
peer (Debian's qemu-system-x86_64 under TCG emulates SVM), so that the KVM accelerator is tested on every machine.

run(files, script, timeout) puts the files (host path -> absolute path there; programs with their libraries) and runs
the shell script; it returns its output. The nested case needs CLEAT_GUEST_DIR (kernel with modules, initramfs); its
console can be followed in the file CLEAT_KVMHOST_LOG, and CLEAT_KVMHOST_PEER names another program to nest in.

The nested host itself may die. Its kernel patches a branch in __schedule() when the first VM comes or the last one goes
(static key preempt_notifier_key), and one CPU then spins in the INT3 of that patch while the other waits for it; not
even a `timeout` in there fires. So a VM that does nothing is there all the time, and a kernel that sees such a lockup
panics. Whoever panics, or writes nothing for DEAD_AFTER seconds, is dead and is started again, up to ATTEMPTS times;
scripts must not be silent for that long (each of their steps has a time limit of 60 s). A host that writes, or that
comes to its end, is judged by what it wrote, and is never tried again.
"""
import glob
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

PEER = '/usr/bin/qemu-system-x86_64'
BEGIN, END = '@@begin-of-script@@', '@@end-of-script@@'
DEAD_AFTER, ATTEMPTS, LOOK_EVERY = 120, 4, 0.2      # seconds, starts, seconds
APPEND = 'console=ttyS0 panic=-1 quiet nokaslr mitigations=off no_timer_check'
APPEND_NESTED = APPEND + ' watchdog_thresh=20 softlockup_panic=1'
PANIC = b'not syncing: softlockup'       # not a guest's own panic
# The first of the files is an emulator. There is no firmware to be found: it gets an empty one.
HOLD = '''dd if=/dev/zero of=/tmp/hold bs=65536 count=1 2>/dev/null
{emulator} -accel kvm -M q35 -m 16 -S -nodefaults -display none -bios /tmp/hold </dev/null >/tmp/held 2>&1 & hold=$!
{script}
kill -9 $hold || {{ echo {lost}; cat /tmp/held; }}
'''
LOST = '@@no-vm-was-held@@'
ENDED, DEAD, LATE = 'ended', 'dead', 'late'


def kvm_usable():
    return os.access('/dev/kvm', os.R_OK | os.W_OK)


def libraries_of(program):
    with open(program, 'rb') as f:
        if f.read(4) != b'\x7fELF':
            return set()
    out = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r'(/\S+) \(0x', out))


def copy_into(root, source, target):
    place = pathlib.Path(root, target.lstrip('/'))
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, place, follow_symlinks=True)


def guest_files():
    return os.environ.get('CLEAT_GUEST_DIR') or str(pathlib.Path(__file__).parents[2] / 'build' / 'guest')


def make_initrd(files, script, module, out, outer=None):
    """The test's initramfs, and behind it an archive that the kernel unpacks over it: the files, their libraries, KVM's
    modules (module: the last one and its parameters), and /script, which the kernel's command line must name; or outer
    as /script and the script as /script.real."""
    with tempfile.TemporaryDirectory() as root:
        for source, target in files.items():
            copy_into(root, source, target)
            for lib in libraries_of(source):
                copy_into(root, lib, lib)
        name, _, options = module.partition(' ')
        for ko in ('irqbypass', 'kvm', name):
            found = glob.glob(f'{guest_files()}/root/lib/modules/*/kernel/**/{ko}.ko', recursive=True)
            copy_into(root, found[0], f'/{ko}.ko')
        text = (f'#!/bin/sh\ninsmod /irqbypass.ko\ninsmod /kvm.ko\ninsmod /{name}.ko {options}\n'
                f'mount -t tmpfs tmp /tmp\necho {BEGIN}\n{script}\necho {END}\n')
        pathlib.Path(root, 'script').write_text(outer or text, encoding='utf-8')
        pathlib.Path(root, 'script.real').write_text(text, encoding='utf-8')
        listing = subprocess.run(['find', '.'], cwd=root, capture_output=True, check=True).stdout
        extra = subprocess.run(['cpio', '-o', '-H', 'newc', '--quiet'], cwd=root, input=listing, capture_output=True,
                               check=True).stdout
    first = pathlib.Path(guest_files(), 'initramfs.cpio.gz').read_bytes()
    pathlib.Path(out).write_bytes(first + b'\0' * (-len(first) % 512) + extra)


def result_of(log):
    """What the script wrote."""
    text = log.decode('utf-8', 'replace').replace('\r', '')
    if BEGIN not in text:
        raise RuntimeError(f'the nested host did not come up:\n{text[-2000:]}')
    return text.split(BEGIN, 1)[1].split(END, 1)[0].lstrip('\n')


def host_ends(cmd, log, timeout, dead_after=None, terminal=None):
    """Runs a host with its output in the file `log`: ENDED, DEAD (its kernel panicked, or it wrote nothing for
    dead_after seconds and was killed) or LATE (it wrote, but not its end, for `timeout` seconds, and was killed).
    terminal: a descriptor for a host that writes the log itself."""
    start = written = time.monotonic()
    size = 0
    with open(log, 'wb') as f, subprocess.Popen(
            cmd, stdin=terminal or subprocess.DEVNULL, stdout=terminal or f,
            stderr=terminal or subprocess.DEVNULL) as host:
        while True:
            try:
                host.wait(LOOK_EVERY)
                return DEAD if PANIC in pathlib.Path(log).read_bytes() else ENDED
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            if os.path.getsize(log) > size:
                size, written = os.path.getsize(log), now
            if now - written > (dead_after or DEAD_AFTER) or now - start > timeout:
                why = DEAD if now - written > (dead_after or DEAD_AFTER) else LATE
                print(f'the host is {why} after {now - start:.0f} s, silent for {now - written:.0f} s; {where(cmd)}')
                host.kill()
                return why


def where(cmd):
    """Where the CPUs of a nested host are, for the report: its monitor is asked."""
    path = next((m[1] for m in (re.fullmatch(r'unix:([^,]+),.*', word) for word in cmd) if m), None)
    if path is None:
        return 'it has no monitor'
    text = ''
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(path)
            s.sendall(b'info registers -a\n')
            while data := s.recv(65536):
                text += data.decode('utf-8', 'replace')
    except OSError:                     # it has no more to say
        pass
    return 'its CPUs are at ' + (' '.join(re.findall('[RE]IP=[0-9a-f]+', text)) or 'unknown places')


def host_runs(cmd, log, timeout, dead_after=None, terminal=None):
    """What a host wrote (bytes): that of the first that did not die, or else of the last."""
    for attempt in range(1, ATTEMPTS + 1):
        if host_ends(cmd, log, timeout, dead_after, terminal) != DEAD:
            break
        print(f'attempt {attempt} of {ATTEMPTS}: the host died' + (', again' if attempt < ATTEMPTS else ''), flush=True)
    return pathlib.Path(log).read_bytes()


def run_nested(files, script, timeout, memory):
    script = HOLD.format(emulator=next(iter(files.values())), script=script, lost=LOST)
    with tempfile.TemporaryDirectory() as work:
        # npt=0: the peer's nested paging loses guests that use PAE paging at their first interrupt.
        make_initrd(files, script, 'kvm-amd npt=0', f'{work}/initrd')
        cmd = [os.environ.get('CLEAT_KVMHOST_PEER') or PEER, '-M', 'q35', '-accel', 'tcg', '-cpu', 'max', '-smp', '2',
               '-m', str(memory), '-nodefaults', '-display', 'none', '-serial', 'stdio', '-no-reboot',
               '-monitor', f'unix:{work}/monitor,server=on,wait=off', '-kernel', f'{guest_files()}/vmlinuz',
               '-initrd', f'{work}/initrd', '-append', f'{APPEND_NESTED} cleat.exec=sh,/script']
        text, lost, why = result_of(host_runs(cmd, os.environ.get('CLEAT_KVMHOST_LOG') or f'{work}/log',
                                              timeout)).partition(LOST)
    if lost:
        raise RuntimeError(f'the VM that was to be there all the time has ended: {why.strip()}')
    return text


def run_here(files, script, timeout):
    for source, target in files.items():
        script = script.replace(target, os.path.abspath(source))
    done = subprocess.run(['sh', '-c', script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=timeout, check=False)
    return done.stdout.decode('utf-8', 'replace')


def run(files, script, timeout=300, memory=1024):
    """memory: MiB that the nested host gets."""
    return run_here(files, script, timeout) if kvm_usable() else run_nested(files, script, timeout, memory)
