/* eval_ops.c: the reference loops of the primitives.
 *
 * Every operator with a `ref` becomes a C function ref_ADD(a, b, c, d, e) here, and one loop with
 * broadcasting calls them. A primitive's loop is the definition one would write on paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/eval_text.h"

/* ---- indices --------------------------------------------------------------------------------- */

void strides_of(const struct cell *c, int64_t *stride) {
    int64_t step = 1;
    for (int i = c->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= c->size[i];
    }
}

void strides_broadcast(const struct cell *c, const struct cell *over, int64_t *stride) {
    int64_t own[WS_MAX_RANK];
    strides_of(c, own);
    for (int i = 0; i < over->rank; i++) {
        int k = i - (over->rank - c->rank);
        stride[i] = k < 0 || c->size[k] == 1 ? 0 : own[k];
    }
}

struct lines lines_along(const struct cell *c, uint32_t set) {
    struct lines l = {.n = 1, .length = 1};
    int64_t stride[WS_MAX_RANK];
    strides_of(c, stride);
    for (int i = 0; i < c->rank; i++)
        if (set >> i & 1) {
            l.size[l.along] = c->size[i];
            l.stride[l.along++] = stride[i];
            l.length *= c->size[i];
        } else {
            l.kept_size[l.kept] = c->size[i];
            l.kept_stride[l.kept++] = stride[i];
            l.n *= c->size[i];
        }
    return l;
}

int64_t line_at(const struct lines *l, int64_t line, int64_t i) {
    return strided_at(l->kept, l->kept_size, l->kept_stride, line) +
           strided_at(l->along, l->size, l->stride, i);
}

/* A tensor cut into runs: up to RUN elements next to each other in the last dimension, so that
 * offsets are worked out once a run and threads share even a vector. */
enum { RUN = 4096 };
struct runs {
    int64_t inner, per_row, n;
};

static struct runs runs_of(const struct cell *c) {
    int64_t inner = c->rank ? c->size[c->rank - 1] : 1;
    int64_t per_row = (inner + RUN - 1) / RUN;
    return (struct runs){inner, per_row, inner ? c->n / inner * per_row : 0};
}

static int64_t run_first(const struct runs *r, int64_t k, int64_t *n) {
    int64_t from = k % r->per_row * RUN;
    *n = r->inner - from < RUN ? r->inner - from : RUN;
    return k / r->per_row * r->inner + from;
}

/* ---- element by element ---------------------------------------------------------------------- */

typedef double ref_fn(double a, double b, double c, double d, double e);

#define OP(id, name, class, schema, dtype, ref, ...)                                               \
    static double ref_##id(double a, double b, double c, double d, double e) { return ref; }
#include "graph/ops.def"
#undef OP

static ref_fn *const refs[OP_COUNT] = {
#define OP(id, ...) [OP_##id] = ref_##id,
#include "graph/ops.def"
#undef OP
};

/* The same as texts. */
static const char *const texts[OP_COUNT] = {
#define OP(id, name, class, schema, dtype, ref, ...) [OP_##id] = #ref,
#include "graph/ops.def"
#undef OP
};

const char *eval_text(enum op op) { return texts[op]; }

double eval_ref(enum op op, const double *x) { return refs[op](x[0], x[1], x[2], x[3], x[4]); }

enum { MAX_OPERANDS = 5 };

struct operand {
    const double *v;
    const int64_t *w;
    struct number number; /* v and w point here if the operand is a Python number */
    void *owned; /* v or w, where it is of the other kind than what the operator computes in */
    int64_t stride[WS_MAX_RANK];
    int64_t last; /* stride of the last dimension */
};

/* The type that the operator computes in: its result's, but a comparison's and a cast's is that of
 * what it looks at. */
static enum dtype maths_of(const struct job *j) {
    enum op op = j->node->op;
    if (op == OP_CAST || op == OP_CONVERT) return j->in[0]->dtype;
    bool compares = op_info(op)->dtype == RULE_BOOL;
    return compares ? graph_common_dtype((struct graph *)j->g, j->node) : j->out->dtype;
}

