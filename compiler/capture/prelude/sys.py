"""sys: the two streams, and what programs ask about the interpreter."""
from _warpsmith import log

argv, path = [], []
modules = {}
maxsize = 9223372036854775807
platform, byteorder, executable = 'linux', 'little', 'python3'
version, version_info = '3.11.7', (3, 11, 7, 'final', 0)


class _Stream:
    def __init__(self, put):
        self._put = put

    def write(self, text):
        self._put(text)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def isatty(self):
        return False


stdout = _Stream(lambda text: print(text, end=''))
stderr = _Stream(lambda text: log(text))


def exit(code=None):
    raise SystemExit(code)


def getsizeof(x):
    return 64


def getdefaultencoding():
    return 'utf-8'


getfilesystemencoding = getdefaultencoding


def intern(text):
    return text
