#!/usr/bin/env bash
# scripts/torch_peer.py as far as it goes without PyTorch: axes, statistics, the result file, exit codes; --check with a
# torch of a few lines (torch_stub/).
set -euo pipefail

if ! command -v python3 >/dev/null; then
    echo 'python3 is not installed'
    exit 77
fi

cat >"$TMP/workload.py" <<'END'
rows = 4
dim = 8
eps = 1e-5
half = dim // 2


def workload(x):
    return x


def get_inputs():
    return [rows * dim, half]
END

PYTHONDONTWRITEBYTECODE=1 python3 - "$TMP" <<'END'
import pathlib
import sys

sys.path.insert(0, "scripts")
import torch_peer as peer

folder = pathlib.Path(sys.argv[1])


def fails(code, text, call):
    try:
        call()
    except peer.Failure as failure:
        assert failure.code == code and text in str(failure), (failure.code, str(failure))
    else:
        assert False, f"expected: {text}"


# Axes are the constants; what is computed from one follows it.
(folder / "annotated.py").write_text(
    "from __future__ import annotations\nimport dataclasses\n"
    "@dataclasses.dataclass\nclass Config:\n    dim: int = 3\n")
names, _ = peer.load_workload(folder / "annotated.py", {})  # annotations are looked up in sys.modules
assert names["Config"]().dim == 3 and "annotated" not in sys.modules
names, axes = peer.load_workload(folder / "workload.py", {})
assert axes == {"rows": 4, "dim": 8, "eps": 1e-5}, axes
names, axes = peer.load_workload(folder / "workload.py", {"dim": "32"})
assert names["get_inputs"]() == [128, 16] and axes["dim"] == 32
fails(2, "no axis 'nope'; it has: rows, dim, eps", lambda: peer.load_workload(folder / "workload.py", {"nope": "1"}))
fails(2, "is not a number", lambda: peer.load_workload(folder / "workload.py", {"dim": "x+"}))
assert peer.parse_axes([]) == [{}]

# Variables that functions close over are found by their function; by their name alone where it says which.
import types  # noqa: E402

import torch_check  # noqa: E402


def scaled(w):
    return lambda x: x * w


model = types.SimpleNamespace(f=scaled([1, 2]), g=scaled([3, 4]))
model.modules = lambda: [model]
scope = {"L": {"self": model}, "C": torch_check.Cells(model)}
assert torch_check.value_of("L['self'].g.C['w'][1]", scope) == 4 and torch_check.value_of("L['self'].f.C['w']", scope) == [1, 2]
fails(1, "C['w'] is a variable of several functions", lambda: torch_check.value_of("C['w'][0]", scope))
del model.g
assert torch_check.value_of("C['w'][0]", {"C": torch_check.Cells(model)}) == 1
assert peer.parse_axes(["a=1,2", "b=3"]) == [{"a": "1", "b": "3"}, {"a": "2", "b": "3"}]
fails(2, "name=value", lambda: peer.parse_axes(["a"]))

found = peer.summary([float(i) for i in range(100, 0, -1)])
assert (found["n"], found["median_us"], found["min_us"]) == (100, 50.5, 1), found
assert (found["q1_us"], found["q3_us"]) == (25.75, 75.25) and 9 < found["ci_us"] < 11, found

# Modes, on a torch that is not one: f(x) = 2 x, whose gradient is twice the tangent.
class Tensor(float):
    requires_grad = False

    def is_floating_point(self):
        return True

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def dim(self):
        return 0

    def detach(self):
        return self


class Torch:
    Tensor, ones_like, randn_like, zeros_like = Tensor, lambda t: Tensor(1), lambda t: Tensor(7), lambda t: Tensor(0)

    class autograd:
        def grad(outputs, wants, tangents, retain_graph, allow_unused):
            assert retain_graph == (mode == "bwd") and all(t.requires_grad for t in outputs + wants)
            return [Tensor(2 * sum(tangents))] + [None] * (len(wants) - 1)


calls = 0


def double(x, y):
    global calls
    calls += 1
    return Tensor(2 * x).requires_grad_(), Tensor(0)


