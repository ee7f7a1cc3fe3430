#!/usr/bin/env bash
# readme_tables.sh: write what is measured or generated in README.md, compiler/README.md and docs/, between its markers.
#
#   scripts/readme_tables.sh [FILE...]            rewrite these files, or only some
#   scripts/readme_tables.sh --check [FILE...]    change nothing; exit 1 if a file is not what this script writes
#
# A block of a file is
#
#   <!-- begin KIND ARGUMENTS -->  what this script writes  <!-- end -->          (each on lines of its own)
#
# and its KIND one of the functions below, block_KIND, or else a table of scripts/sample_tables.py, which --help has. No
# number between markers is typed by hand. Needs python3, and for the dumps a built warpsmith (WARPSMITH, default
# build/warpsmith) and NVRTC.
# Exit codes: 0 fine, 1 a source of numbers is missing or a file is out of date, 2 wrong call, 3 no warpsmith.
# shellcheck disable=SC2016,SC2317 # backquotes are for Markdown; block_* are called by name
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

warpsmith=${WARPSMITH:-build/warpsmith}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# ---- blocks ----------------------------------------------------------------------------------------------------------

# programs: one table for every folder of reports/samples that holds result files, GPUs (h200) before the CPU.
block_programs() {
    local folder files
    for folder in $(printf '%s\n' reports/samples/*/ | grep -v '/cpu/$') reports/samples/cpu/; do
        files=("$folder"*.csv)
        [ -e "${files[0]}" ] || continue
        scripts/program_table.py --markdown "${files[@]}"
        echo
    done
}

# output FILE: what a command has printed, as it was saved.
block_output() { printf '```text\n%s\n```\n' "$(cat "$1")"; }

# figure FILE...: the first one that is there, with a caption.
block_figure() {
    local file
    for file; do
        [ -e "$file" ] || continue
        scripts/sample_tables.py figure "$file"
        return
    done
    echo "readme_tables: none of $* is there" >&2
    return 1
}

# cost, lookup, capture [PATTERN]: the measures that scripts/bench_KIND.sh has written on each machine, if it ever ran;
# only those that match.
measures() {
    local file kind=$1 pattern=${*:2}
    for file in reports/samples/"$kind"_*.csv; do
        if [ -e "$file" ]; then scripts/sample_tables.py "$kind" "$file" ${pattern:+--only "$pattern"}; fi
    done
}
block_cost() { measures cost "$@"; }
block_lookup() { measures lookup "$@"; }
block_capture() { measures capture "$@"; }

# suite FILE [CASE|CASE...]: scripts/bench_suite.sh's table, or some of its lines.
block_suite() {
    local only=${*:2}
    python3 scripts/suite_table.py --markdown "$1" ${only:+--only "$only"}
}

# stage NAME: what one stage makes of a small softmax.
block_stage() {
    local file
    if ! [ -d "$tmp/dump" ]; then
        "$warpsmith" compile workloads/softmax.py --arch sm_90a -D rows=8 -D dim=16 --dump "$tmp/dump" >/dev/null
    fi
    file=$(compgen -G "$tmp/dump/[0-9][0-9]_$1") || {
        echo "readme_tables: the compiler dumps no $1" >&2
        return 1
    }
    echo '```text'
    case $1 in
    # The head that every kernel has is left out.
    *.cu) sed -n '/^extern "C"/,$p' "$file" ;;
    *) sed -e 's/[[:space:]]*$//' "$file" ;;
    esac
    echo '```'
}

# ---- files -----------------------------------------------------------------------------------------------------------

# filled FILE: the file with its blocks written anew.
filled() {
    local line kind arguments inside='' up
    up=$(dirname "$1" | sed 's#[^/.][^/]*#..#g; s#^\.$##; s#$#/#; s#^/$##')
    while IFS= read -r line; do
        if [ "$line" = '<!-- end -->' ]; then inside=''; fi
        [ -n "$inside" ] || printf '%s\n' "$line"
        if [[ $line =~ ^'<!-- begin '([a-z]+)' '?(.*)' -->'$ ]]; then
            kind=${BASH_REMATCH[1]}
            read -ra arguments <<<"${BASH_REMATCH[2]}"
            inside=$line
            if declare -F "block_$kind" >/dev/null; then
                "block_$kind" "${arguments[@]}" >"$tmp/block" || return 1
            else
                scripts/sample_tables.py "$kind" "${arguments[@]}" >"$tmp/block" || {
                    [ $? -ne 2 ] || echo "readme_tables: $1: no kind of block is called '$kind'" >&2
                    return 1
                }
            fi
            sed "s#](reports/#](${up}reports/#g" "$tmp/block" # links are relative to the file
        fi
    done <"$1"
    [ -z "$inside" ] || {
        echo "readme_tables: $1: '$inside' has no end" >&2
        return 1
    }
}

check=''
if [ "${1-}" = --check ]; then
    check=1
    shift
fi
for file; do
    if [ -f "$file" ]; then continue; fi
    echo 'usage: scripts/readme_tables.sh [--check] [FILE...]' >&2
    exit 2
done
[ $# -gt 0 ] || mapfile -t files < <(printf '%s\n' README.md compiler/README.md && find docs -name '*.md' 2>/dev/null | sort)
[ $# = 0 ] || files=("$@")
if ! [ -x "$warpsmith" ]; then
    echo "readme_tables: no '$warpsmith' here: run make first" >&2
    exit 3
fi

stale=0
for file in "${files[@]}"; do
    filled "$file" >"$tmp/new"
    if cmp -s "$tmp/new" "$file"; then continue; fi
    if [ -n "$check" ]; then
        echo "$file is out of date: scripts/readme_tables.sh"
        stale=1
    else
        cat "$tmp/new" >"$file"
        echo "wrote $file"
    fi
done
exit $stale
