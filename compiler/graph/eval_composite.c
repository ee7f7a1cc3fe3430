/* eval_composite.c: each composite's definition as a plain loop, written without looking at its
 * decomposition, so that comparing the two checks the decomposition.
 *
 *   softmax: for each line along dim: y_i = exp(x_i - max) / sum_k exp(x_k - max) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/traits.h"

typedef void composite(const struct job *j);

static const struct arg *arg_of(const struct job *j, int i) { return &j->node->args[i]; }
static double number_at(const struct job *j, int i) { return arg_number(j->g, arg_of(j, i)); }

/* Operand element, first rounded to the dtype argument where there is one. */
static double load(const struct job *j, double v) {
    int k;
    bool given = op_param(j->node->op, "dtype", &k) && arg_of(j, k)->kind == ARG_DTYPE;
    return given ? value_round(j->out->dtype, v) : v;
}

/* ---- one result a line ----------------------------------------------------------------------- */

static double *new_line(int64_t n) {
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    if (!v) WS_BUG("no memory for a line of %lld", (long long)n);
    return v;
}

static void gather(const struct job *j, const struct lines *l, int64_t line, double *v) {
    const double *x = j->in[0]->v;
    for (int64_t i = 0; i < l->length; i++) v[i] = load(j, x[line_at(l, line, i)]);
}

static double sum(const double *v, int64_t n) {
    long double s = 0;
    for (int64_t i = 0; i < n; i++) s += v[i];
    return (double)s;
}

static double maximum(const double *v, int64_t n) {
    double m = -INFINITY;
    for (int64_t i = 0; i < n && m == m; i++)
        if (!(v[i] <= m)) m = v[i];
    return m;
}

static double variance(const double *v, int64_t n, double correction) {
    double m = sum(v, n) / (double)n;
    long double s = 0;
    for (int64_t i = 0; i < n; i++) s += (v[i] - m) * (v[i] - m);
    return (double)s / fmax((double)n - correction, 0);
}

static double norm(const double *v, int64_t n, double p) {
    long double s = 0;
    double m = p > 0 ? 0 : INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double a = fabs(v[i]);
        s += p == 0 ? a != 0 : pow(a, p);
        if (isinf(p) && (a != a || (p > 0 ? a > m : a < m))) m = a;
        if (m != m) return m;
    }
    if (isinf(p)) return n ? m : 0;
    return p == 0 ? (double)s : pow((double)s, 1 / p);
}

/* log of the sum of exp(v - m), m the maximum: 1 and what the others bring, however little. */
static double log_of_sum(const double *v, int64_t n, double m) {
    long double s = 0;
    bool met = !isfinite(m);
    for (int64_t i = 0; i < n; i++)
        if (!met && v[i] == m)
            met = true;
        else
            s += exp(v[i] - m);
    return isfinite(m) ? log1p((double)s) : log((double)s);
}

/* What an operator makes of a line. */
typedef double line_result(const struct job *j, const double *v, int64_t n);

static double mean_of(const struct job *j, const double *v, int64_t n) {
    return sum(v, n) / (double)n;
}
static double variance_of(const struct job *j, const double *v, int64_t n) {
    return variance(v, n, number_at(j, 2));
}
static double deviation_of(const struct job *j, const double *v, int64_t n) {
    return sqrt(variance_of(j, v, n));
}
static double norm_of(const struct job *j, const double *v, int64_t n) {
    return norm(v, n, number_at(j, 1));
}
static double logsumexp_of(const struct job *j, const double *v, int64_t n) {
    double m = maximum(v, n);
    return isinf(m) ? m : log_of_sum(v, n, m) + m;
}
static double maximum_of(const struct job *j, const double *v, int64_t n) { return maximum(v, n); }
static double minimum_of(const struct job *j, const double *v, int64_t n) {
    double m = INFINITY;
    for (int64_t i = 0; i < n && m == m; i++)
        if (!(v[i] >= m)) m = v[i];
    return m;
}

static line_result *const line_results[OP_COUNT] = {
    [OP_MEAN] = mean_of,   [OP_VAR] = variance_of,        [OP_STD] = deviation_of,
    [OP_NORM] = norm_of,   [OP_LOGSUMEXP] = logsumexp_of, [OP_MAX] = maximum_of,
    [OP_MIN] = minimum_of, [OP_MAX_DIM] = maximum_of,     [OP_MIN_DIM] = minimum_of,
};

