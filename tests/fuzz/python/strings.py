s = "Hello, World"
print(s.upper(), s.lower(), s.title(), s.swapcase() if hasattr(s, "swapcase") else "", len(s))
print(s.split(", "), s.split(), "a,b,,c".split(","), "a b  c".split(" "), "  x ".split(), "a-b-c".split("-", 1))
print(s.replace("l", "L"), s.replace("l", "L", 1), s.find("o"), s.find("z"), s.index("W"), s.count("l"))
print(s.startswith("He"), s.endswith("ld"), s.startswith(("x", "H")), "ell" in s, "z" not in s)
print("  pad ".strip(), "xxaxx".strip("x"), "  l".lstrip(), "r  ".rstrip(), "abc".center(9, "*"), "abc".ljust(5) + "|", "abc".rjust(5))
print("-".join(["a", "b", "c"]), "".join([]), ", ".join(str(i) for i in range(4)))
print("abc" * 3, 2 * "xy", "a" + "b", "abc" < "abd", "Z" < "a", "" < "a")
print(s[0], s[-1], s[2:5], s[::-1], s[:3], s[-3:], s[::2], s[10:2], s[5:100])
print("%d items, %s, %.2f, %5d|%-5d|%05d, %x, %r, %%" % (3, "str", 2.5, 42, 42, 42, 255, "q"))
print("abc".isalpha(), "123".isdigit(), "a1".isalnum(), " ".isspace(), "abc".islower(), "ABC".isupper())
print("a\tb\\n", 'it\'s', "\x41\u0042", r"raw\n", "multi" "part", """triple
line""")
print(repr("a'b"), repr('a"b'), repr("a\nb"), repr("\\"), repr("a'b\"c"), repr(""))
print("one\ntwo\nthree".splitlines(), "a=b=c".partition("="), "a=b=c".rpartition("="), "abc".zfill(6), "-5".zfill(4))
print(ord("a"), chr(98), "b" > "a", "abc".capitalize(), "aXbX".rfind("X"), "prefix_x".removeprefix("prefix_"), "x.py".removesuffix(".py"))
try:
    "abc"[5]
except IndexError as e:
    print(e)
try:
    "a" + 1
except TypeError as e:
    print(e)
try:
    "abc".index("z")
except ValueError as e:
    print(e)
