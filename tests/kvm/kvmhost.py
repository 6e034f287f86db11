# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux with /dev/kvm to run commands on: this host, or, where it has none, a Debian guest with kvm-amd inside the
peer (Debian's qemu-system-x86_64 under TCG emulates SVM), so that the KVM accelerator is tested on every machine.

run(files, script, timeout) puts the files (host path -> absolute path there; programs with their libraries) and runs
the shell script; it returns its output. The nested case needs CLEAT_GUEST_DIR (kernel with modules, initramfs); its
console can be followed in the file CLEAT_KVMHOST_LOG.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

PEER = '/usr/bin/qemu-system-x86_64'
BEGIN, END = '@@begin-of-script@@', '@@end-of-script@@'


def kvm_usable():
    return os.access('/dev/kvm', os.R_OK | os.W_OK)


def libraries_of(program):
    out = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r'(/\S+) \(0x', out))


def copy_into(root, source, target):
    place = pathlib.Path(root, target.lstrip('/'))
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, place, follow_symlinks=True)


def make_extra_cpio(files, script, guest_dir, out):
    """A second archive that the kernel unpacks over the first: the files, their libraries, the modules, the script."""
    with tempfile.TemporaryDirectory() as root:
        for source, target in files.items():
            copy_into(root, source, target)
            for lib in libraries_of(source):
                copy_into(root, lib, lib)
        for module in ('irqbypass', 'kvm', 'kvm-amd'):
            found = glob.glob(f'{guest_dir}/root/lib/modules/*/kernel/**/{module}.ko', recursive=True)
            copy_into(root, found[0], f'/{module}.ko')
        # npt=0: the peer's nested paging loses guests that use PAE paging at their first interrupt.
        text = ('#!/bin/sh\ninsmod /irqbypass.ko\ninsmod /kvm.ko\ninsmod /kvm-amd.ko npt=0\nmount -t tmpfs tmp /tmp\n'
                f'echo {BEGIN}\n{script}\necho {END}\n')
        pathlib.Path(root, 'script').write_text(text, encoding='utf-8')
        listing = subprocess.run(['find', '.'], cwd=root, capture_output=True, check=True).stdout
        with open(out, 'wb') as f:
            subprocess.run(['cpio', '-o', '-H', 'newc', '--quiet'], cwd=root, input=listing, stdout=f, check=True)


def run_nested(files, script, timeout, memory):
    guest_dir = os.environ.get('CLEAT_GUEST_DIR') or str(pathlib.Path(__file__).parents[2] / 'build' / 'guest')
    with tempfile.TemporaryDirectory() as work:
        extra, initrd = f'{work}/extra.cpio', f'{work}/initrd'
        make_extra_cpio(files, script, guest_dir, extra)
        with open(initrd, 'wb') as f:
            f.write(pathlib.Path(guest_dir, 'initramfs.cpio.gz').read_bytes())
            f.write(b'\0' * (-f.tell() % 512))
            f.write(pathlib.Path(extra).read_bytes())
        cmd = [PEER, '-M', 'q35', '-accel', 'tcg', '-cpu', 'max', '-smp', '2', '-m', str(memory), '-nodefaults',
               '-display', 'none', '-serial', 'stdio', '-no-reboot', '-kernel', f'{guest_dir}/vmlinuz',
               '-initrd', initrd, '-append', 'console=ttyS0 panic=-1 quiet '
               'mitigations=off no_timer_check cleat.exec=sh,/script']
        log = pathlib.Path(os.environ.get('CLEAT_KVMHOST_LOG') or f'{work}/log')
        with open(log, 'wb') as f:
            try:
                subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL, timeout=timeout,
                               check=False)
            except subprocess.TimeoutExpired:
                f.write(b'\nthe nested host was stopped: it took too long\n')
        text = log.read_bytes().decode('utf-8', 'replace').replace('\r', '')
    if BEGIN not in text:
        raise RuntimeError(f'the nested host did not come up:\n{text[-2000:]}')
    return text.split(BEGIN, 1)[1].split(END, 1)[0].lstrip('\n')


def run_here(files, script, timeout):
    for source, target in files.items():
        script = script.replace(target, os.path.abspath(source))
    done = subprocess.run(['sh', '-c', script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=timeout, check=False)
    return done.stdout.decode('utf-8', 'replace')


def run(files, script, timeout=300, memory=1024):
    """memory: MiB that the nested host gets."""
    return run_here(files, script, timeout) if kvm_usable() else run_nested(files, script, timeout, memory)
