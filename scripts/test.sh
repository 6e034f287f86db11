#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what is missing, builds, and runs all tests: the plain build, then an ASan+UBSan build, then the fuzz
# targets for 60 s each (whole kernels boot in the plain build only). Ends with `N passed, N failed, N skipped`; each
# skipped test says why.
#   --long    also the soaks: long fuzzing, millions of instruction sequences, slow boots
#   --fresh   everything inside a new Debian 12 made with debootstrap (finds missing installs); needs root
#   --quick   only the plain build's tests
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/kernels.sh

long=0 fresh=0 quick=0
for arg in "$@"; do
    case "$arg" in
    --long) long=1 ;;
    --fresh) fresh=1 ;;
    --quick) quick=1 ;;
    *) echo "test.sh: unknown option '$arg' (--long, --fresh, --quick)" >&2; exit 1 ;;
    esac
done
if [ $fresh = 1 ]; then
    pass=()
    [ $long = 1 ] && pass+=(--long)
    [ $quick = 1 ] && pass+=(--quick)
    exec scripts/test-fresh.sh "${pass[@]}"
fi

# shellcheck disable=SC2086 # lists of names
packages_install $PACKAGES_BUILD $PACKAGES_GUEST $PACKAGES_TEST $PACKAGES_BENCH \
    $([ $long = 0 ] || echo "$PACKAGES_LONG")
results=build/test-results
suites=(--suite quick --suite full)
boots=(--suite boots)
[ $long = 1 ] && suites+=(--suite long --suite boots)
export CLEAT_TEST_LONG=$long
export CLEAT_GUEST_DIR=$PWD/build/guest

# configure_build DIR TARGET OPTION...: configures once, builds; shows the end of the log when it fails.
configure_build() {
    local dir=$1 target=$2
    shift 2
    mkdir -p "$dir"
    [ -f "$dir/build.ninja" ] || (cd "$dir" && ../configure "$@") >"$dir/configure.log" 2>&1 ||
        { tail -20 "$dir/configure.log"; exit 1; }
    echo "== building $dir"
    ninja -C "$dir" "$target" >"$dir/build.log" 2>&1 ||
        { grep -E 'error|warning|FAILED' -A5 "$dir/build.log" | tail -40; exit 1; }
}

# run_tests DIR [SUITE ARGUMENTS]: failures are counted by the summary, not by this status.
run_tests() {
    local dir=$1
    shift
    echo "== tests in $dir"
    timeout 4200 meson test -C "$dir" --no-rebuild "${suites[@]}" "$@" --print-errorlogs --num-processes 2 || true
}

mkdir -p build
configure_build build all
kernel_fetch build/guest || echo "No Debian kernel could be fetched: tests that boot one will fail"
[ -s build/guest/initramfs.cpio.gz ] || tests/boot/mkinitramfs.sh build/guest/initramfs.cpio.gz
kernels_fetch build/guest || echo "Not all Debian kernels could be fetched: the boot matrix will fail"
rm -rf "$results" && mkdir -p "$results"
run_tests build "${boots[@]}"
dirs=(build)
if [ $quick = 0 ]; then
    configure_build build-asan all --enable-sanitizers
    export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigfpe=0:handle_sigill=0:handle_sigbus=0
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    run_tests build-asan
    dirs+=(build-asan)
    unset ASAN_OPTIONS
    CC=clang configure_build build-fuzz fuzz --enable-fuzzing --enable-sanitizers
    times=(60 interp=600)
    [ $long = 0 ] || times=(3600)
    scripts/fuzz-run.sh build-fuzz "${times[@]}" >"$results/fuzz.txt" || true
    cat "$results/fuzz.txt"
fi
exec python3 scripts/test-summary.py "$results" "${dirs[@]}"
