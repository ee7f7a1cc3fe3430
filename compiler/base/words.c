/* words.c: edit distance, row by row. */
#include "base/words.h"

#include <string.h>

enum { LONGEST = 64 };

int words_distance(const char *a, size_t n, const char *b, size_t m) {
    int row[LONGEST + 1];
    if (n > LONGEST) n = LONGEST;
    if (m > LONGEST) m = LONGEST;
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

struct nearest nearest_new(const char *meant) {
    return (struct nearest){.meant = meant};
}

void nearest_offer(struct nearest *n, const char *word) {
    int far = words_distance(n->meant, strlen(n->meant), word, strlen(word));
    if (n->word && n->far <= far) return;
    n->word = word;
    n->far = far;
}
