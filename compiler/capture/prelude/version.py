"""packaging.version, distutils.version: versions as the numbers that they begin with."""


def _compare(test):
    return lambda self, other: test(*self._both(other))


class Version:
    """2.1 is 2.1.0; what follows the numbers, as +cu130, does not count."""

    def __init__(self, text):
        self.text = str(text)
        parts = self.text.split('+')[0].split('.')
        self.release = tuple([int(p) for p in parts if p.isdigit()])
        self.version = list(self.release)
        self.major, self.minor, self.micro = (self.release + (0, 0, 0))[:3]
        self.base_version = self.public = '.'.join([str(n) for n in self.release])

    def _both(self, other):
        a, b = self.release, (other if isinstance(other, Version) else Version(other)).release
        n = max(len(a), len(b))
        return a + (0,) * (n - len(a)), b + (0,) * (n - len(b))

    __eq__, __lt__, __le__, __gt__, __ge__ = [_compare(test) for test in (
        lambda a, b: a == b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b)]

    def __str__(self):
        return self.text


LooseVersion = StrictVersion = parse = Version
