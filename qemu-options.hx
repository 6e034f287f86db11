# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every option of the command line, one row each. scripts/hxtool.py makes the parser's table
# (C), the text of -help and the manual page docs/user/options from it.
#
#   section TITLE            starts a group of rows in -help and in the manual
#   option NAME [ALIAS...]   starts a row; "-NAME" and "--NAME" are the same
#   arg TEXT                 how the argument is written (a row without `form flag` takes one);
#                            further `arg` lines are further spellings
#   form flag | string | flat [IMPLIED] | tree [IMPLIED]     with the word `json`: also {...}
#                            what the argument is; see include/util/keyval.h
#   key NAME TYPE[:WORDS] TEXT   a known key; a row without any takes every key
#   set FUNCTION             config_FUNCTION() of include/system/config.h takes it
#   missing TEXT             nothing takes it yet: TEXT is the part that it waits for
#   elsewhere                an option of other targets only
#   help TEXT                a line of -help
#   text TEXT                the manual's words beyond the help lines (reStructuredText);
#                            an empty one starts a new paragraph

section Standard options

option help h
form flag
set help
help print this summary and end

option version
form flag
set version
help print the version and end

option machine M
arg [type=]NAME[,PROPERTY=VALUE]...
form tree type json
set machine
help choose the machine and set its properties ('-machine help' lists machines)
help   accel=A[:B]...         accelerators to try in turn (kvm, tcg, qtest)
help   kernel-irqchip=on|off|split   interrupt controllers in the kernel (kvm)
help   smm=on|off|auto        system management mode
help   acpi=on|off|auto       ACPI tables
help   hpet=on|off            the HPET timer
help   vmport=on|off|auto     the VMware port
help   usb=on|off             a USB controller on board
help   graphics=on|off        a graphics card on board
help   dump-guest-core=on|off guest memory in core dumps of the emulator
help   mem-merge=on|off       let the host merge equal pages (KSM)
help   memory-backend=ID      main memory is this -object
text The option may be given several times: properties add up and the last value counts.
text
text The topology of ``-smp``, the memory of ``-m`` and the order of ``-boot`` are properties of
text the machine too: ``-machine smp.cpus=2,memory.size=1G,boot.order=d`` is the long spelling.

option cpu
arg MODEL[,+FLAG][,-FLAG][,FLAG=VALUE]...
form string
set cpu
help choose the CPU model and switch its features ('-cpu help' lists both)

option accel
arg [accel=]NAME[,PROPERTY=VALUE]...
form flat accel
set accel
help choose what runs guest code ('-accel help' lists accelerators); given
help several times, the first that works on this host is taken
help   kernel-irqchip=on|off|split   interrupt controllers in the kernel (kvm)
help   dirty-ring-size=N      entries of the dirty ring, 0 for the bitmap (kvm)
help   device=PATH            instead of /dev/kvm (kvm)
help   thread=single|multi    one host thread for all CPUs, or one each (tcg)
help   tb-size=N              limit of the translation cache in MiB (tcg)
help   one-insn-per-tb=on|off translate one instruction at a time (tcg)

option smp
arg [[cpus=]N][,maxcpus=N][,sockets=N][,dies=N][,clusters=N][,modules=N][,cores=N][,threads=N]
form tree cpus json
key cpus uint CPUs present at start
key maxcpus uint upper limit, with those that may be plugged later
key drawers uint drawers in the machine (always 1 on x86)
key books uint books in a drawer (always 1 on x86)
key sockets uint sockets in the machine
key dies uint dies in a socket
key clusters uint clusters in a die (always 1 on x86)
key modules uint modules in a cluster
key cores uint cores in a module
key threads uint threads in a core
set smp
help number of CPUs and their topology; what is left out is worked out so that
help the product of the levels is the number of CPUs
text Cores are preferred: ``-smp 4`` is one socket of four cores. Up to 255 CPUs.

option numa
arg node|dist|cpu|hmat-lb|hmat-cache,...
form flat type json
missing a NUMA topology
help describe NUMA nodes

