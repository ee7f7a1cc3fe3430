#!/usr/bin/env bash
# Workloads whose graph breaks: `run` and `explain` go on in compiled segments, with axes and modes as they are given;
# `bench`, and whatever else takes one graph, stops with the reason.
set -euo pipefail

fail() {
    printf '%s\n' "$@"
    exit 1
}

# warpsmith STATUS ARGUMENT...: what it says on both channels into $TMP/out.
warpsmith() {
    local status=0
    "$WARPSMITH" "${@:2}" >"$TMP/out" 2>&1 </dev/null || status=$?
    [ $status = "$1" ] || fail "${*:2}: expected status $1, got $status" "$(cat "$TMP/out")"
}

# says TEXT: the output has that line.
says() {
    grep -qFx -- "$1" "$TMP/out" || fail "expected the line '$1':" "$(cat "$TMP/out")"
}

cat >"$TMP/mask.py" <<'END'
import torch

rows = 4


def mask(x):
    y = x * 2
    return y[y > 4], torch.where(y > 4)[0]


def get_inputs():
    return [torch.arange(rows * 3, dtype=torch.float32).reshape(rows, 3)]
END

cat >"$TMP/model.py" <<'END'
import matplotlib
import torch
import torch.nn as nn

matplotlib.use("Agg")


class Model(nn.Module):
    def __init__(self, scale, *, shift):
        super().__init__()
        self.scale, self.shift = scale, shift

    def forward(self, x):
        if x.sum() > 0:
            x = x * self.scale
        return {"y": x + self.shift, "mode": torch.tensor(int(self.training))}


def get_inputs():
    return [torch.ones(2)]


def get_init_inputs():
    return [[3.0], {"shift": 1.0}]


if __name__ == "__main__":
    raise SystemExit("a workload is imported")
END

warpsmith 0 run "$TMP/mask.py" --device cpu
grep -q 'graph break: data-dependent shape of an index by a mask at line 8' "$TMP/out" || fail "no reason:" "$(cat "$TMP/out")"
says 'out0  f32 [9]  min 6  mean 14  max 22'
says 'out1  i64 [9]  min 1  mean 2  max 3'
warpsmith 0 run "$TMP/mask.py" --device cpu -D rows=2
says 'out0  f32 [3]  min 6  mean 8  max 10'
warpsmith 0 explain "$TMP/mask.py" --device cpu
says 'Graph Count: 2'
says 'Graph Break Count: 2'

warpsmith 0 run "$TMP/model.py" --device cpu
says 'out0  f32 [2]  min 4  mean 4  max 4'
says 'out1  i64 []  min 1  mean 1  max 1'
warpsmith 0 run "$TMP/model.py" --device cpu --eval
says 'out1  i64 []  min 0  mean 0  max 0'

# One graph, or none.
warpsmith 1 bench "$TMP/mask.py" --device cpu --results "$TMP/results"
warpsmith 1 run "$TMP/mask.py" --device cpu --check
warpsmith 1 run "$TMP/mask.py" --device cpu --dtype bf16
! grep -q 'compiled segments' "$TMP/out" || fail "--dtype is not for segments:" "$(cat "$TMP/out")"
warpsmith 2 run "$TMP/mask.py" --device cpu -D columns=2
