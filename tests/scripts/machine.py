"""What scripts ask of the machine and of torch besides tensors: paths, times, how tensors are printed."""
import os
import sys
import time
from os.path import basename
from pathlib import Path

import torch

print(os.path.join('a', 'b.txt'), os.path.join('a/', 'b', '/c', 'd'), os.path.join('', 'x'), basename('/x/y.py'), os.path.dirname('/x/y.py'))
print(os.path.split('/a'), os.path.split('a/b/'), os.path.splitext('a.tar.gz'), os.path.splitext('/d.x/.rc'), os.path.normpath('a//b/../c/.'))
print(os.path.exists('/nowhere/at/all'), os.path.isdir('/'), os.path.isfile('/'), os.path.isabs('a'), os.path.exists(__file__))
print(os.environ.get('NOT_SET_ANYWHERE', 'no'), os.getenv('NOT_SET_ANYWHERE'), 'PATH' in os.environ, os.path.abspath('x') == os.path.join(os.getcwd(), 'x'))
p = Path('data') / 'set' / 'train.tar.gz'
print(p, repr(p), p.name, p.stem, p.suffix, p.parent, p.parts, p.with_suffix('.zip'), p.parent.parent.parent, Path('/a/./b//c'), Path('/'))
print(Path(__file__).exists(), Path('/nowhere').is_dir(), '/x' / Path('y'), os.path.join(p, 'z'), Path('a') == Path('./a'))
start = time.perf_counter()
print(0 <= time.perf_counter() - start < 60, time.perf_counter_ns() > 0, len(sys.argv))

x = torch.tensor([1.23456, 0.00012, 1000.5])
for options in (dict(precision=2), dict(sci_mode=False), dict(sci_mode=True), dict(profile='default')):
    torch.set_printoptions(**options)
    print(x, torch.tensor(2.), torch.arange(3))
torch.set_printoptions(linewidth=40, threshold=8, edgeitems=2)
print(torch.arange(30.), torch.arange(7.), torch.ones(5, 3), sep='\n')
torch.set_printoptions(profile='full')
print(torch.arange(1002).sum(), str(torch.arange(1002)).count('\n'))
torch.set_printoptions(profile='short')
print(x, torch.zeros(1001))
print(torch.Tensor.add(torch.ones(2), 1), torch.Tensor.sum(x), torch.Tensor.mul_(torch.ones(2), 3), torch.Tensor.softmax(torch.zeros(2), 0))
