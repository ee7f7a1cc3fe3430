"""`scripts/torch_peer.py --check`: warpsmith's outputs and gradients against PyTorch's, on the very inputs, parameters and
tangents that `warpsmith run --save` wrote.

    workload    mode  dtype  output                 the largest error, and what part of the tolerance it is
    layernorm train f32 out0                        error 2.4e-07   0.001 of the tolerance  ok
    layernorm train f32 grad L['self'].weight       error 1.9e-06   0.004 of the tolerance  ok
"""

import ast
import csv
import datetime
import inspect
import itertools
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

from torch_workload import ROOT, Failure, as_cell, build, cpu_name, load_workload, tensors_of

# Of warpsmith against PyTorch, per output: the table of tuner/check.c. Of u8, i8 and i16: the share that is off by one.
TOLERANCE = {"bool": 0.0, "u8": 2**-10, "i8": 2**-10, "i16": 2**-10, "i32": 0.0, "i64": 0.0}
TOLERANCE.update({"f8e4m3": 0.13, "f8e5m2": 0.26, "f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-4, "f64": 1e-6})
MARGIN = 4
COLUMNS = "workload,mode,dtype,axes,output,shape,max_abs_err,max_rel_err,tolerance,verdict,torch,device,date"


def dtype_of(torch, name):
    names = {"bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}
    names.update({"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"})
    names.update({"f16": "float16", "bf16": "bfloat16", "f32": "float32"})
    return getattr(torch, names.get(name, "float64"))


def read_npy(torch, path, name):
    """A tensor of dtype `name`. NumPy has no bf16 and no f8: such a file holds the same values as f32."""
    data = path.read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10 : 10 + length].decode())
    kinds = {"|b1": "bool", "|u1": "u8", "|i1": "i8", "<i2": "i16", "<i4": "i32", "<i8": "i64"}
    stored = {**kinds, "<f2": "f16", "<f4": "f32", "<f8": "f64"}[header["descr"]]
    if stored != name and not (stored == "f32" and name in ("bf16", "f8e4m3", "f8e5m2")):
        raise Failure(1, f"{path} holds {stored}, tensors.txt says {name}")
    values = bytearray(data[10 + length :])
    flat = torch.frombuffer(values, dtype=dtype_of(torch, stored)) if values else torch.empty(0)
    return flat.reshape(header["shape"]).to(dtype=dtype_of(torch, name))


class Saved:
    """What `warpsmith run --save` has written: tensors.txt lists file, kind, dtype, source."""

    def __init__(self, torch, folder):
        rows = [line.split(" ", 3) for line in (folder / "tensors.txt").read_text().splitlines()]
        loaded = [(kind, source, dtype, read_npy(torch, folder / file, dtype)) for file, kind, dtype, source in rows]
        kinds = ("argument", "parameter", "buffer")
        fed = [(source, t) for kind, source, _, t in loaded if kind in kinds]
        # but constants of forward, and what an array of numpy is made of
        self.inputs = [(source, t) for source, t in fed if not source.startswith("T[") and not source.endswith("._t")]
        self.tangents = {int(source[9:-1]): t for kind, source, _, t in loaded if kind == "tangent"}
        made = [row for row in loaded if row[0] == "output" or row[0] == "update" and not row[1].startswith("T[")]
        self.outputs = [(source, dtype, t) for _, source, dtype, t in made]
        self.draws = False  # PyTorch's forward draws at random
        self.updates = [source for kind, source, _, _ in made if kind == "update"]
        self.wanted = [s for kind, s, _, t in loaded if kind in ("argument", "parameter") and t.is_floating_point()]


class Cells(dict):
    """What functions kept in modules have closed over, by name, where one name is one thing: self.mlp = lambda x: m.fc(x)."""

    def __init__(self, model):
        super().__init__()
        for module in getattr(model, "modules", list)():
            for function in vars(module).values():
                code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
                for name, cell in zip(code.co_freevars, cells) if cells else ():
                    self.setdefault(name, []).append(cell)

    def __getitem__(self, name):
        cells = super().__getitem__(name)
        if any(cell.cell_contents is not cells[0].cell_contents for cell in cells):
            raise Failure(1, f"C['{name}'] is a variable of several functions: not comparable")
        return cells[0].cell_contents


def value_of(source, scope):
    """What a source of tensors.txt is: "L['self'].norm.weight", "L['self'].mlp.C['m'].bias" of a variable that mlp closes over."""
    found = re.fullmatch(r"(.+)\.C\['(\w+)'\](.*)", source)
    if not found:
        return eval(source, scope)
    base, name, rest = found.groups()
    function = value_of(base, scope)
    function = getattr(function, "__func__", function)
    cell = function.__closure__[function.__code__.co_freevars.index(name)]
    return eval(f"cell{rest}", {**scope, "cell": cell.cell_contents})


class Modules(dict):
    """sys.modules, where a file of a package is found by its own name, too, as an import of its folder has it."""

    def __missing__(self, name):
        return next(m for full, m in self.items() if full.endswith(f".{name}"))


def scope_of(names, model, inputs):
    """Where the sources of tensors.txt can be evaluated: "L['self'].norm.weight"."""
    forward = getattr(model, "forward", model)
    bound = (forward.__self__,) if inspect.ismethod(forward) else ()
    # Of a decorated function the wrapper is called: def wrapper(*args, **kwargs) of @torch.no_grad().
    arguments = inspect.signature(getattr(forward, "__func__", forward), follow_wrapped=False).bind(*bound, *inputs)
    arguments.apply_defaults()
    return {"L": {**arguments.arguments, "self": model}, "G": names, "C": Cells(model), "M": Modules(sys.modules)}


def whole_of(source, scope):
    """The tensor that gradients are taken of, and which part of it the source is, if it is of complex numbers."""
    base, _, part = source.rpartition(".")
    whole = value_of(base, scope) if part in ("real", "imag") else None
    return (whole, part) if hasattr(whole, "is_complex") and whole.is_complex() else (value_of(source, scope), "")


def clones(torch, value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(clones(torch, item) for item in value)
    return value


def random_state(torch):
    """Whatever a draw of a workload changes."""
    others = [sys.modules[name] for name in ("numpy.random",) if name in sys.modules]
    drawn = [repr(module.get_state()) for module in others] + [random.getstate()]
    return [torch.get_rng_state().tolist() if hasattr(torch, "get_rng_state") else 0, *drawn]


def torch_outputs(torch, path, axes, mode, dtype, device, saved):
    """What PyTorch computes from the saved inputs: outputs, then in mode train gradients, each with its name."""
    names, _ = load_workload(path, axes)
    for name, value in list(names.items()):  # tensors that the file makes are inputs too
        if isinstance(value, torch.Tensor):
            names[name] = value.to(device=device, dtype=dtype if value.is_floating_point() else value.dtype)
    model, inputs, _ = build(torch, names, path, dtype, device)
    scope = scope_of(names, model, inputs)
    with torch.no_grad():
        for source, value in saved.inputs:
            target = value_of(source, scope)
            if tuple(target.shape) != tuple(value.shape):
                raise Failure(1, f"{source} is {list(target.shape)} here, {list(value.shape)} in warpsmith")
            for d in range(target.ndim):  # one element for many, after expand(): written once
                if target.stride(d) == 0 and target.shape[d] > 1:
                    target, value = target.narrow(d, 0, 1), value.narrow(d, 0, 1)
            target.copy_(value.to(device=device, dtype=target.dtype))
    wants = [whole_of(source, scope) for source in saved.wanted] if mode == "train" else []
    for tensor, _ in wants:
        tensor.requires_grad_()
    with torch.set_grad_enabled(mode == "train"):
        given = clones(torch, inputs)  # autograd lets a forward update these in place, and not its leaves
        scope = scope_of(names, model, given)
        updated = [(source, value_of(source, scope)) for source in saved.updates]
        kept = {source: value_of(source, scope) for source, _ in saved.inputs}
        kept.update(getattr(model, "named_buffers", dict)())
        memory = {t.untyped_storage().data_ptr() for _, t in updated}
        kept = {name: t for name, t in kept.items() if t.untyped_storage().data_ptr() not in memory}
        before = {name: t.detach().clone() for name, t in kept.items()}
        state = random_state(torch)
        outputs = tensors_of(torch, model(*given))
        saved.draws |= random_state(torch) != state
    for name, tensor in kept.items():
        if not torch.allclose(tensor, before[name], 0, 0, equal_nan=True):
            raise Failure(1, f"PyTorch updates {name}, warpsmith does not")
    titles = [f"out{i}" for i in range(len(outputs))] + [f"updated {source}" for source, _ in updated]
    outputs += [tensor for _, tensor in updated]
    found = [(title, t.detach()) for title, t in zip(titles, outputs)]
    if mode == "train":
        pairs = [(t, saved.tangents[i]) for i, t in enumerate(outputs) if i in saved.tangents and t.requires_grad]
        tangents = [tangent.to(device=device, dtype=t.dtype) for t, tangent in pairs]
        gradients = torch.autograd.grad([t for t, _ in pairs], [t for t, _ in wants], tangents, allow_unused=True)
        for source, (want, part), gradient in zip(saved.wanted, wants, gradients):
            gradient = torch.zeros_like(want) if gradient is None else gradient
            found.append((f"grad {source}", getattr(gradient, part) if part else gradient))
    return found


def errors(torch, got, want):
    """Largest |got - want|, and largest |got - want| / (|want| + rms(want)); inf where one is finite and one is not."""
    got, want = got.to(device="cpu", dtype=torch.float64), want.to(device="cpu", dtype=torch.float64)
    if not want.numel():
        return 0.0, 0.0
    same = (got == want) | (got.isnan() & want.isnan())
    finite = torch.where(want.isfinite(), want, torch.zeros_like(want))
    scale = finite.abs() + (finite * finite).mean().sqrt()
    error = torch.where(same, torch.zeros_like(want), (got - want).abs())
    relative = torch.where(same, torch.zeros_like(want), error / scale)
    worst = [t.max().item() for t in (error, relative)]  # a NaN is the maximum
    return tuple(float("inf") if value != value else value for value in worst)


def errors_of_steps(torch, got, want):
    """Of small integers: the largest difference, and the share that is off by one, which floats that lie between two
    integers may be; inf where one is off by more."""
    apart = (got.to(device="cpu", dtype=torch.int32) - want.to(device="cpu", dtype=torch.int32)).abs()
    most = apart.max().item() if apart.numel() else 0
    return float(most), float("inf") if most > 1 else (apart > 0).double().mean().item() if most else 0.0


def largest_tensor(torch, path, axes, device):
    """Elements of the largest input or parameter, and the axes."""
    names, values = load_workload(path, axes)
    _, inputs, kept = build(torch, names, path, torch.float32, device)
    return max((t.numel() for t in tensors_of(torch, inputs) + kept), default=0), values


def forget_modules(before):
    """What the workload's own imports made, as on the device "meta", is made anew by the next one; not what is installed."""
    for name in set(sys.modules) - before:
        if not str(getattr(sys.modules[name], "__file__", None) or sys.prefix).startswith(sys.prefix):
            del sys.modules[name]


def smaller_axes(torch, path, given, limit):
    """Halve the largest axis that is not given until no input or parameter has more than `limit` elements."""
    axes = dict(given)
    while True:
        before = set(sys.modules)
        try:
            with torch.device("meta"):  # shapes alone
                most, values = largest_tensor(torch, path, axes, "meta")
        except Exception:  # the workload looks at values
            forget_modules(before)
            most, values = largest_tensor(torch, path, axes, "cpu")
        forget_modules(before)
        free = {name: v for name, v in values.items() if name not in given and type(v) is int and v > 1}
        if not free or most <= limit:
            return axes
        largest = max(free, key=free.get)
        axes[largest] = str(free[largest] // 2)


def run_warpsmith(path, axes, mode, dtype, device, folder):
    command = [os.environ.get("WARPSMITH", str(ROOT / "build/warpsmith")), "run", str(path)]
    command += ["--device", device, "--mode", mode, "--dtype", dtype, "--save", str(folder)]
    for name, value in axes.items():
        command += ["-D", f"{name}={value}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise Failure(3, f"cannot run {command[0]}: {error}")
    except subprocess.TimeoutExpired:
        raise Failure(1, "warpsmith took more than 300 s")
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise Failure(1, f"warpsmith: exit {done.returncode}: {said[0]}")


def second_opinion(torch, row, got, want, exact):
    """The error against PyTorch in f64, if that is smaller. Where terms cancel (a bias in front of batch norm has the
    gradient 0) there is only noise to compare: up to MARGIN times PyTorch's own error is within the tolerance."""
    error, relative = errors(torch, got, exact)
    own, _ = errors(torch, want, exact)
    if 0 < own < float("inf"):
        relative = min(relative, row["tolerance"] * error / (MARGIN * own))
    return {"max_abs_err": error, "max_rel_err": relative} if relative < row["max_rel_err"] else {}


def held_by_f16(torch, exact):
    """Infinite where f16 is."""
    narrow = exact.to(torch.float16)
    return torch.where(narrow.isinf(), narrow.to(exact.dtype), exact)


def exact_outputs(torch, path, axes, mode, device, saved):
    """What PyTorch computes in f64; [] if the workload insists on a type."""
    try:
        return torch_outputs(torch, path, axes, mode, torch.float64, device, saved)
    except RuntimeError:
        return []


def compare(torch, path, axes, mode, dtype, device):
    """One row of results for each output."""
    with tempfile.TemporaryDirectory() as folder:
        run_warpsmith(path, axes, mode, dtype, device, pathlib.Path(folder))
        saved = Saved(torch, pathlib.Path(folder))
    found = torch_outputs(torch, path, axes, mode, dtype_of(torch, dtype), device, saved)
    if len(found) != len(saved.outputs):
        raise Failure(1, f"warpsmith has {len(saved.outputs)} outputs, PyTorch {len(found)}")
    exact = None
    for i, ((_, name, got), (title, want)) in enumerate(zip(saved.outputs, found)):
        row = {"output": title, "shape": "x".join(map(str, got.shape)), "tolerance": TOLERANCE[name]}
        if tuple(got.shape) != tuple(want.shape) or want.dtype != dtype_of(torch, name):
            raise Failure(1, f"{title}: {name} {list(got.shape)}, but PyTorch's is {want.dtype} {list(want.shape)}")
        small = name in ("u8", "i8", "i16")
        row["max_abs_err"], row["max_rel_err"] = (errors_of_steps if small else errors)(torch, got, want)
        if small and row["max_rel_err"] > row["tolerance"] and dtype in ("f16", "bf16"):
            exact = exact_outputs(torch, path, axes, mode, device, saved) if exact is None else exact
            if exact:
                row["max_abs_err"], row["max_rel_err"] = errors_of_steps(torch, got, exact[i][1])
        if row["max_rel_err"] > row["tolerance"] and want.is_floating_point():
            exact = exact_outputs(torch, path, axes, mode, device, saved) if exact is None else exact
            if exact:
                best = held_by_f16(torch, exact[i][1]) if name == "f16" else exact[i][1]
                row.update(second_opinion(torch, row, got, want, best))
        row["verdict"] = "ok" if row["max_rel_err"] <= row["tolerance"] else "WRONG"
        if row["verdict"] == "WRONG" and saved.draws:
            raise Failure(1, "forward draws at random, other numbers in PyTorch: not comparable")
        yield row


def check_one(torch, path, given, mode, dtype, device, limit):
    """compare(), where whatever goes wrong is a row as well."""
    common = {"workload": path.stem, "mode": mode, "dtype": dtype}
    try:
        axes = smaller_axes(torch, path, given, limit) if limit else given
        common["axes"] = " ".join(f"{k}={v}" for k, v in sorted(load_workload(path, axes)[1].items()))
        rows = [{**common, **row} for row in compare(torch, path, axes, mode, dtype, device)]
    except Failure as failure:
        if failure.code != 1:
            raise
        rows = [{**common, "verdict": "FAILED", "why": str(failure)}]
    except Exception as error:  # of the workload under PyTorch
        rows = [{**common, "verdict": "FAILED", "why": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}]
    for row in rows:
        what = f"{row['workload']} {mode} {dtype} {row.get('output', '')}"
        if "why" in row:
            print(f"{what}: FAILED: {row['why']}", flush=True)
            continue
        used = row["max_rel_err"] / row["tolerance"] if row["tolerance"] else row["max_rel_err"]
        print(f"{what:60} error {row['max_abs_err']:.1e}  {used:6.3f} of the tolerance  {row['verdict']}", flush=True)
    return rows


def print_check_table(rows):
    print(f"\n{'workload':20} {'mode':6} {'dtype':5} {'outputs':>7}  {'worst / tolerance':>17}  verdict")
    for key in dict.fromkeys((row["workload"], row["mode"], row["dtype"]) for row in rows):
        mine = [row for row in rows if (row["workload"], row["mode"], row["dtype"]) == key]
        compared = [row["max_rel_err"] / (row["tolerance"] or 1) for row in mine if "max_rel_err" in row]
        worst = f"{max(compared):.3f}" if compared else ""
        verdict = next((row["verdict"] for row in mine if row["verdict"] != "ok"), "ok")
        print(f"{key[0]:20} {key[1]:6} {key[2]:5} {len(compared):7}  {worst:>17}  {verdict}")
    bad = sum(row["verdict"] != "ok" for row in rows)
    print(f"{len(rows) - bad} outputs ok, {bad} not")


def device_name(torch, device):
    return cpu_name() if device == "cpu" else torch.cuda.get_device_properties(device).name


def check(torch, given, points):
    """All files in all modes and dtypes, in this one process."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    common = {"torch": torch.__version__, "device": device_name(torch, given.device)}
    common["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    rows = []
    for path, dtype, mode, point in itertools.product(given.check, given.dtype, given.mode, points):
        rows += check_one(torch, path, point, mode, dtype, given.device, given.max_elements)
    if given.csv:
        given.csv.parent.mkdir(parents=True, exist_ok=True)
        with given.csv.open("w", newline="") as file:
            columns = COLUMNS.split(",")
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([as_cell({**common, **row}.get(name, "")) for name in columns] for row in rows)
    print_check_table(rows)
    return 1 if any(row["verdict"] != "ok" for row in rows) else 0
