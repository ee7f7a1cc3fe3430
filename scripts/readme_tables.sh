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
# and its KIND one of the functions below. No number between markers is typed by hand. Needs python3, and for the dumps
# a built warpsmith (WARPSMITH, default build/warpsmith) and NVRTC.
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

# KIND FILE...: what a script has measured, in sums: scripts/sample_tables.py --help has the kinds.
block_torch() { scripts/sample_tables.py torch "$@"; }
block_repeat() { scripts/sample_tables.py repeat "$@"; }
block_sizes() { scripts/sample_tables.py sizes "$@"; }
block_products() { scripts/sample_tables.py products "$@"; }
block_convolutions() { scripts/sample_tables.py convolutions "$@"; }
block_attention() { scripts/sample_tables.py attention "$@"; }
block_slower() { scripts/sample_tables.py slower "$@"; }
block_overlap() { scripts/sample_tables.py overlap "$@"; }
block_misses() { scripts/sample_tables.py misses "$@"; }
block_counted() { scripts/sample_tables.py counted "$@"; }
block_searches() { scripts/sample_tables.py searches "$@"; }
block_ordering() { scripts/sample_tables.py ordering "$@"; }
block_planted() { scripts/sample_tables.py planted "$@"; }
block_histories() { scripts/sample_tables.py histories "$@"; }
block_nights() { scripts/sample_tables.py nights "$@"; }
block_models() { scripts/sample_tables.py models "$@"; }
block_kernelbench() { scripts/sample_tables.py kernelbench "$@"; }
block_fused() { scripts/sample_tables.py fused "$@"; }
block_scale() { scripts/sample_tables.py scale "$@"; }
block_checked() { scripts/sample_tables.py checked "$@"; }
block_opinfo() { scripts/sample_tables.py opinfo "$@"; }
block_graphs() { scripts/sample_tables.py graphs "$@"; }
block_devices() { scripts/sample_tables.py devices "$@"; }
block_sums() { scripts/sample_tables.py sums "$@"; }
block_reference() { scripts/sample_tables.py reference "$@"; }
block_kills() { scripts/sample_tables.py kills "$@"; }
block_generated() { scripts/sample_tables.py generated "$@"; }
block_held() { scripts/sample_tables.py held "$@"; }
block_mutants() { scripts/sample_tables.py mutants "$@"; }

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
            declare -F "block_$kind" >/dev/null || {
                echo "readme_tables: $1: no kind of block is called '$kind'" >&2
                return 1
            }
            "block_$kind" "${arguments[@]}" >"$tmp/block" || return 1
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
