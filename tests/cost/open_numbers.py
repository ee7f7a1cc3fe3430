#!/usr/bin/env python3
"""The cost model of GPUs with its numbers in an array: what it was fitted by can then be fitted again.

    open_numbers.py compiler/kernel/cost.c compiler/kernel/cost_gpu.c ... >cost_open.c

Every floating-point literal of the code becomes an element of cost_numbers, in the order of the files; integers, which
are sizes and bounds of the hardware, and literals 0.0 stay. Comments and strings are left alone."""

import re
import sys

TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|(?<![\w.])\d+\.\d*(?:e[+-]?\d+)?|(?<![\w.])\d+e[+-]?\d+', re.S)


def main():
    text = "".join(open(path).read() for path in sys.argv[1:])
    numbers = []

    def replace(found):
        token = found.group()
        if token[0] in '/"' or float(token) == 0:
            return token
        numbers.append(token)
        return f"cost_numbers[{len(numbers) - 1}]"

    opened = TOKEN.sub(replace, text)
    print('#include "tests/cost/numbers.h"')
    print(opened, end="")
    print("double cost_numbers[] = {%s};" % ", ".join(numbers))
    print("const int cost_n_numbers = %d;" % len(numbers))


if __name__ == "__main__":
    main()
