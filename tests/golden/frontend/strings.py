"Module documentation."
name = "w"
plain = 'it\'s' "\t\x41\u00e9\101" r"\n" """two
lines"""
nothing = f""
text = f"{name}"
text = f"a{{b}} {x!r:>{width}.{digits}f} {x + 1:08.3f} {d['k']}" "tail"
text = f"{x=} {y = !s} {z=:.2f} {f(a, b=[1, 2])[0]} {a != b}"
text = f'''
{x
 + 1}
'''
