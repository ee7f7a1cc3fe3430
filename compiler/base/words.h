/* words.h: which of the words that there are was meant by one that is not among them.
 *
 *   struct nearest n = nearest_new("--resluts");
 *   nearest_offer(&n, "--results");  nearest_offer(&n, "--retune");      n.word is "--results" */
#ifndef WS_BASE_WORDS_H
#define WS_BASE_WORDS_H

#include <stddef.h>

/* Letters to insert, delete or replace to make a of b; what is longer than 64 is cut. */
int words_distance(const char *a, size_t n, const char *b, size_t m);

struct nearest {
    const char *meant;
    const char *word; /* of those offered, the first of the nearest; NULL: none was */
    int far;
};
struct nearest nearest_new(const char *meant);
void nearest_offer(struct nearest *n, const char *word);

#endif
