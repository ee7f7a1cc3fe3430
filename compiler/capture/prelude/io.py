"""io: files of text, read and written as a whole."""
from os import fspath
from _warpsmith import read_file, refuse, write_file


class BytesIO:
    """Memory that pickle.dump() writes to; of bytes there is none."""

    def __init__(self, initial_bytes=None):
        if initial_bytes is not None:
            refuse('io.BytesIO() of bytes is not supported')
        self._parts, self._place = [], 0

    def write(self, part):
        self._parts[self._place:] = [part]
        self._place += 1

    def read(self, size=-1):
        if self._place == len(self._parts) or size is not None and size >= 0:
            refuse('io.BytesIO.read() is not supported; pickle.load() is')
        self._place += 1
        return self._parts[self._place - 1]

    def seek(self, offset, whence=0):
        if offset or whence not in (0, 2):
            refuse('io.BytesIO.seek() is not supported but to the start and the end')
        self._place = len(self._parts) if whence else 0

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


class StringIO:
    def __init__(self, text=''):
        self._text, self._at = text, 0

    def read(self, size=-1):
        end = len(self._text) if size is None or size < 0 else self._at + size
        text, self._at = self._text[self._at:end], min(end, len(self._text))
        return text

    def readline(self):
        at = self._text.find('\n', self._at)
        return self.read() if at < 0 else self.read(at + 1 - self._at)

    def readlines(self):
        return list(self)

    def __iter__(self):
        line = self.readline()
        while line:
            yield line
            line = self.readline()

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f'write() argument must be str, not {type(text).__name__}')
        self._text += text
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def getvalue(self):
        return self._text

    def flush(self):
        pass

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class _Reader(StringIO):
    def __init__(self, name):
        text = read_file(name)
        if text is None:
            raise FileNotFoundError(f"[Errno 2] No such file or directory: '{name}'")
        super().__init__(text)
        self.name = name

    def write(self, text):
        raise ValueError('not writable')


class _Writer(StringIO):
    """What is written is in the file at once."""

    def __init__(self, name, append):
        super().__init__()
        self.name = name
        self._put('', append)

    def _put(self, text, append):
        if not write_file(self.name, text, append):
            raise OSError(f"cannot write '{self.name}'")

    def write(self, text):
        self._put(text, True)
        return len(text)

    def read(self, size=-1):
        raise ValueError('not readable')


def open(file, mode='r', buffering=-1, encoding=None, errors=None, newline=None):
    if mode in ('r', 'rt'):
        return _Reader(fspath(file))
    if mode in ('w', 'a', 'wt', 'at'):
        return _Writer(fspath(file), mode[0] == 'a')
    refuse(f"open() in mode '{mode}' is not supported; 'r', 'w' and 'a' are, for text")