static struct lines lines_of(const struct job *j) {
    const struct cell *x = j->in[0];
    int k;
    bool has_dim = op_param(j->node->op, "dim", &k) != NULL;
    return lines_along(x, has_dim ? dims_of(j->g, j->node, "dim", x->rank) : (1u << x->rank) - 1);
}

static void eval_line_result(const struct job *j);

/* any and all of whatever it is, as extrema of what is not 0; extrema of integers. */
static void eval_line_extremum(const struct job *j) {
    const struct cell *x = j->in[0];
    enum op op = j->node->op;
    bool truth = op == OP_ANY || op == OP_ALL;
    bool largest = op == OP_ANY || op == OP_MAX || op == OP_MAX_DIM;
    if (!truth && x->v) return eval_line_result(j);
    struct lines l = lines_of(j);
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t line = 0; line < l.n; line++) {
        int64_t r = truth ? !largest : largest ? INT64_MIN : INT64_MAX;
        for (int64_t i = 0; i < l.length; i++) {
            int64_t at = line_at(&l, line, i);
            int64_t v = truth ? (x->w ? x->w[at] != 0 : x->v[at] != 0) : x->w[at];
            if (largest ? v > r : v < r) r = v;
        }
        j->out->w[line] = r;
    }
}

static void eval_line_result(const struct job *j) {
    struct lines l = lines_of(j);
    line_result *result = line_results[j->node->op];
#pragma omp parallel if (j->in[0]->n > EVAL_SMALL)
    {
        double *v = new_line(l.length);
#pragma omp for
        for (int64_t line = 0; line < l.n; line++) {
            if (eval_stops(j, 0)) continue;
            gather(j, &l, line, v);
            j->out->v[line] = result(j, v, l.length);
        }
        free(v);
    }
}

/* ---- one line a line ------------------------------------------------------------------------- */

static void softmax(double *v, int64_t n, bool logarithm) {
    double m = maximum(v, n);
    long double s = 0;
    double total = logarithm ? log_of_sum(v, n, m) : 0;
    for (int64_t i = 0; i < n; i++) s += exp(v[i] - m);
    for (int64_t i = 0; i < n; i++) v[i] = logarithm ? v[i] - m - total : exp(v[i] - m) / (double)s;
}

static double parameter(const struct job *j, int arg, int64_t i, double absent) {
    return j->in[arg] ? j->in[arg]->v[i] : absent;
}

static void layer_norm(const struct job *j, double *v, int64_t n) {
    double m = sum(v, n) / (double)n, r = 1 / sqrt(variance(v, n, 0) + number_at(j, 4));
    for (int64_t i = 0; i < n; i++)
        v[i] = (v[i] - m) * r * parameter(j, 2, i, 1) + parameter(j, 3, i, 0);
}

static void rms_norm(const struct job *j, double *v, int64_t n) {
    bool given = arg_of(j, 3)->kind != ARG_NONE;
    double eps = given ? number_at(j, 3) : 2 * dtype_roundoff(dtype_opmath(j->out->dtype));
    long double s = 0;
    for (int64_t i = 0; i < n; i++) s += v[i] * v[i];
    double rms = sqrt((double)s / (double)n + eps);
    for (int64_t i = 0; i < n; i++) v[i] = v[i] / rms * parameter(j, 2, i, 1);
}

static void normalize(const struct job *j, double *v, int64_t n) {
    double length = norm(v, n, number_at(j, 1)), eps = number_at(j, 3);
    for (int64_t i = 0; i < n; i++) v[i] /= length < eps ? eps : length;
}

static void softmax_of(const struct job *j, double *v, int64_t n) { softmax(v, n, false); }
static void log_softmax_of(const struct job *j, double *v, int64_t n) { softmax(v, n, true); }

/* What an operator makes a line. */
typedef void line_change(const struct job *j, double *v, int64_t n);

static line_change *const line_changes[OP_COUNT] = {
    [OP_SOFTMAX] = softmax_of, [OP_LOG_SOFTMAX] = log_softmax_of, [OP_LAYER_NORM] = layer_norm,
    [OP_RMS_NORM] = rms_norm,  [OP_NORMALIZE] = normalize,
};

