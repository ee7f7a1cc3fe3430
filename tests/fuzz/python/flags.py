# Flag and IntFlag: sets of bits, named, met, and made in the body of the class.
from enum import Enum, Flag, IntEnum, IntFlag, auto


class Access(Flag):
    READ = auto()
    WRITE = auto()
    RUN = auto()
    BOTH = READ | WRITE


print(Access.READ | Access.RUN, Access.BOTH, Access.READ in Access.BOTH, bool(Access.READ & Access.WRITE))
print(Access.BOTH & ~Access.READ, Access(5), Access.READ.value, Access.RUN.value, list(Access), len(Access))
print(repr(Access(0)), repr(Access(6)), [m.name for m in Access.BOTH], ~Access.READ, Access(3) is Access.BOTH)
print(Access.READ ^ Access.BOTH, (Access.READ | Access.RUN).name, Access['WRITE'], Access.__members__['BOTH'].value)
try:
    Access.READ | 2
except TypeError as error:
    print(type(error).__name__)


class Bits(IntFlag):
    ONE = 1
    TWO = 2
    FOUR = 4


print(Bits.ONE | 2, (Bits.ONE | Bits.FOUR) + 1, Bits(8).value, Bits.TWO & 3, Bits.ONE < Bits.TWO, (~Bits.ONE).value, f'{Bits.FOUR:>3}')


class Step(IntEnum):
    A = auto()
    B = auto()
    LAST = B


print(Step.LAST is Step.B, Step.A + Step.B, list(Step))


class Mixed(Enum):
    A = auto()
    B = 'b'
    C = auto() if False else 7
    D = auto() if False else 8


print([m.value for m in Mixed])
