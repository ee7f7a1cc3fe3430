d = {"a": 1, "b": 2, 3: "three", (1, 2): None}
print(d, len(d), d["a"], d.get("z"), d.get("z", 0), "a" in d, "z" in d, 3 in d)
d["c"] = 4; d["a"] = 10; del d["b"]; print(d, list(d), list(d.keys()), list(d.values()), list(d.items()))
print(d.pop("c"), d.pop("zz", "dflt"), d.setdefault("n", []), d.setdefault("a", 5), d)
d.update({"x": 1}, y=2); print(d, {**d, "a": 0}, dict(a=1), dict([("k", "v")]), dict(zip("ab", (1, 2))))
print({k: v for k, v in zip("abc", range(3)) if v}, {1: "a"} == {1: "a"}, {1: 1, True: 2}, {1: "i", 1.0: "f"})
for k, v in {"p": 1, "q": 2}.items():
    print(k, v)
e = d.copy(); e.clear(); print(e, bool(e), bool(d), {"a": 1} | {"b": 2})
n = {}
for w in "the cat the dog".split():
    n[w] = n.get(w, 0) + 1
print(n, sorted(n), sorted(n.items(), key=lambda kv: (-kv[1], kv[0])), max(n, key=n.get))
for f in (lambda: {}["k"], lambda: {}.pop("k"), lambda: {}[1], lambda: {[]: 1}):
    try:
        f()
    except (KeyError, TypeError) as err:
        print(type(err).__name__, err)
d, e = {'a': 1, 'b': 2}, {'b': 3, 'c': 4}
print(d.keys(), d.values(), d.items(), {}.keys(), [d.keys()], f'{d.keys()}', list(d.keys()), len(d.items()))
print(sorted(d.keys() & e.keys()), sorted(d.keys() | e.keys()), d.keys() - e.keys(), sorted(d.keys() ^ {'a', 'z'}), d.keys() - ['a'] if False else '')
print(d.keys() == {'b': 0, 'a': 0}.keys(), d.keys() == e.keys(), 'a' in d.keys(), ('a', 1) in d.items(), [k for k in d.keys()], dict(d.items()) == d)