for mode, want in ("fwd", (6, 0)), ("train", [6, 2, 0]), ("bwd", [2, 0]):
    calls = 0
    call = peer.Differentiated(Torch, mode, double, [Tensor(3), Tensor(4), "text"][:2]).call_of(double)
    assert call() == want and call() == want, (mode, call())
    assert calls == (1 if mode == "bwd" else 2), (mode, calls)

# Lines of --cases: what is no way of the workload alone has files of its own.
case = peer.read_case("softmax bf16 tf32 --eval rows=8 --mode=train dim=2,4")
assert (case.path.name, case.dtype, case.precision, case.mode, case.eval, case.row_mode) == (
    "softmax.py", "bf16", "tf32", "train", True, "eval_train")
assert case.points == [{"rows": "8", "dim": "2"}, {"rows": "8", "dim": "4"}]
assert str(case.rows_file(pathlib.Path("r"), "eager")) == "r/softmax.csv"
assert str(case.rows_file(pathlib.Path("r"), "flash")) == "r/peers/softmax.csv"
plain = peer.read_case("'/a folder/b.py' f32 -", "bwd")
assert (str(plain.path), plain.precision, plain.mode, plain.points) == ("/a folder/b.py", None, "bwd", [{}])
assert plain.ways is None and peer.read_case("a.py f32 f32 --ways=eager,flex").ways == ["eager", "flex"]
assert str(plain.rows_file(pathlib.Path("r"), "compile")) == "r/b.csv"
for wrong in ("a.py f32", "a.py f32 f32 --mode=test", "a.py f32 f32 --mode=fwd --mode=bwd", "a.py f32 f32 --quick",
              "a.py f32 f32 --eval=1", "a.py f32 f32 --ways=quick", "'"):
    assert peer.read_case(wrong) is None, wrong


# A file that cannot be loaded is a row of each way, and no exception; what else is known of it is said.
class Clock:
    timer, launched = "monotonic", {}

    def facts(self):
        return {"device": "X1"}


(folder / "unloadable.py").write_text("n = 4\nraise RuntimeError('made up')\n")
said = []
rows = peer.bench(None, Clock(), peer.read_case(f"{folder}/unloadable.py f32 default n=4"), "cpu", {"n": "4"}, ["eager", "flash"],
                  20, lambda way, **facts: said.append((way, facts["status"], facts.get("error", ""))))
assert list(rows) == ["eager", "flash"] and all(r["status"] == "launch_error" and r["axes"] == "n=4" for r in rows.values())
assert {r["precision"] for r in rows.values()} == {"default"} and rows["flash"]["config"] == "flash"
assert said == [(way, *of) for way in ("eager", "flash") for of in (("begun", ""), ("launch_error", "RuntimeError: made up"))]


# PyTorch's own flags are TF32 for convolutions alone.
class Flags:
    class backends:
        class cuda:
            class matmul:
                allow_tf32 = None

        class cudnn:
            allow_tf32 = None


for precision, flags in (("f32", (False, False)), ("tf32", (True, True)), ("default", (False, True))):
    peer.set_precision(Flags, precision)
    assert (Flags.backends.cuda.matmul.allow_tf32, Flags.backends.cudnn.allow_tf32) == flags, precision

# --jobs: each case is compiled once, by some process; one that ends its process, and one that fails, cost themselves alone.
import argparse, os


class Compiler(Flags):
    class _dynamo:
        reset = lambda: None


def compiled(torch, clock, given, case, run, say):
    assert clock is None
    (folder / "taken").open("a").write(f"{case.path.stem}\n")
    if case.path.stem == "dies":
        os.kill(os.getpid(), 9)
    if case.path.stem == "fails":
        raise RuntimeError("made up")
    return 0


whole, peer.bench_case, peer.CpuClock = (peer.bench_case, peer.CpuClock), compiled, lambda torch: None
given = argparse.Namespace(device="cpu", jobs=3, cases="yes", progress=None)
names = ["a", "dies", "b", "fails", "c", "d", "e"]
for some, code in (names, 1), (["a", "b"], 0), (["dies"], 1):
    (folder / "taken").write_text("")
    assert peer.compile_all(Compiler, given, [peer.read_case(f"{name}.py f32 -") for name in some]) == code, some
    assert sorted((folder / "taken").read_text().split()) == sorted(some), (folder / "taken").read_text()
