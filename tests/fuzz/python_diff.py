#!/usr/bin/env python3
"""The capture's VM against python3: scripts without tensors must print the same.

    python_diff.py RUN_PYTHON scripts            every file of tests/fuzz/python
    python_diff.py RUN_PYTHON random [SEED [N]]  N random expressions
    python_diff.py RUN_PYTHON programs [SEED [N]]  N random programs; one that differs is shrunk

RUN_PYTHON is the program of run_python.c. --counts FILE adds how many were run to the sums in FILE. The last line is "N passed, N failed".
"""
import ast
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile

from python_gen import Expressions, Programs

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 100  # expressions in one script


def run(command, path):
    p = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                       env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"})
    return p.stdout.decode("utf-8", "replace").splitlines(), p.returncode, p.stderr.decode("utf-8", "replace")


def first_difference(want, got):
    for i in range(max(len(want), len(got))):
        w = want[i] if i < len(want) else "(nothing)"
        g = got[i] if i < len(got) else "(nothing)"
        if w != g:
            return i, w, g
    return None


def compare_script(vm, path):
    want, want_code, want_error = run([sys.executable], path)
    got, got_code, got_error = run([vm], path)
    difference = first_difference(want, got)
    if not difference and bool(want_code) == bool(got_code):
        return True
    print(f"{os.path.relpath(path)}:")
    if difference:
        print(f"  line {difference[0] + 1} of the output\n    python3  {difference[1]}\n    ours     {difference[2]}")
    for name, error in ("python3", want_error), ("ours", got_error):
        if error:
            print(f"  {name}: " + "\n    ".join(error.splitlines()[-4:]))
    return False


def scripts(vm):
    folder = os.path.join(HERE, "python")
    names = sorted(n for n in os.listdir(folder) if n.endswith(".py"))
    return [compare_script(vm, os.path.join(folder, n)) for n in names]


class Big(Exception):
    """An integer beyond 64 bits, which the subset has not."""


def check(v):
    if type(v) is int and not -2 ** 63 <= v < 2 ** 63:
        raise Big
    return v


class Checked(ast.NodeTransformer):
    """Every number that is computed goes through check()."""

    def visit(self, node):
        if isinstance(node, ast.MatchValue):  # patterns are literals
            return node
        node = super().visit(node)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)):
            return ast.Call(ast.Name("check", ast.Load()), [node], [])
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return [node, ast.Expr(ast.Call(ast.Name("check", ast.Load()), [ast.Name(node.target.id, ast.Load())], []))]
        return node


def checked(text, mode):
    return compile(ast.fix_missing_locations(Checked().visit(ast.parse(text, mode=mode))), "text", mode)


def evaluate(expression):
    """What python3 prints, or None where the subset differs on purpose."""
    try:
        code = checked(expression, "eval")
    except SyntaxError:  # quotes inside the quotes of an f-string
        return None
    try:
        return repr(eval(code, {"check": check}))
    except (Big, MemoryError, OverflowError):
        return None
    except Exception as e:
        return type(e).__name__


def execute(program):
    """The lines that python3 prints, or None: see evaluate(). Programs catch Exception, so that Big is told by a flag."""
    big = []

    def noted(v):
        try:
            return check(v)
        except Big:
            big.append(v)
            raise

    out = io.StringIO()
    try:
        code = checked(program, "exec")
    except SyntaxError:
        return None
    signal.signal(signal.SIGALRM, lambda *_: big.append(0) or sys.exit())
    signal.alarm(5)
    try:
        with contextlib.redirect_stdout(out):
            exec(code, {"check": noted, "__name__": "__main__"})
    except (SystemExit, MemoryError, OverflowError):
        return None
    finally:
        signal.alarm(0)
    text = out.getvalue()
    return None if big or len(text) > 20000 or "OverflowError" in text or " at 0x" in text else text.splitlines()


def run_text(vm, text):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(text + "\n")
        f.flush()
        return run([vm], f.name)


def differs(vm, program):
    """Where ours differs from python3 on this program: a text, or None; None too if it is not to be judged."""
    want = execute(program)
    if want is None:
        return None
    got, code, error = run_text(vm, program)
    difference = first_difference(want, got)
    if difference:
        return f"line {difference[0] + 1}\n    python3  {difference[1]}\n    ours     {difference[2]}\n{error}"
    return error if code else None


