#!/usr/bin/env bash
# `warpsmith run --save`: inputs and outputs as NumPy files, read back here without NumPy.
set -euo pipefail

"$WARPSMITH" run workloads/softmax.py --device cpu -D rows=3 -D dim=5 --check --save "$TMP/saved" >"$TMP/out" 2>&1 </dev/null || {
    cat "$TMP/out"
    exit 1
}
"$WARPSMITH" run workloads/softmax.py --device cpu -D rows=3 -D dim=5 --dtype bf16 --save "$TMP/bf16" >>"$TMP/out" 2>&1 </dev/null
python3 - "$TMP" <<'END'
import ast, math, struct, sys

def load(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", f"{path}: {data[:8]}"
    n = struct.unpack("<H", data[8:10])[0]
    assert (10 + n) % 64 == 0, f"{path}: header of {n} bytes"
    header = ast.literal_eval(data[10:10 + n].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    count = math.prod(header["shape"])
    return header["shape"], struct.unpack(f"<{count}f", data[10 + n:])

for folder, tolerance in ("saved", 1e-5), ("bf16", 1e-2):
    shape, x = load(f"{sys.argv[1]}/{folder}/x.npy")
    assert shape == (3, 5), shape
    shape, out = load(f"{sys.argv[1]}/{folder}/out0.npy")
    assert shape == (3, 5), shape
    for row in range(3):
        e = [math.exp(v) for v in x[5 * row:5 * row + 5]]
        for got, want in zip(out[5 * row:5 * row + 5], e):
            want /= sum(e)
            assert abs(got - want) <= tolerance, f"{folder}: {got}, expected {want}"
END

# What is in which file: inputs with their sources, then outputs.
"$WARPSMITH" run workloads/layernorm.py --device cpu -D rows=3 -D dim=5 --dtype bf16 --mode train --save "$TMP/train" \
    >"$TMP/out" 2>&1 </dev/null
diff "$TMP/train/tensors.txt" - <<'END'
x.npy argument bf16 L['x']
weight.npy parameter bf16 L['self'].weight
bias.npy parameter bf16 L['self'].bias
tangent.npy tangent bf16 tangents[0]
out0.npy output bf16 out0
out1.npy output bf16 out1
out2.npy output bf16 out2
out3.npy output bf16 out3
END

# What forward updates, read by it or not, has the name of what it was: by that PyTorch's is found.
printf 'import torch\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer("total", torch.zeros(3))\n        self.register_buffer("last", torch.zeros(3))\n\n    def forward(self, x):\n        self.total += x\n        self.last.data.copy_(x)\n        return x * 2\n\n\ndef get_inputs():\n    return [torch.randn(3)]\n' >"$TMP/updates.py"
"$WARPSMITH" run "$TMP/updates.py" --device cpu --save "$TMP/updates" >"$TMP/out" 2>&1 </dev/null
diff "$TMP/updates/tensors.txt" - <<'END'
x.npy argument f32 L['x']
total.npy buffer f32 L['self'].total
out0.npy output f32 out0
out1.npy update f32 L['self'].total
out2.npy update f32 L['self'].last
END

# Unwritable: status 3.
code=0
"$WARPSMITH" run workloads/softmax.py --device cpu -D rows=3 -D dim=5 --save /proc/nowhere >"$TMP/out" 2>&1 </dev/null || code=$?
[ $code = 3 ] || {
    echo "--save /proc/nowhere: expected 3, got $code"
    cat "$TMP/out"
    exit 1
}
