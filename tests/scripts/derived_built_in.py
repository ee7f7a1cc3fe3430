# Classes derived from property, type and ModuleType; exceptions by all their names; functions that are async may be there.
import uuid
from types import ModuleType


class classproperty(property):
    def __get__(self, instance, owner):
        return self.fget(owner)


class Doubled(property):
    def __get__(self, instance, owner=None):
        return self if instance is None else 2 * super().__get__(instance, owner)


class A:
    n = 3

    @classproperty
    def size(cls):
        "how many"
        return cls.n + 1

    @Doubled
    def x(self):
        return self._x

    @x.setter
    def x(self, v):
        self._x = v


a = A()
a.x = 5
print(A.size, a.size, a.x, type(A.x).__name__, A.x.fget is not None)


class Singleton(type):
    made = {}

    def __iter__(cls):
        return iter([cls.__name__, 1])


class One(metaclass=Singleton):
    pass


class Lazy(ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.parts = 2


print(list(One), Lazy('x').parts, len(uuid.uuid4().hex), str(uuid.uuid4()).count('-'))
for e in (IOError('a'), UnicodeDecodeError, ConnectionResetError('b'), IsADirectoryError('c')):
    print(isinstance(e, OSError), isinstance(e, type) and issubclass(e, ValueError))
try:
    raise EnvironmentError('gone')
except OSError as e:
    print(type(e).__name__, e)


async def fetch(x):
    async with x as y:
        async for z in y:
            await z
    return [w async for w in x]


class Client:
    @property
    async def later(self): return await 3

    async def get(self):
        '''text'''
        await self.later


print(fetch.__name__, hasattr(Client, 'get'))