def without(text, path):
    """The program without one statement: the path leads there from the module."""
    tree = ast.parse(text)
    node = tree
    for field, i in path[:-1]:
        node = getattr(node, field)[i]
    field, i = path[-1]
    del getattr(node, field)[i]
    if not getattr(node, field) and field != "orelse" and field != "finalbody":
        getattr(node, field).append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(tree))


def statements(node, path=()):
    for field in ("body", "orelse", "finalbody", "handlers"):
        for i, child in enumerate(getattr(node, field, None) or [] if not isinstance(getattr(node, field, None), ast.AST) else []):
            yield (*path, (field, i))
            yield from statements(child, (*path, (field, i)))


def shrink(vm, program):
    """Statements are dropped as long as the difference stays."""
    progress = True
    while progress:
        progress = False
        for path in list(statements(ast.parse(program)))[:200]:
            try:
                smaller = without(program, path)
                if smaller != program and differs(vm, smaller):
                    program, progress = smaller, True
                    break
            except (SyntaxError, ValueError, IndexError, AttributeError):
                continue
    return program


def random_programs(vm, seed, n):
    g, results = Programs(seed), []
    while len(results) < n:
        batch = []
        while len(batch) < min(20, n - len(results)):
            p = g.program()
            want = execute(p)
            if want is not None:
                batch.append((p, want))
        mark = "program ends"
        got, code, _ = run_text(vm, f"\nprint('{mark}')\n".join(p for p, _ in batch))
        if not code and got == [line for i, (_, w) in enumerate(batch) for line in ([mark] if i else []) + w]:
            results += [True] * len(batch)
            continue
        for p, _ in batch:
            difference = differs(vm, p)
            results.append(not difference)
            if difference:
                small = shrink(vm, p)
                print(f"{small}\n  {differs(vm, small) or difference}\n")
    return results


def random_expressions(vm, seed, n):
    g, results = Expressions(seed), []
    while len(results) < n:
        expressions, want = [], []
        while len(expressions) < min(BATCH, n - len(results)):
            e = g.any(g.r.randrange(1, 5))
            w = evaluate(e) if len(e) < 400 else None
            if w is not None and len(w) < 5000:
                expressions.append(e)
                want.append(w)
        text = "".join(f"try:\n    print(repr({e}))\nexcept Exception as e:\n    print(type(e).__name__)\n" for e in expressions)
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write(text)
            f.flush()
            got, code, error = run([vm], f.name)
        got = "\n".join(got).split("\n")
        for i, (e, w) in enumerate(zip(expressions, want)):
            ours = got[i] if i < len(got) else "(nothing)"
            results.append(ours == w)
            if ours != w:
                print(f"{e}\n    python3  {w}\n    ours     {ours}")
            if i >= len(got):
                print(error)
                break
    return results


def add_counts(path, kind, n):
    """Add n to the sum of this kind in the file: "programs 5000" a line."""
    sums = {}
    if os.path.exists(path):
        with open(path) as f:
            sums = {line.split()[0]: int(line.split()[1]) for line in f}
    sums[kind] = sums.get(kind, 0) + n
    with open(path, "w") as f:
        f.writelines(f"{k} {v}\n" for k, v in sums.items())


def main():
    kinds = {"random": random_expressions, "programs": random_programs}
    if len(sys.argv) < 3 or sys.argv[2] not in ("scripts", *kinds):
        print(__doc__, file=sys.stderr)
        return 2
    counts = sys.argv[sys.argv.index("--counts") + 1] if "--counts" in sys.argv else None
    if counts:
        del sys.argv[sys.argv.index("--counts"):]
    vm = os.path.abspath(sys.argv[1])
    if sys.argv[2] == "scripts":
        results = scripts(vm)
    else:
        seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
        n = int(sys.argv[4]) if len(sys.argv) > 4 else 500
        results = kinds[sys.argv[2]](vm, seed, n)
    if counts:
        add_counts(counts, sys.argv[2], len(results))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
