x, y, name = 3.14159, 42, "fuzz"
print(f"{x} {y} {name}", f"{x:.2f}|{x:8.3f}|{x:<8.1f}|{x:^9.2f}|{x:+.1f}|{x:e}|{x:.3g}|{x:%}")
print(f"{y:d}|{y:5d}|{y:<5d}|{y:^5d}|{y:05d}|{y:+d}|{y:x}|{y:X}|{y:o}|{y:b}|{y:#x}|{y:,}|{1234567:,}|{1234567.891:,.2f}")
print(f"{name}|{name:>8}|{name:<8}|{name:^8}|{name:*^8}|{name!r}|{name!s:>6}|{name!r:>10}|{name:.2}")
print(f"{{}} {{{y}}} {y + 1} {y * 2:>4} {'a' if y else 'b'} {[i for i in range(3)]} {dict(a=1)['a']}")
w, p = 10, 3
print(f"{x:{w}.{p}f}|{name:{'>'}{w}}|{x:.{p}f}")
print(f"{y=} {x=:.2f} {name=} {y + 1 = }")
print(f"{True} {None} {(1, 2)} {[1.5, 'a']} { {'k': 1} }")
print(f"nested {f'{y:>{w}}'} done" f" and {y}")
print(f"{0:b} {-5:d} {-5:05d} {-x:.1f} {0.0:g} {1e10:g} {1e-10:g} {100000.0:g} {1000000.0:g}")
print(f"{float('inf'):.2f} {float('nan'):8} {-float('inf'):F} {-0.0:.1f} {1e300:.1e} {255:#b} {255:#o} {255:X} {1234567:_} {0.5:E} {1e-7:G}")
print(f"{3.0} {3.0:.3} {1234.5678:.6} {1234.5678:.2} {0.1:.17} {100.0:.3} {100.0:.4} {1e16} {1e15} {123456789.0:,}")
print(format(3.7, ".0f"), format(42, "08b"), format("s", ">3"), format(1e6, ",.0f"), format(0.000123, "g"), format(True), format(None))
