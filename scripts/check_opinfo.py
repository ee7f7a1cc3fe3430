#!/usr/bin/env python3
"""check_opinfo.py: the operators of PyTorch's OpInfo database, as a user would call them, against PyTorch on the CPU.

    python3 scripts/check_opinfo.py --out DIR [--only PATTERN] [--shard 0/2] [--seconds 600] ...
    python3 scripts/check_opinfo.py --out DIR --table

A sample of an operator becomes a workload file: the call, and its tensors as data. `warpsmith run` computes outputs and,
where the operator has them, gradients of it, which are compared with PyTorch's as scripts/torch_peer.py --check does. A
row says of one sample: right, wrong, refused (with the first line of why), crash, timeout, free, not compared (no sample of
the operator can be written as text: a sparse tensor, an object of its own class). An element is right, too,
that is off by no more than torch.testing.assert_close allows. Free is what PyTorch promises nothing of: which of equal
elements a place is of; and a gradient that is none (MISTAKEN). Of random numbers and of empty(), shapes and types alone are
compared. Samples of an operator run together in one file as long as all are right, else one by one. What has a row already is not run again; the table of
all rows comes last, and DIR/opinfo_operators.csv has its counts. The files of what is not right stay in DIR.
Exit codes: 0 nothing wrong nor crashed, 1 something, 2 wrong call, 3 no PyTorch."""

import argparse
import csv
import itertools
import math
import operator
import pathlib
import re
import sys
import tempfile
import time
import types

COLUMNS = ["operator", "variant", "dtype", "mode", "sample", "status", "message", "call"]
STATUSES = ["right", "wrong", "crash", "timeout", "refused", "free", "not compared"]
ATOL = {"f64": 1e-7}  # of torch.testing.assert_close; 1e-5 of other floats
PLACES = re.compile(r"sort|topk|kthvalue|median|mode|cummax|cummin|^max$|^min$|argmax|argmin|^aminmax|max_pool|quantile")
DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}
DTYPES |= {"i64": "int64", "i32": "int32", "u8": "uint8", "bool": "bool", "c64": "complex64"}


def imports():
    """PyTorch, its database, and the comparison; exits where they are missing."""
    try:
        import expecttest  # noqa: F401
    except ImportError:  # of which the database needs a class to derive from
        stub = types.ModuleType("expecttest")
        stub.TestCase = __import__("unittest").TestCase
        sys.modules["expecttest"] = stub
    try:
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.common_modules import module_db
    except ImportError as error:
        print(f"check_opinfo: needs PyTorch and its OpInfo database: {error}", file=sys.stderr)
        sys.exit(3)
    import torch_check
    import torch_workload

    return torch, op_db, module_db, torch_check, torch_workload


# What PyTorch says is the gradient of these is none: it passes what was overwritten, and not the rest; what is not read.
MISTAKEN = {"as_strided_scatter", "cholesky_inverse"}
# Of decompositions, what does not depend on signs (or turns) of vectors.
UNIQUE = {"linalg.eigh": ["{r}[0]", "{r}[1].abs()"]}
UNIQUE |= {name: ["{r}[0].abs()", "{r}[1]", "{r}[2].abs()"] for name in ("svd", "linalg.svd")}
PROPERTIES = {"T", "H", "mT", "mH"}
# The database's input is the second argument of these, and its first other one the first.
SECOND_FIRST = {"where", "einsum", "nn.functional.embedding", "nn.functional.embedding_bag", "polygamma", "special.polygamma"}


class Unwritable(Exception):
    """An argument that has no plain text: a sparse tensor, a generator, a function without a name."""


class Case:
    """A call, what comes before it, and what is returned of it, with {r} for the name of its result."""

    def __init__(self, variant, sample, call, text):
        self.variant, self.sample, self.call, self.text = variant, sample, call, text
        self.before, self.results, self.random = [], ["{r}"], False


class OfModule(Case):
    """The same of a module, self.module, that the constructor makes."""

    def __init__(self, variant, sample, call, constructor):
        super().__init__(variant, sample, call, "")
        self.constructor = constructor


