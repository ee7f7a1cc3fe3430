# threading and queue with one thread, statistics, containers by collections.abc, namespaces, json beyond ASCII.
import collections.abc
import json
import keyword
import os
import queue
import statistics
import threading
import types
from pathlib import Path
from typing import Union

lock = threading.Lock()
with lock:
    print(lock.locked(), lock.acquire(blocking=False))
print(lock.locked())
again = threading.RLock()
with again, again:
    print('twice')
thread = threading.Thread(target=print, args=('from a thread',))
thread.start()
thread.join()
event = threading.Event()
event.set()
print(event.is_set(), event.wait(0), threading.current_thread().name)
q = queue.Queue(maxsize=2)
q.put(1)
q.put_nowait(2)
print(q.full(), q.get(), q.qsize(), q.empty())
try:
    queue.LifoQueue().get(block=False)
except queue.Empty:
    print('empty')
print(statistics.mean([1, 2, 3]), statistics.mean([1, 2]), statistics.median([3, 1, 2, 9]), statistics.stdev([1, 2, 4]), statistics.pvariance([1, 3]),
      statistics.mode('aab'), statistics.fmean([1, 2.5]))


class Squares(collections.abc.Mapping):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, key):
        if key not in range(self.n):
            raise KeyError(key)
        return key * key

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


s = Squares(3)
print(s.get(2), s.get(9, 'none'), 2 in s, 7 in s, list(s.items()), dict(s), {**s}, s == {0: 0, 1: 1, 2: 4}, isinstance(s, collections.abc.Mapping))


class Kept(collections.abc.MutableMapping):
    def __init__(self):
        self.d = {}

    def __getitem__(self, key):
        return self.d[key]

    def __setitem__(self, key, value):
        self.d[key] = value

    def __delitem__(self, key):
        del self.d[key]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


k = Kept()
k.update({'a': 1}, b=2)
print(k.setdefault('c', 3), k.pop('a'), k.pop('z', None), dict(k), isinstance(k, collections.abc.Sequence))


class Row(collections.abc.Sequence):
    def __getitem__(self, i):
        return 'xyx'[i]

    def __len__(self):
        return 3


r = Row()
print(list(r), r.index('y'), r.count('x'), list(reversed(r)), 'z' in r)
print([isinstance(v, collections.abc.Sequence) for v in ([], (), 'a', {}, 3)], isinstance({}, collections.abc.MutableMapping),
      issubclass(list, collections.abc.Sequence), issubclass(dict, collections.abc.Sequence), issubclass(Row, collections.abc.Sequence),
      isinstance(3, collections.abc.Hashable), isinstance([], collections.abc.Hashable), isinstance([], (collections.abc.Mapping, list)))
n = types.SimpleNamespace(a=1, b='c')
print(n, n == types.SimpleNamespace(a=1, b='c'), n == 3, types.MappingProxyType({'a': 1})['a'])
print(json.dumps('é\u20ac\U0001f600'), json.dumps('é', ensure_ascii=False))


class Folder(os.PathLike):
    def __fspath__(self):
        return '/a'


Names = Union[str, os.PathLike, os.PathLike[str]]
print([isinstance(x, os.PathLike) for x in ('a', Path('a'), Folder(), 1)], [isinstance(x, Folder) for x in (Path('a'), Folder())],
      isinstance(Path('b'), (str, os.PathLike)), os.path.join(Folder(), 'b'), os.fspath(Folder()))
print(__import__('os.path').sep, __import__('os.path', fromlist=['join']).join('a', 'b'), __import__('json') is json)
print([keyword.iskeyword(x) for x in ('for', 'match', 'four')], keyword.kwlist[3], len(keyword.kwlist))
