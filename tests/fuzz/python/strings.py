s = "Hello, World"
print(s.upper(), s.lower(), len(s))
print(s.split(", "), s.split(), "a,b,,c".split(","), "a b  c".split(" "), "  x ".split())
print(s.replace("l", "L"), s.replace("zz", "y"), s.replace(", ", ""))
print(s.startswith("He"), s.endswith("ld"), s.startswith(("x", "H")), "ell" in s, "z" not in s)
print("  pad ".strip(), "xxaxx".strip("x"), "\tl\n".strip(), "".strip(), "abcab".strip("ab"), "aXa".replace("a", "b").upper())
print("-".join(["a", "b", "c"]), "".join([]), ", ".join(str(i) for i in range(4)))
print("abc" * 3, 2 * "xy", "a" + "b", "abc" < "abd", "Z" < "a", "" < "a")
print(s[0], s[-1], s[2:5], s[::-1], s[:3], s[-3:], s[::2], s[10:2], s[5:100])
print("a\tb\\n", 'it\'s', "\x41\u0042", r"raw\n", "multi" "part", """triple
line""")
print(repr("a'b"), repr('a"b'), repr("a\nb"), repr("\\"), repr("a'b\"c"), repr(""))
try:
    "abc"[5]
except IndexError as e:
    print(e)
try:
    "a" + 1
except TypeError as e:
    print(e)
