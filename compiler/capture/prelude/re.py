"""re: patterns as programs for a machine that backtracks, with a stack of its own.

    a(b|c)*     char a; 1: split 2 9; mark 0; save 2; split 5 7; 5: char b; jmp 8; 7: char c; 8: save 3; moved 0; jmp 1; 9: match

What is not there (looking behind, conditions) is refused."""
from _warpsmith import refuse

A = ASCII = 256
I = IGNORECASE = 2
M = MULTILINE = 8
S = DOTALL = 16
U = UNICODE = 32
X = VERBOSE = 64
_LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
_ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', '0': '\0'}
_SPACES, _DIGITS = ' \t\n\r\f\v', '0123456789'


class error(Exception):
    pass


def _is_word(c):
    return c == '_' or c.isalnum()


_CLASSES = {'d': lambda c: c in _DIGITS, 's': lambda c: c in _SPACES, 'w': _is_word,
            'D': lambda c: c not in _DIGITS, 'S': lambda c: c not in _SPACES, 'W': lambda c: not _is_word(c)}


# -- reading: a tree of tuples


class _Reader:
    def __init__(self, text, flags):
        self.text, self.at, self.groups, self.names, self.flags = text, 0, 0, {}, flags

    def peek(self, n=1):
        return self.text[self.at:self.at + n]

    def take(self, what):
        found = self.peek(len(what)) == what
        if found:
            self.at += len(what)
        return found

    def next(self):
        if self.at >= len(self.text):
            raise error(f'unexpected end of pattern at position {self.at}')
        self.at += 1
        return self.text[self.at - 1]

    def until(self, end):
        stop = self.text.find(end, self.at)
        if stop < 0:
            raise error(f'missing {end}, unterminated name at position {self.at}')
        name, self.at = self.text[self.at:stop], stop + 1
        return name

    def either(self):
        ways = [self.row()]
        while self.take('|'):
            ways.append(self.row())
        return ways[0] if len(ways) == 1 else ('either', ways)

    def pass_spaces(self):
        """In a verbose pattern what says nothing stands between the parts: spaces and comments."""
        while self.flags & X and self.peek() and self.peek() in _SPACES + '#':
            if self.next() == '#':
                end = self.text.find('\n', self.at)
                self.at = end + 1 if end >= 0 else len(self.text)

    def row(self):
        parts = []
        self.pass_spaces()
        while self.peek() not in ('', '|', ')'):
            parts.append(self.repeated())
            self.pass_spaces()
        return ('row', [p for p in parts if p is not None])

    def repeated(self):
        part = self.single()
        while True:
            self.pass_spaces()
            bounds = self.bounds()
            if bounds is None:
                return part
            if part is None or part[0] == 'repeat':
                raise error(f'nothing to repeat at position {self.at - 1}')
            lazy = self.take('?')
            if self.take('+'):
                refuse('re: a possessive repeat is not supported')
            part = ('repeat', part, bounds[0], bounds[1], lazy)

    def bounds(self):
        for sign, low, high in (('*', 0, None), ('+', 1, None), ('?', 0, 1)):
            if self.take(sign):
                return low, high
        stop = self.text.find('}', self.at)
        inside = self.text[self.at + 1:stop].split(',')
        if self.peek() != '{' or stop < 0 or len(inside) > 2 or not all([n == '' or n.isdigit() for n in inside]):
            return None
        if inside == ['']:
            return None
        self.at = stop + 1
        low = int(inside[0] or 0)
        return low, low if len(inside) == 1 else int(inside[1]) if inside[1] else None

    def single(self):
        c = self.next()
        if c == '(':
            return self.group()
        if c == '[':
            return self.set()
        if c == '\\':
            return self.escape()
        if c in '.^$':
            return (c,)
        if c in '*+?':
            raise error(f'nothing to repeat at position {self.at - 1}')
        return ('char', c)

    def escape(self):
        c = self.next()
        if c in _CLASSES:
            return ('set', False, [], [_CLASSES[c]])
        if c in 'bBAZ':
            return (c,)
        if c in _DIGITS and c != '0':
            return ('same', int(c))
        return ('char', self.letter(c))

    def letter(self, c):
        if c == 'x':
            self.at += 2
            return chr(int(self.text[self.at - 2:self.at], 16))
        if c not in _ESCAPES and c in _LETTERS:
            raise error(f'bad escape \\{c} at position {self.at - 2}')
        return _ESCAPES.get(c, c)

    def set(self):
        negated, ranges, classes, first = self.take('^'), [], [], True
        while first or self.peek() != ']':
            first, low = False, self.next()
            if low == '\\':
                low = self.next()
                if low in _CLASSES:
                    classes.append(_CLASSES[low])
                    continue
                low = '\b' if low == 'b' else self.letter(low)
            high = low
            if self.peek() == '-' and self.peek(2) != '-]':
                self.at += 1
                high = self.next()
                high = self.letter(self.next()) if high == '\\' else high
            ranges.append((low, high))
        self.at += 1
        return ('set', negated, ranges, classes)

    def group(self):
        kind, number, begin = 'row', None, self.at - 1
        if not self.take('?'):
            self.groups += 1
            number = self.groups
        elif self.take('P<'):
            self.groups += 1
            number = self.names[self.until('>')] = self.groups
        elif self.take('P='):
            return ('same', self.names[self.until(')')])
        elif self.take('#'):
            self.until(')')
            return None
        elif self.take('='):
            kind = 'ahead'
        elif self.take('!'):
            kind = 'not ahead'
        elif not self.take(':'):
            letters = self.until(')')
            if not letters or any([c not in 'aimsux' for c in letters]):
                refuse(f're: (?{letters}...) is not supported')
            self.flags |= sum([{'a': A, 'i': I, 'm': M, 's': S, 'u': U, 'x': X}[c] for c in letters])
            return None
        inside = self.either()
        if not self.take(')'):
            raise error(f'missing ), unterminated subpattern at position {begin}')
        return ('group', number, inside) if number else (kind, [inside])


