#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh SOURCE_DIR BITS END OUT: one payload ROM (64 KiB) for -bios.
set -eu
src=$1 bits=$2 end=$3 out=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-m$bits -DEND=$end -O1 -ffreestanding -fno-pic -fno-pie -fno-stack-protector -fcf-protection=none
 -fno-asynchronous-unwind-tables -mno-red-zone -mgeneral-regs-only -Wall -Werror"
[ "$bits" = 64 ] || flags="$flags -march=i686"
# shellcheck disable=SC2086 # a list of flags
gcc $flags -c "$src/payload.c" -o "$work/payload.o"
# shellcheck disable=SC2086
gcc $flags -c "$src/start.S" -o "$work/start.o"
emulation=elf_x86_64
[ "$bits" = 64 ] || emulation=elf_i386
ld -m $emulation -T "$src/payload.ld" --no-warn-rwx-segments "$work/start.o" "$work/payload.o" -o "$work/payload.elf"
objcopy -O binary -j .text -j .reset "$work/payload.elf" "$out"
truncate -s 65536 "$out"
