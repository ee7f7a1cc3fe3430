"""pathlib: names of files, taken apart and put together."""
import os
from io import open
from os import path as _path
from _warpsmith import refuse


class PurePath:
    def __init__(self, *parts):
        self._text = _path.join(*parts) if parts else '.'
        if len(self._text) > 1:
            self._text = '/'.join([part for part in self._text.split('/') if part not in ('', '.')]) or '.'
            if parts and _path.join(*parts).startswith('/'):
                self._text = '/' + (self._text if self._text != '.' else '')

    def __fspath__(self):
        return self._text

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"PosixPath('{self._text}')"

    def __eq__(self, other):
        return isinstance(other, PurePath) and self._text == other._text

    def __lt__(self, other):
        return self._text < other._text

    def __truediv__(self, other):
        return Path(self, other)

    def __rtruediv__(self, other):
        return Path(other, self)

    def joinpath(self, *others):
        return Path(self, *others)

    def with_suffix(self, suffix):
        return Path(_path.splitext(self._text)[0] + suffix)

    def with_name(self, name):
        return self.parent / name

    def as_posix(self):
        return self._text

    def is_absolute(self):
        return _path.isabs(self._text)

    def absolute(self):
        return Path(_path.abspath(self._text))

    def resolve(self):
        return self.absolute()

    def expanduser(self):
        return Path(_path.expanduser(self._text))

    def exists(self):
        return _path.exists(self._text)

    def is_file(self):
        return _path.isfile(self._text)

    def mkdir(self, mode=511, parents=False, exist_ok=False):
        if not (exist_ok and self.is_dir()):
            os.makedirs(self._text) if parents else os.mkdir(self._text)

    def open(self, mode='r', **options):
        return open(self._text, mode, **options)

    def read_text(self, encoding=None):
        return open(self._text).read()

    def write_text(self, data, encoding=None):
        return open(self._text, 'w').write(data)

    def is_dir(self):
        return _path.isdir(self._text)

    def _parents(self):
        found, at = [], self
        while at != at.parent:
            at = at.parent
            found.append(at)
        return tuple(found)

    def relative_to(self, other):
        start = Path(other)
        n = len(start.parts)
        if self.parts[:n] != start.parts:
            raise ValueError(f"'{self}' is not in the subpath of '{start}'")
        return Path(*self.parts[n:])

    @classmethod
    def cwd(cls):
        return Path(os.getcwd())

    @classmethod
    def home(cls):
        return Path('~').expanduser()

    name = property(lambda self: _path.basename(self._text) if self._text != '.' else '')
    stem = property(lambda self: _path.splitext(self.name)[0])
    suffix = property(lambda self: _path.splitext(self.name)[1])
    parent = property(lambda self: Path(_path.dirname(self._text) or '.'))
    parents = property(lambda self: self._parents())
    parts = property(lambda self: tuple((['/'] if self.is_absolute() else []) + [x for x in self._text.split('/') if x not in ('', '.')]))

    def __getattr__(self, name):
        if name[:1] == '_':
            raise AttributeError(name)
        refuse(f'pathlib.Path.{name} is not supported')


Path = PosixPath = PurePosixPath = PurePath
