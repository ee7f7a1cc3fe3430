/* search.h: strategies: which configs of a kernel to try, and in which order.
 *
 * All work on the same legal space, t->variants, which the cost model has ordered: best guess
 * first, 0 the default. A strategy asks for waves of variants; those of one wave are compiled at
 * the same time and tried one after the other. It ends when search_goes_on says so (out of time or
 * trials, Ctrl-C, or as fast as the device can be) or when it has nothing left to ask for.
 *
 *   SEARCH(name, what it does) */
#ifndef TUNER_SEARCH_H
#define TUNER_SEARCH_H

#include "tuner/tune.h"

#define SEARCHES(SEARCH)                                                                           \
    SEARCH(model, "learn from each time which config is most likely to beat the best")             \
    SEARCH(exhaustive, "try every config")                                                         \
    SEARCH(random, "try configs in random order")                                                  \
    SEARCH(coordinate, "walk from the best to its neighbours")                                     \
    SEARCH(halving, "race all briefly, keep the better half, and again")                           \
    SEARCH(profile, "let hardware counters say which knobs to move")

enum search_strategy {
#define SEARCH(name, what) SEARCH_##name,
    SEARCHES(SEARCH)
#undef SEARCH
        SEARCH_COUNT
};

const char *search_name(enum search_strategy s);
const char *search_names(struct arena *a); /* "model, exhaustive, ..." */
bool search_parse(const char *name, enum search_strategy *out);

/* One a file. */
#define SEARCH(name, what) enum ws_status search_##name(struct tune *t, struct diag *d);
SEARCHES(SEARCH)
#undef SEARCH

enum ws_status search_run(struct tune *t, struct diag *d); /* t->search */

/* What t->search is going to ask for first, whatever it learns: numbers into which[t->n], how many
 * is returned. Compiling can begin with these before there is anything to measure with. */
int search_first_wave(const struct tune *t, int *which);
int search_model_first(const struct tune *t, int *which);
/* What it may ask for next, `most` at most: to be compiled as well where there are cores left. */
int search_model_next(const struct tune *t, int *which, int most);

/* Should a search go on? Not once time or trials are spent, with something measured; nor if the
 * best of a dozen is as good as the roofline, nor after Ctrl-C. */
bool search_goes_on(const struct tune *t);
/* Try variants by number. */
enum ws_status search_wave(struct tune *t, const int *which, int n, struct diag *d);

/* search_compare.c: after an exhaustive search, what every strategy would have found and cost: a
 * line each on stdout, and rows of FOLDER/searches.csv. */
enum ws_status search_compare(struct tune *t, const char *folder, struct diag *d);

/* ---- search_space.c: how alike configs are --------------------------------------------------- */

/* Every variant as a point: log2(1 + value) of each knob that differs somewhere, scaled to unit
 * variance over the space. */
struct search_space {
    int n, dims;
    double *at; /* [n][dims] */
};
struct search_space search_space_of(const struct tune *t);
double search_distance2(const struct search_space *s, int i, int j);
/* The fastest of those tried; -1: none was timed. */
int search_best(const struct tune *t);
/* Was it tried? */
bool search_seen(const struct tune *t, int i);
/* The unseen variant farthest from all that seen[i] marks; -1: none is left. */
int search_farthest(const struct search_space *s, const bool *seen);
/* Of the unseen ones the `most` nearest to variant i, nearest first, the cost model's order
 * breaking ties. Returns how many. */
int search_nearest(const struct search_space *s, int i, const bool *seen, int *which, int most);

#endif