# -- writing: the program


def _emit(node, out, marks):
    kind = node[0]
    if kind == 'row':
        for part in node[1]:
            _emit(part, out, marks)
    elif kind == 'group':
        out.append(('save', 2 * node[1]))
        _emit(node[2], out, marks)
        out.append(('save', 2 * node[1] + 1))
    elif kind in ('ahead', 'not ahead'):
        inside = []
        _emit(node[1][0], inside, marks)
        out.append((kind, inside + [('match',)]))
    elif kind == 'either':
        ends = []
        for i, way in enumerate(node[1]):
            fork = len(out)
            last = i == len(node[1]) - 1
            if not last:
                out.append(None)
            _emit(way, out, marks)
            if not last:
                ends.append(len(out))
                out.append(None)
                out[fork] = ('split', fork + 1, len(out))
        for end in ends:
            out[end] = ('jmp', len(out))
    elif kind == 'repeat':
        _repeat(node, out, marks)
    else:
        out.append(node)


def _repeat(node, out, marks):
    _, part, low, high, lazy = node
    for _ in range(low):
        _emit(part, out, marks)
    forks = []
    for _ in range(1 if high is None else high - low):
        forks.append(len(out))
        out.append(None)
        if high is None:
            mark = len(marks)
            marks.append(mark)
            out.append(('mark', mark))
        _emit(part, out, marks)
        if high is None:
            out.append(('moved', mark))
            out.append(('jmp', forks[0]))
    for fork in forks:
        out[fork] = ('split', len(out), fork + 1) if lazy else ('split', fork + 1, len(out))


# -- running


