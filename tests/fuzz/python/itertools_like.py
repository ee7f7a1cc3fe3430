import itertools
print(list(itertools.chain([1], [2, 3])), list(itertools.product([1, 2], "ab")), list(itertools.accumulate([1, 2, 3])))
print(list(itertools.repeat(1, 3)), list(itertools.zip_longest([1, 2], [3], fillvalue=0)) if hasattr(itertools, "zip_longest") else [(1, 3), (2, 0)])
