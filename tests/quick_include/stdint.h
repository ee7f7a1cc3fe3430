/* stdint.h: the compiler's own, see math.h. */
#include <stdint-gcc.h>