/* Integers as an operator on floats sees them. */
static double *as_floats(const struct cell *c, enum dtype t) {
    double *v = large_alloc((size_t)c->n * sizeof *v);
    if (!v) WS_BUG("no memory for %lld integers", (long long)c->n);
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++) v[i] = double_of_int(dtype_opmath(t), c->w[i]);
    return v;
}

/* Floats as an operator on integers of type t sees them: a float value that fills an integer
 * tensor. */
static int64_t *as_integers(const struct cell *c, enum dtype t) {
    int64_t *w = large_alloc((size_t)c->n * sizeof *w);
    if (!w) WS_BUG("no memory for %lld integers", (long long)c->n);
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++) w[i] = int_of_double(t, c->v[i]);
    return w;
}

/* A number is as PyTorch's kernels have it where the least difference decides: compared, in the
 * type of what it is compared with, and as a divisor that leaves a remainder, in that of the maths.
 * Elsewhere it keeps its digits, so that a formula and what it is decomposed to are the same. */
static double as_maths(const struct job *j, enum dtype t, double v) {
    enum op op = j->node->op;
    bool divides = op == OP_FMOD || op == OP_REMAINDER || op == OP_FLOOR_DIVIDE;
    if (!dtype_is_float(t)) return v;
    if (op_info(op)->dtype == RULE_BOOL) return value_round(t, v);
    return divides ? value_round(dtype_opmath(t), v) : v;
}

/* whole: as integers. */
static int elementwise_operands(const struct job *j, const struct cell *over, bool whole,
                                struct operand *x) {
    const struct op_info *op = op_info(j->node->op);
    enum dtype t = maths_of(j);
    int n = 0, rank = over->rank;
    for (int k = 0; k < MAX_OPERANDS; k++)
        x[k] = (struct operand){.v = &x[k].number.v, .w = &x[k].number.w};
    for (int i = 0; i < op->n_params; i++) {
        if (!strchr("T|S", op->params[i].kind)) continue;
        WS_ASSERT(n < MAX_OPERANDS);
        struct operand *o = &x[n++];
        if (j->in[i]) {
            o->v = j->in[i]->v;
            o->w = j->in[i]->w;
            if (!whole && o->w) o->v = o->owned = as_floats(j->in[i], t);
            if (whole && !o->w) o->w = o->owned = as_integers(j->in[i], t);
            strides_broadcast(j->in[i], over, o->stride);
            o->last = rank ? o->stride[rank - 1] : 0;
        } else if (j->node->args[i].kind == ARG_NONE) { /* a weight */
            o->number = (struct number){1, 1};
        } else {
            o->number = number_of_arg(j->g, &j->node->args[i], t);
            if (!whole) o->number.v = as_maths(j, t, arg_number(j->g, &j->node->args[i]));
        }
    }
    return n;
}

/* A power of a number's half is a root: PyTorch's of -inf and -0.0 are those of sqrt. */
static ref_fn *ref_of(const struct job *j) {
    const struct arg *exponent = &j->node->args[1];
    bool number = j->node->op == OP_POW && exponent->kind == ARG_FLOAT;
    if (number && exponent->f == 0.5) return refs[OP_SQRT];
    if (number && exponent->f == -0.5) return refs[OP_RSQRT];
    return refs[j->node->op];
}

