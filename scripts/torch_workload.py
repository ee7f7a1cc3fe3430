"""Workload files under PyTorch, for torch_peer.py and torch_check.py: axes, the model, its inputs."""

import ast
import pathlib
import platform
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failure(Exception):
    """Something to say to the user, and the exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def exit_with(name, main):
    """Ends with main's exit code, or with what a Failure says, after the program's name."""
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)


# ---- the workload ----------------------------------------------------------------------------------------------------


def literal(node):
    """The value of a constant, or None."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, (bool, int, float, str)) else None


def axis_assignments(tree):
    """The module-level `name = constant` statements, `b, h = 2, 4` among them: these are the axes. Of each the name, the
    value, and where its node stands: in a statement's fields, or in a tuple."""
    for node in tree.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and literal(value) is not None:
            yield target.id, literal(value), (vars(node), "value")
        if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, ast.Tuple):
            continue
        names = [name.id for name in target.elts if isinstance(name, ast.Name)]
        if len(names) == len(target.elts) == len(value.elts):
            for i, name in enumerate(names):
                if literal(value.elts[i]) is not None:
                    yield name, literal(value.elts[i]), (value.elts, i)


def package_of(path):
    """Where the file's imports look: the folder above all packages that it lies in, and its package's name."""
    root = path.resolve().parent
    parts = []
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


class Beside(types.ModuleType):
    """The folder of a file that is in no package, for its relative imports."""

    def __init__(self, name, root):
        super().__init__(name)
        self.__path__ = [str(root)]


def load_workload(path, overrides):
    """Run the file with the axes overridden. Returns its names and the axes as a dict."""
    try:
        tree = ast.parse(path.read_text(), str(path))
    except (OSError, SyntaxError) as error:
        raise Failure(2, f"cannot read {path}: {error}")
    axes = {}
    for name, value, (holder, at) in axis_assignments(tree):
        if name in overrides:
            text = overrides[name]
            try:
                value = text if isinstance(value, str) else ast.literal_eval(text)
            except (ValueError, SyntaxError):
                raise Failure(2, f"axis {name}: '{text}' is not a number")
            holder[at] = ast.copy_location(ast.Constant(value), holder[at])
        axes[name] = value
    for name in overrides:
        if name not in axes:
            raise Failure(2, f"{path} has no axis '{name}'; it has: {', '.join(axes) or 'none'}")
    module = types.ModuleType(path.stem)
    names = vars(module)
    names["__file__"] = str(path)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # where dataclasses look up annotations that are strings
    root, names["__package__"] = package_of(path)
    if not names["__package__"]:
        names["__package__"] = "_beside"
        sys.modules["_beside"] = Beside("_beside", root)
    sys.path.insert(0, str(root))
    try:
        exec(compile(tree, str(path), "exec"), names)
    finally:
        sys.path.remove(str(root))
        sys.modules[path.stem] = before
        if before is None:
            del sys.modules[path.stem]
    return names, axes


def find_class(torch, names, stem):
    """Model, or where there is no function to call, either, the last module that the file defines."""
    if "Model" in names or stem in names or "forward" in names:
        return names.get("Model")
    made = [c for c in names.values() if isinstance(c, type) and issubclass(c, torch.nn.Module) and c.__module__ == stem]
    return made[-1] if made else None


def cast(torch, model, dtype):
    """Module.to(dtype) of a real type would drop the imaginary parts of what is complex."""
    if not any(t.is_complex() for t in [*model.parameters(), *model.buffers()]):
        return model.to(dtype=dtype)
    both = {torch.float64: torch.complex128, torch.float32: torch.complex64}
    of = lambda t: both.get(dtype, t.dtype) if t.is_complex() else dtype if t.is_floating_point() else t.dtype
    return model._apply(lambda t: t.to(of(t)))


def made_on(torch, device, make):
    """What a function of the file makes, on the device at once if it can: random numbers for gigabytes take a CPU long."""
    if device == "cpu":
        return make()
    try:
        with torch.device(device):
            return make()
    except Exception:  # some of it is said to be elsewhere
        return make()


def build(torch, names, path, dtype, device):
    """The callable, its inputs, and its parameters, cast and moved."""
    torch.manual_seed(0)

    def place(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(device=device, dtype=dtype if value.is_floating_point() else value.dtype)

    model_class = find_class(torch, names, path.stem)
    if model_class:
        init = names.get("get_init_inputs", list)()
        both = [type(part) for part in init] == [list, dict]
        model = made_on(torch, device, lambda: model_class(*init[0], **init[1]) if both else model_class(*init))
        model = cast(torch, model.to(device=device), dtype)
        kept = list(model.parameters()) + list(model.buffers())
    elif path.stem in names or "forward" in names:
        model, kept = names.get(path.stem) or names["forward"], []
    else:
        raise Failure(2, f"{path} has neither a class Model nor a function {path.stem} or forward")
    return model, [place(value) for value in made_on(torch, device, names["get_inputs"])], kept


def tensors_of(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors_of(torch, item)]
    return []


def cpu_name():
    found = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1) if found else platform.machine()


def as_cell(value):
    return f"{value:.7g}" if isinstance(value, float) else str(value)
