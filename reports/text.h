/* text.h: a string that grows, and the memory of this folder.
 *
 * {0} is an empty text. Whoever holds a struct text frees it. Out of memory ends the process with
 * one message. */
#ifndef REPORTS_TEXT_H
#define REPORTS_TEXT_H

#include <stddef.h>

struct text {
    char *p; /* 0-terminated; NULL while empty: read it through text_str */
    size_t n, cap;
};

void text_write(struct text *t, const char *s, size_t n);
void text_puts(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_html(struct text *t, const char *s);    /* & < > " ' become entities */
void text_gnuplot(struct text *t, const char *s); /* as a gnuplot "string", quotes included */
void text_csv(struct text *t, const char *s);     /* a cell in quotes; NULL: an empty one */
void text_csv_number(struct text *t, double v);   /* NAN and infinity: an empty cell */
const char *text_str(const struct text *t);
void text_free(struct text *t); /* and empty it */

/* realloc for n elements, never NULL. */
void *memory_resize(void *p, size_t n, size_t size);
/* Room for one more behind n elements, of which p has had nothing but this. */
void *memory_more(void *p, size_t n, size_t size);

#endif
