#!/usr/bin/env bash
# scripts/check-includes.sh is silent on a small tree that keeps the rules, and names file, line and rule of each
# breach planted in it.
set -euo pipefail

checker=$PWD/scripts/check-includes.sh
cd "$TMP"
mkdir -p compiler/{base,frontend,graph,capture,loop,schedule,kernel,tile,emit,runtime/cuda,brand_new} tuner reports tests/unit
for layer in base frontend graph capture loop schedule kernel tile emit runtime; do
    printf '#include <stdio.h>\n' >compiler/$layer/$layer.h
done
touch compiler/ws.h compiler/ws_tune.h tuner/store.h reports/table.h

# What is allowed.
cat >compiler/capture/vm.c <<'END'
#include "base/base.h"
#include "capture/capture.h"
#include "frontend/frontend.h"
#include "graph/graph.h"
/* getenv("HOME"), exit(1), printf("don't") and
 * puts("in a comment"); */
static const char *text = "printf(\"%d\"); exit(1); /* getenv(x) */ \" stdout"; // exit(2)
int next(int op, int c) {
    switch (op) {
    case OP_ADD:
        switch (c) {
        case 1: return 2;
        default: return 3;
        }
    case OP_SUB: return 4;
    }
    switch (c) {
    default: return op == OP_SUB;
    }
}
int next_exit(int c) { return c == '"' ? snprintf_(text) : fprintf_(c); }
END
printf '#include "cuda/driver.h"\n#include "base/base.h"\n' >compiler/runtime/runtime.c
touch compiler/runtime/cuda/driver.h
printf '#include <cuda.h>\n#include <cupti.h>\n#include "driver.h"\n' >compiler/runtime/cuda/driver.c
printf 'char *home = getenv("HOME");\n' >compiler/base/options.c
printf '#include "ws.h"\n#include "emit/emit.h"\n#include "runtime/runtime.h"\n' >compiler/compile.c
printf '#include <sqlite3.h>\n#include "store.h"\n#include "ws_tune.h"\n#include "reports/table.h"\n' >tuner/store.c
printf '#include "ws.h"\nint main(void) { printf("hello"); exit(0); }\n' >tuner/main.c
printf '#include <csv.h>\n#include "table.h"\n' >reports/table.c
printf '#include "graph/graph.h"\n#include "emit/emit.h"\nint main(void) { exit(0); }\n' >tests/unit/test_graph_x.c
if ! clean=$("$checker" "$TMP"); then
    printf 'the clean tree was refused:\n%s\n' "$clean"
    exit 1
fi

failures=0
# expect FILE "LINE" "what the checker must say after file:line" [LINE]: plant it as the file's second.
expect() {
    local said want="$1:${4:-2}: $3"
    printf '/* planted */\n%s\n' "$2" >"$1"
    if said=$("$checker" "$TMP"); then
        echo "not caught: $2 in $1"
        failures=$((failures + 1))
    elif [[ $'\n'$said$'\n' != *$'\n'"$want"$'\n'* ]]; then
        printf 'for %s in %s\n  expected %s\n  got      %s\n' "$2" "$1" "$want" "$said"
        failures=$((failures + 1))
    fi
    rm "$1"
}

expect compiler/base/bad.c '#include "graph/graph.h"' \
    'base may include only its own headers, not compiler/graph/graph.h'
expect compiler/graph/bad.h '# include "frontend/frontend.h"' \
    'graph may include base, not compiler/frontend/frontend.h'
expect compiler/frontend/bad.c '#include "capture/capture.h"' \
    'frontend may include base, not compiler/capture/capture.h'
expect compiler/schedule/bad.c '#include "../kernel/kernel.h"' \
    'schedule may include base graph loop, not compiler/kernel/kernel.h'
expect compiler/runtime/bad.c '#include "emit/emit.h"' 'runtime may include base, not compiler/emit/emit.h'
expect compiler/loop/bad.c '#include "ws.h"' 'loop may include base graph, not compiler/ws.h'
expect compiler/bad.c '#include "tuner/store.h"' \
    'compile may include base frontend graph capture loop schedule kernel tile emit runtime, not tuner/store.h'
expect compiler/emit/bad.c '#include "reports/table.h"' \
    'emit may include base graph loop schedule kernel tile, not reports/table.h'
expect tuner/bad.c '#include "graph/graph.h"' \
    'tuner may include ws.h, ws_tune.h and reports, not compiler/graph/graph.h'
expect reports/bad.c '#include "ws.h"' 'reports may include only its own headers, not compiler/ws.h'
expect compiler/brand_new/bad.c '#include "base/base.h"' \
    'compiler/brand_new is no layer: give it a line in scripts/check-includes.sh'
expect compiler/runtime/bad.c '#include <nvrtc.h>' 'nvrtc.h belongs to compiler/runtime/cuda'
expect tests/unit/test_bad.c '#include <cupti_activity.h>' 'cupti_activity.h belongs to compiler/runtime/cuda'
expect tuner/bad.c '#include <nvml.h>' 'nvml.h belongs to compiler/runtime/cuda'
expect compiler/graph/bad.c 'char *s = getenv ("HOME");' 'the environment is read in compiler/base/options.c only'
expect tuner/bad.c 'void f(void) { /* so */ exit(1); }' 'exit belongs to tuner/main.c'
expect compiler/emit/bad.c 'void f(void) { printf("x"); }' 'compiler/ does not write to stdout'
expect compiler/graph/bad.c $'{ switch (n->op) {\n case OP_ADD: if (x) { return 1; }\n default: return 2;\n} }' \
    'a switch over operators has no default' 4
expect compiler/loop/bad.c 'void f(void) { switch ((int)n->op) {} }' 'a switch is over what it is, not over an int of it'
expect compiler/emit/bad.c 'void f(void) { fputs("x", stdout); }' 'compiler/ does not write to stdout'

# csv.h: the second file makes both wrong; sqlite3.h: one file a folder is right (tuner/store.c has it already).
printf '#include <csv.h>\n#include <sqlite3.h>\n' >tuner/bad.c
printf '#include <sqlite3.h>\n' >reports/index.c
if said=$("$checker" "$TMP"); then
    echo 'a second csv.h was not caught'
    failures=$((failures + 1))
fi
for want in "reports/table.c:1: csv.h is included by one file only" "tuner/bad.c:1: csv.h is included by one file only" \
    "tuner/store.c:1: sqlite3.h is included by one file of a folder only" \
    "tuner/bad.c:2: sqlite3.h is included by one file of a folder only"; do
    [[ $said == *"$want"* ]] || {
        printf 'no "%s" in %s\n' "$want" "$said"
        failures=$((failures + 1))
    }
done
if [[ $said == *reports/index.c* ]]; then
    printf 'one sqlite3.h of a folder is refused: %s\n' "$said"
    failures=$((failures + 1))
fi
[ $failures = 0 ]
