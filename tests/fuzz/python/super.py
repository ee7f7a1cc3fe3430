"""super(), super(C, self) from the class, from another class and from outside of any; of class methods, too."""


class A:
    name = 'A'

    def who(self, *rest):
        return ['A', *rest]

    @classmethod
    def make(cls, n):
        return ['A.make', cls.__name__, n]


class B(A):
    name = 'B'

    def who(self, *rest):
        return ['B', *super().who(*rest)]

    @classmethod
    def make(cls, n):
        return ['B.make', *super().make(n)]


class C(B):
    name = 'C'

    def who(self, *rest):
        return ['C', *super(C, self).who(*rest)]

    def skip(self, *rest):
        return ['C', *super(B, self).who(*rest)]

    def names(self):
        return super().name, super(C, self).name, super(B, self).name

    @classmethod
    def make(cls, n):
        return ['C.make', *super(B, cls).make(n)]


class Left(A):
    def who(self, *rest):
        return ['Left', *super(Left, self).who(*rest)]


class Right(A):
    def who(self, *rest):
        return ['Right', *super(Right, self).who(*rest)]


class Both(Left, Right):
    def who(self, *rest):
        return ['Both', *super(Both, self).who(*rest)]

    def past_left(self):
        return super(Left, self).who()


c = C()
print(c.who(1), c.skip(1, 2), c.names(), C.make(3), B.make(4))
print(super(C, c).who(), super(B, c).who(), super(B, c).name)
print(Both().who(), Both().past_left(), super(Right, Both()).who())


def outside(self):
    return super(C, self).who('outside')


C.outside = outside
print(c.outside())
print([super(k, c).who()[0] for k in (C, B)])
try:
    super(A, c).who()
except AttributeError:
    print('A is derived from object alone')