class Call:
    """One sample's call as text; its tensors are collected under the names that it has in the text."""

    def __init__(self, torch, names):
        self.torch, self.names, self.tensors = torch, names, []

    def text(self, value):
        torch = self.torch
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.is_quantized or value.numel() > 3000:
                raise Unwritable("a tensor")
            if value.is_complex():  # given as pairs of real numbers
                self.tensors.append((next(self.names), torch.view_as_real(value.detach().resolve_conj()).clone()))
                return f"torch.view_as_complex({self.tensors[-1][0]})"
            self.tensors.append((next(self.names), value.detach().clone()))
            return self.tensors[-1][0]
        if value is None or value is Ellipsis or isinstance(value, (bool, int, str)):
            return repr(value) if value is not Ellipsis else "..."
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return str(value)
        if isinstance(value, torch.device):
            return f"torch.device('{value}')"
        if isinstance(value, torch.Size):
            return self.text(tuple(value))
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, list):
            return f"[{', '.join(self.text(item) for item in value)}]"
        if isinstance(value, tuple):
            return f"({', '.join(self.text(item) for item in value)}{',' if len(value) == 1 else ''})"
        raise Unwritable(type(value).__name__)

    def arguments(self, args, kwargs):
        texts = [self.text(value) for value in args] + [f"{name}={self.text(value)}" for name, value in kwargs.items()]
        return ", ".join(texts)