option add-fd
arg fd=N,set=N[,opaque=TEXT]
form flat
key fd int descriptor inherited from the parent
key set int descriptor set to put it in
key opaque string free text for the manager's use
set add_fd
help put an inherited file descriptor in a set; /dev/fdset/N then names it

option set
arg GROUP.ID.KEY=VALUE
form string
missing setting a parameter of an earlier option afterwards
help set one parameter of an item that an earlier option made

option global
arg DRIVER.PROPERTY=VALUE
arg driver=DRIVER,property=PROPERTY,value=VALUE
form string
set global
help default value of a property of all devices of that driver

option boot
arg [order=DRIVES][,once=DRIVES][,menu=on|off][,splash=FILE][,splash-time=MS][,reboot-timeout=MS][,strict=on|off]
form tree order json
key order string drives to try: a, b floppy, c disk, d CD-ROM, n network
key once string the order for the first boot only
key menu bool show the firmware's boot menu
key splash string picture to show meanwhile
key splash-time int milliseconds for which it stays
key reboot-timeout int milliseconds before the next try after a failed boot, -1 for never
key strict bool boot from nothing but the devices with a bootindex
set boot
help what to boot from

option m
arg [size=]MIB[,slots=N][,maxmem=SIZE]
form flat size json
key size size memory at start; a bare number counts MiB
key slots uint slots for memory plugged later
key maxmem size limit with plugged memory
set memory
help guest memory (128 MiB unless given)

option mem-path
arg PATH
form string
missing file-backed main memory by -mem-path (use -object memory-backend-file and -machine memory-backend=)
help keep guest memory in a file or in files of a directory

option mem-prealloc
form flag
missing preallocation by -mem-prealloc (use -object memory-backend-ram,prealloc=on)
help allocate all guest memory at start

option k
arg LANGUAGE
form string
missing a display with a keyboard layout
help keyboard layout (for displays that need one)

option audio
arg [driver=]DRIVER[,PROPERTY=VALUE]...
form flat driver
missing sound
help default audio back end

option audiodev
arg [driver=]DRIVER,id=ID[,PROPERTY=VALUE]...
form flat driver json
missing sound
help an audio back end

option device
arg DRIVER[,PROPERTY=VALUE]...
form flat driver json
set device
help add a device ('-device help' lists drivers, '-device DRIVER,help' properties)

option name
arg [guest=]NAME[,process=NAME][,debug-threads=on|off]
form flat guest
key guest string name of the guest, for titles and messages
key process string name of the host process
key debug-threads bool name the host threads after their work
set name
help name the guest, the process and its threads

option uuid
arg XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX
form string
set uuid
help UUID of the machine

section Disks and file systems

option fda
arg FILE
form string
missing the floppy controller
help image of floppy drive 0

option fdb
arg FILE
form string
missing the floppy controller
help image of floppy drive 1

option hda
arg FILE
form string
missing a disk
help image of disk 0

option hdb
arg FILE
form string
missing a disk
help image of disk 1

option hdc
arg FILE
form string
missing a disk
help image of disk 2

option hdd
arg FILE
form string
missing a disk
help image of disk 3

option cdrom
arg FILE
form string
missing a CD-ROM drive
help image of the CD-ROM drive

option blockdev
arg [driver=]DRIVER[,node-name=NAME][,PROPERTY=VALUE]...
form tree driver json
missing the block layer
help a block back end

option drive
arg [file=FILE][,if=TYPE][,format=FORMAT][,index=N][,media=disk|cdrom][,id=ID][,PROPERTY=VALUE]...
form flat
missing the block layer
help a drive: back end and disk in one

option mtdblock
arg FILE
form string
missing on-board flash memory as a block device
help image of on-board flash memory

option sd
arg FILE
form string
missing an SD card reader
help image of an SD card

option snapshot
form flag
missing the block layer
help write to temporary files instead of the images

option fsdev
arg local|synth,id=ID[,PROPERTY=VALUE]...
form flat fsdriver
missing file sharing by 9p
help a shared folder's back end

option virtfs
arg local|synth,mount_tag=TAG[,PROPERTY=VALUE]...
form flat fsdriver
missing file sharing by 9p
help a shared folder: back end and device in one

