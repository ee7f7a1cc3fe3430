/* texts.h: texts kept once each, however often they come: the columns of a history repeat a few
 * thousand.
 *
 * {0} is empty. A text stays where it is until texts_free. */
#ifndef REPORTS_TEXTS_H
#define REPORTS_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct texts {
    struct kept_text *slots; /* a power of two of them, NULL texts are free */
    size_t n, n_slots;
    struct texts_block *blocks; /* where the bytes are */
};

/* The text equal to s, and its number: 0 for the first that was kept, 1 for the next. */
const char *texts_keep(struct texts *t, const char *s, size_t *number);
void texts_free(struct texts *t);

#endif
