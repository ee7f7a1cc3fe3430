#!/usr/bin/env bash
# check-cppcheck.sh: cppcheck finds nothing in our sources.
#
# What is left out, and why:
#   missingIncludeSystem   it does not read the system's headers
#   unmatchedSuppression   an inline suppression for one configuration is fine
#   constParameter...      callbacks have the signature that their table asks for
#   normalCheckLevel...    remarks about cppcheck itself
#
# A -D keeps it from inventing configurations of its own, in which the X-macros of our tables are undefined.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${BUILD:-build}/cppcheck
mkdir -p "$cache"
folders=()
for f in compiler tuner reports; do
    if [ -n "$(find "$f" -name '*.c' -print -quit 2>/dev/null)" ]; then folders+=("$f"); fi
done
[ ${#folders[@]} -gt 0 ] || exit 0
cppcheck --quiet --std=c11 --language=c --inline-suppr --error-exitcode=1 -j "$(nproc)" \
    --enable=warning,performance,portability --cppcheck-build-dir="$cache" -D__linux__ -Icompiler -I. \
    --suppress=missingIncludeSystem --suppress=unmatchedSuppression --suppress=constParameterCallback \
    --suppress=normalCheckLevelMaxBranches --template='{file}:{line}: {message} [{id}]' "${folders[@]}"
