#!/usr/bin/env bash
# scripts/deps.sh on machines that we make up: a PATH of plain tools plus a fake compiler, gnuplot and package manager.
set -euo pipefail

unset DEPS
deps=$PWD/scripts/deps.sh
cd "$TMP"
failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# machine NAME: a new PATH in $bin with nothing of what deps.sh looks for.
machine() {
    bin=$TMP/$1
    mkdir "$bin"
    for tool in bash env cat cut dirname grep mktemp rm sed tail touch tr; do ln -s "$(command -v $tool)" "$bin/"; done
}

# fake NAME: a command whose body is read from stdin.
fake() {
    { echo '#!/usr/bin/env bash' && cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}

# A compiler that finds every header but the one named, and that too once $bin/installed is there.
fake_cc() {
    fake cc <<END
found=0
[ ! -e $bin/installed ] || found=1
sed "s/__has_include(<${1:-none}>)/\$found/; s/__has_include(<[^>]*>)/1/" | PATH=$PATH cc "\$@"
END
}

fake_apt() {
    fake apt-get <<END
echo "\$*" >>$bin/asked
case "\$*" in *install*) touch $bin/installed ;; esac
END
    echo "exit ${1:-0}" | fake apt-cache
}

# try LEVEL: runs deps.sh on the machine; sets status and said.
try() {
    status=0
    said=$(PATH=$bin CUDA_HOME=$TMP "$BASH" "$deps" "$@" 2>&1) || status=$?
}

plain_tools() {
    for tool in make gnuplot python3 g++; do echo 'exit 0' | fake $tool; done
}

# All there: silent, but for the line about CUDA where there is none.
machine complete
plain_tools
fake_cc
try build
[ $status = 0 ] || fail "complete: exit status $status" "$said"
[[ $said != *missing* ]] || fail "complete: says $said"

# One header missing on Debian, as root: named with its reason, and installed.
machine debian
plain_tools
fake_cc csv.h
fake_apt
echo 'echo 0' | fake id
try build
[ $status = 0 ] || fail "debian: exit status $status" "$said"
[[ $said == *'libcsv-dev'*'result tables'* ]] || fail "debian: no reason in: $said"
[[ $said != *libsqlite3* ]] || fail "debian: names what is there: $said"
[[ $(cat "$bin/asked") == *'install -y --no-install-recommends libcsv-dev' ]] || fail "debian: asked $(cat "$bin/asked")"
[[ $(cat "$bin/asked") != *update* ]] || fail "debian: updated without need"

# On a terminal it asks first: a plain Enter is yes, n installs nothing, DEPS=1 does not ask.
# answer NAME KEYS: a machine without csv.h, and somebody who types KEYS.
answer() {
    machine "$1"
    plain_tools
    fake_cc csv.h
    fake_apt
    echo 'echo 0' | fake id
    status=0
    said=$(printf '%b' "$2" | timeout 20 script -qec "env PATH=$bin CUDA_HOME=$TMP DEPS=${3-} $BASH $deps build" /dev/null 2>&1) || status=$?
}
if command -v script >/dev/null; then
    answer yes '\n'
    [ $status = 0 ] || fail "yes: exit status $status" "$said"
    [[ $said == *'install with apt-get: libcsv-dev? [Y/n]'* ]] || fail "yes: says $said"
    [ -e "$bin/asked" ] || fail "yes: nothing was installed"
    answer no 'n\n'
    [ $status = 3 ] || fail "no: exit status $status" "$said"
    [ ! -e "$bin/asked" ] || fail "no: apt-get was called"
    answer unasked '' 1
    [ $status = 0 ] || fail "unasked: exit status $status" "$said"
    [[ $said != *'[Y/n]'* ]] || fail "unasked: says $said"
fi

# The package lists are empty: update comes first.
machine fresh
plain_tools
fake_cc cmocka.h
fake_apt 1
echo 'echo 0' | fake id
try test
[ $status = 0 ] || fail "fresh: exit status $status" "$said"
[[ $(cat "$bin/asked") == *update*install*libcmocka-dev ]] || fail "fresh: asked $(cat "$bin/asked")"

# Neither root nor sudo: the command to type, exit status 3, and apt-get is left alone.
machine user
plain_tools
fake_cc sqlite3.h
fake_apt
echo 'echo 1000' | fake id
try build
[ $status = 3 ] || fail "user: exit status $status" "$said"
[[ $said == *'apt-get install -y --no-install-recommends libsqlite3-dev'* ]] || fail "user: says $said"
[ ! -e "$bin/asked" ] || fail "user: apt-get was called"

# No apt-get: the names elsewhere.
machine fedora
plain_tools
fake_cc xxhash.h
try build
[ $status = 3 ] || fail "fedora: exit status $status" "$said"
[[ $said == *'dnf install xxhash-devel'* && $said == *'pacman -S xxhash'* ]] || fail "fedora: says $said"

# apt-get that fails is reported with its words.
machine broken
plain_tools
fake_cc csv.h
echo 'echo "E: no network"; exit 100' | fake apt-get
echo 'exit 1' | fake apt-cache
echo 'echo 0' | fake id
try build
[ $status = 3 ] || fail "broken: exit status $status" "$said"
[[ $said == *'E: no network'* ]] || fail "broken: says $said"

# Nothing at all is asked for with DEPS=0, and a wrong word is a wrong call.
status=0
said=$(DEPS=0 PATH=$bin "$BASH" "$deps" build 2>&1) || status=$?
[ "$status$said" = 0 ] || fail "DEPS=0: exit status $status" "$said"
try nonsense
[ $status = 2 ] || fail "nonsense: exit status $status" "$said"

# In a new folder, whatever the tests are made of waits for what only tests need.
for made in tests/unit/test_base_arena.o tests/fuzz/test_bytes.o tests/cost/cost_open.c; do
    said=$(make -C "${deps%/scripts/*}" -n BUILD="$TMP/new" "$TMP/new/$made" 2>&1) || fail "make: $made" "$said"
    [[ $said == *'deps.sh test'* ]] || fail "$made is made without what tests need:" "$said"
done

[ $failures = 0 ]
