"""Operators on numbers and containers follow Python; those on tensors make nodes."""
import torch


class Vector:
    def __init__(self, *items):
        self.items = items

    def __add__(self, other):
        return Vector(*[a + b for a, b in zip(self.items, other.items)])

    def __eq__(self, other):
        return self.items == other.items

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __call__(self, x):
        return x * self[0]


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


def check():
    assert (7 // -2, 7 % -2, -7 // 2, -7 % 3, 2 ** -1, 2 ** 10, 7 / 2) == (-4, -1, -4, 2, 0.5, 1024, 3.5)
    assert (5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 4, -9 >> 1) == (1, 7, 6, -6, 16, -5)
    assert "ab" * 2 + "c" == "ababc" and [1] + [2] * 2 == [1, 2, 2] and (1, 2) < (1, 3)
    assert {1, 2} | {3} == {1, 2, 3} and {1, 2} & {2, 3} == {2} and {"a": 1} | {"b": 2} == {"a": 1, "b": 2}
    assert 1 < 2 <= 2 != 3 and not 1 > 2 and "b" in "abc" and 2 in [1, 2] and "k" not in {"a": 1}
    assert [1, 2, 3, 4][1:-1] == [2, 3] and "hello"[::-1] == "olleh" and list(range(10)[2:8:3]) == [2, 5]
    assert Vector(1, 2) + Vector(3, 4) == Vector(4, 6) and len(Vector(1)) == 1 and list(Countdown(3)) == [2, 1, 0]
    assert max(3, 1, 2) == 3 and min([4, 2]) == 2 and round(2.5) == 2 and round(1260, -2) == 1300 and divmod(7, 3) == (2, 1)
    assert sorted([3, 1, 2], reverse=True) == [3, 2, 1] and list(map(str, (1, 2.0))) == ["1", "2.0"]
    assert "a,b".split(",") == ["a", "b"] and "-".join(["x", "y"]) == "x-y" and " x ".strip().upper() == "X"
    d = dict(a=1)
    d.update(b=2)
    del d["a"]
    xs = [5, 6]
    xs[0:1] = [1, 2]
    xs.append(7)
    xs.insert(0, 0)
    assert d == {"b": 2} and xs == [0, 1, 2, 6, 7] and xs.pop() == 7 and (a := 3) == 3
    assert f"{1e-05} {0.1 + 0.2:>8.3f}|{'x':^5}|{1234567:,}|{255:x}|{-3:+d}|{0.25:.0%}" == \
        "1e-05    0.300|  x  |1,234,567|ff|-3|25%"
    assert 1 == 1.0 == True and {1: "a"}[True] == "a" and isinstance(True, int) and type(1) is int


def operators(x, i):
    check()
    y = -x + 1 - 2 * x / 3 // 1 % 5 ** x
    z = (x > 0) & (0 <= x) | (x == 1) ^ (x != i)
    return Vector(2, 3)(y), z, x @ x.mT


def get_inputs():
    return [torch.randn(3, 3), torch.ones(3, 3, dtype=torch.int64)]
