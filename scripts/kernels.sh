# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# More guests from Debian than the one of packages.sh, for the matrix of tests/boot/test-matrix.py; sourced by test.sh,
# or run by hand from the source's root: sh -c '. scripts/kernels.sh; kernels_fetch build/guest'.
#
# kernels_fetch DIR puts these into DIR, each fetched once, by apt from the mirror that the system uses, with lists of
# its own so that nothing of the system changes:
#   vmlinuz-generic  Debian 12's linux-image-amd64            vmlinuz-686   linux-image-686-pae (i386)
#   vmlinuz-next     trixie's linux-image-cloud-amd64         memtest.bin   memtest86+ (a bare image for -kernel)
#   initramfs-686.cpio.gz   our initramfs with an i386 busybox

KERNELS_SUITE=bookworm
KERNELS_NEXT=trixie

# The system's Debian mirror.
kernels_mirror() {
    # shellcheck disable=SC2016 # apt's own format
    uri=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | grep 'debian/*$' | head -n 1)
    [ -n "$uri" ] || { echo "apt has no Debian mirror in its sources" >&2; return 1; }
    echo "$uri"
}

# kernels_apt WORK ARCH COMMAND...: apt-get or apt-cache with the lists below WORK.
kernels_apt() {
    root=$1 arch=$2 program=$3
    shift 3
    "$program" -o Dir::Etc::SourceList="$root/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State="$root/state" -o Dir::State::status="$root/status" -o Dir::Cache="$root/cache" \
        -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Sandbox::User=root \
        -o Acquire::Languages=none "$@"
}

# kernels_deb WORK SUITE ARCH PACKAGE: unpacks the package, or the one that it depends on, below WORK/out.
kernels_deb() {
    work=$1 suite=$2 arch=$3 package=$4
    root=$work/$suite-$arch
    if [ ! -s "$root/sources.list" ]; then
        mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial"
        : >"$root/status"
        keys=/usr/share/keyrings/debian-archive-keyring.gpg
        mirror=$(kernels_mirror) || return 1
        echo "deb [signed-by=$keys] $mirror $suite main" >"$root/sources.list"
        kernels_apt "$root" "$arch" apt-get update >"$root/log" 2>&1 || { cat "$root/log" >&2; return 1; }
    fi
    real=$(kernels_apt "$root" "$arch" apt-cache depends "$package" \
        | sed -n 's/^ *Depends: *\(linux-image-[0-9].*\)/\1/p' | head -n 1)
    rm -rf "$work/out" "$work/deb"
    mkdir -p "$work/out" "$work/deb"
    (cd "$work/deb" && kernels_apt "$root" "$arch" apt-get download "${real:-$package}" >/dev/null) || return 1
    for deb in "$work"/deb/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/out" --exclude='./lib/modules' --exclude='./usr/lib/modules'
    done
}

# kernels_one DIR NAME SUITE ARCH PACKAGE GLOB: the package's file as DIR/NAME.
kernels_one() {
    dir=$1 name=$2 glob=$6
    [ -s "$dir/$name" ] && return 0
    work=$dir/fetch
    kernels_deb "$work" "$3" "$4" "$5" || return 1
    # shellcheck disable=SC2086 # a pattern
    cp "$work"/out/$glob "$dir/$name.tmp" && mv "$dir/$name.tmp" "$dir/$name"
    rm -rf "$work/out" "$work/deb"
}

kernels_fetch() {
    mkdir -p "$1" && guest_dir=$(cd "$1" && pwd) || return 1
    kernels_one "$guest_dir" vmlinuz-generic $KERNELS_SUITE amd64 linux-image-amd64 'boot/vmlinuz-*' \
        && kernels_one "$guest_dir" vmlinuz-686 $KERNELS_SUITE i386 linux-image-686-pae 'boot/vmlinuz-*' \
        && kernels_one "$guest_dir" vmlinuz-next $KERNELS_NEXT amd64 linux-image-cloud-amd64 'boot/vmlinuz-*' \
        && kernels_one "$guest_dir" memtest.bin $KERNELS_SUITE amd64 memtest86+ 'boot/memtest86*x64.bin' \
        && kernels_one "$guest_dir" busybox-686 $KERNELS_SUITE i386 busybox-static 'bin/busybox' || return 1
    rm -rf "$guest_dir/fetch"
    [ -s "$guest_dir/initramfs-686.cpio.gz" ] \
        || BUSYBOX=$guest_dir/busybox-686 tests/boot/mkinitramfs.sh "$guest_dir/initramfs-686.cpio.gz"
}
