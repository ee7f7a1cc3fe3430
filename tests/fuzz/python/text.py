s = "the quick, brown fox"
print(s.find("quick"), s.find("cat"), s.rfind("o"), s.index("b"), s.rindex(" "), s.count("o"), s.count(""))
for bad in lambda: s.index("cat"), lambda: s.rindex("cat"), lambda: s.split(""), lambda: s.partition(""), lambda: "a".center(5, "xy"):
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__, e)
print(s.split(), s.split(",", 1), s.split(" ", 2), s.split(None, 1), s.rsplit(" ", 1), s.rsplit(None, 2), s.rsplit())
print("  a  b c ".split(None, 1), "  a  b c ".rsplit(None, 1), "".split(), "".split(","), ",a,".split(","), " a ".split(" "))
print("1,2,3".rsplit(",", 1), "1,2,3".rsplit(",", 5), "1,2,3".rsplit(",", 0), "1,2,3".split(",", 0))
print(s.partition(", "), s.rpartition(" "), s.partition("?"), s.rpartition("?"))
print(s.title(), s.capitalize(), s.upper(), s.swapcase(), "HeLLo wOrld".title(), "ABC".casefold(), "".capitalize())
for w in "", "abc", "ABC", "a1", "12", " \t", "A b", "_x9", "9x", "a-b":
    print(repr(w), w.isdigit(), w.isalpha(), w.isalnum(), w.isspace(), w.isupper(), w.islower(), w.isidentifier(), w.isnumeric())
print("[" + " x ".lstrip() + "][" + " x ".rstrip() + "][" + "xxaxx".strip("x") + "][" + "abcba".lstrip("ab") + "]")
for width in range(8):
    print("abc".ljust(width) + "|" + "abc".rjust(width, "*") + "|" + "abc".center(width) + "|" + "ab".center(width, "-") + "|" + "-7".zfill(width) + "|" + "+x".zfill(width))
print("prefix_name".removeprefix("prefix_"), "name.py".removesuffix(".py"), "name".removesuffix("x"), "name".removesuffix(""))
print("aaa".replace("a", "b", 2), "aaa".replace("", "-", 2), "abc".replace("", "-"), "aaa".replace("aa", "b"))
print("a\nb\r\nc\n\nd".splitlines(), "".splitlines(), "x".splitlines())
print("file.txt".endswith((".py", ".txt")), "file".startswith(("x", "f")), "file".endswith(()))
print("äöü".find("ü"), len("äöü"), "ä".center(5, "*"), "äb".rjust(4) + "|")
s = 'banana'
print(s.find('a', 2), s.find('a', 2, 3), s.rfind('a', 0, 5), s.index('n', 3), s.count('a', 2), s.count('an', 1, 4), s.startswith('na', 2), s.endswith('an', 0, 5))
print(s.find('a', -2), s.find('b', 1), s.find('x', 2), s.startswith(('x', 'nan'), 2), 'äöa'.find('a', 1), s.find('', 3))
