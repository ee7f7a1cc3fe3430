/* eval_pool.c: pooling, resizing and unfolding by their definitions: each element of the result
 * looks at a box of the operand.
 *
 *   max_pool  y[n][c][o] = max of x[n][c][i] for i in o*stride - padding + {0, 1, ..}*dilation */
#include <math.h>
#include <string.h>

#include "graph/eval.h"

static const struct arg *arg_of(const struct job *j, int i) { return &j->node->args[i]; }

static int64_t entry(const struct job *j, int i, uint32_t k, int64_t absent) {
    return arg_entry(j->g, arg_of(j, i), k, absent);
}

/* The positions of one dimension that a window looks at: first, first + step, .., `n` of them;
 * `counted` are those that an average divides by. */
struct range {
    int64_t first, n, step, counted;
};

static struct range pool_range(const struct job *j, int k, int64_t o, int64_t size) {
    bool max = j->node->op == OP_MAX_POOL;
    int64_t kernel = entry(j, 1, k, 1), stride = entry(j, 2, k, kernel), pad = entry(j, 3, k, 0);
    struct range r = {o * stride - pad, kernel, max ? entry(j, 4, k, 1) : 1, 0};
    if (max) return r;
    int64_t end = r.first + kernel < size + pad ? r.first + kernel : size + pad;
    int64_t from = r.first > 0 ? r.first : 0, to = end < size ? end : size;
    r.counted = arg_of(j, 5)->b ? end - r.first : to - from;
    return r;
}

static struct range adaptive_range(int64_t o, int64_t have, int64_t want) {
    int64_t first = o * have / want, end = ((o + 1) * have + want - 1) / want;
    return (struct range){first, end - first, 1, end - first};
}

/* What element i of the result, a box of up to three ranges over x, is. */
static struct number look(const struct job *j, int n, int64_t i) {
    const struct cell *x = j->in[0], *out = j->out;
    bool max = j->node->op == OP_MAX_POOL || j->node->op == OP_ADAPTIVE_MAX_POOL;
    bool adaptive = j->node->op == OP_ADAPTIVE_AVG_POOL || j->node->op == OP_ADAPTIVE_MAX_POOL;
    struct range r[3] = {{0, 1, 1, 1}, {0, 1, 1, 1}, {0, 1, 1, 1}};
    int64_t size[3] = {1, 1, 1}, area = 1, inner = 1;
    for (int k = n - 1; k >= 0; k--) {
        int at = 3 - n + k, dim = x->rank - n + k;
        int64_t o = i % out->size[dim];
        i /= out->size[dim];
        size[at] = x->size[dim];
        inner *= x->size[dim];
        r[at] =
            adaptive ? adaptive_range(o, size[at], out->size[dim]) : pool_range(j, k, o, size[at]);
        area *= r[at].counted;
    }
    int64_t plane = i * inner, most_int = INT64_MIN;
    long double sum = 0;
    double most = -INFINITY;
    for (int64_t c = 0; c < r[0].n * r[1].n * r[2].n; c++) {
        int64_t a = r[0].first + c / (r[1].n * r[2].n) * r[0].step;
        int64_t b = r[1].first + c / r[2].n % r[1].n * r[1].step;
        int64_t e = r[2].first + c % r[2].n * r[2].step;
        if (a < 0 || b < 0 || e < 0 || a >= size[0] || b >= size[1] || e >= size[2]) continue;
        int64_t at = plane + (a * size[1] + b) * size[2] + e;
        if (x->w && x->w[at] > most_int) most_int = x->w[at];
        double v = cell_number(x, at);
        sum += v;
        if (v > most || v != v || most != most) most = most != most ? most : v;
    }
    if (max) return (struct number){most, most_int};
    if (!adaptive && arg_of(j, 6)->kind == ARG_INT) area = (int64_t)arg_number(j->g, arg_of(j, 6));
    return (struct number){.v = (double)sum / (double)area};
}

void eval_pool(const struct job *j) {
    int spatial;
    bool fixed = op_param(j->node->op, "spatial", &spatial) != NULL;
    int n = fixed ? (int)arg_number(j->g, arg_of(j, spatial)) : (int)arg_of(j, 1)->ints.n;
#pragma omp parallel for if (j->in[0]->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++)
        if (!eval_stops(j, 0)) cell_put(j->out, i, look(j, n, i));
}

/* Nearest below: floor(o * have / want), the product in f32 as PyTorch works it out. */
void eval_resize(const struct job *j) {
    const struct cell *x = j->in[0], *out = j->out;
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t i = 0; i < out->n; i++) {
        if (eval_stops(j, i)) continue;
        int64_t offset = 0, stride = 1, rest = i;
        for (int k = out->rank - 1; k >= 0; k--) {
            int64_t at = rest % out->size[k], last = x->size[k] - 1;
            rest /= out->size[k];
            if (k >= 2) at = (int64_t)floorf((float)at * ((float)x->size[k] / (float)out->size[k]));
            offset += (at < last ? at : last) * stride;
            stride *= x->size[k];
        }
        cell_copy(out, i, x, offset);
    }
}

/* [N, C KH KW, OH OW]: row (c, p, q), column (a, b) is x[c][a*stride - padding + p*dilation][..] */
void eval_im2col(const struct job *j) {
    const struct cell *x = j->in[0], *out = j->out;
    int64_t h = x->size[x->rank - 2], w = x->size[x->rank - 1];
    int64_t kh = entry(j, 1, 0, 1), kw = entry(j, 1, 1, 1);
    int64_t ow = (w + 2 * entry(j, 3, 1, 0) - entry(j, 4, 1, 1) * (kw - 1) - 1) / entry(j, 2, 1, 1);
    int64_t columns = out->size[out->rank - 1];
    ow++;
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t i = 0; i < out->n; i++) {
        if (eval_stops(j, i)) continue;
        int64_t column = i % columns, row = i / columns; /* row counts batches, too */
        int64_t q = row % kw, p = row / kw % kh, plane = row / (kw * kh);
        int64_t y = column / ow * entry(j, 2, 0, 1) - entry(j, 3, 0, 0) + p * entry(j, 4, 0, 1);
        int64_t z = column % ow * entry(j, 2, 1, 1) - entry(j, 3, 1, 0) + q * entry(j, 4, 1, 1);
        bool in = y >= 0 && y < h && z >= 0 && z < w;
        if (in)
            cell_copy(out, i, x, (plane * h + y) * w + z);
        else
            cell_put(out, i, (struct number){0, 0});
    }
}

/* x.unfold(dim, size, step)[.., o, .., e] = x[.., o*step + e, ..] */
void eval_unfold(const struct job *j) {
    const struct cell *x = j->in[0], *out = j->out;
    int dim = (int)arg_number(j->g, arg_of(j, 1));
    int64_t step = (int64_t)arg_number(j->g, arg_of(j, 3)), length = out->size[out->rank - 1];
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t i = 0; i < out->n; i++) {
        if (eval_stops(j, i)) continue;
        int64_t e = i % length, rest = i / length, offset = 0, stride = 1;
        for (int k = x->rank - 1; k >= 0; k--) {
            int64_t at = rest % out->size[k];
            rest /= out->size[k];
            offset += (k == dim ? at * step + e : at) * stride;
            stride *= x->size[k];
        }
        cell_copy(out, i, x, offset);
    }
}
