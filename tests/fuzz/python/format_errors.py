cases = [lambda: f"{'a':d}", lambda: format(1.5, "d"), lambda: format("x", ".2f"), lambda: format(None, "5"), lambda: format(1, "s"), lambda: format(1.5, "x"), lambda: format("s", "+"), lambda: format(1, "q"), lambda: format([1], ">5"), lambda: format(1, 5), lambda: format("abc", ".2"), lambda: format(True, "5d")]
for c in cases:
    try:
        print(c())
    except (TypeError, ValueError, IndexError) as e:
        print(type(e).__name__)
