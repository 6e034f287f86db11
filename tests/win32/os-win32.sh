#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compiles and links os-win32.c and its test with mingw-w64, and runs the test where wine is installed.
# usage: os-win32.sh SOURCE_DIR ; exit status 77 (skipped) where the compiler is missing.
set -eu
src=$1
cc=x86_64-w64-mingw32-gcc
command -v $cc >/dev/null || { echo "$cc is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
$cc -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -Werror -I"$src/tests/win32/shim" -I"$src/include" \
    -o "$dir/test-os-win32.exe" "$src/os-win32.c" "$src/tests/win32/test-os-win32.c"
echo "compiled and linked"
for wine in wine wine64; do
  if command -v $wine >/dev/null; then
    cd "$dir" && WINEPREFIX="$dir/prefix" WINEDEBUG=-all $wine test-os-win32.exe
    exit
  fi
done
echo "wine is not installed: not run"
