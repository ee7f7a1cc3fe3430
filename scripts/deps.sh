#!/usr/bin/env bash
# deps.sh: what warpsmith needs from the system, checked and, on Debian and Ubuntu, installed.
#
#   scripts/deps.sh [build]   what `make` and `make bench` need
#   scripts/deps.sh test      and what `make test` needs
#   scripts/deps.sh check     and what `make check` needs
#   scripts/deps.sh page      and what `make check-page` needs
#   scripts/deps.sh cuda      NVRTC and CUPTI from PyPI into .venv, where there is no CUDA toolkit
#
# It names what it is about to install. On a terminal it asks first (the default is yes; DEPS=1 does not ask), without one
# it goes ahead, and DEPS=0 skips everything. Where all is there it says nothing and takes some 30 ms.
# Exit status: 0 fine, 2 wrong call, 3 something is missing that this script may not or cannot install.
set -euo pipefail
cd "$(dirname "$0")/.."

# level | package on Debian, dnf, pacman, brew | what proves that it is there | why
TABLE='
build|gcc libc6-dev|gcc|gcc|gcc|command cc|compiles warpsmith, and the kernels of the CPU device
build|make|make|make|make|command make|runs the build
build|libcsv-dev|libcsv-devel|libcsv|libcsv|header csv.h|writes and reads the result tables
build|libjansson-dev|jansson-devel|jansson|jansson|header jansson.h|writes JSON
build|libsqlite3-dev|sqlite-devel|sqlite|sqlite|header sqlite3.h|keeps the store of winners, indexes large results
build|libxxhash-dev|xxhash-devel|xxhash|xxhash|header xxhash.h|hashes graphs and kernels
build|gnuplot-nox|gnuplot|gnuplot|gnuplot|gnuplot svg png|draws the figures of the reports
build|fonts-dejavu-core|dejavu-sans-fonts|ttf-dejavu|font-dejavu|font|letters in those figures
test|libcmocka-dev|libcmocka-devel|cmocka|cmocka|header cmocka.h|runs the unit tests
test|g++ binutils|gcc-c++|gcc|gcc|command g++|compiles the kernels that the emulator runs
test|python3|python3|python|python3|command python3|reads result files in the run tests
check|clang|clang|clang|llvm|command clang|is the second compiler of make check
check|libomp-dev|libomp-devel|openmp|libomp|clang-header omp.h|is OpenMP for clang
check|clang-format|clang-tools-extra|clang|clang-format|command clang-format|checks the format
check|cppcheck|cppcheck|cppcheck|cppcheck|command cppcheck|looks for mistakes
page|chromium|chromium|chromium|chromium|command chromium|shows the pages of the report to make check-page'

say() { printf '%s\n' "$*" >&2; }

# rows LEVEL: the lines of TABLE that a level needs.
rows() {
    case $1 in
    build) levels='build' ;;
    test) levels='build|test' ;;
    check) levels='build|test|check' ;;
    page) levels='build|test|page' ;;
    esac
    grep -E "^($levels)\|" <<<"$TABLE"
}

# missing_headers CC: reads header names, prints those that CC does not find. One process, not one per header.
missing_headers() {
    sed 's/.*/#if !__has_include(<&>)\nmissing &\n#endif/' | "$@" -E -P -x c - | sed -n 's/^missing //p' | tr -d ' '
}

has_font() {
    compgen -G '/usr/share/fonts/*/*.[to]t[fc]' || compgen -G '/usr/share/fonts/*/*/*.[to]t[fc]' ||
        compgen -G '/System/Library/Fonts/*.tt[fc]'
}

has_terminals() {
    local commands
    command -v gnuplot || return 1
    commands=$(printf 'set terminal %s;' "$@")
    gnuplot -e "$commands" 2>&1
}

# missing_rows LEVEL: the rows whose proof fails.
missing_rows() {
    local row no_cc='' no_clang='' proof
    if command -v cc >/dev/null; then
        no_cc=$(rows "$1" | cut -d'|' -f6 | sed -n 's/^header //p' | missing_headers cc)
    else
        no_cc=$(rows "$1" | cut -d'|' -f6 | sed -n 's/^header //p')
    fi
    if [ "$1" = check ] && command -v clang >/dev/null; then
        no_clang=$(rows "$1" | cut -d'|' -f6 | sed -n 's/^clang-header //p' | missing_headers clang -fopenmp)
    elif [ "$1" = check ]; then
        no_clang=omp.h
    fi
    while IFS= read -r row; do
        IFS='|' read -r _ _ _ _ _ proof _ <<<"$row"
        # shellcheck disable=SC2086 # a proof is a verb and its words
        set -- $proof
        case $1 in
        command) command -v "$2" >/dev/null ;;
        header) [[ $'\n'$no_cc$'\n' != *$'\n'"$2"$'\n'* ]] ;;
        clang-header) [[ $'\n'$no_clang$'\n' != *$'\n'"$2"$'\n'* ]] ;;
        gnuplot) has_terminals "${@:2}" >/dev/null ;;
        font) has_font >/dev/null ;;
        esac || printf '%s\n' "$row"
    done < <(rows "$1")
}

# packages COLUMN: the package names in rows read from stdin, on one line.
packages() { cut -d'|' -f"$1" | tr '\n' ' ' | sed 's/ $//'; }