given.device = "tpu"
assert peer.compile_all(Compiler, given, [peer.read_case("a.py f32 -")] * 5) == 2  # and nothing is tried
peer.bench_case, peer.CpuClock = whole

# The result file: the columns of columns.def, whole rows, and only into a file of the same header.
columns = peer.result_columns()
assert columns[0] == "schema" and "median_us" in columns and "name" not in columns
path = folder / "r" / "workload.csv"
peer.append_rows(path, columns, [{"schema": 1, "median_us": 1 / 3, "config": 'a, "b"'}])
peer.append_rows(path, columns, [{"schema": 1, "median_us": 12345678.9}])
lines = path.read_text().splitlines()
assert lines[0] == ",".join(columns) and len(lines) == 3
assert '"a, ""b"""' in lines[1] and ",0.3333333," in lines[1] and ",1.234568e+07," in lines[2], lines
before = path.read_text()
path.write_text(before + "1,half")
fails(1, "half-written", lambda: peer.append_rows(path, columns, [{"schema": 1}]))
assert path.read_text() == before + "1,half"
path.write_text("a,b\n")
fails(1, "another header", lambda: peer.append_rows(path, columns, [{"schema": 1}]))
assert path.read_text() == "a,b\n"
# A file of an older schema gets rows of that schema.
(first, last), newest = peer.result_schemas()[0], peer.result_schemas()[-1]
assert (first, last, newest[1]) == (1, "compile_ms", columns[-1])
path.write_text(",".join(columns[: columns.index(last) + 1]) + "\n")
peer.append_rows(path, columns, [{"schema": newest[0], "compile_ms": 5, newest[1]: "gone"}])
lines = path.read_text().splitlines()
assert len(lines) == 2 and lines[1].startswith("1,") and lines[1].endswith(",5"), lines
END

