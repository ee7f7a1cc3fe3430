a, b = {1, 2, 3}, {3, 4}
print(sorted(a.symmetric_difference(b)), a.issubset({1, 2, 3, 4}), a.issuperset([1]), a.isdisjoint({9}), a.isdisjoint(b))
a.clear()
print(a, len(a), a.issubset(b))
d = {"a": 1, "b": 2}
print(d.popitem(), d, dict.fromkeys("xy", 0), dict.fromkeys([1, 2]), {}.fromkeys("a", []))
try:
    {}.popitem()
except KeyError as e:
    print(e)
