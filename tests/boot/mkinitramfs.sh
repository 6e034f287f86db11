#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mkinitramfs.sh OUT [EXTRA...]: an initramfs (cpio.gz) of busybox-static and our init; EXTRA files go to /bin, what
# EXTRA directories hold goes to /.
# BUSYBOX names another busybox (of another architecture).
# The init prints BOOT-OK and then does what the kernel command line asks for:
#   cleat.poweroff | cleat.reboot | cleat.panic | cleat.exec=CMD (then poweroff); else an interactive shell on the
#   console.
set -eu
out=$1
shift
busybox=${BUSYBOX:-$(command -v busybox)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/proc" "$work/sys" "$work/dev" "$work/tmp" "$work/etc"
cp "$busybox" "$work/bin/busybox"
for f in "$@"; do
    if [ -d "$f" ]; then cp -R "$f/." "$work/"; else cp "$f" "$work/bin/"; fi
done
cat >"$work/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ PS1='guest# '
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mem=$(sed -n "s/^MemTotal: *//p" /proc/meminfo | tr -d " ")
up=$(cut -d" " -f1 /proc/uptime)
echo "BOOT-OK cpus=$(grep -c ^processor /proc/cpuinfo) mem=$mem up=$up"
for word in $(cat /proc/cmdline); do
    case "$word" in
    cleat.poweroff) poweroff -f ;;
    cleat.reboot) reboot -f ;;
    cleat.panic) echo c >/proc/sysrq-trigger ;;
    cleat.exec=*) sh -c "$(echo "${word#cleat.exec=}" | tr , ' ')"; poweroff -f ;;
    esac
done
exec setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'
INIT
chmod +x "$work/init"
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
(cd "$work" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -9 >"$out.tmp"
mv "$out.tmp" "$out"
