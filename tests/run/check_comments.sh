#!/usr/bin/env bash
# scripts/check-comments.sh is silent on lists that are laid out as lists, and names file, line and rule of each that
# is not.
set -euo pipefail

checker=$PWD/scripts/check-comments.sh
cd "$TMP"
mkdir -p compiler/base tuner reports tests

cat >compiler/base/good.h <<'END'
/* good.h: what lies in L1, and what in L2.
 *
 *   T1  the first row is the header, as T2 says; T3 is about failures;
 *   T2  the file is empty or ends in a newline, unless a writer was killed in
 *       its last write;  c1*t1 + ... + c0
 *   T3  a failed append leaves it. At most 4.
 * 1. One of 2. or more
 *    lines.
 * 2. Two.
 *
 * Of two registers R1 and R2
 * the latter. */
static const char *bars = "████████████████████████████████████████████████████████████████████";
int v; /* E1  not a block; E2  nor a list */
END
if ! clean=$("$checker" "$TMP"); then
    printf 'the clean tree was refused:\n%s\n' "$clean"
    exit 1
fi

cat >compiler/base/bad.c <<'END'
/* bad.c: lists that were run together.
 *
 *   T1  the first row is the header; T2  the file ends in
 *       a newline; T3
 *       a failed append leaves it.
 *   T4  what hangs
 * at the margin
 *
 * Numbers: 1. One; 2. two.
 *   1. One; 2. two.
 *
 * Places. V1  nowhere. */
END
printf '/* %0100d */\n' 0 >>compiler/base/bad.c
if "$checker" "$TMP" >said; then
    echo 'bad.c was not refused'
    exit 1
fi
diff said - <<'END'
compiler/base/bad.c:3: item T2 of a list begins in the middle of a line
compiler/base/bad.c:4: item T3 of a list begins in the middle of a line
compiler/base/bad.c:7: not under the item that it belongs to
compiler/base/bad.c:10: item 2. of a list begins in the middle of a line
compiler/base/bad.c:12: item V1 of a list begins in the middle of a line
compiler/base/bad.c:13: more than 100 columns
END
