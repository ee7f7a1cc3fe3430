import math
print(math.pi, math.e, math.inf, math.sqrt(2), math.exp(1), math.log(10), math.log(8, 2), math.log2(8), math.log10(1000))
print(math.floor(-1.5), math.ceil(-1.5), math.floor(7), math.trunc(-2.7), math.isnan(float("nan")), math.isinf(1e400))
print(math.sin(1), math.cos(1), math.tan(1), math.atan(1), math.tanh(0.5), math.pow(2, 3))
print(math.gcd(12, 18), math.prod([1, 2, 3, 4]), abs(-2))
print(abs(0.1 + 0.2 - 0.3) < 1e-9)
for f, x in ((math.sqrt, -1), (math.log, 0)):
    try:
        print(f(x))
    except ValueError as e:
        print(e)
import math
print(math.comb(5, 2), math.comb(3, 5), math.perm(5), math.perm(5, 2), math.lcm(4, 6), math.dist((0, 3), (4, 0)), math.fsum([.1] * 10), math.asinh(1), math.cbrt(27), math.atanh(.5))
