"""Random Python in the language that compiler/frontend/ compiles: expressions, and programs of all kinds of
statements. What a text does is python3's to say (python_diff.py)."""
import random


class Expressions:
    """Random expressions over small values and the names in `names`, by type. Integers stay below 64 bits most of the
    time: what does not is dropped by the caller, who asks python3."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = {}  # "int" -> names that hold one

    def known(self, kind):
        names = self.names.get(kind)
        return self.r.choice(names) if names and self.r.random() < 0.5 else None

    def pick(self, *choices):
        return self.r.choice(choices)

    def integer(self, depth):
        if depth <= 0:
            return self.known("int") or str(self.r.choice((0, 1, 2, 3, 5, 7, 10, 63, 255, 1000, -1, -2, -7, -100)))
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
            return self.known("float") or self.pick("0.5", "1.0", "-2.25", "3.75", "1e10", "1e-3", "0.1", "100.0", "-0.0", "7.0", "2.5")
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
            return self.known("str") or self.pick("''", "'a'", "'abc'", "'Hello, World'", "'x y z'", "'  pad '", "\"it's\"", "'12'", "'a,b,,c'")
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
        return self.known("str") or self.pick('"ab"', '""', '"Hello"', "str(12.5)", "repr(None)", "str([1, 2])")

    def slice(self):
        part = lambda: self.pick("", "0", "1", "2", "-1", "-2", "5", "100")
        return self.pick(part() or "0", f"{part()}:{part()}", f"{part()}:{part()}:{self.pick('', '1', '2', '-1', '-2')}")

    def ints(self, depth):
        if depth <= 0:
            return self.known("ints") or self.pick("[]", "[1, 2, 3]", "range(5)", "(4, 5)", "[3, 1, 2]", "range(6, 0, -2)")
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




class Programs(Expressions):
    """Random functions: assignments, branches, loops, calls, classes, exceptions. Each is a list of lines that ends in
    a call, prints what it computes, and ends: every loop is over something short or counts down."""

    def __init__(self, seed):
        super().__init__(seed)
        self.lines, self.indent, self.count, self.loops, self.depth = [], 0, 0, 0, 0
        self.yields = False  # statements are of a generator

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def learn(self, kind, name):
        self.names.setdefault(kind, []).append(name)

    def scope(self, function):
        """What is assigned inside is not known outside."""
        before = {k: list(v) for k, v in self.names.items()}
        function()
        self.names = before

    def block(self, n=None):
        """An indented block of statements, whose names are forgotten: it may not have run."""
        self.indent += 1
        self.depth += 1
        self.scope(lambda: [self.statement() for _ in range(n or self.r.randrange(1, 4))])
        self.depth -= 1
        self.indent -= 1

    # ---- statements

    def statement(self):
        simple = [self.assign, self.assign, self.assign, self.augment, self.unpack, self.show, self.show, self.call_method,
                  self.use_dict, self.use_set, self.slice_assign, self.delete, self.walrus, self.format]
        nested = [self.branch, self.branch, self.for_loop, self.for_loop, self.while_loop, self.try_block, self.function,
                  self.closure, self.cls, self.comprehension, self.with_block, self.generator, self.match]
        if self.yields and self.r.random() < 0.35:
            return self.yield_()
        if self.loops and self.r.random() < 0.1:
            return self.leave()
        self.r.choice(simple if self.depth > 3 or self.r.random() < 0.6 else nested)()

    def value(self, kind, depth=None):
        depth = self.r.randrange(3) if depth is None else depth
        if kind == "int":
            return f"({self.integer(depth)}) % 1009"
        return {"float": self.real, "str": self.text, "bool": self.truth}[kind](depth) if kind != "ints" else \
            f"[{', '.join(self.value('int', 1) for _ in range(self.r.randrange(5)))}]"

    def assign(self):
        kind = self.pick("int", "int", "float", "str", "ints", "bool")
        name = self.fresh("v")
        note = {"int": "int", "float": "float", "str": "str", "ints": "list[int]", "bool": "bool"}[kind]
        value = self.value(kind)
        if self.r.random() < 0.15:
            self.emit(f"{name}: {note} = {value}")
        elif self.r.random() < 0.1:
            other = self.fresh("v")
            self.emit(f"{other} = {name} = {value}")
            self.learn(kind, other)
        else:
            self.emit(f"{name} = {value}")
        self.learn(kind, name)

    def augment(self):
        before = len(self.lines)
        name = self.known("int")
        if name and not name.startswith("p"):
            self.emit(f"{name} {self.pick('+=', '-=', '*=', '//=', '%=', '|=', '&=', '^=')} {self.integer(1)} % 97")
        name = self.known("str")
        if name:
            self.emit(f"{name} {self.pick('+=', '+=', '*=')} {self.pick(self.text(0), '2', '0')}")
        name = self.known("ints")
        if name:
            self.emit(f"{name} += {self.pick('[1, 2]', '(3,)', 'range(2)', self.ints(1))}")
        if len(self.lines) == before:
            self.assign()

    def unpack(self):
        names = [self.fresh("v") for _ in range(3)]
        e = lambda: self.value("int", 1)
        form = self.r.randrange(6)
        if form == 0:
            self.emit(f"{names[0]}, {names[1]}, {names[2]} = {e()}, {e()}, {e()}")
        elif form == 1:
            self.emit(f"{names[0]}, *{names[1]}, {names[2]} = [{e()}, {e()}, {e()}, {e()}]")
        elif form == 2:
            self.emit(f"({names[0]}, ({names[1]}, {names[2]})) = ({e()}, [{e()}, {e()}])")
        elif form == 3:
            self.emit(f"*{names[1]}, {names[0]} = *{self.ints(1)}, {e()}")
        elif form == 4:
            self.emit(f"{names[0]}, *{names[1]} = {{'k': {e()}}}.values()")
        else:
            self.emit(f"{names[0]}, {names[2]} = {names[2]}, {names[0]} = {e()}, {e()}")
        self.learn("int", names[0])
        if form in (0, 2):
            self.learn("int", names[1])
        if form in (1, 3, 4):
            self.learn("ints", names[1])
        if form in (0, 1, 2, 5):
            self.learn("int", names[2])

    def show(self):
        form = self.r.randrange(6)
        e = lambda: self.any(self.r.randrange(3))
        if form == 0:
            self.emit(f"print({e()}, {e()}, sep={self.pick(repr('-'), repr(''), repr(', '), 'None')})")
        elif form == 1:
            self.emit(f"print({e()}, end=';\\n')")
        elif form == 2:
            self.emit(f"print(*{self.sequence(1)}, {e()})")
        elif form == 3 and self.names.get("int"):
            name = self.r.choice(self.names["int"])
            self.emit(f"print(f'{{{name}=}} {{{name} + 1 = :>{{{self.r.randrange(9)}}}}} {{{name}!r:^{self.r.randrange(1, 9)}}}')")
        else:
            self.emit(f"print({e()})")

    def format(self):
        e = lambda: self.any(1)
        width = self.r.randrange(1, 12)
        self.emit(self.pick(
            f"print('%s|%r|%5d|%-6s|%05.1f|%x|%%' % ({e()}, {e()}, {self.integer(1)} % 99, {self.text(0)}, {self.real(0)}, {self.r.randrange(999)}))",
            f"print('{{}} {{:>5}} {{!r}}'.format({e()}, {self.integer(0)}, {self.text(0)}))",
            f"print('{{0}} {{1}} {{0}} {{name:.2f}}'.format({self.integer(1)}, {self.text(0)}, name={self.real(0)}))",
            f"print(f'{{{self.value('int', 0)}:>{{{width}}}}}|{{{self.real(0)}:{{{width}}}.{{2}}f}}')",
            f"print(f\"{{'a' + {self.pick(repr('b'), repr(''))}!r:{self.pick('>', '<', '^')}{width}}}\")",
            f"print({self.text(0)}.{self.pick('center', 'ljust', 'rjust')}({width}), {self.text(0)}.zfill({width}))",
        ))

    def branch(self):
        self.emit(f"if {self.truth(2)}:")
        self.block()
        while self.r.random() < 0.3:
            self.emit(f"elif {self.truth(1)}:")
            self.block()
        if self.r.random() < 0.5:
            self.emit("else:")
            self.block()

    def pattern(self, depth, bound):
        """What a case looks for; names that it binds go into bound."""
        literal = lambda: self.pick("0", "1", "-1", "2.5", "'a'", "''", "None", "True", "7 | 'b' | None")
        if depth == 0:
            return self.pick(literal(), literal(), "_", "int()", "str()")
        kind = self.pick("name", "literal", "sequence", "sequence", "star", "mapping", "class", "as")
        if kind == "literal":
            return literal()
        if kind in ("name", "class", "as"):
            bound.append(self.fresh("m"))
            return {"name": bound[-1], "class": f"{self.pick('int', 'str', 'float', 'list', 'bool', 'dict')}({bound[-1]})",
                    "as": f"({self.pattern(depth - 1, bound[:0])}) as {bound[-1]}"}[kind]
        if kind == "mapping":
            inner = self.pattern(depth - 1, bound)
            bound.append(self.fresh("m"))
            return f"{{'a': {inner}, **{bound[-1]}}}"
        items = [self.pattern(depth - 1, bound) for _ in range(self.r.randrange(3))]
        if kind == "star":
            bound.append(self.fresh("m"))
            items.insert(self.r.randrange(len(items) + 1), "*" + bound[-1])
        return "[" + ", ".join(items) + "]"

    def match(self):
        a, b, t = self.value("int", 1), self.value("int", 1), self.text(1)
        subject = self.pick(a, t, f"[{a}, {b}]", f"({t}, [{a}])", f"{{'a': {a}, 'b': {t}}}", f"range({a} % 4)", f"[[{a}], {t}, None]", "[]",
                            f"{{'a': [{a}, {b}]}}", self.truth(1), self.ints(1))
        self.emit(f"match {subject}:")
        self.indent += 1
        for _ in range(self.r.randrange(1, 5)):
            bound = []
            pattern = self.pattern(self.r.randrange(3), bound)
            self.emit(f"case {pattern}{self.pick('', ' if ' + self.truth(1)) if pattern not in bound and pattern != '_' else ' if True'}:")
            self.emit(f"    print({', '.join(bound) or repr('matched')})")
            self.block(1)
        if self.r.random() < 0.7:
            self.emit("case _:")
            self.block(1)
        self.indent -= 1

    def leave(self):
        self.emit(f"if {self.truth(1)}:")
        self.emit(f"    {self.pick('break', 'continue', 'pass')}")

    def for_loop(self):
        name, other = self.fresh("i"), self.fresh("i")
        head = self.pick(
            f"for {name} in range({self.r.randrange(5)}):", f"for {name} in {self.ints(1)}[:4]:" ,
            f"for {other}, {name} in enumerate([*{self.ints(0)}]):", f"for {name} in reversed([1, 2, 3]):",
            f"for {other}, {name} in zip({self.text(0)}, range(5)):",
            f"for {other}, {name} in {{'a': 1, 'b': 2}}.items():", f"for {name} in sorted([3, 1, 2], key=lambda v: -v):")
        if "range" in head and "[:4]" in head or "ints" in head:
            head = f"for {name} in range({self.r.randrange(5)}):"
        self.emit(head)
        self.loops += 1
        self.indent += 1
        self.depth += 1
        def body():
            self.learn("int", name)
            for _ in range(self.r.randrange(1, 4)):
                self.statement()
        self.scope(body)
        self.depth -= 1
        self.indent -= 1
        self.loops -= 1
        if self.r.random() < 0.2:
            self.emit("else:")
            self.block(1)

    def while_loop(self):
        name = self.fresh("n")
        self.emit(f"{name} = {self.r.randrange(6)}")
        self.emit(f"while {name} > 0{self.pick('', f' and {self.truth(1)}')}:")
        self.emit(f"    {name} -= 1")
        self.loops += 1
        self.block()
        self.loops -= 1
        if self.r.random() < 0.2:
            self.emit("else:")
            self.block(1)

    def walrus(self):
        name = self.fresh("w")
        self.emit(self.pick(f"if ({name} := {self.value('int', 1)}) > {self.r.randrange(50)}: print('walrus', {name})",
                            f"print([{name} := {self.value('int', 0)}, {name} + 1])",
                            f"print([{name} for i in range(4) if ({name} := i * 3) % 2])"))

    def comprehension(self):
        a, b = self.fresh("c"), self.fresh("c")
        e = self.integer(0)
        self.emit("print(" + self.pick(
            f"[{a} * {b} for {a} in range(3) for {b} in range({a}) if {b} != {e}]",
            f"{{{a}: [{b} for {b} in range({a})] for {a} in range(3)}}",
            f"sorted({{{a} % 3 for {a} in {self.ints(1)}}})",
            f"sum({a} for {a} in {self.ints(1)} if {a} > {e})",
            f"{{k: v for k, v in zip('abc', {self.ints(1)})}}",
            f"[[{a} + {b} for {a} in range(2)] for {b} in range(2)]",
            f"max(({a} for {a} in {self.ints(1)}), default={e})",
            f"tuple({a} for {a} in {self.text(1)})",
            f"any({a} == {e} for {a} in {self.ints(1)}), all({a} for {a} in {self.ints(1)})",
            f"','.join(str({a}) for {a} in {self.ints(1)})",
            f"next(({a} for {a} in {self.ints(1)} if {a} > {e}), None)",
            f"(lambda g: (next(g, 'none'), list(g), list(g)))({a} * 2 for {a} in {self.ints(1)})") + ")")

    def call_method(self):
        name = self.known("ints")
        if not name:
            self.emit(f"print({self.text(1)}.{self.text_method()})")
            return
        e = self.value("int", 1)
        self.emit(self.pick(
            f"{name}.append({e})", f"{name}.extend({self.ints(1)})", f"{name}.insert({self.r.randrange(-3, 4)}, {e})",
            f"print({name}.pop())", f"print({name}.pop({self.r.randrange(-2, 3)}))", f"{name}.remove({e})",
            f"{name}.sort()", f"{name}.sort(reverse=True)", f"{name}.sort(key=lambda v: (v % 3, v))", f"{name}.reverse()",
            f"print({name}.index({e}))", f"print({name}.count({e}))", f"print({name}.copy() == {name}, {name}.copy() is {name})",
            f"print({name})", f"{name}.clear()"))

    def text_method(self):
        t = lambda: self.text(0)
        return self.pick(
            f"find({t()})", f"count({t()})", f"split()", "split(',')", f"rsplit(' ', 1)", f"split(' ', 1)", "strip()",
            "lstrip()", "rstrip('d ')", "title()", "capitalize()", "swapcase()", "isdigit()", "isalpha()", "isspace()",
            "isupper()", "islower()", "isidentifier()", "isalnum()", "startswith('a')", "endswith(('d', 'c'))",
            "partition(' ')", "rpartition(',')", f"replace('a', {t()}, 1)", f"index({t()})", "splitlines()", "upper()",
            "removeprefix('a')", "removesuffix('c')", f"rfind({t()})", "lower()", "casefold()", "join(['x', 'y'])")

    def use_dict(self):
        name = self.fresh("d")
        e = lambda: self.value("int", 1)
        self.emit(f"{name} = " + self.pick(f"{{'a': {e()}, 'b': {e()}}}", "dict(a=1, c=2)", f"dict([('a', {e()}), (2, {e()})])",
                                           f"{{**{{'a': 1}}, 'z': {e()}}}", f"dict.fromkeys('abc', {e()})", f"dict(zip('xa', {self.ints(0)}))"))
        for _ in range(self.r.randrange(1, 4)):
            self.emit(self.pick(
                f"{name}['k'] = {e()}", f"print({name}.get('a', {e()}), {name}.get('q'))", f"print({name}.pop('a'))",
                f"print({name}.pop('q', {e()}))", f"print({name}.setdefault('s', {e()}))", f"{name}.update(a=5, u={e()})",
                f"{name}.update({{'b': {e()}}})", f"del {name}['a']", f"print(list({name}), len({name}))", f"print({name})",
                f"print(sorted({name}.items(), key=str))", f"print('a' in {name}, {name} == {{'a': 1}})", f"print({name}.popitem())",
                f"print({name} | {{'m': 1}})", f"{name} |= {{'a': 0}}", f"{name}.setdefault('l', []).append({e()})",
                f"print([k for k in {name}], [*{name}.values()])", f"print({name}['a'])"))

    def use_set(self):
        name = self.fresh("s")
        self.emit(f"{name} = {self.pick('{1, 2, 3}', 'set()', f'set({self.ints(1)})', '{*range(4)}')}")
        for _ in range(self.r.randrange(1, 4)):
            other = self.pick("{2, 3, 4}", "{1}", "set()", "set(range(6))")
            self.emit(self.pick(
                f"{name}.add({self.value('int', 0)})", f"{name}.discard(2)", f"{name}.remove(1)", f"{name}.update([7, 8])",
                f"print(sorted({name} {self.pick('|', '&', '-', '^')} {other}))", f"print({name} {self.pick('<', '<=', '==', '>', '>=')} {other})",
                f"print({name}.issubset({other}), {name}.issuperset({other}), {name}.isdisjoint({other}))", f"print(sorted({name}), len({name}))",
                f"print(2 in {name}, bool({name}))", f"{name} {self.pick('|=', '&=', '-=', '^=')} {other}",
                f"print(sorted({name}.{self.pick('union', 'intersection', 'difference', 'symmetric_difference')}({other})))",
                f"print(sorted({name}.copy()))", f"print(frozenset({name}) == {name})"))

    def slice_assign(self):
        name = self.fresh("l")
        self.emit(f"{name} = [0, 1, 2, 3, 4, 5]")
        for _ in range(self.r.randrange(1, 3)):
            self.emit(self.pick(
                f"{name}[{self.slice_only()}] = {self.ints(1)}", f"del {name}[{self.slice_only()}]", f"{name}[{self.r.randrange(-7, 7)}] = 'x'",
                f"print({name}[{self.slice_only()}])", f"{name}[1:1] = [9, 9]", f"del {name}[{self.r.randrange(-7, 7)}]",
                f"{name} *= 2", f"print({name} == [0, 1], {name} < [0, 2], {name}[::-1])"))
        self.emit(f"print({name})")

    def delete(self):
        name = self.fresh("v")
        self.emit(f"{name} = {self.value('int', 0)}")
        self.emit(f"del {name}")
        if self.r.random() < 0.3:
            self.emit(f"print({name})")

    def try_block(self):
        raises = [f"raise {self.pick('ValueError', 'KeyError', 'TypeError', 'RuntimeError')}({self.pick('', self.text(0), '1, 2')})",
                  "raise ValueError", "assert False, 'why'", "[][1]", "{}['k']", "1 // 0", "int('q')", "None.x", "unknown_name", "len(5)",
                  "'a' + 1", "raise ValueError('x') from KeyError('y')", "(1, 2)[5]", "a, b = 1, 2, 3", "[1].index(9)", "float('no')"]
        kinds = ["ValueError", "KeyError", "(TypeError, ValueError)", "LookupError", "ArithmeticError", "Exception", "AssertionError",
                 "NameError", "(IndexError, KeyError)", "AttributeError"]
        self.emit("try:")
        self.block()
        if self.r.random() < 0.7:
            self.emit("    " + self.r.choice(raises))
        for kind in self.r.sample(kinds, self.r.randrange(1, 3)):
            if self.r.random() < 0.5:
                name = self.fresh("e")
                self.emit(f"except {kind} as {name}:")
                self.emit(f"    print(type({name}).__name__, len({name}.args))")
            else:
                self.emit(f"except {kind}:")
                self.emit(f"    print('caught')")
            if self.r.random() < 0.1:
                self.emit("    raise")
        if self.r.random() < 0.3:
            self.emit("else:")
            self.block(1)
        if not self.yields and self.r.random() < 0.4:
            self.emit("finally:")
            self.block(1)

    def parameters(self):
        """A list of parameters, their names, and a call that fits most of the time."""
        positional = [self.fresh("p") for _ in range(self.r.randrange(3))]
        defaults = [self.fresh("p") for _ in range(self.r.randrange(3))]
        text, call = list(positional), [self.integer(0) for _ in positional]
        text += [f"{p}={self.integer(0)}" for p in defaults]
        rest, keywords = None, []
        if self.r.random() < 0.3:
            rest = self.fresh("rest")
            text.append(f"*{rest}")
            call += [f"*{self.ints(0)}"] if self.r.random() < 0.5 else []
        elif self.r.random() < 0.2:
            text.append("*")
            rest = ""
        if rest is not None and (rest == "" or self.r.random() < 0.5):
            keywords = [self.fresh("p")]
            text.append(f"{keywords[0]}={self.integer(0)}")
        others = self.fresh("kw") if self.r.random() < 0.25 else None
        if others:
            text.append(f"**{others}")
        for p in defaults if "*" not in "".join(call) else []:
            if self.r.random() < 0.4:
                call.append(f"{p}={self.integer(0)}")
        for p in keywords:
            call.append(f"{p}={self.integer(0)}")
        if others and self.r.random() < 0.6:
            call.append(self.pick("extra=1", "**{'x': 1, 'y': 2}"))
        if self.r.random() < 0.05:
            call.append(self.pick("7", "wrong=1")) if not any("=" in c for c in call) else None
        extra = ([rest] if rest else []) + ([others] if others else [])
        return ", ".join(text), positional + defaults + keywords, extra, ", ".join(call)

    def yield_(self):
        name, value = self.fresh("y"), self.value("int", 1)
        self.emit(self.pick(f"yield {value}", f"yield {value}", f"{name} = yield {value}; print('sent', {name})", f"print((yield {value}), (yield))",
                            f"yield from {self.ints(0)}", f"{name} = yield from sub({self.r.randrange(3)}); print('of sub', {name})"))

    def generator(self):
        """A generator of random statements, and some way to go through it."""
        name, g, x = self.fresh("g"), self.fresh("it"), self.fresh("x")
        self.emit("def sub(n):")
        self.emit("    for i in range(n): print('sub', (yield i))")
        self.emit("    return n * 2")
        self.emit(f"def {name}():")
        loops, yields, self.loops, self.yields = self.loops, self.yields, 0, True
        self.block(self.r.randrange(2, 5))
        self.emit(f"    yield {self.value('int', 1)}")
        self.loops, self.yields = loops, yields
        use = self.pick("list", "for", "next", "send", "throw", "close", "lazy", "star", "with")
        if use == "list":
            self.emit(f"print({self.pick('list', 'tuple', 'sorted', 'sum', 'max', 'any')}({name}()))")
        elif use == "for":
            self.emit(f"for {x} in {name}():")
            self.emit(f"    print('got', {x})")
            self.emit(f"    if {self.truth(1)}: {self.pick('break', 'continue', 'pass')}")
        elif use == "lazy":
            self.emit(f"for {x} in {self.pick('enumerate({})', 'zip({}, range(3))', 'map(lambda v: (v, 1), {})', 'filter(None, {})', 'zip(range(2), {})').format(name + '()')}:")
            self.emit(f"    print('item', {x})")
        elif use == "star":
            self.emit(f"print(*{name}()); print([v for v in {name}()], 3 in {name}())")
        elif use == "with":
            self.emit("import contextlib")
            self.emit(f"@contextlib.contextmanager")
            self.emit(f"def {g}():")
            self.emit(f"    {self.pick('try:', 'if True:')}")
            self.emit(f"        print('in'); yield {self.value('int', 0)}")
            self.emit("    finally: print('out')" if "try" in self.lines[-2] else "    print('after')")
            self.emit(f"with {g}() as {x}:")
            self.emit(f"    print({x})")
            self.block(1)
        else:
            self.emit(f"{g} = {name}()")
            self.emit(f"print(next({g}), next({g}, 'no more'))")
            self.emit({"next": f"print(next({g}))", "send": f"print({g}.send({self.integer(0)})); print(list({g}))",
                       "throw": f"print({g}.throw({self.pick('ValueError', 'KeyError(1)', 'IndexError')})); print(list({g}))",
                       "close": f"{g}.close(); print(list({g}), next({g}, 'closed'))"}[use])

    def body(self, names, extra):
        loops, self.loops = self.loops, 0
        yields, self.yields = self.yields, False
        self.indent += 1
        self.depth += 1
        def inner():
            for n in names:
                self.learn("int", n)
            for _ in range(self.r.randrange(1, 3)):
                self.statement()
            if extra:
                self.emit(f"print({', '.join(extra)})")
            if self.r.random() < 0.8:
                self.emit(f"return {self.value('int', 1)}")
        self.scope(inner)
        self.depth -= 1
        self.indent -= 1
        self.loops, self.yields = loops, yields

    def function(self):
        name = self.fresh("f")
        text, names, extra, call = self.parameters()
        self.emit(f"def {name}({text}):")
        self.body(names, extra)
        self.emit(f"print({name}({call}))")
        if self.r.random() < 0.2:
            self.emit(self.pick(f"print([{name} for _ in 'ab'][0]({call}))", f"print((lambda *a: {name}(*a))({call if '=' not in call else ''}))"))

    def closure(self):
        outer, inner, cell = self.fresh("f"), self.fresh("g"), self.fresh("v")
        self.emit(f"def {outer}(start):")
        self.emit(f"    {cell} = start")
        self.emit(f"    def {inner}(step=1):")
        self.emit(f"        nonlocal {cell}")
        self.emit(f"        {cell} += step")
        self.emit(f"        return {cell}")
        self.emit(f"    return {inner}{self.pick('', f', lambda: {cell} * 2')}")
        pair = self.lines[-1].count("lambda") > 0
        a = self.fresh("h")
        self.emit(f"{a} = {outer}({self.integer(0)})")
        self.emit(f"print({a}[0](), {a}[1](), {a}[0](5), {a}[1]())" if pair else f"print({a}(), {a}(3), {a}(step=-1))")
        if self.r.random() < 0.4:
            self.emit(f"print([f() for f in [lambda: i for i in range(3)]], [f() for f in [lambda i=i: i for i in range(3)]])")

    def cls(self):
        base, derived, x = self.fresh("A"), self.fresh("B"), self.fresh("o")
        e = lambda: self.integer(0)
        self.emit(f"class {base}{self.pick('', '()', '(object)')}:")
        self.emit(f"    total = {e()}")
        self.emit(f"    def __init__(self, a, b={e()}):")
        self.emit("        self.a, self.b = a, b")
        methods = ["    def value(self, k=1): return self.a * k + self.b",
                   "    @property\n    def size(self): return self.a + 1\n    @size.setter\n    def size(self, v): self.a = v - 1",
                   "    @staticmethod\n    def make(n): return n * 2", f"    @classmethod\n    def build(cls, n): return cls(n, {e()})",
                   "    def __repr__(self): return f'{type(self).__name__}({self.a}, {self.b})'", "    def __eq__(self, other): return self.a == other.a",
                   "    def __len__(self): return self.a % 7", "    def __call__(self, *args): return sum(args) + self.b",
                   "    def __getitem__(self, i): return (self.a, self.b)[i]", "    def __add__(self, other): return self.a + (other.a if isinstance(other, " + base + ") else other)",
                   "    def __radd__(self, other): return other - self.a", "    def __lt__(self, other): return self.a < other.a",
                   "    def __contains__(self, v): return v == self.a", "    def __bool__(self): return self.a > 2", "    def __str__(self): return 'str'",
                   "    def __iter__(self): return iter([self.a, self.b])", "    def __setitem__(self, i, v): self.b = (i, v)",
                   "    def __getattr__(self, name): return name + '?'", "    def __neg__(self): return -self.a"]
        chosen = self.r.sample(methods, self.r.randrange(2, 8))
        for m in chosen:
            for line in m.split("\n"):
                self.emit(line)
        self.emit(f"class {derived}({base}):")
        self.emit(self.pick("    def value(self, k=2): return super().value(k) + 1", "    total = 5", "    pass",
                            "    def __init__(self, *args, **kw):\n        super().__init__(*args, **kw)\n        self.c = 3".replace("\n        ", "\n" + "    " * self.indent + "        ")))
        self.emit(f"{x} = {self.pick(base, derived)}({e()}{self.pick('', f', b={e()}', f', {e()}')})")
        uses = [f"{x}.a, {x}.b", f"isinstance({x}, {base}), isinstance({x}, {derived}), issubclass({derived}, {base})", f"type({x}).__name__", f"{x}.total, {base}.total",
                f"hasattr({x}, 'c'), getattr({x}, 'zz', 1)"]
        text = "\n".join(chosen)
        uses += [u for have, u in (("def value", f"{x}.value(), {x}.value(3)"), ("def size", f"{x}.size"), ("def make", f"{x}.make(2), {base}.make(3)"),
                                   ("def build", f"{derived}.build(4).a"), ("__repr__", f"{x}, [{x}], str({x})"), ("__eq__", f"{x} == {base}(1), {x} != {base}(2)"),
                                   ("__len__", f"len({x}), bool({x})"), ("__call__", f"{x}(), {x}(1, 2)"), ("__getitem__", f"{x}[0], {x}[-1]"), ("__add__", f"{x} + 1, {x} + {x}"),
                                   ("__radd__", f"1 + {x}"), ("__lt__", f"{x} < {base}(3), max({x}, {base}(3)).a"), ("__contains__", f"1 in {x}, 5 not in {x}"), ("__bool__", f"not {x}, bool({x})"),
                                   ("__str__", f"str({x}), f'{{{x}}}'"), ("__iter__", f"list({x}), [*{x}]"), ("__neg__", f"-{x}"), ("__getattr__", f"{x}.nothing")) if have in text]
        for u in self.r.sample(uses, min(len(uses), self.r.randrange(2, 5))):
            self.emit(f"print({u})")
        if "def size" in text:
            self.emit(f"{x}.size = {e()}")
            self.emit(f"print({x}.a, {x}.size)")
        if "__setitem__" in text:
            self.emit(f"{x}[1] = {e()}")
            self.emit(f"print({x}.b)")
        if self.r.random() < 0.3:
            self.emit(f"{x}.extra = {e()}; print({x}.extra, '{self.pick('extra', 'q')}' in {x}.__dict__)" if "__getattr__" not in text else f"{x}.extra = 1")

    def with_block(self):
        if self.yields:  # a generator that nobody wants any more is closed by python3 alone
            return self.show()
        name, m = self.fresh("M"), self.fresh("m")
        self.emit(f"class {name}:")
        self.emit("    def __enter__(self): print('enter'); return 7")
        self.emit(f"    def __exit__(self, kind, e, tb): print('exit', kind and kind.__name__); return {self.pick('True', 'False', 'None')}")
        self.emit(f"with {name}() as {m}{self.pick('', f', {name}()')}:")
        self.emit(f"    print({m})")
        self.block(1)
        if self.r.random() < 0.4:
            self.emit("    " + self.pick("1 // 0", "raise ValueError('w')", "[][0]"))

    def program(self):
        """The lines of one function and its call."""
        self.lines, self.names, self.indent, self.loops, self.depth, self.yields = [], {}, 1, 0, 0, False
        for _ in range(self.r.randrange(2, 7)):
            self.statement()
        body = self.lines
        if self.r.random() < 0.25 and not any("nonlocal" in line for line in body):  # at the level of the module
            return "\n".join(["try:", *body, "except Exception as error:", "    print('left', type(error).__name__)"])
        return "\n".join(["def program():", *body, "try:", "    program()", "except Exception as error:", "    print('left', type(error).__name__)"])
