import random
from random import Random, choice, shuffle

for seed in (0, 1, 42, -7, 2 ** 32 - 1, 2 ** 40 + 12345):
    random.seed(seed)
    print(seed, random.random(), random.random(), random.getrandbits(7), random.getrandbits(32), random.getrandbits(50))
random.seed(3)
for i in range(1300):  # past the second time that the state is made anew
    x = random.random()
print(x, [random.randint(1, 6) for _ in range(12)], random.randrange(10), random.randrange(5, 50, 7))
print(random.uniform(-1, 1), random.gauss(0, 1), random.gauss(1, 2), random.gauss(), random.normalvariate(0, 1))
print(random.expovariate(0.5), random.triangular(0, 10, 2), random.lognormvariate(0, 0.25))
deck = list(range(20))
shuffle(deck)
print(deck, choice(deck), random.choices("abc", k=6), random.choices([1, 2, 3], weights=[1, 5, 2], k=8))
print(random.choices([1, 2, 3], cum_weights=[1, 6, 8], k=3), random.sample(deck, 4), random.sample(range(10 ** 6), 30))
print(random.sample(range(50), 21), random.sample("abcdef", 6), random.sample(deck, 0))
state = random.getstate()
first = [random.random(), random.gauss(0, 1)]
random.setstate(state)
print(first == [random.random(), random.gauss(0, 1)])
a, b = Random(5), Random(5)
print(a.random() == b.random(), a.randint(0, 9), b.randint(0, 9), random.random())
for wrong in (lambda: choice([]), lambda: random.sample([1], 2), lambda: random.randrange(0), lambda: random.randint(3, 1),
              lambda: random.choices([1, 2], weights=[1])):
    try:
        wrong()
    except (IndexError, ValueError) as error:
        print(type(error).__name__, error)
