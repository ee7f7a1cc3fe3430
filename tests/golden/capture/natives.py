"""Functions in C check what they are given, and say it as Python does."""
import torch


class Plain(Exception):
    def __init__(self, n):
        self.n = n


calls = [
    (lambda: str.upper(5), "TypeError: descriptor 'upper' for 'str' objects doesn't apply to a 'int' object"),
    (lambda: list.append(3, 4), "TypeError: descriptor 'append' for 'list' objects doesn't apply to a 'int' object"),
    (lambda: torch.Tensor.size(5), "TypeError: descriptor 'size' for 'Tensor' objects doesn't apply to a 'int' object"),
    (lambda: type(None)(), "TypeError: cannot create 'NoneType' instances"),
    (lambda: dict.update(), "TypeError: unbound method dict.update() needs an argument"),
    (lambda: format(3, 4), "TypeError: format() argument 2 must be str, not int"),
    (lambda: int("3", 99), "ValueError: int() base must be >= 2 and <= 36, or 0"),
    (lambda: Plain(3, 4), "TypeError: Plain.__init__() takes 2 positional arguments but 3 were given"),
    (lambda: {}.get([]), "TypeError: unhashable type: 'list'"),
    (lambda: [].pop(), "IndexError: pop from empty list"),
    (lambda: len(), "TypeError: len() takes exactly one argument (0 given)"),
    (lambda: len(obj=[1]), "TypeError: len() takes no keyword arguments"),
    (lambda: isinstance(1), "TypeError: isinstance expected 2 arguments, got 1"),
    (lambda: getattr(1), "TypeError: getattr expected at least 2 arguments, got 1"),
    (lambda: "a".strip("b", "c"), "TypeError: str.strip expected at most 1 argument, got 2"),
    (lambda: [].clear(1), "TypeError: list.clear() takes no arguments (1 given)"),
    (lambda: [].insert("0", 1), "TypeError: 'str' object cannot be interpreted as an integer"),
    (lambda: sorted([1], 2), "TypeError: sorted() takes exactly one argument (2 given)"),
    (lambda: sorted([1], by=2), "TypeError: sorted() got an unexpected keyword argument 'by'"),
    (lambda: "a".find(5), "TypeError: find() argument 1 must be str, not int"),
    (lambda: "a".split(5), "TypeError: split() argument 1 must be str or None, not int"),
    (lambda: print(1, sep=2), "TypeError: sep must be None or a string, not int"),
    (lambda: "a".startswith(("a", 1)), "TypeError: startswith() argument 1 must be str or tuple of str, not tuple"),
    (lambda: list(zip([1], [1, 2], strict=True)), "ValueError: zip() argument 2 is longer than argument 1"),
    (lambda: list(zip([1, 2], [1], strict=True)), "ValueError: zip() argument 2 is shorter than argument 1"),
    (lambda: (i for i in [1]).throw(5),
     "TypeError: exceptions must be classes or instances deriving from BaseException, not int"),
    (lambda: torch.tensor([1.0], dtype="float32"), "TypeError: tensor(): argument 'dtype' must be torch.dtype, not str"),
    (lambda: torch.tensor([1.0], dtype=-1), "TypeError: tensor(): argument 'dtype' must be torch.dtype, not int"),
    (lambda: torch.tensor([1.0], dtype=Plain), "TypeError: tensor(): argument 'dtype' must be torch.dtype, not type"),
    (lambda: "a".join([1]), "TypeError: expected str, got 'int'"),
    (lambda: torch.float32(), "TypeError: 'dtype' object is not callable"),
    (lambda: next(iter([])), "StopIteration: "),
    (lambda: range(1, 2, 0), "ValueError: range() arg 3 must not be zero"),
    (lambda: len(5), "TypeError: object of type 'int' has no len()"),
    (lambda: sorted([1, "a"]), "TypeError: '<' not supported between instances of 'str' and 'int'"),
    (lambda: max([]), "ValueError: max() arg is an empty sequence"),
    (lambda: [1, 2].index(3), "ValueError: 3 is not in list"),
    (lambda: {1}.remove(2), "KeyError: 2"),
    (lambda: isinstance(1, 1), "TypeError: isinstance() arg 2 must be a type, a tuple of types, or a union"),
    (lambda: getattr(1, 2), "TypeError: attribute name must be string, not 'int'"),
    (lambda: round(1e300), "OverflowError: cannot convert float 1e+300 to integer"),
    (lambda: 1 << 70, "OverflowError: integers beyond 64 bits are not supported"),
    (lambda: -1 << -1, "ValueError: negative shift count"),
    (lambda: (-8) ** 0.5, "ValueError: complex numbers are not supported"),
    (lambda: "a" < 1, "TypeError: '<' not supported between instances of 'str' and 'int'"),
    (lambda: [1][1:2:0], "ValueError: slice step cannot be zero"),
    (lambda: (1)["a"], "TypeError: 'int' object is not subscriptable"),
    (lambda: [1]["a"], "TypeError: list indices must be integers or slices, not str"),
    (lambda: torch.ones(2).size(3),
     "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 3)"),
    (lambda: torch.ones(4).split([1, 2]),
     "RuntimeError: split sizes [1, 2] do not sum to 4, the size of dimension 0"),
]


def natives(x):
    for call, expected in calls:
        try:
            got = call()
        except Exception as e:
            got = f"{type(e).__name__}: {e}"
        assert got == expected, f"{got!r}, not {expected!r}"
    assert torch.tensor([1.0], dtype=float).dtype == torch.float64
    e = Plain(7)
    assert str(e) == "7" and e.n == 7
    e.args = 5
    assert repr(e) == "<Plain object>"
    return x + len(calls)


def get_inputs():
    return [torch.randn(3)]
