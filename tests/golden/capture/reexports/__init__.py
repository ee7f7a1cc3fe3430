from .named import made as exported
from .starred import *

never_run = 1 // 0
