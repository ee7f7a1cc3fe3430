"""json: values of dicts, lists, strings and numbers as text, and back."""
from math import inf, nan

_escapes = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r'}


def _string(s):
    return '"' + ''.join([_escapes.get(c, c) for c in s]) + '"'


def _ws_items(open, close, items, indent, depth, comma):
    if not items:
        return open + close
    if indent is None:
        return open + comma.join(items) + close
    inner, outer = '\n' + ' ' * indent * (depth + 1), '\n' + ' ' * indent * depth
    return open + inner + (',' + inner).join(items) + outer + close


def _text(x, indent, depth, options):
    separators, sort_keys, default = options
    if x is None or isinstance(x, bool):
        return {None: 'null', True: 'true', False: 'false'}[x]
    if isinstance(x, str):
        return _string(x)
    if isinstance(x, (int, float)):
        return 'NaN' if x != x else repr(x).replace('inf', 'Infinity')
    if isinstance(x, dict):
        keys = sorted(x) if sort_keys else list(x)
        items = [_string(key if isinstance(key, str) else _text(key, None, 0, options)) + separators[1]
                 + _text(x[key], indent, depth + 1, options) for key in keys]
        return _ws_items('{', '}', items, indent, depth, separators[0])
    if isinstance(x, (list, tuple)):
        return _ws_items('[', ']', [_text(item, indent, depth + 1, options) for item in x], indent, depth, separators[0])
    if default is not None:
        return _text(default(x), indent, depth, options)
    raise TypeError(f'Object of type {type(x).__name__} is not JSON serializable')


def dumps(obj, *, indent=None, sort_keys=False, separators=None, default=None, ensure_ascii=True):
    text = _text(obj, indent, 0, (separators or (', ', ': '), sort_keys, default))
    return ''.join([c if ord(c) < 128 else _spelt(ord(c)) for c in text]) if ensure_ascii else text


def _spelt(c):
    """\\u00e9, and of what is beyond 16 bits a pair."""
    if c < 0x10000:
        return f'\\u{c:04x}'
    c -= 0x10000
    return f'\\u{0xd800 + (c >> 10):04x}\\u{0xdc00 + (c & 0x3ff):04x}'


class JSONDecodeError(ValueError):
    def __init__(self, msg, doc, pos):
        line = doc.count('\n', 0, pos) + 1
        column = pos - doc.rfind('\n', 0, pos)
        super().__init__(f'{msg}: line {line} column {column} (char {pos})')
        self.msg, self.doc, self.pos = msg, doc, pos


_words = {'null': None, 'true': True, 'false': False, 'NaN': nan, 'Infinity': inf, '-Infinity': -inf}
_plain = {'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}


class _Reader:
    """One value after the other, from `at` on; s is a list of characters."""

    def __init__(self, text):
        self.text, self.s, self.at = text, list(text) + [''], 0

    def fail(self, message, at=None):
        raise JSONDecodeError(message, self.text, self.at if at is None else at)

    def skip(self):
        while self.s[self.at] in (' ', '\t', '\n', '\r'):
            self.at += 1
        return self.s[self.at]

    def string(self):
        start, out = self.at, []
        self.at += 1
        while self.s[self.at] != '"':
            c = self.s[self.at]
            if not c:
                self.fail('Unterminated string starting at', start)
            if c == '\n':
                self.fail('Invalid control character at')
            if c == '\\':
                self.at += 1
                c = self.escape(self.s[self.at])
            out.append(c)
            self.at += 1
        self.at += 1
        return ''.join(out)

    def escape(self, c):
        if c != 'u':
            return _plain[c] if c in _plain else self.fail('Invalid \\escape', self.at - 1)
        code = int(''.join(self.s[self.at + 1:self.at + 5]), 16)
        self.at += 4
        return chr(code)

    def number(self):
        start = self.at
        while self.s[self.at] and self.s[self.at] in '+-0123456789.eE':
            self.at += 1
        text = ''.join(self.s[start:self.at])
        try:
            return int(text) if text.lstrip('-').isdigit() else float(text)
        except ValueError:
            self.fail('Expecting value', start)

    def items(self, end, item):
        self.at += 1
        if self.skip() == end:
            self.at += 1
            return
        while True:
            item()
            c = self.skip()
            if c not in (',', end):
                self.fail("Expecting ',' delimiter")
            self.at += 1
            if c == end:
                return

    def value(self):
        c, out = self.skip(), []
        if c == '"':
            return self.string()
        if c == '[':
            self.items(']', lambda: out.append(self.value()))
            return out
        if c == '{':
            self.items('}', lambda: out.append(self.pair()))
            return dict(out)
        for word in _words:
            if ''.join(self.s[self.at:self.at + len(word)]) == word:
                self.at += len(word)
                return _words[word]
        return self.number() if c and c in '-0123456789' else self.fail('Expecting value')

    def pair(self):
        if self.skip() != '"':
            self.fail('Expecting property name enclosed in double quotes')
        key = self.string()
        if self.skip() != ':':
            self.fail("Expecting ':' delimiter")
        self.at += 1
        return key, self.value()


def loads(s):
    reader = _Reader(s)
    value = reader.value()
    if reader.skip():
        reader.fail('Extra data')
    return value


def load(file):
    return loads(file.read())


def dump(obj, file, **options):
    file.write(dumps(obj, **options))
