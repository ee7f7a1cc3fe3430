"""json: values of dicts, lists, strings and numbers as text. Reading files and text is not here."""
from _warpsmith import refuse

_escapes = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r'}


def _string(s):
    return '"' + ''.join([_escapes.get(c, c) for c in s]) + '"'


def _items(open, close, items, indent, depth, comma):
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
        return _items('{', '}', items, indent, depth, separators[0])
    if isinstance(x, (list, tuple)):
        return _items('[', ']', [_text(item, indent, depth + 1, options) for item in x], indent, depth, separators[0])
    if default is not None:
        return _text(default(x), indent, depth, options)
    raise TypeError(f'Object of type {type(x).__name__} is not JSON serializable')


def dumps(obj, *, indent=None, sort_keys=False, separators=None, default=None, ensure_ascii=True):
    return _text(obj, indent, 0, (separators or (', ', ': '), sort_keys, default))


def loads(s, **options):
    refuse('json.loads is not supported')


def load(file, **options):
    refuse('json.load is not supported')


def dump(obj, file, **options):
    file.write(dumps(obj, **options))
