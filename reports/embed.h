/* embed.h: files of this folder as part of the binary. */
#ifndef REPORTS_EMBED_H
#define REPORTS_EMBED_H

/* The bytes of a file of this folder, 0-terminated. The path is relative to the root, where make
 * runs. */
#define EMBED(symbol, path)                                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #symbol "\n"                                                                \
            ".type " #symbol ", @object\n" #symbol ":\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n")

#endif
