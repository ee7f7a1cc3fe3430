class Base:
    """Doc."""

    scale: float = 2.0
    sizes = [4, 8]
    __secret = 1

    def __init__(self, n, *, bias=True):
        super().__init__()
        self.n = n
        self.__hidden = [self.__secret] * n

    @property
    def total(self):
        return sum(self.sizes)


def make(width):
    class Local(Base, metaclass=Meta):
        width = width
        kept = [width for _ in range(3)]

        def get(self):
            return width, __class__

    return Local