def _fits(node, c, flags):
    forms = {c, c.lower(), c.upper()} if flags & I else {c}
    if node[0] == 'char':
        return node[1] in forms
    if node[0] == '.':
        return c != '\n' or bool(flags & S)
    found = any([low <= f <= high for low, high in node[2] for f in forms]) or any([test(f) for test in node[3] for f in forms])
    return found != node[1]


def _holds(kind, text, i, flags):
    if kind in 'bB':
        before, behind = i > 0 and _is_word(text[i - 1]), i < len(text) and _is_word(text[i])
        return (before != behind) == (kind == 'b')
    if kind == 'A' or kind == '^':
        return i == 0 or (kind == '^' and bool(flags & M) and text[i - 1] == '\n')
    if kind == 'Z':
        return i == len(text)
    return i == len(text) or (text[i] == '\n' and (i + 1 == len(text) or bool(flags & M)))


def _run(program, text, at, saved, marks, flags, whole, least):
    """Where it ends, at `least` or behind, and what the groups are; None: it does not fit there."""
    stack = [(0, at, saved, marks)]
    while stack:
        pc, i, saved, marks = stack.pop()
        while True:
            node = program[pc]
            kind = node[0]
            pc += 1
            if kind == 'match':
                if whole and i < len(text) or i < least:
                    break
                return i, saved
            if kind in ('char', 'set', '.'):
                if i >= len(text) or not _fits(node, text[i], flags):
                    break
                i += 1
            elif kind == 'split':
                stack.append((node[2], i, saved, marks))
                pc = node[1]
            elif kind == 'jmp':
                pc = node[1]
            elif kind == 'save':
                saved = saved[:node[1]] + (i,) + saved[node[1] + 1:]
            elif kind == 'mark':
                marks = marks[:node[1]] + (i,) + marks[node[1] + 1:]
            elif kind == 'moved':
                if marks[node[1]] == i:
                    pc += 1  # it would go round for ever: on behind the loop
            elif kind == 'same':
                begin, end = saved[2 * node[1]], saved[2 * node[1] + 1]
                if begin is None or end is None or text[i:i + end - begin] != text[begin:end]:
                    break
                i += end - begin
            elif kind in ('ahead', 'not ahead'):
                found = _run(node[1], text, i, saved, marks, flags, False, 0)
                if (found is not None) != (kind == 'ahead'):
                    break
                saved = found[1] if found else saved
            elif not _holds(kind, text, i, flags):
                break
    return None


class Match:
    def __init__(self, pattern, text, saved):
        self.re, self.string, self._saved, self.pos, self.endpos = pattern, text, saved, 0, len(text)
        ended = [(saved[2 * n + 1], -n, n) for n in range(1, pattern.groups + 1) if saved[2 * n + 1] is not None]
        self.lastindex = max(ended)[2] if ended else None

    def _number(self, group):
        n = self.re.groupindex.get(group, -1) if isinstance(group, str) else group
        if not 0 <= n <= self.re.groups:
            raise IndexError('no such group')
        return n

    def span(self, group=0):
        n = self._number(group)
        begin, end = self._saved[2 * n], self._saved[2 * n + 1]
        return (-1, -1) if begin is None or end is None else (begin, end)

    def start(self, group=0):
        return self.span(group)[0]

    def end(self, group=0):
        return self.span(group)[1]

    def __getitem__(self, group):
        begin, end = self.span(group)
        return None if begin < 0 else self.string[begin:end]

    def group(self, *groups):
        found = tuple([self[g] for g in groups or (0,)])
        return found if len(found) > 1 else found[0]

    def groups(self, default=None):
        found = [self[n] for n in range(1, self.re.groups + 1)]
        return tuple([default if g is None else g for g in found])

    def groupdict(self, default=None):
        return {name: default if self[n] is None else self[n] for name, n in self.re.groupindex.items()}

    def expand(self, template):
        return _filled(template, self)

    def __repr__(self):
        return f'<re.Match object; span={self.span()}, match={self[0]!r}>'


