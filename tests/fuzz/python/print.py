print()
print(1, "a", None, True, 2.5, [1], sep=", ", end="!\n")
print("no newline", end=""); print(" joined")
print("", "", sep="|"); print(*[1, 2, 3]); print(*"abc", sep="\n"); print(sep="x"); print("a", end=None); print("a", "b", sep=None)
print("unicode: é ü 你好", "é"[0], repr("é"))
print([None, True, 1.0, "s", (1,), {"a": [1]}, {1}, range(2), ...])
print({"nested": {"a": [1, (2, 3)]}}, [[[]]], ((),), [()], {1: {}})
print(str([1, "a"]), str({"k": "v"}), str((1,)), str(None), str(1.0), str("s"), repr("s"))
print(1.0 == 1, [1.0, 1e20, 1e-7, -0.0, float("inf"), float("nan")])
try:
    print("a", sep=1)
except TypeError as e:
    print(e)