static void eval_line_change(const struct job *j) {
    const struct cell *x = j->in[0];
    bool last = j->node->op == OP_LAYER_NORM || j->node->op == OP_RMS_NORM;
    uint32_t all = (1u << x->rank) - 1;
    uint32_t set = last ? all & ~((1u << (x->rank - arg_of(j, 1)->ints.n)) - 1)
                        : dims_of(j->g, j->node, "dim", x->rank);
    struct lines l = lines_along(x, set);
#pragma omp parallel if (x->n > EVAL_SMALL)
    {
        double *v = new_line(l.length);
#pragma omp for
        for (int64_t line = 0; line < l.n; line++) {
            if (eval_stops(j, 0)) continue;
            gather(j, &l, line, v);
            line_changes[j->node->op](j, v, l.length);
            for (int64_t i = 0; i < l.length; i++) j->out->v[line_at(&l, line, i)] = v[i];
        }
        free(v);
    }
}

/* ---- channels: x is [N, C, rest] ------------------------------------------------------------- */

static int64_t rest_of(const struct cell *x) {
    int64_t rest = 1;
    for (int i = 2; i < x->rank; i++) rest *= x->size[i];
    return rest;
}

static void eval_group_norm(const struct job *j) {
    const struct cell *x = j->in[0];
    int64_t channels = x->size[1], groups = (int64_t)number_at(j, 1), rest = rest_of(x);
    int64_t n = channels / groups * rest;
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t g = 0; g < x->size[0] * groups; g++) {
        if (eval_stops(j, 0)) continue;
        const double *v = x->v + g * n;
        double m = sum(v, n) / (double)n, r = 1 / sqrt(variance(v, n, 0) + number_at(j, 4));
        for (int64_t i = 0; i < n; i++) {
            int64_t c = (g * n + i) / rest % channels;
            j->out->v[g * n + i] = (v[i] - m) * r * parameter(j, 2, c, 1) + parameter(j, 3, c, 0);
        }
    }
}

/* Mean and biased variance of each channel. */
static void channel_moments(const struct job *j, const struct cell *x, double *mean, double *var) {
    int64_t channels = x->size[1], rest = rest_of(x), n = x->size[0] * rest;
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t c = 0; c < channels; c++) {
        if (eval_stops(j, c)) continue;
        double *v = new_line(n);
        for (int64_t i = 0; i < n; i++) v[i] = x->v[(i / rest * channels + c) * rest + i % rest];
        mean[c] = sum(v, n) / (double)n;
        var[c] = variance(v, n, 0);
        free(v);
    }
}

static void eval_batch_norm(const struct job *j) {
    const struct cell *x = j->in[0];
    int64_t channels = x->size[1], rest = rest_of(x);
    double *mean = new_line(channels), *var = new_line(channels);
    if (arg_of(j, 5)->b) {
        channel_moments(j, x, mean, var);
    } else {
        memcpy(mean, j->in[1]->v, (size_t)channels * sizeof *mean);
        memcpy(var, j->in[2]->v, (size_t)channels * sizeof *var);
    }
#pragma omp parallel for if (x->n > EVAL_SMALL)
    for (int64_t i = 0; i < x->n; i++) {
        if (eval_stops(j, i)) continue;
        int64_t c = i / rest % channels;
        double y = (x->v[i] - mean[c]) / sqrt(var[c] + number_at(j, 7));
        j->out->v[i] = y * parameter(j, 3, c, 1) + parameter(j, 4, c, 0);
    }
    free(mean);
    free(var);
}

/* ---- element by element, but not by a `ref` -------------------------------------------------- */

/* Where operand k has element i of `over`. */
static int64_t broadcast_at(const struct job *j, int k, const struct cell *over, int64_t i) {
    int64_t stride[WS_MAX_RANK];
    strides_broadcast(j->in[k], over, stride);
    return strided_at(over->rank, over->size, stride, i);
}

/* Operand k there; absent if it is None. */
static double broadcast(const struct job *j, int k, const struct cell *over, int64_t i,
                        double absent) {
    if (arg_of(j, k)->kind == ARG_NONE) return absent;
    return j->in[k] ? cell_number(j->in[k], broadcast_at(j, k, over, i)) : number_at(j, k);
}

