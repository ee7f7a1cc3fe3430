#!/usr/bin/env python3
"""The capture's VM against python3: scripts without tensors must print the same.

    python_diff.py RUN_PYTHON scripts            every file of tests/fuzz/python
    python_diff.py RUN_PYTHON random [SEED [N]]  N random expressions

RUN_PYTHON is the program of run_python.c. The last line is "N passed, N failed".
"""
import os
import random
import subprocess
import sys
import tempfile

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


class Generator:
    """Random expressions over small values. Integers stay below 64 bits most of the time: what does not is dropped by
    the caller, who asks python3."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *choices):
        return self.r.choice(choices)

    def integer(self, depth):
        if depth <= 0:
            return str(self.r.choice((0, 1, 2, 3, 5, 7, 10, 63, 255, 1000, -1, -2, -7, -100)))
        e = lambda: self.integer(depth - 1)
        return self.pick(
            lambda: f"({e()} {self.pick('+', '-', '*', '//', '%', '&', '|', '^')} {e()})",
            lambda: f"({e()} {self.pick('<<', '>>')} {self.r.randrange(8)})",
            lambda: f"({e()} ** {self.r.randrange(4)})",
            lambda: f"{self.pick('-', '~', '+')}({e()})",
            lambda: f"{self.pick('abs', 'int', 'round', 'bool')}({e()})",
            lambda: f"{self.pick('min', 'max')}({e()}, {e()})",
            lambda: f"({e()} if {self.truth(depth - 1)} else {e()})",
            lambda: f"len({self.sequence(depth - 1)})",
            lambda: f"sum({self.ints(depth - 1)})",
            lambda: f"divmod({e()}, {e()})[{self.pick(0, 1)}]",
            lambda: f"int({self.real(depth - 1)})",
            lambda: f"(lambda a, b={e()}: a - b)({e()})",
        )()

    def real(self, depth):
        if depth <= 0:
            return self.pick("0.5", "1.0", "-2.25", "3.75", "1e10", "1e-3", "0.1", "100.0", "-0.0", "7.0", "2.5")
        e = lambda: self.real(depth - 1)
        return self.pick(
            lambda: f"({e()} {self.pick('+', '-', '*', '/', '//', '%')} {e()})",
            lambda: f"({e()} {self.pick('+', '-', '*', '/')} {self.integer(depth - 1)})",
            lambda: f"({self.integer(depth - 1)} / {self.integer(depth - 1)})",
            lambda: f"float({self.integer(depth - 1)})",
            lambda: f"round({e()}, {self.r.randrange(4)})",
            lambda: f"-({e()})",
            lambda: f"abs({e()})",
            lambda: f"({e()} if {self.truth(depth - 1)} else {e()})",
        )()

    def truth(self, depth):
        if depth <= 0:
            return self.pick("True", "False", "0", "1", "''", "'a'", "None", "[]")
        e = lambda: self.any(depth - 1)
        return self.pick(
            lambda: f"({self.integer(depth - 1)} {self.pick('<', '<=', '==', '!=', '>', '>=')} {self.integer(depth - 1)})",
            lambda: f"({self.real(depth - 1)} {self.pick('<', '==', '>')} {self.integer(depth - 1)})",
            lambda: f"({self.text(depth - 1)} {self.pick('<', '==', '!=', 'in', 'not in')} {self.text(depth - 1)})",
            lambda: f"({self.integer(0)} < {self.integer(depth - 1)} <= {self.integer(0)})",
            lambda: f"({e()} {self.pick('and', 'or')} {e()})",
            lambda: f"(not {e()})",
            lambda: f"bool({e()})",
            lambda: f"({e()} == {e()})",
            lambda: f"({self.integer(0)} in {self.ints(depth - 1)})",
            lambda: f"isinstance({e()}, {self.pick('int', 'str', '(list, tuple)', 'float', 'bool')})",
            lambda: f"{self.pick('any', 'all')}({self.sequence(depth - 1)})",
        )()

    def text(self, depth):
        if depth <= 0:
            return self.pick("''", "'a'", "'abc'", "'Hello, World'", "'x y z'", "'  pad '", "\"it's\"", "'12'", "'a,b,,c'")
        e = lambda: self.text(depth - 1)
        spec = lambda: self.pick("", ":>6", ":<6", ":^7", ":*^9", "!r", "!s", "!r:>8")
        number = lambda: self.pick("", ":d", ":5", ":05d", ":x", ":,", ":+d", ":b", ":>8", ":<6d")
        real = lambda: self.pick("", ":.2f", ":8.3f", ":e", ":.3g", ":g", ":+.1f", ":10.4e", ":.0f", ":%", ":,.1f")
        return self.pick(
            lambda: f"({e()} + {e()})",
            lambda: f"({e()} * {self.r.randrange(4)})",
            lambda: f"{e()}.{self.pick('upper', 'lower', 'strip')}()",
            lambda: f"{e()}.replace({self.text(0)}, {self.text(0)})",
            lambda: f"{e()}[{self.slice()}]",
            lambda: f"{self.text(0)}.join(str(i) for i in {self.sequence(depth - 1)})",
            lambda: f"str({self.any(depth - 1)})",
            lambda: f"repr({self.any(depth - 1)})",
            lambda: f"f'<{{{self.plain()}{spec()}}}>'",
            lambda: f"f'<{{({self.integer(0)}){number()}}}>'",
            lambda: f"f'<{{({self.real(0)}){real()}}}>'",
            lambda: f"format({self.real(depth - 1)}, '{real()[1:]}')",
            lambda: f"format({self.integer(depth - 1)}, '{number()[1:]}')",
            lambda: f"type({self.any(depth - 1)}).__name__",
            lambda: f"chr(97 + ({self.integer(depth - 1)}) % 26)",
        )()

    def plain(self):
        """A text that may stand inside the quotes of an f-string."""
        return self.pick('"ab"', '""', '"Hello"', "str(12.5)", "repr(None)", "str([1, 2])")

    def slice(self):
        part = lambda: self.pick("", "0", "1", "2", "-1", "-2", "5", "100")
        return self.pick(part() or "0", f"{part()}:{part()}", f"{part()}:{part()}:{self.pick('', '1', '2', '-1', '-2')}")

    def ints(self, depth):
        if depth <= 0:
            return self.pick("[]", "[1, 2, 3]", "range(5)", "(4, 5)", "[3, 1, 2]", "range(6, 0, -2)")
        e = lambda: self.integer(depth - 1)
        return self.pick(
            lambda: f"[{e()}, {e()}]",
            lambda: f"[i {self.pick('+', '*', '//', '%')} 3 for i in {self.ints(depth - 1)}]",
            lambda: f"[i for i in {self.ints(depth - 1)} if i {self.pick('>', '!=', '<')} {e()}]",
            lambda: f"sorted({self.ints(depth - 1)}{self.pick('', ', reverse=True', ', key=lambda v: -v')})",
            lambda: f"list({self.ints(depth - 1)})[{self.slice_only()}]",
            lambda: f"list(map(abs, {self.ints(depth - 1)}))",
            lambda: f"[*{self.ints(depth - 1)}, {e()}]",
        )()

    def slice_only(self):
        s = self.slice()
        return s if ":" in s else s + ":"

    def sequence(self, depth):
        if depth <= 0:
            return self.pick("[]", "()", "'abc'", "[1, 'a', None]", "(1.5, True)", "range(3)")
        return self.pick(
            lambda: self.ints(depth),
            lambda: self.text(depth),
            lambda: f"[{self.any(depth - 1)}, {self.any(depth - 1)}]",
            lambda: f"({self.any(depth - 1)},)",
            lambda: f"list(zip({self.ints(depth - 1)}, {self.text(0)}))",
            lambda: f"list(enumerate({self.text(depth - 1)}))",
            lambda: f"{self.text(depth - 1)}.split({self.pick('', chr(39) + ',' + chr(39), chr(39) + ' ' + chr(39))})",
            lambda: f"sorted({{{self.text(0)}: {self.integer(depth - 1)}, 'k': {self.any(depth - 1)}}})",
            lambda: f"list({{{self.integer(0)}: {self.any(depth - 1)}}}.items())",
        )()

    def any(self, depth):
        return self.pick(self.integer, self.integer, self.real, self.text, self.truth, self.sequence,
                         lambda d: f"{{'a': {self.any(d - 1)}, {self.integer(0)}: {self.any(0)}}}" if d > 0 else "{}")(depth)


def evaluate(expression):
    """What python3 prints, or None where the subset differs on purpose: integers beyond 64 bits on the way."""
    import ast

    class Big(Exception):
        pass

    def check(v):
        if type(v) is int and not -2 ** 63 <= v < 2 ** 63:
            raise Big
        return v

    class Wrap(ast.NodeTransformer):
        def generic_visit(self, node):
            super().generic_visit(node)
            if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)):
                return ast.Call(ast.Name("check", ast.Load()), [node], [])
            return node

    try:
        ast.parse(expression, mode="eval")
    except SyntaxError:  # quotes inside the quotes of an f-string
        return None
    tree = ast.fix_missing_locations(Wrap().visit(ast.parse(expression, mode="eval")))
    try:
        return repr(eval(compile(tree, "e", "eval"), {"check": check}))
    except (Big, MemoryError):
        return None
    except OverflowError:
        return None
    except Exception as e:
        return type(e).__name__


def random_expressions(vm, seed, n):
    g, results = Generator(seed), []
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


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("scripts", "random"):
        print(__doc__, file=sys.stderr)
        return 2
    vm = os.path.abspath(sys.argv[1])
    if sys.argv[2] == "scripts":
        results = scripts(vm)
    else:
        seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
        n = int(sys.argv[4]) if len(sys.argv) > 4 else 500
        results = random_expressions(vm, seed, n)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
