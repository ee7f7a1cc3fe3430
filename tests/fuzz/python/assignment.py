a = b = c = 1
a += 1; b -= 2; c *= 5
print(a, b, c)
x = 7; x //= 2; print(x); x **= 3; print(x); x %= 5; print(x); x <<= 3; x |= 1; x &= 0xF; x ^= 2; x >>= 1; print(x); x /= 4; print(x)
l = [1, 2]; m = l; l += [3]; print(m); l = l + [4]; print(m, l); l *= 2; print(l)
d = {"n": 1}; d["n"] += 1; d["l"] = []; d["l"] += [1]; print(d)
(p, q), [r, s] = (1, 2), (3, 4); print(p, q, r, s)
first, *mid, last = "abcde"; print(first, mid, last)
*init, tail = range(3); print(init, tail)
i = 0; arr = [0, 0]; i, arr[i] = 1, 5; print(i, arr)
class O: pass
o = O(); o.a = o.b = 3; o.a += 1; print(o.a, o.b)
g: int = 5
h: "str"
print(g, (y := 10), y)
if (n := len("abc")) > 2: print(n)
t = (1, 2); t += (3,); print(t); s = "a"; s *= 3; s += "b"; print(s)
del x
try:
    x
except NameError as e:
    print(e)
def swap(a, b): return b, a
a, b = swap(a, b); print(a, b); a, b, c = c, a, b; print(a, b, c)