/* The same of an operator on integers. */
static int64_t broadcast_int(const struct job *j, int k, int64_t i, int64_t absent) {
    if (arg_of(j, k)->kind == ARG_NONE) return absent;
    return j->in[k] ? j->in[k]->w[broadcast_at(j, k, j->out, i)]
                    : number_nearest(j->g, arg_of(j, k), j->out->dtype).w;
}

static double gelu(double x, bool by_tanh) {
    double twice = 2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return by_tanh ? x / (1 + exp(-twice)) : x * ref_ndtr(x);
}

static int64_t clamp_int(const struct job *j, int64_t i) {
    int64_t x = broadcast_int(j, 0, i, 0);
    int64_t lo = broadcast_int(j, 1, i, INT64_MIN), hi = broadcast_int(j, 2, i, INT64_MAX);
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static double clamp(const struct job *j, int64_t i) {
    double x = broadcast(j, 0, j->out, i, 0);
    double lo = broadcast(j, 1, j->out, i, -INFINITY), hi = broadcast(j, 2, j->out, i, INFINITY);
    if (x != x || lo != lo || hi != hi) return NAN;
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static double nan_to_num(const struct job *j, double x) {
    enum dtype t = j->out->dtype;
    int k = x != x ? 1 : x == INFINITY ? 2 : x == -INFINITY ? 3 : 0;
    if (!k || !dtype_is_float(t)) return x;
    if (arg_of(j, k)->kind != ARG_NONE) return number_at(j, k);
    return k == 1 ? 0 : k == 2 ? dtype_largest(t) : -dtype_largest(t);
}

static bool is_kept(const struct job *j, int64_t i) {
    const struct cell *out = j->out;
    int64_t rows = out->size[out->rank - 2], columns = out->size[out->rank - 1];
    int64_t off = i % columns - i / columns % rows, diagonal = (int64_t)number_at(j, 1);
    return j->node->op == OP_TRIL ? off <= diagonal : off >= diagonal;
}

/* Element i, as a float or an integer. */
typedef struct number element(const struct job *j, int64_t i);

static struct number gelu_at(const struct job *j, int64_t i) {
    return (struct number){.v = gelu(j->in[0]->v[i], !strcmp(arg_of(j, 1)->s, "tanh"))};
}

static struct number clamp_at(const struct job *j, int64_t i) {
    if (j->out->w) return (struct number){.w = clamp_int(j, i)};
    return (struct number){.v = clamp(j, i)};
}

static struct number nan_to_num_at(const struct job *j, int64_t i) {
    if (j->out->w) return (struct number){.w = j->in[0]->w[i]};
    return (struct number){.v = nan_to_num(j, j->in[0]->v[i])};
}

static struct number not_at(const struct job *j, int64_t i) {
    int64_t x = j->in[0]->w[i];
    return (struct number){.w = j->out->dtype == DT_BOOL ? !x : ~x};
}

static struct number converted_at(const struct job *j, int64_t i) {
    const struct cell *x = j->in[0], *out = j->out;
    enum dtype t = out->dtype;
    if (out->w)
        return (struct number){.w = x->w ? int_wrap(t, x->w[i]) : int_of_double(t, x->v[i])};
    if (x->w) return (struct number){.v = double_of_int(t, x->w[i])};
    /* A tensor of that type is what it was. */
    return (struct number){.v = x->dtype == t ? x->v[i] : value_round(t, x->v[i])};
}

static struct number triangle_at(const struct job *j, int64_t i) {
    const struct cell *x = j->in[0];
    if (!is_kept(j, i)) return (struct number){0, 0};
    return (struct number){x->v ? x->v[i] : 0, x->w ? x->w[i] : 0};
}

static struct number zero_at(const struct job *j, int64_t i) { return (struct number){0, 0}; }
static struct number one_at(const struct job *j, int64_t i) { return (struct number){1, 1}; }

static struct number fill_at(const struct job *j, int64_t i) {
    enum dtype t = j->out->dtype;
    struct number fill = number_of_arg(j->g, arg_of(j, 1), t);
    return (struct number){j->out->v ? value_round(t, fill.v) : 0, fill.w};
}

static struct number rand_at(const struct job *j, int64_t i) {
    double v = random_uniform(j->g->seed, (uint64_t)number_at(j, 1), (uint64_t)i);
    return (struct number){.v = value_drawn(j->out->dtype, v)};
}

static struct number randn_at(const struct job *j, int64_t i) {
    double v = random_normal(j->g->seed, (uint64_t)number_at(j, 1), (uint64_t)i);
    return (struct number){.v = value_drawn(j->out->dtype, v)};
}

static element *const elements[OP_COUNT] = {
    [OP_GELU] = gelu_at,          [OP_CLAMP] = clamp_at,      [OP_NAN_TO_NUM] = nan_to_num_at,
    [OP_BITWISE_NOT] = not_at,    [OP_FLOAT] = converted_at,  [OP_HALF] = converted_at,
    [OP_BFLOAT16] = converted_at, [OP_DOUBLE] = converted_at, [OP_LONG] = converted_at,
    [OP_INT] = converted_at,      [OP_SHORT] = converted_at,  [OP_CHAR] = converted_at,
    [OP_BYTE] = converted_at,     [OP_BOOL] = converted_at,   [OP_TYPE_AS] = converted_at,
    [OP_TRIL] = triangle_at,      [OP_TRIU] = triangle_at,    [OP_ZEROS] = zero_at,
    [OP_ONES] = one_at,           [OP_EMPTY] = zero_at,       [OP_ZEROS_LIKE] = zero_at,
    [OP_ONES_LIKE] = one_at,      [OP_EMPTY_LIKE] = zero_at,  [OP_TANGENT] = zero_at,
    [OP_FULL_LIKE] = fill_at,     [OP_RAND_LIKE] = rand_at,   [OP_RANDN_LIKE] = randn_at,
};

static void eval_element(const struct job *j) {
    element *at = elements[j->node->op];
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct number y = at(j, i);
        if (j->out->w) y.w = int_wrap(j->out->dtype, y.w);
        cell_put(j->out, i, y);
    }
}

/* ---- matrix products ------------------------------------------------------------------------- */

/* sum over k of x[k dx] y[k dy] */
static double dot(const double *x, int64_t dx, const double *y, int64_t dy, int64_t n) {
    double s = 0;
    for (int64_t k = 0; k < n; k++) s += x[k * dx] * y[k * dy];
    return s;
}

/* Where the matrix of batch element i starts: batch dimensions repeat where their size is 1. */
static int64_t matrix_at(const struct cell *x, int n_batch, const int64_t *batch, int64_t i) {
    struct cell outer = {.rank = x->rank > 2 ? x->rank - 2 : 0}, over = {.rank = n_batch};
    int64_t stride[WS_MAX_RANK], matrix = 1;
    for (int k = outer.rank; k < x->rank; k++) matrix *= x->size[k];
    memcpy(outer.size, x->size, sizeof outer.size);
    memcpy(over.size, batch, sizeof(int64_t) * (size_t)n_batch);
    strides_broadcast(&outer, &over, stride);
    return strided_at(n_batch, batch, stride, i) * matrix;
}

/* One row of the result at a time: the rows of y, each times an element of x's row, added up. */
static void eval_matmul_any(const struct job *j) {
    const struct cell *x = j->in[0], *y = j->in[1];
    bool row = x->rank == 1, column = y->rank == 1;
    int64_t k = x->size[x->rank - 1], m = row ? 1 : x->size[x->rank - 2];
    int64_t n = column ? 1 : y->size[y->rank - 1];
    int n_batch = j->out->rank - !row - !column;
#pragma omp parallel for if (x->n * n > EVAL_SMALL)
    for (int64_t i = 0; i < (n ? j->out->n / n : 0); i++)
        if (!eval_stops(j, 0))
            multiply_row(x, matrix_at(x, n_batch, j->out->size, i / m) + i % m * k, y,
                         matrix_at(y, n_batch, j->out->size, i / m), k, n, j->out, i * n);
}

static void eval_linear(const struct job *j) {
    const struct cell *x = j->in[0], *w = j->in[1];
    int64_t k = w->size[1], n = w->size[0];
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, 0)) continue;
        j->out->v[i] = dot(x->v + i / n * k, 1, w->v + i % n * k, 1, k) + parameter(j, 2, i % n, 0);
    }
}

