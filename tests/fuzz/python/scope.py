x = "global"
def f():
    x = "local"
    def g():
        return x
    class K:
        x = "class"
        y = x
        def m(self):
            return x
    return g(), K.x, K.y, K().m()
print(f(), x)
def h():
    global x, made
    x = "changed"; made = 1
h(); print(x, made)
def outer():
    v = 1
    def mid():
        nonlocal v
        v += 1
        def inner():
            nonlocal v
            v *= 10
            return v
        return inner()
    return mid(), v
print(outer())
for i in range(2): leak = i
print(i, leak)
def params(a, b=x):
    return a, b
x = "later"
print(params(1))
class S:
    k = 1
    def get(self): return self.k
    def setk(self): self.k = 2
s = S(); print(s.get(), S.k); s.setk(); print(s.get(), S.k, S().k); S.k = 5; print(s.k, S().k)
if True:
    inif = 3
print(inif, [i for i in range(2)], i)
def lam(): return [lambda: j for j in range(3)]
print([l() for l in lam()])
def own_cell():
    def inner():
        return late
    try:
        print(late)
    except UnboundLocalError as e:
        print("UnboundLocalError", e)
    try:
        inner()
    except NameError as e:
        print(type(e).__name__, e)
    late = 1
    return inner()
print(own_cell())
