/* eval_reduce.c: the reference loops of reductions and scans.
 *
 *   sum(%x: f32[8, 64], dim=[1])   ->   8 lines of 64 elements, each added up in its order
 *
 * Long lines are cut into blocks, which are reduced at a time and put together in their order. */
#include <math.h>
#include <stdlib.h>

#include "graph/eval.h"
#include "graph/traits.h"

/* Of reductions and scans. Integers go in 64 bits, whatever they were: the type of the result cuts
 * them off. */
struct partial {
    long double v;
    int64_t w;
};

/* Those that go element by element: others have loops of their own. */
static struct partial reduce_start(enum op_fold fold) {
    switch (fold) {
    case FOLD_SUM: return (struct partial){0, 0};
    case FOLD_PROD: return (struct partial){1, 1};
    case FOLD_AMAX: return (struct partial){-INFINITY, INT64_MIN};
    case FOLD_AMIN: return (struct partial){INFINITY, INT64_MAX};
    case FOLD_M2:
    case FOLD_EXPSUM:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("fold %d has no steps", fold);
}

/* A nan, once in, stays. */
static long double reduce_step(enum op_fold fold, long double r, long double v) {
    switch (fold) {
    case FOLD_SUM: return r + v;
    case FOLD_PROD: return r * v;
    case FOLD_AMAX: return r != r || r > v ? r : v;
    case FOLD_AMIN: return r != r || r < v ? r : v;
    case FOLD_M2:
    case FOLD_EXPSUM:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("fold %d has no steps", fold);
}

/* n elements that stand `step` apart, one after the other: of the commonest, the loop alone. */
static long double reduce_doubles(enum op_fold fold, long double r, const double *x, int64_t step,
                                  int64_t n) {
    if (fold == FOLD_SUM)
        for (int64_t i = 0; i < n; i++) r += x[i * step];
    else
        for (int64_t i = 0; i < n; i++) r = reduce_step(fold, r, x[i * step]);
    return r;
}

static int64_t reduce_step_int(enum op_fold fold, int64_t r, int64_t v) {
    switch (fold) {
    case FOLD_SUM: return int_add(r, v);
    case FOLD_PROD: return int_mul(r, v);
    case FOLD_AMAX: return r > v ? r : v;
    case FOLD_AMIN: return r < v ? r : v;
    case FOLD_M2:
    case FOLD_EXPSUM:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("fold %d has no steps", fold);
}

/* With element i of x, seen as the type of the result. */
static void reduce_element(const struct job *j, struct partial *r, int64_t i) {
    const struct cell *x = j->in[0], *out = j->out;
    enum op_fold fold = op_fold(j->node->op);
    if (!out->w)
        r->v = reduce_step(fold, r->v,
                           x->w ? double_of_int(dtype_opmath(out->dtype), x->w[i]) : x->v[i]);
    else if (x->w)
        r->w = reduce_step_int(fold, r->w, out->dtype == DT_BOOL ? x->w[i] != 0 : x->w[i]);
    else
        r->w = reduce_step_int(fold, r->w, int_of_double(out->dtype, x->v[i]));
}

static void reduce_store(const struct cell *out, int64_t i, const struct partial *r) {
    if (out->w)
        out->w[i] = int_wrap(out->dtype, r->w);
    else
        out->v[i] = (double)r->v;
}

/* Does element i of x stand before what was the best so far? */
static bool beats(const struct cell *x, bool largest, int64_t i, int64_t best) {
    if (x->w) return largest ? x->w[i] > x->w[best] : x->w[i] < x->w[best];
    double v = x->v[i], most = x->v[best];
    return most == most && (largest ? !(v <= most) : !(v >= most));
}

/* Where the first of a line's largest or smallest elements is. */
static void eval_argument(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        int64_t best = 0, at = line_at(&l, line, 0);
        for (int64_t i = 1; i < l.length; i++) {
            int64_t k = line_at(&l, line, i);
            if (beats(x, j->node->op == OP_ARGMAX, k, at)) best = i, at = k;
        }
        j->out->w[line] = best;
    }
}

/* Squared deviations of a line from its mean, in two passes. */
static void eval_m2(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        long double sum = 0, m2 = 0;
        for (int64_t i = 0; i < l.length; i++) sum += x->v[line_at(&l, line, i)];
        for (int64_t i = 0; i < l.length; i++) {
            long double d = x->v[line_at(&l, line, i)] - sum / l.length;
            m2 += d * d;
        }
        j->out->v[line] = (double)m2;
    }
}

/* exp(x - max) of a line, in two passes. */
static void eval_expsum(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        double max = -INFINITY;
        long double sum = 0;
        for (int64_t i = 0; i < l.length; i++) {
            double v = x->v[line_at(&l, line, i)];
            if (!(v <= max)) max = v != v || max == max ? v : max;
        }
        for (int64_t i = 0; i < l.length; i++) sum += exp(x->v[line_at(&l, line, i)] - max);
        j->out->v[line] = (double)sum;
    }
}

/* Each line is cut into blocks; blocks are reduced in parallel, then combined in order. */
void eval_reduce(const struct job *j) {
    enum { BLOCK = 1 << 16 };
    const struct cell *x = j->in[0];
    enum op_fold fold = op_fold(j->node->op);
    if (fold == FOLD_ARGMAX || fold == FOLD_ARGMIN) return eval_argument(j);
    if (fold == FOLD_M2) return eval_m2(j);
    if (fold == FOLD_EXPSUM) return eval_expsum(j);
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
    int64_t n_blocks = (l.length + BLOCK - 1) / BLOCK;
    struct partial *part = malloc((size_t)(l.n * n_blocks + 1) * sizeof *part);
    if (!part) WS_BUG("no memory for %lld partial results", (long long)(l.n * n_blocks));
#pragma omp parallel for if (l.n * n_blocks > 16)
    for (int64_t k = 0; k < l.n * n_blocks; k++) {
        if (eval_stops(j, 0)) continue;
        int64_t line = k / n_blocks, from = k % n_blocks * BLOCK;
        int64_t to = from + BLOCK < l.length ? from + BLOCK : l.length;
        int64_t base = strided_at(l.kept, l.kept_size, l.kept_stride, line);
        struct partial r = reduce_start(fold);
        if (l.along == 1 && x->v && j->out->v)
            r.v =
                reduce_doubles(fold, r.v, x->v + base + from * l.stride[0], l.stride[0], to - from);
        else
            for (int64_t i = from; i < to; i++)
                reduce_element(j, &r, base + strided_at(l.along, l.size, l.stride, i));
        part[k] = r;
    }
    for (int64_t line = 0; line < l.n; line++) {
        struct partial r = reduce_start(fold);
        for (int64_t k = 0; k < n_blocks; k++) {
            const struct partial *p = &part[line * n_blocks + k];
            r.v = reduce_step(fold, r.v, p->v);
            r.w = reduce_step_int(fold, r.w, p->w);
        }
        reduce_store(j->out, line, &r);
    }
    free(part);
}

void eval_scan(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        struct partial r = reduce_start(op_fold(j->node->op));
        for (int64_t i = 0; i < l.length; i++) {
            int64_t at = line_at(&l, line, i);
            reduce_element(j, &r, at);
            reduce_store(j->out, at, &r);
        }
    }
}
