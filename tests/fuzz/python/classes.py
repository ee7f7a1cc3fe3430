class A:
    count = 0
    def __init__(self, x, y=0):
        self.x, self.y = x, y
        A.count += 1
    def __repr__(self):
        return f"A({self.x}, {self.y})"
    def __eq__(self, o):
        return isinstance(o, A) and self.x == o.x
    def __add__(self, o):
        return A(self.x + (o.x if isinstance(o, A) else o))
    def __radd__(self, o):
        return A(o + self.x)
    def __len__(self):
        return self.x
    def __getitem__(self, i):
        return i * self.x
    def __call__(self, z):
        return self.x + z
    def __contains__(self, v):
        return v == self.x
    def __neg__(self):
        return A(-self.x)
    def __lt__(self, o):
        return self.x < o.x
    @property
    def double(self):
        return self.x * 2
    @staticmethod
    def stat(v):
        return v + 1
    @classmethod
    def make(cls, v):
        return cls(v)
a, b = A(3), A(4, 5)
print(a, b, a + b, a + 1, 1 + a, len(a), a[5], a(10), 3 in a, 4 in a, -a, a == A(3), a != b, a < b, sorted([b, a]))
print(a.double, A.stat(1), a.stat(2), A.make(7), A.count, a.count, [a], (a,), {"k": a}, str(a), bool(A(0)), bool(a))
class B(A):
    def __init__(self, x):
        super().__init__(x, 9)
        self.z = 1
    def __repr__(self):
        return "B" + super().__repr__()
    def new(self):
        return "new"
c = B(2)
print(c, c.new(), isinstance(c, A), isinstance(a, B), issubclass(B, A), type(c) is B, type(c).__name__, B.__name__, c.double, hasattr(c, "z"), hasattr(a, "z"))
setattr(c, "w", 5); print(c.w, getattr(c, "w"), getattr(c, "nope", "dflt")); del c.w; print(hasattr(c, "w"))
class M1:
    def who(self): return "M1"
class M2:
    def who(self): return "M2"
class D(M1, M2):
    def who(self): return "D" + super().who()
print(D().who())
class V:
    def __init__(self): self._v = 1
    @property
    def v(self): return self._v
o = V(); o._v = 5; print(o.v, o._v)
try:
    a.missing
except AttributeError as e:
    print(e)
try:
    A()
except TypeError as e:
    print(e)
class It:
    def __init__(self, n): self.n = n
    def __iter__(self):
        self.i = 0
        return self
    def __next__(self):
        if self.i >= self.n: raise StopIteration
        self.i += 1
        return self.i
print(list(It(3)), [x for x in It(2)], sum(It(4)), max(It(5)), 2 in It(3))