/* The operator at every element of `out`, which its operands broadcast to. */
static void each_element(const struct job *j, const struct cell *out) {
    enum op op = j->node->op;
    ref_fn *f = ref_of(j);
    int_ref *whole = dtype_is_float(maths_of(j)) ? NULL : eval_int_ref(op);
    struct operand x[MAX_OPERANDS];
    elementwise_operands(j, out, whole != NULL, x);
    bool rounds = op == OP_CAST && j->in[0]->dtype != out->dtype;
    enum dtype t = out->dtype;
    struct runs runs = runs_of(out);
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t r = 0; r < runs.n; r++) {
        if (eval_stops(j, 0)) continue;
        int64_t len, first = run_first(&runs, r, &len);
        const double *v[MAX_OPERANDS];
        const int64_t *w[MAX_OPERANDS];
        for (int k = 0; k < MAX_OPERANDS; k++) {
            int64_t at = strided_at(out->rank, out->size, x[k].stride, first);
            v[k] = x[k].v + (whole ? 0 : at);
            w[k] = x[k].w + (whole ? at : 0);
        }
        for (int64_t i = 0; i < len; i++) {
            if (whole) {
                int64_t y = whole(w[0][i * x[0].last], w[1][i * x[1].last], w[2][i * x[2].last],
                                  w[3][i * x[3].last], w[4][i * x[4].last]);
                if (out->w)
                    out->w[first + i] = int_wrap(t, y);
                else
                    out->v[first + i] = double_of_int(rounds ? t : dtype_opmath(t), y);
                continue;
            }
            double y = f(v[0][i * x[0].last], v[1][i * x[1].last], v[2][i * x[2].last],
                         v[3][i * x[3].last], v[4][i * x[4].last]);
            if (out->w)
                out->w[first + i] = int_of_double(t, y);
            else
                out->v[first + i] = rounds ? value_round(t, y) : y;
        }
    }
    for (int k = 0; k < MAX_OPERANDS; k++) free(x[k].owned);
}

/* The shape that the operands of a loss broadcast to. */
static struct cell broadcast_shape(const struct job *j) {
    struct cell all = {.n = 1, .dtype = j->out->dtype};
    for (int k = 0; k < j->node->n_args; k++)
        if (j->in[k] && j->in[k]->rank > all.rank) all.rank = j->in[k]->rank;
    for (int i = 0; i < all.rank; i++) {
        all.size[i] = 1;
        for (int k = 0; k < j->node->n_args; k++) {
            int at = j->in[k] ? i - (all.rank - j->in[k]->rank) : -1;
            if (at >= 0 && j->in[k]->size[at] != 1) all.size[i] = j->in[k]->size[at];
        }
        all.n *= all.size[i];
    }
    return all;
}

/* Losses that are reduced are floats. */
static bool is_reduced_loss(const struct node *n) {
    int k;
    return op_param(n->op, "reduction", &k) && strcmp(n->args[k].s, "none") != 0;
}

void eval_elementwise(const struct job *j) {
    if (!is_reduced_loss(j->node)) return each_element(j, j->out);
    struct cell all = broadcast_shape(j);
    all.v = malloc((size_t)(all.n + 1) * sizeof *all.v);
    if (!all.v) WS_BUG("no memory for %lld losses", (long long)all.n);
    each_element(j, &all);
    eval_reduced(j, all.v, all.n);
    free(all.v);
}

