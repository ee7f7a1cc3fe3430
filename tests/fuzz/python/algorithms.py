def primes(n):
    sieve = [True] * (n + 1)
    sieve[0:2] = [False, False]
    for i in range(2, int(n ** 0.5) + 1):
        if sieve[i]:
            for j in range(i * i, n + 1, i): sieve[j] = False
    return [i for i, p in enumerate(sieve) if p]
print(primes(60))
def gcd(a, b):
    while b: a, b = b, a % b
    return a
print(gcd(1071, 462))
def hanoi(n, a="A", b="B", c="C"):
    return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
print(len(hanoi(7)), hanoi(2))
def matmul(a, b):
    return [[sum(x * y for x, y in zip(r, c)) for c in zip(*b)] for r in a]
print(matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
def collatz(n):
    out = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        out.append(n)
    return out
print(collatz(27)[-10:], len(collatz(27)))
def binary(l, v):
    lo, hi = 0, len(l)
    while lo < hi:
        mid = (lo + hi) // 2
        if l[mid] < v: lo = mid + 1
        else: hi = mid
    return lo
print(binary([1, 3, 5, 7], 5), binary([1, 3, 5, 7], 6), binary([], 1))
def perms(s):
    return [s] if len(s) < 2 else [c + p for i, c in enumerate(s) for p in perms(s[:i] + s[i + 1:])]
print(perms("abc"))
graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
def bfs(start):
    seen, queue = [start], [start]
    while queue:
        for n in graph[queue.pop(0)]:
            if n not in seen:
                seen.append(n); queue.append(n)
    return seen
print(bfs("a"))
def to_base(n, b):
    return "" if n == 0 else to_base(n // b, b) + "0123456789abcdef"[n % b]
print(to_base(255, 2), to_base(255, 16), int(to_base(12345, 7), 7))
x = 1.0
for _ in range(20): x = (x + 2 / x) / 2
print(x)
def lcs(a, b):
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            t[i + 1][j + 1] = t[i][j] + 1 if p == q else max(t[i][j + 1], t[i + 1][j])
    return t[-1][-1]
print(lcs("differential", "deferral"))