def function_named(torch, name):
    """Whether torch.<name> is a function."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def calls_of(torch, op, sample, variant, names):
    """The call of a sample in one of its variants: function, method, in_place."""
    call, name = Call(torch, names), op.name.removeprefix("torch.")
    if name in SECOND_FIRST and variant == "function":
        first, *rest = sample.args
        first, rest = call.text(first), call.arguments((sample.input, *rest), sample.kwargs)
        return call, f"torch.{name}({first}, {rest})"
    if variant == "function":
        if not function_named(torch, name) or name in PROPERTIES:
            if not hasattr(torch.Tensor, name):
                raise Unwritable(name)
            variant = "method"
        else:
            return call, f"torch.{name}({call.arguments((sample.input, *sample.args), sample.kwargs)})"
    if not isinstance(sample.input, torch.Tensor):
        raise Unwritable(name)
    own = call.text(sample.input)
    if not callable(getattr(sample.input, name.rsplit(".")[-1], None)) and not sample.args and not sample.kwargs:
        return call, f"{own}.{name}"  # T, mT
    rest = call.arguments(sample.args, sample.kwargs)
    if variant == "operator":
        return call, f"operator.{op.operator_variant.__name__}({own}{', ' * bool(rest)}{rest})"
    if name == "__getitem__":
        return call, f"{own}[{rest}]"
    return call, f"{own}.{name}({rest})" if variant == "method" else f"{own}.clone().{name}_({rest})"


def data(torch, tensor, strided=False):
    """The expression that makes the tensor, in its order of dimensions in memory: nested lists of its values. Strided: each
    element is followed by another one."""
    if strided and tensor.ndim:
        return data(torch, torch.stack([tensor, tensor], -1)) + "[..., 0]"
    order = sorted(range(tensor.ndim), key=lambda d: -tensor.stride(d))
    if not tensor.is_contiguous() and tensor.permute(order).is_contiguous():
        back = tuple(order.index(d) for d in range(tensor.ndim))
        return data(torch, tensor.permute(order)) + f".permute({back})"
    values = tensor.double() if tensor.is_floating_point() else tensor
    text = re.sub(r"\b(nan|inf)\b", r"float('\1')", repr(values.tolist()))
    if tensor.numel() == 0:
        return f"torch.zeros({tuple(tensor.shape)}, dtype={tensor.dtype})"
    return f"torch.tensor({text}, dtype={tensor.dtype})"


def workload(torch, cases, strided=False):
    """The text of a file that makes these calls."""
    tensors = [pair for case in cases for pair in case.call.tensors]
    lines, returned = [], []
    for i, case in enumerate(cases):
        lines += [f"    {line}".replace("{r}", f"r{i}") for line in (*case.before, f"{{r}} = {case.text}")]
        returned += [result.replace("{r}", f"r{i}") for result in case.results]
    head = ["import operator", "", "import torch", "", "", f"def forward({', '.join(name for name, _ in tensors)}):"]
    if isinstance(cases[0], OfModule):
        head = ["import torch", "", "", "class Model(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
        head += [f"        self.module = {cases[0].constructor}", "", f"    def forward({', '.join(['self'] + [n for n, _ in tensors])}):"]
        lines = [f"    {line}" for line in lines]
    indent = "        " if isinstance(cases[0], OfModule) else "    "
    lines = [*head, *lines, f"{indent}return {', '.join(returned)}", "", "", "def get_inputs():", "    return ["]
    lines += [f"        {data(torch, tensor, strided)}," for _, tensor in tensors] + ["    ]", ""]
    return "\n".join(lines)


def kind_of(value):
    """Samples whose arguments are alike in this are of one kind."""
    return f"{value.ndim} {value.numel() == 0}" if hasattr(value, "ndim") else str(type(value))


def samples_of(torch, given, op, dtype, wants):
    """Samples whose call can be written, the first of each kind of arguments first, at most `given.samples`."""
    torch.manual_seed(0)
    kinds, rest = {}, []
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=wants), 200):
        kind = (
            kind_of(sample.input),
            tuple(kind_of(a) for a in sample.args),
            tuple(sorted((k, v if isinstance(v, (str, bool)) else "") for k, v in sample.kwargs.items())),
        )
        if kind in kinds:
            rest.append(sample)
        else:
            kinds[kind] = sample
    return (list(kinds.values()) + rest)[: given.samples]


def tensors_in(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [x for item in value for x in tensors_in(torch, item)] if isinstance(value, (list, tuple)) else []


def evaluated(torch, case, seed, dtype=None):
    torch.manual_seed(seed)
    scope = {"torch": torch, "operator": operator, **{name: tensor.clone() for name, tensor in case.call.tensors}}
    if isinstance(case, OfModule):
        torch.manual_seed(0)
        scope["self"] = types.SimpleNamespace(module=eval(case.constructor, scope).to(dtype))
        torch.manual_seed(seed)
    return eval(case.text, scope)


def look(torch, name, case, dtype=None):
    """What PyTorch computes tells whether it is something else each time (dropout, rand, empty), and what is returned of it:
    complex numbers as pairs of real ones, and of what is unique up to a sign or a turn only what does not depend on it."""
    found = [evaluated(torch, case, seed, dtype) for seed in (1, 2)]
    tensors = tensors_in(torch, found[0])
    if not tensors:
        raise Unwritable("no result that is a tensor")
    pairs = zip(tensors, tensors_in(torch, found[1]))
    case.random = re.search(r"\bempty|_empty", case.text) or not all(torch.allclose(a, b, equal_nan=True) for a, b in pairs)
    if name in UNIQUE:
        case.results = UNIQUE[name]
    elif any(x.is_complex() for x in tensors):
        items = ["{r}"] if isinstance(found[0], torch.Tensor) else [f"{{r}}[{i}]" for i in range(len(found[0]))]
        if len(items) != len(tensors):
            raise Unwritable("nested results of complex numbers")
        case.results = [as_real(x, item) for x, item in zip(tensors, items)]
    return found[0]


def as_real(tensor, text):
    return f"torch.view_as_real(torch.resolve_conj({text}))" if tensor.is_complex() else text


def into_memory(torch, name, case):
    """The same call with memory for its results, out=, of which is compared what is of the results."""
    found = evaluated(torch, case, 1)
    tensors = tensors_in(torch, found)
    if any(x.is_complex() for x in tensors):
        raise Unwritable("memory of complex numbers")
    memory = [f"{{r}}o{i}" for i in range(len(tensors))]
    case.results = [re.sub(r"\{r\}\[(\d)\]", r"{r}o\1", text) for text in UNIQUE.get(name, memory)]
    case.before = [f"{{r}}o{i} = torch.empty({tuple(x.shape)}, dtype={x.dtype})" for i, x in enumerate(tensors)]
    memory = memory[0] if isinstance(found, torch.Tensor) else f"({', '.join(memory)})"
    case.text = f"{case.text[:-1]}, out={memory})"


def has_ties(call):
    """Whether a tensor has two elements that are equal."""
    return any(tensor.unique().numel() < tensor.numel() for _, tensor in call.tensors)


def is_wrong(row, tolerances):
    """Beyond what torch.testing.assert_close allows of floats, whatever their size is: gradients of 0 that are all noise."""
    if row["verdict"] == "ok":
        return False
    floats = {tolerances[name]: ATOL.get(name, 1e-5) for name in ("f64", "f32", "f16", "bf16")}
    return row["max_abs_err"] > floats.get(row["tolerance"], 0)


def judge(modules, path, mode, dtype, random):
    """(status, message) of one file."""
    torch, torch_check, torch_workload = modules
    try:
        rows = list(torch_check.compare(torch, path, {}, mode, dtype, "cpu"))
    except torch_workload.Failure as failure:
        said = str(failure)
        code = re.match(r"warpsmith: exit (-?\d+): ", said)
        if "more than 300 s" in said:
            return "timeout", said
        if not code:
            return ("right", "") if random and "outputs" not in said else ("wrong", said)
        crashed = int(code[1]) not in (1, 2, 3) or "internal error" in said
        return ("crash" if crashed else "refused"), said[code.end() :] if not crashed else said
    wrong = [row for row in rows if is_wrong(row, torch_check.TOLERANCE)]
    if not wrong or random:
        return "right", ""
    row = wrong[0]
    return "wrong", f"{row['output']}: error {row['max_abs_err']:.2e}, {row['max_rel_err']:.2e} relative"


def check(given, modules, op, dtype_name, rows_done, write):
    torch, _, _ = modules
    dtype = getattr(torch, DTYPES[dtype_name])
    if dtype not in op.dtypes:
        return
    wants = op.supports_autograd and dtype_name in given.gradients.split(",")
    mode = "train" if wants else "fwd"
    run_as = dtype_name if dtype.is_floating_point else "f32"
    name = op.name + (f"/{op.variant_test_name}" if op.variant_test_name else "")
    variants = given.variants.split(",")
    todo, lost = [], []

    def note(variant, i, status, message, text):
        write(dict(zip(COLUMNS, [name, variant, dtype_name, mode, i, status, message[:300], text[:200]])))

    for variant in variants:
        if variant == "method" and (op.method_variant is None or op.name.startswith("__")):
            continue
        if variant == "out" and not op.supports_out or variant == "operator" and op.operator_variant is None:
            continue
        if variant == "in_place" and (op.inplace_variant is None or not hasattr(torch.Tensor, op.name + "_")):
            continue
        if (name, variant, dtype_name) in rows_done:
            continue
        try:
            samples = samples_of(torch, given, op, dtype, wants)
        except Exception as error:
            note(variant, 0, "not compared", f"no samples: {type(error).__name__}", "")
            return
        names = (f"x{i}" for i in itertools.count())
        for i, sample in enumerate(samples if variant == "function" else samples[: given.others]):
            if variant == "in_place" and sample.broadcasts_input:
                continue
            try:
                case = Case(variant, i, *calls_of(torch, op, sample, "function" if variant == "out" else variant, names))
                look(torch, op.name, case)
                if variant == "out":
                    into_memory(torch, op.name, case)
                todo.append(case)
            except Unwritable as error:
                lost.append(f"the call cannot be written: {error}")
            except Exception as error:  # not what PyTorch takes in this variant
                lost.append(f"PyTorch: {type(error).__name__}")
    if not todo:
        if lost and (name, variants[0], dtype_name) not in rows_done:
            note(variants[0], 0, "not compared", lost[0], "")
        return
    stem = re.sub(r"\W", "_", f"{name}_{dtype_name}")
    for chosen in ([c for c in todo if c.variant != "out"], [c for c in todo if c.variant == "out"]):
        if chosen:
            out = chosen[0].variant == "out"  # which has no gradient
            run_cases(given, modules, chosen, stem + "_out" * out, "fwd" if out else mode, run_as, op.name, note)


def run_cases(given, modules, cases, stem, mode, run_as, name, note):
    """Rows of these cases: in one file, or, if not all are right there, one by one."""
    torch = modules[0]
    folder = given.out / "files"
    folder.mkdir(parents=True, exist_ok=True)

    def run(chosen, suffix):
        path = folder / f"{stem}{suffix}.py"
        path.write_text(workload(torch, chosen, given.strided))
        floats = any(t.is_floating_point() for case in chosen for _, t in case.call.tensors)
        random = any(case.random for case in chosen)
        try:
            status, message = judge(modules, path, mode if floats else "fwd", run_as, random)
        except Exception as error:  # of PyTorch: no gradient, for instance
            try:
                status, message = judge(modules, path, "fwd", run_as, random)
            except Exception:
                status, message = "wrong", f"PyTorch: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        if "nothing to differentiate" in message:  # of tensors without elements
            status, message = judge(modules, path, "fwd", run_as, random)
        if status == "right":
            path.unlink()
        return status, message

    status, message = run(cases, "")
    for case in cases:
        if status != "right" and len(cases) > 1:
            (folder / f"{stem}.py").unlink(missing_ok=True)
            one = run([case], f"_{case.variant}_{case.sample}")
        else:
            one = status, message
        if one[0] == "wrong" and name in MISTAKEN and one[1].startswith("grad"):
            one = "free", one[1]
        if one[0] == "wrong" and PLACES.search(name) and has_ties(case.call):
            one = "free", one[1]
        note(case.variant, case.sample, *one, case.text.replace("{r}", ""))


def check_errors(given, modules, op, dtype_name, rows_done, write):
    """What PyTorch refuses has to end in a message, too: right; what is computed all the same is free, as some checks are
    of PyTorch's own kernels alone, and has to be looked at."""
    torch, torch_check, torch_workload = modules
    name = op.name + (f"/{op.variant_test_name}" if op.variant_test_name else "")
    if op.error_inputs_func is None or (name, "error", dtype_name) in rows_done:
        return
    try:
        wrong_ones = list(op.error_inputs("cpu"))
    except Exception as error:
        wrong_ones, said = [], f"no samples: {type(error).__name__}"
        write(dict(zip(COLUMNS, [name, "error", dtype_name, "fwd", 0, "not compared", said, ""])))
    folder = given.out / "files"
    folder.mkdir(parents=True, exist_ok=True)
    for i, wrong_one in enumerate(wrong_ones):
        names = (f"x{k}" for k in itertools.count())
        status, message, text = "not compared", "", ""
        try:
            case = Case("error", i, *calls_of(torch, op, wrong_one.sample_input, "function", names))
            text = case.text
            path = folder / (re.sub(r"\W", "_", f"{name}_error_{i}") + ".py")
            path.write_text(workload(torch, [case]))
            try:
                evaluated(torch, case, 1)
                message = "PyTorch: computes it"
            except Exception as error:
                status, message = judge_error(torch_check, torch_workload, path, dtype_name, f"{type(error).__name__}: {error}")
            if status != "crash" and status != "free":
                path.unlink()
        except Unwritable as error:
            message = f"the call cannot be written: {error}"
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        write(dict(zip(COLUMNS, [name, "error", dtype_name, "fwd", i, status, message[:300], text[:200]])))