bool eval_takes_integers(const struct job *j) {
    enum op op = j->node->op;
    if (op_info(op)->elementwise) return !is_reduced_loss(j->node);
    switch (op_info(op)->class) {
    case REDUCE: return op != OP_M2 && op != OP_EXPSUM;
    case SCAN:
    case VIEW:
    case MOVE: return true;
    case MATMUL: return op != OP_CONVOLVE;
    case CREATE: return op == OP_FULL || op == OP_ARANGE;
    case COMPOSITE: return composite_takes_integers(op);
    case POINTWISE:
    case INPUT: break;
    }
    WS_BUG("%s cannot be evaluated", op_info(op)->name);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Of reductions and scans. Integers go in 64 bits, whatever they were: the type of the result cuts
 * them off. */
struct partial {
    long double v;
    int64_t w;
};

static struct partial reduce_start(enum op op) {
    switch ((int)op) {
    case OP_SUM:
    case OP_CUMSUM: return (struct partial){0, 0};
    case OP_PROD:
    case OP_CUMPROD: return (struct partial){1, 1};
    case OP_AMAX:
    case OP_CUMMAX: return (struct partial){-INFINITY, INT64_MIN};
    case OP_AMIN:
    case OP_CUMMIN: return (struct partial){INFINITY, INT64_MAX};
    }
    WS_BUG("%s is no reduction", op_info(op)->name);
}

/* A nan, once in, stays. */
static long double reduce_step(enum op op, long double r, long double v) {
    switch ((int)op) {
    case OP_SUM:
    case OP_CUMSUM: return r + v;
    case OP_PROD:
    case OP_CUMPROD: return r * v;
    case OP_AMAX:
    case OP_CUMMAX: return r != r || r > v ? r : v;
    case OP_AMIN:
    case OP_CUMMIN: return r != r || r < v ? r : v;
    }
    WS_BUG("%s is no reduction", op_info(op)->name);
}

static int64_t reduce_step_int(enum op op, int64_t r, int64_t v) {
    switch ((int)op) {
    case OP_SUM:
    case OP_CUMSUM: return int_add(r, v);
    case OP_PROD:
    case OP_CUMPROD: return int_mul(r, v);
    case OP_AMAX:
    case OP_CUMMAX: return r > v ? r : v;
    case OP_AMIN:
    case OP_CUMMIN: return r < v ? r : v;
    }
    WS_BUG("%s is no reduction", op_info(op)->name);
}

/* With element i of x, seen as the type of the result. */
static void reduce_element(const struct job *j, struct partial *r, int64_t i) {
    const struct cell *x = j->in[0], *out = j->out;
    enum op op = j->node->op;
    if (!out->w)
        r->v = reduce_step(op, r->v,
                           x->w ? double_of_int(dtype_opmath(out->dtype), x->w[i]) : x->v[i]);
    else if (x->w)
        r->w = reduce_step_int(op, r->w, out->dtype == DT_BOOL ? x->w[i] != 0 : x->w[i]);
    else
        r->w = reduce_step_int(op, r->w, int_of_double(out->dtype, x->v[i]));
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
#pragma omp parallel for
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
#pragma omp parallel for
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
#pragma omp parallel for
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
    enum op op = j->node->op;
    if (op == OP_ARGMAX || op == OP_ARGMIN) return eval_argument(j);
    if (op == OP_M2) return eval_m2(j);
    if (op == OP_EXPSUM) return eval_expsum(j);
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
        struct partial r = reduce_start(op);
        for (int64_t i = from; i < to; i++)
            reduce_element(j, &r, base + strided_at(l.along, l.size, l.stride, i));
        part[k] = r;
    }
    for (int64_t line = 0; line < l.n; line++) {
        struct partial r = reduce_start(op);
        for (int64_t k = 0; k < n_blocks; k++) {
            const struct partial *p = &part[line * n_blocks + k];
            r.v = reduce_step(op, r.v, p->v);
            r.w = reduce_step_int(op, r.w, p->w);
        }
        reduce_store(j->out, line, &r);
    }
    free(part);
}

void eval_scan(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        struct partial r = reduce_start(j->node->op);
        for (int64_t i = 0; i < l.length; i++) {
            int64_t at = line_at(&l, line, i);
            reduce_element(j, &r, at);
            reduce_store(j->out, at, &r);
        }
    }
}

/* ---- views ----------------------------------------------------------------------------------- */

/* The operand's strides in the order of the result's dimensions, and the offset of its first
 * element. */
static int64_t view_strides(const struct job *j, int64_t *stride) {
    const struct node *n = j->node;
    const struct cell *x = j->in[0];
    int64_t own[WS_MAX_RANK];
    int from[WS_MAX_RANK];
    strides_of(x, own);
    if (n->op == OP_EXPAND) {
        strides_broadcast(x, j->out, stride);
        return 0;
    }
    if (n->op == OP_PERMUTE) {
        permutation_of(j->g->ex, n->op, n->args, x->rank, from);
        for (int i = 0; i < x->rank; i++) stride[i] = own[from[i]];
        return 0;
    }
    WS_ASSERT(n->op == OP_SLICE);
    int64_t dim = ex_value(j->g->ex, n->args[1].i), start = (int64_t)arg_number(j->g, &n->args[2]);
    int64_t first = start * own[dim];
    memcpy(stride, own, sizeof own);
    stride[dim] *= (int64_t)arg_number(j->g, &n->args[4]);
    return first;
}

