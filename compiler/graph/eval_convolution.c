/* eval_convolution.c: convolutions by their definition, as sums in double.
 *
 *   y[o] = sum over c and k of w[k] x[i]    where i = o*stride - padding + k*dilation, or where
 *       transposed, i*stride - padding + k*dilation = o; x is 0 outside of it, and an infinite
 *       weight makes NaN of that; where the stride leaves no such i, there is no term at all */
#include <math.h>
#include <string.h>

#include "graph/eval.h"

struct convolution {
    bool transposed;
    int64_t batch, groups, channels, filters; /* of a group */
    int64_t phases;                           /* output o of phase p is o*stride + p, of each */
    int64_t step[3], phase[3];                /* dimension; else of one, o */
    int64_t in[3], out[3], taps[3];           /* missing dimensions in front are 1 */
    int64_t stride[3], padding[3], dilation[3];
    int64_t by_filter, by_channel; /* strides of the weight, within a group, in elements */
};

static int64_t volume(const int64_t *size) { return size[0] * size[1] * size[2]; }

/* The last n dimensions of both operands and of the result, and arguments `first` to first + 2. */
static void set_slides(struct convolution *c, const struct job *j, int n, int first) {
    const struct arg *a = &j->node->args[first];
    for (int k = 0; k < 3; k++) {
        int at = k - (3 - n);
        c->in[k] = c->out[k] = c->taps[k] = c->stride[k] = c->dilation[k] = c->step[k] = 1;
        c->padding[k] = c->phase[k] = 0;
        if (at < 0) continue;
        c->in[k] = j->in[0]->size[j->in[0]->rank - n + at];
        c->taps[k] = j->in[1]->size[j->in[1]->rank - n + at];
        c->out[k] = j->out->size[j->out->rank - n + at];
        c->stride[k] = arg_entry(j->g, &a[0], (uint32_t)at, 1);
        c->padding[k] = arg_entry(j->g, &a[1], (uint32_t)at, 0);
        c->dilation[k] = arg_entry(j->g, &a[2], (uint32_t)at, 1);
        if (c->phases > 1) c->step[k] = c->stride[k];
    }
}

static void set_phase(struct convolution *c, int64_t phase) {
    for (int k = 2; k >= 0; k--) {
        c->phase[k] = phase % c->step[k];
        phase /= c->step[k];
    }
}

enum { OUTSIDE = -1, NO_TERM = -2 };

/* Which position of dimension d output o and tap k look at. */
static int64_t position(const struct convolution *c, int d, int64_t o, int64_t k) {
    o = o * c->step[d] + c->phase[d];
    int64_t i = c->transposed ? o + c->padding[d] - k * c->dilation[d]
                              : o * c->stride[d] - c->padding[d] + k * c->dilation[d];
    if (c->transposed && i % c->stride[d]) return NO_TERM;
    if (c->transposed) i /= c->stride[d];
    return i < 0 || i >= c->in[d] ? OUTSIDE : i;
}

/* y += tap * x at the positions that tap k looks at. */
static void add_tap(const struct convolution *c, const int64_t *k, double tap, const double *x,
                    double *y) {
    for (int64_t a = 0; a < c->out[0]; a++)
        for (int64_t b = 0; b < c->out[1]; b++, y += c->out[2]) {
            int64_t i = position(c, 0, a, k[0]), j = position(c, 1, b, k[1]);
            bool outside = i < 0 || j < 0;
            if (i == NO_TERM || j == NO_TERM || (outside && isfinite(tap))) continue;
            for (int64_t e = 0; e < c->out[2]; e++) {
                int64_t m = position(c, 2, e, k[2]);
                if (m == NO_TERM) continue;
                y[e] += tap * (outside || m < 0 ? 0 : x[(i * c->in[1] + j) * c->in[2] + m]);
            }
        }
}

/* One filter of one group, of one image. */
static void add_plane(const struct job *j, const struct convolution *c, const double *x,
                      const double *w, double *y) {
    for (int64_t channel = 0; channel < c->channels && !eval_stops(j, 0); channel++)
        for (int64_t t = 0; t < volume(c->taps); t++) {
            int64_t k[3] = {t / (c->taps[1] * c->taps[2]), t / c->taps[2] % c->taps[1],
                            t % c->taps[2]};
            add_tap(c, k, w[channel * c->by_channel + t], x + channel * volume(c->in), y);
        }
}