def judge_error(torch_check, torch_workload, path, dtype, expected):
    """(status, message) of a file that PyTorch refuses."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            torch_check.run_warpsmith(path, {}, "fwd", dtype, "cpu", pathlib.Path(folder))
        except torch_workload.Failure as failure:
            said = str(failure)
            code = re.match(r"warpsmith: exit (-?\d+): ", said)
            if not code or int(code[1]) not in (1, 2) or "internal error" in said or "no message" in said:
                return "timeout" if not code else "crash", said
            return "right", said[code.end() :]
    return "free", " ".join(expected.split())


def module_text(torch, cls, given_to_init, names):
    """The constructor's call: its tensors are written where they are needed, functions by their names."""

    def text(value):
        if isinstance(value, torch.Tensor):
            return data(torch, value.detach())
        if callable(value) and getattr(torch.nn.functional, getattr(value, "__name__", "?"), None) is value:
            return f"torch.nn.functional.{value.__name__}"
        return Call(torch, names).text(value)

    kwargs = {k: v for k, v in given_to_init.kwargs.items() if k not in ("device", "dtype")}
    given = [text(v) for v in given_to_init.args] + [f"{k}={text(v)}" for k, v in kwargs.items()]
    return f"torch.nn.{cls.__name__}({', '.join(given)})"


