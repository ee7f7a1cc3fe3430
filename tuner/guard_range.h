/* guard_range.h: a condition on symbolic sizes: text in the store, a few comparisons in memory.
 *
 *   "256 <= s1 && s1 < 4096 && s1 % 8 == 0"
 *
 * The symbols are s0, s1, ... in the order of ws_captured.symbols; "" always holds. */
#ifndef TUNER_GUARD_RANGE_H
#define TUNER_GUARD_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "ws.h"

enum { GUARD_TERMS = 6, GUARD_SYMBOLS = 64 };

struct guard_term {
    enum guard_test {
        GUARD_LEAST,    /* number <= s */
        GUARD_BELOW,    /* s < number */
        GUARD_MOST,     /* s <= number */
        GUARD_IS,       /* s == number */
        GUARD_MULTIPLE, /* s % number == 0 */
    } test;
    int symbol;
    int64_t number;
};

struct guard_range {
    int n;
    struct guard_term at[GUARD_TERMS];
};

/* False if the text is no such condition, or has more terms than fit. */
bool guard_range_parse(const char *text, struct guard_range *out);
/* names[i] stands for s{i}; NULL: s0, s1, ... */
void guard_range_print(struct buf *b, const struct guard_range *g, const char *const *names);

/* A symbol beyond n holds no condition. */
bool guard_range_holds(const struct guard_range *g, const int64_t *sizes, int n);
/* By which factor sizes lie outside of the intervals: 1 inside, 2 at twice the largest or half of
 * the smallest size. What they must be a multiple of does not count. */
double guard_range_distance(const struct guard_range *g, const int64_t *sizes, int n);

/* Smallest and largest size of a symbol that its interval allows. */
void guard_range_bounds(const struct guard_range *g, int symbol, int64_t *least, int64_t *most);

#endif
