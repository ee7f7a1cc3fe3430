/* prelude.c: the preludes as strings in the binary. They stay files of their own so that
 * editors, compilers and the emulator can read them. */
#include "emit/emit.h"
#include "emit/plain.h"

#define INCLUDE(path) ".incbin \"" path "\"\n"
#define EMBED(name, files)                                                                         \
    __asm__(".section .rodata\n.global " #name "\n" #name ":\n" files ".byte 0\n.previous\n")

#define PART(name) INCLUDE("compiler/emit/prelude/" name ".cuh")
EMBED(prelude_cuda,
      PART("memory") PART("maths") PART("reduce") PART("copies") PART("tensor") PART("products"));
EMBED(prelude_c, INCLUDE("compiler/emit/prelude_c.h") INCLUDE("compiler/emit/prelude_vector.h"));
/* The operators' maths between the types that it needs and what is made of it. */
EMBED(prelude_plain, INCLUDE("compiler/emit/prelude_plain.h") INCLUDE("compiler/graph/ref_maths.h")
                         INCLUDE("compiler/graph/random_maths.h"));