def check_module(given, modules, info, dtype_name, rows_done, write):
    """As check(), of a module's constructor and call: in training mode, and by eval()."""
    torch = modules[0]
    dtype = getattr(torch, DTYPES[dtype_name])
    name = f"nn.{info.module_cls.__name__}"
    if dtype not in info.dtypes or not hasattr(torch.nn, info.module_cls.__name__):
        return
    wants = dtype_name in given.gradients.split(",")
    mode = "train" if wants else "fwd"

    def note(variant, i, status, message, text):
        write(dict(zip(COLUMNS, [name, variant, dtype_name, mode, i, status, message[:300], text[:200]])))

    for variant in ("train", "eval") if info.train_and_eval_differ else ("train",):
        if (name, variant, dtype_name) in rows_done:
            continue
        torch.manual_seed(0)
        training, lost = variant == "train", []
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=wants, training=training)
        for i, sample in enumerate(inputs[: 2 * given.samples]):
            names = (f"x{k}" for k in itertools.count())
            call = Call(torch, names)
            try:
                constructor = module_text(torch, info.module_cls, sample.constructor_input, names) + ".eval()" * (not training)
                case = OfModule(variant, i, call, constructor)
                case.text = f"self.module({call.arguments(sample.forward_input.args, sample.forward_input.kwargs)})"
                look(torch, name, case, dtype)
            except Unwritable as error:
                lost.append(f"the call cannot be written: {error}")
                continue
            except Exception as error:
                lost.append(f"PyTorch: {type(error).__name__}")
                continue
            stem = re.sub(r"\W", "_", f"{name}_{dtype_name}_{variant}_{i}")
            said = lambda *row: note(*row[:-1], f"{constructor} {case.text}")
            run_cases(given, modules, [case], stem, mode, dtype_name, name, said)
        if lost:
            note(variant, 0, "not compared", lost[0], "")