option iscsi
arg [user=NAME][,password-secret=ID][,PROPERTY=VALUE]...
form flat
missing iSCSI
help parameters of iSCSI sessions

section USB

option usb
form flag
set usb
help a USB controller on board (-machine usb=on)

option usbdevice
arg NAME
form string
missing USB
help plug a USB device

section Display

option display
arg none|gtk|sdl|curses|vnc=...|spice-app|egl-headless|dbus[,PROPERTY=VALUE]...
form string
set display
help what shows the guest's screen; none: nothing does

option nographic
form flag
set nographic
help no screen; serial port and monitor share the terminal (Ctrl-A h for help)

option spice
arg [port=N][,PROPERTY=VALUE]...
form flat
missing the SPICE server
help serve the guest's screen by SPICE

option vga
arg std|cirrus|vmware|qxl|virtio|none
form string
set vga
help graphics card

option full-screen
form flag
missing a display window
help start with the window filling the screen

option vnc
arg DISPLAY[,PROPERTY=VALUE]...
form string
missing the VNC server
help serve the guest's screen by VNC

section x86

option win2k-hack
form flag
missing the IDE quirk for installing Windows 2000
help slow down disk interrupts while Windows 2000 is installed

option no-fd-bootchk
form flag
set no_fd_bootchk
help let the firmware boot floppies without a boot signature

option acpitable
arg [sig=TEXT][,rev=N][,oem_id=TEXT][,{data|file}=FILE[:FILE]]...
form flat
missing a user's own ACPI table
help add an ACPI table

option smbios
arg file=FILE
arg type=N[,FIELD=VALUE]...
form flat
set smbios
help add an SMBIOS structure from a file, or set fields of types 0, 1, 2, 3, 4,
help 8, 9, 11, 17 and 41

section Network

option netdev
arg TYPE,id=ID[,PROPERTY=VALUE]...
form flat type json
missing networking
help a network back end

option nic
arg TYPE[,model=MODEL][,mac=MAC][,PROPERTY=VALUE]...
arg none
form string
set nic
help a network card with its back end; none: no card at all

option net
arg nic|TYPE[,PROPERTY=VALUE]...
arg none
form string
set nic
help the older spelling of -nic

section Character devices

option chardev
arg BACKEND,id=ID[,mux=on|off][,logfile=FILE][,logappend=on|off][,PROPERTY=VALUE]...
form flat backend
set chardev
help a character back end ('-chardev help' lists them), which serial ports,
help monitors and others name by its id

section TPM

option tpmdev
arg passthrough|emulator,id=ID[,PROPERTY=VALUE]...
form flat type
missing a TPM
help a TPM back end

section Kernel and firmware

option bios
arg FILE
form string
set bios
help firmware image

option pflash
arg FILE
form string
missing flash memory
help image of a flash chip

option kernel
arg FILE
form string
set kernel
help boot this Linux kernel (bzImage, or an ELF vmlinux)

option shim
arg FILE
form string
missing booting through a shim
help EFI shim to start the kernel with

option append
arg TEXT
form string
set append
help command line of the kernel

option initrd
arg FILE
form string
set initrd
help initial RAM disk of the kernel

option dtb
arg FILE
form string
missing a device tree
help device tree for the kernel

section Debugging and experts

option compat
arg [deprecated-input=accept|reject|crash][,deprecated-output=accept|hide][,unstable-input=...][,unstable-output=...]
form tree
missing a policy for deprecated and unstable interfaces
help what to do about deprecated and unstable QMP interfaces

option fw_cfg
arg [name=]NAME,file=FILE
arg [name=]NAME,string=TEXT
form flat name
key name string path of the item; opt/... is for users
key file string its contents are those of this file
key string string its contents are this text
key gen_id string its contents come from this -object
set fw_cfg
help add an item to the firmware configuration device

option serial
arg CHARDEV
form string
set serial
help where the next serial port leads

option parallel
arg CHARDEV
form string
set parallel
help where the next parallel port leads

option monitor
arg CHARDEV
form string
set monitor
help where the monitor for people (HMP) leads

