a = list(range(12))
for s in (slice(None), slice(2, 9), slice(None, None, -1), slice(9, 2, -3), slice(-4, -1), slice(0, 100, 5), slice(50, None), slice(-100, 3)):
    print(a[s], "abcdefghijkl"[s], tuple(a)[s], range(12)[s])
print(range(10), range(1, 10, 3), len(range(1, 10, 3)), range(10)[3], range(10)[-1], 4 in range(0, 10, 2), 5 in range(0, 10, 2), list(range(5, 0, -2)), range(3) == range(0, 3))
try:
    a[::0]
except ValueError as e:
    print(e)
try:
    a["x"]
except TypeError as e:
    print(e)
class Get:
    def __getitem__(self, i):
        return i
g = Get()
print(g[1], g[1, 2], g[...], g["k"], g[-1])
