#!/usr/bin/env bash
# check-comments.sh: lists in block comments are laid out as lists, which clang-format leaves to us.
#
#   scripts/check-comments.sh [ROOT]
#
# Each breach is one line, "file:line: rule". Exit status 1 if there is any.
#
#      *   T1  the first row is the header; T2  the file ends    T2 begins in the middle of a line
#      * in a newline;                                            not under the item that it belongs to
#
# An item is "T2" before two blanks, or "T2." or "2." before one; behind the end of a sentence it may also end its
# line. The list tells it from a word, such as L2: the item before it has begun already.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

find compiler tuner reports tests -name '*.[ch]' 2>/dev/null | sort | LC_ALL=C xargs -r awk '
FNR == 1 { inside = 0 }
{
    columns = $0
    gsub(/[\200-\277]/, "", columns) # what continues a character of UTF-8
    if (length(columns) > 100) say("more than 100 columns")
    text = $0
    if (!inside) {
        if (text !~ /\/\*/ || text ~ /\/\*.*\*\//) next
        inside = 1
        split("", last)
        hang = -1
        sub(/.*\/\*/, "", text)
    } else sub(/^ *\*?/, "", text)
    if (text ~ /\*\//) { inside = 0; sub(/ *\*\/.*/, "", text) }
    look_at(text)
}
END { exit bad }

function say(rule) { printf "%s:%d: %s\n", FILENAME, FNR, rule; bad = 1 }

# An item of a list: its letter goes to list, its number is returned; else 0.
function item(word) {
    if (word !~ /^([A-Z][0-9][0-9]?\.?|[0-9][0-9]?\.)$/) return 0
    list = word ~ /^[A-Z]/ ? substr(word, 1, 1) : "."
    sub(/^[A-Z]/, "", word)
    return word + 0
}

function look_at(text,   indent, n, i, k, word) {
    indent = match(text, /[^ ]/)
    if (!indent) { hang = -1; return }
    n = split(substr(text, indent), word, / /) # two blanks: an empty word
    k = item(word[1])
    if (k && (k == 1 || k == last[list] + 1)) { last[list] = k; hang = indent }
    else if (indent <= hang) say("not under the item that it belongs to")
    for (i = 2; i <= n; i++) {
        k = item(word[i])
        if (!k || k != last[list] + 1) continue
        if (i < n && word[i + 1] == "" && (k > 1 || word[i - 1] ~ /[.;:]$/) ||
            word[i - 1] ~ /[.;:]$/ && last[list] && (word[i] ~ /\.$/ || i == n)) {
            say("item " word[i] " of a list begins in the middle of a line")
            last[list] = k
        }
    }
}' || exit 1
