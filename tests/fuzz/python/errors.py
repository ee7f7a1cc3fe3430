tests = [lambda: 1 + "a", lambda: "a" - 1, lambda: [] + (), lambda: None + 1, lambda: -"a", lambda: [1] < ["a"], lambda: 1 < "a", lambda: {} < {}, lambda: len(5), lambda: iter(5), lambda: 5[0], lambda: {}.missing, lambda: None.x, lambda: (1).foo, lambda: int([]), lambda: int(None), lambda: float([]), lambda: "a" * 1.5, lambda: [1, 2]["a"], lambda: abs("a"), lambda: sum(["a"]), lambda: max([]), lambda: range(1.5), lambda: ~1.5, lambda: 1 & 1.5, lambda: "a" in 5, lambda: 5 in "a", lambda: dict([1]), lambda: set([[]]), lambda: chr("a"), lambda: ord("ab"), lambda: round("a"), lambda: isinstance(1, 1), lambda: [].append(), lambda: "".join([1]), lambda: zip(1), lambda: (lambda x: x)(), lambda: print(**{"bad": 1}), lambda: [1, 2, 3].index(9), lambda: "abc".split(1), lambda: list(5), lambda: tuple(5), lambda: sorted(5), lambda: all(5), lambda: enumerate(5), lambda: map(abs), lambda: str(1, 2, 3, 4), lambda: bool(1, 2), lambda: getattr(1, "x"), lambda: setattr(1, "x", 1), lambda: 2 ** "a", lambda: divmod(1, 0), lambda: 0 ** -1, lambda: 1 // 0.0, lambda: round(1.5, "a")]
for i, t in enumerate(tests):
    try:
        t()
        print(i, "no error")
    except Exception as e:
        print(i, type(e).__name__)
