/* buf.h: a string that grows in an arena. Always 0-terminated; p is never NULL after buf_init. */
#ifndef WS_BASE_BUF_H
#define WS_BASE_BUF_H

#include "base/arena.h"

struct buf {
    struct arena *arena;
    char *p;
    size_t n, cap;
};

struct buf buf_new(struct arena *a);
void buf_putc(struct buf *b, char c);
void buf_puts(struct buf *b, const char *s);
void buf_write(struct buf *b, const char *s, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
void buf_indent(struct buf *b, int levels); /* 4 blanks a level */
/* Text whose lines have at most so many columns: a longer one goes on below, 4 columns further in,
 * after a comma, a colon or a gap if its second half has one. What has no blank stays whole. */
void buf_wrap(struct buf *b, const char *text, int columns);

#endif
