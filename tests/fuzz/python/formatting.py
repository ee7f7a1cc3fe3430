print("%d %5d %-5d| %05d %+d % d %x %X %#x %o" % (1, 22, 33, 44, 5, 6, 255, 255, 255, 8))
print("%f %.2f %8.3f %-8.1f| %08.2f %e %.3g %g %G %+.1f" % (1.5, 2.345, 3.14159, 2.5, -3.14159, 12345.678, 0.00001234, 1e20, 1e-7, 2))
print("%s %r %10s %-10s| %.2s %a %%" % ("a", "b", "right", "left", "long", "q"))
print("%s and %s" % ([1, 2], {"k": None}), "%s" % None, "%s" % 1.0, "%d" % 2.9, "%d" % True, "%c%c" % ("x", 65))
print("%(name)s is %(age)03d %(name)r" % {"name": "Ann", "age": 7}, "%*d|%-*d|%.*f" % (5, 1, 5, 2, 2, 3.14159))
print("no conversions" % (), "no conversions" % {}, "100%%" % ())
for bad in lambda: "%d" % "x", lambda: "%d %d" % (1,), lambda: "%d" % (1, 2), lambda: "%x" % 1.5, lambda: "%q" % 1, lambda: "%" % 1, lambda: "%(a)s" % 1, lambda: "x" % 1, lambda: "%f" % "a", lambda: "%(k)s" % {}:
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__)
print("{} {} {}".format(1, "two", 3.0), "{0} {1} {0}".format("a", "b"), "{name}-{0}".format(5, name="n"))
print("{:>6}|{:<6}|{:^6}|{:*^9}".format("a", "b", "c", "mid"), "{:05.1f} {:+d} {:,} {:e} {:%} {:b} {:#x}".format(3.14159, 4, 1234567, 12.5, 0.25, 5, 255))
print("{!r} {!s} {!r:>8} {{}} {{{}}}".format("q", "s", "w", 1), "{:{}}|{:>{w}.{p}f}".format("a", 4, 2.5, w=8, p=3))
class Point:
    def __init__(self):
        self.x, self.items = 3, [1, {"k": "v"}]
    def __format__(self, spec):
        return f"<{spec}>"
print("{0.x} {0.items[0]} {0.items[1][k]} {0:abc} {0}".format(Point()), "{d[key]} {l[1]}".format(d={"key": 1}, l=[5, 6]))
for bad in lambda: "{} {}".format(1), lambda: "{a}".format(), lambda: "{".format(1), lambda: "}".format(1), lambda: "{:d}".format("x"), lambda: "{0".format(1):
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__)
width, precision, value = 10, 3, 2.718281828
print(f"{value:{width}.{precision}f}|{value:<{width}.{precision - 1}}|{'x':{'*'}^{width}}|{value=:.2f} {width + 1 = } {'q'!r:>{width}} {width=!r:^6}|{{{width}}}")
