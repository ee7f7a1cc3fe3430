data = [("bob", 25), ("alice", 30), ("carol", 25), ("dave", 30)]
print(sorted(data), sorted(data, key=lambda d: d[1]), sorted(data, key=lambda d: (-d[1], d[0])), sorted(data, key=lambda d: d[1], reverse=True))
l = [3, 1, 2]; l.sort(reverse=True); print(l, l.sort(), l)
print(sorted([1.5, 1, True, 0]), sorted(["b", "B", "a"]), sorted(["aaa", "b", "cc"], key=len), sorted([[2], [1, 5], [1]]), sorted({"b": 1, "a": 2}))
print(max(data, key=lambda d: d[1]), min(data, key=lambda d: d[1]), max("abc"), max([1], [2]), max(1, 2, key=lambda v: -v))
def bubble(a):
    a = a[:]
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]: a[j], a[j + 1] = a[j + 1], a[j]
    return a
def quick(a):
    if len(a) < 2: return a
    p, *r = a
    return quick([x for x in r if x < p]) + [p] + quick([x for x in r if x >= p])
s = [(i * 7919) % 101 for i in range(40)]
print(bubble(s) == sorted(s), quick(s) == sorted(s), quick(s)[:10])
try:
    sorted([1, "a"])
except TypeError as e:
    print(e)
