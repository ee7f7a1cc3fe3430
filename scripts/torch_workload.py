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


# ---- the workload ----------------------------------------------------------------------------------------------------


def axis_assignments(tree):
    """The module-level `name = constant` statements: these are the axes."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            if isinstance(value, (bool, int, float, str)):
                yield node.targets[0].id, value, node


def load_workload(path, overrides):
    """Run the file with the axes overridden. Returns its names and the axes as a dict."""
    try:
        tree = ast.parse(path.read_text(), str(path))
    except (OSError, SyntaxError) as error:
        raise Failure(2, f"cannot read {path}: {error}")
    axes = {}
    for name, value, node in axis_assignments(tree):
        if name in overrides:
            text = overrides[name]
            try:
                value = text if isinstance(value, str) else ast.literal_eval(text)
            except (ValueError, SyntaxError):
                raise Failure(2, f"axis {name}: '{text}' is not a number")
            node.value = ast.copy_location(ast.Constant(value), node.value)
        axes[name] = value
    for name in overrides:
        if name not in axes:
            raise Failure(2, f"{path} has no axis '{name}'; it has: {', '.join(axes) or 'none'}")
    module = types.ModuleType(path.stem)
    names = vars(module)
    names["__file__"] = str(path)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # where dataclasses look up annotations that are strings
    try:
        exec(compile(tree, str(path), "exec"), names)
    finally:
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
        model = model_class(*init[0], **init[1]) if both else model_class(*init)
        model = model.to(device=device, dtype=dtype)
        kept = list(model.parameters()) + list(model.buffers())
    elif path.stem in names or "forward" in names:
        model, kept = names.get(path.stem) or names["forward"], []
    else:
        raise Failure(2, f"{path} has neither a class Model nor a function {path.stem} or forward")
    return model, [place(value) for value in names["get_inputs"]()], kept


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
