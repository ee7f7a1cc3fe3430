print(7 // 2, -7 // 2, 7 // -2, -7 // -2, 7 % 3, -7 % 3, 7 % -3, -7 % -3)
print(2 ** 10, 2 ** 0, (-2) ** 3, 2 ** -1, 0 ** 0)
print(5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 10, -9 >> 1, -1 >> 40)
print(divmod(17, 5), divmod(-17, 5), divmod(17, -5), abs(-3), pow(3, 4))
print(int("42"), int(" -7 "), int(3.99), int(-3.99), int(True), int("1_000"), int("ff", 16), int("101", 2))
print(0x10, 0o17, 0b101, 1_000_000, +5, -(-5))
print(1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, 1 != 2, not 0, 3 and 0 and 1, 0 or "" or None)
print(True + True, True * 3, False - 1, -True, ~True)
print(round(2.5), round(3.5), round(-2.5), round(1234, -2), round(7))
print(min(3, 1, 2), max([3, 1, 2]), sum([1, 2, 3]), sum([1.5, 2], 10), min("b", "a"))
for bad in ("x", "", "1.5"):
    try:
        print(int(bad))
    except ValueError as e:
        print("ValueError:", e)
try:
    1 // 0
except ZeroDivisionError as e:
    print(e)
try:
    1 % 0
except ZeroDivisionError as e:
    print(e)
try:
    1 << -1
except ValueError as e:
    print(e)
