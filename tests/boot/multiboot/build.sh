#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh SOURCE_DIR KIND OUT: the multiboot test kernel. KIND: elf; bin (no ELF file, its header gives addresses);
# video (asks for a video mode).
set -eu
src=$1 kind=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $kind in
elf) flags=0x3 ;;
bin) flags=0x10003 ;;
video) flags=0x7 ;;
esac
gcc -m32 -march=i686 -O1 -ffreestanding -fno-pic -fno-pie -fno-stack-protector -fcf-protection=none \
    -fno-asynchronous-unwind-tables -mgeneral-regs-only -Wall -Werror -DFLAGS_TEXT="\"$flags\"" \
    -c "$src/kernel.c" -o "$work/kernel.o"
ld -m elf_i386 -T "$src/kernel.ld" --no-warn-rwx-segments "$work/kernel.o" -o "$work/kernel.elf"
if [ "$kind" = bin ]; then
    objcopy -O binary "$work/kernel.elf" "$out"
else
    cp "$work/kernel.elf" "$out"
fi
