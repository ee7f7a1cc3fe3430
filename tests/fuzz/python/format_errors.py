cases = [lambda: "%d" % "a", lambda: "{:d}".format("a"), lambda: f"{'a':d}", lambda: "{}".format(), lambda: "%s %s" % (1,), lambda: "{:.2f}".format("x"), lambda: format(1.5, "d"), lambda: "%d" % 1.7, lambda: "{:5}".format(None), lambda: "%s" % (1, 2)]
for c in cases:
    try:
        print(c())
    except (TypeError, ValueError, IndexError) as e:
        print(type(e).__name__)
