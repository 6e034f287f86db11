#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz-run.sh BUILD SECONDS [NAME=SECONDS]...: runs each libFuzzer target of BUILD, two at a time, SECONDS each or as
# long as its NAME=SECONDS says (the longest first, so that the short ones run beside it), from its seed corpus in
# tests/fuzz/corpus/NAME where there is one. Prints `PASS fuzz-NAME: N runs` or `FAIL fuzz-NAME: reason`.
set -eu
build=$1 seconds=$2
shift 2
cd "$(dirname "$0")/.."
run_one() {
    local bin=$1 seconds=$2 name work corpus
    name=$(basename "$bin")
    work=$build/fuzz-work/$name
    corpus=tests/fuzz/corpus/${name#fuzz-}
    mkdir -p "$work/corpus"
    [ -d "$corpus" ] || corpus=
    # shellcheck disable=SC2086 # no corpus: no word
    if "$bin" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -artifact_prefix="$work/" -print_final_stats=1 \
            "$work/corpus" $corpus >"$work/log" 2>&1; then
        echo "PASS $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log") runs"
    else
        echo "FAIL $name: $(grep -m1 -E 'ERROR|SUMMARY|runtime error' "$work/log"), log in $work/log"
    fi
}
# SECONDS BINARY, a line each.
targets() {
    local bin name own word
    for bin in "$build"/tests/fuzz/fuzz-*; do
        name=$(basename "$bin")
        name=${name#fuzz-}
        own=$seconds
        for word in "$@"; do
            [ "${word%%=*}" != "$name" ] || own=${word#*=}
        done
        [ ! -f "$bin" ] || [ ! -x "$bin" ] || echo "$own $bin"
    done | sort -s -k1,1nr
}
export -f run_one
export build
targets "$@" | xargs -r -P 2 -L 1 bash -c 'run_one "$1" "$0"'