/* addmm, baddbmm */
static void eval_addmm(const struct job *j) {
    const struct cell *x = j->in[1], *y = j->in[2];
    int64_t k = x->size[x->rank - 1], n = y->size[y->rank - 1];
    int64_t batch = j->out->rank == 3 ? j->out->size[1] * n : j->out->n; /* elements of a product */
    double beta = number_at(j, 3), alpha = number_at(j, 4);
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, 0)) continue;
        const double *right = y->v + i / batch * k * n;
        double product = alpha * dot(x->v + i / n * k, 1, right + i % n, n, k);
        j->out->v[i] = product + (beta == 0 ? 0 : beta * broadcast(j, 0, j->out, i, 0));
    }
}

/* What is added to the score of row p and column q: 0, or the mask's -inf or number. */
static double mask_at(const struct job *j, const struct cell *scores, int64_t i, int64_t p,
                      int64_t q) {
    if (arg_of(j, 5)->b && q > p) return -INFINITY;
    if (!j->in[3]) return 0;
    double m = broadcast(j, 3, scores, i, 0);
    return j->in[3]->dtype != DT_BOOL ? m : m != 0 ? 0 : -INFINITY;
}

/* One row of attention: scores of query row x against every key, softmax, weighted sum of value
 * rows. */
static void attend(const struct job *j, const struct cell *scores, int64_t row, double *s) {
    const struct cell *q = j->in[0], *k = j->in[1], *v = j->in[2];
    int r = q->rank, n_batch = r - 2;
    int64_t rows = q->size[r - 2], e = q->size[r - 1], n = k->size[r - 2], w = v->size[r - 1];
    int64_t batch = row / rows, p = row % rows;
    const int64_t *outer = j->out->size;
    const double *x = q->v + matrix_at(q, n_batch, outer, batch) + p * e;
    const double *key = k->v + matrix_at(k, n_batch, outer, batch);
    const double *value = v->v + matrix_at(v, n_batch, outer, batch);
    double scale = arg_of(j, 6)->kind == ARG_NONE ? 1 / sqrt((double)e) : number_at(j, 6);
    for (int64_t c = 0; c < n; c++)
        s[c] = dot(x, 1, key + c * e, 1, e) * scale + mask_at(j, scores, row * n + c, p, c);
    /* of a row that the mask hides 0 */
    if (j->in[3] && n && maximum(s, n) == -INFINITY)
        memset(s, 0, (size_t)n * sizeof *s);
    else
        softmax(s, n, false);
    for (int64_t c = 0; c < w; c++) j->out->v[row * w + c] = dot(s, 1, value + c, w, n);
}

