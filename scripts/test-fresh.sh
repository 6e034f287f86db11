#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test-fresh.sh [test.sh options]: makes a minimal Debian 12 with debootstrap, copies the committed tree into it, and
# runs scripts/test.sh there: a package that the scripts forget to install shows up here. Needs root.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
packages_install debootstrap git
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
root=$(mktemp -d "${TMPDIR:-/tmp}/cleat-fresh.XXXXXX")
chmod 755 "$root"           # as / is elsewhere: some tests become an ordinary user
cleanup() {
    for d in proc dev/pts dev sys; do mountpoint -q "$root/$d" && umount -l "$root/$d"; done
    rm -rf --one-file-system "$root"
}
trap cleanup EXIT
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
rm -f "$root.log"
rm -f "$root/etc/apt/sources.list"
for f in /etc/apt/sources.list /etc/resolv.conf /etc/hosts; do [ -e "$f" ] && cp -L "$f" "$root$f"; done
for d in sources.list.d apt.conf.d trusted.gpg.d keyrings; do
    [ -d "/etc/apt/$d" ] && cp -rL "/etc/apt/$d" "$root/etc/apt/"
done
[ -d /usr/share/keyrings ] && cp -rn /usr/share/keyrings "$root/usr/share/"
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts"
mount -t proc proc "$root/proc"
mount --bind /sys "$root/sys"
mkdir "$root/cleat"
git archive HEAD | tar -x -C "$root/cleat"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CLEAT_FRESH=1 \
    chroot "$root" bash /cleat/scripts/test.sh "$@"
