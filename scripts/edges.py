#!/usr/bin/env python3
"""Has PyTorch write the rows of tests/edges/edges.py anew, each from its expression. To add one, append row('EXPRESSION',
None) and run this; a flag such as near= stays.

    scripts/edges.py [FILE]        needs PyTorch; versions round differently, so say which in the file's first lines
"""
import re
import struct
import sys
import warnings

import torch

PATH = sys.argv[1] if len(sys.argv) > 1 else 'tests/edges/edges.py'
DIGITS = {torch.float32: 9, torch.float16: 5, torch.bfloat16: 4}


def number(v, dtype):
    """The shortest text that reads back as v, in its type."""
    if v != v or v in (float('inf'), float('-inf')) or dtype not in DIGITS:
        return repr(v)
    for digits in range(1, 18):
        text = f'{v:.{digits}g}'
        if torch.tensor(float(text), dtype=dtype).item() == v:
            break
    return text if re.search('[.en]', text) else text + '.0'


def result(function):
    try:
        v = function()
    except Exception as e:
        return f"'raises', None, {type(e).__name__!r}", True
    if not isinstance(v, torch.Tensor):
        return f'{type(v).__name__!r}, None, [{v!r}]', True
    flat = v.contiguous().reshape(-1).tolist()
    texts = [number(x, v.dtype) if isinstance(x, float) else repr(x) for x in flat]
    return f"{str(v.dtype)[6:]!r}, {list(v.shape)}, [{', '.join(texts)}]", False


def main():
    lines = open(PATH).read().split('\n')
    first = next(i for i, line in enumerate(lines) if line.startswith('row('))
    scope = {}
    warnings.simplefilter('ignore')
    exec('\n'.join(lines[:first]), scope)
    out = lines[:first]
    for line in lines[first:]:
        if not line.startswith('row('):
            out.append(line)
            continue
        taken = []
        exec(line, dict(scope, row=lambda text, function, *old, **flags: taken.append((text, flags))))
        text, flags = taken[0]
        found, alone = result(eval('lambda: ' + text, scope))
        if alone:
            flags['alone'] = True
        said = ''.join(f', {k}={v!r}' for k, v in flags.items())
        out.append(f'row({text!r}, lambda: {text}, {found}{said})')
    open(PATH, 'w').write('\n'.join(out))


main()
