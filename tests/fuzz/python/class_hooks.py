# What a class does for those derived from it, and for what it holds.
class Plugin:
    known = []

    def __init_subclass__(cls, tag=None, **options):
        super().__init_subclass__(**options)
        cls.tag = tag
        Plugin.known.append(cls.__name__)

    def __class_getitem__(cls, item):
        return f'{cls.__name__}[{item}]'


class First(Plugin, tag='one'):
    pass


class Middle(Plugin):
    def __init_subclass__(cls, **options):
        super().__init_subclass__(tag='from the middle', **options)


class Last(Middle):
    pass


print(Plugin.known, First.tag, Middle.tag, Last.tag, Last.__bases__ == (Middle,), Plugin.__bases__ == (object,))


class Positive:
    def __set_name__(self, owner, name):
        self.name = '_' + name
        print('named', owner.__name__, name)

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name, 'unset')

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(f'{self.name} is negative')
        setattr(instance, self.name, value)

    def __delete__(self, instance):
        delattr(instance, self.name)


class Box:
    width = Positive()
    height = Positive()


b = Box()
b.width = 4
b.__dict__['width'] = 'hidden by the descriptor'
print(b.width, b.height, type(Box.width).__name__)
try:
    b.height = -1
except ValueError as error:
    print(error)
del b.width
print(b.width)


class Only:
    """An object with __get__ alone is hidden by what the instance has."""

    def __get__(self, instance, owner):
        return 'class' if instance is None else 'instance'


class Holder:
    x = Only()


h = Holder()
print(Holder.x, h.x)
h.__dict__['x'] = 'own'
print(h.x)


class Named:
    def __init__(self):
        self._v = 1

    def get(self):
        return self._v

    def put(self, v):
        self._v = v

    def drop(self):
        print('dropped')

    v = property(get, put, drop, 'the value')

    @property
    def w(self):
        """of w"""
        return self._v * 2

    @w.deleter
    def w(self):
        print('no w')

    def __setattr__(self, name, value):
        print('set', name)
        super().__setattr__(name, value)


n = Named()
n.v = 5
print(n.v, n.w, Named.v.__doc__, Named.w.__doc__, Named.v.fget is Named.get, Named.w.fset)
del n.v
del n.w
try:
    n.w = 3
except AttributeError as error:
    print(error)
