/* shown.c: characters one by one. */
#include "base/shown.h"

#include <stdio.h>
#include <string.h>

/* ---- one character --------------------------------------------------------------------------- */

/* The code point at s, or -1 if that is no UTF-8; *bytes is its length. */
static int32_t decode(const unsigned char *s, size_t n, int *bytes) {
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int len = s[0] < 0x80             ? 1
              : (s[0] & 0xE0) == 0xC0 ? 2
              : (s[0] & 0xF0) == 0xE0 ? 3
              : (s[0] & 0xF8) == 0xF0 ? 4
                                      : 0;
    *bytes = 1;
    if (!len || (size_t)len > n) return -1;
    int32_t c = len == 1 ? s[0] : s[0] & (0x7F >> len);
    for (int i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80) return -1;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return -1;
    *bytes = len;
    return c;
}

struct range {
    int32_t first, last;
};

static bool is_in(const struct range *r, size_t n, int32_t c) {
    for (size_t i = 0; i < n; i++)
        if (c >= r[i].first && c <= r[i].last) return true;
    return false;
}

/* Of Unicode's East Asian width W and F, and its combining marks, what is in use. */
static const struct range wide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                    {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                    {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
static const struct range marks[] = {
    {0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
/* Controls of the second kind, and what turns the direction of a line or hides in it. */
static const struct range controls[] = {
    {0x80, 0x9F}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x2069}, {0xFEFF, 0xFEFF}};
#define IS_IN(table, c) is_in(table, sizeof table / sizeof *table, c)

struct shown shown_char(const char *s, size_t n) {
    struct shown out = {.columns = 1};
    int32_t c = decode((const unsigned char *)s, n, &out.bytes);
    if (c < 0 || c < 0x20 || c == 0x7F) {
        out.columns = snprintf(out.text, sizeof out.text, "\\x%02x", (unsigned char)*s);
    } else if (IS_IN(controls, c)) {
        out.columns = snprintf(out.text, sizeof out.text, "\\u%04x", (unsigned)c);
    } else {
        memcpy(out.text, s, (size_t)out.bytes);
        if (IS_IN(wide, c)) out.columns = 2;
        if (IS_IN(marks, c)) out.columns = 0;
    }
    return out;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_part(struct buf *b, const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        struct shown c = shown_char(s + i, n - i);
        bool tab = s[i] == '\t';
        buf_puts(b, tab ? "\t" : c.text);
        i += (size_t)c.bytes;
    }
}

/* Not in the middle of a character. */
static size_t cut_back(const char *s, size_t at) {
    while (at && ((unsigned char)s[at] & 0xC0) == 0x80) at--;
    return at;
}

static void put_line(struct buf *b, const char *s, size_t n) {
    enum { HALF = SHOWN_COLUMNS / 2 };
    if (n <= SHOWN_COLUMNS) return put_part(b, s, n);
    size_t first = cut_back(s, HALF), second = cut_back(s, n - HALF);
    put_part(b, s, first);
    buf_printf(b, " ... (%zu more bytes) ... ", second - first);
    put_part(b, s + second, n - second);
}

void shown_text(struct buf *b, const char *s) {
    size_t lines = 1, left;
    for (const char *p = s; (p = strchr(p, '\n')) && p[1]; p++) lines++;
    left = lines > SHOWN_LINES ? SHOWN_LINES - 1 : lines;
    for (; left; left--, lines--) {
        size_t n = strcspn(s, "\n");
        put_line(b, s, n);
        s += n;
        if (*s) buf_putc(b, *s++);
    }
    if (lines) buf_printf(b, "... and %zu more lines", lines);
}

/* ---- a line of source ------------------------------------------------------------------------ */

enum { WINDOW = 160, BEFORE = 60 }; /* bytes that are shown of a long line; of them, in front */

void shown_line(struct buf *b, const char *s, size_t n, size_t from, size_t to,
                const char *indent) {
    size_t first = 0, last = n;
    if (from > n) from = n;
    if (to <= from) to = from + 1;
    if (n > WINDOW) {
        first = from > BEFORE ? cut_back(s, from - BEFORE) : 0;
        last = n - first > WINDOW ? cut_back(s, first + WINDOW) : n;
    }
    struct buf carets = buf_new(b->arena);
    buf_printf(b, "%s%s", indent, first ? "... " : "");
    buf_printf(&carets, "%s%s", indent, first ? "    " : "");
    for (size_t i = first; i < last;) {
        struct shown c = shown_char(s + i, last - i);
        bool tab = s[i] == '\t', inside = i >= from && i < to;
        buf_puts(b, tab ? "\t" : c.text);
        if (tab && !inside) buf_putc(&carets, '\t');
        for (int k = 0; k < c.columns && !(tab && !inside); k++)
            if (i < to && !(tab && k)) buf_putc(&carets, inside ? '^' : ' ');
        i += (size_t)c.bytes;
    }
    if (from >= last) buf_putc(&carets, '^'); /* behind the line's end */
    buf_printf(b, "%s\n", last < n ? " ..." : "");
    buf_puts(b, carets.p);
    buf_putc(b, '\n');
}
