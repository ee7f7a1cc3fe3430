a = [3, 1, 2]
a.append(5); a.extend([7, 6]); a.insert(1, 9)
print(a, len(a), a.pop(), a.pop(0), a, a.index(2), a.count(9), 9 in a, 100 in a)
a.remove(9); a.sort(); print(a); a.reverse(); print(a, a.copy() == a, a.copy() is a)
b = a
b += [1]
print(a is b, a, a + [2], a * 2, [0] * 3, [[]] * 2, [1, 2] == [1, 2], [1, 2] < [1, 3], [1] < [1, 0])
c = list(range(10))
print(c[2:5], c[::-1], c[-3:], c[::3], c[8:2:-2], c[100:], c[:-1], c[-100:2])
c[2:4] = [20, 30, 40]; print(c)
c[1:1] = [0, 0]; c[-2:] = []; print(c)
del c[0]; del c[1:3]; print(c); c[1] = "x"; print(c)
print([*a, *"ab", *(1, 2)], [1, [2, [3]]], list("abc"), list({"k": 1}), list(()))
x, *y, z = [1, 2, 3, 4]
print(x, y, z); (p, q), r = (1, 2), 3; print(p, q, r)
print(sorted([3, 1, 2], reverse=True), sorted("banana"), sorted(["b", "A", "c"], key=str.lower), sorted([(2, "a"), (1, "b")]))
print(list(zip([1, 2, 3], "ab")), list(enumerate("ab", 1)), list(map(abs, [-1, 2])), list(filter(None, [0, 1, "", "a"])), list(reversed([1, 2])))
print(any([0, 1]), all([1, 0]), any([]), all([]), sum([[1], [2]], []), max([1, 5, 3], key=lambda v: -v), min([], default=7))
for f in (lambda: [][0], lambda: [1].pop(5), lambda: [].pop(), lambda: [1].remove(2), lambda: [1].index(2)):
    try:
        f()
    except (IndexError, ValueError) as e:
        print(e)
