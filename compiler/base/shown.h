/* shown.h: text of anybody's, made fit for a terminal.
 *
 *   "a\x1b[2Jb"   ->  a\x1b[2Jb     control characters are written out, as are bytes that are no
 *   "é"           ->  é             UTF-8; other characters stay, of two columns where they are
 *   1 MB of x     ->  xxx ... xxx   wide; lines that are too long lose their middle */
#ifndef WS_BASE_SHOWN_H
#define WS_BASE_SHOWN_H

#include "base/buf.h"

/* The first character of the n >= 1 bytes at s as it is shown; tabs and line ends are control
 * characters, too. */
struct shown {
    char text[12]; /* 0-terminated */
    int bytes;     /* of s */
    int columns;   /* on a terminal */
};
struct shown shown_char(const char *s, size_t n);

/* All of s, whose lines stay lines, as do tabs: at most SHOWN_LINES of them, each of at most
 * SHOWN_COLUMNS bytes. */
enum { SHOWN_LINES = 22, SHOWN_COLUMNS = 4000 };
void shown_text(struct buf *b, const char *s);

/* Behind `indent`, the n bytes of a line at s, a caret under each of those from `from` to `to`
 * (bytes, from 0; one at least), and of a long line only what is around them:
 *
 *     y = x + ... é
 *         ^^^
 */
void shown_line(struct buf *b, const char *s, size_t n, size_t from, size_t to, const char *indent);

#endif
