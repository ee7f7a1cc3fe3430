/* prelude.c: the two prelude files as strings in the binary. They stay files of their own so that
 * editors, compilers and the emulator can read them. */
#include "emit/emit.h"

#define EMBED(name, path)                                                                          \
    __asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"" path                     \
            "\"\n.byte 0\n.previous\n")

EMBED(prelude_cuda, "compiler/emit/prelude.cuh");
EMBED(prelude_c, "compiler/emit/prelude_c.h");
