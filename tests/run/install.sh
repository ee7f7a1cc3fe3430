#!/usr/bin/env bash
# make install into an empty folder: the command, what it needs, manual and completions; make uninstall leaves nothing.
set -uo pipefail

at=$TMP/root failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

unset MAKEFLAGS MAKELEVEL
make DEPS=0 CC="${CC:-cc}" STATIC=0 BUILD="$BUILD" -o "$BUILD/warpsmith" DESTDIR="$at" PREFIX=/opt/ws install >"$TMP/log" 2>&1 ||
    fail "install failed:" "$(cat "$TMP/log")"
cd "$TMP" || exit 1
command=$at/opt/ws/bin/warpsmith share=$at/opt/ws/share
"$command" explain softmax --arch sm_90a -D rows=8 >out 2>&1 || fail "the installed command finds no softmax:" "$(cat out)"
grep -q '^\.TH WARPSMITH' "$share/man/man1/warpsmith.1" || fail 'no manual page'
bash -n "$share/bash-completion/completions/warpsmith" || fail 'the completion of bash is no bash'
"$share/warpsmith/scripts/nightly.sh" --help >out 2>&1 || fail 'nightly.sh does not run where it is installed' "$(cat out)"
[ -x "$share/warpsmith/build/warpsmith" ] || fail 'scripts find no command'
grep -q '^Cflags: -I' "$at/opt/ws/lib/pkgconfig/warpsmith.pc" || fail 'no pkg-config file'
printf '#include "ws_backend.h"\nint n = WS_BACKEND_VERSION;\n' | ${CC:-cc} -I "$at/opt/ws/include/warpsmith" -x c -fsyntax-only - ||
    fail 'the header of backends does not stand alone'

cd - >/dev/null || exit 1
make DEPS=0 CC="${CC:-cc}" STATIC=0 BUILD="$BUILD" DESTDIR="$at" PREFIX=/opt/ws uninstall >"$TMP/log" 2>&1 || fail "$(cat "$TMP/log")"
left=$(find "$at" ! -type d)
[ -z "$left" ] || fail "uninstall left:" "$left"
[ ! -e "$share/warpsmith" ] || fail "uninstall left folders: $(find "$share")"
[ $failures = 0 ]
