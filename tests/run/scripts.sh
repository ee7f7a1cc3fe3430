#!/usr/bin/env bash
# `warpsmith run` on scripts: every file of tests/scripts prints what NAME.out says and asserts the rest itself, under
# each backend; those of cases/ are captured into as many graphs, with as many breaks and operators, as PyTorch counts.
set -euo pipefail

# Of hundreds of small kernels what they compute is asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

passed=0 failed=0
fail() {
    printf '%s\n' "$@"
    failed=$((failed + 1))
    [ -z "${TEST_STOP:-}" ] || exit 1
}
run() { timeout 300 "$WARPSMITH" run "$@" --device cpu >"$TMP/out" 2>"$TMP/err" </dev/null; }

# What compiles nothing has no backend to differ by: once is enough.
scripts() { # BACKEND [FILE...]
    for script in "${@:2}"; do
        if ! run "$script" --backend "$1"; then
            fail "$script under $1 failed:" "$(cat "$TMP/err")"
        elif [ -f "${script%.py}.out" ] && ! diff "${script%.py}.out" "$TMP/out" >"$TMP/diff"; then
            fail "$script under $1 prints other text (<: expected):" "$(cat "$TMP/diff")"
        else
            passed=$((passed + 1))
        fi
    done
}
# What compiles kernels, and takes longest, comes last.
mapfile -t compiling < <(grep -l compile tests/scripts/*.py)
scripts eager tests/scripts/*.py
scripts aot_eager "${compiling[@]}"

count() { sed -n "s/^$1: //p" "$TMP/out"; }
while IFS=, read -r file graphs breaks calls _; do
    [ "$file" = file ] && continue
    if ! run "tests/scripts/cases/$file" --explain; then
        fail "$file failed:" "$(cat "$TMP/err")"
        continue
    fi
    got="$(count 'Graph Count') graphs, $(count 'Graph Break Count') breaks, $(count 'Op Count') operators"
    want="$graphs graphs, $breaks breaks, $calls operators"
    if [ "$got" = "$want" ]; then
        passed=$((passed + 1))
    else
        fail "$file was captured as $got; PyTorch counts $want"
    fi
done <tests/scripts/cases/expected.csv

# What was captured, in words: guards, reasons with their line, the limit's one warning.
run tests/scripts/cases/break_print.py --explain
grep -qF "cases/break_print.py:6: " "$TMP/out" || fail "the break has no line:" "$(cat "$TMP/out")"
run tests/scripts/cases/slice_static_dynamic.py --explain
[ "$(grep -c 'recompiled 8 times' "$TMP/err")" = 1 ] || fail "one warning expected:" "$(cat "$TMP/err")"
grep -q '^s0 == L\[.n.\]$' "$TMP/out" || fail "no symbolic int among the guards"
WS_LOGS=recompiles run tests/scripts/cases/guards_flag.py
grep -qF "L['flag']: expected True, actual False" "$TMP/err" || fail "no reason for recompiling:" "$(cat "$TMP/err")"

WS_LOGS=bytecode run tests/scripts/cases/guards_flag.py
grep -q '^bytecode of f (.*guards_flag.py:4):$' "$TMP/err" || fail "no bytecode:" "$(cat "$TMP/err")"
grep -q 'POP_JUMP_IF_FALSE' "$TMP/err" || fail "no instructions:" "$(cat "$TMP/err")"
[ "$(grep -c '^bytecode of' "$TMP/err")" = 1 ] || fail "bytecode is said once:" "$(cat "$TMP/err")"
WS_LOGS=dynamic run tests/scripts/dynamic.py --backend eager
for line in "rows (.*): dimension 0 of L\['x'\] is s0: it was 8, now 16" "chooses (.*): .* is s0: dynamic=True" \
    "<lambda> (.*): .* is s0: mark_dynamic" "scaled (.*): L\['s'\] is a symbolic float: it was 1.5, now 2.5" \
    "times (.*): L\['n'\] is s[0-9]: it was 3, now 5" "always (.*): L\['n'\] is s[0-9]: dynamic=True" \
    'half (.*): sizes stay numbers: the operator of line 18 refuses symbolic ones'; do
    grep -q "^dynamic in $line$" "$TMP/err" || fail "WS_LOGS=dynamic does not say '$line':" "$(cat "$TMP/err")"
done

# A backend of one's own: a shared object that prints each graph, and computes by the interpreter.
cc -shared -fPIC -I compiler -o "$TMP/print_graph.so" examples/print_graph.c
run tests/scripts/cases/tiny_model.py --backend "$TMP/print_graph.so" || fail "the plugin failed:" "$(cat "$TMP/err")"
grep -qF 'mul: "f32[8, 32]" = torch.ops.aten.mul.Scalar(relu, 0.5)' "$TMP/out" || fail "no graph:" "$(cat "$TMP/out")"
# What nobody reads behind a break is no output of the graph before it, even if another function has it in a cell.
printf 'import torch\n@torch.compile\ndef f(x):\n    t = x * 2\n    y = t + 1\n    print("between")\n    z = y * 3\n    return (lambda: z)()\nf(torch.ones(2))\n' >"$TMP/dead.py"
run "$TMP/dead.py" --backend "$TMP/print_graph.so" || fail "the plugin failed:" "$(cat "$TMP/err")"
grep -qxF '        return (add,)' "$TMP/out" || fail "what is dead behind a break is kept:" "$(cat "$TMP/out")"
status=0
run tests/scripts/cases/tiny_model.py --backend ./nothing.so || status=$?
[ $status = 2 ] || fail "a backend that is not there is a wrong call, got $status"

# Mistakes: one message with its place, status 1; a call that is wrong, status 2.
printf 'import torch\nx = torch.ones(2) + torch.ones(3)\n' >"$TMP/bad.py"
if run "$TMP/bad.py"; then fail "a shape error must fail"; fi
grep -qE 'bad.py:2:5: RuntimeError: ' "$TMP/err" || fail "no place:" "$(cat "$TMP/err")"
status=0
run tests/scripts/eager.py --backend nothing || status=$?
[ $status = 0 ] || fail "a backend is looked up when torch.compile names it, got $status"
printf 'import torch\n@torch.compile(backend="nothing")\ndef f(x): return x\n' >"$TMP/backend.py"
if run "$TMP/backend.py"; then fail "an unknown backend must fail"; fi
grep -q 'known: eager, aot_eager, inductor' "$TMP/err" || fail "backends are not listed:" "$(cat "$TMP/err")"

# y[i] = v, where v is a part of y that was updated itself: its gradient is known only where y[i] is that very part.
while IFS=";" read -r part update; do
    printf 'import torch\nw = torch.ones(4, requires_grad=True)\ny = w * 2\ng = y.view(2, 2)\nv = %s\nv += 1\n%s = v\n' "$part" "$update" >"$TMP/part.py"
    if run "$TMP/part.py"; then fail "$update = $part must be refused, for its gradient is not known"; fi
    grep -q 'part.py:7:1: gradients of a tensor .* updated in place through another view' "$TMP/err" ||
        fail "$update = $part is not refused by name:" "$(cat "$TMP/err")"
done <<'END'
y[0:2];y[2:4]
y[0:1];y[0:2]
y[0:1];y[0]
y[0:4:2];y[0:2]
g[0];g[0:1]
g[0];g[1]
END

# Programs without an end, too deep or too large: an error, not a machine that swaps.
endless() { # NAME, MESSAGE, SOURCE
    printf '%b' "$3" >"$TMP/$1.py"
    if run "$TMP/$1.py"; then fail "$1 must fail"; fi
    grep -q "$2" "$TMP/err" || fail "$1: expected '$2' in:" "$(head -c 400 "$TMP/err")"
}
head='import torch\n@torch.compile\n'
endless loop 'traced for 50000 operators' "${head}def f(x):\n    while True:\n        x = x + 1\nf(torch.ones(2))\n"
endless deep RecursionError "${head}def f(x):\n    return f(x + 1)\nf(torch.ones(2))\n"
endless list 'a list of more than' 'x = [0] * 10 ** 12\n'
endless tensor 'too large' 'import torch\nx = torch.zeros(10 ** 9, 10 ** 9)\n'
endless brackets 'too many nested' "x = $(printf '(%.0s' $(seq 3000))\n"
endless bytes SyntaxError '\0377\0001\n'

scripts inductor "${compiling[@]}"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
