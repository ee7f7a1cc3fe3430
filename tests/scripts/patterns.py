"""re: what it finds, and where."""
import re

print(re.split(r'(\d.*)', 'r1'), re.split(r'\s*,\s*', 'a , b,c'), re.split('x', 'axbxc', maxsplit=1))
block = re.compile(r'^([a-z]+)(?P<n>\d+)_?(?:k(\d))?$')
for text in ('r2_k3', 'conv10', 'r2_k33', '2r'):
    found = block.match(text)
    print(found and (found.group(), found.groups(), found.groupdict(), found.span('n'), found.lastindex))
print(re.findall(r'(\w+)\.(\w*)', 'layer1.0.conv layer2.'), re.findall(r'\d+', 'a1b22c333'), re.findall('a*', 'baac'))
print(re.sub(r'layers\.(\d+)', r'blocks.\1', 'layers.3.w layers.12.b'), re.subn('a|b', lambda m: m[0].upper(), 'abcab', count=3))
print(re.sub(r'(?P<a>x)(y)', r'\g<2>\g<a>', 'xyz'), re.escape('a.b*c'), re.sub(r'\.', '_', 'a.b.c'))
dense = re.compile(r'^(.*denselayer\d+\.(?:norm|relu|conv))\.((?:[12])\.(?:weight|bias))$')
print(dense.match('features.denselayer3.norm.1.weight').groups(), dense.match('features.norm.weight'))
print(re.search(r'<(.+?)>', 'a <b> <c>')[1], re.search(r'<(.+)>', 'a <b> <c>')[1], re.search('(ab|a)(bc|c)?', 'abc').groups())
print(re.match('(?i)HeLLo', 'hello world').end(), re.search('^b.$', 'a\nbc\n', re.M | re.S).span(), re.fullmatch('a{2,3}', 'aaaa'))
print(re.search(r'(?=.*\d)(?!x)\w{3,}', 'xa1b2').group(), re.search(r'\bfoo\b', 'food foo').start(), re.match(r'(\w)\1', 'aab')[0])
print(re.match('(a*)*b', 'aaab').groups(), re.match('(?:a|b)*?c', 'abac')[0], re.findall('[^a-c\\]]+', 'abx]yc-z'), re.split('', 'ab'), re.findall('|a', 'ab'))
print([m.start() for m in re.finditer('aa', 'aaaaa')], re.match('a{,2}', 'aaa')[0], re.match('x{a}', 'x{a}')[0], re.compile('a+'))
try:
    re.compile('(a')
except re.error as error:
    print(error)

# -- spread out, with comments
VERSION = re.compile(r"""
  ^ (?P<major>0|[1-9]\d*) \.   # the first
  (?P<minor> 0 | [1-9] \d * )  [ #]? \# ? \  ?
  (?: - (?P<pre> [a-z]+ ) ) ?
  $""", re.VERBOSE)
for text in ('1.2', '1.20 -rc', '1.2  -rc', '1.2#', '01.2', '1.2# -a', '1.2 '):
    m = VERSION.match(text)
    print(text, m and m.groupdict())
print(re.findall(r'(?x) a b | c \s d  # what', 'ab c d abc'), VERSION.flags, re.compile('a', re.I).flags)
print(re.sub(r'a # b', 'x', 'a # b a', flags=re.X))