static void eval_attention(const struct job *j) {
    struct cell scores = *j->out; /* [..., L, S], for its sizes */
    int64_t n = j->in[1]->size[j->in[1]->rank - 2], w = j->out->size[j->out->rank - 1];
    scores.size[scores.rank - 1] = n;
#pragma omp parallel if (j->in[0]->n * n > EVAL_SMALL)
    {
        double *s = new_line(n);
#pragma omp for
        for (int64_t row = 0; row < (w ? j->out->n / w : 0); row++)
            if (!eval_stops(j, 0)) attend(j, &scores, row, s);
        free(s);
    }
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Dimension i of the result is dimension from[i] of the operand. */
static void eval_transpose(const struct job *j) {
    int64_t own[WS_MAX_RANK], stride[WS_MAX_RANK];
    int from[WS_MAX_RANK];
    strides_of(j->in[0], own);
    permutation_of(j->g->ex, j->node->op, j->node->args, j->out->rank, from);
    for (int i = 0; i < j->out->rank; i++) stride[i] = own[from[i]];
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++)
        if (!eval_stops(j, i))
            cell_copy(j->out, i, j->in[0], strided_at(j->out->rank, j->out->size, stride, i));
}

/* narrow, select: a stretch of one dimension, [outer, size, inner] -> [outer, length, inner] */
static void eval_stretch(const struct job *j) {
    const struct cell *x = j->in[0];
    int dim = (int)number_at(j, 1);
    int64_t start = (int64_t)number_at(j, 2), size = x->size[dim], inner = 1;
    int64_t length = j->node->op == OP_SELECT ? 1 : (int64_t)number_at(j, 3);
    if (start < 0) start += size;
    for (int i = dim + 1; i < x->rank; i++) inner *= x->size[i];
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        int64_t outer = i / inner / length, at = i / inner % length;
        cell_copy(j->out, i, x, (outer * size + start + at) * inner + i % inner);
    }
}