option qmp
arg CHARDEV
form string
set qmp
help where a monitor for programs (QMP) leads

option qmp-pretty
arg CHARDEV
form string
set qmp_pretty
help the same, with answers set out for reading

option mon
arg [chardev=]ID[,mode=readline|control][,pretty=on|off]
form flat chardev
key chardev string id of the -chardev
key mode word:readline|control for people (readline) or for programs (control)
key pretty bool set answers out for reading (control)
key id string id of the monitor
set mon
help a monitor on a -chardev

option debugcon
arg CHARDEV
form string
set debugcon
help where the debug console (port 0xe9) leads

option pidfile
arg FILE
form string
set pidfile
help write the process id to a file

option preconfig
form flag
missing the stop before the machine is made
help stop before the machine is made

option S
form flag
set stopped
help do not start the CPUs (the monitor's 'c' does)

option overcommit
arg [mem-lock=on|off|on-fault][,cpu-pm=on|off]
form flat
key mem-lock word:off|on|on-fault lock the memory of the process
key cpu-pm bool leave power management to the guest
set overcommit
help what the host's memory and CPUs are shared with
help   mem-lock=on        lock all memory at once (nothing is swapped or migrated)
help   mem-lock=on-fault  lock each page once it is touched
help   cpu-pm=on          let idle guest CPUs keep the host's CPUs
text May be given several times; a key that is left out keeps its earlier value.
text
text Locking keeps the host from swapping guest memory out and from migrating its pages. ``on``
text costs all memory at once; ``on-fault`` costs only what is in use. The process needs
text CAP_IPC_LOCK or a sufficient RLIMIT_MEMLOCK (``ulimit -l``); otherwise it ends with an error.

option gdb
arg DEVICE
form string
set gdb
help accept a debugger's connection there (-gdb tcp::1234; see also -S)
text gdb's remote protocol on a character device in its short form: ``tcp::1234``, ``unix:PATH,server=on,wait=off``,
text ``chardev:ID``, ``stdio``, ``pty``; ``none`` for none. TCP is always a server that does not wait. A debugger that
text connects stops the machine; its threads are the CPUs. In gdb: ``target remote :1234``.

option s
form flag
set gdb_default
help short for -gdb tcp::1234

option d
arg ITEM[,ITEM]...
form string
set log_items
help log these items ('-d help' lists them)

option D
arg FILE
form string
set log_file
help where the log goes (standard error unless given)

option dfilter
arg RANGE[,RANGE]...
form string
missing an address filter for the log
help log only code in these address ranges (START..END, START+LEN, START-LEN)

option seed
arg NUMBER
form string
missing a fixed seed for the guest's random numbers
help seed of the random numbers that the emulator makes

option L
arg PATH
form string
set data_dir
help look here first for firmware and other data files ('-L help' lists folders)

option enable-kvm
form flag
set enable_kvm
help run guest code by KVM (-accel kvm)

option xen-domid
arg ID
form string
elsewhere
help the Xen domain to serve

option xen-attach
form flag
elsewhere
help attach to a Xen domain that is there already

option xen-domid-restrict
form flag
elsewhere
help give up access to other Xen domains

option no-reboot
form flag
set no_reboot
help end where the guest reboots (-action reboot=shutdown)

option no-shutdown
form flag
set no_shutdown
help stop, but do not end, where the guest powers off (-action shutdown=pause)

option action
arg reboot=reset|shutdown
arg shutdown=poweroff|pause
arg panic=pause|shutdown|exit-failure|none
arg watchdog=reset|shutdown|poweroff|inject-nmi|pause|debug|none
form flat
key reboot word:reset|shutdown when the guest reboots
key shutdown word:poweroff|pause when the guest powers off
key panic word:pause|shutdown|exit-failure|none when the guest panics
key watchdog word:reset|shutdown|poweroff|inject-nmi|pause|debug|none when a watchdog expires
set action
help what to do at events of the guest

option loadvm
arg TAG
form string
missing saved states of the machine
help start from a saved state

option daemonize
form flag
set daemonize
help go on in the background once the machine is ready

option option-rom
arg [romfile=]FILE[,bootindex=N]
form flat romfile
key romfile string the ROM's image
key bootindex int its place in the firmware's boot order
set option_rom
help give the firmware an option ROM

option rtc
arg [base=utc|localtime|DATE[THH:MM:SS]][,clock=host|rt|vm][,driftfix=none|slew]
form flat
key base string time at start: utc, localtime or a date
key clock word:host|rt|vm which clock drives it
key driftfix word:none|slew make up for lost timer ticks
set rtc
help the real-time clock

option icount
arg [shift=N|auto][,align=on|off][,sleep=on|off][,rr=record|replay,rrfile=FILE]
form flat shift
missing counting instructions as time
help virtual time by counting instructions; record and replay

option watchdog-action
arg reset|shutdown|poweroff|inject-nmi|pause|debug|none
form string
set watchdog_action
help what to do when a watchdog expires (-action watchdog=)

option echr
arg NUMBER
form string
set echr
help escape character of the shared terminal (1 is Ctrl-A)

option incoming
arg URI|CHANNEL
form string
missing migration
help wait for a migrated guest

option only-migratable
form flag
set only_migratable
help refuse devices that cannot be migrated

option nodefaults
form flag
set nodefaults
help leave out the default devices

option prom-env
arg NAME=VALUE
form string
elsewhere
help set a variable of OpenBIOS

option semihosting
form flag
elsewhere
help serve the guest's semihosting calls

option semihosting-config
arg [enable=on|off][,target=native|gdb|auto][,PROPERTY=VALUE]...
form flat enable
elsewhere
help how semihosting calls are served

option old-param
form flag
elsewhere
help the old way of passing parameters to an Arm kernel

option sandbox
arg on|off[,obsolete=allow|deny][,elevateprivileges=allow|deny|children][,spawn=allow|deny][,resourcecontrol=allow|deny]
form flat enable
key enable bool filter the process's own system calls
key obsolete word:allow|deny system calls that no modern library uses
key elevateprivileges word:allow|deny|children changing user and group; children: only processes started from here may not gain rights
key spawn word:allow|deny starting processes
key resourcecontrol word:allow|deny changing priorities and CPU affinity
set sandbox
help filter the system calls of the emulator (seccomp)

option readconfig
arg FILE
form string
missing reading options from a file
help read options from a file

option no-user-config
form flag
set no_user_config
help do not read configuration files of the user

option trace
arg [[enable=]PATTERN][,events=FILE][,file=FILE]
form flat enable
key enable string events to trace
key events string file with one event or pattern a line
key file string where the trace goes
set trace
help trace events ('-trace help' lists them)

option plugin
arg [file=]FILE[,NAME=VALUE]...
form flat file
missing instrumentation plugins
help load a plugin

option qtest
arg CHARDEV
form string
set qtest
help serve the device-test protocol

option qtest-log
arg FILE
form string
set qtest_log
help log the device-test protocol

option run-with
arg [async-teardown=on|off][,chroot=DIR][,user=NAME|UID:GID]
form flat
key async-teardown bool give guest memory back in a process of its own after the end
key chroot string root directory, from the start of the machine on
key user string user (or uid:gid), from the start of the machine on
set run_with
help how the process lives
text ``chroot`` and ``user`` take effect when everything that the command line names is open.

option msg
arg [timestamp=on|off][,guest-name=on|off]
form flat
key timestamp bool the time before each message
key guest-name bool the guest's name before each message
set msg
help what stands before messages

option dump-vmstate
arg FILE
form string
missing a description of the saved state as JSON
help describe the saved state and end

option enable-sync-profile
form flag
missing lock profiling
help count how long locks are waited for

option perfmap
form flag
missing the map of translated code for perf
help write /tmp/perf-PID.map

option jitdump
form flag
missing the dump of translated code for perf
help write jit-PID.dump

section Objects

option object
arg TYPE,id=ID[,PROPERTY=VALUE]...
form tree qom-type json
set object
help make an object ('-object help' lists types, '-object TYPE,help' properties)