def read_rows(given):
    rows = []
    for table in sorted(given.out.glob("opinfo_*_of_*.csv")):
        with table.open(newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


def print_table(given):
    """Per operator, the worst first; counts of all in a CSV."""
    rows = read_rows(given)
    counts = {}
    for row in rows:
        mine = counts.setdefault(row["operator"], dict.fromkeys(STATUSES, 0) | {"why": ""})
        mine[row["status"]] += 1
        if row["status"] != "right" and not mine["why"]:
            mine["why"] = row["message"]
    with (given.out / "opinfo_operators.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["operator", *STATUSES])
        writer.writerows([name, *(mine[s] for s in STATUSES)] for name, mine in sorted(counts.items()))
    order = sorted(counts.items(), key=lambda pair: [-pair[1][s] for s in STATUSES[1:]] + [pair[0]])
    print(f"\n{'operator':44} " + " ".join(f"{s:>8}" for s in STATUSES))
    for name, mine in order:
        if mine["why"]:
            print(f"{name:44} " + " ".join(f"{mine[s]:8}" for s in STATUSES) + f"  {mine['why'][:110]}")
    total = {s: sum(mine[s] for mine in counts.values()) for s in STATUSES}
    whole = sum(not mine["why"] for mine in counts.values())
    print(f"{len(counts)} operators, {whole} of them right in all; samples: " + ", ".join(f"{total[s]} {s}" for s in STATUSES))
    return 1 if total["wrong"] or total["crash"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("check-opinfo"))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--gradients", default="f32,f64,c64", help="dtypes whose gradients are compared, too")
    parser.add_argument("--variants", default="function,method,in_place,operator,out")
    parser.add_argument("--samples", type=int, default=4, help="at most, of an operator in a dtype")
    parser.add_argument("--others", type=int, default=2, help="samples of variants that are no functions, at most")
    parser.add_argument("--strided", action="store_true", help="inputs that have gaps in memory")
    parser.add_argument("--only", default="", help="a pattern: of operators")
    parser.add_argument("--modules", action="store_true", help="modules of torch.nn (ModuleInfo) in place of operators")
    parser.add_argument("--errors", action="store_true", help="the calls that PyTorch refuses in place of those it computes")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth operator from the Ith on")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after so long")
    parser.add_argument("--table", action="store_true", help="print the table of what was run")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.table:
        return print_table(given)
    torch, op_db, module_db, torch_check, torch_workload = imports()
    torch.set_num_threads(1)
    done = {(row["operator"], row["variant"], row["dtype"]) for row in read_rows(given)}
    table = given.out / f"opinfo_{given.shard.replace('/', '_of_')}.csv"
    part, parts = (int(x) for x in given.shard.split("/"))
    begun = time.monotonic()
    with table.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()

        def write(row):
            writer.writerow(row)
            file.flush()
            if row["status"] != "right":
                print(f"{row['status']:8} {row['call'][:60]:60} {row['dtype']:4} {row['message'][:140]}", flush=True)

        for dtype in given.dtypes.split(","):
            infos = [info for info in module_db if re.search(given.only, f"nn.{info.module_cls.__name__}")] if given.modules else []
            for info in infos[part::parts]:
                if time.monotonic() - begun < given.seconds:
                    check_module(given, (torch, torch_check, torch_workload), info, dtype, done, write)
            for op in [op for op in op_db if re.search(given.only, op.name)][part::parts] if not given.modules else []:
                if time.monotonic() - begun > given.seconds:
                    print("check_opinfo: out of time; call again to go on")
                    break
                one = check_errors if given.errors else check
                one(given, (torch, torch_check, torch_workload), op, dtype, done, write)
    return print_table(given)


if __name__ == "__main__":
    sys.exit(main())