static void eval_expand_as(const struct job *j) {
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++)
        if (!eval_stops(j, i)) cell_copy(j->out, i, j->in[0], broadcast_at(j, 0, j->out, i));
}

/* ---- which loop ------------------------------------------------------------------------------ */

/* Those of no table above. */
static composite *const loops[OP_COUNT] = {
    [OP_MAX] = eval_line_extremum,
    [OP_MIN] = eval_line_extremum,
    [OP_MAX_DIM] = eval_line_extremum,
    [OP_MIN_DIM] = eval_line_extremum,
    [OP_ANY] = eval_line_extremum,
    [OP_ALL] = eval_line_extremum,
    [OP_GROUP_NORM] = eval_group_norm,
    [OP_BATCH_NORM] = eval_batch_norm,
    [OP_NLL_LOSS] = eval_class_loss,
    [OP_CROSS_ENTROPY] = eval_class_loss,
    [OP_MATMUL] = eval_matmul_any,
    [OP_LINEAR] = eval_linear,
    [OP_ADDMM] = eval_addmm,
    [OP_BADDBMM] = eval_addmm,
    [OP_ATTENTION] = eval_attention,
    [OP_TRANSPOSE] = eval_transpose,
    [OP_T] = eval_transpose,
    [OP_MT] = eval_transpose,
    [OP_MOVEDIM] = eval_transpose,
    [OP_NARROW] = eval_stretch,
    [OP_SELECT] = eval_stretch,
    [OP_EXPAND_AS] = eval_expand_as,
    [OP_STACK] = eval_move,
    [OP_PAD] = eval_move,
    [OP_ROLL] = eval_move,
    [OP_REPEAT] = eval_move,
    [OP_TILE] = eval_move,
    [OP_REPEAT_INTERLEAVE] = eval_move,
    [OP_DIAGONAL] = eval_move,
    [OP_DIAG] = eval_move,
    [OP_EYE] = eval_move,
    [OP_INDEX_SELECT] = eval_move,
    [OP_EMBEDDING] = eval_move,
    [OP_TAKE] = eval_move,
    [OP_TAKE_ALONG_DIM] = eval_move,
    [OP_SCATTER] = eval_move,
    [OP_SCATTER_ADD] = eval_move,
    [OP_INDEX_ADD] = eval_move,
    [OP_ONE_HOT] = eval_move,
    [OP_MAX_POOL] = eval_pool,
    [OP_AVG_POOL] = eval_pool,
    [OP_ADAPTIVE_AVG_POOL] = eval_pool,
    [OP_ADAPTIVE_MAX_POOL] = eval_pool,
    [OP_UPSAMPLE_NEAREST] = eval_resize,
    [OP_IM2COL] = eval_im2col,
    [OP_CONVOLUTION] = eval_convolution,
    [OP_UNFOLD] = eval_unfold,
};

static composite *loop_of(enum op op) {
    if (loops[op]) return loops[op];
    if (elements[op]) return eval_element;
    return line_results[op] ? eval_line_result : line_changes[op] ? eval_line_change : NULL;
}

bool composite_takes_integers(enum op op) {
    static composite *const knowing[] = {
        eval_element,   eval_line_extremum, eval_matmul_any, eval_transpose, eval_stretch,
        eval_expand_as, eval_move,          eval_resize,     eval_im2col,    eval_unfold};
    composite *loop = loop_of(op);
    if (op == OP_MAX_POOL || op == OP_ADAPTIVE_MAX_POOL) return true;
    if (op_is_random(op) || op == OP_GELU) return false;
    for (size_t i = 0; i < sizeof knowing / sizeof *knowing; i++)
        if (loop == knowing[i]) return true;
    return false;
}

void eval_composite(const struct job *j) {
    composite *loop = loop_of(j->node->op);
    if (!loop) WS_BUG("no loop for %s", op_info(j->node->op)->name);
    loop(j);
}
