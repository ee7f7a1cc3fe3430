class Shape:
    name = "shape"
    def area(self): raise NotImplementedError("area")
    def describe(self): return f"{self.name} of {self.area():.2f}"
    def __str__(self): return self.describe()
class Square(Shape):
    name = "square"
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
class Circle(Shape):
    def __init__(self, r): self.r = r
    def area(self): return 3.14159 * self.r * self.r
    @property
    def name(self): return "circle " + str(self.r)
for s in (Square(2), Circle(1.5)):
    print(s, s.describe(), str(s), f"{s}", f"{s!s:>30}")
try:
    Shape().describe()
except NotImplementedError as e:
    print(e)
class Base:
    def __init__(self): self.log = ["Base"]
    def hook(self): return "base hook"
    def run(self): return self.hook()
class L(Base):
    def __init__(self): super().__init__(); self.log.append("L")
    def hook(self): return "L+" + super().hook()
class R(Base):
    def __init__(self): super().__init__(); self.log.append("R")
    def hook(self): return "R+" + super().hook()
class LR(L, R):
    def __init__(self): super().__init__(); self.log.append("LR")
x = LR(); print(x.log, x.run(), isinstance(x, R), [c.__name__ for c in LR.__mro__] if hasattr(LR, "__mro__") else ["LR", "L", "R", "Base", "object"])
class Attr:
    def __getattr__(self, n):
        if n.startswith("dyn_"): return n[4:]
        raise AttributeError(n)
a = Attr(); a.real = 1
print(a.dyn_x, a.real, hasattr(a, "other"), getattr(a, "no", None))
class Acc:
    def __init__(self): self.v = {}
    def __setitem__(self, k, v): self.v[k] = v
    def __getitem__(self, k): return self.v[k]
    def __delitem__(self, k): del self.v[k]
    def __iadd__(self, o): self.v["sum"] = self.v.get("sum", 0) + o; return self
    def __bool__(self): return bool(self.v)
acc = Acc(); print(bool(acc)); acc["a"] = 1; acc += 5; acc += 6; del acc["a"]; print(acc["sum"], bool(acc))
