#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Mistakes on the command line: one sentence that names option and value, exit status 1.

usage: cli-errors.py EMULATOR
"""
import re
import shlex
import sys

import cli

# Command line, then what the message must match. "@" stands for the command line itself (the place
# that the message names first).
CASES = r"""
-foo                                   -foo: invalid option
--foo                                  --foo: invalid option
-foo -help                             -foo: invalid option
-smp                                   -smp: requires an argument
-no-hpet                               invalid option
-no-acpi                               invalid option
-chroot /                              -chroot: invalid option
-runas nobody                          -runas: invalid option
-singlestep                            invalid option
-async-teardown                        invalid option
-soundhw all                           invalid option
-watchdog i6300esb                     -watchdog: invalid option
-prom-env x                            @: this target has no such option
-xen-attach                            @: this target has no such option
-vnc :1                                @: the VNC server is not available
-hda x                                 @: .* is not available
disk.img                               disk.img: .* is not available
-incoming defer                        @: migration is not available
-display gtk                           @: the GTK window is not available
-display foo                           @: 'foo'
-netdev user,id=a                      @: networking is not available
-nic user                              @: networking is not available
-nic foo                               @: 'foo'
-vga foo                               @: 'foo'
-M none -kernel x                      -kernel: machine 'none' has no CPU
-smp foo                               @: Parameter 'cpus' expects .*'foo'
-smp -1                                @: Parameter 'cpus' expects .*'-1'
-smp cpus=2,foo=3                      @: Invalid parameter 'foo'
-smp 2,cores                           @: Expected '=' after parameter 'cores'
-machine smp.foo=3                     @: Invalid parameter 'smp.foo'
-machine smp.cpus=x                    @: Parameter 'smp.cpus' expects .*'x'
-machine memory.size=foo               @: Parameter 'memory.size' expects .*'foo'
-machine boot.menu=x                   @: Parameter 'boot.menu' expects .*'x'
-machine q35,usb                       @: Expected '=' after parameter 'usb'
-M q35,kernel_irqchip=foo              @: Parameter 'kernel-irqchip' does not accept value 'foo'
-M q35 -cpu qemu64,,foo=1              -cpu qemu64,,foo=1: Property .*foo' not found
-machine =                             @: Invalid parameter ''
-m foo                                 @: Parameter 'size' expects .*'foo'
-m 1.5X                                @: Parameter 'size' expects .*'1.5X'
-m 128,foo=1                           @: Invalid parameter 'foo'
-m size=                               @: Parameter 'size' expects .*''
-m 99999999999999999999                @: .*'99999999999999999999'.*out of range
-m 16E                                 @: .*'16E'.*out of range
-m 1G,slots=2                          @: .*'slots=2' needs 'maxmem'
-m 1G,maxmem=512M                      @: .*'maxmem'.*at least 'size'
-m 1G,slots=257,maxmem=2G              @: .*'slots'.*'257'
-overcommit mem-lock=foo               @: Parameter 'mem-lock' expects .*'off', 'on', 'on-fault', not 'foo'
-overcommit mem-lock=                  @: Parameter 'mem-lock' expects .*'off', 'on', 'on-fault', not ''
-overcommit mem-lock=ON                @: Parameter 'mem-lock' expects .*not 'ON'
-overcommit cpu-pm=maybe               @: Parameter 'cpu-pm' expects 'on' or 'off', not 'maybe'
-overcommit foo=on                     @: Invalid parameter 'foo'
-overcommit foo                        @: Invalid parameter 'foo'
-overcommit =on                        @: Invalid parameter ''
-overcommit ,                          @: Expected a parameter
-overcommit mem-lock=on,,              @: Parameter 'mem-lock' expects .*not 'on,'
-overcommit mem-lock=on -overcommit x=1    -overcommit x=1: Invalid parameter 'x'
-accel thread=multi                    @: Parameter 'accel' is missing
-accel tcg -machine accel=kvm          -accel and '-machine accel=kvm'
-device id=foo                         @: Parameter 'driver' is missing
-device ''                             -device : Parameter 'driver' is missing
-device a,id=x -device b,id=x          -device b,id=x: Duplicate ID 'x' for device
-device a,id=9x                        @: Parameter 'id' expects an identifier, not '9x'
-device '{"driver":"e1000"'            JSON parse error .* ends too early
-device '{"driver":"e1000"} x'         JSON parse error
-device '{"driver":"a","id":"1"}'      Parameter 'id' expects an identifier, not '1'
-object rng-random                     @: Parameter 'id' is missing
-object ''                             Parameter 'qom-type' is missing
-object a,id=x -object b,id=x          -object b,id=x: Duplicate ID 'x' for object
-object a,id=x,b=1,b.c=2               @: Parameter 'b.c'
-object a,id=x,foo                     @: Expected '=' after parameter 'foo'
-chardev null                          @: Parameter 'id' is missing
-chardev null,id=a -chardev null,id=a  -chardev null,id=a: Duplicate ID 'a' for chardev
-chardev null,id='a b'                 @: Parameter 'id' expects an identifier, not 'a b'
-mon mode=control                      @: Parameter 'chardev' is missing
-mon chardev=a,mode=x                  @: Parameter 'mode' expects .*'readline', 'control', not 'x'
-mon chardev=a,pretty=on               @: .*pretty.*mode=control
-global foo                            @: Invalid parameter 'foo'
-global driver=a,property=b            @: Parameter 'value' is missing
-name foo,bar=1                        @: Invalid parameter 'bar'
-name foo,debug-threads=x              @: Parameter 'debug-threads' expects 'on' or 'off', not 'x'
-uuid foo                              @: 'foo'
-uuid 00000000-0000-0000-0000-00000000000g    @: '.*g'
-rtc base=foo                          @: Parameter 'base' .*'foo'
-rtc base=2026-02-30                   @: Parameter 'base' .*'2026-02-30'
-rtc clock=foo                         @: Parameter 'clock' .*'foo'
-rtc driftfix=foo                      @: Parameter 'driftfix' .*'foo'
-boot order=xyz                        @: .*'order'.*'x'
-boot order=aa                         @: .*'order'.*'a' twice
-boot menu=x                           @: Parameter 'menu' expects .*'x'
-boot foo=1                            @: Invalid parameter 'foo'
-boot reboot-timeout=65536             @: .*'reboot-timeout'
-action foo=bar                        @: Invalid parameter 'foo'
-action reboot=foo                     @: Parameter 'reboot' expects .*'foo'
-action panic=reset                    @: Parameter 'panic' expects .*'reset'
-watchdog-action foo                   @: 'foo'
-msg timestamp=x                       @: Parameter 'timestamp' expects .*'x'
-echr foo                              @: .*'foo'
-echr 256                              @: .*'256'
-sandbox foo                           @: Parameter 'enable' expects .*'foo'
-sandbox on,obsolete=x                 @: Parameter 'obsolete' expects .*'x'
-sandbox on,spawn=children             @: Parameter 'spawn' expects .*'children'
-run-with async-teardown=maybe         @: Parameter 'async-teardown' expects .*'maybe'
-run-with foo=1                        @: Invalid parameter 'foo'
-add-fd fd=1,set=1                     @: .*'fd'.* 1
-add-fd set=1                          @: .*'fd'
-add-fd fd=9,set=-1                    @: .*'set'
-append foo                            -append .*-kernel
-initrd foo                            -initrd .*-kernel
-fw_cfg foo                            @: .*'file', 'string'
-fw_cfg name=opt/a,file=/x,string=y    @: .*'file', 'string'
-smbios type=x                         @: Parameter 'type' expects .*'x'
-smbios foo=1                          @: .*'type' and 'file'
-nographic -daemonize                  -nographic cannot be used with -daemonize
-machine foo                           @: .*'foo'
-machine pc,foo=on                     @: Property .*foo' not found
-machine pc,usb=maybe                  @: Parameter 'usb' expects .*'maybe'
-machine memory-backend=nope           -machine memory-backend=nope
-M q35 -smp 256                        -smp 256: .*256.*'pc-q35-10.0' takes at most 255
-smp 2,sockets=3                       @: .*sockets \(3\).*maxcpus \(2\)
-smp 4,maxcpus=2                       @: .*maxcpus \(2\) < cpus \(4\)
-smp 0                                 @: .*'cpus' must be greater
-smp books=2                           @: .*'books=2'
-smp clusters=2                        @: .*'clusters=2'
-accel foo                             @: .*'foo'
-accel hvf -accel bar                  -accel hvf: .*'hvf'
-machine accel=foo:bar                 @: .*'foo'
-accel tcg,foo=1                       @: .*foo' not found
-accel tcg,thread=foo                  @: .*'thread' .*'foo'
-cpu foo                               @: .*'foo'
-cpu qemu64,foo=1                      @: .*foo' not found
-device foo                            @: 'foo'
-device isa-serial,foo=1               @: .*foo' not found
-device isa-serial,index=x             @: Parameter 'index' .*'x'
-object foo,id=a                       @: .*'foo'
-object rng-random,id=a,foo=1          @: .*foo' not found
-chardev foo,id=a                      @: 'foo'
-serial foo                            @: 'foo'
-serial chardev:nope                   @: .*'nope'
-monitor foo                           @: 'foo'
-mon nope                              @: .*'nope'
-qtest foo                             @: 'foo'
-parallel null                         @: a parallel port is not available
-vga std                               @: .* not available
-kernel /nonexistent                   '/nonexistent'
-bios /nonexistent                     '/nonexistent'
-fw_cfg name=opt/a,file=/nonexistent   -fw_cfg opt/a: .*/nonexistent
-smbios type=99                        -smbios type=99: .*99
-d foo                                 -d: 'foo'
-D /nonexistent/x -d int               -D: .*'/nonexistent/x'
-trace events=/nonexistent             @: .*
-serial stdio -monitor stdio           stdio
-add-fd fd=99,set=1                    @: .*99
-run-with user=no-such-user            @: .*'no-such-user'
-daemonize -serial stdio               -serial stdio: cannot use stdio with -daemonize
-daemonize -monitor stdio              -monitor stdio: cannot use stdio with -daemonize
-daemonize -chardev stdio,id=a         -chardev stdio,id=a: cannot use stdio with -daemonize
"""


def check_answers(checks, emulator):
    p = cli.run(emulator, ['-version'])
    checks.check(p.returncode == 0 and not p.stderr and
                 re.match(r'QEMU emulator version 10\.0\.0 \(cleat-\d+\.\d+\.\d+\)\n[^\n]+\n$', p.stdout),
                 '-version: %r' % p.stdout)
    checks.check(cli.run(emulator, ['--version']).stdout == p.stdout, '--version equals -version')
    p = cli.run(emulator, ['-help'])
    for name in ('-machine', '-overcommit [mem-lock=on|off|on-fault]', '-S ', '-sandbox', '-object'):
        checks.check(('\n' + name) in p.stdout, '%s in -help' % name)
    checks.check(p.returncode == 0 and not p.stderr, '-help succeeds')
    checks.check(cli.run(emulator, ['-h']).stdout == p.stdout, '-h equals -help')
    p = cli.run(emulator, ['-msg', 'timestamp=on,guest-name=on', '-name', 'alice', '-machine', 'foo'])
    checks.check(re.match(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z alice %s: -machine foo: ' % cli.PROGRAM, p.stderr),
                 '-msg: %r' % p.stderr)
    for option, line in [('-display', 'none '), ('-vga', 'none '), ('-d', 'in_asm'), ('-d', 'exec'),
                         ('-trace', 'runstate_set')]:
        p = cli.run(emulator, [option, 'help'])
        checks.check(p.returncode == 0 and ('\n' + line) in p.stdout, '%s help lists %s' % (option, line))
    p = cli.run(emulator, ['-d', 'trace:help'])
    checks.check(p.returncode == 0 and 'runstate_set' in p.stdout, '-d trace:help lists the events')
    p = cli.run(emulator, ['-overcommit', 'help'])
    checks.check(p.returncode == 0 and 'mem-lock' in p.stdout, '-overcommit help lists its keys')


def main():
    emulator, checks = sys.argv[1], cli.Checks()
    for line in CASES.strip().splitlines():
        command, pattern = re.split(r'\s{2,}', line, maxsplit=1) if '  ' in line else (line, '')
        pattern = pattern.replace('@', re.escape(' '.join(shlex.split(command))), 1)
        cli.expect_refusal(checks, emulator, shlex.split(command),
                           r'(?m)^(?!.*warning: )%s: .*%s' % (cli.PROGRAM, pattern))
    check_answers(checks, emulator)
    checks.end()


main()
