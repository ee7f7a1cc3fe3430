/* text_set.h: texts kept once each, however often they come: the columns of a history repeat a few
 * thousand.
 *
 * {0} is empty. A text stays where it is until text_set_free. */
#ifndef REPORTS_TEXT_SET_H
#define REPORTS_TEXT_SET_H

#include <stddef.h>
#include <stdint.h>

struct text_set {
    struct kept_text *slots; /* a power of two of them, NULL texts are free */
    size_t n, n_slots;
    struct set_block *blocks; /* where the bytes are */
};

/* The text equal to s, and its number: 0 for the first that was kept, 1 for the next. */
const char *text_set_keep(struct text_set *t, const char *s, size_t *number);
void text_set_free(struct text_set *t);

#endif
