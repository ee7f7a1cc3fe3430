print([x * x for x in range(5)], [x for x in range(10) if x % 2 if x > 3], [(x, y) for x in range(3) for y in range(x)])
print([[j for j in range(i)] for i in range(4)], {x: x ** 2 for x in range(3)}, sorted({x // 2 for x in range(6)}), sum(x for x in range(5)), list(x for x in "ab"))
m = [[1, 2, 3], [4, 5, 6]]
print([[r[i] for r in m] for i in range(3)], [v for r in m for v in r], list(zip(*m)))
x = "outer"
print([x for x in range(3)], x)
def f(n):
    k = 10
    return [k + i for i in range(n)], max(i * k for i in range(n))
print(f(3), any(i > 3 for i in range(3)), [f"{i}" for i in (1, 2)], [a if a else "z" for a in (0, 1)], [(lambda: i)() for i in range(3)])
print([y := 5, y ** 2], [z for w in range(4) if (z := w * 2) > 2])
fs = [lambda: i for i in range(3)]
print([g() for g in fs], [(lambda j=j: j)() for j in range(3)])
class C:
    n = 3
    l = [i for i in range(n)]
print(C.l)