for file in workloads/*.py; do
    python3 - "$file" <<'END' || { echo "$file: no docstring, no Model and no function of its name, or no get_inputs"; exit 1; }
import ast, pathlib, sys
path = pathlib.Path(sys.argv[1])
tree = ast.parse(path.read_text())
defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
sys.exit(not (ast.get_docstring(tree) and "get_inputs" in defined and defined & {"Model", path.stem}))
END
done

rc=0
said=$(python3 scripts/torch_peer.py --workload "$TMP/workload.py" --samples 3 2>&1) || rc=$?
if [ $rc != 2 ] || [[ $said != *'fewer than 20'* ]]; then
    echo "--samples 3: exit $rc: $said"
    exit 1
fi

printf '%s\n' 'a.py f32 tf32 rows=8' 'a.py f32 fast' >"$TMP/cases"
rc=0
said=$(python3 scripts/torch_peer.py --cases "$TMP/cases" 2>&1) || rc=$?
if [ $rc != 2 ] || [[ $said != *"cases:2: a line is WORKLOAD DTYPE PRECISION [--mode=MODE] [--eval] [--ways=WAYS] name=value ..., not 'a.py f32 fast'"* ]]; then
    echo "--cases: exit $rc: $said"
    exit 1
fi

rc=0
said=$(python3 scripts/torch_peer.py --workload "$TMP/workload.py" --ways eager,quick 2>&1) || rc=$?
if [ $rc != 2 ] || [[ $said != *"--ways has no 'quick'; it takes: eager, compile, max-autotune, flash, cudnn, efficient, math, flex"* ]]; then
    echo "--ways: exit $rc: $said"
    exit 1
fi

rc=0
said=$(python3 scripts/torch_peer.py --cases "$TMP/cases" --jobs 2 2>&1) || rc=$?
if [ $rc != 2 ] || [[ $said != *"--jobs is a number of processes that --compile-only takes"* ]]; then
    echo "--jobs: exit $rc: $said"
    exit 1
fi

# As many threads as there are cores, though what it loads binds it to one of them.
python3 - <<'END'
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "scripts")
import torch_peer as peer

cores, cpus = peer.physical_cores(), os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(cpus)})
assert peer.physical_cores() == cores
with peer.on_all_cpus():
    assert os.sched_getaffinity(0) == cpus
assert os.sched_getaffinity(0) == {min(cpus)}
END

# ---- --check, against a torch of lists -------------------------------------------------------------------------------

cat >"$TMP/scaled.py" <<'END'
"""x (rows, dim) times a weight, and the sum of x * x."""
import torch
import torch.nn as nn

rows = 64
dim = 8


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, dim))

    def forward(self, x):
        return x * self.weight, (x * x).sum()


def get_inputs():
    return [torch.randn(rows, dim)]
END

# check CODE OPTION...: torch_peer.py --check of that file; what it says.
check() {
    rc=0
    said=$(PYTHONPATH=tests/run/torch_stub python3 -B scripts/torch_peer.py --device cpu --check "${FILE:-$TMP/scaled.py}" \
        "${@:2}" 2>&1) || rc=$?
    if [ $rc != "$1" ]; then
        printf '%s\n' "--check ${*:2}: exit $rc, expected $1:" "$said"
        exit 1
    fi
}
says() {
    if ! grep -qE -- "$1" <<<"$said"; then
        printf '%s\n' "expected /$1/ in:" "$said"
        exit 1
    fi
}

check 0 --mode fwd,train --dtype f32,bf16 --max-elements 16 --csv "$TMP/check.csv"
says "^scaled train f32 grad L\['self'\]\.weight .* ok$"
says '^scaled +train +bf16 +4 .* ok$'
says '^12 outputs ok, 0 not$'
sed 's/return x \* self.weight, .*/return x.mul_(self.weight)/' "$TMP/scaled.py" >"$TMP/updated.py"
FILE=$TMP/updated.py check 0 --mode fwd,train --axes rows=4
says "^updated fwd f32 updated L\['x'\] .* ok$"
says '^6 outputs ok, 0 not$'
said=$(cat "$TMP/check.csv")
says '^workload,mode,dtype,axes,output,shape,max_abs_err,max_rel_err,tolerance,verdict,torch,device,date$'
says "^scaled,train,f32,dim=4 rows=4,grad L\['x'\],4x4,[^,]*,[^,]*,0.0001,ok,stub,"
[ "$(wc -l <<<"$said")" = 13 ] || says '13 lines'

# One gradient takes the place of the other: found, and the rest is still compared.
cat >"$TMP/swapped" <<END
#!/usr/bin/env bash
"$WARPSMITH" "\$@" || exit
while [ "\$1" != --save ]; do shift; done
cp "\$2/out2.npy" "\$2/out3.npy"
END
printf '#!/usr/bin/env bash\necho "made-up failure" >&2\nexit 3\n' >"$TMP/broken"
chmod +x "$TMP/swapped" "$TMP/broken"
WARPSMITH=$TMP/swapped check 1 --mode train --axes rows=4
says "grad L\['self'\]\.weight .* WRONG$"
says "grad L\['x'\] .* ok$"
says '^3 outputs ok, 1 not$'
# Where forward draws at random, PyTorch's numbers are others: that is said, and no error.
sed 's/^import torch$/import random\n\nimport torch/; s/return x \* self.weight, .*/return x * self.weight, x if random.random() < 2 else 0/' \
    "$TMP/scaled.py" >"$TMP/drawn.py"
FILE=$TMP/drawn.py check 0 --mode fwd --axes rows=4
FILE=$TMP/drawn.py WARPSMITH=$TMP/swapped check 1 --mode train --axes rows=4
says 'drawn train f32 : FAILED: forward draws at random, other numbers in PyTorch: not comparable'
WARPSMITH=$TMP/broken check 1
says 'FAILED: warpsmith: exit 3: made-up failure'

WARPSMITH=$TMP/absent check 3
check 3 --device cuda:0
check 2 --axes nope=1
check 2 --mode bwd
says "no 'bwd'; it takes: fwd, train"
