#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh SOURCE_DIR BITS OUT: the test kernel of that width as a 256 KiB ROM for -bios.
set -eu
src=$1 bits=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-m$bits -O1 -g0 -ffreestanding -fno-pic -fno-pie -fno-stack-protector -fcf-protection=none -fno-jump-tables
 -fno-asynchronous-unwind-tables -mno-red-zone -mgeneral-regs-only
 -fno-inline -fno-ipa-cp -fmax-errors=3 -Wall -Wextra -Werror"
emulation=elf_x86_64
if [ "$bits" = 32 ]; then
    flags="$flags -march=i686 -mregparm=0"
    emulation=elf_i386
fi
for file in "$src"/*.S "$src"/*.c "$src/k$bits"/*.c "$src/k$bits"/*.S; do
    echo "$work/o$(basename "$(dirname "$file")")-$(basename "$file").o $file"
done >"$work/list"
# shellcheck disable=SC2086
xargs -P4 -n2 gcc $flags -I"$src" -c -o <"$work/list"
ld -m $emulation -T "$src/bare.ld" --no-warn-rwx-segments "$work"/o*.o -o "$work/kernel.elf"
objcopy -O binary -j .text -j .low -j .snip "$work/kernel.elf" "$work/image"
objcopy -O binary -j .rom "$work/kernel.elf" "$work/rom"
truncate -s 258048 "$work/image"
cat "$work/image" "$work/rom" >"$out"
[ -z "${BARE_ELF:-}" ] || cp "$work/kernel.elf" "$BARE_ELF"
