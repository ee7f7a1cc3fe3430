#!/usr/bin/env bash
# What is mathematically zero is right however large its roundings are beside it, in f32 and f64: means of what was
# normalised, gradients of a bias in front of a norm. And a double is expected as one: 1e300 is not infinite, and products
# that leave the range of doubles are 0 up to some units of the least. What has no bound as a whole is judged kernel by
# kernel; what cannot be judged is counted.
set -euo pipefail

cat >"$TMP/bias.py" <<'END'
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, x):
        return self.layers(x)

def get_inputs():
    return [torch.randn(8, 4)]
END
cat >"$TMP/means.py" <<'END'
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 1, bias=False), nn.BatchNorm2d(16), nn.Conv2d(16, 96, 1, bias=False), nn.BatchNorm2d(96), nn.ReLU6()
        )

    def forward(self, x):
        return self.layers(x)

def get_inputs():
    return [torch.randn(2, 3, 56, 56)]
END
cat >"$TMP/huge.py" <<'END'
import torch

def huge(x):
    return torch.nan_to_num(x / 0, posinf=1e300)

def get_inputs():
    return [torch.randn(8, 4)]
END
cat >"$TMP/products.py" <<'END'
import torch

def products(x):
    return torch.cumprod(x, 1)

def get_inputs():
    return [torch.randn(64, 2048)]
END
cat >"$TMP/norms.py" <<'END'
import torch
import torch.nn as nn

depth = 8

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(16, 16, bias=False), nn.BatchNorm1d(16)) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

def get_inputs():
    return [torch.randn(8, 16)]
END
cat >"$TMP/pole.py" <<'END'
import torch

def pole(x):
    zero = x.sum(1) - x.flip(1).sum(1)
    return torch.cat([1 / zero, x[:, 0]])

def get_inputs():
    return [torch.randn(4, 64)]
END
check() {
    "$WARPSMITH" run "$TMP/$1.py" --device cpu --check "${@:2}" >"$TMP/out" 2>&1 </dev/null && grep -q 'all outputs agree' "$TMP/out" || {
        echo "$*: expected all outputs to agree with the reference, got:"
        cat "$TMP/out"
        exit 1
    }
}
check bias --mode train --dtype f64
check bias --mode train
check means
check huge --dtype f64
check products --dtype f64
check pole
said() {
    grep -qx "$2" "$TMP/out" || {
        echo "$1: expected '$2', got:"
        cat "$TMP/out"
        exit 1
    }
}
said pole 'check: 4 of 8 elements of out0 have no bound: not judged'
check norms
said norms 'check: [0-9]* elements of [0-9]* outputs, the first of them out0, have no bound as a whole: judged kernel by kernel'
said norms 'each kernel alone: \([0-9]*\) of the \1 buffers that they write are judged'
if grep 'not judged' "$TMP/out"; then exit 1; fi
