from .scaled import *  # nothing asks for a name of this package
