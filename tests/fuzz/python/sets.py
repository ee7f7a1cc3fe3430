s = {3, 1, 2, 3}
print(len(s), 1 in s, 5 in s, sorted(s), sorted(s | {9}), sorted(s & {1, 9}), sorted(s - {1}), sorted(s ^ {1, 9}))
s.add(7); s.discard(100); s.remove(7); print(sorted(s), set(), len(set("hello")), {1, 2} == {2, 1}, {1} < {1, 2}, {1, 2} <= {1, 2})
print(sorted({i % 3 for i in range(10)}), {1, 2} <= {1, 2, 3}, {1}.union([2]) == {1, 2}, bool(set()))
try:
    s.remove(100)
except KeyError as e:
    print("KeyError", e)
