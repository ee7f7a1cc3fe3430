#!/usr/bin/env bash
# check-format.sh: every C file of ours is as clang-format leaves it; --fix makes it so.
#
# Tables that read better by hand (ops.def) are not C files to it. Releases of clang-format differ in small things,
# so only the project's own one, 14, is asked; another one is named and nothing is checked.
set -euo pipefail
cd "$(dirname "$0")/.."

release=14
tool=$(command -v clang-format-$release || command -v clang-format) || {
    echo "check-format: clang-format is missing (scripts/deps.sh check)" >&2
    exit 3
}
found=$("$tool" --version | sed 's/.*version \([0-9]*\).*/\1/')
if [ "$found" != $release ]; then
    echo "check-format: found clang-format $found, the format is that of $release: nothing done"
    exit 0
fi
files() { find compiler tuner reports tests -name '*.[ch]' -print0 | xargs -0 -r "$tool" "$@"; }

if [ "${1:-}" = --fix ]; then
    files -i
elif ! found=$(files --dry-run -Werror 2>&1); then
    # One line per file, not one per blank.
    sed -n 's/^\([^ :]*\):\([0-9]*\):[0-9]*: error: .*/\1 \2/p' <<<"$found" | sort -k1,1 -k2,2n |
        awk '!n[$1]++ { first[$1] = $2; names[++files] = $1 }
            END { for (i = 1; i <= files; i++)
                printf "%s:%d: not as clang-format writes it; `make format` does\n", names[i], first[names[i]] }'
    exit 1
fi