apt() {
    local run=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@")
    [ "$(id -u)" = 0 ] || run=(sudo "${run[@]}")
    "${run[@]}"
}

# Known to the package lists on this machine? A fresh container has none, and then `apt-get update` comes first.
apt_knows() {
    local p
    for p; do apt-cache show "$p" >/dev/null 2>&1 || return 1; done
}

may_install() {
    [ "$(id -u)" = 0 ] && return 0
    command -v sudo >/dev/null || return 1
    sudo -n true 2>/dev/null || [ -t 0 ]
}

# agreed PACKAGES: on a terminal, ask. make's jobs have no standard input of their own, so it is the terminal that is read.
agreed() {
    local answer
    if [ "${DEPS-}" = 1 ] || [ ! -t 2 ] || ! { : </dev/tty; } 2>/dev/null; then return 0; fi
    printf 'deps: install with apt-get: %s? [Y/n] ' "$1" >/dev/tty
    read -r answer </dev/tty || return 1
    case $answer in '' | [yY] | [yY][eE][sS]) ;; *) return 1 ;; esac
}

install_with_apt() {
    local log names
    read -ra names <<<"$1"
    if ! may_install; then
        say "deps: not allowed to install packages here; run as root:"
        say "    apt-get update && apt-get install -y --no-install-recommends ${names[*]}"
        return 3
    fi
    log=$(mktemp)
    apt_knows "${names[@]}" || apt update >"$log" 2>&1 || true
    if ! apt install -y --no-install-recommends "${names[@]}" >"$log" 2>&1 &&
        ! { apt update && apt install -y --no-install-recommends "${names[@]}"; } >"$log" 2>&1; then
        say "deps: apt-get could not install ${names[*]}; its last words:"
        tail -n 5 "$log" >&2
        rm -f "$log"
        return 3
    fi
    rm -f "$log"
}

explain_other_systems() {
    say "deps: this script installs with apt only; elsewhere:"
    say "    dnf install $(packages 3 <<<"$1")"
    say "    pacman -S $(packages 4 <<<"$1")"
    say "    brew install $(packages 5 <<<"$1")"
}

ensure() {
    local missing name why
    missing=$(missing_rows "$1")
    [ -n "$missing" ] || return 0
    say "deps: missing for '$1':"
    while IFS='|' read -r _ name _ _ _ _ why; do
        say "$(printf '    %-18s %s' "${name%% *}" "$why")"
    done <<<"$missing"
    if ! command -v apt-get >/dev/null; then
        explain_other_systems "$missing"
        return 3
    fi
    agreed "$(packages 2 <<<"$missing")" || {
        say "deps: nothing installed; DEPS=0 builds without asking, as far as that goes"
        return 3
    }
    say "deps: installing with apt-get: $(packages 2 <<<"$missing")   (DEPS=0 skips this)"
    install_with_apt "$(packages 2 <<<"$missing")" || return
    missing=$(missing_rows "$1")
    [ -z "$missing" ] || {
        say "deps: installed, yet not found: $(packages 2 <<<"$missing")"
        return 3
    }
}

# has_library NAME: where the runtime looks for NVRTC and CUPTI.
has_library() {
    local d
    for d in ${CUDA_HOME:+"$CUDA_HOME"/lib64} /usr/local/cuda*/lib64 /usr/local/cuda*/extras/CUPTI/lib64 \
        /usr/lib/*-linux-gnu /usr/lib64 .venv/lib/python3*/site-packages/nvidia/*/lib; do
        compgen -G "$d/lib$1.so*" >/dev/null && return 0
    done
    return 1
}

# The GPU is optional, so this only tells.
mention_cuda() {
    has_library nvrtc && has_library cupti && return 0
    say "deps: no NVRTC or CUPTI found, so only the CPU device works. For the GPU: a CUDA toolkit of your" \
        "distribution, or \`scripts/deps.sh cuda\` (wheels from PyPI into .venv)."
}

# The wheels' name says the CUDA major version, with none for the newest; the driver must be as new.
install_cuda() {
    local major='' suffixes=('' -cu12) s
    command -v nvidia-smi >/dev/null &&
        major=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p' | head -n 1)
    if [ "$major" = 12 ]; then suffixes=(-cu12); fi
    if ! { [ -x .venv/bin/pip ] || python3 -m venv .venv; } >&2; then
        say "deps: no .venv without Python 3 and its venv module (Debian: apt-get install python3-venv)"
        return 3
    fi
    for s in "${suffixes[@]}"; do
        say "deps: pip install nvidia-cuda-nvrtc$s nvidia-cuda-cupti$s into .venv (some 100 MB)"
        .venv/bin/pip install --quiet --disable-pip-version-check \
            "nvidia-cuda-nvrtc$s" "nvidia-cuda-cupti$s" >&2 && return 0
    done
    say "deps: pip could not install NVRTC and CUPTI"
    return 3
}

[ "${DEPS:-}" != 0 ] || exit 0
case ${1:-build} in
build)
    ensure build
    mention_cuda
    ;;
test | check | page) ensure "$1" ;;
cuda) install_cuda ;;
*)
    say "usage: scripts/deps.sh [build|test|check|page|cuda]"
    exit 2
    ;;
esac
