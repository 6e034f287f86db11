#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# From a fresh Debian 12 to a booted guest: installs what is missing, builds, boots Debian's cloud kernel with a
# busybox initramfs on the serial console, and prints the guest's line BOOT-OK, the boot time, VmRSS and VmLck.
# Exit status 0 when the guest came up. A second run only boots.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

# shellcheck disable=SC2086 # lists of names
packages_install $PACKAGES_BUILD $PACKAGES_GUEST
mkdir -p build
[ -f build/build.ninja ] || ./configure >build/configure.log 2>&1 || { tail -20 build/configure.log >&2; exit 1; }
ninja -C build qemu-system-x86_64 >build/quickstart.log 2>&1 || { tail -20 build/quickstart.log >&2; exit 1; }

guest=build/guest
kernel_fetch "$guest"
[ -s "$guest/initramfs.cpio.gz" ] || tests/boot/mkinitramfs.sh "$guest/initramfs.cpio.gz"

exec python3 scripts/quickstart-boot.py build/qemu-system-x86_64 "$guest/vmlinuz" "$guest/initramfs.cpio.gz" "$@"
