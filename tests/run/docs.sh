#!/usr/bin/env bash
# The documents: links lead somewhere, commands and options are known, make targets and scripts exist, and what stands in
# a block after <!-- run --> is run, line by line, in one folder a file. Needs no torch and no GPU.
set -uo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

root=$PWD
files=$(git ls-files '*.md' 2>/dev/null)
[ -n "$files" ] || files=$(find . -name '*.md' -not -path './build*' | sed 's#^\./##')
targets=$(sed -n 's/^\([a-z%-]*\):.*## .*/\1/p' Makefile scripts/*.mk tests/*/rules.mk)

# known_options COMMAND: those of its --help.
known_options() { "$WARPSMITH" "$@" --help 2>/dev/null | grep -oE '^  --?[A-Za-z-]+' | tr -d ' '; }

for file in $files; do
    # ---- links, to files and to headings of them
    while IFS= read -r link; do
        path=${link%%#*} mark=${link#*#}
        case $link in http* | mailto:*) continue ;; esac
        to=$file
        [ -z "$path" ] || to=$(dirname "$file")/$path
        [ -e "$to" ] || fail "$file: no $path"
        if [[ $link == *'#'* && -f $to ]]; then
            sed -n 's/^##* //p' "$to" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g' | grep -qx -- "$mark" ||
                fail "$file: $to has no heading #$mark"
        fi
    done < <(grep -oE '\]\([^) ]+\)' "$file" | sed 's/^](//; s/)$//')

    # ---- commands: `warpsmith COMMAND ... --option` in backquotes, indented, or behind a prompt
    while read -r line; do
        read -r -a words <<<"$line"
        command=${words[1]}
        case $command in cache) command="cache ${words[2]-ls}" ;; worker | -*) continue ;; esac
        # shellcheck disable=SC2086
        options=$(known_options $command)
        [ -n "$options" ] || { fail "$file: no command '$command' in: $line"; continue; }
        for word in "${words[@]:2}"; do
            [[ $word == --* ]] || continue
            grep -qxF -- "${word%%=*}" <<<"$options" || fail "$file: $command takes no '$word'"
        done
    done < <(grep -oE '(`|^    |^\$ |^ +[0-9* ,-]+ +cd.* )warpsmith [a-z][^`]*' "$file" | sed -E 's/^.*warpsmith /warpsmith /; s/ *(#|[|&;>]).*$//')
    for script in $(grep -oE '(^|[^/a-z])scripts/[a-z_-]+\.(sh|py)' "$file" | grep -oE 'scripts/.*'); do
        [ -x "$script" ] || [ -e "$script" ] || fail "$file: no $script"
    done
    for target in $(grep -oE '(`|^    )make [a-z][a-z-]*' "$file" | sed 's/.*make //'); do
        grep -qx -- "$target" <<<"$targets" || { [[ $target =~ ^(unit|run)- ]] || fail "$file: no make target '$target'"; }
    done

    # ---- what is to be run
    folder=$TMP/$(tr / _ <<<"$file")
    mkdir -p "$folder/bin"
    ln -sf "$(realpath "$WARPSMITH")" "$folder/bin/warpsmith"
    awk '/^<!-- run -->/ { next_block = 1 } /^```/ { if (inside) { inside = 0 } else if (next_block) { inside = 1; next_block = 0; next } }
        inside { sub(/^\$ /, ""); print }' "$file" >"$folder/commands"
    [ -s "$folder/commands" ] || continue
    cp -r workloads "$folder/"
    (cd "$folder" && PATH=$folder/bin:$PATH bash -e -o pipefail commands >said 2>&1) ||
        fail "$file: a command failed:" "$(cat "$folder/commands")" "$(tail -n 20 "$folder/said")"
done
cd "$root" || exit 1

# Every command, every variable and every workload is in the guide.
for file in workloads/*.py; do
    name=$(basename "$file" .py)
    grep -qE "^\|.*[ ,]$name(,| \|)" docs/guide/workloads.md || fail "docs/guide/workloads.md does not list '$name'"
done
for word in $("$WARPSMITH" help | awk '/^Commands/ { on = 1; next } /^$/ { on = 0 } on && /^  [^ ]/ { print $1 }' | sort -u); do
    grep -q -- "warpsmith $word" docs/guide/commands.md || fail "docs/guide/commands.md does not know '$word'"
done
for name in $("$WARPSMITH" help | awk '/^Environment/ { on = 1; next } /^$/ { on = 0 } on && /^  [^ ]/ { print $1 }'); do
    grep -q -- "$name" docs/guide/environment.md || fail "docs/guide/environment.md does not know $name"
done
[ $failures = 0 ]
