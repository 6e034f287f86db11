# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# The Debian packages that Cleat needs, in one place; sourced by quickstart.sh and test.sh.

PACKAGES_BUILD="gcc libc6-dev make meson ninja-build pkg-config python3 libglib2.0-dev libjson-c-dev
 libseccomp-dev libcap-ng-dev zlib1g-dev libzstd-dev liblzma-dev liblz4-dev libbz2-dev libfdt-dev
 libcapstone-dev liburing-dev check libsubunit-dev"
PACKAGES_GUEST="busybox-static cpio xz-utils gzip zstd lz4 bzip2"
# Beyond these, what only the tests use: table checkers, peers, fuzzers, cross compilers, the sandbox.
PACKAGES_TEST="acpica-tools dmidecode qemu-system-x86 seabios clang libclang-rt-14-dev llvm
 gcc-mingw-w64-x86-64 binutils gdb socat strace util-linux git debootstrap"
# What tests/bench/bench-guest.py runs in its guests: a compiler, and programs built for i686.
PACKAGES_BENCH="tcc gcc-multilib"
# What test.sh --long needs besides: a host with a whole VMX, where there is no /dev/kvm.
PACKAGES_LONG="bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso"

# packages_install NAME...: installs those that are missing; says so first.
packages_install() {
    missing=
    for p in "$@"; do
        dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || { echo "These packages are missing (run as root to install them):$missing" >&2; return 1; }
    echo "Installing:$missing"
    apt_log=$(mktemp)
    # shellcheck disable=SC2086 # a list of names
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
            >"$apt_log" 2>&1; then
        tail -20 "$apt_log" >&2
        rm -f "$apt_log"
        echo "Installing packages failed" >&2
        return 1
    fi
    rm -f "$apt_log"
}

# kernel_fetch DIR: Debian's cloud kernel as DIR/vmlinuz, and its modules below DIR/root/lib; fetched once.
kernel_fetch() {
    dir=$1
    [ -s "$dir/vmlinuz" ] && return 0
    mkdir -p "$dir/deb"
    apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 || apt-get update >/dev/null
    name=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: *\(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [ -n "$name" ] || { echo "No Debian cloud kernel in apt's lists (linux-image-cloud-amd64)" >&2; return 1; }
    (cd "$dir/deb" && apt-get -o APT::Sandbox::User=root download "$name" >/dev/null) || return 1
    dpkg-deb -x "$dir"/deb/*.deb "$dir/root"
    cp "$dir"/root/boot/vmlinuz-* "$dir/vmlinuz.tmp"
    mv "$dir/vmlinuz.tmp" "$dir/vmlinuz"
    rm -rf "$dir/deb"
}

# node_fetch DIR: Debian's Node.js with its libraries as the tree DIR/node, for guests; fetched once.
node_fetch() {
    dir=$1
    [ -x "$dir/node/usr/bin/node" ] && return 0
    rm -rf "$dir/node.tmp" && mkdir -p "$dir/node.tmp/deb" "$dir/node.tmp/root"
    apt-cache show libnode108 >/dev/null 2>&1 || apt-get update >/dev/null
    version=$(apt-cache madison libnode108 | sed -n '1s/.*| *\([^ ]*\) *|.*/\1/p')
    [ -n "$version" ] || { echo "No Node.js of Debian in apt's lists (libnode108)" >&2; return 1; }
    names=$(apt-cache depends libnode108 | sed -n 's/^ *Depends: *\([a-z].*\)/\1/p')
    # shellcheck disable=SC2086 # a list of names
    (cd "$dir/node.tmp/deb" && apt-get -o APT::Sandbox::User=root download "nodejs=$version" "libnode108=$version" \
        $names >/dev/null) || return 1
    for deb in "$dir"/node.tmp/deb/*.deb; do
        dpkg-deb -x "$deb" "$dir/node.tmp/root" || return 1
    done
    # Without what no program needs: documentation, character sets, libraries that are there for others.
    (cd "$dir/node.tmp/root" && rm -rf usr/share/doc usr/share/man usr/share/lintian usr/include \
        usr/lib/x86_64-linux-gnu/gconv && find . -name '*.py' -delete)
    rm -rf "$dir/node" && mv "$dir/node.tmp/root" "$dir/node"
    rm -rf "$dir/node.tmp"
}
