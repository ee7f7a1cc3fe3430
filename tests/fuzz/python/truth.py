values = [0, 1, -1, 0.0, 0.5, "", "a", [], [0], (), (0,), {}, {"a": 0}, set(), {0}, None, True, False, range(0), range(1), ..., len]
print([bool(v) for v in values])
for v in values[:12]:
    print(not v, v and "and", v or "or", "t" if v else "f", end="; ")
print()
print(1 and 2, 0 and 1 / 0, 1 or 1 / 0, not [], not not "a", 1 < 2 and 3 > 2, None is None, None == 0, [] is not [], 1 is True if False else "x")
print(None or 0 or [] or "last", 1 and 2 and 3, (0 or 5) + 1, 5 if [] else 6 if 0 else 7)
a = b = []
a.append(1)
print(b, a is b, a == [1], a is not [1])
print(isinstance(True, int), isinstance(1, (str, int)), isinstance("a", str), isinstance(None, type(None)), isinstance(1.0, int), isinstance([], (list, tuple)))
print(type(1) is int, type("").__name__, type(None).__name__, type([]) == list, str(int), type(1.5), type(type(1)))
print(1 == True, 0 == False, "1" == 1, [1] == (1,), 1 in [True], "a" "b" == "ab", {1: 2} == {1.0: 2.0})