static void convolve(const struct job *j, const struct convolution *c, const double *x,
                     const double *w, double *y) {
    int64_t group = c->filters * c->channels * volume(c->taps);
    int64_t planes = c->batch * c->groups * c->phases * c->filters;
    memset(y, 0, (size_t)(planes * volume(c->out)) * sizeof *y);
    int64_t products = planes * volume(c->out) * c->channels * volume(c->taps);
#pragma omp parallel for schedule(dynamic) if (products > EVAL_SMALL)
    for (int64_t p = 0; p < planes; p++) {
        int64_t filter = p % c->filters, image = p / c->filters / c->phases; /* of a group */
        struct convolution own = *c;
        set_phase(&own, p / c->filters % c->phases);
        add_plane(j, &own, x + image * c->channels * volume(c->in),
                  w + image % c->groups * group + filter * c->by_filter, y + p * volume(c->out));
    }
}

static struct convolution product_of(const struct job *j) {
    const struct cell *x = j->in[0], *w = j->in[1];
    bool apart = j->node->op == OP_CONVOLVE_PHASES;
    struct convolution c = {.transposed = apart || j->node->args[5].b,
                            .phases = apart ? j->out->size[2] : 1,
                            .batch = x->size[0],
                            .groups = x->size[1],
                            .channels = x->size[2],
                            .filters = w->size[1]};
    set_slides(&c, j, x->rank - 3, 2);
    c.by_channel = volume(c.taps);
    c.by_filter = c.channels * c.by_channel;
    return c;
}

void eval_convolve(const struct job *j) {
    struct convolution c = product_of(j);
    convolve(j, &c, j->in[0]->v, j->in[1]->v, j->out->v);
}

int64_t convolve_terms(const struct job *j) {
    struct convolution c = product_of(j);
    return c.channels * volume(c.taps);
}

void convolve_sources(const struct job *j, int64_t i, int64_t *x, int64_t *w) {
    struct convolution c = product_of(j);
    int64_t plane = i / volume(c.out), at = i % volume(c.out), taps = volume(c.taps);
    int64_t filter = plane % c.filters, image = plane / c.filters / c.phases; /* of a group */
    set_phase(&c, plane / c.filters % c.phases);
    int64_t o[3] = {at / (c.out[1] * c.out[2]), at / c.out[2] % c.out[1], at % c.out[2]};
    for (int64_t t = 0; t < c.channels * taps; t++) {
        int64_t channel = t / taps, tap = t % taps;
        int64_t k[3] = {tap / (c.taps[1] * c.taps[2]), tap / c.taps[2] % c.taps[1],
                        tap % c.taps[2]};
        int64_t p[3];
        for (int d = 0; d < 3; d++) p[d] = position(&c, d, o[d], k[d]);
        bool outside = p[0] < 0 || p[1] < 0 || p[2] < 0;
        int64_t in = (p[0] * c.in[1] + p[1]) * c.in[2] + p[2];
        x[t] = outside ? -1 : (image * c.channels + channel) * volume(c.in) + in;
        w[t] = (image % c.groups * c.filters + filter) * c.by_filter + channel * c.by_channel + tap;
        if (p[0] == NO_TERM || p[1] == NO_TERM || p[2] == NO_TERM) w[t] = -1;
    }
}

void eval_convolution(const struct job *j) {
    const struct cell *x = j->in[0], *w = j->in[1], *bias = j->in[2], *out = j->out;
    const struct arg *a = j->node->args;
    int n = (int)arg_number(j->g, &a[9]);
    struct convolution c = {.transposed = a[6].b,
                            .phases = 1,
                            .batch = x->rank == n + 2 ? x->size[0] : 1,
                            .groups = (int64_t)arg_number(j->g, &a[8])};
    c.channels = x->size[x->rank - n - 1] / c.groups;
    c.filters = out->size[out->rank - n - 1] / c.groups;
    set_slides(&c, j, n, 3);
    c.by_filter = c.by_channel = volume(c.taps);
    *(c.transposed ? &c.by_channel : &c.by_filter) *= w->size[1];
    convolve(j, &c, x->v, w->v, out->v);
    for (int64_t i = 0; bias && i < out->n; i++)
        out->v[i] += bias->v[i / volume(c.out) % (c.groups * c.filters)];
}