void eval_view(const struct job *j) {
    int64_t stride[WS_MAX_RANK];
    int64_t base = view_strides(j, stride);
    const struct cell *out = j->out;
    const struct cell *x = j->in[0];
    int64_t last = out->rank ? stride[out->rank - 1] : 0;
    struct runs runs = runs_of(out);
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t r = 0; r < runs.n; r++) {
        if (eval_stops(j, 0)) continue;
        int64_t len, first = run_first(&runs, r, &len);
        int64_t from = base + strided_at(out->rank, out->size, stride, first);
        for (int64_t i = 0; i < len; i++) cell_copy(j->out, first + i, x, from + i * last);
    }
}

/* ---- matrix products ------------------------------------------------------------------------- */

void multiply_row(const struct cell *a, int64_t at, const struct cell *b, int64_t from, int64_t k,
                  int64_t n, const struct cell *out, int64_t to) {
    double *c = out->v + (out->v ? to : 0);
    int64_t *d = out->w + (out->w ? to : 0);
    for (int64_t q = 0; q < n; q++) cell_put(out, to + q, (struct number){0, 0});
    for (int64_t p = 0; c && p < k; p++)
        for (int64_t q = 0; q < n; q++) c[q] += a->v[at + p] * b->v[from + p * n + q];
    for (int64_t p = 0; d && p < k; p++)
        for (int64_t q = 0; q < n; q++)
            d[q] = int_add(d[q], int_mul(a->w[at + p], b->w[from + p * n + q]));
    for (int64_t q = 0; d && q < n; q++) d[q] = int_wrap(out->dtype, d[q]);
}

/* c [m, n] = a [m, k] b [k, n], for each of `batch` */
void eval_matmul(const struct job *j) {
    const struct cell *a = j->in[0], *b = j->in[1];
    int64_t m = a->size[a->rank - 2], k = a->size[a->rank - 1], n = b->size[b->rank - 1];
    int64_t batch = a->rank == 3 ? a->size[0] : 1;
#pragma omp parallel for
    for (int64_t row = 0; row < batch * m; row++)
        if (!eval_stops(j, 0)) multiply_row(a, row * k, b, row / m * k * n, k, n, j->out, row * n);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* start + k step for element k; floats from doubles, whatever start and step are. */
static struct number arange_at(const struct job *j, int64_t k) {
    const struct arg *a = j->node->args;
    bool whole = a[0].kind == ARG_INT && a[2].kind == ARG_INT;
    if (whole && j->out->w) {
        int64_t start = ex_value(j->g->ex, a[0].i), step = ex_value(j->g->ex, a[2].i);
        return (struct number){.w = int_add(start, int_mul(k, step))};
    }
    double v = arg_number(j->g, &a[0]) + (double)k * arg_number(j->g, &a[2]);
    return (struct number){v, int_of_double(DT_I64, v)};
}

/* Elements first .. first+n-1. */
static void create_run(const struct job *j, int64_t first, int64_t n) {
    const struct arg *a = j->node->args;
    uint64_t seed = j->g->seed;
    switch ((int)j->node->op) {
    case OP_FULL:
        for (int64_t i = first; i < first + n; i++)
            cell_put(j->out, i, number_of_arg(j->g, &a[1], j->out->dtype));
        return;
    case OP_ARANGE:
        for (int64_t i = first; i < first + n; i++) cell_put(j->out, i, arange_at(j, i));
        return;
    case OP_RAND:
        random_uniforms(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n,
                        j->out->v + first);
        return;
    case OP_RANDN:
        random_normals(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n,
                       j->out->v + first);
        return;
    }
    WS_BUG("%s creates nothing", op_info(j->node->op)->name);
}

void eval_create(const struct job *j) {
    enum { RUN = 4096 }; /* elements a thread makes at a time */
    struct cell *out = j->out;
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t first = 0; first < out->n; first += RUN) {
        if (eval_stops(j, 0)) continue;
        int64_t n = out->n - first < RUN ? out->n - first : RUN;
        create_run(j, first, n);
        for (int64_t i = first; i < first + n; i++)
            if (out->w)
                out->w[i] = int_wrap(out->dtype, out->w[i]);
            else
                out->v[i] = value_round(out->dtype, out->v[i]);
    }
}