def _filled(template, match):
    """Its \\1 and \\g<name> by the groups."""
    out, at = '', 0
    while at < len(template):
        c, at = template[at], at + 1
        if c != '\\' or at >= len(template):
            out += c
            continue
        c, at = template[at], at + 1
        if c == 'g' and template[at:at + 1] == '<':
            stop = template.index('>', at)
            name, at = template[at + 1:stop], stop + 1
            out += match[int(name) if name.isdigit() else name] or ''
        elif c in _DIGITS and c != '0':
            out += match[int(c)] or ''
        elif c in _LETTERS and c not in _ESCAPES:
            raise error(f'bad escape \\{c}')
        else:
            out += _ESCAPES.get(c, c)
    return out


class Pattern:
    def __init__(self, text, flags):
        reader = _Reader(text, flags)
        tree = reader.either()
        if reader.at < len(text):
            raise error(f'unbalanced parenthesis at position {reader.at}')
        self.pattern, self.flags, self.groups, self.groupindex = text, reader.flags | U, reader.groups, reader.names
        self._program, marks = [], []
        _emit(tree, self._program, marks)
        self._program.append(('match',))
        self._saved, self._marks = (None,) * (2 * self.groups + 2), (None,) * len(marks)

    def _at(self, text, at, whole=False, least=0):
        found = _run(self._program, text, at, self._saved, self._marks, self.flags, whole, least)
        return None if found is None else Match(self, text, (at, found[0]) + found[1][2:])

    def match(self, string, pos=0):
        return self._at(string, pos)

    def fullmatch(self, string, pos=0):
        return self._at(string, pos, True)

    def search(self, string, pos=0):
        return self._search(string, pos, 0)

    def _search(self, string, pos, least):
        for at in range(pos, len(string) + 1):
            found = self._at(string, at, False, least)
            if found is not None:
                return found

    def finditer(self, string):
        out, found = [], self.search(string)
        while found is not None:
            out.append(found)
            begin, end = found.span()
            found = self._search(string, end, end + (begin == end))  # nothing is found once at a place
        return iter(out)

    def findall(self, string):
        return [m[0] if self.groups == 0 else m[1] or '' if self.groups == 1 else m.groups('') for m in self.finditer(string)]

    def split(self, string, maxsplit=0):
        out, at = [], 0
        for found in self.finditer(string):
            if maxsplit and len(out) >= maxsplit * (1 + self.groups):
                break
            out += [string[at:found.start()], *found.groups()]
            at = found.end()
        return out + [string[at:]]

    def subn(self, repl, string, count=0):
        out, at, n = '', 0, 0
        for found in self.finditer(string):
            if count and n >= count:
                break
            out += string[at:found.start()] + (repl(found) if callable(repl) else _filled(repl, found))
            at, n = found.end(), n + 1
        return out + string[at:], n

    def sub(self, repl, string, count=0):
        return self.subn(repl, string, count)[0]

    def __repr__(self):
        return f're.compile({self.pattern!r})'


def compile(pattern, flags=0):
    return pattern if isinstance(pattern, Pattern) else Pattern(pattern, flags)


def match(pattern, string, flags=0):
    return compile(pattern, flags).match(string)


def fullmatch(pattern, string, flags=0):
    return compile(pattern, flags).fullmatch(string)


def search(pattern, string, flags=0):
    return compile(pattern, flags).search(string)


def findall(pattern, string, flags=0):
    return compile(pattern, flags).findall(string)


def finditer(pattern, string, flags=0):
    return compile(pattern, flags).finditer(string)


def split(pattern, string, maxsplit=0, flags=0):
    return compile(pattern, flags).split(string, maxsplit)


def sub(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).subn(repl, string, count)


def escape(pattern):
    return ''.join(['\\' + c if c in '()[]{}?*+-|^$\\.&~# \t\n\r\v\f' else c for c in pattern])


def purge():
    pass
