/* text.c: growing strings, escapings, and errors.
 *
 *   text_html     a<b & "c"   ->  a&lt;b &amp; &quot;c&quot;
 *   text_gnuplot  say "x\y"   ->  "say ''x/y''"
 *   text_csv      say "x\y"   ->  "say ""x\y"""  */
#include "reports/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/error.h"

void *memory_resize(void *p, size_t n, size_t size) {
    size_t bytes = n * size;
    void *q = size && n > SIZE_MAX / size ? NULL : realloc(p, bytes + !bytes);
    if (!q) {
        fputs("warpsmith: out of memory\n", stderr);
        abort();
    }
    return q;
}

void *memory_more(void *p, size_t n, size_t size) {
    if (n & (n - 1)) return p; /* neither a power of two nor 0: there is room */
    return memory_resize(p, n ? 2 * n : 1, size);
}

/* Room for n more bytes and the 0. */
static void reserve(struct text *t, size_t n) {
    if (t->n + n + 1 <= t->cap) return;
    t->cap = (t->n + n + 1) * 2;
    t->p = memory_resize(t->p, t->cap, 1);
}

void text_write(struct text *t, const char *s, size_t n) {
    reserve(t, n);
    memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = 0;
}

void text_puts(struct text *t, const char *s) { text_write(t, s, strlen(s)); }

static void text_vprintf(struct text *t, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        reserve(t, (size_t)n);
        vsnprintf(t->p + t->n, (size_t)n + 1, fmt, again);
        t->n += (size_t)n;
    }
    va_end(again);
}

void text_printf(struct text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(t, fmt, ap);
    va_end(ap);
}

void text_html(struct text *t, const char *s) {
    for (; *s; s++) {
        switch (*s) {
        case '&': text_puts(t, "&amp;"); break;
        case '<': text_puts(t, "&lt;"); break;
        case '>': text_puts(t, "&gt;"); break;
        case '"': text_puts(t, "&quot;"); break;
        case '\'': text_puts(t, "&#39;"); break;
        default: text_write(t, s, 1);
        }
    }
}

/* Gnuplot reads a "string" one way in a script and another way in a data block, so the characters
 * that differ (the double quote, the backslash, control characters) are replaced by look-alikes
 * instead of escaped. A ` would run a command: it goes too. */
void text_gnuplot(struct text *t, const char *s) {
    text_puts(t, "\"");
    for (; *s; s++) {
        if (*s == '"')
            text_puts(t, "''");
        else if (*s == '\\')
            text_puts(t, "/");
        else if (*s == '`')
            text_puts(t, "'");
        else if ((unsigned char)*s < ' ')
            text_puts(t, " ");
        else
            text_write(t, s, 1);
    }
    text_puts(t, "\"");
}

void text_csv(struct text *t, const char *s) {
    text_puts(t, "\"");
    for (; s && *s; s += *s == '"') {
        size_t n = strcspn(s, "\"");
        text_write(t, s, n);
        s += n;
        if (*s) text_puts(t, "\"\"");
    }
    text_puts(t, "\"");
}

/* The n last digits of v, and the point before `behind` of them. */
static char *put_digits(char *p, uint64_t v, int n, int behind) {
    char *end = p + n + (behind > 0);
    for (char *q = end; n > 0; n--, v /= 10) {
        *--q = (char)('0' + v % 10);
        if (behind > 0 && --behind == 0) *--q = '.';
    }
    return end;
}

/* 0.0001234568 to 1234568, as most are, at a fifth of printf's time: v times a power of ten that a
 * double holds exactly is off by 1e-9 at most, so that its nearest whole number is the right one,
 * unless it lies about half way. 0 bytes if it may not be, or is written otherwise. */
static size_t plain_number(char out[24], double v) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
    enum { DIGITS = 7, LEAST = -4 };
    double size = fabs(v);
    char *p = out;
    int point = DIGITS; /* digits before the point */
    if (!(size >= 1e-4 && size < 1e6)) return 0;
    while (point > LEAST + 1 && size * powers[DIGITS - point] < 1e6) point--;
    double scaled = size * powers[DIGITS - point], whole = floor(scaled);
    if (fabs(scaled - whole - 0.5) < 1e-6) return 0;
    uint64_t digits = (uint64_t)whole + (scaled - whole > 0.5);
    if (digits < 1000000 || digits > 9999999) return 0;
    int behind = DIGITS - point, n = DIGITS;
    for (; behind > 0 && digits % 10 == 0; behind--, n--) digits /= 10;
    if (signbit(v)) *p++ = '-';
    return (size_t)(put_digits(p, digits, n > behind ? n : behind + 1, behind) - out);
}

void text_csv_number(struct text *t, double v) {
    char plain[24];
    size_t n = plain_number(plain, v);
    if (n)
        text_write(t, plain, n);
    else if (isfinite(v))
        text_printf(t, "%.7g", v);
}

const char *text_str(const struct text *t) { return t->p ? t->p : ""; }

void text_free(struct text *t) {
    free(t->p);
    *t = (struct text){0};
}

enum report_status report_fail(struct report_error *e, enum report_status s, const char *fmt, ...) {
    if (e->status != REPORT_OK) return e->status;
    e->status = s;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return s;
}
