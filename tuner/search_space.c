/* search_space.c: configs as points.
 *
 * Knobs are sizes, and sizes double: two configs are as far apart as the numbers of doublings
 * between their knobs. A knob that is absent is 0, and log2(1 + 0) = 0. */
#include <math.h>
#include <string.h>

#include "tuner/search.h"

static double coordinate(const struct variant *v, int knob) {
    int value = v->config->knob[knob];
    return log2(1 + (value > 0 ? value : 0));
}

/* Standard deviation of a knob over the space; 0: it is the same everywhere. */
static double spread(const struct tune *t, int knob, double *mean) {
    double sum = 0, squares = 0;
    for (int i = 0; i < t->n; i++) sum += coordinate(&t->variants[i], knob);
    *mean = sum / t->n;
    for (int i = 0; i < t->n; i++) {
        double c = coordinate(&t->variants[i], knob) - *mean;
        squares += c * c;
    }
    return sqrt(squares / t->n);
}

struct search_space search_space_of(const struct tune *t) {
    struct search_space s = {.n = t->n};
    s.at = NEW_ARRAY(t->shared->arena, double, t->n *KNOB_COUNT);
    int knobs[KNOB_COUNT];
    double scale[KNOB_COUNT], mean[KNOB_COUNT];
    for (int k = 0; k < KNOB_COUNT; k++) {
        double deviation = spread(t, k, &mean[s.dims]);
        if (!(deviation > 1e-9)) continue;
        scale[s.dims] = 1 / deviation;
        knobs[s.dims++] = k;
    }
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < s.dims; k++)
            s.at[i * s.dims + k] = (coordinate(&t->variants[i], knobs[k]) - mean[k]) * scale[k];
    return s;
}

double search_distance2(const struct search_space *s, int i, int j) {
    double sum = 0;
    for (int k = 0; k < s->dims; k++) {
        double c = s->at[i * s->dims + k] - s->at[j * s->dims + k];
        sum += c * c;
    }
    return sum;
}

int search_farthest(const struct search_space *s, const bool *seen) {
    int best = -1;
    double far = -1;
    for (int i = 0; i < s->n; i++) {
        if (seen[i]) continue;
        double nearest = INFINITY;
        for (int j = 0; j < s->n; j++)
            if (seen[j]) nearest = fmin(nearest, search_distance2(s, i, j));
        if (nearest > far) far = nearest, best = i;
    }
    return best;
}

int search_nearest(const struct search_space *s, int i, const bool *seen, int *which, int most) {
    int n = 0;
    for (int j = 0; j < s->n; j++) {
        if (seen[j] || j == i) continue;
        double distance = search_distance2(s, i, j);
        int at = n;
        while (at > 0 && distance < search_distance2(s, i, which[at - 1])) at--;
        if (at == most) continue;
        if (n < most) n++;
        memmove(which + at + 1, which + at, sizeof *which * (size_t)(n - at - 1));
        which[at] = j;
    }
    return n;
}
