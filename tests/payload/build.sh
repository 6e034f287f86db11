#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh SOURCE_DIR BITS END OUT ELF: one payload ROM (64 KiB) for -bios, and the same with symbols. BITS: 16, 32, 64.
set -eu
src=$1 bits=$2 end=$3 out=$4 elf=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-m$bits -DEND=$end -O1 -ffreestanding -fno-pic -fno-pie -fno-stack-protector -fcf-protection=none
 -fno-asynchronous-unwind-tables -mno-red-zone -mgeneral-regs-only -fno-jump-tables -Wall -Werror"
[ "$bits" = 64 ] || flags="$flags -march=i686"
[ "$bits" != 16 ] || flags="$flags -DBITS16"
parts="start.S payload.c"
[ "$end" != 4 ] || parts="$parts accel.c"
[ "$end" != 5 ] || parts="$parts rescue.c"
objects=
for part in $parts; do
    # shellcheck disable=SC2086 # a list of flags
    gcc $flags -c "$src/$part" -o "$work/$part.o"
    objects="$objects $work/$part.o"
done
emulation=elf_x86_64
data=0x10000
[ "$bits" != 16 ] || data=0x9000    # -m16 makes 16-bit addresses
[ "$bits" = 64 ] || emulation=elf_i386
# shellcheck disable=SC2086 # a list of files
ld -m $emulation --defsym=DATA=$data -T "$src/payload.ld" --no-warn-rwx-segments $objects -o "$elf"
objcopy -O binary -j .text -j .reset "$elf" "$out"
truncate -s 65536 "$out"
