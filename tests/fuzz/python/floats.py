print(1.0, 0.1 + 0.2, 1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 1e100, -0.0)
print(1 / 3, 2 / 1, 7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2, 7.5 % -2, 2.0 ** 0.5, 2 ** 0.5)
print(float("inf"), -float("inf"), float("nan"), float("1e3"), float(" 2.5 "), float(7))
print(float("nan") == float("nan"), float("inf") > 1e308, 0.0 == -0.0, 1e308 * 10)
print(round(2.675, 2), round(1.005, 2), round(0.5), round(1.5), round(-1.5), round(1e20, 2), round(123.456, -1))
print(3.0.is_integer() if hasattr(3.0, "is_integer") else True)
print(divmod(7.5, 2), abs(-2.5), max(1, 2.5), min(1.0, 1), int(1e10), int(-0.5))
print(1e22, 1e21, 1.5e300, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308)
print(100.0, 1234567.0, 0.00001234, 12345678901234567890.0, 3.14159)
print(.5, 5., 1_0.0_1, 1e+5, 1E-2)
print(True / 2, 1 + 1.5, 3 * 0.1, 10 - 0.5, -7 / 2)
try:
    1.0 / 0
except ZeroDivisionError as e:
    print(e)
try:
    1.0 % 0
except ZeroDivisionError as e:
    print(e)
try:
    float("abc")
except ValueError as e:
    print(e)
