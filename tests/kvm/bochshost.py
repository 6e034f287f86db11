# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux with /dev/kvm inside Bochs, an emulator with a whole VMX: EPT, exceptions that are intercepted, debug
registers. Slow (a minute until it is up, one CPU), but what fails in there is not the host's fault; kvmhost.py is the
fast one. A host of its own is better than both.

run(files, script, timeout, memory) is as in kvmhost.py; need_bochs() skips a test where it is not installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import kvmhost

SKIP, DEAD_AFTER = 77, 900
ISOLINUX = ('/usr/lib/ISOLINUX/isolinux.bin', '/usr/lib/syslinux/modules/bios/ldlinux.c32')
MODEL = 'corei7_haswell_4770'
# The debug build stops at the first instruction until it is told to go on.
START = 'c\n'
# What a CPU at that speed takes for a second.
IPS = 100000000
# Bochs's serial port loses interrupts of the tty layer, not the kernel's own messages: so all goes through those.
SCRIPT = '''#!/bin/sh
sh /script.real 2>&1 | while IFS= read -r line; do printf '<1>%s\\n' "$line" >/dev/kmsg; done
sleep 1
'''
CONFIG = '''display_library: term
memory: guest={memory}, host={memory}
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model={model}, count=1, ips={ips}, reset_on_triple_fault=0
clock: sync=none, time0=utc
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path={work}/cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={log}
log: {work}/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
'''
MENU = '''DEFAULT linux
PROMPT 0
LABEL linux
  KERNEL /vmlinuz
  INITRD /initrd
  APPEND {append} nmi_watchdog=0 printk.time=0 printk.devkmsg=on cleat.exec=sh,/script
'''


def need_bochs():
    missing = [f for f in ISOLINUX if not os.path.exists(f)] + [p for p in ('bochs', 'xorriso') if not shutil.which(p)]
    if missing:
        print(f'SKIP: there is no /dev/kvm, and to have one in Bochs these are missing: {", ".join(missing)}')
        sys.exit(SKIP)


def make_cd(work, files, script):
    """A CD that boots the test kernel with the files and the script."""
    root = pathlib.Path(work, 'cd')
    (root / 'isolinux').mkdir(parents=True)
    for f in ISOLINUX:
        shutil.copy(f, root / 'isolinux')
    (root / 'isolinux' / 'isolinux.cfg').write_text(MENU.format(append=kvmhost.APPEND), encoding='ascii')
    shutil.copy(f'{kvmhost.guest_files()}/vmlinuz', root)
    kvmhost.make_initrd(files, script, 'kvm-intel', root / 'initrd', SCRIPT)
    subprocess.run(['xorriso', '-as', 'mkisofs', '-quiet', '-o', f'{work}/cd.iso', '-b', 'isolinux/isolinux.bin', '-c',
                    'isolinux/boot.cat', '-no-emul-boot', '-boot-load-size', '4', '-boot-info-table', root],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def drain(fd):
    """Whoever draws on a terminal waits until somebody looks."""
    try:
        while os.read(fd, 65536):
            pass
    except OSError:             # the last one that had it open is gone
        pass


def run(files, script, timeout=900, memory=512):
    if kvmhost.kvm_usable():
        return kvmhost.run_here(files, script, timeout)
    with tempfile.TemporaryDirectory() as work:
        make_cd(work, files, script)
        log = os.environ.get('CLEAT_KVMHOST_LOG') or f'{work}/log'
        pathlib.Path(work, 'bochsrc').write_text(
            CONFIG.format(memory=memory, model=MODEL, ips=IPS, work=work, log=log), encoding='ascii')
        pathlib.Path(work, 'start').write_text(START, encoding='ascii')
        master, slave = os.openpty()
        threading.Thread(target=drain, args=(master,), daemon=True).start()
        os.environ['TERM'] = 'vt100'
        return kvmhost.result_of(kvmhost.host_runs(['bochs', '-q', '-f', f'{work}/bochsrc', '-rc', f'{work}/start'],
                                                   log, timeout, DEAD_AFTER, slave))
