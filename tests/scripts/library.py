"""Containers, data classes and JSON of the standard library."""
from collections import Counter, defaultdict, deque, OrderedDict, namedtuple
c = Counter('hello world'); print(c.most_common(2), c['l'], c['z'], sum(c.values()))
print(Counter([1, 1]) + Counter([1]), c.total() if hasattr(c, 'total') else '')
c.update('ll'); print(c['l'], dict(c)['h'])
d = defaultdict(int); d['a'] += 1; print(dict(d), d)
d2 = defaultdict(lambda: [0, 1]); d2['k'].append(3); print(d2['k'], list(d2.items()), 'k' in d2, len(d2), d2.get('q'))
d3 = defaultdict(list, {'a': [1]}); d3.setdefault('b', []).append(2); d3.update({'c': [5]}); print(sorted(d3), d3.pop('a'), d3 == {'b': [2], 'c': [5]})
q = deque([1, 2, 3], maxlen=3); q.append(4); q.appendleft(0); q.rotate(1); print(q, q.pop(), len(q), list(q), q[0], 2 in q, list(reversed(q)), sum(q) / len(q))
q.clear(); q.extend([1, 2]); q.extendleft([9]); print(q)

import json
print(json.dumps({'a': [1, 2.5, None, True], 'b': {'c': 'x"y'}}), json.dumps([1, {'k': 1}], indent=2), json.dumps({'b': 1, 'a': 2}, sort_keys=True))
import torch, copy, math
from dataclasses import dataclass, field, asdict
from enum import Enum
from collections import Counter, defaultdict, deque, OrderedDict
@dataclass(order=True)
class P:
    x: int
    y: int = 0
print(P(1) < P(2), sorted([P(3), P(1, 2)]))
@dataclass(frozen=True)
class F:
    x: int = 1
@dataclass
class C:
    a: int
    b: list = field(default_factory=list)
    c: 'P' = field(default_factory=lambda: P(1))
print(asdict(C(1, [P(2)])), C(1) == C(1))
print('%s %.3f|%5d' % (torch.tensor(3), torch.tensor(2.5), torch.tensor(7)), '%s' % torch.tensor([1, 2]), bin(5), oct(8), hex(255))
