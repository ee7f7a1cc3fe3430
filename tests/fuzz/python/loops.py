for i in range(3):
    for j in range(3):
        if j == 2: break
        if i == 1: continue
        print(i, j)
    else:
        print("never")
else:
    print("done")
n = 10
while n:
    n -= 3
    if n < 0: break
else:
    print("zero")
print(n)
while n < 5:
    n += 1
else:
    print("else", n)
for i, (a, b) in enumerate([(1, 2), (3, 4)]):
    print(i, a, b)
for i, c in zip(range(10, 0, -3), "abc"): print(i, c)
for x in []: pass
else: print("empty")
l = [1, 2, 3, 4]
for v in l[:]:
    if v % 2: l.remove(v)
print(l, i, v)
it = iter([1, 2, 3])
print(next(it), next(it), next(it), next(it, "end"))
try:
    next(it)
except StopIteration:
    print("stop")
total = 0
for a, *rest in [(1, 2, 3), (4,)]:
    total += a + len(rest)
print(total)
def gen():
    return (x * x for x in range(4))
print(list(gen()), sum(gen()))
k = 0
while True:
    k += 1
    if k % 7 == 0 and k % 5 == 0: break
print(k)
