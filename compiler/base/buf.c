/* buf.c: doubling string buffer in an arena. */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

static void reserve(struct buf *b, size_t more) {
    if (b->n + more + 1 <= b->cap) return;
    size_t cap = b->cap ? b->cap * 2 : 256;
    while (cap < b->n + more + 1) cap *= 2;
    char *p = arena_alloc(b->arena, cap);
    if (b->n) memcpy(p, b->p, b->n);
    b->p = p;
    b->cap = cap;
}

struct buf buf_new(struct arena *a) {
    struct buf b = {.arena = a};
    reserve(&b, 0);
    return b;
}

void buf_write(struct buf *b, const char *s, size_t n) {
    reserve(b, n);
    memcpy(b->p + b->n, s, n);
    b->n += n;
    b->p[b->n] = 0;
}

void buf_putc(struct buf *b, char c) { buf_write(b, &c, 1); }
void buf_puts(struct buf *b, const char *s) { buf_write(b, s, strlen(s)); }

void buf_vprintf(struct buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        reserve(b, (size_t)n);
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_indent(struct buf *b, int levels) {
    for (int i = 0; i < levels; i++) buf_puts(b, "    ");
}

/* Before the last blank that leaves at most `columns` bytes, or, if there is one, the last such
 * that parts more than words; else before the first one. Not in what the line begins with. */
static size_t line_break(const char *line, size_t n, size_t columns) {
    size_t at = n, apart = n;
    if (n <= columns) return n;
    for (size_t i = strspn(line, " "); i < n && (i <= columns || at == n); i++) {
        if (line[i] != ' ' || line[i - 1] == ' ') continue;
        at = i;
        if (strchr(",;:", line[i - 1]) || (i + 1 < n && line[i + 1] == ' ')) apart = i;
    }
    return apart < n && 2 * apart > columns ? apart : at;
}

static void wrap_line(struct buf *b, const char *line, size_t n, size_t columns) {
    size_t in = strspn(line, " ") + 4, end = line_break(line, n, columns);
    buf_write(b, line, end);
    for (line += end, n -= end; n; line += end, n -= end) {
        for (; n && *line == ' '; n--) line++;
        if (!n) return;
        buf_printf(b, "\n%*s", (int)in, "");
        end = line_break(line, n, columns > in ? columns - in : 0);
        buf_write(b, line, end);
    }
}

void buf_wrap(struct buf *b, const char *text, int columns) {
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n");
        wrap_line(b, text, n, (size_t)columns);
        if (text[n]) buf_putc(b, text[n++]);
    }
}
