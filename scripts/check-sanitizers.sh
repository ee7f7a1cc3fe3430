#!/usr/bin/env bash
# check-sanitizers.sh: the unit tests under the address, leak and undefined-behaviour sanitizers.
#
# A leak is a bug here, so leaks are looked for; only where the leak checker cannot work at all (it attaches to the
# process with ptrace, which some containers forbid) is it switched off, and that is said.
#
# What the sanitizers are for is our own code. Kernels that it makes are compiled without them, so that a test whose
# time goes to compiling and running kernels takes a part of its cases here (tests/unit/part.h): of graphs all that are
# taken are lowered and printed, fewer are run. The emulator has sanitizers in its own tests alone (emulator/rules.mk).
# Stacks have lines with -g1, which is a fifth cheaper to build than -g. With -Og the same checks are built in half of
# the time that -O1 takes, most of which went to optimising them; warnings are for check-gcc and check-clang.
#
# Left out is what hands texts to NVRTC: all of its time is NVRTC's. What makes the texts is asked by test_compile_digests,
# what takes the binaries by test_runtime_toolchain.
set -euo pipefail
cd "$(dirname "$0")/.."

flags='-Og -w -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'
build=${BUILD:-build}/asan
mkdir -p "$build"

probe=$build/leak-probe
echo 'int main(void) { return 0; }' | gcc -fsanitize=address -x c - -o "$probe"
leaks=1
if ! "$probe" 2>/dev/null; then
    leaks=0
    echo 'check-sanitizers: no ptrace here, so leaks are not looked for'
fi

export OMP_NUM_THREADS=2 ASAN_OPTIONS=detect_leaks=$leaks:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
log=$build/tests.log
if ! make CC=gcc CFLAGS="$flags" BUILD="$build" STATIC=0 LEFT_OUT=test_compile_nvrtc test-unit >"$log" 2>&1; then
    cat "$log"
    exit 1
fi
# Not alone on its line: only `make test` ends in the bare count.
echo "sanitizers: $(tail -n 1 "$log")"
